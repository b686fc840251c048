//! MMA by one warp on tensor cores: D = A · B + C (PTX ISA, "mma.sync").
//!
//! Matrices are spread over the lanes. With g = lane / 4 and t = lane mod 4, and e elements to a
//! 32-bit register (four of 8 bits, two of 16, or one), the registers of a lane hold
//!
//! - A, 16 × 8e: row g + 8 (i mod 2), columns e t + 4e (i / 2) and on, in register i of 4;
//! - B, 8e × 8: rows e t + 4e i and on, column g, in register i of 2;
//! - C and D, 16 × 8: row g + 8 (i / 2), column 2 t + i mod 2, in register i of 4.
//!
//! [`matrix::load_4`](crate::matrix::load_4) loads such an A from rows that are contiguous along k.
//!
//! Products are exact, and accumulators of integers are exact modulo 2³². How those of floats are
//! rounded is not specified; errors are of the order of the last bits of f32, a few times those of
//! a chain of fused multiply-adds.
//!
//! All 32 lanes of a warp execute these functions together.

/// A type of elements of A and B.
pub trait Input {
    /// Bytes of an element.
    const BYTES: usize;

    /// `acc += a · b` for one k-block of 32 bytes: 32 elements of 8 bits (k32), 16 of 16 (k16) or 8
    /// of 32 (k8). Accumulators of integers are i32, of which `acc` has the bits.
    ///
    /// Needs compute capability 8.0.
    ///
    /// # Safety
    /// All 32 lanes of the warp execute it together.
    unsafe fn mma(acc: &mut [f32; 4], a: &[u32; 4], b: [u32; 2]);
}

/// IEEE binary16.
#[derive(Clone, Copy, Debug)]
pub struct F16;

/// bfloat16: the upper half of an f32.
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

/// An f32 of which the tensor core takes the sign, the exponent and the upper 10 bits of the
/// fraction.
#[derive(Clone, Copy, Debug)]
pub struct Tf32;

/// Signed integers of 8 bits.
#[derive(Clone, Copy, Debug)]
pub struct S8;

macro_rules! inputs {
    ($($ty:ident: $bytes:literal, $instruction:literal;)*) => {
        $(
            impl Input for $ty {
                const BYTES: usize = $bytes;

                #[inline(always)]
                unsafe fn mma(acc: &mut [f32; 4], a: &[u32; 4], b: [u32; 2]) {
                    #[cfg(target_arch = "nvptx64")]
                    // SAFETY: it accesses registers only; the contract says that the whole warp
                    // executes it.
                    unsafe {
                        core::arch::asm!(
                            concat!(
                                "mma.sync.aligned.", $instruction,
                                " {{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, ",
                                "{{{d0}, {d1}, {d2}, {d3}}};",
                            ),
                            d0 = inlateout(reg32) acc[0],
                            d1 = inlateout(reg32) acc[1],
                            d2 = inlateout(reg32) acc[2],
                            d3 = inlateout(reg32) acc[3],
                            a0 = in(reg32) a[0],
                            a1 = in(reg32) a[1],
                            a2 = in(reg32) a[2],
                            a3 = in(reg32) a[3],
                            b0 = in(reg32) b[0],
                            b1 = in(reg32) b[1],
                            options(pure, nomem, nostack, preserves_flags),
                        );
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    {
                        let _ = (acc, a, b);
                        panic!("cuda_std: mma runs on a GPU or on the PTX emulator only")
                    }
                }
            }
        )*
    };
}

inputs! {
    S8: 1, "m16n8k32.row.col.s32.s8.s8.s32";
    F16: 2, "m16n8k16.row.col.f32.f16.f16.f32";
    Bf16: 2, "m16n8k16.row.col.f32.bf16.bf16.f32";
    Tf32: 4, "m16n8k8.row.col.f32.tf32.tf32.f32";
}

/// `acc += a · b` in f64 with A of 8 × 4 and B of 4 × 8 elements: element (g, t) of A, (t, g) of B,
/// and (g, 2t) and (g, 2t + 1) of the accumulators.
///
/// Needs compute capability 8.0.
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
pub unsafe fn mma_f64(acc: &mut [f64; 2], a: f64, b: f64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it accesses registers only; the contract says that the whole warp executes it.
    unsafe {
        core::arch::asm!(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{d0}, {d1}}}, {{{a}}}, {{{b}}}, \
             {{{d0}, {d1}}};",
            d0 = inlateout(reg64) acc[0],
            d1 = inlateout(reg64) acc[1],
            a = in(reg64) a,
            b = in(reg64) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (acc, a, b);
        panic!("cuda_std: mma runs on a GPU or on the PTX emulator only")
    }
}
