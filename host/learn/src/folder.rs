//! The folder in which a learner works: a crate with one file per exercise.

use super::exercise::Exercise;
use super::progress::Progress;
use super::{ALL, number};
use cuda_builder::{CudaBuilder, CudaBuilderError, NvvmArch};
use ptx_emulator::counters::SourceLine;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// The crate's toolchain, that of the project's own kernels.
const TOOLCHAIN: &str = include_str!("../exercises/rust-toolchain.toml");

/// The versions of what `cuda_std` depends on, so that a first build asks no registry what is new.
const LOCK: &str = include_str!("../exercises/Cargo.lock");

/// What exercises are compiled for: the oldest that has asynchronous copies and mbarriers, and for
/// which rustc is told no PTX version, about which it warns.
pub const ARCH: NvvmArch = NvvmArch::Compute86;

/// Where the learner's progress is kept.
const PROGRESS: &str = "progress.json";

/// A learner's folder.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

/// What went wrong in a learner's folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There are no exercises in it.
    #[error("{} holds no exercises: `warpladder learn start` puts them there", .0.display())]
    NotStarted(PathBuf),
    /// The exercises use the sources of a clone that is there no longer.
    #[error(
        "the exercises in {} use the clone of warpladder at {}, which is not there: `warpladder learn \
         start` has them use this program's own sources",
        folder.display(), sources.display()
    )]
    Sources {
        /// The learner's folder.
        folder: PathBuf,
        /// Where `cuda_std` was.
        sources: PathBuf,
    },
    /// The progress is not what was written.
    #[error("{}: {source}; remove it to begin with no progress", path.display())]
    Progress {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

impl Folder {
    /// The name of the folder where none is named.
    pub const DEFAULT: &'static str = "warpladder-exercises";

    /// The folder of this path, which need not be there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Folder(path.into())
    }

    /// The folder that is meant where none is named: the current one where it holds exercises, else
    /// one of the usual name in it.
    pub fn default_here() -> Self {
        let here = Folder::new(".");
        match here.is_started() {
            true => here,
            false => Folder::new(Self::DEFAULT),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Whether exercises were put into it.
    pub fn is_started(&self) -> bool {
        self.0.join(PROGRESS).is_file()
    }

    /// The learner's file of an exercise.
    pub fn file(&self, exercise: &Exercise) -> PathBuf {
        self.0.join(file_name(exercise))
    }

    /// Puts the exercises into the folder. Files that the learner has are left as they are; gives
    /// how many were new.
    ///
    /// # Errors
    /// [`FolderError::Io`] where a file cannot be written.
    pub fn start(&self) -> Result<usize, FolderError> {
        std::fs::create_dir_all(&self.0).map_err(io_error(&self.0))?;
        let from_sources = cuda_std().join("Cargo.toml").is_file();
        self.write("Cargo.toml", &manifest(from_sources))?;
        // With a `cuda_std` from a registry the lock would have to name that.
        if from_sources {
            self.write("Cargo.lock", LOCK)?;
        }
        self.write("rust-toolchain.toml", TOOLCHAIN)?;
        self.write("lib.rs", &library())?;
        let mut new = 0;
        for exercise in ALL {
            if !self.file(exercise).exists() {
                self.write(&file_name(exercise), exercise.files.exercise)?;
                new += 1;
            }
        }
        if !self.is_started() {
            self.save(&Progress::default())?;
        }
        Ok(new)
    }

    /// The learner's progress.
    ///
    /// # Errors
    /// [`FolderError::NotStarted`] where there is none, or that it cannot be read.
    pub fn progress(&self) -> Result<Progress, FolderError> {
        if !self.is_started() {
            return Err(FolderError::NotStarted(self.0.clone()));
        }
        let path = self.0.join(PROGRESS);
        let text = std::fs::read_to_string(&path).map_err(io_error(&path))?;
        serde_json::from_str(&text).map_err(|source| FolderError::Progress { path, source })
    }

    /// Keeps the learner's progress.
    ///
    /// # Errors
    /// [`FolderError::Io`] where it cannot be written.
    pub fn save(&self, progress: &Progress) -> Result<(), FolderError> {
        let path = self.0.join(PROGRESS);
        let text = serde_json::to_string_pretty(progress)
            .map_err(|error| io_error(&path)(error.into()))?;
        self.write(PROGRESS, &(text + "\n"))
    }

    /// Puts an exercise's file back as it was at the start, and keeps the learner's beside it;
    /// gives the name of that.
    ///
    /// # Errors
    /// [`FolderError::NotStarted`], and [`FolderError::Io`] where a file cannot be written.
    pub fn reset(&self, exercise: &Exercise) -> Result<Option<PathBuf>, FolderError> {
        let mut progress = self.progress()?;
        let file = self.file(exercise);
        let kept = file.with_extension("rs.bak");
        let was_there = file.exists();
        if was_there {
            std::fs::rename(&file, &kept).map_err(io_error(&kept))?;
        }
        self.write(&file_name(exercise), exercise.files.exercise)?;
        if progress.passed.remove(exercise.name) {
            self.save(&progress)?;
        }
        Ok(was_there.then_some(kept))
    }

    /// Whether the sources that the exercises use are where the folder's manifest says.
    ///
    /// # Errors
    /// [`FolderError::Sources`] where they are not.
    pub fn check_sources(&self) -> Result<(), FolderError> {
        let manifest = std::fs::read_to_string(self.0.join("Cargo.toml")).unwrap_or_default();
        let sources = manifest.lines().find_map(path_of_cuda_std);
        match sources {
            Some(sources) if !sources.join("Cargo.toml").is_file() => Err(FolderError::Sources {
                folder: self.0.clone(),
                sources,
            }),
            _ => Ok(()),
        }
    }

    /// Compiles the learner's file of an exercise to PTX. What the compiler says goes to standard
    /// error.
    ///
    /// # Errors
    /// Those of [`CudaBuilder::compile`]: no toolchain, or a file that does not compile.
    pub fn compile(&self, exercise: &Exercise) -> Result<String, CudaBuilderError> {
        let builder = CudaBuilder::new(&self.0)
            .arch(ARCH)
            .target_dir(self.build_folder())
            .build_args(&["--quiet", "--features", exercise.name]);
        Ok(builder.compile()?.text)
    }

    /// The text of a line of a file of the folder, without the blanks around it.
    pub fn line(&self, place: &SourceLine) -> Option<String> {
        let text = std::fs::read_to_string(self.0.join(&place.file)).ok()?;
        let line = text.lines().nth((place.line as usize).checked_sub(1)?)?;
        Some(line.trim().to_owned())
    }

    /// Whether anything was compiled here.
    pub fn is_compiled(&self) -> bool {
        self.build_folder().exists()
    }

    fn build_folder(&self) -> PathBuf {
        self.0.join("target")
    }

    fn write(&self, file: &str, text: &str) -> Result<(), FolderError> {
        let path = self.0.join(file);
        std::fs::write(&path, text).map_err(io_error(&path))
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> FolderError + '_ {
    move |source| FolderError::Io {
        path: path.to_owned(),
        source,
    }
}

fn file_name(exercise: &Exercise) -> String {
    format!("{:02}_{}.rs", number(exercise), exercise.name)
}

/// `cuda_std` in the tree that this program was built from.
fn cuda_std() -> PathBuf {
    Path::new(warpladder::SOURCE_ROOT).join("cuda_std")
}

/// The path in a manifest's line of `cuda_std`, as [`manifest`] writes it.
fn path_of_cuda_std(line: &str) -> Option<PathBuf> {
    let (_, path) = line.strip_prefix("cuda_std = ")?.split_once("path = ")?;
    let text = path.trim_end().strip_suffix('}')?.trim_end();
    // The escapes of a string in double quotes are those of JSON as far as paths have any.
    serde_json::from_str::<PathBuf>(text).ok()
}

/// The crate's manifest. `cuda_std` is that of the sources of this program where they are on this
/// machine, else the released one of the same version.
fn manifest(from_sources: bool) -> String {
    let cuda_std = match from_sources {
        // A path in double quotes with its special characters escaped is a TOML string as well.
        true => format!("path = {:?}", cuda_std()),
        false => format!("version = {:?}", concat!("=", env!("CARGO_PKG_VERSION"))),
    };
    let mut text = format!(
        "[package]\nname = \"warpladder-exercises\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [lib]\npath = \"lib.rs\"\n\n\
         [dependencies]\ncuda_std = {{ package = \"warpladder-cuda-std\", {cuda_std} }}\n\n\
         # A workspace of its own, wherever the folder lies.\n[workspace]\n\n\
         # One exercise is compiled at a time.\n[features]\n"
    );
    for exercise in ALL {
        _ = writeln!(text, "{} = []", exercise.name);
    }
    text
}

/// The crate's root, which takes in one exercise for the GPU, and all of them for an editor.
pub(super) fn library() -> String {
    let mut text = "//! The exercises of `warpladder learn`. Written by `warpladder learn start`: \
        edit the other files.\n\n\
         #![no_std]\n\
         #![cfg_attr(target_arch = \"nvptx64\", feature(abi_ptx, asm_experimental_arch))]\n\
         // A kernel is unsafe as a whole; what is not yet used in a hole will be.\n\
         #![allow(unsafe_op_in_unsafe_fn, unused, clippy::missing_safety_doc)]\n"
        .to_owned();
    for exercise in ALL {
        let (name, file) = (exercise.name, file_name(exercise));
        _ = write!(
            text,
            "\n#[cfg(any(not(target_arch = \"nvptx64\"), feature = {name:?}))]\n#[path = \
             {file:?}]\nmod {name};\n"
        );
    }
    text
}
