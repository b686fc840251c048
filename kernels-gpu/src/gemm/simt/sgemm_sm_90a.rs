//! `sgemm` for compute capability 9.0: launches that overlap.
//!
//! # Idea
//! Between two kernels of a stream a GPU idles while one ends and the next one starts. Here a
//! launch begins while the one in front ends, and its blocks wait for that before anything else.
//! The [reduction kernel](crate::gemm::reduction::split_k) behind a split-K product does the same.
//! No kernel lets the next one begin earlier: several blocks share an SM, and those of the next
//! launch would be distributed unevenly.
//!
//! # Thread mapping
//! As in [`sgemm`](crate::gemm::simt::sgemm).
//!
//! # Preconditions
//! As for `sgemm`.
//!
//! # What changed since the rung before
//! Against `sgemm`: [`griddepcontrol`](cuda_std::griddepcontrol) before the first copies.
//!
//! # Source
//! Beyond the sources; PTX ISA, "griddepcontrol".

use super::main_loop::{SimtTile, body, sgemm_instances, sgemm_tiles};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::pipeline::cp_async::shared_bytes;
use crate::gemm::scheduler::grid::GridSchedulerParams;
use crate::gemm::tile_config::{Tile, TileConfig};

sgemm_instances! { sgemm_90, true }
