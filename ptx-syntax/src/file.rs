//! PTX files.

use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Most bytes of a PTX file: no library of kernels comes near.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Bytes that are read at a time.
const PART: u64 = 1 << 20;

/// Reads a PTX file. What is no text is refused at its first zero byte, and a file that does not
/// end after 1 GiB: memory stays bounded whatever the path names.
///
/// # Errors
/// As `std::fs::read_to_string`, and [`ErrorKind::InvalidData`] for a zero byte, bytes that are not
/// UTF-8, or more than 1 GiB.
pub fn read_file(path: impl AsRef<Path>) -> Result<String> {
    let file = std::fs::File::open(path)?;
    read_text(file, MAX_FILE_BYTES)
}

fn read_text(mut from: impl Read, limit: u64) -> Result<String> {
    let invalid = |message: String| Error::new(ErrorKind::InvalidData, message);
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        let read = from.by_ref().take(PART).read_to_end(&mut bytes)?;
        if let Some(at) = bytes[start..].iter().position(|&byte| byte == 0) {
            let at = start + at;
            return Err(invalid(format!("byte {at} is zero: this is no PTX text")));
        }
        if read == 0 {
            break;
        }
        if bytes.len() as u64 > limit {
            return Err(invalid(format!("it has more than {limit} bytes, the most of a PTX text")));
        }
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        invalid(format!("byte {at} is not UTF-8: this is no PTX text"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused() {
        let zeros = read_text(std::io::repeat(0), 1 << 40).expect_err("no text");
        assert_eq!(zeros.to_string(), "byte 0 is zero: this is no PTX text");
        let endless = read_text(std::io::repeat(b'/'), 3 << 20).expect_err("too long");
        assert!(endless.to_string().contains("more than 3145728 bytes"), "{endless}");
        let latin = read_text(&b"// \xe9"[..], 100).expect_err("no UTF-8");
        assert!(latin.to_string().starts_with("byte 3 "), "{latin}");
        assert_eq!(read_text(&b".version 8.0"[..], 100).expect("text"), ".version 8.0");
    }
}
