//! Compiles a crate of GPU kernels to PTX, from a build script.
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! let ptx = CudaBuilder::new("../kernels")
//!     .arch(NvvmArch::Compute80)
//!     .copy_to("kernels.ptx")
//!     .build()?;
//! println!("cargo::rustc-env=KERNELS_PTX={}", ptx.display());
//! # Ok::<(), cuda_builder::CudaBuilderError>(())
//! ```
//!
//! The names are those of Rust-CUDA's `cuda_builder`, so that a build script written for it needs
//! no change. The compiler behind them is the nvptx64 target of stock nightly rustc, and what comes
//! out is finished: launch bounds stand in the kernels' headers, every call is resolved, and the
//! text is the same bytes wherever the repository, the toolchain and cargo's home lie.
//!
//! [`CheckedInPtx`] keeps such PTX under version control: it rebuilds modules whose sources changed
//! and refuses to use them stale where no toolchain can rebuild them.
//!
//! # The toolchain
//!
//! Building core for the GPU needs a nightly with the `rust-src` component. [`Toolchain::find`]
//! says in which order toolchains are tried. None is ever installed: the error names the commands
//! that do.
//!
//! # What Rust-CUDA's builder has and this one does not
//!
//! | left out | reason |
//! |---|---|
//! | `release` | Without optimisation, kernels call functions that nothing links in; the build is always optimised. |
//! | `nvvm_opts` | libnvvm takes no part; LLVM's own back end optimises. |
//! | `debug` | [`generate_line_info`](CudaBuilder::generate_line_info) is what its only level does. |
//! | `ftz`, and `fast_math`, which sets it | rustc has no option for the denormal mode of a function. |
//! | `override_libm` | libdevice is not linked. |
//! | `use_constant_memory_space` | rustc places every `static` in global memory. |
//! | `optix` | Not a target of this compiler. |
//! | `emit_llvm_ir`, `emit_llvm_bitcode`, `final_module_path` | `cargo rustc … --emit=llvm-ir` does it. |
//!
//! One default differs: [`fma_contraction`](CudaBuilder::fma_contraction) is off, as in Rust on
//! every target.

mod arch;
mod checked_in;
mod compile;
mod embed;
mod error;
mod manifest;
mod ptx_text;
mod toolchain;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use arch::NvvmArch;
pub use checked_in::{CheckedInPtx, Mode, ModuleSpec, Outcome};
pub use error::{CudaBuilderError, PtxTextError, ToolchainError};
pub use manifest::{Compiler, Manifest, Module};
pub use ptx_text::{PtxEntry, PtxOutput};
pub use toolchain::Toolchain;

/// Compiles one crate of kernels for one GPU generation.
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    arch: NvvmArch,
    ptx_file_copy_path: Option<PathBuf>,
    generate_line_info: bool,
    fast_sqrt: bool,
    fast_div: bool,
    fma_contraction: bool,
    build_args: Vec<String>,
    target_dir: Option<PathBuf>,
}

impl CudaBuilder {
    /// A builder for the crate in the folder `path_to_crate_root`.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate_root.as_ref().to_owned(),
            arch: NvvmArch::default(),
            ptx_file_copy_path: None,
            generate_line_info: true,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: false,
            build_args: Vec::new(),
            target_dir: None,
        }
    }

    /// The GPU generation to compile for; [`NvvmArch::Compute70`] where this is not called.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Copies the PTX to `path` when it is built.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// Whether the PTX names the source line of its instructions (`.loc`, `.file`). On by default:
    /// it costs neither registers nor time on the GPU.
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.generate_line_info = generate_line_info;
        self
    }

    /// Whether an `f32` square root is the approximate instruction (`sqrt.approx.f32`). Off by
    /// default.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.fast_sqrt = fast_sqrt;
        self
    }

    /// Whether an `f32` division is the approximate instruction (`div.approx.f32`). Off by default.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.fast_div = fast_div;
        self
    }

    /// Whether a product and a sum that follow each other become one `fma` with one rounding. Off
    /// by default: as elsewhere in Rust, a kernel that wants `fma` writes `mul_add`.
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.fma_contraction = fma_contraction;
        self
    }

    /// Further arguments of `cargo rustc`, such as `--features`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args
            .extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// The folder for build products. Where this is not called it is `ptx-build` in the target
    /// folder of the build script that runs, else in the crate's own.
    ///
    /// It must not be the target folder of the cargo that runs the build script, whose lock it
    /// would wait for.
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Compiles, tells cargo which files to watch, and returns the path of the PTX: the one given
    /// to [`copy_to`](Self::copy_to) where there is one.
    ///
    /// # Errors
    ///
    /// Those of [`compile`](Self::compile), and [`CudaBuilderError::Io`] where the PTX cannot be
    /// written.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        let toolchain = Toolchain::find(&self.path_to_crate)?;
        let compilation = compile::run(&self, &toolchain)?;
        let path = self
            .ptx_file_copy_path
            .as_deref()
            .unwrap_or(&compilation.ptx_path);
        error::write(path, &compilation.output.text)?;
        println!("cargo::rerun-if-env-changed={}", toolchain::OVERRIDE);
        for source in &compilation.sources {
            println!("cargo::rerun-if-changed={}", source.display());
        }
        Ok(path.to_owned())
    }

    /// Compiles and returns the PTX with what it says about its kernels. Prints nothing.
    ///
    /// # Errors
    ///
    /// [`CudaBuilderError`] says which: the crate is not there, the architecture is too old, no
    /// toolchain is found, the compiler refuses the crate, or its PTX cannot run.
    pub fn compile(&self) -> Result<PtxOutput, CudaBuilderError> {
        let toolchain = Toolchain::find(&self.path_to_crate)?;
        Ok(compile::run(self, &toolchain)?.output)
    }

    /// What shapes the PTX besides the sources, the compiler and the architecture: the same on
    /// every machine.
    fn settings(&self) -> Vec<String> {
        let mut settings = self.rustc_flags();
        settings.extend(compile::PROFILE.map(str::to_owned));
        settings.extend(self.build_args.iter().cloned());
        settings
    }

    fn rustc_flags(&self) -> Vec<String> {
        let mut flags = vec![
            // Panics become a trap: no formatting code, and no call into core that nothing links.
            "-Zunstable-options".to_owned(),
            "-Cpanic=immediate-abort".to_owned(),
            // Loops over a tile must unroll entirely, or the tile is indexed and lives in local
            // memory.
            "-Cllvm-args=--unroll-threshold=100000".to_owned(),
        ];
        let mut llvm = |wanted: bool, option: &str| {
            if wanted {
                flags.push(format!("-Cllvm-args={option}"));
            }
        };
        llvm(self.fast_sqrt, "-nvptx-prec-sqrtf32=0");
        llvm(self.fast_div, "-nvptx-prec-divf32=0");
        llvm(self.fma_contraction, "-nvptx-fma-level=2");
        if self.generate_line_info {
            flags.push("-Cdebuginfo=line-directives-only".to_owned());
        }
        flags
    }

    fn target_dir_or_default(&self) -> PathBuf {
        self.target_dir
            .clone()
            .or_else(|| std::env::var_os("OUT_DIR").map(beside_build_products))
            .unwrap_or_else(|| self.path_to_crate.join("target").join("ptx-build"))
    }
}

/// `ptx-build` in the target folder that holds a build script's `OUT_DIR`, so that all profiles
/// share it.
fn beside_build_products(out_dir: OsString) -> PathBuf {
    let out_dir = PathBuf::from(out_dir);
    // Cargo marks the folder; how deep OUT_DIR lies in it is not promised.
    let target_dir = out_dir
        .ancestors()
        .find(|dir| dir.join("CACHEDIR.TAG").is_file());
    target_dir.unwrap_or(&out_dir).join("ptx-build")
}
