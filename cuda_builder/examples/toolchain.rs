//! Prints the toolchain that compiles the kernels of the crate named, or what to do where there is
//! none.
//!
//! ```text
//! cargo run -p warpladder-cuda-builder --example toolchain -- kernels-gpu
//! ```

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use cuda_builder::Toolchain;

fn main() -> ExitCode {
    let Some(crate_path) = env::args_os().nth(1) else {
        eprintln!("usage: toolchain CRATE");
        return ExitCode::from(2);
    };
    match Toolchain::find(&PathBuf::from(crate_path)) {
        Ok(found) => {
            println!("{} (rustc {}, {})", found.name, found.release, found.commit);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
