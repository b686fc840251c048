//! Brings `ptx/` up to date with the kernels, and embeds it into the library.
//!
//! `WARPLADDER_PTX` says when to compile: `auto` (the default) where a kernel changed since `ptx/`
//! was built, `rebuild` always, `checked-in` never. `WARPLADDER_NIGHTLY` names the toolchain that
//! compiles.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use cuda_builder::{CheckedInPtx, Mode, ModuleSpec, NvvmArch, Outcome};

/// The GPU generations that the kernels are built for, oldest first: the only list of them.
const MODULES: &[ModuleSpec] = &[
    ModuleSpec {
        name: "kernels_sm_70",
        arch: NvvmArch::Compute70,
    },
    ModuleSpec {
        name: "kernels_sm_80",
        arch: NvvmArch::Compute80,
    },
    ModuleSpec {
        name: "kernels_sm_90a",
        arch: NvvmArch::Compute90a,
    },
];

/// What the PTX depends on.
const INPUTS: &[&str] = &[
    "kernels-gpu/Cargo.toml",
    "kernels-gpu/rust-toolchain.toml",
    "kernels-gpu/src",
    "cuda_std/Cargo.toml",
    "cuda_std/src",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
    // Not the whole builder: the rest of it shapes the PTX through the flags that the manifest
    // records.
    "cuda_builder/src/ptx_text.rs",
    "ptx-syntax/src/lexer.rs",
    "ptx-syntax/src/signature.rs",
];

/// Public for the test that runs this script on copies of the workspace
/// (cuda_builder/tests/checked_in.rs).
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    // `cfg(gpu)`: the GPU engine is wanted, and this is a system that it is made for.
    println!("cargo::rustc-check-cfg=cfg(gpu)");
    let on_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if on_linux && env::var_os("CARGO_FEATURE_GPU").is_some() {
        println!("cargo::rustc-cfg=gpu");
    }
    let ptx = checked_in_ptx(env::var("CARGO_MANIFEST_DIR")?.into());
    for path in ptx.watched() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for variable in CheckedInPtx::watched_variables() {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    if let Outcome::Rebuilt { warnings } = ptx.bring_up_to_date(Mode::from_env()?)? {
        for warning in warnings {
            println!("cargo::warning={warning}");
        }
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    ptx.embed(&out, is_wanted)?;
    Ok(())
}

/// Whether a module is embedded: the oldest one always, others where their feature is on.
fn is_wanted(module: &ModuleSpec) -> bool {
    let generation = module.name.trim_start_matches("kernels_");
    let feature = format!("CARGO_FEATURE_{}", generation.to_uppercase());
    module.name == MODULES[0].name || env::var_os(feature).is_some()
}

/// The checked-in PTX of the kernels in `workspace`. Public for that test as well.
pub fn checked_in_ptx(workspace: PathBuf) -> CheckedInPtx {
    CheckedInPtx {
        workspace,
        kernels: "kernels-gpu",
        inputs: INPUTS,
        ptx_dir: "ptx",
        modules: MODULES,
        target_dir: None,
    }
}
