//! `cargo xtask rust-cuda`: builds the kernels of a checkout of Rust-CUDA, unchanged, and runs
//! those of its examples on the emulator, and on a GPU where there is one.
//!
//! The checkout is copied into the target folder. There Rust-CUDA's `cuda_std` is replaced by the
//! package of that name in `rust-cuda/`; sources and manifests of kernels stay as they are. Each
//! compile test becomes a crate of its own.

mod checkout;
mod cpu;
mod device;
mod gpu;
mod host;
mod kernel;
mod path_tracer;
mod results;
mod stage;
mod table;

use crate::output;
use crate::repository::Repository;
use anyhow::{Context, Result, bail};
use checkout::{Expected, Unit};
use gpu::Gpu;
use kernel::Built;
use results::Run;
use std::path::{Path, PathBuf};

pub use kernel::{KernelArguments, compile};

/// Where the table of one commit is kept.
const DOCUMENT: &str = "docs/rust-cuda.md";

/// Build the kernels of a checkout of Rust-GPU/rust-cuda, unchanged, and print the table.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder of the checkout.
    checkout: PathBuf,
    /// Build nothing: take what a build before left, as on a machine with a GPU and without Rust.
    #[arg(long)]
    built: bool,
    /// Build only what has this in its path.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Have this ptxas assemble the PTX.
    #[arg(long, value_name = "PROGRAM")]
    ptxas: Option<PathBuf>,
    /// Write the table to docs/rust-cuda.md; COMMIT is the checkout's, with its date.
    #[arg(long, value_name = "COMMIT")]
    write: Option<String>,
}

/// What came of a unit.
pub struct Outcome {
    pub unit: Unit,
    /// The PTX, or the compiler's messages.
    pub built: Result<Built, String>,
    /// Empty where it is as expected; else what is not.
    pub problem: String,
    /// Runs of its kernels.
    pub runs: Vec<Run>,
}

/// Builds and runs everything and says what is not as it should be.
///
/// # Errors
///
/// Where the checkout is none, or files cannot be copied.
pub fn run(repository: &Repository, arguments: &Arguments) -> Result<Vec<String>> {
    let checkout = arguments
        .checkout
        .canonicalize()
        .with_context(|| format!("{} is not there", arguments.checkout.display()))?;
    let mut units = checkout::units(&checkout)?;
    units.retain(|unit| unit.name.contains(&arguments.only));
    if units.is_empty() {
        bail!("no kernels have {:?} in their path", arguments.only);
    }
    let folder = repository.root().join("target/rust-cuda");
    let stage = folder.join("stage");
    if !arguments.built {
        stage::copy(&checkout, repository.root(), &stage, &units)?;
    }
    let gpu = Gpu::open();
    if let Err(reason) = &gpu {
        output::print(&format!("left out on a GPU: {reason:#}\n"));
    }
    let ptx = folder.join("ptx");
    std::fs::create_dir_all(&ptx).with_context(|| ptx.display().to_string())?;

    let mut outcomes = Vec::new();
    for unit in units {
        let built = match arguments.built {
            true => kernel::built_before(&unit, &folder),
            false => kernel::build(&unit, &stage, &folder),
        };
        if unit.name == path_tracer::UNIT && !arguments.built {
            path_tracer::build(&stage)?;
        }
        let mut outcome = outcome(unit, built, &stage, gpu.as_ref().ok());
        if let (Ok(built), Some(ptxas)) = (&outcome.built, &arguments.ptxas) {
            let refused = built.assemble(ptxas, outcome.unit.arch)?;
            outcome.problem.push_str(&refused);
        }
        output::print(&table::line(&outcome));
        outcomes.push(outcome);
    }
    output::print(&table::summary(&outcomes));
    let program = folder.join("host");
    let host = match arguments.built {
        true => Ok(()),
        false => host::build(&checkout, repository.root(), &program),
    };
    let host = host.and_then(|()| host::run(&program));
    let host = host.map_err(|error| format!("{error:#}"));
    let (Ok(text) | Err(text)) = &host;
    output::print(&format!("vecadd's host program, with cust 0.3.2: {text}\n"));
    if let Some(commit) = &arguments.write {
        if !arguments.only.is_empty() {
            bail!("--write takes the whole checkout: leave out --only");
        }
        repository.write(DOCUMENT, &table::document(&outcomes, &host, commit))?;
    }
    let findings = outcomes.iter().flat_map(table::findings);
    let host = host
        .err()
        .map(|problem| format!("vecadd's host program: {problem}"));
    Ok(findings.chain(host).collect())
}

fn outcome(unit: Unit, built: Result<Built, String>, stage: &Path, gpu: Option<&Gpu>) -> Outcome {
    let problem = match (&built, &unit.expected) {
        (Ok(_), Expected::Builds | Expected::BuildsHere { .. }) => String::new(),
        (Ok(_), Expected::Fails { code }) => format!("builds, and should fail with {code}"),
        (Err(log), Expected::Fails { code }) if log.contains(&format!("error[{code}]")) => {
            String::new()
        }
        (Err(log), Expected::Fails { code }) => {
            format!("fails without {code}: {}", kernel::first_error(log))
        }
        (Err(log), _) => kernel::first_error(log),
    };
    let runs = match &built {
        Ok(built) => results::runs(&unit, built, stage, gpu),
        Err(_) => Vec::new(),
    };
    Outcome {
        unit,
        built,
        problem,
        runs,
    }
}
