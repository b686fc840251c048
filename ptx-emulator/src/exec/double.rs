//! f64 arithmetic in the directed roundings, on integers: the host rounds to nearest.

use crate::ir::{FloatFunction, Rounding};

/// Bits of an f64's fraction.
const FRACTION_BITS: i32 = 52;

/// The place of the highest bit of a significand that is added or rounded.
const TOP: i32 = 125;

/// A finite number that is not zero: `significand` · 2^`exponent`, with bit [`TOP`] as the highest
/// one. Of what lies below bit 0, that bit says whether it is zero.
#[derive(Clone, Copy)]
struct Number {
    negative: bool,
    significand: u128,
    exponent: i32,
}

impl Number {
    fn new(negative: bool, significand: u128, exponent: i32) -> Self {
        let up = significand.leading_zeros() as i32 - (127 - TOP);
        let significand = match up >= 0 {
            true => significand << up,
            false => shift_right(significand, -up),
        };
        Number {
            negative,
            significand,
            exponent: exponent - up,
        }
    }

    fn of(value: f64) -> Self {
        let bits = value.abs().to_bits();
        let field = (bits >> FRACTION_BITS) as i32;
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        let significand = match field {
            0 => fraction,
            _ => fraction | 1 << FRACTION_BITS,
        };
        let exponent = field.max(1) - 1023 - FRACTION_BITS;
        Number::new(value.is_sign_negative(), u128::from(significand), exponent)
    }

    /// The 53 bits of an f64's significand, which are whole.
    fn short(self) -> (u128, i32) {
        let down = TOP - FRACTION_BITS;
        (self.significand >> down, self.exponent + down)
    }

    fn round(self, rounding: Rounding) -> f64 {
        // The exponent of the result's last place.
        let last = (self.exponent + TOP - FRACTION_BITS).max(-1022 - FRACTION_BITS);
        let down = (last - self.exponent) as u32;
        let (kept, rest) = match down < 128 {
            true => (
                self.significand >> down,
                self.significand & ((1 << down) - 1),
            ),
            false => (0, self.significand),
        };
        let away = match rounding {
            Rounding::Up => rest != 0 && !self.negative,
            Rounding::Down => rest != 0 && self.negative,
            _ => false,
        };
        let kept = kept as u64 + u64::from(away);
        // The implicit bit adds itself to the exponent field.
        let field = (last + FRACTION_BITS + 1022) as u64;
        let bits = (field << FRACTION_BITS) + kept;
        let infinity = f64::INFINITY.to_bits();
        let outwards = match rounding {
            Rounding::Up => !self.negative,
            Rounding::Down => self.negative,
            _ => false,
        };
        let magnitude = match (bits >= infinity, outwards) {
            (false, _) => f64::from_bits(bits),
            (true, true) => f64::INFINITY,
            (true, false) => f64::MAX,
        };
        if self.negative { -magnitude } else { magnitude }
    }
}

/// A shift that keeps in bit 0 whether what it drops is zero.
fn shift_right(value: u128, by: i32) -> u128 {
    match by {
        0 => value,
        1..128 => value >> by | u128::from(value << (128 - by) != 0),
        _ => u128::from(value != 0),
    }
}

fn sum(a: Number, b: Number, rounding: Rounding) -> f64 {
    let (large, small) = match a.exponent >= b.exponent {
        true => (a, b),
        false => (b, a),
    };
    let aligned = shift_right(small.significand, large.exponent - small.exponent);
    if large.negative == small.negative {
        let sum = large.significand + aligned;
        return Number::new(large.negative, sum, large.exponent).round(rounding);
    }
    let (negative, difference) = match large.significand >= aligned {
        true => (large.negative, large.significand - aligned),
        false => (small.negative, aligned - large.significand),
    };
    match (difference, rounding) {
        (0, Rounding::Down) => -0.0,
        (0, _) => 0.0,
        _ => Number::new(negative, difference, large.exponent).round(rounding),
    }
}

fn root(value: f64, rounding: Rounding) -> f64 {
    let (significand, exponent) = Number::of(value).short();
    // More than 106 bits, and an even exponent.
    let up = 60 + exponent.rem_euclid(2);
    let radicand = significand << up;
    let mut root = 0u128;
    for bit in (0..62).rev() {
        let next = root | 1 << bit;
        if next * next <= radicand {
            root = next;
        }
    }
    let sticky = u128::from(root * root != radicand);
    Number::new(false, root << 1 | sticky, (exponent - up) / 2 - 1).round(rounding)
}

/// A product, a fused multiply-add, a quotient or a square root in a directed rounding; none where
/// the host's own result is exact, or no number.
pub(super) fn evaluate(
    function: FloatFunction,
    rounding: Rounding,
    [a, b, c]: [f64; 3],
) -> Option<f64> {
    let is_ordinary = |value: f64| value.is_finite() && value != 0.0;
    let negative = a.is_sign_negative() != b.is_sign_negative();
    match function {
        FloatFunction::Mul | FloatFunction::Fma if is_ordinary(a) && is_ordinary(b) => {
            let ((a, of_a), (b, of_b)) = (Number::of(a).short(), Number::of(b).short());
            let product = Number::new(negative, a * b, of_a + of_b);
            match (function, c) {
                (FloatFunction::Mul, _) | (_, 0.0) => Some(product.round(rounding)),
                (_, c) if c.is_finite() => Some(sum(product, Number::of(c), rounding)),
                _ => None,
            }
        }
        FloatFunction::Fma if a.is_finite() && b.is_finite() && c == 0.0 => {
            // Zeros of different signs.
            let opposite = negative != c.is_sign_negative();
            (opposite && rounding == Rounding::Down).then_some(-0.0)
        }
        FloatFunction::Div if is_ordinary(a) && is_ordinary(b) => {
            let ((a, of_a), (b, of_b)) = (Number::of(a).short(), Number::of(b).short());
            let dividend = a << 64;
            let quotient = (dividend / b) << 1 | u128::from(dividend % b != 0);
            Some(Number::new(negative, quotient, of_a - of_b - 65).round(rounding))
        }
        FloatFunction::Rcp if is_ordinary(a) => {
            evaluate(FloatFunction::Div, rounding, [1.0, a, 0.0])
        }
        FloatFunction::Sqrt if is_ordinary(a) && a > 0.0 => Some(root(a, rounding)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest number and its neighbours: a directed result is the host's or the one beside it,
    /// and exact arithmetic says which.
    #[test]
    fn directed_results_enclose_the_exact_one() {
        let mut state = 0x1234_5678_9abc_def1u64;
        let mut noise = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut number = || loop {
            let bits = noise();
            let bits = match bits % 3 {
                0 => bits & 0x800f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000,
                1 => bits & 0x801f_ffff_ffff_ffff,
                _ => bits,
            };
            let value = f64::from_bits(bits);
            if value.is_finite() && value != 0.0 {
                return value;
            }
        };
        for _ in 0..20_000 {
            let x = [number(), number(), number()];
            let [a, b, c] = x;
            for (function, nearest, x) in [
                (FloatFunction::Mul, a * b, x),
                (FloatFunction::Div, a / b, x),
                (FloatFunction::Fma, a.mul_add(b, c), x),
                (FloatFunction::Sqrt, a.abs().sqrt(), [a.abs(), b, c]),
            ] {
                let at = |rounding| evaluate(function, rounding, x).expect("ordinary operands");
                let (down, up) = (at(Rounding::Down), at(Rounding::Up));
                let zero = at(Rounding::Zero);
                assert!(down <= nearest && nearest <= up, "{function:?} {x:?}");
                assert!(
                    down == up || down.next_up() == up,
                    "{function:?} {x:?}: {down} {up}"
                );
                assert_eq!(zero, if up > 0.0 { down } else { up }, "{function:?} {x:?}");
            }
            // What the exact rest says.
            let product = a * b;
            if product.is_normal() && product.abs() > 1e-250 && product.is_finite() {
                let rest = a.mul_add(b, -product);
                let up = evaluate(FloatFunction::Mul, Rounding::Up, x);
                assert_eq!(
                    up,
                    Some(if rest > 0.0 {
                        product.next_up()
                    } else {
                        product
                    })
                );
            }
            let root = a.abs().sqrt();
            if root > 1e-100 && root < 1e100 {
                let rest = (-root).mul_add(root, a.abs());
                let down = evaluate(FloatFunction::Sqrt, Rounding::Down, [a.abs(), b, c]);
                assert_eq!(down, Some(if rest < 0.0 { root.next_down() } else { root }));
            }
        }
    }
}
