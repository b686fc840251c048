//! Where a thread stands in its block and grid, and how the threads of a block wait for each other.
//!
//! A grid is launched as blocks, a block runs on one multiprocessor as warps of 32 consecutive
//! threads, x fastest (PTX ISA, "Thread Hierarchy").
//!
//! A kernel that gives each thread an element of its own starts so:
//!
//! ```ignore
//! let i = thread::index_1d() as usize;
//! if i < a.len() {
//!     unsafe { *c.add(i) = a[i] + b[i] };
//! }
//! ```
//!
//! The guard is for the last block: a grid has whole blocks, so it may have more threads than there
//! are elements.

use crate::nvvm;

// The two types have the same fields, whether they are glam's or those at the end of this file: a
// crate that is built without glam need not know of it.
#[cfg(feature = "glam")]
pub use glam::{UVec2, UVec3};

#[cfg(not(feature = "glam"))]
pub use indices::{UVec2, UVec3};

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident = $register:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name() -> u32 {
                // SAFETY: reading a special register has no effect and no precondition.
                unsafe { nvvm::$register() }
            }
        )*
    };
}

special_registers! {
    /// Index of the thread in its block, in x (`%tid.x`).
    thread_idx_x = tid_x;
    /// Index of the thread in its block, in y (`%tid.y`).
    thread_idx_y = tid_y;
    /// Index of the thread in its block, in z (`%tid.z`).
    thread_idx_z = tid_z;
    /// Index of the block in the grid, in x (`%ctaid.x`).
    block_idx_x = ctaid_x;
    /// Index of the block in the grid, in y (`%ctaid.y`).
    block_idx_y = ctaid_y;
    /// Index of the block in the grid, in z (`%ctaid.z`).
    block_idx_z = ctaid_z;
    /// Threads of a block, in x (`%ntid.x`).
    block_dim_x = ntid_x;
    /// Threads of a block, in y (`%ntid.y`).
    block_dim_y = ntid_y;
    /// Threads of a block, in z (`%ntid.z`).
    block_dim_z = ntid_z;
    /// Blocks of the grid, in x (`%nctaid.x`).
    grid_dim_x = nctaid_x;
    /// Blocks of the grid, in y (`%nctaid.y`).
    grid_dim_y = nctaid_y;
    /// Blocks of the grid, in z (`%nctaid.z`).
    grid_dim_z = nctaid_z;
}

/// Index of the thread in its block.
#[inline(always)]
pub fn thread_idx() -> UVec3 {
    UVec3 {
        x: thread_idx_x(),
        y: thread_idx_y(),
        z: thread_idx_z(),
    }
}

/// Index of the block in the grid.
#[inline(always)]
pub fn block_idx() -> UVec3 {
    UVec3 {
        x: block_idx_x(),
        y: block_idx_y(),
        z: block_idx_z(),
    }
}

/// Threads of a block.
#[inline(always)]
pub fn block_dim() -> UVec3 {
    UVec3 {
        x: block_dim_x(),
        y: block_dim_y(),
        z: block_dim_z(),
    }
}

/// Blocks of the grid.
#[inline(always)]
pub fn grid_dim() -> UVec3 {
    UVec3 {
        x: grid_dim_x(),
        y: grid_dim_y(),
        z: grid_dim_z(),
    }
}

/// Index of the thread in a one-dimensional grid of one-dimensional blocks.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// Index of the thread in a two-dimensional grid of two-dimensional blocks.
#[inline(always)]
pub fn index_2d() -> UVec2 {
    UVec2 {
        x: index_1d(),
        y: block_idx_y() * block_dim_y() + thread_idx_y(),
    }
}

/// Index of the thread in a three-dimensional grid of three-dimensional blocks.
#[inline(always)]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3 {
        x,
        y,
        z: block_idx_z() * block_dim_z() + thread_idx_z(),
    }
}

/// Number of the thread in the whole grid, blocks counted x first and threads of a block x first.
#[inline(always)]
pub fn index() -> u32 {
    let (grid, block, dim, thread) = (grid_dim(), block_idx(), block_dim(), thread_idx());
    let block_number = (block.z * grid.y + block.y) * grid.x + block.x;
    let thread_number = (thread.z * dim.y + thread.y) * dim.x + thread.x;
    block_number * (dim.x * dim.y * dim.z) + thread_number
}

/// Whether this is the first thread of the grid.
#[inline(always)]
pub fn first() -> bool {
    index() == 0
}

/// Waits until every thread of the block has arrived; their earlier writes to shared and global
/// memory are then visible to all of them (`bar.sync 0`).
///
/// Every thread of the block that has not exited must reach the same barrier.
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: barrier 0 exists in every block.
    unsafe { nvvm::barrier_sync(0) }
}

/// [`sync_threads`] that returns for how many threads of the block `predicate` was not 0
/// (`bar.red.popc`).
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    // SAFETY: barrier 0 exists in every block.
    unsafe { nvvm::barrier_red_popc(0, predicate != 0) }
}

/// [`sync_threads`] that returns 1 where `predicate` was not 0 for every thread of the block, else
/// 0 (`bar.red.and`).
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    // SAFETY: barrier 0 exists in every block.
    u32::from(unsafe { nvvm::barrier_red_and(0, predicate != 0) })
}

/// [`sync_threads`] that returns 1 where `predicate` was not 0 for any thread of the block, else 0
/// (`bar.red.or`).
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    // SAFETY: barrier 0 exists in every block.
    u32::from(unsafe { nvvm::barrier_red_or(0, predicate != 0) })
}

/// Orders this thread's memory accesses for the threads of its block (`membar.cta`).
#[inline(always)]
pub fn block_fence() {
    // SAFETY: a fence has no precondition.
    unsafe { nvvm::membar_cta() }
}

/// Orders this thread's memory accesses for all threads of the device (`membar.gl`).
#[inline(always)]
pub fn device_fence() {
    // SAFETY: a fence has no precondition.
    unsafe { nvvm::membar_gl() }
}

/// [`device_fence`] under Rust-CUDA's name.
#[inline(always)]
pub fn grid_fence() {
    device_fence();
}

/// Orders this thread's memory accesses for the device and the host (`membar.sys`).
#[inline(always)]
pub fn system_fence() {
    // SAFETY: a fence has no precondition.
    unsafe { nvvm::membar_sys() }
}

/// Suspends the thread for about `nanoseconds`, between 0 and twice as long, at most 1 ms
/// (`nanosleep`).
#[inline(always)]
pub fn nanosleep(nanoseconds: u32) {
    // SAFETY: sleeping has no precondition.
    unsafe { nvvm::nanosleep(nanoseconds) }
}

/// Lanes of a warp: 32 (PTX ISA, `WARP_SZ`).
#[inline(always)]
pub fn warp_size() -> u32 {
    crate::warp::WARP_SIZE
}

#[cfg(not(feature = "glam"))]
mod indices {
    /// Two unsigned components.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UVec2 {
        /// Component in x, the fastest-varying index.
        pub x: u32,
        /// Component in y.
        pub y: u32,
    }

    /// Three unsigned components.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UVec3 {
        /// Component in x, the fastest-varying index.
        pub x: u32,
        /// Component in y.
        pub y: u32,
        /// Component in z.
        pub z: u32,
    }
}
