//! Calls of functions that the driver provides (PTX Writer's Guide to Interoperability, "System
//! Calls").

use super::Reg32;

/// A function that the driver provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemFunction {
    /// `int vprintf(const char *format, const void *arguments)`.
    Print,
    /// `void *malloc(size_t)`.
    Allocate,
    /// `void free(void *)`.
    Free,
    /// `void __assertfail(const char *message, const char *file, unsigned line,
    /// const char *function, size_t character_bytes)`.
    AssertFail,
}

impl SystemFunction {
    /// The function of a name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "vprintf" => SystemFunction::Print,
            "malloc" => SystemFunction::Allocate,
            "free" => SystemFunction::Free,
            "__assertfail" => SystemFunction::AssertFail,
            _ => return None,
        })
    }

    /// Words of the arguments, and of the result.
    pub(crate) fn words(self) -> (usize, usize) {
        match self {
            SystemFunction::Print => (4, 1),
            SystemFunction::Allocate => (2, 2),
            SystemFunction::Free => (2, 0),
            SystemFunction::AssertFail => (9, 0),
        }
    }
}

/// A call of one; arguments and results are held word by word.
#[derive(Clone, Debug)]
pub(crate) struct SystemCall {
    pub function: SystemFunction,
    pub arguments: Vec<Reg32>,
    pub results: Vec<Reg32>,
}
