//! How much of other people's PTX the emulator decodes: `coverage PATH…`.
//!
//! Takes files, and the `.ptx` files of folders, decodes each of their kernels, and prints how many
//! it decoded and, by their number, the instructions for which it refused the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptx_emulator::{KernelError, Module};

/// What was found in some files.
#[derive(Default)]
struct Coverage {
    files: usize,
    kernels: usize,
    decoded: usize,
    /// By reason: the number of kernels, and the first of them.
    refused: BTreeMap<String, (usize, String)>,
}

impl Coverage {
    fn add(&mut self, path: &Path) {
        self.files += 1;
        let name = path.display();
        let text = match ptx_emulator::read_file(path) {
            Ok(text) => text,
            Err(error) => return self.refuse(error.to_string(), name.to_string()),
        };
        let module = match Module::index(&text) {
            Ok(module) => module,
            Err(error) => {
                // None of its kernels can be run.
                let kernels = text.matches(".entry").count().max(1);
                self.kernels += kernels;
                for _ in 0..kernels {
                    self.refuse(
                        format!("the module: {}", error.message),
                        format!("{name}:{error}"),
                    );
                }
                return;
            }
        };
        for kernel in module.kernel_names() {
            self.kernels += 1;
            match module.kernel(kernel) {
                Ok(_) => self.decoded += 1,
                Err(error) => {
                    let reason = match &error {
                        KernelError::Unsupported { opcode, .. } => opcode.clone(),
                        KernelError::Refused { reason, .. } => reason.clone(),
                        KernelError::Instruction { message, .. } => message.clone(),
                        other => other.to_string(),
                    };
                    self.refuse(reason, format!("{name}: {error}"));
                }
            }
        }
    }

    fn refuse(&mut self, reason: String, example: String) {
        self.refused.entry(reason).or_insert((0, example)).0 += 1;
    }

    fn print(&self) {
        println!(
            "{} files, {} kernels, {} decoded, {} refused",
            self.files,
            self.kernels,
            self.decoded,
            self.kernels - self.decoded
        );
        let mut refused: Vec<_> = self.refused.iter().collect();
        refused.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (reason, (count, example)) in refused {
            println!("{count:6}  {reason}\n        {example}");
        }
    }
}

/// The PTX files below a folder, in the order of their names.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(path) = pending.pop() {
        // A file that is named counts, whatever its name ends with.
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        } else if path == folder || path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn main() -> std::io::Result<()> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if folders.is_empty() {
        println!("usage: coverage PATH...");
    }
    for folder in folders {
        let mut coverage = Coverage::default();
        for file in files(&folder)? {
            coverage.add(&file);
        }
        print!("{}: ", folder.display());
        coverage.print();
    }
    Ok(())
}
