//! `cp.async`: a thread's copies in flight.
//!
//! Global memory is read when a copy is issued, shared memory is written as late as PTX allows:
//! when the thread waits for the group, or when the mbarrier to which the copy is attached
//! completes its phase. A kernel that forgets to wait reads the old contents, and observers see the
//! store where it happens.

use super::run::{Outcome, RawFault, Run};
use super::vector::LANES;
use super::warp_ops::lanes;
use crate::ir::{AccessKind, Space};
use crate::observer::{EventSink, Issuer, Progress};

/// Words of the largest copy.
const WORDS: usize = 4;

/// The copies that one instruction of a warp has issued.
#[derive(Clone, Debug)]
pub(crate) struct PendingCopy {
    /// The instruction.
    pub info: u32,
    /// Lanes whose copy has not been written.
    pub mask: u32,
    pub bytes: u32,
    /// Addresses in shared memory.
    pub to: [u64; LANES],
    data: Box<[[u32; WORDS]; LANES]>,
    /// The group of each lane: the number of groups that it had committed before.
    group: [u32; LANES],
}

impl PendingCopy {
    /// Writes the copies of some lanes.
    pub(crate) fn write(&self, mask: u32, shared: &mut [u32]) {
        let count = self.bytes as usize / 4;
        for lane in lanes(mask) {
            let first = self.to[lane] as usize / 4;
            shared[first..first + count].copy_from_slice(&self.data[lane][..count]);
        }
    }
}

/// The copies of a warp that are in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopyQueue {
    pending: Vec<PendingCopy>,
    /// Groups that each lane has committed.
    committed: [u32; LANES],
}

impl CopyQueue {
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.committed = [0; LANES];
    }

    /// Takes all copies of the lanes of `mask` for which `wanted` holds, given lane and group.
    fn take(&mut self, mask: u32, wanted: impl Fn(usize, u32) -> bool) -> Vec<PendingCopy> {
        let mut taken = Vec::new();
        self.pending.retain_mut(|copy| {
            let now = lanes(mask & copy.mask)
                .filter(|&lane| wanted(lane, copy.group[lane]))
                .fold(0, |now, lane| now | 1 << lane);
            copy.mask &= !now;
            match (now, copy.mask) {
                (0, _) => true,
                (_, 0) => {
                    // The last lanes: the copy itself leaves the queue.
                    let mut last = copy.clone();
                    last.mask = now;
                    taken.push(last);
                    false
                }
                _ => {
                    let mut part = copy.clone();
                    part.mask = now;
                    taken.push(part);
                    true
                }
            }
        });
        taken
    }

    /// Takes all copies that the lanes of `mask` have issued.
    pub(super) fn take_all(&mut self, mask: u32) -> Vec<PendingCopy> {
        self.take(mask, |_, _| true)
    }
}

impl<O: EventSink> Run<'_, '_, O> {
    /// `cp.async`
    pub(super) fn async_copy(&mut self, index: u32, mask: u32) -> Outcome {
        let copy = &self.program.async_copies[index as usize];
        let (_, to) = self.resolve(&copy.to, mask);
        let (_, from) = self.resolve(&copy.from, mask);
        let ignored = copy.ignore.map_or(0, |p| self.r.predicates[p.0 as usize]);
        let source_bytes: [u32; LANES] = std::array::from_fn(|lane| match copy.source_bytes {
            _ if ignored >> lane & 1 != 0 => 0,
            Some(reg) => self.r.regs32[reg.0 as usize][lane].min(copy.bytes),
            None => copy.bytes,
        });
        let reading = lanes(mask)
            .filter(|&lane| source_bytes[lane] != 0)
            .fold(0, |reading, lane| reading | 1 << lane);
        if reading != 0 {
            // Bytes that are filled with zeros are not read; observers see one size for all lanes.
            let bytes = lanes(reading).map(|lane| source_bytes[lane]).max();
            let bytes = bytes.unwrap_or(copy.bytes);
            self.observe(
                Space::Global,
                AccessKind::Load,
                bytes,
                (reading, false),
                &from,
            );
        }
        let mut data = Box::new([[0u32; WORDS]; LANES]);
        let mut near = 0;
        for lane in lanes(mask) {
            self.check(Space::Shared, to[lane], copy.bytes, AccessKind::Store, lane)?;
            let read = source_bytes[lane];
            if read != 0 {
                data[lane] = self.copied(from[lane], (read, copy.bytes), lane, &mut near)?;
            }
        }
        let (kind, progress) = (AccessKind::Store, Progress::Issued);
        self.observe_async(kind, copy.bytes, (mask, &to), Issuer::EachLane, progress);
        self.copies.pending.push(PendingCopy {
            info: self.info,
            mask,
            bytes: copy.bytes,
            to,
            data,
            group: self.copies.committed,
        });
        Ok(())
    }

    /// What a lane reads, at an address that is aligned to the size of the whole copy. `near` is
    /// the allocation to look at first.
    fn copied(
        &self,
        address: u64,
        (read, bytes): (u32, u32),
        lane: usize,
        near: &mut u32,
    ) -> Result<[u32; WORDS], Box<RawFault>> {
        let mut data = [0; WORDS];
        if !address.is_multiple_of(u64::from(bytes)) {
            self.check(Space::Global, address, bytes, AccessKind::Load, lane)?;
        }
        if let Some(allocation) = self.launch.allocation_near(near, address, read.into()) {
            let first = (address - allocation.base) as usize;
            for (at, word) in (0..read as usize).step_by(4).zip(&mut data) {
                let rest = (read as usize - at).min(4);
                *word = match rest {
                    3 => {
                        let low = allocation.read(first + at, 2);
                        let high = allocation.read(first + at + 2, 1);
                        low as u32 | (high as u32) << 16
                    }
                    rest => allocation.read(first + at, rest as u32) as u32,
                };
            }
            return Ok(data);
        }
        // The first byte that is not there is the one that is reported.
        for at in 0..read {
            let address = address + u64::from(at);
            self.check(Space::Global, address, 1, AccessKind::Load, lane)?;
            let byte = self.read_memory(Space::Global, address, 1, lane, false);
            data[at as usize / 4] |= (byte as u32) << (8 * (at % 4));
        }
        Ok(data)
    }

    pub(super) fn async_commit(&mut self, mask: u32) {
        for lane in lanes(mask) {
            self.copies.committed[lane] += 1;
        }
    }

    /// `cp.async.wait_group`: writes the copies of all groups but the `newest` ones.
    pub(super) fn async_wait(&mut self, newest: Option<u32>, mask: u32) {
        let committed = self.copies.committed;
        let done = self.copies.take(mask, |lane, group| {
            newest.is_none_or(|newest| {
                u64::from(group) + u64::from(newest) < u64::from(committed[lane])
            })
        });
        for copy in done {
            let own = std::mem::replace(&mut self.info, copy.info);
            self.observe(
                Space::Shared,
                AccessKind::Store,
                copy.bytes,
                (copy.mask, false),
                &copy.to,
            );
            let (kind, lanes) = (AccessKind::Store, (copy.mask, &copy.to));
            self.observe_async(kind, copy.bytes, lanes, Issuer::EachLane, Progress::Waited);
            copy.write(copy.mask, self.shared);
            self.info = own;
        }
    }
}
