//! 8-bit floats: their values, and what is said of their products.

use kernels_gpu::gemm::wgmma::float8::{Float8Params, operand_type, scaling};

/// The format of an 8-bit float (OCP 8-bit Floating Point Specification; the PTX ISA has the same
/// names).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Float8Format {
    /// 4 bits of exponent and 3 of fraction: up to 448, no infinities.
    #[default]
    E4m3,
    /// 5 bits of exponent and 2 of fraction: up to 57344.
    E5m2,
}

impl Float8Format {
    /// Bits of the fraction, the least exponent of normal numbers, and the bits of the largest
    /// number.
    const fn parameters(self) -> (i32, i32, u8) {
        match self {
            Float8Format::E4m3 => (3, -6, 0x7e),
            Float8Format::E5m2 => (2, -14, 0x7b),
        }
    }

    /// The nearest number, ties to even. What is beyond the largest number becomes that, as with
    /// the PTX instruction `cvt.rn.satfinite`.
    fn encode(self, value: f32) -> u8 {
        let (fraction_bits, least_exponent, largest) = self.parameters();
        if value.is_nan() {
            return 0x7f;
        }
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = f64::from(value.abs());
        if magnitude >= self.decode(largest) {
            return sign | largest;
        }
        // The exponent of an f64 whose value was an f32: none is subnormal.
        let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
        let exponent = exponent.max(least_exponent);
        let units = (magnitude / exp2(exponent - fraction_bits)).round_ties_even();
        let bits = units as i32 + ((exponent - least_exponent) << fraction_bits);
        // Below the largest number, rounding reaches it at most.
        sign | bits as u8
    }

    /// The number.
    fn decode(self, bits: u8) -> f64 {
        let (fraction_bits, least_exponent, largest) = self.parameters();
        let magnitude = bits & 0x7f;
        let (exponent, fraction) = (
            magnitude >> fraction_bits,
            magnitude & !(!0 << fraction_bits),
        );
        let value = match (magnitude > largest, self, fraction) {
            (true, Float8Format::E5m2, 0) => f64::INFINITY,
            (true, ..) => f64::NAN,
            _ => {
                let implicit = if exponent == 0 { 0 } else { 1 << fraction_bits };
                let exponent = i32::from(exponent.max(1)) - 1 + least_exponent;
                f64::from(i32::from(fraction) + implicit) * exp2(exponent - fraction_bits)
            }
        };
        if bits & 0x80 == 0 { value } else { -value }
    }

    /// As kernels take it.
    const fn operand_type(self) -> u32 {
        match self {
            Float8Format::E4m3 => operand_type::E4M3,
            Float8Format::E5m2 => operand_type::E5M2,
        }
    }
}

/// 2 to the power of `exponent`, which is that of a normal f64.
fn exp2(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

macro_rules! floats {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            #[repr(transparent)]
            pub struct $name(pub u8);

            // SAFETY: it is a u8, which is plain old data.
            unsafe impl bytemuck::Zeroable for $name {}

            // SAFETY: it is a u8, which is plain old data.
            unsafe impl bytemuck::Pod for $name {}

            impl $name {
                /// The nearest number, ties to even. What is beyond the largest number, infinities
                /// too, becomes that.
                pub fn from_f32(value: f32) -> Self {
                    $name(Float8Format::$name.encode(value))
                }

                /// The number.
                pub fn to_f32(self) -> f32 {
                    Float8Format::$name.decode(self.0) as f32
                }
            }

            impl From<$name> for f64 {
                fn from($name(bits): $name) -> f64 {
                    Float8Format::$name.decode(bits)
                }
            }

            impl Float8 for $name {
                const FORMAT: Float8Format = Float8Format::$name;
            }
        )*
    };
}

/// An 8-bit float.
pub trait Float8: super::GemmInput<Output = f32> {
    /// Its format.
    const FORMAT: Float8Format;
}

floats! {
    /// An 8-bit float of [`Float8Format::E4m3`], by its bits.
    E4m3;
    /// An 8-bit float of [`Float8Format::E5m2`], by its bits.
    E5m2;
}

/// What a product of 8-bit floats is told of its operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Float8Operands {
    /// The formats of A and B.
    pub formats: [Float8Format; 2],
    /// Whether sums stay on the tensor cores, which keep about 14 bits of them. Otherwise they are
    /// added to f32 after every 128 elements along k.
    pub fast_accumulation: bool,
    /// Scales of A and B: inputs 2 and 3 of the plan.
    pub scales: Scales,
}

/// Which scales A and B have. Distances are in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scales {
    /// None.
    #[default]
    None,
    /// One each.
    Tensor,
    /// One for each 1 × 128 elements of A and each 128 × 128 of B.
    Block {
        /// From the scale of a row of A to that of the next, and from one to the next along k.
        a: [u32; 2],
        /// From the scale of a block of B to the next along k, and to that of the next columns.
        b: [u32; 2],
        /// From the scales of a matrix of the batch to those of the next, of A and of B.
        batch: [u64; 2],
    },
}

impl Float8Operands {
    /// Whether sums stay on the tensor cores: with scales of blocks each k-tile is promoted.
    pub(super) fn is_fast(&self) -> bool {
        self.fast_accumulation && !matches!(self.scales, Scales::Block { .. })
    }

    /// As kernels take them, for a C of a type that is one of
    /// [`c_type`](kernels_gpu::gemm::epilogue::convert::c_type).
    pub(super) fn params(&self, c_type: u32) -> Float8Params {
        let params = Float8Params {
            c_type,
            operands: self.formats.map(Float8Format::operand_type),
            fast_accumulation: self.is_fast().into(),
            scaling: scaling::NONE,
            scales_a: [0; 2],
            scales_b: [0; 2],
            reserved: 0,
            scales_batch: [0; 2],
        };
        match self.scales {
            Scales::None => params,
            Scales::Tensor => Float8Params {
                scaling: scaling::TENSOR,
                ..params
            },
            Scales::Block { a, b, batch } => Float8Params {
                scaling: scaling::BLOCK,
                scales_a: a,
                scales_b: b,
                scales_batch: batch,
                ..params
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_its_own_nearest() {
        for bits in 0..=u8::MAX {
            for format in [Float8Format::E4m3, Float8Format::E5m2] {
                let value = format.decode(bits);
                if value.is_finite() {
                    assert_eq!(format.encode(value as f32), bits, "{format:?}");
                }
            }
        }
        assert_eq!(E4m3(0x7e).to_f32(), 448.0);
        assert_eq!(E4m3(0x01).to_f32(), 1.0 / 512.0);
        assert_eq!(E5m2(0x7b).to_f32(), 57344.0);
        assert_eq!(E5m2(0x01).to_f32(), 1.0 / 65536.0);
        assert!(E4m3(0x7f).to_f32().is_nan() && E5m2(0x7d).to_f32().is_nan());
        assert_eq!(E5m2(0xfc).to_f32(), f32::NEG_INFINITY);
    }

    #[test]
    fn what_lies_between_two_numbers_goes_to_the_nearest_and_ties_to_even() {
        for format in [Float8Format::E4m3, Float8Format::E5m2] {
            let (.., largest) = format.parameters();
            for bits in 0..largest {
                let (low, high) = (format.decode(bits), format.decode(bits + 1));
                let even = if bits % 2 == 0 { bits } else { bits + 1 };
                let middle = (low + high) / 2.0;
                assert_eq!(format.encode(middle as f32), even, "{format:?} {bits}");
                let (below, above) = (middle - (high - low) / 8.0, middle + (high - low) / 8.0);
                assert_eq!(format.encode(below as f32), bits);
                assert_eq!(format.encode(-above as f32), 0x80 | (bits + 1));
            }
            for large in [1e6, f32::INFINITY] {
                assert_eq!(format.encode(-large), 0x80 | largest);
            }
            assert!(format.decode(format.encode(f32::NAN)).is_nan());
        }
        assert_eq!(E4m3::from_f32(1e-30), E4m3(0));
    }
}
