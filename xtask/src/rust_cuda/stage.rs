//! A copy of the checkout in which `cuda_std` is this repository's.

use super::checkout::{Source, TESTS, Unit};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// What kernels and their path dependencies need of the checkout.
const COPIED: [&str; 4] = ["crates", "examples", "samples", TESTS];

/// Copies `checkout` to `stage` and makes it a workspace of `units`.
///
/// # Errors
///
/// Where files cannot be copied or cargo cannot resolve the dependencies.
pub fn copy(checkout: &Path, root: &Path, stage: &Path, units: &[Unit]) -> Result<()> {
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

    for unit in units {
        if let Source::Test(crate_name) = &unit.source {
            let manifest = test_manifest(unit, crate_name.as_deref());
            write(&stage.join(member(unit)).join("Cargo.toml"), &manifest)?;
        }
    }
    write(&stage.join("Cargo.toml"), &workspace(checkout, units)?)?;
    lock(checkout, stage)?;
    Ok(())
}

/// The manifest of a compile test's crate.
fn test_manifest(unit: &Unit, crate_name: Option<&str>) -> String {
    let up = "../".repeat(Path::new(&member(unit)).components().count());
    let name = unit.word();
    let lib_name = crate_name.unwrap_or(&name);
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\n\
         name = \"{lib_name}\"\npath = \"{up}{}\"\n\n[dependencies]\n\
         cuda_std = {{ path = \"{up}crates/cuda_std\" }}\n",
        unit.name
    )
}

/// The checkout's workspace with the units alone as members.
fn workspace(checkout: &Path, units: &[Unit]) -> Result<String> {
    let text = std::fs::read_to_string(checkout.join("Cargo.toml"))?;
    let mut manifest: toml::Table = text.parse()?;
    // Profiles name packages that are not here.
    manifest.remove("profile");
    let members: Vec<String> = units.iter().map(member).collect();
    let workspace = manifest.get_mut("workspace");
    let workspace = workspace.and_then(toml::Value::as_table_mut);
    let workspace = workspace.context("the checkout is no workspace")?;
    workspace.insert("members".into(), members.into());
    Ok(manifest.to_string())
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
pub fn copy_folder(from: &Path, to: &Path) -> Result<()> {
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
