//! Compiles a crate as Rust-CUDA's users write it: without `#![no_std]`, without features, with a
//! call into another crate that nothing inlines.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch, PtxTextError, Toolchain};
use ptx_emulator::{Args, LaunchConfig, Memory, Module};
use test_sample::Sample;

const KERNELS: &str = r#"
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn both(output: *mut u32) {
    let mut features = 0;
    #[cfg(target_feature = "compute_61")]
    {
        features += 61;
    }
    #[cfg(target_feature = "compute_70")]
    {
        features += 70;
    }
    #[cfg(target_feature = "compute_72")]
    {
        features += 1000;
    }
    unsafe {
        *output = helper::far(*output);
        output.add(1).write(features);
    }
}
"#;

const HELPER: &str = "#[inline(never)]\npub fn far(x: u32) -> u32 {\n    x.rotate_left(3) ^ 5\n}\n";

/// A package in `folder` with a library of this text.
fn package(folder: &Path, manifest: &str, text: &str) {
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), text).unwrap();
}

const PANICS: &str = r#"
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn pick(input: &[f32], index: u32, output: *mut f32) {
    let value = input[index as usize];
    unsafe { *output = value };
}
"#;

/// The crate of kernels, which outlives the test so that core is compiled once.
fn foreign_crate() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
    let head = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n")
    };
    package(&folder.join("helper"), &head("helper"), HELPER);
    let manifest = head("kernels")
        + "\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\n[dependencies]\n\
           helper = { path = \"helper\" }\n\n[workspace]\n";
    package(&folder, &manifest, KERNELS);
    folder
}

#[test]
fn calls_into_other_crates_are_resolved() {
    let folder = foreign_crate();
    if let Err(reason) = Toolchain::find(&folder) {
        println!("skipped: {reason}");
        return;
    }
    let module = folder.join("module.ll");
    let _ = fs::remove_file(&module);
    let builder = CudaBuilder::new(&folder)
        .arch(NvvmArch::Compute70)
        .ftz(true)
        .final_module_path(&module);
    let output = builder.compile().unwrap();
    assert!(output.whole_program);
    assert_eq!(output.entries.len(), 1);
    assert_eq!(output.entries[0].name, "both");
    assert!(!output.text.contains(".extern"), "{}", output.text);
    // compute_61 and compute_70, and not compute_72.
    assert!(output.text.contains("131"), "{}", output.text);
    assert_eq!(output.warnings.len(), 1, "{:?}", output.warnings);
    let module = fs::read_to_string(module).unwrap();
    assert!(module.contains("define"), "{module}");

    let error = builder.clone().whole_program(false).compile().unwrap_err();
    let CudaBuilderError::PtxText {
        source: PtxTextError::Unresolved(names),
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert!(names.len() == 1 && names[0].contains("far"), "{names:?}");

    let error = builder.arch(NvvmArch::Compute73).compile().unwrap_err();
    let start = "the compiler does not know sm_73: it knows sm_";
    assert!(error.to_string().starts_with(start), "{error}");
    let CudaBuilderError::UnknownArch { known, .. } = error else {
        panic!("{error}")
    };
    for arch in known {
        assert!(arch.parse::<NvvmArch>().is_ok(), "{arch} has no name here");
    }
}

/// It compiles `core` once more, for panics that are not a trap.
#[test]
fn a_panic_says_what_and_where() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("panics");
    if !matches!(Sample::from_env(), Sample::Full) {
        println!("left out: WARPLADDER_TEST=full compiles it");
        return;
    }
    if let Err(reason) = Toolchain::find(&folder) {
        println!("skipped: {reason}");
        return;
    }
    let manifest = format!(
        "[package]\nname = \"kernels\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ncuda_std = {{ package = \"warpladder-cuda-std\", path = \"{}\" }}\n\n\
         [workspace]\n",
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../cuda_std")
            .display()
    );
    package(&folder, &manifest, PANICS);
    let quiet = CudaBuilder::new(&folder).compile().unwrap();
    assert!(!quiet.text.contains("__assertfail"), "{}", quiet.text);
    let output = CudaBuilder::new(&folder)
        .panic_messages(true)
        .compile()
        .unwrap();
    assert!(output.whole_program);
    let module = Module::parse(&output.text).unwrap();
    let kernel = module.kernel("pick").unwrap();
    let memory = Memory::with_capacity(1 << 20);
    let (input, found) = (memory.alloc(16).unwrap(), memory.alloc(4).unwrap());
    memory.write(input, &[0; 16]).unwrap();
    let run = |index: u32| {
        let mut args = Args::new();
        args.push_u64(input)
            .push_u64(4)
            .push_u32(index)
            .push_u64(found);
        kernel.launch(&memory, &LaunchConfig::new([1, 1, 1], [1, 1, 1]), &args)
    };
    assert!(run(3).is_ok());
    let error = run(4).unwrap_err().to_string();
    assert!(error.contains("src/lib.rs:6"), "{error}");
    let message = "index out of bounds: the len is 4 but the index is 4";
    assert!(error.contains(message), "{error}");
}
