//! Errors: each message is one line.

use crate::ir::Calls;
use crate::ir::{AccessKind, InstructionId, SourceLocation, Space};
use std::fmt;

/// Device memory could not be allocated or accessed by the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The capacity or the host's memory does not suffice.
    #[error(
        "{requested} bytes of device memory do not fit: {used} of {capacity} are in use; free some \
         or raise the capacity"
    )]
    Full {
        /// Bytes requested.
        requested: u64,
        /// Bytes in use.
        used: u64,
        /// The limit.
        capacity: u64,
    },
    /// An allocation cannot lie at the address that was chosen for it.
    #[error(
        "no allocation of {bytes} bytes can lie at {address:#x}: the addresses are in use or \
         reserved, or no multiple of 4"
    )]
    Occupied {
        /// The address.
        address: u64,
        /// Bytes requested.
        bytes: u64,
    },
    /// No allocation starts at the address.
    #[error("no allocation starts at {address:#x}")]
    NotAnAllocation {
        /// The address.
        address: u64,
    },
    /// No allocation holds all of the bytes.
    #[error("{bytes} bytes at {address:#x} do not lie inside one allocation")]
    OutOfBounds {
        /// First address.
        address: u64,
        /// Bytes requested.
        bytes: u64,
    },
}

/// A kernel could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The module has no such kernel.
    #[error("the module has no kernel `{name}`; it has: {known}")]
    Unknown {
        /// The name requested.
        name: String,
        /// The kernels that there are.
        known: String,
    },
    /// An instruction that the emulator does not support.
    #[error("kernel `{kernel}`, line {line}:{column}: unknown instruction `{opcode}`")]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// Line of the PTX text.
        line: u32,
        /// Column of the PTX text.
        column: u32,
        /// The opcode with its modifiers.
        opcode: String,
    },
    /// An instruction that the emulator knows and refuses, with the reason.
    #[error("kernel `{kernel}`, line {line}:{column}: {reason}")]
    Refused {
        /// The kernel.
        kernel: String,
        /// Line of the PTX text.
        line: u32,
        /// Column of the PTX text.
        column: u32,
        /// The instruction or what of it is not supported, and why.
        reason: String,
    },
    /// Operands that do not fit it, or a body
    /// that is not well formed.
    #[error("kernel `{kernel}`, line {line}:{column}: {message}")]
    Instruction {
        /// The kernel.
        kernel: String,
        /// Line of the PTX text.
        line: u32,
        /// Column of the PTX text.
        column: u32,
        /// What is wrong.
        message: String,
    },
}

/// A launch was refused or failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// An extent of the grid or the block is zero.
    #[error("grid {grid:?} and block {block:?} must not have a zero extent")]
    ZeroExtent {
        /// Blocks.
        grid: [u32; 3],
        /// Threads per block.
        block: [u32; 3],
    },
    /// More threads than a block can have.
    #[error("a block of {threads} threads exceeds the {limit} that {reason}")]
    BlockTooLarge {
        /// Threads requested.
        threads: u64,
        /// The limit.
        limit: u64,
        /// The source of the limit.
        reason: &'static str,
    },
    /// The block does not have the extents of `.reqntid`.
    #[error("the kernel needs blocks of {required:?} threads (.reqntid), not {block:?}")]
    WrongBlock {
        /// Extents that the kernel states.
        required: [u32; 3],
        /// Extents requested.
        block: [u32; 3],
    },
    /// The grid is larger than CUDA allows.
    #[error("grid {grid:?} exceeds the limit of {limit:?} blocks")]
    GridTooLarge {
        /// Blocks requested.
        grid: [u32; 3],
        /// The limit per axis.
        limit: [u32; 3],
    },
    /// The extents of the cluster do not divide those of the grid.
    #[error(
        "clusters of {cluster:?} blocks do not divide the grid {grid:?}: choose divisors of its \
         extents"
    )]
    WrongCluster {
        /// Blocks of a cluster.
        cluster: [u32; 3],
        /// Blocks of the grid.
        grid: [u32; 3],
    },
    /// The cluster does not have the extents of `.reqnctapercluster`.
    #[error(
        "the kernel needs clusters of {required:?} blocks (.reqnctapercluster), not {cluster:?}"
    )]
    OtherCluster {
        /// Extents that the kernel states.
        required: [u32; 3],
        /// Extents requested.
        cluster: [u32; 3],
    },
    /// The kernel states `.explicitcluster`, and the launch names no cluster.
    #[error("the kernel needs a launch that names its clusters (.explicitcluster)")]
    NoCluster,
    /// The cluster has more blocks than the kernel states (`.maxclusterrank`), or than every device
    /// with clusters can run.
    #[error("a cluster of {blocks} blocks exceeds the limit of {limit}")]
    ClusterTooLarge {
        /// Blocks of a cluster.
        blocks: u64,
        /// The limit.
        limit: u64,
    },
    /// A cooperative launch names clusters, or its kernel does.
    #[error(
        "a cooperative launch with clusters of {cluster:?} blocks is not supported: launch without \
         one of the two"
    )]
    CooperativeCluster {
        /// Blocks of a cluster.
        cluster: [u32; 3],
    },
    /// The blocks of a cooperative launch, all of which are resident, need too much memory.
    #[error(
        "a cooperative launch of {blocks} blocks needs {bytes} bytes of registers, local and \
         shared memory; the limit is {limit}: launch fewer or smaller blocks"
    )]
    CooperativeTooLarge {
        /// Blocks of the grid.
        blocks: u64,
        /// What they need.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The workspace of a cooperative launch does not fit into device memory.
    #[error("the workspace of the grid's barrier: {0}")]
    Workspace(MemoryError),
    /// Static and dynamic shared memory exceed what a block can have.
    #[error(
        "{wanted} bytes of shared memory ({fixed} static) exceed the {limit} that a block can have"
    )]
    SharedTooLarge {
        /// Static and dynamic bytes.
        wanted: u64,
        /// Static bytes.
        fixed: u32,
        /// The limit.
        limit: u32,
    },
    /// The number of arguments differs from that of the parameters.
    #[error("kernel `{kernel}` takes {expected} arguments, not {given}")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Its parameters.
        expected: usize,
        /// Arguments given.
        given: usize,
    },
    /// An argument's size differs from its parameter's.
    #[error("argument {index} of kernel `{kernel}` must have {expected} bytes, not {given}")]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// Position, from 0.
        index: usize,
        /// Bytes of the parameter.
        expected: u32,
        /// Bytes given.
        given: u32,
    },
    /// The module's variables do not fit into device memory.
    #[error("the module's variables: {0}")]
    Variables(#[from] MemoryError),
    /// The host could not start a worker thread.
    #[error("a worker thread could not be started: {0}")]
    Worker(String),
    /// An observer that steps ended the launch ([`Resume::Stop`](crate::stepping::Resume::Stop)).
    #[error("the launch was ended before the kernel was")]
    Stopped,
    /// The kernel did something wrong.
    #[error("{0}")]
    Fault(Box<Fault>),
}

/// What a kernel did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside of every allocation.
    OutOfBounds(AccessFault),
    /// An access near address 0.
    NullPointer(AccessFault),
    /// An access to an allocation that has been freed.
    UseAfterFree(AccessFault),
    /// An address that is not a multiple of the access size.
    Misaligned(AccessFault),
    /// A store or atomic to constant or parameter memory.
    ReadOnly(AccessFault),
    /// `trap`: a failed check or a panic.
    Trap,
    /// `__assertfail`: what `assert` and a panic of a kernel call.
    Assertion {
        /// The condition that does not hold, or the panic's message.
        message: String,
        /// The source file.
        file: String,
        /// The line in it.
        line: u32,
        /// The function.
        function: String,
    },
    /// `free` of a block of the device heap that has been freed.
    DoubleFree {
        /// Its address.
        address: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// `free` of an address at which no block of the device heap starts.
    BadFree {
        /// The address.
        address: u64,
        /// The nearest block.
        nearest: String,
    },
    /// A call of a function without a body.
    ExternalCall(String),
    /// An indirect call of something that is not a function with that prototype.
    BadCall(u64),
    /// More nested calls than the emulator allows.
    StackOverflow,
    /// `brx.idx` with an index beyond the last label.
    BadBranchIndex(u32),
    /// A barrier number of 16 or more, or a thread count that no barrier can have.
    BadBarrier(String),
    /// A matrix instruction that only these lanes of a warp execute.
    PartialWarp(u32),
    /// A bulk copy or a `wgmma` with an invalid tensor map or descriptor.
    BadTensor(String),
    /// An access to a texture or surface that is none, or is of another kind.
    BadTexture(String),
    /// A matrix instruction on memory that is not shared.
    NotShared(u64),
    /// Some threads wait for threads that never arrive.
    Deadlock(String),
    /// The launch's instruction budget is used up.
    Budget(u64),
}

/// A wrong memory access.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessFault {
    /// What the access does.
    pub access: AccessKind,
    /// The space that the address lies in.
    pub space: Space,
    /// The address: generic for global and constant memory, else within the space.
    pub address: u64,
    /// Bytes of the access.
    pub bytes: u32,
    /// The nearest allocation or the extent of the space.
    pub nearest: String,
}

/// A kernel's error, and where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The kernel.
    pub kernel: String,
    /// The instruction of the kernel that is to blame, where one is.
    pub id: Option<InstructionId>,
    /// Its PTX text.
    pub instruction: Option<String>,
    /// Its line in the PTX text.
    pub line: Option<u32>,
    /// Its line in the source, from `.loc`.
    pub location: Option<SourceLocation>,
    /// Index of the block.
    pub block: [u32; 3],
    /// Index of the thread in its block, where one is to blame.
    pub thread: Option<[u32; 3]>,
    /// Where the threads of the block are, of a launch whose budget is used up.
    pub waiting: Option<String>,
    /// The calls of functions that lead to the instruction.
    pub(crate) calls: Calls,
}

impl fmt::Display for AccessFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} bytes at {} address {:#x}; {}",
            self.access, self.bytes, self.space, self.address, self.nearest
        )
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::OutOfBounds(access) => write!(f, "out of bounds: {access}"),
            FaultKind::NullPointer(access) => write!(f, "null pointer: {access}"),
            FaultKind::UseAfterFree(access) => write!(f, "use after free: {access}"),
            FaultKind::Misaligned(access) => write!(f, "misaligned: {access}"),
            FaultKind::ReadOnly(access) => write!(f, "read-only memory: {access}"),
            FaultKind::Trap => write!(f, "trap (a failed check or a panic)"),
            FaultKind::Assertion {
                message,
                file,
                line,
                function,
            } => write!(f, "{file}:{line}: {function}: assertion `{message}` failed"),
            FaultKind::DoubleFree { address, bytes } => write!(
                f,
                "free of {address:#x}, a block of {bytes} bytes that has been freed already"
            ),
            FaultKind::BadFree { address, nearest } => write!(
                f,
                "free of {address:#x}, where no block of the device heap starts; {nearest}"
            ),
            FaultKind::ExternalCall(name) => {
                write!(f, "call of `{name}`, which has no body in this module")
            }
            FaultKind::BadCall(address) => {
                write!(
                    f,
                    "indirect call of {address:#x}, which is no function that fits"
                )
            }
            FaultKind::StackOverflow => write!(f, "too many nested calls"),
            FaultKind::BadBranchIndex(index) => {
                write!(f, "branch index {index} lies behind the last label")
            }
            FaultKind::BadBarrier(what)
            | FaultKind::BadTensor(what)
            | FaultKind::BadTexture(what) => write!(f, "{what}"),
            FaultKind::PartialWarp(mask) => write!(
                f,
                "only lanes {mask:#x} execute it; all 32 lanes of the warp must"
            ),
            FaultKind::NotShared(address) => {
                write!(f, "address {address:#x} is not in shared memory")
            }
            FaultKind::Deadlock(who) => write!(f, "deadlock: {who}"),
            FaultKind::Budget(budget) => write!(
                f,
                "the budget of {budget} warp instructions is used up (an infinite loop?); raise \
                 LaunchConfig::instruction_budget"
            ),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`: {}", self.kernel, self.kind)?;
        if let Some(instruction) = &self.instruction {
            write!(f, ", in `{instruction}`")?;
        }
        if let Some(line) = self.line {
            write!(f, " (PTX line {line})")?;
        }
        if let Some(location) = &self.location {
            write!(f, " from {location}")?;
        }
        write!(f, ", block {:?}", self.block)?;
        if let Some(thread) = self.thread {
            write!(f, ", thread {thread:?}")?;
        }
        if let Some(waiting) = &self.waiting {
            write!(f, ": {waiting}")?;
        }
        Ok(())
    }
}
