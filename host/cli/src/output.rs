//! Where output goes: standard output, standard error or a file.

use anyhow::{Context, bail};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// A stream whose reader may go away, as `head` does: what is written after that is dropped. So the
/// exit status is that of the work, however much of the output was read.
struct UntilClosed<W>(W);

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// Standard output.
pub fn stdout() -> impl Write {
    UntilClosed(io::stdout().lock())
}

/// Standard error.
pub fn stderr() -> impl Write {
    UntilClosed(io::stderr().lock())
}

/// Where text for a reader goes: standard output, or standard error where records take that.
/// So records stay parseable.
pub fn human_output(records_on_stdout: bool) -> Box<dyn Write> {
    if records_on_stdout {
        Box::new(stderr())
    } else {
        Box::new(stdout())
    }
}

/// A place for output that is known to be writable before any work is done.
///
/// A file keeps its old content until [`Destination::write`]; one that did not exist and is not
/// written is removed again.
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

    /// Opens two places that must differ, where they are wanted.
    pub fn open_both(names: [Option<&str>; 2]) -> anyhow::Result<[Option<Self>; 2]> {
        let [first, second] = names.map(|name| name.map(Destination::open));
        let (first, second) = (first.transpose()?, second.transpose()?);
        if let ([Some(one), Some(other)], Some(first), Some(second)) = (names, &first, &second)
            && first.is(second)?
        {
            bail!("{one} and {other} are the same place: give each output its own");
        }
        Ok([first, second])
    }

    fn is(&self, other: &Destination) -> io::Result<bool> {
        Ok(match (&self.0, &other.0) {
            (Kind::Stdout, Kind::Stdout) => true,
            (Kind::File { path: one, .. }, Kind::File { path: other, .. }) => {
                one.canonicalize()? == other.canonicalize()?
            }
            _ => false,
        })
    }

    /// Whether this is standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self.0, Kind::Stdout)
    }

    /// Writes a value as JSON for machines and readers: indented, with a newline at the end.
    pub fn write_json(self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        self.write(&text)
    }

    /// Writes everything at once.
    pub fn write(mut self, content: &[u8]) -> anyhow::Result<()> {
        match &mut self.0 {
            Kind::Stdout => stdout().write_all(content)?,
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
    fn two_outputs_need_two_places() {
        let folder = std::env::temp_dir().join(format!("warpladder-two-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let both = |one: &str, other: &str| Destination::open_both([Some(one), Some(other)]);
        assert!(both("-", "-").is_err());
        assert!(both(&file("a"), &file("sub/../a")).is_err());
        assert!(both(&file("a"), &file("b")).is_ok());
        assert!(both(&file("a"), "-").is_ok());
        assert!(Destination::open_both([None, Some("-")]).is_ok());
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_reader_that_went_away_is_no_error_and_others_are() {
        struct Failing(io::ErrorKind);
        impl Write for Failing {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(self.0.into())
            }
        }
        let mut closed = UntilClosed(Failing(io::ErrorKind::BrokenPipe));
        assert!(writeln!(closed, "unread").is_ok() && closed.flush().is_ok());
        let mut full = UntilClosed(Failing(io::ErrorKind::StorageFull));
        assert!(writeln!(full, "too much").is_err() && full.flush().is_err());
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_at_once() {
        let Err(error) = Destination::open("/no such folder/file") else {
            panic!("opened");
        };
        assert!(error.to_string().contains("/no such folder/file"));
    }
}
