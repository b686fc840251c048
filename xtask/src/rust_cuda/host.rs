//! An example's host program, as Rust-CUDA has it, with `cust` 0.3.2 from crates.io: it must link
//! and start without a CUDA installation, and say so where there is no GPU.

use super::stage::copy_folder;
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::Command;

/// The example. Its sources and its build script stay as they are.
const EXAMPLE: &str = "examples/vecadd";

/// What a program without a GPU prints, among other things.
const NO_DRIVER: &str = "no NVIDIA driver";

/// Its manifest: the lines that differ from upstream's are the version of `cust` and `[patch]`.
fn manifest(root: &str) -> String {
    let patch = |name: &str| format!("{name} = {{ path = \"{root}/rust-cuda/{name}\" }}\n");
    let patches: String = ["cuda_builder", "cuda_std", "find_cuda_helper"]
        .map(patch)
        .concat();
    format!(
        "[package]\nname = \"vecadd\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ncust = \"0.3.2\"\nnanorand = \"0.7\"\n\n\
         [build-dependencies]\ncuda_builder = \"0.3\"\n\n\
         [workspace]\nmembers = [\"kernels\"]\n\n[patch.crates-io]\n{patches}"
    )
}

/// Builds the program.
///
/// # Errors
///
/// Where it does not link.
pub fn build(checkout: &Path, root: &Path, folder: &Path) -> Result<()> {
    copy_folder(&checkout.join(EXAMPLE), folder)?;
    std::fs::write(folder.join("Cargo.toml"), manifest(&root.to_string_lossy()))?;
    let kernels = folder.join("kernels/Cargo.toml");
    let text = std::fs::read_to_string(&kernels)?;
    let lines = text.lines().map(|line| match line.split_once(" = ") {
        Some(("cuda_std", _)) => "cuda_std = \"0.2\"",
        _ => line,
    });
    let text: Vec<&str> = lines.collect();
    std::fs::write(&kernels, text.join("\n"))?;

    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--quiet"])
        .current_dir(folder)
        // As on a machine that knows nothing of CUDA.
        .env_remove("CUDA_LIBRARY_PATH")
        .output()
        .context("cannot run cargo")?;
    let problem = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "it does not build: {}",
        super::kernel::first_error(&problem)
    );
    Ok(())
}

/// Runs the program; what it printed.
///
/// # Errors
///
/// Where it does not start, or ends without a GPU and does not say why.
pub fn run(folder: &Path) -> Result<String> {
    let program = folder.join("target/debug/vecadd");
    let output = Command::new(&program)
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let (said, problem) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if output.status.success() {
        let last = said.lines().last().unwrap_or_default();
        ensure!(last.contains(" = "), "it ends with {last:?}");
        return Ok(format!("links, and runs on this machine's GPU:\n{last}"));
    }
    match problem.lines().find(|line| line.starts_with(NO_DRIVER)) {
        Some(line) => Ok(format!("links and starts; without a GPU:\n{line}")),
        None => bail!("it does not run: {}", super::kernel::first_error(&problem)),
    }
}
