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
//! output    [ z  | ...  | b | a ]
//! ```
//!
//! # What to do
//!
//! Each block of 128 threads reverses its own 128 elements: read in order, write in order, and turn
//! them around in `tile`.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn block_reverse(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    // ---- your code: about 3 lines ----
}
