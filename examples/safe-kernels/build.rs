//! Brings `ptx/` up to date with the kernels of this package, and embeds it.
//!
//! The PTX is checked in, as this repository builds without the nightly toolchain. Without that,
//! `CudaBuilder::this_crate` does it all: see the book's chapter on kernels of your own.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};

use cuda_builder::{CheckedInPtx, ModuleSpec, NvvmArch};

const MODULE: ModuleSpec = ModuleSpec {
    name: "safe_kernels_sm_70",
    arch: NvvmArch::Compute70,
};

/// What of this package the PTX depends on.
const INPUTS: &[&str] = &[
    "examples/safe-kernels/Cargo.toml",
    "examples/safe-kernels/rust-toolchain.toml",
    "examples/safe-kernels/src/kernels",
    "examples/safe-kernels/src/lib.rs",
    "examples/safe-kernels/src/with_unsafe.rs",
];

fn main() -> Result<(), Box<dyn Error>> {
    // To compile the package for the GPU runs this script again.
    if cuda_builder::is_for_gpu() {
        return Ok(());
    }
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = package.ancestors().nth(2).ok_or("no workspace")?;
    let ptx = CheckedInPtx {
        workspace: workspace.to_owned(),
        kernels: "examples/safe-kernels",
        inputs: INPUTS,
        ptx_dir: "examples/safe-kernels/ptx",
        modules: &[MODULE],
        target_dir: None,
    };
    ptx.bring_up_to_date_in_build_script()?;
    ptx.embed_module(Path::new(&env::var("OUT_DIR")?), &MODULE)?;
    Ok(())
}
