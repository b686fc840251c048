//! Why a request has no answer.

use ptx_emulator::{KernelError, LaunchError, ParseError};
use warpladder::error::EngineError;
use warpladder_lab::emulate::{ArgumentError, PlacementError};
use warpladder_lab::run::RunError;
use warpladder_learn::CheckError;

/// Why a request has no answer, in one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("{0}: reload the page, its parts are of different versions")]
    Form(#[from] serde_json::Error),
    #[error("there is no kernel {0:?} in the catalogue: choose one of the list")]
    NoRung(String),
    #[error("there is no exercise {0:?}: choose one of the list")]
    NoExercise(String),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("argument {index}: {source}")]
    Argument { index: usize, source: ArgumentError },
    #[error(transparent)]
    Placement(#[from] PlacementError),
    #[error("kernel `{kernel}` takes {expected} arguments, not {given}: write one in each line")]
    ArgumentCount {
        kernel: String,
        expected: usize,
        given: usize,
    },
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Memory(#[from] ptx_emulator::MemoryError),
    #[error(transparent)]
    Check(#[from] CheckError),
}
