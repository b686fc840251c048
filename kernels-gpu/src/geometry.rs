//! What a launch has to know of a kernel.

/// How a kernel's blocks cover its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// A two-dimensional output, one block for each tile of it.
    Tiles {
        /// Threads of a block in x, y and z.
        block: [u32; 3],
        /// Columns and rows of the output that one block computes.
        tile: [u32; 2],
        /// Which of the output's two directions the grid's x runs along.
        grid_x: Along,
    },
    /// A one-dimensional output, one block for each run of elements.
    Linear {
        /// Threads of a block.
        block: u32,
        /// Elements of the output that one block computes.
        elements: u32,
    },
    /// A loop over the elements in steps of the whole grid: any number of blocks will do.
    GridStride {
        /// Threads of a block.
        block: u32,
    },
}

/// Blocks per multiprocessor of a grid-stride launch: enough to fill any GPU so far with blocks of
/// 256 threads (64 warps of a multiprocessor are 8 of them).
pub const GRID_STRIDE_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// A direction of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// x is the column index.
    Columns,
    /// x is the row index.
    Rows,
}

impl Geometry {
    /// A block of `[x, y]` threads for a tile of `[columns, rows]`, the grid's x along the columns.
    pub const fn tiles(block: [usize; 2], tile: [usize; 2]) -> Self {
        Geometry::Tiles {
            block: [block[0] as u32, block[1] as u32, 1],
            tile: [tile[0] as u32, tile[1] as u32],
            grid_x: Along::Columns,
        }
    }

    /// A square block that computes a square tile, one output per thread.
    pub const fn square(width: usize) -> Self {
        Geometry::tiles([width, width], [width, width])
    }

    /// The same with the grid's x along the rows.
    ///
    /// # Panics
    /// Where there are no rows.
    pub const fn along_rows(self) -> Self {
        match self {
            Geometry::Tiles { block, tile, .. } => Geometry::Tiles {
                block,
                tile,
                grid_x: Along::Rows,
            },
            _ => panic!("only tiles have rows"),
        }
    }

    /// Threads of a block in x, y and z.
    pub const fn block(&self) -> [u32; 3] {
        match *self {
            Geometry::Tiles { block, .. } => block,
            Geometry::Linear { block, .. } | Geometry::GridStride { block } => [block, 1, 1],
        }
    }

    /// Columns and rows of the output that one block computes; `None` where the grid decides.
    pub const fn tile(&self) -> Option<[u32; 2]> {
        match *self {
            Geometry::Tiles { tile, .. } => Some(tile),
            Geometry::Linear { elements, .. } => Some([elements, 1]),
            Geometry::GridStride { .. } => None,
        }
    }

    /// Blocks of the grid for an output of `rows` × `columns` on a device of `multiprocessors` SMs,
    /// every block at least partly used. A one-dimensional output has one row. The launch checks
    /// the device's limits.
    pub const fn grid(&self, rows: u64, columns: u64, multiprocessors: u32) -> [u64; 3] {
        match *self {
            Geometry::Tiles { tile, grid_x, .. } => {
                let across = columns.div_ceil(tile[0] as u64);
                let down = rows.div_ceil(tile[1] as u64);
                match grid_x {
                    Along::Columns => [across, down, 1],
                    Along::Rows => [down, across, 1],
                }
            }
            Geometry::Linear { elements, .. } => [columns.div_ceil(elements as u64), 1, 1],
            Geometry::GridStride { block } => {
                let useful = columns.div_ceil(block as u64);
                let full = (multiprocessors * GRID_STRIDE_BLOCKS_PER_MULTIPROCESSOR) as u64;
                [if useful < full { useful } else { full }, 1, 1]
            }
        }
    }
}
