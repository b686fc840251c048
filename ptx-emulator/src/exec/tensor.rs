//! `cp.async.bulk.tensor`: the copy engine.
//!
//! Copies are executed as late as PTX allows: loads when no thread of the block can go on without
//! them, stores when their thread waits for the group, or at the end of the block. A kernel that
//! forgets to wait sees what was there before.

use super::access::lane_addresses;
use super::block::Worker;
use super::mbarrier::{LaneId, registers};
use super::run::RawFault;
use super::vector::LANES;
use super::warp_ops::lanes;
use crate::address_space::{cluster_address, of_cluster, resolve_cluster, space_of, window};
use crate::error::{AccessFault, FaultKind};
use crate::ir::{AccessKind, BulkCopy, BulkDirection, Space};
use crate::observer::{AsyncAccess, Event, Issuer, Observer, Progress, Wants};
use crate::tensor_map::{TENSOR_MAP_BYTES, TensorMap};

/// Alignment of a box in shared memory (PTX ISA, "cp.async.bulk.tensor").
const BOX_ALIGN: u64 = 128;

/// Alignment of a map.
const MAP_ALIGN: u64 = 64;

/// Bytes that one event for observers covers for each lane.
const CHUNK: u64 = 16;

/// A copy that has been issued.
#[derive(Clone, Debug)]
pub(super) struct PendingBulk {
    map: TensorMap,
    start: Vec<i32>,
    /// Address in shared memory.
    shared: u64,
    /// The destination blocks of the cluster, one bit each.
    blocks: u32,
    /// The mbarrier of a load; the group of a store.
    kind: PendingKind,
    warp: usize,
    lane: usize,
    info: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingKind {
    Load { barrier: u64 },
    Store { group: u32 },
}

fn bad(message: String, lane: usize) -> Box<RawFault> {
    Box::new(RawFault {
        kind: FaultKind::BadTensor(message),
        lane: Some(lane),
    })
}

impl<O: Observer> Worker<'_, '_, O> {
    /// Lanes issue copies, each its own.
    pub(super) fn bulk_copy(
        &mut self,
        index: usize,
        at: usize,
        copy: &BulkCopy,
        info: u32,
    ) -> Result<(), Box<RawFault>> {
        let split = self.warps[index].splits[at];
        let frame = self.warps[index].frames[split.frame as usize];
        let committed = self.warps[index].bulk_groups;
        let r = registers(&mut self.warps[index], &frame);
        let maps = lane_addresses(&r, frame.local_base, &copy.map);
        let places = lane_addresses(&r, frame.local_base, &copy.shared);
        let (barriers, masks) = match &copy.direction {
            BulkDirection::Load { barrier, blocks } => (
                lane_addresses(&r, frame.local_base, barrier),
                blocks.map(|blocks| r.regs32[blocks.0 as usize]),
            ),
            BulkDirection::Store => ([0; LANES], None),
        };
        let mut wanted = Vec::new();
        for lane in lanes(split.mask) {
            let coordinate = |reg: &crate::ir::Reg32| r.regs32[reg.0 as usize][lane] as i32;
            let start = copy.coordinates.iter().map(coordinate).collect();
            let kind = match copy.direction {
                BulkDirection::Load { .. } => PendingKind::Load {
                    barrier: barriers[lane],
                },
                BulkDirection::Store => PendingKind::Store {
                    group: committed[lane],
                },
            };
            wanted.push((lane, start, kind));
        }
        for (lane, start, kind) in wanted {
            let map = self.tensor_map(maps[lane], lane)?;
            let (shared, kind, blocks) =
                self.targets(places[lane], kind, masks.map(|masks| masks[lane]), lane)?;
            let pending = PendingBulk {
                map,
                start,
                shared,
                blocks,
                kind,
                warp: index,
                lane,
                info,
            };
            self.check_bulk(&pending)?;
            self.observe_box(&pending, Progress::Issued);
            self.bulk.push_back(pending);
        }
        self.warps[index].splits[at].block = copy.next;
        Ok(())
    }

    /// The address and the destination blocks of a copy: the addresses of a load may be another
    /// block's, and a multicast has several destinations.
    fn targets(
        &self,
        shared: u64,
        kind: PendingKind,
        named: Option<u32>,
        lane: usize,
    ) -> Result<(u64, PendingKind, u32), Box<RawFault>> {
        let PendingKind::Load { barrier } = kind else {
            return Ok((shared, kind, 1 << self.rank));
        };
        let (rank, at) = of_cluster(resolve_cluster(shared, self.rank));
        let (rank_of_barrier, barrier) = of_cluster(resolve_cluster(barrier, self.rank));
        let kind = PendingKind::Load { barrier };
        if rank != rank_of_barrier {
            let message = format!(
                "the box is in the block of rank {rank} and its mbarrier in that of rank \
                 {rank_of_barrier}"
            );
            return Err(bad(message, lane));
        }
        let Some(named) = named else {
            self.check_rank(
                rank,
                (AccessKind::Store, cluster_address(rank as u32, at), 1),
                lane,
            )?;
            return Ok((at, kind, 1 << rank));
        };
        let count = self.block_count();
        if named == 0 || named >> count != 0 {
            let message = format!(
                "a multicast to the blocks {named:#06x}; the cluster has {count}, and one at least \
                 must be named"
            );
            return Err(bad(message, lane));
        }
        Ok((at, kind, named))
    }

    /// The tensor map at an address.
    fn tensor_map(&self, address: u64, lane: usize) -> Result<TensorMap, Box<RawFault>> {
        if !address.is_multiple_of(MAP_ALIGN) {
            let message = format!("the tensor map at {address:#x} is not aligned to 64 bytes");
            return Err(bad(message, lane));
        }
        let mut bytes = [0; TENSOR_MAP_BYTES];
        let found = match space_of(address) {
            Space::Param => {
                let base = window(Space::Param).map_or(0, |(base, _)| base);
                let start = (address - base) as usize;
                let given = self.launch.params.get(start..start + TENSOR_MAP_BYTES);
                given.map(|given| bytes.copy_from_slice(given)).is_some()
            }
            _ => match self.launch.allocation(address, TENSOR_MAP_BYTES as u64) {
                Some(allocation) => {
                    let offset = (address - allocation.base) as usize;
                    for (at, word) in bytes.chunks_exact_mut(8).enumerate() {
                        word.copy_from_slice(&allocation.read(offset + 8 * at, 8).to_le_bytes());
                    }
                    true
                }
                None => false,
            },
        };
        match TensorMap::from_bytes(&bytes).filter(|_| found) {
            Some(map) => Ok(map),
            None => Err(bad(format!("there is no tensor map at {address:#x}"), lane)),
        }
    }

    fn check_bulk(&self, pending: &PendingBulk) -> Result<(), Box<RawFault>> {
        let PendingBulk { map, lane, .. } = pending;
        let bytes = map.box_bytes();
        if map.extents.len() != pending.start.len() {
            let (has, named) = (map.extents.len(), pending.start.len());
            let message = format!("the tensor map has {has} dimensions, not {named}");
            return Err(bad(message, *lane));
        }
        let row = u64::from(map.box_extents[0]) * u64::from(map.element_bytes);
        if !row.is_multiple_of(CHUNK) || (map.swizzle.span() > CHUNK && row > map.swizzle.span()) {
            let message = format!(
                "a box row of {row} bytes does not fit the swizzle {:?}",
                map.swizzle
            );
            return Err(bad(message, *lane));
        }
        let shared = u64::from(self.launch.shared_bytes);
        let aligned = pending.shared.is_multiple_of(BOX_ALIGN);
        if aligned && pending.shared <= shared && bytes <= shared - pending.shared {
            return Ok(());
        }
        let access = AccessFault {
            access: match pending.kind {
                PendingKind::Load { .. } => AccessKind::Store,
                PendingKind::Store { .. } => AccessKind::Load,
            },
            space: Space::Shared,
            address: pending.shared,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            nearest: match aligned {
                true => format!("the block has {shared} bytes"),
                false => "a box is aligned to 128 bytes".to_string(),
            },
        };
        Err(Box::new(RawFault {
            kind: match aligned {
                true => FaultKind::OutOfBounds(access),
                false => FaultKind::Misaligned(access),
            },
            lane: Some(*lane),
        }))
    }

    /// Executes the oldest load, if there is one.
    pub(super) fn advance_bulk(&mut self) -> Result<bool, Box<crate::error::Fault>> {
        let is_load = |bulk: &PendingBulk| matches!(bulk.kind, PendingKind::Load { .. });
        let Some(oldest) = self.bulk.iter().position(is_load) else {
            return Ok(false);
        };
        if let Some(bulk) = self.bulk.remove(oldest) {
            let (warp, info) = (bulk.warp, bulk.info);
            self.transfer(bulk)
                .map_err(|fault| self.fault(*fault, Some(warp), Some(info)))?;
        }
        Ok(true)
    }

    /// `cp.async.bulk.wait_group`: executes the stores of some lanes but for the newest groups.
    pub(super) fn wait_for_stores(
        &mut self,
        index: usize,
        mask: u32,
        newest: u32,
    ) -> Result<(), Box<RawFault>> {
        let committed = self.warps[index].bulk_groups;
        self.finish_stores(|bulk, group| {
            bulk.warp == index
                && mask >> bulk.lane & 1 != 0
                && u64::from(group) + u64::from(newest) < u64::from(committed[bulk.lane])
        })
    }

    /// Executes the stores that are left when the block ends.
    pub(super) fn finish_all_stores(&mut self) -> Result<(), Box<crate::error::Fault>> {
        self.finish_stores(|_, _| true)
            .map_err(|fault| self.fault(*fault, None, None))
    }

    fn finish_stores(
        &mut self,
        wanted: impl Fn(&PendingBulk, u32) -> bool,
    ) -> Result<(), Box<RawFault>> {
        let all = std::mem::take(&mut self.bulk);
        for bulk in all {
            match bulk.kind {
                PendingKind::Store { group } if wanted(&bulk, group) => self.transfer(bulk)?,
                _ => self.bulk.push_back(bulk),
            }
        }
        Ok(())
    }

    /// Moves a box.
    fn transfer(&mut self, bulk: PendingBulk) -> Result<(), Box<RawFault>> {
        let PendingKind::Load { barrier } = bulk.kind else {
            self.observe_box(&bulk, Progress::Waited);
            self.move_elements(&bulk)?;
            self.observe_rows(&bulk);
            return Ok(());
        };
        let ranks: Vec<u32> = lanes(bulk.blocks).map(|rank| rank as u32).collect();
        for &rank in &ranks {
            let place = cluster_address(rank, bulk.shared);
            self.check_rank(rank.into(), (AccessKind::Store, place, 1), bulk.lane)?;
            self.at_rank(rank, |this| this.move_elements(&bulk))?;
        }
        self.observe_rows(&bulk);
        let by = LaneId {
            rank: self.rank,
            warp: bulk.warp,
            lane: bulk.lane,
        };
        let bytes = bulk.map.box_bytes() as i64;
        for rank in ranks {
            let told = Progress::Signalled(cluster_address(rank, barrier));
            self.observe_box_of(&bulk, rank, told);
            self.at_rank(rank, |this| this.complete_bytes(barrier, bytes, by))?;
        }
        Ok(())
    }

    /// Copies a box from or to the running block, element by element.
    fn move_elements(&mut self, bulk: &PendingBulk) -> Result<(), Box<RawFault>> {
        let map = &bulk.map;
        let bytes = u32::from(map.element_bytes);
        let count = map.box_bytes() / u64::from(bytes);
        let loads = matches!(bulk.kind, PendingKind::Load { .. });
        for element in 0..count {
            let at = map.swizzle.apply(bulk.shared + element * u64::from(bytes));
            let global = place(map, &bulk.start, element, loads);
            match (global, loads) {
                (None, true) => self.write_shared(at, bytes, 0),
                (None, false) => {}
                (Some(address), _) => {
                    let Some(allocation) = self.launch.allocation(address, u64::from(bytes)) else {
                        let nearest = self.launch.nearest(address);
                        let message = format!("the tensor reaches address {address:#x}; {nearest}");
                        return Err(bad(message, bulk.lane));
                    };
                    let offset = (address - allocation.base) as usize;
                    if loads {
                        self.write_shared(at, bytes, allocation.read(offset, bytes));
                    } else {
                        allocation.write(offset, bytes, self.read_shared(at, bytes));
                    }
                }
            }
        }
        Ok(())
    }

    fn write_shared(&mut self, at: u64, bytes: u32, value: u64) {
        let words = &mut self.shared[at as usize / 4..];
        super::element::set_word_bytes(words, at as usize % 4, bytes, value);
    }

    fn read_shared(&self, at: u64, bytes: u32) -> u64 {
        super::element::read_word_bytes(&self.shared, at as usize, bytes)
    }

    /// Reports the box in the shared memory of each of its blocks.
    fn observe_box(&mut self, bulk: &PendingBulk, progress: Progress) {
        for rank in lanes(bulk.blocks) {
            self.observe_box_of(bulk, rank as u32, progress);
        }
    }

    /// Reports the box in the shared memory of a block.
    fn observe_box_of(&mut self, bulk: &PendingBulk, rank: u32, progress: Progress) {
        let kind = match bulk.kind {
            PendingKind::Load { .. } => AccessKind::Store,
            PendingKind::Store { .. } => AccessKind::Load,
        };
        let (space, start) = match rank == self.rank {
            true => (Space::Shared, bulk.shared),
            false => (Space::Cluster, cluster_address(rank, bulk.shared)),
        };
        let end = start + bulk.map.box_bytes();
        self.observe_chunks(bulk, space, kind, (start, end), progress);
    }

    /// Reports the accesses to global memory: each row of the box as far as it is inside the
    /// tensor.
    fn observe_rows(&mut self, bulk: &PendingBulk) {
        if !O::ASYNC_ACCESSES {
            return;
        }
        let map = &bulk.map;
        let (kind, progress) = match bulk.kind {
            PendingKind::Load { barrier } => {
                let first = bulk.blocks.trailing_zeros();
                (
                    AccessKind::Load,
                    Progress::Signalled(cluster_address(first, barrier)),
                )
            }
            PendingKind::Store { .. } => (AccessKind::Store, Progress::Waited),
        };
        let row = u64::from(map.box_extents[0]);
        let rows = map.box_bytes() / u64::from(map.element_bytes) / row;
        for index in 0..rows {
            let loads = kind == AccessKind::Load;
            let inside = (0..row).filter_map(|at| place(map, &bulk.start, index * row + at, loads));
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
        if !O::ASYNC_ACCESSES {
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
            let who = (bulk.warp, bulk.info);
            let (context, access) = self.access(who, space, access, (mask, &addresses));
            let access = AsyncAccess {
                access,
                issuer: Issuer::Lane(bulk.lane as u32),
                progress,
            };
            self.observer.notify(Event::AsyncAccess {
                warp: &context,
                access: &access,
            });
            at += count * size;
        }
    }
}

/// The global address of an element of a box; none outside of the tensor.
///
/// A store writes whole words of 4 bytes: where a row ends inside of a word, the rest of the word
/// as well. (Seen on an H200; the PTX ISA does not specify it.)
fn place(map: &TensorMap, start: &[i32], mut element: u64, loads: bool) -> Option<u64> {
    let of_word = match loads {
        true => 1,
        false => (4 / u64::from(map.element_bytes)).max(1),
    };
    let mut address = map.address;
    for (dimension, &extent) in map.box_extents.iter().enumerate() {
        let within = element % u64::from(extent);
        element /= u64::from(extent);
        let at = u64::try_from(i64::from(start[dimension]) + within as i64).ok()?;
        let end = match dimension {
            0 => map.extents[0].next_multiple_of(of_word),
            _ => map.extents[dimension],
        };
        if at >= end {
            return None;
        }
        let stride = match dimension {
            0 => u64::from(map.element_bytes),
            _ => map.strides[dimension - 1],
        };
        address = address.wrapping_add(at.wrapping_mul(stride));
    }
    Some(address)
}
