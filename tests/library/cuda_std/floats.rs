//! Functions of floats: the emulator's results beside the host's, and errors beside the table in
//! docs/float-accuracy.md.

use super::ptx::PTX;
use super::{along_x, buffer, on_every_engine, read, run};
use cuda_std::float::{GpuFloat, single};
use device_tests::accuracy::{FUNCTIONS, error_in_ulp, largest_error, largest_error_of_powf};
use warpladder::engine::Engine;
use warpladder::launch::Arg;

const TABLE: &str = include_str!("../../../docs/float-accuracy.md");

/// A kernel, and what it computes.
type Named<T> = (&'static str, fn(T) -> T);

/// Floats of every exponent and either sign, the special ones among them.
fn sample() -> Vec<f32> {
    let special = [
        0,
        0x8000_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        1,
        0x8000_0001,
    ];
    let spread = (0..=u32::MAX).step_by(262_147);
    let near_one = (0..2000).map(|i| 0x3f00_0000 + i * 0x2003);
    special
        .into_iter()
        .chain(spread)
        .chain(near_one)
        .map(f32::from_bits)
        .collect()
}

/// What the kernel `entry` makes of `input`.
fn apply(engine: &dyn Engine, entry: &str, input: &[f32]) -> Vec<f32> {
    let from = buffer(engine, input);
    let to = buffer(engine, &vec![f32::NAN; input.len()]);
    let args = [
        Arg::Ptr(from.ptr()),
        Arg::U64(input.len() as u64),
        Arg::Ptr(to.ptr()),
    ];
    // Threads behind the end do nothing.
    let blocks = input.len().div_ceil(256) as u32;
    run(engine, entry, along_x(blocks), along_x(256), &args);
    read(&to, input.len())
}

#[test]
fn results_have_the_bits_of_the_hosts() {
    let input = sample();
    let of_one = FUNCTIONS
        .iter()
        .filter_map(|function| Some((function.entry?, function.single)));
    let others: [Named<f32>; 4] = [
        ("float_powf", |x| single::powf(x, 1.75 * x)),
        ("float_round", f32::round),
        ("float_fract", |x| x - x.trunc()),
        ("float_powi", |x| GpuFloat::powi(x, -3)),
    ];
    on_every_engine(|engine| {
        for (entry, function) in of_one.clone().chain(others) {
            for (&x, found) in input.iter().zip(apply(engine, entry, &input)) {
                let expected = function(x);
                let same =
                    found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
                assert!(
                    same,
                    "{entry} of {x:e}: {found:e}, on the host {expected:e}"
                );
            }
        }
    });
}

/// The largest error of a function, as the table has it.
fn in_table(name: &str) -> f64 {
    let start = format!("| `{name}` | ");
    let line = TABLE.lines().find_map(|line| line.strip_prefix(&start));
    let cell = line.and_then(|line| line.split(" |").next());
    cell.expect(name).parse().expect(name)
}

#[test]
fn errors_are_no_larger_than_in_the_table() {
    // Some of the floats that the table was made of, which are one in 101.
    const STEP: u64 = 101 * 1297;
    for function in &FUNCTIONS {
        let (error, x) = largest_error(function, 0, 1 << 32, STEP);
        let table = in_table(function.name);
        assert!(error <= table, "{} of {x:e}: {error} ulp", function.name);
    }
    let (error, pair) = largest_error_of_powf(200_000);
    assert!(error <= in_table("powf"), "powf of {pair:?}: {error} ulp");
}

#[test]
fn powf_has_the_special_cases_of_c99() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let numbers = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        4.0,
        0.25,
        inf,
        -inf,
        nan,
        1e30,
        -1e30,
        16_777_215.0,
        16_777_216.0,
        -16_777_217.0,
        1e-45,
    ];
    for x in numbers {
        for y in numbers {
            let (found, exact) = (single::powf(x, y), f64::from(x).powf(y.into()));
            let error = error_in_ulp(found, exact);
            assert!(
                error <= in_table("powf"),
                "{x} to the power of {y}: {found}, not {exact}"
            );
            let same_sign = found.is_nan() || found.is_sign_negative() == exact.is_sign_negative();
            assert!(same_sign, "{x} to the power of {y}: {found}, not {exact}");
        }
    }
}

/// Largest error of `sin.approx` and `cos.approx` up to 2π, on a GPU (PTX ISA, "sin", "cos").
const ERROR_OF_SIN_AND_COS: f64 = 0.000_000_675; // 2^-20.5

/// The emulator's results of instructions with `.approx` are the nearest ones, those of a GPU have
/// the errors that the PTX ISA states: what is tested is which function each is.
#[test]
fn fast_functions_are_near() {
    let input: Vec<f32> = (1..2000).map(|i| i as f32 / 300.0).collect();
    let functions: [Named<f64>; 11] = [
        ("fast_exp", f64::exp),
        ("fast_exp10", |x| 10_f64.powf(x)),
        ("fast_ln", f64::ln),
        ("fast_log10", f64::log10),
        ("fast_sin", f64::sin),
        ("fast_cos", f64::cos),
        ("fast_tan", f64::tan),
        ("fast_powf", |x| x.powf(1.75 * x)),
        ("fast_sqrt", f64::sqrt),
        ("fast_rsqrt", |x| x.sqrt().recip()),
        ("fast_recip", f64::recip),
    ];
    on_every_engine(|engine| {
        for (entry, exact) in functions {
            for (&x, found) in input.iter().zip(apply(engine, entry, &input)) {
                let exact = exact(x.into());
                let error = match entry {
                    // A quotient, whose divisor goes to 0: the errors of both over it.
                    "fast_tan" => 2.0 * ERROR_OF_SIN_AND_COS * (1.0 + exact * exact),
                    _ => 0.0,
                };
                let tolerance = (1e-5 * exact.abs().max(1.0)).max(error);
                let near = (f64::from(found) - exact).abs() <= tolerance;
                assert!(near, "{entry} of {x}: {found}, not {exact}");
            }
        }
    });
}

#[test]
fn accurate_functions_use_no_approximation() {
    for entry in FUNCTIONS.iter().filter_map(|function| function.entry) {
        let header = format!(".visible .entry {entry}(");
        let text = &PTX[PTX.find(&header).expect(entry)..];
        let body = &text[..text.find("\n}").expect(entry)];
        assert!(!body.contains(".approx"), "{entry}");
        assert!(!body.contains("call"), "{entry}");
    }
}

#[test]
fn the_table_has_the_instructions_of_the_ptx() {
    let instructions = |entry: &str| {
        let header = format!(".visible .entry {entry}(");
        let text = &PTX[PTX.find(&header).expect(entry)..];
        let body = &text[..text.find("\n}").expect(entry)];
        let lines = body.lines().map(str::trim);
        lines
            .filter(|line| line.ends_with(';') && !line.starts_with('.'))
            .count()
    };
    for function in &FUNCTIONS {
        let start = format!("| `{}` | ", function.name);
        let line = TABLE.lines().find(|line| line.starts_with(&start));
        let cell = line.and_then(|line| line.split('|').nth(4)).map(str::trim);
        let counted = function.entry.map_or(String::new(), |entry| {
            (instructions(entry) - instructions("float_same")).to_string()
        });
        assert_eq!(cell, Some(counted.as_str()), "{}", function.name);
    }
}
