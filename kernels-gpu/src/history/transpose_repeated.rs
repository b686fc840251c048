//! The transposes and the copy that do their work several times in one launch.
//!
//! Source 003 takes two times. The "outer time" is that of one of many launches in a row. The
//! "inner time" is that of one of several repetitions inside of a kernel, so that the cost of a
//! launch does not count. For the first the host launches [`copy`](mod@copy) and the transposes
//! again; for the second it launches these.
//!
//! # Idea
//! The bodies are those of [`transpose`](crate::ladder::transpose), in a loop. Both arrays start at
//! an [`opaque`] offset, which is 0: the compiler cannot know that each repetition does the same,
//! and does the loads and stores every time.
//!
//! # Thread mapping
//! Those of the bodies.
//!
//! # Preconditions
//! Width and height are multiples of 32.
//!
//! # What changed since the rung before
//! Against each rung: the loop, and where the body has a shared tile, a barrier that keeps the next
//! repetition out of it until it is read.
//!
//! # Source
//! 003 ("inner time").

use crate::ladder::transpose::{
    Size, TILE, copy, transpose_coalesced, transpose_naive, transpose_padded, transpose_swizzled,
};
use cuda_std::hint::opaque;
use cuda_std::prelude::*;

/// Kernels that repeat a body. Where it has a shared tile, a barrier follows each repetition.
macro_rules! repeated_kernels {
    ($($(#[$doc:meta])* $name:ident => $body:path $(, then $barrier:path)?;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for the rung, `repetitions` times.
            #[kernel(max_threads = (TILE * TILE) as u32, min_blocks = 1)]
            pub unsafe fn $name(
                input: &[f32],
                output: *mut f32,
                width: u32,
                height: u32,
                repetitions: u32,
            ) {
                let size = Size {
                    width: width as usize,
                    height: height as usize,
                };
                for _ in 0..repetitions {
                    let zero = opaque(0);
                    // SAFETY: `zero` is 0, so both arrays are whole; they and the grid are this
                    // kernel's, whose contract is that of the rung.
                    unsafe { $body(input.get_unchecked(zero..), output.add(zero), size) };
                    $($barrier();)?
                }
            }
        )*
    };
}

repeated_kernels! {
    /// `copy`, repeated.
    copy_repeated => copy::body;
    /// `transpose_naive`, repeated.
    transpose_naive_repeated => transpose_naive::body;
    /// `transpose_coalesced`, repeated.
    transpose_coalesced_repeated => transpose_coalesced::body, then thread::sync_threads;
    /// `transpose_padded`, repeated.
    transpose_padded_repeated => transpose_padded::body, then thread::sync_threads;
    /// `transpose_swizzled`, repeated.
    transpose_swizzled_repeated => transpose_swizzled::body, then thread::sync_threads;
}
