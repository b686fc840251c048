//! PTX under version control: used as it stands while it is that of the sources, rebuilt when it is
//! not, and never used stale.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{self, CudaBuilderError};
use crate::manifest::{self, Compiler, Manifest, Module};
use crate::safe_kernels;
use crate::toolchain::{self, Toolchain};
use crate::{CudaBuilder, NvvmArch, PtxOutput, compile};

/// The environment variable that sets the [`Mode`].
const MODE: &str = "WARPLADDER_PTX";

const MANIFEST: &str = "manifest.json";

/// What the PTX of every crate of kernels of this workspace depends on, besides the crate.
///
/// Not the whole builder: the rest of it shapes the PTX through the flags that the manifest
/// records.
const COMMON_INPUTS: [&str; 8] = [
    "cuda_std/Cargo.toml",
    "cuda_std/src",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
    "cuda_builder/src/ptx_text.rs",
    "cuda_builder/src/stable_names.rs",
    "ptx-syntax/src/lexer.rs",
    "ptx-syntax/src/signature.rs",
];

/// A folder of PTX modules that are kept under version control together with the sources they come
/// from.
///
/// Beside the modules lies `manifest.json`: the hashes of all inputs and modules, the compiler and
/// its flags.
#[derive(Debug, Clone)]
pub struct CheckedInPtx {
    /// The folder that all other paths are relative to.
    pub workspace: PathBuf,
    /// The crate of kernels.
    pub kernels: &'static str,
    /// The files and folders of the crate that the PTX depends on. Where `workspace` holds
    /// `cuda_std` and this builder as well, theirs are added.
    pub inputs: &'static [&'static str],
    /// The folder of the PTX.
    pub ptx_dir: &'static str,
    /// The modules.
    pub modules: &'static [ModuleSpec],
    /// The folder for build products; that of [`CudaBuilder::target_dir`] where there is none.
    pub target_dir: Option<PathBuf>,
}

/// One module of checked-in PTX, in the file `<name>.ptx`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleSpec {
    /// Its name.
    pub name: &'static str,
    /// The GPU generation it is compiled for.
    pub arch: NvvmArch,
}

impl ModuleSpec {
    fn file(&self) -> String {
        format!("{}.ptx", self.name)
    }
}

/// When [`CheckedInPtx::bring_up_to_date`] compiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// When the PTX is not that of the sources.
    #[default]
    Auto,
    /// Always: a build from source.
    Rebuild,
    /// Never: stale PTX is an error.
    CheckedIn,
}

impl Mode {
    /// The mode that the environment variable `WARPLADDER_PTX` names: `auto`, `rebuild` or
    /// `checked-in`.
    ///
    /// # Errors
    ///
    /// [`CudaBuilderError::UnknownMode`] where it names something else.
    pub fn from_env() -> Result<Self, CudaBuilderError> {
        let value = env::var_os(MODE).unwrap_or_default();
        match value.to_string_lossy().as_ref() {
            "" | "auto" => Ok(Self::Auto),
            "rebuild" => Ok(Self::Rebuild),
            "checked-in" => Ok(Self::CheckedIn),
            other => Err(CudaBuilderError::UnknownMode(other.to_owned())),
        }
    }
}

/// What [`CheckedInPtx::bring_up_to_date`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The PTX is that of the sources; nothing was compiled.
    AsCheckedIn,
    /// The PTX was compiled; files whose contents are new were written.
    Rebuilt {
        /// What is worth knowing about the new PTX: another compiler, local memory, calls.
        warnings: Vec<String>,
    },
}

impl CheckedInPtx {
    /// Makes the checked-in PTX that of the sources, or says why it cannot.
    ///
    /// Where the crate of kernels is not there, as in a published package, the PTX is only checked
    /// against its manifest.
    ///
    /// # Errors
    ///
    /// The PTX is stale and no toolchain is found, or `mode` forbids to compile; else those of
    /// [`CudaBuilder::compile`] and of reading and writing files.
    pub fn bring_up_to_date(&self, mode: Mode) -> Result<Outcome, CudaBuilderError> {
        let ptx_dir = self.ptx_dir.to_owned();
        let manifest = Manifest::load(&self.manifest_path());
        let has_sources = self
            .workspace
            .join(self.kernels)
            .join("Cargo.toml")
            .is_file();
        if !has_sources {
            let reasons = match &manifest {
                Ok(manifest) => self.damaged_modules(manifest),
                Err(problem) => vec![problem.clone()],
            };
            return if reasons.is_empty() {
                Ok(Outcome::AsCheckedIn)
            } else {
                Err(CudaBuilderError::Damaged {
                    ptx_dir,
                    reasons: reasons.join(", "),
                })
            };
        }
        let inputs: Vec<&str> = self.all_inputs().collect();
        let inputs = manifest::hash_files(&self.workspace, &inputs)?;
        let reasons = match &manifest {
            Ok(manifest) => self.stale_reasons(manifest, &inputs),
            Err(problem) => vec![problem.clone()],
        };
        if reasons.is_empty() && mode != Mode::Rebuild {
            return Ok(Outcome::AsCheckedIn);
        }
        let reasons = summary(&reasons);
        if mode == Mode::CheckedIn {
            return Err(CudaBuilderError::StaleAndFrozen { ptx_dir, reasons });
        }
        let toolchain = match Toolchain::find(&self.workspace.join(self.kernels)) {
            Ok(toolchain) => toolchain,
            Err(source) if reasons.is_empty() => return Err(source.into()),
            Err(source) => {
                return Err(CudaBuilderError::StaleWithoutToolchain {
                    ptx_dir,
                    reasons,
                    source,
                });
            }
        };
        let warnings = self.rebuild(&toolchain, inputs, manifest.ok().as_ref())?;
        Ok(Outcome::Rebuilt { warnings })
    }

    /// As [`bring_up_to_date`](Self::bring_up_to_date) with [`Mode::from_env`], in a build script:
    /// tells cargo what to watch, and what is worth knowing about new PTX.
    ///
    /// # Errors
    ///
    /// Those of the two.
    pub fn bring_up_to_date_in_build_script(&self) -> Result<(), CudaBuilderError> {
        for path in self.watched() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        for variable in [MODE, toolchain::OVERRIDE] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        if let Outcome::Rebuilt { warnings } = self.bring_up_to_date(Mode::from_env()?)? {
            for warning in warnings {
                println!("cargo::warning={warning}");
            }
        }
        Ok(())
    }

    /// Writes what `cuda_std::safe::include_ptx!` includes into `folder`, which is cargo's
    /// `OUT_DIR`: the PTX of this module, whose kernels are those of the package that is built.
    ///
    /// # Errors
    ///
    /// Those of writing files.
    pub fn embed_module(&self, folder: &Path, module: &ModuleSpec) -> Result<(), CudaBuilderError> {
        safe_kernels::write(folder, &self.module_path(module))
    }

    /// The files and folders whose change may make the PTX stale, and the PTX itself.
    fn watched(&self) -> Vec<PathBuf> {
        self.all_inputs()
            .chain([self.ptx_dir])
            .map(|path| self.workspace.join(path))
            // Cargo takes a path that is not there for one that always changes.
            .filter(|path| path.exists())
            .collect()
    }

    /// The files and folders that the PTX depends on.
    fn all_inputs(&self) -> impl Iterator<Item = &'static str> {
        self.inputs.iter().copied().chain(COMMON_INPUTS)
    }

    pub(crate) fn manifest_path(&self) -> PathBuf {
        self.ptx_path(MANIFEST)
    }

    pub(crate) fn module_path(&self, module: &ModuleSpec) -> PathBuf {
        self.ptx_path(&module.file())
    }

    fn ptx_path(&self, file: &str) -> PathBuf {
        self.workspace.join(self.ptx_dir).join(file)
    }

    fn builder(&self) -> CudaBuilder {
        let mut builder = CudaBuilder::new(self.workspace.join(self.kernels));
        // The PTX is that of the versions in the lock file.
        builder.locked = true;
        match &self.target_dir {
            Some(folder) => builder.target_dir(folder),
            None => builder,
        }
    }

    /// Every difference between the manifest and what is there.
    fn stale_reasons(&self, manifest: &Manifest, inputs: &BTreeMap<String, String>) -> Vec<String> {
        let mut reasons = Vec::new();
        for (path, hash) in inputs {
            match manifest.inputs.get(path) {
                Some(recorded) if recorded == hash => {}
                Some(_) => reasons.push(format!("{path} changed")),
                None => reasons.push(format!("{path} is new")),
            }
        }
        let gone = manifest
            .inputs
            .keys()
            .filter(|path| !inputs.contains_key(*path));
        reasons.extend(gone.map(|path| format!("{path} is gone")));
        if manifest.settings != self.builder().settings() {
            reasons.push("the compiler's flags changed".to_owned());
        }
        reasons.extend(self.damaged_modules(manifest));
        reasons
    }

    fn damaged_modules(&self, manifest: &Manifest) -> Vec<String> {
        let damage = |module: &ModuleSpec| {
            let file = module.file();
            let Some(recorded) = manifest.modules.get(module.name) else {
                return Some(format!("{file} is not in {MANIFEST}"));
            };
            if recorded.arch != module.arch.target_cpu() {
                return Some(format!("{file} is for {}", recorded.arch));
            }
            match std::fs::read_to_string(self.module_path(module)) {
                Ok(text) if manifest::hash(&text) == recorded.sha256 => None,
                Ok(_) => Some(format!("{file} is not the one in {MANIFEST}")),
                Err(error) => Some(format!("{file}: {error}")),
            }
        };
        self.modules.iter().filter_map(damage).collect()
    }

    fn rebuild(
        &self,
        toolchain: &Toolchain,
        inputs: BTreeMap<String, String>,
        before: Option<&Manifest>,
    ) -> Result<Vec<String>, CudaBuilderError> {
        let mut warnings = Vec::new();
        let mut manifest = Manifest {
            compiler: Compiler::of(toolchain)?,
            settings: self.builder().settings(),
            modules: BTreeMap::new(),
            inputs,
        };
        if let Some(before) = before {
            warnings.extend(compiler_change(&before.compiler, &manifest.compiler));
        }
        let mut files = Vec::new();
        for (module, output) in self.modules.iter().zip(self.compile(toolchain)) {
            let output = output?;
            warnings.extend(costs(module, &output));
            manifest.modules.insert(
                module.name.to_owned(),
                Module {
                    arch: module.arch.target_cpu(),
                    sha256: manifest::hash(&output.text),
                },
            );
            files.push((module.file(), output.text));
        }
        // The manifest comes last: a run that is cut short leaves modules that do not match it.
        files.push((MANIFEST.to_owned(), manifest.to_text()));

        let folder = self.workspace.join(self.ptx_dir);
        std::fs::create_dir_all(&folder).map_err(error::io(&folder))?;
        let newest = manifest
            .inputs
            .keys()
            .filter_map(|path| self.workspace.join(path).metadata().ok()?.modified().ok())
            .max();
        for (file, text) in files {
            replace(&folder, &file, &text, newest)?;
        }
        Ok(warnings)
    }

    /// Compiles all modules at the same time: rustc optimises one with one thread, for minutes.
    fn compile(&self, toolchain: &Toolchain) -> Vec<Result<PtxOutput, CudaBuilderError>> {
        let compile = |module: &ModuleSpec| {
            let builder = self.builder().arch(module.arch);
            compile::run(&builder, toolchain).map(|compilation| compilation.output)
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (self.modules.iter())
                .map(|module| scope.spawn(move || compile(module)))
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                (thread.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        })
    }
}

/// Writes `text` to `folder/file` where it is not there already, in one step.
///
/// The file gets the time of the newest input: with the present time, cargo would take the build
/// script's own output for a change and run it again.
fn replace(
    folder: &Path,
    file: &str,
    text: &str,
    modified: Option<SystemTime>,
) -> Result<(), CudaBuilderError> {
    let path = folder.join(file);
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let temporary = folder.join(format!(".{file}.{}", std::process::id()));
    error::write(&temporary, text)?;
    if let Some(modified) = modified {
        File::options()
            .write(true)
            .open(&temporary)
            .and_then(|file| file.set_modified(modified))
            .map_err(error::io(&temporary))?;
    }
    std::fs::rename(&temporary, &path).map_err(error::io(&path))
}

/// The first few reasons, and how many more there are.
fn summary(reasons: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = reasons[..reasons.len().min(SHOWN)].join(", ");
    if reasons.len() > SHOWN {
        let _ = write!(text, " and {} more", reasons.len() - SHOWN);
    }
    text
}

fn compiler_change(before: &Compiler, now: &Compiler) -> Option<String> {
    let version = |compiler: &Compiler| format!("{} ({:.9})", compiler.release, compiler.commit);
    if version(before) != version(now) {
        Some(format!(
            "the PTX was built with rustc {} and is now built with {}: figures measured with the old PTX may not hold",
            version(before),
            version(now)
        ))
    } else {
        (before.core != now.core).then(|| {
            "the PTX was built with the same rustc but other sources of core: its line numbers may differ".to_owned()
        })
    }
}

/// What in the PTX costs time on a GPU.
fn costs(module: &ModuleSpec, output: &PtxOutput) -> Vec<String> {
    let name = module.name;
    let local = output.entries.iter().filter(|entry| entry.local_bytes > 0);
    let mut costs: Vec<String> = local
        .map(|entry| {
            format!(
                "{name}: kernel {} keeps {} bytes per thread in local memory",
                entry.name, entry.local_bytes
            )
        })
        .collect();
    if !output.functions.is_empty() {
        costs.push(format!(
            "{name}: functions not inlined: {}",
            output.functions.join(", ")
        ));
    }
    costs
}
