//! Versions of exercises, compiled together: for tests, and for pages without a compiler.

use super::exercise::Exercise;
use super::folder::{ARCH, Folder, FolderError};
use cuda_builder::{CudaBuilder, CudaBuilderError};
use std::path::Path;

/// One version of an exercise: a file in which its kernel has a name of its own.
#[derive(Clone, Debug)]
pub struct Version {
    /// The exercise.
    pub exercise: &'static Exercise,
    /// The kernel's name: the exercise's, two underscores and the version's.
    pub kernel: String,
    /// The file.
    pub text: String,
}

/// Why versions could not be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// The folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file of it.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The compiler.
    #[error(transparent)]
    Compile(#[from] CudaBuilderError),
}

impl Version {
    /// The exercise solved.
    pub fn solution(exercise: &'static Exercise) -> Self {
        Version::new(exercise, "solution", exercise.files.solution)
    }

    /// The exercise as it is given.
    pub fn unsolved(exercise: &'static Exercise) -> Self {
        Version::new(exercise, "unsolved", exercise.files.exercise)
    }

    /// A version of this name with the text of an exercise's file.
    pub fn new(exercise: &'static Exercise, version: &str, text: &str) -> Self {
        let kernel = format!("{}__{version}", exercise.name);
        let declared = format!("fn {}(", exercise.name);
        Version {
            exercise,
            text: text.replace(&declared, &format!("fn {kernel}(")),
            kernel,
        }
    }

    /// Compiles versions as one crate, in a folder of exercises that is made there, to the PTX of
    /// all of them. Each is in a file named after its kernel.
    ///
    /// # Errors
    /// Where the folder cannot be written, there is no toolchain, or a version does not compile.
    pub fn compile_all<'v>(
        folder: &Path,
        versions: impl IntoIterator<Item = &'v Version>,
    ) -> Result<String, VersionError> {
        Folder::new(folder).start()?;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|source| VersionError::Io {
                path: path.display().to_string(),
                source,
            })
        };
        // The learner's crate, with these modules in place of the learner's.
        let root = super::folder::library();
        let attributes = root.split("\n#[cfg(").next().unwrap_or_default();
        let mut library = attributes.to_owned() + "#![allow(non_snake_case)]\n";
        for Version { kernel, text, .. } in versions {
            write(&format!("{kernel}.rs"), text)?;
            library += &format!("mod {kernel};\n");
        }
        write("lib.rs", &library)?;
        let builder = CudaBuilder::new(folder)
            .arch(ARCH)
            .target_dir(folder.join("target"))
            .build_args(&["--quiet"]);
        Ok(builder.compile()?.text)
    }
}
