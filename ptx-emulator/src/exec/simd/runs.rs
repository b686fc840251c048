//! The loop over micro-operations with the vector instructions of each level.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_mm512_loadu_si512, _mm512_mask_storeu_epi32, _mm512_mask_storeu_epi64};

use super::super::micro_ops::{Executor, RowOp, run};
use super::super::rows;
use super::super::vector::{Lanes32, Lanes64, Registers, store_lanes32, store_lanes64};
#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512};
use super::{Level, Portable};
use crate::ir::{MicroOp, Program};

/// [`run`] with the vector instructions of `level`; `full` becomes its type parameter.
#[inline(always)]
pub(in super::super) fn micro_ops(
    level: Level,
    full: bool,
    r: &mut Registers<'_>,
    program: &Program,
    ops: &[MicroOp],
    mask: u32,
) {
    match level {
        Level::Portable if full => portable::<true>(r, program, ops, mask),
        Level::Portable => portable::<false>(r, program, ops, mask),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx2` only if the processor has the features of `avx2`.
        Level::Avx2 if full => unsafe { avx2::<true>(r, program, ops, mask) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx2` only if the processor has the features of `avx2`.
        Level::Avx2 => unsafe { avx2::<false>(r, program, ops, mask) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has the features of
        // `avx512`.
        Level::Avx512 if full => unsafe { avx512::<true>(r, program, ops, mask) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has the features of
        // `avx512`.
        Level::Avx512 => unsafe { avx512::<false>(r, program, ops, mask) },
    }
}

#[inline(never)]
fn portable<const FULL: bool>(
    r: &mut Registers<'_>,
    program: &Program,
    ops: &[MicroOp],
    mask: u32,
) {
    run::<Portable, FULL>(Executor { program, mask }, r, ops);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
fn avx2<const FULL: bool>(r: &mut Registers<'_>, program: &Program, ops: &[MicroOp], mask: u32) {
    run::<Avx2, FULL>(Executor { program, mask }, r, ops);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512vl,avx512bw,avx512dq")]
fn avx512<const FULL: bool>(r: &mut Registers<'_>, program: &Program, ops: &[MicroOp], mask: u32) {
    run::<Avx512, FULL>(Executor { program, mask }, r, ops);
}

at_level! {
    /// [`rows::frequent::execute`]
    pub(in crate::exec) fn function(
        regs32: &mut [Lanes32],
        regs64: &mut [Lanes64],
        op: &MicroOp
    ) -> () = {
        rows::frequent::execute(&mut RowOp { regs32, regs64, op });
    };
}

/// Gives the lanes outside of a mask back what they had.
#[inline(always)]
pub(in super::super) fn restore(level: Level, to: &mut Lanes32, before: &Lanes32, mask: u32) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has AVX-512F.
        Level::Avx512 => unsafe { restore_avx512(to, before, mask) },
        _ => store_lanes32::<false>(to, !mask, |lane| before[lane]),
    }
}

/// As [`restore`].
#[inline(always)]
pub(in super::super) fn restore_wide(level: Level, to: &mut Lanes64, before: &Lanes64, mask: u32) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has AVX-512F.
        Level::Avx512 => unsafe { restore_wide_avx512(to, before, mask) },
        _ => store_lanes64::<false>(to, !mask, |lane| before[lane]),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn restore_avx512(to: &mut Lanes32, before: &Lanes32, mask: u32) {
    let (rows, _) = to.as_chunks_mut::<16>();
    for (at, (to, before)) in rows.iter_mut().zip(before.as_chunks::<16>().0).enumerate() {
        // SAFETY: `before` is readable and `to` writable for the 64 bytes of a row.
        unsafe {
            let before = _mm512_loadu_si512(before.as_ptr().cast());
            let others = (!mask >> (16 * at)) as u16;
            _mm512_mask_storeu_epi32(to.as_mut_ptr().cast(), others, before);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn restore_wide_avx512(to: &mut Lanes64, before: &Lanes64, mask: u32) {
    let (rows, _) = to.as_chunks_mut::<8>();
    for (at, (to, before)) in rows.iter_mut().zip(before.as_chunks::<8>().0).enumerate() {
        // SAFETY: `before` is readable and `to` writable for the 64 bytes of a row.
        unsafe {
            let before = _mm512_loadu_si512(before.as_ptr().cast());
            let others = (!mask >> (8 * at)) as u8;
            _mm512_mask_storeu_epi64(to.as_mut_ptr().cast(), others, before);
        }
    }
}
