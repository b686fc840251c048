//! Errors, and file access that names the file when it fails.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Why PTX could not be built or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// There is no crate at the path given.
    #[error("{} is not a crate: it has no Cargo.toml", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// The architecture is older than the compiler supports.
    #[error("{0} is too old: the compiler supports sm_70 (Volta) and later")]
    UnsupportedArch(String),
    /// The compiler does not know the architecture, and would compile for its oldest instead.
    #[error("the compiler does not know {arch}: it knows {}", known.join(", "))]
    UnknownArch {
        /// The architecture, such as `sm_73`.
        arch: String,
        /// Those that it knows.
        known: Vec<String>,
    },
    /// No toolchain can compile kernels.
    #[error(transparent)]
    Toolchain(#[from] ToolchainError),
    /// The compiler refused the crate; its messages went to standard error.
    #[error(
        "compiling {} for {arch} failed ({status}); the compiler's messages are above",
        path.display()
    )]
    BuildFailed {
        /// The crate's folder.
        path: PathBuf,
        /// The architecture, such as `sm_70`.
        arch: String,
        /// How cargo ended.
        status: ExitStatus,
    },
    /// The compiler ended well but left no PTX, because it was removed since.
    #[error("the compiler left no PTX: remove {} and build again", .0.display())]
    NoOutput(PathBuf),
    /// The compiler's PTX cannot run.
    #[error("the PTX of {} for {arch} cannot be used: {source}", path.display())]
    PtxText {
        /// The crate's folder.
        path: PathBuf,
        /// The architecture, such as `sm_70`.
        arch: String,
        /// What is wrong with it.
        source: PtxTextError,
    },
    /// The checked-in PTX is not that of the sources, and nothing here can rebuild it.
    #[error("{ptx_dir}/ is stale ({reasons}) and cannot be rebuilt: {source}")]
    StaleWithoutToolchain {
        /// The folder of the PTX, relative to the workspace.
        ptx_dir: String,
        /// What changed.
        reasons: String,
        /// Why no toolchain can rebuild it, with the commands that install one.
        source: ToolchainError,
    },
    /// The checked-in PTX is not that of the sources, and rebuilding is switched off.
    #[error(
        "{ptx_dir}/ is stale ({reasons}) and WARPLADDER_PTX=checked-in forbids rebuilding it: unset the variable"
    )]
    StaleAndFrozen {
        /// The folder of the PTX, relative to the workspace.
        ptx_dir: String,
        /// What changed.
        reasons: String,
    },
    /// PTX that ships without its sources is damaged.
    #[error(
        "{ptx_dir}/ is damaged ({reasons}) and its sources are not here: get the package again"
    )]
    Damaged {
        /// The folder of the PTX, relative to the workspace.
        ptx_dir: String,
        /// What is wrong.
        reasons: String,
    },
    /// The environment asks for something unknown.
    #[error("WARPLADDER_PTX={0} is unknown: set it to auto, rebuild or checked-in")]
    UnknownMode(String),
    /// The variable that says where a build script writes is not set.
    #[error("OUT_DIR is not set: call this in a build script, which cargo sets it for")]
    NoOutDir,
    /// A program could not be run, or did not say what it was asked for.
    #[error("{program} {problem}")]
    Program {
        /// The program.
        program: String,
        /// What happened.
        problem: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Why no toolchain can compile kernels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolchainError {
    /// `rustup` is not on the path.
    #[error(
        "rustup is not on the PATH: install it from https://rustup.rs, then run `rustup toolchain install \
         {name} --profile minimal` and `rustup component add rust-src --toolchain {name}`, or set \
         WARPLADDER_NIGHTLY to the folder of a nightly toolchain"
    )]
    NoRustup {
        /// The toolchain that is wanted.
        name: String,
    },
    /// The toolchain is not installed.
    #[error(
        "toolchain {name} is not installed: run `rustup toolchain install {name} --profile minimal` and \
         `rustup component add rust-src --toolchain {name}`"
    )]
    NotInstalled {
        /// The toolchain that is wanted.
        name: String,
    },
    /// The toolchain lacks the sources of core.
    #[error(
        "toolchain {name} lacks the sources of core: run `rustup component add rust-src --toolchain {name}`"
    )]
    NoSource {
        /// The toolchain.
        name: String,
    },
    /// The folder given is not a toolchain with the sources of core.
    #[error(
        "WARPLADDER_NIGHTLY={} is not a toolchain's folder: it needs bin/cargo, bin/rustc and \
         lib/rustlib/src/rust/library",
        .0.display()
    )]
    NotAToolchain(PathBuf),
    /// The toolchain is not a nightly, and building core needs one.
    #[error("toolchain {name} is {release}, not a nightly: name a nightly in WARPLADDER_NIGHTLY")]
    NotNightly {
        /// The toolchain.
        name: String,
        /// Its release number.
        release: String,
    },
    /// The toolchain's compiler does not start or does not name its version.
    #[error("toolchain {name} does not work ({problem}): reinstall it")]
    Broken {
        /// The toolchain.
        name: String,
        /// What happened.
        problem: String,
    },
}

/// Why a compiler's PTX cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PtxTextError {
    /// The text is no PTX, or ends early.
    #[error("it cannot be read: {0}; check the braces and quotes of inline assembly")]
    Unreadable(ptx_syntax::ParseError),
    /// Functions are called that the module does not contain.
    #[error(
        "it calls functions that are not in it: {}; mark them #[inline(always)], or avoid the panic that calls them",
        .0.join(", ")
    )]
    Unresolved(Vec<String>),
    /// Functions are called that no crate of the whole program defines.
    #[error(
        "it calls functions that are not in it: {}; no crate defines them: take the calls out",
        .0.join(", ")
    )]
    Undefined(Vec<String>),
    /// An atomic instruction on local memory, which PTX does not have.
    #[error(
        "line {line}: `{instruction}` is an atomic operation on a thread's own stack, which PTX \
         does not have: use a plain variable, or one in shared or global memory"
    )]
    LocalAtomic {
        /// Line of the compiler's PTX, from 1.
        line: usize,
        /// The instruction.
        instruction: String,
    },
    /// A launch bound stands outside a kernel.
    #[error("line {line}: a launch bound stands outside a kernel: put it into #[kernel(…)]")]
    StrayBound {
        /// Line of the compiler's PTX, from 1.
        line: usize,
    },
    /// A launch bound is not one of the known ones with a number above zero.
    #[error("kernel {kernel}: launch bound `{bound}` is not valid: it takes a number above 0")]
    BadBound {
        /// The kernel.
        kernel: String,
        /// The bound as it stands in the PTX.
        bound: String,
    },
    /// A kernel has two values for one launch bound.
    #[error("kernel {kernel} has both {first} and {second} for {bound}: keep one")]
    TwoBounds {
        /// The kernel.
        kernel: String,
        /// The directive's name.
        bound: String,
        /// The first value.
        first: u32,
        /// The second value.
        second: u32,
    },
    /// `.minnctapersm` without `.maxntid`, which has no effect (PTX ISA, "Performance-Tuning
    /// Directives").
    #[error(
        "kernel {kernel} has min_blocks without max_threads, which has no effect: add max_threads"
    )]
    MinBlocksAlone {
        /// The kernel.
        kernel: String,
    },
}

pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> CudaBuilderError + '_ {
    move |source| CudaBuilderError::Io {
        path: path.to_owned(),
        source,
    }
}

pub(crate) fn read(path: &Path) -> Result<String, CudaBuilderError> {
    std::fs::read_to_string(path).map_err(io(path))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    std::fs::write(path, text).map_err(io(path))
}
