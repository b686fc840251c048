//! Several intervals with barriers between them.
//!
//! Source 002 stops here: its assumption, that the threads of an interval overlap freely, "does not
//! hold when barriers are used". What holds is this. All warps of a block must end an interval
//! before any starts the next, so the intervals of one block follow each other, and each lasts at
//! least as long as one warp takes and as long as the block's work occupies the resource it needs
//! most:
//!
//! ```text
//! T_block = Σ_i max( L_ι,i , max_r B d_i,r / Θ_r )
//! ```
//!
//! R resident blocks overlap with each other, not within themselves; a resource serves all of them.
//! So n blocks of B threads on one multiprocessor take
//!
//! ```text
//! T ≥ max( ⌈n / R⌉ T_block , max_r n Σ_i B d_i,r / Θ_r )
//! ```
//!
//! Bandwidths are those of one multiprocessor: its own units, and its share of what the chip has in
//! common.

use std::collections::BTreeMap;

use super::{Interval, IntervalTime};
use crate::Bound;

/// The intervals between a kernel's barriers, as one multiprocessor executes them.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct BlockIntervals {
    /// In the order of execution, each as often as it is executed; bandwidths are those of a
    /// multiprocessor.
    pub intervals: Vec<Interval>,
    /// B: threads of a block.
    pub threads_per_block: u32,
}

impl BlockIntervals {
    /// T_block: the least time of a block that has the multiprocessor to itself, in cycles.
    pub fn block_cycles(&self) -> f64 {
        let threads = f64::from(self.threads_per_block);
        self.intervals
            .iter()
            .map(|i| i.time(threads, threads).cycles)
            .sum()
    }

    /// Cycles that a block occupies each resource.
    pub fn busy_cycles(&self) -> BTreeMap<Bound, f64> {
        let threads = f64::from(self.threads_per_block);
        let mut busy = BTreeMap::new();
        for demand in self.intervals.iter().flat_map(|interval| &interval.demands) {
            *busy.entry(demand.bound).or_insert(0.0) += threads * demand.cycles();
        }
        busy
    }

    /// Least time of `blocks` blocks with `resident` at a time. The bound is [`Bound::Barriers`]
    /// where more resident blocks would help and [`Bound::Latency`] where a block spends its
    /// time on latencies.
    pub fn time(&self, blocks: u64, resident: u32) -> IntervalTime {
        let block = self.block_cycles();
        let rounds = blocks.div_ceil(u64::from(resident.max(1))) as f64;
        let latencies: f64 = self.intervals.iter().map(|interval| interval.latency).sum();
        let serial = IntervalTime {
            cycles: rounds * block,
            bound: if latencies < block {
                Bound::Barriers
            } else {
                Bound::Latency
            },
        };
        self.busy_cycles()
            .into_iter()
            .map(|(bound, cycles)| IntervalTime {
                cycles: blocks as f64 * cycles,
                bound,
            })
            .fold(serial, |slowest, time| {
                if time.cycles >= slowest.cycles {
                    time
                } else {
                    slowest
                }
            })
    }

    /// Resident blocks that use the most needed resource up: T_block over the time that a block
    /// occupies it.
    pub fn blocks_to_saturate(&self) -> Option<f64> {
        let busiest = self.busy_cycles().into_values().max_by(f64::total_cmp)?;
        (busiest > 0.0).then(|| self.block_cycles() / busiest)
    }
}
