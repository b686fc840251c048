//! What a kernel asks of the memory hierarchy beyond what [`Counters`](ptx_emulator::Counters) count.

use ptx_emulator::{AccessKind, Kernel, MemoryAccess, Observer, Space, WarpContext};
use std::collections::{HashMap, HashSet, VecDeque};

/// Bytes of a line of the L1 caches: what one pass through their data path reaches.
const LINE_BYTES: u64 = 128;

/// Lines whose stores a warp has under way before the oldest goes to the L2 cache: stores into a line that is still there are
/// merged. As many as fit the counts of an H200 for stores 4 to 32 words apart.
const PENDING_LINES: usize = 8;

/// Bytes of a sector.
pub(super) const SECTOR_BYTES: u64 = 32;

/// Bytes that one pass delivers at most.
const PASS_BYTES: u32 = 128;

/// Counts passes through the L1 data path, and sectors that each block fetches.
///
/// A block that runs alone on its multiprocessor fetches each sector from the L2 cache once, as long as what it uses over
/// and over fits the L1 cache. Blocks beside it are other blocks' business: they fetch the same sectors again.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Passes of global loads and stores.
    pub wavefronts: u64,
    /// Sectors that blocks load, each once per block.
    pub read_sectors: u64,
    /// Sectors that go to the L2 cache as a whole.
    pub write_sectors: u64,
    /// Sectors that go there in parts, each part counted, which cost the L2 cache more.
    pub partial_sectors: u64,
    /// Addresses of constant memory and of parameters, request by request.
    pub constant_addresses: u64,
    /// The sectors that the block at hand has loaded.
    loaded: HashSet<u64>,
    /// Of each warp of the block, the lines that it has stored to, the oldest first, with a bit for each byte.
    pending: HashMap<u32, VecDeque<(u64, u128)>>,
}

impl Traffic {
    fn constant(&mut self, access: &MemoryAccess<'_>) {
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        let mut addresses: Vec<u64> = lanes.map(|lane| access.addresses[lane]).collect();
        addresses.sort_unstable();
        addresses.dedup();
        self.constant_addresses += addresses.len() as u64;
    }

    /// A lane of a warp stores so many bytes, at most 16, which are aligned and so in one line.
    fn store(&mut self, warp: u32, start: u64, bytes: u64) {
        let line = start / LINE_BYTES;
        let stored = ((1u128 << bytes) - 1) << (start % LINE_BYTES);
        let pending = self.pending.entry(warp).or_default();
        if let Some((_, before)) = pending.iter_mut().rev().find(|(of, _)| *of == line) {
            *before |= stored;
            return;
        }
        pending.push_back((line, stored));
        if pending.len() > PENDING_LINES
            && let Some((_, stored)) = pending.pop_front()
        {
            self.sent(stored);
        }
    }

    /// A line goes to the L2 cache.
    fn sent(&mut self, stored: u128) {
        for sector in 0..LINE_BYTES / SECTOR_BYTES {
            match (stored >> (sector * SECTOR_BYTES)) as u32 {
                0 => {}
                u32::MAX => self.write_sectors += 1,
                _ => self.partial_sectors += 1,
            }
        }
    }
}

impl Observer for Traffic {
    fn fork(&self) -> Self {
        Traffic::default()
    }

    fn join(&mut self, worker: Self) {
        self.wavefronts += worker.wavefronts;
        self.read_sectors += worker.read_sectors;
        self.write_sectors += worker.write_sectors;
        self.partial_sectors += worker.partial_sectors;
        self.constant_addresses += worker.constant_addresses;
    }

    fn block_start(&mut self, _: &Kernel, _: [u32; 3]) {
        self.loaded.clear();
    }

    fn block_end(&mut self, _: &Kernel, _: [u32; 3]) {
        self.read_sectors += self.loaded.len() as u64;
        for (_, stored) in std::mem::take(&mut self.pending).into_values().flatten() {
            self.sent(stored);
        }
    }

    fn memory_access(&mut self, context: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        match access.space {
            Space::Global => {}
            Space::Const | Space::Param => return self.constant(access),
            _ => return,
        }
        let opcode = context.kernel.instruction(access.instruction).opcode();
        // The copy engine and asynchronous copies pass their data to shared memory, where it is counted.
        let passes = !opcode.starts_with("cp.async");
        let lanes_at_once = (PASS_BYTES / access.bytes.max(4)).clamp(1, 32) as usize;
        let active = |lane: &usize| access.mask >> lane & 1 == 1;
        for first in (0..32).step_by(lanes_at_once).filter(|_| passes) {
            let lanes = (first..first + lanes_at_once).filter(active);
            let mut lines: Vec<u64> = lanes
                .map(|lane| access.addresses[lane] / LINE_BYTES)
                .collect();
            lines.sort_unstable();
            lines.dedup();
            self.wavefronts += lines.len() as u64;
        }
        for lane in (0..32).filter(active) {
            let (start, bytes) = (access.addresses[lane], u64::from(access.bytes.max(1)));
            if access.kind == AccessKind::Load {
                let end = start + bytes - 1;
                self.loaded
                    .extend(start / SECTOR_BYTES..=end / SECTOR_BYTES);
            } else {
                self.store(context.warp, start, bytes);
            }
        }
    }
}
