//! Row-major matrix products.

use super::{Param, Problem, Shape, random};
use crate::check::{self, Verdict};
use crate::element::Element;
use nalgebra::{DMatrix, DMatrixView, DVector};
use std::cell::OnceCell;

/// Up to this many multiply-adds the whole product is computed by nalgebra, above it Freivalds' check is used:
/// 1024 × 1024 × 1024, a quarter of a second on one core.
const FULL_REFERENCE_LIMIT: u128 = 1 << 30;

/// Vectors of Freivalds' check. One random real vector already meets a wrong element with certainty, up to
/// rounding; the second guards against an error that happens to fall under the tolerance.
const FREIVALDS_VECTORS: usize = 2;

pub(super) struct Product<T> {
    shape: Shape,
    inputs: Vec<Vec<T>>,
    reference: OnceCell<Reference>,
}

/// The right answer, as far as it is computed.
enum Reference {
    /// C, row-major.
    Full(Vec<f64>),
    /// Pairs of x and A · (B · x).
    Projections(Vec<(DVector<f64>, DVector<f64>)>),
}

impl<T: Element + nalgebra::RealField> Product<T> {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let (m, n, k) = extents(shape);
        Product {
            shape,
            inputs: vec![random(m * k, seed, 1), random(k * n, seed, 2)],
            reference: OnceCell::new(),
        }
    }

    fn reference(&self) -> &Reference {
        self.reference.get_or_init(|| {
            let (m, n, k) = extents(self.shape);
            // nalgebra is column-major: a row-major m × k matrix is its k × m transpose there, and
            // Cᵀ = Bᵀ · Aᵀ comes out as row-major C.
            let a_t = DMatrix::from_iterator(k, m, self.inputs[0].iter().map(|&x| x.into()));
            let b_t = DMatrix::from_iterator(n, k, self.inputs[1].iter().map(|&x| x.into()));
            let (a_t, b_t): (DMatrix<f64>, DMatrix<f64>) = (a_t, b_t);
            if m as u128 * n as u128 * k as u128 <= FULL_REFERENCE_LIMIT {
                return Reference::Full((b_t * a_t).data.into());
            }
            let projections = (0..FREIVALDS_VECTORS)
                .map(|vector| {
                    // A seed of its own: the vectors must not depend on the inputs.
                    let x = DVector::from_vec(random::<f64>(n, 0, 3 + vector as u64));
                    let product = a_t.tr_mul(&b_t.tr_mul(&x));
                    (x, product)
                })
                .collect();
            Reference::Projections(projections)
        })
    }
}

impl<T: Element + nalgebra::RealField> Problem<T> for Product<T> {
    fn inputs(&self) -> &[Vec<T>] {
        &self.inputs
    }

    fn output_len(&self) -> usize {
        let (m, n, _) = extents(self.shape);
        m * n
    }

    fn params(&self) -> Vec<Param> {
        let Shape { m, n, k } = self.shape;
        vec![
            Param::Input(0),
            Param::Input(1),
            Param::Output,
            Param::U32(m),
            Param::U32(n),
            Param::U32(k),
        ]
    }

    fn check(&self, output: &[T]) -> Verdict {
        let (m, n, k) = extents(self.shape);
        match self.reference() {
            Reference::Full(c) => check::elementwise(
                output,
                c,
                n,
                check::product_tolerance::<T>(k),
                check::Method::Nalgebra,
            ),
            Reference::Projections(projections) => {
                let converted: Vec<f64>;
                let c_t = DMatrixView::from_slice(
                    {
                        converted = output.iter().map(|&x| x.into()).collect();
                        &converted
                    },
                    n,
                    m,
                );
                check::freivalds(&c_t, projections, check::projected_tolerance::<T>(k, n))
            }
        }
    }
}

fn extents(Shape { m, n, k }: Shape) -> (usize, usize, usize) {
    (m as usize, n as usize, k as usize)
}
