//! What the documentation of a rung's file says.

use std::path::{Path, PathBuf};

/// A section of the documentation of a rung's file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Note {
    /// Its heading.
    pub title: String,
    /// Its text, lines as they are in the file.
    pub text: String,
}

/// The folder of the kernels.
const KERNELS: &str = "kernels-gpu/src";

/// The file of a kernel, and what its documentation says. Without the source tree there is neither.
pub(super) fn notes(entry: &str, rung: &str) -> (Option<String>, Vec<Note>) {
    let root = Path::new(warpladder::SOURCE_ROOT);
    let mut files = Vec::new();
    rust_files(&root.join(KERNELS), &mut files);
    files.sort();
    let Some((path, text)) = file_of(&files, entry, rung) else {
        return (None, Vec::new());
    };
    let name = path.strip_prefix(root).unwrap_or(path);
    (Some(name.to_string_lossy().into_owned()), sections(&text))
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The file of the kernel's name, else the one whose title names it or the rung, else the one whose
/// code names it, else that of the longest beginning of its name or of the rung's.
fn file_of<'f>(files: &'f [PathBuf], entry: &str, rung: &str) -> Option<(&'f Path, String)> {
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let read = |path: &'f PathBuf| Some((&**path, std::fs::read_to_string(path).ok()?));
    // Files of parts that several kernels share have no idea of their own.
    let has_an_idea = |text: &str| text.contains("\n//! # Idea\n");
    let named = |name: &str| {
        let mut of_that_name = files
            .iter()
            .filter(|path| stem(path).as_deref() == Some(name))
            .filter_map(read);
        of_that_name.find(|(_, text)| has_an_idea(text))
    };
    // Kernels that a macro names have their rungs in the title: the first paragraph.
    let titled = |name: &str| {
        let quoted = format!("`{name}`");
        let title = |text: &str| {
            text.lines()
                .take_while(|line| *line != "//!")
                .any(|line| line.contains(&quoted))
        };
        let mut read_all = files.iter().filter_map(read);
        read_all.find(|(_, text)| has_an_idea(text) && title(text))
    };
    let found = named(entry).or_else(|| named(rung));
    if let Some(found) = found.or_else(|| titled(entry)).or_else(|| titled(rung)) {
        return Some(found);
    }
    let is_module = |path: &&PathBuf| stem(path).is_some_and(|stem| stem == "mod" || stem == "lib");
    let mentions = |text: &str| {
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let mut words =
            code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
        has_an_idea(text) && words.any(|word| word == entry)
    };
    let mut all = files
        .iter()
        .filter(|path| !is_module(path))
        .filter_map(read);
    // Functions of other crates may have the same name: an instance of the kernel comes first.
    let instance = format!("{entry} =>");
    let declares = |text: &str| text.lines().any(|line| line.trim().starts_with(&instance));
    let declared = all.clone().find(|(_, text)| declares(text));
    if let Some(found) = declared.or_else(|| all.find(|(_, text)| mentions(text))) {
        return Some(found);
    }
    let beginning = |path: &&PathBuf| {
        let stem = stem(path).filter(|stem| entry.starts_with(stem) || rung.starts_with(stem));
        stem.map_or(0, |stem| stem.len())
    };
    let nearest = files.iter().max_by_key(beginning)?;
    (beginning(&nearest) > 0).then(|| read(nearest))?
}

/// The sections of a file's documentation.
fn sections(text: &str) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for line in text.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(title) = line.strip_prefix("# ") {
            notes.push(Note {
                title: title.to_owned(),
                text: String::new(),
            });
        } else if let Some(note) = notes.last_mut() {
            note.text.push_str(line);
            note.text.push('\n');
        }
    }
    for note in &mut notes {
        note.text = note.text.trim().to_owned();
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_lab::catalogue::{self, Implementation, Rung};

    #[test]
    fn every_kernel_has_a_file_whose_idea_is_written_down() {
        for rung in catalogue::rungs() {
            let Implementation::Kernel { .. } = rung.implementation else {
                continue;
            };
            let (file, notes) = notes(rung.name, rung.name);
            let file = file.unwrap_or_else(|| panic!("{} has no file", rung.name));
            let idea = notes.iter().find(|note| note.title == "Idea");
            assert!(idea.is_some_and(|idea| !idea.text.is_empty()), "{file}");
        }
    }

    #[test]
    fn the_catalogue_and_the_kernels_agree_on_what_each_rung_changes() {
        let mut compared = 0;
        for rung in catalogue::rungs() {
            let (Implementation::Kernel { .. }, Some(base)) =
                (rung.implementation, rung.improves_on())
            else {
                continue;
            };
            let (file, notes) = notes(rung.name, rung.name);
            // Variants that differ by a constant are in one file.
            let (file_of_base, notes_of_base) = super::notes(base.name, base.name);
            if file == file_of_base {
                continue;
            }
            // The first sentence names the other rung, without the suffix of a variant. That of
            // a rung which is made worse on purpose names the one after it.
            let names = |notes: &[Note], rung: &Rung| {
                let is = |note: &&Note| note.title == "What changed since the rung before";
                let text = &notes.iter().find(is).unwrap().text;
                let first = text.split([':', '.']).next().unwrap().to_owned();
                first.split('`').skip(1).step_by(2).any(|name| {
                    let rest = rung.name.strip_prefix(name);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
                })
            };
            assert!(
                names(&notes, base) || names(&notes_of_base, rung),
                "{} after {}",
                rung.name,
                base.name
            );
            compared += 1;
        }
        assert!(compared > 20, "{compared}");
    }

    #[test]
    fn a_kernel_is_found_by_its_name_or_by_what_names_it() {
        for (entry, file) in [
            ("tiled_32", "kernels-gpu/src/ladder/matmul/tiled.rs"),
            (
                "wolfe_k4_guarded",
                "kernels-gpu/src/history/wolfe/wolfe_k4_guarded.rs",
            ),
            (
                "wolfe_k4_w128_j2",
                "kernels-gpu/src/history/wolfe/wolfe_k4.rs",
            ),
            ("copy", "kernels-gpu/src/ladder/transpose/copy.rs"),
            ("copy_2", "kernels-gpu/src/ladder/stream/copy_elements.rs"),
            // cuda_std has a function of this name.
            ("copy_4", "kernels-gpu/src/ladder/stream/copy_elements.rs"),
            ("naive_f64", "kernels-gpu/src/ladder/matmul/naive.rs"),
            (
                "wgmma_bf16_single",
                "kernels-gpu/src/ladder/matmul/wgmma_single.rs",
            ),
        ] {
            assert_eq!(notes(entry, entry).0.as_deref(), Some(file), "{entry}");
        }
    }

    #[test]
    fn sections_have_headings_and_texts() {
        let text = "//! Title.\n//!\n//! # Idea\n//! One\n//! two.\n//!\n//! # Source\n//! \
            001\n\nuse x;\n//! # Not";
        let notes = sections(text);
        let note = |title: &str, text: &str| Note {
            title: title.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(notes, [note("Idea", "One\ntwo."), note("Source", "001")]);
    }
}
