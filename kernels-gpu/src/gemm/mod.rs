//! GEMM, C ← α · op(A) · op(B) + β · C: its parameters, how its tiles are dealt out, and what the generations unit.
//!
//! | file | what |
//! |---|---|
//! | [`portable`] | tiles, for GPUs of any generation |
//! | [`skinny`] | products of which one side is short |
//! | [`partials`] | the sum of the parts of k |
//! | [`choose`](mod@choose), [`instance`], `cost` | which of these, and of `ampere` and `hopper`, computes a product |
//! | [`operand`], [`pipeline`], [`dgemm_tile`] | parts of those kernels: asynchronous copies, stages, f64 on tensor cores |
//! | [`fix_up`](mod@fix_up), [`slices`], [`scalar`] | tiles that blocks unit; accumulators in short chains; elements, four at a time |
//!
//! # Layout
//! Everything is row-major with leading dimensions: C is m × n with rows `ldc` elements apart. op(A) is m × k and op(B) is
//! k × n; each operand is stored either as it is used or transposed:
//!
//! | `transpose_a` | element (i, l) of op(A) lies at | `transpose_b` | element (l, j) of op(B) lies at |
//! |---|---|---|---|
//! | 0 | i · lda + l, lda ≥ k | 0 | l · ldb + j, ldb ≥ n |
//! | 1 | l · lda + i, lda ≥ m | 1 | j · ldb + l, ldb ≥ k |
//!
//! A column-major product is the same one with A and B, and m and n, exchanged.
//!
//! # Grid
//! x and y count tiles of C along n and m. z counts products: batch · `splits` + split. With `splits` > 1 the products of
//! a batch unit k, `k_per_split` each, and write accumulators without α and β to `partials`, an array of batches × splits
//! matrices of m rows, [`partials_pitch`] apart; a second kernel (`sgemm_reduce`, `dgemm_reduce`, or one for a C of 16 bits) adds those up into C.
//!
//! Where the last round of tiles would leave multiprocessors idle, its tiles are cut: the grid is then one row of blocks, `whole` of which compute a tile each; after those come the first parts of all other tiles, `k_first` deep, and
//! then their other parts, `k_rest` deep. Blocks of one tile [`fix_up`](mod@fix_up) in memory before `partials`.

pub mod copy;
pub mod element;
pub mod epilogue;
pub mod mma;
pub mod params;
pub mod pipeline;
#[cfg(not(target_arch = "nvptx64"))]
pub mod planner;
pub mod reduction;
pub mod scheduler;
pub mod simt;
pub mod tile_config;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod wgmma;

pub use params::{GemmParams, MAX_LEADING, partials_pitch};
