//! What A and B may be made of, and which kernels multiply that.

use super::tuning::{Choices, ProblemKey};
use super::wgmma::{self, TensorGemm};
use super::{COMPUTE_CAPABILITY, Description, DeviceLimits, HOPPER, PORTABLE, plan_choice};
use crate::device::ComputeCapability;
use crate::element::Element;
use crate::element::TensorInput;
use crate::plan::Plan;
use crate::ptx;
use cuda_std::float::GpuFloat;
use half::{bf16, f16};
use kernels_gpu::gemm::planner::kernel_set::{
    DGEMM, DGEMM_90, DGEMM_PORTABLE, KernelSet, OF_BF16, OF_BF16_TO_BF16, OF_F16, OF_F16_TO_F16,
    SGEMM, SGEMM_PORTABLE,
};

/// An element type of A and B: `f32` and `f64`, which C has as well, and [`f16`](struct@f16) and
/// [`bf16`], which are multiplied exactly and summed in `f32`. [`GemmInto`] says what C may be made
/// of.
pub trait GemmInput: bytemuck::Pod {
    /// Element type of α and β, and of C unless that is of the 16-bit type of A and B.
    type Output: GemmElement;

    /// Its name.
    const NAME: &'static str;

    /// The kernels for a compute capability and a [16-bit C](Description::c_16bit) or not, and
    /// the compute capability of the module in which their tiles are, which is embedded.
    fn kernels(
        compute_capability: ComputeCapability,
        c_16bit: bool,
    ) -> (&'static KernelSet, ComputeCapability);

    /// The launches of a product whose operands the kernels can address.
    fn plan(product: &Description<Self>, device: DeviceLimits, tuned: &Choices) -> Plan {
        by_instances(product, device, tuned)
    }
}

/// An element type of A and B whose products may be stored to a C of `C`: sums are rounded to it
/// once, to the nearest, ties to even.
pub trait GemmInto<C: bytemuck::Pod>: GemmInput {
    /// See [`Description::c_16bit`].
    const C_16BIT: bool;
}

impl GemmInto<f32> for f32 {
    const C_16BIT: bool = false;
}

impl GemmInto<f64> for f64 {
    const C_16BIT: bool = false;
}

impl GemmInto<f32> for f16 {
    const C_16BIT: bool = false;
}

impl GemmInto<f16> for f16 {
    const C_16BIT: bool = true;
}

impl GemmInto<f32> for bf16 {
    const C_16BIT: bool = false;
}

impl GemmInto<bf16> for bf16 {
    const C_16BIT: bool = true;
}

/// An element type that all of A, B and C may have, with sums of it.
pub trait GemmElement: GemmInput<Output = Self> + GemmInto<Self> + Element + GpuFloat {}

impl GemmElement for f32 {}

impl GemmElement for f64 {}

impl GemmInput for f32 {
    type Output = f32;
    const NAME: &'static str = "f32";

    fn kernels(
        compute_capability: ComputeCapability,
        _: bool,
    ) -> (&'static KernelSet, ComputeCapability) {
        match newest(compute_capability, &[COMPUTE_CAPABILITY]) {
            PORTABLE => (&SGEMM_PORTABLE, PORTABLE),
            module => (&SGEMM, module),
        }
    }
}

impl GemmInput for f64 {
    type Output = f64;
    const NAME: &'static str = "f64";

    fn kernels(
        compute_capability: ComputeCapability,
        _: bool,
    ) -> (&'static KernelSet, ComputeCapability) {
        match newest(compute_capability, &[HOPPER, COMPUTE_CAPABILITY]) {
            PORTABLE => (&DGEMM_PORTABLE, PORTABLE),
            HOPPER => (&DGEMM_90, HOPPER),
            module => (&DGEMM, module),
        }
    }
}

impl GemmInput for f16 {
    type Output = f32;
    const NAME: &'static str = "f16";

    fn kernels(_: ComputeCapability, c_16bit: bool) -> (&'static KernelSet, ComputeCapability) {
        let kernels = if c_16bit { &OF_F16_TO_F16 } else { &OF_F16 };
        (kernels, PORTABLE)
    }

    fn plan(product: &Description<Self>, device: DeviceLimits, tuned: &Choices) -> Plan {
        by_warpgroups(product, device, TensorInput::F16)
            .unwrap_or_else(|| by_instances(product, device, tuned))
    }
}

impl GemmInput for bf16 {
    type Output = f32;
    const NAME: &'static str = "bf16";

    fn kernels(_: ComputeCapability, c_16bit: bool) -> (&'static KernelSet, ComputeCapability) {
        let kernels = if c_16bit { &OF_BF16_TO_BF16 } else { &OF_BF16 };
        (kernels, PORTABLE)
    }

    fn plan(product: &Description<Self>, device: DeviceLimits, tuned: &Choices) -> Plan {
        by_warpgroups(product, device, TensorInput::Bf16)
            .unwrap_or_else(|| by_instances(product, device, tuned))
    }
}

/// The first of `modules` that is embedded and that a device of this compute capability takes;
/// [`PORTABLE`] where there is none.
fn newest(
    compute_capability: ComputeCapability,
    modules: &[ComputeCapability],
) -> ComputeCapability {
    let mut modules = modules.iter().copied();
    modules
        .find(|&module| is_there(module, compute_capability))
        .unwrap_or(PORTABLE)
}

/// Whether the module `module` is embedded and a device of this compute capability takes it.
fn is_there(module: ComputeCapability, compute_capability: ComputeCapability) -> bool {
    ptx::find(module).is_some_and(|module| module.runs_on(compute_capability))
}

/// By the instance that was measured for this product, or that the model favours.
fn by_instances<T: GemmInput>(
    product: &Description<T>,
    device: DeviceLimits,
    tuned: &Choices,
) -> Plan {
    let (kernels, _) = T::kernels(device.compute_capability, product.c_16bit);
    let request = product.request(device);
    let measured = tuned.get(&ProblemKey::of(product)).and_then(|tuned| {
        let mut candidates = kernels.candidates(&request);
        candidates.find(|(_, choice)| tuned.is(choice))
    });
    let choice = measured.map_or_else(|| kernels.plan(&request), |(_, choice)| choice);
    plan_choice(product, device, &choice)
}

/// By warpgroups, where the device has them and their kernels are embedded.
fn by_warpgroups<T: GemmInput<Output = f32>>(
    product: &Description<T>,
    device: DeviceLimits,
    input: TensorInput,
) -> Option<Plan> {
    let product = TensorGemm::of(input, product);
    is_there(wgmma::COMPUTE_CAPABILITY, device.compute_capability)
        .then(|| product.plan(device.multiprocessors.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENTS: [[u32; 3]; 3] = [[64, 64, 64], [1000, 1001, 999], [4096, 4096, 4096]];

    /// The modules of the kernels of products on a device of this compute capability.
    fn modules<T: GemmInput>(
        compute_capability: ComputeCapability,
        c_16bit: bool,
    ) -> Vec<ComputeCapability> {
        let device = DeviceLimits {
            multiprocessors: 132,
            compute_capability,
        };
        let mut modules = Vec::new();
        for extents in EXTENTS {
            let mut product = Description::<T>::dense(extents, [false, true]);
            product.c_16bit = c_16bit;
            let plan = crate::gemm::plan(&product, device, &Choices::default()).unwrap();
            for launch in plan.launches {
                let module = ptx::find(launch.compute_capability).expect("an embedded module");
                assert!(module.runs_on(compute_capability), "{}", launch.entry);
                assert!(module.entries().any(|entry| entry == launch.entry));
                modules.push(launch.compute_capability);
            }
        }
        modules
    }

    #[test]
    fn products_are_planned_with_embedded_kernels_alone() {
        for compute_capability in [PORTABLE, COMPUTE_CAPABILITY, HOPPER] {
            for c_16bit in [false, true] {
                modules::<f16>(compute_capability, c_16bit);
                modules::<bf16>(compute_capability, c_16bit);
            }
            modules::<f64>(compute_capability, false);
            modules::<f32>(compute_capability, false);
        }
    }

    #[test]
    fn the_newest_embedded_kernels_are_chosen() {
        let ampere = cfg!(feature = "sm_80");
        let hopper = cfg!(feature = "sm_90a");
        let f32 = modules::<f32>(HOPPER, false);
        assert_eq!(f32.contains(&COMPUTE_CAPABILITY), ampere);
        let f64 = modules::<f64>(HOPPER, false);
        assert_eq!(f64.contains(&HOPPER), hopper);
        assert_eq!(f64.contains(&COMPUTE_CAPABILITY), ampere && !hopper);
        let f16 = modules::<f16>(HOPPER, false);
        assert_eq!(f16.contains(&HOPPER), hopper);
    }
}
