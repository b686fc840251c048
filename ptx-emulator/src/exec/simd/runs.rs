//! The loop over micro-operations with the vector instructions of each level.

use super::super::micro_ops::{Executor, run};
use super::super::vector::Registers;
use super::Level;
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
    let executor = Executor {
        level: Level::Portable,
        program,
        mask,
    };
    run::<FULL, false>(executor, r, ops);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
fn avx2<const FULL: bool>(r: &mut Registers<'_>, program: &Program, ops: &[MicroOp], mask: u32) {
    let executor = Executor {
        level: Level::Avx2,
        program,
        mask,
    };
    run::<FULL, false>(executor, r, ops);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512vl,avx512bw,avx512dq")]
fn avx512<const FULL: bool>(r: &mut Registers<'_>, program: &Program, ops: &[MicroOp], mask: u32) {
    let executor = Executor {
        level: Level::Avx512,
        program,
        mask,
    };
    run::<FULL, true>(executor, r, ops);
}
