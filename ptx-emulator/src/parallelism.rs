//! The threads of the machine.

use std::sync::LazyLock;

/// How many threads the machine runs at once. The operating system's answer takes it up to 50 µs.
pub(crate) fn available_workers() -> usize {
    static AVAILABLE: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *AVAILABLE
}
