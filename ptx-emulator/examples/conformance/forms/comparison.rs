//! Comparison and selection.

use super::Family;

pub const FORMS: &[Family] = &[
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
];
