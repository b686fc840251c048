//! What a check came to, in words for a learner.

use super::check::result_of;
use super::exercise::{Case, Demand, Holds};
use super::figures::Figures;
use ptx_emulator::Space;
use ptx_emulator::counters::SourceLine;
use ptx_emulator::sanitize::{Finding, Problem, Region};
use std::fmt;

/// What a check came to.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// A sanitizer found something.
    Found {
        /// The launch.
        case: &'static Case,
        /// The first of the findings.
        finding: Box<Finding>,
        /// The memory of the finding, where it is known.
        site: Option<Site>,
        /// How many more there are.
        more: usize,
    },
    /// It does not end.
    Endless {
        /// The launch.
        case: &'static Case,
    },
    /// The result is wrong.
    Wrong {
        /// The launch.
        case: &'static Case,
        /// The first wrong element.
        wrong: Wrong,
    },
    /// The result is right, and the kernel asks for more than the exercise allows.
    TooCostly {
        /// The demand that it does not meet.
        demand: &'static Demand,
        /// What it asks for.
        figures: Figures,
    },
    /// All is well.
    Passed {
        /// What the kernel asks of the machine.
        figures: Figures,
    },
}

impl Verdict {
    /// Whether the exercise is solved.
    pub fn passed(&self) -> bool {
        matches!(self, Verdict::Passed { .. })
    }

    /// What is wrong, in a few lines; empty where nothing is. `source` gives the text of a line.
    pub fn complaint(&self, source: &dyn Fn(&SourceLine) -> Option<String>) -> String {
        match self {
            Verdict::Found {
                case,
                finding,
                site,
                more,
            } => {
                let mut text = found(finding, site.as_ref(), source);
                if *more > 0 {
                    text += &format!("\n  and {more} more of the same launch");
                }
                text + &format!("\n  {}", launch(case))
            }
            Verdict::Endless { case } => format!(
                "the kernel does not end: is there a loop whose condition stays true?\n  {}",
                launch(case)
            ),
            Verdict::Wrong { case, wrong } => {
                let element = result_of(case).map_or(String::new(), |(name, shape)| {
                    element(name, shape, wrong.index)
                });
                let Wrong {
                    expected,
                    got,
                    count,
                    of,
                    ..
                } = wrong;
                let what = match got.to_bits() == UNWRITTEN.to_bits() {
                    true => format!("{element} was never written; it should be {expected}"),
                    false => format!("{element} is {got}; it should be {expected}"),
                };
                format!(
                    "{what}\n  {count} of {of} elements are wrong\n  {}",
                    launch(case)
                )
            }
            Verdict::TooCostly { demand, .. } => format!(
                "the result is right, but the kernel asks for too much: {}",
                demand.because
            ),
            Verdict::Passed { .. } => String::new(),
        }
    }
}

/// A launch in words.
fn launch(case: &Case) -> String {
    let extents = |[x, y, z]: [u32; 3]| match (y, z) {
        (1, 1) => format!("{x}"),
        (_, 1) => format!("{x} x {y}"),
        _ => format!("{x} x {y} x {z}"),
    };
    format!(
        "in a launch of {} blocks of {} threads",
        extents(case.grid),
        extents(case.block)
    )
}

/// An element of an array by its name.
fn element(name: &str, [rows, columns]: [usize; 2], index: usize) -> String {
    match rows {
        1 => format!("{name}[{index}]"),
        _ => format!(
            "{name}[{index}] (row {}, column {})",
            index / columns,
            index % columns
        ),
    }
}

/// A finding in words.
fn found(
    finding: &Finding,
    site: Option<&Site>,
    source: &dyn Fn(&SourceLine) -> Option<String>,
) -> String {
    let mut text = finding.problem.describe().to_owned();
    if let Some(site) = site {
        text += &format!(": {site}");
    } else if let Some(region) = &finding.region {
        text += &format!(": {}", describe_region(region));
    }
    if !finding.detail.is_empty() {
        text += &format!(": {}", finding.detail);
    }
    for side in [Some(&finding.first), finding.second.as_ref()]
        .into_iter()
        .flatten()
    {
        text += &format!("\n  {}", side.action);
        let line = side.place.as_ref().and_then(source);
        // What the compiler moves to a kernel's start stands at its attribute.
        let line = line.filter(|line| !line.starts_with('#'));
        if let Some(place) = &side.place {
            text += &format!(" in {}", place.file);
            if line.is_some() {
                text += &format!(":{}", place.line);
            }
        }
        let [x, y, z] = side.block;
        text += &match side.thread {
            Some([tx, ty, tz]) => format!(", block ({x}, {y}, {z}), thread ({tx}, {ty}, {tz})"),
            None => format!(", block ({x}, {y}, {z})"),
        };
        if let Some(line) = line {
            text += &format!("\n      {line}");
        }
    }
    if let Some(advice) = advice(finding.problem) {
        text += &format!("\n  {advice}");
    }
    text
}

/// Memory that is no array of the arguments.
fn describe_region(region: &Region) -> String {
    match region.space {
        Space::Shared => format!(
            "element {} of shared memory, counted in f32",
            region.address / 4
        ),
        _ => region.to_string(),
    }
}

/// What a finding means.
fn advice(problem: Problem) -> Option<&'static str> {
    match problem {
        Problem::RaceInBlock => Some(
            "Nothing orders these two accesses: without a barrier between them, either may come \
             first.",
        ),
        Problem::RaceBetweenBlocks => Some(
            "Blocks run in any order and at the same time: no barrier reaches from one to another.",
        ),
        Problem::Uninitialised => {
            Some("Whatever it reads there was left by another block or kernel.")
        }
        Problem::Deadlock | Problem::DivergentBarrier => {
            Some("All threads of a block must reach the same barrier.")
        }
        Problem::Stopped => Some(
            "A panic stops a kernel: an index outside of a slice or an array, or a division by 0.",
        ),
        _ => None,
    }
}

/// An array in the memory of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub(super) name: &'static str,
    pub(super) shape: [usize; 2],
    pub(super) address: u64,
    pub(super) holds: Holds,
}

/// An element of an argument that an access meets or misses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    name: &'static str,
    shape: [usize; 2],
    /// Its index, which may lie outside.
    index: i64,
}

impl Site {
    /// How far outside of an array an address may be for the array to be meant, in elements.
    const NEAR: i64 = 1 << 20;

    /// The element that a finding is about.
    pub(super) fn find(arrays: &[Array], region: &Region) -> Option<Site> {
        if region.space != Space::Global {
            return None;
        }
        let sites = arrays.iter().map(|array| Site {
            name: array.name,
            shape: array.shape,
            index: (region.address.wrapping_sub(array.address) as i64).div_euclid(4),
        });
        // An access behind an array's end is meant for that array, rather than for the start of the
        // next.
        let nearest = sites.min_by_key(|site| match site.index {
            0.. => (site.index - site.count()).max(-1),
            _ => Site::NEAR - site.index,
        })?;
        (nearest.index.abs() < Site::NEAR).then_some(nearest)
    }

    fn count(&self) -> i64 {
        (self.shape[0] * self.shape[1]) as i64
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Site { name, index, .. } = self;
        match usize::try_from(*index) {
            Ok(inside) if *index < self.count() => f.write_str(&element(name, self.shape, inside)),
            _ => write!(
                f,
                "{name}[{index}], but {name} has {} elements",
                self.count()
            ),
        }
    }
}

/// What a result holds before a launch: a NaN that no arithmetic makes.
pub(super) const UNWRITTEN: f32 = f32::from_bits(0x7fc5_5a5a);

/// How a result differs from what it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrong {
    /// The first wrong element.
    pub index: usize,
    /// What it should be.
    pub expected: f32,
    /// What it is.
    pub got: f32,
    /// How many are wrong.
    pub count: usize,
    /// How many there are.
    pub of: usize,
}

impl Wrong {
    /// The difference, where there is one. Whole numbers are computed exactly, so nothing is
    /// tolerated.
    pub fn first(expected: &[f32], got: &[f32]) -> Option<Self> {
        let pairs = || expected.iter().zip(got).enumerate();
        let (index, (&expected_first, &got_first)) =
            pairs().find(|(_, (expected, got))| expected != got)?;
        Some(Wrong {
            index,
            expected: expected_first,
            got: got_first,
            count: pairs()
                .filter(|(_, (expected, got))| expected != got)
                .count(),
            of: expected.len(),
        })
    }
}
