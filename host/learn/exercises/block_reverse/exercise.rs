//! # Shared memory
//!
//! The threads of a block have memory in common, on the chip: `shared_array![f32; 128]` is a
//! pointer to 128 elements of it. What one thread writes there, others can read, once they know
//! that it is written: `thread::sync_threads()` is a barrier that a thread leaves when all threads
//! of the block have reached it.
//!
//! ```text
//! thread      0    1   ...  127
//!             v    v         v      each thread writes its element
//! tile      [ a  | b  | ... | z ]
//! ------------------------------- barrier
//!             each thread reads another thread's
//! output    [ a  | ?  | ... | z ]
//! ```
//!
//! Each block of 128 threads puts its own 128 elements into the order that a Fourier transform
//! begins with: the bits of the index are reversed, so 1 = 0000001 and 64 = 1000000 change places.
//! Neighbours then come from places far apart. Read straight from global memory, a warp would touch
//! four times as many sectors.
//!
//! # What to do
//!
//! Read in order, write in order, and reorder in `tile`. `reversed` is the index of the element
//! that thread `t` writes.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn block_reverse(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    // The lowest 7 bits of t, in reversed order.
    let reversed = ((t as u32).reverse_bits() >> 25) as usize;
    // ---- your code: about 3 lines ----
}
