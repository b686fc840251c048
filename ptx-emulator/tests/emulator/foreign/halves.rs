//! Arithmetic of f16, bf16 and pairs of them.

use super::{Launch, noise, ptx};
use half::{bf16, f16};

const THREADS: usize = 128;

/// A 16-bit format on the host: every result is computed exactly in f64, for operands such as
/// `numbers` draws, and rounded once.
trait Half: bytemuck::Pod + Into<f64> + PartialEq + std::fmt::Debug {
    /// Bits of the significand, with the hidden one.
    const PRECISION: i32;
    /// Exponent of the smallest normal number.
    const LEAST_EXPONENT: i32;

    /// A value that the format has.
    fn exactly(value: f64) -> Self;

    /// The nearest value, of two such the one with an even significand.
    fn nearest(value: f64) -> Self {
        if value == 0.0 {
            return Self::exactly(value);
        }
        let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        let unit = 2f64.powi(exponent.max(Self::LEAST_EXPONENT) - Self::PRECISION + 1);
        Self::exactly((value / unit).round_ties_even() * unit)
    }
}

impl Half for f16 {
    const PRECISION: i32 = 11;
    const LEAST_EXPONENT: i32 = -14;

    fn exactly(value: f64) -> Self {
        f16::from_f64(value)
    }
}

impl Half for bf16 {
    const PRECISION: i32 = 8;
    const LEAST_EXPONENT: i32 = -126;

    fn exactly(value: f64) -> Self {
        bf16::from_f64(value)
    }
}

/// Numbers of either sign from 2^-8 to 2^7: sums and products of any three of them are exact in
/// f64. None is zero.
fn numbers<T: Half>(seed: u64, count: usize) -> Vec<T> {
    let draw = |bits: u64| {
        let magnitude = 1.0 + (bits >> 20 & 0xfffff) as f64 / (1 << 20) as f64;
        let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
        T::nearest(sign * magnitude * 2f64.powi((bits >> 4 & 15) as i32 - 8))
    };
    noise(seed).map(draw).take(count).collect()
}

/// Runs a kernel that reads `IN` values a thread and writes `OUT`.
fn run<T: Half, const IN: usize, const OUT: usize>(
    kernel: &str,
    seed: u64,
) -> Vec<([f64; IN], [T; IN], Vec<T>)> {
    let values = numbers::<T>(seed, THREADS * IN);
    let mut launch = Launch::new(ptx!("halves"), kernel);
    launch.input(&values);
    let out = launch.output::<T>(THREADS * OUT);
    launch.run([1, 1, 1], [THREADS as u32, 1, 1]);
    let results = launch.read(&out);
    let rows = values.chunks_exact(IN).zip(results.chunks_exact(OUT));
    rows.map(|(row, results)| {
        let row: [T; IN] = std::array::from_fn(|i| row[i]);
        (row.map(Into::into), row, results.to_vec())
    })
    .collect()
}

#[test]
fn f16_scalars() {
    for ([a, b, c], _, got) in run::<f16, 3, 10>("f16", 13) {
        let expected = [
            a + b,
            a - b,
            a * b,
            a * b + c,
            a.min(b),
            a.max(b),
            -a,
            b.abs(),
            f64::from(a as f32 * 0.3),
            if a < b { 7.0 } else { 2.5 },
        ];
        assert_eq!(got, expected.map(f16::nearest), "of {a}, {b}, {c}");
    }
}

#[test]
fn bf16_scalars() {
    for ([a, b, c], _, got) in run::<bf16, 3, 6>("bf16", 14) {
        let scaled = f64::from(a as f32 * 0.3);
        let expected = [a + b, a * b, a * b + c, a.min(b), a.max(b), scaled];
        assert_eq!(got, expected.map(bf16::nearest), "of {a}, {b}, {c}");
    }
}

#[test]
fn f16_pairs() {
    for ([a0, a1, b0, b1, c0, c1], _, got) in run::<f16, 6, 10>("f16_pairs", 15) {
        let of = |a: f64, b: f64, c: f64| [a + b, a - b, a * b, a * b + c, a.max(b)];
        let (low, high) = (of(a0, b0, c0), of(a1, b1, c1));
        let expected: Vec<f64> = low
            .into_iter()
            .zip(high)
            .flat_map(|(low, high)| [low, high])
            .collect();
        let expected: Vec<f16> = expected.into_iter().map(f16::nearest).collect();
        assert_eq!(got, expected);
    }
}

#[test]
fn bf16_pairs() {
    for ([a0, a1, b0, b1, c0, c1], _, got) in run::<bf16, 6, 4>("bf16_pairs", 16) {
        let expected = [a0 * b0 + c0, a1 * b1 + c1, a0 + b0, a1 + b1];
        assert_eq!(got, expected.map(bf16::nearest));
    }
}

#[test]
fn atomic_additions() {
    let mut launch = Launch::new(ptx!("halves"), "atomic_halves");
    let singles = launch.input(&[f16::ONE, f16::from_f32(2.0)]);
    let pairs = launch.input(&[f16::from_f32(0.5), f16::from_f32(-1.0)]);
    launch.run([1, 1, 1], [THREADS as u32, 1, 1]);
    // Whole numbers below 2^11 are exact in any order.
    let expected = [1.0 + 16.0 * 12.0, 2.0 + 16.0 * 16.0].map(f16::exactly);
    assert_eq!(launch.read(&singles), expected);
    let threads = THREADS as f64;
    assert_eq!(
        launch.read(&pairs),
        [0.5 + threads, 2.0 * threads - 1.0].map(f16::exactly)
    );
}
