//! Fragments of the chapters on the families beside the products.

use super::Of::{self, Counters, Predicted};
use super::cube;
use warpladder_lab::problem::Shape;

const REDUCE: &[&str] = &[
    "reduce_atomic",
    "reduce_shared",
    "reduce_shuffle",
    "reduce_vec4",
    "reduce_two_pass",
    "reduce_one_pass",
];
const SCAN: &[&str] = &[
    "scan_hillis_steele",
    "scan_blelloch",
    "scan_warp",
    "scan_look_back",
    "scan_large_tiles",
];
const HISTOGRAM: &[&str] = &["histogram_global", "histogram_shared", "histogram_warp"];
const SOFTMAX: &[&str] = &[
    "softmax_three_pass",
    "softmax_online",
    "softmax_warp",
    "softmax_vec4",
    "softmax_registers",
];
const LAYERNORM: &[&str] = &[
    "layernorm_three_pass",
    "layernorm_online",
    "layernorm_warp",
    "layernorm_vec4",
];
const STENCIL_1D: &[&str] = &["stencil_1d", "stencil_1d_shared"];
const STENCIL_2D: &[&str] = &["stencil_2d", "stencil_2d_tiled"];
const SPMV: &[&str] = &["spmv_thread", "spmv_warp", "spmv_lanes"];
const ALL_ATTENTION: &[&str] = &[
    "attention_naive",
    "attention_online",
    "attention_mma_f16",
    "attention_mma_bf16",
    "attention_wgmma_bf16",
    "attention_wgmma_bf16_causal",
];
/// With heads of 64 elements, and of 128.
const ATTENTION: &[&str] = ALL_ATTENTION.split_at(4).0;
const ATTENTION_128: &[&str] = ALL_ATTENTION.split_at(4).1;

/// Queries and keys of two heads of 64 elements, or of one of 128.
const TWO_HEADS: Shape = Shape {
    m: 256,
    n: 128,
    k: 256,
};

/// Queries and keys of 32 heads of 64 elements, or of 16 of 128.
const MANY_HEADS: Shape = Shape {
    m: 4096,
    n: 2048,
    k: 4096,
};

pub const FRAGMENTS: &[(&str, Of)] = &[
    ("reduce.md", Counters(REDUCE, cube(256))),
    ("reduce-predicted.md", Predicted(REDUCE, cube(8192))),
    ("scan.md", Counters(SCAN, cube(256))),
    ("scan-predicted.md", Predicted(SCAN, cube(8192))),
    ("histogram.md", Counters(HISTOGRAM, cube(256))),
    ("histogram-predicted.md", Predicted(HISTOGRAM, cube(8192))),
    ("softmax.md", Counters(SOFTMAX, cube(256))),
    ("softmax-predicted.md", Predicted(SOFTMAX, cube(8192))),
    ("layernorm.md", Counters(LAYERNORM, cube(256))),
    ("layernorm-predicted.md", Predicted(LAYERNORM, cube(8192))),
    ("stencil-1d.md", Counters(STENCIL_1D, cube(256))),
    ("stencil-2d.md", Counters(STENCIL_2D, cube(256))),
    ("stencil-1d-predicted.md", Predicted(STENCIL_1D, cube(8192))),
    ("stencil-2d-predicted.md", Predicted(STENCIL_2D, cube(8192))),
    ("spmv.md", Counters(SPMV, cube(4096))),
    ("attention.md", Counters(ATTENTION, TWO_HEADS)),
    ("attention-wgmma.md", Counters(ATTENTION_128, TWO_HEADS)),
    (
        "attention-predicted.md",
        Predicted(ALL_ATTENTION, MANY_HEADS),
    ),
];
