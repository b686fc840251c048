//! Forms of GPUs newer than compute capability 9.0.

use super::{Family, tensor_memory};

/// Families by the first target that has them.
pub const NEWER: &[(&str, &[Family])] = &[
    (
        "sm_100a",
        &[
            ("[add|sub|mul][|.rn|.rz|.rm|.rp][.ftz].f32x2", "x,x,x"),
            ("fma.[rn|rz|rm|rp][.ftz].f32x2", "x,x,x,x"),
            ("[add|sub][|.rn|.rz|.rm|.rp][.sat].f32.[f16|bf16]", "r,h,r"),
            ("fma.[rn|rz|rm|rp][.sat].f32.[f16|bf16]", "r,h,h,r"),
            ("[min|max][.ftz][.NaN][.abs].f32", "r,r,r,r"),
            ("cvt.[rn|rz][.relu].satfinite.tf32.f32", "r,r"),
            ("cvt.rn.satfinite[.relu].[e2m3x2|e3m2x2].f32", "h,r,r"),
            ("cvt.rn[.relu].f16x2.[e2m3x2|e3m2x2]", "r,h"),
            ("cvt.rn.satfinite[.relu].e2m1x2.f32", "b,r,r"),
            ("cvt.rn[.relu].f16x2.e2m1x2", "r,b"),
            ("cvt.[rz|rp][.satfinite].ue8m0x2.f32", "h,r,r"),
            ("cvt.[rz|rp][.satfinite].ue8m0x2.bf16x2", "h,r"),
            ("cvt.rn.bf16x2.ue8m0x2", "r,h"),
            ("cvt.rs[.relu][.satfinite].[f16x2|bf16x2].f32", "r,r,r,r"),
            (
                "cvt.rs[.relu].satfinite.[e4m3x4|e5m2x4|e2m3x4|e3m2x4].f32",
                "r,{r,r,r,r},r",
            ),
            ("cvt.rs[.relu].satfinite.e2m1x4.f32", "h,{r,r,r,r},r"),
            ("redux.sync.[min|max][.abs][.NaN].f32", "r,r,r"),
            (
                "ldmatrix.sync.aligned.m16n16.x1.trans[|.shared|.shared::cta].\
                 [b8|b8x16.b6x16_p32|b8x16.b4x16_p64]",
                "{r,r},[R]",
            ),
            (
                "ldmatrix.sync.aligned.m16n16.x2.trans.shared.\
                 [b8|b8x16.b6x16_p32|b8x16.b4x16_p64]",
                "{r,r,r,r},[R]",
            ),
            (
                "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.[b6x16_p32|b4x16_p64]",
                "{r},[R]",
            ),
            (
                "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.[b6x16_p32|b4x16_p64]",
                "{r,r},[R]",
            ),
            (
                "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.[b6x16_p32|b4x16_p64]",
                "{r,r,r,r},[R]",
            ),
            ("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8", "[R],{r}"),
            (
                "stmatrix.sync.aligned.m16n8.x2.trans[|.shared::cta].b8",
                "[R],{r,r}",
            ),
            (
                "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8",
                "[R],{r,r,r,r}",
            ),
        ],
    ),
    ("sm_100a", tensor_memory::FORMS),
    (
        "sm_100f",
        &[
            (
                "cvt.rn[.relu][.satfinite].bf16x2.[e4m3x2|e5m2x2|e2m3x2|e3m2x2]",
                "r,h",
            ),
            ("cvt.rn[.relu][.satfinite].bf16x2.e2m1x2", "r,b"),
            ("clmad.[lo|hi].u64", "x,x,x,x"),
        ],
    ),
    (
        "sm_120f",
        &[
            ("[add|sub][.sat].[u8x4|s8x4]", "r,r,r"),
            ("add.sat.[u32|u16x2|s16x2]", "r,r,r"),
            ("[min|max].[u8x4|s8x4]", "r,r,r"),
            ("[min|max].relu.s8x4", "r,r,r"),
            ("neg.s8x4", "r,r"),
        ],
    ),
    (
        "sm_120a",
        &[
            (
                "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.[e4m3|e5m2|e3m2|e2m3|e2m1].\
                 [e4m3|e5m2|e3m2|e2m3|e2m1].f32",
                "M:4,4,2,4",
            ),
            (
                "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.[e4m3|e5m2|e3m2|e2m3|e2m1].\
                 [e4m3|e5m2|e3m2|e2m3|e2m1].f16",
                "M:2,4,2,2",
            ),
            (
                "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale[.scale_vec::1X].f32.\
                 [e4m3|e5m2|e3m2|e2m3|e2m1].[e4m3|e5m2|e3m2|e2m3|e2m1].f32.ue8m0",
                "{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r},r,{1,1},r,{2,3}",
            ),
            (
                "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale[.scale_vec::2X].f32.e2m1.\
                 e2m1.f32.ue8m0",
                "{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r},r,{2,1},r,{0,3}",
            ),
            (
                "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.\
                 e2m1.e2m1.f32.ue8m0",
                "{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r},r,{2,1},r,{0,3}",
            ),
            (
                "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.\
                 e2m1.e2m1.f32.ue4m3",
                "{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r},r,{0,1},r,{0,3}",
            ),
            (
                "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.\
                 [e4m3|e5m2|e3m2|e2m3|e2m1].[e4m3|e2m3|e2m1].f32",
                "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0",
            ),
            (
                "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f16.\
                 [e4m3|e5m2|e3m2|e2m3|e2m1].[e5m2|e3m2].f16",
                "{r,r},{r,r,r,r},{r,r,r,r},{r,r},r,0",
            ),
            (
                "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.\
                 block_scale[.scale_vec::1X].f32.[e4m3|e5m2|e3m2|e2m3|e2m1].\
                 [e4m3|e5m2|e3m2|e2m3|e2m1].f32.ue8m0",
                "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0,r,{1,1},r,{2,3}",
            ),
            (
                "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.\
                 block_scale[.scale_vec::2X].f32.e2m1.e2m1.f32.ue8m0",
                "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0,r,{2,1},r,{0,3}",
            ),
            (
                "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.\
                 block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
                "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0,r,{2,1},r,{0,3}",
            ),
            (
                "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.\
                 block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
                "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0,r,{0,1},r,{0,3}",
            ),
        ],
    ),
];
