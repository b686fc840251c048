//! The PTX of `tests/crates`, kept beside it: whether it is that of the sources.

use cuda_builder::{CheckedInPtx, Mode, ModuleSpec, NvvmArch};
use std::path::Path;

pub const PTX: &str = include_str!("../../crates/ptx/crates_sm_70.ptx");

/// What the PTX depends on.
const INPUTS: &[&str] = &[
    "tests/crates/Cargo.toml",
    "tests/crates/Cargo.lock",
    "tests/crates/rust-toolchain.toml",
    "tests/crates/src",
    "cuda_std/Cargo.toml",
    "cuda_std/src",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
    "cuda_builder/src/ptx_text.rs",
    "cuda_builder/src/stable_names.rs",
    "ptx-syntax/src/lexer.rs",
    "ptx-syntax/src/signature.rs",
];

#[test]
fn the_checked_in_ptx_is_that_of_the_sources() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !workspace.join("Cargo.toml").is_file() {
        println!("left out: the sources are not on this machine");
        return;
    }
    let ptx = CheckedInPtx {
        workspace: workspace.to_owned(),
        kernels: "tests/crates",
        inputs: INPUTS,
        ptx_dir: "tests/crates/ptx",
        modules: &[ModuleSpec {
            name: "crates_sm_70",
            arch: NvvmArch::Compute70,
        }],
        target_dir: Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .map(|target| target.join("ptx-crates")),
    };
    let brought = Mode::from_env().and_then(|mode| ptx.bring_up_to_date(mode));
    let outcome = brought.unwrap_or_else(|error| panic!("{error}"));
    println!("{outcome:?}");
    let now = std::fs::read_to_string(workspace.join("tests/crates/ptx/crates_sm_70.ptx"));
    assert!(
        now.unwrap() == PTX,
        "the PTX was stale and has been rebuilt: run the tests again, and commit it"
    );
}

#[test]
fn the_crates_are_compiled_by_the_toolchain_of_the_kernels() {
    assert_eq!(
        include_str!("../../crates/rust-toolchain.toml"),
        include_str!("../../../kernels-gpu/rust-toolchain.toml")
    );
}
