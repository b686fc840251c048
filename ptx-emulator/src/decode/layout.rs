//! Puts a function's blocks into the order in which warps reconverge, and into the program.
//!
//! The executor always advances the lanes at the lowest block. With every loop contiguous and every
//! forward edge going up, lanes that wait at a higher block are joined by the others before any of
//! them runs past it. Lanes that end an iteration of a loop at different blocks must not start the
//! next one apart: such loops get a block that all iterations end with.

use std::ops::Range;

use super::allocate::{self, Numbering};
use super::builder::{BlockDraft, Builder};
use super::mentions::Mentions;
use super::registers::{Role, Visitor};
use super::{groups, symbols, used};
use crate::ir::{
    AddressBase, Block, Constant, Function, Op, Program, Reg32, Register, Terminator, Ternary,
};

/// Blocks that control may go to.
pub(crate) fn successors(terminator: &Terminator) -> impl Iterator<Item = u32> {
    let (next, all): ([Option<u32>; 2], &[u32]) = match terminator {
        Terminator::Jump(next) => ([Some(*next), None], &[]),
        Terminator::Branch { taken, next, .. } => ([Some(*taken), Some(*next)], &[]),
        Terminator::Switch { targets, .. } => ([None, None], targets),
        Terminator::Call(call) => ([Some(call.next), None], &[]),
        Terminator::Barrier(barrier) => ([Some(barrier.next), None], &[]),
        Terminator::BarrierObject(object) => ([Some(object.next), None], &[]),
        Terminator::BulkCopy(copy) => ([Some(copy.next), None], &[]),
        Terminator::Tensor(instruction) => ([Some(instruction.next), None], &[]),
        Terminator::BulkWait { next, .. }
        | Terminator::WarpgroupWait { next, .. }
        | Terminator::ClusterArrive { next }
        | Terminator::ClusterWait { next } => ([Some(*next), None], &[]),
        Terminator::Return | Terminator::Exit | Terminator::Trap => ([None, None], &[]),
    };
    next.into_iter().flatten().chain(all.iter().copied())
}

/// The successors of a block.
fn next_blocks(draft: &BlockDraft) -> impl Iterator<Item = u32> {
    let terminator = draft.terminator.iter();
    terminator.flat_map(|(terminator, _)| successors(terminator))
}

/// The successors of all blocks, in one list after the other.
pub(super) struct Edges {
    /// Where the list of each block starts, and the end of the last.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Edges {
    pub(super) fn of(blocks: &[BlockDraft]) -> Self {
        let mut edges = Edges {
            starts: Vec::with_capacity(blocks.len() + 2),
            targets: Vec::with_capacity(2 * blocks.len()),
        };
        edges.starts.push(0);
        for draft in blocks {
            edges.add_block(next_blocks(draft));
        }
        edges
    }

    fn add_block(&mut self, next: impl IntoIterator<Item = u32>) {
        next.into_iter().for_each(|block| self.targets.push(block));
        self.starts.push(self.targets.len() as u32);
    }

    fn range(&self, block: u32) -> Range<usize> {
        let at = block as usize;
        self.starts[at] as usize..self.starts[at + 1] as usize
    }

    pub(super) fn of_block(&self, block: u32) -> &[u32] {
        &self.targets[self.range(block)]
    }

    fn of_block_mut(&mut self, block: u32) -> &mut [u32] {
        let range = self.range(block);
        &mut self.targets[range]
    }
}

pub(super) fn redirect(terminator: &mut Terminator, map: impl Fn(u32) -> u32) {
    match terminator {
        Terminator::Jump(next) => *next = map(*next),
        Terminator::Branch { taken, next, .. } => {
            *taken = map(*taken);
            *next = map(*next);
        }
        Terminator::Switch { targets, .. } => {
            for target in targets {
                *target = map(*target);
            }
        }
        Terminator::Call(call) => call.next = map(call.next),
        Terminator::Barrier(barrier) => barrier.next = map(barrier.next),
        Terminator::BarrierObject(object) => object.next = map(object.next),
        Terminator::BulkCopy(copy) => copy.next = map(copy.next),
        Terminator::Tensor(instruction) => instruction.next = map(instruction.next),
        Terminator::BulkWait { next, .. }
        | Terminator::WarpgroupWait { next, .. }
        | Terminator::ClusterArrive { next }
        | Terminator::ClusterWait { next } => *next = map(*next),
        Terminator::Return | Terminator::Exit | Terminator::Trap => {}
    }
}

/// The real target of a jump to a block: blocks that only jump on, and belong to no PTX
/// instruction, are skipped.
fn final_target(blocks: &[BlockDraft], mut block: u32) -> u32 {
    for _ in 0..blocks.len() {
        let draft = &blocks[block as usize];
        match draft.terminator {
            Some((Terminator::Jump(next), None))
                if draft.insts.is_empty() && draft.members.is_none() && next != block =>
            {
                block = next;
            }
            _ => return block,
        }
    }
    block
}

/// Joins blocks that only follow each other.
fn merge_chains(blocks: &mut [BlockDraft]) {
    let targets: Vec<u32> = (0..blocks.len() as u32)
        .map(|block| final_target(blocks, block))
        .collect();
    let mut predecessors = vec![0u32; blocks.len()];
    predecessors[0] = 1;
    for draft in blocks.iter_mut() {
        if let Some((terminator, _)) = &mut draft.terminator {
            redirect(terminator, |block| targets[block as usize]);
        }
    }
    // Unreachable blocks must not take in reachable ones.
    let reachable = reachable(blocks);
    for &block in &reachable {
        for next in next_blocks(&blocks[block as usize]) {
            predecessors[next as usize] += 1;
        }
    }
    for block in reachable.into_iter().map(|block| block as usize) {
        // A block with a member mask holds one operation and is not merged.
        while blocks[block].members.is_none()
            && let Some((Terminator::Jump(next), None)) = blocks[block].terminator
        {
            let next = next as usize;
            if next == block || predecessors[next] != 1 || blocks[next].members.is_some() {
                break;
            }
            let mut tail = std::mem::take(&mut blocks[next]);
            // What remains of it is never reached; it must not look like a jump.
            blocks[next].terminator = Some((Terminator::Trap, None));
            blocks[block].insts.append(&mut tail.insts);
            blocks[block].terminator = tail.terminator;
        }
    }
}

fn reachable(blocks: &[BlockDraft]) -> Vec<u32> {
    let mut seen = vec![false; blocks.len()];
    let mut pending = vec![0];
    let mut all = Vec::new();
    while let Some(block) = pending.pop() {
        if std::mem::replace(&mut seen[block as usize], true) {
            continue;
        }
        all.push(block);
        next_blocks(&blocks[block as usize]).for_each(|block| pending.push(block));
    }
    all
}

/// Order of the reachable blocks: a weak topological order (Bourdoncle 1993), in which every loop
/// is contiguous, starts with its header and has one block from which it goes back there: one is
/// added where there are several.
fn reconvergence_order(blocks: &mut Vec<BlockDraft>) -> Vec<u32> {
    enum Item {
        Block(u32),
        Region(Vec<u32>),
        /// Its header comes first, and is ordered already.
        Loop(Vec<u32>),
    }
    let mut edges = Edges::of(blocks);
    let mut visits = vec![Visit::default(); blocks.len()];
    let mut regions = 0;
    let mut order = Vec::with_capacity(blocks.len());
    let mut pending = vec![Item::Region(reachable(blocks))];
    while let Some(item) = pending.pop() {
        let members = match item {
            Item::Block(block) => {
                order.push(block);
                continue;
            }
            Item::Region(members) => members,
            Item::Loop(mut members) => {
                members.extend(join_rounds(blocks, &mut edges, &members));
                visits.resize(blocks.len(), Visit::default());
                members.remove(0);
                members
            }
        };
        regions += 1;
        for &block in &members {
            visits[block as usize] = Visit {
                region: regions,
                ..Visit::default()
            };
        }
        // Components come out in reverse topological order, which is the order for a stack.
        components(&edges, &mut visits, &members, |component| {
            let header = component[0];
            if component.len() > 1 {
                pending.push(Item::Loop(component.to_vec()));
            }
            pending.push(Item::Block(header));
        });
    }
    order
}

/// Makes the edges of a loop back to its header, its first block, go through a block of their own
/// if there are several; returns that.
fn join_rounds(blocks: &mut Vec<BlockDraft>, edges: &mut Edges, members: &[u32]) -> Option<u32> {
    let header = members[0];
    let ends = members.iter().copied();
    let ends: Vec<u32> = ends
        .filter(|&block| edges.of_block(block).contains(&header))
        .collect();
    if ends.len() < 2 {
        return None;
    }
    let last = blocks.len() as u32;
    blocks.push(BlockDraft {
        terminator: Some((Terminator::Jump(header), None)),
        ..BlockDraft::default()
    });
    edges.add_block([header]);
    for end in ends {
        let back = |block: u32| if block == header { last } else { block };
        if let Some((terminator, _)) = &mut blocks[end as usize].terminator {
            redirect(terminator, back);
        }
        for edge in edges.of_block_mut(end) {
            *edge = back(*edge);
        }
    }
    Some(last)
}

/// State of a block in the search for components.
#[derive(Clone, Copy, Default)]
struct Visit {
    /// The region that the block belongs to; edges count only within a region.
    region: u32,
    /// Its number in the order of discovery, from 1 on; 0 before.
    number: u32,
    /// The lowest number of a block on the stack that is known to be reachable from it.
    low: u32,
    on_stack: bool,
}

/// Finds the strongly connected components of one region (Tarjan 1972), each with its header first;
/// in reverse topological order.
fn components(edges: &Edges, visits: &mut [Visit], members: &[u32], mut found: impl FnMut(&[u32])) {
    let mut counter = 0;
    let mut stack = Vec::new();
    let mut path: Vec<(u32, usize)> = Vec::new();
    for &root in members {
        if visits[root as usize].number != 0 {
            continue;
        }
        let mut entered = Some(root);
        loop {
            if let Some(block) = entered.take() {
                counter += 1;
                let visit = &mut visits[block as usize];
                (visit.number, visit.low, visit.on_stack) = (counter, counter, true);
                stack.push(block);
                path.push((block, 0));
            }
            let Some((block, edge)) = path.last_mut() else {
                break;
            };
            let block = *block as usize;
            if let Some(&next) = edges.of_block(block as u32).get(*edge) {
                *edge += 1;
                let to = visits[next as usize];
                if to.region != visits[block].region {
                    continue;
                }
                if to.number == 0 {
                    entered = Some(next);
                } else if to.on_stack {
                    visits[block].low = visits[block].low.min(to.number);
                }
                continue;
            }
            path.pop();
            let Visit { number, low, .. } = visits[block];
            if let Some(&(parent, _)) = path.last() {
                let parent = &mut visits[parent as usize];
                parent.low = parent.low.min(low);
            }
            if number == low {
                let start = stack.iter().rposition(|&other| other as usize == block);
                let start = start.unwrap_or(0);
                for &member in &stack[start..] {
                    visits[member as usize].on_stack = false;
                }
                found(&stack[start..]);
                stack.truncate(start);
            }
        }
    }
}

/// Orders, allocates and appends the builder's blocks; returns the function.
pub(super) fn finish(mut builder: Builder<'_, '_>, params: Vec<Reg32>) -> Function {
    for draft in &mut builder.blocks {
        if draft.terminator.is_none() {
            draft.terminator = Some((Terminator::Return, None));
        }
    }
    merge_chains(&mut builder.blocks);
    let order = reconvergence_order(&mut builder.blocks);
    let is_of_block = |constant: Constant| !constant.is_of_launch();
    builder.constants32.sort_by_key(|of| is_of_block(of.1));
    builder.constants64.sort_by_key(|of| is_of_block(of.1));
    let block_constants = [
        builder.constants32.partition_point(|of| !is_of_block(of.1)),
        builder.constants64.partition_point(|of| !is_of_block(of.1)),
    ];
    let mut function = Function {
        entry: 0,
        regs32: builder.regs32,
        regs64: builder.regs64,
        predicates: builder.predicates,
        constants32: builder.constants32,
        constants64: builder.constants64,
        block_constants,
        predicate_constants: builder.predicate_constants,
        unset: Vec::new(),
        local_bytes: builder.local_bytes,
        params,
        results: builder.results,
    };
    let program = builder.program;
    let mut drafts: Vec<BlockDraft> = Vec::with_capacity(order.len());
    let mut place = vec![0u32; builder.blocks.len()];
    for (index, &block) in order.iter().enumerate() {
        place[block as usize] = index as u32;
        drafts.push(std::mem::take(&mut builder.blocks[block as usize]));
    }
    for draft in &mut drafts {
        if let Some((terminator, _)) = &mut draft.terminator {
            redirect(terminator, |block| place[block as usize]);
        }
    }
    if program.symbols.is_some() {
        drafts = symbols::split(drafts);
    }
    let numbering = Numbering::new(&function);
    let mentions = Mentions::of(&mut drafts, program, &numbering);
    used::mark(&function, &drafts, program, &numbering, &mentions);
    allocate::allocate(&mut function, &mut drafts, program, &numbering, &mentions);
    let mut known = Known::of(&function);
    for draft in &mut drafts {
        number_lane_offsets(draft, program, &mut known);
        groups::note(draft, program);
    }
    let base = program.blocks.len() as u32;
    function.entry = base;
    let operations = drafts.iter().map(|draft| draft.insts.len()).sum();
    // Not exactly: modules have functions by the thousand.
    program.code.reserve(operations);
    program.blocks.reserve(drafts.len());
    for draft in drafts {
        let start = program.code.len() as u32;
        let (mut terminator, terminator_info) =
            draft.terminator.unwrap_or((Terminator::Return, None));
        redirect(&mut terminator, |block| block + base);
        if program.symbols.is_some() {
            symbols::note_writes(program, &draft.insts, &mut terminator);
        }
        let firsts = draft.insts.iter().filter(|inst| inst.first).count() as u32;
        program.code.extend(draft.insts);
        program.blocks.push(Block {
            start,
            end: program.code.len() as u32,
            instructions: firsts + u32::from(terminator_info.is_some()),
            terminator,
            terminator_info,
            members: draft.members,
        });
    }
    function
}

/// The lane offsets of the registers that hold addresses, in one block after the other.
struct Known {
    numbering: Numbering,
    /// By number: the block that the lane offsets belong to, and their number.
    lane_offsets: Vec<(u32, u32)>,
    /// Counts the blocks from 1 on.
    block: u32,
}

impl Known {
    fn of(function: &Function) -> Self {
        let numbering = Numbering::new(function);
        Known {
            lane_offsets: vec![(0, 0); numbering.total()],
            numbering,
            block: 0,
        }
    }

    fn forget(&mut self, register: Register) {
        self.lane_offsets[self.numbering.of(register)].0 = 0;
    }

    /// The register's lane offsets, and whether it had any; else `new` makes them.
    fn offsets(&mut self, register: Register, new: impl FnOnce() -> u32) -> (u32, bool) {
        let (block, offsets) = &mut self.lane_offsets[self.numbering.of(register)];
        let again = *block == self.block;
        if !again {
            (*block, *offsets) = (self.block, new());
        }
        (*offsets, again)
    }
}

/// Gives accesses that share an unchanged base register the same lane offsets, and finds the
/// frequent operations.
fn number_lane_offsets(draft: &mut BlockDraft, program: &mut Program, known: &mut Known) {
    known.block += 1;
    for inst in &mut draft.insts {
        let address = match inst.op {
            Op::Load(index) => Some(&mut program.loads[index as usize].address),
            Op::Store(index) => Some(&mut program.stores[index as usize].address),
            _ => None,
        };
        let mut again = false;
        if let Some(address) = address.filter(|_| inst.guard.is_none()) {
            let register = match address.base {
                AddressBase::Reg32(reg) => Some(Register::Reg32(reg)),
                AddressBase::Reg64(reg) => Some(Register::Reg64(reg)),
                AddressBase::None | AddressBase::Frame => None,
            };
            if let Some(register) = register {
                (address.offsets, again) = known.offsets(register, || {
                    program.lane_offsets += 1;
                    program.lane_offsets
                });
            }
        }
        inst.frequent = match inst.op {
            Op::Load(_) => again,
            Op::Ternary32(Ternary::FloatFma, ..) => inst.guard.is_none(),
            _ => false,
        };
        Visitor(|role, register| {
            if role == Role::Define {
                known.forget(register);
            }
            register
        })
        .op(&mut inst.op, program);
    }
}
