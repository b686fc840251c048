//! # Detective: lost additions
//!
//! All threads add their element to one total. The total comes out too small, and on a GPU it comes
//! out different each time.
//!
//! `*total += x` is three steps: read the total, add, write it back.
//!
//! ```text
//! thread 0     read 10              write 13
//! thread 1              read 10               write 15       the 3 of thread 0 is lost
//! ```
//!
//! # What to do
//!
//! Run the check: it names two accesses that nothing orders. Make one step of the three:
//! `f32::atomic_add(total, x)` reads, adds and writes in one step that no other thread can split.

use cuda_std::atomic::AtomicFloat;
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn lost_additions(input: *const f32, total: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *total += *input.add(i);
    }
}
