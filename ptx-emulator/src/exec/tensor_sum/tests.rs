use super::*;
use crate::exec::float::from_f64;
use crate::exec::vector::{LANES, Lanes32};
use crate::ir::{Rounding, Sums};
use ptx_syntax::ast::Type;

fn sum(pairs: &[(f32, f32)], addend: f32) -> f32 {
    let factor = |x: f32| Factor::of(MatrixInputs::Tf32, x.to_bits());
    let row: Vec<Factor> = pairs.iter().map(|pair| factor(pair.0)).collect();
    let column: Vec<Factor> = pairs.iter().map(|pair| factor(pair.1)).collect();
    let (row, column) = (Line::new(&row), Line::new(&column));
    let sums = Level::available()
        .into_iter()
        .map(|level| dot_product(level, MatrixInputs::Tf32, &row, &column, addend.to_bits()));
    let sums: Vec<u32> = sums.collect();
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:x?}");
    f32::from_bits(sums[0])
}

#[test]
fn small_sums_are_exact() {
    assert_eq!(sum(&[(2.0, 3.0), (-1.5, 4.0)], 0.25), 0.25);
    assert_eq!(sum(&[(0.0, 5.0), (0.0, 0.0)], 0.0), 0.0);
    assert_eq!(sum(&[(1.0, 1.0)], -1.0), 0.0);
    assert_eq!(sum(&[], -1.1e-40), -1.1e-40);
}

#[test]
fn what_lies_too_low_is_cut_off() {
    let tiny = 2f32.powi(-13);
    // 2^-26 next to 1: below the last bit that enters the sum.
    assert_eq!(sum(&[(tiny, tiny), (-1.0, 1.0)], 1.0), 0.0);
    let tiny = 2f32.powi(-12);
    assert_eq!(sum(&[(tiny, tiny), (-1.0, 1.0)], 1.0), 2f32.powi(-24));
    // Results are cut off, not rounded.
    assert_eq!(sum(&[(tiny, 1.5 * tiny)], 1.0), 1.0);
    // Less than the least f32 has no sign.
    let tiny = 2f32.powi(-80);
    assert_eq!(sum(&[(tiny, -tiny)], 0.0).to_bits(), 0);
    let kind = Kind {
        inputs: [MatrixInputs::Tf32; 2],
        sums: [Sums::F32; 2],
        short: false,
    };
    let [row, column] = [tiny, -tiny].map(|x| [Factor::of(MatrixInputs::Tf32, x.to_bits())]);
    assert_eq!(any_dot_product(kind, &row, &column, 0), 0);
}

/// Small integers as every float that holds them: sums are exact, whatever the format.
#[test]
fn exact_sums_of_all_formats() {
    let formats = [
        MatrixInputs::F16,
        MatrixInputs::Bf16,
        MatrixInputs::Tf32,
        MatrixInputs::E4m3,
        MatrixInputs::E5m2,
        MatrixInputs::E2m3,
        MatrixInputs::E3m2,
        MatrixInputs::E2m1 { dense: false },
        MatrixInputs::E2m1 { dense: true },
    ];
    for of_a in formats {
        for of_b in formats {
            let kind = |sums| Kind {
                inputs: [of_a, of_b],
                sums: [Sums::F32, sums],
                short: false,
            };
            // Patterns from the formats themselves.
            let factors = |inputs: MatrixInputs, step: u32| -> Vec<Factor> {
                let bits = |at: u32| match inputs {
                    MatrixInputs::Tf32 => f32::to_bits(at as f32 - 7.0),
                    MatrixInputs::F16 => 0x3c00 + 0x40 * at,
                    MatrixInputs::Bf16 => 0x3f80 + 8 * at,
                    _ => step * at % 0x77,
                };
                (0..17).map(|at| Factor::of(inputs, bits(at))).collect()
            };
            let (row, column) = (factors(of_a, 3), factors(of_b, 5));
            let value = |factor: &Factor, inputs| factor.value(inputs);
            let products = row.iter().zip(&column);
            let exact: f64 = products.map(|(a, b)| value(a, of_a) * value(b, of_b)).sum();
            let sum = any_dot_product(kind(Sums::F32), &row, &column, 1.5f32.to_bits());
            let error = f64::from(f32::from_bits(sum)) - (exact + 1.5);
            let largest = products_of(&row, &column, [of_a, of_b]);
            assert!(error.abs() <= largest * 2f64.powi(-20), "{of_a:?} {of_b:?}");
            let half = any_dot_product(kind(Sums::F16), &row, &column, 1.5f32.to_bits());
            let nearest = from_f64(exact + 1.5, 0.0, Type::F16, Rounding::NearestEven);
            assert!(nearest.abs_diff(half.into()) <= 1, "{of_a:?} {of_b:?}");
        }
    }
}

/// Tiles are their elements, one by one.
#[test]
fn tiles_are_their_dot_products() {
    let mut state = 0x1234_5678u32;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    for (inputs, depth) in [
        (MatrixInputs::F16, 16),
        (MatrixInputs::F16, 8),
        (MatrixInputs::Bf16, 16),
        (MatrixInputs::Tf32, 8),
    ] {
        for round in 0..200 {
            // All exponents, and those near 1, where sums cancel; some zeros.
            let element = |bits: u32| match (inputs, round % 3) {
                _ if bits.is_multiple_of(11) => 0,
                (MatrixInputs::F16, 0) => bits & 0xbbff,
                (MatrixInputs::F16, _) => bits & 0x87ff | 0x3800,
                (MatrixInputs::Bf16, 0) => bits & 0xbfff,
                (MatrixInputs::Bf16, _) => bits & 0x81ff | 0x3e00,
                (_, 0) => bits & 0xbfff_ffff,
                _ => bits & 0x81ff_ffff | 0x3e00_0000,
            };
            let mut words = || -> Lanes32 { std::array::from_fn(|_| element(random())) };
            // Up to 16 rows and columns of 16 elements; what is not used does not matter.
            let a: Vec<u32> = (0..8).flat_map(|_| words()).collect();
            let b: Vec<u32> = (0..8).flat_map(|_| words()).collect();
            let columns = 16;
            let rows = a.len() / depth;
            let c: Vec<u32> = (0..rows * columns)
                .map(|at| match at % 5 {
                    0 => 0,
                    _ => random() & 0xbfff_ffff,
                })
                .collect();
            for level in Level::available() {
                let split = |elements: &[u32]| {
                    let mut parts = [Vec::new(), Vec::new()];
                    let mut factors = Factors::ZERO;
                    for row in elements.as_chunks::<LANES>().0 {
                        simd::factors(level, inputs, row, 0, &mut factors);
                        assert!(!factors.has_special);
                        parts[0].extend(factors.significands);
                        parts[1].extend(factors.exponents);
                    }
                    parts
                };
                let (of_a, of_b) = (split(&a), split(&b));
                let tile = Tile {
                    inputs,
                    depth,
                    columns,
                    a: of_a.each_ref().map(Vec::as_slice),
                    b: of_b.each_ref().map(Vec::as_slice),
                    c: &c,
                };
                let mut d = vec![0; rows * columns];
                simd::tile(level, &tile, &mut d);
                for (at, d) in d.iter().enumerate() {
                    let (row, column) = (at / columns, at % columns);
                    let line = |element: &dyn Fn(usize) -> u32| {
                        let factors = (0..depth).map(|k| Factor::of(inputs, element(k)));
                        Line::new(&factors.collect::<Vec<_>>())
                    };
                    let row = line(&|k| a[row * depth + k]);
                    let column = line(&|k| b[k * columns + column]);
                    let wanted = dot_product(level, inputs, &row, &column, c[at]);
                    assert_eq!(*d, wanted, "{inputs:?} {level:?}: {d:x}, not {wanted:x}");
                }
            }
        }
    }
}

fn products_of(row: &[Factor], column: &[Factor], [a, b]: [MatrixInputs; 2]) -> f64 {
    let magnitude = |(x, y): (&Factor, &Factor)| (x.value(a) * y.value(b)).abs();
    row.iter().zip(column).map(magnitude).sum::<f64>().max(1.0)
}

/// Both ways to add f16 give the same sum.
#[test]
fn any_sum_is_the_sum_of_f16() {
    let pattern = |at: u32| Factor::of(MatrixInputs::F16, at.wrapping_mul(0x9e37) & 0xffff);
    for start in 0..2000 {
        let row: Vec<Factor> = (0..16).map(|at| pattern(start * 31 + at)).collect();
        let column: Vec<Factor> = (0..16).map(|at| pattern(start * 17 + 7 * at)).collect();
        let c = start.wrapping_mul(0x9e37_79b9);
        let kind = Kind {
            inputs: [MatrixInputs::F16; 2],
            sums: [Sums::F32; 2],
            short: false,
        };
        let (first, second) = (Line::new(&row), Line::new(&column));
        let wanted = dot_product(Level::Portable, MatrixInputs::F16, &first, &second, c);
        assert_eq!(any_dot_product(kind, &row, &column, c), wanted, "{start}");
    }
}

#[test]
fn scales_multiply_blocks() {
    let kind = Kind {
        inputs: [MatrixInputs::E2m1 { dense: true }; 2],
        sums: [Sums::F32; 2],
        short: false,
    };
    // 1.0 everywhere.
    let ones = [Factor::of(kind.inputs[0], 2); 64];
    let scale = |byte| Scale::of(byte, false);
    let scales = [[scale(128), scale(127)], [scale(127), scale(126)]];
    let sum = scaled_dot_product(kind, &ones, &ones, &scales, 0.25f32.to_bits());
    assert_eq!(f32::from_bits(sum), 32.0 * 2.0 + 32.0 * 0.5 + 0.25);
    let with_fraction = [[Scale::of(0x3c, true), Scale::of(0x38, true)]; 4];
    let sum = scaled_dot_product(kind, &ones, &ones, &with_fraction, 0);
    assert_eq!(f32::from_bits(sum), 64.0 * 1.5);
    let bad = [[scale(0xff), scale(127)]; 2];
    assert_eq!(scaled_dot_product(kind, &ones, &ones, &bad, 0), NAN);
}

#[test]
fn infinities_and_nans() {
    assert_eq!(sum(&[(f32::INFINITY, -2.0)], 1.0), f32::NEG_INFINITY);
    assert!(sum(&[(f32::INFINITY, 0.0)], 1.0).is_nan());
    assert!(sum(&[(f32::INFINITY, 1.0)], f32::NEG_INFINITY).is_nan());
    assert_eq!(sum(&[(3e38, 3e38)], 0.0), f32::INFINITY);
}
