//! Kernels of other programs.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "arrays have the lengths that the arguments say; a launch that is refused runs nothing"
)]

use crate::first_gpu;
use warpladder::gpu::{ByValue, Error, Gpu, Grid, Kernel, Slice};

const AXPY: &str = include_str!("../../../examples/axpy.ptx");

fn axpy(gpu: &Gpu) -> Kernel {
    gpu.module(AXPY).unwrap().kernel("axpy").unwrap()
}

fn runs_and_is_timed(gpu: &Gpu) {
    let axpy = axpy(gpu);
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let expected: Vec<f32> = x.iter().map(|x| 0.5 * x + 1.0).collect();
    let on_device = gpu.upload(&x).unwrap();
    let mut y = gpu.upload(&vec![1.0f32; 1000]).unwrap();
    let grid = Grid::covering(1000, 128);
    assert_eq!(grid, Grid::new(8, 128));
    let other = gpu.stream().unwrap();
    unsafe { other.launch(&axpy, grid, (&on_device, &mut y, 0.5f32, 1000u32)) }.unwrap();
    let verdict = y.check(&expected, 0.0).unwrap();
    assert!(verdict.ok && verdict.error == 0.0, "{verdict:?}");

    let timing =
        unsafe { gpu.time(&axpy, grid, (&on_device, &mut y, 0.5f32, 1000u32), 7) }.unwrap();
    assert_eq!(timing.times_ms.len(), 7);
    let quartiles = timing.quartiles;
    assert!(quartiles.low <= timing.summary.median && timing.summary.median <= quartiles.high);
    assert!(timing.summary.min > 0.0 && timing.median_interval_ms.is_some());
    // It ran again and again.
    let verdict = y.check(&expected, 0.0).unwrap();
    let complaint = verdict.complaint.unwrap();
    assert!(
        !verdict.ok && complaint.starts_with("element 1 is "),
        "{complaint}"
    );
}

#[test]
fn kernels_run_and_are_timed_on_the_emulator() {
    runs_and_is_timed(&Gpu::emulated());
}

#[test]
fn kernels_run_and_are_timed_on_a_gpu() {
    if let Some(engine) = first_gpu::open() {
        runs_and_is_timed(&Gpu::on(engine));
    }
}

#[test]
fn what_was_not_written_is_wrong() {
    let gpu = Gpu::emulated();
    let x = gpu.upload(&[1.0f32; 8]).unwrap();
    let mut y = gpu.upload(&[f32::NAN; 8]).unwrap();
    let grid = Grid::covering(8, 32);
    unsafe { gpu.launch(&axpy(&gpu), grid, (&x, &mut y, 1.0f32, 0u32)) }.unwrap();
    let verdict = y.check(&[1.0; 8], 1e9).unwrap();
    assert_eq!(
        verdict.complaint.as_deref(),
        Some("element 0 is NaN, not 1")
    );
    let error = y.check(&[1.0; 7], 1.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "8 elements cannot be compared with 7: give as many"
    );
}

#[test]
fn arguments_are_compared_with_the_parameters() {
    let gpu = Gpu::emulated();
    let axpy = axpy(&gpu);
    let x = gpu.upload(&[1.0f32; 8]).unwrap();
    let grid = Grid::covering(8, 32);
    let error = |error: Result<(), Error>| error.unwrap_err().to_string();
    assert_eq!(
        error(unsafe { gpu.launch(&axpy, grid, (&x, &x, 1.0f32)) }),
        "axpy takes 4 arguments, not 3: give one for each parameter of its `.entry`"
    );
    assert_eq!(
        error(unsafe { gpu.launch(&axpy, grid, (&x, &x, 1u32, 8u32)) }),
        "argument 2 of axpy is an integer or address of 4 bytes, its parameter a float of 4 bytes: give that type"
    );
    assert_eq!(
        error(unsafe { gpu.launch(&axpy, grid, (&x, &x, 1.0f64, 8u32)) }),
        "argument 2 of axpy is a float of 8 bytes, its parameter a float of 4 bytes: give that type"
    );
    assert_eq!(
        error(unsafe { gpu.launch(&axpy, grid, (&x, Slice(&x), 8u32)) }),
        "argument 2 of axpy is an integer or address of 8 bytes, its parameter a float of 4 bytes: give that type"
    );
    // Bits are what the caller says.
    let one = ByValue(1.0f32.to_bits());
    unsafe { gpu.launch(&axpy, grid, (&x, &x, one, 8i32)) }.unwrap();
    let other = Gpu::emulated();
    let there = other.upload(&[1.0f32; 8]).unwrap();
    assert!(
        error(unsafe { gpu.launch(&axpy, grid, (&x, &there, 1.0f32, 8u32)) })
            .contains("another device")
    );
    assert!(
        error(unsafe { other.launch(&axpy, grid, ()) }).contains("the kernel is of another device")
    );
}

#[test]
fn text_without_the_kernel_is_refused() {
    let gpu = Gpu::emulated();
    assert!(matches!(
        gpu.module("no PTX at all").unwrap_err(),
        Error::NoEntry
    ));
    let module = gpu.module(AXPY).unwrap();
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["axpy"]);
    assert_eq!(
        module.kernel("axpby").unwrap_err().to_string(),
        "the PTX has no kernel axpby whose parameters can be read: it has axpy"
    );
    let broken = AXPY.replace("ld.global.f32", "ld.global.f31");
    let error = gpu.module(&broken).unwrap().kernel("axpy").unwrap_err();
    assert!(
        error.to_string().starts_with("cannot load axpy: "),
        "{error}"
    );
}
