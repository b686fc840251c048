//! Elements of 16 bits in memory, which kernels compute with as `f32`.

/// An element that a kernel loads as it is and computes with as [`Wide`](Self::Wide).
pub trait Widen: Copy {
    /// What it becomes.
    type Wide;

    /// The same number.
    fn widen(self) -> Self::Wide;
}

impl Widen for f32 {
    type Wide = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
}

impl Widen for f64 {
    type Wide = f64;

    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }
}

/// The bits of an IEEE binary16.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Half(pub u16);

impl Widen for Half {
    type Wide = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        #[cfg(target_arch = "nvptx64")]
        {
            let wide;
            // SAFETY: a conversion between registers, exact for every value (PTX ISA, "cvt").
            unsafe {
                core::arch::asm!(
                    "cvt.f32.f16 {wide}, {half};",
                    wide = lateout(reg32) wide,
                    half = in(reg16) self.0,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            wide
        }
        #[cfg(not(target_arch = "nvptx64"))]
        panic!("cuda_std: 16-bit floats are widened on a GPU or on the PTX emulator only")
    }
}

/// The bits of a bfloat16: the upper half of an `f32`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Brain(pub u16);

impl Widen for Brain {
    type Wide = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}
