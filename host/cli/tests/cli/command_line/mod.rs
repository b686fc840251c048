//! The contract of the command line: what scripts rely on. Kernels run on the emulator.

mod baseline;
mod catalogue;
mod devices;
mod draw;
mod files;
mod formats;
mod generation;
mod interrupted;
mod pipes;
#[cfg(unix)]
mod printed;
mod refusals;
mod scale;
mod schema;
mod terminal;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use warpladder_lab::catalogue::Rung;

/// How a run of the program ended.
#[derive(Debug)]
struct Ended {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn last_line(&self) -> &str {
        self.stdout.lines().last().unwrap_or_default()
    }

    /// Asserts that the program refused: exit 2, nothing on standard output, one line with these
    /// parts.
    fn assert_refused(&self, parts: &[&str]) {
        assert_eq!(self.status, Some(2), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in {self:?}");
        }
    }

    fn assert_passed(&self, checks: usize) {
        assert_eq!(self.status, Some(0), "{self:?}");
        let passed = match checks {
            1 => "1 check passed".to_owned(),
            _ => format!("all {checks} checks passed"),
        };
        assert_eq!(self.last_line(), passed);
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_warpladder"))
}

fn end(command: &mut Command) -> Ended {
    let output = command.stdin(Stdio::null()).output().unwrap();
    Ended {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the program with these arguments, separated by spaces.
fn warpladder(args: &str) -> Ended {
    end(program().args(args.split_whitespace()))
}

/// [`warpladder`] with `--engine emulator`.
fn emulate(args: &str) -> Ended {
    end(program()
        .args(["--engine", "emulator"])
        .args(args.split_whitespace()))
}

/// An empty folder that goes away again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}"));
        _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn parse(json: &str) -> Vec<Value> {
    crate::records(json.as_bytes())
}

fn is_kernel(rung: &Rung) -> bool {
    rung.compute_capability().is_some()
}
