//! # An array of structs, a struct of arrays
//!
//! The input holds 256 particles, one after the other: x, y, z and mass of the first, then of the
//! second, and so on. The output is to hold all x, then all y, all z and all masses.
//!
//! ```text
//! input    [ x0 y0 z0 m0 | x1 y1 z1 m1 | x2 ...
//! output   [ x0 x1 x2 ... x255 | y0 y1 ... | z0 z1 ... | m0 m1 ... m255 ]
//! ```
//!
//! A load of one x in each lane touches addresses 16 bytes apart. The warp's request then covers
//! four times the memory that it uses, and it takes four such requests for the four members.
//!
//! # What to do
//!
//! Read a particle at once: `F32x4::load(pointer)` brings four neighbours as `[f32; 4]`. Then write
//! each member into its array, so that the lanes of a warp write neighbours.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

#[kernel]
pub unsafe fn structs(input: *const f32, output: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        // ---- your code: about 4 lines ----
    }
}
