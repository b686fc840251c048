//! `tiled`: a matrix product through shared tiles.

use cuda_std::safe::*;

/// Rows of A and C.
pub struct M;

/// Columns of B and C.
pub struct N;

/// Columns of A, rows of B.
pub struct K;

// ANCHOR: kernel
/// C ← A · B, by tiles of `TILE` × `TILE`.
///
/// The instances for whole tiles take extents that are multiples of `TILE`, without tests; the
/// guarded one takes any.
#[kernel(
    min_blocks = 1,
    instances(tiled_16 = <16, 16>, tiled_32 = <32, 32>, tiled_16_guarded = <16, 1>)
)]
pub fn tiled<const TILE: usize, const MULTIPLE: usize>(
    block: Block<TILE, TILE>,
    a: Matrix<f32, M, K, MULTIPLE>,
    b: Matrix<f32, K, N, MULTIPLE>,
    mut c: MatrixMut<f32, M, N, Tiles<TILE, TILE>, MULTIPLE>,
    #[shared] tile_a: SharedTile<f32, TILE, TILE>,
    #[shared] tile_b: SharedTile<f32, TILE, TILE>,
) {
    let (rows, columns) = (c.tile_rows(&block), c.tile_columns(&block));
    let mut tiles = (tile_a, tile_b);
    let mut sums = block.each(|_| 0.0f32);
    for k in a.columns().tiles::<TILE>() {
        let (tile_a, tile_b) = tiles;
        let (tile_a, tile_b) = block.sync((
            tile_a.write(&block, |slot| {
                a.or_zero(rows.get(slot.row()), k.get(slot.column()))
            }),
            tile_b.write(&block, |slot| {
                b.or_zero(k.get(slot.row()), columns.get(slot.column()))
            }),
        ));
        sums = sums.map(|thread, sum| {
            let (row, column) = (thread.y(), thread.x());
            Below::all().fold(sum, |sum, i| {
                tile_a[(row, i)].mul_add(tile_b[(i, column)], sum)
            })
        });
        tiles = block.sync((tile_a, tile_b));
    }
    c.store(&block, |slot| sums.get(slot.thread()));
}
// ANCHOR_END: kernel
