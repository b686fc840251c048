//! Tensor maps.

use std::ffi::c_uint;

use ptx_emulator::{TensorElement, TensorMap, TensorSwizzle};

use crate::code::{Code, Result};
use crate::pointer::{In, Out};

/// What `cuTensorMapEncodeTiled` describes.
fn tensor_map(
    (kind, rank): (c_uint, c_uint),
    address: u64,
    (extents, strides, boxes): (In<u64>, In<u64>, In<u32>),
    swizzle: c_uint,
) -> Result<[u8; 128]> {
    let rank = rank as usize;
    if !(1..=5).contains(&rank) || !address.is_multiple_of(16) {
        return Err(Code::INVALID_VALUE);
    }
    let element_bytes = match kind {
        0 | 13..=15 => 1,
        1 | 6 | 9 => 2,
        2 | 3 | 7 | 10..=12 => 4,
        4 | 5 | 8 => 8,
        _ => return Err(Code::NOT_SUPPORTED),
    };
    let element = match kind {
        0 => TensorElement::U8,
        1 => TensorElement::U16,
        2 => TensorElement::U32,
        3 => TensorElement::S32,
        4 => TensorElement::U64,
        5 => TensorElement::S64,
        6 => TensorElement::F16,
        7 => TensorElement::F32,
        8 => TensorElement::F64,
        9 => TensorElement::Bf16,
        13 => TensorElement::U4,
        14 => TensorElement::U4Padded,
        15 => TensorElement::U6Padded,
        _ => TensorElement::Bits,
    };
    let swizzle = match swizzle {
        0 => TensorSwizzle::None,
        1 => TensorSwizzle::Bytes32,
        2 => TensorSwizzle::Bytes64,
        3 => TensorSwizzle::Bytes128,
        4 => TensorSwizzle::Bytes128By32,
        _ => return Err(Code::NOT_SUPPORTED),
    };
    let box_extent = |index| match boxes.at(index)? {
        extent @ 1..=256 => Ok(extent as u16),
        _ => Err(Code::INVALID_VALUE),
    };
    let map = TensorMap {
        address,
        element_bytes,
        extents: (0..rank)
            .map(|index| extents.at(index))
            .collect::<Result<_>>()?,
        strides: (0..rank - 1)
            .map(|index| strides.at(index))
            .collect::<Result<_>>()?,
        box_extents: (0..rank).map(box_extent).collect::<Result<_>>()?,
        swizzle,
        element,
    };
    map.to_bytes().ok_or(Code::INVALID_VALUE)
}

api! {
    fn cuTensorMapEncodeTiled(
        to: Out<[u8; 128]>, kind: c_uint, rank: c_uint, address: u64, extents: In<u64>,
        strides: In<u64>, boxes: In<u32>, element_strides: In<u32>, interleave: c_uint,
        swizzle: c_uint, _promotion: c_uint, _fill: c_uint,
    ) {
        for index in 0..(rank as usize).min(5) {
            if element_strides.at(index)? != 1 {
                return Err(Code::NOT_SUPPORTED);
            }
        }
        if interleave != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        to.set(tensor_map((kind, rank), address, (extents, strides, boxes), swizzle)?)
    }

    fn cuTensorMapReplaceAddress(map: Out<[u8; 128]>, address: u64) {
        let found = TensorMap::from_bytes(&map.get()?).filter(|_| address.is_multiple_of(16));
        let replaced = TensorMap { address, ..found.ok_or(Code::INVALID_VALUE)? };
        map.set(replaced.to_bytes().ok_or(Code::INVALID_VALUE)?)
    }
}
