//! Matrices in shared memory as `wgmma` and `tcgen05` name them (PTX ISA, "Matrix Descriptor
//! Format", "Shared memory descriptor").

use crate::ir::{MatrixInputs, RowPacking};
use crate::tensor_map::TensorSwizzle;

/// Rows of a core matrix; the descriptor's stride is the distance between core matrices.
const GROUP: u64 = 8;

/// Bytes of the chunks in which swizzles move data, and in which reads are reported to observers.
pub(super) const CHUNK: u64 = 16;

/// An operand in shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    start: u64,
    /// Distance of spans along the contiguous direction.
    leading: u64,
    /// Distance of groups of rows.
    stride: u64,
    /// Rows of a group.
    group: u64,
    swizzle: TensorSwizzle,
    /// Whether it is MN-major, else K-major.
    pub across: bool,
}

impl Descriptor {
    /// That of `wgmma`, or what is wrong with it.
    pub(super) fn new(bits: u64, across: bool) -> Result<Self, String> {
        let swizzle = match bits >> 62 {
            0 => TensorSwizzle::None,
            1 => TensorSwizzle::Bytes128,
            2 => TensorSwizzle::Bytes64,
            _ => TensorSwizzle::Bytes32,
        };
        if bits >> 49 & 7 != 0 && swizzle != TensorSwizzle::None {
            return Err(with_base_offset(bits));
        }
        Ok(Self::of(bits, swizzle, across))
    }

    /// That of `tcgen05`, or what is wrong with it.
    pub(super) fn of_tensor_memory(bits: u64, across: bool) -> Result<Self, String> {
        let (fixed, base, mode) = (bits >> 46 & 7, bits >> 49 & 7, bits >> 52 & 1);
        if fixed != 1 {
            return Err(format!(
                "a matrix descriptor {bits:#018x}, whose bits 46 to 48 are {fixed}: they must be 1"
            ));
        }
        if mode != 0 {
            return Err(format!(
                "a matrix descriptor {bits:#018x} with absolute leading dimension is not supported"
            ));
        }
        let swizzle = match bits >> 61 {
            0 => TensorSwizzle::None,
            1 => TensorSwizzle::Bytes128By32,
            2 => TensorSwizzle::Bytes128,
            4 => TensorSwizzle::Bytes64,
            6 => TensorSwizzle::Bytes32,
            mode => {
                return Err(format!(
                    "a matrix descriptor {bits:#018x} with swizzling mode {mode}, which there is \
                     not"
                ));
            }
        };
        // Without a swizzle there is no pattern that the offset moves.
        if base != 0 && swizzle != TensorSwizzle::None {
            return Err(with_base_offset(bits));
        }
        Ok(Self::of(bits, swizzle, across))
    }

    fn of(bits: u64, swizzle: TensorSwizzle, across: bool) -> Self {
        let field = |shift: u32| (bits >> shift & 0x3fff) << 4;
        Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            group: match swizzle {
                TensorSwizzle::Bytes128By32 => GROUP / 2,
                _ => GROUP,
            },
            swizzle,
            across,
        }
    }

    /// Whether 32 bytes are what the swizzle moves.
    pub(super) fn swizzles_by_32(&self) -> bool {
        self.swizzle == TensorSwizzle::Bytes128By32
    }

    /// The address of the element of a row (of A; a column of B) at an index along k.
    pub(super) fn place(&self, row: u64, k: u64, bytes: u64) -> u64 {
        let span = self.swizzle.span();
        // Rows of the stored layout are K-major or MN-major.
        let (line, along) = match self.across {
            false => (row, k * bytes),
            true => (k, row * bytes),
        };
        // Without a swizzle, an operand that is MN-major has the two distances exchanged.
        let (of_lines, of_spans) = match (self.across, self.swizzle) {
            (true, TensorSwizzle::None) => (self.leading, self.stride),
            _ => (self.stride, self.leading),
        };
        let at = self.start
            + line / self.group * of_lines
            + line % self.group * span
            + along / span * of_spans
            + along % span;
        self.swizzle.apply(at)
    }

    /// The chunk of 16 bytes that begins with an element; none outside of `words`.
    pub(super) fn chunk<'w>(&self, words: &'w [u32], at: u64) -> Option<&'w [u32; 4]> {
        let first = usize::try_from(at / 4).ok()?;
        words.get(first..first.checked_add(4)?)?.first_chunk()
    }
}

/// A pattern of a swizzle that does not begin where its size says.
fn with_base_offset(bits: u64) -> String {
    format!("a matrix descriptor {bits:#018x} with matrix base offset is not supported")
}

/// How elements lie in a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements {
    /// Bytes from one to the next; of those that are narrower, bytes that count as one element
    /// where chunks are counted.
    pub bytes: u64,
    /// Elements of a chunk.
    pub count: usize,
    packing: Packing,
}

#[derive(Clone, Copy, Debug)]
enum Packing {
    Whole,
    Padded(RowPacking),
    /// Two in a byte.
    Dense,
}

impl Elements {
    /// Of A or B of `tcgen05.mma` in shared memory (PTX ISA, "Packing format for matrix A and B").
    pub(super) fn of(inputs: MatrixInputs) -> Self {
        use MatrixInputs::{E2m1, E2m3, E3m2};
        let bytes = match inputs.packed() {
            8 | 32 => 4,
            packed => 4 / u64::from(packed),
        };
        let whole = Elements {
            bytes,
            count: (CHUNK / bytes) as usize,
            packing: Packing::Whole,
        };
        match inputs {
            E2m3 | E3m2 => Elements {
                packing: Packing::Padded(RowPacking::SixBits),
                ..whole
            },
            E2m1 { dense: false } => Elements {
                packing: Packing::Padded(RowPacking::FourBits),
                ..whole
            },
            E2m1 { dense: true } => Elements {
                bytes: 1,
                count: 32,
                packing: Packing::Dense,
            },
            _ => whole,
        }
    }

    /// Of a copy that unpacks.
    pub(super) fn packed(packing: RowPacking) -> Self {
        Elements {
            bytes: 1,
            count: 16,
            packing: match packing {
                RowPacking::Bytes => Packing::Whole,
                packing => Packing::Padded(packing),
            },
        }
    }

    /// An element of a chunk as a register of `mma` would hold it: of six bits in the low bits of a
    /// byte, of four in its middle, or by themselves where two share a byte.
    pub(super) fn get(&self, chunk: &[u32; 4], at: usize) -> u32 {
        let bits = |first: usize, count: usize| {
            let low = chunk[first / 32] >> (first % 32);
            let high = match chunk.get(first / 32 + 1) {
                Some(next) if first % 32 + count > 32 => next << (32 - first % 32),
                _ => 0,
            };
            (low | high) & (u32::MAX >> (32 - count))
        };
        match self.packing {
            Packing::Whole => bits(8 * self.bytes as usize * at, 8 * self.bytes as usize),
            Packing::Padded(RowPacking::FourBits) => bits(4 * at, 4) << 2,
            Packing::Padded(_) => bits(6 * at, 6),
            Packing::Dense => bits(4 * at, 4),
        }
    }
}

/// Lines of an operand in order, rows of A or columns of B, `depth` elements of each; the chunks
/// that they lie in go to `chunks`. An error is an address that is not in `words`.
pub(super) fn load(
    words: &[u32],
    operand: Descriptor,
    elements: Elements,
    (first, count): (u64, u64),
    depth: usize,
    chunks: Option<&mut Vec<u64>>,
) -> Result<Vec<u32>, u64> {
    let in_chunk = elements.count;
    // Elements count as bytes where several share one.
    let scale = (elements.count as u64 * elements.bytes / CHUNK).max(1);
    let (rows, ks) = (first..first + count, 0..depth as u64);
    let (lines, along, step) = match operand.across {
        true => (ks, rows, depth),
        false => (rows, ks, 1),
    };
    let mut found = vec![0; count as usize * depth];
    let mut seen = Vec::new();
    for line in lines {
        for start in along.clone().step_by(in_chunk) {
            let (row, k) = match operand.across {
                true => (start, line),
                false => (line, start),
            };
            let at = match operand.across {
                true => operand.place(row / scale, k, elements.bytes),
                false => operand.place(row, k / scale, elements.bytes),
            };
            let chunk = operand.chunk(words, at).ok_or(at)?;
            let to = &mut found[(row - first) as usize * depth + k as usize..];
            let to = to.iter_mut().step_by(step).take(in_chunk).enumerate();
            match elements.packing {
                Packing::Whole => {
                    let bytes = elements.bytes as usize;
                    let bits = u32::MAX >> (32 - 8 * bytes);
                    for (i, to) in to {
                        let byte = i * bytes;
                        *to = chunk[byte / 4] >> (8 * (byte % 4)) & bits;
                    }
                }
                _ => to.for_each(|(i, to)| *to = elements.get(chunk, i)),
            }
            seen.push(at);
        }
    }
    if let Some(chunks) = chunks {
        chunks.extend(seen);
    }
    Ok(found)
}
