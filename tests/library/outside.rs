//! Cargo for crates outside of this workspace, as their owners would call it.

use std::path::Path;
use std::process::Command;

/// A command of cargo in a folder outside of this workspace. It needs no network, and takes the PTX
/// as it is checked in. All such crates share a target folder.
pub fn cargo(command: &str, folder: &Path) -> Command {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("downstream");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([command, "--offline", "--quiet"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        // What makes the next build shorter makes the first one longer.
        .env("CARGO_INCREMENTAL", "0")
        .env("WARPLADDER_PTX", "checked-in");
    // What cargo tells a test of this workspace, of its folders and its settings, would reach the
    // build scripts.
    for (name, _) in std::env::vars() {
        let of_build = name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if of_build || name.starts_with("CUDA_") {
            cargo.env_remove(name);
        }
    }
    cargo
}
