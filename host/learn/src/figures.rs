//! What a kernel asks of the machine, beside what the reference asks.

use ptx_emulator::{Counters, Kernel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::sync::LazyLock;

/// What the references ask for: written by the test of the exercises, which compiles and runs them.
static REFERENCE: &str = include_str!("../exercises/reference.json");

static REFERENCES: LazyLock<BTreeMap<String, Figures>> =
    // The tests parse it; without it, exercises are checked but not scored.
    LazyLock::new(|| serde_json::from_str(REFERENCE).unwrap_or_default());

/// The figures of an exercise's solution.
pub fn reference(name: &str) -> Option<Figures> {
    REFERENCES.get(name).copied()
}

/// A quantity that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Warp instructions that access global memory.
    GlobalRequests,
    /// Sectors of 32 bytes that these requests touch.
    GlobalSectors,
    /// Warp instructions that access shared memory.
    SharedRequests,
    /// Passes over the banks of shared memory that conflicts add.
    Conflicts,
    /// PTX instructions, counted once per warp.
    Instructions,
    /// Warp instructions at barriers of the block.
    Barriers,
    /// Bytes of shared memory that a block takes.
    SharedBytes,
    /// Warp instructions that load from global memory into registers: no asynchronous copies.
    RegisterLoads,
}

impl Figure {
    /// All of them, in the order of a score.
    pub const ALL: [Figure; 8] = [
        Figure::GlobalRequests,
        Figure::GlobalSectors,
        Figure::SharedRequests,
        Figure::Conflicts,
        Figure::Instructions,
        Figure::Barriers,
        Figure::SharedBytes,
        Figure::RegisterLoads,
    ];
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Figure::GlobalRequests => "global requests",
            Figure::GlobalSectors => "global sectors",
            Figure::SharedRequests => "shared requests",
            Figure::Conflicts => "bank conflicts",
            Figure::Instructions => "instructions",
            Figure::Barriers => "barriers",
            Figure::SharedBytes => "shared bytes",
            Figure::RegisterLoads => "register loads",
        })
    }
}

/// What a kernel asked of the machine in all launches of its check. Units stand with [`Figure`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Figures {
    pub global_requests: u64,
    pub global_sectors: u64,
    pub shared_requests: u64,
    pub conflicts: u64,
    pub instructions: u64,
    pub barriers: u64,
    pub shared_bytes: u64,
    pub register_loads: u64,
}

impl Figures {
    /// One of them.
    pub fn get(&self, figure: Figure) -> u64 {
        match figure {
            Figure::GlobalRequests => self.global_requests,
            Figure::GlobalSectors => self.global_sectors,
            Figure::SharedRequests => self.shared_requests,
            Figure::Conflicts => self.conflicts,
            Figure::Instructions => self.instructions,
            Figure::Barriers => self.barriers,
            Figure::SharedBytes => self.shared_bytes,
            Figure::RegisterLoads => self.register_loads,
        }
    }
}

impl Figures {
    /// What a launch of this kernel asked of the machine.
    pub(super) fn of_launch(kernel: &Kernel, counters: &Counters) -> Self {
        let counts = counters.total();
        let (global, shared) = (counts.global(), counts.shared());
        let instructions = counters.instructions();
        let to_registers = instructions
            .iter()
            .filter(|(id, _)| kernel.instruction(*id).opcode().starts_with("ld."));
        Figures {
            global_requests: global.requests,
            global_sectors: global.sectors,
            shared_requests: shared.requests,
            conflicts: shared.wavefronts.saturating_sub(shared.ideal_wavefronts),
            instructions: counts.warp_instructions,
            barriers: counts.barriers,
            shared_bytes: kernel.static_shared_bytes().into(),
            register_loads: to_registers
                .map(|(_, counts)| counts.global_loads.requests)
                .sum(),
        }
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.global_requests += other.global_requests;
        self.global_sectors += other.global_sectors;
        self.shared_requests += other.shared_requests;
        self.conflicts += other.conflicts;
        self.instructions += other.instructions;
        self.barriers += other.barriers;
        self.shared_bytes = self.shared_bytes.max(other.shared_bytes);
        self.register_loads += other.register_loads;
    }
}
