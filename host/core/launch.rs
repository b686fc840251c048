//! The vocabulary of launches: grids, arguments, and parameters before there is device memory.
//!
//! A [`Launch`] is what an engine runs: a loaded kernel, its grid, its arguments. A [`Param`] is an
//! argument of a launch that is only planned: it names an input, the output or the workspace
//! instead of an address.

/// Extent of a grid or a cluster (in blocks) or of a block (in threads), in x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Dim3 {
    /// Extent in x, the fastest-varying index.
    pub x: u32,
    /// Extent in y.
    pub y: u32,
    /// Extent in z.
    pub z: u32,
}

impl Dim3 {
    /// A grid of one block, a block of one thread, or no cluster.
    pub const ONE: Self = Dim3::new(1, 1, 1);

    /// The extents in x, y and z.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Dim3 { x, y, z }
    }

    /// Number of blocks in the grid or cluster, or of threads in the block.
    pub const fn count(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Dim3 { x, y: 1, z: 1 }
    }
}

impl From<[u32; 2]> for Dim3 {
    fn from([x, y]: [u32; 2]) -> Self {
        Dim3 { x, y, z: 1 }
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Dim3 { x, y, z }
    }
}

/// One kernel argument, in the order of the PTX entry's parameters.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A device address.
    Ptr(DevicePtr),
    /// A 32-bit integer parameter.
    U32(u32),
    /// A 64-bit integer parameter; the length of a slice.
    U64(u64),
    /// An `f32` parameter.
    F32(f32),
    /// An `f64` parameter.
    F64(f64),
    /// A by-value aggregate, in the kernel's own layout.
    Bytes(&'a [u8]),
}

/// An address in an engine's device memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DevicePtr(pub u64);

/// A kernel that an engine has loaded; valid for the engine that returned it, as long as that
/// engine lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelId(pub usize);

/// Most blocks of a cluster that every device with clusters can run (CUDA C++ Programming Guide,
/// "Thread Block Clusters").
pub const MAX_CLUSTER_BLOCKS: u64 = 8;

/// One launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel, from [`Engine::load`](crate::engine::Engine::load) of the same engine.
    pub kernel: KernelId,
    /// Blocks of the grid.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Blocks of a thread block cluster: divisors of the grid's extents, [`MAX_CLUSTER_BLOCKS`]
    /// together at most. [`Dim3::ONE`] for a launch without clusters.
    pub cluster: Dim3,
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Arguments, in the order of the PTX entry's parameters.
    pub args: &'a [Arg<'a>],
}

/// Row-major matrices of one size in device memory, one behind the other, and the box of one of
/// them that a bulk copy moves, swizzled by 128 bytes. Its tensor map has three dimensions: column,
/// row, and number of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixMap {
    /// The first element.
    pub address: DevicePtr,
    /// Bytes of an element: 2 or 4.
    pub element_bytes: u32,
    /// Columns of a matrix.
    pub columns: u32,
    /// Rows of a matrix.
    pub rows: u32,
    /// Matrices.
    pub matrices: u32,
    /// Distance of two rows, in bytes: a multiple of 16.
    pub row_bytes: u64,
    /// Distance of two matrices, in bytes: a multiple of 16.
    pub matrix_bytes: u64,
    /// Columns of the box.
    pub box_columns: u32,
    /// Rows of the box.
    pub box_rows: u32,
    /// What the L2 cache fetches at least.
    pub l2_promotion: L2Promotion,
}

/// The granularity with which the L2 cache fetches what a tensor map describes (CUDA driver API,
/// `CUtensorMapL2promotion`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum L2Promotion {
    /// 128 bytes.
    Bytes128,
    /// 256 bytes.
    Bytes256,
}

/// Bytes of a tensor map in device memory.
pub const TENSOR_MAP_BYTES: usize = 128;

/// One parameter of a kernel, before there is device memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// An input as a slice: its pointer and its length.
    Input(usize),
    /// The pointer to an input, without its length.
    InputPtr(usize),
    /// The pointer to the output.
    Output,
    /// A null pointer.
    Null,
    /// The pointer to the memory that the launches of a plan share.
    Workspace,
    /// The pointer to a byte of that memory, counted from its start.
    WorkspaceAt(u64),
    /// The pointer to tensor maps, one behind the other.
    TensorMaps(Vec<TensorMap>),
    /// A 32-bit number.
    U32(u32),
    /// A 64-bit number.
    U64(u64),
    /// A float.
    F32(f32),
    /// An aggregate passed by value.
    Bytes(Vec<u8>),
    /// The parameters of a GEMM, passed by value: they end with α and β, which may
    /// differ from launch to launch.
    Product(Vec<u8>),
}

/// The memory that matrices lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// In an input.
    Input(usize),
    /// In the output.
    Output,
    /// In the memory that the launches of a plan share, this many bytes from its start.
    Workspace(u64),
}

/// Row-major matrices, one behind the other, and the box of one of them that a bulk copy moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The memory that they lie in.
    pub region: Region,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// Columns of a matrix.
    pub columns: u32,
    /// Rows of a matrix.
    pub rows: u32,
    /// Matrices.
    pub matrices: u32,
    /// Distance of two rows, in elements: a multiple of 16 bytes.
    pub pitch: u32,
    /// Distance of two matrices, in elements: a multiple of 16 bytes.
    pub stride: u64,
    /// Columns of the box.
    pub box_columns: u32,
    /// Rows of the box.
    pub box_rows: u32,
    /// What the L2 cache fetches at least.
    pub l2_promotion: L2Promotion,
}

impl TensorMap {
    /// The matrices that it describes, from an address on.
    pub fn at(&self, address: DevicePtr) -> MatrixMap {
        MatrixMap {
            address,
            element_bytes: self.element_bytes,
            columns: self.columns,
            rows: self.rows,
            matrices: self.matrices,
            row_bytes: u64::from(self.pitch) * u64::from(self.element_bytes),
            matrix_bytes: self.stride * u64::from(self.element_bytes),
            box_columns: self.box_columns,
            box_rows: self.box_rows,
            l2_promotion: self.l2_promotion,
        }
    }
}
