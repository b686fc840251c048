//! Attention of heads.

use super::{Problem, Shape, check_rows, random};
use rayon::prelude::*;
use warpladder::check::{Method, Tolerance, Verdict};
use warpladder::element::{Element, ElementType};
use warpladder::launch::Param;

/// Elements of Q are from ± this, so that weights differ by some factors of e and not only by
/// their rounding.
const QUERY_SPAN: f64 = 4.0;

/// Multiply-adds of the reference, at most: of more, rows are left out, evenly.
const REFERENCE_LIMIT: u64 = 1 << 32;

/// Pairs of a query and a key that it sees.
pub(super) fn pairs(shape: Shape, causal: bool) -> u64 {
    let (queries, keys) = (u64::from(shape.m), u64::from(shape.k));
    if !causal {
        return queries * keys;
    }
    // The first queries see one key more each, the others all.
    let fewer = queries.min(keys);
    fewer * (fewer + 1) / 2 + (queries - fewer) * keys
}

/// Q, K and V.
pub(super) struct Attention<T> {
    shape: Shape,
    /// Columns of a head.
    head: usize,
    causal: bool,
    inputs: Vec<Vec<T>>,
}

impl<T: Element> Attention<T> {
    pub(super) fn new(shape: Shape, (head, causal): (u32, bool), seed: u64) -> Self {
        let [m, n, k] = [shape.m, shape.n, shape.k].map(|extent| extent as usize);
        let mut q: Vec<T> = random(m * n, seed, 1);
        q.par_iter_mut()
            .for_each(|x| *x = T::from_f64(QUERY_SPAN * (*x).into()));
        Attention {
            shape,
            head: head as usize,
            causal,
            inputs: vec![q, random(k * n, seed, 2), random(k * n, seed, 3)],
        }
    }

    /// Every how many queries the reference is computed.
    fn stride(&self) -> usize {
        let all = 2 * u64::from(self.shape.n) * u64::from(self.shape.k);
        let rows = (REFERENCE_LIMIT / all.max(1)).max(1);
        u64::from(self.shape.m).div_ceil(rows).max(1) as usize
    }

    /// 1 / √d.
    fn scale(&self) -> f64 {
        (self.head as f64).sqrt().recip()
    }

    /// The row of a query, of every head.
    fn expected(&self, query: usize) -> Vec<f64> {
        let (width, keys) = (self.shape.n as usize, self.shape.k as usize);
        let seen = match self.causal {
            true => keys.min(query + 1),
            false => keys,
        };
        let [q, k, v] = [0, 1, 2].map(|input| &self.inputs[input]);
        let mut row = vec![0.0; width];
        for (head, output) in row.chunks_mut(self.head).enumerate() {
            let columns = output.len();
            let place = |row: usize| row * width + head * self.head;
            let of = |matrix: &[T], at: usize| -> Vec<f64> {
                let row = &matrix[place(at)..][..columns];
                row.iter().map(|&x| x.into()).collect()
            };
            let query = of(q, query);
            let score = |key: usize| -> f64 {
                let products = query.iter().zip(of(k, key)).map(|(q, k)| q * k);
                products.sum::<f64>() * self.scale()
            };
            let scores: Vec<f64> = (0..seen).map(score).collect();
            let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for (key, weight) in weights.iter().enumerate() {
                for (to, v) in output.iter_mut().zip(of(v, key)) {
                    *to += weight / sum * v;
                }
            }
        }
        row
    }

    /// A score is a sum of d products, off by 4 · d · u, times 4 for Q and 1/√d, and a weight is
    /// off by as much, relatively; so is the sum of all. Values are below 1, and so is each of the
    /// sums of k of them, whose roundings average out. Where elements have 16 bits, weights are
    /// rounded to these before the second product, and the output when it is stored.
    fn tolerance(&self) -> Tolerance {
        let of_scores = 2.0 * 4.0 * self.head as f64 * QUERY_SPAN * self.scale();
        let of_sums = 32.0 + 4.0 * f64::from(self.shape.k).sqrt();
        let rounded = match T::TYPE {
            ElementType::F16 | ElementType::Bf16 => T::UNIT_ROUNDOFF,
            ElementType::F32 | ElementType::F64 => 0.0,
        };
        let wide = T::UNIT_ROUNDOFF.min(f32::UNIT_ROUNDOFF);
        Tolerance {
            sum: (of_scores + of_sums) * wide + rounded,
            rounding: rounded,
        }
    }
}

impl<T: Element> Problem<T> for Attention<T> {
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
        let mut params: Vec<Param> = (0..3).map(Param::Input).collect();
        params.push(Param::Output);
        params.extend([self.shape.m, self.shape.n, self.shape.k].map(Param::U32));
        params
    }

    /// All queries up to a limit of work; above it, some, and of the others only that the output is
    /// a weighted mean of values, which are below 1.
    fn check(&self, output: &[T]) -> Verdict {
        let (rows, width) = (self.shape.m as usize, self.shape.n as usize);
        let (stride, tolerance) = (self.stride(), self.tolerance());
        let computed = (0..rows.div_ceil(stride)).into_par_iter();
        let computed: Vec<Vec<f64>> = computed.map(|i| self.expected(i * stride)).collect();
        let element = |i: usize, j: usize| -> f64 { output[i * width + j].into() };
        let verdict = check_rows(
            (computed.len(), width),
            &|i, j| element(i * stride, j),
            &|i, j| computed[i][j],
            &|_| tolerance,
            Method::Reference,
        );
        let most = tolerance.of(1.0) + 1.0;
        let place = |index: usize| (index / width, index % width);
        let wrong = |index: &usize| {
            let x: f64 = output[*index].into();
            x.is_nan() || x.abs() > most
        };
        match (0..output.len()).into_par_iter().find_first(wrong) {
            Some(index) => {
                let (i, j) = place(index);
                let complaint =
                    format!("element ({i}, {j}) is {}, not from [-1, 1]", element(i, j));
                verdict.but(complaint)
            }
            None => verdict,
        }
    }
}
