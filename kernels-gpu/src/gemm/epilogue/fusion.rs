//! Operators of single elements behind the linear combination of a GEMM: bias, activations,
//! residuals, and the source as a factor.
//!
//! D = f(α · accumulator + β · C), where f is an [`ElementOp`]. A tuple of two is their
//! composition, the first one first, so `(Bias, (Gelu, AddResidual))` is a fused epilogue. With an
//! operator that [has a factor](ElementOp::has_factor), D = f(α · accumulator) · β · C: the second
//! half of a gated linear unit, whose first half is in C.
//!
//! The kernels of the library have [`Chosen`], whose parts are given at launch by a
//! [`FusionParams`]; a kernel in another crate may name any other type.
//!
//! # Source
//! Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016; Elfwing, Uchibe and Doya,
//! "Sigmoid-Weighted Linear Units for Neural Network Function Approximation", 2017 (SiLU); Shazeer,
//! "GLU Variants Improve Transformer", 2020 (gated linear units).

use super::any_matrix::AnyMatrix;
use super::output_op::{LinearCombination, OutputOp};
use crate::gemm::GemmParams;
use crate::gemm::element::Output;
use core::f32::consts::LOG2_E;
use cuda_std::float::{GpuFloat, fast};
use cuda_std::float16::Widen;

/// A function of an element of the result and of its place, row and column of C.
pub trait ElementOp: Copy {
    /// Its value.
    fn apply(&self, at: [usize; 2], value: f32) -> f32;

    /// Applies it to all `values`, whose places `at` gives.
    #[inline(always)]
    fn apply_all<const N: usize>(&self, at: &impl Fn(usize) -> [usize; 2], values: &mut [f32; N]) {
        for i in 0..N {
            values[i] = self.apply(at(i), values[i]);
        }
    }

    /// Whether it is the identity.
    #[inline(always)]
    fn is_identity(&self) -> bool {
        false
    }

    /// Whether β · C is a factor of its value, and no summand of what it is applied to.
    #[inline(always)]
    fn has_factor(&self) -> bool {
        false
    }

    /// The function for the matrix of a batch whose C lies `offset` elements behind the first one.
    #[inline(always)]
    fn of_matrix(self, _offset: usize) -> Self {
        self
    }
}

impl ElementOp for () {
    #[inline(always)]
    fn is_identity(&self) -> bool {
        true
    }

    #[inline(always)]
    fn apply(&self, _: [usize; 2], value: f32) -> f32 {
        value
    }
}

impl<F: ElementOp, G: ElementOp> ElementOp for (F, G) {
    #[inline(always)]
    fn apply(&self, at: [usize; 2], value: f32) -> f32 {
        self.1.apply(at, self.0.apply(at, value))
    }

    #[inline(always)]
    fn apply_all<const N: usize>(&self, at: &impl Fn(usize) -> [usize; 2], values: &mut [f32; N]) {
        self.0.apply_all(at, values);
        self.1.apply_all(at, values);
    }

    #[inline(always)]
    fn has_factor(&self) -> bool {
        self.0.has_factor() || self.1.has_factor()
    }

    #[inline(always)]
    fn of_matrix(self, offset: usize) -> Self {
        (self.0.of_matrix(offset), self.1.of_matrix(offset))
    }
}

/// The output operator of a linear combination with an [`ElementOp`] behind it.
#[derive(Clone, Copy, Debug)]
pub struct Fused<F> {
    linear: LinearCombination<f32>,
    /// None of partial sums.
    then: Option<F>,
}

impl<F: ElementOp> Fused<F> {
    /// That of a GEMM.
    #[inline(always)]
    pub fn with(params: &GemmParams<f32>, then: F) -> Self {
        Fused {
            linear: LinearCombination::new(params),
            then: Some(then),
        }
    }

    /// This linear combination with `then` behind it.
    #[inline(always)]
    pub fn then(self, then: F) -> Self {
        Fused {
            then: Some(then),
            ..self
        }
    }
}

impl<F: ElementOp> OutputOp<f32> for Fused<F> {
    /// The linear combination alone.
    #[inline(always)]
    fn new(params: &GemmParams<f32>) -> Self {
        Fused {
            linear: LinearCombination::new(params),
            then: None,
        }
    }

    #[inline(always)]
    fn of_partial_sums() -> Self {
        Fused {
            linear: LinearCombination::of_partial_sums(),
            then: None,
        }
    }

    #[inline(always)]
    fn is_source_needed(&self) -> bool {
        self.linear.is_source_needed()
    }

    #[inline(always)]
    fn scale(&self, accumulator: f32) -> f32 {
        self.linear.scale(accumulator)
    }

    #[inline(always)]
    fn combine(&self, scaled: f32, source: f32) -> f32 {
        if self.has_factor() {
            scaled
        } else {
            self.linear.combine(scaled, source)
        }
    }

    #[inline(always)]
    fn of_matrix(self, offset: usize) -> Self {
        Fused {
            then: self.then.map(|then| then.of_matrix(offset)),
            ..self
        }
    }

    #[inline(always)]
    fn has_finish(&self) -> bool {
        (self.then).is_some_and(|then| !then.is_identity() || then.has_factor())
    }

    #[inline(always)]
    fn finish<const N: usize>(&self, at: impl Fn(usize) -> [usize; 2], results: &mut [f32; N]) {
        if let Some(then) = self.then {
            then.apply_all(&at, results);
        }
    }

    #[inline(always)]
    fn has_factor(&self) -> bool {
        self.then.is_some_and(|then| then.has_factor())
    }

    #[inline(always)]
    fn multiply(&self, result: f32, source: f32) -> f32 {
        result * self.linear.scale_source(source)
    }
}

/// Adds an element of a vector: by the row of C, or by its column.
#[derive(Clone, Copy, Debug)]
pub struct Bias<T, const BY_ROW: bool>(*const T);

impl<T, const BY_ROW: bool> Bias<T, BY_ROW> {
    /// The bias `vector`.
    ///
    /// # Safety
    /// It has an element for each row of C, or for each column, that no thread writes.
    #[inline(always)]
    pub unsafe fn new(vector: *const T) -> Self {
        Bias(vector)
    }
}

impl<T: Widen<Wide = f32>, const BY_ROW: bool> ElementOp for Bias<T, BY_ROW> {
    #[inline(always)]
    fn apply(&self, [row, column]: [usize; 2], value: f32) -> f32 {
        let index = if BY_ROW { row } else { column };
        // SAFETY: the vector has an element for it by the contract of `new`.
        value + unsafe { *self.0.wrapping_add(index) }.widen()
    }
}

/// Adds the element of a matrix at the same row and column.
#[derive(Clone, Copy, Debug)]
pub struct AddResidual<T> {
    matrix: *const T,
    leading: usize,
}

impl<T> AddResidual<T> {
    /// The residual `matrix`, whose rows are `leading` elements apart.
    ///
    /// # Safety
    /// It has the rows and columns of C, and no other thread writes them.
    #[inline(always)]
    pub unsafe fn new(matrix: *const T, leading: usize) -> Self {
        AddResidual { matrix, leading }
    }
}

impl<T: Widen<Wide = f32>> ElementOp for AddResidual<T> {
    #[inline(always)]
    fn apply(&self, [row, column]: [usize; 2], value: f32) -> f32 {
        let from = self.matrix.wrapping_add(row * self.leading + column);
        // SAFETY: the matrix has the element by the contract of `new`.
        value + unsafe { *from }.widen()
    }

    #[inline(always)]
    fn of_matrix(self, offset: usize) -> Self {
        AddResidual {
            matrix: self.matrix.wrapping_add(offset),
            ..self
        }
    }
}

/// max(x, 0). NaN stays NaN.
#[derive(Clone, Copy, Debug)]
pub struct Relu;

impl ElementOp for Relu {
    #[inline(always)]
    fn apply(&self, _: [usize; 2], value: f32) -> f32 {
        relu(value)
    }
}

/// x · Φ(x), where Φ is the distribution function of normal numbers.
#[derive(Clone, Copy, Debug)]
pub struct Gelu;

impl ElementOp for Gelu {
    #[inline(always)]
    fn apply(&self, _: [usize; 2], value: f32) -> f32 {
        gelu(value)
    }
}

/// GELU's approximation ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))).
#[derive(Clone, Copy, Debug)]
pub struct GeluTanh;

impl ElementOp for GeluTanh {
    #[inline(always)]
    fn apply(&self, _: [usize; 2], value: f32) -> f32 {
        gelu_tanh(value)
    }
}

/// x / (1 + e^−x), also called swish.
#[derive(Clone, Copy, Debug)]
pub struct Silu;

impl ElementOp for Silu {
    #[inline(always)]
    fn apply(&self, _: [usize; 2], value: f32) -> f32 {
        silu(value)
    }
}

/// max(x, 0). NaN stays NaN.
#[inline(always)]
fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// GELU, with a relative error of at most 2 · 10⁻⁶ up to |x| = 4, and 5 · 10⁻⁶ up to 6.
///
/// The tail Φ(−|x|) is t · 2^(P(t) − x² log₂(e) / 2), where t = 1 / (1 + 0.32 |x|). P is the
/// minimax polynomial of degree 7 for |x| ≤ 8, with a relative error of the tail of 1.1 · 10⁻⁷; the
/// rest is the exponent's rounding.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    // The tail is 0 beyond it, so that infinity does not meet a 0.
    const LARGEST: f32 = 14.5;
    const COEFFICIENTS: [f32; 8] = [
        -0.297_323_4,
        1.392_411_2,
        -2.369_987_2,
        1.589_054_2,
        -0.514_878_6,
        0.750_735_32,
        1.418_156_6,
        -2.968_168_2,
    ];
    let distance = x.abs().min(LARGEST);
    let t = fast::recip_ftz(fma(0.32, distance, 1.0));
    let mut fit = COEFFICIENTS[0];
    for coefficient in &COEFFICIENTS[1..] {
        fit = fma(fit, t, *coefficient);
    }
    let exponent = fma(distance * (-0.5 * LOG2_E), distance, fit);
    let tail = t * fast::exp2_ftz(exponent);
    // x Φ(x) is x − x Φ(−x) for positive x.
    fma(-distance, tail, relu(x))
}

/// The approximation of GELU by the hyperbolic tangent.
#[inline(always)]
pub fn gelu_tanh(x: f32) -> f32 {
    // 2 √(2/π) log₂ e, and that times 0.044715. ½ (1 + tanh(y)) is the logistic function of 2y.
    const LINEAR: f32 = 2.302_208_2;
    const CUBIC: f32 = 0.102_943_24;
    gated(x, x * fma(x * x, CUBIC, LINEAR))
}

/// SiLU.
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    gated(x, x * LOG2_E)
}

/// x / (1 + 2^−y), where y has the sign of x. It is 0 where 2^−y is not finite.
#[inline(always)]
fn gated(x: f32, y: f32) -> f32 {
    // Where x is less, the quotient is 0, so that infinity does not meet a 0.
    const LEAST: f32 = -256.0;
    x.max(LEAST) * fast::recip_ftz(1.0 + fast::exp2_ftz(-y))
}

/// `a · b + c`, rounded once.
#[inline(always)]
fn fma(a: f32, b: f32, c: f32) -> f32 {
    GpuFloat::mul_add(a, b, c)
}

/// Which activation, by the number in a [`FusionParams`].
pub mod activation {
    /// None.
    pub const NONE: u32 = 0;
    /// [`Relu`](super::Relu).
    pub const RELU: u32 = 1;
    /// [`Gelu`](super::Gelu).
    pub const GELU: u32 = 2;
    /// [`GeluTanh`](super::GeluTanh).
    pub const GELU_TANH: u32 = 3;
    /// [`Silu`](super::Silu).
    pub const SILU: u32 = 4;
}

/// Which bias, by the number in a [`FusionParams`].
pub mod bias {
    /// None.
    pub const NONE: u32 = 0;
    /// An element for each row of C.
    pub const ROW: u32 = 1;
    /// An element for each column of C.
    pub const COLUMN: u32 = 2;
}

/// What β · C is, by the number in a [`FusionParams`].
pub mod source {
    /// A summand of what the operator is applied to.
    pub const SUMMAND: u32 = 0;
    /// A factor of the operator's value: see [`has_factor`](super::ElementOp::has_factor).
    pub const FACTOR: u32 = 1;
}

/// The operator of a launch, passed by value. Bias and residual have the elements of C.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FusionParams {
    /// 1 where C is of the 16-bit elements of A and B, 0 where it is of f32.
    pub c_16bit: u32,
    /// A constant of [`bias`].
    pub bias: u32,
    /// A constant of [`activation`].
    pub activation: u32,
    /// Leading dimension of the residual, or 0 where there is none.
    pub residual_leading: u32,
    /// A constant of [`source`].
    pub source: u32,
}

impl FusionParams {
    /// The linear combination alone.
    pub const fn none(c_16bit: bool) -> Self {
        FusionParams {
            c_16bit: c_16bit as u32,
            bias: bias::NONE,
            activation: activation::NONE,
            residual_leading: 0,
            source: source::SUMMAND,
        }
    }
}

/// The operator of a [`FusionParams`]: bias, then activation, then residual, then the source where
/// that is a factor. `N` is the type of C's elements where they are of 16 bits.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<N> {
    params: FusionParams,
    bias: AnyMatrix<N>,
    residual: AnyMatrix<N>,
}

impl<N: Output<Wide = f32>> Chosen<N> {
    /// The operator of `params`, for the first matrix of the batch.
    ///
    /// # Safety
    /// Where `params` have them, `bias` has an element for each row or column of C, and `residual`
    /// has an element for each of C. They are of C's type, and no thread writes them.
    #[inline(always)]
    pub unsafe fn new(params: FusionParams, [bias, residual]: [*const u8; 2]) -> Self {
        let matrix = |start: *const u8, leading: u32| {
            AnyMatrix::new(start.cast_mut(), 0, leading as usize, params.c_16bit != 0)
        };
        Chosen {
            params,
            bias: matrix(bias, 0),
            residual: matrix(residual, params.residual_leading),
        }
    }
}

impl<N: Output<Wide = f32>> ElementOp for Chosen<N> {
    #[inline(always)]
    fn of_matrix(self, offset: usize) -> Self {
        Chosen {
            residual: self.residual.shifted(offset),
            ..self
        }
    }

    #[inline(always)]
    fn is_identity(&self) -> bool {
        let FusionParams {
            bias,
            activation,
            residual_leading,
            ..
        } = self.params;
        (bias | activation | residual_leading) == 0
    }

    #[inline(always)]
    fn has_factor(&self) -> bool {
        self.params.source == source::FACTOR
    }

    #[inline(always)]
    fn apply(&self, at: [usize; 2], value: f32) -> f32 {
        let mut values = [value];
        self.apply_all(&|_| at, &mut values);
        values[0]
    }

    /// The choices are made once, so what is loaded of bias and residual is in flight together.
    #[inline(always)]
    fn apply_all<const COUNT: usize>(
        &self,
        at: &impl Fn(usize) -> [usize; 2],
        values: &mut [f32; COUNT],
    ) {
        let FusionParams {
            bias,
            activation,
            residual_leading,
            ..
        } = self.params;
        // SAFETY: there is an element for each row, or each column, by the contract of `new`.
        let element = |index: usize| unsafe { self.bias.load(0, index) };
        // Apart, so that results of one row or of one column share a load.
        if bias == bias::ROW {
            for i in 0..COUNT {
                values[i] += element(at(i)[0]);
            }
        } else if bias == bias::COLUMN {
            for i in 0..COUNT {
                values[i] += element(at(i)[1]);
            }
        }
        match activation {
            activation::RELU => Relu.apply_all(at, values),
            activation::GELU => Gelu.apply_all(at, values),
            activation::GELU_TANH => GeluTanh.apply_all(at, values),
            activation::SILU => Silu.apply_all(at, values),
            _ => {}
        }
        if residual_leading != 0 {
            for i in 0..COUNT {
                let [row, column] = at(i);
                // SAFETY: there is an element for it by the contract of `new`.
                values[i] += unsafe { self.residual.load(row, column) };
            }
        }
    }
}
