//! Streams and events.

use crate::first_gpu;
use nalgebra::DMatrix;
use warpladder::gpu::{Error, Gpu};

/// Products on two streams, the second of which needs the first one's; again, so that memory is
/// used again.
fn chains(gpu: &Gpu) {
    let other = gpu.stream().unwrap();
    let extent = 65;
    let a = DMatrix::from_fn(extent, extent, |i, j| ((i * 5 + j * 3) % 7) as f64 - 3.0);
    let expected = &a * &a * &a;
    let a = gpu.upload_matrix(&a).unwrap();
    let [mut square, mut cube] = [(); 2].map(|()| gpu.zeros(extent, extent).unwrap());
    let (done, free) = (gpu.event().unwrap(), gpu.event().unwrap());
    other.record(&free).unwrap();
    for _ in 0..6 {
        gpu.wait(&free).unwrap();
        gpu.gemm(1.0, a.view(), a.view(), 0.0, square.view_mut())
            .unwrap();
        gpu.record(&done).unwrap();
        other.wait(&done).unwrap();
        other
            .gemm(1.0, square.view(), a.view(), 0.0, cube.view_mut())
            .unwrap();
        other.record(&free).unwrap();
    }
    // Whole numbers: nothing is rounded. What is copied back waits for both streams.
    assert_eq!(cube.download().unwrap(), expected);
}

/// Products that are split along k and run at the same time: each stream has partial sums of its
/// own.
fn side_by_side(gpu: &Gpu) {
    let streams: Vec<Gpu> = (0..4).map(|_| gpu.stream().unwrap()).collect();
    let [m, n, k] = [16, 16, 2000];
    let a = DMatrix::from_fn(m, k, |i, j| ((i + 3 * j) % 5) as f32 - 2.0);
    let a_device = gpu.upload_matrix(&a).unwrap();
    let mut operands: Vec<_> = (0..streams.len())
        .map(|which| {
            let b = DMatrix::from_fn(k, n, |i, j| ((i * j + which) % 3) as f32 - 1.0);
            let on_device = gpu.upload_matrix(&b).unwrap();
            (&a * b, on_device, gpu.zeros::<f32>(m, n).unwrap())
        })
        .collect();
    for _ in 0..2 {
        for (stream, (_, b, c)) in streams.iter().zip(&mut operands) {
            stream
                .gemm(1.0, a_device.view(), b.view(), 0.0, c.view_mut())
                .unwrap();
        }
    }
    drop(streams);
    for (expected, _, c) in &operands {
        assert_eq!(&c.download().unwrap(), expected);
    }
}

fn times(gpu: &Gpu) {
    let (start, stop) = (gpu.event().unwrap(), gpu.event().unwrap());
    assert!(matches!(start.is_reached(), Err(Error::NotRecorded)));
    assert!(matches!(start.synchronize(), Err(Error::NotRecorded)));
    assert!(matches!(gpu.wait(&start), Err(Error::NotRecorded)));
    assert!(matches!(
        stop.elapsed_ms_since(&start),
        Err(Error::NotRecorded)
    ));
    let a = gpu.zeros::<f32>(64, 64).unwrap();
    let mut c = gpu.zeros(64, 64).unwrap();
    let mut product = || {
        gpu.gemm(1.0, a.view(), a.view(), 0.0, c.view_mut())
            .unwrap()
    };
    product();
    gpu.record(&start).unwrap();
    product();
    gpu.record(&stop).unwrap();
    let one = stop.elapsed_ms_since(&start).unwrap();
    assert!(one > 0.0 && stop.is_reached().unwrap());
    for _ in 0..20 {
        product();
    }
    gpu.record(&stop).unwrap();
    let many = stop.elapsed_ms_since(&start).unwrap();
    assert!(many > one, "{many} after {one}");
    assert!(start.elapsed_ms_since(&stop).unwrap() <= -many * 0.99);
}

#[test]
fn streams_wait_for_events_on_the_emulator() {
    chains(&Gpu::emulated());
    side_by_side(&Gpu::emulated());
    times(&Gpu::emulated());
}

#[test]
fn streams_wait_for_events_on_a_gpu() {
    if let Some(engine) = first_gpu::open() {
        let gpu = Gpu::on(engine);
        chains(&gpu);
        side_by_side(&gpu);
        times(&gpu);
    }
}

#[test]
fn events_of_another_device_are_refused() {
    let (gpu, other) = (Gpu::emulated(), Gpu::emulated());
    let event = gpu.event().unwrap();
    let error = other.record(&event).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the event is of another device: make it with the same `Gpu`"
    );
    gpu.record(&event).unwrap();
    assert!(matches!(other.wait(&event), Err(Error::WrongDevice { .. })));
}

#[test]
fn arrays_outlive_the_stream_that_wrote_them() {
    let gpu = Gpu::emulated();
    let a = gpu.upload_matrix(&DMatrix::<f32>::identity(3, 3)).unwrap();
    let mut c = gpu.zeros(3, 3).unwrap();
    {
        let stream = gpu.stream().unwrap();
        stream
            .gemm(2.0, a.view(), a.view(), 0.0, c.view_mut())
            .unwrap();
    }
    drop(gpu);
    assert_eq!(c.download().unwrap(), DMatrix::identity(3, 3) * 2.0);
}
