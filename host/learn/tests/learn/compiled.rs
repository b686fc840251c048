//! All versions of all exercises, compiled as one crate.

use crate::wrong::{WRONG, Wrong};
use cuda_builder::Toolchain;
use ptx_emulator::Module;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use warpladder_learn::{ALL, Folder, Verdict, Version};

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
    let versions = ALL
        .iter()
        .flat_map(|exercise| [Version::solution(exercise), Version::unsolved(exercise)]);
    let versions: Vec<Version> = versions.chain(WRONG.iter().map(Wrong::version)).collect();
    for Version {
        exercise,
        text,
        kernel,
    } in &versions
    {
        let declared = format!("fn {kernel}(");
        assert_eq!(text.matches(&declared).count(), 1, "{}", exercise.name);
    }
    let text = Version::compile_all(&folder, &versions).unwrap_or_else(|error| panic!("{error}"));
    Compiled {
        module: Module::parse(&text).unwrap(),
        folder,
    }
}
