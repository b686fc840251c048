//! Elements of the GEMM kernels.

use core::num::Wrapping;
use core::ops::{AddAssign, Mul};
use cuda_std::float16::{FromWide, PackX2, Widen, bf16, f16};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, F64x2, U32x2, U32x4, Vector};
use cuda_std::warp::WarpShuffleValue;

/// An element of C. The result of an epilogue is rounded to it once, to the nearest. Two or four
/// neighbours of a row are stored at a time.
pub trait Output: FromWide<Wide: GpuFloat> {
    /// Loads 4 elements.
    ///
    /// # Safety
    /// The 4 elements at `from` are readable, and no other thread writes them. `from` is aligned to
    /// 16 bytes, or to 8 where an element has 2 bytes.
    unsafe fn load_4(from: *const Self) -> [Self::Wide; 4];

    /// Stores 4 elements.
    ///
    /// # Safety
    /// The 4 elements at `to` are writable, and no other thread accesses them. `to` is aligned to
    /// 16 bytes, or to 8 where an element has 2 bytes.
    unsafe fn store_4(to: *mut Self, elements: [Self::Wide; 4]);

    /// Stores 2 elements.
    ///
    /// # Safety
    /// The 2 elements at `to` are writable, and no other thread accesses them. `to` is aligned to
    /// both together.
    unsafe fn store_2(to: *mut Self, elements: [Self::Wide; 2]);

    /// Stores 2 elements one by one.
    ///
    /// # Safety
    /// The 2 elements at `to` are writable, and no other thread accesses them. `to` is aligned to
    /// an element.
    unsafe fn store_each(to: *mut Self, elements: [Self::Wide; 2]);
}

/// A float of accumulators.
pub trait Scalar: GpuFloat + WarpShuffleValue + Output<Wide = Self> {}

impl Scalar for f32 {}

impl Scalar for f64 {}

/// An accumulator whose partial sums blocks add up.
pub trait PartialSum: Copy + AddAssign + Mul<Output = Self> {
    /// 0.
    const ZERO: Self;

    /// Loads 4 partial sums.
    ///
    /// # Safety
    /// As for [`Output::load_4`].
    unsafe fn load_4(from: *const Self) -> [Self; 4];

    /// Stores 4 partial sums.
    ///
    /// # Safety
    /// As for [`Output::store_4`].
    unsafe fn store_4(to: *mut Self, elements: [Self; 4]);
}

impl<T: Scalar> PartialSum for T {
    const ZERO: T = <T as GpuFloat>::ZERO;

    #[inline(always)]
    unsafe fn load_4(from: *const T) -> [T; 4] {
        // SAFETY: the contract is that of this function.
        unsafe { <T as Output>::load_4(from) }
    }

    #[inline(always)]
    unsafe fn store_4(to: *mut T, elements: [T; 4]) {
        // SAFETY: the contract is that of this function.
        unsafe { <T as Output>::store_4(to, elements) }
    }
}

/// Sums of integers, modulo 2³².
impl PartialSum for Wrapping<i32> {
    const ZERO: Self = Wrapping(0);

    #[inline(always)]
    unsafe fn load_4(from: *const Self) -> [Self; 4] {
        // SAFETY: `from` is as the contract of this function says: 16 bytes, aligned.
        unsafe { U32x4::load(from.cast()) }.map(|bits| Wrapping(bits as i32))
    }

    #[inline(always)]
    unsafe fn store_4(to: *mut Self, elements: [Self; 4]) {
        // SAFETY: `to` is as the contract of this function says: 16 bytes, aligned.
        unsafe { U32x4::store(to.cast(), elements.map(|element| element.0 as u32)) }
    }
}

impl Output for f32 {
    #[inline(always)]
    unsafe fn load_4(from: *const f32) -> [f32; 4] {
        // SAFETY: `from` is as the contract of this function says.
        unsafe { F32x4::load(from) }
    }

    #[inline(always)]
    unsafe fn store_4(to: *mut f32, elements: [f32; 4]) {
        // SAFETY: `to` is as the contract of this function says.
        unsafe { F32x4::store(to, elements) }
    }

    #[inline(always)]
    unsafe fn store_2(to: *mut f32, elements: [f32; 2]) {
        // SAFETY: `to` is as the contract of this function says.
        unsafe { F32x2::store(to, elements) }
    }

    #[inline(always)]
    unsafe fn store_each(to: *mut f32, [left, right]: [f32; 2]) {
        // SAFETY: `to` is as the contract of this function says.
        unsafe { (*to, *to.wrapping_add(1)) = (left, right) }
    }
}

impl Output for f64 {
    #[inline(always)]
    unsafe fn load_4(from: *const f64) -> [f64; 4] {
        // SAFETY: `from` is as the contract of this function says, and so is `from` + 16 bytes.
        let ([a, b], [c, d]) = unsafe { (F64x2::load(from), F64x2::load(from.add(2))) };
        [a, b, c, d]
    }

    #[inline(always)]
    unsafe fn store_4(to: *mut f64, [a, b, c, d]: [f64; 4]) {
        // SAFETY: `to` is as the contract of this function says, and so is `to` + 16 bytes.
        unsafe {
            F64x2::store(to, [a, b]);
            F64x2::store(to.add(2), [c, d]);
        }
    }

    #[inline(always)]
    unsafe fn store_2(to: *mut f64, elements: [f64; 2]) {
        // SAFETY: `to` is as the contract of this function says.
        unsafe { F64x2::store(to, elements) }
    }

    #[inline(always)]
    unsafe fn store_each(to: *mut f64, [left, right]: [f64; 2]) {
        // SAFETY: `to` is as the contract of this function says.
        unsafe { (*to, *to.wrapping_add(1)) = (left, right) }
    }
}

macro_rules! outputs_of_16_bits {
    ($($element:ident)*) => {
        $(
            impl Output for $element {
                #[inline(always)]
                unsafe fn load_4(from: *const $element) -> [f32; 4] {
                    // SAFETY: `from` is as the contract of this function says: 8 bytes, aligned.
                    let [low, high] = unsafe { U32x2::load(from.cast()) };
                    [low as u16, (low >> 16) as u16, high as u16, (high >> 16) as u16]
                        .map(|bits| $element(bits).widen())
                }

                #[inline(always)]
                unsafe fn store_4(to: *mut $element, elements: [f32; 4]) {
                    #[inline(always)]
                    fn pack(low: f32, high: f32) -> u32 {
                        // The instruction for both came with compute capability 8.0.
                        if cfg!(sm_80_up) {
                            return $element::pack_x2(low, high);
                        }
                        let [low, high] =
                            [low, high].map(|element| u32::from($element::from_wide(element).0));
                        low | high << 16
                    }
                    let [a, b, c, d] = elements;
                    // SAFETY: `to` is as the contract of this function says: 8 bytes, aligned.
                    unsafe { U32x2::store(to.cast(), [pack(a, b), pack(c, d)]) };
                }

                #[inline(always)]
                unsafe fn store_2(to: *mut $element, [left, right]: [f32; 2]) {
                    // SAFETY: `to` is as the contract of this function says: 4 bytes, aligned.
                    unsafe { *to.cast() = $element::pack_x2(left, right) };
                }

                #[inline(always)]
                unsafe fn store_each(to: *mut $element, [left, right]: [f32; 2]) {
                    let both = $element::pack_x2(left, right);
                    // SAFETY: `to` is as the contract of this function says.
                    unsafe {
                        *to = $element(both as u16);
                        *to.wrapping_add(1) = $element((both >> 16) as u16);
                    }
                }
            }
        )*
    };
}

outputs_of_16_bits! { f16 bf16 }

/// The bits of a 16-bit element whose type the output operator knows: see
/// [`Convert`](super::epilogue::convert::Convert). They are the lower bits of an `f32`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Bits16(pub u16);

impl Widen for Bits16 {
    type Wide = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(self.0.into())
    }
}

impl FromWide for Bits16 {
    #[inline(always)]
    fn from_wide(wide: f32) -> Self {
        Bits16(wide.to_bits() as u16)
    }
}

impl Output for Bits16 {
    #[inline(always)]
    unsafe fn load_4(from: *const Bits16) -> [f32; 4] {
        // SAFETY: `from` is as the contract of this function says: 8 bytes, aligned.
        let [low, high] = unsafe { U32x2::load(from.cast()) };
        [low & 0xffff, low >> 16, high & 0xffff, high >> 16].map(f32::from_bits)
    }

    #[inline(always)]
    unsafe fn store_4(to: *mut Bits16, elements: [f32; 4]) {
        let [a, b, c, d] = elements.map(|element| element.to_bits() & 0xffff);
        // SAFETY: `to` is as the contract of this function says: 8 bytes, aligned.
        unsafe { U32x2::store(to.cast(), [a | b << 16, c | d << 16]) }
    }

    #[inline(always)]
    unsafe fn store_2(to: *mut Bits16, elements: [f32; 2]) {
        let [left, right] = elements.map(|element| element.to_bits() & 0xffff);
        // SAFETY: `to` is as the contract of this function says: 4 bytes, aligned.
        unsafe { *to.cast() = left | right << 16 };
    }

    #[inline(always)]
    unsafe fn store_each(to: *mut Bits16, elements: [f32; 2]) {
        let [left, right] = elements.map(Bits16::from_wide);
        // SAFETY: `to` is as the contract of this function says.
        unsafe { (*to, *to.wrapping_add(1)) = (left, right) }
    }
}
