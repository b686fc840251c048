//! # Neighbours in memory
//!
//! This kernel is right, and slow. A warp, 32 threads with consecutive x, executes a load together.
//! Memory is moved in sectors of 32 bytes, 8 elements. Where the 32 threads access 32 neighbouring
//! elements, a load moves 4 sectors; where each accesses another row, it moves 32 and uses an
//! eighth of what it moves.
//!
//! ```text
//! as it is                             as it should be
//! thread  0   1   2                    thread  0   1   2 ...
//!         |   |   |                            |   |   |
//! row 0 [ x |   |   | ...              row 0 [ x | x | x | ...
//! row 1 [ x |   |   | ...
//! row 2 [ x |   |   | ...
//! ```
//!
//! # What to do
//!
//! Let neighbouring threads access neighbouring elements. It takes a change of one line.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn coalesced(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let (row, column) = (x as usize, y as usize);
    if row < rows && column < columns {
        let i = row * columns + column;
        *output.add(i) = *input.add(i) + 1.0;
    }
}
