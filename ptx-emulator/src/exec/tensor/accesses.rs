//! What observers see of the copies of the copy engine.

use super::{CHUNK, PendingBulk, PendingKind, Region, place};
use crate::address_space::cluster_address;
use crate::exec::block::Worker;
use crate::exec::vector::LANES;
use crate::ir::{AccessKind, Space};
use crate::observer::{EventSink, Issuer, Progress};
use crate::tensor_map::TensorMap;

/// Whether elements of a box are outside of its tensor.
fn reaches_out(map: &TensorMap, from: &[i32]) -> bool {
    let last = map.box_bytes() / u64::from(map.element_bytes) - 1;
    [0, last]
        .iter()
        .any(|&at| place(map, from, at, false).is_none())
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Reports the box in the shared memory of each of its blocks.
    pub(super) fn observe_box(&mut self, bulk: &PendingBulk, progress: Progress) {
        for rank in self.destinations(bulk) {
            self.observe_box_of(bulk, rank, progress);
        }
    }

    /// Reports the box in the shared memory of a block.
    pub(super) fn observe_box_of(&mut self, bulk: &PendingBulk, rank: u32, progress: Progress) {
        let kind = match bulk.kind {
            PendingKind::Load { .. } => AccessKind::Store,
            PendingKind::Store { .. } => AccessKind::Load,
        };
        let (space, start) = match rank == self.rank {
            true => (Space::Shared, bulk.shared),
            false => (Space::Cluster, cluster_address(rank, bulk.shared)),
        };
        let end = start + bulk.region.bytes();
        match &bulk.region {
            Region::Box(map, from) if kind == AccessKind::Load && reaches_out(map, from) => {
                self.observe_inside(bulk, map, from, progress);
            }
            _ => self.observe_chunks(bulk, space, kind, (start, end), progress),
        }
        // What a block sends is read in its own shared memory.
        if let Region::Own(from, bytes) = bulk.region {
            let read = (from, from + bytes);
            self.observe_chunks(bulk, Space::Shared, AccessKind::Load, read, progress);
        }
    }

    /// Reports what is read in shared memory of a box that reaches out of its tensor: what is
    /// outside has no effect, and a program need not have written it.
    fn observe_inside(
        &mut self,
        bulk: &PendingBulk,
        map: &TensorMap,
        from: &[i32],
        progress: Progress,
    ) {
        let bytes = u64::from(map.element_bytes);
        let per_piece = CHUNK / bytes;
        let pieces = map.box_bytes() / CHUNK;
        for piece in 0..pieces {
            let start = map.swizzle.apply(bulk.shared + piece * CHUNK);
            let mut inside = (0..per_piece)
                .filter(|at| place(map, from, piece * per_piece + at, false).is_some());
            // A piece is part of one row, and what is inside of that is one range.
            let Some(first) = inside.next() else {
                continue;
            };
            let end = inside.next_back().unwrap_or(first) + 1;
            let range = (start + first * bytes, start + end * bytes);
            self.observe_chunks(bulk, Space::Shared, AccessKind::Load, range, progress);
        }
    }

    /// Reports the accesses to global memory: each row of the box as far as it is inside the
    /// tensor.
    pub(super) fn observe_rows(&mut self, bulk: &PendingBulk) {
        if !O::ASYNC_ACCESSES || bulk.repeats {
            return;
        }
        let (kind, progress) = match bulk.kind {
            PendingKind::Load { barrier, .. } => {
                let first = self.destinations(bulk).next().unwrap_or(self.rank);
                let first = bulk.kind.barrier_rank(first);
                (
                    AccessKind::Load,
                    Progress::Signalled(cluster_address(first, barrier)),
                )
            }
            PendingKind::Store { .. } => (AccessKind::Store, Progress::Waited),
        };
        let (map, start) = match &bulk.region {
            Region::Box(map, start) => (map, start),
            Region::Global(address, bytes) => {
                let range = (*address, address + bytes);
                return self.observe_chunks(bulk, Space::Global, kind, range, progress);
            }
            Region::Own(..) | Region::Values(..) => return,
        };
        let row = u64::from(map.box_extents[0]);
        let rows = map.box_bytes() / u64::from(map.element_bytes) / row;
        for index in 0..rows {
            let loads = kind == AccessKind::Load;
            let inside = (0..row).filter_map(|at| place(map, start, index * row + at, loads));
            let (mut first, mut last) = (None, 0);
            for address in inside {
                first.get_or_insert(address);
                last = address + u64::from(map.element_bytes);
            }
            if let Some(first) = first {
                self.observe_chunks(bulk, Space::Global, kind, (first, last), progress);
            }
        }
    }

    fn observe_chunks(
        &mut self,
        bulk: &PendingBulk,
        space: Space,
        kind: AccessKind,
        (start, end): (u64, u64),
        progress: Progress,
    ) {
        if !O::ASYNC_ACCESSES || bulk.repeats {
            return;
        }
        // A range that is not a multiple of a chunk is reported in smaller chunks.
        let size = match (start | end) % CHUNK {
            0 => CHUNK,
            rest => 1 << rest.trailing_zeros(),
        };
        let mut at = start;
        while at < end {
            let count = ((end - at) / size).min(LANES as u64);
            let addresses = std::array::from_fn(|lane| at + lane as u64 * size);
            let mask = u32::MAX >> (LANES as u64 - count);
            let access = (kind, size as u32, false);
            let (by, lanes) = ((bulk.warp, bulk.info), (mask, &addresses));
            let issuer = Issuer::Lane(bulk.lane as u32);
            self.observe_async(by, space, access, lanes, issuer, progress);
            at += count * size;
        }
    }
}
