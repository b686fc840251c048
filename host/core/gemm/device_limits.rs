//! Where a product is computed.

use super::{PORTABLE, PlanError};
use crate::device::ComputeCapability;
use crate::engine::Engine;
use crate::ptx;
use kernels_gpu::gemm::planner::ActiveClusters;

/// Where a product is to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceLimits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The clusters that it runs at the same time.
    pub active_clusters: ActiveClusters,
    /// Compute capability.
    pub compute_capability: ComputeCapability,
    /// The generation of GPUs whose kernels compute the product, by its compute capability: that of
    /// the device, or an older one.
    pub generation: ComputeCapability,
}

impl DeviceLimits {
    /// A device that runs the kernels of its own generation, and surely as many clusters.
    pub fn new(multiprocessors: u32, compute_capability: ComputeCapability) -> Self {
        DeviceLimits {
            multiprocessors,
            active_clusters: ActiveClusters::estimate(multiprocessors),
            compute_capability,
            generation: compute_capability,
        }
    }

    /// The device of an engine.
    pub fn of(engine: &dyn Engine) -> Self {
        DeviceLimits::new(engine.multiprocessors(), engine.compute_capability())
            .with_active_clusters(engine.active_clusters())
    }

    /// The same device with the clusters of 1 to 8 blocks that it runs at the same time, where they
    /// are known.
    pub fn with_active_clusters(self, known: Option<[u32; 8]>) -> Self {
        DeviceLimits {
            active_clusters: known.map_or(self.active_clusters, ActiveClusters::new),
            ..self
        }
    }

    /// The same device with the kernels of the generation `asked` for; with its own where none is.
    ///
    /// # Errors
    /// [`PlanError::Generation`] where it is newer than the device, older than all kernels, or has
    /// kernels that run on no other.
    pub fn with_generation(self, asked: Option<ComputeCapability>) -> Result<Self, PlanError> {
        let device = self.compute_capability;
        let Some(asked) = asked else {
            return Ok(DeviceLimits {
                generation: device,
                ..self
            });
        };
        let mut modules = ptx::MODULES.iter();
        let is_lacking = modules.any(|module| module.runs_on(asked) && !module.runs_on(device));
        if asked > device || asked < PORTABLE || is_lacking {
            return Err(PlanError::Generation { asked, device });
        }
        Ok(DeviceLimits {
            generation: asked,
            ..self
        })
    }

    /// The most dynamic shared memory of a block that the device has and that its generation of
    /// kernels is planned for, in bytes.
    pub fn shared_bytes(self) -> u32 {
        let [device, generation] = [self.compute_capability, self.generation].map(shared_bytes);
        device.min(generation)
    }
}

/// The most dynamic shared memory of a block, in bytes (CUDA programming guide, "Compute
/// Capabilities").
fn shared_bytes(capability: ComputeCapability) -> u32 {
    match (capability.major, capability.minor) {
        (7, 5) => 64 << 10,
        (7, _) => 96 << 10,
        (8, 0 | 7) => 163 << 10,
        (9, 0) | (10, 0 | 1 | 3) | (11, 0) => 227 << 10,
        _ => 99 << 10,
    }
}
