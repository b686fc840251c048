//! The catalogue: the only list of kernels there is.
//!
//! `list`, `run`, checks, benchmarks and reports are driven by [`RUNGS`]. A new kernel is one file in
//! kernels-gpu and one entry here. Launch geometry comes from the kernel's own file, so no constant stands
//! twice.

mod matmul;
mod transpose;

use crate::element::ElementType;
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use std::fmt;

/// A ladder of kernels for one problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Matrix products.
    Matmul,
    /// Transposes, and the copy that bounds them.
    Transpose,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Matmul => "matmul",
            Family::Transpose => "transpose",
        })
    }
}

/// What each dimension must be a multiple of; 1 where any size will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Multiples {
    /// Rows of the output of a product; rows of the input of a transpose.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// The dimension that a product sums over; unused elsewhere.
    pub k: u32,
}

impl Multiples {
    /// Any size.
    pub const ANY: Multiples = Multiples::of(1);

    /// The same multiple in every dimension.
    pub const fn of(multiple: u32) -> Self {
        Multiples {
            m: multiple,
            n: multiple,
            k: multiple,
        }
    }
}

/// One entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// Name: the PTX entry, and the word on the command line and in every report.
    pub name: &'static str,
    /// The ladder it belongs to.
    pub family: Family,
    /// The source documents that it is from, by number.
    pub source: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// Element type.
    pub element: ElementType,
    /// What it computes, and with which parameters.
    pub operation: Operation,
    /// Block and output tile.
    pub geometry: Geometry,
    /// Sizes that it takes.
    pub multiples: Multiples,
    /// Lowest compute capability that runs it, times ten.
    pub compute_capability: u32,
}

/// Every kernel, family by family, each rung after the one that it improves on.
pub const RUNGS: &[Rung] = &concat(matmul::RUNGS, transpose::RUNGS);

const COUNT: usize = matmul::RUNGS.len() + transpose::RUNGS.len();

const fn concat(first: &[Rung], second: &[Rung]) -> [Rung; COUNT] {
    let mut all = [first[0]; COUNT];
    let mut i = 0;
    while i < COUNT {
        all[i] = if i < first.len() {
            first[i]
        } else {
            second[i - first.len()]
        };
        i += 1;
    }
    all
}

/// The rung of this name.
pub fn find(name: &str) -> Option<&'static Rung> {
    RUNGS.iter().find(|rung| rung.name == name)
}

/// The name in the catalogue that is most like `name`, where any is much alike.
pub fn nearest(name: &str) -> Option<&'static str> {
    RUNGS
        .iter()
        .map(|rung| (strsim::jaro_winkler(rung.name, name), rung.name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = RUNGS.iter().map(|rung| rung.name).collect();
        assert_eq!(names.len(), RUNGS.len());
    }

    #[test]
    fn every_rung_is_an_entry_of_its_module_and_every_entry_is_a_rung() {
        for module in crate::ptx::MODULES {
            let entries: HashSet<_> = module
                .text
                .lines()
                .filter_map(|line| line.strip_prefix(".visible .entry "))
                .filter_map(|rest| rest.split('(').next())
                .collect();
            let rungs: HashSet<_> = RUNGS
                .iter()
                .filter(|rung| rung.compute_capability == module.compute_capability)
                .map(|rung| rung.name)
                .collect();
            assert_eq!(entries, rungs, "{}", module.name);
        }
        for rung in RUNGS {
            assert!(
                crate::ptx::MODULES
                    .iter()
                    .any(|module| module.compute_capability == rung.compute_capability),
                "{} needs a module for {}",
                rung.name,
                rung.compute_capability
            );
        }
    }

    #[test]
    fn a_typing_error_finds_its_rung() {
        assert_eq!(nearest("tiled32"), Some("tiled_32"));
        assert_eq!(nearest("transpose_pad"), Some("transpose_padded"));
        assert_eq!(nearest("qqqq"), None);
    }
}
