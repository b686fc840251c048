//! The PTX of `tests/crates`, kept beside it: whether it is that of the sources.

use crate::checked_in::TestKernels;
use cuda_builder::{ModuleSpec, NvvmArch};

pub const PTX: &str = include_str!("../../crates/ptx/crates_sm_70.ptx");

#[test]
fn the_checked_in_ptx_is_that_of_the_sources() {
    let kernels = TestKernels {
        kernels: "tests/crates",
        inputs: &[
            "tests/crates/Cargo.toml",
            "tests/crates/Cargo.lock",
            "tests/crates/rust-toolchain.toml",
            "tests/crates/src",
        ],
        ptx_dir: "tests/crates/ptx",
        modules: &[ModuleSpec {
            name: "crates_sm_70",
            arch: NvvmArch::Compute70,
        }],
        build_folder: "ptx-crates",
        files: &[("crates_sm_70.ptx", PTX)],
    };
    kernels.check();
}

#[test]
fn the_crates_are_compiled_by_the_toolchain_of_the_kernels() {
    assert_eq!(
        include_str!("../../crates/rust-toolchain.toml"),
        include_str!("../../../kernels-gpu/rust-toolchain.toml")
    );
}
