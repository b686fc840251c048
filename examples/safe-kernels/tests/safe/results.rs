//! What the kernels compute, under all sanitizers and, where there is one, on a GPU.

use safe_kernels::PTX;
use safe_kernels::compare::{self, Sizes};
use safe_kernels::kernels::{scale, tiled, transpose_padded, vecadd};
use warpladder::gpu::{Error, Gpu, Layout};

/// Odd ones, around the width of a warp and of the tiles, and primes.
const EXTENTS: [usize; 8] = [1, 2, 16, 31, 32, 33, 61, 97];

fn values(len: usize, seed: usize) -> Vec<f32> {
    let value = |i: usize| ((i * 37 + seed * 101) % 61) as f32 - 30.0;
    (0..len).map(value).collect()
}

/// Calls `test` with the emulator under sanitizers, which must find nothing, and with the GPU.
fn on_every_engine(test: impl Fn(&Gpu) -> Result<(), Error>) {
    let gpu = Gpu::sanitized();
    test(&gpu).unwrap();
    assert_eq!(gpu.findings(), []);
    match Gpu::new() {
        Ok(gpu) => test(&gpu).unwrap(),
        Err(error) => println!("left out on a GPU: {error}"),
    }
}

#[test]
fn vectors_of_any_length_are_added() {
    on_every_engine(|gpu| {
        let vecadd = gpu.typed_kernel::<vecadd::vecadd>(&PTX)?;
        for len in [0, 1, 31, 33, 255, 256, 257, 1009] {
            let (a, b) = (values(len, 1), values(len, 2));
            let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            let (a, b) = (gpu.upload(&a)?, gpu.upload(&b)?);
            let mut c = gpu.upload(&vec![f32::NAN; len])?;
            vecadd.launch(gpu, (&a, &b, &mut c))?;
            assert_eq!(c.download()?, expected);
            // An input may be given twice.
            vecadd.launch(gpu, (&a, &a, &mut c))?;
            let twice: Vec<f32> = a.download()?.iter().map(|a| a + a).collect();
            assert_eq!(c.download()?, twice);
        }
        Ok(())
    });
}

#[test]
fn a_generic_kernel_has_the_instances_of_its_list() {
    on_every_engine(|gpu| {
        for len in [1, 31, 300] {
            let mut x = gpu.upload(&vec![1.5f32; len])?;
            let scale = gpu.typed_kernel::<scale::scale<f32>>(&PTX)?;
            scale.launch(gpu, (-2.0, &mut x))?;
            assert_eq!(x.download()?, vec![-3.0; len]);

            let mut x = gpu.upload(&vec![0.1f64; len])?;
            let scale = gpu.typed_kernel::<scale::scale<f64>>(&PTX)?;
            scale.launch(gpu, (3.0, &mut x))?;
            assert_eq!(x.download()?, vec![0.1 * 3.0; len]);

            let mut x = gpu.upload(&vec![3u32; len])?;
            let scale = gpu.typed_kernel::<scale::scale<u32>>(&PTX)?;
            scale.launch(gpu, (7, &mut x))?;
            assert_eq!(x.download()?, vec![21; len]);
        }
        Ok(())
    });
}

/// A transpose by the instance `$multiple`.
macro_rules! transpose {
    ($gpu:expr, $multiple:literal, $size:expr) => {{
        let (gpu, [height, width]): (&Gpu, [usize; 2]) = ($gpu, $size);
        let input = values(height * width, 3);
        let transposed = |i: usize| input[i % height * width + i / height];
        let expected: Vec<f32> = (0..height * width).map(transposed).collect();
        let input = gpu.upload(&input)?;
        let mut output = gpu.upload(&vec![f32::NAN; height * width])?;
        let kernel = gpu.typed_kernel::<transpose_padded::transpose_padded<$multiple>>(&PTX)?;
        let from = input.matrix(Layout::row_major(height, width))?;
        let to = output.matrix_mut(Layout::row_major(width, height))?;
        kernel.launch(gpu, (from, to))?;
        assert_eq!(output.download()?, expected, "{height} x {width}");
    }};
}

#[test]
fn matrices_of_any_size_are_transposed() {
    on_every_engine(|gpu| {
        for height in EXTENTS {
            for width in EXTENTS {
                transpose!(gpu, 1, [height, width]);
            }
        }
        for size in [[32, 32], [96, 64], [32, 160]] {
            transpose!(gpu, 32, size);
        }
        Ok(())
    });
}

/// A product by the instance `$tile`, `$multiple`.
macro_rules! product {
    ($gpu:expr, $tile:literal, $multiple:literal, $size:expr) => {{
        let (gpu, [m, n, k]): (&Gpu, [usize; 3]) = ($gpu, $size);
        let (a, b) = (values(m * k, 4), values(k * n, 5));
        // Sums of small whole numbers: exact in any order.
        let element = |row: usize, column: usize| {
            (0..k)
                .map(|i| a[row * k + i] * b[i * n + column])
                .sum::<f32>()
        };
        let expected: Vec<f32> = (0..m * n).map(|i| element(i / n, i % n)).collect();
        let (a, b) = (gpu.upload(&a)?, gpu.upload(&b)?);
        let mut c = gpu.upload(&vec![f32::NAN; m * n])?;
        let kernel = gpu.typed_kernel::<tiled::tiled<$tile, $multiple>>(&PTX)?;
        let a = a.matrix(Layout::row_major(m, k))?;
        let b = b.matrix(Layout::row_major(k, n))?;
        kernel.launch(gpu, (a, b, c.matrix_mut(Layout::row_major(m, n))?))?;
        assert_eq!(c.download()?, expected, "{m} x {n} x {k}");
    }};
}

#[test]
fn products_of_any_size_are_right() {
    on_every_engine(|gpu| {
        for size in [
            [1, 1, 1],
            [1, 33, 31],
            [31, 1, 33],
            [33, 31, 1],
            [17, 61, 16],
            [16, 16, 97],
            [5, 7, 0],
            [0, 5, 7],
        ] {
            product!(gpu, 16, 1, size);
        }
        product!(gpu, 16, 16, [16, 48, 80]);
        product!(gpu, 16, 16, [16, 16, 0]);
        product!(gpu, 32, 32, [64, 32, 96]);
        Ok(())
    });
}

#[test]
fn both_forms_have_the_same_results() {
    let gpu = Gpu::sanitized();
    let found = compare::all(&gpu, &Sizes::small(), 1).unwrap();
    assert_eq!(found.len(), 4);
    for comparison in found {
        assert_eq!(comparison.complaint, None, "{}", comparison.kernel);
        assert_eq!(comparison.to_json()["right"], true);
    }
    assert_eq!(gpu.findings(), []);
}

#[test]
fn launches_are_timed() {
    let gpu = Gpu::emulated();
    let vecadd = gpu.typed_kernel::<vecadd::vecadd>(&PTX).unwrap();
    let a = gpu.upload(&[1.0f32; 100]).unwrap();
    let mut c = gpu.upload(&[f32::NAN; 100]).unwrap();
    let timing = vecadd.time(&gpu, (&a, &a, &mut c), 7).unwrap();
    assert_eq!(timing.times_ms.len(), 7);
    assert_eq!(c.download().unwrap(), [2.0; 100]);
}
