//! `scale`: a generic kernel.

use core::ops::Mul;
use cuda_std::safe::*;

/// The elements of the vector.
pub struct N;

// ANCHOR: kernel
/// x ← factor · x.
#[kernel(instances(scale_f32 = <f32>, scale_f64 = <f64>, scale_u32 = <u32>))]
pub fn scale<T>(block: Block<256>, factor: T, mut x: VectorMut<T, N>)
where
    T: Element + Mul<Output = T>,
{
    x.update(&block, |_, old| factor * old);
}
// ANCHOR_END: kernel
