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
use crate::stepping::{
    BlockBarrier, LaneGroup, LaneState, MbarrierState, Paused, RegisterValue, Step,
};

/// A block that has begun and not ended.
#[derive(Clone, Copy)]
pub(super) struct Resident<'a> {
    pub(super) warps: &'a [Warp],
    pub(super) shared: &'a [u32],
    pub(super) barriers: &'a super::super::barrier::Barriers,
    pub(super) block: [u32; 3],
}

/// A launch that is paused.
pub(super) struct View<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) running: Resident<'a>,
    pub(super) rank: u32,
    pub(super) peers: &'a [Peer],
    pub(super) step: Option<Step>,
    pub(super) fault: Option<&'a Fault>,
}

impl Paused for View<'_> {
    fn kernel(&self) -> &Kernel {
        self.launch.kernel
    }

    fn memory(&self) -> &Memory {
        self.launch.memory
    }

    fn grid(&self) -> [u32; 3] {
        self.launch.grid
    }

    fn block_extents(&self) -> [u32; 3] {
        self.launch.block
    }

    fn params(&self) -> &[u8] {
        &self.launch.params
    }

    fn step(&self) -> Option<Step> {
        self.step
    }

    fn fault(&self) -> Option<&Fault> {
        self.fault
    }

    fn blocks(&self) -> Vec<[u32; 3]> {
        let ranks = 0..self.peers.len().max(1) as u32;
        ranks
            .filter_map(|rank| Some(self.resident(rank)?.block))
            .collect()
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn warps(&self) -> u32 {
        self.launch.threads.div_ceil(32)
    }

    fn live(&self, rank: u32, warp: u32) -> u32 {
        self.warp(rank, warp).map_or(0, |warp| warp.live)
    }

    fn groups(&self, rank: u32, warp: u32) -> Vec<LaneGroup> {
        let Some(warp) = self.warp(rank, warp) else {
            return Vec::new();
        };
        let group = |split: &Split| LaneGroup {
            lanes: split.mask,
            instruction: self.program().instruction_of(split.block),
            state: match split.state {
                State::Ready | State::Met | State::Polled => LaneState::Ready,
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
                State::Warpgroup(_) => LaneState::Warpgroup,
                State::Columns => LaneState::TensorColumns,
            },
            calls: self.calls(warp, split.frame),
            frame: split.frame,
        };
        warp.splits.iter().map(group).collect()
    }

    fn registers(&self, rank: u32, warp: u32, group: &LaneGroup) -> Vec<RegisterValue> {
        let all = self.visible(group).into_iter();
        all.filter_map(|register| self.value(rank, warp, group, register))
            .collect()
    }

    fn register(
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

    fn barriers(&self, rank: u32) -> Vec<BlockBarrier> {
        let Some(resident) = self.resident(rank) else {
            return Vec::new();
        };
        let live = resident.warps.iter().map(|warp| warp.live.count_ones());
        let live: u32 = live.sum();
        let in_use = resident.barriers.in_use();
        in_use
            .map(|(id, barrier)| BlockBarrier {
                barrier: id,
                arrived: barrier.arrived.clone(),
                expected: barrier.threads.unwrap_or(live),
            })
            .collect()
    }

    fn shared_bytes(&self) -> u32 {
        self.launch.shared_bytes
    }

    fn shared_byte(&self, rank: u32, address: u32) -> Option<u8> {
        if address >= self.launch.shared_bytes {
            return None;
        }
        let word = self.resident(rank)?.shared.get(address as usize / 4)?;
        Some(word.to_le_bytes()[address as usize % 4])
    }

    fn mbarrier(&self, rank: u32, address: u32) -> Option<MbarrierState> {
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
}

impl<'a> View<'a> {
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
