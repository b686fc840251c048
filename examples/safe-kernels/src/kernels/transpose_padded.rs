//! `transpose_padded`: through a shared tile with one column of padding.

use cuda_std::safe::*;

/// Width of the tile and of the block that moves it.
pub const TILE: usize = 32;

/// Rows of the input.
pub struct Height;

/// Columns of the input.
pub struct Width;

// ANCHOR: kernel
/// Writes the transpose of `input` to `output`.
///
/// The instance for whole tiles takes extents that are multiples of 32, without tests; the guarded
/// one takes any.
#[kernel(
    min_blocks = 1,
    instances(transpose_padded = <TILE>, transpose_padded_guarded = <1>)
)]
pub fn transpose_padded<const MULTIPLE: usize>(
    block: Block<TILE, TILE>,
    input: Matrix<f32, Height, Width, MULTIPLE>,
    mut output: MatrixMut<f32, Width, Height, TilesDown<TILE, TILE>, MULTIPLE>,
    #[shared] tile: SharedTile<f32, TILE, TILE, 1>,
) {
    let rows = output.tile_columns(&block);
    let columns = output.tile_rows(&block);
    let tile = tile.write(&block, |slot| {
        input.or_zero(rows.get(slot.row()), columns.get(slot.column()))
    });
    let elements = output.elements(&block);
    let tile = block.sync(tile);
    elements.store(|slot| tile[(slot.column(), slot.row())]);
}
// ANCHOR_END: kernel
