//! What NVIDIA's libraries have in common: how they are loaded, and how they say what went wrong.

use super::product::Product;
use libloading::os::unix::Library;
use std::error::Error;
use std::ffi::c_int;
use warpladder::launch::DevicePtr;

/// Why a library did not do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// It is not there.
    #[error(
        "{library} cannot be loaded: {reason}: put the folder of {file}, which comes with the \
         CUDA toolkit, into LD_LIBRARY_PATH"
    )]
    Missing {
        /// What the library is called.
        library: &'static str,
        /// The newest name of its file.
        file: &'static str,
        /// What the dynamic linker says.
        reason: String,
    },
    /// One of its functions failed.
    #[error("{call} failed with status {status}: see cublasStatus_t in cuBLAS's documentation")]
    Status {
        /// The function.
        call: &'static str,
        /// What it returned.
        status: c_int,
    },
    /// A size that its 32-bit interface does not take.
    #[error("cuBLAS takes sizes up to 2147483647, not {0}: use a smaller one")]
    Size(u32),
    /// No algorithm of cuBLASLt's heuristics runs this product.
    #[error("cuBLASLt has no algorithm for {0}: {advice}", advice = .0.other_choice())]
    NoAlgorithm(Product),
}

/// Memory of the device that a library's algorithms may use.
#[derive(Clone, Copy, Debug)]
pub struct Workspace {
    /// Where it is.
    pub pointer: DevicePtr,
    /// Its bytes.
    pub bytes: usize,
}

/// `cublasStatus_t`.
pub(super) type Status = c_int;

/// Loads the first of these files that is there.
///
/// # Errors
/// [`LibraryError::Missing`] with the reason of the first, the newest.
pub(super) fn open(library: &'static str, files: &[&'static str]) -> Result<Library, LibraryError> {
    let mut reason = None;
    for name in files {
        // SAFETY: the constructors that run are those of NVIDIA's libraries, which any thread may
        // load.
        match unsafe { Library::new(*name) } {
            Ok(library) => return Ok(library),
            Err(error) => {
                // The dynamic linker's own message is the source of libloading's.
                let source = error.source().map(ToString::to_string);
                reason.get_or_insert_with(|| source.unwrap_or_else(|| error.to_string()));
            }
        }
    }
    Err(missing(library, files, reason.unwrap_or_default()))
}

/// A library that was loaded, but is another one.
pub(super) fn lacks_functions(library: &'static str, files: &[&'static str]) -> LibraryError {
    missing(library, files, "it lacks functions".to_owned())
}

fn missing(library: &'static str, files: &[&'static str], reason: String) -> LibraryError {
    LibraryError::Missing {
        library,
        file: files.first().copied().unwrap_or_default(),
        reason,
    }
}

/// An error where a function returned one.
pub(super) fn check(call: &'static str, status: Status) -> Result<(), LibraryError> {
    if status == 0 {
        Ok(())
    } else {
        Err(LibraryError::Status { call, status })
    }
}

/// Name and version, for example `cuBLAS 13.1.0`.
pub(super) fn version_name(library: &str, version: u32) -> String {
    // Before release 11 the number had another form.
    format!(
        "{library} {}.{}.{}",
        version / 10_000,
        version / 100 % 100,
        version % 100
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_loaded_is_named_with_the_linker_s_reason() {
        let error = open(
            "cuNone",
            &["libwarpladder-none.so.2", "libwarpladder-none.so.1"],
        );
        let text = error.unwrap_err().to_string();
        assert!(
            text.starts_with("cuNone cannot be loaded: libwarpladder-none.so.2"),
            "{text}"
        );
        assert!(
            text.ends_with("into LD_LIBRARY_PATH") && !text.contains('\n'),
            "{text}"
        );
    }

    #[test]
    fn versions_are_three_numbers() {
        assert_eq!(version_name("cuBLAS", 130_100), "cuBLAS 13.1.0");
        assert_eq!(version_name("cuBLASLt", 120_803), "cuBLASLt 12.8.3");
    }
}
