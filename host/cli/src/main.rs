//! The `warpladder` program; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    warpladder_cli::main()
}
