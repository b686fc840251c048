//! # Detective: the wrong edge
//!
//! This kernel adds two matrices. It worked in all tests, which were with square matrices. Now it
//! stops.
//!
//! # What to do
//!
//! Run the check. Its report says which access went wrong, in which line and in which thread. From
//! the thread you can work out row and column: was it meant to be there? Repair the line that let
//! it pass.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn wrong_edge(a: *const f32, b: *const f32, c: *mut f32, rows: usize, columns: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let (row, column) = (y as usize, x as usize);
    if row < columns && column < rows {
        let i = row * columns + column;
        *c.add(i) = *a.add(i) + *b.add(i);
    }
}
