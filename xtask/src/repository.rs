//! The repository: where it lies, its tracked files, its packages.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository that this package is part of.
pub struct Repository {
    root: PathBuf,
}

impl Repository {
    /// The repository around the current folder, or else the one that this program was built in.
    ///
    /// # Errors
    ///
    /// Where neither is a cargo workspace with this package in it.
    pub fn here() -> Result<Self> {
        let here = std::env::current_dir().context("the current folder cannot be read")?;
        let built_in = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.ancestors()
            .chain(built_in.ancestors())
            .find(|folder| folder.join("xtask/Cargo.toml").is_file())
            .map(|root| Self {
                root: root.to_owned(),
            })
            .with_context(|| format!("{} is not inside the repository", here.display()))
    }

    /// Folder of the workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Text of a file; `file` is relative to the root.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read as UTF-8.
    pub fn read(&self, file: impl AsRef<Path>) -> Result<String> {
        let path = self.root.join(file);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Writes a file; `file` is relative to the root.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn write(&self, file: impl AsRef<Path>, text: &str) -> Result<()> {
        let path = self.root.join(file);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Names of the files that git tracks or would track, relative to the root and sorted. Files
    /// that are deleted in the work tree are left out.
    ///
    /// # Errors
    ///
    /// Where git is missing or this is no checkout.
    pub fn files(&self) -> Result<Vec<String>> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others"])
            .arg("--exclude-standard")
            .current_dir(&self.root)
            .output()
            .context("cannot run git")?;
        if !output.status.success() {
            bail!(
                "git ls-files failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        let listing = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
        let mut files: Vec<String> = listing
            .split_terminator('\0')
            .filter(|file| self.root.join(file).is_file())
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }
}
