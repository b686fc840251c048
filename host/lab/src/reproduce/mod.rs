//! The sources' figures beside ours: `warpladder reproduce`.
//!
//! Figures of old hardware do not come out again on new hardware. What has to come out is the
//! *step* from one rung to the next, or the reason for which it no longer does. So the tables of
//! [`sources`] hold each figure with the rung that it is a step from and the reason of the step,
//! and [`reproduce`] measures both rungs here:
//!
//! - on a GPU by time ([`Timed`]);
//! - on the emulator by exact counts of transactions, wavefronts and instructions ([`Count`]), in
//!   which the reasons show whatever the hardware.
//!
//! The measured step decides between the sentences of a [`Reason`]; a sentence states a mechanism
//! and no figure.

mod bench;
mod group;
mod notes;
mod row;
pub mod sources;
mod step;

pub use bench::Bench;
pub use group::{
    Count, Entry, Figure, Group, Reason, Reference, Shown, Size, Timed, Unit, Useful, Weight,
};
pub use notes::notes;
pub use row::{Here, Row, There};
pub use step::StepVerdict;

use crate::catalogue::{self, Rung};
use crate::run::RunError;

/// A source, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Source {
    /// CSE 260, lecture 9: performance modelling and better matrix products.
    #[serde(rename = "000")]
    Cse260,
    /// ECE 408, lecture 5: tiled matrix products.
    #[serde(rename = "001")]
    Ece408,
    /// GPU microarchitecture, note set 5: interval analysis.
    #[serde(rename = "002")]
    Intervals,
    /// PATC course: matrix transpose.
    #[serde(rename = "003")]
    Patc,
    /// Wolfe: optimizing GPU kernels.
    #[serde(rename = "004")]
    Wolfe,
}

impl Source {
    /// All sources, in the order of their numbers.
    pub const ALL: [Source; 5] = [
        Source::Cse260,
        Source::Ece408,
        Source::Intervals,
        Source::Patc,
        Source::Wolfe,
    ];

    /// The number, three digits.
    pub fn number(self) -> &'static str {
        &self.title()[..3]
    }

    /// Number, author and title.
    pub const fn title(self) -> &'static str {
        match self {
            Source::Cse260 => "000: Baden, CSE 260 lecture 9, performance modeling",
            Source::Ece408 => "001: ECE 408 lecture 5, locality and tiled matrix multiplication",
            Source::Intervals => "002: GPU microarchitecture note set 5, interval analysis",
            Source::Patc => "003: Orlandini and Ferraro, matrix transpose",
            Source::Wolfe => "004: Wolfe, optimizing GPU kernels",
        }
    }

    /// Its tables.
    pub const fn groups(self) -> &'static [Group] {
        match self {
            Source::Cse260 => sources::cse260::GROUPS,
            Source::Ece408 => sources::ece408::GROUPS,
            Source::Intervals => sources::intervals::GROUPS,
            Source::Patc => sources::patc::GROUPS,
            Source::Wolfe => sources::wolfe::GROUPS,
        }
    }
}

/// Measures the rungs of one table and sets them beside the source's figures: a row for each entry.
///
/// # Errors
/// Where a rung cannot run at all: see [`RunError`]. A wrong output is no error but a row that is
/// not ok.
pub fn reproduce(
    bench: &mut Bench<'_>,
    source: Source,
    group: &'static Group,
) -> Result<Vec<Row>, RunError> {
    let measured = group
        .entries
        .iter()
        .map(|entry| bench.measure(group, rung(entry)))
        .collect::<Result<Vec<_>, _>>()?;
    let reference = bench.reference(group)?;
    Ok(row::rows(
        bench,
        source,
        group,
        &measured,
        reference.as_ref(),
    ))
}

/// The catalogue's rung of an entry.
fn rung(entry: &Entry) -> &'static Rung {
    catalogue::find(entry.rung)
        .expect("the tables name rungs of the catalogue, which a test checks")
}
