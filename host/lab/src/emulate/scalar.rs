//! Types of values and of the elements of arrays.

use super::ArgumentError;
use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fmt;
use std::str::FromStr;

/// A fundamental type (PTX ISA, "Fundamental Types"), or bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    S8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    S16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    S32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    S64,
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

/// Every type with its names: PTX's first, which is what messages say, then those of its untyped
/// bits and of Rust.
const NAMES: [(Scalar, &[&str]); 12] = [
    (Scalar::U8, &["u8", "b8"]),
    (Scalar::S8, &["s8", "i8"]),
    (Scalar::U16, &["u16", "b16"]),
    (Scalar::S16, &["s16", "i16"]),
    (Scalar::U32, &["u32", "b32"]),
    (Scalar::S32, &["s32", "i32"]),
    (Scalar::U64, &["u64", "b64"]),
    (Scalar::S64, &["s64", "i64"]),
    (Scalar::F16, &["f16"]),
    (Scalar::Bf16, &["bf16"]),
    (Scalar::F32, &["f32"]),
    (Scalar::F64, &["f64"]),
];

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.iter().find(|(scalar, _)| scalar == self);
        f.write_str(known.map_or("", |(_, names)| names[0]))
    }
}

impl FromStr for Scalar {
    type Err = ArgumentError;

    fn from_str(name: &str) -> Result<Self, ArgumentError> {
        let known = NAMES.iter().find(|(_, names)| names.contains(&name));
        let (scalar, _) = known.ok_or_else(|| ArgumentError::Type(name.to_owned()))?;
        Ok(*scalar)
    }
}

/// Evaluates an expression with a type alias `T` for the Rust type of a scalar.
macro_rules! with_type {
    ($scalar:expr, $body:expr) => {{
        match $scalar {
            Scalar::U8 => {
                type T = u8;
                $body
            }
            Scalar::S8 => {
                type T = i8;
                $body
            }
            Scalar::U16 => {
                type T = u16;
                $body
            }
            Scalar::S16 => {
                type T = i16;
                $body
            }
            Scalar::U32 => {
                type T = u32;
                $body
            }
            Scalar::S32 => {
                type T = i32;
                $body
            }
            Scalar::U64 => {
                type T = u64;
                $body
            }
            Scalar::S64 => {
                type T = i64;
                $body
            }
            Scalar::F16 => {
                type T = f16;
                $body
            }
            Scalar::Bf16 => {
                type T = bf16;
                $body
            }
            Scalar::F32 => {
                type T = f32;
                $body
            }
            Scalar::F64 => {
                type T = f64;
                $body
            }
        }
    }};
}

/// What parsing, random numbers and counting need of each type.
trait Value: Sized {
    fn parse(text: &str) -> Option<Self>;
    fn random(rng: &mut StdRng) -> Self;
    fn from_index(index: usize) -> Self;
    fn to_f64(self) -> f64;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Value for $ty {
            fn parse(text: &str) -> Option<Self> {
                let digits = text.replace('_', "");
                match digits.strip_prefix("0x") {
                    Some(digits) => Self::from_str_radix(digits, 16).ok(),
                    None => digits.parse().ok(),
                }
            }

            fn random(rng: &mut StdRng) -> Self {
                rng.random()
            }

            fn from_index(index: usize) -> Self {
                // Small types start again at 0, as counting in them does.
                index as Self
            }

            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ty, $from:expr;)*) => {$(
        impl Value for $ty {
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn random(rng: &mut StdRng) -> Self {
                $from(rng.random_range(-1.0..1.0f64))
            }

            fn from_index(index: usize) -> Self {
                $from(index as f64)
            }

            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64);
floats! {
    f16, f16::from_f64;
    bf16, bf16::from_f64;
    f32, |value: f64| value as f32;
    f64, |value: f64| value;
}

impl Scalar {
    /// Size in bytes.
    pub fn bytes(self) -> usize {
        with_type!(self, size_of::<T>())
    }

    /// The type as which NumPy files hold it: itself, but unsigned bits for bf16, which NumPy does
    /// not have.
    pub fn stored_as(self) -> Scalar {
        match self {
            Scalar::Bf16 => Scalar::U16,
            other => other,
        }
    }

    /// The bytes of a value, as they lie in memory.
    ///
    /// # Errors
    /// [`ArgumentError::Value`] where the type has no such value.
    pub fn parse(self, text: &str) -> Result<Vec<u8>, ArgumentError> {
        let bytes = with_type!(self, {
            <T as Value>::parse(text).map(|value| value.to_le_bytes().to_vec())
        });
        bytes.ok_or_else(|| ArgumentError::Value {
            value: text.to_owned(),
            element: self,
        })
    }

    /// Values drawn by a seed: floats from [-1, 1), integers of all sizes.
    pub fn random(self, count: usize, seed: u64) -> Vec<u8> {
        let mut rng = StdRng::seed_from_u64(seed);
        with_type!(self, {
            let values = (0..count).map(|_| <T as Value>::random(&mut rng));
            values.flat_map(T::to_le_bytes).collect()
        })
    }

    /// 0, 1, 2 and so on.
    pub fn iota(self, count: usize) -> Vec<u8> {
        with_type!(self, {
            let values = (0..count).map(<T as Value>::from_index);
            values.flat_map(T::to_le_bytes).collect()
        })
    }

    /// A value in words; `bytes` are as many as the type has.
    pub fn show(self, bytes: &[u8]) -> String {
        with_type!(self, {
            let value = bytes.try_into().map(T::from_le_bytes);
            value.map_or_else(|_| String::new(), |value| value.to_string())
        })
    }

    /// A value as a double, rounded if need be; `bytes` are as many as the type has.
    pub fn to_f64(self, bytes: &[u8]) -> f64 {
        with_type!(self, {
            let value = bytes.try_into().map(T::from_le_bytes);
            value.map_or(f64::NAN, <T as Value>::to_f64)
        })
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64)
    }
}
