//! Rounding modes, approximate instructions, and the functions of CUDA's library.

use super::{Launch, noise, ptx};

fn run<const OUT: usize>(
    text: &str,
    kernel: &str,
    per_thread: usize,
    values: &[f32],
) -> Vec<[f32; OUT]> {
    let threads = values.len() / per_thread;
    let mut launch = Launch::new(text, kernel);
    launch.input(values);
    let out = launch.output::<f32>(threads * OUT);
    launch.run([1, 1, 1], [threads as u32, 1, 1]);
    let results = launch.read(&out);
    results
        .chunks_exact(OUT)
        .map(|row| std::array::from_fn(|i| row[i]))
        .collect()
}

type Function = fn(f64) -> f64;

/// The tolerance of a result.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Absolute(f64),
    Relative(f64),
    /// Units in the last place of the exact result.
    Ulps(f64),
}

fn check(name: &str, x: f64, got: f64, exact: f64, bound: Bound, precision: i32) {
    let error = (got - exact).abs();
    let allowed = match bound {
        Bound::Absolute(allowed) => allowed,
        Bound::Relative(part) => part * exact.abs(),
        Bound::Ulps(count) => {
            let exponent = (exact.to_bits() >> 52 & 0x7ff) as i32 - 1023;
            let least = if precision == 24 { -126 } else { -1022 };
            count * 2f64.powi(exponent.max(least) - precision + 1)
        }
    };
    assert!(
        error <= allowed,
        "{name} of {x}: {got}, not {exact}: more than {bound:?}"
    );
}

/// The errors that the PTX ISA states for each instruction in ".approx" ("Floating Point
/// Instructions").
#[test]
fn approximate_instructions_keep_their_bounds() {
    use Bound::*;
    let functions: [(&str, Function, Bound); 10] = [
        ("sin.approx", f64::sin, Absolute(2f64.powf(-20.5))),
        ("cos.approx", f64::cos, Absolute(2f64.powf(-20.5))),
        ("ex2.approx", f64::exp2, Ulps(2.0)),
        ("lg2.approx", f64::log2, Absolute(2f64.powi(-22))),
        ("rcp.approx", |x| 1.0 / x, Ulps(1.0)),
        (
            "rsqrt.approx",
            |x| 1.0 / x.sqrt(),
            Relative(2f64.powf(-22.9)),
        ),
        ("sqrt.approx", f64::sqrt, Relative(2f64.powi(-23))),
        ("tanh.approx", f64::tanh, Relative(2f64.powi(-11))),
        ("div.approx", |x| x / f64::from(3.7f32), Ulps(2.0)),
        ("div.full", |x| x / f64::from(3.7f32), Ulps(2.0)),
    ];
    let values: Vec<f32> = (1..=1000).map(|i| i as f32 * 0.006_28).collect();
    for (x, got) in values
        .iter()
        .zip(run::<10>(ptx!("functions"), "approximate", 1, &values))
    {
        for ((name, function, bound), got) in functions.iter().zip(got) {
            let (x, mut bound) = (f64::from(*x), *bound);
            if *name == "lg2.approx" && !(0.5..=2.0).contains(&x) {
                bound = Relative(2f64.powi(-22));
            }
            check(name, x, f64::from(got), function(x), bound, 24);
        }
    }
}

/// An exact result rounded towards an infinity, or towards zero.
fn rounded(exact: f64, towards: f64) -> f32 {
    let nearest = exact as f32;
    let towards = if towards == 0.0 {
        -exact.signum()
    } else {
        towards
    };
    match (f64::from(nearest).total_cmp(&exact), towards > 0.0) {
        (std::cmp::Ordering::Less, true) => nearest.next_up(),
        (std::cmp::Ordering::Greater, false) => nearest.next_down(),
        _ => nearest,
    }
}

#[test]
fn directed_roundings_are_exact() {
    // Multiples of 2^-13 below 2^10: sums and products are exact in f64.
    let draw = |bits: u64| ((bits % (1 << 24)) as f64 - f64::from(1 << 23)) as f32 / 8192.0;
    let values: Vec<f32> = noise(17).map(draw).take(2 * 512).collect();
    let results = run::<12>(ptx!("functions"), "rounded", 2, &values);
    for (pair, got) in values.chunks_exact(2).zip(results) {
        let (a, b) = (pair[0], pair[1]);
        let (wide_a, wide_b) = (f64::from(a), f64::from(b));
        let expected = [
            a / b,
            1.0 / a,
            a.abs().sqrt(),
            rounded(wide_a + wide_b, 0.0),
            rounded(wide_a * wide_b, f64::INFINITY),
            rounded(wide_a * wide_b + 1.0, f64::NEG_INFINITY),
            a.round_ties_even(),
            a.floor(),
            a.trunc(),
            a as i32 as f32,
            a.clamp(0.0, 1.0),
            a.copysign(b),
        ];
        let bits = |values: [f32; 12]| values.map(f32::to_bits);
        assert_eq!(bits(got), bits(expected), "of {a}, {b}");
    }
}

/// The error function by its series at 0, which f64 sums to ten digits for arguments below 3.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..100 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

/// The errors that the CUDA C++ Programming Guide states ("Mathematical Functions: Standard
/// Functions").
#[test]
fn the_library_keeps_its_bounds() {
    let functions: [(&str, Function, f64); 8] = [
        ("sinf", f64::sin, 2.0),
        ("cosf", |x| f64::from(1000.0 * x as f32).cos(), 2.0),
        ("expf", f64::exp, 2.0),
        ("logf", f64::ln, 1.0),
        ("powf", |x| x.powf(f64::from(1.7f32)), 4.0),
        ("erff", erf, 2.0),
        ("atan2f", |x| x.atan2(2.0), 3.0),
        ("cbrtf", f64::cbrt, 1.0),
    ];
    let values: Vec<f32> = (1..=960).map(|i| i as f32 * 0.003_11).collect();
    for (x, got) in values
        .iter()
        .zip(run::<8>(ptx!("functions"), "library", 1, &values))
    {
        for ((name, function, ulps), got) in functions.iter().zip(got) {
            let x = f64::from(*x);
            // The bounds hold for the rounded exact result: half a unit more to the exact one.
            check(
                name,
                x,
                f64::from(got),
                function(x),
                Bound::Ulps(ulps + 0.5),
                24,
            );
        }
    }
}

#[test]
fn the_library_of_doubles_keeps_its_bounds() {
    let functions: [(&str, Function, f64); 7] = [
        ("sin", f64::sin, 2.0),
        ("cos", |x| (100_000.0 * x).cos(), 2.0),
        ("exp", f64::exp, 1.0),
        ("log", f64::ln, 1.0),
        ("sqrt", f64::sqrt, 0.0),
        ("1/x", |x| 1.0 / x, 0.0),
        ("pow", |x| x.powf(1.7), 2.0),
    ];
    let values: Vec<f64> = (1..=512).map(|i| f64::from(i) * 0.031_7).collect();
    let mut launch = Launch::new(ptx!("functions"), "library_f64");
    launch.input(&values);
    let out = launch.output::<[f64; 7]>(values.len());
    launch.run([1, 1, 1], [512, 1, 1]);
    for (x, got) in values.into_iter().zip(launch.read(&out)) {
        for ((name, function, ulps), got) in functions.iter().zip(got) {
            // The host's own functions are off by up to one unit, but for those that IEEE 754
            // fixes.
            let ulps = if *ulps == 0.0 { 0.0 } else { ulps + 1.0 };
            check(name, x, got, function(x), Bound::Ulps(ulps), 53);
        }
    }
}

/// A number that `.ftz` has made zero where it was subnormal.
fn flush(x: f32) -> f32 {
    if x.is_subnormal() {
        0f32.copysign(x)
    } else {
        x
    }
}

#[test]
fn fast_mathematics_flushes_subnormal_numbers() {
    // Ordinary numbers, and pairs of which operands or results are subnormal.
    let ordinary = noise(18).map(|bits| f32::from_bits(0x3f00_0000 + (bits as u32 & 0x01ff_ffff)));
    let small = noise(19).map(|bits| f32::from_bits(bits as u32 & 0x01ff_ffff | 0x10_0000));
    let roots = noise(20).map(|bits| f32::from_bits(0x1f00_0000 + (bits as u32 & 0x01ff_ffff)));
    let mut values: Vec<f32> = ordinary
        .take(256)
        .chain(small.take(256))
        .chain(roots.take(256))
        .collect();
    values.extend([
        f32::MIN_POSITIVE / 2.0,
        1.0,
        1.0,
        f32::MIN_POSITIVE / 4.0,
        -f32::MIN_POSITIVE / 2.0,
        0.5,
    ]);
    let results = run::<6>(ptx!("flush"), "flushed", 2, &values);
    for (pair, got) in values.chunks_exact(2).zip(results) {
        let (a, b) = (flush(pair[0]), flush(pair[1]));
        let exact = [a + b, a * b, a.mul_add(b, a)].map(|x| flush(x).to_bits());
        assert_eq!(
            [got[0], got[1], got[2]].map(f32::to_bits),
            exact,
            "of {pair:?}"
        );
        assert_eq!(got[5], a.min(b), "of {pair:?}");
        let (a, b) = (f64::from(a), f64::from(b));
        for (name, got, exact) in [
            ("div.approx.ftz", got[3], a / b),
            ("sqrt.approx.ftz", got[4], a.sqrt()),
        ] {
            if exact.is_finite() && exact.abs() >= f64::from(f32::MIN_POSITIVE) {
                let bound = match name {
                    "sqrt.approx.ftz" => Bound::Relative(2f64.powi(-23)),
                    _ => Bound::Ulps(2.0),
                };
                check(name, a, f64::from(got), exact, bound, 24);
            } else if exact.abs() < f64::from(f32::MIN_POSITIVE) {
                assert_eq!(got, 0.0, "{name} of {pair:?}");
            } else {
                assert!(!got.is_finite(), "{name} of {pair:?}");
            }
        }
    }
}
