//! What a list of GEMMs takes in [one launch](crate::gemm::wgmma::grouped), beside a launch each.

use super::cost::{self, PERSISTENT, TileCost};
use super::{GemmProblem, KernelSet};
use crate::gemm::scheduler::cluster_shape::ClusterShape;

impl KernelSet {
    /// Clocks of the plan with the least predicted time; `None` where no kernel takes the problem.
    pub fn clocks(&self, problem: &GemmProblem) -> Option<f64> {
        self.fastest(problem).map(|(clocks, _)| clocks)
    }

    /// Clocks of a launch of a list of GEMMs, whose blocks have these numbers of tiles and of
    /// k-tiles each, and which loads `bytes` bytes of A and B from device memory. `None` where
    /// there is no kernel for that.
    pub fn grouped_clocks(
        &self,
        blocks: impl Iterator<Item = [u64; 2]>,
        bytes: f64,
    ) -> Option<f64> {
        let config = self.grouped?;
        let [_, bn, _] = config.tile;
        let cost = TileCost::of(self.persistent_costs, config, bn, ClusterShape::ALONE);
        let of_block = |[tiles, k_tiles]: [u64; 2]| {
            k_tiles as f64 * cost.k_tile + tiles as f64 * cost.epilogue
        };
        let busiest = blocks.map(of_block).fold(0.0, f64::max);
        Some(PERSISTENT.start + cost::overlapped(busiest, bytes / cost::BYTES_PER_CLOCK))
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel_set::{OF_BF16_90, OF_TF32_90};

    #[test]
    fn the_busiest_block_or_memory_counts() {
        let clocks = |blocks: &[[u64; 2]], bytes| {
            let blocks = blocks.iter().copied();
            OF_BF16_90.grouped_clocks(blocks, bytes).unwrap()
        };
        let one = clocks(&[[1, 64]], 0.0);
        assert_eq!(clocks(&[[1, 64], [1, 63], [0, 0]], 0.0), one);
        assert!(clocks(&[[1, 64], [2, 64]], 0.0) > one);
        assert!(clocks(&[[1, 64], [1, 65]], 0.0) > one);
        assert!(clocks(&[[1, 64]], 1e12) > 1e8);
    }

    #[test]
    fn elements_without_a_kernel_of_lists_have_no_clocks() {
        assert_eq!(OF_TF32_90.grouped_clocks([[1, 1]].into_iter(), 0.0), None);
    }
}
