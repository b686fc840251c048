//! All versions of all exercises, compiled as one crate.

use crate::wrong::{WRONG, Wrong};
use cuda_builder::{CudaBuilder, Toolchain};
use ptx_emulator::Module;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use warpladder_learn::{ALL, Exercise, Folder, Verdict};

/// One version of an exercise, and the name of its kernel.
pub struct Version {
    exercise: &'static Exercise,
    kernel: String,
    text: String,
}

impl Version {
    pub fn solution(exercise: &'static Exercise) -> Self {
        Version::new(exercise, "solution", exercise.files.solution)
    }

    pub fn unsolved(exercise: &'static Exercise) -> Self {
        Version::new(exercise, "unsolved", exercise.files.exercise)
    }

    pub fn wrong(wrong: &Wrong) -> Self {
        let exercise = warpladder_learn::find(wrong.exercise).expect(wrong.exercise);
        let name = wrong.name.replace(' ', "_");
        Version::new(exercise, &name, &wrong.text(exercise))
    }

    /// A version whose kernel has a name of its own.
    fn new(exercise: &'static Exercise, version: &str, text: &str) -> Self {
        let kernel = format!("{}__{version}", exercise.name);
        let declared = format!("fn {}(", exercise.name);
        assert_eq!(text.matches(&declared).count(), 1, "{kernel}");
        Version {
            exercise,
            text: text.replace(&declared, &format!("fn {kernel}(")),
            kernel,
        }
    }
}

/// The PTX of all versions, and the folder of their sources.
pub struct Compiled {
    folder: PathBuf,
    module: Module,
}

impl Compiled {
    pub fn check(&self, version: &Version) -> Verdict {
        let verdict = warpladder_learn::check(version.exercise, &self.module, &version.kernel);
        verdict.unwrap_or_else(|error| panic!("{}: {error}", version.kernel))
    }

    pub fn complaint(&self, verdict: &Verdict) -> String {
        verdict.complaint(&|place| Folder::new(&self.folder).line(place))
    }
}

/// The tree that holds the exercises.
pub fn workspace() -> &'static Path {
    Path::new(warpladder::SOURCE_ROOT)
}

/// A folder for a test's learner. Its build products stay from one run to the next.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The toolchain; none, and a line that says why, where it is missing.
fn toolchain() -> Option<Toolchain> {
    let found = Toolchain::find(&workspace().join("host/learn/exercises"));
    match found {
        _ if !workspace().join("Cargo.toml").is_file() => {
            println!("left out: the sources are not on this machine");
            None
        }
        Ok(toolchain) => Some(toolchain),
        Err(missing) => {
            println!("left out: {missing}");
            None
        }
    }
}

/// Everything compiled; none, and a line that says why, where that cannot be.
pub fn compiled() -> Option<&'static Compiled> {
    static COMPILED: LazyLock<Compiled> = LazyLock::new(compile);
    toolchain().map(|_| &*COMPILED)
}

fn compile() -> Compiled {
    let folder = folder("learn");
    let start = || Folder::new(&folder).start();
    start().unwrap_or_else(|error| panic!("{error}"));
    let versions = ALL
        .iter()
        .flat_map(|exercise| [Version::solution(exercise), Version::unsolved(exercise)]);
    let versions = versions.chain(WRONG.iter().map(Version::wrong));
    // The learner's crate, with these modules in place of the learner's.
    let root = std::fs::read_to_string(folder.join("lib.rs")).unwrap();
    let attributes = root.split("\n#[cfg(").next().unwrap();
    let mut library = attributes.to_owned() + "#![allow(non_snake_case)]\n";
    for Version { kernel, text, .. } in versions {
        std::fs::write(folder.join(format!("{kernel}.rs")), text).unwrap();
        library += &format!("mod {kernel};\n");
    }
    std::fs::write(folder.join("lib.rs"), library).unwrap();
    let output = CudaBuilder::new(&folder)
        .arch(warpladder_learn::ARCH)
        .target_dir(folder.join("target"))
        .build_args(&["--quiet"])
        .compile();
    let output = output.unwrap_or_else(|error| panic!("{error}"));
    Compiled {
        module: Module::parse(&output.text).unwrap(),
        folder,
    }
}
