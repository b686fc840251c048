//! A program outside of this workspace that depends on the library by path, as the README says it.
//! It needs nothing else, and does not find this workspace's own configuration.

use crate::outside;
use std::path::{Path, PathBuf};

const PROGRAM: &str = r#"
use warpladder::gpu::{Error, Gpu};
use warpladder::nalgebra::DMatrix;

fn main() -> Result<(), Error> {
    let _other = Gpu::new_or_emulated();
    let gpu = Gpu::new_or_emulated();
    let a = DMatrix::from_fn(5, 7, |i, j| (i * j) as f32);
    let b = DMatrix::from_fn(7, 3, |i, j| (i + j) as f32);
    assert_eq!(gpu.matmul(&a, &b)?, a * b);
    println!("right, and emulated: {}", gpu.is_emulated());
    Ok(())
}
"#;

/// A crate in a folder of its own, which goes away again.
struct Downstream(PathBuf);

impl Downstream {
    fn new(name: &str, dependency: &str) -> Self {
        let root = env!("CARGO_MANIFEST_DIR");
        // Not in the target folder: cargo would find the workspace's configuration above it.
        let folder = std::env::temp_dir().join(format!("warpladder-{name}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("src")).unwrap();
        let dependency = dependency.replace("../warpladder", root);
        let manifest = format!(
            "[package]\nname = \"downstream\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{dependency}\n\n[profile.dev]\ndebug = false\n"
        );
        std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        std::fs::write(folder.join("src/main.rs"), PROGRAM).unwrap();
        // The same versions, which are on this machine already.
        std::fs::copy(
            Path::new(root).join("Cargo.lock"),
            folder.join("Cargo.lock"),
        )
        .unwrap();
        Downstream(folder)
    }

    /// Has cargo run or build it; returns what the program prints, and what it says on standard
    /// error.
    fn cargo(&self, command: &str) -> [String; 2] {
        let output = outside::cargo(command, &self.0).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        [String::from_utf8(output.stdout).unwrap(), errors]
    }
}

impl Drop for Downstream {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The line of the README that starts so.
fn readme_line(start: &str) -> &'static str {
    let mut lines = include_str!("../../README.md").lines();
    lines
        .find(|line| line.starts_with(start))
        .unwrap_or_else(|| panic!("the README has no line {start}"))
}

/// One test: cargo builds in the folder that both share one program at a time, and a second test
/// would wait for that.
#[test]
fn a_program_needs_one_line() {
    let dependency = readme_line("warpladder = { path = \"../warpladder\" }");
    let program = Downstream::new("with-gpu", dependency);
    let [printed, said] = program.cargo("run");
    assert!(printed.starts_with("right, and emulated: "), "{printed}");
    // On the emulator it is said once each, for two of them.
    let emulated = usize::from(printed.contains("true"));
    let times = |part: &str| said.matches(part).count();
    assert_eq!(times("using the emulator, on the CPU"), emulated, "{said}");
    assert_eq!(times("opt-level = 3"), emulated, "{said}");

    let dependency = readme_line("warpladder = { path = \"../warpladder\", default-features");
    // Not `check`: most of what `run` compiles for the other program is the same.
    Downstream::new("without-gpu-engine", dependency).cargo("build");
}
