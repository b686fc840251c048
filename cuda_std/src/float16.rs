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

/// An element that a kernel computes as [`Wide`](Widen::Wide) and stores as it is.
pub trait FromWide: Widen {
    /// The nearest to a number; of two that are as near, the even one.
    fn from_wide(wide: Self::Wide) -> Self;
}

impl FromWide for f32 {
    #[inline(always)]
    fn from_wide(wide: f32) -> f32 {
        wide
    }
}

impl FromWide for f64 {
    #[inline(always)]
    fn from_wide(wide: f64) -> f64 {
        wide
    }
}

/// The bits of an IEEE binary16.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct f16(pub u16);

impl Widen for f16 {
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
        on_the_device_only()
    }
}

impl FromWide for f16 {
    #[inline(always)]
    fn from_wide(wide: f32) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let half;
            // SAFETY: a conversion between registers, defined for every value (PTX ISA, "cvt").
            unsafe {
                core::arch::asm!(
                    "cvt.rn.f16.f32 {half}, {wide};",
                    half = lateout(reg16) half,
                    wide = in(reg32) wide,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            f16(half)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = wide;
            on_the_device_only()
        }
    }
}

/// The bits of a bfloat16: the upper half of an `f32`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct bf16(pub u16);

impl Widen for bf16 {
    type Wide = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl FromWide for bf16 {
    /// By integer arithmetic, as the instruction for it came with compute capability 8.0.
    #[inline(always)]
    fn from_wide(wide: f32) -> Self {
        let bits = wide.to_bits();
        // Half of the last bit that stays, or a little less where that bit is 0: what is halfway
        // goes to the even number.
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        bf16(if wide.is_nan() { NAN } else { rounded as u16 })
    }
}

/// What NaN becomes as a bfloat16, as the instruction has it.
const NAN: u16 = 0x7fff;

/// An element of 16 bits, two of which are packed into a register (PTX ISA, "f16x2", "bf16x2").
pub trait PackX2: FromWide<Wide = f32> {
    /// The nearest to two numbers as [`from_wide`](FromWide::from_wide) has it, the first in the
    /// lower half.
    ///
    /// Needs compute capability 8.0.
    fn pack_x2(first: f32, second: f32) -> u32;
}

macro_rules! pairs {
    ($($ty:ident: $instruction:literal;)*) => {
        $(
            impl PackX2 for $ty {
                #[inline(always)]
                fn pack_x2(low: f32, high: f32) -> u32 {
                    #[cfg(target_arch = "nvptx64")]
                    {
                        let pair;
                        // SAFETY: a conversion between registers, defined for every value (PTX ISA,
                        // "cvt").
                        unsafe {
                            core::arch::asm!(
                                concat!($instruction, " {pair}, {high}, {low};"),
                                pair = lateout(reg32) pair,
                                high = in(reg32) high,
                                low = in(reg32) low,
                                options(pure, nomem, nostack, preserves_flags),
                            );
                        }
                        pair
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    {
                        let _ = (low, high);
                        on_the_device_only()
                    }
                }
            }
        )*
    };
}

pairs! {
    f16: "cvt.rn.f16x2.f32";
    bf16: "cvt.rn.bf16x2.f32";
}

#[cfg(not(target_arch = "nvptx64"))]
fn on_the_device_only() -> ! {
    panic!("cuda_std: 16-bit floats are converted on a GPU or on the PTX emulator only")
}
