//! The launch that a sanitizer watches.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::finding::{Region, Site};
use crate::address_space::{OUTSIDE, of_cluster};
use crate::counters::lines::{self, Owner};
use crate::ir::{Calls, InstructionClass, InstructionId, Space};
use crate::kernel::Kernel;
use crate::launch::HeapLaunch;
use crate::memory::Snapshot;
use crate::observer::{LaunchContext, MemoryAccess, WarpContext};

/// An access to the shared memory of a group, with its addresses in the concatenation of the
/// blocks' shared memories; these are put into `addresses`.
pub(super) fn flatten<'a>(
    geometry: &LaunchGeometry,
    access: &MemoryAccess<'a>,
    addresses: &'a mut [u64; 32],
) -> MemoryAccess<'a> {
    *addresses = access.addresses.map(|address| geometry.in_group(address));
    MemoryAccess {
        addresses,
        ..*access
    }
}

/// What a sanitizer needs of the launch.
#[derive(Clone, Debug, Default)]
pub(super) struct LaunchGeometry {
    pub kernel: Option<Kernel>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks that are watched at once, as if they were one: those of a cluster, or of a
    /// cooperative launch.
    group: [u32; 3],
    /// Whether the launch is a cooperative one, whose blocks run in turn.
    pub is_cooperative: bool,
    /// The workspace of its barrier, by address and bytes.
    workspace: Option<(u64, u64)>,
    pub shared_bytes: u32,
    /// Global memory by address: (address, bytes). The device heap, if there is one, is the last.
    pub allocations: Vec<(u64, u64)>,
    /// What they hold, in the same order, while a launch runs under a checker that looks at it.
    pub contents: Snapshot,
    /// Of the device heap: whether addresses have been used twice. Nothing orders the accesses to
    /// one block with those to a later one at the same address but `free` and `malloc`, so they
    /// are not followed from then on.
    heap_reuses: Option<Arc<AtomicBool>>,
    /// For which source line each instruction counts.
    owners: Arc<OnceLock<Vec<Option<Owner>>>>,
}

impl LaunchGeometry {
    pub(super) fn new(launch: &LaunchContext<'_>) -> Self {
        LaunchGeometry {
            kernel: Some(launch.kernel.clone()),
            grid: launch.grid,
            block: launch.block,
            group: match launch.cooperative {
                true => launch.grid,
                false => launch.cluster,
            },
            is_cooperative: launch.cooperative,
            workspace: launch.workspace,
            shared_bytes: launch.shared_bytes,
            allocations: launch.memory.regions(),
            contents: Arc::default(),
            heap_reuses: launch.memory.heap().arena_reuses(),
            owners: Arc::default(),
        }
    }

    /// The same for a sanitizer that watches the blocks of a cooperative launch each by itself.
    pub(super) fn of_single_blocks(launch: &LaunchContext<'_>) -> Self {
        LaunchGeometry {
            group: launch.cluster,
            ..Self::new(launch)
        }
    }

    pub(super) fn kernel_name(&self) -> String {
        let kernel = self.kernel.as_ref();
        kernel.map_or_else(String::new, |kernel| kernel.name().to_string())
    }

    /// Linear index of a block in the grid.
    pub(super) fn block_index(&self, block: [u32; 3]) -> u64 {
        let [x, y, _] = self.grid.map(u64::from);
        let [at_x, at_y, at_z] = block.map(u64::from);
        (at_z * y + at_y) * x + at_x
    }

    /// Linear index of the group of blocks that a block is in: workers take them in this order.
    pub(super) fn group_index(&self, block: [u32; 3]) -> u64 {
        let extents: [u32; 3] = std::array::from_fn(|axis| self.group[axis].max(1));
        let groups: [u32; 3] = std::array::from_fn(|axis| self.grid[axis] / extents[axis]);
        let [x, y, _] = groups.map(u64::from);
        let [at_x, at_y, at_z] = std::array::from_fn(|axis| u64::from(block[axis] / extents[axis]));
        (at_z * y + at_y) * x + at_x
    }

    /// Number of blocks that are watched at once.
    pub(super) fn group_blocks(&self) -> u32 {
        self.group.iter().product::<u32>().max(1)
    }

    /// Warps of a block.
    pub(super) fn warps(&self) -> u32 {
        self.block.iter().product::<u32>().div_ceil(32)
    }

    /// Number of a warp in its group, after the warps of the blocks of lower rank.
    #[inline(always)]
    pub(super) fn warp(&self, warp: &WarpContext<'_>) -> u32 {
        match warp.rank {
            0 => warp.warp,
            rank => self.rank(rank) * self.warps() + warp.warp,
        }
    }

    /// The rank in its group of a block with this rank in the launch.
    pub(super) fn rank(&self, rank: u32) -> u32 {
        match self.group_blocks() {
            1 => 0,
            _ => rank,
        }
    }

    /// Whether a block is the first of its group.
    pub(super) fn is_first(&self, block: [u32; 3]) -> bool {
        let mut axes = block.iter().zip(&self.group);
        axes.all(|(&at, &extent)| at.is_multiple_of(extent.max(1)))
    }

    /// Distance from the start of a block's shared memory to that of the next block's, where the
    /// shared memories of a group are concatenated.
    pub(super) fn shared_stride(&self) -> u64 {
        u64::from(self.shared_bytes).next_multiple_of(16)
    }

    /// Bytes of the concatenated shared memories of a group.
    pub(super) fn shared_of_group(&self) -> u64 {
        match self.group_blocks() {
            1 => u64::from(self.shared_bytes),
            blocks => self.shared_stride() * u64::from(blocks),
        }
    }

    /// Where the shared memory of a warp's block begins there; `warp` is numbered as by
    /// [`Self::warp`].
    #[inline(always)]
    pub(super) fn shared_start(&self, warp: u32) -> u64 {
        match self.group_blocks() {
            1 => 0,
            _ => u64::from(warp / self.warps()) * self.shared_stride(),
        }
    }

    /// An address of [`Space::Cluster`] there.
    pub(super) fn in_group(&self, address: u64) -> u64 {
        let (rank, at) = of_cluster(address);
        let rank = match self.is_cooperative && self.group_blocks() == 1 && rank & OUTSIDE == 0 {
            true => 0,
            false => rank,
        };
        match rank < u64::from(self.group_blocks()) && at < self.shared_stride() {
            true => rank * self.shared_stride() + at,
            // An access out of bounds is a fault of its own.
            false => u64::MAX,
        }
    }

    /// Whether an access is one to the barrier of the grid.
    #[cold]
    pub(super) fn is_grid_barrier(&self, access: &MemoryAccess<'_>) -> bool {
        let address = access.addresses[access.mask.trailing_zeros() as usize % 32];
        let holds = |(base, bytes)| (base..base + bytes).contains(&address);
        access.space == Space::Global && self.workspace.is_some_and(holds)
    }

    /// A thread of the group that begins with a block, as that of its own block.
    fn thread_of_group(&self, first: [u32; 3], thread: u32) -> ([u32; 3], u32) {
        let warps = self.warps().max(1);
        let (warp, lane) = (thread / 32, thread % 32);
        let rank = warp / warps;
        let [x, y, _] = self.group.map(|extent| extent.max(1));
        let offset = [rank % x, rank / x % y, rank / x / y];
        let block = std::array::from_fn(|axis| first[axis] + offset[axis]);
        (block, 32 * (warp % warps) + lane)
    }

    /// The inverse of [`Self::block_index`].
    pub(super) fn block_at(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(|extent| u64::from(extent.max(1)));
        [index % x, index / x % y, index / x / y].map(|axis| axis as u32)
    }

    /// Index of the allocation that holds `bytes` bytes at an address; `last` is where they were
    /// found last.
    #[inline(always)]
    pub(super) fn allocation_index(
        &self,
        last: &mut u32,
        address: u64,
        bytes: u64,
    ) -> Option<usize> {
        let holds = |index: usize| {
            let known = self.allocations.get(index);
            known.is_some_and(|&(base, length)| {
                address >= base && address - base <= length && bytes <= length - (address - base)
            })
        };
        if !holds(*last as usize) {
            let after = self
                .allocations
                .partition_point(|&(base, _)| base <= address);
            let found = after.checked_sub(1).filter(|&found| holds(found))?;
            *last = found as u32;
        }
        let found = *last as usize;
        match &self.heap_reuses {
            Some(reuses)
                if found + 1 == self.allocations.len() && reuses.load(Ordering::Relaxed) =>
            {
                None
            }
            _ => Some(found),
        }
    }

    /// The launch that made some blocks of the device heap.
    pub(super) fn of_heap(launch: &HeapLaunch) -> Self {
        LaunchGeometry {
            kernel: Some(launch.kernel.clone()),
            grid: launch.grid,
            block: launch.block,
            group: launch.cluster,
            ..LaunchGeometry::default()
        }
    }

    /// What a thread does that executes an instruction.
    pub(super) fn action(&self, id: InstructionId) -> &'static str {
        let known = self.kernel.as_ref();
        let known = known.filter(|kernel| id.index() < kernel.instruction_count());
        match known.map(|kernel| kernel.instruction(id).class()) {
            Some(InstructionClass::Load) => "read",
            Some(InstructionClass::Store) => "write",
            Some(InstructionClass::Atomic) => "atomic",
            Some(InstructionClass::Barrier) => "barrier",
            _ => "operation",
        }
    }

    /// What a thread does to a state space that executes an instruction: copies read one space and
    /// write another, which their modifiers name first.
    pub(super) fn action_on(&self, id: InstructionId, space: Space) -> &'static str {
        let known = self.kernel.as_ref();
        let known = known.filter(|kernel| id.index() < kernel.instruction_count());
        let opcode = known.map_or("", |kernel| kernel.instruction(id).opcode());
        let is_shared = |part: &str| match part {
            "global" => Some(false),
            _ => part.starts_with("shared").then_some(true),
        };
        let mut spaces = opcode.split('.').filter_map(is_shared);
        match (opcode.starts_with("cp."), spaces.next(), spaces.next()) {
            (true, Some(to), Some(from)) if to != from => {
                match (to == (space != Space::Global), opcode.contains("reduce")) {
                    (false, _) => "read",
                    (true, false) => "write",
                    (true, true) => "atomic",
                }
            }
            (true, Some(_), Some(_)) => "copy",
            _ => self.action(id),
        }
    }

    /// An instruction and a thread in words.
    pub(super) fn site(
        &self,
        action: &'static str,
        (id, calls): (InstructionId, Calls),
        block: [u32; 3],
        thread: Option<u32>,
    ) -> Site {
        let (block, thread) = match thread.map(|thread| self.thread_of_group(block, thread)) {
            Some((block, thread)) => (block, Some(thread)),
            None => (block, None),
        };
        let known = self
            .kernel
            .as_ref()
            .filter(|kernel| id.index() < kernel.instruction_count());
        let owner = known.and_then(|kernel| {
            let owners = self.owners.get_or_init(|| lines::owners(kernel));
            lines::owner_with_calls(kernel, owners, id, calls)
        });
        let instruction = known.map(|kernel| kernel.instruction(id));
        let [x, y, _] = self.block.map(|extent| extent.max(1));
        Site {
            action,
            place: owner.as_ref().map(|owner| owner.line.clone()),
            inlined: owner.and_then(|owner| owner.inlined),
            // One line, whatever the layout of the text.
            instruction: instruction.map(|instruction| {
                let words: Vec<&str> = instruction.text().split_whitespace().collect();
                words.join(" ")
            }),
            ptx_line: instruction.map(|instruction| instruction.line()),
            block,
            thread: thread.map(|thread| [thread % x, thread / x % y, thread / x / y]),
        }
    }

    /// Memory, with the allocation or the variable around it.
    pub(super) fn region(&self, space: Space, address: u64, bytes: u32) -> Region {
        let blocks = u64::from(self.group_blocks());
        let (address, rank) = match space {
            Space::Shared if blocks > 1 => {
                let stride = self.shared_stride().max(1);
                (address % stride, Some(address / stride))
            }
            _ => (address, None),
        };
        let around = match space {
            Space::Shared => self.kernel.as_ref().and_then(|kernel| {
                let arrays = &kernel.0.program.shared;
                let around = arrays.iter().find(|array| {
                    let offset = u64::from(array.offset);
                    (offset..offset + u64::from(array.bytes)).contains(&address)
                })?;
                let at = address - u64::from(around.offset);
                Some(format!("byte {at} of `{}`", around.name))
            }),
            _ => self.allocation_index(&mut 0, address, 1).map(|index| {
                let (base, length) = self.allocations[index];
                let at = address - base;
                format!("byte {at} of the allocation at {base:#x} with {length} bytes")
            }),
        };
        let around = match (around, rank) {
            (Some(around), Some(rank)) => format!("{around} in the block of rank {rank}"),
            (None, Some(rank)) => format!("in the block of rank {rank}"),
            (around, None) => around.unwrap_or_default(),
        };
        Region {
            space,
            address,
            bytes,
            around,
        }
    }
}
