//! Stands for `find_cuda_helper` 0.2 in the build scripts of `cust` and `cust_raw`.
//!
//! That one looks for a CUDA installation, fails where there is none, and asks the linker for its
//! `libcuda`. This one compiles a library with the driver's functions, which opens the driver's own
//! at the first call. So a program that uses `cust` links without a CUDA installation, starts
//! without a driver, and needs no line of Rust for it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// The functions, as one file of Rust without dependencies.
const SOURCE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../cuda_driver/src/standalone.rs"
);

/// The name of the library.
const LIBRARY: &str = "warpladder_cuda_driver";

/// Compiles the library for the build script's target and has it linked. On other systems than
/// Linux nothing is linked: `warpladder-cuda-driver` is made for Linux.
pub fn include_cuda() {
    let source = Path::new(SOURCE);
    let folder = source.parent().unwrap_or(source);
    println!("cargo::rerun-if-changed={}", folder.display());
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let folder = PathBuf::from(variable("OUT_DIR"));
    let mut compiler = Command::new(variable("RUSTC"));
    compiler
        // A Rust library is an archive of objects, which is what a static library is.
        .args([
            "--crate-type=rlib",
            "--crate-name",
            LIBRARY,
            "--edition=2024",
        ])
        .args(["-Cpanic=abort", "-Copt-level=3", "-Cembed-bitcode=no"])
        .args(["--cfg", "feature=\"cust\""])
        .arg(format!("--target={}", variable("TARGET")))
        .arg("-o")
        .arg(folder.join(format!("lib{LIBRARY}.a")))
        .arg(source);
    match compiler.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("compiling {SOURCE} failed ({status})")),
        Err(error) => fail(&format!("{} does not start: {error}", variable("RUSTC"))),
    }
    println!("cargo::rustc-link-search=native={}", folder.display());
    // Into the program, and not into the library of `cust_raw`, where its metadata would be a
    // second.
    println!("cargo::rustc-link-lib=static:-bundle={LIBRARY}");
}

/// A variable that cargo sets for build scripts.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("{name} is not set: cargo sets it")))
}

fn fail(problem: &str) -> ! {
    println!("cargo::error={problem}");
    exit(1)
}
