//! One page with everything that was measured, predicted and counted: `warpladder report`.
//!
//! The page is a single HTML file without scripts, fonts or pictures from elsewhere. It is made
//! from saved results, so it needs no GPU; what each line of a kernel does is counted on the
//! emulator while it is made.

mod counted;
pub mod data;
pub mod explain;
mod kernel;
mod ladders;
pub mod numbers;
mod page;
pub mod plot;
mod sweep;

pub use counted::{Counted, count};
pub use data::{Data, DataError};
pub use sweep::plot as sweep_plot;

use crate::plot::{DrawError, Plot};
use std::collections::HashMap;
use warpladder_lab::catalogue::{self, Rung};

/// The ladders of these results: what needs no counting.
pub fn ladders(data: &Data) -> Vec<Plot> {
    ladders::ladders(data)
}

/// What a page shows.
#[derive(Clone, Debug)]
pub struct Report {
    /// The results.
    data: Data,
    /// What the emulator counted, by kernel.
    counted: HashMap<String, Counted>,
}

impl Report {
    /// Counts the kernels of these results on the emulator.
    pub fn new(data: Data) -> Self {
        let measured = data.measured.iter();
        let mut rungs: Vec<&'static Rung> = measured
            .filter_map(|measured| catalogue::find(&measured.kernel))
            .collect();
        let mut seen = std::collections::HashSet::new();
        rungs.retain(|rung| seen.insert(rung.name));
        let counted = count(&rungs);
        Report { data, counted }
    }

    /// All plots, in the order of the page.
    pub fn plots(&self) -> Vec<Plot> {
        let mut plots = ladders::ladders(&self.data);
        plots.extend(ladders::roofline(&self.data, &self.counted));
        plots.extend(ladders::sizes(&self.data));
        plots.extend(self.data.sweeps.iter().map(sweep::plot));
        plots
    }

    /// The page.
    ///
    /// # Errors
    /// Those of the plots.
    pub fn html(&self) -> Result<String, DrawError> {
        page::html(&self.data, &self.counted)
    }
}
