//! A worker runs blocks one after the other: its warps take turns and synchronise at barriers.

use std::collections::VecDeque;

use super::Launch;
use super::access_pattern::AccessPattern;
use super::barrier::{Barriers, POLL};
use super::cluster::{ClusterBarrier, Peer, shared_memory};
use super::cooperative::Polls;
use super::lane_offsets::LaneOffsets;
use super::mbarrier::AwaitedCopy;
use super::parked::{Activity, Halt, Patience};
use super::run::RawFault;
use super::stepping::Stepping;
use super::tensor::PendingBulk;
use super::tensor_memory::TensorMemory;
use super::turn::{Round, Turn};
use super::warp::Warp;
use super::workers::Others;
use crate::aligned::Aligned;
use crate::error::Fault;
use crate::ir::{Calls, InstructionId, Program};
use crate::observer::{Event, EventSink};

/// Rounds in which the warps of a block do nothing but spin, after which it is put aside. Under an
/// observer of accesses that takes a quantum.
const MAX_SPUN_ROUNDS: u32 = 4;

pub(crate) struct Worker<'w, 'l, O> {
    pub(super) launch: &'w Launch<'l>,
    pub(super) observer: &'w mut O,
    pub(super) warps: Vec<Warp>,
    pub(super) shared: Aligned<u32>,
    pub(super) patterns: Vec<AccessPattern>,
    pub(super) lane_offsets: Vec<LaneOffsets>,
    pub(super) visit: u64,
    pub(super) barriers: Barriers,
    /// Copies that are written when the phase of their mbarrier is complete.
    pub(super) awaited: Vec<AwaitedCopy>,
    /// Bulk copies that have been issued.
    pub(super) bulk: VecDeque<PendingBulk>,
    /// How often waits for mbarriers have reached their time limit since the last phase or bulk
    /// copy was complete.
    pub(super) expired: u32,
    /// Its tensor memory, once it has used any.
    pub(super) tensor: Option<Box<TensorMemory>>,
    pub(super) fuel: u64,
    pub(super) granted: u64,
    pub(super) clock_reads: u64,
    /// What the group that runs has printed.
    pub(super) printed: Vec<u8>,
    pub(super) block: [u32; 3],
    /// The block in its group: the cluster, or the grid of a cooperative launch.
    pub(super) rank: u32,
    /// By rank: the blocks of the group that are not running. Empty where a group is one block.
    pub(super) peers: Vec<Peer>,
    pub(super) cluster_barrier: ClusterBarrier,
    /// The group that runs.
    pub(super) group_index: u64,
    /// When blocks are put aside that may wait for others, if they are.
    pub(super) patience: Option<Patience>,
    pub(super) activity: Activity,
    pub(super) polls: Polls,
    /// Of a cooperative launch: whether other lanes of a warp go on while some poll. They do so
    /// only where nothing else goes on, since lanes that poll are awaited where they join the
    /// others.
    pub(super) runs_ahead: bool,
    /// Of a cooperative launch: the phase of the grid's barrier.
    pub(super) grid_phase: bool,
    /// What an observer that steps has asked for.
    pub(super) stepping: Stepping,
    /// What starts the other workers of the launch, until it has.
    pub(super) others: Option<Others<'w>>,
}

impl<'w, 'l, O: EventSink> Worker<'w, 'l, O> {
    pub(crate) fn new(launch: &'w Launch<'l>, observer: &'w mut O) -> Self {
        let program = &launch.kernel.0.program;
        let count = launch.threads.div_ceil(32);
        let blocks = launch.group_blocks();
        let peers = match blocks {
            1 => Vec::new(),
            _ => std::iter::once(Peer::vacant())
                .chain((1..blocks).map(|_| Peer::new(launch)))
                .collect(),
        };
        Worker {
            launch,
            observer,
            warps: (0..count).map(|index| Warp::new(launch, index)).collect(),
            shared: shared_memory(launch),
            patterns: AccessPattern::of_program(program),
            lane_offsets: LaneOffsets::of_program(program),
            visit: 0,
            barriers: Barriers::new(count),
            awaited: Vec::new(),
            bulk: VecDeque::new(),
            expired: 0,
            tensor: None,
            fuel: 0,
            granted: 0,
            clock_reads: 0,
            printed: Vec::new(),
            block: [0; 3],
            rank: 0,
            peers,
            cluster_barrier: ClusterBarrier::new((count * launch.cluster_blocks()) as usize),
            group_index: 0,
            patience: None,
            activity: Activity::default(),
            polls: Polls::default(),
            runs_ahead: false,
            grid_phase: false,
            stepping: Stepping::default(),
            others: None,
        }
    }

    pub(super) fn program(&self) -> &'w Program {
        &self.launch.kernel.0.program
    }

    /// Returns the instructions issued.
    pub(crate) fn issued(&self) -> u64 {
        self.granted - self.fuel
    }

    /// Runs a group of blocks from start to end: one block, a cluster, or the grid of a cooperative
    /// launch. `first` is its first block.
    pub(super) fn run_group(&mut self, index: u64, first: [u32; 3]) -> Result<Halt, Box<Fault>> {
        let launch = self.launch;
        self.group_index = index;
        self.expired = 0;
        self.cluster_barrier.reset();
        self.each_block(|this, rank| this.begin(launch.block_of_group(first, rank)));
        launch.level_fuel(&mut self.fuel, &mut self.granted);
        self.each_block(|this, _| {
            this.observer.notify(Event::BlockStart {
                kernel: launch.kernel,
                block: this.block,
            })
        });
        self.run_on()
    }

    /// Runs the blocks of the group until they end or are put aside.
    pub(super) fn run_on(&mut self) -> Result<Halt, Box<Fault>> {
        let launch = self.launch;
        let stopped = match launch.is_cooperative() {
            true => self.run_grid()?.then_some(Halt::Ended),
            false => self.run_blocks()?,
        };
        if let Some(halt) = stopped {
            return Ok(halt);
        }
        self.finish_blocks()?;
        self.each_block(|this, _| {
            this.observer.notify(Event::BlockEnd {
                kernel: launch.kernel,
                block: this.block,
            })
        });
        Ok(Halt::Ended)
    }

    /// Runs the blocks of a cluster, or one block, to their end, unless the launch was stopped or
    /// the block should be put aside.
    fn run_blocks(&mut self) -> Result<Option<Halt>, Box<Fault>> {
        self.note_start();
        let mut spun = 0;
        loop {
            let mut round = Round::default();
            for rank in 0..self.block_count() {
                self.switch_to(rank);
                if let Turn::Stopped = self.run_round(&mut round)? {
                    return Ok(Some(Halt::Ended));
                }
            }
            if !round.running {
                return Ok(None);
            }
            if !round.progress {
                match self.advance_any_bulk()? {
                    true => self.expired = 0,
                    false if self.expire_waits() => {}
                    false => return Err(self.deadlock(POLL)),
                }
            }
            spun = if round.worked { 0 } else { spun + 1 };
            if self.is_due() || spun == MAX_SPUN_ROUNDS && self.patience == Some(Patience::Short) {
                return Ok(Some(Halt::PutAside));
            }
        }
    }

    /// Makes everything ready for a block.
    fn begin(&mut self, block: [u32; 3]) {
        self.block = block;
        self.shared.fill(0);
        self.awaited.clear();
        self.bulk.clear();
        self.tensor = None;
        self.barriers.reset();
        for warp in &mut self.warps {
            warp.start(self.launch, block);
        }
    }

    /// Gives each warp of the block a turn.
    pub(super) fn run_round(&mut self, round: &mut Round) -> Result<Turn, Box<Fault>> {
        if self.observer.steps() {
            return self.step_round(round);
        }
        for warp in 0..self.warps.len() {
            match self.run_warp(warp)? {
                Turn::Stopped => return Ok(Turn::Stopped),
                turn => round.add(turn, self.polls),
            }
            if self.others.is_some() {
                self.start_others();
            }
            round.running |= self.warps[warp].live != 0;
        }
        Ok(Turn::Idle)
    }

    pub(super) fn fault(
        &self,
        raw: RawFault,
        warp: Option<usize>,
        info: Option<u32>,
    ) -> Box<Fault> {
        let kernel = self.launch.kernel;
        let known = info.filter(|&info| (info as usize) < kernel.instruction_count());
        let instruction = known.map(|info| kernel.instruction(InstructionId(info)));
        let thread = match (warp, raw.lane) {
            (Some(warp), Some(lane)) => {
                let linear = 32 * warp as u32 + lane as u32;
                let [x, y, _] = self.launch.block;
                Some([linear % x, linear / x % y, linear / x / y])
            }
            _ => None,
        };
        Box::new(Fault {
            kind: raw.kind,
            kernel: kernel.name().to_string(),
            id: known.map(InstructionId),
            instruction: instruction.map(|instruction| {
                // One line, whatever the layout of the text.
                let words: Vec<&str> = instruction.text().split_whitespace().collect();
                words.join(" ")
            }),
            line: instruction.map(|instruction| instruction.line()),
            location: instruction.and_then(|instruction| instruction.location()),
            block: self.block,
            thread,
            waiting: None,
            calls: Calls::NONE,
        })
    }
}
