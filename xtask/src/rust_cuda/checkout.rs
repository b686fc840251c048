//! What there is to build in a checkout of Rust-CUDA, and what should come of it.

use anyhow::{Context, Result, bail};
use cuda_builder::NvvmArch;
use std::path::{Path, PathBuf};

/// Folder of the compile tests.
pub const TESTS: &str = "tests/compiletests/ui";

/// What Rust-CUDA's own builder compiles for where nothing is said; its compile tests are for it.
const UPSTREAM_ARCH: NvvmArch = NvvmArch::Compute75;

/// A crate of kernels.
pub struct Unit {
    /// Path of the folder or file in the checkout.
    pub name: String,
    pub source: Source,
    pub arch: NvvmArch,
    pub expected: Expected,
}

impl Unit {
    /// Its name as one word.
    pub fn word(&self) -> String {
        let name = self.name.trim_end_matches(".rs");
        name.replace(['/', '.', '-'], "_")
    }
}

pub enum Source {
    /// A crate: an example's or a sample's kernels.
    Crate,
    /// A single file: a compile test. The name of the crate, where the file states one.
    Test(Option<String>),
}

/// What should come of a unit.
#[derive(Debug, PartialEq, Eq)]
pub enum Expected {
    Builds,
    /// It builds here; Rust-CUDA's own back end refuses it for this reason.
    BuildsHere {
        upstream: String,
    },
    /// rustc refuses it with this code.
    Fails {
        code: String,
    },
}

/// Everything to build, crates first.
///
/// # Errors
///
/// Where the folder is no checkout of Rust-CUDA.
pub fn units(checkout: &Path) -> Result<Vec<Unit>> {
    let manifest = checkout.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    let mut units: Vec<Unit> = kernel_crates(&text)
        .with_context(|| manifest.display().to_string())?
        .into_iter()
        .filter(|folder| checkout.join(folder).is_dir())
        .map(|folder| Unit {
            name: folder,
            source: Source::Crate,
            // That of a build script that asks for none.
            arch: NvvmArch::default(),
            expected: Expected::Builds,
        })
        .collect();
    for file in tests(checkout)? {
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let messages = std::fs::read_to_string(file.with_extension("stderr")).unwrap_or_default();
        let name = file.strip_prefix(checkout).unwrap_or(&file);
        units.push(Unit {
            name: name.to_string_lossy().replace('\\', "/"),
            source: Source::Test(crate_name(&text).map(str::to_owned)),
            arch: arch(&text)?,
            expected: expected(&text, &messages),
        });
    }
    if units.is_empty() {
        bail!(
            "{} is no checkout of Rust-CUDA: no kernels are in it",
            checkout.display()
        );
    }
    Ok(units)
}

/// The members of the workspace that are crates of kernels, by the name of their folder.
fn kernel_crates(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse()?;
    let members = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("members"))
        .and_then(toml::Value::as_array)
        .context("it has no members")?;
    let members = members.iter().filter_map(toml::Value::as_str);
    let mut crates: Vec<String> = members
        .filter(|member| member.ends_with("/kernels"))
        .map(str::to_owned)
        .collect();
    crates.sort();
    Ok(crates)
}

fn tests(checkout: &Path) -> Result<Vec<PathBuf>> {
    let pattern = checkout.join(TESTS).join("**/*.rs");
    let mut files: Vec<PathBuf> =
        glob::glob(&pattern.to_string_lossy())?.collect::<Result<_, _>>()?;
    files.sort();
    Ok(files)
}

/// The comments that steer the compile test.
fn directives(text: &str) -> impl Iterator<Item = &str> {
    let comments = text.lines().filter_map(|line| line.strip_prefix("//"));
    comments.map(str::trim)
}

/// The generation that the test is for.
fn arch(text: &str) -> Result<NvvmArch> {
    let only = directives(text).find_map(|directive| directive.strip_prefix("only-"));
    Ok(only.map(str::parse).transpose()?.unwrap_or(UPSTREAM_ARCH))
}

/// What the test and the messages that it should give say.
fn expected(text: &str, messages: &str) -> Expected {
    let passes = directives(text).any(|directive| directive == "build-pass");
    let error = messages.lines().find(|line| line.starts_with("error"));
    match error {
        Some(error) if !passes => match error.strip_prefix("error[") {
            Some(code) => Expected::Fails {
                code: code.split(']').next().unwrap_or_default().to_owned(),
            },
            // Without a code the error is not rustc's own.
            None => Expected::BuildsHere {
                upstream: error.trim_start_matches("error: ").to_owned(),
            },
        },
        _ => Expected::Builds,
    }
}

/// The name in `#![crate_name = "…"]`.
fn crate_name(text: &str) -> Option<&str> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("#![crate_name"))?;
    line.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_kernels_are_members_of_that_name() {
        let manifest = "[workspace]\nmembers = [\"b/kernels\", \"b\", \"a/kernels\", # c\n]\n";
        assert_eq!(kernel_crates(manifest).unwrap(), ["a/kernels", "b/kernels"]);
        assert!(kernel_crates("[package]\n").is_err());
    }

    #[test]
    fn expectations_are_those_of_the_compile_test() {
        assert_eq!(expected("// build-pass\n", ""), Expected::Builds);
        // The messages of a test that passes are its PTX.
        assert_eq!(expected("// build-pass\n", "error: no"), Expected::Builds);
        let fails = Expected::Fails {
            code: "E0433".into(),
        };
        assert_eq!(expected("", "error[E0433]: cannot find `std`\n"), fails);
        let here = Expected::BuildsHere {
            upstream: "libnvvm says no".into(),
        };
        assert_eq!(expected("// build-fail\n", "error: libnvvm says no"), here);
        assert_eq!(arch("// only-compute_70\n").unwrap(), NvvmArch::Compute70);
        assert_eq!(arch("fn f() {}\n").unwrap(), UPSTREAM_ARCH);
        assert!(arch("// only-compute_1\n").is_err());
        assert_eq!(crate_name("#![crate_name = \"or\"]\n"), Some("or"));
    }
}
