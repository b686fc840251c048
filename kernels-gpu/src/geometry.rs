//! What a launch has to know of a kernel.

/// Block and output tile of a kernel that covers a two-dimensional output with one block per tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Columns (x) and rows (y) of the output that one block computes.
    pub tile: [u32; 2],
    /// Which of the output's two directions the grid's x runs along.
    pub grid_x: Along,
}

/// A direction of a row-major matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// x is the column index: neighbouring threads touch neighbouring elements.
    Columns,
    /// x is the row index: neighbouring threads are a whole row apart.
    Rows,
}

impl Geometry {
    /// A square block that computes a square tile, one output per thread.
    pub const fn square(width: usize) -> Self {
        Geometry {
            block: [width as u32, width as u32, 1],
            tile: [width as u32, width as u32],
            grid_x: Along::Columns,
        }
    }

    /// The same with x along the rows.
    pub const fn along_rows(self) -> Self {
        Geometry {
            grid_x: Along::Rows,
            ..self
        }
    }

    /// Blocks of the grid for an output of `rows` × `columns`, every block at least partly used.
    pub const fn grid(&self, rows: u32, columns: u32) -> [u32; 3] {
        let across = columns.div_ceil(self.tile[0]);
        let down = rows.div_ceil(self.tile[1]);
        match self.grid_x {
            Along::Columns => [across, down, 1],
            Along::Rows => [down, across, 1],
        }
    }
}
