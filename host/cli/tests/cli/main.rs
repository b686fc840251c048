//! Tests of the program, and of what is made with it: the README, the book, tables in `docs`.

mod advice;
mod book;
mod command_line;
mod emulate;
#[cfg(all(target_os = "linux", feature = "gpu"))]
#[path = "../../../../cuda_driver/tests/fake_driver/mod.rs"]
mod fake_driver;
mod learn;
mod new;
mod predictions;
mod readme;
mod report;
mod reproduce;
mod sanitize;
mod source_gpus;
