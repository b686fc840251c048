//! Which block computes what of C.
//!
//! TileGrid of C are numbered: matrix by matrix of a batch, in each in groups of [eight](GROUP) or [two](GROUP_ONE_WAVE) rows of tiles, column by
//! column, so that tiles of neighbouring numbers find each other's rows and columns in the cache.
//!
//! A product of fewer tiles than multiprocessors, or of a few more than a multiple of them, leaves many idle. So only the first
//! tiles are computed each by one block. Each of the others is *shared* by blocks that take parts of its *steps* along k:
//!
//! - as many as there are multiprocessors for each tile, which take equal parts, to within one step; or,
//! - where there are fewer than two, one that takes the *head* of the tile, and one that takes its short *tail*. The grid then has more blocks
//!   than multiprocessors, those of the heads first: the multiprocessors that get none take tails, one after the other.
//!
//! As the parts of all tiles begin at the same few places along k, blocks find the operands in the cache; stream_k that begin
//! anywhere (Osama, Merrill, Cecka, Garland and Owens, "Stream-K", PPoPP 2023) do not.

/// Rows of tiles in a group, of products of many tiles.
pub const GROUP: u32 = 8;

/// The same where all tiles are computed at the same time: neighbours along a row of tiles then want the same rows of A together, and
/// the L2 cache, of which everybody wants much at a time, brings them sooner.
pub const GROUP_ONE_WAVE: u32 = 2;

/// Who adds up the parts of a shared tile.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionMode {
    /// The block that finds that it brings the last part.
    LastBlock,
    /// All blocks of the tile, which are a cluster: see [`exchange`](crate::gemm::reduction::dsmem). All tiles are shared then.
    Cluster,
    /// A launch behind this one: see [`parts`](crate::gemm::reduction::stream_k). All tiles are shared then.
    Kernel,
}

/// How the tiles are shared among blocks, passed by value beside [`GemmParams`](crate::gemm::GemmParams).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSchedulerParams {
    /// Matrices in the batch.
    pub batch: u32,
    /// The first tiles, as many as are computed each by one block.
    pub data_parallel_tiles: u32,
    /// Blocks that share each of the other tiles, at most as many as it has steps; at least 1.
    pub splits: u32,
    /// Steps of the first of 2 parts, where they are a head and a tail: fewer than all. Otherwise 0.
    pub head_k_tiles: u32,
    /// 1 where C can be stored by bulk copies: it, its rows and its matrices begin at multiples of 16 bytes.
    pub tma_store: u32,
    /// Who adds up the parts.
    pub reduction: ReductionMode,
    /// Rows of tiles in a group: an even number.
    pub group_m: u32,
    /// Where partial accumulators begin in the workspace, in elements. Where the last one adds them up, [`counters`] of the shared tiles lie before them.
    pub partials_offset: u32,
}

impl TileSchedulerParams {
    /// TileGrid of `size` rows and columns, of blocks of such clusters, in C of m × n.
    #[inline(always)]
    pub const fn tiles(&self, [m, n]: [u32; 2], size: [u32; 2], cluster: u32) -> TileGrid {
        TileGrid::new([m, n], size, self.batch)
            .for_cluster(cluster)
            .with_group_m(self.group_m)
    }
}

/// Counters for so many shared tiles: one for each warpgroup that multiplies.
pub const fn counters(shared: u32, consumers: usize) -> u64 {
    shared as u64 * consumers as u64
}

/// The tiles of C.
#[derive(Clone, Copy, Debug)]
pub struct TileGrid {
    /// Rows and columns of a tile.
    size: [u32; 2],
    /// Rows and columns of tiles in a matrix.
    down: u32,
    across: u32,
    batch: u32,
    /// Rows of tiles in a group.
    group: u32,
}

/// Where a tile begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileCoord {
    /// First row and column.
    pub row: u32,
    /// See `row`.
    pub column: u32,
    /// Which matrix of the batch.
    pub matrix: u32,
}

impl TileGrid {
    /// TileGrid of `size` rows and columns of a batch of matrices of m × n, in groups of [`GROUP`] rows of tiles.
    #[inline(always)]
    pub const fn new([m, n]: [u32; 2], size: [u32; 2], batch: u32) -> Self {
        TileGrid {
            size,
            down: m.div_ceil(size[0]),
            across: n.div_ceil(size[1]),
            batch,
            group: GROUP,
        }
    }

    /// The same in groups of so many rows of tiles, 1 or more.
    #[inline(always)]
    pub const fn with_group_m(self, rows: u32) -> Self {
        TileGrid {
            group: rows,
            ..self
        }
    }

    /// The same for clusters of so many blocks, whose tiles lie below each other and have neighbouring numbers. The last ones of a
    /// matrix may lie outside of it.
    ///
    /// Of clusters of 2: a group has an even number of rows.
    #[inline(always)]
    pub const fn for_cluster(self, blocks: u32) -> Self {
        TileGrid {
            down: self.down.div_ceil(blocks) * blocks,
            ..self
        }
    }

    /// How many there are.
    #[inline(always)]
    pub const fn count(&self) -> u32 {
        self.down * self.across * self.batch
    }

    /// Where a tile begins.
    #[inline(always)]
    pub fn coord(&self, tile: u32) -> TileCoord {
        // Divisors are positive where there is a tile.
        let in_matrix = (self.down * self.across).max(1);
        let (matrix, tile) = (tile / in_matrix, tile % in_matrix);
        // A last group of fewer rows is as high as it is.
        let group = tile / (self.group * self.across).max(1);
        let first = group * self.group;
        let height = self.group.min(self.down - first).max(1);
        let within = tile - first * self.across;
        TileCoord {
            row: (first + within % height) * self.size[0],
            column: within / height * self.size[1],
            matrix,
        }
    }
}

/// Steps along k of one tile: all or a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkUnit {
    /// The tile.
    pub tile: u32,
    /// Its first step.
    pub first: u32,
    /// How many steps.
    pub steps: u32,
}

/// The pieces of one block, one after the other: its part of a shared tile, then its whole ones.
#[derive(Clone, Copy, Debug)]
pub struct WorkUnits {
    stream_k: StreamK,
    /// The unit of a shared tile, if that is next.
    shared: Option<WorkUnit>,
    /// The next whole tile.
    tile: u32,
}

/// How the steps of tiles are dealt out.
#[derive(Clone, Copy, Debug)]
pub struct StreamK {
    /// Steps of a tile.
    k_tiles: u32,
    /// TileGrid that are computed as a whole, and the others.
    whole: u32,
    shared: u32,
    /// Parts of a shared tile, and the steps of the first one if they are a head and a tail, or 0.
    parts: u32,
    head: u32,
    /// Blocks of the grid.
    blocks: u32,
}

/// A part of the accumulators of a shared tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Which of the shared tiles.
    pub tile: u32,
    /// Which of its parts.
    pub index: u32,
    /// How many parts there are.
    pub count: u32,
}

impl Split {
    /// The number of one of the tile's parts among those of all shared tiles.
    #[inline(always)]
    pub const fn number(&self, index: u32) -> u32 {
        self.tile * self.count + index
    }
}

impl StreamK {
    /// The stream_k in what is not `whole` of `tiles` of so many steps, for a grid of so many blocks.
    #[inline(always)]
    pub const fn new(
        tiles: u32,
        scheduler: &TileSchedulerParams,
        k_tiles: u32,
        blocks: u32,
    ) -> Self {
        StreamK {
            k_tiles,
            whole: scheduler.data_parallel_tiles,
            shared: tiles - scheduler.data_parallel_tiles,
            parts: scheduler.splits,
            head: scheduler.head_k_tiles,
            blocks,
        }
    }

    /// The first step of a part. The first of equal parts have one more where the steps are no multiple of them.
    #[inline(always)]
    const fn start(&self, part: u32) -> u32 {
        if self.head != 0 {
            return match part {
                0 => 0,
                1 => self.head,
                _ => self.k_tiles,
            };
        }
        let (each, longer) = (self.k_tiles / self.parts, self.k_tiles % self.parts);
        part * each + if part < longer { part } else { longer }
    }

    /// The part of a shared tile that a block has; `None` where it has none.
    #[inline(always)]
    pub fn part(&self, block: u32) -> Option<Split> {
        let (tile, index) = match self.head {
            0 => (block / self.parts, block % self.parts),
            // All heads come before the tails. The divisor is positive where there is a tile.
            _ => (block % self.shared.max(1), block / self.shared.max(1)),
        };
        (tile < self.shared).then_some(Split {
            tile,
            index,
            count: self.parts,
        })
    }

    /// The pieces of a block.
    #[inline(always)]
    pub fn work_units(&self, block: u32) -> WorkUnits {
        WorkUnits {
            stream_k: *self,
            shared: self.part(block).map(|part| {
                let first = self.start(part.index);
                WorkUnit {
                    tile: self.whole + part.tile,
                    first,
                    steps: self.start(part.index + 1) - first,
                }
            }),
            tile: block,
        }
    }
}

impl WorkUnits {
    /// Goes on to the next unit, and returns it.
    #[inline(always)]
    pub fn advance(&mut self) -> Option<WorkUnit> {
        if let Some(unit) = self.shared.take() {
            return Some(unit);
        }
        let tile = self.tile;
        self.tile += self.stream_k.blocks;
        (tile < self.stream_k.whole).then_some(WorkUnit {
            tile,
            first: 0,
            steps: self.stream_k.k_tiles,
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
    fn every_step_of_every_tile_is_in_one_piece() {
        for (tiles, whole, steps, parts, head, blocks) in [
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
                data_parallel_tiles: whole,
                splits: parts,
                head_k_tiles: head,
                tma_store: 1,
                reduction: ReductionMode::LastBlock,
                group_m: GROUP,
                partials_offset: 0,
            };
            let stream_k = StreamK::new(tiles, &scheduler, steps, blocks);
            let mut seen = vec![0; (tiles * steps) as usize];
            let mut numbers = Vec::new();
            for block in 0..blocks {
                let mut work_units = stream_k.work_units(block);
                while let Some(unit) = work_units.advance() {
                    assert!(unit.steps > 0);
                    for step in unit.first..unit.first + unit.steps {
                        seen[(unit.tile * steps + step) as usize] += 1;
                    }
                    if unit.tile >= whole {
                        let part = stream_k.part(block).unwrap();
                        assert_eq!([part.tile, part.count], [unit.tile - whole, parts]);
                        numbers.push(part.number(part.index));
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1));
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..(tiles - whole) * parts));
        }
    }

    #[test]
    fn tiles_of_a_cluster_lie_below_each_other() {
        for rows in [1, 64, 65, 640, 1100] {
            let tiles = TileGrid::new([rows, 700], [64, 192], 2).for_cluster(2);
            assert!(tiles.count().is_multiple_of(2));
            for tiles in [GROUP, GROUP_ONE_WAVE].map(|group| tiles.with_group_m(group)) {
                for pair in 0..tiles.count() / 2 {
                    let [upper, lower] = [0, 1].map(|rank| tiles.coord(2 * pair + rank));
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
        for group in [GROUP, GROUP_ONE_WAVE, 1] {
            let tiles = TileGrid::new([1100, 700], [128, 256], 2).with_group_m(group);
            let mut corners: Vec<_> = (0..tiles.count())
                .map(|tile| tiles.coord(tile))
                .map(|coord| (coord.matrix, coord.row, coord.column))
                .collect();
            corners.sort_unstable();
            assert_eq!(corners, expected);
        }
    }
}
