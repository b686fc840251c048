//! What a table of figures is made of.

use crate::problem::Shape;
use std::fmt;
use warpladder::engine::Engine;

/// Figures of one source on one machine, for one problem.
#[derive(Debug)]
pub struct Group {
    /// What is compared.
    pub title: &'static str,
    /// The machine of the figures.
    pub hardware: &'static str,
    /// The source's problem, in words.
    pub problem: &'static str,
    /// Our problem.
    pub size: Size,
    /// What counts are divided by.
    pub useful: Useful,
    /// What is taken from times. The first of them is what the step of an entry's first figure is
    /// compared with.
    pub timed: &'static [Timed],
    /// What is taken from counts on the emulator; empty for products on the host, which are timed
    /// everywhere.
    pub counted: &'static [Count],
    /// A rung whose speed the values are a share of.
    pub reference: Option<Reference>,
    /// The rungs, each after the one that it is a step from.
    pub entries: &'static [Entry],
}

/// One rung of a group.
#[derive(Debug)]
pub struct Entry {
    /// Its name in the catalogue.
    pub rung: &'static str,
    /// What the source says of it. The first figure is the one whose step is compared.
    pub figures: &'static [Figure],
    /// The entry of the same group that it is a step from, and why; `None` for the first rung.
    pub step: Option<(&'static str, &'static Reason)>,
}

/// A figure as a source gives it.
#[derive(Debug)]
pub struct Figure {
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// What kind of figure it is: measured how, or predicted by what. Steps are between figures of
    /// one kind.
    pub kind: &'static str,
    /// The source's words, where they are no plain number.
    pub words: Option<&'static str>,
    /// Its machine, where that is not the group's.
    pub hardware: Option<&'static str>,
}

impl Figure {
    /// A plain figure of the group's machine.
    pub const fn new(value: f64, unit: Unit, kind: &'static str) -> Self {
        Figure {
            value,
            unit,
            kind,
            words: None,
            hardware: None,
        }
    }

    /// The figure with the source's words for it.
    pub const fn said(self, words: &'static str) -> Self {
        Figure {
            words: Some(words),
            ..self
        }
    }

    /// The figure on another machine.
    pub const fn on(self, hardware: &'static str) -> Self {
        Figure {
            hardware: Some(hardware),
            ..self
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words {
            Some(words) => f.write_str(words),
            None => write!(f, "{} {}", self.value, self.unit),
        }
    }
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 10⁹ floating-point operations per second.
    Gflops,
    /// 10⁹ bytes per second.
    Gbs,
    /// Percent of the peak rate of multiply-adds.
    PercentOfPeak,
    /// Speed as a multiple of that of the rung before: the step itself.
    TimesBefore,
    /// Milliseconds.
    Milliseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Clock cycles.
    Cycles,
    /// Threads on the whole GPU.
    Threads,
    /// Threads on one multiprocessor.
    ThreadsPerMultiprocessor,
    /// Warps on one multiprocessor.
    WarpsPerMultiprocessor,
    /// Loads in flight on one multiprocessor.
    LoadsPerMultiprocessor,
}

impl Unit {
    /// Whether more of it is better.
    pub const fn more_is_better(self) -> bool {
        match self {
            Unit::Gflops
            | Unit::Gbs
            | Unit::PercentOfPeak
            | Unit::TimesBefore
            | Unit::LoadsPerMultiprocessor => true,
            Unit::Milliseconds
            | Unit::Nanoseconds
            | Unit::Cycles
            | Unit::Threads
            | Unit::ThreadsPerMultiprocessor
            | Unit::WarpsPerMultiprocessor => false,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Gflops => "GFLOP/s",
            Unit::Gbs => "GB/s",
            Unit::PercentOfPeak => "% of peak",
            Unit::TimesBefore => "x",
            Unit::Milliseconds => "ms",
            Unit::Nanoseconds => "ns",
            Unit::Cycles => "cycles",
            Unit::Threads => "threads",
            Unit::ThreadsPerMultiprocessor => "threads/SM",
            Unit::WarpsPerMultiprocessor => "warps/SM",
            Unit::LoadsPerMultiprocessor => "loads/SM",
        })
    }
}

/// Why a rung differs from the one before.
///
/// Every text states a mechanism that holds on any machine of its kind, in words that follow a
/// colon; which of them is printed is decided by what was measured.
#[derive(Debug)]
pub struct Reason {
    /// What the change does, whatever the machine.
    pub change: &'static str,
    /// The count that shows it.
    pub shown: Shown,
    /// What makes the change weigh less, or more, on the GPUs that the kernels run on (compute
    /// capability 7.0 and newer) than on the source's; `None` where no source gives a step.
    pub weight: Option<Weight>,
}

impl Reason {
    /// A reason without a step to compare with.
    pub const fn new(change: &'static str, shown: Shown) -> Self {
        Reason {
            change,
            shown,
            weight: None,
        }
    }

    /// The reason where another count shows it.
    pub const fn shown_in(self, count: Count) -> Self {
        Reason {
            shown: Shown::In(count),
            ..self
        }
    }

    /// The reason with what makes it weigh less or more.
    pub const fn weighing(self, less: &'static str, more: &'static str) -> Self {
        Reason {
            weight: Some(Weight { less, more }),
            ..self
        }
    }
}

/// Why a change may weigh less or more than it did on the source's machine.
#[derive(Debug)]
pub struct Weight {
    /// Why less, or nothing at all.
    pub less: &'static str,
    /// Why more.
    pub more: &'static str,
}

/// Where a reason shows on the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In this count.
    In(Count),
    /// In none: it is about time, latency or the order of blocks.
    InTime,
}

/// Our problem: the source's size on a GPU, a small one on the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Every dimension.
    Square {
        /// On a GPU.
        gpu: u32,
        /// On the emulator.
        emulator: u32,
    },
    /// A number of blocks of 256 threads for every multiprocessor, and chains of a number of
    /// sixteenths of rounds.
    PerMultiprocessor {
        /// Blocks of a multiprocessor.
        blocks: u32,
        /// k on a GPU.
        gpu: u32,
        /// k on the emulator.
        emulator: u32,
    },
}

impl Size {
    /// The shape on this engine; `given` takes the place of the
    /// default, of which a size per multiprocessor takes k alone.
    pub fn shape(self, engine: &dyn Engine, counted: bool, given: Option<Shape>) -> Shape {
        match self {
            Size::Square { gpu, emulator } => {
                let size = if counted { emulator } else { gpu };
                given.unwrap_or(Shape {
                    m: size,
                    n: size,
                    k: size,
                })
            }
            Size::PerMultiprocessor {
                blocks,
                gpu,
                emulator,
            } => Shape {
                m: blocks * engine.multiprocessors(),
                n: kernels_gpu::ladder::stream::BLOCK as u32,
                k: given.map_or(if counted { emulator } else { gpu }, |shape| shape.k),
            },
        }
    }
}

/// What a count is divided by, so that sizes do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Useful {
    /// A multiply-add of a whole warp: 64 FLOP.
    WarpFma,
    /// 32 elements of the output.
    WarpOutput,
}

impl fmt::Display for Useful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Useful::WarpFma => "warp FMA (64 FLOP)",
            Useful::WarpOutput => "32 outputs",
        })
    }
}

/// A value that is taken from times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timed {
    /// GFLOP/s of the kernel alone.
    Gflops,
    /// GFLOP/s with the transfers, inputs to the device and output back.
    HostToHostGflops,
    /// Milliseconds of the kernel alone.
    Milliseconds,
    /// GB/s of the kernel alone: every input read once, the output written once.
    Gbs,
    /// GB/s of launches in a row: source 003's "outer time".
    OuterGbs,
    /// GB/s of repetitions inside of a kernel: source 003's "inner time".
    InnerGbs,
    /// GFLOP/s in percent of the reference's.
    PercentOfReference,
    /// GFLOP/s that the reference's bandwidth would carry: the source's bound, which stands for
    /// `there_gbs` GB/s, scaled.
    BandwidthBound {
        /// Bandwidth of the source's machine, in GB/s.
        there_gbs: f64,
    },
}

impl Timed {
    /// Name, for headings.
    pub const fn name(self) -> &'static str {
        match self {
            Timed::Gflops | Timed::Milliseconds | Timed::Gbs => "kernel",
            Timed::HostToHostGflops => "host to host",
            Timed::OuterGbs => "outer",
            Timed::InnerGbs => "inner",
            Timed::PercentOfReference => "kernel, share",
            Timed::BandwidthBound { .. } => "bandwidth bound",
        }
    }

    /// Unit.
    pub const fn unit(self) -> Unit {
        match self {
            Timed::Gflops | Timed::HostToHostGflops | Timed::BandwidthBound { .. } => Unit::Gflops,
            Timed::Milliseconds => Unit::Milliseconds,
            Timed::Gbs | Timed::OuterGbs | Timed::InnerGbs => Unit::Gbs,
            Timed::PercentOfReference => Unit::PercentOfPeak,
        }
    }
}

/// A rung whose speed others are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its name in the catalogue.
    pub rung: &'static str,
    /// Its problem.
    pub size: Size,
}

/// Counts, per [`Useful`] unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Sectors of 32 bytes that the loads and stores of global memory touch, request by request.
    Sectors,
    /// Passes through the shared memory: one for a request without bank conflicts.
    Wavefronts,
    /// Instructions issued by warps.
    Instructions,
    /// Bytes that the threads ask global memory for, per FLOP.
    BytesPerFlop,
}

impl Count {
    /// Name, for headings and sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Count::Sectors => "global sectors",
            Count::Wavefronts => "shared wavefronts",
            Count::Instructions => "warp instructions",
            Count::BytesPerFlop => "global bytes per FLOP",
        }
    }
}

/// Sectors, wavefronts and instructions.
pub const COUNTS: &[Count] = &[Count::Sectors, Count::Wavefronts, Count::Instructions];
