//! Programs that build kernels and look into their PTX.

use super::Check;
use cuda_builder::{Toolchain, ToolchainError};
use std::path::{Path, PathBuf};
use std::process::Command;

/// rustup, which installs the toolchain for kernels.
pub(super) fn rustup() -> Check {
    const WHAT: &str = "rustup";
    let mut command = Command::new(WHAT);
    // Asking for a version must not download the toolchain that some folder's file names.
    command.arg("--version").env("RUSTUP_AUTO_INSTALL", "0");
    match answer(command) {
        Answer::Text(text) => Check::ok(WHAT, text.lines().next().unwrap_or_default()),
        Answer::Nothing => Check::missing(
            WHAT,
            "only changing kernels takes it: install it from https://rustup.rs",
        ),
        Answer::Failure(problem) => Check::wrong(WHAT, format!("{problem}: reinstall it")),
    }
}

/// The toolchain that compiles the kernels in `kernels` to PTX.
pub(super) fn nightly(kernels: &Path) -> Check {
    const WHAT: &str = "nightly toolchain";
    match Toolchain::find(kernels) {
        Ok(toolchain) => Check::ok(
            WHAT,
            format!(
                "{} with rust-src, {} ({:.9})",
                toolchain.name, toolchain.release, toolchain.commit
            ),
        ),
        Err(
            error @ (ToolchainError::NoRustup { .. }
            | ToolchainError::NotInstalled { .. }
            | ToolchainError::NoSource { .. }),
        ) => Check::missing(WHAT, format!("only changing kernels takes it: {error}")),
        Err(error) => Check::wrong(WHAT, error.to_string()),
    }
}

/// NVIDIA's assembler.
pub(super) fn ptxas() -> Check {
    const WHAT: &str = "ptxas";
    let Some(path) = on_path(WHAT) else {
        let advice = "only assembling PTX by hand takes it: it comes with the CUDA toolkit, whose \
            bin folder goes \
                      into the PATH";
        return Check::missing(WHAT, advice);
    };
    let mut command = Command::new(&path);
    command.arg("--version");
    match answer(command) {
        Answer::Text(text) => {
            let release = text.lines().find(|line| line.contains("release"));
            let release = release.unwrap_or("of an unknown release");
            Check::ok(WHAT, format!("{}, {release}", path.display()))
        }
        Answer::Nothing | Answer::Failure(_) => Check::wrong(
            WHAT,
            format!("{} does not start: reinstall it", path.display()),
        ),
    }
}

/// What a program said.
enum Answer {
    Text(String),
    /// There is no such program.
    Nothing,
    /// It did not start or did not end well.
    Failure(String),
}

fn answer(mut command: Command) -> Answer {
    match command.output() {
        Ok(output) if output.status.success() => {
            Answer::Text(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Answer::Failure(format!("it ends with {}", output.status)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Answer::Nothing,
        Err(error) => Answer::Failure(format!("it does not start: {error}")),
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let file = Path::new(program).with_extension(std::env::consts::EXE_EXTENSION);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(&file))
        .find(|candidate| candidate.is_file())
}
