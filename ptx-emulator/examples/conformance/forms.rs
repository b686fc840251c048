//! The forms of instructions that the PTX ISA's grammar allows, by families.

/// Families of forms: an opcode with alternatives in brackets, `|` between them and nothing for
/// none, and its operands. Letters stand for registers: `h` of 16, `r` of 32, `x` of 64, `q` of 128
/// bits, `p` predicates, `R` addresses; anything else is text.
pub const FORMS: &[(&str, &str)] = &[
    // Integer arithmetic.
    ("[add|sub].[u16|s16]", "h,h,h"),
    ("[add|sub].[u32|s32]", "r,r,r"),
    ("[add|sub].sat.s32", "r,r,r"),
    ("[add|sub].[u64|s64]", "x,x,x"),
    ("add.[u16x2|s16x2]", "r,r,r"),
    ("[add|addc|sub|subc][.cc].[u32|s32]", "r,r,r"),
    ("[add|addc|sub|subc][.cc].[u64|s64]", "x,x,x"),
    ("mul.[lo|hi].[u16|s16]", "h,h,h"),
    ("mul.[lo|hi].[u32|s32]", "r,r,r"),
    ("mul.[lo|hi].[u64|s64]", "x,x,x"),
    ("mul.wide.[u16|s16]", "r,h,h"),
    ("mul.wide.[u32|s32]", "x,r,r"),
    ("mad.[lo|hi].[u16|s16]", "h,h,h,h"),
    ("mad.[lo|hi].[u32|s32]", "r,r,r,r"),
    ("mad.[lo|hi].[u64|s64]", "x,x,x,x"),
    ("mad.wide.[u16|s16]", "r,h,h,r"),
    ("mad.wide.[u32|s32]", "x,r,r,x"),
    ("mad.hi.sat.s32", "r,r,r,r"),
    ("[mad|madc].[lo|hi].cc.[u32|s32]", "r,r,r,r"),
    ("madc.[lo|hi].[u32|s32]", "r,r,r,r"),
    ("[mad|madc].[lo|hi].cc.[u64|s64]", "x,x,x,x"),
    ("madc.[lo|hi].[u64|s64]", "x,x,x,x"),
    ("mul24.[lo|hi].[u32|s32]", "r,r,r"),
    ("mad24.[lo|hi].[u32|s32]", "r,r,r,r"),
    ("mad24.hi.sat.s32", "r,r,r,r"),
    ("sad.[u16|s16]", "h,h,h,h"),
    ("sad.[u32|s32]", "r,r,r,r"),
    ("sad.[u64|s64]", "x,x,x,x"),
    ("[div|rem|min|max].[u16|s16]", "h,h,h"),
    ("[div|rem|min|max].[u32|s32]", "r,r,r"),
    ("[div|rem|min|max].[u64|s64]", "x,x,x"),
    ("[min|max].[u16x2|s16x2|relu.s16x2|relu.s32]", "r,r,r"),
    ("[abs|neg].s16", "h,h"),
    ("[abs|neg].s32", "r,r"),
    ("[abs|neg].s64", "x,x"),
    ("[popc|clz|brev].b32", "r,r"),
    ("[popc|clz].b64", "r,x"),
    ("brev.b64", "x,x"),
    ("bfind[.shiftamt].[u32|s32]", "r,r"),
    ("bfind[.shiftamt].[u64|s64]", "r,x"),
    ("fns.b32", "r,r,r,r"),
    ("bfe.[u32|s32]", "r,r,r,r"),
    ("bfe.[u64|s64]", "x,x,r,r"),
    ("bfi.b32", "r,r,r,r,r"),
    ("bfi.b64", "x,x,x,r,r"),
    ("szext.[clamp|wrap].[u32|s32]", "r,r,r"),
    ("bmsk.[clamp|wrap].b32", "r,r,r"),
    ("dp4a.[u32|s32].[u32|s32]", "r,r,r,r"),
    ("dp2a.[lo|hi].[u32|s32].[u32|s32]", "r,r,r,r"),
    // Logic and shifts.
    ("[and|or|xor].pred", "p,p,p"),
    ("[and|or|xor].b16", "h,h,h"),
    ("[and|or|xor].b32", "r,r,r"),
    ("[and|or|xor].b64", "x,x,x"),
    ("not.pred", "p,p"),
    ("[not|cnot].b16", "h,h"),
    ("[not|cnot].b32", "r,r"),
    ("[not|cnot].b64", "x,x"),
    ("lop3.b32", "r,r,r,r,30"),
    ("lop3.[or|and].b32", "r|p,r,r,r,30,p"),
    ("shf.[l|r].[clamp|wrap].b32", "r,r,r,r"),
    ("shl.b16", "h,h,r"),
    ("shl.b32", "r,r,r"),
    ("shl.b64", "x,x,r"),
    ("shr.[b16|u16|s16]", "h,h,r"),
    ("shr.[b32|u32|s32]", "r,r,r"),
    ("shr.[b64|u64|s64]", "x,x,r"),
    ("prmt.b32[|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16]", "r,r,r,r"),
    // Floats.
    ("[add|sub|mul][|.rn|.rz|.rm|.rp][.ftz][.sat].f32", "r,r,r"),
    ("[add|sub|mul][|.rn|.rz|.rm|.rp].f64", "x,x,x"),
    ("[add|sub|mul][|.rn][.ftz][.sat].f16", "h,h,h"),
    ("[add|sub|mul][|.rn][.ftz][.sat].f16x2", "r,r,r"),
    ("[add|sub|mul][|.rn].bf16", "h,h,h"),
    ("[add|sub|mul][|.rn].bf16x2", "r,r,r"),
    ("[fma|mad].[rn|rz|rm|rp][.ftz][.sat].f32", "r,r,r,r"),
    ("[fma|mad].[rn|rz|rm|rp].f64", "x,x,x,x"),
    ("fma.rn[.ftz][|.sat|.relu].f16", "h,h,h,h"),
    ("fma.rn[.ftz][|.sat|.relu].f16x2", "r,r,r,r"),
    ("fma.rn[.relu].bf16", "h,h,h,h"),
    ("fma.rn[.relu].bf16x2", "r,r,r,r"),
    ("fma.rn.oob[.relu].[f16|bf16]", "h,h,h,h"),
    ("fma.rn.oob[.relu].[f16x2|bf16x2]", "r,r,r,r"),
    ("div.[approx|full|rn|rz|rm|rp][.ftz].f32", "r,r,r"),
    ("div.[rn|rz|rm|rp].f64", "x,x,x"),
    ("[abs|neg][.ftz].f32", "r,r"),
    ("[abs|neg].f64", "x,x"),
    ("[abs|neg][.ftz].f16", "h,h"),
    ("[abs|neg][.ftz].f16x2", "r,r"),
    ("[abs|neg].bf16", "h,h"),
    ("[abs|neg].bf16x2", "r,r"),
    ("[min|max][.ftz][.NaN][.xorsign.abs].f32", "r,r,r"),
    ("[min|max].f64", "x,x,x"),
    ("[min|max][.ftz][.NaN][.xorsign.abs].f16", "h,h,h"),
    ("[min|max][.ftz][.NaN][.xorsign.abs].f16x2", "r,r,r"),
    ("[min|max][.NaN][.xorsign.abs].bf16", "h,h,h"),
    ("[min|max][.NaN][.xorsign.abs].bf16x2", "r,r,r"),
    ("[rcp|sqrt].[approx|rn|rz|rm|rp][.ftz].f32", "r,r"),
    ("[rcp|sqrt].[rn|rz|rm|rp].f64", "x,x"),
    ("[rcp|rsqrt].approx.ftz.f64", "x,x"),
    ("rsqrt.approx[.ftz].f32", "r,r"),
    ("rsqrt.approx.f64", "x,x"),
    ("[sin|cos|lg2|ex2].approx[.ftz].f32", "r,r"),
    ("ex2.approx.[f16|ftz.bf16]", "h,h"),
    ("ex2.approx.[f16x2|ftz.bf16x2]", "r,r"),
    ("tanh.approx.f32", "r,r"),
    ("tanh.approx.[f16|bf16]", "h,h"),
    ("tanh.approx.[f16x2|bf16x2]", "r,r"),
    (
        "testp.[finite|infinite|number|notanumber|normal|subnormal].f32",
        "p,r",
    ),
    (
        "testp.[finite|infinite|number|notanumber|normal|subnormal].f64",
        "p,x",
    ),
    ("copysign.f32", "r,r,r"),
    ("copysign.f64", "x,x,x"),
    // Comparison and selection.
    ("setp.[eq|ne][|.and|.or|.xor].b16", "p[|p],h,h[,p]"),
    ("setp.[eq|ne][|.and|.or|.xor].b32", "p[|p],r,r[,p]"),
    ("setp.[eq|ne][|.and|.or|.xor].b64", "p[|p],x,x[,p]"),
    (
        "setp.[eq|ne|lt|le|gt|ge|lo|ls|hi|hs][|.and|.or|.xor].u16",
        "p[|p],h,h[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge|lo|ls|hi|hs][|.and|.or|.xor].u32",
        "p[|p],r,r[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge|lo|ls|hi|hs][|.and|.or|.xor].u64",
        "p[|p],x,x[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge][|.and|.or|.xor].s16",
        "p[|p],h,h[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge][|.and|.or|.xor].s32",
        "p[|p],r,r[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge][|.and|.or|.xor].s64",
        "p[|p],x,x[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan][|.and|.or|.xor][.ftz].f32",
        "p[|p],r,r[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan][|.and|.or|.xor].f64",
        "p[|p],x,x[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan][|.and|.or|.xor][.ftz].f16",
        "p,h,h[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan][|.and|.or|.xor][.ftz].f16x2",
        "p|p,r,r[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan][|.and|.or|.xor].bf16",
        "p,h,h[,p]",
    ),
    (
        "setp.[eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan][|.and|.or|.xor].bf16x2",
        "p|p,r,r[,p]",
    ),
    (
        "set.[eq|ne|lt|le|gt|ge][|.and|.or|.xor].[u32|s32|f32].[u32|s32]",
        "r,r,r[,p]",
    ),
    (
        "set.[eq|lt|geu|num][|.and|.or|.xor][.ftz].[u32|s32|f32].f32",
        "r,r,r[,p]",
    ),
    ("set.[eq|lt|geu|num][|.and].[u32|s32|f32].f64", "r,x,x[,p]"),
    ("set.[eq|lt][|.and].[u32|s32|f32].[u64|s64]", "r,x,x[,p]"),
    ("set.[eq|lt][|.and].[u32|s32|f32].[u16|s16]", "r,h,h[,p]"),
    (
        "set.[eq|lt|geu|num][|.and|.or|.xor][.ftz].[u32|s32].f16",
        "r,h,h[,p]",
    ),
    (
        "set.[eq|lt|geu|num][|.and|.or|.xor][.ftz].[u16|s16|f16].f16",
        "h,h,h[,p]",
    ),
    (
        "set.[eq|lt|geu|num][|.and|.or|.xor][.ftz].[u32|s32|f16x2].f16x2",
        "r,r,r[,p]",
    ),
    (
        "set.[eq|lt|geu|num][|.and|.or|.xor].[u32|s32].bf16",
        "r,h,h[,p]",
    ),
    (
        "set.[eq|lt|geu|num][|.and|.or|.xor].[u16|s16|bf16].bf16",
        "h,h,h[,p]",
    ),
    (
        "set.[eq|lt|geu|num][|.and|.or|.xor].[u32|s32|bf16x2].bf16x2",
        "r,r,r[,p]",
    ),
    ("set.[eq|lt].[f16|bf16].[u32|s32|f32]", "h,r,r"),
    (
        "set.[ne|le|gt|ge|equ|neu|ltu|leu|gtu|nan][|.and|.or|.xor][.ftz].[u32|s32|f32].f32",
        "r,r,r[,p]",
    ),
    (
        "set.[ne|le|gt|ge|equ|neu|ltu|leu|gtu|nan][|.and|.or|.xor].[u32|s32|f32].f64",
        "r,x,x[,p]",
    ),
    (
        "set.[ne|le|gt|ge|equ|neu|ltu|leu|gtu|nan][|.and|.or|.xor].[f16x2.f16x2|bf16x2.bf16x2]",
        "r,r,r[,p]",
    ),
    (
        "set.[lo|ls|hi|hs][|.and|.or|.xor].[u32|s32|f32].u32",
        "r,r,r[,p]",
    ),
    (
        "set.[ne|le|gt|ge][|.and|.or|.xor].[u32|s32|f32].[u64|s64]",
        "r,x,x[,p]",
    ),
    (
        "set.[ne|le|gt|ge][|.and|.or|.xor].[u32|s32|f32].[u16|s16]",
        "r,h,h[,p]",
    ),
    ("set.[eq|ne][|.and|.or|.xor].[u32|s32|f32].b32", "r,r,r[,p]"),
    ("set.[eq|ne][|.and|.or|.xor].[u32|s32|f32].b64", "r,x,x[,p]"),
    ("set.[eq|ne][|.and|.or|.xor].[u32|s32|f32].b16", "r,h,h[,p]"),
    ("set.[eq|lt].[f16|bf16].[u64|s64|f64]", "h,x,x"),
    ("selp.[b16|u16|s16]", "h,h,h,p"),
    ("selp.[b32|u32|s32|f32]", "r,r,r,p"),
    ("selp.[b64|u64|s64|f64]", "x,x,x,p"),
    ("slct.[b16|u16|s16].s32", "h,h,h,r"),
    ("slct.[b32|u32|s32|f32].s32", "r,r,r,r"),
    ("slct.[b64|u64|s64|f64].s32", "x,x,x,r"),
    ("slct[.ftz].[b16|u16|s16].f32", "h,h,h,r"),
    ("slct[.ftz].[b32|u32|s32|f32].f32", "r,r,r,r"),
    ("slct[.ftz].[b64|u64|s64|f64].f32", "x,x,x,r"),
    // Conversions.
    (
        "cvt[.sat].[u8|s8|u16|s16|u32|s32].[u8|s8|u16|s16|u32|s32]",
        "r,r",
    ),
    ("cvt[.sat].[u64|s64].[u8|s8|u16|s16|u32|s32]", "x,r"),
    ("cvt[.sat].[u8|s8|u16|s16|u32|s32].[u64|s64]", "r,x"),
    ("cvt[.sat].[u64|s64].[u64|s64]", "x,x"),
    ("cvt.[rn|rz|rm|rp][.sat].f16.[u8|s8|u16|s16|u32|s32]", "h,r"),
    ("cvt.[rn|rz|rm|rp][.sat].f16.[u64|s64]", "h,x"),
    ("cvt.[rn|rz|rm|rp].bf16.[u8|s8|u16|s16|u32|s32]", "h,r"),
    ("cvt.[rn|rz|rm|rp].bf16.[u64|s64]", "h,x"),
    (
        "cvt.[rn|rz|rm|rp][.ftz][.sat].f32.[u8|s8|u16|s16|u32|s32]",
        "r,r",
    ),
    ("cvt.[rn|rz|rm|rp][.ftz][.sat].f32.[u64|s64]", "r,x"),
    ("cvt.[rn|rz|rm|rp][.sat].f64.[u8|s8|u16|s16|u32|s32]", "x,r"),
    ("cvt.[rn|rz|rm|rp][.sat].f64.[u64|s64]", "x,x"),
    (
        "cvt.[rni|rzi|rmi|rpi][.sat].[u8|s8|u16|s16|u32|s32].[f16|bf16]",
        "r,h",
    ),
    ("cvt.[rni|rzi|rmi|rpi][.sat].[u64|s64].[f16|bf16]", "x,h"),
    (
        "cvt.[rni|rzi|rmi|rpi][.ftz][.sat].[u8|s8|u16|s16|u32|s32].f32",
        "r,r",
    ),
    ("cvt.[rni|rzi|rmi|rpi][.ftz][.sat].[u64|s64].f32", "x,r"),
    (
        "cvt.[rni|rzi|rmi|rpi][.sat].[u8|s8|u16|s16|u32|s32].f64",
        "r,x",
    ),
    ("cvt.[rni|rzi|rmi|rpi][.sat].[u64|s64].f64", "x,x"),
    ("cvt[|.rni|.rzi|.rmi|.rpi][.sat].f16.f16", "h,h"),
    ("cvt[|.rni|.rzi|.rmi|.rpi].bf16.bf16", "h,h"),
    ("cvt[|.rni|.rzi|.rmi|.rpi][.ftz][.sat].f32.f32", "r,r"),
    ("cvt[|.rni|.rzi|.rmi|.rpi][.sat].f64.f64", "x,x"),
    ("cvt[.ftz][.sat].f32.f16", "r,h"),
    ("cvt[.ftz].f32.bf16", "r,h"),
    ("cvt[.sat].f64.f16", "x,h"),
    ("cvt.f64.bf16", "x,h"),
    ("cvt[.ftz][.sat].f64.f32", "x,r"),
    ("cvt.[rn|rz|rm|rp][.ftz][.sat].f16.f32", "h,r"),
    ("cvt.[rn|rz|rm|rp][.sat].f16.f64", "h,x"),
    ("cvt.[rn|rz|rm|rp].bf16.[f16|bf16]", "h,h"),
    ("cvt.[rn|rz|rm|rp].f16.bf16", "h,h"),
    ("cvt.[rn|rz|rm|rp].bf16.f64", "h,x"),
    ("cvt.[rn|rz|rm|rp].bf16.f32", "h,r"),
    ("cvt.[rn|rz][.relu][.satfinite].[f16|bf16].f32", "h,r"),
    ("cvt.[rn|rz][.relu][.satfinite].[f16x2|bf16x2].f32", "r,r,r"),
    ("cvt.[rn|rz|rm|rp][.ftz][.sat].f32.f64", "r,x"),
    ("cvt.rna[.satfinite].tf32.f32", "r,r"),
    ("cvt.[rn|rz][.relu].tf32.f32", "r,r"),
    ("cvt.rn.satfinite[.relu].[e4m3x2|e5m2x2].f32", "h,r,r"),
    ("cvt.rn.satfinite[.relu].[e4m3x2|e5m2x2].f16x2", "h,r"),
    ("cvt.rn[.relu].f16x2.[e4m3x2|e5m2x2]", "r,h"),
    ("cvt.pack.sat.[u16|s16].s32", "r,r,r"),
    ("cvt.pack.sat.[u8|s8|u4|s4|u2|s2].s32.b32", "r,r,r,r"),
    ("cvta[.to].[global|shared|local|const|param].u64", "x,x"),
    // Moves and accesses.
    ("mov.[b16|u16|s16]", "h,h"),
    ("mov.[b32|u32|s32|f32]", "r,r"),
    ("mov.[b64|u64|s64|f64]", "x,x"),
    ("mov.pred", "p,p"),
    ("mov.b32", "r,{h,h}"),
    ("mov.b32", "{h,h},r"),
    ("mov.b64", "x,{r,r}"),
    ("mov.b64", "{h,h,h,h},x"),
    (
        "[ld|st].[global|shared|local].[b8|u8|s8|b16|u16|s16|b32|u32|s32|f32]",
        "A:r",
    ),
    ("[ld|st][.relaxed.gpu|.volatile].global.[b32|b64]", "A:x"),
    (
        "[ld|st][|.global|.shared|.local][.v2].[b64|u64|s64|f64]",
        "A:X",
    ),
    ("[ld|st].global.v4.[b32|f32|u16|u8]", "A:4"),
    ("ld[.ca|.cg|.cs|.lu|.cv].global.b32", "r,[R]"),
    ("ld.global.nc[.L1::evict_last][.L2::128B].b32", "r,[R]"),
    ("ld.global.L2::cache_hint.b32", "r,[R],x"),
    ("ldu.global.b32", "r,[R]"),
    (
        "atom[.acq_rel.gpu].[global|shared].[and|or|xor|exch].b32",
        "r,[R],r",
    ),
    (
        "atom[.acq_rel.gpu].[global|shared].[and|or|xor|exch].b64",
        "x,[R],x",
    ),
    ("atom.[global|shared].[add|min|max].[u32|s32]", "r,[R],r"),
    ("atom.[global|shared].[add|min|max].u64", "x,[R],x"),
    ("atom.[global|shared].[min|max].s64", "x,[R],x"),
    ("atom.[global|shared].[inc|dec].u32", "r,[R],r"),
    ("atom.[global|shared].cas.b16", "h,[R],h,h"),
    ("atom.[global|shared].cas.b32", "r,[R],r,r"),
    ("atom.[global|shared].cas.b64", "x,[R],x,x"),
    ("atom.[global|shared].add.f32", "r,[R],r"),
    ("atom.[global|shared].add.f64", "x,[R],x"),
    ("atom.[global|shared].add.noftz.[f16|bf16]", "h,[R],h"),
    ("atom.[global|shared].add.noftz.[f16x2|bf16x2]", "r,[R],r"),
    (
        "atom.global.[add|min|max].noftz.v4.[f16x2|bf16x2]",
        "{r,r,r,r},[R],{r,r,r,r}",
    ),
    ("atom.global.add.v2.f32", "{r,r},[R],{r,r}"),
    ("red.[global|shared].[add|min|max].[u32|s32]", "[R],r"),
    ("red.[global|shared].[and|or|xor].b32", "[R],r"),
    ("red.[global|shared].add.[u64|f64]", "[R],x"),
    ("red.global.add.v4.f32", "[R],{r,r,r,r}"),
    ("prefetch[.global].[L1|L2]", "[R]"),
    ("isspacep.[global|shared|local|const|param]", "p,x"),
    ("createpolicy.fractional.L2::evict_last.b64", "x,0.5"),
    // Warps.
    ("shfl.sync.[up|down|bfly|idx].b32", "r[|p],r,r,r,r"),
    ("vote.sync.[all|any|uni].pred", "p,p,r"),
    ("vote.sync.ballot.b32", "r,p,r"),
    ("match.any.sync.b32", "r,r,r"),
    ("match.any.sync.b64", "r,x,r"),
    ("match.all.sync.b32", "r|p,r,r"),
    ("match.all.sync.b64", "r|p,x,r"),
    ("activemask.b32", "r"),
    ("redux.sync.[add|min|max].[u32|s32]", "r,r,r"),
    ("redux.sync.[and|or|xor].b32", "r,r,r"),
    ("elect.sync", "r|p,r"),
    // Matrices.
    (
        "ldmatrix.sync.aligned.m8n8.x1[.trans].shared.b16",
        "{r},[R]",
    ),
    (
        "ldmatrix.sync.aligned.m8n8.x2[.trans][|.shared|.shared::cta].b16",
        "{r,r},[R]",
    ),
    (
        "stmatrix.sync.aligned.m8n8.x1[.trans][|.shared|.shared::cta].b16",
        "[R],{r}",
    ),
    (
        "stmatrix.sync.aligned.m8n8.x4[.trans].shared.b16",
        "[R],{r,r,r,r}",
    ),
    (
        "ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16",
        "{r,r,r,r},[R]",
    ),
    (
        "stmatrix.sync.aligned.m8n8.x2[.trans].shared.b16",
        "[R],{r,r}",
    ),
    ("movmatrix.sync.aligned.m8n8.trans.b16", "r,r"),
    (
        "mma.sync.aligned.m16n8k8.row.col.f32.[f16.f16|bf16.bf16].f32",
        "M:4,2,1,4",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.[f16.f16|bf16.bf16].f32",
        "M:4,4,2,4",
    ),
    (
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
        "M:4,2,1,4",
    ),
    (
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        "M:4,4,2,4",
    ),
    (
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
        "M:2,2,1,2",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
        "M:2,4,2,2",
    ),
    (
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
        "M:8,2,2,8",
    ),
    (
        "mma.sync.aligned.m8n8k16.row.col[.satfinite].s32.[s8|u8].[s8|u8].s32",
        "M:2,1,1,2",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col[.satfinite].s32.[s8|u8].[s8|u8].s32",
        "M:4,2,1,4",
    ),
    (
        "mma.sync.aligned.m16n8k32.row.col[.satfinite].s32.[s8|u8].[s8|u8].s32",
        "M:4,4,2,4",
    ),
    (
        "mma.sync.aligned.m8n8k32.row.col[.satfinite].s32.[s4|u4].[s4|u4].s32",
        "M:2,1,1,2",
    ),
    (
        "mma.sync.aligned.m16n8k64.row.col[.satfinite].s32.[s4|u4].[s4|u4].s32",
        "M:4,4,2,4",
    ),
    (
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.[xor|and].popc",
        "M:2,1,1,2",
    ),
    (
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.[xor|and].popc",
        "M:4,4,2,4",
    ),
    (
        "mma.sync.aligned.m16n8k32.row.col.f32.[e4m3|e5m2].[e4m3|e5m2].f32",
        "M:4,4,2,4",
    ),
    (
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
        "D:2,1,1,2",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64",
        "D:4,8,4,4",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].m16n16k16.f32.f32",
        "M:8,8,8,8",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].m16n16k16.f16.f16",
        "M:4,8,8,4",
    ),
    (
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32",
        "M:8,4,4,8",
    ),
    (
        "wmma.mma.sync.aligned.row.col.m16n16k16[.satfinite].s32.[s8.s8|u8.u8].s32",
        "M:8,2,2,8",
    ),
    (
        "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32",
        "M:8,4,4,8",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].[m8n32k16|m32n8k16].f32.f32",
        "M:8,8,8,8",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].[m16n16k16|m8n32k16|m32n8k16].f16.f32",
        "M:4,8,8,8",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].[m16n16k16|m8n32k16|m32n8k16].f32.f16",
        "M:8,8,8,4",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].[m8n32k16|m32n8k16].f16.f16",
        "M:4,8,8,4",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].m8n32k16.f32.bf16.bf16.f32",
        "M:8,2,8,8",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].m32n8k16.f32.bf16.bf16.f32",
        "M:8,8,2,8",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].m8n32k16.s32.[s8.s8|u8.u8].s32[.satfinite]",
        "M:8,1,4,8",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].m32n8k16.s32.[s8.s8|u8.u8].s32[.satfinite]",
        "M:8,4,1,8",
    ),
    (
        "wmma.mma.sync.aligned.row.col.m8n8k32.s32.[s4.s4|u4.u4].s32[.satfinite]",
        "M:2,1,1,2",
    ),
    (
        "wmma.mma.[xor|and].popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
        "M:2,1,1,2",
    ),
    (
        "wmma.mma.sync.aligned.[row|col].[row|col].m8n8k4[|.rn|.rz|.rm|.rp].f64.f64.f64.f64",
        "D:2,1,1,2",
    ),
    (
        "wmma.load.[a|b].sync.aligned.[row|col].[m16n16k16|m8n32k16|m32n8k16][|.global|.shared].\
         f16",
        "{r,r,r,r,r,r,r,r},[R],r",
    ),
    (
        "wmma.load.c.sync.aligned.[row|col].[m16n16k16|m8n32k16|m32n8k16][|.global|.shared].f16",
        "{r,r,r,r},[R],r",
    ),
    (
        "wmma.load.c.sync.aligned.[row|col].[m16n16k16|m8n32k16|m32n8k16].[f32|s32]",
        "{r,r,r,r,r,r,r,r},[R],r",
    ),
    (
        "wmma.load.[a|b].sync.aligned.[row|col].m16n16k16.bf16",
        "{r,r,r,r},[R],r",
    ),
    (
        "wmma.load.[a|b].sync.aligned.[row|col].m16n16k8.tf32",
        "{r,r,r,r},[R],r",
    ),
    (
        "wmma.load.[a|b].sync.aligned.[row|col].m16n16k16.[s8|u8]",
        "{r,r},[R],r",
    ),
    ("wmma.load.a.sync.aligned.row.m8n8k32.[s4|u4]", "{r},[R],r"),
    ("wmma.load.b.sync.aligned.col.m8n8k32.[s4|u4]", "{r},[R],r"),
    ("wmma.load.a.sync.aligned.row.m8n8k128.b1", "{r},[R],r"),
    ("wmma.load.b.sync.aligned.col.m8n8k128.b1", "{r},[R],r"),
    (
        "wmma.load.c.sync.aligned.[row|col].[m8n8k32|m8n8k128].s32",
        "{r,r},[R],r",
    ),
    (
        "wmma.load.[a|b].sync.aligned.[row|col].m8n8k4.f64",
        "{x},[R],r",
    ),
    (
        "wmma.load.c.sync.aligned.[row|col].m8n8k4.f64",
        "{x,x},[R],r",
    ),
    (
        "wmma.store.d.sync.aligned.[row|col].m8n8k4.f64",
        "[R],{x,x},r",
    ),
    (
        "wmma.store.d.sync.aligned.[row|col].[m16n16k16|m8n32k16|m32n8k16].[f32|s32]",
        "[R],{r,r,r,r,r,r,r,r},r",
    ),
    (
        "wmma.store.d.sync.aligned.[row|col].[m16n16k16|m8n32k16|m32n8k16].f16",
        "[R],{r,r,r,r},r",
    ),
    (
        "wmma.store.d.sync.aligned.[row|col].[m8n8k32|m8n8k128].s32",
        "[R],{r,r},r",
    ),
    (
        "mma.sync.aligned.m8n8k4.[row|col].[row|col].f16.f16.f16.f16",
        "M:4,2,2,4",
    ),
    (
        "mma.sync.aligned.m8n8k4.[row|col].[row|col].f32.f16.f16.f16",
        "M:8,2,2,4",
    ),
    (
        "mma.sync.aligned.m8n8k4.[row.row|col.row|col.col].f32.f16.f16.f32",
        "M:8,2,2,8",
    ),
    (
        "mma.sync.aligned.m16n8k32.row.col[.satfinite].s32.[s4|u4].[s4|u4].s32",
        "M:4,2,1,4",
    ),
    (
        "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.[xor|and].popc",
        "M:4,2,1,4",
    ),
    (
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",
        "D:4,2,1,4",
    ),
    (
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",
        "D:4,4,2,4",
    ),
    (
        "mma.sync.aligned.m16n8k32.row.col.f16.[e4m3|e5m2].[e4m3|e5m2].f16",
        "M:2,4,2,2",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.[e4m3|e5m2].[e4m3|e5m2].f32",
        "M:4,2,1,4",
    ),
    (
        "mma.sync.aligned.m16n8k16.row.col.f16.[e4m3|e5m2].[e4m3|e5m2].f16",
        "M:2,2,1,2",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k16.row.col.f32.[f16.f16|bf16.bf16].f32",
        "{r,r,r,r},{r,r},{r,r},{r,r,r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k32.row.col.f32.[f16.f16|bf16.bf16].f32",
        "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
        "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k64.row.col.s32.[s8|u8].[s8|u8].s32",
        "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
        "{r,r},{r,r},{r,r},{r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k32.row.col.f16.f16.f16.f16",
        "{r,r},{r,r,r,r},{r,r,r,r},{r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        "{r,r,r,r},{r,r},{r,r},{r,r,r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k32.row.col.s32.[s8|u8].[s8|u8].s32",
        "{r,r,r,r},{r,r},{r,r},{r,r,r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k64.row.col.s32.[s4|u4].[s4|u4].s32",
        "{r,r,r,r},{r,r},{r,r},{r,r,r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k128.row.col.s32.[s4|u4].[s4|u4].s32",
        "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0",
    ),
    (
        "mma.[sp|sp::ordered_metadata].sync.aligned.m16n8k64.row.col.f32.[e4m3|e5m2].[e4m3|e5m2].f32",
        "{r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r},r,0",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.[f16.f16|bf16.bf16]",
        "{r,r,r,r},x,x,p,1,1,0,0",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n24k16.f16.f16.f16",
        "{r,r,r,r,r,r},{r,r,r,r},x,p,1,-1,1",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.[f16.f16|bf16.bf16]",
        "{r,r,r,r},{r,r,r,r},x,p,1,1,1",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32",
        "{r,r,r,r},{r,r,r,r},x,p,-1,1",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.[e4m3|e5m2].[e4m3|e5m2]",
        "{r,r,r,r},{r,r,r,r},x,p,1,1",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k32[.satfinite].s32.[s8|u8].[s8|u8]",
        "{r,r,r,r},{r,r,r,r},x,p",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc",
        "{r,r,r,r},{r,r,r,r},x,p",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32",
        "{r,r,r,r},x,x,p,1,1",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.[e4m3|e5m2].[e4m3|e5m2]",
        "{r,r,r,r},x,x,p,1,1",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k32.f16.[e4m3|e5m2].[e4m3|e5m2]",
        "{r,r},x,x,p,1,1",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k32[.satfinite].s32.[s8|u8].[s8|u8]",
        "{r,r,r,r},x,x,p",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc",
        "{r,r,r,r},x,x,p",
    ),
    (
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16",
        "{r,r,r,r},x,x,r,0,p,1,1,0,0",
    ),
    ("wgmma.[fence|commit_group].sync.aligned", ""),
    ("wgmma.wait_group.sync.aligned", "0"),
    // Video.
    (
        "[vadd|vsub|vabsdiff|vmin|vmax].[u32|s32].[u32|s32].[u32|s32][.sat]",
        "r,r,r",
    ),
    (
        "[vadd|vsub|vabsdiff|vmin|vmax].s32.s32.s32[.sat].[add|min|max]",
        "r,r,r,r",
    ),
    (
        "[vshl|vshr].[u32|s32].[u32|s32].u32[.sat].[clamp|wrap]",
        "r,r,r",
    ),
    (
        "vmad.[u32|s32].[u32|s32].[u32|s32][.po][.sat][|.shr7|.shr15]",
        "r,r,r,r",
    ),
    ("vset.u32.u32.[eq|ne|lt|le|gt|ge]", "r,r,r"),
    (
        "[vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2].[u32|s32].[u32|s32].[u32|s32][|.sat|.add]",
        "r,r,r,r",
    ),
    (
        "[vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4].[u32|s32].[u32|s32].[u32|s32][|.sat|.add]",
        "r,r,r,r",
    ),
    (
        "[vset2|vset4].[u32|s32].[u32|s32].[eq|ne|lt|le|gt|ge][.add]",
        "r,r,r,r",
    ),
    (
        "vset.[u32|s32].[u32|s32].[eq|ne|lt|le|gt|ge].[add|min|max]",
        "r,r,r,r",
    ),
    (
        "[vadd|vsub|vabsdiff|vmin|vmax].[u32|s32].[u32|s32].[u32|s32][.sat]",
        "r.h1,r.b2,r.h0,r",
    ),
    (
        "[vadd|vsub|vabsdiff|vmin|vmax].[u32|s32].[u32|s32].[u32|s32][.sat].[add|min|max]",
        "r,r.b3,r.h1,r",
    ),
    (
        "[vadd|vsub|vabsdiff|vmin|vmax].[u32|s32].[u32|s32].u32[.sat].[add|min|max]",
        "r,r,r,r",
    ),
    (
        "[vadd|vsub|vabsdiff|vmin|vmax].[u32|s32].[u32|s32].s32[.sat]",
        "r.<b0|b1|b2|b3|h0|h1>,r,r,r",
    ),
    (
        "[vshl|vshr].[u32|s32].[u32|s32].u32[.sat].[clamp|wrap].[add|min|max]",
        "r,r,r.b1,r",
    ),
    (
        "[vshl|vshr].[u32|s32].[u32|s32].u32[.sat].[clamp|wrap]",
        "r.<b0|b3|h0|h1>,r,r.b2,r",
    ),
    (
        "vset.[u32|s32].[u32|s32].[eq|ne|lt|le|gt|ge]",
        "r.<b0|b2|h0|h1>,r.h1,r,r",
    ),
    (
        "vset.[u32|s32].[u32|s32].[eq|ne|lt|le|gt|ge].[add|min|max]",
        "r,r.b0,r.h0,r",
    ),
    (
        "vmad.[u32|s32].[u32|s32].[u32|s32][.po][.sat][|.shr7|.shr15]",
        "r,r,r.b2,r",
    ),
    (
        "[vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2].s32.[u32|s32].u32[|.sat|.add]",
        "r.h1,r.h20,r.h31,r",
    ),
    (
        "[vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4].s32.[u32|s32].u32[|.sat|.add]",
        "r.b320,r.b7061,r.b0246,r",
    ),
    (
        "vmad.[u32|s32].[u32|s32].[u32|s32][.po][.sat][|.shr7|.shr15]",
        "r,r.b1,r.h1,r",
    ),
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
    ("sust.p.2d.v4.b32.trap", "[x,{r,r}],{r,r,r,r}"),
    (
        "sured.b.[add|min|max].2d.[u32|s32].[trap|clamp|zero]",
        "[x,{r,r}],r",
    ),
    ("sured.b.[and|or].2d.b32.trap", "[x,{r,r}],r"),
    ("sured.b.[add|min|max].2d.u64.trap", "[x,{r,r}],x"),
];

/// Families of forms that need a GPU newer than compute capability 9.0, by target.
pub const NEWER: &[(&str, &[(&str, &str)])] = &[
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
                "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8",
                "{r,r},[R]",
            ),
            (
                "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8",
                "{r,r,r,r},[R]",
            ),
            (
                "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.[b6x16_p32|b4x16_p64]",
                "{r},[R]",
            ),
            ("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8", "[R],{r}"),
            (
                "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8",
                "[R],{r,r,r,r}",
            ),
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
        ],
    ),
];
