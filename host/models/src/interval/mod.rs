//! Interval analysis (source 002): how many threads use a resource up.
//!
//! An *interval* is a region of code that is executed over and over, such as a loop's body. One
//! thread (or warp) alone takes L_ι for it, the *interval latency* ([`schedule()`]). P threads that
//! execute it N times in all, with d_ι of work each on a resource of bandwidth Θ, take
//!
//! ```text
//! t(N, P) ≥ N L_ι / P          while L_ι > P d_ι / Θ   (latency)
//!         ≥ N d_ι / Θ          otherwise                (the resource)
//! ```
//!
//! so more than P = L_ι Θ / d_ι threads gain nothing: the knee of the throughput curve. Each
//! resource has its knee; "performance is determined by the smallest P".
//!
//! | symbol of 002 | here | unit |
//! |---|---|---|
//! | L_ι | [`Interval::latency`] | cycles |
//! | d_ι, n_ιI | [`Demand::work`] | bytes, instructions, … per thread and execution |
//! | Θ_M, Θ_2, Θ_IF, Θ_IM | [`Demand::bandwidth`] | the same per cycle |
//! | P | [`Knee::threads`] with bandwidths of the chip | threads |
//! | Q | [`Knee::threads`] with bandwidths of a multiprocessor | threads of a multiprocessor |
//! | φ | `clock_ghz` | GHz |
//!
//! The model assumes that a resource can be used up without making L_ι longer. Threads in practice
//! delay each other, so P is underestimated, less so with many warps per scheduler (002, "Interval
//! Analysis Assumptions"). Barriers break the assumption: [`barriers`] says what holds then.
//!
//! Hong, Kim: "An analytical model for a GPU architecture with memory-level and thread-level
//! parallelism awareness", ISCA 2009; Eyerman et al.: "A mechanistic performance model", ACM TOCS
//! 27(2), 2009.

pub mod barriers;
mod schedule;

pub use schedule::{Instruction, Register, Schedule, issue_cycles, schedule};

use super::Bound;

/// Work that one execution of an interval by one thread puts on a resource.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Demand {
    /// The resource.
    pub bound: Bound,
    /// d_ι or n_ι: bytes, instructions or cycles.
    pub work: f64,
    /// Θ: the same per cycle, of the chip or of a multiprocessor.
    pub bandwidth: f64,
}

impl Demand {
    /// `bytes` bytes of data over a memory of `gbs` GB/s, in a chip of this clock.
    pub fn data(bound: Bound, bytes: f64, gbs: f64, clock_ghz: f64) -> Self {
        Demand {
            bound,
            work: bytes,
            bandwidth: gbs / clock_ghz,
        }
    }

    /// Instructions of several classes, (n, Θ) each, that are dispatched one after the other:
    /// n_IF / Θ_IF + n_IM / Θ_IM cycles.
    pub fn dispatch(classes: &[(f64, f64)]) -> Self {
        Demand {
            bound: Bound::Dispatch,
            work: classes.iter().map(|(n, bandwidth)| n / bandwidth).sum(),
            bandwidth: 1.0,
        }
    }

    /// Cycles that one thread's work occupies the resource: d_ι / Θ.
    pub fn cycles(&self) -> f64 {
        self.work / self.bandwidth
    }
}

/// A region of code that is executed over and over.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// L_ι, in cycles.
    pub latency: f64,
    /// What one execution by one thread needs.
    pub demands: Vec<Demand>,
}

/// Threads that use a resource up.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Knee {
    /// The resource.
    pub bound: Bound,
    /// P or Q: more threads than these gain nothing.
    pub threads: f64,
}

/// A time and what it is due to.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct IntervalTime {
    /// Least time, in cycles.
    pub cycles: f64,
    /// [`Bound::Latency`], or the resource.
    pub bound: Bound,
}

impl Interval {
    /// P (or Q) of each resource: L_ι Θ / d_ι.
    pub fn knees(&self) -> impl Iterator<Item = Knee> {
        self.demands
            .iter()
            .filter(|demand| demand.work > 0.0)
            .map(|demand| Knee {
                bound: demand.bound,
                threads: self.latency / demand.cycles(),
            })
    }

    /// The smallest P: where throughput stops growing, and why.
    pub fn knee(&self) -> Option<Knee> {
        self.knees().min_by(|a, b| a.threads.total_cmp(&b.threads))
    }

    /// t(N, P): the least time in which `threads` threads do `executions` of the interval.
    pub fn time(&self, executions: f64, threads: f64) -> IntervalTime {
        let latency = IntervalTime {
            cycles: executions * self.latency / threads,
            bound: Bound::Latency,
        };
        self.demands
            .iter()
            .map(|demand| IntervalTime {
                cycles: executions * demand.cycles(),
                bound: demand.bound,
            })
            .fold(latency, |slowest, time| {
                if time.cycles > slowest.cycles {
                    time
                } else {
                    slowest
                }
            })
    }

    /// Executions per second of `threads` threads: the throughput curve of 002, in a chip of this
    /// clock.
    pub fn throughput(&self, threads: f64, clock_ghz: f64) -> f64 {
        clock_ghz * 1e9 / self.time(1.0, threads).cycles
    }
}
