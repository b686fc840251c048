//! What commands print.

use std::io::Write;

/// Prints a text. Where the reader has closed the pipe, as `head` does, the rest is dropped.
pub fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}
