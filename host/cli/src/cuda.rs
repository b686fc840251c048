//! `warpladder cuda`: a program for CUDA on the emulated driver and runtime.

use crate::child;
use crate::outcome::Outcome;
use anyhow::{Context, anyhow, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

#[derive(clap::Args)]
#[command(after_help = "\
The program finds the emulator as libcuda.so.1, libcudart.so.12 and libcudart.so.13, and runs as it \
is: it must load the driver or the runtime itself, and bring PTX. nvcc links the runtime that way \
with --cudart shared, and embeds PTX with -gencode arch=compute_80,code=compute_80. The exit status \
is that of the program; with --sanitize it is 1 where the program ended well and a kernel did not.
Signals to end and to interrupt go on to the program, and where this one is killed, so is it.

Examples:
  nvcc --cudart shared -gencode arch=compute_80,code=compute_80 -o vector_add vector_add.cu
  warpladder cuda -- ./vector_add
  warpladder cuda --device A100 --devices 2 --sanitize -- python3 script.py")]
pub(super) struct Args {
    /// Which GPUs the program sees, by name, such as H100, A100 or T4 [default: H100]
    #[arg(long, value_name = "NAME[,NAME...]")]
    device: Option<String>,
    /// How many of the GPUs that --device names the program sees, one after the other
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    devices: Option<u8>,
    /// Look for races, wrong addresses, uninitialised reads and broken barriers in every launch
    #[arg(long)]
    sanitize: bool,
    /// Write what each launch does to the machine to standard error
    #[arg(long)]
    profile: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// The file that cargo builds of the emulated driver and runtime.
const LIBRARY: &str = "libwarpladder_cuda.so";

/// The names that programs load the driver, the runtime and NVML by.
const NAMES: [&str; 5] = [
    "libcuda.so.1",
    "libcuda.so",
    "libcudart.so.12",
    "libcudart.so.13",
    "libnvidia-ml.so.1",
];

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let library = library()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the library's names")?;
    for name in NAMES {
        link(&library, &folder.path().join(name))?;
    }
    let findings = folder.path().join("findings");
    let (name, arguments) = args
        .program
        .split_first()
        .context("name a program to run")?;
    let mut command = Command::new(name);
    command.args(arguments);
    command.env("LD_LIBRARY_PATH", library_path(folder.path())?);
    if let Some(devices) = devices(args.device.as_deref(), args.devices) {
        command.env("WARPLADDER_CUDA_DEVICE", devices);
    }
    if args.sanitize {
        command.env("WARPLADDER_CUDA_SANITIZE", "1");
        command.env("WARPLADDER_CUDA_FINDINGS", &findings);
    }
    if args.profile {
        command.env("WARPLADDER_CUDA_PROFILE", "1");
    }
    let status = child::run(&mut command)
        .with_context(|| format!("cannot run {}", name.to_string_lossy()))?;
    match status.success() {
        // A file is written with the first finding.
        true if findings.exists() => Ok(Outcome::ChecksFailed),
        true => Ok(Outcome::Done),
        false => Ok(Outcome::Program(exit_code(status))),
    }
}

/// The list of GPUs; none where nothing was said. With a number, those named are repeated.
fn devices(named: Option<&str>, count: Option<u8>) -> Option<String> {
    let Some(count) = count else {
        return named.map(str::to_string);
    };
    let names: Vec<&str> = named.unwrap_or("H100").split(',').collect();
    let all: Vec<&str> = names.into_iter().cycle().take(count.into()).collect();
    Some(all.join(","))
}

/// The emulated driver: beside this program, where cargo builds it, too.
fn library() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("this program's own path is not known")?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [
        folder.join(LIBRARY),
        folder.join("deps").join(LIBRARY),
        folder.join("../lib").join(LIBRARY),
    ];
    let found = places.into_iter().find(|path| path.exists());
    found.ok_or_else(|| {
        anyhow!(
            "no {LIBRARY} beside {}: build it with cargo build --release -p \
             warpladder-emulated-driver",
            program.display()
        )
    })
}

#[cfg(unix)]
fn link(library: &Path, name: &Path) -> anyhow::Result<()> {
    std::os::unix::fs::symlink(library, name)
        .with_context(|| format!("cannot make {}", name.display()))
}

#[cfg(not(unix))]
fn link(_library: &Path, _name: &Path) -> anyhow::Result<()> {
    bail!("the emulated driver needs Linux")
}

/// The library path with a folder in front.
fn library_path(first: &Path) -> anyhow::Result<OsString> {
    let old = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let old = std::env::split_paths(&old).filter(|path| !path.as_os_str().is_empty());
    let all = std::iter::once(first.to_path_buf()).chain(old);
    match std::env::join_paths(all) {
        Ok(path) => Ok(path),
        Err(error) => bail!(
            "{} cannot stand in a library path: {error}",
            first.display()
        ),
    }
}

/// The status of a program as a shell gives it: 128 and the signal's number where one ended it.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status.code().or(signal.map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::devices;

    #[test]
    fn gpus_are_repeated() {
        assert_eq!(devices(None, None), None);
        assert_eq!(devices(Some("T4,A100"), None).as_deref(), Some("T4,A100"));
        assert_eq!(devices(None, Some(2)).as_deref(), Some("H100,H100"));
        assert_eq!(
            devices(Some("T4,A100"), Some(3)).as_deref(),
            Some("T4,A100,T4")
        );
        assert_eq!(devices(Some("T4,A100"), Some(1)).as_deref(), Some("T4"));
    }
}
