//! Tensor maps: what the bulk tensor copies of compute capability 9.0 (`cp.async.bulk.tensor`) copy
//! from.

use std::ffi::c_void;

use crate::error::DriverError;
use crate::table;

/// Most dimensions that a tensor map can have.
const MAX_RANK: usize = 5;

/// Element type of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TensorElement {
    /// 8-bit unsigned integer.
    U8 = 0,
    /// 16-bit unsigned integer.
    U16 = 1,
    /// 32-bit unsigned integer.
    U32 = 2,
    /// 32-bit signed integer.
    I32 = 3,
    /// 64-bit unsigned integer.
    U64 = 4,
    /// 64-bit signed integer.
    I64 = 5,
    /// IEEE half precision.
    F16 = 6,
    /// IEEE single precision.
    F32 = 7,
    /// IEEE double precision.
    F64 = 8,
    /// bfloat16.
    Bf16 = 9,
    /// Single precision, denormals flushed to zero by the copy.
    F32Ftz = 10,
    /// Single precision, rounded to TensorFloat-32 by the copy.
    Tf32 = 11,
    /// TensorFloat-32, denormals flushed to zero.
    Tf32Ftz = 12,
}

impl TensorElement {
    /// Size of one element, in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            TensorElement::U8 => 1,
            TensorElement::U16 | TensorElement::F16 | TensorElement::Bf16 => 2,
            TensorElement::U64 | TensorElement::I64 | TensorElement::F64 => 8,
            _ => 4,
        }
    }
}

/// How 16-byte pieces of a box are permuted in shared memory, so that column accesses spread over
/// the banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum TensorSwizzle {
    /// Rows as they are.
    #[default]
    None = 0,
    /// Within 32 bytes.
    Bytes32 = 1,
    /// Within 64 bytes.
    Bytes64 = 2,
    /// Within 128 bytes.
    Bytes128 = 3,
}

impl TensorSwizzle {
    /// Longest row of a box, in bytes; `None` where only the limit of 256 elements holds.
    const fn span(self) -> Option<u64> {
        match self {
            TensorSwizzle::None => None,
            TensorSwizzle::Bytes32 => Some(32),
            TensorSwizzle::Bytes64 => Some(64),
            TensorSwizzle::Bytes128 => Some(128),
        }
    }
}

/// Size of the pieces in which the L2 cache fetches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum TensorPromotion {
    /// Only what is asked for.
    #[default]
    None = 0,
    /// 64 bytes.
    Bytes64 = 1,
    /// 128 bytes.
    Bytes128 = 2,
    /// 256 bytes.
    Bytes256 = 3,
}

/// What a copy reads outside the tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum TensorOutOfBounds {
    /// Zeros.
    #[default]
    Zero = 0,
    /// A NaN that a following fused multiply-add of the tensor core takes as zero; floating-point
    /// elements only.
    Nan = 1,
}

/// A tensor in device memory and the box that one copy moves. Dimension 0 is the one that is
/// contiguous in memory.
#[derive(Clone, Copy, Debug)]
pub struct TensorDescription<'a> {
    /// Element type.
    pub element: TensorElement,
    /// Device address of the first element, a multiple of 16.
    pub address: u64,
    /// Extents of the tensor, in elements: 1 to 5 of them, each from 1 to 2^32.
    pub extents: &'a [u64],
    /// Distances between neighbours in dimensions 1 and up, in bytes: one fewer than `extents`,
    /// each a multiple of 16 below 2^40.
    pub strides: &'a [u64],
    /// Extents of the box, in elements: as many as `extents`, each from 1 to 256; a row of the box
    /// (dimension 0) is a multiple of 16 bytes and no longer than the span of `swizzle`.
    pub box_extents: &'a [u32],
    /// Permutation in shared memory.
    pub swizzle: TensorSwizzle,
    /// Fetches of the L2 cache.
    pub promotion: TensorPromotion,
    /// Elements outside the tensor.
    pub out_of_bounds: TensorOutOfBounds,
}

/// Why a [`TensorMap`] cannot be made. Limits: CUDA driver API, `cuTensorMapEncodeTiled`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorMapError {
    /// The number of dimensions is out of range, or differs between the lists.
    #[error(
        "a tensor map of {extents} extents, {strides} strides and {box_extents} box extents: give 1 to 5 extents, one stride fewer, and as many box extents"
    )]
    Rank {
        /// Number of extents.
        extents: usize,
        /// Number of strides.
        strides: usize,
        /// Number of box extents.
        box_extents: usize,
    },
    /// The address is not a multiple of 16.
    #[error("the tensor at {address:#x} is not aligned to 16 bytes")]
    Address {
        /// The address.
        address: u64,
    },
    /// An extent is out of range.
    #[error(
        "extent {extent} of dimension {dimension} is out of range: 1 to 2^32 elements can be mapped"
    )]
    Extent {
        /// The dimension.
        dimension: usize,
        /// Its extent.
        extent: u64,
    },
    /// A stride is out of range or no multiple of 16.
    #[error(
        "stride {stride} of dimension {dimension} is no multiple of 16 bytes below 2^40: pad the rows"
    )]
    Stride {
        /// The dimension.
        dimension: usize,
        /// Its stride in bytes.
        stride: u64,
    },
    /// An extent of the box is out of range.
    #[error(
        "box extent {extent} of dimension {dimension} is out of range: a box takes 1 to 256 elements"
    )]
    BoxExtent {
        /// The dimension.
        dimension: usize,
        /// Its extent in the box.
        extent: u32,
    },
    /// A row of the box is no multiple of 16 bytes.
    #[error("a box row of {bytes} bytes is no multiple of 16 bytes")]
    BoxRow {
        /// Length of the row in bytes.
        bytes: u64,
    },
    /// A row of the box is longer than the swizzle's span.
    #[error(
        "a box row of {bytes} bytes exceeds the swizzle span of {span} bytes: use a narrower box"
    )]
    Swizzle {
        /// Length of the row in bytes.
        bytes: u64,
        /// Span of the swizzle in bytes.
        span: u64,
    },
    /// The driver refused the map.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// `CUtensorMap`, an opaque descriptor of 128 bytes.
#[repr(C, align(128))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawTensorMap([u64; 16]);

/// A tensor map as kernels take it: 128 bytes that must lie 64-byte aligned in constant, parameter
/// or global memory.
#[derive(Clone, Copy, Debug)]
pub struct TensorMap(RawTensorMap);

impl TensorMap {
    /// Encodes a tiled tensor map (`cuTensorMapEncodeTiled`). Neither the tensor nor a device is
    /// touched.
    ///
    /// # Errors
    /// See [`TensorMapError`]. Needs a driver for CUDA 12.0; older ones give `CUDA_ERROR_NOT_FOUND`
    /// (500).
    pub fn tiled(tensor: &TensorDescription<'_>) -> Result<Self, TensorMapError> {
        check(tensor)?;
        let element_strides = [1; MAX_RANK];
        let mut map = RawTensorMap([0; 16]);
        // SAFETY: `check` has seen to the lengths of the lists, which the driver reads up to the
        // rank. It writes the 128 bytes of the map and does not follow the tensor's address.
        unsafe {
            table::cuTensorMapEncodeTiled::call(
                &mut map,
                tensor.element as u32,
                tensor.extents.len() as u32,
                tensor.address as *mut c_void,
                tensor.extents.as_ptr(),
                tensor.strides.as_ptr(),
                tensor.box_extents.as_ptr(),
                element_strides.as_ptr(),
                0,
                tensor.swizzle as u32,
                tensor.promotion as u32,
                tensor.out_of_bounds as u32,
            )
        }
        .check("cuTensorMapEncodeTiled")?;
        Ok(TensorMap(map))
    }

    /// The descriptor's bytes, for a kernel parameter or a copy to the device.
    pub fn as_bytes(&self) -> &[u8; 128] {
        // SAFETY: 16 u64 are 128 initialised bytes, and u8 has no alignment.
        unsafe { &*self.0.0.as_ptr().cast() }
    }
}

fn check(tensor: &TensorDescription<'_>) -> Result<(), TensorMapError> {
    let rank = tensor.extents.len();
    if !(1..=MAX_RANK).contains(&rank)
        || tensor.strides.len() + 1 != rank
        || tensor.box_extents.len() != rank
    {
        return Err(TensorMapError::Rank {
            extents: rank,
            strides: tensor.strides.len(),
            box_extents: tensor.box_extents.len(),
        });
    }
    if !tensor.address.is_multiple_of(16) {
        return Err(TensorMapError::Address {
            address: tensor.address,
        });
    }
    for (dimension, &extent) in tensor.extents.iter().enumerate() {
        if !(1..=1 << 32).contains(&extent) {
            return Err(TensorMapError::Extent { dimension, extent });
        }
    }
    for (below, &stride) in tensor.strides.iter().enumerate() {
        if !stride.is_multiple_of(16) || stride >= 1 << 40 {
            return Err(TensorMapError::Stride {
                dimension: below + 1,
                stride,
            });
        }
    }
    for (dimension, &extent) in tensor.box_extents.iter().enumerate() {
        if !(1..=256).contains(&extent) {
            return Err(TensorMapError::BoxExtent { dimension, extent });
        }
    }
    let bytes = u64::from(tensor.box_extents[0]) * tensor.element.bytes();
    if !bytes.is_multiple_of(16) {
        return Err(TensorMapError::BoxRow { bytes });
    }
    match tensor.swizzle.span() {
        Some(span) if bytes > span => Err(TensorMapError::Swizzle { bytes, span }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: TensorDescription<'static> = TensorDescription {
        element: TensorElement::Bf16,
        address: 0x7f00_0000_0000,
        extents: &[768, 4096],
        strides: &[1536],
        box_extents: &[64, 128],
        swizzle: TensorSwizzle::Bytes128,
        promotion: TensorPromotion::Bytes128,
        out_of_bounds: TensorOutOfBounds::Zero,
    };

    #[test]
    fn a_valid_description_passes() {
        assert_eq!(check(&MATRIX), Ok(()));
        assert_eq!(
            check(&TensorDescription {
                extents: &[1 << 32],
                strides: &[],
                box_extents: &[64],
                ..MATRIX
            }),
            Ok(())
        );
    }

    #[test]
    fn each_limit_has_its_message() {
        let cases: [(TensorDescription<'_>, &str); 9] = [
            (
                TensorDescription {
                    extents: &[],
                    strides: &[],
                    box_extents: &[],
                    ..MATRIX
                },
                "0 extents",
            ),
            (
                TensorDescription {
                    strides: &[1536, 16],
                    ..MATRIX
                },
                "2 strides",
            ),
            (
                TensorDescription {
                    box_extents: &[64],
                    ..MATRIX
                },
                "1 box extents",
            ),
            (
                TensorDescription {
                    address: 0x1008,
                    ..MATRIX
                },
                "0x1008",
            ),
            (
                TensorDescription {
                    extents: &[768, 0],
                    ..MATRIX
                },
                "extent 0 of dimension 1",
            ),
            (
                TensorDescription {
                    strides: &[1538],
                    ..MATRIX
                },
                "stride 1538 of dimension 1",
            ),
            (
                TensorDescription {
                    box_extents: &[64, 257],
                    ..MATRIX
                },
                "box extent 257",
            ),
            (
                TensorDescription {
                    box_extents: &[4, 8],
                    ..MATRIX
                },
                "row of 8 bytes",
            ),
            (
                TensorDescription {
                    box_extents: &[128, 64],
                    ..MATRIX
                },
                "span of 128 bytes",
            ),
        ];
        for (tensor, part) in cases {
            let message = check(&tensor).unwrap_err().to_string();
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
}
