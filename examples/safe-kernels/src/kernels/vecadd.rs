//! `vecadd`: each thread has one element.

use cuda_std::safe::*;

/// The elements of the vectors.
pub struct N;

// ANCHOR: kernel
/// c ← a + b.
#[kernel(min_blocks = 1)]
pub fn vecadd(block: Block<256>, a: Vector<f32, N>, b: Vector<f32, N>, mut c: VectorMut<f32, N>) {
    c.store(&block, |i| a[i] + b[i]);
}
// ANCHOR_END: kernel
