//! Segments of a kernel with the vector instructions of each level.

#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512};
use super::{Level, Portable};
use crate::exec::run::{RawFault, Run, Stop};
use crate::observer::EventSink;

/// [`Run::segment`] with the vector instructions of `level`; `full` becomes its type parameter.
pub(in crate::exec) fn segment<O: EventSink>(
    level: Level,
    full: bool,
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    match level {
        Level::Portable => match full {
            true => portable::<O, true>(run, block, mask, limit),
            false => portable::<O, false>(run, block, mask, limit),
        },
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => match full {
            // SAFETY: `Level::detect` makes `Avx2` only if the processor has the features of
            // `avx2`.
            true => unsafe { avx2::<O, true>(run, block, mask, limit) },
            // SAFETY: `Level::detect` makes `Avx2` only if the processor has the features of
            // `avx2`.
            false => unsafe { avx2::<O, false>(run, block, mask, limit) },
        },
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => match full {
            // SAFETY: `Level::detect` makes `Avx512` only if the processor has the features of
            // `avx512`.
            true => unsafe { avx512::<O, true>(run, block, mask, limit) },
            // SAFETY: `Level::detect` makes `Avx512` only if the processor has the features of
            // `avx512`.
            false => unsafe { avx512::<O, false>(run, block, mask, limit) },
        },
    }
}

#[inline(never)]
fn portable<O: EventSink, const FULL: bool>(
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    run.segment::<Portable, FULL>(block, mask, limit)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
fn avx2<O: EventSink, const FULL: bool>(
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    run.segment::<Avx2, FULL>(block, mask, limit)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512vl,avx512bw,avx512dq")]
fn avx512<O: EventSink, const FULL: bool>(
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    run.segment::<Avx512, FULL>(block, mask, limit)
}
