//! `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async` and `red.async`: the copy engine.
//!
//! Copies are executed as late as PTX allows: loads when no thread of the block can go on without
//! them, stores when their thread waits for the group, or at the end of the block. A kernel that
//! forgets to wait sees what was there before.

mod accesses;

use super::access::lane_addresses;
use super::atomic::{update_global, updated};
use super::block::Worker;
use super::mbarrier::{LaneId, registers};
use super::run::RawFault;
use super::vector::LANES;
use super::warp_ops::{self, lanes};
use crate::address_space::{WINDOW, cluster_address, of_cluster, space_of, window};
use crate::error::{AccessFault, FaultKind};
use crate::ir::{AccessKind, AtomicFunction, BulkCopy, BulkData, BulkDirection, Reg32, Space};
use crate::observer::{EventSink, Progress};
use crate::tensor_map::{TENSOR_MAP_BYTES, TensorMap};
use ptx_syntax::ast::Type;

/// Alignment of a box in shared memory (PTX ISA, "cp.async.bulk.tensor").
const BOX_ALIGN: u64 = 128;

/// Alignment of copies of bytes, and what their number is a multiple of.
const BYTES_ALIGN: u64 = 16;

/// Alignment of a map.
const MAP_ALIGN: u64 = 64;

/// Bytes that one event for observers covers for each lane.
const CHUNK: u64 = 16;

/// A copy that has been issued.
#[derive(Clone, Debug)]
pub(super) struct PendingBulk {
    region: Region,
    reduction: Option<(AtomicFunction, Type)>,
    /// Address in shared memory; of a load that of the destination.
    shared: u64,
    /// The destination blocks of the cluster, one bit each.
    blocks: u32,
    /// The mbarrier of a load; the group of a store.
    kind: PendingKind,
    warp: usize,
    lane: usize,
    info: u32,
    /// Whether another lane stores the same by the same instruction. As with stores of one value by
    /// several lanes of a warp, observers see one.
    repeats: bool,
}

/// The other side of a copy.
#[derive(Clone, Debug)]
enum Region {
    /// A box of a tensor, from these coordinates on.
    Box(TensorMap, Vec<i32>),
    /// Bytes of global memory: an address and their number.
    Global(u64, u64),
    /// Bytes of the issuing block's shared memory.
    Own(u64, u64),
    /// Values, and the bytes of each.
    Values(Vec<u64>, u32),
}

impl Region {
    /// Bytes that an mbarrier is told of.
    fn told_bytes(&self) -> u64 {
        match self {
            Region::Box(map, _) => map.told_bytes(),
            other => other.bytes(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Region::Box(map, _) => map.box_bytes(),
            Region::Global(_, bytes) | Region::Own(_, bytes) => *bytes,
            Region::Values(values, bytes) => values.len() as u64 * u64::from(*bytes),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingKind {
    Load {
        barrier: u64,
        /// Of a pair of blocks: whether the mbarrier is that of the block of the higher rank.
        of_pair: Option<bool>,
    },
    Store {
        group: u32,
    },
}

impl PendingKind {
    /// The rank of the block whose mbarrier is told of the copy to a block.
    fn barrier_rank(self, rank: u32) -> u32 {
        match self {
            PendingKind::Load {
                of_pair: Some(higher),
                ..
            } => rank & !1 | u32::from(higher),
            _ => rank,
        }
    }
}

fn bad(message: String, lane: usize) -> Box<RawFault> {
    Box::new(RawFault {
        kind: FaultKind::BadTensor(message),
        lane: Some(lane),
    })
}

/// An address of shared memory, which may be a generic one, within its window.
pub(super) fn within_shared(address: u64) -> u64 {
    match space_of(address) {
        Space::Shared => address & (WINDOW - 1),
        _ => address,
    }
}

/// Whether the last of the copies of an instruction is a store that an earlier lane makes too, from
/// and to the same place.
fn is_repeated(
    copies: &[(usize, Region, PendingKind)],
    others: &[u64; LANES],
    places: &[u64; LANES],
) -> bool {
    let [before @ .., (lane, region, PendingKind::Store { .. })] = copies else {
        return false;
    };
    before.iter().any(|(other, of_other, _)| {
        let same = match (region, of_other) {
            (Region::Box(_, start), Region::Box(_, of_other)) => start == of_other,
            (Region::Global(_, bytes), Region::Global(_, of_other)) => bytes == of_other,
            _ => false,
        };
        same && (others[*lane], places[*lane]) == (others[*other], places[*other])
    })
}

/// What a reduction does; that of a tensor's elements is of the type that its map states.
fn reduction(
    named: Option<(AtomicFunction, Option<Type>)>,
    region: &Region,
    lane: usize,
) -> Result<Option<(AtomicFunction, Type)>, Box<RawFault>> {
    let (function, map) = match (named, region) {
        (None, _) => return Ok(None),
        (Some((function, Some(ty))), _) => return Ok(Some((function, ty))),
        (Some((function, None)), Region::Box(map, _)) => (function, map),
        (Some(_), _) => return Ok(None),
    };
    let ty = map.element.reduced(function).ok_or_else(|| {
        let message = format!(
            "a tensor map of {:?} elements cannot be reduced by {function:?}",
            map.element
        );
        bad(message, lane)
    })?;
    if ty.bytes() != u32::from(map.element_bytes) {
        let message = format!(
            "{:?} elements do not have {} bytes",
            map.element, map.element_bytes
        );
        return Err(bad(message, lane));
    }
    Ok(Some((function, ty)))
}

impl<O: EventSink> Worker<'_, '_, O> {
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
        let others = match &copy.data {
            BulkData::Box(other, _) | BulkData::Bytes(other, _) => {
                lane_addresses(&r, frame.local_base, other)
            }
            BulkData::Values(..) => [0; LANES],
        };
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
            let word = |reg: &Reg32| r.regs32[reg.0 as usize][lane];
            let data = match &copy.data {
                BulkData::Box(_, coordinates) => {
                    let start = coordinates.iter().map(|reg| word(reg) as i32);
                    Region::Box(TensorMap::default(), start.collect())
                }
                BulkData::Bytes(other, bytes) if other.space == Space::Shared => {
                    Region::Own(others[lane], u64::from(word(bytes)))
                }
                BulkData::Bytes(_, bytes) => Region::Global(others[lane], u64::from(word(bytes))),
                BulkData::Values(values, bytes) => {
                    let values = values.iter().map(|value| warp_ops::read(&r, *value, lane));
                    Region::Values(values.collect(), *bytes)
                }
            };
            let kind = match copy.direction {
                BulkDirection::Load { .. } => PendingKind::Load {
                    barrier: barriers[lane],
                    of_pair: copy.pair.then_some(false),
                },
                BulkDirection::Store => PendingKind::Store {
                    group: committed[lane],
                },
            };
            wanted.push((lane, data, kind));
        }
        let repeats: Vec<bool> = (0..wanted.len())
            .map(|at| copy.reduction.is_none() && is_repeated(&wanted[..=at], &others, &places))
            .collect();
        for ((lane, data, kind), repeats) in wanted.into_iter().zip(repeats) {
            let region = match data {
                Region::Box(_, start) => {
                    let map = self.tensor_map(others[lane], lane)?;
                    let (map, start) = map
                        .in_whole_bytes(start)
                        .map_err(|message| bad(message, lane))?;
                    Region::Box(map, start)
                }
                other => other,
            };
            let reduction = reduction(copy.reduction, &region, lane)?;
            let (shared, kind, blocks) =
                self.targets(places[lane], kind, masks.map(|masks| masks[lane]), lane)?;
            let pending = PendingBulk {
                region,
                reduction,
                shared,
                blocks,
                kind,
                warp: index,
                lane,
                info,
                repeats,
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
        let shared = within_shared(shared);
        let PendingKind::Load { barrier, of_pair } = kind else {
            return Ok((shared, kind, 1 << (self.rank - self.cluster_ranks().start)));
        };
        let barrier = within_shared(barrier);
        let resolve = |address| of_cluster(self.launch.resolve_cluster(address, self.rank));
        let (rank, at) = resolve(shared);
        let (rank_of_barrier, barrier) = resolve(barrier);
        let kind = PendingKind::Load {
            barrier,
            of_pair: of_pair.map(|_| rank_of_barrier & 1 != 0),
        };
        let is_same = match of_pair {
            Some(_) => rank / 2 == rank_of_barrier / 2,
            None => rank == rank_of_barrier,
        };
        if !is_same && (of_pair.is_none() || named.is_none()) {
            let message = format!(
                "the box is in the block of rank {rank} and its mbarrier in that of rank \
                 {rank_of_barrier}"
            );
            return Err(bad(message, lane));
        }
        // All blocks of the cluster.
        let named = match named {
            Some(u32::MAX) => Some((1 << self.launch.cluster_blocks()) - 1),
            named => named,
        };
        let Some(named) = named else {
            self.check_rank(
                rank,
                (AccessKind::Store, cluster_address(rank as u32, at), 1),
                lane,
            )?;
            let place = rank - u64::from(self.cluster_ranks().start);
            return Ok((at, kind, 1 << place));
        };
        let count = self.launch.cluster_blocks();
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
        let PendingBulk { region, lane, .. } = pending;
        let bytes = region.bytes();
        let (map, start) = match region {
            Region::Box(map, start) => (map, start),
            Region::Global(other, _) => {
                if self.launch.allocation(*other, bytes).is_none() {
                    let nearest = self.launch.nearest(*other);
                    return Err(self.out_of_bounds(pending, (Space::Global, *other), nearest));
                }
                return self.check_bytes(pending, Some(*other));
            }
            Region::Own(from, _) => {
                let shared = u64::from(self.launch.shared_bytes);
                if *from > shared || bytes > shared - *from {
                    let nearest = format!("the block has {shared} bytes");
                    return Err(self.out_of_bounds(pending, (Space::Shared, *from), nearest));
                }
                return self.check_bytes(pending, Some(*from));
            }
            Region::Values(..) => return self.check_bytes(pending, None),
        };
        if map.extents.len() != start.len() {
            let (has, named) = (map.extents.len(), start.len());
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
        self.check_shared(pending, BOX_ALIGN)
    }

    /// Checks a copy of bytes or of values, whose other side lies at an address.
    fn check_bytes(&self, pending: &PendingBulk, other: Option<u64>) -> Result<(), Box<RawFault>> {
        let bytes = pending.region.bytes();
        let Some(other) = other else {
            return self.check_shared(pending, bytes.max(1));
        };
        if !(bytes | other).is_multiple_of(BYTES_ALIGN) {
            let message = format!(
                "a bulk copy of {bytes} bytes from or to {other:#x}: both must be multiples of 16"
            );
            return Err(bad(message, pending.lane));
        }
        self.check_shared(pending, BYTES_ALIGN)
    }

    fn out_of_bounds(
        &self,
        pending: &PendingBulk,
        (space, address): (Space, u64),
        nearest: String,
    ) -> Box<RawFault> {
        let is_store = space == Space::Global && matches!(pending.kind, PendingKind::Store { .. });
        Box::new(RawFault {
            kind: FaultKind::OutOfBounds(AccessFault {
                access: if is_store {
                    AccessKind::Store
                } else {
                    AccessKind::Load
                },
                space,
                address,
                bytes: u32::try_from(pending.region.bytes()).unwrap_or(u32::MAX),
                nearest,
            }),
            lane: Some(pending.lane),
        })
    }

    /// Checks the side in the shared memory of the destination.
    fn check_shared(&self, pending: &PendingBulk, align: u64) -> Result<(), Box<RawFault>> {
        let bytes = pending.region.bytes();
        let shared = u64::from(self.launch.shared_bytes);
        let aligned = pending.shared.is_multiple_of(align);
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
                false => format!("it is aligned to {align} bytes"),
            },
        };
        Err(Box::new(RawFault {
            kind: match aligned {
                true => FaultKind::OutOfBounds(access),
                false => FaultKind::Misaligned(access),
            },
            lane: Some(pending.lane),
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
        let PendingKind::Load { barrier, .. } = bulk.kind else {
            self.observe_box(&bulk, Progress::Waited);
            self.move_elements(&bulk, &bulk.region)?;
            self.observe_rows(&bulk);
            return Ok(());
        };
        // What the block sends lies in its own shared memory.
        let sent = self.sent(&bulk);
        let ranks: Vec<u32> = self.destinations(&bulk).collect();
        for &rank in &ranks {
            let place = cluster_address(rank, bulk.shared);
            self.check_rank(rank.into(), (AccessKind::Store, place, 1), bulk.lane)?;
            let region = sent.as_ref().unwrap_or(&bulk.region);
            self.at_rank(rank, |this| this.move_elements(&bulk, region))?;
        }
        self.observe_rows(&bulk);
        let by = LaneId {
            rank: self.rank,
            warp: bulk.warp,
            lane: bulk.lane,
        };
        let bytes = bulk.region.told_bytes() as i64;
        for rank in ranks {
            let of_barrier = bulk.kind.barrier_rank(rank);
            let told = Progress::Signalled(cluster_address(of_barrier, barrier));
            self.observe_box_of(&bulk, rank, told);
            let access = (AccessKind::Atomic, cluster_address(of_barrier, barrier), 8);
            self.check_rank(of_barrier.into(), access, bulk.lane)?;
            self.at_rank(of_barrier, |this| this.complete_bytes(barrier, bytes, by))?;
        }
        Ok(())
    }

    /// The values that a block sends to another one.
    fn sent(&self, bulk: &PendingBulk) -> Option<Region> {
        let Region::Own(from, bytes) = bulk.region else {
            return None;
        };
        let each = bulk.reduction.map_or(4, |(_, ty)| ty.bytes());
        let places = (0..bytes / u64::from(each)).map(|at| from + at * u64::from(each));
        let values = places.map(|at| self.read_shared(at, each));
        Some(Region::Values(values.collect(), each))
    }

    /// Copies from or to the shared memory of the running block, element by element.
    fn move_elements(&mut self, bulk: &PendingBulk, region: &Region) -> Result<(), Box<RawFault>> {
        let bytes = match region {
            Region::Box(map, _) => u32::from(map.element_bytes),
            Region::Values(_, bytes) => *bytes,
            Region::Global(..) | Region::Own(..) => bulk.reduction.map_or(4, |(_, ty)| ty.bytes()),
        };
        let count = region.bytes() / u64::from(bytes);
        let loads = matches!(bulk.kind, PendingKind::Load { .. });
        for element in 0..count {
            let at = bulk.shared + element * u64::from(bytes);
            let (at, global) = match region {
                Region::Box(map, start) => {
                    (map.swizzle.apply(at), place(map, start, element, loads))
                }
                Region::Global(address, _) => (at, Some(address + element * u64::from(bytes))),
                Region::Own(..) => return Ok(()),
                Region::Values(values, _) => {
                    let value = values[element as usize];
                    let value = match bulk.reduction {
                        Some(what) => {
                            let old = self.read_shared(at, bytes);
                            updated(what, Space::Shared, old, value, 0)
                        }
                        None => value,
                    };
                    self.write_shared(at, bytes, value);
                    continue;
                }
            };
            let address = match (global, loads) {
                (None, true) => {
                    self.write_shared(at, bytes, 0);
                    continue;
                }
                (None, false) => continue,
                (Some(address), _) => address,
            };
            let Some(allocation) = self.launch.allocation(address, u64::from(bytes)) else {
                let nearest = self.launch.nearest(address);
                let message = format!("the copy reaches address {address:#x}; {nearest}");
                return Err(bad(message, bulk.lane));
            };
            let offset = (address - allocation.base) as usize;
            if loads {
                self.write_shared(at, bytes, allocation.read(offset, bytes));
                continue;
            }
            let value = self.read_shared(at, bytes);
            match bulk.reduction {
                None => allocation.write(offset, bytes, value),
                Some(what) => {
                    // The copy engine keeps subnormals of f32, which atomics of global memory
                    // flush, as an H100 shows.
                    let as_in = match what.1 {
                        Type::F32 => Space::Shared,
                        _ => Space::Global,
                    };
                    let update = |old| updated(what, as_in, old, value, 0);
                    update_global(self.launch, allocation, address, bytes, update);
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

    /// The ranks of a copy's destination blocks.
    fn destinations(&self, bulk: &PendingBulk) -> impl Iterator<Item = u32> + use<O> {
        let first = self.cluster_ranks().start;
        lanes(bulk.blocks).map(move |place| first + place as u32)
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
        let offset = match dimension {
            0 => map.offset_in_row(at)?,
            _ => at.wrapping_mul(map.strides[dimension - 1]),
        };
        address = address.wrapping_add(offset);
    }
    Some(address)
}
