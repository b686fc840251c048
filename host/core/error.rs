//! What goes wrong where kernels run.

use ptx_emulator::FaultKind;

/// What went wrong in an engine. The message is one line: what, with what value, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The engine cannot run here at all.
    #[error("{0}")]
    Unavailable(String),
    /// The device has too little memory.
    #[error("out of device memory: {needed} bytes are needed, {free} are free: use a smaller size")]
    OutOfMemory {
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The PTX was refused.
    #[error("cannot load {entry}: {cause}")]
    Load {
        /// PTX entry.
        entry: String,
        /// Why.
        cause: LoadCause,
    },
    /// A launch was refused or failed.
    #[error("{entry} failed: {cause}")]
    Launch {
        /// PTX entry.
        entry: String,
        /// Why.
        cause: LaunchCause,
    },
    /// A call of the driver failed.
    #[error("{call} failed: {message}")]
    Driver {
        /// Name of the driver's function.
        call: &'static str,
        /// The driver's message.
        message: String,
    },
}

/// Why a kernel was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadCause {
    /// The driver's compiler refused the text, or the driver the module.
    #[error("{0}")]
    Driver(String),
    /// The emulator does not take the text.
    #[error(transparent)]
    Emulator(#[from] ptx_emulator::KernelError),
    /// The emulator does not take the kernel in it.
    #[error(transparent)]
    Syntax(#[from] ptx_emulator::ParseError),
    /// The text has no such entry.
    #[error("the PTX has no such entry")]
    NoEntry,
    /// The kernel's module is not embedded: see the features in [`crate::ptx`].
    #[error(
        "its PTX, for compute capability {major}.{minor}, is not embedded: build with all features \
         sm_* of warpladder"
    )]
    NotEmbedded {
        /// Major number of the module's compute capability.
        major: u32,
        /// Its minor number.
        minor: u32,
    },
}

/// Why a launch failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchCause {
    /// The kernel was loaded by another engine.
    #[error("this engine has not loaded it: load it with the engine that runs it")]
    NotLoaded,
    /// Grid, block, shared memory or arguments are not those that the kernel and the device take.
    #[error("{0}")]
    Refused(String),
    /// The emulator refused the launch or stopped the kernel: an access, a barrier, an instruction.
    #[error(transparent)]
    Emulator(Box<ptx_emulator::LaunchError>),
    /// The driver refused the launch, or the kernel failed on the device.
    #[error("{message}")]
    Driver {
        /// The driver's `CUresult`.
        code: u32,
        /// Its name, and what it means.
        message: String,
    },
}

impl LaunchCause {
    /// Whether a kernel accessed an address that it must not: outside of allocations or misaligned.
    /// On a GPU `CUDA_ERROR_ILLEGAL_ADDRESS` and `CUDA_ERROR_MISALIGNED_ADDRESS`, which name no
    /// address.
    pub fn is_memory_fault(&self) -> bool {
        match self {
            LaunchCause::Driver { code, .. } => matches!(code, 700 | 716),
            LaunchCause::Emulator(error) => matches!(
                &**error,
                ptx_emulator::LaunchError::Fault(fault)
                    if matches!(
                        fault.kind,
                        FaultKind::OutOfBounds(_)
                            | FaultKind::NullPointer(_)
                            | FaultKind::UseAfterFree(_)
                            | FaultKind::Misaligned(_)
                    )
            ),
            LaunchCause::NotLoaded | LaunchCause::Refused(_) => false,
        }
    }
}
