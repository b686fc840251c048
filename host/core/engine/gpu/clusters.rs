//! How many clusters run at the same time: the driver alone knows which multiprocessors are
//! neighbours.

use super::GpuEngine;
use crate::engine::Engine;
use cuda_driver::{FunctionAttribute, JitOptions, LaunchConfig, Module};

/// A kernel whose blocks have a multiprocessor each, by their shared memory.
const PTX: &str = "\
.version 7.8
.target sm_90
.address_size 64
.visible .entry alone() { ret; }
";

impl GpuEngine {
    /// [`Engine::active_clusters`], asked of the driver the first time.
    pub(super) fn active_clusters_of_device(&self) -> Option<[u32; 8]> {
        *self.active_clusters.get_or_init(|| {
            let has_clusters = self.properties.cluster_launch && self.enter().is_ok();
            // Where the driver does not tell, the planner estimates fewer.
            has_clusters.then(|| self.query_active_clusters()).flatten()
        })
    }

    fn query_active_clusters(&self) -> Option<[u32; 8]> {
        let shared_bytes = self.properties.shared_bytes_per_block_optin;
        // SAFETY: the engine's context is current, and the module is dropped in it.
        let (module, _) = unsafe { Module::load_ptx(PTX, &JitOptions::default()) }.ok()?;
        let function = module.function("alone").ok()?;
        let most = FunctionAttribute::MaxDynamicSharedBytes;
        function.set_attribute(most, shared_bytes as i32).ok()?;
        let mut of_blocks = [self.multiprocessors(); 8];
        for (blocks, clusters) in (2..).zip(&mut of_blocks[1..]) {
            let config = LaunchConfig {
                cluster: Some([blocks, 1, 1]),
                ..LaunchConfig::new([blocks, 1, 1], [128, 1, 1], shared_bytes)
            };
            *clusters = function.max_active_clusters(&config).ok()?;
        }
        Some(of_blocks)
    }
}
