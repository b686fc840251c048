//! PTX of tests that is kept beside its sources: whether it is that of them.
//!
//! To build it from source, run these tests with `WARPLADDER_PTX=rebuild`.

use cuda_builder::{CheckedInPtx, Mode, ModuleSpec};
use std::path::Path;

/// A crate of kernels with its PTX.
pub struct TestKernels {
    /// The crate's folder.
    pub kernels: &'static str,
    /// What of the crate the PTX depends on.
    pub inputs: &'static [&'static str],
    /// The folder of the PTX.
    pub ptx_dir: &'static str,
    pub modules: &'static [ModuleSpec],
    /// The folder below `target` that it is compiled in.
    pub build_folder: &'static str,
    /// Files of the PTX's folder, as they were when this test was compiled.
    pub files: &'static [(&'static str, &'static str)],
}

impl TestKernels {
    /// Brings the PTX up to date, and fails where it was not.
    pub fn check(&self) {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
        if !workspace.join("Cargo.toml").is_file() {
            println!("left out: the sources are not on this machine");
            return;
        }
        let ptx = CheckedInPtx {
            workspace: workspace.to_owned(),
            kernels: self.kernels,
            inputs: self.inputs,
            ptx_dir: self.ptx_dir,
            modules: self.modules,
            target_dir: Path::new(env!("CARGO_TARGET_TMPDIR"))
                .parent()
                .map(|target| target.join(self.build_folder)),
        };
        let brought = Mode::from_env().and_then(|mode| ptx.bring_up_to_date(mode));
        let outcome = brought.unwrap_or_else(|error| panic!("{error}"));
        println!("{outcome:?}");
        for (file, text) in self.files {
            let now = std::fs::read_to_string(workspace.join(self.ptx_dir).join(file)).unwrap();
            assert!(
                now == *text,
                "{}/{file} was not that of the sources and has been rebuilt: run the tests again, and \
                 commit it",
                self.ptx_dir
            );
        }
    }
}
