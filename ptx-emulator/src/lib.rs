#![doc = include_str!("../README.md")]

mod address_space;
mod aligned;
mod allocation;
pub mod counters;
mod decode;
mod error;
mod exec;
mod heap;
mod ir;
mod kernel;
mod launch;
mod memory;
mod observer;
mod parallelism;
mod printf;
mod ranges;
pub mod sanitize;
pub mod stepping;
mod tensor_map;
mod texture;
mod whole;

pub use allocation::HostStorage;
pub use counters::Counters;
pub use error::{AccessFault, Fault, FaultKind, KernelError, LaunchError, MemoryError};
pub use heap::DEFAULT_HEAP_BYTES;
pub use ir::{AccessKind, InstructionClass, InstructionId, SourceLocation, Space};
pub use kernel::{BasicBlock, Instruction, Kernel, Module, Param};
pub use launch::{Args, DEFAULT_INSTRUCTION_BUDGET, LaunchConfig, Report};
pub use memory::{ALLOCATION_ALIGN, Memory};
pub use observer::{
    Accesses, AsyncAccess, BarrierComplete, Event, Interest, Issuer, LaunchContext, MemoryAccess,
    NoObserver, ObservedLaunch, Observer, Progress, StoredValues, WarpContext, WarpSync,
    WarpSyncKind,
};
pub use ptx_syntax::{ParseError, read_file};
pub use sanitize::Sanitizer;
pub use tensor_map::{MAX_TENSOR_RANK, TENSOR_MAP_BYTES, TensorElement, TensorMap, TensorSwizzle};
pub use texture::{
    AddressMode, Filter, Image, ImageKind, Sampler, TexelFormat, Texture, TextureError,
};

/// Whether this crate was compiled with optimisation. Without it kernels run many times as long: a
/// program's `[profile.dev.package."*"]` with `opt-level = 3` has it optimised in debug builds
/// too.
pub const OPTIMISED: bool = cfg!(optimised);

/// Most bytes of shared memory that a block can have (compute capability 9.0).
pub const MAX_SHARED_BYTES: u32 = 227 * 1024;

/// Bytes of shared memory that the system reserves in each block, besides those.
const RESERVED_SHARED_BYTES: u16 = 1024;

/// Most threads that a block can have.
pub const MAX_BLOCK_THREADS: u32 = 1024;

/// Most blocks of a cluster that every device with clusters can run (CUDA C++ Programming Guide,
/// "Thread Block Clusters").
pub const MAX_CLUSTER_BLOCKS: u64 = 8;

/// Most blocks of a cluster where the launch allows more than every device can run.
pub const MAX_LARGER_CLUSTER_BLOCKS: u64 = 16;

/// Most bytes of registers, local and shared memory that the blocks of a cooperative launch can
/// have in all; every block is resident from the start.
pub const MAX_RESIDENT_BYTES: u64 = 4 << 30;

/// Most bytes of kernel parameters (PTX ISA 8.1 and later, sm_70 and later).
pub const MAX_PARAMETER_BYTES: u32 = 32764;
