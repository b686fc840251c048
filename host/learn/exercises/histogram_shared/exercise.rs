//! # A histogram of each block
//!
//! Atomic additions to the same address wait for each other, and nine bins in global memory are
//! where all threads of the grid meet. A block that counts in shared memory meets only itself, and
//! its atomics are faster. At the end each block adds its nine counts to those in global memory.
//!
//! ```text
//! block 0   [ own bins ]  --.
//! block 1   [ own bins ]  ---+-->  bins     nine atomic additions of each block
//! block 2   [ own bins ]  --'
//! ```
//!
//! # What to do
//!
//! 1. Threads 0 to 8 set the block's bins to 0.
//! 2. Each thread counts its elements in the block's bins.
//! 3. Threads 0 to 8 add the block's bins to those in global memory.
//!
//! Between two of these steps the whole block has to be done with the first.

use cuda_std::atomic::AtomicFloat;
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn histogram_shared(input: *const f32, bins: *mut f32, n: usize) {
    let own = shared_array![f32; 9];
    let t = thread::thread_idx_x() as usize;
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    // ---- your code: about 13 lines ----
}
