//! Runs a test in a process of its own that finds the stand-in of `libcuda.rs` as its CUDA driver.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Set in the process that has the stand-in.
const MARK: &str = "CUDA_DRIVER_TEST_CHILD";

/// Runs `body` in a child process, with the stand-in as the driver and `variables` set. `test` is
/// the full name of the calling test, which the child runs again.
pub fn with_fake_driver(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(MARK, "1")
        .env("LD_LIBRARY_PATH", folder())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{test} with the stand-in failed: {}\n{out}\n{err}",
        output.status
    );
    // A name that no test has would pass as well.
    assert!(
        out.contains("1 passed"),
        "{test} did not run with the stand-in:\n{out}"
    );
}

/// The folder with the stand-in, compiled once for each test program.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
        std::fs::create_dir_all(&folder).unwrap();
        let source = folder.join("libcuda.rs");
        std::fs::write(&source, include_str!("libcuda.rs")).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let status = Command::new(rustc)
            .args([
                "--edition",
                "2024",
                "--crate-type",
                "cdylib",
                "--crate-name",
                "fake_cuda",
                "-Cpanic=abort",
            ])
            .arg("-o")
            .arg(folder.join("libcuda.so.1"))
            .arg(source)
            .status()
            .unwrap();
        assert!(status.success(), "the stand-in does not compile");
        folder
    })
}
