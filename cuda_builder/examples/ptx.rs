//! Compiles the crate of kernels in a folder and prints its PTX.
//!
//! ```text
//! cargo run -p warpladder-cuda-builder --example ptx -- kernels-gpu sm_80
//! ```

use std::env;
use std::process::ExitCode;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, arch] = &arguments[..] else {
        eprintln!("usage: ptx CRATE ARCH");
        return ExitCode::from(2);
    };
    let arch: NvvmArch = match arch.parse() {
        Ok(arch) => arch,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match CudaBuilder::new(folder).arch(arch).compile() {
        Ok(output) => {
            print!("{}", output.text);
            for warning in output.warnings {
                eprintln!("warning: {warning}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
