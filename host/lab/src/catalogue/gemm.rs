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
    plan::<f32>(request, request.generation)
}

/// `dgemm`.
pub(super) fn dgemm(request: &PlanRequest) -> Result<Plan, PlanError> {
    plan::<f64>(request, request.generation)
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
    with_precision::<f32>(request, request.generation, Precision::F32Split)
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
        ..DeviceLimits::new(request.multiprocessors, request.compute_capability)
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
            multiprocessors: 132,
            compute_capability: HOPPER,
            generation: HOPPER,
            transposed: [false; 2],
        };
        let of = |name, generation| {
            let request = PlanRequest {
                generation,
                ..request
            };
            modules(name, &request).into_iter().max().unwrap()
        };
        assert_eq!(of("dgemm", HOPPER), HOPPER);
        assert_eq!(of("dgemm", COMPUTE_CAPABILITY), COMPUTE_CAPABILITY);
        for name in ["gemm_mma_bf16", "gemm_mma_tf32", "gemm_mma_f16_narrow"] {
            assert_eq!(of(name, HOPPER), COMPUTE_CAPABILITY, "{name}");
        }
    }
}
