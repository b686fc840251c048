//! Tensor maps: sources and destinations of the bulk copies of compute capability 9.0
//! (`cp.async.bulk.tensor`).
//!
//! A driver encodes them in 128 bytes of an undocumented layout. These have a layout of their own,
//! which only this emulator reads.

use crate::ir::{AtomicFunction, MapField};
use ptx_syntax::ast::Type;

/// Bytes of a map.
pub const TENSOR_MAP_BYTES: usize = 128;

/// Most dimensions.
pub const MAX_TENSOR_RANK: usize = 5;

/// Marks 128 bytes as a map, in the second word. Of that word CUTLASS clears bit 21, for drivers up
/// to CUDA 13.1 and tensors of less than 128 KiB, so that it must be clear anyway.
const MAGIC: u64 = 0x7061_6d72_6f53_6e74;

/// Where that word lies. In front of it is the address, as in maps of NVIDIA's driver.
const MAGIC_AT: usize = 8;

const _: () = assert!(MAGIC & 1 << 21 == 0);

/// Where the strides, the extents of the box, and the bytes behind them begin.
const STRIDES: usize = 16 + 8 * MAX_TENSOR_RANK;
const BOXES: usize = STRIDES + 8 * (MAX_TENSOR_RANK - 1);
const END: usize = BOXES + 2 * MAX_TENSOR_RANK;

/// How chunks of a box are permuted in shared memory: the bits of the address that select a chunk
/// are combined, by exclusive or, with those above bit 6. Chunks have 16 bytes unless another
/// number is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TensorSwizzle {
    /// Rows as they are.
    #[default]
    None,
    /// Within 32 bytes.
    Bytes32,
    /// Within 64 bytes.
    Bytes64,
    /// Within 128 bytes.
    Bytes128,
    /// Within 128 bytes, 32 of them at a time.
    Bytes128By32,
}

impl TensorSwizzle {
    const ALL: [TensorSwizzle; 5] = [
        TensorSwizzle::None,
        TensorSwizzle::Bytes32,
        TensorSwizzle::Bytes64,
        TensorSwizzle::Bytes128,
        TensorSwizzle::Bytes128By32,
    ];

    /// The address of a byte of an unswizzled tile.
    pub(crate) fn apply(self, address: u64) -> u64 {
        match self {
            TensorSwizzle::Bytes128By32 => address ^ (address >> 7 & 3) << 5,
            _ => address ^ ((address >> 7) & (self.span() / 16 - 1)) << 4,
        }
    }

    /// Bytes within which chunks are permuted.
    pub(crate) fn span(self) -> u64 {
        match self {
            TensorSwizzle::None => 16,
            TensorSwizzle::Bytes32 => 32,
            TensorSwizzle::Bytes64 => 64,
            TensorSwizzle::Bytes128 | TensorSwizzle::Bytes128By32 => 128,
        }
    }
}

/// What the elements of a tensor are (`CUtensorMapDataType`); reductions need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TensorElement {
    /// Not stated: they can be copied alone.
    #[default]
    Bits,
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    /// Of 4 bits, sixteen in 8 bytes.
    U4,
    /// The same, with 8 bytes of padding behind each sixteen in shared memory.
    U4Padded,
    /// Of 6 bits, sixteen in 12 bytes, with 4 bytes of padding in shared memory.
    U6Padded,
}

impl TensorElement {
    /// By their numbers in the PTX ISA ("tensormap.replace"). Number 8, f32 with subnormals
    /// flushed, can be copied alone, and so can tf32, numbers 11 and 12.
    const ALL: [TensorElement; 16] = [
        TensorElement::U8,
        TensorElement::U16,
        TensorElement::U32,
        TensorElement::S32,
        TensorElement::U64,
        TensorElement::S64,
        TensorElement::F16,
        TensorElement::F32,
        TensorElement::Bits,
        TensorElement::F64,
        TensorElement::Bf16,
        TensorElement::Bits,
        TensorElement::Bits,
        TensorElement::U4,
        TensorElement::U4Padded,
        TensorElement::U6Padded,
    ];

    /// The type in which a reduction works; none where the elements have no such reduction.
    pub(crate) fn reduced(self, function: AtomicFunction) -> Option<Type> {
        use AtomicFunction::{Add, And, Decrement, Increment, Max, Min, Or, Xor};
        let ty = match self {
            TensorElement::U32 => Type::U32,
            TensorElement::S32 => Type::S32,
            TensorElement::U64 => Type::U64,
            TensorElement::S64 => Type::S64,
            TensorElement::F16 => Type::F16,
            TensorElement::F32 => Type::F32,
            TensorElement::F64 => Type::F64,
            TensorElement::Bf16 => Type::Bf16,
            TensorElement::Bits
            | TensorElement::U8
            | TensorElement::U16
            | TensorElement::U4
            | TensorElement::U4Padded
            | TensorElement::U6Padded => return None,
        };
        let exists = match function {
            Add => true,
            Min | Max => !matches!(ty, Type::F32 | Type::F64),
            Increment | Decrement => ty == Type::U32,
            And | Or | Xor => !ty.is_float(),
            AtomicFunction::Exchange | AtomicFunction::CompareExchange => false,
        };
        exists.then_some(ty)
    }

    fn bytes(self) -> u8 {
        match self {
            TensorElement::Bits => 4,
            TensorElement::U8
            | TensorElement::U4
            | TensorElement::U4Padded
            | TensorElement::U6Padded => 1,
            TensorElement::U16 | TensorElement::F16 | TensorElement::Bf16 => 2,
            TensorElement::U32 | TensorElement::S32 | TensorElement::F32 => 4,
            TensorElement::U64 | TensorElement::S64 | TensorElement::F64 => 8,
        }
    }
}

/// A tensor in device memory and the box that one copy moves. Dimension 0 is the one that is
/// contiguous in memory. The fields are those of the driver's `cuTensorMapEncodeTiled`, without its
/// hints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorMap {
    /// Device address of the first element.
    pub address: u64,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub element_bytes: u8,
    /// Extents of the tensor in elements, one for each of up to [`MAX_TENSOR_RANK`] dimensions.
    pub extents: Vec<u64>,
    /// Distances between neighbours in dimensions 1 and up, in bytes.
    pub strides: Vec<u64>,
    /// Extents of the box in elements.
    pub box_extents: Vec<u16>,
    /// Permutation of chunks in shared memory.
    pub swizzle: TensorSwizzle,
    /// What the elements are.
    pub element: TensorElement,
}

impl TensorMap {
    /// The map as kernels get it: at an address aligned to 64 bytes. `None` where the lists do not
    /// fit each other or are longer than [`MAX_TENSOR_RANK`].
    pub fn to_bytes(&self) -> Option<[u8; TENSOR_MAP_BYTES]> {
        let rank = self.extents.len();
        let fits = (1..=MAX_TENSOR_RANK).contains(&rank)
            && self.strides.len() == rank - 1
            && self.box_extents.len() == rank;
        if !fits {
            return None;
        }
        let mut bytes = Vec::with_capacity(TENSOR_MAP_BYTES);
        bytes.extend(self.address.to_le_bytes());
        bytes.extend(MAGIC.to_le_bytes());
        let fill = |values: &[u64], count: usize, bytes: &mut Vec<u8>| {
            let values = values.iter().copied().chain(std::iter::repeat(0));
            bytes.extend(values.take(count).flat_map(u64::to_le_bytes));
        };
        fill(&self.extents, MAX_TENSOR_RANK, &mut bytes);
        fill(&self.strides, MAX_TENSOR_RANK - 1, &mut bytes);
        let extents = self.box_extents.iter().copied();
        let extents = extents.chain(std::iter::repeat(0)).take(MAX_TENSOR_RANK);
        bytes.extend(extents.flat_map(u16::to_le_bytes));
        let swizzle = TensorSwizzle::ALL
            .iter()
            .position(|&one| one == self.swizzle);
        let element = TensorElement::ALL
            .iter()
            .position(|&one| one == self.element);
        let element = element.unwrap_or(0) as u8;
        bytes.extend([
            rank as u8,
            self.element_bytes,
            swizzle.unwrap_or(0) as u8,
            element,
        ]);
        bytes.resize(TENSOR_MAP_BYTES, 0);
        bytes.try_into().ok()
    }

    /// The map that 128 bytes hold; `None` where they hold none.
    pub fn from_bytes(bytes: &[u8; TENSOR_MAP_BYTES]) -> Option<Self> {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        if word(MAGIC_AT) != MAGIC {
            return None;
        }
        let words = |from: usize, count: usize| (0..count).map(|i| word(from + 8 * i)).collect();
        let (boxes, end) = (BOXES, END);
        let rank = usize::from(bytes[end]);
        let known =
            (1..=MAX_TENSOR_RANK).contains(&rank) && matches!(bytes[end + 1], 1 | 2 | 4 | 8);
        if !known {
            return None;
        }
        let box_extents: Vec<u16> = (0..rank)
            .map(|i| u16::from_le_bytes([bytes[boxes + 2 * i], bytes[boxes + 2 * i + 1]]))
            .collect();
        // A field that was not set yet.
        if box_extents.contains(&0) {
            return None;
        }
        Some(TensorMap {
            address: word(0),
            element_bytes: bytes[end + 1],
            extents: words(16, rank),
            strides: words(16 + 8 * MAX_TENSOR_RANK, rank - 1),
            box_extents,
            swizzle: *TensorSwizzle::ALL.get(usize::from(bytes[end + 2]))?,
            element: *TensorElement::ALL.get(usize::from(bytes[end + 3]))?,
        })
    }

    /// A map with another value of a field (PTX ISA, "tensormap.replace"), or why there is none.
    pub(crate) fn replaced(
        map: &[u8; TENSOR_MAP_BYTES],
        field: MapField,
        ordinal: u32,
        value: u64,
    ) -> Result<[u8; TENSOR_MAP_BYTES], String> {
        let mut bytes = *map;
        // Kernels make maps of their own from 128 zero bytes, and leave out fields whose number is
        // 0: one dimension, elements of one byte, no swizzle.
        if map.iter().all(|byte| *byte == 0) {
            bytes[MAGIC_AT..][..8].copy_from_slice(&MAGIC.to_le_bytes());
            bytes[END..END + 2].copy_from_slice(&[1, TensorElement::U8.bytes()]);
        } else if map[MAGIC_AT..][..8] != MAGIC.to_le_bytes() {
            let message = "there is neither a tensor map nor 128 zero bytes where a field is \
                           replaced";
            return Err(message.to_string());
        }
        let at = ordinal as usize;
        if at >= MAX_TENSOR_RANK - usize::from(field == MapField::Stride) {
            return Err(format!("a tensor map has no {field:?} number {ordinal}"));
        }
        let refused = || {
            Err(format!(
                "a tensor map with {field:?} {value} is not supported"
            ))
        };
        let mut set = |at: usize, new: &[u8]| bytes[at..at + new.len()].copy_from_slice(new);
        match field {
            MapField::Address => set(0, &value.to_le_bytes()),
            MapField::Extent => set(16 + 8 * at, &(value & 0xffff_ffff).to_le_bytes()),
            MapField::Stride => set(STRIDES + 8 * at, &value.to_le_bytes()),
            MapField::BoxExtent if (1..=256).contains(&value) => {
                set(BOXES + 2 * at, &(value as u16).to_le_bytes());
            }
            MapField::Rank if value < MAX_TENSOR_RANK as u64 => set(END, &[value as u8 + 1]),
            MapField::ElementStride if value == 1 => {}
            MapField::Interleave | MapField::SwizzleAtomicity | MapField::Fill if value == 0 => {}
            MapField::Swizzle if value <= TensorSwizzle::Bytes128 as u64 => {
                set(END + 2, &[value as u8]);
            }
            MapField::ElementType => match TensorElement::ALL.get(value as usize) {
                Some(element) => {
                    set(END + 1, &[element.bytes()]);
                    set(END + 3, &[value as u8]);
                }
                // tf32, with and without flushing.
                None if matches!(value, 11 | 12) => {
                    set(END + 1, &[4]);
                    set(END + 3, &[8]);
                }
                None => return refused(),
            },
            _ => return refused(),
        }
        Ok(bytes)
    }

    /// The map and the first coordinates of a copy in units of whole bytes: of elements that are
    /// narrower in bytes, or in the words of shared memory, sixteen elements in four words. Or what
    /// is wrong with them.
    pub(crate) fn in_whole_bytes(
        mut self,
        mut start: Vec<i32>,
    ) -> Result<(TensorMap, Vec<i32>), String> {
        let (elements, units, bytes) = match self.element {
            TensorElement::U4 => (2, 1, 1),
            TensorElement::U4Padded | TensorElement::U6Padded => (16, 4, 4),
            _ => return Ok((self, start)),
        };
        let (extent, of_box) = (self.extents[0], self.box_extents[0]);
        let first = start.first().copied().unwrap_or(0);
        let is_whole = extent.is_multiple_of(elements)
            && u64::from(of_box).is_multiple_of(elements)
            && i64::from(first) % elements as i64 == 0;
        if !is_whole {
            return Err(format!(
                "a tensor map of {:?} elements with an extent of {extent}, a box of {of_box} and a \
                 first coordinate of {first}: they must be multiples of {elements}",
                self.element
            ));
        }
        self.extents[0] = extent / elements * units;
        self.box_extents[0] = (u64::from(of_box) / elements * units) as u16;
        self.element_bytes = bytes;
        if let Some(first) = start.first_mut() {
            *first = *first / elements as i32 * units as i32;
        }
        Ok((self, start))
    }

    /// Where a unit of a row lies in global memory; none of what is padding.
    pub(crate) fn offset_in_row(&self, at: u64) -> Option<u64> {
        let words = match self.element {
            TensorElement::U4Padded => 2,
            TensorElement::U6Padded => 3,
            _ => return Some(at.wrapping_mul(u64::from(self.element_bytes))),
        };
        (at % 4 < words).then(|| 4 * (at / 4 * words + at % 4))
    }

    /// Bytes of a box that an mbarrier is told of: those of its elements, without padding.
    pub(crate) fn told_bytes(&self) -> u64 {
        match self.element {
            TensorElement::U4Padded => self.box_bytes() / 2,
            TensorElement::U6Padded => self.box_bytes() / 4 * 3,
            _ => self.box_bytes(),
        }
    }

    /// Bytes of a box in shared memory.
    pub(crate) fn box_bytes(&self) -> u64 {
        let extents = self.box_extents.iter().map(|&extent| u64::from(extent));
        extents.product::<u64>() * u64::from(self.element_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_survive_encoding() {
        let map = TensorMap {
            address: 0x4000_0000_0100,
            element_bytes: 2,
            extents: vec![1 << 32, 300, 7],
            strides: vec![1 << 33, 1 << 39],
            box_extents: vec![64, 256, 1],
            swizzle: TensorSwizzle::Bytes128,
            element: TensorElement::F16,
        };
        let bytes = map.to_bytes().expect("three of each");
        assert_eq!(TensorMap::from_bytes(&bytes), Some(map.clone()));
        assert_eq!(TensorMap::from_bytes(&[0; TENSOR_MAP_BYTES]), None);
        // As CUTLASS does.
        let mut cleared = bytes;
        cleared[10] &= !(1 << 5);
        assert_eq!(cleared, bytes);
        let lopsided = TensorMap {
            strides: vec![],
            ..map
        };
        assert_eq!(lopsided.to_bytes(), None);
    }

    #[test]
    fn pieces_are_exchanged_within_their_span() {
        assert_eq!(TensorSwizzle::None.apply(0x3f5), 0x3f5);
        assert_eq!(TensorSwizzle::Bytes32.apply(0x0082), 0x0092);
        assert_eq!(TensorSwizzle::Bytes64.apply(0x0185), 0x01b5);
        assert_eq!(TensorSwizzle::Bytes128.apply(0x0380), 0x03f0);
    }
}
