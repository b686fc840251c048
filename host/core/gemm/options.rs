//! What may be asked of a product beside its operands: precision, and operators that are fused with
//! it.

use kernels_gpu::gemm::epilogue::fusion::{self, FusionParams};

/// How f32 is multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// As the element type says: f32 by fused multiply-adds.
    #[default]
    Native,
    /// f32 on tensor cores, as sums of three bfloat16 each, of whose products six are computed,
    /// from compute capability 8.0 on. Errors are of the size of those of fused multiply-adds, or
    /// smaller. Blocks with elements other than zero below 2⁻¹¹⁰, or above the largest
    /// bfloat16, take fused multiply-adds, which is slower.
    ///
    /// On compute capability 9.0 larger products are computed by `wgmma`, unless operators are
    /// fused with them. The terms take 6 bytes of workspace for each element of A and B. Where an
    /// element is outside of the range above, or k times the largest products are above 2¹²⁵, the
    /// launch behind it computes all of C as before: the host does not wait to learn of it.
    /// Products that take less time by fused multiply-adds, such as those of few rows or columns,
    /// are computed by these.
    F32Split,
}

/// A function that is applied to each element of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Activation {
    /// The element itself.
    #[default]
    None,
    /// max(x, 0).
    Relu,
    /// x · Φ(x), by the error function.
    Gelu,
    /// The approximation of GELU by the hyperbolic tangent.
    GeluTanh,
    /// x / (1 + e^−x).
    Silu,
}

/// Which elements of C have the same element of a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BiasAxis {
    /// Those of a row: the bias has an element for each row of C.
    Row,
    /// Those of a column: the bias has an element for each column of C.
    Column,
}

impl BiasAxis {
    /// That of the transposed C.
    pub fn transposed(self) -> Self {
        match self {
            BiasAxis::Row => BiasAxis::Column,
            BiasAxis::Column => BiasAxis::Row,
        }
    }
}

/// What β · C is in a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    /// A summand: C ← f(α · A · B + β · C + bias) + residual.
    #[default]
    Summand,
    /// A factor: C ← (f(α · A · B + bias) + residual) · β · C. It is a fused operator, and is 0
    /// where β is 0.
    Factor,
}

/// Operators that are fused with a product: C ← f(α · A · B + β · C + bias) + residual, where f is
/// the activation, or with β · C as [`Source`] says. Bias and residual have the element type of C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fusion {
    /// The bias: input 2 of the plan.
    pub bias: Option<BiasAxis>,
    /// The activation.
    pub activation: Activation,
    /// The residual, by its leading dimension, which is not 0: the input behind those before. Its
    /// matrices in a batch lie as far apart as those of C.
    pub residual: Option<u32>,
    /// What β · C is.
    pub source: Source,
}

impl Fusion {
    /// Whether nothing is fused.
    pub fn is_none(&self) -> bool {
        *self == Fusion::default()
    }

    /// The inputs of a plan that are bias and residual.
    pub(super) fn inputs(&self) -> [Option<usize>; 2] {
        const FIRST: usize = 2;
        let bias = self.bias.map(|_| FIRST);
        let residual = self
            .residual
            .map(|_| FIRST + usize::from(self.bias.is_some()));
        [bias, residual]
    }

    /// As kernels take it.
    pub(super) fn params(&self, c_16bit: bool) -> FusionParams {
        FusionParams {
            bias: match self.bias {
                None => fusion::bias::NONE,
                Some(BiasAxis::Row) => fusion::bias::ROW,
                Some(BiasAxis::Column) => fusion::bias::COLUMN,
            },
            activation: match self.activation {
                Activation::None => fusion::activation::NONE,
                Activation::Relu => fusion::activation::RELU,
                Activation::Gelu => fusion::activation::GELU,
                Activation::GeluTanh => fusion::activation::GELU_TANH,
                Activation::Silu => fusion::activation::SILU,
            },
            residual_leading: self.residual.unwrap_or(0),
            source: match self.source {
                Source::Summand => fusion::source::SUMMAND,
                Source::Factor => fusion::source::FACTOR,
            },
            ..FusionParams::none(c_16bit)
        }
    }
}
