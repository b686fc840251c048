//! What a launch does, in numbers.

/// Instructions of a launch, counted once per warp, by the unit that executes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct WarpInstructions {
    /// f32 arithmetic.
    pub fp32: u64,
    /// f64 arithmetic.
    pub fp64: u64,
    /// f16 and bf16 arithmetic.
    pub half: u64,
    /// Integer arithmetic, comparisons, selections, logic.
    pub integer: u64,
    /// Reciprocals, square roots and the like.
    pub special: u64,
    /// Conversions between types.
    pub conversion: u64,
    /// Loads, stores, atomics and shuffles.
    pub load_store: u64,
    /// Everything else that is issued: branches, barriers, moves.
    pub other: u64,
}

impl WarpInstructions {
    /// All that are issued.
    pub const fn issued(&self) -> u64 {
        self.fp32
            + self.fp64
            + self.half
            + self.integer
            + self.special
            + self.conversion
            + self.load_store
            + self.other
    }
}

/// Work of one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Work {
    /// Instructions of all warps.
    pub instructions: WarpInstructions,
    /// Sectors of 32 bytes that loads and stores of global memory touch, request by request.
    pub l1_sectors: u64,
    /// Those of them that go to the L2 cache: all, less what the L1 caches hold.
    pub l2_sectors: u64,
    /// Bytes that device memory moves. At least every byte touched once; at most all of `l2_sectors`.
    pub dram_bytes: u64,
    /// Wavefronts of shared memory.
    pub shared_wavefronts: u64,
    /// Barriers that a block passes.
    pub barriers_per_block: u64,
    /// L: cycles that one warp alone takes from its first instruction to its last, from
    /// [`schedule`](crate::model::interval::schedule()); `None` leaves latency out.
    pub warp_latency_cycles: Option<f64>,
}
