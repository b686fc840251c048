//! Barriers of a block: arrival, completion, reductions, and the report of a deadlock.

use super::block::Worker;
use super::run::{Outcome, RawFault};
use super::vector::LANES;
use super::warp::{Split, State, Warp};
use super::warp_ops::lanes;
use crate::error::{Fault, FaultKind};
use crate::ir::{Barrier, BarrierKind, InstructionId, Terminator};
use crate::observer::{BarrierComplete, Event, EventSink, WarpContext};

/// Barriers of a block (PTX ISA, "bar").
const BARRIERS: usize = 16;

/// What threads do that poll.
pub(super) const POLL: &str = "poll memory";

/// Lanes that have arrived at a barrier.
#[derive(Clone, Debug)]
pub(super) struct BarrierState {
    /// Per warp.
    pub(super) arrived: Vec<u32>,
    /// Arrivals of whole warps that have arrived again since: a barrier of a number of threads
    /// counts both, where a warp arrives and waits for the others later.
    repeated: u32,
    /// Number of participating threads, if the instruction gives one.
    pub(super) threads: Option<u32>,
    /// Whether the waiting lanes want a result.
    reducing: bool,
}

impl BarrierState {
    /// Makes the barrier ready for the next block.
    fn reset(&mut self) {
        self.arrived.fill(0);
        self.repeated = 0;
        self.threads = None;
        self.reducing = false;
    }

    /// Lanes of a warp arrive, of which `live` have not exited.
    fn note(&mut self, warp: usize, mask: u32, live: u32) {
        let before = self.arrived[warp];
        let again = self.threads.is_some() && before & mask != 0 && live & !before == 0;
        self.repeated += u32::from(again);
        self.arrived[warp] = if again { mask } else { before | mask };
    }
}

/// The barriers of a block.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    each: Vec<BarrierState>,
    /// A bit for each at which lanes have arrived that wait for others.
    in_use: u16,
    /// A bit for each at which lanes have arrived since the block began.
    used: u16,
}

impl Barriers {
    /// Those of a block of `warps` warps, at which no lane has arrived.
    pub(super) fn new(warps: u32) -> Self {
        let barrier = BarrierState {
            arrived: vec![0; warps as usize],
            repeated: 0,
            threads: None,
            reducing: false,
        };
        Barriers {
            each: vec![barrier; BARRIERS],
            in_use: 0,
            used: 0,
        }
    }

    /// What those of a block of `warps` warps take.
    pub(super) fn bytes(warps: u64) -> u64 {
        BARRIERS as u64 * (size_of::<BarrierState>() as u64 + 4 * warps)
    }

    /// Makes them ready for the next block.
    pub(super) fn reset(&mut self) {
        for id in lanes(std::mem::take(&mut self.used).into()) {
            self.each[id].reset();
        }
        self.in_use = 0;
    }

    /// Those at which lanes have arrived that wait for others, by number.
    pub(super) fn in_use(&self) -> impl Iterator<Item = (u32, &BarrierState)> {
        lanes(self.in_use.into()).map(|id| (id as u32, &self.each[id]))
    }
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Lanes arrive at barriers; usually all at the same one.
    pub(super) fn arrive(
        &mut self,
        index: usize,
        at: usize,
        barrier: &Barrier,
        info: Option<u32>,
    ) -> Outcome {
        let warp = &mut self.warps[index];
        let frame = warp.frames[warp.splits[at].frame as usize];
        let ids = warp.regs32[frame.regs32 + barrier.id.0 as usize];
        let counts = barrier
            .threads
            .map(|threads| warp.regs32[frame.regs32 + threads.0 as usize]);
        for part in warp.partition(at, &ids) {
            let split = &mut self.warps[index].splits[part];
            let first = split.mask.trailing_zeros() as usize % LANES;
            let (id, mask) = (ids[first], split.mask);
            let threads = counts.map(|counts| counts[first]);
            let bad = |message: String| {
                Box::new(RawFault {
                    kind: FaultKind::BadBarrier(message),
                    lane: Some(first),
                })
            };
            if id as usize >= BARRIERS {
                return Err(bad(format!("barrier {id} does not exist; there are 16")));
            }
            if let Some(count) = threads
                && (count == 0 || count % 32 != 0 || count > crate::MAX_BLOCK_THREADS)
            {
                return Err(bad(format!(
                    "a barrier of {count} threads; the count must be a multiple of 32 up to 1024"
                )));
            }
            match barrier.kind {
                BarrierKind::Arrive => split.block = barrier.next,
                _ => split.state = State::Barrier(id),
            }
            if let Some(info) = info {
                let context = WarpContext {
                    kernel: self.launch.kernel,
                    block: self.block,
                    warp: index as u32,
                    rank: self.rank,
                    calls: self.calls(index, self.warps[index].splits[part].frame),
                };
                self.observer.notify(Event::BarrierArrive {
                    warp: &context,
                    id: InstructionId(info),
                    barrier: id,
                    arriving: mask,
                });
            }
            let live = self.warps[index].live;
            self.barriers.in_use |= 1 << id;
            self.barriers.used |= 1 << id;
            let state = &mut self.barriers.each[id as usize];
            state.threads = threads;
            state.note(index, mask, live);
            state.reducing |= barrier.source.is_some();
            self.complete(id as usize);
        }
        Ok(())
    }

    /// Releases lanes that waited only for lanes that have exited.
    pub(super) fn complete_without_exited(&mut self) {
        for id in lanes(self.barriers.in_use.into()) {
            self.complete(id);
        }
    }

    /// Completes a barrier at which all have arrived, and releases its lanes. A warp counts once
    /// all of its lanes that have not exited have arrived.
    fn complete(&mut self, id: usize) {
        let state = &self.barriers.each[id];
        let all_here = |(warp, &mask): (&Warp, &u32)| warp.live & !mask == 0;
        let done = match state.threads {
            // Warps mostly arrive in order: the last ones are missing most often.
            None => self.warps.iter().zip(&state.arrived).rev().all(all_here),
            Some(threads) => {
                let arrived = self.warps.iter().zip(&state.arrived);
                let complete = arrived.filter(|&(warp, mask)| *mask != 0 && all_here((warp, mask)));
                32 * (complete.count() as u32 + state.repeated) >= threads
            }
        };
        if !done {
            return;
        }
        let state = &mut self.barriers.each[id];
        let complete = BarrierComplete {
            block: self.block,
            rank: self.rank,
            barrier: id as u32,
            arrived: &state.arrived,
            whole_block: state.threads.is_none(),
        };
        self.observer.notify(Event::BarrierComplete(&complete));
        state.arrived.fill(0);
        state.repeated = 0;
        self.barriers.in_use &= !(1 << id);
        if std::mem::take(&mut state.reducing) {
            self.reduce(id as u32);
        }
        let program = self.program();
        for warp in &mut self.warps {
            for split in &mut warp.splits {
                if split.state == State::Barrier(id as u32) {
                    split.state = State::Ready;
                    if let Terminator::Barrier(barrier) =
                        &program.blocks[split.block as usize].terminator
                    {
                        split.block = barrier.next;
                    }
                }
            }
        }
    }

    /// Gives the result of a `barrier.red` to the lanes that wait for it.
    fn reduce(&mut self, id: u32) {
        let program = self.program();
        let waiting = |split: &&Split| split.state == State::Barrier(id);
        let (mut count, mut all, mut any) = (0u32, true, false);
        for warp in &self.warps {
            for split in warp.splits.iter().filter(waiting) {
                if let Terminator::Barrier(barrier) =
                    &program.blocks[split.block as usize].terminator
                    && let Some(source) = barrier.source
                {
                    let base = warp.frames[split.frame as usize].predicates;
                    let bits = warp.predicates[base + source.0 as usize] & split.mask;
                    count += bits.count_ones();
                    all &= bits == split.mask;
                    any |= bits != 0;
                }
            }
        }
        let fill = |holds: bool, mask: u32| if holds { mask } else { 0 };
        for warp in &mut self.warps {
            let splits: Vec<Split> = warp.splits.iter().filter(waiting).copied().collect();
            for split in splits {
                let Terminator::Barrier(barrier) = &program.blocks[split.block as usize].terminator
                else {
                    continue;
                };
                let frame = warp.frames[split.frame as usize];
                match barrier.kind {
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                    BarrierKind::Count(to) => {
                        let to = &mut warp.regs32[frame.regs32 + to.0 as usize];
                        for lane in lanes(split.mask) {
                            to[lane] = count;
                        }
                    }
                    BarrierKind::And(to) | BarrierKind::Or(to) => {
                        let holds = match barrier.kind {
                            BarrierKind::And(_) => all,
                            _ => any,
                        };
                        let slot = &mut warp.predicates[frame.predicates + to.0 as usize];
                        *slot = *slot & !split.mask | fill(holds, split.mask);
                    }
                }
            }
        }
    }

    /// Describes which threads wait where, once none can go on. `polled` says what those do that
    /// poll.
    #[cold]
    pub(super) fn deadlock(&mut self, polled: &str) -> Box<Fault> {
        let mut places: Vec<(u32, u32, String)> = Vec::new();
        let (mut live, mut first) = (0, None);
        self.each_block(|this, rank| {
            this.waiting_threads(&mut places, polled);
            if !places.is_empty() {
                first.get_or_insert(rank);
            }
            live += this
                .warps
                .iter()
                .map(|warp| warp.live.count_ones())
                .sum::<u32>();
        });
        let mut text = self.describe(&places);
        let threads = self.launch.threads * self.block_count();
        if live < threads {
            text.push(format!("{} threads have exited", threads - live));
        }
        let raw = RawFault {
            kind: FaultKind::Deadlock(text.join("; ")),
            lane: None,
        };
        self.switch_to(first.unwrap_or(self.rank));
        self.fault(raw, None, places.first().map(|place| place.1))
    }

    /// Where the threads of the block are when the budget is used up; `last` is the instruction
    /// that the warp `running` executed last.
    pub(super) fn whereabouts(&self, running: usize, last: u32) -> String {
        let mut places = Vec::new();
        self.waiting_threads(&mut places, POLL);
        let mut text = self.describe(&places);
        if (last as usize) < self.launch.kernel.instruction_count() {
            let line = self.launch.kernel.instruction(InstructionId(last)).line();
            text.insert(0, format!("warp {running} runs at PTX line {line}"));
        }
        text.join("; ")
    }

    /// Some places in words.
    fn describe(&self, places: &[(u32, u32, String)]) -> Vec<String> {
        const SHOWN: usize = 4;
        let kernel = self.launch.kernel;
        let place = |(count, info, name): &(u32, u32, String)| {
            let known = (*info as usize) < kernel.instruction_count();
            let line = match known {
                true => kernel.instruction(InstructionId(*info)).line(),
                false => 0,
            };
            format!("{count} threads {name} at PTX line {line}")
        };
        let mut text: Vec<String> = places.iter().take(SHOWN).map(place).collect();
        if places.len() > SHOWN {
            text.push(format!("and at {} more places", places.len() - SHOWN));
        }
        text
    }

    /// Adds the waiting threads of the block: their number, their instruction, and what they wait
    /// for.
    fn waiting_threads(&self, places: &mut Vec<(u32, u32, String)>, polled: &str) {
        let program = self.program();
        for warp in &self.warps {
            for split in &warp.splits {
                let block = &program.blocks[split.block as usize];
                let (info, what) = match split.state {
                    State::Barrier(id) => (block.terminator_info, format!("wait for barrier {id}")),
                    State::Phase(address) => (
                        block.terminator_info,
                        format!("wait for the mbarrier at {address:#x}"),
                    ),
                    State::Cluster => (
                        block.terminator_info,
                        "wait for the barrier of the cluster".to_string(),
                    ),
                    State::Warpgroup(_) => (
                        block.terminator_info,
                        "wait for MMAs of the other warps of their warpgroup".to_string(),
                    ),
                    State::Columns => (
                        block.terminator_info,
                        "wait for columns of tensor memory".to_string(),
                    ),
                    State::Members { .. } => (
                        program.code.get(block.start as usize).map(|inst| inst.info),
                        "wait for the other lanes of its mask".to_string(),
                    ),
                    State::Ready | State::Met | State::Polled => (
                        program.code.get(block.start as usize).map(|inst| inst.info),
                        match split.state {
                            State::Polled => polled.to_string(),
                            _ => "go on".to_string(),
                        },
                    ),
                };
                let info = info.unwrap_or(u32::MAX);
                let count = split.mask.count_ones();
                match places
                    .iter_mut()
                    .find(|place| place.1 == info && place.2 == what)
                {
                    Some(place) => place.0 += count,
                    None => places.push((count, info, what)),
                }
            }
        }
    }
}
