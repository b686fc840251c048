//! Kernels, sizes and devices, as arguments name them.

use anyhow::bail;
use warpladder_lab::calibrate;
use warpladder_lab::catalogue::{self, Rung};
use warpladder_lab::problem::Shape;
use warpladder_models::devices::{self, DeviceModel};

/// The size of a problem.
#[derive(clap::Args)]
pub(super) struct Size {
    /// Size in every dimension [default: 4096; 256 where the emulator runs it]
    #[arg(long, value_name = "N", conflicts_with_all = ["m", "n", "k"])]
    size: Option<u32>,
    /// Rows of a product, or of a transpose's input
    #[arg(long)]
    m: Option<u32>,
    /// Columns
    #[arg(long)]
    n: Option<u32>,
    /// The dimension that a product sums over
    #[arg(long)]
    k: Option<u32>,
}

impl Size {
    /// The size, `default` in each dimension that is not given.
    pub(super) fn shape(&self, default: u32) -> Shape {
        let size = self.size.unwrap_or(default);
        Shape {
            m: self.m.unwrap_or(size),
            n: self.n.unwrap_or(size),
            k: self.k.unwrap_or(size),
        }
    }
}

/// What a prediction is for.
#[derive(clap::Args)]
pub(super) struct Target {
    /// The GPU, by its name in the table of devices [default: the first of this machine, else H200]
    #[arg(long, value_name = "D")]
    device: Option<String>,
    #[command(flatten)]
    size: Size,
}

impl Target {
    pub(super) fn device(&self) -> anyhow::Result<DeviceModel> {
        device(self.device.as_deref())
    }

    pub(super) fn shape(&self) -> Shape {
        self.size.shape(PREDICTED_SIZE)
    }
}

/// What is predicted where no size is given.
pub(super) const PREDICTED_SIZE: u32 = 4096;

/// The device of this name, or of this machine with what was calibrated of it.
pub(super) fn device(name: Option<&str>) -> anyhow::Result<DeviceModel> {
    const WITHOUT_GPU: &str = "H200";
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
