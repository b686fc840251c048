//! Softmax of each row of a matrix: `output[i][j] = exp(x[i][j] - max_i) / sum_i`, where `max_i` is
//! the largest element of row i and `sum_i` the sum of the exponentials of the row.
//!
//! | file | rungs |
//! |---|---|
//! | [`softmax_three_pass`](mod@softmax_three_pass) | `softmax_three_pass` |
//! | [`softmax_online`](mod@softmax_online) | `softmax_online` |
//! | [`softmax_warp`](mod@softmax_warp) | `softmax_warp` |
//! | [`softmax_vec4`](mod@softmax_vec4) | `softmax_vec4` |
//! | [`softmax_registers`](mod@softmax_registers) | `softmax_registers` |
//!
//! Without the maximum the exponential of 89 would already be infinite. With it the largest
//! exponential is 1, and the sum at least 1.
//!
//! Exponentials are those of [`single`](cuda_std::float::single), with the same bits on every GPU,
//! except in `softmax_registers`, which says what its own are off by.

use super::block::WARP;
use cuda_std::GpuFloat;
use cuda_std::float::single::exp;

/// Threads of a block in this family.
pub const BLOCK: usize = 256;

/// Warps of a block, and rows of one in the rungs with a warp for a row.
pub const WARPS: usize = BLOCK / WARP;

/// Less than every finite element: what a maximum begins with. It is finite, so that the difference
/// of two of them is a number.
const LEAST: f32 = f32::MIN;

// ANCHOR: online
/// The largest of some elements, and the sum of the exponentials of all, less that one.
type MaxAndSum = [f32; 2];

/// Of no element.
const NONE: MaxAndSum = [LEAST, 0.0];

/// Of the elements of both: each sum is scaled from its own maximum to the common one.
#[inline(always)]
fn combine([max, sum]: MaxAndSum, [other_max, other_sum]: MaxAndSum) -> MaxAndSum {
    let common = max.max(other_max);
    let scaled = sum * exp(max - common);
    [
        common,
        GpuFloat::mul_add(other_sum, exp(other_max - common), scaled),
    ]
}
// ANCHOR_END: online

pub mod softmax_online;
pub mod softmax_registers;
pub mod softmax_three_pass;
pub mod softmax_vec4;
pub mod softmax_warp;
