//! Problems of the rows of a matrix: softmax and layer normalisation.

use super::{Problem, Shape, check_rows, random};
use kernels_gpu::ladder::layernorm::EPSILON;
use rayon::prelude::*;
use warpladder::check::{Method, Tolerance, Verdict};
use warpladder::element::Element;
use warpladder::launch::Param;

/// What becomes of a row.
#[derive(Clone, Copy)]
enum Kind {
    Softmax,
    LayerNorm,
}

/// Rows, each of which is an element of the problem.
pub(super) struct Rows<T> {
    shape: Shape,
    kind: Kind,
    inputs: Vec<Vec<T>>,
}

/// Elements of a softmax are from ± this: the exponential of the largest is infinite in `f32`, so a
/// kernel must subtract the maximum.
const SOFTMAX_SPAN: f64 = 100.0;

/// Elements of a layer normalisation are from this ± 1: the mean of their squares less the square
/// of their mean has lost ten bits of the variance.
const MEAN: f64 = 16.0;

impl<T: Element> Rows<T> {
    pub(super) fn softmax(shape: Shape, seed: u64) -> Self {
        Rows {
            shape,
            kind: Kind::Softmax,
            inputs: vec![mapped(elements(shape, seed), |x| SOFTMAX_SPAN * x)],
        }
    }

    pub(super) fn layer_norm(shape: Shape, seed: u64) -> Self {
        let of_columns = |stream| random(shape.n as usize, seed, stream);
        Rows {
            shape,
            kind: Kind::LayerNorm,
            inputs: vec![
                mapped(elements(shape, seed), |x| MEAN + x),
                of_columns(2),
                of_columns(3),
            ],
        }
    }

    fn row(&self, i: usize) -> impl Iterator<Item = f64> + '_ {
        let columns = self.shape.n as usize;
        let row = &self.inputs[0][i * columns..(i + 1) * columns];
        row.iter().map(|&x| x.into())
    }

    /// Of a row: what is subtracted, and what is multiplied by.
    fn of_row(&self, i: usize) -> [f64; 2] {
        let count = f64::from(self.shape.n);
        match self.kind {
            Kind::Softmax => {
                let max = self.row(i).fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = self.row(i).map(|x| (x - max).exp()).sum();
                [max, 1.0 / sum]
            }
            Kind::LayerNorm => {
                let mean = self.row(i).sum::<f64>() / count;
                let squares: f64 = self.row(i).map(|x| (x - mean).powi(2)).sum();
                [mean, 1.0 / (squares / count + f64::from(EPSILON)).sqrt()]
            }
        }
    }

    /// How far an element of a row may be off, where `factor` is what the row is multiplied by.
    ///
    /// Softmax: the difference of an element and the maximum, up to 2 · 100, is off by half of its
    /// last bit, which the exponential multiplies by that number; scaled to one maximum after the
    /// other, sums add as much again. Functions and quotients are off by a few bits more, and sums
    /// of n positive terms by √n, as roundings average out. All of this is relative to the result;
    /// what is below the normal numbers may be lost.
    ///
    /// Layer normalisation: the mean of n elements near 16 is off by some 16 · √n · u at most, and
    /// so is each difference from it, before the factor. The rest is relative to the result.
    fn tolerance(&self, factor: f64) -> Tolerance {
        let roundings = 8.0 + 2.0 * f64::from(self.shape.n).sqrt();
        let unit = T::UNIT_ROUNDOFF;
        match self.kind {
            Kind::Softmax => Tolerance {
                sum: f64::from(f32::MIN_POSITIVE),
                rounding: (4.0 * SOFTMAX_SPAN + roundings) * unit,
            },
            Kind::LayerNorm => Tolerance {
                sum: (MEAN + 1.0) * roundings * unit * factor,
                rounding: roundings * unit,
            },
        }
    }
}

/// As many random elements as a shape has.
fn elements<T: Element>(shape: Shape, seed: u64) -> Vec<T> {
    random(shape.m as usize * shape.n as usize, seed, 1)
}

fn mapped<T: Element>(mut elements: Vec<T>, map: impl Fn(f64) -> f64 + Sync) -> Vec<T> {
    elements
        .par_iter_mut()
        .for_each(|x| *x = T::from_f64(map((*x).into())));
    elements
}

impl<T: Element> Problem<T> for Rows<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn inputs(&self) -> &[Vec<T>] {
        &self.inputs
    }

    fn output_len(&self) -> usize {
        self.inputs[0].len()
    }

    fn params(&self) -> Vec<Param> {
        let mut params: Vec<Param> = (0..self.inputs.len()).map(Param::Input).collect();
        params.extend([Param::Output, Param::U32(self.shape.n)]);
        params
    }

    fn check(&self, output: &[T]) -> Verdict {
        let (rows, columns) = (self.shape.m as usize, self.shape.n as usize);
        let of_rows: Vec<[f64; 2]> = (0..rows).into_par_iter().map(|i| self.of_row(i)).collect();
        let expected = |i: usize, j: usize| {
            let [subtracted, factor] = of_rows[i];
            let difference: f64 = self.inputs[0][i * columns + j].into() - subtracted;
            match self.kind {
                Kind::Softmax => difference.exp() * factor,
                Kind::LayerNorm => {
                    let [weight, bias] = [1, 2].map(|input| self.inputs[input][j].into());
                    difference * factor * weight + bias
                }
            }
        };
        check_rows(
            (rows, columns),
            &|i, j| output[i * columns + j].into(),
            &expected,
            &|i| self.tolerance(of_rows[i][1]),
            Method::Reference,
        )
    }
}
