//! Whether a crate of kernels, such as one written for Rust-CUDA, works here.

use super::Check;
use crate::units::count;
use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch, PtxOutput, Toolchain};
use ptx_emulator::Module;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const MANIFEST: &str = "crate";
const DEVICE_LIBRARY: &str = "cuda_std";
const BUILD: &str = "build";

/// The package that this project's `cuda_std` is, whatever name leads to it.
const OWN_PACKAGE: &str = "warpladder-cuda-std";

/// Says what works of the crate in `folder`, compiled for `arch`. Where a check fails, those that
/// depend on it are left out.
pub(super) fn all(folder: &Path, arch: NvvmArch) -> Vec<Check> {
    let toolchain = match Toolchain::find(folder) {
        Ok(toolchain) => toolchain,
        // Without it nothing can be said of the crate.
        Err(error) => return vec![Check::wrong("nightly toolchain", error.to_string())],
    };
    let mut checks = vec![super::program::nightly(folder)];
    let packages = match packages(folder, &toolchain) {
        Ok(packages) => packages,
        Err(problem) => {
            checks.push(Check::wrong(MANIFEST, problem));
            return checks;
        }
    };
    let library = device_library(&packages);
    let is_ours = library.state == super::State::Ok;
    checks.push(library);
    if !is_ours {
        return checks;
    }
    match CudaBuilder::new(folder).arch(arch).compile() {
        Ok(output) => {
            checks.push(built(&output, arch));
            checks.push(emulator(&output));
            checks.extend(costs(&output));
        }
        Err(CudaBuilderError::BuildFailed { arch, .. }) => checks.push(Check::wrong(
            BUILD,
            format!("it does not compile for {arch}: the compiler's messages are above"),
        )),
        Err(error) => checks.push(Check::wrong(BUILD, error.to_string())),
    }
    checks
}

/// Names and sources of the packages that the crate depends on, itself among them.
fn packages(folder: &Path, toolchain: &Toolchain) -> Result<Vec<(String, String)>, String> {
    if !folder.join("Cargo.toml").is_file() {
        return Err(format!(
            "{} has no Cargo.toml: name the folder of a crate of kernels",
            folder.display()
        ));
    }
    let output = Command::new(toolchain.sysroot.join("bin/cargo"))
        .args(["metadata", "--format-version", "1"])
        .args(["--filter-platform", "nvptx64-nvidia-cuda"])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        let first = messages.lines().find(|line| line.starts_with("error"));
        return Err(first.unwrap_or("cargo metadata fails").to_owned());
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let text = |package: &Value, field: &str| {
        let text = package[field].as_str();
        text.unwrap_or("a folder").to_owned()
    };
    let packages = metadata["packages"].as_array().into_iter().flatten();
    Ok(packages
        .map(|package| (text(package, "name"), text(package, "source")))
        .collect())
}

/// Whether the crate's `cuda_std` is this project's.
fn device_library(packages: &[(String, String)]) -> Check {
    let of = |name: &str| packages.iter().find(|(package, _)| package == name);
    if of(OWN_PACKAGE).is_some() {
        return Check::ok(DEVICE_LIBRARY, "warpladder's");
    }
    let advice = "add `[patch.crates-io]` lines to the Cargo.toml of its workspace: the book's \
                  chapter \"From Rust-CUDA\" has them";
    match of(DEVICE_LIBRARY) {
        Some((_, source)) => Check::wrong(
            DEVICE_LIBRARY,
            format!("Rust-CUDA's own, from {source}, which takes its compiler back end: {advice}"),
        ),
        None => Check::wrong(
            DEVICE_LIBRARY,
            "the crate does not depend on it: add it to its dependencies",
        ),
    }
}

fn built(output: &PtxOutput, arch: NvvmArch) -> Check {
    let names: Vec<&str> = output.entries.iter().map(|entry| &*entry.name).collect();
    if names.is_empty() {
        return Check::wrong(
            BUILD,
            "it compiles and has no kernel: mark one with #[kernel]",
        );
    }
    let whole = if output.whole_program {
        ", compiled together with all that they call"
    } else {
        ""
    };
    Check::ok(
        BUILD,
        format!(
            "{} for {}, {} bytes of PTX{whole}: {}",
            count(names.len(), "kernel"),
            arch.target_cpu(),
            output.text.len(),
            names.join(", ")
        ),
    )
}

/// Whether the emulator knows every instruction.
fn emulator(output: &PtxOutput) -> Check {
    const WHAT: &str = "emulator";
    let module = match Module::parse(&output.text) {
        Ok(module) => module,
        Err(error) => return Check::wrong(WHAT, error.to_string()),
    };
    let names = output.entries.iter().map(|entry| &entry.name);
    match names.map(|name| module.kernel(name)).find(Result::is_err) {
        Some(Err(error)) => Check::missing(WHAT, format!("{error}; a GPU may still run it")),
        _ => Check::ok(WHAT, "it knows every instruction"),
    }
}

/// What costs time on a GPU.
fn costs(output: &PtxOutput) -> Vec<Check> {
    let local = output.entries.iter().filter(|entry| entry.local_bytes > 0);
    let mut checks: Vec<Check> = local
        .map(|entry| {
            let detail = format!(
                "{} keeps {} bytes per thread there, which is slow",
                entry.name, entry.local_bytes
            );
            Check::ok("local memory", detail)
        })
        .collect();
    if !output.functions.is_empty() {
        let detail = format!(
            "{} not inlined: a call costs registers and stack",
            count(output.functions.len(), "function")
        );
        checks.push(Check::ok("calls", detail));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    fn packages(names: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, source): &(&str, &str)| ((*name).to_owned(), (*source).to_owned());
        names.iter().map(owned).collect()
    }

    #[test]
    fn the_device_library_is_told_by_its_package() {
        let own = packages(&[("cuda_std", "a folder"), (OWN_PACKAGE, "a folder")]);
        assert_eq!(device_library(&own).state, State::Ok);
        let theirs = device_library(&packages(&[("cuda_std", "registry")]));
        assert_eq!(theirs.state, State::Wrong);
        assert!(theirs.detail.contains("[patch.crates-io]"), "{theirs:?}");
        assert_eq!(device_library(&[]).state, State::Wrong);
    }

    #[test]
    fn a_folder_without_a_crate_is_named() {
        let Ok(toolchain) = Toolchain::find(Path::new(".")) else {
            println!("skipped: no nightly toolchain");
            return;
        };
        let folder = Path::new("/nonexistent/kernels");
        let problem = super::packages(folder, &toolchain).unwrap_err();
        assert!(
            problem.contains("/nonexistent/kernels has no Cargo.toml"),
            "{problem}"
        );
    }
}
