//! Cooperative launches: all blocks of the grid are resident and run in turn on one worker, so that
//! they may wait for each other.
//!
//! A block runs until all of its warps wait, or *poll*: read by a strong load what another block
//! may write, in a loop. Then the next one goes on. So what a block does between two barriers of
//! the grid is mostly done without interruption, and a block that polls costs little.

use super::Launch;
use super::barrier::{Barriers, POLL};
use super::block::Worker;
use super::run::Run;
use super::turn::{Round, Turn};
use super::vector::LANES;
use super::warp::Warp;
use super::warp_ops::lanes;
use crate::MAX_RESIDENT_BYTES;
use crate::error::{Fault, LaunchError};
use crate::ir::{Constant, Program, Space, Special};
use crate::launch::LaunchConfig;
use crate::memory::Memory;
use crate::observer::{Event, EventSink};

/// Rounds in which the warps of a block have done nothing but use up their shares, after which
/// another block runs: they may poll by loads that are not recognised as such.
const MAX_SPENT_ROUNDS: u32 = 64;

/// Turns of all blocks in which none has done anything but poll, after which that counts as a
/// deadlock. At the barrier of the grid one suffices.
const MAX_STALLED: u32 = 1 << 16;

/// `grid_workspace` of `cooperative_groups/details/driver_abi.h`: its size, and the barrier.
const WORKSPACE_BYTES: u64 = 8;
const BARRIER_OFFSET: u64 = 4;

/// What a cooperative launch has beyond others.
#[derive(Debug)]
pub(crate) struct Cooperative<'l> {
    memory: &'l Memory,
    /// Address of the workspace of the grid's barrier, if the kernel asks for it.
    workspace: Option<u64>,
}

impl Drop for Cooperative<'_> {
    fn drop(&mut self) {
        if let Some(workspace) = self.workspace {
            // It is an allocation of this launch, so there is nothing to fail.
            _ = self.memory.free(workspace);
        }
    }
}

impl<'l> Cooperative<'l> {
    /// Checks a cooperative launch of blocks with `shared_bytes` bytes of shared memory, and makes
    /// its workspace.
    pub(super) fn new(
        memory: &'l Memory,
        program: &Program,
        config: &LaunchConfig,
        (cluster, shared_bytes): ([u32; 3], u32),
    ) -> Result<Self, LaunchError> {
        if cluster != [1; 3] {
            return Err(LaunchError::CooperativeCluster { cluster });
        }
        let product = |extents: [u32; 3]| {
            let factors = extents.iter().map(|&extent| u64::from(extent));
            factors.fold(1u64, u64::saturating_mul)
        };
        let blocks = product(config.grid);
        let of_block = resident_bytes(program, product(config.block), shared_bytes);
        let bytes = blocks.saturating_mul(of_block);
        if bytes > MAX_RESIDENT_BYTES {
            return Err(LaunchError::CooperativeTooLarge {
                blocks,
                bytes,
                limit: MAX_RESIDENT_BYTES,
            });
        }
        let workspace = match reads_workspace(program) {
            true => Some(new_workspace(memory)?),
            false => None,
        };
        Ok(Cooperative { memory, workspace })
    }

    /// Address of the workspace; 0 where there is none.
    pub(super) fn workspace(&self) -> u64 {
        self.workspace.unwrap_or_default()
    }

    /// Address of the grid's barrier.
    fn barrier(&self) -> Option<u64> {
        self.workspace.map(|workspace| workspace + BARRIER_OFFSET)
    }
}

fn new_workspace(memory: &Memory) -> Result<u64, LaunchError> {
    let workspace = memory
        .alloc(WORKSPACE_BYTES)
        .map_err(LaunchError::Workspace)?;
    let content = WORKSPACE_BYTES.to_le_bytes();
    // The size in the lower half; the barrier in the upper one is zero.
    memory
        .write(workspace, &content)
        .map_err(LaunchError::Workspace)?;
    Ok(workspace)
}

/// Whether a kernel or a function of its module reads the environment registers that hold the
/// address of the workspace.
fn reads_workspace(program: &Program) -> bool {
    let is_wanted =
        |constant: Constant| matches!(constant, Constant::Special(Special::GridWorkspace(_)));
    program.functions.iter().any(|function| {
        let narrow = function.constants32.iter().any(|of| is_wanted(of.1));
        narrow || function.constants64.iter().any(|of| is_wanted(of.1))
    })
}

/// What a block takes while it is resident, without the frames of functions that it calls.
pub(super) fn resident_bytes(program: &Program, threads: u64, shared_bytes: u32) -> u64 {
    let kernel = &program.functions[0];
    let of_lane = 4 * u64::from(kernel.regs32)
        + 8 * u64::from(kernel.regs64)
        + u64::from(kernel.local_bytes).next_multiple_of(4);
    let of_warp = LANES as u64 * of_lane + 4 * u64::from(kernel.predicates);
    let of_warp = of_warp + size_of::<Warp>() as u64;
    let warps = threads.div_ceil(LANES as u64);
    warps * of_warp + Barriers::bytes(warps) + u64::from(shared_bytes)
}

/// What a warp has done in its turn that concerns other blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Polls {
    /// Fuel that is held back, so that the turn ends at the next basic block.
    held: u64,
    /// It has read the barrier of the grid, or anything else by a strong load.
    pub(super) barrier: bool,
    pub(super) other: bool,
    /// It has written by an atomic or a strong store.
    acted: bool,
    /// The lanes that ran last have polled and come to something else than the next basic block.
    goes_on: bool,
    /// The lanes that ran last spin: they have tried in vain to take a lock, or read the same again
    /// and again.
    spins: bool,
    /// What strong loads of the turn have read last.
    seen: [SeenLoad; SEEN_LOADS],
}

/// Strong loads that are remembered: a loop may wait for several places.
const SEEN_LOADS: usize = 4;

/// Most instructions between two loads of one value that count as spinning: what loops do that
/// wait, and few that work.
const MAX_SPIN: u64 = 128;

/// Times that a value is read again before that counts as spinning. Other loops read one a few
/// times as well, and the order of their warps should not depend on values.
const MIN_REPEATS: u32 = 8;

/// Where a strong load, or an atomic that changed nothing, has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadPlace {
    /// Its number.
    pub instruction: usize,
    pub mask: u32,
    /// The address of the first lane.
    pub address: u64,
}

/// What was read there.
#[derive(Clone, Copy, Debug, Default)]
struct SeenLoad {
    place: ReadPlace,
    /// All addresses and what was read, hashed where the place was read before.
    digest: Option<u64>,
    repeats: u32,
    /// What was left of the warp's share.
    fuel: u64,
}

impl Polls {
    /// Gives back the fuel that is held back.
    pub(super) fn release(&mut self) -> u64 {
        std::mem::take(&mut self.held)
    }

    /// Lanes have run and stopped; the fuel that is held back.
    pub(super) fn end_segment(&mut self) -> u64 {
        let held = self.release();
        self.goes_on = held != 0;
        held
    }

    /// Lanes have read something; whether they have done so again and again. `digest` is asked for
    /// where they have read at this place before: most loops that work read elsewhere each time.
    pub(super) fn reads_again(
        &mut self,
        place: ReadPlace,
        digest: impl FnOnce() -> u64,
        fuel: u64,
    ) -> bool {
        let seen = self.seen.iter_mut().find(|seen| seen.place == place);
        let Some(seen) = seen else {
            self.seen.rotate_right(1);
            self.seen[0] = SeenLoad {
                place,
                digest: None,
                repeats: 0,
                fuel,
            };
            return false;
        };
        // The share may have been replenished, which says nothing of a spin.
        let since = seen.fuel.checked_sub(fuel);
        seen.fuel = fuel;
        let digest = Some(digest());
        match seen.digest == digest && since.is_some_and(|since| since <= MAX_SPIN) {
            true => seen.repeats += 1,
            false => seen.repeats = 0,
        }
        seen.digest = digest;
        seen.repeats >= MIN_REPEATS
    }

    /// Another turn begins: the loads of other warps say nothing.
    pub(super) fn forget_loads(&mut self) {
        self.seen = Default::default();
    }

    /// Lanes spin: their turn ends at the next basic block, since what they wait for may be up to
    /// other lanes of the warp.
    pub(super) fn note_spin(&mut self, fuel: &mut u64) {
        self.spins = true;
        self.held += std::mem::take(fuel);
    }

    /// Whether the lanes that ran last spin.
    pub(super) fn end_spin(&mut self) -> bool {
        std::mem::take(&mut self.spins)
    }

    /// Whether the share was taken away, and is not used up.
    pub(super) fn is_held(self) -> bool {
        self.has_polled() || self.spins
    }

    /// Whether the lanes that run have neither polled nor spun in this turn.
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        self.held == 0 && !(self.barrier | self.other | self.spins)
    }

    pub(super) fn goes_on(self) -> bool {
        self.goes_on
    }

    #[inline(always)]
    pub(super) fn has_polled(self) -> bool {
        self.barrier | self.other
    }

    /// Whether it has done nothing but poll.
    pub(super) fn only_polled(self) -> bool {
        self.has_polled() && !self.acted
    }
}

impl Launch<'_> {
    #[inline(always)]
    pub(crate) fn is_cooperative(&self) -> bool {
        self.cooperative.is_some()
    }

    /// Address of the workspace of a cooperative launch whose kernel asks for it, and its bytes.
    pub(super) fn workspace(&self) -> Option<(u64, u64)> {
        let workspace = self.cooperative.as_ref()?.workspace?;
        Some((workspace, WORKSPACE_BYTES))
    }

    /// Whether the blocks wait for the other phase of the grid's barrier: its upper bit.
    fn grid_phase(&self) -> bool {
        let barrier = self.cooperative.as_ref().and_then(Cooperative::barrier);
        let value = barrier.and_then(|address| {
            let allocation = self.allocation(address, 4)?;
            Some(allocation.read((address - allocation.base) as usize, 4))
        });
        value.is_some_and(|value| value >> 31 & 1 != 0)
    }
}

impl<O: EventSink> Run<'_, '_, O> {
    /// Lanes have read by a strong load: in a cooperative launch their warp's turn ends at the next
    /// basic block, since it may poll.
    #[cold]
    #[inline(never)]
    pub(super) fn note_poll(&mut self, space: Space, addresses: &[u64; LANES], mask: u32) {
        let Some(cooperative) = &self.launch.cooperative else {
            return;
        };
        if space != Space::Global {
            return;
        }
        let barrier = cooperative.barrier();
        let is_barrier = lanes(mask).all(|lane| Some(addresses[lane]) == barrier);
        self.polls.barrier |= is_barrier;
        self.polls.other |= !is_barrier;
        self.polls.held += std::mem::take(self.fuel);
    }

    /// Lanes have written by an atomic or a strong store.
    #[cold]
    #[inline(never)]
    pub(super) fn note_action(&mut self) {
        self.polls.acted = true;
        let phase = self.launch.grid_phase();
        if std::mem::replace(self.grid_phase, phase) != phase {
            let kernel = self.launch.kernel;
            self.observer.notify(Event::GridComplete { kernel });
        }
    }
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Runs the blocks of a cooperative launch to their end; whether the launch was stopped.
    pub(super) fn run_grid(&mut self) -> Result<bool, Box<Fault>> {
        let mut stalled = 0;
        loop {
            let mut all = Round::default();
            for rank in 0..self.block_count() {
                if self.has_ended(rank) {
                    continue;
                }
                self.resume(rank);
                if let Turn::Stopped = self.run_until_waiting(&mut all)? {
                    return Ok(true);
                }
            }
            if !all.running {
                return Ok(false);
            }
            if all.progress {
                (stalled, self.runs_ahead) = (0, false);
                continue;
            }
            // A block that computes for long has not stalled, and one that polls uses up its share
            // too.
            if all.spent || !std::mem::replace(&mut self.runs_ahead, true) {
                continue;
            }
            stalled += 1;
            let waits = match (all.polled, all.polled_other) {
                (false, _) => POLL,
                (true, false) => "wait for the barrier of the grid",
                (true, true) if stalled < MAX_STALLED => continue,
                (true, true) => "poll memory that no block changes",
            };
            return Err(self.deadlock(waits));
        }
    }

    /// Runs the block until all of its warps wait or poll.
    fn run_until_waiting(&mut self, all: &mut Round) -> Result<Turn, Box<Fault>> {
        let mut spent = 0;
        loop {
            let mut round = Round::default();
            if let Turn::Stopped = self.run_round(&mut round)? {
                return Ok(Turn::Stopped);
            }
            // An observer that steps sees the blocks in turn.
            let goes_on = !self.observer.steps()
                && (round.progress && (!round.spent || spent < MAX_SPENT_ROUNDS)
                    || !round.progress && self.advance_own()?);
            spent = match round.spent {
                true => spent + 1,
                false => 0,
            };
            all.progress |= round.progress && !round.spent;
            all.spent |= round.spent;
            if !goes_on {
                all.running |= round.running;
                all.polled |= round.polled;
                all.polled_other |= round.polled_other;
                return Ok(Turn::Idle);
            }
        }
    }

    /// Makes the block of a rank the running one, and tells observers.
    fn resume(&mut self, rank: u32) {
        self.switch_to(rank);
        self.observer.notify(Event::BlockResume {
            kernel: self.launch.kernel,
            block: self.block,
        });
    }

    /// Completes the bulk copies of all blocks.
    pub(super) fn finish_blocks(&mut self) -> Result<(), Box<Fault>> {
        for rank in 0..self.block_count() {
            match self.launch.is_cooperative() {
                true => self.resume(rank),
                false => self.switch_to(rank),
            }
            self.finish_all_stores()?;
            self.finish_tensor()?;
        }
        Ok(())
    }
}
