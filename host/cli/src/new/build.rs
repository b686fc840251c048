//! Compiles the kernels to PTX.

use std::path::Path;
use std::process::ExitCode;

use cuda_builder::CudaBuilder;

fn main() -> ExitCode {
    let folder = std::env::var("OUT_DIR").unwrap_or_default();
    let ptx = Path::new(&folder).join("kernels.ptx");
    match CudaBuilder::new("kernels").copy_to(ptx).build() {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={error}");
            ExitCode::FAILURE
        }
    }
}
