//! What the examples' kernels compute, beside the CPU: on the emulator under all sanitizers, and
//! then on a GPU where there is one.

use super::checkout::Unit;
use super::cpu::{self, Numbers, f32_bytes, f32_values, u128_bytes};
use super::device::{Launcher, Program};
use super::gpu::Gpu;
use super::kernel::Built;
use super::path_tracer;
use anyhow::Result;
use sha2::{Digest, Sha256, Sha512};
use std::path::Path;

/// One run: the unit, its name, and what says which values were compared.
struct ExampleRun {
    unit: &'static str,
    name: &'static str,
    run: fn(&Program, &Path) -> Result<String>,
}

const CASES: &[ExampleRun] = &[
    case("examples/vecadd/kernels", "vecadd", |program, _| {
        vecadd(program)
    }),
    case("examples/gemm/kernels", "gemm_naive", |program, _| {
        gemm(program, "gemm_naive")
    }),
    case("examples/gemm/kernels", "gemm_tiled", |program, _| {
        gemm(program, "gemm_tiled")
    }),
    case("examples/i128_demo/kernels", "i128_ops", |program, _| {
        i128_ops(program)
    }),
    case(
        "examples/sha2_crates_io/kernels",
        "SHA-256, SHA-512",
        |program, _| sha2(program),
    ),
    case(
        "samples/introduction/async_api/kernels",
        "increment",
        |program, _| increment(program),
    ),
    case(
        "samples/introduction/matmul/kernels",
        "matrix_mul_cuda",
        |program, _| matmul(program),
    ),
    case(
        path_tracer::UNIT,
        "render, scale_buffer, postprocess",
        path_tracer::run,
    ),
    case(
        "tests/compiletests/ui/dis/target_feature_base_cc.rs",
        "compute_70",
        |program, _| target_features(program, "test_base_cc_70", 70.0 + 60.0),
    ),
    case(
        "tests/compiletests/ui/dis/target_feature_arch_cc.rs",
        "compute_120a",
        |program, _| {
            let older = 120.0 + 100.0 + 90.0 + 80.0 + 70.0;
            target_features(program, "test_arch_cc_120a", older)
        },
    ),
    case(
        "tests/compiletests/ui/dis/target_feature_family_cc.rs",
        "compute_101f",
        |program, _| {
            // With `compute_100f`, which Rust-CUDA's own rule gives it: the test's comment does
            // not.
            let older = 101.0 + 100.0 + 90.0 + 80.0 + 70.0;
            target_features(program, "test_family_cc_101f", older + 100.5)
        },
    ),
];

const fn case(
    unit: &'static str,
    name: &'static str,
    run: fn(&Program, &Path) -> Result<String>,
) -> ExampleRun {
    ExampleRun { unit, name, run }
}

/// A run that was made.
pub struct Run {
    pub name: &'static str,
    /// `emulator`, or the name of the GPU.
    pub on: String,
    /// What was compared, or what is wrong.
    pub result: Result<String, String>,
}

/// The runs of a unit's kernels.
pub fn runs(unit: &Unit, built: &Built, stage: &Path, gpu: Option<&Gpu>) -> Vec<Run> {
    // What a GPU is not made for stays on the emulator.
    let gpu = gpu.filter(|gpu| gpu.runs(&unit.arch.target_cpu()));
    let mut runs = Vec::new();
    for case in CASES.iter().filter(|case| case.unit == unit.name) {
        let mut run = |on: &str, gpu| {
            let result =
                Program::load(&built.ptx, gpu).and_then(|program| (case.run)(&program, stage));
            let right = result.is_ok();
            runs.push(Run {
                name: case.name,
                on: on.to_owned(),
                result: result.map_err(|error| format!("{error:#}")),
            });
            right
        };
        if run("emulator", None)
            && let Some(gpu) = gpu
        {
            run(gpu.name(), Some(gpu));
        }
    }
    runs
}

fn vecadd(program: &Program) -> Result<String> {
    const N: usize = 1000;
    let mut numbers = Numbers::new();
    let (a, b) = (numbers.floats(N), numbers.floats(N));
    let mut device = Launcher::new(program);
    let c = device.allocate(N * 4)?;
    let (a_there, b_there) = (device.place(&f32_bytes(&a))?, device.place(&f32_bytes(&b))?);
    device.slice(a_there, 4).slice(b_there, 4).pointer(c);
    device.launch("vecadd", [8, 1, 1], [128, 1, 1])?;
    let want: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    cpu::same(&device.read(c)?, &f32_bytes(&want))?;
    Ok(format!("{N} elements, every bit"))
}

fn gemm(program: &Program, entry: &str) -> Result<String> {
    const M: usize = 40;
    const N: usize = 36;
    const K: usize = 52;
    const ALPHA: f32 = 1.5;
    const BETA: f32 = 0.5;
    let mut numbers = Numbers::new();
    let (a, b, c) = (
        numbers.floats(M * K),
        numbers.floats(K * N),
        numbers.floats(M * N),
    );
    let mut device = Launcher::new(program);
    let (a_there, b_there) = (device.place(&f32_bytes(&a))?, device.place(&f32_bytes(&b))?);
    let c_there = device.place(&f32_bytes(&c))?;
    device.slice(a_there, 4).slice(b_there, 4).pointer(c_there);
    device.usize(M).usize(N).usize(K).f32(ALPHA).f32(BETA);
    device.launch(entry, [3, 3, 1], [16, 16, 1])?;
    let product = cpu::product(&a, &b, M, N, K).into_iter();
    let want: Vec<f64> = product
        .zip(&c)
        .map(|(sum, c)| f64::from(ALPHA) * sum + f64::from(BETA * c))
        .collect();
    cpu::near(&f32_values(&device.read(c_there)?), &want, 1e-4)?;
    Ok(format!("{M} × {N} × {K}, within 1e-4"))
}

fn matmul(program: &Program) -> Result<String> {
    const WIDTH_A: usize = 64;
    const WIDTH_B: usize = 96;
    const HEIGHT: usize = 64;
    let mut numbers = Numbers::new();
    let (a, b) = (
        numbers.floats(HEIGHT * WIDTH_A),
        numbers.floats(WIDTH_A * WIDTH_B),
    );
    let mut device = Launcher::new(program);
    let c = device.allocate(HEIGHT * WIDTH_B * 4)?;
    let (a_there, b_there) = (device.place(&f32_bytes(&a))?, device.place(&f32_bytes(&b))?);
    device.pointer(c).slice(a_there, 4).slice(b_there, 4);
    device.usize(WIDTH_A).usize(WIDTH_B);
    device.launch("matrix_mul_cuda", [3, 2, 1], [32, 32, 1])?;
    let want = cpu::product(&a, &b, HEIGHT, WIDTH_B, WIDTH_A);
    cpu::near(&f32_values(&device.read(c)?), &want, 1e-4)?;
    Ok(format!("{HEIGHT} × {WIDTH_B} × {WIDTH_A}, within 1e-4"))
}

fn increment(program: &Program) -> Result<String> {
    const N: u32 = 512;
    let bytes =
        |added: u32| -> Vec<u8> { (0..N).flat_map(|i| (i + added).to_le_bytes()).collect() };
    let mut device = Launcher::new(program);
    let data = device.place(&bytes(0))?;
    device.pointer(data).u32(26);
    device.launch("increment", [4, 1, 1], [128, 1, 1])?;
    cpu::same(&device.read(data)?, &bytes(26))?;
    Ok(format!("{N} integers, every bit"))
}

/// The operations of `i128_ops`, in the order of its outputs.
const WIDE_OPERATIONS: [fn(u128, u128) -> u128; 12] = [
    u128::wrapping_add,
    u128::wrapping_sub,
    u128::wrapping_mul,
    |a, b| a & b,
    |a, b| a ^ b,
    |a, b| a << (b & 127),
    |a, b| a >> (b & 127),
    |a, b| ((a as i128) >> (b & 127)) as u128,
    |a, b| a / b,
    |a, b| (a as i128).wrapping_div(b as i128) as u128,
    |a, b| a % b,
    |a, b| (a as i128).wrapping_rem(b as i128) as u128,
];

fn i128_ops(program: &Program) -> Result<String> {
    const N: usize = 64;
    let mut numbers = Numbers::new();
    let a = numbers.wide(N);
    let b: Vec<u128> = numbers.wide(N).into_iter().map(|b| b | 1).collect();
    let mut device = Launcher::new(program);
    let (a_there, b_there) = (
        device.place(&u128_bytes(&a))?,
        device.place(&u128_bytes(&b))?,
    );
    device.slice(a_there, 16).slice(b_there, 16);
    let mut outputs = Vec::new();
    for _ in WIDE_OPERATIONS {
        let output = device.allocate(N * 16)?;
        device.pointer(output);
        outputs.push(output);
    }
    device.launch("i128_ops", [1, 1, 1], [N as u32, 1, 1])?;
    for (output, operation) in outputs.into_iter().zip(WIDE_OPERATIONS) {
        let pairs = a.iter().zip(&b);
        let want: Vec<u128> = pairs.map(|(a, b)| operation(*a, *b)).collect();
        cpu::same(&device.read(output)?, &u128_bytes(&want))?;
    }
    let operations = WIDE_OPERATIONS.len();
    Ok(format!("{operations} operations on {N} pairs, every bit"))
}

fn sha2(program: &Program) -> Result<String> {
    const BYTES: usize = 300;
    /// Of the second part of what is hashed in two.
    const MORE: usize = 77;
    let text = Numbers::new().bytes(BYTES + MORE);
    let (first, more) = text.split_at(BYTES);
    let mut device = Launcher::new(program);
    let mut check = |entry: &str, parts: &[&[u8]], want: &[u8]| {
        for part in parts {
            let part = device.place(part)?;
            device.slice(part, 1);
        }
        let output = device.allocate(want.len())?;
        device.pointer(output);
        device.launch(entry, [1, 1, 1], [1, 1, 1])?;
        cpu::same(&device.read(output)?, want)
    };
    check("sha256_oneshot", &[first], &Sha256::digest(first))?;
    check("sha256_incremental", &[first, more], &Sha256::digest(&text))?;
    check("sha512_oneshot", &[first], &Sha512::digest(first))?;
    check("sha512_incremental", &[first], &Sha512::digest(first))?;
    Ok(format!("4 hashes of {BYTES} bytes and more, every bit"))
}

/// A kernel that adds up the numbers of the target features that are set.
fn target_features(program: &Program, entry: &str, want: f32) -> Result<String> {
    let mut device = Launcher::new(program);
    let output = device.allocate(4)?;
    device.pointer(output);
    device.launch(entry, [1, 1, 1], [1, 1, 1])?;
    cpu::near(&f32_values(&device.read(output)?), &[f64::from(want)], 0.0)?;
    Ok(format!("writes {want}"))
}
