//! `sgemm` and its instances: f32 GEMMs of any size and layout, at the rate of the FP32 units.
//!
//! # Idea
//! `cp_async` keeps the FP32 units busy for about three quarters of the time. The rest goes to
//! block barriers and to loads of operands from shared memory. So each thread owns 8 × 16
//! accumulators: 24 elements from shared memory feed 128 FMAs. The elements of the next k are
//! prefetched into a second set of registers meanwhile.
//!
//! Stages of shared memory form a pipeline in which each has a full and an empty barrier. A warp
//! waits for a stage, never for the other warps.
//!
//! FMAs go through the accumulators in serpentines. Of the three operands of an instruction, one
//! was then an operand of the instruction before: register banks deliver two per cycle.
//!
//! The large block tiles compute two k-rows at a time, in a loop that the instruction cache holds.
//! Waits and copies lie among the FMAs of the last two k-rows. Where k is long, accumulation has
//! [two levels](crate::gemm::simt::promotion), which round less.
//!
//! # Thread mapping
//! The warp tile has 8 · `TM` × 4 · `TN` elements of the block tile. The thread tile has `TM` ×
//! `TN` of them: micro-tiles of 4 × 4 elements, 32 rows and 16 columns apart. All threads copy: see
//! [`copy`](crate::gemm::copy).
//!
//! # Preconditions
//! None on sizes, beyond [`MAX_LEADING`](crate::gemm::MAX_LEADING). Instances named after a layout
//! (`_nn`: neither operand transposed) take that layout only. For an MN-major operand, the large
//! block tiles need whole 16-byte vectors: the leading dimension and the extent are multiples of 4
//! elements, the address of 16 bytes.
//!
//! # What changed since the rung before
//! Against `cp_async`: barriers for stages instead of the block, twice the accumulators of a
//! thread, fragments in two sets of registers, the order of the FMAs, α and β, layouts, edges,
//! batches, split-K and stream-K.
//!
//! # Source
//! Beyond the sources. The blocking is that of CUTLASS's SIMT kernels (Kerr et al., "CUTLASS: Fast
//! Linear Algebra in CUDA C++", 2017).

use super::main_loop::{SimtTile, body, sgemm_instances, sgemm_tiles};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::pipeline::cp_async::shared_bytes;
use crate::gemm::scheduler::grid::GridSchedulerParams;
use crate::gemm::tile_config::{Tile, TileConfig};

// ANCHOR: instances
sgemm_instances! { sgemm, false }
// ANCHOR_END: instances
