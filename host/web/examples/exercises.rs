//! Compiles all exercises, as they are given and solved, to one PTX file, for the page.
//!
//! `exercises FOLDER FILE`: the folder is that of the crate and of what the compiler keeps.

use std::path::Path;
use std::process::ExitCode;
use warpladder_learn::{ALL, Version};

/// What a step ends with that lacks a tool.
const LEFT_OUT: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, file] = &arguments[..] else {
        eprintln!("usage: exercises FOLDER FILE");
        return ExitCode::from(2);
    };
    let sources = Path::new(warpladder::SOURCE_ROOT).join("host/learn/exercises");
    if let Err(missing) = cuda_builder::Toolchain::find(&sources) {
        eprintln!("left out: {missing}");
        return ExitCode::from(LEFT_OUT);
    }
    let versions: Vec<Version> = ALL
        .iter()
        .flat_map(|exercise| [Version::unsolved(exercise), Version::solution(exercise)])
        .collect();
    let compiled = Version::compile_all(Path::new(folder), &versions);
    let written = compiled
        .map_err(|error| error.to_string())
        .and_then(|text| std::fs::write(file, text).map_err(|error| format!("{file}: {error}")));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
