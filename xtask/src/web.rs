//! `cargo xtask web`: writes the page that runs kernels in a browser, as files that any file server
//! can serve.

use crate::output;
use crate::repository::Repository;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the emulator is compiled for.
const TARGET: &str = "wasm32-unknown-unknown";

/// The compiled emulator.
const MODULE: &str = "warpladder_web.wasm";

/// The PTX of all exercises, as they are given and solved; empty where nothing compiles them.
const EXERCISES: &str = "exercises.ptx";

/// What the program ends with that compiles the exercises where the toolchain is missing.
const LEFT_OUT: i32 = 3;

/// Folders of Rust files that the page shows beside counters.
const SOURCES: [&str; 2] = ["kernels-gpu/src/", "cuda_std/src/"];

/// Write the page that runs kernels in a browser.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder of the page.
    #[arg(long, default_value = "target/page")]
    out: PathBuf,
}

pub fn run(repository: &Repository, arguments: &Arguments) -> Result<Vec<String>> {
    let out = repository.root().join(&arguments.out);
    std::fs::create_dir_all(&out).with_context(|| format!("cannot write {}", out.display()))?;
    check_target(repository)?;
    let mut written = vec![
        exercises(repository, &out)?,
        module(repository, &out)?,
        group(repository, &out, "page", &page(repository)?)?,
    ];
    let files = repository.files()?;
    let is_source = |file: &&String| {
        file.ends_with(".rs") && SOURCES.iter().any(|folder| file.starts_with(folder))
    };
    let sources: Vec<(PathBuf, PathBuf)> = files
        .iter()
        .filter(is_source)
        .map(|file| (file.into(), Path::new("sources").join(file)))
        .collect();
    written.push(group(repository, &out, "Rust sources", &sources)?);
    let mut table = String::new();
    for (what, bytes) in written {
        writeln!(table, "{bytes:>10} bytes  {what}")?;
    }
    let folder = arguments.out.display();
    writeln!(table, "serve it with: python3 -m http.server -d {folder}")?;
    output::print(&table);
    Ok(Vec::new())
}

/// Fails where nothing can be compiled to WebAssembly.
fn check_target(repository: &Repository) -> Result<()> {
    let print = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(repository.root())
        .output()
        .context("cannot run rustc")?;
    if !Path::new(String::from_utf8_lossy(&print.stdout).trim()).is_dir() {
        bail!("no standard library for {TARGET}: rustup target add {TARGET}");
    }
    Ok(())
}

/// Compiles the emulator to WebAssembly; gives its name and its bytes.
fn module(repository: &Repository, out: &Path) -> Result<(String, u64)> {
    let mut build = cargo_build(repository);
    build.args(["--package", "warpladder-web", "--lib", "--profile", "web"]);
    build.args(["--target", TARGET]);
    // The build for this machine, which comes first, has brought the PTX up to date.
    build.env("WARPLADDER_PTX", "checked-in");
    finish(build)?;
    let built = target(repository).join(TARGET).join("web").join(MODULE);
    Ok((MODULE.to_owned(), copy(&built, &out.join(MODULE))?))
}

/// Compiles the exercises to PTX, where there is a toolchain for it.
fn exercises(repository: &Repository, out: &Path) -> Result<(String, u64)> {
    // With the features of the whole workspace, as tests: nothing is compiled twice.
    let mut build = cargo_build(repository);
    build.args(["--workspace", "--example", "exercises"]);
    finish(build)?;
    let program = target(repository).join("debug/examples/exercises");
    let file = out.join(EXERCISES);
    let status = Command::new(&program)
        .arg(target(repository).join("web-exercises"))
        .arg(&file)
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    match status.code() {
        Some(0) => {}
        Some(LEFT_OUT) => {
            std::fs::write(&file, "").with_context(|| format!("cannot write {EXERCISES}"))?;
        }
        _ => bail!("the exercises could not be compiled: {status}"),
    }
    Ok((EXERCISES.to_owned(), std::fs::metadata(&file)?.len()))
}

/// Files of the page, and what each is called in its folder.
fn page(repository: &Repository) -> Result<Vec<(PathBuf, PathBuf)>> {
    let folder = "host/web/page";
    let listed = std::fs::read_dir(repository.root().join(folder))
        .with_context(|| format!("cannot read {folder}"))?;
    let mut files = vec![("host/report/src/style.css".into(), "base.css".into())];
    for file in listed {
        let name = file?.file_name();
        files.push((Path::new(folder).join(&name), name.into()));
    }
    Ok(files)
}

/// Copies files; gives what they are and the bytes of all.
fn group(
    repository: &Repository,
    out: &Path,
    what: &str,
    files: &[(PathBuf, PathBuf)],
) -> Result<(String, u64)> {
    let mut bytes = 0;
    for (from, to) in files {
        bytes += copy(&repository.root().join(from), &out.join(to))?;
    }
    Ok((format!("{what}, {} files", files.len()), bytes))
}

fn copy(from: &Path, to: &Path) -> Result<u64> {
    let copied = || -> std::io::Result<u64> {
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::copy(from, to)
    };
    copied().with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

fn cargo_build(repository: &Repository) -> Command {
    let mut build = Command::new("cargo");
    build
        .args(["build", "--quiet"])
        .current_dir(repository.root());
    build
}

fn finish(mut build: Command) -> Result<()> {
    let status = build.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("{build:?}: {status}");
    }
    Ok(())
}

fn target(repository: &Repository) -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    repository.root().join(folder)
}
