//! Printing, the heap, failed assertions, and functions of floats that `libm` computes.

use super::ptx::PTX;
use super::run;
use crate::cuda_std::{along_x, buffer, on_every_engine, read, run_of};
use cuda_std::float::{FloatExt, GpuFloat};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Args, FaultKind, LaunchConfig, LaunchError, Memory, Module, Sanitizer};
use warpladder::launch::Arg;

/// Runs a kernel on the emulator under all sanitizers, which must find nothing; returns what it
/// printed and how it ended.
fn watched(
    entry: &str,
    threads: u32,
    args: impl Fn(&Memory) -> Args,
) -> (String, Result<(), LaunchError>) {
    let memory = Memory::with_capacity(1 << 24);
    let args = args(&memory);
    let module = Module::index(PTX).expect("PTX");
    let kernel = module.kernel(entry).expect(entry);
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    let config = LaunchConfig::new([1, 1, 1], [threads, 1, 1]);
    let ended = kernel.launch_observed(&memory, &config, &args, &mut sanitizer);
    // A fault is a finding as well.
    assert!(
        ended.is_err() || sanitizer.all_findings().is_empty(),
        "{entry}"
    );
    let printed = String::from_utf8(memory.take_printed()).expect("text");
    (printed, ended.map(|_| ()))
}

#[test]
fn lines_are_printed_as_std_prints_them() {
    let (printed, ended) = watched("print_lines", 2, |_| {
        let mut args = Args::new();
        args.push_f32(2.5);
        args
    });
    ended.expect("runs");
    let line = |i: u32| format!("thread {i}: {:?} and {:>6.2} %s\n", Some(i * 3), 2.5);
    // Threads print in an order of their own.
    let mut found: Vec<&str> = printed.lines().collect();
    found.sort_unstable();
    let expected = format!("no line end; \n{}{}", line(0), line(1));
    assert_eq!(found, expected.lines().collect::<Vec<_>>());
}

#[test]
fn vectors_boxes_and_texts_are_on_the_heap() {
    const N: u32 = 20;
    let row = |i: u32| {
        let text = format!("{N}-{i:03}");
        [
            (0..=N).map(|k| k + i).sum::<u32>(),
            2 * N + i,
            text.bytes().map(u32::from).sum(),
            i + 1,
        ]
    };
    on_every_engine(|engine| {
        let output = buffer(engine, &[0_u32; 4 * 32]);
        let args = [Arg::U32(N), Arg::Ptr(output.ptr())];
        run_of(engine, PTX, "on_the_heap", along_x(1), along_x(32), &args);
        let words = read::<u32>(&output, 4 * 32);
        for (found, i) in words.chunks(4).zip(0..) {
            assert_eq!(found, row(i), "thread {i}");
        }
    });
    // Every block is freed, once.
    let (_, ended) = watched("on_the_heap", 32, |memory| {
        let mut args = Args::new();
        args.push_u32(N);
        args.push_u64(memory.alloc(4 * 4 * 32).expect("room"));
        args
    });
    ended.expect("runs");
}

#[test]
fn a_failed_assertion_has_its_message_and_its_line() {
    let run = |x: u32| {
        watched("assert_three", 1, |memory| {
            let mut args = Args::new();
            args.push_u32(x);
            args.push_u64(memory.alloc(4).expect("room"));
            args
        })
    };
    run(3).1.expect("holds");
    let source = include_str!("../../crates/src/system.rs");
    for (x, message, statement) in [
        (100, "100 is too large", "assert!(x < 100"),
        (
            4,
            "assertion failed: x == 3\n  left: 4\n right: 3",
            "assert_eq!(x, 3)",
        ),
    ] {
        let ended = run(x).1;
        let Err(LaunchError::Fault(fault)) = &ended else {
            panic!("the assertion about {x} did not fail: {ended:?}");
        };
        let FaultKind::Assertion {
            message: found,
            file,
            line,
            ..
        } = &fault.kind
        else {
            panic!("the assertion about {x} did not fail: {ended:?}");
        };
        assert_eq!(found.trim_end(), message);
        assert!(file.ends_with("src/system.rs"), "{file}");
        let at = source.lines().position(|line| line.contains(statement));
        assert_eq!(*line as usize, at.unwrap() + 1);
    }
}

/// What the kernel `functions` makes of `x`.
macro_rules! functions {
    ($x:expr) => {{
        let x = $x;
        [
            GpuFloat::exp(x),
            GpuFloat::sin(x),
            GpuFloat::atan(x),
            GpuFloat::hypot(x, 2.0),
            GpuFloat::powf(x, 1.5),
            GpuFloat::rem_euclid(x, 0.7),
            x.error_function(),
            x.norm_cdf(),
            x.log_gamma(),
            x.j0(),
            x.rcbrt(),
            x.scaled_complementary_error_function(),
        ]
    }};
}

#[test]
fn functions_of_libm_have_the_bits_of_the_hosts() {
    let input = [0.1, 0.75, -2.5, 3.0, 17.25, -1e-3, 40.0, 1e5];
    on_every_engine(|engine| {
        let from = buffer(engine, &input);
        let (to, to_f64) = (
            buffer(engine, &[f32::NAN; 8 * 12]),
            buffer(engine, &[f64::NAN; 8 * 12]),
        );
        let args = [
            Arg::Ptr(from.ptr()),
            Arg::U64(8),
            Arg::Ptr(to.ptr()),
            Arg::Ptr(to_f64.ptr()),
        ];
        run_of(engine, PTX, "functions", along_x(1), along_x(8), &args);
        let (singles, doubles) = (read::<f32>(&to, 8 * 12), read::<f64>(&to_f64, 8 * 12));
        for (i, &x) in input.iter().enumerate() {
            let bits = |x: f32| if x.is_nan() { 0 } else { x.to_bits() };
            let found = singles[12 * i..][..12].iter().map(|&x| bits(x));
            let expected = functions!(x as f32).map(bits);
            assert_eq!(found.collect::<Vec<_>>(), expected, "f32 of {x}");
            let bits = |x: f64| if x.is_nan() { 0 } else { x.to_bits() };
            let found = doubles[12 * i..][..12].iter().map(|&x| bits(x));
            let expected = functions!(x).map(bits);
            assert_eq!(found.collect::<Vec<_>>(), expected, "f64 of {x}");
        }
    });
}

#[test]
fn libdevices_names_round_as_they_say() {
    // a + b, a * b, … are between two floats.
    let (a, b, d) = (1.0_f32, 3e-8_f32, 0.1_f64);
    on_every_engine(|engine| {
        let output = buffer(engine, &[0_u64; 16]);
        let args = [
            Arg::F32(a),
            Arg::F32(b),
            Arg::F64(d),
            Arg::Ptr(output.ptr()),
        ];
        run(engine, "rounded", &args);
        let single = |x: f32| u64::from(x.to_bits());
        let quotient = f64::from(a) / f64::from(b);
        let up = if f64::from(quotient as f32) < quotient {
            (quotient as f32).next_up()
        } else {
            quotient as f32
        };
        let square = d * d;
        let rest = d.mul_add(d, -square);
        let product = d.mul_add(d, -d);
        let expected = [
            single(1.0),
            single(1.0_f32.next_up()),
            single(b),
            single(up),
            single(1.0),
            single(1.0 / b),
            single(1.0_f32.next_up()),
            single(0.1_f32.next_down()),
            1,
            1,
            single(16_777_218.0),
            9_223_372_036_854_774_784.0_f64.to_bits(),
            d.next_up().to_bits(),
            (if rest < 0.0 {
                square.next_down()
            } else {
                square
            })
            .to_bits(),
            product.to_bits(),
            1,
        ];
        let found = read::<u64>(&output, 16);
        assert_eq!(found[..14], expected[..14]);
        // Toward 0: the nearest one, or the one before it.
        assert!(expected[14] - found[14] <= 1, "{:x}", found[14]);
        assert_eq!(found[15], expected[15]);
    });
}
