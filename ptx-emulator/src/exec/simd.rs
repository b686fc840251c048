//! Picks the widest vector instructions that the processor has, at run time.
//!
//! This is the crate's only module with `unsafe` code.

use super::run::{RawFault, Run, Stop};
use crate::observer::Observer;

/// Vector instructions that the inner loop is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Whatever the target guarantees.
    Portable,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Level {
    pub(crate) fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi2")
        {
            return Level::Avx2;
        }
        Level::Portable
    }
}

/// [`Run::segment`] with the vector instructions of `level`; `full` becomes its type parameter.
pub(crate) fn segment<O: Observer>(
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
            // SAFETY: `Level::detect` makes this value only where the processor has the features.
            true => unsafe { avx2::<O, true>(run, block, mask, limit) },
            // SAFETY: as above.
            false => unsafe { avx2::<O, false>(run, block, mask, limit) },
        },
    }
}

#[inline(never)]
fn portable<O: Observer, const FULL: bool>(
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    run.segment::<FULL>(block, mask, limit)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
fn avx2<O: Observer, const FULL: bool>(
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    run.segment::<FULL>(block, mask, limit)
}
