//! Products of 8-bit integers, whose sums are exact: each element of C has one right value.

use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::gemm::GemmInto;
use warpladder::gpu::{DeviceMatrix, GemmOptions, Gpu, Layout, MatrixRef};

/// m, n and k.
pub(super) const SIZES: [[usize; 3]; 9] = [
    [1, 1, 1],
    [1, 31, 33],
    [31, 1, 7],
    [33, 17, 1],
    [64, 64, 64],
    [127, 65, 129],
    [16, 16, 2000],
    [131, 259, 67],
    [3, 5, 0],
];

const AMPERE: Option<ComputeCapability> = Some(ComputeCapability::V8_0);

/// A batch of matrices on the host and on the device.
pub(super) struct Matrix<T> {
    pub(super) elements: Vec<T>,
    pub(super) layout: Layout,
    pub(super) on_device: DeviceMatrix<T>,
}

impl<T: bytemuck::Pod> Matrix<T> {
    pub(super) fn new(gpu: &Gpu, layout: Layout, mut element: impl FnMut() -> T) -> Self {
        let elements: Vec<T> = (0..layout.end()).map(|_| element()).collect();
        let array = gpu.upload(&elements).unwrap();
        Matrix {
            on_device: DeviceMatrix::new(array, layout).unwrap(),
            elements,
            layout,
        }
    }

    pub(super) fn at(&self, matrix: usize, row: usize, column: usize) -> T {
        let Layout {
            row_stride,
            column_stride,
            batch_stride,
            offset,
            ..
        } = self.layout;
        self.elements[offset + matrix * batch_stride + row * row_stride + column * column_stride]
    }

    pub(super) fn view(&self) -> MatrixRef<'_, T> {
        self.on_device.view()
    }

    /// The matrix as it is on the device now.
    pub(super) fn downloaded(self) -> Self {
        let array = self.on_device.into_array();
        let elements = array.download().unwrap();
        Matrix {
            elements,
            on_device: DeviceMatrix::new(array, self.layout).unwrap(),
            ..self
        }
    }
}

/// All ways to lie for two operands; `extra` elements are between rows, and before the first.
pub(super) fn layouts([m, n, k]: [usize; 3], extra: usize) -> Vec<[Layout; 2]> {
    let both = |rows: usize, columns: usize| {
        [
            Layout::row_major(rows, columns).leading(columns.max(1) + extra),
            Layout::column_major(rows, columns).leading(rows.max(1) + extra),
        ]
    };
    let pairs = both(m, k)
        .into_iter()
        .flat_map(|a| both(k, n).map(|b| [a, b]));
    pairs
        .map(|pair| pair.map(|layout| layout.at(extra)))
        .collect()
}

/// The sum of an element of C, where `product` is that of two elements at a place along k.
pub(super) fn sum<T: bytemuck::Pod, U: bytemuck::Pod>(
    (a, b): (&Matrix<T>, &Matrix<U>),
    [matrix, i, j]: [usize; 3],
    product: impl Fn(T, U, usize) -> f64,
) -> f64 {
    let k = a.layout.columns;
    (0..k)
        .map(|l| product(a.at(matrix, i, l), b.at(matrix, l, j), l))
        .sum()
}

fn integers_are_multiplied(gpu: &Gpu, generation: Option<ComputeCapability>) {
    let mut rng = StdRng::seed_from_u64(5);
    let options = GemmOptions {
        generation,
        ..GemmOptions::default()
    };
    for (turn, extents) in SIZES.into_iter().enumerate() {
        let [m, n, _] = extents;
        for (way, [of_a, of_b]) in layouts(extents, turn % 3).into_iter().enumerate() {
            let a = Matrix::new(gpu, of_a, || rng.random::<i8>());
            let b = Matrix::new(gpu, of_b, || rng.random::<i8>());
            let of_c = match way % 2 {
                0 => Layout::row_major(m, n).leading(n + turn % 2),
                _ => Layout::column_major(m, n).leading(m + turn % 2),
            };
            let mut c = Matrix::new(gpu, of_c, || rng.random::<i32>());
            let before = c.elements.clone();
            let beta = (way / 2) as f32;
            gpu.gemm_with(
                &options,
                1.0,
                a.view(),
                b.view(),
                beta,
                c.on_device.view_mut(),
            )
            .unwrap();
            let c = c.downloaded();
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let exact = sum((&a, &b), [0, i, j], |a: i8, b: i8, _| {
                    f64::from(a) * f64::from(b)
                });
                let at = of_c.row_stride * i + of_c.column_stride * j;
                let expected = (exact as i32).wrapping_add(match beta {
                    0.0 => 0,
                    _ => before[at],
                });
                assert_eq!(
                    c.elements[at], expected,
                    "{extents:?} {of_a} {of_b} at {i}, {j}"
                );
            }
        }
    }
}

#[test]
fn integers_are_multiplied_by_mma_sync() {
    integers_are_multiplied(&Gpu::emulated(), AMPERE);
}

#[test]
fn integers_are_multiplied_by_wgmma() {
    integers_are_multiplied(&Gpu::emulated(), None);
}

/// Into floats: sums are exact in f32, and rounded once more to 16 bits.
fn integers_become<O: Element>(gpu: &Gpu, generation: Option<ComputeCapability>)
where
    i8: GemmInto<O, Output = f32>,
{
    let mut rng = StdRng::seed_from_u64(6);
    let extents @ [m, n, _] = [70, 133, 97];
    let options = GemmOptions {
        generation,
        ..GemmOptions::default()
    };
    for (way, [of_a, of_b]) in layouts(extents, 0).into_iter().enumerate() {
        let a = Matrix::new(gpu, of_a, || rng.random_range(-9..9_i8));
        let b = Matrix::new(gpu, of_b, || rng.random_range(-9..9_i8));
        let of_c = [Layout::row_major(m, n), Layout::column_major(m, n)][way % 2];
        let mut c = Matrix::new(gpu, of_c, || {
            O::from_f64(f64::from(rng.random_range(-8..8)))
        });
        let before = c.elements.clone();
        let [alpha, beta] = [0.25, if way < 2 { 0.0 } else { -0.5 }];
        gpu.gemm_with(
            &options,
            alpha,
            a.view(),
            b.view(),
            beta,
            c.on_device.view_mut(),
        )
        .unwrap();
        let c = c.downloaded();
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let exact = sum((&a, &b), [0, i, j], |a: i8, b: i8, _| {
                f64::from(a) * f64::from(b)
            });
            let at = of_c.row_stride * i + of_c.column_stride * j;
            let old: f64 = before[at].into();
            let expected = O::from_f64(f64::from(alpha) * exact + f64::from(beta) * old);
            let (found, expected): (f64, f64) = (c.elements[at].into(), expected.into());
            assert_eq!(found, expected, "{of_a} {of_b} at {i}, {j}");
        }
    }
}

#[test]
fn integers_become_floats() {
    let gpu = Gpu::emulated();
    for generation in [AMPERE, None] {
        integers_become::<f32>(&gpu, generation);
        integers_become::<f16>(&gpu, generation);
        integers_become::<bf16>(&gpu, generation);
    }
}

#[test]
fn integers_are_multiplied_in_batches() {
    let gpu = Gpu::emulated();
    let mut rng = StdRng::seed_from_u64(7);
    let [m, n, k, batch] = [33, 70, 45, 3];
    let of_a = Layout::row_major(m, k).batched(batch, m * k + 5);
    // One matrix serves for all.
    let of_b = Layout::row_major(k, n);
    let a = Matrix::new(&gpu, of_a, || rng.random::<i8>());
    let b = Matrix::new(&gpu, of_b, || rng.random::<i8>());
    for generation in [AMPERE, None] {
        let options = GemmOptions {
            generation,
            ..GemmOptions::default()
        };
        let of_c = Layout::row_major(m, n).batched(batch, m * n + 3);
        let mut c = Matrix::new(&gpu, of_c, || i32::MIN);
        gpu.gemm_with(
            &options,
            1.0,
            a.view(),
            b.view(),
            0.0,
            c.on_device.view_mut(),
        )
        .unwrap();
        let c = c.downloaded();
        for (matrix, i) in (0..batch).flat_map(|matrix| (0..m).map(move |i| (matrix, i))) {
            for j in 0..n {
                let exact: i32 = (0..k)
                    .map(|l| i32::from(a.at(matrix, i, l)) * i32::from(b.at(0, l, j)))
                    .sum();
                assert_eq!(c.at(matrix, i, j), exact, "{matrix} {i} {j}");
            }
        }
        let between = &c.elements[m * n..][..3];
        assert_eq!(between, [i32::MIN; 3]);
    }
}

#[test]
fn sums_of_integers_are_exact_where_tiles_are_split() {
    let gpu = Gpu::emulated();
    let mut rng = StdRng::seed_from_u64(11);
    let [m, n, k] = [61, 67, 8191];
    let a = Matrix::new(&gpu, Layout::row_major(m, k), || {
        rng.random_range(100..=127_i8)
    });
    let b = Matrix::new(&gpu, Layout::column_major(k, n), || {
        rng.random_range(-128..=-99_i8)
    });
    for generation in [AMPERE, None] {
        let options = GemmOptions {
            generation,
            ..GemmOptions::default()
        };
        let mut c = gpu.zeros::<i32>(m, n).unwrap();
        gpu.gemm_with(&options, 1.0, a.view(), b.view(), 0.0, c.view_mut())
            .unwrap();
        let c = c.download().unwrap();
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let terms = (0..k).map(|l| i32::from(a.at(0, i, l)) * i32::from(b.at(0, l, j)));
            // More than an f32 tells apart.
            assert_eq!(c[(i, j)], terms.sum::<i32>(), "at {i}, {j}");
        }
    }
}
