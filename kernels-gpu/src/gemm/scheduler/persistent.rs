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

use super::cluster_shape::ClusterShape;
use super::fast_divmod::{Divmod, FastDivmod, PlainDivmod};
use super::{GROUP_M, Split};

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

/// The order of the splits of all stream-K tiles, which are numbered as the blocks that compute
/// them.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitOrder {
    /// Tile by tile. The blocks of a tile can then be a cluster: see [`ReductionMode::Cluster`].
    TileByTile,
    /// The first splits of all tiles, then the second ones. The blocks of neighbouring tiles then
    /// compute the same k-tiles, as those of a [multicast
    /// cluster](crate::gemm::wgmma::multicast) must; and head splits come before tail splits.
    SplitBySplit,
}

/// Parameters of the tile scheduler, passed by value beside
/// [`GemmParams`](crate::gemm::GemmParams). The host computes them: a kernel has few registers for
/// what it needs until its end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSchedulerParams {
    /// The tiles of C.
    pub tiles: TileGrid<FastDivmod>,
    /// Their decomposition into work units.
    pub stream_k: StreamK<FastDivmod>,
    /// 1 where TMA can store C: it, its rows and its matrices begin at multiples of 16 bytes.
    pub tma_store: u32,
    /// What reduces the partial sums.
    pub reduction: ReductionMode,
    /// Offset of the partial sums in the workspace, in elements. With
    /// [`ReductionMode::LastBlock`], the [`counters`] of the stream-K tiles lie before them.
    pub partial_sums_offset: u32,
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

/// The tiles of C, in the order of their numbers. `D` divides: a launch knows the divisors.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileGrid<D = PlainDivmod> {
    /// BM and BN.
    tile: [u32; 2],
    /// Clusters of a matrix along m and n.
    clusters: [u32; 2],
    /// Tiles of a matrix.
    of_matrix: u32,
    batch: u32,
    /// Rows of clusters in a group of the rasterisation, in the last group, and the clusters of a
    /// group.
    group_rows: u32,
    last_rows: u32,
    of_group: u32,
    cluster: ClusterShape,
    by_matrix: D,
    by_group: D,
    by_group_rows: D,
    by_last_rows: D,
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

impl<D: Divmod> TileGrid<D> {
    /// Tiles of `tile` = BM × BN elements, of a batch of matrices of m × n, rasterised in groups of
    /// [`GROUP_M`] rows of tiles.
    #[inline(always)]
    pub fn new([m, n]: [u32; 2], tile: [u32; 2], batch: u32) -> Self {
        let tiles = [m.div_ceil(tile[0]), n.div_ceil(tile[1])];
        Self::of(tile, tiles, batch, ClusterShape::ALONE, GROUP_M)
    }

    /// The same in groups of `group_m` rows of tiles, a multiple of the rows of a cluster.
    #[inline(always)]
    pub fn with_group_m(self, group_m: u32) -> Self {
        let [m, n] = self.cluster.extents();
        let tiles = [self.clusters[0] * m, self.clusters[1] * n];
        Self::of(self.tile, tiles, self.batch, self.cluster, group_m)
    }

    /// The same for clusters, whose tiles are a rectangle of C with neighbouring numbers, column
    /// by column. The last tiles of a matrix may lie outside of it.
    ///
    /// The rows of a cluster divide those of a group.
    #[inline(always)]
    pub fn for_clusters(self, cluster: ClusterShape) -> Self {
        Self::of(self.tile, self.clusters, self.batch, cluster, GROUP_M)
    }

    /// A batch of matrices of `tiles` tiles along m and n, in groups of `group_m` rows of them.
    #[inline(always)]
    fn of(
        tile: [u32; 2],
        tiles: [u32; 2],
        batch: u32,
        cluster: ClusterShape,
        group_m: u32,
    ) -> Self {
        let ([m, n], log2) = (cluster.extents(), cluster.log2());
        let tiles = [round_up(tiles[0], m), round_up(tiles[1], n)];
        let clusters = [tiles[0] >> log2[0], tiles[1] >> log2[1]];
        let group_rows = group_m >> log2[0];
        // The last group may have fewer rows.
        let last_rows = match clusters[0] % group_rows {
            0 => group_rows,
            rows => rows,
        };
        let of_group = group_rows * clusters[1];
        TileGrid {
            tile,
            clusters,
            of_matrix: tiles[0] * tiles[1],
            batch,
            group_rows,
            last_rows,
            of_group,
            cluster,
            by_matrix: D::by(tiles[0] * tiles[1]),
            by_group: D::by(of_group),
            by_group_rows: D::by(group_rows),
            by_last_rows: D::by(last_rows),
        }
    }

    /// BM and BN.
    #[inline(always)]
    pub const fn tile(&self) -> [u32; 2] {
        self.tile
    }

    /// The shape of the clusters.
    #[inline(always)]
    pub const fn cluster(&self) -> ClusterShape {
        self.cluster
    }

    /// GROUP_M: rows of tiles in a group.
    pub const fn group_m(&self) -> u32 {
        self.group_rows << self.cluster.log2()[0]
    }

    /// The number of tiles.
    #[inline(always)]
    pub const fn count(&self) -> u32 {
        self.of_matrix * self.batch
    }

    /// The coordinate of a tile.
    #[inline(always)]
    pub fn coord(&self, tile: u32) -> TileCoord {
        let (matrix, tile) = self.by_matrix.divmod(tile, self.of_matrix);
        let [m, n] = self.cluster.log2();
        let (group, within) = self.by_group.divmod(tile >> (m + n), self.of_group);
        let first = group * self.group_rows;
        let (column, row) = if first + self.group_rows > self.clusters[0] {
            self.by_last_rows.divmod(within, self.last_rows)
        } else {
            self.by_group_rows.divmod(within, self.group_rows)
        };
        let [block_row, block_column] = self.cluster.coord(tile & (self.cluster.blocks() - 1));
        TileCoord {
            row: (((first + row) << m) + block_row) * self.tile[0],
            column: ((column << n) + block_column) * self.tile[1],
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
pub struct WorkUnits<D = PlainDivmod> {
    stream_k: StreamK<D>,
    /// The work unit of a stream-K tile, until it has been returned.
    split: Option<WorkUnit>,
    /// The next data-parallel tile.
    tile: u32,
}

/// The stream-K decomposition of a GEMM into work units. `D` divides: a launch knows the divisors.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamK<D = PlainDivmod> {
    /// k-tiles of a tile.
    pub k_tiles: u32,
    /// Data-parallel tiles, which come first.
    pub data_parallel_tiles: u32,
    /// Stream-K tiles, behind them.
    pub stream_k_tiles: u32,
    /// Splits of each stream-K tile: at least 1, at most its number of k-tiles.
    pub splits: u32,
    /// k-tiles of the head split where a stream-K tile has a head and a tail split: fewer than all.
    /// `splits` is 2 then. Otherwise 0.
    pub head_k_tiles: u32,
    /// Which split a block computes.
    pub order: SplitOrder,
    /// Blocks of the grid.
    pub blocks: u32,
    /// k-tiles of a split. The first `longer` splits have one more.
    each: u32,
    longer: u32,
    by_splits: D,
    by_tiles: D,
}

impl<D: Divmod> StreamK<D> {
    /// Tiles of `k_tiles` k-tiles, the first of which are data-parallel and the others have
    /// `splits` splits each, for a grid of `blocks` blocks.
    #[inline(always)]
    pub fn new(
        k_tiles: u32,
        [data_parallel_tiles, stream_k_tiles]: [u32; 2],
        splits: u32,
        blocks: u32,
    ) -> Self {
        let splits = splits.max(1);
        StreamK {
            k_tiles,
            data_parallel_tiles,
            stream_k_tiles,
            splits,
            head_k_tiles: 0,
            order: SplitOrder::TileByTile,
            blocks,
            each: k_tiles / splits,
            longer: k_tiles % splits,
            by_splits: D::by(splits),
            by_tiles: D::by(stream_k_tiles),
        }
    }

    /// The same with a head split of `head_k_tiles`, and a tail split; without where that is 0.
    pub fn with_head(self, head_k_tiles: u32) -> Self {
        StreamK {
            head_k_tiles,
            order: match head_k_tiles {
                0 => self.order,
                _ => SplitOrder::SplitBySplit,
            },
            ..self
        }
    }

    /// The same for blocks that are clusters of a shape.
    ///
    /// Data-parallel tiles, stream-K tiles and blocks are multiples of the blocks of a cluster.
    pub fn for_clusters(self, cluster: ClusterShape) -> Self {
        StreamK {
            order: match cluster.is_multicast() {
                true => SplitOrder::SplitBySplit,
                false => self.order,
            },
            ..self
        }
    }

    /// The first k-tile of a split.
    #[inline(always)]
    fn first_k_tile(&self, split: u32) -> u32 {
        if self.head_k_tiles != 0 {
            return match split {
                0 => 0,
                1 => self.head_k_tiles,
                _ => self.k_tiles,
            };
        }
        split * self.each + split.min(self.longer)
    }

    /// The split that a block computes; `None` where it has data-parallel tiles only.
    #[inline(always)]
    pub fn split(&self, block: u32) -> Option<Split> {
        // Most launches have none, and their blocks begin sooner.
        if self.stream_k_tiles == 0 {
            return None;
        }
        let (tile, index) = match self.order {
            SplitOrder::TileByTile => self.by_splits.divmod(block, self.splits),
            SplitOrder::SplitBySplit => {
                let (index, tile) = self.by_tiles.divmod(block, self.stream_k_tiles);
                (tile, index)
            }
        };
        (tile < self.stream_k_tiles && index < self.splits).then_some(Split {
            tile,
            index,
            count: self.splits,
        })
    }

    /// The work units of a block.
    #[inline(always)]
    pub fn work_units(&self, block: u32) -> WorkUnits<D> {
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

impl<D: Divmod> WorkUnits<D> {
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
        check_work_units::<PlainDivmod>();
        check_work_units::<FastDivmod>();
    }

    fn check_work_units<D: Divmod>() {
        for (tiles, data_parallel_tiles, k_tiles, splits, head_k_tiles, blocks, cluster) in [
            (18, 0, 256, 7, 0, 132, [1, 1]),
            (300, 300, 7, 1, 0, 132, [1, 1]),
            (182, 132, 70, 2, 0, 132, [1, 1]),
            (5, 5, 3, 1, 0, 4, [1, 1]),
            (1, 0, 5, 5, 0, 8, [1, 1]),
            (9, 8, 11, 4, 0, 4, [1, 1]),
            (96, 0, 256, 2, 192, 192, [1, 1]),
            (5, 0, 2, 2, 1, 10, [1, 1]),
            (24, 0, 46, 4, 0, 120, [4, 2]),
            (156, 120, 37, 3, 0, 120, [2, 2]),
            (6, 0, 11, 5, 0, 30, [1, 2]),
        ] {
            let cluster = ClusterShape::new(cluster);
            let counts = [data_parallel_tiles, tiles - data_parallel_tiles];
            let stream_k = StreamK::<D>::new(k_tiles, counts, splits, blocks);
            let stream_k = stream_k.with_head(head_k_tiles).for_clusters(cluster);
            let mut seen = vec![0; (tiles * k_tiles) as usize];
            let mut in_workspace = Vec::new();
            for block in 0..blocks {
                let mut work_units = stream_k.work_units(block);
                let mut of_first = stream_k.work_units(block / cluster.blocks() * cluster.blocks());
                while let Some(unit) = work_units.advance() {
                    assert!(unit.k_tiles > 0);
                    // The blocks of a cluster compute the same k-tiles of neighbouring tiles.
                    let first = of_first.advance().unwrap();
                    let rank = block % cluster.blocks();
                    assert_eq!(
                        unit,
                        WorkUnit {
                            tile: first.tile + rank,
                            ..first
                        }
                    );
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
    fn tiles_of_a_cluster_are_a_rectangle() {
        check_rectangles::<PlainDivmod>();
        check_rectangles::<FastDivmod>();
    }

    fn check_rectangles<D: Divmod>() {
        for rows in [1, 64, 65, 640, 1100] {
            for cluster in [[2, 1], [1, 2], [2, 2], [4, 2], [1, 4]].map(ClusterShape::new) {
                let [m, n] = cluster.extents();
                let tiles = TileGrid::<D>::new([rows, 700], [64, 192], 2).for_clusters(cluster);
                assert!(tiles.count().is_multiple_of(m * n));
                for group_m in [GROUP_M, m.max(GROUP_M_ONE_WAVE)] {
                    let tiles = tiles.with_group_m(group_m);
                    let mut first_tiles = Vec::new();
                    for cluster in 0..tiles.count() / (m * n) {
                        let first = tiles.coord(cluster * m * n);
                        for block in 0..m * n {
                            let expected = TileCoord {
                                row: first.row + block % m * 64,
                                column: first.column + block / m * 192,
                                ..first
                            };
                            assert_eq!(tiles.coord(cluster * m * n + block), expected);
                        }
                        first_tiles.push([first.matrix, first.row, first.column]);
                    }
                    first_tiles.sort_unstable();
                    let clusters_m = rows.div_ceil(64 * m);
                    let clusters_n = 700_u32.div_ceil(192 * n);
                    let expected: Vec<_> = (0..2 * clusters_m * clusters_n)
                        .map(|i| {
                            let (matrix, i) =
                                (i / (clusters_m * clusters_n), i % (clusters_m * clusters_n));
                            [matrix, i / clusters_n * 64 * m, i % clusters_n * 192 * n]
                        })
                        .collect();
                    assert_eq!(first_tiles, expected);
                }
            }
        }
    }

    #[test]
    fn tiles_cover_each_matrix_once() {
        check_cover::<PlainDivmod>();
        check_cover::<FastDivmod>();
    }

    fn check_cover<D: Divmod>() {
        let expected: Vec<_> = (0..2)
            .flat_map(|matrix| (0..9).map(move |row| (matrix, row)))
            .flat_map(|(matrix, row)| (0..3).map(move |column| (matrix, row * 128, column * 256)))
            .collect();
        for group_m in [GROUP_M, GROUP_M_ONE_WAVE, 1] {
            let tiles = TileGrid::<D>::new([1100, 700], [128, 256], 2).with_group_m(group_m);
            let mut coords: Vec<_> = (0..tiles.count())
                .map(|tile| tiles.coord(tile))
                .map(|coord| (coord.matrix, coord.row, coord.column))
                .collect();
            coords.sort_unstable();
            assert_eq!(coords, expected);
        }
    }
}
