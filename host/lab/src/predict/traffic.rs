//! What a kernel asks of the memory hierarchy beyond what [`Counters`](ptx_emulator::Counters)
//! count.

use ptx_emulator::{
    AccessKind, AsyncAccess, Event, Interest, MemoryAccess, Observer, Progress, Space, WarpContext,
};
use rustc_hash::FxHashSet;

use super::constants::Constants;
use super::stores::{Stored, Stores};

/// Bytes of a line of the L1 caches: what one pass through their data path reaches.
pub(super) const LINE_BYTES: u64 = 128;

/// Bytes of a sector.
pub(super) const SECTOR_BYTES: u64 = 32;

/// Bytes that one pass delivers at most.
const PASS_BYTES: u32 = 128;

/// Banks that the data of lines lie in, word after word, and bytes of a word.
const BANKS: usize = 32;
const WORD_BYTES: u64 = 4;

/// What a load or store of global memory takes of the L1 cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passes {
    /// Passes through its data path.
    pub data: u64,
    /// Lines that it looks for. Those of stores pass one by one.
    pub lines: u64,
}

impl Passes {
    /// Lanes that fill a pass are served together. Words that they load from different lines come
    /// in one pass, unless they lie in the same bank.
    pub fn of(access: &MemoryAccess<'_>) -> Self {
        Self::of_lanes(access.kind, access.bytes, access.mask, access.addresses)
    }

    fn of_lanes(kind: AccessKind, bytes: u32, mask: u32, addresses: &[u64; 32]) -> Self {
        // A copy may read less than it writes, such as 12 of 16 bytes.
        let lanes_at_once = PASS_BYTES / bytes.max(4).next_power_of_two();
        let lanes_at_once = lanes_at_once.clamp(1, 32) as usize;
        let bytes = u64::from(bytes.max(1));
        let mut passes = Passes::default();
        let mut words = Vec::with_capacity(2 * 32);
        for first in (0..32).step_by(lanes_at_once) {
            words.clear();
            for (lane, start) in (first..).zip(&addresses[first..first + lanes_at_once]) {
                if mask >> lane & 1 == 1 {
                    words.extend(start / WORD_BYTES..=(start + bytes - 1) / WORD_BYTES);
                }
            }
            sort_and_dedup(&mut words);
            let mut banks = [0; BANKS];
            for word in &words {
                banks[*word as usize % BANKS] += 1;
            }
            let lines = words.chunk_by(|one, next| line(*one) == line(*next));
            let lines = lines.count() as u64;
            if kind == AccessKind::Load {
                passes.data += banks.into_iter().max().unwrap_or(0);
                passes.lines += lines;
            } else {
                passes.data += lines;
            }
        }
        passes
    }
}

/// The line that a word is in.
fn line(word: u64) -> u64 {
    word / (LINE_BYTES / WORD_BYTES)
}

/// Counts passes through the L1 data path, and sectors that each block fetches.
///
/// What the copy engine moves is counted each time.
///
/// A block that runs alone on its multiprocessor fetches each sector from the L2 cache once, as
/// long as what it uses over and over fits the L1 cache. Blocks beside it are other blocks'
/// business: they fetch the same sectors again.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Passes of global loads and stores.
    pub wavefronts: u64,
    /// Lines that global loads look for.
    pub lines: u64,
    /// Sectors that blocks load, each once per block.
    pub read_sectors: u64,
    /// Sectors that the copy engine stores.
    pub write_sectors: u64,
    /// Sectors of all loads and stores, half a warp at a time: what GPUs without caches move.
    pub half_warp_sectors: u64,
    /// Barriers of whole blocks, from a block's first access to global memory on: those before
    /// keep nothing apart, and those of some warps leave the others at work.
    pub barriers: u64,
    /// Requests for constants.
    constants: Constants,
    /// The sectors that the block at hand has loaded.
    loaded: FxHashSet<u64>,
    /// What its lanes store.
    stores: Stores,
    /// The sectors of the access at hand: kept for its allocation.
    sectors: Vec<u64>,
    /// Whether the block has accessed global memory.
    accessed: bool,
}

impl Traffic {
    /// What the copy engine fetches passes the L1 caches by, and what it stores is whole.
    fn bulk(&mut self, access: &MemoryAccess<'_>) {
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        sectors_of(access, lanes, &mut self.sectors);
        let sectors = self.sectors.len() as u64;
        match access.kind {
            AccessKind::Load => self.read_sectors += sectors,
            AccessKind::Store | AccessKind::Atomic => self.write_sectors += sectors,
        }
    }

    /// Sectors that lanes store.
    pub fn stored(&self) -> Stored {
        self.stores.stored
    }

    /// Addresses that the constant cache serves: while loops run, and ahead of them.
    pub fn constant_addresses(&self) -> [f64; 2] {
        [self.constants.served(), self.constants.served_ahead()]
    }
}

/// Finds the distinct sectors that these lanes access, in order.
fn sectors_of(
    access: &MemoryAccess<'_>,
    lanes: impl Iterator<Item = usize>,
    sectors: &mut Vec<u64>,
) {
    let bytes = u64::from(access.bytes.max(1));
    sectors.clear();
    for lane in lanes {
        let start = access.addresses[lane];
        sectors.extend(start / SECTOR_BYTES..=(start + bytes - 1) / SECTOR_BYTES);
    }
    sort_and_dedup(sectors);
}

/// Neighbouring lanes mostly access neighbouring addresses: then there is nothing to sort.
fn sort_and_dedup(numbers: &mut Vec<u64>) {
    if !numbers.is_sorted() {
        numbers.sort_unstable();
    }
    numbers.dedup();
}

impl Traffic {
    fn block_start(&mut self) {
        self.loaded.clear();
        self.constants.block_start();
        self.accessed = false;
    }

    fn block_end(&mut self) {
        self.read_sectors += self.loaded.len() as u64;
        self.stores.end();
    }

    fn memory_access(&mut self, context: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        match access.space {
            Space::Global => self.accessed = true,
            Space::Const | Space::Param => return self.constants.load(context.warp, access),
            _ => return,
        }
        let opcode = context.kernel.instruction(access.instruction).opcode();
        // The copy engine and asynchronous copies pass their data to shared memory, where it is
        // counted.
        let passes = !opcode.starts_with("cp.async");
        if passes {
            let Passes { data, lines } = Passes::of(access);
            self.wavefronts += data;
            self.lines += lines;
        }
        let active = |lane: &usize| access.mask >> lane & 1 == 1;
        for half in [0..16, 16..32] {
            sectors_of(access, half.filter(active), &mut self.sectors);
            self.half_warp_sectors += self.sectors.len() as u64;
            if access.kind == AccessKind::Load {
                self.loaded.extend(&self.sectors);
            }
        }
        if access.kind != AccessKind::Load {
            let bytes = u64::from(access.bytes.max(1));
            for lane in (0..32).filter(active) {
                self.stores
                    .store(context.warp, access.addresses[lane], bytes);
            }
        }
    }

    fn async_access(&mut self, context: &WarpContext<'_>, access: &AsyncAccess<'_>) {
        let done = access.progress != Progress::Issued;
        let access = &access.access;
        let opcode = context.kernel.instruction(access.instruction).opcode();
        if done && access.space == Space::Global && opcode.starts_with("cp.async.bulk") {
            self.accessed = true;
            self.bulk(access);
        }
    }
}

impl Observer for Traffic {
    const INTEREST: Interest = Interest::LAUNCH
        .with(Interest::BLOCK)
        .with(Interest::ACCESS)
        .with(Interest::ASYNC_ACCESS)
        .with(Interest::BARRIER);

    fn fork(&self) -> Self {
        Traffic {
            constants: self.constants.fork(),
            ..Traffic::default()
        }
    }

    fn join(&mut self, worker: Self) {
        self.wavefronts += worker.wavefronts;
        self.lines += worker.lines;
        self.read_sectors += worker.read_sectors;
        self.write_sectors += worker.write_sectors;
        self.stores.stored = self.stores.stored + worker.stores.stored;
        self.half_warp_sectors += worker.half_warp_sectors;
        self.barriers += worker.barriers;
        self.constants.join(worker.constants);
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::LaunchStart(launch) => self.constants.launch_start(launch.kernel),
            Event::BlockStart { .. } => self.block_start(),
            Event::BlockEnd { .. } => self.block_end(),
            Event::Access { warp, accesses } => {
                accesses.for_each(|access| self.memory_access(warp, access));
            }
            Event::AsyncAccess { warp, access } => self.async_access(warp, access),
            Event::BarrierComplete(barrier) => {
                self.barriers += u64::from(barrier.whole_block && self.accessed);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes and lines of all lanes: the bytes of each, and from one to the next.
    fn apart(kind: AccessKind, bytes: u32, stride: u64) -> [u64; 2] {
        let addresses = std::array::from_fn(|lane| 4096 + lane as u64 * stride);
        let Passes { data, lines } = Passes::of_lanes(kind, bytes, u32::MAX, &addresses);
        [data, lines]
    }

    #[test]
    fn banks_decide_how_often_loads_pass_and_lines_how_often_stores_do() {
        use AccessKind::{Load, Store};
        assert_eq!(apart(Load, 4, 0), [1, 1]);
        assert_eq!(apart(Load, 4, 4), [1, 1]);
        assert_eq!(apart(Load, 8, 8), [2, 2]);
        assert_eq!(apart(Load, 16, 16), [4, 4]);
        // Vectors of which a copy reads a part: as many lanes at once as of whole ones.
        assert_eq!(apart(Load, 12, 12), [4, 6]);
        assert_eq!(apart(Store, 12, 16), [4, 0]);
        // Columns of a matrix with rows of 32 and of 33 words.
        assert_eq!(apart(Load, 4, 128), [32, 32]);
        assert_eq!(apart(Load, 4, 132), [1, 32]);
        assert_eq!(apart(Store, 4, 132), [32, 0]);
        // A few lanes.
        let passes = Passes::of_lanes(Load, 4, 0b111, &[0; 32]);
        assert_eq!(passes, Passes { data: 1, lines: 1 });
    }
}
