//! The memory accesses of one warp, lane by lane.

use ptx_emulator::{
    AccessKind, Event, Instruction, InstructionId, Interest, Kernel, MemoryAccess, Observer, Space,
};

/// Which warp to watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Index of its block in the grid.
    pub block: [u32; 3],
    /// Its index in the block.
    pub warp: u32,
}

/// A memory instruction of a warp, as it executed first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traced {
    /// The instruction.
    pub instruction: InstructionId,
    /// The space; never generic.
    pub space: Space,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// The active lanes, one bit each.
    pub mask: u32,
    /// First address of each lane; those of inactive lanes mean nothing. Addresses of shared memory
    /// count from its start.
    pub addresses: [u64; 32],
    /// How often the warp executed the instruction.
    pub times: u64,
}

/// An observer that keeps the accesses of one warp to global and shared memory, each instruction as
/// it executed first.
#[derive(Clone, Debug, Default)]
pub struct AccessTrace {
    watched: Watched,
    kernel: Option<Kernel>,
    seen: Vec<Traced>,
}

impl AccessTrace {
    /// Nothing yet of this warp.
    pub fn new(watched: Watched) -> Self {
        AccessTrace {
            watched,
            ..Self::default()
        }
    }

    /// The kernel that ran; none before a launch.
    pub fn kernel(&self) -> Option<&Kernel> {
        self.kernel.as_ref()
    }

    /// The warp that is watched.
    pub fn watched(&self) -> Watched {
        self.watched
    }

    /// What the warp accessed, in the order of the instructions' first executions.
    pub fn accesses(&self) -> &[Traced] {
        &self.seen
    }

    /// An instruction of the kernel; none before a launch.
    pub fn instruction(&self, traced: &Traced) -> Option<Instruction<'_>> {
        let kernel = self.kernel.as_ref()?;
        Some(kernel.instruction(traced.instruction))
    }

    fn see(&mut self, access: &MemoryAccess<'_>) {
        if !matches!(access.space, Space::Global | Space::Shared) {
            return;
        }
        let same = |traced: &&mut Traced| traced.instruction == access.instruction;
        if let Some(traced) = self.seen.iter_mut().find(same) {
            traced.times += 1;
            return;
        }
        self.seen.push(Traced {
            instruction: access.instruction,
            space: access.space,
            kind: access.kind,
            bytes: access.bytes,
            mask: access.mask,
            addresses: *access.addresses,
            times: 1,
        });
    }
}

impl Observer for AccessTrace {
    const INTEREST: Interest = Interest::LAUNCH.with(Interest::ACCESS);

    fn fork(&self) -> Self {
        AccessTrace::new(self.watched)
    }

    /// The block of the watched warp runs on one worker, so at most one has seen anything.
    fn join(&mut self, worker: Self) {
        self.seen.extend(worker.seen);
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::LaunchStart(launch) => {
                self.kernel = Some(launch.kernel.clone());
                self.seen.clear();
            }
            Event::Access { warp, accesses }
                if (warp.block, warp.warp) == (self.watched.block, self.watched.warp) =>
            {
                accesses.for_each(|access| self.see(access));
            }
            _ => {}
        }
    }
}
