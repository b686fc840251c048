//! What is ordered before what among the threads of a block.
//!
//! Every synchronisation gets a number, its stamp, and every access is marked with the stamp of the
//! last one before it. A barrier of the whole block orders everything before it. For what is less
//! (`bar.warp.sync`, barriers for some of the warps, releases and acquires) each warp knows up to
//! which stamp it has seen the accesses of every other, and each lane those of its warp's other lanes.

use super::shape::{LANES, lanes};

/// Barriers of a block (PTX ISA, "bar").
const BARRIERS: usize = 16;

/// What one warp has seen.
#[derive(Clone, Debug)]
struct View {
    /// Up to which stamp, by warp.
    of_warps: Vec<u32>,
    /// Up to which stamp each lane has seen all other lanes of the warp.
    of_own_lanes: u32,
    /// Up to which stamp lane `l` has seen lane `m` (`[l][m]`), where parts of the warp have
    /// synchronised.
    of_lanes: Option<Box<[[u32; LANES]; LANES]>>,
    /// The stamp of the last release.
    released: u32,
}

/// The order of the accesses of the block that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    /// The stamp of accesses that happen now.
    pub now: u32,
    /// Accesses with an earlier stamp are ordered before all that follow.
    pub since: u32,
    /// The stamp at which the block began.
    pub block_start: u32,
    warps: Vec<View>,
    /// Lanes of each warp that stand for threads.
    lanes: Vec<u32>,
    /// By barrier: the warps that have arrived without waiting, one bit each, and what they had seen.
    arrivals: Vec<Option<(u32, Vec<u32>)>>,
}

impl Clocks {
    pub(super) fn new(threads: u32) -> Self {
        let count = threads.div_ceil(32);
        let lanes = (0..count)
            .map(|warp| u32::MAX >> (32 - (threads - 32 * warp).min(32)))
            .collect();
        let view = View {
            of_warps: vec![0; count as usize],
            of_own_lanes: 0,
            of_lanes: None,
            released: 0,
        };
        Clocks {
            now: 1,
            since: 1,
            block_start: 1,
            warps: vec![view; count as usize],
            lanes,
            arrivals: vec![None; BARRIERS],
        }
    }

    /// Whether stamps run out: then they may start anew wherever all older ones are dead, at the
    /// start of a block and after a barrier of all of it.
    pub(super) fn is_worn(&self) -> bool {
        self.now > u32::MAX / 2
    }

    pub(super) fn start_again(&mut self) {
        *self = Clocks::new(self.lanes.iter().map(|lanes| lanes.count_ones()).sum());
    }

    pub(super) fn start_block(&mut self) {
        self.synchronise_block();
        self.block_start = self.now;
        self.arrivals.fill(None);
    }

    /// A barrier of the whole block.
    pub(super) fn synchronise_block(&mut self) {
        self.now += 1;
        self.since = self.now;
        for warp in &mut self.warps {
            warp.of_lanes = None;
        }
    }

    /// Whether the access of lane `of.1` in warp `of.0` at `stamp`, which may not be older than
    /// `since`, is ordered before what lane `by.1` of warp `by.0` does now.
    pub(super) fn is_ordered(&self, of: (u32, u32), stamp: u32, by: (u32, u32)) -> bool {
        let Some(view) = self.warps.get(by.0 as usize) else {
            return true;
        };
        if of.0 != by.0 {
            let seen = view.of_warps.get(of.0 as usize);
            return seen.is_some_and(|&seen| stamp <= seen);
        }
        let lanes = (by.1 as usize % LANES, of.1 as usize % LANES);
        lanes.0 == lanes.1
            || stamp <= view.of_own_lanes
            || view
                .of_lanes
                .as_ref()
                .is_some_and(|seen| stamp <= seen[lanes.0][lanes.1])
    }

    /// `bar.warp.sync`: the lanes of a warp wait for each other.
    pub(super) fn synchronise_lanes(&mut self, warp: u32, mask: u32) {
        let stamp = self.now;
        self.now += 1;
        let index = warp as usize;
        let (Some(view), Some(&all)) = (self.warps.get_mut(index), self.lanes.get(index)) else {
            return;
        };
        if mask & all == all {
            view.of_own_lanes = stamp;
            view.of_lanes = None;
            return;
        }
        let seen = view
            .of_lanes
            .get_or_insert_with(|| Box::new([[0; LANES]; LANES]));
        let mut joined = [0; LANES];
        for lane in lanes(mask) {
            for (sum, &own) in joined.iter_mut().zip(&seen[lane]) {
                *sum = own.max(*sum);
            }
        }
        for lane in lanes(mask) {
            joined[lane] = stamp;
        }
        for lane in lanes(mask) {
            seen[lane] = joined;
        }
    }

    /// Lanes of a warp arrive at a barrier and do not wait there.
    pub(super) fn arrive(&mut self, warp: u32, barrier: u32) {
        let seen = self.seen_by(warp as usize);
        if let (Some(seen), Some(slot)) = (seen, self.arrivals.get_mut(barrier as usize)) {
            let (warps, known) = slot.get_or_insert_with(|| (0, vec![0; seen.len()]));
            *warps |= 1 << (warp % 32);
            join(known, &seen);
        }
        // What the warp does from here on is not covered.
        self.now += 1;
    }

    /// A barrier for some of the warps: those that have arrived, which wait unless they came
    /// through [`Self::arrive`].
    pub(super) fn synchronise_warps(&mut self, barrier: u32, arrived: &[u32]) {
        let slot = self.arrivals.get_mut(barrier as usize);
        let early = slot.and_then(Option::take);
        let (gone, mut seen) = early.unwrap_or_else(|| (0, vec![0; self.warps.len()]));
        let waits = |&warp: &usize| {
            gone >> (warp % 32) & 1 == 0 && arrived.get(warp).is_some_and(|&mask| mask != 0)
        };
        let members: Vec<usize> = (0..self.warps.len()).filter(waits).collect();
        for &warp in &members {
            if let Some(view) = self.seen_by(warp) {
                join(&mut seen, &view);
            }
        }
        for &warp in &members {
            let view = &mut self.warps[warp];
            join(&mut view.of_warps, &seen);
            view.of_own_lanes = self.now;
            view.of_lanes = None;
        }
        self.now += 1;
    }

    /// The stamps up to which a warp has seen the others, and up to now itself.
    fn seen_by(&self, warp: usize) -> Option<Vec<u32>> {
        let mut seen = self.warps.get(warp)?.of_warps.clone();
        seen[warp] = self.now;
        Some(seen)
    }

    /// A warp reads what others may have released: it has seen what they did before.
    pub(super) fn acquire(&mut self, warp: u32) {
        let released: Vec<u32> = self.warps.iter().map(|view| view.released).collect();
        let now = self.now;
        if let Some(view) = self.warps.get_mut(warp as usize) {
            join(&mut view.of_warps, &released);
            view.of_own_lanes = now;
        }
        self.now += 1;
    }

    /// A warp writes something from which others may learn that it has come this far.
    pub(super) fn release(&mut self, warp: u32) {
        if let Some(view) = self.warps.get_mut(warp as usize) {
            view.released = self.now;
        }
        self.now += 1;
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    for (sum, &value) in into.iter_mut().zip(from) {
        *sum = value.max(*sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_of_some_warps_orders_those() {
        let mut clocks = Clocks::new(96);
        let stamp = clocks.now;
        assert!(!clocks.is_ordered((0, 3), stamp, (1, 3)));
        clocks.synchronise_warps(1, &[u32::MAX, u32::MAX, 0]);
        assert!(clocks.is_ordered((0, 3), stamp, (1, 3)));
        assert!(clocks.is_ordered((1, 3), stamp, (0, 4)));
        assert!(!clocks.is_ordered((0, 3), stamp, (2, 3)));
        // By way of warp 1, warp 2 sees what warp 0 did before the first barrier.
        let later = clocks.now;
        clocks.synchronise_warps(2, &[0, u32::MAX, u32::MAX]);
        assert!(clocks.is_ordered((0, 3), stamp, (2, 3)));
        assert!(!clocks.is_ordered((0, 3), later, (2, 3)));
    }

    #[test]
    fn arriving_orders_what_was_before_and_nothing_after() {
        let mut clocks = Clocks::new(64);
        let before = clocks.now;
        clocks.arrive(0, 1);
        let after = clocks.now;
        clocks.synchronise_warps(1, &[u32::MAX, u32::MAX]);
        assert!(clocks.is_ordered((0, 0), before, (1, 0)));
        assert!(!clocks.is_ordered((0, 0), after, (1, 0)));
        assert!(!clocks.is_ordered((1, 0), before, (0, 0)));
    }

    #[test]
    fn lanes_are_ordered_by_the_masks_that_join_them() {
        let mut clocks = Clocks::new(32);
        let stamp = clocks.now;
        clocks.synchronise_lanes(0, 0x3);
        assert!(clocks.is_ordered((0, 0), stamp, (0, 1)));
        assert!(!clocks.is_ordered((0, 0), stamp, (0, 2)));
        clocks.synchronise_lanes(0, 0x6);
        assert!(clocks.is_ordered((0, 0), stamp, (0, 2)));
        assert!(!clocks.is_ordered((0, 0), stamp, (0, 3)));
        let stamp = clocks.now;
        clocks.synchronise_lanes(0, u32::MAX);
        assert!(clocks.is_ordered((0, 31), stamp, (0, 0)));
    }

    #[test]
    fn a_release_orders_for_those_who_acquire_later() {
        let mut clocks = Clocks::new(64);
        let before = clocks.now;
        clocks.acquire(1);
        assert!(!clocks.is_ordered((0, 0), before, (1, 0)));
        clocks.release(0);
        let after = clocks.now;
        clocks.acquire(1);
        assert!(clocks.is_ordered((0, 0), before, (1, 0)));
        assert!(!clocks.is_ordered((0, 0), after, (1, 0)));
    }
}
