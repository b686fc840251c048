//! `warpladder new`: a crate for kernels of one's own.

use super::output;
use crate::outcome::Outcome;
use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "\
The crate has a kernel in Rust, a build script that compiles it to PTX, a program that runs it on a \
GPU or on the emulator, and a test that runs it under sanitizers. It needs the nightly toolchain \
that `warpladder doctor` names.

Example:
  warpladder new my-kernels")]
pub(super) struct Args {
    /// The folder to make, whose last part is the crate's name
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The clone of warpladder that the crate depends on [default: the one that this program was
    /// built from]
    #[arg(long, value_name = "DIR")]
    warpladder: Option<PathBuf>,
}

/// The crate's files: where each lies, and its text, in which `@…@` stands for what differs.
const FILES: &[(&str, &str)] = &[
    (".gitignore", "/target/\n/kernels/target/\n"),
    ("Cargo.toml", include_str!("new/manifest.toml")),
    ("build.rs", include_str!("new/build.rs")),
    (
        "kernels/Cargo.toml",
        include_str!("new/kernels_manifest.toml"),
    ),
    ("kernels/src/lib.rs", include_str!("new/kernels.rs")),
    ("src/lib.rs", include_str!("new/lib.rs")),
    ("src/main.rs", include_str!("new/main.rs")),
    ("tests/kernels.rs", include_str!("new/tests.rs")),
];

/// Words that cargo refuses as the name of a package that is built: keywords of Rust, and names
/// that the crate's own dependencies have.
const TAKEN: &[&str] = &[
    "as",
    "async",
    "await",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "kernels",
    "let",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "unsafe",
    "use",
    "virtual",
    "warpladder",
    "where",
    "while",
    "yield",
];

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let name = name_of(&args.folder)?;
    let sources = sources(args.warpladder.as_deref())?;
    if std::fs::read_dir(&args.folder).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!(
            "{} is there and not empty: name a folder that is not",
            args.folder.display()
        );
    }
    // A path in double quotes with its special characters escaped is a TOML string.
    let path = |folder: &str| format!("{:?}", sources.join(folder));
    for (file, text) in FILES {
        let text = text
            .replace("@name@", name)
            .replace("@crate@", &name.replace('-', "_"))
            .replace("@warpladder@", &format!("{sources:?}"))
            .replace("@cuda_builder@", &path("cuda_builder"))
            .replace("@cuda_std@", &path("cuda_std"));
        write(&args.folder.join(file), &text)?;
    }
    let toolchain = "kernels-gpu/rust-toolchain.toml";
    let text = std::fs::read_to_string(sources.join(toolchain))
        .with_context(|| format!("{}", sources.join(toolchain).display()))?;
    write(&args.folder.join("kernels/rust-toolchain.toml"), &text)?;
    writeln!(
        output::stdout(),
        "{folder}: a kernel in kernels/src/lib.rs, the program that runs it in src/\n\n  \
         cd {folder}\n  cargo run\n  cargo test    # under sanitizers",
        folder = args.folder.display()
    )?;
    Ok(Outcome::Done)
}

/// The crate's name, which is the folder's.
fn name_of(folder: &Path) -> anyhow::Result<&str> {
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{} does not end in a name", folder.display()))?;
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    let rest = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if !begins || !name.chars().all(rest) {
        bail!("{name} is no name of a crate: use a letter, then letters, digits, - and _");
    }
    if TAKEN.contains(&name.replace('-', "_").as_str()) {
        bail!("{name} cannot be the name of this crate: choose another, such as my-kernels");
    }
    Ok(name)
}

/// The clone that the crate depends on.
fn sources(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let folder = named.unwrap_or(Path::new(warpladder::SOURCE_ROOT));
    let there = folder.join("cuda_std/Cargo.toml").is_file() && folder.join("Cargo.toml").is_file();
    if !there {
        let was = match named {
            Some(_) => "holds no clone of warpladder",
            None => "held the clone that this program was built from, and does no longer",
        };
        bail!("{} {was}: name one by --warpladder DIR", folder.display());
    }
    std::path::absolute(folder).with_context(|| folder.display().to_string())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, text));
    written.with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_names_the_crate() {
        assert_eq!(name_of(Path::new("a/my-kernels2")).unwrap(), "my-kernels2");
        for wrong in ["", "..", "2d", "my kernels", "métal", "kernels", "fn"] {
            let message = name_of(Path::new(wrong)).unwrap_err().to_string();
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
