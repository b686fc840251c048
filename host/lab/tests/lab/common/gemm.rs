//! GEMM of random matrices, to be computed by any plan and compared with f64.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::cell::OnceCell;
use warpladder::check::Tolerance;
use warpladder::element::Element;
use warpladder::engine::{Buffer, Engine};
use warpladder::gemm::{Description, GemmInput, GemmInto};
use warpladder::launch::DevicePtr;
use warpladder::plan::{Operands, Plan, Prepared};

pub const LAYOUTS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

/// One product, into a C of `C`.
pub struct RandomGemm<T: GemmInput, C> {
    pub product: Description<T>,
    pub a: Vec<T>,
    pub b: Vec<T>,
    pub c: Vec<C>,
    /// What [`check`](Self::check) compares with: computed by the first one, as a case has many
    /// outputs. A and B must not change after it.
    sums: OnceCell<Vec<f64>>,
}

impl<T: GemmInto<C> + Into<f64>, C: Element> RandomGemm<T, C> {
    /// A random one of elements made by `round`, with `padding` elements between rows and between
    /// matrices. What is not to be read holds NaN.
    pub fn new(
        [m, n, k]: [u32; 3],
        transposed: [bool; 2],
        padding: u32,
        batch: u32,
        [alpha, beta]: [f64; 2],
        round: fn(f64) -> T,
    ) -> Self {
        let mut rng = StdRng::seed_from_u64(u64::from(m * 31 + n * 7 + k));
        let rows_a = if transposed[0] { [k, m] } else { [m, k] };
        let rows_b = if transposed[1] { [n, k] } else { [k, n] };
        let stride = |[rows, columns]: [u32; 2]| {
            u64::from(rows) * u64::from(columns + padding) + u64::from(padding)
        };
        let mut matrices = |[rows, columns]: [u32; 2]| {
            let length = (stride([rows, columns]) * u64::from(batch)).max(1);
            let mut elements = vec![f64::NAN; length as usize];
            for matrix in 0..u64::from(batch) {
                for row in 0..u64::from(rows) {
                    let start =
                        matrix * stride([rows, columns]) + row * u64::from(columns + padding);
                    for element in &mut elements[start as usize..][..columns as usize] {
                        *element = rng.random_range(-1.0..1.0);
                    }
                }
            }
            elements
        };
        let mut operand = |rows| matrices(rows).into_iter().map(round).collect();
        let (a, b) = (operand(rows_a), operand(rows_b));
        let mut c = matrices([m, n]);
        if beta == 0.0 {
            // BLAS does not read it then.
            c.fill(f64::NAN);
        }
        let factor = <T::Output as Element>::from_f64;
        RandomGemm {
            product: Description {
                leading: [rows_a[1] + padding, rows_b[1] + padding, n + padding],
                batch,
                strides: [stride(rows_a), stride(rows_b), stride([m, n])],
                alpha: factor(alpha),
                beta: factor(beta),
                c_16bit: T::C_16BIT,
                c_type: T::C_TYPE,
                ..Description::dense([m, n, k], transposed)
            },
            a,
            b,
            c: c.into_iter().map(C::from_f64).collect(),
            sums: OnceCell::new(),
        }
    }

    /// The outputs of `times` runs of a plan, each with what the one before has left in the
    /// workspace.
    pub fn run(&self, engine: &dyn Engine, plan: Plan, times: usize) -> Vec<Vec<C>> {
        fn buffer<'e, E: bytemuck::Pod>(engine: &'e dyn Engine, elements: &[E]) -> Buffer<'e> {
            let buffer = Buffer::new(engine, size_of_val(elements)).unwrap();
            buffer.upload(elements).unwrap();
            buffer
        }
        let prepared = Prepared::new(engine, plan).unwrap();
        let (a, b) = (buffer(engine, &self.a), buffer(engine, &self.b));
        let c = buffer(engine, &self.c);
        let workspace = prepared.workspace(engine).unwrap();
        let mut operands = Operands {
            inputs: &[
                (a.ptr(), self.a.len() as u64),
                (b.ptr(), self.b.len() as u64),
            ],
            output: c.ptr(),
            workspace: workspace.ptr(),
            maps: DevicePtr(0),
        };
        let maps = prepared.tensor_map_buffer(engine, &operands).unwrap();
        operands.maps = maps.ptr();
        let run = |_| {
            c.upload(&self.c).unwrap();
            let factors = [self.product.alpha, self.product.beta];
            // SAFETY: the buffers hold the operands of the product that the plan was made for.
            unsafe { prepared.enqueue(engine, &operands, factors) }.unwrap();
            engine.synchronize().unwrap();
            let mut output = self.c.clone();
            c.download(&mut output).unwrap();
            output
        };
        (0..times).map(run).collect()
    }

    /// op(A) · op(B) in f64 of each product in the batch, row-major.
    fn sums(&self) -> Vec<f64> {
        let Description {
            extents,
            transposed,
            leading: [lda, ldb, _],
            batch,
            strides: [stride_a, stride_b, _],
            ..
        } = self.product;
        let [m, n, k] = extents.map(|extent| extent as usize);
        let mut sums = vec![0.0; batch as usize * m * n];
        for matrix in 0..batch as usize {
            let a = wide(&self.a, matrix, stride_a, (m, k), lda, transposed[0]);
            let b = wide(&self.b, matrix, stride_b, (k, n), ldb, transposed[1]);
            for i in 0..m {
                let row = &mut sums[(matrix * m + i) * n..][..n];
                for l in 0..k {
                    let factor = a[i * k + l];
                    for (sum, b) in row.iter_mut().zip(&b[l * n..]) {
                        *sum += factor * b;
                    }
                }
            }
        }
        sums
    }

    /// Compares every element with the same product in f64; padding must be what it was.
    /// `tolerance` is that of a sum with α = 1 and β = 0.
    pub fn check(&self, output: &[C], tolerance: f64) -> Result<(), String> {
        let Description {
            extents,
            leading: [_, _, ldc],
            strides: [_, _, stride_c],
            alpha,
            beta,
            ..
        } = self.product;
        let (alpha, beta): (f64, f64) = (alpha.into(), beta.into());
        let tolerance = Tolerance {
            sum: tolerance * (alpha.abs() + beta.abs()),
            rounding: if T::C_16BIT { C::UNIT_ROUNDOFF } else { 0.0 },
        };
        let [m, n, _] = extents.map(|extent| extent as usize);
        let mut expected: Vec<f64> = self.c.iter().map(|&element| element.into()).collect();
        for (index, sum) in self.sums.get_or_init(|| self.sums()).iter().enumerate() {
            let (matrix, i, j) = (index / (m * n), index / n % m, index % n);
            let place = matrix * stride_c as usize + i * ldc as usize + j;
            let old = expected[place];
            expected[place] = alpha * sum + if beta == 0.0 { 0.0 } else { beta * old };
        }
        for (place, (&found, &expected)) in output.iter().zip(&expected).enumerate() {
            let found: f64 = found.into();
            let untouched = found.is_nan() && expected.is_nan();
            let right = (found - expected).abs() <= tolerance.of(expected);
            if !untouched && !right {
                return Err(format!("element {place} is {found}, not {expected}"));
            }
        }
        Ok(())
    }
}

/// One of several matrices that lie `stride` elements apart, of this many rows and columns, as f64
/// and row-major; `transposed` says that it is stored as its transpose.
fn wide<T: Copy + Into<f64>>(
    matrices: &[T],
    matrix: usize,
    stride: u64,
    (rows, columns): (usize, usize),
    leading: u32,
    transposed: bool,
) -> Vec<f64> {
    let from = &matrices[matrices.len().min(matrix * stride as usize)..];
    let leading = leading as usize;
    let element = |index: usize| -> f64 {
        let (row, column) = (index / columns, index % columns);
        let place = match transposed {
            true => column * leading + row,
            false => row * leading + column,
        };
        from[place].into()
    };
    (0..rows * columns).map(element).collect()
}
