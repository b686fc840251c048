//! Occupancy: how many blocks are resident on a multiprocessor, and what stops the next one.
//!
//! A block becomes resident when the multiprocessor has all that it needs, so the number of
//! resident blocks is the least of four quotients:
//!
//! ```text
//! blocks = min( ⌊warps / warps per block⌋, block slots,
//!               ⌊registers / registers per block⌋, ⌊shared memory / shared memory per block⌋ )
//! ```
//!
//! What a block needs is rounded up to what the hardware allocates at a time ([`Allocation`]):
//! registers warp by warp out of the register file's partitions (block by block on compute
//! capability 1.x), shared memory in units of 128 to 512 bytes and, from 8.0, with 1 KiB that the
//! driver keeps. Rules: NVIDIA's CUDA occupancy calculator.
//!
//! Source 001 uses the same quotients with threads in place of warps and without registers.

use thiserror::Error;

/// Most that a multiprocessor and a block can have. Source: CUDA C++ Programming Guide, "Compute
/// Capabilities".
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Limits {
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Resident threads of a multiprocessor.
    pub threads: u32,
    /// Resident blocks of a multiprocessor.
    pub blocks: u32,
    /// Registers of 32 bits of a multiprocessor.
    pub registers: u32,
    /// Registers of a block.
    pub registers_per_block: u32,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_bytes: u32,
    /// Shared memory of a block that has opted in, in bytes.
    pub shared_bytes_per_block: u32,
}

/// In which portions registers and shared memory are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Allocation {
    /// Registers of 32 bits are handed out in multiples of this.
    pub register_unit: u32,
    /// Whether to warps or to blocks.
    pub register_scope: RegisterScope,
    /// Shared memory is handed out in multiples of this, in bytes.
    pub shared_unit: u32,
    /// Shared memory of each block that the driver keeps, in bytes.
    pub shared_reserved: u32,
}

/// Whether registers are handed out to warps or to blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegisterScope {
    /// To a warp, from one of equal partitions of the register file.
    Warp {
        /// Number of partitions.
        partitions: u32,
    },
    /// To a block, whose warps are rounded up to a multiple.
    Block {
        /// The multiple.
        warp_multiple: u32,
    },
}

/// What a launch asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Launch {
    /// Blocks of the grid.
    pub blocks: u64,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Registers of 32 bits of a thread, as the assembler reports them.
    pub registers_per_thread: u32,
    /// Static and dynamic shared memory of a block, in bytes.
    pub shared_bytes_per_block: u32,
}

impl Launch {
    /// Warps of a block.
    pub const fn warps_per_block(&self) -> u32 {
        self.threads_per_block.div_ceil(WARP)
    }
}

/// What stops another block from becoming resident. Of equals, the one that comes first here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// All threads of the multiprocessor are taken: occupancy is as high as it gets with this
    /// block.
    Threads,
    /// All block slots are taken.
    Blocks,
    /// No registers are left.
    Registers,
    /// No shared memory is left.
    SharedMemory,
}

/// How full a multiprocessor is.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Occupancy {
    /// Resident blocks.
    pub blocks: u32,
    /// Resident warps.
    pub warps: u32,
    /// Resident threads.
    pub threads: u32,
    /// Resident warps over the most there can be.
    pub fraction: f64,
    /// What stops the next block.
    pub limiter: Limiter,
    /// Blocks that each limiter alone would allow; `None` where the kernel does not use it.
    pub allowed: Allowed,
}

/// Blocks per multiprocessor that each limiter alone would allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Allowed {
    /// By threads.
    pub threads: u32,
    /// By block slots.
    pub blocks: u32,
    /// By registers.
    pub registers: Option<u32>,
    /// By shared memory.
    pub shared_memory: Option<u32>,
}

/// A launch that no multiprocessor of the device can take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OccupancyError {
    /// A block without threads.
    #[error("a block of 0 threads: give at least 1")]
    NoThreads,
    /// More of something than a block can have.
    #[error("{what}: {asked}, but the device allows {limit}: use a smaller block or less of it")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much the launch asks for, after rounding.
        asked: u64,
        /// How much there can be.
        limit: u64,
    },
}

const WARP: u32 = 32;

/// Occupancy of a multiprocessor by the blocks of a launch, if it has enough of them.
///
/// # Errors
/// A block without threads, or one that does not fit by itself.
pub fn occupancy(
    limits: &Limits,
    allocation: &Allocation,
    launch: &Launch,
) -> Result<Occupancy, OccupancyError> {
    if launch.threads_per_block == 0 {
        return Err(OccupancyError::NoThreads);
    }
    let at_most = |what, asked: u64, limit: u32| {
        let limit = u64::from(limit);
        (asked <= limit)
            .then_some(())
            .ok_or(OccupancyError::TooMuch { what, asked, limit })
    };
    let threads = launch.threads_per_block;
    at_most(
        "threads per block",
        threads.into(),
        limits.threads_per_block,
    )?;
    let registers = launch.registers_per_thread;
    at_most(
        "registers per thread",
        registers.into(),
        limits.registers_per_thread,
    )?;
    let shared = launch.shared_bytes_per_block;
    at_most(
        "bytes of shared memory per block",
        shared.into(),
        limits.shared_bytes_per_block,
    )?;

    let warps = launch.warps_per_block();
    let (by_registers, registers_per_block) = blocks_by_registers(limits, allocation, launch);
    at_most(
        "registers per block",
        registers_per_block,
        limits.registers_per_block,
    )?;
    let shared_per_block = round_up(
        u64::from(shared) + u64::from(allocation.shared_reserved),
        allocation.shared_unit,
    );
    let uses_shared = shared_per_block > 0;
    let allowed = Allowed {
        threads: limits.threads / WARP / warps,
        blocks: limits.blocks,
        registers: (registers > 0).then_some(by_registers),
        shared_memory: uses_shared
            .then(|| (u64::from(limits.shared_bytes) / shared_per_block) as u32),
    };
    let (blocks, limiter) = allowed.least();
    let resident = blocks * warps;
    Ok(Occupancy {
        blocks,
        warps: resident,
        threads: blocks * threads,
        fraction: f64::from(resident) / f64::from(limits.threads / WARP),
        limiter,
        allowed,
    })
}

impl Allowed {
    fn least(&self) -> (u32, Limiter) {
        let unlimited = u32::MAX;
        [
            (self.threads, Limiter::Threads),
            (self.blocks, Limiter::Blocks),
            (self.registers.unwrap_or(unlimited), Limiter::Registers),
            (
                self.shared_memory.unwrap_or(unlimited),
                Limiter::SharedMemory,
            ),
        ]
        .into_iter()
        .min()
        .unwrap_or((self.threads, Limiter::Threads))
    }
}

/// Resident blocks by registers, and the registers that the hardware checks against the limit of a
/// block.
fn blocks_by_registers(limits: &Limits, allocation: &Allocation, launch: &Launch) -> (u32, u64) {
    let warps = u64::from(launch.warps_per_block());
    let per_warp = u64::from(launch.registers_per_thread) * u64::from(WARP);
    let total = u64::from(limits.registers);
    match allocation.register_scope {
        RegisterScope::Warp { partitions } => {
            let partitions = u64::from(partitions.max(1));
            let per_warp = round_up(per_warp, allocation.register_unit);
            // A warp's registers lie in one partition; what is left over in each is lost.
            let resident = (total / partitions).checked_div(per_warp).unwrap_or(0) * partitions;
            // The check takes the fullest partition for all of them.
            let checked = per_warp * warps.next_multiple_of(partitions);
            ((resident / warps) as u32, checked)
        }
        RegisterScope::Block { warp_multiple } => {
            let warps = warps.next_multiple_of(u64::from(warp_multiple.max(1)));
            let per_block = round_up(per_warp * warps, allocation.register_unit);
            (total.checked_div(per_block).unwrap_or(0) as u32, per_block)
        }
    }
}

fn round_up(value: u64, unit: u32) -> u64 {
    value.next_multiple_of(u64::from(unit.max(1)))
}
