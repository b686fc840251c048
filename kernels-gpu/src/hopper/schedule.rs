//! Which block computes what of C.
//!
//! Tiles of C are numbered: matrix by matrix of a batch, in each in groups of eight rows of tiles, column by column, so that tiles of
//! neighbouring numbers find each other's rows and columns in the cache.
//!
//! A product of fewer tiles than multiprocessors, or of a few more than a multiple of them, leaves many idle. So only the first
//! tiles are computed each by one block. Of the others as many blocks together take the *steps* along k, an equal share of their
//! row each (Osama, Merrill, Cecka, Garland and Owens, "Stream-K", PPoPP 2023). A block then begins in the middle of one
//! tile and ends in the middle of another; what it has of a tile is a *part* of its sums. Where the blocks are a multiple of
//! the shared tiles, all are at few places along k at a time, and find the operands in the cache.

/// Rows of tiles in a group.
const GROUP: u32 = 8;

/// How the tiles are shared among blocks, passed by value beside [`Gemm`](crate::gemm::Gemm).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Matrices in the batch.
    pub batch: u32,
    /// The first tiles, as many as are computed each by one block.
    pub whole: u32,
    /// Blocks that share the other tiles, at most as many as there are steps of those; at least 1.
    pub sharers: u32,
    /// 1 where C can be stored by bulk copies: it, its rows and its matrices begin at multiples of 16 bytes.
    pub bulk: u32,
    /// Where partial sums begin in the workspace, in elements; [`counters`] of the tiles that are shared lie before them.
    pub partials: u32,
}

/// Counters for so many shared tiles: one for each warpgroup that multiplies.
pub const fn counters(shared: u32, warpgroups: usize) -> u64 {
    shared as u64 * warpgroups as u64
}

/// Places for parts that a block has: for that of the tile in whose middle it begins, and of the one in which it ends.
pub const PARTS_OF_A_BLOCK: u32 = 2;

/// The tiles of C.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// Rows and columns of a tile.
    size: [u32; 2],
    /// Rows and columns of tiles in a matrix.
    down: u32,
    across: u32,
    batch: u32,
}

/// Where a tile begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corner {
    /// First row and column.
    pub row: u32,
    /// See `row`.
    pub column: u32,
    /// Which matrix of the batch.
    pub matrix: u32,
}

impl Tiles {
    /// Tiles of `size` rows and columns of a batch of matrices of m × n.
    #[inline(always)]
    pub const fn new([m, n]: [u32; 2], size: [u32; 2], batch: u32) -> Self {
        Tiles {
            size,
            down: m.div_ceil(size[0]),
            across: n.div_ceil(size[1]),
            batch,
        }
    }

    /// How many there are.
    #[inline(always)]
    pub const fn count(&self) -> u32 {
        self.down * self.across * self.batch
    }

    /// Where a tile begins.
    #[inline(always)]
    pub fn corner(&self, tile: u32) -> Corner {
        // Divisors are positive where there is a tile.
        let in_matrix = (self.down * self.across).max(1);
        let (matrix, tile) = (tile / in_matrix, tile % in_matrix);
        // A last group of fewer rows is as high as it is.
        let group = tile / (GROUP * self.across).max(1);
        let first = group * GROUP;
        let height = GROUP.min(self.down - first).max(1);
        let within = tile - group * GROUP * self.across;
        Corner {
            row: (first + within % height) * self.size[0],
            column: within / height * self.size[1],
            matrix,
        }
    }
}

/// Steps along k of one tile, in the middle of which a block may begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The tile.
    pub tile: u32,
    /// Its first step.
    pub first: u32,
    /// How many steps.
    pub steps: u32,
}

/// The pieces of one block, one after the other: its share of the shared tiles, then its whole ones.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    shares: Shares,
    /// The next step of its share, and the end of that.
    step: u32,
    end: u32,
    /// The next whole tile.
    tile: u32,
}

/// The steps of all shared tiles in a row, shared equally by the blocks.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Steps of a tile.
    of_tile: u32,
    /// Tiles that are computed as a whole.
    whole: u32,
    /// Blocks of the grid, and those of them that have shares.
    blocks: u32,
    sharers: u32,
    /// Steps of each share; the first `longer` ones have one more.
    each: u32,
    longer: u32,
}

/// A part of the sums of a shared tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which of the shared tiles.
    pub tile: u32,
    /// The block that has the first part; those with the following numbers have the others.
    pub first_block: u32,
    /// How many parts there are.
    pub count: u32,
}

impl Shares {
    /// The shares in what is not `whole` of `tiles` of so many steps, for a grid of so many blocks.
    #[inline(always)]
    pub const fn new(tiles: u32, schedule: &Schedule, of_tile: u32, blocks: u32) -> Self {
        let Schedule { whole, sharers, .. } = *schedule;
        let steps = (tiles - whole) * of_tile;
        Shares {
            of_tile,
            whole,
            blocks,
            sharers,
            each: steps / sharers,
            longer: steps % sharers,
        }
    }

    /// The first step of a block's share: the end, for those that have none.
    #[inline(always)]
    fn start(&self, block: u32) -> u32 {
        let block = block.min(self.sharers);
        block * self.each + block.min(self.longer)
    }

    /// The block whose share a step is in.
    #[inline(always)]
    fn block_of(&self, step: u32) -> u32 {
        let in_longer = self.longer * (self.each + 1);
        if step < in_longer {
            step / (self.each + 1)
        } else {
            self.longer + (step - in_longer) / self.each.max(1)
        }
    }

    /// The parts that a piece is one of; `None` where it is all of its tile.
    #[inline(always)]
    pub fn part(&self, piece: &Piece) -> Option<Part> {
        if piece.steps == self.of_tile {
            return None;
        }
        let tile = piece.tile - self.whole;
        let first_block = self.block_of(tile * self.of_tile);
        let last_block = self.block_of((tile + 1) * self.of_tile - 1);
        Some(Part {
            tile,
            first_block,
            count: last_block - first_block + 1,
        })
    }

    /// The pieces of a block.
    #[inline(always)]
    pub fn walk(&self, block: u32) -> Walk {
        Walk {
            shares: *self,
            step: self.start(block),
            end: self.start(block + 1),
            tile: block,
        }
    }
}

impl Part {
    /// The place of the part of a block: that of the first ends where its share ends, the others where a share begins.
    #[inline(always)]
    pub fn place(&self, block: u32) -> u32 {
        block * PARTS_OF_A_BLOCK + (block == self.first_block) as u32
    }
}

impl Walk {
    /// Goes on to the next piece, and returns it.
    #[inline(always)]
    pub fn advance(&mut self) -> Option<Piece> {
        let Shares { of_tile, whole, .. } = self.shares;
        if self.step < self.end {
            let tile = self.step / of_tile.max(1);
            let first = self.step - tile * of_tile;
            let steps = (of_tile - first).min(self.end - self.step);
            self.step += steps;
            let tile = whole + tile;
            Some(Piece { tile, first, steps })
        } else if self.tile < whole {
            let tile = self.tile;
            self.tile += self.shares.blocks;
            Some(Piece {
                tile,
                first: 0,
                steps: of_tile,
            })
        } else {
            None
        }
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    extern crate std;

    use super::*;
    use std::collections::HashMap;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn every_step_of_every_tile_is_in_one_piece() {
        for (tiles, whole, steps, sharers, blocks) in [
            (72, 0, 256, 132, 132),
            (300, 132, 7, 132, 132),
            (182, 132, 70, 100, 132),
            (5, 5, 3, 4, 4),
            (1, 0, 5, 5, 8),
            (9, 4, 11, 4, 4),
        ] {
            let schedule = Schedule {
                batch: 1,
                whole,
                sharers,
                bulk: 1,
                partials: 0,
            };
            let shares = Shares::new(tiles, &schedule, steps, blocks);
            let mut seen = vec![0; (tiles * steps) as usize];
            let mut parts = HashMap::new();
            let mut pieces = 0;
            for block in 0..blocks {
                let mut walk = shares.walk(block);
                while let Some(piece) = walk.advance() {
                    pieces += 1;
                    for step in piece.first..piece.first + piece.steps {
                        seen[(piece.tile * steps + step) as usize] += 1;
                    }
                    if let Some(part) = shares.part(&piece) {
                        let places = parts.entry(piece.tile).or_insert((part, Vec::new()));
                        assert_eq!(places.0, part);
                        assert!((part.first_block..part.first_block + part.count).contains(&block));
                        places.1.push(part.place(block));
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1));
            assert!(pieces >= tiles);
            let mut all = Vec::new();
            for (part, places) in parts.into_values() {
                assert_eq!(places.len(), part.count as usize);
                all.extend(places);
            }
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "two parts have one place");
        }
    }

    #[test]
    fn tiles_cover_each_matrix_once() {
        let tiles = Tiles::new([1100, 700], [128, 256], 2);
        let mut corners: Vec<_> = (0..tiles.count())
            .map(|tile| tiles.corner(tile))
            .map(|corner| (corner.matrix, corner.row, corner.column))
            .collect();
        corners.sort_unstable();
        let expected: Vec<_> = (0..2)
            .flat_map(|matrix| (0..9).map(move |row| (matrix, row)))
            .flat_map(|(matrix, row)| (0..3).map(move |column| (matrix, row * 128, column * 256)))
            .collect();
        assert_eq!(corners, expected);
    }
}
