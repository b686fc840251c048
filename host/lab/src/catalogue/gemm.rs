//! The launches of `sgemm`, `dgemm` and the general `mma` and `wgmma` kernels: products of dense
//! matrices.

use super::PlanRequest;
use crate::problem::{Operation, Shape};
use half::{bf16, f16};
use warpladder::device::ComputeCapability;
use warpladder::element::{Element, TensorInput};
use warpladder::gemm::tuning::Choices;
use warpladder::gemm::{self, Description, DeviceLimits, GemmInput, PlanError, Precision, Tf32};
use warpladder::plan::Plan;

pub(super) use warpladder::gemm::COMPUTE_CAPABILITY;
#[cfg(test)]
pub(super) use warpladder::gemm::entries;

/// `sgemm`.
pub(super) fn sgemm(request: &PlanRequest) -> Result<Plan, PlanError> {
    plan::<f32>(request, request.device.generation)
}

/// `dgemm`.
pub(super) fn dgemm(request: &PlanRequest) -> Result<Plan, PlanError> {
    plan::<f64>(request, request.device.generation)
}

/// `gemm_mma_f16` and `gemm_mma_f16_narrow`.
pub(super) fn mma_f16(request: &PlanRequest) -> Result<Plan, PlanError> {
    plan::<f16>(request, COMPUTE_CAPABILITY)
}

/// `gemm_mma_bf16` and `gemm_mma_bf16_narrow`.
pub(super) fn mma_bf16(request: &PlanRequest) -> Result<Plan, PlanError> {
    plan::<bf16>(request, COMPUTE_CAPABILITY)
}

/// `gemm_mma_tf32`.
pub(super) fn mma_tf32(request: &PlanRequest) -> Result<Plan, PlanError> {
    plan::<Tf32>(request, COMPUTE_CAPABILITY)
}

/// `gemm_mma_i8`.
pub(super) fn mma_i8(request: &PlanRequest) -> Result<Plan, PlanError> {
    plan::<i8>(request, COMPUTE_CAPABILITY)
}

/// `gemm_f32_split`.
pub(super) fn f32_split(request: &PlanRequest) -> Result<Plan, PlanError> {
    with_precision::<f32>(request, request.device.generation, Precision::F32Split)
}

/// The GEMM of dense matrices for the request's operation, by the kernels of a `generation` that is
/// not newer than the device: the preflight has compared them.
pub(super) fn plan<T: GemmInput>(
    request: &PlanRequest,
    generation: ComputeCapability,
) -> Result<Plan, PlanError> {
    with_precision::<T>(request, generation, Precision::Native)
}

fn with_precision<T: GemmInput>(
    request: &PlanRequest,
    generation: ComputeCapability,
    precision: Precision,
) -> Result<Plan, PlanError> {
    let Shape { m, n, k } = request.shape;
    let device = DeviceLimits {
        generation,
        ..request.device
    };
    let alpha = request.operation.tensor_input();
    let alpha = alpha.map_or(1.0, TensorInput::alpha);
    let product = Description {
        alpha: <T::Output as Element>::from_f64(alpha.into()),
        precision,
        c_16bit: matches!(request.operation, Operation::TensorProduct16(_)),
        // Device memory is allocated in multiples of more than the 16 bytes that `dense` takes for
        // granted.
        ..Description::<T>::dense([m, n, k], request.transposed)
    };
    gemm::plan(&product, device, &Choices::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use warpladder::gemm::HOPPER;
    use warpladder::launch::Dim3;

    /// The compute capabilities of the modules that the launches of a rung come from.
    fn modules(name: &str, request: &PlanRequest) -> Vec<ComputeCapability> {
        let rung = catalogue::find(name).unwrap();
        let request = PlanRequest {
            operation: rung.operation,
            ..*request
        };
        let launches = rung.plan(&request).unwrap().unwrap().launches.into_iter();
        launches.map(|launch| launch.compute_capability).collect()
    }

    #[test]
    fn kernels_are_those_of_the_generation() {
        let request = PlanRequest {
            operation: Operation::Product,
            shape: Shape {
                m: 1000,
                n: 1001,
                k: 999,
            },
            device: DeviceLimits::new(132, HOPPER),
            transposed: [false; 2],
        };
        let of = |name, generation| {
            let device = DeviceLimits {
                generation,
                ..request.device
            };
            modules(name, &PlanRequest { device, ..request })
                .into_iter()
                .max()
                .unwrap()
        };
        assert_eq!(of("dgemm", HOPPER), HOPPER);
        assert_eq!(of("dgemm", COMPUTE_CAPABILITY), COMPUTE_CAPABILITY);
        for name in ["gemm_mma_bf16", "gemm_mma_tf32", "gemm_mma_f16_narrow"] {
            assert_eq!(of(name, HOPPER), COMPUTE_CAPABILITY, "{name}");
        }
    }

    #[test]
    fn plans_are_for_the_clusters_that_the_device_runs() {
        let rung = catalogue::find("wgmma_bf16").unwrap();
        let estimated = DeviceLimits::new(132, HOPPER);
        // An H200, by its driver.
        let clusters = [132, 66, 39, 30, 22, 17, 15, 15];
        let known = estimated.with_active_clusters(Some(clusters));
        let blocks = |device| {
            let request = PlanRequest {
                operation: rung.operation,
                shape: Shape {
                    m: 6216,
                    n: 320,
                    k: 6616,
                },
                device,
                transposed: [false, true],
            };
            let launches = rung.plan(&request).unwrap().unwrap().launches;
            let Dim3 { x, y, z } = launches[0].cluster;
            x * y * z
        };
        // 104 tiles of 128 × 192, with those that fill clusters of 8: one wave of 15 clusters, two
        // of the 12 that surely run.
        assert_eq!(blocks(known), 8);
        assert!(blocks(estimated) < 8);
    }
}
