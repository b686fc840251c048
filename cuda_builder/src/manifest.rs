//! The record that stands beside checked-in PTX: what it was built from, and with what.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{self, CudaBuilderError};
use crate::toolchain::Toolchain;

/// `manifest.json`. Hashes are SHA-256 in hexadecimal, of texts with line endings of one character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What built the modules.
    pub compiler: Compiler,
    /// Flags and settings that are the same for all modules.
    pub settings: Vec<String>,
    /// The modules, by name.
    pub modules: BTreeMap<String, Module>,
    /// Hash of each input, by its path in the workspace.
    pub inputs: BTreeMap<String, String>,
}

/// The compiler that built the modules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiler {
    /// Its version, such as `1.97.0-nightly`.
    pub release: String,
    /// The commit of its sources.
    pub commit: String,
    /// Hash over core's sources, which the kernels inline.
    pub core: String,
}

/// One module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// The GPU generation that it is compiled for.
    pub arch: String,
    /// The hash of its PTX.
    pub sha256: String,
}

impl Manifest {
    /// The manifest in the file `path`, or why it cannot be used.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))
    }

    /// The text of the file: sorted, so that it depends on the contents alone, and with a line for
    /// each entry, so that changes merge.
    pub(crate) fn to_text(&self) -> String {
        let json = serde_json::to_string_pretty(self)
            .expect("strings and maps of strings have a JSON form");
        json + "\n"
    }
}

impl Compiler {
    pub(crate) fn of(toolchain: &Toolchain) -> Result<Self, CudaBuilderError> {
        let hashes = hash_files(&toolchain.core_sources(), &[""])?;
        let list: String = hashes
            .iter()
            .map(|(path, hash)| format!("{hash} {path}\n"))
            .collect();
        Ok(Self {
            release: toolchain.release.clone(),
            commit: toolchain.commit.clone(),
            core: hash(&list),
        })
    }
}

/// The hash of `text` with `\r\n` taken as `\n`: git may check files out with either.
pub(crate) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.replace("\r\n", "\n"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hashes of `inputs`, files or folders under `root`, by their paths relative to it with `/`
/// between parts.
///
/// An input that is not there has no hash: its absence is a difference to a manifest that lists it.
pub(crate) fn hash_files(
    root: &Path,
    inputs: &[&str],
) -> Result<BTreeMap<String, String>, CudaBuilderError> {
    let mut hashes = BTreeMap::new();
    for input in inputs {
        add_hashes(root, input, &mut hashes)?;
    }
    Ok(hashes)
}

fn add_hashes(
    root: &Path,
    relative: &str,
    hashes: &mut BTreeMap<String, String>,
) -> Result<(), CudaBuilderError> {
    let path = root.join(relative);
    if path.is_dir() {
        for entry in std::fs::read_dir(&path).map_err(error::io(&path))? {
            let name = entry.map_err(error::io(&path))?.file_name();
            let name = name.to_string_lossy();
            // Editors' and systems' own files.
            if name.starts_with('.') || name.ends_with('~') {
                continue;
            }
            let child = if relative.is_empty() {
                name.into_owned()
            } else {
                format!("{relative}/{name}")
            };
            add_hashes(root, &child, hashes)?;
        }
    } else if path.is_file() {
        hashes.insert(relative.to_owned(), hash(&error::read(&path)?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_ignore_the_kind_of_line_ending() {
        assert_eq!(hash("a\r\nb\n"), hash("a\nb\n"));
        assert_ne!(hash("a\nb"), hash("a\nb\n"));
        // FIPS 180-4, example of one block.
        assert_eq!(
            hash("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn folders_are_listed_with_their_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let hashes = hash_files(root, &["Cargo.toml", "src", "absent"]).unwrap();
        let has = |path: &str| hashes.contains_key(path);
        assert!(has("Cargo.toml") && has("src/lib.rs") && has("src/ptx_text/tests.rs"));
        assert!(!has("absent") && !has("src"));
    }

    #[test]
    fn text_and_manifest_correspond() {
        let manifest = Manifest {
            compiler: Compiler {
                release: "1.97.0-nightly".into(),
                commit: "c".into(),
                core: "d".into(),
            },
            settings: vec!["-Cx".into()],
            modules: BTreeMap::from([(
                "k".to_owned(),
                Module {
                    arch: "sm_70".into(),
                    sha256: "e".into(),
                },
            )]),
            inputs: BTreeMap::from([
                ("b".to_owned(), "2".to_owned()),
                ("a".to_owned(), "1".to_owned()),
            ]),
        };
        let text = manifest.to_text();
        assert!(text.ends_with("}\n"));
        assert!(text.find("\"a\"") < text.find("\"b\""));
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
    }
}
