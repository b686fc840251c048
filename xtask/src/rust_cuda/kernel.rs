//! Building one crate of kernels, in a process of its own whose messages are kept.

use super::checkout::Unit;
use super::stage;
use anyhow::{Context, Result};
use cuda_builder::{CudaBuilder, NvvmArch};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Build one crate of kernels; `rust-cuda` runs this.
#[derive(clap::Args)]
pub struct KernelArguments {
    /// Folder of the crate.
    folder: PathBuf,
    /// GPU generation.
    arch: NvvmArch,
    /// File for the PTX.
    ptx: PathBuf,
    /// Folder for build products.
    target_dir: PathBuf,
}

/// What the builder says of a crate.
#[derive(Serialize, Deserialize)]
pub struct Description {
    /// Names of its kernels.
    pub kernels: Vec<String>,
    /// Whether it was compiled together with all that it calls.
    pub whole_program: bool,
}

/// A crate that was built.
pub struct Built {
    pub description: Description,
    pub ptx: String,
    /// File of the PTX.
    pub path: PathBuf,
    pub seconds: f64,
}

impl Built {
    /// What NVIDIA's assembler has against the PTX; empty where it takes it.
    ///
    /// # Errors
    ///
    /// Where the program does not start.
    pub fn assemble(&self, ptxas: &Path, arch: NvvmArch) -> Result<String> {
        let object = self.path.with_extension("cubin");
        let output = Command::new(ptxas)
            .arg(format!("-arch={}", arch.target_cpu()))
            .arg("-o")
            .args([&object, &self.path])
            .output()
            .with_context(|| format!("cannot run {}", ptxas.display()))?;
        if output.status.success() {
            return Ok(String::new());
        }
        let messages = String::from_utf8_lossy(&output.stderr);
        Ok(messages.lines().next().unwrap_or("ptxas fails").to_owned())
    }
}

/// Builds the crate, prints its description and ends.
///
/// # Errors
///
/// What the builder says.
pub fn compile(arguments: &KernelArguments) -> Result<Vec<String>> {
    let output = CudaBuilder::new(&arguments.folder)
        .arch(arguments.arch)
        .target_dir(&arguments.target_dir)
        .compile()?;
    std::fs::write(&arguments.ptx, &output.text)
        .with_context(|| format!("cannot write {}", arguments.ptx.display()))?;
    let description = Description {
        kernels: output.entries.into_iter().map(|entry| entry.name).collect(),
        whole_program: output.whole_program,
    };
    println!("{}", serde_json::to_string(&description)?);
    Ok(Vec::new())
}

/// Builds a unit; where it fails, what the compiler and the builder say.
pub fn build(unit: &Unit, stage: &Path, folder: &Path) -> Result<Built, String> {
    let begun = Instant::now();
    let path = folder.join("ptx").join(unit.word()).with_extension("ptx");
    let _ = std::fs::remove_file(&path);
    let failed = |error: &dyn std::fmt::Display| format!("error: {error}");
    let output = std::env::current_exe()
        .and_then(|program| {
            Command::new(program)
                .arg("rust-cuda-kernel")
                .arg(stage.join(stage::member(unit)))
                .arg(unit.arch.to_string())
                .arg(&path)
                .arg(folder.join("build"))
                .output()
        })
        .map_err(|error| failed(&error))?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    std::fs::write(path.with_extension("log"), &log).map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(log);
    }
    let description = serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))?;
    let ptx = std::fs::read_to_string(&path).map_err(|error| failed(&error))?;
    let built = Built {
        description,
        ptx,
        path,
        seconds: begun.elapsed().as_secs_f64(),
    };
    let kept = serde_json::to_string(&(&built.description, built.seconds));
    kept.map_err(|error| failed(&error))
        .and_then(|text| {
            std::fs::write(built.path.with_extension("json"), text).map_err(|error| failed(&error))
        })
        .map(|()| built)
}

/// What a build before left of a unit.
pub fn built_before(unit: &Unit, folder: &Path) -> Result<Built, String> {
    let path = folder.join("ptx").join(unit.word()).with_extension("ptx");
    let text = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|error| format!("error: cannot read {}: {error}", path.display()))
    };
    let Ok(ptx) = std::fs::read_to_string(&path) else {
        return Err(text(&path.with_extension("log"))?);
    };
    let kept = text(&path.with_extension("json"))?;
    let (description, seconds) =
        serde_json::from_str(&kept).map_err(|error| format!("error: {error}"))?;
    Ok(Built {
        description,
        ptx,
        path,
        seconds,
    })
}

/// The first error of a log, on one line.
pub fn first_error(log: &str) -> String {
    let mut errors = log.lines().filter(|line| line.starts_with("error"));
    errors.next().unwrap_or("error: no message").to_owned()
}
