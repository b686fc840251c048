//! Textures, surfaces and asynchronous operations.

use super::Family;

pub const FORMS: &[Family] = &[
    // Textures and surfaces.
    (
        "tex.[1d|2d|3d].v4.[u32|s32|f32].f32",
        "{r,r,r,r},[x,{r,r,r,r}]",
    ),
    ("suld.b.2d.b32.trap", "r,[x,{r,r}]"),
    ("sust.b.2d.b32.trap", "[x,{r,r}],r"),
    ("mov.b128", "q,{x,x}"),
    ("mov.b128", "{x,x},q"),
    ("[ld|st].[global|shared].b128", "A:q"),
    ("atom.[global|shared].exch.b128", "q,[R],q"),
    ("atom.[global|shared].cas.b128", "q,[R],q,q"),
    // Asynchronous operations, textures and surfaces.
    (
        "cp.async.bulk.[shared::cluster|shared::cta].global.mbarrier::complete_tx::bytes",
        "[r],[R],r,[r]",
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
        "[r],[R],r,[r],h",
    ),
    (
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
        "[r],[r],r,[r]",
    ),
    ("cp.async.bulk.global.shared::cta.bulk_group", "[R],[r],r"),
    ("cp.async.bulk.prefetch.L2.global", "[R],r"),
    ("cp.async.bulk.[wait_group|wait_group.read]", "0"),
    (
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.[add.u32|add.s32|add.u64|min.u32|min.s32|max.u32|max.s32|inc.u32|dec.u32|and.b32|or.b32|xor.b32]",
        "[r],[r],r,[r]",
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.[add|min|max].[u32|s32|u64]",
        "[R],[r],r",
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.[add.f32|add.f64|add.noftz.f16|add.noftz.bf16|min.f16|max.f16|min.bf16|max.bf16|min.s64|max.s64|inc.u32|dec.u32]",
        "[R],[r],r",
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.[and|or|xor].[b32|b64]",
        "[R],[r],r",
    ),
    (
        "st.async[.weak].shared::cluster.mbarrier::complete_tx::bytes.[b32|u32|s32|f32]",
        "[r],r,[r]",
    ),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.[b64|f64]",
        "[r],x,[r]",
    ),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32",
        "[r],{r,r,r,r},[r]",
    ),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.s64",
        "[r],{x,x},[r]",
    ),
    (
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.[add.u32|add.s32|inc.u32|dec.u32|min.u32|max.s32|and.b32|or.b32|xor.b32]",
        "[r],r,[r]",
    ),
    (
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64",
        "[r],x,[r]",
    ),
    (
        "tensormap.replace.tile.[global_address.global|global_address.shared::cta].b1024.b64",
        "[R],x",
    ),
    (
        "tensormap.replace.tile.[rank|elemtype|swizzle_mode|fill_mode].global.b1024.b32",
        "[R],1",
    ),
    (
        "tensormap.replace.tile.[box_dim|global_dim|element_stride].global.b1024.b32",
        "[R],1,r",
    ),
    (
        "tensormap.replace.tile.global_stride.global.b1024.b64",
        "[R],1,x",
    ),
    (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned",
        "[R],[r],128",
    ),
    ("multimem.ld_reduce.relaxed.sys.global.add.f32", "r,[R]"),
    (
        "tex.[1d.v4.f32.s32|1d.v4.f32.f32|1d.v4.u32.s32]",
        "{r,r,r,r},[x,{r}]",
    ),
    (
        "tex.[2d|a1d].v4.[u32|s32|f32].[s32|f32]",
        "{r,r,r,r}[|p],[x,{r,r}]",
    ),
    (
        "tex.[3d|a2d].v4.[u32|s32|f32].[s32|f32]",
        "{r,r,r,r},[x,{r,r,r,r}]",
    ),
    (
        "tex.[cube|acube].v4.[u32|s32|f32].f32",
        "{r,r,r,r},[x,{r,r,r,r}]",
    ),
    ("tex.2d.v4.f16.f32", "{h,h,h,h},[x,{r,r}]"),
    ("tex.2d.v2.f16x2.f32", "{r,r},[x,{r,r}]"),
    ("tex.2d.v4.f32.f32", "{r,r,r,r},[x,{r,r}],{r,r}"),
    ("tex.2d.v4.f32.f32", "{r,r,r,r},[x,{r,r}],r"),
    ("tex.level.2d.v4.[u32|s32|f32].f32", "{r,r,r,r},[x,{r,r}],r"),
    (
        "tex.grad.2d.v4.[u32|s32|f32].f32",
        "{r,r,r,r},[x,{r,r}],{r,r},{r,r}",
    ),
    ("tex.2dms.v4.f32.s32", "{r,r,r,r},[x,{r,r,r,r}]"),
    (
        "tld4.[r|g|b|a].2d.v4.[u32|s32|f32].f32",
        "{r,r,r,r},[x,{r,r}]",
    ),
    (
        "txq.[width|height|depth|channel_data_type|channel_order|normalized_coords|num_mipmap_levels].b32",
        "r,[x]",
    ),
    (
        "suq.[width|height|depth|channel_data_type|channel_order].b32",
        "r,[x]",
    ),
    ("suld.b.1d.[b8|b16].[trap|clamp|zero]", "h,[x,{r}]"),
    ("suld.b.[2d|a1d].b32.[trap|clamp|zero]", "r,[x,{r,r}]"),
    (
        "suld.b.[3d|a2d].v2.b64.[trap|clamp|zero]",
        "{x,x},[x,{r,r,r,r}]",
    ),
    ("suld.b.2d.v4.b32.trap", "{r,r,r,r},[x,{r,r}]"),
    ("sust.b.[2d|a1d].b32.[trap|clamp|zero]", "[x,{r,r}],r"),
    ("sust.b.3d.v4.b32.trap", "[x,{r,r,r,r}],{r,r,r,r}"),
    ("sust.p.[2d|a1d].b32.[trap|clamp|zero]", "[x,{r,r}],r"),
    ("sust.p.2d.v2.b32.trap", "[x,{r,r}],{r,r}"),
    ("sust.p.2d.v4.b32.trap", "[x,{r,r}],{r,r,r,r}"),
    ("sured.p.[add|min|max|and|or].2d.b32.trap", "[x,{r,r}],r"),
    (
        "sured.b.[add|min|max].2d.[u32|s32].[trap|clamp|zero]",
        "[x,{r,r}],r",
    ),
    ("sured.b.[and|or].2d.b32.trap", "[x,{r,r}],r"),
    ("sured.b.[add|min|max].2d.u64.trap", "[x,{r,r}],x"),
];
