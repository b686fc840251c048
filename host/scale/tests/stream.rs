//! Products of host matrices in tiles: right, within the limit, and with as many elements moved as
//! the tiling says.

use half::bf16;
use std::ops::ControlFlow;
use std::process::Command;
use warpladder::element::{Element, ElementType};
use warpladder::gemm::{GemmInput, GemmInto};
use warpladder::gpu::Gpu;
use warpladder_scale::ScaleError;
use warpladder_scale::dist::Shape;
use warpladder_scale::stream::{
    self, HostMatrix, HostMatrixMut, MappedMatrix, MappedMatrixMut, Moved, Options, Order, draw,
};

fn numbers<T: Element>(count: usize, seed: u64) -> Vec<T> {
    draw(count, seed).into_iter().map(T::from_f64).collect()
}

fn product<T, O>(
    gpu: &Gpu,
    [m, n, k]: [usize; 3],
    orders: [Order; 3],
    limit: u64,
) -> (Vec<T>, Vec<T>, Vec<O>, Moved)
where
    T: Element + GemmInto<<T as GemmInput>::Output>,
    O: Element,
{
    let (a, b) = (numbers::<T>(m * k, 1), numbers::<T>(k * n, 2));
    let mut c = vec![O::NAN; m * n];
    let options = Options {
        device_memory: Some(limit),
    };
    let moved = stream::gemm(
        gpu,
        HostMatrix::new(&a, m, k, orders[0]).unwrap(),
        HostMatrix::new(&b, k, n, orders[1]).unwrap(),
        HostMatrixMut::new(&mut c, m, n, orders[2]).unwrap(),
        &options,
        |_| ControlFlow::Continue(()),
    );
    (a, b, c, moved.unwrap())
}

fn of_c<O: Element>(c: &[O], [m, n]: [usize; 2], order: Order) -> HostMatrix<'_, O> {
    HostMatrix::new(c, m, n, order).unwrap()
}

fn right<T, O>(gpu: &Gpu, extents: [usize; 3], orders: [Order; 3], part: u64)
where
    T: Element + GemmInto<<T as GemmInput>::Output>,
    O: Element,
{
    let [m, n, k] = extents;
    let all = ((m * k + k * n) * size_of::<T>() + m * n * size_of::<T::Output>()) as u64;
    let limit = (all / part).max(64);
    let (a, b, mut c, moved) = product::<T, O>(gpu, extents, orders, limit);
    let of_a = HostMatrix::new(&a, m, k, orders[0]).unwrap();
    let of_b = HostMatrix::new(&b, k, n, orders[1]).unwrap();
    let verdict = stream::check(of_a, of_b, of_c(&c, [m, n], orders[2]), 3, 7).unwrap();
    assert!(verdict.ok, "{extents:?} {orders:?}: {verdict:?}");
    assert!(moved.tile_bytes <= limit, "{moved:?}");
    let shape = Shape { m, n, k };
    let uploaded = moved.tiling.uploaded_elements(shape);
    assert_eq!([moved.a_elements, moved.b_elements], uploaded);
    assert_eq!(moved.c_elements, (m * n) as u64);
    // The check sees a wrong element.
    let middle = c.len() / 2;
    let value: f64 = c[middle].into();
    c[middle] = O::from_f64(value + 16.0 * (k as f64).sqrt());
    assert!(
        !stream::check(of_a, of_b, of_c(&c, [m, n], orders[2]), 3, 7)
            .unwrap()
            .ok
    );
    c[middle] = O::NAN;
    assert!(
        !stream::check(of_a, of_b, of_c(&c, [m, n], orders[2]), 3, 7)
            .unwrap()
            .ok
    );
}

#[test]
fn tiles_of_any_shape_and_order_are_right() {
    let gpu = Gpu::emulated();
    let (rows, columns) = (Order::RowMajor, Order::ColumnMajor);
    for extents in [
        [1, 1, 1],
        [31, 33, 97],
        [129, 65, 67],
        [7, 211, 5],
        [101, 3, 300],
    ] {
        for part in [1, 3, 9] {
            right::<f32, f32>(&gpu, extents, [rows; 3], part);
            right::<f64, f64>(&gpu, extents, [columns, rows, columns], part);
        }
        right::<bf16, bf16>(&gpu, extents, [rows, columns, rows], 3);
        right::<bf16, f32>(&gpu, extents, [columns, columns, rows], 4);
    }
}

/// What lies in page-locked memory is read and written there, and C comes out the same.
#[test]
fn pinned_matrices_are_the_same_product() {
    let gpu = Gpu::emulated();
    let (rows, columns) = (Order::RowMajor, Order::ColumnMajor);
    for ([m, n, k], orders) in [
        ([31, 33, 97], [rows, rows, rows]),
        ([129, 65, 67], [columns, rows, columns]),
        ([7, 211, 5], [rows, columns, rows]),
    ] {
        let limit = ((m * k + k * n + m * n) * 4 / 3) as u64;
        let (a, b, c, moved) = product::<f32, f32>(&gpu, [m, n, k], orders, limit);
        let pinned = |values: &[f32]| {
            let mut array = gpu.pinned(values.len()).unwrap();
            array.copy_from_slice(values);
            array
        };
        let (a, b) = (pinned(&a), pinned(&b));
        let mut of_c = pinned(&vec![f32::NAN; m * n]);
        let again = stream::gemm(
            &gpu,
            HostMatrix::pinned(&a, m, k, orders[0]).unwrap(),
            HostMatrix::pinned(&b, k, n, orders[1]).unwrap(),
            HostMatrixMut::pinned(&mut of_c, m, n, orders[2]).unwrap(),
            &Options {
                device_memory: Some(limit),
            },
            |_| ControlFlow::Continue(()),
        );
        assert_eq!(again.unwrap().elements(), moved.elements());
        assert_eq!(&of_c[..], c, "{m} x {n} x {k}, {orders:?}");
    }
    // C of another type than the accumulators goes through buffers.
    let [m, n, k] = [17, 19, 23];
    let (a, b) = (numbers::<bf16>(m * k, 1), numbers::<bf16>(k * n, 2));
    let mut c = gpu.pinned::<bf16>(m * n).unwrap();
    c.fill(bf16::NAN);
    let [a, b] = [(a, m, k), (b, k, n)];
    let a = HostMatrix::row_major(&a.0, a.1, a.2).unwrap();
    let b = HostMatrix::row_major(&b.0, b.1, b.2).unwrap();
    let of_c = HostMatrixMut::pinned(&mut c, m, n, rows).unwrap();
    let all = Options {
        device_memory: Some(600),
    };
    stream::gemm(&gpu, a, b, of_c, &all, |_| ControlFlow::Continue(())).unwrap();
    let of_c = HostMatrix::row_major(&c, m, n).unwrap();
    assert!(stream::check(a, b, of_c, 2, 1).unwrap().ok);
}

#[test]
fn the_limit_is_kept_by_what_is_allocated() {
    let gpu = Gpu::emulated();
    let extents = [160, 144, 176];
    let (.., moved) = product::<f32, f32>(&gpu, extents, [Order::RowMajor; 3], 60 << 10);
    assert!(moved.tiles > 4, "{moved:?}");
    assert!(moved.peak_bytes >= moved.tile_bytes, "{moved:?}");
    assert!(moved.elements() as f64 >= moved.least_elements, "{moved:?}");
    println!(
        "{} tiles, {} elements moved, {:.0} at least, {} bytes of {} at most",
        moved.tiles,
        moved.elements(),
        moved.least_elements,
        moved.peak_bytes,
        moved.limit_bytes
    );
    // Everything is freed.
    let before = gpu.free_memory().unwrap();
    product::<f32, f32>(&gpu, extents, [Order::RowMajor; 3], 60 << 10);
    assert_eq!(gpu.free_memory().unwrap(), before);
}

#[test]
fn an_empty_k_gives_zeros_and_wrong_sizes_are_refused() {
    let gpu = Gpu::emulated();
    let (.., c, moved) = product::<f32, f32>(&gpu, [5, 3, 0], [Order::RowMajor; 3], 1 << 20);
    assert_eq!((c, moved.tiles), (vec![0.0; 15], 0));
    let (.., c, _) = product::<f32, f32>(&gpu, [0, 3, 5], [Order::RowMajor; 3], 1 << 20);
    assert!(c.is_empty());
    let a = [1.0f32; 6];
    let mut c = [0.0f32; 4];
    let two_by_three = HostMatrix::row_major(&a, 2, 3).unwrap();
    let error = stream::gemm(
        &gpu,
        two_by_three,
        two_by_three,
        HostMatrixMut::row_major(&mut c, 2, 2).unwrap(),
        &Options::default(),
        |_| ControlFlow::Continue(()),
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("cannot multiply 2 x 3 by 2 x 3"), "{error}");
    assert!(HostMatrix::row_major(&a, 2, 2).is_err());
}

#[test]
fn a_product_stops_where_it_is_asked_to_and_tells_how_far_it_is() {
    let gpu = Gpu::emulated();
    let (a, b) = (numbers::<f32>(60 * 60, 1), numbers::<f32>(60 * 60, 2));
    let mut c = vec![0.0f32; 60 * 60];
    let mut seen = Vec::new();
    let free = gpu.free_memory().unwrap();
    let ended = stream::gemm(
        &gpu,
        HostMatrix::row_major(&a, 60, 60).unwrap(),
        HostMatrix::row_major(&b, 60, 60).unwrap(),
        HostMatrixMut::row_major(&mut c, 60, 60).unwrap(),
        &Options {
            device_memory: Some(6 << 10),
        },
        |progress| {
            seen.push(progress.done);
            match progress.done {
                5 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        },
    );
    assert!(matches!(ended, Err(ScaleError::Cancelled { done: 5, .. })));
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    assert!(gpu.free_memory().unwrap() + (1 << 20) > free);
}

#[test]
fn files_of_numpy_are_multiplied() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let script = "import numpy as np, sys\n\
        a = (np.arange(37 * 41) % 7 - 3).reshape(37, 41).astype('<f8')\n\
        b = np.asfortranarray((np.arange(41 * 29) % 5 - 2).reshape(41, 29).astype('<f8'))\n\
        np.save(sys.argv[1], a); np.save(sys.argv[2], b); np.save(sys.argv[3], a @ b)";
    let files = ["a.npy", "b.npy", "expected.npy"].map(path);
    let numpy = Command::new("python3")
        .arg("-c")
        .arg(script)
        .args(&files)
        .output();
    if !numpy.is_ok_and(|output| output.status.success()) {
        println!("skipped: no python3 with NumPy");
        return;
    }
    let [a, b, expected] = files.map(|path| MappedMatrix::npy(&path).unwrap());
    let target = path("c.npy");
    let mut c = MappedMatrixMut::create_npy(&target, [37, 29], ElementType::F64).unwrap();
    let options = Options {
        device_memory: Some(4 << 10),
    };
    let (of_a, of_b) = (a.view::<f64>().unwrap(), b.view().unwrap());
    let of_c = c.view_mut::<f64>().unwrap();
    let gpu = Gpu::emulated();
    stream::gemm(&gpu, of_a, of_b, of_c, &options, |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    c.flush().unwrap();
    let script = "import numpy as np, sys\n\
        sys.exit(not np.array_equal(np.load(sys.argv[1]), np.load(sys.argv[2])))";
    let same = Command::new("python3")
        .args(["-c", script])
        .args([&target, &path("expected.npy")])
        .status();
    assert!(same.unwrap().success());
    drop(expected);
}
