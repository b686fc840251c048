//! The workspace's crates and which of them depends on which, from Cargo's own metadata.

use super::modules::name_of_root;
use crate::repository::Repository;
use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand, Package, TargetKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A crate of the workspace.
#[derive(Debug, Clone)]
pub struct Crate {
    /// Name of the package.
    pub name: String,
    /// Its folder relative to the root of the workspace; `.` for the root package.
    pub folder: String,
    /// `description` of its `Cargo.toml`.
    pub description: String,
    /// False for tests and tools, which are not published.
    pub published: bool,
    /// Crates of the workspace that it depends on.
    pub dependencies: Vec<Dependency>,
    /// The roots of its library and of its programs.
    pub roots: Vec<Root>,
    /// Its build script.
    pub build_script: Option<PathBuf>,
}

/// A dependency on a crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// Name of the package.
    pub package: String,
    /// The name that source code has for it.
    pub in_source: String,
    /// Whether the build script alone needs it.
    pub build_only: bool,
}

/// The root file of a library or of a program.
#[derive(Debug, Clone)]
pub struct Root {
    /// `lib`, or `main` for a program.
    pub name: String,
    /// The file.
    pub file: PathBuf,
}

/// All crates of the workspace, by name. Dependencies for development only are left out.
///
/// # Errors
///
/// Where cargo cannot read the workspace.
pub fn crates(repository: &Repository) -> Result<Vec<Crate>> {
    let metadata = MetadataCommand::new()
        .manifest_path(repository.root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata failed")?;
    let library_names: BTreeMap<&str, String> = metadata
        .packages
        .iter()
        .map(|package| (package.name.as_str(), library_name(package)))
        .collect();
    let mut crates: Vec<Crate> = metadata
        .packages
        .iter()
        .map(|package| described(package, repository.root(), &library_names))
        .collect();
    crates.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(crates)
}

fn described(package: &Package, root: &Path, library_names: &BTreeMap<&str, String>) -> Crate {
    let manifest = package.manifest_path.as_std_path();
    let folder = manifest.parent().unwrap_or(manifest);
    let folder = folder.strip_prefix(root).unwrap_or(folder);
    let folder = folder.to_string_lossy().replace('\\', "/");
    Crate {
        name: package.name.to_string(),
        folder: if folder.is_empty() {
            ".".to_owned()
        } else {
            folder
        },
        description: package.description.clone().unwrap_or_default(),
        published: package.publish.as_ref().is_none_or(|to| !to.is_empty()),
        dependencies: dependencies(package, library_names),
        roots: roots(package),
        build_script: package
            .targets
            .iter()
            .find(|target| target.kind.contains(&TargetKind::CustomBuild))
            .map(|target| target.src_path.clone().into_std_path_buf()),
    }
}

fn dependencies(package: &Package, library_names: &BTreeMap<&str, String>) -> Vec<Dependency> {
    let mut found: BTreeMap<&str, Dependency> = BTreeMap::new();
    for dependency in &package.dependencies {
        let build_only = match dependency.kind {
            DependencyKind::Normal => false,
            DependencyKind::Build => true,
            _ => continue,
        };
        let (Some(library), Some(_)) = (
            library_names.get(dependency.name.as_str()),
            &dependency.path,
        ) else {
            continue;
        };
        let in_source = match &dependency.rename {
            Some(name) => name.replace('-', "_"),
            None => library.clone(),
        };
        found
            .entry(&dependency.name)
            .and_modify(|known| known.build_only &= build_only)
            .or_insert(Dependency {
                package: dependency.name.clone(),
                in_source,
                build_only,
            });
    }
    found.into_values().collect()
}

fn library_name(package: &Package) -> String {
    let library = package.targets.iter().find(|target| is_library(target));
    match library {
        Some(target) => target.name.replace('-', "_"),
        None => package.name.replace('-', "_"),
    }
}

fn roots(package: &Package) -> Vec<Root> {
    let mut roots: Vec<Root> = package
        .targets
        .iter()
        .filter(|target| is_library(target) || target.is_bin())
        .map(|target| Root {
            name: name_of_root(is_library(target)).to_owned(),
            file: target.src_path.clone().into_std_path_buf(),
        })
        .collect();
    roots.sort_by(|a, b| a.name.cmp(&b.name));
    roots
}

fn is_library(target: &cargo_metadata::Target) -> bool {
    target.is_lib() || target.is_proc_macro() || target.is_rlib()
}
