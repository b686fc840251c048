//! The arguments and the shape of a launch, and its report.

use crate::error::LaunchError;
use crate::kernel::Kernel;

/// The arguments of a launch, in order.
#[derive(Clone, Debug, Default)]
pub struct Args(Vec<Vec<u8>>);

impl Args {
    /// No arguments yet.
    pub fn new() -> Self {
        Args::default()
    }

    /// Number of arguments.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the bytes of an argument, as they are stored in memory.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.push(bytes.to_vec());
        self
    }

    /// Adds a 32-bit integer.
    pub fn push_u32(&mut self, value: u32) -> &mut Self {
        self.push_bytes(&value.to_le_bytes())
    }

    /// Adds a 64-bit integer or an address.
    pub fn push_u64(&mut self, value: u64) -> &mut Self {
        self.push_bytes(&value.to_le_bytes())
    }

    /// Adds an f32.
    pub fn push_f32(&mut self, value: f32) -> &mut Self {
        self.push_bytes(&value.to_le_bytes())
    }

    /// Adds an f64.
    pub fn push_f64(&mut self, value: f64) -> &mut Self {
        self.push_bytes(&value.to_le_bytes())
    }

    /// The parameter block of a kernel, where the arguments fit it.
    pub(crate) fn block(&self, kernel: &Kernel) -> Result<Vec<u8>, LaunchError> {
        let params = kernel.params();
        if params.len() != self.0.len() {
            return Err(LaunchError::ArgumentCount {
                kernel: kernel.name().to_string(),
                expected: params.len(),
                given: self.0.len(),
            });
        }
        let mut block = vec![0; kernel.0.param_bytes as usize];
        for (index, (param, bytes)) in params.iter().zip(&self.0).enumerate() {
            if param.bytes as usize != bytes.len() {
                return Err(LaunchError::ArgumentSize {
                    kernel: kernel.name().to_string(),
                    index,
                    expected: param.bytes,
                    given: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                });
            }
            let start = param.offset as usize;
            block[start..start + bytes.len()].copy_from_slice(bytes);
        }
        Ok(block)
    }
}

/// How to launch a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block; at most 1024 in all.
    pub block: [u32; 3],
    /// Blocks of a thread block cluster: divisors of the grid's extents, at most 8 in all. None
    /// for a launch without clusters, in which every block is a cluster of its own, unless the
    /// kernel names the extents of its clusters.
    pub cluster: Option<[u32; 3]>,
    /// Whether clusters may have up to 16 blocks, which not every device with clusters can run
    /// (`CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`).
    pub larger_clusters: bool,
    /// Whether the launch is a cooperative one (`cuLaunchCooperativeKernel`): all blocks of the
    /// grid are resident and run in turn on one worker, so that they may wait for each other.
    /// `%envreg1` and `%envreg2` hold the upper and the lower half of the address of a workspace
    /// with the grid's barrier (`cooperative_groups::this_grid().sync()`). In any other launch they
    /// are 0, and a block may begin after others have ended. A cooperative launch has no clusters;
    /// its blocks take at most [`MAX_RESIDENT_BYTES`](crate::MAX_RESIDENT_BYTES).
    pub cooperative: bool,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared_bytes: u32,
    /// Bytes at whose multiples the shared memory of a block ends. GPUs allocate it in units of
    /// 128 or 256, and what a kernel reads behind its own memory, but in the last unit, is no
    /// fault there. With 4, the default, it is one.
    pub shared_unit: u32,
    /// Warp instructions after which the launch ends in an error. With several workers the launch
    /// may end earlier by some 100 000 instructions per worker.
    pub instruction_budget: u64,
    /// Worker threads, the one that launches among them; none for as many as the machine runs at
    /// once, where the launch takes more than some microseconds.
    pub workers: Option<usize>,
}

/// The default of [`LaunchConfig::instruction_budget`]: 2^36, some minutes on one core.
pub const DEFAULT_INSTRUCTION_BUDGET: u64 = 1 << 36;

impl LaunchConfig {
    /// A launch without dynamic shared memory, on all cores, with the default budget.
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        LaunchConfig {
            grid,
            block,
            cluster: None,
            larger_clusters: false,
            cooperative: false,
            dynamic_shared_bytes: 0,
            shared_unit: 4,
            instruction_budget: DEFAULT_INSTRUCTION_BUDGET,
            workers: None,
        }
    }
}

/// The launch that made blocks of the device heap.
#[derive(Clone, Debug)]
pub(crate) struct HeapLaunch {
    pub kernel: Kernel,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
}

/// What a launch did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Blocks that ran.
    pub blocks: u64,
    /// PTX instructions issued, counted once per warp.
    pub warp_instructions: u64,
    /// Worker threads that ran them.
    pub workers: usize,
}
