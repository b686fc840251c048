//! The state of a warp: registers, frames, and the splits into which its lanes have diverged.

use super::Launch;
use super::async_copy::CopyQueue;
use super::member_mask::Exchanged;
use super::run::RawFault;
use super::vector::{LANES, Lanes32, collect};
use super::warpgroup::WgmmaQueue;
use crate::aligned::Rows;
use crate::error::FaultKind;
use crate::ir::{Constant, Function, Program, Register, Written};
use crate::memory::MAX_LOCAL_BYTES;

/// Calls nested deeper than this are an error, and calls whose registers take more than this many
/// rows of 32 lanes.
const MAX_CALL_DEPTH: u32 = 4096;
const MAX_FRAME_ROWS: usize = 1 << 17;

/// With as many frames, a call looks for one without lanes before it makes another. Frames end in
/// any order where lanes have diverged, and only those on top are dropped.
const REUSED_FROM: usize = 64;

/// An active call of a function; frame 0 is the kernel's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub function: u32,
    pub parent: u32,
    /// Block of the caller that the call ends.
    pub call_block: u32,
    pub depth: u32,
    pub regs32: usize,
    pub regs64: usize,
    pub predicates: usize,
    pub local_base: u32,
}

/// What a split is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// For more lanes of a `.sync` operation; the lanes that were present at the last attempt.
    Members {
        mask: u32,
        live: u32,
    },
    /// For nothing more: the others have come to the same operation as well, at another place.
    Met,
    /// A barrier of the block.
    Barrier(u32),
    /// The phase of the mbarrier at an address.
    Phase(u64),
    /// The barrier of the cluster.
    Cluster,
    /// This number of groups of MMAs of the warpgroup.
    Warpgroup(u32),
    /// Columns of tensor memory that others give back.
    Columns,
    /// In a cooperative launch, what other blocks may write: until the next turn of the warp.
    Polled,
}

impl State {
    /// Whether an event outside of the warp must release the lanes.
    fn is_parked(self) -> bool {
        matches!(
            self,
            State::Barrier(_)
                | State::Phase(_)
                | State::Cluster
                | State::Warpgroup(_)
                | State::Columns
                | State::Polled
                | State::Met
        )
    }
}

/// Lanes that are at the same instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    pub frame: u32,
    pub block: u32,
    pub mask: u32,
    pub state: State,
    /// Number of times that it used up its fuel without reaching a stop.
    pub turns: u32,
}

#[derive(Debug)]
pub(crate) struct Warp {
    pub index: u32,
    /// Lanes that are threads of the block.
    lanes: u32,
    pub regs32: Rows<u32>,
    pub regs64: Rows<u64>,
    pub predicates: Vec<u32>,
    pub local: Vec<Lanes32>,
    pub copies: CopyQueue,
    pub wgmmas: WgmmaQueue,
    /// Groups of bulk copies that each lane has committed.
    pub bulk_groups: [u32; LANES],
    pub frames: Vec<Frame>,
    pub splits: Vec<Split>,
    /// What lanes have got that met others at different places, once any has.
    pub exchanged: Option<Box<Exchanged>>,
    /// Lanes that have not exited.
    pub live: u32,
    /// Of a kernel that is decoded for stepping: which lanes have written which registers.
    pub written: Option<Box<Written>>,
}

/// Whether the lanes of all splits can go on, in one frame, and have not used up their shares. Most
/// warps that have diverged are like this.
pub(super) fn are_plain(splits: &[Split]) -> bool {
    let frame = splits.first().map(|split| split.frame);
    splits.iter().all(|split| {
        split.state == State::Ready && Some(split.frame) == frame && split.turns < TURNS
    })
}

/// Merges plain splits that are at the same block. As [`Warp::choose`] of those that are left.
pub(super) fn next_of_plain(splits: &mut Vec<Split>) -> (usize, u32) {
    let mut index = 0;
    while index < splits.len() {
        let mut other = index + 1;
        while other < splits.len() {
            if splits[other].block == splits[index].block {
                let same = splits.swap_remove(other);
                splits[index].mask |= same.mask;
                splits[index].turns = splits[index].turns.min(same.turns);
            } else {
                other += 1;
            }
        }
        index += 1;
    }
    let (mut chosen, mut lowest, mut limit) = (0, u32::MAX, u32::MAX);
    for (index, split) in splits.iter().enumerate() {
        if split.block < lowest {
            (chosen, limit, lowest) = (index, lowest, split.block);
        } else {
            limit = limit.min(split.block);
        }
    }
    (chosen, limit)
}

/// Fuel requests of a split before other splits of its warp run first.
pub(super) const TURNS: u32 = 4;

impl Warp {
    pub(crate) fn new(launch: &Launch<'_>, index: u32) -> Self {
        let threads = (launch.threads - 32 * index).min(32);
        let program = &launch.kernel.0.program;
        let kernel = &program.functions[0];
        let mut warp = Warp {
            index,
            lanes: u32::MAX >> (32 - threads),
            regs32: Rows::new(kernel.regs32 as usize),
            regs64: Rows::new(kernel.regs64 as usize),
            predicates: vec![0; kernel.predicates as usize],
            local: Vec::new(),
            copies: CopyQueue::default(),
            wgmmas: WgmmaQueue::default(),
            bulk_groups: [0; LANES],
            frames: Vec::new(),
            splits: Vec::new(),
            exchanged: None,
            live: 0,
            written: program.symbols.is_some().then(Box::default),
        };
        warp.fill_constants(launch, kernel, (0, 0, 0), [0; 3], false);
        warp
    }

    /// Writes the constants of a function, or those alone that differ between blocks.
    fn fill_constants(
        &mut self,
        launch: &Launch<'_>,
        function: &Function,
        (regs32, regs64, predicates): (usize, usize, usize),
        block: [u32; 3],
        of_block: bool,
    ) {
        let first = 32 * self.index;
        let row = |constant: Constant| -> [u64; LANES] {
            let of_lane = |lane| launch.constant(constant, first + lane as u32, block);
            match constant.is_uniform() {
                true => [of_lane(0); LANES],
                false => std::array::from_fn(of_lane),
            }
        };
        let [from32, from64] = match of_block {
            true => function.block_constants,
            false => [0; 2],
        };
        for &(reg, constant) in &function.constants32[from32..] {
            self.regs32[regs32 + reg.0 as usize] = row(constant).map(|value| value as u32);
        }
        for &(reg, constant) in &function.constants64[from64..] {
            self.regs64[regs64 + reg.0 as usize] = row(constant);
        }
        for &(predicate, value) in &function.predicate_constants {
            self.predicates[predicates + predicate.0 as usize] = if value { u32::MAX } else { 0 };
        }
    }

    fn clear_unset(&mut self, function: &Function, bases: (usize, usize, usize)) {
        if let Some(written) = &mut self.written {
            written.begin_frame(bases);
            for &param in &function.params {
                written.mark(Register::Reg32(param), bases, u32::MAX);
            }
        }
        for register in &function.unset {
            match register {
                Register::Reg32(reg) => self.regs32[bases.0 + reg.0 as usize] = [0; LANES],
                Register::Reg64(reg) => {
                    self.regs64[bases.1 + reg.0 as usize] = [0; LANES];
                }
                Register::Predicate(p) => self.predicates[bases.2 + p.0 as usize] = 0,
            }
        }
        for reg in &function.results {
            self.regs32[bases.0 + reg.0 as usize] = [0; LANES];
        }
    }

    /// Makes the warp ready to run a block from its start.
    pub(crate) fn start(&mut self, launch: &Launch<'_>, block: [u32; 3]) {
        let kernel = &launch.kernel.0.program.functions[0];
        self.fill_constants(launch, kernel, (0, 0, 0), block, true);
        self.clear_unset(kernel, (0, 0, 0));
        self.local.clear();
        self.local
            .resize((kernel.local_bytes as usize).div_ceil(4), [0; LANES]);
        self.copies.clear();
        self.wgmmas.clear();
        self.bulk_groups = [0; LANES];
        self.frames.clear();
        self.frames.push(Frame {
            function: 0,
            parent: 0,
            call_block: 0,
            depth: 0,
            regs32: 0,
            regs64: 0,
            predicates: 0,
            local_base: 0,
        });
        self.live = self.lanes;
        self.splits.clear();
        self.splits.push(Split {
            frame: 0,
            block: kernel.entry,
            mask: self.lanes,
            state: State::Ready,
            turns: 0,
        });
    }

    /// The end of a frame's local memory in bytes.
    pub(crate) fn local_top(&self, program: &Program, frame: &Frame) -> u32 {
        frame.local_base + program.functions[frame.function as usize].local_bytes
    }

    /// Enters a function: a new frame on top of `parent`.
    pub(crate) fn push_frame(
        &mut self,
        launch: &Launch<'_>,
        parent: u32,
        function: u32,
        call_block: u32,
        block: [u32; 3],
    ) -> Result<u32, Box<RawFault>> {
        let overflow = || {
            Box::new(RawFault {
                kind: FaultKind::StackOverflow,
                lane: None,
            })
        };
        let program = &launch.kernel.0.program;
        let caller = self.frames[parent as usize];
        let last = self.frames[self.frames.len() - 1];
        let of_last = &program.functions[last.function as usize];
        let callee = &program.functions[function as usize];
        let reused = self.unused_frame(function, parent);
        let bases = match reused {
            Some(at) => {
                let frame = &self.frames[at];
                (frame.regs32, frame.regs64, frame.predicates)
            }
            None => (
                last.regs32 + of_last.regs32 as usize,
                last.regs64 + of_last.regs64 as usize,
                last.predicates + of_last.predicates as usize,
            ),
        };
        let rows = bases.0 + callee.regs32 as usize + 2 * (bases.1 + callee.regs64 as usize);
        if caller.depth >= MAX_CALL_DEPTH || rows > MAX_FRAME_ROWS {
            return Err(overflow());
        }
        let local_base = self.local_top(program, &caller).next_multiple_of(16);
        let local_end = local_base + callee.local_bytes;
        if u64::from(local_end) > MAX_LOCAL_BYTES {
            return Err(overflow());
        }
        let rows = (local_end as usize).div_ceil(4);
        if self.local.len() < rows {
            self.local.resize(rows, [0; LANES]);
        }
        self.regs32.grow(bases.0 + callee.regs32 as usize);
        self.regs64.grow(bases.1 + callee.regs64 as usize);
        let predicates = bases.2 + callee.predicates as usize;
        if self.predicates.len() < predicates {
            self.predicates.resize(predicates, 0);
        }
        self.fill_constants(launch, callee, bases, block, false);
        self.clear_unset(callee, bases);
        let frame = Frame {
            function,
            parent,
            call_block,
            depth: caller.depth + 1,
            regs32: bases.0,
            regs64: bases.1,
            predicates: bases.2,
            local_base,
        };
        let at = match reused {
            Some(at) => {
                self.frames[at] = frame;
                at
            }
            None => {
                self.frames.push(frame);
                self.frames.len() - 1
            }
        };
        Ok(at as u32)
    }

    /// A frame of a function that no lane is in, nor any function that it has called. It lies above
    /// its new parent, as all do. While each register keeps what it was written by, frames end in
    /// order.
    fn unused_frame(&self, function: u32, parent: u32) -> Option<usize> {
        if self.frames.len() < REUSED_FROM || self.written.is_some() {
            return None;
        }
        let mut is_used = vec![false; self.frames.len()];
        is_used[0] = true;
        for split in &self.splits {
            let mut at = split.frame as usize;
            while !std::mem::replace(&mut is_used[at], true) {
                at = self.frames[at].parent as usize;
            }
        }
        let above = parent as usize + 1;
        let is_unused = |at: &usize| !is_used[*at] && self.frames[*at].function == function;
        (above..self.frames.len()).find(is_unused)
    }

    /// Drops the topmost frames that have no lanes.
    pub(crate) fn pop_frames(&mut self) {
        while self.frames.len() > 1 {
            let top = self.frames.len() as u32 - 1;
            if self.splits.iter().any(|split| split.frame == top) {
                return;
            }
            self.frames.pop();
        }
    }

    /// Partitions a split by the lanes' values; returns the indices of the new splits.
    pub(crate) fn partition<T: PartialEq>(
        &mut self,
        at: usize,
        values: &[T; LANES],
    ) -> impl Iterator<Item = usize> + use<T> {
        let split = self.splits[at];
        let before = self.splits.len();
        let first = split.mask.trailing_zeros() as usize % LANES;
        let all_same = values
            .iter()
            .fold(true, |same, value| same & (*value == values[first]));
        let mut rest = if all_same { 0 } else { split.mask };
        while rest != 0 {
            let first = rest.trailing_zeros() as usize % LANES;
            let mask = collect(|lane| values[lane] == values[first]) & rest;
            if rest == split.mask {
                self.splits[at].mask = mask;
            } else {
                self.splits.push(Split { mask, ..split });
            }
            rest &= !mask;
        }
        std::iter::once(at).chain(before..self.splits.len())
    }

    /// Whether two frames are the same call, which lanes have made at different times: they are of
    /// one function, and return to one place.
    fn are_one_call(&self, one: u32, other: u32) -> bool {
        let key = |frame: u32| {
            let frame = &self.frames[frame as usize];
            (frame.function, frame.parent, frame.call_block)
        };
        one != 0 && other != 0 && self.written.is_none() && key(one) == key(other)
    }

    /// Moves the registers of lanes from one frame to another one of the same function. Local
    /// memory begins at the same place in both.
    fn move_lanes(&mut self, program: &Program, mask: u32, from: u32, to: u32) {
        let function = &program.functions[self.frames[from as usize].function as usize];
        let [from, to] = [from, to].map(|frame| self.frames[frame as usize]);
        for lane in super::warp_ops::lanes(mask) {
            for row in 0..function.regs32 as usize {
                self.regs32[to.regs32 + row][lane] = self.regs32[from.regs32 + row][lane];
            }
            for row in 0..function.regs64 as usize {
                self.regs64[to.regs64 + row][lane] = self.regs64[from.regs64 + row][lane];
            }
        }
        for row in 0..function.predicates as usize {
            let moved = self.predicates[from.predicates + row] & mask;
            let place = &mut self.predicates[to.predicates + row];
            *place = *place & !mask | moved;
        }
    }

    /// Merges ready splits that are at the same block.
    fn merge(&mut self, program: &Program) {
        let mut index = 0;
        while index < self.splits.len() {
            let split = self.splits[index];
            let mut other = index + 1;
            while other < self.splits.len() {
                let candidate = self.splits[other];
                if candidate.block == split.block
                    && (candidate.frame == split.frame
                        || self.are_one_call(candidate.frame, split.frame))
                    && !candidate.state.is_parked()
                    && !split.state.is_parked()
                {
                    if candidate.frame != split.frame {
                        let (from, to) = (candidate.frame, split.frame);
                        self.move_lanes(program, candidate.mask, from, to);
                    }
                    let into = &mut self.splits[index];
                    into.mask |= candidate.mask;
                    into.state = State::Ready;
                    into.turns = into.turns.min(candidate.turns);
                    self.splits.swap_remove(other);
                } else {
                    other += 1;
                }
            }
            index += 1;
        }
    }

    /// Lets lanes go on that have polled in the turn before.
    pub(super) fn poll_again(&mut self) {
        for split in &mut self.splits {
            if split.state == State::Polled {
                split.state = State::Ready;
            }
        }
    }

    /// Sets the state of the split with these lanes.
    pub(super) fn set_state(&mut self, mask: u32, state: State) {
        if let Some(split) = self.splits.iter_mut().find(|split| split.mask == mask) {
            split.state = state;
        }
    }

    /// The split to run next, and the block at which it reaches another one: the deepest frame
    /// first, then the lowest block.
    pub(crate) fn choose(&mut self, program: &Program) -> Option<(usize, u32)> {
        if let [split] = self.splits.as_mut_slice() {
            match split.state {
                State::Ready => return Some((0, u32::MAX)),
                State::Barrier(_)
                | State::Phase(_)
                | State::Cluster
                | State::Warpgroup(_)
                | State::Columns
                | State::Polled => {
                    split.turns = 0;
                    return None;
                }
                State::Members { .. } | State::Met => {}
            }
        }
        if !self.splits.is_empty() && are_plain(&self.splits) {
            return Some(next_of_plain(&mut self.splits));
        }
        self.merge(program);
        let live = self.live;
        for split in &mut self.splits {
            // The number of lanes to wait for has changed: worth another attempt.
            if let State::Members { mask, live: before } = split.state
                && (mask != split.mask || before != live)
            {
                split.state = State::Ready;
            }
        }
        let ready = |split: &&Split| matches!(split.state, State::Ready | State::Met);
        let is_waiting = |split: &&Split| matches!(split.state, State::Members { .. });
        let have_used_shares = |splits: &[Split]| {
            let mut ready = splits.iter().filter(ready);
            ready.all(|split| split.turns >= TURNS)
        };
        // Lanes of one place meet others only where some name other masks than the rest.
        let least = match have_used_shares(&self.splits) {
            true => 1,
            false => 2,
        };
        if self.splits.iter().filter(is_waiting).count() >= least {
            self.meet(program);
        }
        if have_used_shares(&self.splits) {
            for split in &mut self.splits {
                split.turns = 0;
            }
        }
        let frames = &self.frames;
        let (index, chosen) = self
            .splits
            .iter()
            .enumerate()
            .filter(|(_, split)| ready(split) && split.turns < TURNS)
            .min_by_key(|(_, split)| {
                let depth = frames[split.frame as usize].depth;
                (std::cmp::Reverse(depth), split.block)
            })?;
        let limit = self
            .splits
            .iter()
            .filter(|other| other.frame == chosen.frame && other.block > chosen.block)
            .filter(|other| !other.state.is_parked())
            .map(|other| other.block)
            .min();
        Some((index, limit.unwrap_or(u32::MAX)))
    }
}
