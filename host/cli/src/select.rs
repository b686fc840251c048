//! Kernels, sizes and devices, as arguments name them.

use super::shape::{Large, Shapes};
use anyhow::bail;
use warpladder_lab::calibrate;
use warpladder_lab::catalogue::{self, Rung};
use warpladder_lab::problem::Shape;
use warpladder_models::devices::{self, DeviceModel};
use wildmatch::WildMatch;

/// What a prediction is for.
#[derive(clap::Args)]
pub(super) struct Target {
    /// The GPU, by its name in the table of devices [default: the first of this machine, else H200]
    #[arg(long, value_name = "D")]
    device: Option<String>,
    #[command(flatten)]
    pub shapes: Shapes<Large>,
}

impl Target {
    pub(super) fn device(&self) -> anyhow::Result<DeviceModel> {
        device(self.device.as_deref())
    }

    /// The one size of a command that takes one kernel.
    pub(super) fn shape(&self, rung: &Rung) -> anyhow::Result<Shape> {
        self.shapes.one(PREDICTED_SIZE, rung)
    }
}

/// What is predicted where no size is given.
pub(super) const PREDICTED_SIZE: u32 = 4096;

/// The device that stands for one where there is none.
pub(super) const WITHOUT_GPU: &str = "H200";

/// The device of this name, or of this machine with what was calibrated of it.
pub(super) fn device(name: Option<&str>) -> anyhow::Result<DeviceModel> {
    Ok(match (name, warpladder::device::devices()) {
        (Some(name), _) => devices::find(name)?.clone(),
        (None, Ok(gpus)) if !gpus.is_empty() => {
            let device = warpladder_lab::predict::device_of(&gpus[0]);
            match calibrate::load(&gpus[0].name)? {
                Some(measured) => device.calibrated(&measured),
                None => device,
            }
        }
        (None, _) => devices::find(WITHOUT_GPU)?.clone(),
    })
}

/// The kernel of this name; the error names the nearest one.
pub(super) fn kernel(name: &str) -> anyhow::Result<&'static Rung> {
    match (catalogue::find(name), catalogue::nearest(name)) {
        (Some(rung), _) => Ok(rung),
        (None, Some(nearest)) => bail!("unknown kernel {name:?}: did you mean {nearest}?"),
        (None, None) => bail!("unknown kernel {name:?}: `warpladder list` names them all"),
    }
}

/// The kernels that words name: each a name, or a pattern with `*` for any characters and `?` for
/// one. Each kernel comes once, where it is named first.
pub(super) fn kernels(words: &[String]) -> anyhow::Result<Vec<&'static Rung>> {
    let mut named: Vec<&'static Rung> = Vec::new();
    for word in words {
        let matching = matching(word)?;
        for rung in matching {
            if !named.iter().any(|other| other.name == rung.name) {
                named.push(rung);
            }
        }
    }
    Ok(named)
}

/// The kernels of one word.
fn matching(word: &str) -> anyhow::Result<Vec<&'static Rung>> {
    if !word.contains(['*', '?']) {
        return Ok(vec![kernel(word)?]);
    }
    let pattern = WildMatch::new(word);
    let matching: Vec<&'static Rung> = catalogue::rungs()
        .filter(|rung| pattern.matches(rung.name))
        .collect();
    if matching.is_empty() {
        bail!("no kernel is named {word:?}: `warpladder list` names them all");
    }
    Ok(matching)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<&'static str> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let found = kernels(&words).unwrap();
        found.into_iter().map(|rung| rung.name).collect()
    }

    #[test]
    fn patterns_name_kernels_in_the_order_of_the_catalogue_and_each_once() {
        assert_eq!(names(&["tiled_??"]), ["tiled_16", "tiled_32"],);
        assert_eq!(
            names(&["sgemm", "tiled_*2", "*gemm"])[..2],
            ["sgemm", "tiled_32"]
        );
        let all = names(&["*"]);
        assert_eq!(all.len(), catalogue::rungs().count());
        let none = kernels(&["nothing*".to_owned()]).unwrap_err();
        assert!(none.to_string().contains("\"nothing*\""), "{none}");
    }
}
