//! The order of accesses among the threads of a block, or of a cluster. The blocks of a cluster run
//! at the same time: their warps have consecutive numbers, and so have their barriers.
//!
//! Every synchronisation gets a number, its stamp, and every access is marked with the stamp of the
//! last one before it. A barrier of the whole block orders everything before it. Narrower
//! synchronisation (`bar.warp.sync`, barriers for some of the warps, mbarriers, releases and
//! acquires) is tracked by vector clocks: up to which stamp each lane has observed the accesses of
//! every other. A release leaves its clock at an *object*: an mbarrier, or an address that strong
//! operations access.
//!
//! Asynchronous operations run concurrently with the thread that issues them. Until the thread has
//! waited for one, or its completion was signalled to an mbarrier, it is *in flight*: ordered
//! before nothing.

use std::collections::HashMap;

use super::shadow_memory::Origin;
use super::shape::lanes;
use super::vector_clock::VectorClock;
use crate::ir::Space;

mod cluster;
mod tensor_memory;
mod warpgroup;

use tensor_memory::Commits;
use warpgroup::Mmas;

/// Barriers of a block (PTX ISA, "bar").
const BARRIERS: usize = 16;

/// The barriers of the block of a rank begin with this one.
pub(super) fn first_barrier(rank: u32) -> u32 {
    rank * BARRIERS as u32
}

/// The stamp of an asynchronous access that may happen at any time.
pub(super) const IN_FLIGHT: u32 = u32::MAX;

/// What one warp has observed.
#[derive(Clone, Debug, Default)]
struct View {
    /// What all of its lanes have observed; of the warp itself, what the lanes have observed of
    /// each other.
    common: VectorClock,
    /// What single lanes have observed in addition.
    single: Vec<(usize, VectorClock)>,
    /// What lanes had observed and done at their last fence: relaxed operations release it.
    fences: Vec<(usize, VectorClock)>,
    /// Objects that lanes have read by relaxed operations, for their next fence.
    read: Vec<(usize, usize)>,
}

impl View {
    /// What the lanes have observed, all of them taken together.
    fn joined(&self) -> VectorClock {
        let mut seen = self.common.clone();
        for (_, single) in &self.single {
            seen.join(single);
        }
        seen
    }

    /// What a lane has observed in addition to `common`.
    fn of_lane(&mut self, lane: usize) -> &mut VectorClock {
        let key = self.single.iter().position(|(of, _)| *of == lane);
        let key = key.unwrap_or_else(|| {
            self.single.push((lane, VectorClock::default()));
            self.single.len() - 1
        });
        &mut self.single[key].1
    }

    fn has(&self, lane: usize, test: impl Fn(&VectorClock) -> bool) -> bool {
        test(&self.common)
            || self
                .single
                .iter()
                .any(|(of, seen)| *of == lane && test(seen))
    }

    /// Lanes observe something. `all` are the lanes of the warp: if the mask holds them all, it
    /// goes to `common`.
    fn observe(&mut self, mask: u32, all: u32, seen: &VectorClock) {
        if mask & all == all {
            self.common.join(seen);
        } else {
            for lane in lanes(mask) {
                self.of_lane(lane).join(seen);
            }
        }
    }

    /// Everything before is ordered before everything that follows.
    fn forget(&mut self) {
        self.single.clear();
        self.fences.clear();
        self.read.clear();
    }
}

/// An object through which threads synchronise.
#[derive(Clone, Debug, Default)]
struct Object {
    /// Of an mbarrier: what arrived in the phase that is not complete.
    arriving: VectorClock,
    /// What an acquire of it observes.
    released: VectorClock,
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
    /// The first stamp of the launch, or of those that began anew. Older ones may be those of other
    /// launches: cells are recycled.
    pub launch_start: u32,
    warps: Vec<View>,
    /// By warp.
    mmas: Vec<Mmas>,
    /// Lanes of each warp that are threads of the block.
    lanes: Vec<u32>,
    /// Threads of a block, and blocks.
    extent: (u32, u32),
    /// By barrier: the warps that have arrived without waiting, one bit each, and what they had
    /// observed.
    arrivals: Vec<Option<(u32, VectorClock)>>,
    objects: Vec<Object>,
    /// Their numbers by address.
    numbers: HashMap<(Space, u64), usize>,
    /// Stamps of copies whose completion was signalled to an mbarrier, with the number of that, in
    /// rising order.
    signalled: Vec<(u32, usize)>,
    /// By thread that issues operations on tensor memory.
    commits: HashMap<(u32, u32), Commits>,
    /// What precedes a proxy fence: accesses before a stamp, and what the fencing threads had
    /// observed.
    published: (u32, VectorClock),
    /// Whether there is more than barriers of the whole block since the last of them.
    is_fine: bool,
}

impl Clocks {
    /// For `blocks` blocks of `threads` threads each; stamps begin with `first`, which is not 0.
    pub(super) fn new(threads: u32, blocks: u32, first: u32) -> Self {
        let count = threads.div_ceil(32);
        let of_block = || (0..count).map(|warp| u32::MAX >> (32 - (threads - 32 * warp).min(32)));
        let lanes = (0..blocks).flat_map(|_| of_block()).collect();
        Clocks {
            now: first,
            since: first,
            block_start: first,
            launch_start: first,
            warps: vec![View::default(); (count * blocks) as usize],
            mmas: vec![Mmas::default(); (count * blocks) as usize],
            lanes,
            extent: (threads, blocks),
            arrivals: vec![None; BARRIERS * blocks as usize],
            ..Clocks::default()
        }
    }

    /// Whether stamps run out: then they may start anew wherever all older ones are dead, at the
    /// start of a block and after a barrier of all of it.
    pub(super) fn stamps_exhausted(&self) -> bool {
        self.now > u32::MAX / 2
    }

    pub(super) fn start_again(&mut self) {
        let (threads, blocks) = self.extent;
        *self = Clocks::new(threads, blocks, 1);
    }

    pub(super) fn start_block(&mut self) {
        self.synchronise_block();
        self.block_start = self.now;
        self.arrivals.fill(None);
        self.objects.clear();
        self.numbers.clear();
        self.commits.clear();
        self.published.0 = 0;
        self.published.1.clear();
        self.mmas.fill(Mmas::default());
        for warp in &mut self.warps {
            // Numbers of objects begin anew.
            warp.common.clear();
        }
    }

    /// A barrier of the whole block.
    pub(super) fn synchronise_block(&mut self) {
        self.now += 1;
        self.since = self.now;
        if std::mem::take(&mut self.is_fine) {
            self.signalled.clear();
            self.warps.iter_mut().for_each(View::forget);
        }
    }

    /// The stamp for what was done up to now; what follows gets a later one.
    fn stamp(&mut self) -> u32 {
        let stamp = self.now;
        self.now += 1;
        self.is_fine = true;
        stamp
    }

    /// Whether an access at `stamp`, which may not be older than `since`, is ordered before what
    /// lane `by.1` of warp `by.0` does now.
    pub(super) fn is_ordered(&self, earlier: Origin, stamp: u32, by: (u32, u32)) -> bool {
        if stamp == IN_FLIGHT {
            return false;
        }
        let of = earlier.thread();
        if of == by && !earlier.is_async() {
            return true;
        }
        let (warp, lane) = (of.0 as usize, of.1 as usize);
        let Some(view) = self.warps.get(by.0 as usize) else {
            return true;
        };
        let by_lane = by.1 as usize;
        if !earlier.is_async() {
            return view.has(by_lane, |seen| seen.has(warp, lane, stamp));
        }
        match self
            .signalled
            .binary_search_by_key(&stamp, |&(stamp, _)| stamp)
        {
            Ok(key) => {
                let number = self.key_of_object(self.signalled[key].1);
                view.has(by_lane, |seen| seen.has(number, 0, stamp))
            }
            // The access was one of all lanes of a warp: each of them has observed that it is
            // complete.
            Err(_) => of.0 == by.0 || view.has(by_lane, |seen| seen.has_any(warp, stamp)),
        }
    }

    /// Where vector clocks have an object: after the warps, and the warps' reads.
    fn key_of_object(&self, number: usize) -> usize {
        2 * self.warps.len() + number
    }

    /// Whether a proxy fence follows an access of this block.
    pub(super) fn is_published(&self, origin: Origin, stamp: u32) -> bool {
        let (warp, lane) = origin.thread();
        stamp < self.published.0 || self.published.1.has(warp as usize, lane as usize, stamp)
    }

    /// `fence.proxy.async`
    pub(super) fn publish(&mut self, warp: u32, mask: u32) {
        let stamp = self.stamp();
        self.published.0 = self.published.0.max(self.since);
        let seen = self.seen_by(warp, mask, stamp);
        self.published.1.join(&seen);
    }

    /// `bar.warp.sync`: the lanes of a warp wait for each other.
    pub(super) fn synchronise_lanes(&mut self, warp: u32, mask: u32) {
        let stamp = self.stamp();
        let index = warp as usize;
        let (Some(view), Some(&all)) = (self.warps.get_mut(index), self.lanes.get(index)) else {
            return;
        };
        if mask & all == all {
            for (_, seen) in std::mem::take(&mut view.single) {
                view.common.join(&seen);
            }
            view.common.note_all(index, stamp);
            return;
        }
        let mut joined = VectorClock::default();
        for (lane, seen) in &view.single {
            if mask >> lane & 1 != 0 {
                joined.join(seen);
            }
        }
        joined.note_lanes(index, mask, stamp);
        view.observe(mask, all, &joined);
    }

    /// Lanes of a warp arrive at a barrier and do not wait there.
    pub(super) fn arrive(&mut self, warp: u32, barrier: u32) {
        // What the warp does from here on is not covered.
        let stamp = self.stamp();
        let seen = self.seen_by(warp, u32::MAX, stamp);
        if let Some(slot) = self.arrivals.get_mut(barrier as usize) {
            let (warps, known) = slot.get_or_insert_default();
            *warps |= 1 << (warp % 32);
            known.join(&seen);
        }
    }

    /// A warp waits at a barrier, at which it may have arrived before.
    pub(super) fn wait_at(&mut self, warp: u32, barrier: u32) {
        if let Some(Some((gone, _))) = self.arrivals.get_mut(barrier as usize) {
            *gone &= !(1 << (warp % 32));
        }
    }

    /// A barrier for some of the warps: those that have arrived, which wait unless they came
    /// through [`Self::arrive`].
    pub(super) fn synchronise_warps(&mut self, barrier: u32, arrived: &[u32]) {
        let stamp = self.stamp();
        let slot = self.arrivals.get_mut(barrier as usize);
        let (gone, mut seen) = slot.and_then(Option::take).unwrap_or_default();
        let waits = |&warp: &usize| {
            gone >> (warp % 32) & 1 == 0 && arrived.get(warp).is_some_and(|&mask| mask != 0)
        };
        let members: Vec<usize> = (0..self.warps.len()).filter(waits).collect();
        for &warp in &members {
            seen.join(&self.warps[warp].joined());
            seen.note_all(warp, stamp);
        }
        for &warp in &members {
            let view = &mut self.warps[warp];
            view.common.join(&seen);
            view.single.clear();
        }
    }

    /// What lanes of a warp have observed, and done up to a stamp.
    fn seen_by(&self, warp: u32, mask: u32, stamp: u32) -> VectorClock {
        let index = warp as usize;
        let (Some(view), Some(&all)) = (self.warps.get(index), self.lanes.get(index)) else {
            return VectorClock::default();
        };
        let mut seen = view.common.clone();
        for (lane, single) in &view.single {
            if mask >> lane & 1 != 0 {
                seen.join(single);
            }
        }
        match mask & all == all {
            true => seen.note_all(index, stamp),
            false => seen.note_lanes(index, mask, stamp),
        }
        seen
    }

    /// The number of the object at an address.
    fn object(&mut self, space: Space, address: u64) -> usize {
        let next = self.objects.len();
        let number = *self.numbers.entry((space, address)).or_insert(next);
        if number == next {
            self.objects.push(Object::default());
        }
        number
    }

    /// Lanes arrive at an mbarrier: a thread that waits for the phase observes what each of them
    /// did before.
    pub(super) fn arrive_at(&mut self, address: u64, warp: u32, mask: u32) {
        self.arrive_at_object((Space::Shared, address), warp, mask);
    }

    fn arrive_at_object(&mut self, key: (Space, u64), warp: u32, mask: u32) {
        let number = self.object(key.0, key.1);
        let stamp = self.stamp();
        let seen = self.seen_by(warp, mask, stamp);
        self.objects[number].arriving.join(&seen);
    }

    /// The completion of a copy is signalled to an mbarrier, which is marked with the present
    /// stamp.
    pub(super) fn signal(&mut self, address: u64) {
        self.signal_object((Space::Shared, address));
    }

    fn signal_object(&mut self, (space, address): (Space, u64)) {
        let number = self.object(space, address);
        let stamp = self.stamp();
        self.signalled.push((stamp, number));
        let key = self.key_of_object(number);
        self.objects[number].arriving.note_all(key, stamp);
    }

    /// The phase of an mbarrier is complete.
    pub(super) fn complete_phase(&mut self, address: u64) {
        self.complete_object((Space::Shared, address));
    }

    fn complete_object(&mut self, key: (Space, u64)) {
        let number = self.object(key.0, key.1);
        let Object { arriving, released } = &mut self.objects[number];
        released.join(arriving);
        arriving.clear();
    }

    /// Lanes read what others may have released.
    pub(super) fn acquire(&mut self, key: (Space, u64), warp: u32, mask: u32) {
        let Some(&number) = self.numbers.get(&key) else {
            return;
        };
        let (objects, views) = (&self.objects, &mut self.warps);
        let index = warp as usize;
        if let (Some(view), Some(&all)) = (views.get_mut(index), self.lanes.get(index)) {
            view.observe(mask, all, &objects[number].released);
            self.is_fine = true;
        }
    }

    /// As [`Self::acquire`], by a relaxed operation: the lanes observe what was released from their
    /// next fence on.
    pub(super) fn read(&mut self, key: (Space, u64), warp: u32, mask: u32) {
        let Some(&number) = self.numbers.get(&key) else {
            return;
        };
        if let Some(view) = self.warps.get_mut(warp as usize) {
            for lane in lanes(mask) {
                if !view.read.contains(&(lane, number)) {
                    view.read.push((lane, number));
                }
            }
            self.is_fine = true;
        }
    }

    /// A lane writes to an object and so releases `all` of what it did, or what precedes its last
    /// fence. If the operation reads as well, the object keeps what others released.
    pub(super) fn release(
        &mut self,
        key: (Space, u64),
        (warp, lane): (u32, usize),
        all: bool,
        reads: bool,
    ) {
        let seen = if all {
            let stamp = self.stamp();
            Some(self.seen_by(warp, 1 << lane, stamp))
        } else {
            let view = self.warps.get(warp as usize);
            let mut fences = view.into_iter().flat_map(|view| &view.fences);
            let last = fences.find(|(of, _)| *of == lane);
            last.map(|(_, seen)| seen.clone())
        };
        if seen.is_none() && !self.numbers.contains_key(&key) {
            return;
        }
        let number = self.object(key.0, key.1);
        let released = &mut self.objects[number].released;
        if !reads {
            released.clear();
        }
        if let Some(seen) = seen {
            released.join(&seen);
        }
    }

    /// Lanes execute a fence.
    pub(super) fn fence(&mut self, warp: u32, mask: u32) {
        let stamp = self.stamp();
        let index = warp as usize;
        let (Some(view), Some(&all)) = (self.warps.get_mut(index), self.lanes.get(index)) else {
            return;
        };
        let (due, later) = std::mem::take(&mut view.read)
            .into_iter()
            .partition::<Vec<_>, _>(|&(lane, _)| mask >> lane & 1 != 0);
        view.read = later;
        for (lane, number) in due {
            view.observe(1 << lane, all, &self.objects[number].released);
        }
        for lane in lanes(mask) {
            let seen = self.seen_by(warp, 1 << lane, stamp);
            let view = &mut self.warps[index];
            view.fences.retain(|(of, _)| *of != lane);
            view.fences.push((lane, seen));
        }
    }
}

#[cfg(test)]
mod tests;
