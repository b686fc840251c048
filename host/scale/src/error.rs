//! What goes wrong.

use std::time::Duration;

/// What went wrong between ranks. The message is one line: what, with which value, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommError {
    /// Another rank failed, or this one did before.
    #[error("rank {rank} failed in {operation}: {reason}")]
    RankFailed {
        /// The rank that failed.
        rank: usize,
        /// What it was doing.
        operation: String,
        /// Why.
        reason: String,
    },
    /// Ranks did not come within the time limit.
    #[error(
        "{operation} of rank {rank} was not done after {} s{}: see whether all processes live, or \
         raise the time limit", .limit.as_secs_f64(), wanting(.missing)
    )]
    TimedOut {
        /// The rank that waited.
        rank: usize,
        /// What it was doing.
        operation: String,
        /// How long it waited.
        limit: Duration,
        /// The ranks that had not come, as far as that is known.
        missing: Vec<usize>,
    },
    /// Ranks called different operations, or with different sizes.
    #[error("ranks disagree: rank {rank} calls {called}, rank {other} {expected}")]
    Disagree {
        /// A rank.
        rank: usize,
        /// What it called.
        called: String,
        /// A rank that called before.
        other: usize,
        /// What that called.
        expected: String,
    },
    /// A part of an array that does not fit the operation.
    #[error("{operation} takes {takes} elements of {what}, not {given}")]
    Length {
        /// The operation.
        operation: &'static str,
        /// Which part.
        what: &'static str,
        /// How many it takes.
        takes: usize,
        /// How many were given.
        given: usize,
    },
    /// A rank that is not there.
    #[error("there is no rank {rank} among {size}: ranks are counted from 0")]
    NoRank {
        /// The rank.
        rank: usize,
        /// How many there are.
        size: usize,
    },
    /// NCCL cannot be used.
    #[error("no NCCL: {0}")]
    NoNccl(String),
    /// A call of NCCL failed.
    #[error("{call} failed: {message} ({code}): NCCL_DEBUG=WARN says more")]
    Nccl {
        /// The function.
        call: &'static str,
        /// Its `ncclResult_t`.
        code: i32,
        /// NCCL's text.
        message: String,
    },
    /// The environment does not say what a launcher would.
    #[error("{0}")]
    Launch(String),
    /// The ranks did not find each other.
    #[error("{0}")]
    Rendezvous(String),
    /// The device refused something or failed.
    #[error("the device of rank {rank} failed: {reason}")]
    Device {
        /// The rank.
        rank: usize,
        /// The engine's message.
        reason: String,
    },
}

fn wanting(ranks: &[usize]) -> String {
    match ranks {
        [] => String::new(),
        ranks => format!(", for want of ranks {ranks:?}"),
    }
}

/// What went wrong in a product larger than a GPU, or on several.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// Between ranks.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// On a device.
    #[error(transparent)]
    Gpu(#[from] warpladder::gpu::Error),
    /// Sizes that do not match.
    #[error("{0}")]
    Shape(String),
    /// A file that cannot be read or written, or is not what its name says.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A memory limit that no tiling keeps.
    #[error(
        "a limit of {limit} bytes of device memory is too little: the smallest tiles take {needed}"
    )]
    Memory {
        /// The limit.
        limit: u64,
        /// What is needed at least.
        needed: u64,
    },
    /// The caller asked to stop.
    #[error("stopped after {done} of {steps} steps, as asked")]
    Cancelled {
        /// Steps that were done.
        done: u64,
        /// Steps of the whole product.
        steps: u64,
    },
}

impl From<warpladder::error::EngineError> for ScaleError {
    fn from(error: warpladder::error::EngineError) -> Self {
        ScaleError::Gpu(error.into())
    }
}
