//! What a command came to: the exit status that is not an error.

/// What a command came to.
pub(crate) enum Outcome {
    /// Everything was right.
    Done,
    /// A check failed, or a kernel is slower than its baseline.
    ChecksFailed,
    /// Ctrl-C ended it; what was done is kept.
    Interrupted,
    /// A program that was run for the user failed with this status.
    Program(u8),
}
