//! Sparse matrices times vectors.

use super::{Problem, Shape, check_rows, random, stored_words};
use warpladder::check::{self, Method, Verdict};
use warpladder::element::Element;
use warpladder::launch::Param;

/// Rows after which their lengths repeat, and the length of the first of them.
const PERIOD: u32 = 32;
const LONG: u32 = 64;

/// The most rows of which the number of elements fits into an offset of 32 bits: they have less
/// than eight elements each on average.
pub const MAX_ROWS: u32 = u32::MAX / 8;

/// Elements of a row that are not 0: one row in 32 has 64, the others 1 to 8, in a matrix of
/// `columns` columns.
fn length(row: u32, columns: u32) -> u32 {
    let wanted = match row % PERIOD {
        0 => LONG,
        other => 1 + other % 8,
    };
    wanted.min(columns)
}

/// Elements of a matrix that are not 0.
pub(super) fn nonzeros(Shape { m, n, .. }: Shape) -> u128 {
    let of_rows = |rows: u32| -> u128 { (0..rows).map(|row| u128::from(length(row, n))).sum() };
    u128::from(m / PERIOD) * of_rows(PERIOD) + of_rows(m % PERIOD)
}

/// A sparse matrix in CSR and a vector.
pub(super) struct SpMv<T> {
    shape: Shape,
    offsets: Vec<u32>,
    columns: Vec<u32>,
    /// Offsets, columns, values, and the vector.
    inputs: Vec<Vec<T>>,
}

impl<T: Element> SpMv<T> {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let mut offsets = vec![0u32];
        let mut columns = Vec::new();
        let jitter: Vec<f64> = random(nonzeros(shape) as usize, seed, 3);
        for row in 0..shape.m {
            let count = length(row, shape.n);
            // One in each of as many parts of the row, at random: they ascend.
            let part = f64::from(shape.n) / f64::from(count.max(1));
            for e in 0..count {
                let at = (jitter[columns.len()] + 1.0) / 2.0;
                let column = ((f64::from(e) + at) * part) as u32;
                columns.push(column.min(shape.n - 1));
            }
            offsets.push(columns.len() as u32);
        }
        let inputs = vec![
            stored_words(&offsets),
            stored_words(&columns),
            random(columns.len(), seed, 1),
            random(shape.n as usize, seed, 2),
        ];
        SpMv {
            shape,
            offsets,
            columns,
            inputs,
        }
    }

    fn expected(&self, row: usize) -> f64 {
        let [values, x] = [&self.inputs[2], &self.inputs[3]];
        let elements = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        let products = elements.map(|e| {
            let x: f64 = x[self.columns[e] as usize].into();
            values[e].into() * x
        });
        products.sum()
    }
}

impl<T: Element> Problem<T> for SpMv<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn inputs(&self) -> &[Vec<T>] {
        &self.inputs
    }

    fn output_len(&self) -> usize {
        self.shape.m as usize
    }

    fn params(&self) -> Vec<Param> {
        let mut params: Vec<Param> = (0..self.inputs.len()).map(Param::Input).collect();
        params.extend([Param::Output, Param::U32(self.shape.m)]);
        params
    }

    fn check(&self, output: &[T]) -> Verdict {
        let rows = self.shape.m as usize;
        check_rows(
            (rows, 1),
            &|i, _| output[i].into(),
            &|i, _| self.expected(i),
            &|i| {
                let terms = (self.offsets[i + 1] - self.offsets[i]) as usize;
                check::product_tolerance::<T>(terms).into()
            },
            Method::Reference,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_elements_is_that_of_all_rows() {
        for (m, n) in [
            (0, 5),
            (1, 0),
            (1, 1),
            (31, 7),
            (32, 64),
            (1000, 17),
            (65, 1000),
        ] {
            let shape = Shape { m, n, k: 1 };
            let problem = SpMv::<f32>::new(shape, 1);
            assert_eq!(problem.columns.len() as u128, nonzeros(shape));
            assert!(problem.columns.iter().all(|&column| column < n));
        }
        let most = Shape {
            m: MAX_ROWS,
            n: u32::MAX,
            k: 1,
        };
        assert!(nonzeros(most) <= u128::from(u32::MAX));
    }
}
