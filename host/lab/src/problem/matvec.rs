//! Many small matrix-vector products.

use super::{Problem, Shape, random};
use nalgebra::DMatrix;
use warpladder::check::{self, Method, Verdict};
use warpladder::element::Element;
use warpladder::launch::Param;

pub(super) struct MatVec<T> {
    shape: Shape,
    rows: usize,
    columns: usize,
    matrix: DMatrix<f64>,
    params: Vec<Param>,
    input: [Vec<T>; 1],
}

impl<T: Element> MatVec<T> {
    pub(super) fn new(shape: Shape, [rows, columns]: [u32; 2], any: bool, seed: u64) -> Self {
        let vectors = shape.m as usize * shape.n as usize / columns as usize;
        let (m, n) = (rows as usize, columns as usize);
        // Row-major, as the kernel's parameter.
        let elements: Vec<T> = random(m * n, seed, 2);
        let stride = if any {
            kernels_gpu::history::intervals::MAX
        } else {
            n
        };
        let mut parameter = vec![T::NAN; if any { stride * stride } else { m * n }];
        for i in 0..m {
            parameter[i * stride..i * stride + n].copy_from_slice(&elements[i * n..(i + 1) * n]);
        }
        let mut params = vec![
            Param::Bytes(bytemuck::cast_slice(&parameter).to_vec()),
            Param::Input(0),
            Param::Output,
        ];
        if any {
            params.extend([Param::U32(rows), Param::U32(columns)]);
        }
        MatVec {
            shape,
            rows: m,
            columns: n,
            matrix: DMatrix::from_row_iterator(m, n, elements.iter().map(|&x| x.into())),
            params,
            input: [random(vectors * n, seed, 1)],
        }
    }
}

impl<T: Element> Problem<T> for MatVec<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn inputs(&self) -> &[Vec<T>] {
        &self.input
    }

    fn output_len(&self) -> usize {
        self.input[0].len() / self.columns * self.rows
    }

    fn params(&self) -> Vec<Param> {
        self.params.clone()
    }

    fn check(&self, output: &[T]) -> Verdict {
        // The vectors are the columns of a column-major matrix, and so are their products.
        let vectors = self.input[0].len() / self.columns;
        let input = self.input[0].iter().map(|&x| x.into());
        let products: DMatrix<f64> =
            &self.matrix * DMatrix::from_iterator(self.columns, vectors, input);
        check::elementwise(
            (vectors, self.rows),
            |vector, row| output[vector * self.rows + row].into(),
            |vector, row| products[(row, vector)],
            check::product_tolerance::<T>(self.columns),
            Method::Nalgebra,
        )
    }
}
