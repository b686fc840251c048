//! Commands for working on this repository, as `cargo xtask COMMAND`.
//!
//! Each command is a module. A command prints what it found and the process exits with 0 where all
//! is right, with 1 where `--check` found something, and with 2 where the command itself could not
//! run.

mod architecture;
mod output;
mod repository;
mod rust_cuda;
mod web;
mod words;

use clap::{Parser, Subcommand};
use repository::Repository;
use std::process::ExitCode;

/// Commands for working on this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Architecture(architecture::Arguments),
    RustCuda(rust_cuda::Arguments),
    #[command(hide = true)]
    RustCudaKernel(rust_cuda::KernelArguments),
    Web(web::Arguments),
    Words(words::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = Repository::here().and_then(|repository| match arguments.command {
        Command::Architecture(arguments) => architecture::run(&repository, &arguments),
        Command::RustCuda(arguments) => rust_cuda::run(&repository, &arguments),
        Command::RustCudaKernel(arguments) => rust_cuda::compile(&arguments),
        Command::Web(arguments) => web::run(&repository, &arguments),
        Command::Words(arguments) => words::run(&repository, &arguments),
    });
    match outcome {
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            ExitCode::from(u8::from(!findings.is_empty()))
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
