//! Finding the nightly toolchain that compiles kernels.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::ToolchainError;

/// The environment variable that names the toolchain to use.
pub(crate) const OVERRIDE: &str = "WARPLADDER_NIGHTLY";

/// A nightly toolchain with the sources of core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// The name that rustup knows it by, or its folder.
    pub name: String,
    /// The release of its compiler, such as `1.97.0-nightly`.
    pub release: String,
    /// The commit of its compiler.
    pub commit: String,
    /// Its folder.
    pub sysroot: PathBuf,
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
}

impl Toolchain {
    /// Finds the toolchain that compiles the kernels in `crate_path`.
    ///
    /// The first of these that exists: what the environment variable `WARPLADDER_NIGHTLY` names (a
    /// rustup toolchain, or a toolchain's folder; nothing else is tried where it is set), the
    /// channel in the crate's `rust-toolchain.toml`, and `nightly`.
    ///
    /// # Errors
    ///
    /// Says what is missing, and which commands install it. Nothing is installed.
    pub fn find(crate_path: &Path) -> Result<Self, ToolchainError> {
        if let Some(name) = env::var_os(OVERRIDE).filter(|name| !name.is_empty()) {
            return Self::from_override(&name);
        }
        let mut errors = Vec::new();
        for name in pinned_channel(crate_path)
            .into_iter()
            .chain(["nightly".to_owned()])
        {
            match Self::from_rustup(&name) {
                Ok(toolchain) => return Ok(toolchain),
                Err(error) => errors.push(error),
            }
        }
        // A toolchain that only lacks its sources is one command away; the first choice takes two.
        let nearest = errors
            .iter()
            .position(|error| matches!(error, ToolchainError::NoSource { .. }));
        Err(errors.swap_remove(nearest.unwrap_or(0)))
    }

    fn from_override(name: &OsStr) -> Result<Self, ToolchainError> {
        let folder = Path::new(name);
        // A rustup toolchain's name has no separator.
        if folder.components().count() == 1 && !folder.is_absolute() {
            return Self::from_rustup(&name.to_string_lossy());
        }
        let program = |name: &str| {
            folder
                .join("bin")
                .join(name)
                .with_extension(env::consts::EXE_EXTENSION)
        };
        let (cargo, rustc) = (program("cargo"), program("rustc"));
        if !(cargo.is_file() && rustc.is_file()) {
            return Err(ToolchainError::NotAToolchain(folder.to_owned()));
        }
        let name = folder.display().to_string();
        match Self::from_programs(name, cargo, rustc) {
            Err(ToolchainError::NoSource { .. }) => {
                Err(ToolchainError::NotAToolchain(folder.to_owned()))
            }
            result => result,
        }
    }

    fn from_rustup(name: &str) -> Result<Self, ToolchainError> {
        let which = |program: &str| {
            let output = Command::new("rustup")
                .args(["which", "--toolchain", name, program])
                .env("RUSTUP_AUTO_INSTALL", "0")
                .output()
                .map_err(|_| ToolchainError::NoRustup {
                    name: name.to_owned(),
                })?;
            let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            if !output.status.success() || path.is_empty() {
                return Err(ToolchainError::NotInstalled {
                    name: name.to_owned(),
                });
            }
            Ok(PathBuf::from(path))
        };
        Self::from_programs(name.to_owned(), which("cargo")?, which("rustc")?)
    }

    fn from_programs(name: String, cargo: PathBuf, rustc: PathBuf) -> Result<Self, ToolchainError> {
        let version = ask(&name, &rustc, &["-vV"])?;
        let field = |key: &str| {
            let value = version.lines().find_map(|line| line.strip_prefix(key));
            value.unwrap_or("unknown").trim().to_owned()
        };
        let release = field("release:");
        let sysroot = PathBuf::from(ask(&name, &rustc, &["--print", "sysroot"])?.trim());
        // Compilers built from source call themselves `dev` and take unstable options as well.
        if !release.ends_with("-nightly") && !release.ends_with("-dev") {
            return Err(ToolchainError::NotNightly { name, release });
        }
        let toolchain = Self {
            commit: field("commit-hash:"),
            name,
            release,
            cargo,
            rustc,
            sysroot,
        };
        if !toolchain.core_sources().join("lib.rs").is_file() {
            return Err(ToolchainError::NoSource {
                name: toolchain.name,
            });
        }
        Ok(toolchain)
    }

    /// The architectures that its compiler knows for `target`, such as `sm_90a`.
    pub(crate) fn target_cpus(&self, target: &str) -> Result<Vec<String>, ToolchainError> {
        let text = ask(
            &self.name,
            &self.rustc,
            &["--print=target-cpus", "--target", target],
        )?;
        let words = text
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        Ok(words
            .filter(|word| word.starts_with("sm_"))
            .map(str::to_owned)
            .collect())
    }

    /// The root of the `rust-src` component.
    pub(crate) fn library_root(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust")
    }

    /// The folder of core's sources.
    pub(crate) fn core_sources(&self) -> PathBuf {
        self.library_root().join("library/core/src")
    }
}

/// What the compiler of the toolchain `name` prints.
fn ask(name: &str, rustc: &Path, args: &[&str]) -> Result<String, ToolchainError> {
    let broken = |problem: String| ToolchainError::Broken {
        name: name.to_owned(),
        problem,
    };
    let output = Command::new(rustc)
        .args(args)
        .output()
        .map_err(|error| broken(format!("{}: {error}", rustc.display())))?;
    if !output.status.success() {
        let command = args.join(" ");
        return Err(broken(format!("rustc {command}: {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The channel in the crate's `rust-toolchain.toml`.
fn pinned_channel(crate_path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(crate_path.join("rust-toolchain.toml")).ok()?;
    channel(&text)
}

/// The value of the line `channel = "…"`: the file's format has no other key of that name.
fn channel(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "channel").then_some(value)
    })?;
    let channel = value.split('"').nth(1)?;
    (!channel.is_empty()).then(|| channel.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_is_read_from_the_toolchain_file() {
        let text = "# the channel = \"x\" is below\n[toolchain]\nchannel = \"nightly-2026-05-20\" # pinned\n";
        assert_eq!(channel(text).as_deref(), Some("nightly-2026-05-20"));
        assert_eq!(channel("[toolchain]\nprofile = \"minimal\"\n"), None);
        assert_eq!(channel("channel = nightly"), None);
        assert_eq!(channel("channel = \"\""), None);
    }

    #[test]
    fn a_toolchain_that_is_not_installed_names_both_commands() {
        let error = Toolchain::from_rustup("nightly-1999-01-01").unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("rustup toolchain install nightly-1999-01-01"),
            "{message}"
        );
        assert!(
            message.contains("rustup component add rust-src --toolchain nightly-1999-01-01"),
            "{message}"
        );
    }

    #[test]
    fn a_folder_that_is_no_toolchain_is_refused() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(
            Toolchain::from_override(folder.as_os_str()),
            Err(ToolchainError::NotAToolchain(folder.to_owned()))
        );
    }
}
