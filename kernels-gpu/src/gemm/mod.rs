//! GEMM, C ← α · op(A) · op(B) + β · C: one library, of parts that CUTLASS separates as well.
//!
//! | folder or file | part |
//! |---|---|
//! | [`params`] | what a kernel is told of a GEMM |
//! | [`scheduler`] | tile schedulers: data-parallel, split-K and stream-K tiles, in grouped order |
//! | [`copy`](mod@copy), [`pipeline`] | operands from global to shared memory; stages and their barriers |
//! | [`pack_rows`] | operands copied first, whose rows begin anywhere |
//! | [`simt`], [`mma`], [`wgmma`] | main loops: FP32 units, `mma.sync`, warpgroup MMAs |
//! | [`reduction`] | partial sums of blocks of one tile, added up |
//! | [`epilogue`] | α, β and the store of C |
//! | [`planner`](mod@planner) | the kernel, tile and decomposition with the least predicted time |
//! | [`tile_config`], [`element`] | BM, BN, BK of a kernel; element types |
//!
//! # Layout
//! Everything is row-major with leading dimensions: C is m × n with rows `ldc` elements apart.
//! op(A) is m × k and op(B) is k × n; each operand is stored either as it is used or transposed:
//!
//! | `transpose_a` | element (i, l) of op(A) lies at | `transpose_b` | element (l, j) of op(B) lies at |
//! |---|---|---|---|
//! | 0 | i · lda + l, lda ≥ k | 0 | l · ldb + j, ldb ≥ n |
//! | 1 | l · lda + i, lda ≥ m | 1 | j · ldb + l, ldb ≥ k |
//!
//! A column-major GEMM is the same one with A and B, and m and n, exchanged.
//!
//! # Workspace
//! Where several blocks share a tile, their partial sums go to the workspace without α and β. With
//! split-K it holds batch · `splits` matrices of m rows, [`partial_sums_pitch`] apart, for the
//! [reduction kernel](reduction::split_k). With stream-K it holds a tile for each work unit, behind
//! the counters of the [fix-up](reduction::fix_up).

pub mod copy;
pub mod element;
pub mod epilogue;
pub mod mma;
pub mod pack_rows;
pub mod params;
pub mod pipeline;
#[cfg(not(target_arch = "nvptx64"))]
pub mod planner;
pub mod reduction;
pub mod scheduler;
pub mod simt;
pub mod tile_config;
#[cfg(sm_90a)]
pub mod wgmma;

pub use params::{GemmParams, MAX_LEADING, partial_sums_pitch};
