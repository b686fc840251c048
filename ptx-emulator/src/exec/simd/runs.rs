//! The loop over micro-operations with the vector instructions of each level.

use super::super::micro_ops::{Executor, run};
use super::super::vector::Registers;
use super::Level;
use crate::ir::{LaneOp, MicroOp};

/// [`run`] with the vector instructions of `level`; `full` becomes its type parameter.
#[inline(always)]
pub(in super::super) fn micro_ops(
    level: Level,
    full: bool,
    r: &mut Registers<'_>,
    lane_ops: &[LaneOp],
    ops: &[MicroOp],
    mask: u32,
) {
    let executor = Executor {
        level,
        lane_ops,
        mask,
    };
    match level {
        Level::Portable if full => portable::<true>(executor, r, ops),
        Level::Portable => portable::<false>(executor, r, ops),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx2` only if the processor has the features of `avx2`.
        Level::Avx2 if full => unsafe { avx2::<true>(executor, r, ops) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx2` only if the processor has the features of `avx2`.
        Level::Avx2 => unsafe { avx2::<false>(executor, r, ops) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has the features of
        // `avx512`.
        Level::Avx512 if full => unsafe { avx512::<true>(executor, r, ops) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has the features of
        // `avx512`.
        Level::Avx512 => unsafe { avx512::<false>(executor, r, ops) },
    }
}

#[inline(never)]
fn portable<const FULL: bool>(executor: Executor<'_>, r: &mut Registers<'_>, ops: &[MicroOp]) {
    run::<FULL, false>(executor, r, ops);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
fn avx2<const FULL: bool>(executor: Executor<'_>, r: &mut Registers<'_>, ops: &[MicroOp]) {
    run::<FULL, false>(executor, r, ops);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512vl,avx512bw,avx512dq")]
fn avx512<const FULL: bool>(executor: Executor<'_>, r: &mut Registers<'_>, ops: &[MicroOp]) {
    run::<FULL, true>(executor, r, ops);
}
