//! Brings `ptx/` up to date with the kernels, and embeds it into the library.
//!
//! `WARPLADDER_PTX` says when to compile: `auto` (the default) where a kernel changed since `ptx/`
//! was built, `rebuild` always, `checked-in` never. `WARPLADDER_NIGHTLY` names the toolchain that
//! compiles.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use cuda_builder::{CheckedInPtx, ModuleSpec, NvvmArch};

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

/// What of the kernels' crate the PTX depends on.
const INPUTS: &[&str] = &[
    "kernels-gpu/Cargo.toml",
    "kernels-gpu/build.rs",
    "kernels-gpu/rust-toolchain.toml",
    "kernels-gpu/src",
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
    ptx.bring_up_to_date_in_build_script()?;
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
