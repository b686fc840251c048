//! One page with everything that was measured, predicted and counted: `warpladder report`.
//!
//! The page is a single HTML file without fonts, pictures or scripts from elsewhere; its own script
//! filters, sorts and compares kernels, and the page reads without it. It is made from saved
//! results, so it needs no GPU; what each line of a kernel does is counted on the emulator while it
//! is made.

mod content;
mod counted;
mod curves;
pub mod data;
pub mod explain;
mod facts;
mod html_table;
mod kernel;
mod kernels;
mod ladders;
pub mod numbers;
mod page;
pub mod plot;
mod read;
mod sources;
mod sweep;

pub use counted::{Counted, count};
pub use data::{Data, DataError};
pub use sweep::plot as sweep_plot;

use crate::content::Content;
use crate::plot::{DrawError, Plot};
use warpladder_lab::catalogue::Rung;
use warpladder_lab::problem::Shape;

/// The ladders of these results: what needs no counting.
pub fn ladders(data: &Data) -> Vec<Plot> {
    let model = data.model();
    let device = model.as_ref().map(|device| &*device.name);
    let ladders = ladders::ladders(data, model.as_ref());
    ladders.iter().map(|ladder| ladder.plot(device)).collect()
}

/// What a page shows.
#[derive(Clone, Debug)]
pub struct Report {
    content: Content,
}

impl Report {
    /// Counts the kernels of these results on the emulator, and predicts those of
    /// [`Report::to_predict`].
    pub fn new(data: Data) -> Self {
        Report::with_progress(data, &|_| {})
    }

    /// The same; `each` is called from any thread, with every kernel that is counted or predicted,
    /// [`Report::pieces`] times in all.
    pub fn with_progress(data: Data, each: &(dyn Fn(&'static Rung) + Sync)) -> Self {
        Report {
            content: Content::new(data, each),
        }
    }

    /// How many kernels are counted and how many predicted for the page, together.
    pub fn pieces(data: &Data) -> usize {
        Content::to_count(data).len() + Content::to_predict(data).len()
    }

    /// The kernels, with their sizes, whose predictions are not among the results: they are made
    /// for the page, which takes about a second of a core for each.
    pub fn to_predict(data: &Data) -> Vec<(&'static Rung, Shape)> {
        Content::to_predict(data)
    }

    /// All plots, in the order of the page.
    pub fn plots(&self) -> Vec<Plot> {
        let Content {
            data,
            model,
            counted,
            ..
        } = &self.content;
        let ladders = ladders::ladders(data, model.as_ref());
        let device = self.content.device();
        let mut plots: Vec<Plot> = ladders.iter().map(|ladder| ladder.plot(device)).collect();
        plots.extend(curves::roofline(data, model.as_ref(), counted));
        plots.extend(curves::sizes(data));
        plots.extend(data.sweeps.iter().map(sweep::plot));
        plots
    }

    /// The page.
    ///
    /// # Errors
    /// Those of the plots.
    pub fn html(&self) -> Result<String, DrawError> {
        page::html(&self.content)
    }
}
