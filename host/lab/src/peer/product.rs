//! A product, as NVIDIA's libraries are asked for it.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use warpladder::launch::DevicePtr;

/// Types of elements, with the numbers of `cudaDataType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataType {
    /// IEEE binary32.
    F32 = 0,
    /// IEEE binary64.
    F64 = 1,
    /// IEEE binary16.
    F16 = 2,
    /// Signed integers of 8 bits, of A and B alone.
    I8 = 3,
    /// Signed integers of 32 bits: C of such A and B, with integers for α and β.
    I32 = 10,
    /// bfloat16.
    Bf16 = 14,
    /// 8-bit floats with 4 bits of exponent and 3 of fraction, of A and B alone. cuBLASLt has them
    /// where both are K-major, and multiplies by scales of 1 where it is given none.
    E4m3 = 28,
}

/// A product C ← α op(A) · op(B) + β C of row-major matrices in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Type of A and B.
    pub input: DataType,
    /// Type of C.
    pub output: DataType,
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// The dimension that is summed over.
    pub k: u32,
    /// A, B and C.
    pub pointers: [DevicePtr; 3],
    /// Distance of two rows as they are stored.
    pub leading: [u32; 3],
    /// Whether op transposes A, and B.
    pub transposed: [bool; 2],
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
    /// Number of products, and the distance of two of each matrix.
    pub batch: (u32, [u64; 3]),
    /// Whether products of `f32` may round their inputs to TF32.
    pub tf32: bool,
}

impl Product {
    /// The same product as the libraries take it, with column-major matrices: a row-major matrix is
    /// the transpose of a column-major one, so it is C' = op(B)' · op(A)' with the operands
    /// swapped.
    pub(crate) fn column_major(&self) -> Self {
        let [a, b, c] = self.pointers;
        let [lda, ldb, ldc] = self.leading;
        let [transposed_a, transposed_b] = self.transposed;
        let (count, [stride_a, stride_b, stride_c]) = self.batch;
        Product {
            m: self.n,
            n: self.m,
            pointers: [b, a, c],
            leading: [ldb, lda, ldc],
            transposed: [transposed_b, transposed_a],
            batch: (count, [stride_b, stride_a, stride_c]),
            ..*self
        }
    }

    /// What to compare with where cuBLASLt has no algorithm.
    pub(super) fn other_choice(&self) -> &'static str {
        match self.input {
            DataType::E4m3 => "compare in the layout nt, with n and k that are multiples of 16",
            _ => "compare with --peer cublas",
        }
    }

    /// `cublasComputeType_t`: in what it is accumulated.
    pub(super) fn compute_type(&self) -> c_int {
        match (self.output, self.tf32) {
            // CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_32F_FAST_TF32 and
            // CUBLAS_COMPUTE_32F.
            (DataType::F64, _) => 70,
            (DataType::I32, _) => 72,
            (_, true) => 77,
            _ => 68,
        }
    }

    /// The type of α and β: that which is computed in.
    pub(super) fn scale_type(&self) -> DataType {
        match self.output {
            DataType::F64 | DataType::I32 => self.output,
            _ => DataType::F32,
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Product {
            m,
            n,
            k,
            input,
            output,
            ..
        } = self;
        let [a, b] = self
            .transposed
            .map(|transposed| if transposed { 't' } else { 'n' });
        write!(
            f,
            "{m} x {n} x {k} {a}{b} of {input} with an output of {output}"
        )
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataType::F32 => "f32",
            DataType::F64 => "f64",
            DataType::F16 => "f16",
            DataType::Bf16 => "bf16",
            DataType::I8 => "i8",
            DataType::I32 => "i32",
            DataType::E4m3 => "e4m3",
        })
    }
}

/// α and β in the type that is computed in.
pub(super) enum Factors {
    Single([f32; 2]),
    Double([f64; 2]),
    Integer([i32; 2]),
}

impl Factors {
    /// Those of a product.
    pub(super) fn of(product: &Product) -> Self {
        let factors = [product.alpha, product.beta];
        match product.scale_type() {
            DataType::F64 => Factors::Double(factors),
            DataType::I32 => Factors::Integer(factors.map(|factor| factor as i32)),
            _ => Factors::Single(factors.map(|factor| factor as f32)),
        }
    }

    /// Where they lie, on the host, as long as this value does.
    pub(super) fn pointers(&self) -> [*const c_void; 2] {
        match self {
            Factors::Single(factors) => factors
                .each_ref()
                .map(|factor| ptr::from_ref(factor).cast()),
            Factors::Double(factors) => factors
                .each_ref()
                .map(|factor| ptr::from_ref(factor).cast()),
            Factors::Integer(factors) => factors
                .each_ref()
                .map(|factor| ptr::from_ref(factor).cast()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A product whose numbers all differ.
    pub(in super::super) fn some_product() -> Product {
        Product {
            input: DataType::Bf16,
            output: DataType::F32,
            m: 3,
            n: 5,
            k: 7,
            pointers: [DevicePtr(256), DevicePtr(512), DevicePtr(1024)],
            leading: [7, 5, 6],
            transposed: [false, true],
            alpha: 2.0,
            beta: 0.5,
            batch: (1, [10, 20, 30]),
            tf32: false,
        }
    }

    #[test]
    fn operands_are_swapped_for_column_major_matrices() {
        let swapped = some_product().column_major();
        assert_eq!((swapped.m, swapped.n, swapped.k), (5, 3, 7));
        assert_eq!(swapped.pointers.map(|DevicePtr(at)| at), [512, 256, 1024]);
        assert_eq!(swapped.leading, [5, 7, 6]);
        assert_eq!(swapped.transposed, [true, false]);
        assert_eq!(swapped.batch, (1, [20, 10, 30]));
        let back = swapped.column_major();
        assert_eq!((back.m, back.leading), (3, [7, 5, 6]));
    }

    /// The numbers of `cublas_api.h` and `library_types.h`.
    #[test]
    fn what_is_computed_in_follows_from_the_types() {
        let of = |output, tf32| {
            let product = Product {
                output,
                tf32,
                ..some_product()
            };
            (product.compute_type(), product.scale_type() as c_int)
        };
        assert_eq!(of(DataType::F32, false), (68, 0));
        assert_eq!(of(DataType::F32, true), (77, 0));
        assert_eq!(of(DataType::Bf16, false), (68, 0));
        assert_eq!(of(DataType::F16, false), (68, 0));
        assert_eq!(of(DataType::F64, false), (70, 1));
        assert_eq!(of(DataType::I32, false), (72, 10));
    }

    #[test]
    fn factors_are_of_the_type_that_is_computed_in() {
        let product = some_product();
        let factors = Factors::of(&product);
        assert!(matches!(factors, Factors::Single([2.0, 0.5])));
        let [_, beta] = factors.pointers();
        // SAFETY: it is the pointer to a live f32.
        assert_eq!(unsafe { *beta.cast::<f32>() }, 0.5);
        let double = Product {
            output: DataType::F64,
            ..product
        };
        assert!(matches!(Factors::of(&double), Factors::Double([2.0, 0.5])));
        let integer = Product {
            output: DataType::I32,
            beta: 0.0,
            ..product
        };
        assert!(matches!(Factors::of(&integer), Factors::Integer([2, 0])));
    }
}
