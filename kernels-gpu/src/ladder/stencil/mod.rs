//! Stencils: each output is a weighted sum of the inputs around it, with the same weights
//! everywhere. What lies outside of the input counts as 0.
//!
//! | file | rungs |
//! |---|---|
//! | [`stencil_1d`](mod@stencil_1d) | `stencil_1d` |
//! | [`stencil_1d_shared`](mod@stencil_1d_shared) | `stencil_1d_shared` |
//! | [`stencil_2d`](mod@stencil_2d) | `stencil_2d` |
//! | [`stencil_2d_tiled`](mod@stencil_2d_tiled) | `stencil_2d_tiled` |
//!
//! In one dimension the weights are the nine of [`WEIGHTS_1D`], in two dimensions the products of
//! the five of [`WEIGHTS_2D`] by rows and columns: binomial coefficients, whose sums approach a
//! normal distribution. (That they are products could save work; the rungs here do not use it, so
//! that they show what any stencil costs.)

/// Threads of a block in one dimension.
pub const BLOCK: usize = 256;

/// Inputs on each side of an output in one dimension.
pub const RADIUS_1D: usize = 4;

/// Weights in one dimension, of the inputs from 4 before to 4 after the output: binomial
/// coefficients of 8 divided by 2⁸, which floats have exactly.
pub const WEIGHTS_1D: [f32; 2 * RADIUS_1D + 1] = [
    1.0 / 256.0,
    8.0 / 256.0,
    28.0 / 256.0,
    56.0 / 256.0,
    70.0 / 256.0,
    56.0 / 256.0,
    28.0 / 256.0,
    8.0 / 256.0,
    1.0 / 256.0,
];

/// Inputs on each side of an output in each of two dimensions.
pub const RADIUS_2D: usize = 2;

/// Weights of rows and of columns: binomial coefficients of 4 divided by 2⁴. The weight of an input
/// is the product of both.
pub const WEIGHTS_2D: [f32; 2 * RADIUS_2D + 1] =
    [1.0 / 16.0, 4.0 / 16.0, 6.0 / 16.0, 4.0 / 16.0, 1.0 / 16.0];

/// Inputs that an output is a sum of, in two dimensions: 25.
pub const POINTS_2D: usize = (2 * RADIUS_2D + 1) * (2 * RADIUS_2D + 1);

pub mod stencil_1d;
pub mod stencil_1d_shared;
pub mod stencil_2d;
pub mod stencil_2d_tiled;
