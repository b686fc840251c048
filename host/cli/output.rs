//! Where records go: a file or standard output.

use anyhow::Context;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// A place for output that is known to be writable before any work is done.
///
/// A file keeps its old content until [`Destination::write`]; one that did not exist and is not written is
/// removed again.
pub struct Destination(Kind);

enum Kind {
    Stdout,
    File {
        path: PathBuf,
        file: File,
        remove: bool,
    },
}

impl Destination {
    /// Opens the file of this name, or standard output for `-`.
    pub fn open(name: &str) -> anyhow::Result<Self> {
        if name == "-" {
            return Ok(Destination(Kind::Stdout));
        }
        let path = PathBuf::from(name);
        let remove = !path.exists();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("cannot write {name}: choose another file"))?;
        Ok(Destination(Kind::File { path, file, remove }))
    }

    /// Whether this is standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self.0, Kind::Stdout)
    }

    /// Writes everything at once.
    pub fn write(mut self, content: &[u8]) -> anyhow::Result<()> {
        match &mut self.0 {
            Kind::Stdout => io::stdout().lock().write_all(content)?,
            Kind::File { path, file, remove } => {
                *remove = false;
                if file.metadata()?.is_file() {
                    file.set_len(0)?;
                }
                file.write_all(content)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        Ok(())
    }
}

/// Where text for people goes: standard output, or standard error where records take that, so that they stay
/// parseable.
pub fn people(records_on_stdout: bool) -> Box<dyn Write> {
    if records_on_stdout {
        Box::new(io::stderr().lock())
    } else {
        Box::new(io::stdout().lock())
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Kind::File {
            path, remove: true, ..
        } = &self.0
        {
            // Nothing can be done about a failure here, and the file is empty.
            _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_written_is_left_as_it_was() {
        let folder = std::env::temp_dir().join(format!("warpladder-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (old, new) = (folder.join("old"), folder.join("new"));
        std::fs::write(&old, "longer than what follows").unwrap();

        drop(Destination::open(old.to_str().unwrap()).unwrap());
        drop(Destination::open(new.to_str().unwrap()).unwrap());
        assert_eq!(std::fs::read(&old).unwrap(), b"longer than what follows");
        assert!(!new.exists());

        let destination = Destination::open(old.to_str().unwrap()).unwrap();
        destination.write(b"short").unwrap();
        assert_eq!(std::fs::read(&old).unwrap(), b"short");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_at_once() {
        let Err(error) = Destination::open("/no such folder/file") else {
            panic!("opened");
        };
        assert!(error.to_string().contains("/no such folder/file"));
    }
}
