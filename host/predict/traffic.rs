//! What a kernel asks of the memory hierarchy beyond what [`Counters`](ptx_emulator::Counters) count.

use ptx_emulator::{AccessKind, Kernel, MemoryAccess, Observer, Space, WarpContext};
use std::collections::HashSet;

/// Bytes of a line of the L1 caches: what one pass through their data path reaches.
const LINE_BYTES: u64 = 128;

/// Bytes that the constant cache delivers at once.
const CONSTANT_LINE_BYTES: u64 = 64;

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
    /// Sectors that a request stores as a whole.
    pub write_sectors: u64,
    /// Sectors that a request stores a part of, which cost the L2 cache more.
    pub partial_sectors: u64,
    /// Lines of constant memory and of parameters at computed addresses, request by request.
    pub constant_lines: u64,
    /// The sectors that the block at hand has loaded.
    loaded: HashSet<u64>,
}

impl Traffic {
    fn constant(&mut self, access: &MemoryAccess<'_>) {
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        let mut lines: Vec<u64> = lanes
            .map(|lane| access.addresses[lane] / CONSTANT_LINE_BYTES)
            .collect();
        lines.sort_unstable();
        lines.dedup();
        self.constant_lines += lines.len() as u64;
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
        self.constant_lines += worker.constant_lines;
    }

    fn block_start(&mut self, _: &Kernel, _: [u32; 3]) {
        self.loaded.clear();
    }

    fn block_end(&mut self, _: &Kernel, _: [u32; 3]) {
        self.read_sectors += self.loaded.len() as u64;
    }

    fn memory_access(&mut self, _: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        match access.space {
            Space::Global => {}
            Space::Const | Space::Param => return self.constant(access),
            _ => return,
        }
        let lanes_at_once = (PASS_BYTES / access.bytes.max(4)).clamp(1, 32) as usize;
        let mut sectors = Vec::with_capacity(32);
        for first in (0..32).step_by(lanes_at_once) {
            let lanes = (first..first + lanes_at_once).filter(|lane| access.mask >> lane & 1 == 1);
            let mut lines = Vec::with_capacity(lanes_at_once);
            for lane in lanes {
                let start = access.addresses[lane];
                let end = start + u64::from(access.bytes.max(1)) - 1;
                lines.push(start / LINE_BYTES);
                sectors.extend(start / SECTOR_BYTES..=end / SECTOR_BYTES);
            }
            lines.sort_unstable();
            lines.dedup();
            self.wavefronts += lines.len() as u64;
        }
        sectors.sort_unstable();
        if access.kind == AccessKind::Load {
            sectors.dedup();
            self.loaded.extend(sectors);
            return;
        }
        for of_one in sectors.chunk_by(|a, b| a == b) {
            // Lanes that store to one address are not told from neighbours: kernels of interest do not.
            let bytes = of_one.len() as u64 * u64::from(access.bytes).min(SECTOR_BYTES);
            if bytes >= SECTOR_BYTES {
                self.write_sectors += 1;
            } else {
                self.partial_sectors += 1;
            }
        }
    }
}
