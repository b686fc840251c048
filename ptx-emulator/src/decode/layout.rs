//! Puts a function's blocks into the order in which warps reconverge, and into the program.
//!
//! The executor always advances the lanes that stand at the lowest block. With every loop
//! contiguous and every forward edge going up, lanes that wait at a higher block are joined by the
//! others before anyone runs past it. Lanes that end a round of a loop at different blocks must not
//! start the next round apart: such loops get a block that all rounds end with.

use super::builder::{BlockDraft, Builder};
use super::registers::{Role, Visitor};
use super::{allocate, groups, used};
use crate::hash::SmallMap;
use crate::ir::{AddressBase, Block, Function, Op, Program, Register, Terminator, Word};

/// Blocks that control may go to.
pub(crate) fn successors(terminator: &Terminator) -> Vec<u32> {
    match terminator {
        Terminator::Jump(next) => vec![*next],
        Terminator::Branch { taken, next, .. } => vec![*taken, *next],
        Terminator::Switch { targets, .. } => targets.clone(),
        Terminator::Call(call) => vec![call.next],
        Terminator::Barrier(barrier) => vec![barrier.next],
        Terminator::BarrierObject(object) => vec![object.next],
        Terminator::BulkCopy(copy) => vec![copy.next],
        Terminator::BulkWait { next, .. } => vec![*next],
        Terminator::Return | Terminator::Exit | Terminator::Trap => Vec::new(),
    }
}

fn redirect(terminator: &mut Terminator, map: impl Fn(u32) -> u32) {
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
        Terminator::BulkWait { next, .. } => *next = map(*next),
        Terminator::Return | Terminator::Exit | Terminator::Trap => {}
    }
}

/// Where a jump to a block really leads: blocks that only jump on, and stand for no PTX
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
        if let Some((terminator, _)) = &blocks[block as usize].terminator {
            for next in successors(terminator) {
                predecessors[next as usize] += 1;
            }
        }
    }
    for block in reachable.into_iter().map(|block| block as usize) {
        // A block that lanes must enter together holds one operation and stays alone.
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
        if let Some((terminator, _)) = &blocks[block as usize].terminator {
            pending.extend(successors(terminator));
        }
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
    }
    let mut edges: Vec<Vec<u32>> = blocks
        .iter()
        .map(|draft| {
            let terminator = draft.terminator.as_ref();
            terminator.map_or(Vec::new(), |(terminator, _)| successors(terminator))
        })
        .collect();
    // The region that each block belongs to; edges count only within a region.
    let mut region = vec![0u32; blocks.len()];
    let mut regions = 0;
    let mut order = Vec::new();
    let mut pending = vec![Item::Region(reachable(blocks))];
    while let Some(item) = pending.pop() {
        let members = match item {
            Item::Block(block) => {
                order.push(block);
                continue;
            }
            Item::Region(members) => members,
        };
        regions += 1;
        for &block in &members {
            region[block as usize] = regions;
        }
        // Components come out in reverse topological order, which is what a stack wants.
        for component in components(&edges, &region, regions, &members) {
            let header = component[0];
            if component.len() > 1 {
                let mut rest = component[1..].to_vec();
                rest.extend(join_rounds(blocks, &mut edges, &component));
                region.resize(edges.len(), 0);
                pending.push(Item::Region(rest));
            }
            pending.push(Item::Block(header));
        }
    }
    order
}

/// Makes the edges of a loop back to its header, its first block, go through a block of their own
/// if there are several; returns that.
fn join_rounds(
    blocks: &mut Vec<BlockDraft>,
    edges: &mut Vec<Vec<u32>>,
    members: &[u32],
) -> Option<u32> {
    let header = members[0];
    let ends = members.iter().copied();
    let ends: Vec<u32> = ends
        .filter(|&block| edges[block as usize].contains(&header))
        .collect();
    if ends.len() < 2 {
        return None;
    }
    let last = blocks.len() as u32;
    blocks.push(BlockDraft {
        terminator: Some((Terminator::Jump(header), None)),
        ..BlockDraft::default()
    });
    edges.push(vec![header]);
    for end in ends {
        let back = |block: u32| if block == header { last } else { block };
        if let Some((terminator, _)) = &mut blocks[end as usize].terminator {
            redirect(terminator, back);
        }
        for edge in &mut edges[end as usize] {
            *edge = back(*edge);
        }
    }
    Some(last)
}

/// Strongly connected components of one region (Tarjan 1972), each with its header first; in
/// reverse topological order.
fn components(edges: &[Vec<u32>], region: &[u32], tag: u32, members: &[u32]) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    let mut index = SmallMap::with_capacity_and_hasher(members.len(), Default::default());
    for &block in members {
        index.insert(block, (UNSEEN, UNSEEN, false));
    }
    let mut counter = 0;
    let mut stack = Vec::new();
    let mut found = Vec::new();
    for &root in members {
        if index[&root].0 != UNSEEN {
            continue;
        }
        let mut path: Vec<(u32, usize)> = vec![(root, 0)];
        index.insert(root, (counter, counter, true));
        counter += 1;
        stack.push(root);
        while let Some((block, edge)) = path.last_mut() {
            let block = *block;
            if let Some(&next) = edges[block as usize].get(*edge) {
                *edge += 1;
                if region[next as usize] != tag {
                    continue;
                }
                let (seen, _, on_stack) = index[&next];
                if seen == UNSEEN {
                    index.insert(next, (counter, counter, true));
                    counter += 1;
                    stack.push(next);
                    path.push((next, 0));
                } else if on_stack && let Some(entry) = index.get_mut(&block) {
                    entry.1 = entry.1.min(seen);
                }
                continue;
            }
            path.pop();
            let (number, low, _) = index[&block];
            if let Some(&(parent, _)) = path.last()
                && let Some(entry) = index.get_mut(&parent)
            {
                entry.1 = entry.1.min(low);
            }
            if number == low {
                let start = stack.iter().rposition(|&other| other == block).unwrap_or(0);
                let component = stack.split_off(start);
                for member in &component {
                    if let Some(entry) = index.get_mut(member) {
                        entry.2 = false;
                    }
                }
                found.push(component);
            }
        }
    }
    found
}

/// Orders, allocates and appends the builder's blocks; returns the function.
pub(super) fn finish(mut builder: Builder<'_, '_>, params: Vec<Word>) -> Function {
    for draft in &mut builder.blocks {
        if draft.terminator.is_none() {
            draft.terminator = Some((Terminator::Return, None));
        }
    }
    merge_chains(&mut builder.blocks);
    let order = reconvergence_order(&mut builder.blocks);
    let mut function = Function {
        entry: 0,
        words: builder.words,
        doubles: builder.doubles,
        predicates: builder.predicates,
        word_constants: builder.word_constants,
        double_constants: builder.double_constants,
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
    used::mark(&function, &mut drafts, program);
    allocate::allocate(&mut function, &mut drafts, program);
    for draft in &mut drafts {
        number_spreads(draft, program);
        groups::note(draft, program);
    }
    let base = program.blocks.len() as u32;
    function.entry = base;
    for draft in drafts {
        let start = program.code.len() as u32;
        let (mut terminator, terminator_info) =
            draft.terminator.unwrap_or((Terminator::Return, None));
        redirect(&mut terminator, |block| block + base);
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

/// Gives accesses that share an unchanged base register the same spread.
fn number_spreads(draft: &mut BlockDraft, program: &mut Program) {
    let mut known: SmallMap<Register, u32> = SmallMap::default();
    for inst in &mut draft.insts {
        let (base, guarded) = match inst.op {
            Op::Load(index) => (
                program.loads[index as usize].address.base,
                inst.guard.is_some(),
            ),
            Op::Store(index) => (
                program.stores[index as usize].address.base,
                inst.guard.is_some(),
            ),
            _ => (AddressBase::None, true),
        };
        let register = match base {
            AddressBase::Word(word) => Some(Register::Word(word)),
            AddressBase::Double(double) => Some(Register::Double(double)),
            AddressBase::None | AddressBase::Frame => None,
        };
        if let Some(register) = register
            && !guarded
        {
            let spread = *known.entry(register).or_insert_with(|| {
                program.spreads += 1;
                program.spreads
            });
            match inst.op {
                Op::Load(index) => program.loads[index as usize].address.spread = spread,
                Op::Store(index) => program.stores[index as usize].address.spread = spread,
                _ => {}
            }
        }
        Visitor(|role, register| {
            if role == Role::Define {
                known.remove(&register);
            }
            register
        })
        .op(&mut inst.op, program);
    }
}
