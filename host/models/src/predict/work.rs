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

/// Floating-point operations of tensor cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TensorFlops {
    /// With inputs of f16 or bf16; those of tf32 count twice, since they take twice the time.
    pub f16: u64,
    /// In f64.
    pub f64: u64,
}

/// Work of one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Work {
    /// Instructions of all warps.
    pub instructions: WarpInstructions,
    /// Work of the tensor cores.
    pub tensor: TensorFlops,
    /// Passes of loads and stores of global memory through the L1 caches' data path, group by
    /// group, where a group is 32 lanes of up to 4 bytes, 16 of 8, or 8 of 16. A load takes
    /// one for each word of the bank that most of its words are in, a store one for each
    /// 128-byte line.
    pub l1_wavefronts: u64,
    /// Lines of 128 bytes that these loads look for.
    pub l1_lines: u64,
    /// Sectors of 32 bytes that the L1 caches read from the L2 cache.
    pub l2_read_sectors: u64,
    /// Sectors that a request writes to the L2 cache as a whole.
    pub l2_write_sectors: u64,
    /// Sectors that a request writes a part of.
    pub l2_partial_sectors: u64,
    /// Addresses that the constant caches serve, request by request.
    pub constant_addresses: u64,
    /// Addresses that they serve before anything else can be done.
    pub constant_addresses_ahead: u64,
    /// Operands that the constant caches fetch from afar.
    pub constant_operands: u64,
    /// Bytes that device memory moves. At least every byte touched once; at most all of
    /// `l2_sectors`.
    pub dram_bytes: u64,
    /// Wavefronts of shared memory.
    pub shared_wavefronts: u64,
    /// Barriers that a block passes.
    pub barriers_per_block: u64,
    /// Instructions of warps that change memory atomically. How long one takes depends on how many
    /// go to the same word, and no rate is known.
    pub atomics: u64,
    /// L: cycles that one warp alone takes from its first instruction to its last, from
    /// [`schedule`](crate::interval::schedule()); `None` leaves latency out.
    pub warp_latency_cycles: Option<f64>,
}
