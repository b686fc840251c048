//! A copy of the checkout in which `cuda_std` is this repository's.

use super::checkout::{Source, TESTS, Unit};
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What kernels and their path dependencies need of the checkout.
const COPIED: [&str; 4] = ["crates", "examples", "samples", TESTS];

/// Copies `checkout` to `stage` and makes it a workspace of `units`.
///
/// # Errors
///
/// Where files cannot be copied or cargo cannot resolve the dependencies.
pub fn copy(checkout: &Path, root: &Path, stage: &Path, units: &[Unit]) -> Result<PathBuf> {
    for folder in COPIED {
        copy_folder(&checkout.join(folder), &stage.join(folder))?;
    }
    let package = root.join("rust-cuda/cuda_std");
    let manifest = package.join("Cargo.toml");
    let manifest = std::fs::read_to_string(&manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    let own = stage.join("crates/cuda_std");
    write(
        &own.join("Cargo.toml"),
        // Here it is a member of the workspace.
        &manifest
            .replace("\"../../", &format!("\"{}/", root.display()))
            .replace("[workspace]\n", ""),
    )?;
    copy_folder(&package.join("src"), &own.join("src"))?;

    let mut members = String::new();
    for unit in units {
        let _ = writeln!(members, "    {:?},", member(unit));
        if let Source::Test(crate_name) = &unit.source {
            let folder = stage.join(member(unit));
            let up = "../".repeat(Path::new(&member(unit)).components().count());
            let name = unit.word();
            let lib_name = crate_name.as_ref().unwrap_or(&name);
            let text = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\n\
                 name = \"{lib_name}\"\npath = \"{up}{}\"\n\n[dependencies]\n\
                 cuda_std = {{ path = \"{up}crates/cuda_std\" }}\n",
                unit.name
            );
            write(&folder.join("Cargo.toml"), &text)?;
        }
    }
    let workspace = format!("[workspace]\nresolver = \"2\"\nmembers = [\n{members}]\n");
    write(&stage.join("Cargo.toml"), &workspace)?;
    lock(checkout, stage)?;
    Ok(stage.to_owned())
}

/// The folder of the unit's crate in the copy.
pub fn member(unit: &Unit) -> String {
    match unit.source {
        Source::Crate => unit.name.clone(),
        Source::Test(_) => format!("tests/units/{}", unit.word()),
    }
}

/// Takes the versions of dependencies that the checkout has locked.
fn lock(checkout: &Path, stage: &Path) -> Result<()> {
    let file = stage.join("Cargo.lock");
    if !file.is_file() {
        let from = checkout.join("Cargo.lock");
        std::fs::copy(&from, &file).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--format-version", "1"])
        .current_dir(stage)
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!(
            "cargo cannot resolve the dependencies of the kernels: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

/// Copies files whose contents differ, so that cargo sees a change where there is one.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let entries =
        std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            // Build products, of which a checkout may have some.
            if entry.file_name() != "target" {
                copy_folder(&path, &target)?;
            }
        } else {
            let bytes =
                std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            write_bytes(&target, &bytes)?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
