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
//! # Any crate that is `no_std`
//!
//! A crate of kernels may use other crates: those that need no `std`, from crates.io or elsewhere.
//! The compiler writes the PTX of one crate by itself, which is enough where every function of
//! another crate is generic or inlined. Where functions stay unresolved, the crate is compiled once
//! more as a whole program: as a static library with fat LTO, so that rustc itself resolves every
//! call ([`CudaBuilder::whole_program`]). No linker takes part.
//!
//! Three things need not stand in the sources, as with Rust-CUDA's builder: `#![no_std]`, the
//! features that `#[kernel]` and `shared_array!` ask for, and a panic handler, which `cuda_std`
//! has. A panic is a trap, or says what and where, by [`CudaBuilder::panic_messages`].
//!
//! # `cfg`
//!
//! `#[cfg(target_feature = "compute_80")]` holds where the [`NvvmArch`] has what compute capability
//! 8.0 has: [`NvvmArch::all_target_features`] says which.
//!
//! # Beside Rust-CUDA's builder
//!
//! Every setter of Rust-CUDA's `CudaBuilder` is here. Some ask for what this compiler does not do:
//! they are accepted, and the build warns.
//!
//! | setter | here |
//! |---|---|
//! | `release(false)` | a warning: the build is always optimised |
//! | `nvvm_opts(false)` | a warning: libnvvm takes no part, LLVM always optimises |
//! | `ftz(true)` | a warning: rustc has no option for the denormal mode; denormals are kept |
//! | `override_libm(true)` | a warning: libdevice is not linked, `libm` computes |
//! | `use_constant_memory_space(true)` | a warning: rustc places every `static` in global memory |
//! | `optix(true)` | a warning: OptiX is no target of this compiler |
//! | `emit_llvm_ir`, `emit_llvm_bitcode` | a file beside the PTX, `ll` or `bc` |
//!
//! Three defaults differ:
//!
//! | default | there | here | why |
//! |---|---|---|---|
//! | `arch` | `Compute75` | `Compute70` | the oldest that the compiler supports |
//! | `fma_contraction` | on | off | as in Rust on every target; `mul_add` asks for it |
//! | `generate_line_info` | without effect | on | line numbers cost neither registers nor time |

mod arch;
mod builder;
mod checked_in;
mod compile;
mod embed;
mod error;
mod local_atomics;
mod manifest;
mod ptx_text;
mod safe_kernels;
mod stable_names;
mod toolchain;

pub use arch::{NvvmArch, UnknownArch};
pub use builder::{CudaBuilder, DebugInfo, EmitOption, is_for_gpu};
pub use checked_in::{CheckedInPtx, Mode, ModuleSpec, Outcome};
pub use error::{CudaBuilderError, PtxTextError, ToolchainError};
pub use manifest::{Compiler, Manifest, Module};
pub use ptx_text::{PtxEntry, PtxOutput};
pub use toolchain::Toolchain;
