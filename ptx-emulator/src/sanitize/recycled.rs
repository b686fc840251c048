//! The shadows of earlier launches, which later launches use again.
//!
//! A system clears new memory page by page as it is touched, and for kernels that stream through
//! memory that took longer than all else. A shadow need not be cleared: the stamps of a launch
//! begin above all those that recycled shadows hold, and so find them older than everything.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::block_accesses::BlockAccesses;

/// The most that is kept, in bytes.
const MAX_BYTES: usize = 512 << 20;

/// The most that is kept, in pieces.
const MAX_PIECES: usize = 64;

/// Stamps beyond this are not kept, so that no launch begins close to the end.
const MAX_STAMP: u32 = u32::MAX / 4;

/// The columns of a shadow memory.
pub(super) type Columns = [Vec<u32>; 7];

/// What is kept of earlier launches.
#[derive(Debug)]
struct Pool {
    /// Higher than every stamp in `columns`.
    above: u32,
    bytes: usize,
    /// Columns, and a stamp that is higher than each of theirs.
    columns: Vec<(Columns, u32)>,
    accesses: Vec<BlockAccesses>,
    /// Memory of lists of reads.
    lists: Vec<Vec<u32>>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    above: 1,
    bytes: 0,
    columns: Vec::new(),
    accesses: Vec::new(),
    lists: Vec::new(),
});

impl Pool {
    /// Counts the bytes of one more piece, if it may have it beside `pieces` of its kind.
    fn admits(&mut self, pieces: usize, bytes: usize) -> bool {
        let admits = pieces < MAX_PIECES && self.bytes + bytes <= MAX_BYTES;
        if admits {
            self.bytes += bytes;
        }
        admits
    }
}

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stamp with which a launch begins.
pub(super) fn first_stamp() -> u32 {
    pool().above
}

/// The best of the pieces for a number of elements: the smallest that has room, unless that is far
/// larger.
fn best(capacities: impl Iterator<Item = usize>, count: usize) -> Option<usize> {
    let most = count.saturating_mul(8).saturating_add(1 << 12);
    let fitting = capacities.enumerate();
    let fitting = fitting.filter(|(_, room)| (count..=most).contains(room));
    Some(fitting.min_by_key(|(_, room)| *room)?.0)
}

/// Columns of `count` cells whose stamps are lower than `limit`.
pub(super) fn take_columns(count: usize, limit: u32) -> Columns {
    let found = {
        let mut pool = pool();
        let room = |(columns, _): &(Columns, u32)| columns[0].capacity();
        let found = best(pool.columns.iter().map(room), count);
        let found = found.map(|at| pool.columns.swap_remove(at));
        pool.bytes -= found.as_ref().map_or(0, |(columns, _)| bytes_of(columns));
        found
    };
    let Some((mut columns, above)) = found else {
        return std::array::from_fn(|_| vec![0; count]);
    };
    for column in &mut columns {
        if above > limit {
            column.clear();
        }
        column.resize(count, 0);
    }
    columns
}

fn bytes_of(columns: &Columns) -> usize {
    columns.iter().map(|column| 4 * column.capacity()).sum()
}

/// Keeps columns whose stamps are lower than `above`.
pub(super) fn keep_columns(columns: Columns, above: u32) {
    let mut pool = pool();
    if above > MAX_STAMP {
        // Stamps begin anew, for launches that have none of these.
        let old = std::mem::take(&mut pool.columns);
        pool.bytes -= old
            .iter()
            .map(|(columns, _)| bytes_of(columns))
            .sum::<usize>();
        pool.above = 1;
        return;
    }
    let bytes = bytes_of(&columns);
    let pieces = pool.columns.len();
    if pool.admits(pieces, bytes) {
        pool.above = pool.above.max(above);
        pool.columns.push((columns, above));
    }
}

/// Room for the blocks that accessed `count` cells, if there is any.
pub(super) fn take_accesses(count: usize) -> Option<BlockAccesses> {
    let mut pool = pool();
    let found = best(pool.accesses.iter().map(BlockAccesses::room), count)?;
    let found = pool.accesses.swap_remove(found);
    pool.bytes -= found.bytes();
    Some(found)
}

/// Keeps the memory of recorded blocks.
pub(super) fn keep_accesses(accesses: BlockAccesses) {
    let mut pool = pool();
    let bytes = accesses.bytes();
    let pieces = pool.accesses.len();
    if pool.admits(pieces, bytes) {
        pool.accesses.push(accesses);
    }
}

/// Room for a list, if there is any.
pub(super) fn take_list() -> Vec<u32> {
    let mut pool = pool();
    let list = pool.lists.pop().unwrap_or_default();
    pool.bytes -= 4 * list.capacity();
    list
}

/// Keeps the memory of a list.
pub(super) fn keep_list(mut list: Vec<u32>) {
    let mut pool = pool();
    let bytes = 4 * list.capacity();
    let pieces = pool.lists.len();
    if pool.admits(pieces, bytes) {
        list.clear();
        pool.lists.push(list);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recycled columns have the stamps of an earlier launch only if they are older than all of the
    /// new one.
    #[test]
    fn stamps_of_recycled_columns_are_lower_than_the_limit() {
        let count = 12_345;
        for (stamp, limit) in [(70, 71), (70, 40)] {
            let mut columns: Columns = std::array::from_fn(|_| vec![0; count]);
            for column in &mut columns {
                column.fill(stamp);
            }
            keep_columns(columns, stamp + 1);
            assert!(first_stamp() > stamp);
            for _ in 0..MAX_PIECES {
                for column in take_columns(count, limit) {
                    assert_eq!(column.len(), count);
                    assert!(column.iter().all(|&known| known < limit));
                }
            }
        }
    }
}
