//! The kernels that the planner chooses among, and the choice.

mod elements;

use super::cost::{self, L2Cost, LaunchCost, TileCost};
use super::{Decomposition, GemmPlan, GemmProblem, persistent};
use crate::gemm::copy::layout;
use crate::gemm::scheduler::persistent::ReductionMode;
use crate::gemm::tile_config::TileConfig;
pub use elements::*;

/// The kernels for one element type.
#[derive(Clone, Copy)]
pub struct KernelSet {
    /// The tile configurations of kernels whose blocks have a work unit each.
    pub tiles: &'static [TileConfig],
    /// Those of persistent kernels, by their layouts.
    pub persistent_tiles: &'static [&'static [TileConfig]],
    /// The kernel of [lists of GEMMs](crate::gemm::wgmma::grouped), where there is one.
    pub grouped: Option<&'static TileConfig>,
    /// The kernels that take operands as they lie, where the persistent ones ask for copies.
    pub as_they_lie: Option<&'static KernelSet>,
    /// The compute capability of the module that has the kernels of these tiles, times 10.
    pub compute_capability: u32,
    /// The GEMV kernels, where there are any: GEMV N of 1 and of 4 rows, GEMV T of 1 and of 4, each
    /// with the blocks that fit on an SM of the largest GPUs.
    pub gemv_kernels: Option<[(&'static str, u64); 4]>,
    /// The longest short side that they are for.
    pub gemv_short_side: u32,
    /// The reduction kernel, with the compute capability of its module, times 10.
    pub reduce: (&'static str, u32),
    /// Bytes of an element of A and B.
    pub(super) input_bytes: u32,
    /// Bytes of an accumulator. C has as many, or 2.
    pub element_bytes: u32,
    /// Whether the kernels of these tiles take a
    /// [fused operator](crate::gemm::epilogue::fusion::FusionParams), bias and residual as well,
    /// and C as either type of elements.
    pub takes_fusion: bool,
    /// Whether the persistent kernels take one.
    pub persistent_takes_fusion: bool,
    /// Whether work units of these tiles begin at multiples of BK along k, as tiles of `mma.sync`
    /// ask.
    pub whole_k_tiles: bool,
    /// What the main loop of small tiles takes longer for an operand that is copied by elements: a
    /// K-major one, and an MN-major one without vectors.
    pub(super) elements: [f64; 2],
    /// The same for a K-major operand where a tile has an SM alone.
    pub(super) elements_alone: f64,
    /// What launches take.
    pub(super) launch: LaunchCost,
    /// What may reduce partial sums. Without [`ReductionMode::Kernel`] there is no reduction
    /// kernel, and no split-K.
    pub reductions: &'static [ReductionMode],
    /// Whether the persistent kernels take operands of f32 [in terms](crate::gemm::mma::split).
    /// Kernels of these tiles compute C where terms are not exact.
    pub splits_operands: bool,
    /// What the lines that persistent blocks load take the L2 cache.
    pub(super) l2: L2Cost,
    /// What the tiles take; where operands are [unaligned](crate::gemm::mma::unaligned); and what
    /// those of persistent kernels take.
    pub(super) costs: &'static [TileCost],
    pub(super) unaligned_costs: &'static [TileCost],
    pub(super) persistent_costs: &'static [TileCost],
}

/// The copies of operands in front of a GEMM.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperandCopies {
    /// Bytes of the operands that are copied.
    pub bytes: f64,
    /// Launches that copy them.
    pub launches: u32,
}

impl KernelSet {
    /// [`plan`](Self::plan) of a problem whose operands are copied first, with its predicted
    /// clocks.
    pub fn plan_of_copies(
        &self,
        problem: &GemmProblem,
        copies: OperandCopies,
    ) -> Option<(f64, GemmPlan)> {
        let (clocks, best) = self.fastest(problem)?;
        if copies.launches == 0 {
            return Some((clocks, best));
        }
        let ([launch, second], bytes_per_clock) = match self.persistent_tiles {
            [] => ([cost::COPY_LAUNCH; 2], cost::COPY_BYTES_PER_CLOCK),
            _ => (
                [cost::PACK_LAUNCH, cost::SECOND_PACK_LAUNCH],
                cost::PACK_BYTES_PER_CLOCK,
            ),
        };
        let launches = launch + f64::from(copies.launches - 1) * second;
        // Each byte is read and written.
        Some((
            clocks + launches + 2.0 * copies.bytes / bytes_per_clock,
            best,
        ))
    }

    /// The plan with the least predicted time; `None` where no kernel takes the problem, as C has
    /// more tiles than a grid takes, or the layouts are others.
    pub fn plan(&self, problem: &GemmProblem) -> Option<GemmPlan> {
        self.fastest(problem).map(|(_, best)| best)
    }

    /// [`plan`](Self::plan), with its predicted clocks.
    pub(super) fn fastest(&self, problem: &GemmProblem) -> Option<(f64, GemmPlan)> {
        let persistent = persistent::fastest(self, self.persistent_configs(problem), problem);
        let persistent = persistent.map(|(clocks, candidate)| (clocks, candidate.plan()));
        let others = self.other_candidates(problem);
        others
            .chain(persistent)
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// The plan with the least predicted time of those by [`tiles`](Self::tiles) that are not
    /// split.
    pub fn data_parallel_grid(&self, problem: &GemmProblem) -> Option<GemmPlan> {
        let grids = KernelSet {
            persistent_tiles: &[],
            gemv_kernels: None,
            ..*self
        };
        let plans = grids.candidates(problem);
        let plans = plans.filter(|(_, plan)| plan.decomposition == Decomposition::DataParallel);
        let best = plans.min_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, plan)| plan)
    }

    /// All plans, each with the clocks that it should take.
    pub fn candidates(&self, problem: &GemmProblem) -> impl Iterator<Item = (f64, GemmPlan)> {
        let persistent = self.persistent_candidates(problem);
        let persistent = persistent.map(|(clocks, candidate)| (clocks, candidate.plan()));
        self.other_candidates(problem).chain(persistent)
    }

    /// Those of persistent kernels, before they are planned.
    fn persistent_candidates(
        &self,
        problem: &GemmProblem,
    ) -> impl Iterator<Item = (f64, persistent::Candidate)> {
        self.persistent_configs(problem)
            .flat_map(|tile| persistent::candidates(self, tile, problem))
    }

    /// The persistent kernels that take the problem.
    fn persistent_configs(
        &self,
        problem: &GemmProblem,
    ) -> impl Iterator<Item = &'static TileConfig> {
        let tiles = self.persistent_tiles.iter().copied().flatten();
        tiles.filter(|tile| (!problem.fused || self.persistent_takes_fusion) && fits(tile, problem))
    }

    /// Those of all other kernels.
    fn other_candidates(&self, problem: &GemmProblem) -> impl Iterator<Item = (f64, GemmPlan)> {
        let tiles = self.tiles.iter().filter(|tile| fits(tile, problem));
        let grids = tiles.flat_map(|tile| self.grid_candidates(tile, problem));
        grids.chain(self.gemv_candidates(problem))
    }

    /// The same with the kernels that take operands as they lie beside its own tiles.
    fn all_tiles(&self) -> impl Iterator<Item = (&'static TileConfig, &Self)> {
        let as_they_lie = self.as_they_lie.into_iter();
        let sets = [self].into_iter().chain(as_they_lie);
        sets.flat_map(|set| set.tiles.iter().map(move |tile| (tile, set)))
    }

    /// Whether one of the kernels takes a fused operator.
    pub fn fuses(&self) -> bool {
        self.takes_fusion || self.persistent_takes_fusion
    }

    /// Whether the kernel `entry` takes one.
    pub fn is_fusing(&self, entry: &str) -> bool {
        let tiles = self.all_tiles().filter(|(_, set)| set.takes_fusion);
        let tiles = tiles.map(|(tile, _)| tile);
        let persistent = self.persistent_tiles.iter().copied().flatten();
        let persistent = persistent.filter(|_| self.persistent_takes_fusion);
        let mut tiles = tiles.chain(persistent);
        tiles.any(|tile| tile.entry == entry)
    }

    /// The kernels, each with the compute capability of its module, times 10.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let persistent = self.persistent_tiles.iter().copied().flatten();
        let has_reduce = self.reductions.contains(&ReductionMode::Kernel);
        let gemv = self.gemv_kernels.into_iter().flatten();
        let reduce = self.as_they_lie.map(|set| set.reduce);
        self.all_tiles()
            .map(|(tile, set)| (tile.entry, set.compute_capability))
            .chain(reduce.filter(|(entry, _)| !entry.is_empty()))
            .chain(persistent.map(|tile| (tile.entry, HOPPER)))
            .chain(self.grouped.map(|tile| (tile.entry, HOPPER)))
            .chain(gemv.map(|(entry, _)| (entry, PORTABLE)))
            .chain(has_reduce.then_some(self.reduce))
    }
}

/// The oldest compute capability, times 10.
const PORTABLE: u32 = 70;

/// That of the persistent kernels.
const HOPPER: u32 = 90;

/// Whether the kernel takes the layouts of A and B, and its blocks fit on the device.
fn fits(tile: &TileConfig, problem: &GemmProblem) -> bool {
    let takes = |operand: usize, k_major: bool| match tile.layouts[operand] {
        layout::K_MAJOR => k_major,
        layout::MN_MAJOR => !k_major && problem.vectors[operand],
        layout::MN_MAJOR_UNALIGNED => !k_major,
        layout::K_MAJOR_VECTORS => k_major && problem.aligned_rows[operand],
        layout::MN_MAJOR_VECTORS => !k_major && problem.aligned_rows[operand],
        _ => true,
    };
    takes(0, !problem.transposed[0])
        && takes(1, problem.transposed[1])
        && tile.shared_bytes <= problem.shared_bytes
}
