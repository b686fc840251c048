//! Persistent tile scheduler: which block computes which tiles of C, and which of their k-tiles.
//!
//! Tiles of C are numbered matrix by matrix of a batch. Within a matrix they are rasterised column
//! by column in groups of [`GROUP_M`] or [`GROUP_M_ONE_WAVE`] rows of tiles (GROUP_M swizzle).
//! Tiles of neighbouring numbers then find each other's rows of A and columns of B in the L2 cache.
//!
//! A GEMM of fewer tiles than multiprocessors, or of a few more than a multiple of them, leaves
//! many multiprocessors idle in its partial wave. So only the first tiles are data-parallel: one
//! block computes each of them. The other tiles are stream-K tiles: several blocks compute splits
//! of the k-tiles of each.
//!
//! - Where there are two multiprocessors or more for each stream-K tile, as many blocks compute
//!   equal splits of it, to within one k-tile.
//! - Where there are fewer, one block computes the long *head split* of a tile, and another one its
//!   short *tail split*. The grid then has more blocks than multiprocessors, with the head splits
//!   first. The multiprocessors without a head split compute tail splits, one after the other.
//!
//! The splits of all tiles begin at the same few offsets along k, so blocks find the operands in
//! the L2 cache. Work units that begin at any offset do not (Osama, Merrill, Cecka, Garland and
//! Owens, "Stream-K", PPoPP 2023).

use super::{GROUP_M, Split, rasterize};

/// GROUP_M of GEMMs whose tiles are computed in one wave. Neighbours along a row of tiles then load
/// the same rows of A at the same time. The L2 cache, from which all blocks then load much at a
/// time, delivers these rows sooner.
pub const GROUP_M_ONE_WAVE: u32 = 2;

/// What reduces the partial sums of a stream-K tile.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionMode {
    /// Serial fix-up by the last block of the tile to arrive.
    LastBlock,
    /// DSMEM reduction by all blocks of the tile, which are a cluster: see
    /// [`dsmem`](crate::gemm::reduction::dsmem). All tiles are stream-K tiles then.
    Cluster,
    /// The reduction kernel, a launch behind this one: see
    /// [`stream_k`](crate::gemm::reduction::stream_k). All tiles are stream-K tiles then.
    Kernel,
}

/// Parameters of the tile scheduler, passed by value beside
/// [`GemmParams`](crate::gemm::GemmParams).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSchedulerParams {
    /// Matrices in the batch.
    pub batch: u32,
    /// Data-parallel tiles, which come first.
    pub data_parallel_tiles: u32,
    /// Splits of each stream-K tile: at least 1, at most its number of k-tiles.
    pub splits: u32,
    /// k-tiles of the head split where a stream-K tile has a head and a tail split: fewer than all.
    /// `splits` is 2 then. Otherwise 0.
    pub head_k_tiles: u32,
    /// 1 where TMA can store C: it, its rows and its matrices begin at multiples of 16 bytes.
    pub tma_store: u32,
    /// What reduces the partial sums.
    pub reduction: ReductionMode,
    /// GROUP_M: rows of tiles in a group of the rasterisation, a multiple of `multicast`.
    pub group_m: u32,
    /// Blocks of a [multicast cluster](crate::gemm::wgmma::multicast), whose tiles are
    /// data-parallel; 1 without multicast.
    pub multicast: u32,
    /// Offset of the partial sums in the workspace, in elements. With
    /// [`ReductionMode::LastBlock`], the [`counters`] of the stream-K tiles lie before them.
    pub partial_sums_offset: u32,
}

impl TileSchedulerParams {
    /// The tiles of C of m × n elements. Tiles have `tile` = BM × BN elements.
    #[inline(always)]
    pub const fn tiles(&self, [m, n]: [u32; 2], tile: [u32; 2]) -> TileGrid {
        TileGrid::new([m, n], tile, self.batch)
            .for_cluster(self.multicast)
            .with_group_m(self.group_m)
    }
}

/// `number` rounded up to a multiple of `multiple`, a power of two: a kernel begins sooner without
/// the division.
#[inline(always)]
pub const fn round_up(number: u32, multiple: u32) -> u32 {
    (number + (multiple - 1)) & !(multiple - 1)
}

/// Counters of `stream_k_tiles` tiles: one for each consumer warpgroup of a tile.
pub const fn counters(stream_k_tiles: u32, consumers: usize) -> u64 {
    stream_k_tiles as u64 * consumers as u64
}

/// The tiles of C, in the order of their numbers.
#[derive(Clone, Copy, Debug)]
pub struct TileGrid {
    /// BM and BN.
    tile: [u32; 2],
    /// Tiles of a matrix along m and n.
    tiles_m: u32,
    tiles_n: u32,
    batch: u32,
    /// Rows of tiles in a group.
    group_m: u32,
}

/// Tile coordinate: where a tile begins, in elements of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileCoord {
    /// First row and column.
    pub row: u32,
    /// See `row`.
    pub column: u32,
    /// Matrix of the batch.
    pub matrix: u32,
}

impl TileGrid {
    /// Tiles of `tile` = BM × BN elements, of a batch of matrices of m × n, rasterised in groups of
    /// [`GROUP_M`] rows of tiles.
    #[inline(always)]
    pub const fn new([m, n]: [u32; 2], tile: [u32; 2], batch: u32) -> Self {
        TileGrid {
            tile,
            tiles_m: m.div_ceil(tile[0]),
            tiles_n: n.div_ceil(tile[1]),
            batch,
            group_m: GROUP_M,
        }
    }

    /// The same in groups of `group_m` rows of tiles, 1 or more.
    #[inline(always)]
    pub const fn with_group_m(self, group_m: u32) -> Self {
        TileGrid { group_m, ..self }
    }

    /// The same for clusters of `blocks` blocks, whose tiles lie below each other and have
    /// neighbouring numbers. The last tiles of a matrix may lie outside of it.
    ///
    /// `blocks` is a power of two that divides the rows of a group.
    #[inline(always)]
    pub const fn for_cluster(self, blocks: u32) -> Self {
        TileGrid {
            tiles_m: round_up(self.tiles_m, blocks),
            ..self
        }
    }

    /// The number of tiles.
    #[inline(always)]
    pub const fn count(&self) -> u32 {
        self.tiles_m * self.tiles_n * self.batch
    }

    /// The coordinate of a tile.
    #[inline(always)]
    pub fn coord(&self, tile: u32) -> TileCoord {
        // The divisor is positive where there is a tile.
        let in_matrix = (self.tiles_m * self.tiles_n).max(1);
        let (matrix, tile) = (tile / in_matrix, tile % in_matrix);
        let [row, column] = rasterize(tile, [self.tiles_m, self.tiles_n], self.group_m);
        TileCoord {
            row: row * self.tile[0],
            column: column * self.tile[1],
            matrix,
        }
    }
}

/// A work unit: consecutive k-tiles of one tile, all of them or one split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkUnit {
    /// The tile.
    pub tile: u32,
    /// The first k-tile.
    pub first_k_tile: u32,
    /// The number of k-tiles.
    pub k_tiles: u32,
}

/// The work units of one block: its split of a stream-K tile first, then its data-parallel tiles.
#[derive(Clone, Copy, Debug)]
pub struct WorkUnits {
    stream_k: StreamK,
    /// The work unit of a stream-K tile, until it has been returned.
    split: Option<WorkUnit>,
    /// The next data-parallel tile.
    tile: u32,
}

/// The stream-K decomposition of a GEMM into work units.
#[derive(Clone, Copy, Debug)]
pub struct StreamK {
    /// k-tiles of a tile.
    k_tiles: u32,
    data_parallel_tiles: u32,
    stream_k_tiles: u32,
    /// Splits of a stream-K tile.
    splits: u32,
    /// k-tiles of the head split where there is a head and a tail split, or 0.
    head_k_tiles: u32,
    /// Blocks of the grid.
    blocks: u32,
}

impl StreamK {
    /// The decomposition of `tiles` tiles of `k_tiles` k-tiles each, for a grid of `blocks` blocks.
    #[inline(always)]
    pub const fn new(
        tiles: u32,
        scheduler: &TileSchedulerParams,
        k_tiles: u32,
        blocks: u32,
    ) -> Self {
        StreamK {
            k_tiles,
            data_parallel_tiles: scheduler.data_parallel_tiles,
            stream_k_tiles: tiles - scheduler.data_parallel_tiles,
            splits: scheduler.splits,
            head_k_tiles: scheduler.head_k_tiles,
            blocks,
        }
    }

    /// The first k-tile of a split. Where `splits` does not divide the k-tiles, the first splits
    /// have one more.
    #[inline(always)]
    const fn first_k_tile(&self, split: u32) -> u32 {
        if self.head_k_tiles != 0 {
            return match split {
                0 => 0,
                1 => self.head_k_tiles,
                _ => self.k_tiles,
            };
        }
        let (each, longer) = (self.k_tiles / self.splits, self.k_tiles % self.splits);
        split * each + if split < longer { split } else { longer }
    }

    /// The split that a block computes; `None` where it has data-parallel tiles only.
    #[inline(always)]
    pub fn split(&self, block: u32) -> Option<Split> {
        let (tile, index) = match self.head_k_tiles {
            0 => (block / self.splits, block % self.splits),
            // Head splits come before tail splits. The divisor is positive where there is a tile.
            _ => (
                block % self.stream_k_tiles.max(1),
                block / self.stream_k_tiles.max(1),
            ),
        };
        (tile < self.stream_k_tiles).then_some(Split {
            tile,
            index,
            count: self.splits,
        })
    }

    /// The work units of a block.
    #[inline(always)]
    pub fn work_units(&self, block: u32) -> WorkUnits {
        WorkUnits {
            stream_k: *self,
            split: self.split(block).map(|split| {
                let first_k_tile = self.first_k_tile(split.index);
                WorkUnit {
                    tile: self.data_parallel_tiles + split.tile,
                    first_k_tile,
                    k_tiles: self.first_k_tile(split.index + 1) - first_k_tile,
                }
            }),
            tile: block,
        }
    }
}

impl WorkUnits {
    /// Advances to the next work unit and returns it; `None` behind the last one.
    #[inline(always)]
    pub fn advance(&mut self) -> Option<WorkUnit> {
        if let Some(unit) = self.split.take() {
            return Some(unit);
        }
        let tile = self.tile;
        self.tile += self.stream_k.blocks;
        (tile < self.stream_k.data_parallel_tiles).then_some(WorkUnit {
            tile,
            first_k_tile: 0,
            k_tiles: self.stream_k.k_tiles,
        })
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    extern crate std;

    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn every_k_tile_is_in_one_work_unit() {
        for (tiles, data_parallel_tiles, k_tiles, splits, head_k_tiles, blocks) in [
            (18, 0, 256, 7, 0, 132),
            (300, 300, 7, 1, 0, 132),
            (182, 132, 70, 2, 0, 132),
            (5, 5, 3, 1, 0, 4),
            (1, 0, 5, 5, 0, 8),
            (9, 8, 11, 4, 0, 4),
            (96, 0, 256, 2, 192, 192),
            (5, 0, 2, 2, 1, 10),
        ] {
            let scheduler = TileSchedulerParams {
                batch: 1,
                data_parallel_tiles,
                splits,
                head_k_tiles,
                tma_store: 1,
                reduction: ReductionMode::LastBlock,
                group_m: GROUP_M,
                multicast: 1,
                partial_sums_offset: 0,
            };
            let stream_k = StreamK::new(tiles, &scheduler, k_tiles, blocks);
            let mut seen = vec![0; (tiles * k_tiles) as usize];
            let mut in_workspace = Vec::new();
            for block in 0..blocks {
                let mut work_units = stream_k.work_units(block);
                while let Some(unit) = work_units.advance() {
                    assert!(unit.k_tiles > 0);
                    for k_tile in unit.first_k_tile..unit.first_k_tile + unit.k_tiles {
                        seen[(unit.tile * k_tiles + k_tile) as usize] += 1;
                    }
                    if unit.tile >= data_parallel_tiles {
                        let split = stream_k.split(block).unwrap();
                        let tile = unit.tile - data_parallel_tiles;
                        assert_eq!([split.tile, split.count], [tile, splits]);
                        in_workspace.push(split.in_workspace(split.index));
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1));
            in_workspace.sort_unstable();
            assert!(
                in_workspace
                    .into_iter()
                    .eq(0..(tiles - data_parallel_tiles) * splits)
            );
        }
    }

    #[test]
    fn tiles_of_a_cluster_lie_below_each_other() {
        for rows in [1, 64, 65, 640, 1100] {
            let tiles = TileGrid::new([rows, 700], [64, 192], 2).for_cluster(2);
            assert!(tiles.count().is_multiple_of(2));
            for tiles in [GROUP_M, GROUP_M_ONE_WAVE].map(|group_m| tiles.with_group_m(group_m)) {
                for cluster in 0..tiles.count() / 2 {
                    let [upper, lower] = [0, 1].map(|rank| tiles.coord(2 * cluster + rank));
                    let below = TileCoord {
                        row: upper.row + 64,
                        ..upper
                    };
                    assert_eq!(lower, below);
                    assert!(upper.row < rows.next_multiple_of(128));
                }
            }
        }
    }

    #[test]
    fn tiles_cover_each_matrix_once() {
        let expected: Vec<_> = (0..2)
            .flat_map(|matrix| (0..9).map(move |row| (matrix, row)))
            .flat_map(|(matrix, row)| (0..3).map(move |column| (matrix, row * 128, column * 256)))
            .collect();
        for group_m in [GROUP_M, GROUP_M_ONE_WAVE, 1] {
            let tiles = TileGrid::new([1100, 700], [128, 256], 2).with_group_m(group_m);
            let mut coords: Vec<_> = (0..tiles.count())
                .map(|tile| tiles.coord(tile))
                .map(|coord| (coord.matrix, coord.row, coord.column))
                .collect();
            coords.sort_unstable();
            assert_eq!(coords, expected);
        }
    }
}
