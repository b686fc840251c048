//! Requests of the page, and their answers.

use crate::error::RequestError;
use crate::{exercises, ptx, rungs, text};
use serde::Deserialize;

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
        Request::Alone { ptx, entry } => serde_json::to_value(text::alone(&ptx, &entry))?,
        Request::Check(check) => serde_json::to_value(exercises::check(&check)?)?,
        Request::Kernels { ptx } => serde_json::to_value(ptx::kernels(&ptx)?)?,
        Request::Emulate(emulate) => serde_json::to_value(ptx::emulate(&emulate)?)?,
    };
    Ok(serde_json::json!({ "ok": ok }))
}
