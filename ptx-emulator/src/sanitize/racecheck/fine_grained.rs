//! What orders more than barriers do: strong accesses, mbarriers, and asynchronous operations.

use super::super::launch_geometry::flatten;
use super::super::shape::{LANES, lanes};
use super::{BlockState, Racecheck, block_number};
use crate::ir::{AccessKind, Space};
use crate::observer::{AsyncAccess, Issuer, MemoryAccess, Progress, WarpContext};

impl Racecheck {
    /// A strong access in a kernel that synchronises by such.
    #[inline(never)]
    pub(super) fn strong(&mut self, warp: u32, access: &MemoryAccess<'_>) {
        self.before_order();
        let semantics = self.semantics[access.instruction.index()];
        let mut groups = same_addresses(access);
        if access.space == Space::Shared {
            let own = self.geometry.shared_start(warp);
            for ((_, address), _) in &mut groups {
                *address = address.wrapping_add(own);
            }
        }
        if semantics.is_mbarrier {
            // A thread must not wait at an mbarrier before it is initialised.
            self.irregular(warp, access);
            let clocks = &mut self.block.clocks;
            for ((_, address), mask) in groups {
                if semantics.releases {
                    clocks.arrive_at(address, warp, mask);
                }
                if semantics.acquires {
                    clocks.acquire((Space::Shared, address), warp, mask);
                }
            }
            return;
        }
        let reads = access.kind != AccessKind::Store;
        if reads {
            for &(key, mask) in &groups {
                match semantics.acquires {
                    true => self.block.clocks.acquire(key, warp, mask),
                    false => self.block.clocks.read(key, warp, mask),
                }
                // Blocks do not synchronise through shared memory outside of clusters.
                if access.space == Space::Global {
                    self.block.acquired = true;
                    self.sync_table.acquire(key.1, &mut self.block.seen);
                }
            }
        }
        self.note_strong(warp, access);
        self.irregular(warp, access);
        if access.kind == AccessKind::Load {
            return;
        }
        let all = semantics.releases;
        for (key, mask) in groups {
            for lane in lanes(mask) {
                self.block.clocks.release(key, (warp, lane), all, reads);
            }
            if access.space == Space::Global && (all || self.block.fenced) {
                let BlockState { index, seen, .. } = &self.block;
                self.sync_table.release(key.1, *index, seen);
            }
        }
    }

    /// An access to the shared memory of a cluster's blocks.
    #[cold]
    #[inline(never)]
    pub(super) fn cluster_access(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        let mut addresses = [0; LANES];
        let flat = flatten(&self.geometry, access, &mut addresses);
        let by = self.geometry.warp(warp);
        if flat.strong && self.synchronises {
            self.strong(by, &flat);
            return;
        }
        self.catch_up();
        if flat.kind != AccessKind::Load {
            self.shared_written = self.block.clocks.now;
        }
        if flat.strong {
            self.note_strong(by, &flat);
        }
        self.irregular(by, &flat);
    }

    pub(super) fn async_access(&mut self, warp: &WarpContext<'_>, access: &AsyncAccess<'_>) {
        self.before_order();
        let by = self.geometry.warp(warp);
        match access.access.space {
            Space::Shared => self.async_shared(by, access),
            Space::Cluster => {
                let mut addresses = [0; LANES];
                let flat = AsyncAccess {
                    access: flatten(&self.geometry, &access.access, &mut addresses),
                    ..*access
                };
                self.async_shared(by, &flat);
            }
            Space::Global => self.async_global(by, access),
            _ => return,
        }
        let instruction = access.access.instruction;
        let is_on_tensor_memory = self.semantics[instruction.index()].is_on_tensor_memory;
        let clocks = &mut self.block.clocks;
        match (access.issuer, access.progress) {
            (Issuer::Warp, Progress::Issued) => clocks.issue_mma(by),
            (Issuer::Lane(lane), Progress::Issued) if is_on_tensor_memory => {
                clocks.issue_tensor((by, lane));
            }
            (Issuer::Warp, _) => clocks.complete_mma(by),
            (_, Progress::Signalled(barrier)) => clocks.signal(self.geometry.in_group(barrier)),
            _ => {}
        }
    }

    /// An asynchronous operation on shared memory.
    pub(super) fn async_shared(&mut self, warp: u32, access: &AsyncAccess<'_>) {
        let AsyncAccess {
            access,
            issuer,
            progress,
        } = access;
        let bytes = u64::from(access.bytes);
        let all = u64::from(access.mask.count_ones()) * bytes;
        self.has_async = true;
        match progress {
            Progress::Issued => self.in_flight += all,
            _ => self.in_flight = self.in_flight.saturating_sub(all),
        }
        if access.kind == AccessKind::Store {
            self.shared_written = self.block.clocks.now;
        }
        for at in lanes(access.mask) {
            let address = access.addresses[at];
            let mut view = self.view(access.space, 0, warp);
            if !view.holds(address, access.bytes) {
                // An access out of bounds is a fault of its own.
                continue;
            }
            let (lane, mask) = match *issuer {
                Issuer::EachLane => (at, 1 << at),
                Issuer::Lane(lane) => (lane as usize % LANES, 1 << (lane % 32)),
                Issuer::Warp => (0, u32::MAX),
            };
            let origin = view.origin(access.instruction, warp).with_lane(lane);
            let first = view.first_cell(address, access.bytes);
            let count = (access.bytes >> view.cells.shift) as usize;
            let by_lane = *progress == Progress::Waited && *issuer != Issuer::Warp;
            for cell in first..first + count {
                match progress {
                    Progress::Issued => view.begin(cell, origin, mask, access),
                    _ if by_lane => view.end(cell, origin, access.kind),
                    _ => view.end(cell, origin.asynchronous(), access.kind),
                }
            }
            view.tally.end_access();
        }
    }

    /// What an asynchronous operation did to global memory.
    pub(super) fn async_global(&mut self, warp: u32, access: &AsyncAccess<'_>) {
        let AsyncAccess {
            access,
            issuer: Issuer::Lane(lane),
            ..
        } = access
        else {
            // The source of a lane's own copy was read when the copy was issued.
            return;
        };
        for at in lanes(access.mask) {
            let (address, bytes) = (access.addresses[at], access.bytes);
            let Some(allocation) = self.allocation_index(access.instruction, address, bytes.into())
            else {
                continue;
            };
            let block = block_number(self.block.index);
            let is_multicast = self.semantics[access.instruction.index()].is_multicast;
            let mut view = self.view(Space::Global, allocation, warp);
            let origin = view
                .origin(access.instruction, warp)
                .with_lane(*lane as usize);
            let first = view.first_cell(address, bytes);
            for cell in first..first + (bytes >> view.cells.shift) as usize {
                match access.kind {
                    AccessKind::Store => view.write(cell, origin, access),
                    // The completion is signalled to several blocks.
                    _ if is_multicast => {
                        if let Some(cross_block) = &mut view.cross_block {
                            cross_block.note_read(cell, block, origin);
                        }
                    }
                    _ => view.read(cell, origin.asynchronous(), 1 << (lane % 32)),
                }
            }
            view.tally.end_access();
        }
    }
}

/// The distinct addresses of an access, each with its lanes. Addresses in the shared memory of a
/// cluster count as [`Space::Shared`].
fn same_addresses(access: &MemoryAccess<'_>) -> Vec<((Space, u64), u32)> {
    let space = match access.space {
        Space::Cluster => Space::Shared,
        space => space,
    };
    let mut groups: Vec<((Space, u64), u32)> = Vec::new();
    for lane in lanes(access.mask) {
        let key = (space, access.addresses[lane]);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, mask)) => *mask |= 1 << lane,
            None => groups.push((key, 1 << lane)),
        }
    }
    groups
}
