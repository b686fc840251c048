//! Layer normalisation of each row of a matrix: `output[i][j] = (x[i][j] - mean_i) / √(variance_i +
//! ε) · weight[j] + bias[j]`, with the variance of the row divided by its number of elements.
//!
//! | file | rungs |
//! |---|---|
//! | [`layernorm_three_pass`](mod@layernorm_three_pass) | `layernorm_three_pass` |
//! | [`layernorm_online`](mod@layernorm_online) | `layernorm_online` |
//! | [`layernorm_warp`](mod@layernorm_warp) | `layernorm_warp` |
//! | [`layernorm_vec4`](mod@layernorm_vec4) | `layernorm_vec4` |
//!
//! Source: Ba, Kiros and Hinton, "Layer normalization", 2016.

use super::block::WARP;
use cuda_std::GpuFloat;

/// Threads of a block in this family.
pub const BLOCK: usize = 256;

/// Warps of a block, and rows of one in the rungs with a warp for a row.
pub const WARPS: usize = BLOCK / WARP;

/// ε: what is added to the variance, so that a row of equal elements is divided by a number.
pub const EPSILON: f32 = 1e-5;

/// 1 / √(variance + ε).
#[inline(always)]
fn reciprocal_deviation(variance: f32) -> f32 {
    1.0 / GpuFloat::sqrt(variance + EPSILON)
}

/// An element, normalised, scaled and shifted.
#[inline(always)]
fn normalise(x: f32, [mean, reciprocal]: [f32; 2], weight: f32, bias: f32) -> f32 {
    GpuFloat::mul_add((x - mean) * reciprocal, weight, bias)
}

// ANCHOR: online
/// Of some elements: how many, their mean, and the sum of the squares of their differences from it.
type Moments = [f32; 3];

/// Of no element.
const NONE: Moments = [0.0; 3];

/// Of the elements of both.
#[inline(always)]
fn combine([count, mean, squares]: Moments, other: Moments) -> Moments {
    let [other_count, other_mean, other_squares] = other;
    let both = count + other_count;
    // The share of the others; of no element at all it is 0, and not 0 / 0.
    let share = if both > 0.0 { other_count / both } else { 0.0 };
    let difference = other_mean - mean;
    let between = difference * difference * (count * share);
    [
        both,
        GpuFloat::mul_add(difference, share, mean),
        squares + other_squares + between,
    ]
}
// ANCHOR_END: online

pub mod layernorm_online;
pub mod layernorm_three_pass;
pub mod layernorm_vec4;
pub mod layernorm_warp;
