//! Launches that do not compile.
