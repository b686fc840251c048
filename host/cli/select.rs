//! Kernels and sizes, as arguments name them.

use crate::catalogue::{self, Rung};
use crate::problem::Shape;
use anyhow::bail;

/// The size of a problem.
#[derive(clap::Args)]
pub(super) struct Size {
    /// Size in every dimension [default: 256 on the emulator, 4096 on a GPU]
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

/// The kernel of this name; the error names the nearest one.
pub(super) fn kernel(name: &str) -> anyhow::Result<&'static Rung> {
    match (catalogue::find(name), catalogue::nearest(name)) {
        (Some(rung), _) => Ok(rung),
        (None, Some(nearest)) => bail!("unknown kernel {name:?}: did you mean {nearest}?"),
        (None, None) => bail!("unknown kernel {name:?}: `warpladder list` names them all"),
    }
}
