//! The instances of the general products, for whoever launches them.
//!
//! All take `(a, len, b, len, c, partials, gemm)`: the operands as slices, C, memory for partial products or null, and a
//! [`Gemm`](super::Gemm) by value.
//!
//! # Safety
//! `a`, `b` and `c` are device arrays as [the parameters](super) describe them, `c` and `partials` apart from all others;
//! operands lie as the instance expects; grid, block and dynamic shared memory are those of a
//! [`Choice`](super::choose::Choice) for the same sizes. No extent is 0, but k may be.

use super::ring;

/// One instance that works by tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The PTX entry.
    pub entry: &'static str,
    /// Rows, columns and depth of a tile.
    pub tile: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks that fit on a multiprocessor of the largest GPUs.
    pub resident: u32,
    /// The longest [slice](super::slices) that it makes of k, if any.
    pub slice: Option<u32>,
    /// How A and B lie: constants of [`way`](super::operand::way).
    pub ways: [u32; 2],
}

impl Instance {
    /// The instance of elements `T` with so many stages of tiles.
    pub(crate) const fn new<T>(
        entry: &'static str,
        tile: [usize; 3],
        threads: u32,
        stages: usize,
        resident: u32,
        ways: [u32; 2],
    ) -> Self {
        Instance {
            entry,
            tile: [tile[0] as u32, tile[1] as u32, tile[2] as u32],
            threads,
            shared_bytes: ring::shared_bytes::<T>(tile, stages) as u32,
            resident,
            slice: None,
            ways,
        }
    }
}
