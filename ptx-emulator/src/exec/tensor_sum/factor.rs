//! Floats as significand and exponent: one by one, or those of all lanes.

use crate::exec::vector::{LANES, Lanes32};
use crate::ir::MatrixInputs;

/// The exponent of zero: no other is as low.
pub(super) const NO_EXPONENT: i32 = -100_000;

/// A float: `significand` · 2^(`exponent` − the format's fraction bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) struct Factor {
    pub(super) significand: i32,
    pub(super) exponent: i32,
    pub(super) special: Special,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    None,
    Infinite,
    Nan,
}

impl Factor {
    pub(in crate::exec) const ZERO: Factor = Factor {
        significand: 0,
        exponent: NO_EXPONENT,
        special: Special::None,
    };

    /// The number, or its negative.
    pub(in crate::exec) fn negated_if(self, negate: bool) -> Self {
        let significand = match negate {
            true => -self.significand,
            false => self.significand,
        };
        Factor {
            significand,
            ..self
        }
    }

    /// A number of a format with this many bits of exponent and fraction.
    pub(super) fn new(bits: u32, exponent_bits: u32, fraction_bits: u32) -> Self {
        let fraction = (bits & ((1 << fraction_bits) - 1)) as i32;
        let top = (1 << exponent_bits) - 1;
        let biased = (bits >> fraction_bits & top) as i32;
        let negative = bits >> (fraction_bits + exponent_bits) & 1 != 0;
        let special = match (biased as u32 == top, fraction) {
            (false, _) => Special::None,
            (true, 0) => Special::Infinite,
            (true, _) => Special::Nan,
        };
        let bias = (1 << (exponent_bits - 1)) - 1;
        let significand = match biased {
            0 => fraction,
            _ => fraction | 1 << fraction_bits,
        };
        let exponent = match significand {
            0 => NO_EXPONENT,
            _ => biased.max(1) - bias,
        };
        Factor {
            significand: if negative { -significand } else { significand },
            exponent,
            special,
        }
    }

    /// A number of a format without infinities and NaNs.
    fn finite(bits: u32, exponent_bits: u32, fraction_bits: u32) -> Self {
        let biased = (bits >> fraction_bits & ((1 << exponent_bits) - 1)) as i32;
        let bias = (1 << (exponent_bits - 1)) - 1;
        let fraction = (bits & ((1 << fraction_bits) - 1)) as i32;
        let significand = match biased {
            0 => fraction,
            _ => fraction | 1 << fraction_bits,
        };
        let negative = bits >> (fraction_bits + exponent_bits) & 1 != 0;
        Factor {
            significand: if negative { -significand } else { significand },
            exponent: match significand {
                0 => NO_EXPONENT,
                _ => biased.max(1) - bias,
            },
            special: Special::None,
        }
    }

    /// The value, which is finite.
    #[cfg(test)]
    pub(super) fn value(self, inputs: MatrixInputs) -> f64 {
        let exponent = f64::from(self.exponent - fraction_bits(inputs));
        f64::from(self.significand) * exponent.exp2()
    }

    /// An element of A or B from the low bits of a word.
    pub(in crate::exec) fn of(inputs: MatrixInputs, bits: u32) -> Self {
        match inputs {
            MatrixInputs::F16 => Factor::new(bits & 0xffff, 5, 10),
            MatrixInputs::Bf16 => Factor::new(bits & 0xffff, 8, 7),
            // The low 13 bits of the register are ignored.
            MatrixInputs::Tf32 | MatrixInputs::F64 => Factor::new(bits >> 13, 8, 10),
            MatrixInputs::E5m2 => Factor::new(bits & 0xff, 5, 2),
            MatrixInputs::E4m3 if bits & 0x7f == 0x7f => Factor {
                special: Special::Nan,
                ..Factor::ZERO
            },
            MatrixInputs::E4m3 => Factor::finite(bits & 0xff, 4, 3),
            MatrixInputs::E2m3 => Factor::finite(bits & 0x3f, 2, 3),
            MatrixInputs::E3m2 => Factor::finite(bits & 0x3f, 3, 2),
            MatrixInputs::E2m1 { dense: true } => Factor::finite(bits & 0xf, 2, 1),
            MatrixInputs::E2m1 { dense: false } => Factor::finite(bits >> 2 & 0xf, 2, 1),
            // Their sums are exact, and not of floats.
            MatrixInputs::Integer { .. } => Factor::ZERO,
        }
    }
}

pub(super) fn fraction_bits(inputs: MatrixInputs) -> i32 {
    match inputs {
        MatrixInputs::Bf16 => 7,
        MatrixInputs::E4m3 | MatrixInputs::E2m3 => 3,
        MatrixInputs::E5m2 | MatrixInputs::E3m2 => 2,
        MatrixInputs::E2m1 { .. } => 1,
        _ => 10,
    }
}

/// Elements of A or B, none of them an infinity or NaN: `significands` · 2^(`exponents` − the
/// format's fraction bits).
#[derive(Clone, Debug)]
pub(in crate::exec) struct Factors {
    pub significands: [i32; LANES],
    pub exponents: [i32; LANES],
    /// Whether there are infinities or NaNs among them after all.
    pub has_special: bool,
}

impl Factors {
    pub(in crate::exec) const ZERO: Factors = Factors {
        significands: [0; LANES],
        exponents: [0; LANES],
        has_special: false,
    };
}

/// Takes the elements that a register holds from bit `shift` on.
#[inline(always)]
pub(in crate::exec) fn factors(
    inputs: MatrixInputs,
    words: &Lanes32,
    shift: u32,
    all: &mut Factors,
) {
    let (exponent_bits, fraction_bits, skipped) = match inputs {
        MatrixInputs::F16 => (5, 10, 0),
        MatrixInputs::Bf16 => (8, 7, 0),
        _ => (8, 10, 13),
    };
    let mut special = 0;
    for (lane, word) in words.iter().enumerate() {
        let bits = word >> shift >> skipped;
        let (significand, exponent, is_special) = split(bits, exponent_bits, fraction_bits);
        all.significands[lane] = significand;
        all.exponents[lane] = exponent;
        special |= u32::from(is_special);
    }
    all.has_special = special != 0;
}

/// Significand and exponent as in [`Factor`], and whether the number is an infinity or NaN.
#[inline(always)]
pub(super) fn split(bits: u32, exponent_bits: u32, fraction_bits: u32) -> (i32, i32, bool) {
    let top = (1 << exponent_bits) - 1;
    let fraction = bits & ((1 << fraction_bits) - 1);
    let biased = bits >> fraction_bits & top;
    let hidden = u32::from(biased != 0) << fraction_bits;
    let significand = (fraction | hidden) as i32;
    let exponent = biased.max(1) as i32 - (top >> 1) as i32;
    let exponent = if significand == 0 {
        NO_EXPONENT
    } else {
        exponent
    };
    let is_negative = bits >> (fraction_bits + exponent_bits) & 1 != 0;
    let signed = if is_negative {
        -significand
    } else {
        significand
    };
    (signed, exponent, biased == top)
}

/// Whether an f32 is an infinity or NaN.
#[inline(always)]
pub(in crate::exec) fn is_special(bits: u32) -> bool {
    bits & 0x7f80_0000 == 0x7f80_0000
}
