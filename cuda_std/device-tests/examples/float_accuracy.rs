//! Measures the errors of functions of `f32` and prints docs/float-accuracy.md.
//!
//! ```text
//! cargo run --release -p warpladder-cuda-std-device-tests --example float_accuracy -- STEP
//! ```
//!
//! One in `STEP` floats is taken: 1 takes hours of a processor, 101 some minutes.

use device_tests::accuracy::{
    CUDA_POWF, FUNCTIONS, Function, largest_error, largest_error_of_powf,
};
use std::process::ExitCode;
use std::sync::Mutex;

/// The PTX whose instructions are counted.
const PTX: &str = include_str!("../ptx/device_tests_sm_70.ptx");

const HEAD: &str = "\
# Accuracy of the functions of `f32`

The largest error of each function of `cuda_std` that was found, in units in the last place (ulp) of
the exact value. Half an ulp is what rounding alone gives. CUDA's errors are those of the \"CUDA C++
Programming Guide\", \"Mathematical Functions Appendix\", in its edition for CUDA 11.

The functions have the same bits on every GPU, on the emulator and on a host, since they are made of
additions, multiplications, FMA, divisions and square roots that round to nearest. So they are
measured on a host, against `std`'s functions of `f64`. A test compares the emulator's results with
the host's, bit by bit, and the errors of a sample with this table.

Instructions are those of the PTX, on all paths together; most inputs take one path. Functions
without a number are those of the crate `libm`. `rcbrt` and the functions of `FloatExt` that are not
here compute in `f64`.
";

const TAIL: &str = "
The functions of `float::fast` are one to three instructions with `.approx`. Their results differ
among GPUs, and the emulator computes them to the last bit, so nothing is measured here. The PTX ISA
has: `ex2` 2^-22 relative, `lg2` 2^-22 absolute near 1 and else relative, `sin` and `cos` 2^-20.5
absolute up to 2π, `tanh` 2^-11 relative, `rsqrt` 2^-22.9 and `sqrt` 2^-23 relative, `rcp` 1 ulp,
`div` 2 ulp.

Written by `cargo run --release -p warpladder-cuda-std-device-tests --example float_accuracy`.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [step] = &arguments[..] else {
        eprintln!("usage: float_accuracy STEP");
        return ExitCode::from(2);
    };
    let step: u64 = match step.parse() {
        Ok(step) if step > 0 => step,
        _ => {
            eprintln!("`{step}` is no step: a whole number from 1 on");
            return ExitCode::from(2);
        }
    };
    println!("{HEAD}");
    match step {
        1 => println!("All floats were taken; of `powf`, 200 million pairs of numbers."),
        _ => println!(
            "One in {step} floats was taken, in the order of their bits; of `powf`, 200 million \
             pairs of numbers."
        ),
    }
    println!("\n| function | largest error (ulp) | at | instructions | CUDA (ulp) |");
    println!("|---|--:|--:|--:|--:|");
    for function in &FUNCTIONS {
        let (error, at) = measure(function, step);
        line(
            function.name,
            error,
            &format!("{at:e}"),
            function.entry,
            function.cuda,
        );
    }
    let (error, (x, y)) = largest_error_of_powf(200_000_000);
    line(
        "powf",
        error,
        &format!("{x:e}, {y:e}"),
        Some("float_powf"),
        CUDA_POWF,
    );
    print!("{TAIL}");
    ExitCode::SUCCESS
}

fn line(name: &str, error: f64, at: &str, entry: Option<&str>, cuda: f64) {
    // Rounded up, so that no error is larger than what stands here.
    let error = (100.0 * error).ceil() / 100.0;
    let instructions = entry.map_or("".to_owned(), |entry| {
        (instructions(entry) - instructions("float_same")).to_string()
    });
    println!("| `{name}` | {error:.2} | {at} | {instructions} | {cuda} |");
}

/// The largest error, by as many threads as there are processors.
fn measure(function: &Function, step: u64) -> (f64, f32) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let all = 1_u64 << 32;
    let share = (all / step).div_ceil(threads) * step;
    let largest = Mutex::new((0.0, 0.0));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let largest = &largest;
            scope.spawn(move || {
                let end = all.min((thread + 1) * share);
                let found = largest_error(function, thread * share, end, step);
                let mut largest = largest.lock().unwrap();
                if found.0 > largest.0 {
                    *largest = found;
                }
            });
        }
    });
    largest.into_inner().unwrap()
}

/// The instructions of a kernel.
fn instructions(entry: &str) -> usize {
    let header = format!(".visible .entry {entry}(");
    let text = &PTX[PTX.find(&header).expect("a kernel of the device tests")..];
    let body = &text[..text.find("\n}").expect("a closing brace")];
    let lines = body.lines().map(str::trim);
    lines
        .filter(|line| line.ends_with(';') && !line.starts_with('.'))
        .count()
}
