//! What goes wrong where kernels run.

/// What went wrong in an engine. The message is one line: what, with what value, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine cannot run here at all.
    #[error("{0}")]
    Unavailable(String),
    /// The device has too little memory.
    #[error("out of device memory: {needed} bytes are needed, {free} are free: use a smaller size")]
    OutOfMemory {
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The PTX was refused.
    #[error("cannot load {entry}: {message}")]
    Load {
        /// PTX entry.
        entry: String,
        /// The driver's or the emulator's message.
        message: String,
    },
    /// A launch was refused or failed.
    #[error("{entry} failed: {message}")]
    Launch {
        /// PTX entry.
        entry: String,
        /// The driver's or the emulator's message.
        message: String,
    },
    /// A call of the driver failed.
    #[error("{call} failed: {message}")]
    Driver {
        /// Name of the driver's function.
        call: &'static str,
        /// The driver's message.
        message: String,
    },
}
