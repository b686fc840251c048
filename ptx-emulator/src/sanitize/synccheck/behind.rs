//! What lies behind a barrier.

use std::collections::HashSet;

use crate::ir::InstructionId;
use crate::kernel::Kernel;

/// The instructions of the basic blocks that a thread can reach after a barrier without beginning a
/// loop around it again. In a loop, what stands before the barrier can be reached as well: a thread
/// that executes it may still come to where the others wait.
pub(super) fn instructions(kernel: &Kernel, barrier: InstructionId) -> HashSet<InstructionId> {
    let blocks = kernel.basic_blocks();
    let closing = closing_edges(kernel);
    let next = |block: usize| {
        let edges = kernel.successors(block).map(move |next| (block, next));
        edges.filter(|edge| !closing.contains(edge))
    };
    let holds = |block: &usize| blocks[*block].instructions().any(|id| id == barrier);
    let of_barrier = (0..blocks.len()).filter(holds);
    let mut pending: Vec<usize> = of_barrier.flat_map(next).map(|edge| edge.1).collect();
    let mut seen = vec![false; blocks.len()];
    let mut all = HashSet::new();
    while let Some(block) = pending.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            all.extend(blocks[block].instructions());
            pending.extend(next(block).map(|edge| edge.1));
        }
    }
    all
}

/// The edges between basic blocks that close loops: in a depth-first search, those that lead back
/// to a block of the path from the start.
fn closing_edges(kernel: &Kernel) -> HashSet<(usize, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let count = kernel.basic_blocks().len();
    let mut marks = vec![Mark::New; count];
    let mut closing = HashSet::new();
    for start in 0..count {
        // The blocks of the path, with their successors that have not been visited.
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        if marks[start] == Mark::New {
            marks[start] = Mark::OnPath;
            path.push((start, kernel.successors(start).collect()));
        }
        while let Some((block, rest)) = path.last_mut() {
            let block = *block;
            match rest.pop() {
                Some(next) if marks[next] == Mark::OnPath => _ = closing.insert((block, next)),
                Some(next) if marks[next] == Mark::New => {
                    marks[next] = Mark::OnPath;
                    path.push((next, kernel.successors(next).collect()));
                }
                Some(_) => {}
                None => {
                    marks[block] = Mark::Done;
                    path.pop();
                }
            }
        }
    }
    closing
}
