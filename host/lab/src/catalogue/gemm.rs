//! The launches of `sgemm` and `dgemm`: products of dense matrices, by the general kernels.

use super::PlanRequest;
use crate::problem::Shape;
use warpladder::gemm::{Description, DeviceLimits, GemmElement, plan_choice};
use warpladder::plan::Plan;

pub(super) use warpladder::gemm::COMPUTE_CAPABILITY;
#[cfg(test)]
pub(super) use warpladder::gemm::entries;

/// `sgemm`.
pub(super) fn sgemm(request: &PlanRequest) -> Plan {
    plan::<f32>(request)
}

/// `dgemm`.
pub(super) fn dgemm(request: &PlanRequest) -> Plan {
    plan::<f64>(request)
}

fn plan<T: GemmElement>(request: &PlanRequest) -> Plan {
    let Shape { m, n, k } = request.shape;
    let device = DeviceLimits {
        multiprocessors: request.multiprocessors,
        compute_capability: request.compute_capability,
    };
    let product = Description::<T>::dense([m, n, k], request.transposed);
    // The preflight has compared the device's compute capability with that of the rung.
    let (kernels, _) = T::kernels(device.compute_capability, product.c_16bit);
    plan_choice(&product, device, &kernels.plan(&product.request(device)))
}
