//! The shape of [multicast clusters](crate::gemm::wgmma::multicast).

/// Blocks of a cluster along m and n: powers of two. The host computes what kernels need of them,
/// which have no registers left for it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterShape {
    extents: [u32; 2],
    /// Their logarithms.
    log2: [u32; 2],
    /// The ranks of the blocks in the first row and in the first column, as bits. Blocks are
    /// numbered column by column.
    first_row: u32,
    first_column: u32,
}

impl ClusterShape {
    /// A block alone, without multicast.
    pub const ALONE: ClusterShape = ClusterShape::new([1; 2]);

    /// Clusters of m × n blocks: powers of two, 8 together at most.
    pub const fn new([m, n]: [u32; 2]) -> Self {
        assert!(m.is_power_of_two() && n.is_power_of_two() && m * n <= 8);
        let mut first_row = 0;
        let mut column = 0;
        while column < n {
            first_row |= 1 << (column * m);
            column += 1;
        }
        ClusterShape {
            extents: [m, n],
            log2: [m.trailing_zeros(), n.trailing_zeros()],
            first_row,
            first_column: (1 << m) - 1,
        }
    }

    /// The blocks along m and n.
    #[inline(always)]
    pub const fn extents(&self) -> [u32; 2] {
        self.extents
    }

    /// Their logarithms.
    #[inline(always)]
    pub const fn log2(&self) -> [u32; 2] {
        self.log2
    }

    /// The blocks.
    #[inline(always)]
    pub const fn blocks(&self) -> u32 {
        self.extents[0] << self.log2[1]
    }

    /// Whether there are several.
    #[inline(always)]
    pub const fn is_multicast(&self) -> bool {
        self.log2[0] | self.log2[1] != 0
    }

    /// The row and the column of the block of rank `rank`.
    #[inline(always)]
    pub const fn coord(&self, rank: u32) -> [u32; 2] {
        [rank & (self.extents[0] - 1), rank >> self.log2[0]]
    }

    /// The ranks of the blocks in row `row`, as bits.
    #[inline(always)]
    pub const fn row(&self, row: u32) -> u32 {
        self.first_row << row
    }

    /// The ranks of the blocks in column `column`, as bits.
    #[inline(always)]
    pub const fn column(&self, column: u32) -> u32 {
        self.first_column << (column << self.log2[0])
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_of_the_blocks_in_them() {
        for extents in [
            [1, 1],
            [2, 1],
            [1, 2],
            [4, 1],
            [2, 2],
            [1, 4],
            [4, 2],
            [2, 4],
            [8, 1],
            [1, 8],
        ] {
            let shape = ClusterShape::new(extents);
            let blocks = extents[0] * extents[1];
            assert_eq!((shape.extents(), shape.blocks()), (extents, blocks));
            assert_eq!(shape.is_multicast(), blocks > 1);
            let ranks = |side: usize, at: u32| {
                let those = (0..blocks).filter(|&rank| shape.coord(rank)[side] == at);
                those.map(|rank| 1 << rank).sum::<u32>()
            };
            for row in 0..extents[0] {
                assert_eq!(shape.row(row), ranks(0, row));
            }
            for column in 0..extents[1] {
                assert_eq!(shape.column(column), ranks(1, column));
            }
        }
    }
}
