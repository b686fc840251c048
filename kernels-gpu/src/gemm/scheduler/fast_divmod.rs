//! Division by a divisor that a launch knows: a multiplication and a shift.
//!
//! A GPU has no instruction that divides integers. `ptxas` computes a reciprocal in floating point
//! and corrects the quotient: some 100 clocks, which a block waits for before its first copy.
//!
//! # Source
//! Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994. The
//! name is CUTLASS's.

/// How numbers less than 2³¹ are divided by a divisor.
pub trait Divmod: Copy {
    /// Division by `divisor`; by 1 where it is 0.
    fn by(divisor: u32) -> Self;

    /// Quotient and remainder of `x` by `divisor`, that of [`by`](Self::by).
    fn divmod(self, x: u32, divisor: u32) -> (u32, u32);
}

/// By a division: nothing is known before.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainDivmod;

impl Divmod for PlainDivmod {
    #[inline(always)]
    fn by(_divisor: u32) -> Self {
        PlainDivmod
    }

    #[inline(always)]
    fn divmod(self, x: u32, divisor: u32) -> (u32, u32) {
        let divisor = divisor.max(1);
        (x / divisor, x % divisor)
    }
}

impl Divmod for FastDivmod {
    #[inline(always)]
    fn by(divisor: u32) -> Self {
        FastDivmod::new(divisor)
    }

    #[inline(always)]
    fn divmod(self, x: u32, divisor: u32) -> (u32, u32) {
        FastDivmod::divmod(self, x, divisor)
    }
}

/// Division of numbers less than 2³¹ by a divisor d. With L = ⌈log₂ d⌉, the quotient of x is
/// ⌊x · ⌈2³¹⁺ᴸ / d⌉ / 2³¹⁺ᴸ⌋.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastDivmod {
    /// ⌈2³¹⁺ᴸ / d⌉, which is less than 2³².
    magic: u32,
    /// 31 + L.
    shift: u32,
}

impl FastDivmod {
    /// Division by `divisor`, at most 2³¹; by 1 where it is 0.
    #[inline(always)]
    pub const fn new(divisor: u32) -> Self {
        let divisor = if divisor == 0 { 1 } else { divisor };
        let shift = 31 + divisor.next_power_of_two().trailing_zeros();
        FastDivmod {
            magic: (1u64 << shift).div_ceil(divisor as u64) as u32,
            shift,
        }
    }

    /// Quotient and remainder of `x`, less than 2³¹, by `divisor`, that of [`new`](Self::new).
    #[inline(always)]
    pub const fn divmod(self, x: u32, divisor: u32) -> (u32, u32) {
        let product = x as u64 * self.magic as u64;
        let quotient = (product >> self.shift) as u32;
        (quotient, x.wrapping_sub(quotient.wrapping_mul(divisor)))
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_the_division() {
        let near = |x: u64| [x.wrapping_sub(1), x, x + 1];
        let divisors = (1..=300).chain((5..=31).flat_map(|power| near(1 << power)));
        for divisor in divisors.filter(|&divisor| divisor <= 1 << 31) {
            let fast = FastDivmod::new(divisor as u32);
            let last = (1 << 31) / divisor * divisor;
            let odd = [0, 1, 1_000_003, 0x5555_5555];
            let all = (odd.into_iter())
                .chain(near(divisor))
                .chain(near(last))
                .chain(near(last / 2));
            for x in all.filter(|&x| x < 1 << 31) {
                let expected = (x / divisor, x % divisor);
                let (quotient, rest) = fast.divmod(x as u32, divisor as u32);
                assert_eq!((quotient.into(), rest.into()), expected, "{x} / {divisor}");
            }
        }
    }
}
