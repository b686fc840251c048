//! `warpladder scale`: products larger than a GPU, and on several.

mod gemm;
mod links;
mod predict;
mod ranks;
mod run;

use crate::outcome::Outcome;
pub(super) use links::Args as LinksArgs;
pub(super) use links::execute as measure_links;
use warpladder::element::ElementType;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder scale run --emulate 4 --shape 97x61x83
  warpladder scale gemm --random 300x200x400 --device-memory 256KiB --emulate
  warpladder scale predict --shape 16384 --gpus 1,2,4,8")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Divide a product among all GPUs of this machine, those of a launcher, or emulated ranks:
    /// check it, count what moves, time it
    Run(run::Args),
    /// Multiply matrices in files, of any size, in tiles through one GPU
    Gemm(gemm::Args),
    /// Predict how long a product takes on several GPUs, with bounds
    Predict(predict::Args),
    /// Measure the links between GPUs
    Links(links::Args),
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::Run(args) => run::execute(args),
        Command::Gemm(args) => gemm::execute(args),
        Command::Predict(args) => predict::execute(args),
        Command::Links(args) => links::execute(args),
    }
}

/// An element type by its name.
fn element(text: &str) -> Result<ElementType, String> {
    let all = [
        ElementType::F16,
        ElementType::Bf16,
        ElementType::F32,
        ElementType::F64,
    ];
    let known = all.into_iter().find(|element| element.to_string() == text);
    known.ok_or_else(|| "take f16, bf16, f32 or f64".to_owned())
}

/// A number of bytes, with a unit or without: `256KiB`, `1.5GiB`, `100000`.
fn bytes(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let factor = match unit.trim() {
        "" | "B" => 1.0,
        "KiB" => f64::from(1 << 10),
        "MiB" => f64::from(1 << 20),
        "GiB" => f64::from(1 << 30),
        "TiB" => 1024.0 * f64::from(1 << 30),
        _ => return Err("the unit is KiB, MiB, GiB or TiB".to_owned()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "a number of bytes, such as 256MiB, is wanted".to_owned())?;
    let bytes = number * factor;
    match bytes >= 1.0 && bytes < 2f64.powi(63) {
        true => Ok(bytes as u64),
        false => Err("it must be 1 byte at least".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes("100"), Ok(100));
        assert_eq!(bytes("256KiB"), Ok(256 << 10));
        assert_eq!(bytes("1.5 GiB"), Ok(3 << 29));
        for wrong in ["", "GiB", "0", "-1", "1GB", "1e30TiB", "nan"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(element("bf16"), Ok(ElementType::Bf16));
        assert!(element("int8").is_err());
    }
}
