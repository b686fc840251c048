//! Requests of the page, and their answers.

use crate::{exercises, ptx, rungs};
use ptx_emulator::{KernelError, LaunchError, ParseError};
use ptx_pictures::Watched;
use serde::{Deserialize, Serialize};
use warpladder::error::EngineError;
use warpladder_lab::emulate::{ArgumentError, PlacementError};
use warpladder_lab::problem::Shape;
use warpladder_lab::run::RunError;
use warpladder_learn::CheckError;

/// What the page asks for, by its member `do`.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Families and their rungs.
    Catalogue,
    /// The launches of a rung at a size, which do not run.
    Plan(rungs::Chosen),
    /// A rung, run: checked, counted, and under the sanitizers.
    Run(rungs::Run),
    /// The exercises with their texts.
    Exercises,
    /// The text of a module with one of its kernels alone.
    Alone { ptx: String, entry: String },
    /// A version of an exercise, checked as `warpladder learn` does.
    Check(exercises::Check),
    /// The kernels of a module, and arguments that they take.
    Kernels { ptx: String },
    /// A kernel of any module.
    Emulate(ptx::Emulate),
}

/// A size, as the page writes it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Size {
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

impl From<Size> for Shape {
    fn from(Size { m, n, k }: Size) -> Self {
        Shape { m, n, k }
    }
}

impl From<Shape> for Size {
    fn from(Shape { m, n, k }: Shape) -> Self {
        Size { m, n, k }
    }
}

/// The warp whose accesses are drawn.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Warp {
    block: [u32; 3],
    warp: u32,
}

impl From<Warp> for Watched {
    fn from(Warp { block, warp }: Warp) -> Self {
        Watched { block, warp }
    }
}

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

/// The answer to a request, both as JSON: `{"ok": …}`, or `{"error": "one line"}`.
pub fn answer(request: &str) -> String {
    let answered = parsed(request).unwrap_or_else(|error| {
        let line = error.to_string().replace('\n', " ");
        serde_json::json!({ "error": line })
    });
    answered.to_string()
}

fn parsed(request: &str) -> Result<serde_json::Value, RequestError> {
    let ok = match serde_json::from_str(request)? {
        Request::Catalogue => serde_json::to_value(rungs::catalogue())?,
        Request::Plan(chosen) => serde_json::to_value(rungs::plan(&chosen)?)?,
        Request::Run(run) => serde_json::to_value(rungs::run(&run)?)?,
        Request::Exercises => serde_json::to_value(exercises::all())?,
        Request::Alone { ptx, entry } => serde_json::to_value(ptx::alone(&ptx, &entry))?,
        Request::Check(check) => serde_json::to_value(exercises::check(&check)?)?,
        Request::Kernels { ptx } => serde_json::to_value(ptx::kernels(&ptx)?)?,
        Request::Emulate(emulate) => serde_json::to_value(ptx::emulate(&emulate)?)?,
    };
    Ok(serde_json::json!({ "ok": ok }))
}
