//! Where output goes: standard output, standard error or a file.

use anyhow::{Context, bail};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::NamedTempFile;
use warpladder_lab::results::{Envelope, SCHEMA};

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
/// A file keeps its old content until [`Destination::write`], which writes another one beside it
/// and gives that its name: there is never half a file, nor an empty one.
pub struct Destination(Kind);

enum Kind {
    Stdout,
    /// What is renamed when it is written, and the name that it gets.
    Renamed {
        file: NamedTempFile,
        path: PathBuf,
    },
    /// What cannot be renamed: a device, a pipe, or a file in a folder that takes no others.
    InPlace {
        file: File,
        path: PathBuf,
    },
}

/// Files that are not renamed yet: Ctrl-C removes them.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the files that were not renamed, before the program ends.
pub(super) fn remove_temporary_files() {
    let paths = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    for path in paths.iter() {
        // Nothing can be done about a failure here.
        _ = std::fs::remove_file(path);
    }
}

impl Destination {
    /// Opens the file of this name, or standard output for `-`.
    pub fn open(name: &str) -> anyhow::Result<Self> {
        if name == "-" {
            return Ok(Destination(Kind::Stdout));
        }
        let cannot_write = || format!("cannot write {name}: choose another file");
        // A link stays one: what it leads to gets the new content.
        let path = Path::new(name);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let old = match OpenOptions::new().write(true).open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(cannot_write),
        };
        let metadata = old.as_ref().map(File::metadata).transpose()?;
        if let (Some(file), Some(metadata)) = (&old, &metadata)
            && !metadata.is_file()
        {
            let file = file.try_clone()?;
            return Ok(Destination(Kind::InPlace { file, path }));
        }
        match (beside(&path, metadata.as_ref()), old) {
            (Ok(file), _) => {
                let mut paths = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
                paths.push(file.path().to_owned());
                Ok(Destination(Kind::Renamed { file, path }))
            }
            (Err(_), Some(file)) => Ok(Destination(Kind::InPlace { file, path })),
            (Err(error), None) => Err(error).with_context(cannot_write),
        }
    }

    /// Opens two places that must differ, where they are wanted.
    pub fn open_both(names: [Option<&str>; 2]) -> anyhow::Result<[Option<Self>; 2]> {
        let [first, second] = names.map(|name| name.map(Destination::open));
        let (first, second) = (first.transpose()?, second.transpose()?);
        if let ([Some(one), Some(other)], Some(first), Some(second)) = (names, &first, &second)
            && first.is(second)
        {
            bail!("{one} and {other} are the same place: give each output its own");
        }
        Ok([first, second])
    }

    fn is(&self, other: &Destination) -> bool {
        let whole = |path: &Path| {
            let folder = match path.parent() {
                Some(folder) if folder != Path::new("") => folder,
                _ => Path::new("."),
            };
            Some((folder.canonicalize().ok()?, path.file_name()?.to_owned()))
        };
        match (self.path(), other.path()) {
            (Some(one), Some(other)) => whole(one) == whole(other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// The file's name; `None` of standard output.
    fn path(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Stdout => None,
            Kind::Renamed { path, .. } | Kind::InPlace { path, .. } => Some(path),
        }
    }

    /// Whether this is standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self.0, Kind::Stdout)
    }

    /// Writes the records of a command as JSON for machines and readers: in their envelope,
    /// indented, with a newline at the end. `complete` says whether they are all that were asked
    /// for.
    pub fn write_records<R: serde::Serialize>(
        self,
        command: &str,
        complete: bool,
        records: &[R],
    ) -> anyhow::Result<()> {
        self.write(&json(command, complete, None, records)?)
    }

    /// The same with what all records say together.
    #[cfg(all(target_os = "linux", feature = "gpu"))]
    pub fn write_summarised<R: serde::Serialize>(
        self,
        command: &str,
        complete: bool,
        summary: impl serde::Serialize,
        records: &[R],
    ) -> anyhow::Result<()> {
        let summary = serde_json::to_value(summary)?;
        self.write(&json(command, complete, Some(summary), records)?)
    }

    /// Writes everything at once.
    pub fn write(self, content: &[u8]) -> anyhow::Result<()> {
        let cannot_write = |path: &Path| format!("cannot write {}", path.display());
        match self.0 {
            Kind::Stdout => stdout().write_all(content)?,
            Kind::Renamed { mut file, path } => {
                file.write_all(content)
                    .with_context(|| cannot_write(&path))?;
                file.persist(&path).with_context(|| cannot_write(&path))?;
            }
            Kind::InPlace { mut file, path } => {
                if file.metadata()?.is_file() {
                    file.set_len(0)?;
                }
                file.write_all(content)
                    .with_context(|| cannot_write(&path))?;
            }
        }
        Ok(())
    }
}

/// Records in the envelope that all commands write.
pub fn json<R: serde::Serialize>(
    command: &str,
    complete: bool,
    summary: Option<serde_json::Value>,
    records: &[R],
) -> anyhow::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(&Envelope {
        schema: SCHEMA,
        command,
        version: env!("CARGO_PKG_VERSION"),
        complete,
        summary,
        records,
    })?;
    text.push(b'\n');
    Ok(text)
}

/// A file in the folder of `path`, with the permissions that one of this name has or would get.
fn beside(path: &Path, old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".warpladder-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The system takes away what the umask says.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder)?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
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
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_file_keeps_its_permissions_and_a_link_stays_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("warpladder-mode-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("file"), folder.join("link"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let destination = Destination::open(link.to_str().unwrap()).unwrap();
        destination.write(b"new").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
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
