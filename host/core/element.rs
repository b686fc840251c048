//! Element types of matrices.

use std::fmt;

/// The element type's name on the command line and in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of an `f32`.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl ElementType {
    /// Size in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            ElementType::F16 | ElementType::Bf16 => 2,
            ElementType::F32 => 4,
            ElementType::F64 => 8,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ElementType::F16 => "f16",
            ElementType::Bf16 => "bf16",
            ElementType::F32 => "f32",
            ElementType::F64 => "f64",
        })
    }
}

/// A type that kernels compute with.
pub trait Element: bytemuck::Pod + Into<f64> + Send + Sync {
    /// Its name.
    const TYPE: ElementType;
    /// Not a number: the value that outputs hold before a kernel runs.
    const NAN: Self;
    /// Unit roundoff u: half the distance from 1 to the next larger number.
    const UNIT_ROUNDOFF: f64;

    /// The nearest value.
    fn from_f64(value: f64) -> Self;
}

impl Element for half::f16 {
    const TYPE: ElementType = ElementType::F16;
    const NAN: Self = half::f16::NAN;
    // EPSILON is 2⁻¹⁰.
    const UNIT_ROUNDOFF: f64 = 1.0 / 2048.0;

    fn from_f64(value: f64) -> Self {
        half::f16::from_f64(value)
    }
}

impl Element for half::bf16 {
    const TYPE: ElementType = ElementType::Bf16;
    const NAN: Self = half::bf16::NAN;
    // EPSILON is 2⁻⁷.
    const UNIT_ROUNDOFF: f64 = 1.0 / 256.0;

    fn from_f64(value: f64) -> Self {
        half::bf16::from_f64(value)
    }
}

impl Element for f32 {
    const TYPE: ElementType = ElementType::F32;
    const NAN: Self = f32::NAN;
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;

    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Element for f64 {
    const TYPE: ElementType = ElementType::F64;
    const NAN: Self = f64::NAN;
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

    fn from_f64(value: f64) -> Self {
        value
    }
}

/// Elements of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TensorInput {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// f32 of which only the sign, the exponent and 10 bits of the fraction are used.
    Tf32,
    /// Signed integers of 8 bits, summed in i32.
    I8,
    /// 8-bit floats with 4 bits of exponent and 3 of fraction.
    E4m3,
}

impl TensorInput {
    /// Elements in a 32-bit word.
    pub const fn per_word(self) -> u32 {
        match self {
            TensorInput::F16 | TensorInput::Bf16 => 2,
            TensorInput::Tf32 => 1,
            TensorInput::I8 | TensorInput::E4m3 => 4,
        }
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        4 / self.per_word()
    }

    /// Products that tensor cores compute in the time of one of 16-bit elements. They move as many
    /// bytes of operands in that time, whatever the type.
    pub const fn rate(self) -> f64 {
        self.per_word() as f64 / 2.0
    }

    /// α of the products of the laboratory, whose elements stand for numbers from -1 to 1: an
    /// integer for 128ths.
    pub const fn alpha(self) -> f32 {
        match self {
            TensorInput::I8 => 1.0 / (128.0 * 128.0),
            _ => 1.0,
        }
    }
}
