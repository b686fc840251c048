//! Whether the PTX in the program is that of the sources.

use super::Check;
use crate::units::count;
use cuda_builder::{CheckedInPtx, CudaBuilderError, Manifest, Mode};
use std::path::Path;
use std::sync::LazyLock;
use warpladder::ptx::{MANIFEST, MODULES};

const KERNELS: &str = "kernels-gpu";
const PTX: &str = "ptx";

static COMPILED_IN: LazyLock<Result<Manifest, serde_json::Error>> =
    LazyLock::new(|| serde_json::from_str(MANIFEST));

/// The files that the program's PTX was made from.
static INPUTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let manifest = COMPILED_IN.as_ref().ok();
    manifest.map_or_else(Vec::new, |manifest| {
        manifest.inputs.keys().map(String::as_str).collect()
    })
});

/// The PTX in the program.
pub(super) fn compiled_in() -> Check {
    const WHAT: &str = "PTX in the program";
    match &*COMPILED_IN {
        Ok(Manifest { compiler, .. }) => {
            let names: Vec<&str> = MODULES.iter().map(|module| module.name).collect();
            let detail = format!(
                "{}, by rustc {} ({:.9})",
                names.join(", "),
                compiler.release,
                compiler.commit
            );
            Check::ok(WHAT, detail)
        }
        Err(error) => Check::wrong(WHAT, format!("its manifest: {error}: {}", advice())),
    }
}

/// Whether the tree `workspace`, which the program was built from, still has this PTX and its
/// sources.
pub(super) fn sources(workspace: &Path) -> Check {
    const WHAT: &str = "PTX sources";
    if !workspace.join(KERNELS).join("Cargo.toml").is_file() {
        let advice =
            "only changing kernels takes them: build the program from a clone of its repository";
        return Check::missing(WHAT, format!("not in {}; {advice}", workspace.display()));
    }
    if let Some(file) = other_file(workspace) {
        let advice = advice();
        return Check::wrong(
            WHAT,
            format!("{file} is not the one in the program: {advice}"),
        );
    }
    let checked_in = CheckedInPtx {
        workspace: workspace.to_owned(),
        kernels: KERNELS,
        // A file that is not among them matters only where one of them has changed to name it.
        inputs: &INPUTS,
        ptx_dir: PTX,
        // Those in the program are compared above.
        modules: &[],
        target_dir: None,
    };
    match checked_in.bring_up_to_date(Mode::CheckedIn) {
        Ok(_) => Check::ok(
            WHAT,
            format!(
                "{} in {}: {} as recorded",
                PTX,
                workspace.display(),
                count(INPUTS.len(), "source file")
            ),
        ),
        Err(CudaBuilderError::StaleAndFrozen { ptx_dir, reasons }) => Check::wrong(
            WHAT,
            format!("{ptx_dir}/ is stale ({reasons}): {}", advice()),
        ),
        Err(error) => Check::wrong(WHAT, error.to_string()),
    }
}

/// The first file of the tree's PTX that is not as it was when the program was built.
fn other_file(workspace: &Path) -> Option<String> {
    let modules = MODULES.iter();
    let modules = modules.map(|module| (format!("{PTX}/{}.ptx", module.name), module.text()));
    modules
        .chain([(format!("{PTX}/manifest.json"), MANIFEST.to_owned())])
        .find(|(file, text)| {
            std::fs::read_to_string(workspace.join(file)).map_or(true, |there| there != *text)
        })
        .map(|(file, _)| file)
}

fn advice() -> &'static str {
    "build again with `cargo build --release`"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{SOURCES, State};
    use std::path::PathBuf;

    /// A copy of the tree's PTX and of what it was made from.
    fn copy(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("warpladder-{name}-{}", std::process::id()));
        let modules = MODULES
            .iter()
            .map(|module| (format!("{PTX}/{}.ptx", module.name), module.text()));
        let sources = INPUTS.iter().map(|input| {
            let text = std::fs::read_to_string(Path::new(SOURCES).join(input)).unwrap();
            ((*input).to_owned(), text)
        });
        let manifest = (format!("{PTX}/manifest.json"), MANIFEST.to_owned());
        for (file, text) in modules.chain(sources).chain([manifest]) {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn append(path: &Path, text: &str) {
        let old = std::fs::read_to_string(path).unwrap();
        std::fs::write(path, old + text).unwrap();
    }

    #[test]
    fn a_changed_kernel_makes_the_ptx_stale() {
        let tree = copy("stale");
        let check = sources(&tree);
        assert_eq!(check.state, State::Ok, "{check:?}");

        append(&tree.join("kernels-gpu/src/lib.rs"), "// changed\n");
        let check = sources(&tree);
        assert_eq!(check.state, State::Wrong, "{check:?}");
        assert!(
            check.detail.contains("kernels-gpu/src/lib.rs changed"),
            "{check:?}"
        );

        std::fs::remove_file(tree.join("kernels-gpu/src/lib.rs")).unwrap();
        let check = sources(&tree);
        assert!(
            check.detail.contains("kernels-gpu/src/lib.rs is gone"),
            "{check:?}"
        );
        std::fs::remove_dir_all(tree).unwrap();
    }

    #[test]
    fn ptx_other_than_the_programs_is_wrong() {
        let tree = copy("other");
        append(&tree.join("ptx/manifest.json"), "\n");
        let check = sources(&tree);
        assert_eq!(check.state, State::Wrong, "{check:?}");
        assert!(
            check.detail.starts_with("ptx/manifest.json is not"),
            "{check:?}"
        );
        std::fs::remove_dir_all(tree).unwrap();
    }

    #[test]
    fn a_program_away_from_its_sources_lacks_them() {
        let check = sources(Path::new("/no such folder"));
        assert_eq!(check.state, State::Missing, "{check:?}");
    }
}
