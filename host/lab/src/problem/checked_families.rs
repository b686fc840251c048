//! Tests of the checks of sums, scans, rows, stencils, sparse products and attention: what another
//! computation gives passes, and what lacks a part of it does not.

use super::{Operation, Problem, Shape};
use kernels_gpu::ladder::attention::HEAD;
use kernels_gpu::ladder::stencil::{RADIUS_2D, WEIGHTS_2D};

const SHAPE: Shape = Shape { m: 7, n: 33, k: 5 };

/// The right output passes; with one element away from it, or NaN, it does not.
fn judged(problem: &dyn Problem<f32>, right: &[f32]) {
    let verdict = problem.check(right);
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!(right.len(), problem.output_len());
    for index in [0, right.len() / 2, right.len() - 1] {
        for wrong in [f32::NAN, right[index] * 1.01 + 0.01] {
            let mut output = right.to_vec();
            output[index] = wrong;
            let verdict = problem.check(&output);
            assert!(
                !verdict.ok && verdict.complaint.is_some(),
                "{index}: {wrong}"
            );
        }
    }
}

fn problem(operation: Operation) -> Box<dyn Problem<f32>> {
    operation.problem(SHAPE, 1)
}

#[test]
fn a_sum_in_any_order_passes_and_one_without_a_term_does_not() {
    let problem = problem(Operation::Sum);
    let input = &problem.inputs()[0];
    judged(&*problem, &[input.iter().sum()]);
    judged(&*problem, &[input.iter().rev().sum()]);
    let largest = input.iter().copied().fold(0.0, f32::max);
    assert!(!problem.check(&[input.iter().sum::<f32>() - largest]).ok);
}

fn words(elements: &[f32]) -> Vec<u32> {
    elements.iter().map(|x| x.to_bits()).collect()
}

fn from_words(words: &[u32]) -> Vec<f32> {
    words.iter().copied().map(f32::from_bits).collect()
}

#[test]
fn integers_are_exact() {
    let scan = problem(Operation::Scan);
    let mut sums = words(&scan.inputs()[0]);
    for i in 1..sums.len() {
        sums[i] = sums[i].wrapping_add(sums[i - 1]);
    }
    assert!(scan.check(&from_words(&sums)).ok);
    sums[200] ^= 1;
    let verdict = scan.check(&from_words(&sums));
    assert!(
        verdict
            .complaint
            .unwrap()
            .starts_with("element (0, 200) is ")
    );

    let histogram = problem(Operation::Histogram);
    let input = words(&histogram.inputs()[0]);
    let of_bin = |bin| input.iter().filter(|&x| x % 256 == bin).count() as u32;
    let mut counts: Vec<u32> = (0..256).map(of_bin).collect();
    // More of the first bins than of the last ones: atomics contend.
    assert!(counts[..16].iter().sum::<u32>() > 2 * counts[240..].iter().sum::<u32>());
    assert!(histogram.check(&from_words(&counts)).ok);
    counts[255] += 1;
    assert!(!histogram.check(&from_words(&counts)).ok);
    assert!(!histogram.check(&vec![f32::NAN; 256]).ok);
}

#[test]
fn rows_are_normalised() {
    let columns = SHAPE.n as usize;
    let softmax = problem(Operation::Softmax);
    let rows = softmax.inputs()[0].chunks(columns).flat_map(|row| {
        let max = row.iter().copied().fold(f32::MIN, f32::max);
        let exponentials: Vec<f32> = row.iter().map(|x| (x - max).exp()).collect();
        let sum: f32 = exponentials.iter().sum();
        exponentials.into_iter().map(move |x| x / sum)
    });
    judged(&*softmax, &rows.collect::<Vec<_>>());

    let normalised = problem(Operation::LayerNorm);
    let [input, weight, bias] = [0, 1, 2].map(|input| &normalised.inputs()[input]);
    // To divide the squares by one less than their number is the variance of a sample.
    for (divided_by, ok) in [(columns, true), (columns - 1, false)] {
        let rows = input.chunks(columns).flat_map(|row| {
            let mean = row.iter().sum::<f32>() / columns as f32;
            let squares: f32 = row.iter().map(|x| (x - mean) * (x - mean)).sum();
            let variance = squares / divided_by as f32;
            let factor = 1.0 / (variance + 1e-5).sqrt();
            let elements = row.iter().zip(weight.iter().zip(bias));
            elements.map(move |(x, (weight, bias))| (x - mean) * factor * weight + bias)
        });
        let output: Vec<f32> = rows.collect();
        assert_eq!(normalised.check(&output).ok, ok);
        if ok {
            judged(&*normalised, &output);
        }
    }
}

#[test]
fn a_stencil_needs_its_edges() {
    let stencil = problem(Operation::Stencil { dimensions: 2 });
    let (rows, columns) = (SHAPE.m as usize, SHAPE.n as usize);
    let input = &stencil.inputs()[0];
    let of = |clamped: bool| -> Vec<f32> {
        let place = |at: usize, d: usize, extent: usize| {
            let at = (at + d).checked_sub(RADIUS_2D).filter(|&at| at < extent);
            if clamped { at.or(Some(0)) } else { at }
        };
        let sum = |i: usize, j: usize| {
            let mut sum = 0.0;
            for (dy, wy) in WEIGHTS_2D.into_iter().enumerate() {
                for (dx, wx) in WEIGHTS_2D.into_iter().enumerate() {
                    if let Some(i) = place(i, dy, rows)
                        && let Some(j) = place(j, dx, columns)
                    {
                        sum += input[i * columns + j] * (wy * wx);
                    }
                }
            }
            sum
        };
        (0..rows * columns)
            .map(|at| sum(at / columns, at % columns))
            .collect()
    };
    judged(&*stencil, &of(false));
    assert!(!stencil.check(&of(true)).ok);
}

#[test]
fn a_sparse_product_has_all_elements_of_its_rows() {
    let product = problem(Operation::SpMv);
    let [offsets, columns] = [0, 1].map(|input| words(&product.inputs()[input]));
    let [values, x] = [2, 3].map(|input| &product.inputs()[input]);
    let row = |row: usize, left_out: u32| -> f32 {
        let elements = offsets[row]..offsets[row + 1] - left_out;
        let product = |e: u32| values[e as usize] * x[columns[e as usize] as usize];
        elements.map(product).sum()
    };
    let rows = |left_out| {
        (0..SHAPE.m as usize)
            .map(|i| row(i, left_out))
            .collect::<Vec<_>>()
    };
    judged(&*product, &rows(0));
    assert!(!product.check(&rows(1)).ok);
}

#[test]
fn attention_is_over_all_keys() {
    let shape = Shape {
        m: 5,
        n: 128,
        k: 33,
    };
    let attention = Operation::Attention {
        head: HEAD as u32,
        causal: false,
    };
    let attention = attention.problem::<f32>(shape, 1);
    let [q, k, v] = [0, 1, 2].map(|input| &attention.inputs()[input]);
    let (width, keys) = (shape.n as usize, shape.k as usize);
    let of = |keys: usize| -> Vec<f32> {
        let mut output = vec![0.0; shape.m as usize * width];
        for (i, row) in output.chunks_mut(width).enumerate() {
            for (head, row) in row.chunks_mut(HEAD).enumerate() {
                let column =
                    |matrix: &[f32], row: usize, j: usize| matrix[row * width + head * HEAD + j];
                let score = |key| (0..HEAD).map(|j| column(q, i, j) * column(k, key, j)).sum();
                let scores: Vec<f32> = (0..keys).map(score).collect();
                let weights: Vec<f32> = scores.iter().map(|score| (score / 8.0).exp()).collect();
                for (j, to) in row.iter_mut().enumerate() {
                    let weighted = weights.iter().enumerate();
                    let sum: f32 = weighted.map(|(key, w)| w * column(v, key, j)).sum();
                    *to = sum / weights.iter().sum::<f32>();
                }
            }
        }
        output
    };
    judged(&*attention, &of(keys));
    assert!(!attention.check(&of(keys - 1)).ok);
}
