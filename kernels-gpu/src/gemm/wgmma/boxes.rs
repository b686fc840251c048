//! Which TMA boxes bring an operand's rows (of B: columns) to a stage.
//!
//! TMA takes longer for rows outside of a matrix than for others, though they are zeros. So a tile
//! at the edge loads the boxes that reach into the matrix, and no others. A box of a K-major
//! operand has all rows of a tile, unless a part of the last tile's boxes would then lie outside.
//!
//! Rows and columns of a tile outside of C are not stored, so their values do not matter.
//!
//! # Source
//! Beyond the sources; for boxes see the PTX ISA, "Tensors".

use crate::gemm::scheduler::persistent::round_up;
use crate::gemm::wgmma::stage::block_k;

/// Rows after which the swizzle pattern repeats.
pub const SWIZZLED_ROWS: u32 = 8;

/// Boxes that a tile of a K-major operand is divided into, at most.
const MAX_BOXES: u32 = 4;

/// Tiles along m or n from which on boxes are whole: the last one of many matters little, and
/// all others would load in more boxes for it.
const MANY_TILES: u32 = 8;

/// TMA boxes that a stage loads of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boxes {
    /// Rows (of B: columns) of a box.
    pub extent: u32,
    /// Their number.
    pub count: u32,
}

impl Boxes {
    /// Those of a whole tile of `extent` rows, for elements of `element_bytes` bytes.
    pub const fn whole(extent: usize, element_bytes: usize, k_major: bool) -> Self {
        let of_box = if k_major {
            extent
        } else {
            block_k(element_bytes)
        };
        Boxes {
            extent: of_box as u32,
            count: (extent / of_box) as u32,
        }
    }

    /// Their rows.
    #[inline(always)]
    pub const fn rows(&self) -> u32 {
        self.extent * self.count
    }
}

/// How an operand is divided into boxes. The host computes it: a producer would wait for divisions
/// before its first load.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandBoxes {
    /// Rows of a box.
    of_box: u32,
    /// Boxes of a tile that has all of its rows.
    whole: u32,
    /// The first row of the last tile.
    last: u32,
    /// Boxes of the last tile.
    of_last: u32,
}

impl OperandBoxes {
    /// An operand of `extent` rows of op(A), or columns of op(B), for tiles of `tile` of them.
    /// `blocks` blocks of a cluster, a power of two, load their shares of K-major boxes.
    #[inline(always)]
    pub const fn new(
        extent: u32,
        tile: u32,
        element_bytes: usize,
        k_major: bool,
        blocks: u32,
    ) -> Self {
        let bk = block_k(element_bytes) as u32;
        let is_partial = 0 < extent && extent < tile;
        let multiple = match (k_major, blocks) {
            (false, _) => bk,
            (true, 1) => 1,
            (true, _) => SWIZZLED_ROWS * blocks,
        };
        let rows = if is_partial {
            round_up(extent, multiple)
        } else {
            tile
        };
        let of_box = if !k_major {
            bk
        } else if is_partial || blocks > 1 {
            rows
        } else {
            box_rows(extent, tile)
        };
        let whole = rows.div_ceil(of_box);
        let last = extent.saturating_sub(1) / tile * tile;
        let of_last = match extent - last {
            0 => whole,
            rest => rest.div_ceil(of_box),
        };
        OperandBoxes {
            of_box,
            whole,
            last,
            of_last,
        }
    }

    /// Rows of a box. Of a K-major operand that several blocks load, each loads its share of them.
    #[inline(always)]
    pub const fn box_rows(&self) -> u32 {
        self.of_box
    }

    /// The boxes of a tile that begins at row `first`, which is less than the extent.
    #[inline(always)]
    pub const fn of_tile(&self, first: u32) -> Boxes {
        Boxes {
            extent: self.of_box,
            count: if first < self.last {
                self.whole
            } else {
                self.of_last
            },
        }
    }

    /// Rows that every tile loads.
    #[inline(always)]
    pub const fn least(&self) -> u32 {
        self.of_last * self.of_box
    }
}

/// Rows of a box of a K-major operand of `extent` rows, for tiles of `tile`: all of them, unless
/// the last tile loads less in smaller ones.
const fn box_rows(extent: u32, tile: u32) -> u32 {
    let last = extent % tile;
    let mut of_box = tile;
    if last == 0 || extent / tile >= MANY_TILES {
        return of_box;
    }
    let mut boxes = 2;
    while boxes <= MAX_BOXES {
        let smaller = tile / boxes;
        if smaller.is_multiple_of(SWIZZLED_ROWS)
            && last.next_multiple_of(smaller) < last.next_multiple_of(of_box)
        {
            of_box = smaller;
        }
        boxes *= 2;
    }
    of_box
}

#[cfg(test)]
mod tests {
    use super::*;

    fn k_major(extent: u32, tile: u32) -> OperandBoxes {
        OperandBoxes::new(extent, tile, 2, true, 1)
    }

    #[test]
    fn boxes_are_whole_where_nothing_is_outside() {
        for (extent, tile) in [(256, 128), (1024, 256), (128, 128), (120, 128), (5, 64)] {
            let boxes = k_major(extent, tile);
            assert_eq!(boxes.of_tile(0).count, 1, "{extent} {tile}");
            assert_eq!(boxes.least(), extent.min(tile));
        }
    }

    #[test]
    fn the_last_tile_loads_what_it_has() {
        for (extent, tile, of_box, least) in [
            (192, 128, 64, 64),
            (320, 256, 64, 64),
            (448, 256, 64, 192),
            (129, 128, 32, 32),
            (255, 128, 128, 128),
            (97, 96, 24, 24),
            (104, 96, 24, 24),
            // Many tiles.
            (128 * 8 + 64, 128, 128, 128),
        ] {
            let boxes = k_major(extent, tile);
            assert_eq!([boxes.box_rows(), boxes.least()], [of_box, least]);
            assert_eq!(boxes.of_tile(0).rows(), tile);
            let first = extent / tile * tile;
            assert_eq!(boxes.of_tile(first).rows(), least);
        }
    }

    #[test]
    fn boxes_cover_each_tile_and_fit_in_it() {
        for extent in 1..700 {
            for tile in [64, 96, 128, 192, 256] {
                for k_major in [true, false] {
                    for blocks in [1, 2] {
                        // An MN-major operand has tiles of whole boxes.
                        if !k_major && tile % 64 != 0 {
                            continue;
                        }
                        let of = OperandBoxes::new(extent, tile, 2, k_major, blocks);
                        let mut least = u32::MAX;
                        for first in (0..extent).step_by(tile as usize) {
                            let rows = of.of_tile(first).rows();
                            assert!(rows >= (extent - first).min(tile) && rows <= tile);
                            least = least.min(rows);
                        }
                        assert_eq!(of.least(), least, "{extent} {tile} {k_major} {blocks}");
                        let shares = if k_major { blocks } else { 1 };
                        assert!(of.box_rows().is_multiple_of(shares));
                    }
                }
            }
        }
    }

    #[test]
    fn a_matrix_without_rows_has_no_tile_to_load() {
        assert_eq!(k_major(0, 128).box_rows(), 128);
    }
}
