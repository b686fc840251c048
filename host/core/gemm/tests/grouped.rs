//! Lists of products, beside f64.

use super::Numbers;
use crate::engine::emulator::EmulatorEngine;
use crate::gemm::{GemmInto, Tf32};
use crate::gpu::{DeviceArray, Error, Gpu, Layout};
use half::{bf16, f16};

/// A product of a list: m, n and k; whether A, B and C lie column by column; whether C begins
/// somewhere, with rows somewhere.
#[derive(Clone, Copy, Debug)]
struct Product {
    extents: [usize; 3],
    by_columns: [bool; 3],
    is_unaligned: bool,
}

/// A matrix of an array, whose leading dimension is a multiple of `multiple` and larger by `more`.
fn layout_at(
    end: &mut usize,
    [rows, columns]: [usize; 2],
    by_columns: bool,
    (multiple, more): (usize, usize),
) -> Layout {
    let layout = if by_columns {
        Layout::column_major(rows, columns)
    } else {
        Layout::row_major(rows, columns)
    };
    let along = if by_columns { rows } else { columns };
    let leading = along.next_multiple_of(multiple).max(multiple) + more;
    let layout = layout
        .leading(leading)
        .at(end.next_multiple_of(multiple) + more);
    *end = layout.end().max(*end) + 2;
    layout
}

fn value<T: Copy + Into<f64>>(values: &[T], layout: Layout, i: usize, j: usize) -> f64 {
    values[layout.offset + i * layout.row_stride + j * layout.column_stride].into()
}

/// How numbers become elements of the operands and of C.
type Rounding<T, O> = (fn(f64) -> T, fn(f64) -> O);

/// Starts a list of products of random numbers and compares all of the array that holds their
/// results. `is_grouped` is whether there is one launch.
fn is_right<T, O>(
    gpu: &Gpu,
    products: &[Product],
    (round, round_c): Rounding<T, O>,
    beta: f32,
    is_grouped: bool,
) where
    T: GemmInto<O, Output = f32> + Into<f64>,
    O: bytemuck::Pod + Into<f64> + PartialEq,
{
    let mut numbers = Numbers(products.len() as u64);
    let mut ends = [0; 3];
    let layouts: Vec<[Layout; 3]> = products
        .iter()
        .map(|product| {
            let ([m, n, k], [a, b, c]) = (product.extents, product.by_columns);
            let more = usize::from(product.is_unaligned);
            [
                layout_at(&mut ends[0], [m, k], a, (8, 0)),
                layout_at(&mut ends[1], [k, n], b, (8, 0)),
                layout_at(&mut ends[2], [m, n], c, (8, more)),
            ]
        })
        .collect();
    let operand = |end: usize, numbers: &mut Numbers| -> (Vec<T>, DeviceArray<T>) {
        let values: Vec<T> = (0..end).map(|_| round(numbers.signed())).collect();
        let array = gpu.upload(&values).unwrap();
        (values, array)
    };
    let (a, on_device_a) = operand(ends[0], &mut numbers);
    let (b, on_device_b) = operand(ends[1], &mut numbers);
    // What is between the matrices C must stay; where beta is 0, what was in them does not count.
    const BETWEEN: f64 = -7.0;
    let mut before = vec![round_c(BETWEEN); ends[2]];
    for &[_, _, c] in &layouts {
        for (i, j) in elements(c) {
            let old = if beta == 0.0 {
                f64::NAN
            } else {
                numbers.signed()
            };
            before[c.offset + i * c.row_stride + j * c.column_stride] = round_c(old);
        }
    }
    let mut results = gpu.upload(&before).unwrap();
    let of_c: Vec<Layout> = layouts.iter().map(|&[_, _, c]| c).collect();
    let matrices = results.matrices_mut(&of_c).unwrap();
    let list = layouts.iter().zip(matrices).map(|(&[of_a, of_b, _], c)| {
        let a = on_device_a.matrix(of_a).unwrap();
        (a, on_device_b.matrix(of_b).unwrap(), c)
    });
    let alpha = 1.5;
    let before_lists = gpu.lists_of_products();
    gpu.gemm_grouped(alpha, beta, list).unwrap();
    assert_eq!(gpu.lists_of_products() > before_lists, is_grouped);
    let found = results.download().unwrap();
    let mut expected: Vec<f64> = vec![BETWEEN; ends[2]];
    for (product, &[of_a, of_b, of_c]) in products.iter().zip(&layouts) {
        for (i, j) in elements(of_c) {
            let at = of_c.offset + i * of_c.row_stride + j * of_c.column_stride;
            let terms =
                (0..product.extents[2]).map(|l| value(&a, of_a, i, l) * value(&b, of_b, l, j));
            let old = match beta {
                0.0 => 0.0,
                beta => f64::from(beta) * before[at].into(),
            };
            expected[at] = f64::from(alpha) * terms.sum::<f64>() + old;
        }
    }
    for (at, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
        let found: f64 = found.into();
        let rounding = match size_of::<O>() {
            2 => 0.004 * expected.abs() + 1e-4,
            _ => 2e-5 * expected.abs().max(1.0),
        };
        let is_near = (found - expected).abs() <= rounding;
        assert!(
            is_near,
            "{} at {at}: {found}, not {expected}, of {products:?}",
            T::NAME
        );
    }
}

/// Rows and columns of a layout.
fn elements(layout: Layout) -> impl Iterator<Item = (usize, usize)> {
    (0..layout.rows).flat_map(move |i| (0..layout.columns).map(move |j| (i, j)))
}

/// Sizes that meet the edges of tiles and of k-tiles, and nothing at all.
const EXTENTS: [[usize; 3]; 12] = [
    [16, 72, 40],
    [1, 1, 1],
    [0, 8, 8],
    [130, 300, 65],
    [7, 0, 3],
    [33, 31, 0],
    [128, 256, 64],
    [64, 40, 200],
    [5, 257, 129],
    [150, 16, 8],
    [12, 90, 1],
    [3, 5, 64],
];

/// Products of these sizes, with layouts that go through all from `turn` on.
fn products(extents: &[[usize; 3]], turn: usize) -> Vec<Product> {
    let with_layout = |(index, &extents): (usize, &[usize; 3])| {
        let at = index + turn;
        Product {
            extents,
            by_columns: [at & 1 != 0, at & 2 != 0, at & 4 != 0],
            is_unaligned: (at / 3).is_multiple_of(2),
        }
    };
    extents.iter().enumerate().map(with_layout).collect()
}

/// The emulator with few multiprocessors, so that a block has several tiles.
fn of_few_multiprocessors() -> Gpu {
    Gpu::on(Box::new(EmulatorEngine::new().with_multiprocessors(5)))
}

#[test]
fn lists_of_products_are_right_in_every_layout() {
    let gpu = of_few_multiprocessors();
    for turn in 0..4 {
        let all = products(&EXTENTS, turn);
        is_right::<bf16, bf16>(&gpu, &all, (bf16::from_f64, bf16::from_f64), 0.0, true);
        let few = products(&EXTENTS[turn..turn + 6], turn + 1);
        is_right::<f16, f32>(&gpu, &few, (f16::from_f64, |x| x as f32), -0.5, true);
        is_right::<f16, f16>(&gpu, &few, (f16::from_f64, f16::from_f64), 0.75, true);
        is_right::<bf16, f32>(&gpu, &few, (bf16::from_f64, |x| x as f32), 0.0, true);
    }
}

/// Lists that a seed draws.
#[test]
fn lists_of_products_of_any_sizes_are_right() {
    let gpu = of_few_multiprocessors();
    let mut numbers = Numbers(5);
    for list in 0..6 {
        let mut extent = |most: f64| (numbers.unit() * numbers.unit() * most) as usize;
        let extents: Vec<[usize; 3]> = (0..9)
            .map(|_| [extent(300.0), extent(600.0), extent(200.0)])
            .collect();
        let all = products(&extents, list);
        let beta = [0.0, 1.0][list % 2];
        is_right::<bf16, bf16>(&gpu, &all, (bf16::from_f64, bf16::from_f64), beta, true);
    }
}

#[test]
fn sanitizers_find_nothing_in_lists_of_products() {
    let gpu = Gpu::sanitized();
    for turn in [0, 3] {
        let all = products(&EXTENTS[..9], turn);
        is_right::<bf16, bf16>(&gpu, &all, (bf16::from_f64, bf16::from_f64), 0.0, true);
        is_right::<f16, f32>(&gpu, &all, (f16::from_f64, |x| x as f32), -0.5, true);
    }
    assert_eq!(gpu.findings(), []);
}

/// Elements and layouts that the kernel does not take have launches of their own, beside those that
/// it takes.
#[test]
fn what_has_no_kernel_of_lists_goes_product_by_product() {
    let gpu = Gpu::emulated();
    let few = products(&EXTENTS[..6], 0);
    is_right::<f32, f32>(&gpu, &few, (|x| x as f32, |x| x as f32), -0.5, false);
    let tf32 = |x: f64| Tf32(f32::from_bits((x as f32).to_bits() & !0x1fff));
    is_right::<Tf32, f32>(&gpu, &few, (tf32, |x| x as f32), 0.0, false);
    // Rows of A that begin anywhere in the second product, and a batch in the last one.
    let ones = vec![bf16::ONE; 1000];
    let (a, b) = (gpu.upload(&ones).unwrap(), gpu.upload(&ones).unwrap());
    let mut c = gpu.upload(&[f32::NAN; 5 * 8 * 24]).unwrap();
    let mut of_c = [0, 1, 2, 3].map(|at| Layout::row_major(8, 24).at(at * 8 * 24));
    of_c[3] = of_c[3].batched(2, 8 * 24);
    let of_a = [16, 15, 16, 16].map(|leading| Layout::row_major(8, 14).leading(leading));
    let of_b = Layout::row_major(14, 24);
    let batches = [1, 1, 1, 2];
    let matrices = c.matrices_mut(&of_c).unwrap().into_iter().enumerate();
    let list = matrices.map(|(at, c)| {
        let a = a.matrix(of_a[at].batched(batches[at], 128)).unwrap();
        (a, b.matrix(of_b.batched(batches[at], 0)).unwrap(), c)
    });
    gpu.gemm_grouped(1.0, 0.0, list).unwrap();
    assert_eq!(gpu.lists_of_products(), 1);
    assert_eq!(c.download().unwrap(), [14.0; 5 * 8 * 24]);
}

/// A list that comes again is not written again, whatever its factors are. Other addresses are
/// another list.
#[test]
fn lists_are_kept_by_their_addresses() {
    let gpu = Gpu::emulated();
    let a = gpu.upload(&[f16::ONE; 16 * 16]).unwrap();
    let of = |at: usize| Layout::row_major(8, 16).at(at * 128);
    let mut c = gpu.upload(&[2.0_f32; 4 * 128]).unwrap();
    let mut start = |alpha: f32, beta: f32, at: [usize; 2]| {
        let b = Layout::row_major(16, 16);
        let matrices = c.matrices_mut(&at.map(of)).unwrap().into_iter();
        let list = matrices
            .enumerate()
            .map(|(at, c)| (a.matrix(of(at)).unwrap(), a.matrix(b).unwrap(), c));
        gpu.gemm_grouped(alpha, beta, list).unwrap();
        gpu.lists_of_products()
    };
    assert_eq!(start(1.0, 0.0, [0, 1]), 1);
    assert_eq!(start(0.5, -1.0, [0, 1]), 1);
    assert_eq!(start(1.0, 1.0, [2, 3]), 2);
    let found = c.download().unwrap();
    assert_eq!(found[..256], [-8.0; 256]);
    assert_eq!(found[256..], [18.0; 256]);
}

/// Nothing is started where one product is refused, or two of them may write one element.
#[test]
fn lists_with_a_wrong_product_are_refused() {
    let gpu = Gpu::emulated();
    let a = gpu.zeros::<f16>(8, 8).unwrap();
    let wide = gpu.zeros::<f16>(8, 9).unwrap();
    let mut c = gpu.upload(&[3.0_f32; 128]).unwrap();
    let of_c = [0, 64].map(|at| Layout::row_major(8, 8).at(at));
    let matrices = c.matrices_mut(&of_c).unwrap();
    let views = [a.view(), wide.view()];
    let list = views
        .into_iter()
        .zip(matrices)
        .map(|(b, c)| (a.view(), b, c));
    let refused = gpu.gemm_grouped(1.0, 0.0, list);
    assert!(matches!(refused, Err(Error::Product { .. })));
    assert_eq!(c.download().unwrap(), [3.0; 128]);
    let of_c = [0, 63].map(|at| Layout::row_major(8, 8).at(at));
    let refused = c.matrices_mut(&of_c).err().unwrap();
    assert!(
        refused.to_string().contains("may have elements in common"),
        "{refused}"
    );
    gpu.gemm_grouped::<f16, f32>(1.0, 0.0, []).unwrap();
}
