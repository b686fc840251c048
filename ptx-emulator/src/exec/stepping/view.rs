//! What can be seen of a launch that is paused.

use super::super::cluster::Peer;
use super::super::launch::Launch;
use super::super::mbarrier_object::Object;
use super::super::warp::{Split, State, Warp};
use crate::address_space::of_cluster;
use crate::decode;
use crate::error::Fault;
use crate::ir::{InstructionId, NamedRegister, Program, Register, Terminator};
use crate::kernel::Kernel;
use crate::memory::Memory;

/// What is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Index of the block in the grid.
    pub block: [u32; 3],
    /// Rank of the block in its cluster; 0 in a launch without clusters.
    pub rank: u32,
    /// Index of the warp in its block.
    pub warp: u32,
    /// Index of the lanes in [`Paused::groups`] of the warp.
    pub group: usize,
    /// The lanes, one bit each.
    pub lanes: u32,
    /// The instruction that they have not executed yet.
    pub instruction: InstructionId,
}

/// Why lanes do not run, or that they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaneState {
    /// They can run.
    Ready,
    /// They wait for more lanes of the member mask of a `.sync` instruction.
    Members,
    /// They wait at the barrier of the block with this number.
    Barrier(u32),
    /// They wait for a phase of an mbarrier.
    Mbarrier {
        /// Rank of the block whose shared memory holds it.
        rank: u32,
        /// Its address there.
        address: u32,
    },
    /// They wait for the barrier of the cluster.
    Cluster,
}

/// Lanes of a warp that are at one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneGroup {
    /// The lanes, one bit each.
    pub lanes: u32,
    /// The instruction that they execute next, or wait in.
    pub instruction: Option<InstructionId>,
    /// Whether they wait.
    pub state: LaneState,
    /// The calls that lead to the instruction, the innermost first.
    pub calls: Vec<InstructionId>,
    frame: u32,
}

/// A barrier of a block at which lanes have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BarrierState {
    /// Its number.
    pub barrier: u32,
    /// By warp: the lanes that have arrived.
    pub arrived: Vec<u32>,
    /// The threads that it waits for: those that the instruction names, else all that have not
    /// exited.
    pub expected: u32,
}

impl BarrierState {
    /// The threads that have arrived.
    pub fn arrived_threads(&self) -> u32 {
        self.arrived.iter().map(|mask| mask.count_ones()).sum()
    }
}

/// An mbarrier object (PTX ISA, "mbarrier").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MbarrierState {
    /// Parity of the phase that is not complete, 0 or 1.
    pub parity: u32,
    /// Arrivals that the phase still waits for.
    pub pending: u32,
    /// Arrivals that each phase needs.
    pub expected: u32,
    /// Bytes of asynchronous copies that the phase still waits for.
    pub pending_bytes: i64,
}

/// The value of a register in the lanes of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisterValue {
    /// Its name.
    pub name: String,
    /// Its declared type without the dot, such as `b32` or `pred`; `u32` of a special register.
    pub ty: String,
    /// Bits of a value: 1 of a predicate, else 8 to 64.
    pub bits: u32,
    /// By lane, with zeros above the register's bits.
    pub values: [u64; 32],
    /// The lanes in which it has been written.
    pub written: u32,
}

impl RegisterValue {
    /// The value in one lane; none where nothing was written to it yet, or there is no such lane.
    pub fn lane(&self, lane: u32) -> Option<u64> {
        let is_written = self.written.checked_shr(lane).unwrap_or(0) & 1 != 0;
        is_written.then(|| self.values[lane as usize])
    }
}

/// A block that has begun and not ended.
#[derive(Clone, Copy)]
pub(super) struct Resident<'a> {
    pub(super) warps: &'a [Warp],
    pub(super) shared: &'a [u32],
    pub(super) barriers: &'a [super::super::barrier::BarrierState],
    pub(super) block: [u32; 3],
}

/// A launch that is paused: before a step, or at a fault.
///
/// Blocks run one after the other, or those of a cluster in turn; a block of the cluster is named
/// by its rank. Methods give `None`, or nothing, for a rank, warp or name that there is not.
pub struct Paused<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) running: Resident<'a>,
    pub(super) rank: u32,
    pub(super) peers: &'a [Peer],
    pub(super) step: Option<Step>,
    pub(super) fault: Option<&'a Fault>,
}

impl<'a> Paused<'a> {
    /// The kernel.
    pub fn kernel(&self) -> &'a Kernel {
        self.launch.kernel
    }

    /// Global memory; the module's variables are in it.
    pub fn memory(&self) -> &'a Memory {
        self.launch.memory
    }

    /// Blocks of the grid.
    pub fn grid(&self) -> [u32; 3] {
        self.launch.grid
    }

    /// Threads of a block.
    pub fn block_extents(&self) -> [u32; 3] {
        self.launch.block
    }

    /// What runs next; none at a fault.
    pub fn step(&self) -> Option<Step> {
        self.step
    }

    /// The fault that has ended the launch.
    pub fn fault(&self) -> Option<&'a Fault> {
        self.fault
    }

    /// The blocks that have begun and not ended, by rank.
    pub fn blocks(&self) -> Vec<[u32; 3]> {
        let ranks = 0..self.peers.len().max(1) as u32;
        ranks.filter_map(|rank| Some(self.resident(rank)?.block)).collect()
    }

    /// The rank of the block that runs.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.launch.threads.div_ceil(32)
    }

    /// The lanes of a warp that have not exited.
    pub fn live(&self, rank: u32, warp: u32) -> u32 {
        self.warp(rank, warp).map_or(0, |warp| warp.live)
    }

    /// The lanes of a warp that have not exited, by where they are.
    pub fn groups(&self, rank: u32, warp: u32) -> Vec<LaneGroup> {
        let Some(warp) = self.warp(rank, warp) else {
            return Vec::new();
        };
        let group = |split: &Split| LaneGroup {
            lanes: split.mask,
            instruction: self.program().instruction_of(split.block),
            state: match split.state {
                State::Ready => LaneState::Ready,
                State::Members { .. } => LaneState::Members,
                State::Barrier(id) => LaneState::Barrier(id),
                State::Phase(address) => {
                    let (of, address) = of_cluster(address);
                    // Within a block addresses do not name its rank.
                    let rank = if of == 0 { rank } else { of as u32 };
                    LaneState::Mbarrier {
                        rank,
                        address: address as u32,
                    }
                }
                State::Cluster => LaneState::Cluster,
            },
            calls: self.calls(warp, split.frame),
            frame: split.frame,
        };
        warp.splits.iter().map(group).collect()
    }

    /// The registers that the text declares around the instruction of some lanes and uses, in the
    /// order of their names; none of a kernel that is not decoded for stepping.
    pub fn registers(&self, rank: u32, warp: u32, group: &LaneGroup) -> Vec<RegisterValue> {
        let all = self.visible(group).into_iter();
        all.filter_map(|register| self.value(rank, warp, group, register))
            .collect()
    }

    /// A register by its name, or a special register: `%r1`, `%tid.x`.
    pub fn register(
        &self,
        rank: u32,
        warp: u32,
        group: &LaneGroup,
        name: &str,
    ) -> Option<RegisterValue> {
        let found = self.visible(group);
        let found = found.into_iter().find(|register| register.name == name);
        match found {
            Some(register) => self.value(rank, warp, group, register),
            None => self.special(rank, warp, name),
        }
    }

    /// The barriers of a block at which lanes have arrived that wait for others.
    pub fn barriers(&self, rank: u32) -> Vec<BarrierState> {
        let Some(resident) = self.resident(rank) else {
            return Vec::new();
        };
        let live = resident.warps.iter().map(|warp| warp.live.count_ones());
        let live: u32 = live.sum();
        let all = (0..).zip(resident.barriers);
        all.filter(|(_, barrier)| barrier.in_use)
            .map(|(id, barrier)| BarrierState {
                barrier: id,
                arrived: barrier.arrived.clone(),
                expected: barrier.threads.unwrap_or(live),
            })
            .collect()
    }

    /// Bytes of a block's shared memory.
    pub fn shared_bytes(&self) -> u32 {
        self.launch.shared_bytes
    }

    /// A byte of a block's shared memory.
    pub fn shared_byte(&self, rank: u32, address: u32) -> Option<u8> {
        if address >= self.launch.shared_bytes {
            return None;
        }
        let word = self.resident(rank)?.shared.get(address as usize / 4)?;
        Some(word.to_le_bytes()[address as usize % 4])
    }

    /// The mbarrier at an address of a block's shared memory; none where there is no valid one.
    pub fn mbarrier(&self, rank: u32, address: u32) -> Option<MbarrierState> {
        if !address.is_multiple_of(8) {
            return None;
        }
        let mut bytes = [0; 8];
        for (at, byte) in (0..).zip(&mut bytes) {
            *byte = self.shared_byte(rank, address.checked_add(at)?)?;
        }
        let object = Object::unpack(u64::from_le_bytes(bytes))?;
        Some(MbarrierState {
            parity: object.parity as u32,
            pending: object.pending as u32,
            expected: object.expected as u32,
            pending_bytes: object.bytes,
        })
    }

    fn program(&self) -> &'a Program {
        &self.launch.kernel.0.program
    }

    fn resident(&self, rank: u32) -> Option<Resident<'a>> {
        if rank == self.rank {
            return Some(self.running);
        }
        let peer = self.peers.get(rank as usize)?;
        Some(Resident {
            warps: &peer.warps,
            shared: &peer.shared,
            barriers: &peer.barriers,
            block: peer.block,
        })
    }

    fn warp(&self, rank: u32, warp: u32) -> Option<&'a Warp> {
        self.resident(rank)?.warps.get(warp as usize)
    }

    fn calls(&self, warp: &Warp, frame: u32) -> Vec<InstructionId> {
        let blocks = &self.program().blocks;
        let (mut calls, mut at) = (Vec::new(), frame);
        while let Some(frame) = warp.frames.get(at as usize).filter(|_| at != 0) {
            let info = blocks[frame.call_block as usize].terminator_info;
            calls.extend(info.map(InstructionId));
            at = frame.parent;
        }
        calls
    }

    /// The innermost register of each name around the lanes' instruction.
    fn visible(&self, group: &LaneGroup) -> Vec<&'a NamedRegister> {
        let (Some(symbols), Some(at)) = (&self.program().symbols, group.instruction) else {
            return Vec::new();
        };
        let around = |register: &&NamedRegister| register.scope.contains(&at.0);
        let mut visible: Vec<&NamedRegister> = Vec::new();
        // Inner scopes end, and are noted, before outer ones.
        for register in symbols.registers.iter().filter(around) {
            if !visible.iter().any(|inner| inner.name == register.name) {
                visible.push(register);
            }
        }
        visible
    }

    fn value(
        &self,
        rank: u32,
        warp: u32,
        group: &LaneGroup,
        named: &NamedRegister,
    ) -> Option<RegisterValue> {
        let warp = self.warp(rank, warp)?;
        let frame = warp.frames.get(group.frame as usize)?;
        let bases = (frame.regs32, frame.regs64, frame.predicates);
        let (bits, values) = match named.register {
            Register::Reg32(reg) => {
                let row = warp.regs32.get(bases.0 + reg.0 as usize)?;
                (8 * named.ty.bytes(), row.map(u64::from))
            }
            Register::Reg64(reg) => (64, *warp.regs64.get(bases.1 + reg.0 as usize)?),
            Register::Predicate(predicate) => {
                let bits = *warp.predicates.get(bases.2 + predicate.0 as usize)?;
                (1, std::array::from_fn(|lane| u64::from(bits >> lane & 1)))
            }
        };
        let written = warp.written.as_ref();
        Some(RegisterValue {
            name: named.name.clone(),
            ty: format!("{:?}", named.ty).to_ascii_lowercase(),
            bits,
            values: values.map(|value| value & (u64::MAX >> (64 - bits.clamp(1, 64)))),
            written: written.map_or(0, |written| written.lanes(named.register, bases)),
        })
    }

    fn special(&self, rank: u32, warp: u32, name: &str) -> Option<RegisterValue> {
        let special = decode::special_register(name)?;
        let block = self.resident(rank)?.block;
        (warp < self.warps()).then(|| RegisterValue {
            name: name.to_owned(),
            ty: "u32".to_owned(),
            bits: 32,
            values: std::array::from_fn(|lane| {
                self.launch.special(special, 32 * warp + lane as u32, block)
            }),
            written: u32::MAX,
        })
    }
}

impl Program {
    /// The PTX instruction that a block starts, if it starts one.
    pub(super) fn first_instruction(&self, block: u32) -> Option<InstructionId> {
        let block = self.blocks.get(block as usize)?;
        let code = &self.code[block.start as usize..block.end as usize];
        let info = match code.first() {
            Some(inst) => inst.first.then_some(inst.info),
            None => block.terminator_info,
        };
        info.map(InstructionId)
    }

    /// The PTX instruction that lanes at a block are at.
    fn instruction_of(&self, mut block: u32) -> Option<InstructionId> {
        // Blocks without an instruction lead on; they are few in a row.
        for _ in 0..64 {
            let current = self.blocks.get(block as usize)?;
            let code = &self.code[current.start as usize..current.end as usize];
            if let Some(inst) = code.first() {
                return Some(InstructionId(inst.info));
            }
            if let Some(info) = current.terminator_info {
                return Some(InstructionId(info));
            }
            block = match current.terminator {
                Terminator::Jump(next) => next,
                Terminator::Branch { taken, .. } => taken,
                _ => return None,
            };
        }
        None
    }
}
