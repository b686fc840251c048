//! The vector instructions that code is compiled for, as a value and as types.

/// Vector instructions that the inner loop is compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Level {
    /// Whatever the target guarantees.
    #[default]
    Portable,
    /// AVX2, FMA, BMI2 and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The AVX-512 of servers since Skylake (F, VL, BW, DQ), with all of the above.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The widest that the processor has.
    pub(crate) fn detect() -> Level {
        Self::available().last().copied().unwrap_or(Level::Portable)
    }

    /// Those that the processor has, narrowest first.
    pub(crate) fn available() -> Vec<Level> {
        #[cfg_attr(
            not(target_arch = "x86_64"),
            expect(unused_mut, reason = "nothing is added")
        )]
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
        {
            levels.push(Level::Avx2);
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
            {
                levels.push(Level::Avx512);
            }
        }
        levels
    }
}

/// Vector instructions as a type, so that the inner loop has no questions about them.
pub(in crate::exec) trait Instructions {
    const LEVEL: Level;
}

pub(in crate::exec) struct Portable;

impl Instructions for Portable {
    const LEVEL: Level = Level::Portable;
}

#[cfg(target_arch = "x86_64")]
pub(in crate::exec) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx2 {
    const LEVEL: Level = Level::Avx2;
}

#[cfg(target_arch = "x86_64")]
pub(in crate::exec) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx512 {
    const LEVEL: Level = Level::Avx512;
}
