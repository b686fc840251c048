//! What a build is asked for.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::NvvmArch;
use crate::compile::{self, Linkage};
use crate::error::{self, CudaBuilderError};
use crate::ptx_text::PtxOutput;
use crate::safe_kernels;
use crate::toolchain::{self, Toolchain};

/// How much a debugger or a profiler learns of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DebugInfo {
    /// Nothing beyond what [`CudaBuilder::generate_line_info`] asks for.
    #[default]
    None,
    /// The source line of each instruction.
    LineTables,
}

/// LLVM's text or bitcode of the module that the PTX is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmitOption {
    /// Text, in a file with the extension `ll`.
    LlvmIr,
    /// Bitcode, in a file with the extension `bc`.
    Bitcode,
}

impl EmitOption {
    /// The word of rustc's `--emit`, and the file's extension.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::LlvmIr => ("llvm-ir", "ll"),
            Self::Bitcode => ("llvm-bc", "bc"),
        }
    }
}

/// Loops over a tile must unroll entirely, or the tile is indexed and lives in local memory.
const UNROLL_THRESHOLD: u32 = 100_000;

/// Compiles one crate of kernels for one GPU generation.
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    pub(crate) path_to_crate: PathBuf,
    pub(crate) arch: NvvmArch,
    ptx_file_copy_path: Option<PathBuf>,
    generate_line_info: bool,
    debug: DebugInfo,
    fast_sqrt: bool,
    fast_div: bool,
    fma_contraction: bool,
    pub(crate) whole_program: Option<bool>,
    panic_messages: bool,
    unroll_threshold: Option<u32>,
    emit: Option<EmitOption>,
    final_module_path: Option<PathBuf>,
    pub(crate) build_args: Vec<String>,
    target_dir: Option<PathBuf>,
    /// Whether a lock file of the crate's workspace must be as it is. Without it a dependency can
    /// be added at any time.
    pub(crate) locked: bool,
    /// What was asked for and is not done, in the order of the calls.
    pub(crate) warnings: Vec<&'static str>,
}

impl CudaBuilder {
    /// A builder for the crate in the folder `path_to_crate_root`.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate_root.as_ref().to_owned(),
            arch: NvvmArch::default(),
            ptx_file_copy_path: None,
            generate_line_info: true,
            debug: DebugInfo::None,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: false,
            whole_program: None,
            panic_messages: false,
            unroll_threshold: None,
            emit: None,
            final_module_path: None,
            build_args: Vec::new(),
            target_dir: None,
            locked: false,
            warnings: Vec::new(),
        }
    }

    /// A builder for the package whose build script calls this: host and kernels in one crate.
    ///
    /// To compile the package for the GPU is to run its build script once more, for that target.
    /// There it is `None`, and the script ends:
    ///
    /// ```no_run
    /// # use cuda_builder::{CudaBuilder, CudaBuilderError};
    /// fn main() -> Result<(), CudaBuilderError> {
    ///     match CudaBuilder::this_crate() {
    ///         Some(builder) => builder.embed(),
    ///         None => Ok(()),
    ///     }
    /// }
    /// ```
    pub fn this_crate() -> Option<Self> {
        let folder = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
        (!is_for_gpu()).then(|| Self::new(folder))
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

    /// With [`DebugInfo::LineTables`] the PTX names source lines, whatever
    /// [`generate_line_info`](Self::generate_line_info) says.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
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

    /// Whether the crate is compiled together with all that it calls, as a static library with fat
    /// LTO.
    ///
    /// Where this is not called, that is done where the crate by itself leaves functions
    /// unresolved. It takes longer, and kernels that need it not may come out with a few registers
    /// more or fewer. With `false` unresolved functions are an error.
    pub fn whole_program(mut self, whole_program: bool) -> Self {
        self.whole_program = Some(whole_program);
        self
    }

    /// Whether a panic prints its message, file and line before it ends the kernel, as a failed
    /// assertion of `cuda_std` does. The crate is then compiled as a whole program.
    ///
    /// Off by default: a panic is then a trap without a call. The messages cost registers, local
    /// memory and PTX text.
    pub fn panic_messages(mut self, panic_messages: bool) -> Self {
        self.panic_messages = panic_messages;
        self
    }

    /// How calls between crates are resolved, where that is said.
    pub(crate) fn linkage(&self) -> Option<Linkage> {
        let wanted = self.panic_messages.then_some(true).or(self.whole_program);
        wanted.map(|whole| {
            if whole {
                Linkage::WholeProgram
            } else {
                Linkage::OneCrate
            }
        })
    }

    /// The cost up to which LLVM unrolls a loop entirely (LLVM's option `unroll-threshold`).
    ///
    /// Where this is not called it is 100 000: loops over a tile must unroll, or the tile lives in
    /// local memory. For a whole program it is LLVM's own, as other crates' loops would unroll as
    /// well: the PTX of Rust-CUDA's path tracer was four times
    /// as large.
    pub fn unroll_threshold(mut self, unroll_threshold: u32) -> Self {
        self.unroll_threshold = Some(unroll_threshold);
        self
    }

    /// Whether LLVM's text of the module is written beside the PTX, with the extension `ll`.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Whether LLVM's bitcode of the module is written beside the PTX, with the extension `bc`.
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Writes LLVM's text of the module that the PTX is made of to `path`.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Accepted for Rust-CUDA's build scripts: the build is always optimised, as by default there.
    pub fn release(mut self, release: bool) -> Self {
        let warning = "release(false) has no effect: the build is always optimised";
        self.warn(!release, warning);
        self
    }

    /// Accepted for Rust-CUDA's build scripts: libnvvm takes no part, and LLVM always optimises.
    pub fn nvvm_opts(mut self, nvvm_opts: bool) -> Self {
        let warning = "nvvm_opts(false) has no effect: LLVM's optimisations stay on";
        self.warn(!nvvm_opts, warning);
        self
    }

    /// Accepted for Rust-CUDA's build scripts: denormal values are kept, as by default there.
    pub fn ftz(mut self, ftz: bool) -> Self {
        let warning = "ftz(true) has no effect: denormal values are kept";
        self.warn(ftz, warning);
        self
    }

    /// Accepted for Rust-CUDA's build scripts: functions of the crate `libm` are its own, and not
    /// libdevice's.
    pub fn override_libm(mut self, override_libm: bool) -> Self {
        let warning = "override_libm(true) has no effect: libdevice is not linked, and the crate \
                       libm computes its functions";
        self.warn(override_libm, warning);
        self
    }

    /// Accepted for Rust-CUDA's build scripts: a `static` lies in global memory, as by default
    /// there.
    pub fn use_constant_memory_space(mut self, use_constant_memory_space: bool) -> Self {
        let warning =
            "use_constant_memory_space(true) has no effect: statics stay in global memory";
        self.warn(use_constant_memory_space, warning);
        self
    }

    /// Accepted for Rust-CUDA's build scripts: OptiX is no target of this compiler.
    pub fn optix(mut self, optix: bool) -> Self {
        let warning =
            "optix(true) has no effect: OptiX is not supported, the PTX is for CUDA alone";
        self.warn(optix, warning);
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

    /// Compiles, tells cargo which files to watch and what to warn of, and returns the path of the
    /// PTX: the one given to [`copy_to`](Self::copy_to) where there is one.
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
        if let Some(emit) = self.emit {
            let (_, extension) = emit.names();
            compilation.copy_module(emit, &path.with_extension(extension))?;
        }
        for warning in &compilation.output.warnings {
            println!("cargo::warning={warning}");
        }
        println!("cargo::rerun-if-env-changed={}", toolchain::OVERRIDE);
        for source in &compilation.sources {
            println!("cargo::rerun-if-changed={}", source.display());
        }
        Ok(path.to_owned())
    }

    /// [`build`](Self::build) for kernels of the safe form: writes the PTX to the build script's
    /// `OUT_DIR`, and with it what `cuda_std::safe::include_ptx!` includes.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), and [`CudaBuilderError::NoOutDir`] outside of build
    /// scripts.
    pub fn embed(self) -> Result<(), CudaBuilderError> {
        let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or(CudaBuilderError::NoOutDir)?);
        let path = folder.join("safe_kernels.ptx");
        self.copy_to(&path).build()?;
        safe_kernels::write(&folder, &path)
    }

    /// Compiles and returns the PTX with what it says about its kernels. Prints nothing.
    ///
    /// # Errors
    ///
    /// [`CudaBuilderError`] says which: the crate is not there, the compiler does not know the
    /// architecture, no toolchain is found, the compiler refuses the crate, or its PTX cannot run.
    pub fn compile(&self) -> Result<PtxOutput, CudaBuilderError> {
        let toolchain = Toolchain::find(&self.path_to_crate)?;
        Ok(compile::run(self, &toolchain)?.output)
    }

    fn warn(&mut self, wanted: bool, warning: &'static str) {
        self.warnings.retain(|other| *other != warning);
        if wanted {
            self.warnings.push(warning);
        }
    }

    /// What shapes the PTX besides the sources, the compiler and the architecture: the same on
    /// every machine.
    pub(crate) fn settings(&self) -> Vec<String> {
        let mut settings = self.rustc_flags();
        let threshold = self.unroll_threshold_of(Linkage::OneCrate);
        settings.extend(threshold.map(|threshold| format!("unroll-threshold={threshold}")));
        settings.extend(compile::PROFILE.map(str::to_owned));
        settings.extend(
            self.whole_program
                .map(|wanted| format!("whole-program={wanted}")),
        );
        settings.extend(self.build_args.iter().cloned());
        settings
    }

    pub(crate) fn rustc_flags(&self) -> Vec<String> {
        let panic = match self.panic_messages {
            true => "-Cpanic=abort",
            // Panics become a trap: no formatting code, and no call into core that nothing links.
            false => "-Cpanic=immediate-abort",
        };
        let mut flags = vec!["-Zunstable-options".to_owned(), panic.to_owned()];
        let mut llvm = |wanted: bool, option: &str| {
            if wanted {
                flags.push(format!("-Cllvm-args={option}"));
            }
        };
        llvm(self.fast_sqrt, "-nvptx-prec-sqrtf32=0");
        llvm(self.fast_div, "-nvptx-prec-divf32=0");
        llvm(self.fma_contraction, "-nvptx-fma-level=2");
        if self.generate_line_info || self.debug == DebugInfo::LineTables {
            flags.push("-Cdebuginfo=line-directives-only".to_owned());
        }
        flags
    }

    /// The cost up to which loops unroll; none for LLVM's own choice.
    pub(crate) fn unroll_threshold_of(&self, linkage: Linkage) -> Option<u32> {
        let default = (linkage == Linkage::OneCrate).then_some(UNROLL_THRESHOLD);
        self.unroll_threshold.or(default)
    }

    /// What LLVM writes of the module besides its PTX.
    pub(crate) fn emitted(&self) -> Vec<EmitOption> {
        let mut emitted: Vec<EmitOption> = self.emit.into_iter().collect();
        if self.final_module_path.is_some() && self.emit != Some(EmitOption::LlvmIr) {
            emitted.push(EmitOption::LlvmIr);
        }
        emitted
    }

    /// Where [`final_module_path`](Self::final_module_path) wants LLVM's text.
    pub(crate) fn final_module(&self) -> Option<&Path> {
        self.final_module_path.as_deref()
    }

    pub(crate) fn target_dir_or_default(&self) -> PathBuf {
        self.target_dir
            .clone()
            .or_else(|| env::var_os("OUT_DIR").map(beside_build_products))
            .unwrap_or_else(|| self.path_to_crate.join("target").join("ptx-build"))
    }
}

/// Whether the build script that calls this is that of a crate that is being compiled for the GPU.
pub fn is_for_gpu() -> bool {
    env::var_os("CARGO_CFG_TARGET_ARCH").is_some_and(|arch| arch == "nvptx64")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_done_is_warned_of_once_and_may_be_taken_back() {
        let builder = CudaBuilder::new(".")
            .release(true)
            .nvvm_opts(true)
            .ftz(false)
            .override_libm(false)
            .use_constant_memory_space(false)
            .optix(false);
        assert_eq!(builder.warnings, [""; 0], "as the compiler does it anyway");
        let builder = builder
            .release(false)
            .nvvm_opts(false)
            .ftz(true)
            .ftz(true)
            .override_libm(true)
            .use_constant_memory_space(true)
            .optix(true);
        let setters = builder.warnings.iter().map(|warning| {
            let (setter, _) = warning.split_once('(').unwrap();
            setter
        });
        assert_eq!(
            setters.collect::<Vec<_>>(),
            [
                "release",
                "nvvm_opts",
                "ftz",
                "override_libm",
                "use_constant_memory_space",
                "optix"
            ]
        );
        let builder = builder.release(true).ftz(false);
        assert_eq!(builder.warnings.len(), 4);
    }

    #[test]
    fn line_info_is_on_where_either_setter_asks_for_it() {
        let has_lines = |builder: CudaBuilder| {
            let flags = builder.rustc_flags();
            flags.contains(&"-Cdebuginfo=line-directives-only".to_owned())
        };
        let builder = || CudaBuilder::new(".");
        assert!(has_lines(builder()));
        assert!(!has_lines(builder().generate_line_info(false)));
        let tables = builder()
            .generate_line_info(false)
            .debug(DebugInfo::LineTables);
        assert!(has_lines(tables));
    }

    #[test]
    fn the_module_is_emitted_once_for_both_setters() {
        let emitted = |builder: CudaBuilder| builder.emitted();
        let builder = || CudaBuilder::new(".").final_module_path("module.ll");
        assert_eq!(emitted(CudaBuilder::new(".")), []);
        assert_eq!(emitted(builder()), [EmitOption::LlvmIr]);
        assert_eq!(emitted(builder().emit_llvm_ir(true)), [EmitOption::LlvmIr]);
        assert_eq!(
            emitted(builder().emit_llvm_bitcode(true)),
            [EmitOption::Bitcode, EmitOption::LlvmIr]
        );
    }
}
