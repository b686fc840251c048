//! What a kernel asks of the memory hierarchy beyond what [`Counters`](ptx_emulator::Counters) count.

use ptx_emulator::{
    AccessKind, AsyncAccess, BarrierComplete, Kernel, MemoryAccess, Observer, Progress, Space,
    WarpContext,
};
use std::collections::HashSet;

use super::stores::{Stored, Stores};

/// Bytes of a line of the L1 caches: what one pass through their data path reaches.
pub(super) const LINE_BYTES: u64 = 128;

/// Bytes of a sector.
pub(super) const SECTOR_BYTES: u64 = 32;

/// Bytes that one pass delivers at most.
const PASS_BYTES: u32 = 128;

/// Counts passes through the L1 data path, and sectors that each block fetches.
///
/// What the copy engine moves is counted each time.
///
/// A block that runs alone on its multiprocessor fetches each sector from the L2 cache once, as long as what it uses over
/// and over fits the L1 cache. Blocks beside it are other blocks' business: they fetch the same sectors again.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Passes of global loads and stores.
    pub wavefronts: u64,
    /// Sectors that blocks load, each once per block.
    pub read_sectors: u64,
    /// Sectors that the copy engine stores.
    pub write_sectors: u64,
    /// Sectors of all loads and stores, half a warp at a time: what GPUs without caches move.
    pub half_warp_sectors: u64,
    /// Barriers of whole blocks, from a block's first access to global memory on: those before keep nothing apart, and those of
    /// some warps leave the others at work.
    pub barriers: u64,
    /// Addresses of constant memory and of parameters, request by request.
    pub constant_addresses: u64,
    /// The sectors that the block at hand has loaded.
    loaded: HashSet<u64>,
    /// What its lanes store.
    stores: Stores,
    /// Whether the block has accessed global memory.
    accessed: bool,
}

impl Traffic {
    /// What the copy engine fetches passes the L1 caches by, and what it stores is whole.
    fn bulk(&mut self, access: &MemoryAccess<'_>) {
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        let sectors = sectors(access, lanes, u64::from(access.bytes.max(1))).len() as u64;
        match access.kind {
            AccessKind::Load => self.read_sectors += sectors,
            AccessKind::Store | AccessKind::Atomic => self.write_sectors += sectors,
        }
    }

    fn constant(&mut self, access: &MemoryAccess<'_>) {
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        let mut addresses: Vec<u64> = lanes.map(|lane| access.addresses[lane]).collect();
        addresses.sort_unstable();
        addresses.dedup();
        self.constant_addresses += addresses.len() as u64;
    }

    /// Sectors that lanes store.
    pub fn stored(&self) -> Stored {
        self.stores.stored
    }
}

/// The distinct sectors that these lanes access, so many bytes each.
fn sectors(access: &MemoryAccess<'_>, lanes: impl Iterator<Item = usize>, bytes: u64) -> Vec<u64> {
    let of_lane = |lane: usize| {
        let start = access.addresses[lane];
        start / SECTOR_BYTES..=(start + bytes - 1) / SECTOR_BYTES
    };
    let mut sectors: Vec<u64> = lanes.flat_map(of_lane).collect();
    sectors.sort_unstable();
    sectors.dedup();
    sectors
}

impl Observer for Traffic {
    fn fork(&self) -> Self {
        Traffic::default()
    }

    fn join(&mut self, worker: Self) {
        self.wavefronts += worker.wavefronts;
        self.read_sectors += worker.read_sectors;
        self.write_sectors += worker.write_sectors;
        self.stores.stored = self.stores.stored + worker.stores.stored;
        self.half_warp_sectors += worker.half_warp_sectors;
        self.barriers += worker.barriers;
        self.constant_addresses += worker.constant_addresses;
    }

    fn block_start(&mut self, _: &Kernel, _: [u32; 3]) {
        self.loaded.clear();
        self.accessed = false;
    }

    fn block_end(&mut self, _: &Kernel, _: [u32; 3]) {
        self.read_sectors += self.loaded.len() as u64;
        self.stores.end();
    }

    fn memory_access(&mut self, context: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        match access.space {
            Space::Global => self.accessed = true,
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
        for half in [0..16, 16..32] {
            let bytes = u64::from(access.bytes.max(1));
            self.half_warp_sectors += sectors(access, half.filter(active), bytes).len() as u64;
        }
        for lane in (0..32).filter(active) {
            let (start, bytes) = (access.addresses[lane], u64::from(access.bytes.max(1)));
            if access.kind == AccessKind::Load {
                let end = start + bytes - 1;
                self.loaded
                    .extend(start / SECTOR_BYTES..=end / SECTOR_BYTES);
            } else {
                self.stores.store(context.warp, start, bytes);
            }
        }
    }

    fn async_access(&mut self, context: &WarpContext<'_>, access: &AsyncAccess<'_>) {
        let done = access.progress != Progress::Begins;
        let access = &access.access;
        let opcode = context.kernel.instruction(access.instruction).opcode();
        if done && access.space == Space::Global && opcode.starts_with("cp.async.bulk") {
            self.accessed = true;
            self.bulk(access);
        }
    }

    fn barrier_complete(&mut self, barrier: &BarrierComplete<'_>) {
        self.barriers += u64::from(barrier.whole_block && self.accessed);
    }
}
