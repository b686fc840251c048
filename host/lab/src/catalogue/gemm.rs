//! The launches of `sgemm`, `dgemm` and the general `wgmma` kernels: products of dense matrices.

use super::PlanRequest;
use crate::problem::{Operation, Shape};
use warpladder::device::ComputeCapability;
use warpladder::gemm::{Description, DeviceLimits, GemmInput, plan_choice};
use warpladder::plan::Plan;

pub(super) use warpladder::gemm::COMPUTE_CAPABILITY;
#[cfg(test)]
pub(super) use warpladder::gemm::entries;

/// `sgemm`.
pub(super) fn sgemm(request: &PlanRequest) -> Plan {
    plan::<f32>(request, request.compute_capability)
}

/// `dgemm`.
pub(super) fn dgemm(request: &PlanRequest) -> Plan {
    plan::<f64>(request, request.compute_capability)
}

/// The GEMM of dense matrices for the request's operation, by the kernels for `compute_capability`.
/// The preflight has compared it with that of the device.
pub(super) fn plan<T: GemmInput>(
    request: &PlanRequest,
    compute_capability: ComputeCapability,
) -> Plan {
    let Shape { m, n, k } = request.shape;
    let device = DeviceLimits {
        multiprocessors: request.multiprocessors,
        compute_capability,
    };
    let product = Description {
        c_16bit: matches!(request.operation, Operation::TensorProduct16(_)),
        // Device memory is allocated in multiples of more than the 16 bytes that `dense` takes for
        // granted.
        ..Description::<T>::dense([m, n, k], request.transposed)
    };
    let kernels = T::kernels(device.compute_capability, product.c_16bit);
    let choice = kernels.plan(&product.problem(device));
    let choice =
        choice.expect("the grids of these kernels have room for any C that fits in memory");
    plan_choice(&product, device, &choice)
}
