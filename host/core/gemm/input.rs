//! What A and B may be made of, and which kernels multiply that.

use super::tuning::{Case, Choices};
use super::wgmma::{self, TensorGemm};
use super::{COMPUTE_CAPABILITY, Description, Device, HOPPER, PORTABLE, plan_choice};
use crate::device::ComputeCapability;
use crate::element::Element;
use crate::element::TensorInput;
use crate::plan::Plan;
use cuda_std::float::GpuFloat;
use half::{bf16, f16};
use kernels_gpu::gemm::choose::{
    DGEMM, DGEMM_90, DGEMM_PORTABLE, Instances, OF_BF16, OF_BF16_TO_BF16, OF_F16, OF_F16_TO_F16,
    SGEMM, SGEMM_PORTABLE,
};

/// An element type of A and B: `f32` and `f64`, which C has as well, and [`f16`](struct@f16) and [`bf16`], which are multiplied exactly
/// and summed in `f32`. [`GemmInto`] says what C may be made of.
pub trait GemmInput: bytemuck::Pod {
    /// Element type of α and β, and of C unless that is as narrow as A and B.
    type Output: GemmElement;

    /// Its name.
    const NAME: &'static str;

    /// The instances for a compute capability and a C that is [`narrow`](Description::narrow) or not, and the compute
    /// capability of the module in which their tiles are.
    fn instances(
        compute_capability: ComputeCapability,
        narrow: bool,
    ) -> (&'static Instances, ComputeCapability);

    /// The launches of a product whose operands the kernels can address.
    fn plan(product: &Description<Self>, device: Device, tuned: &Choices) -> Plan {
        by_instances(product, device, tuned)
    }
}

/// An element type of A and B whose products may be stored to a C of `C`: sums are rounded to it once, to the nearest, ties to even.
pub trait GemmInto<C: bytemuck::Pod>: GemmInput {
    /// See [`Description::narrow`].
    const NARROW: bool;
}

impl GemmInto<f32> for f32 {
    const NARROW: bool = false;
}

impl GemmInto<f64> for f64 {
    const NARROW: bool = false;
}

impl GemmInto<f32> for f16 {
    const NARROW: bool = false;
}

impl GemmInto<f16> for f16 {
    const NARROW: bool = true;
}

impl GemmInto<f32> for bf16 {
    const NARROW: bool = false;
}

impl GemmInto<bf16> for bf16 {
    const NARROW: bool = true;
}

/// An element type that all of A, B and C may have, with sums of it.
pub trait GemmElement: GemmInput<Output = Self> + GemmInto<Self> + Element + GpuFloat {}

impl GemmElement for f32 {}

impl GemmElement for f64 {}

impl GemmInput for f32 {
    type Output = f32;
    const NAME: &'static str = "f32";

    fn instances(
        compute_capability: ComputeCapability,
        _: bool,
    ) -> (&'static Instances, ComputeCapability) {
        match compute_capability {
            older if older < COMPUTE_CAPABILITY => (&SGEMM_PORTABLE, PORTABLE),
            _ => (&SGEMM, COMPUTE_CAPABILITY),
        }
    }
}

impl GemmInput for f64 {
    type Output = f64;
    const NAME: &'static str = "f64";

    fn instances(
        compute_capability: ComputeCapability,
        _: bool,
    ) -> (&'static Instances, ComputeCapability) {
        match compute_capability {
            older if older < COMPUTE_CAPABILITY => (&DGEMM_PORTABLE, PORTABLE),
            HOPPER => (&DGEMM_90, HOPPER),
            _ => (&DGEMM, COMPUTE_CAPABILITY),
        }
    }
}

impl GemmInput for f16 {
    type Output = f32;
    const NAME: &'static str = "f16";

    fn instances(_: ComputeCapability, narrow: bool) -> (&'static Instances, ComputeCapability) {
        let instances = if narrow { &OF_F16_TO_F16 } else { &OF_F16 };
        (instances, PORTABLE)
    }

    fn plan(product: &Description<Self>, device: Device, tuned: &Choices) -> Plan {
        by_warpgroups(product, device, TensorInput::F16)
            .unwrap_or_else(|| by_instances(product, device, tuned))
    }
}

impl GemmInput for bf16 {
    type Output = f32;
    const NAME: &'static str = "bf16";

    fn instances(_: ComputeCapability, narrow: bool) -> (&'static Instances, ComputeCapability) {
        let instances = if narrow { &OF_BF16_TO_BF16 } else { &OF_BF16 };
        (instances, PORTABLE)
    }

    fn plan(product: &Description<Self>, device: Device, tuned: &Choices) -> Plan {
        by_warpgroups(product, device, TensorInput::Bf16)
            .unwrap_or_else(|| by_instances(product, device, tuned))
    }
}

/// By the instance that was measured for this product, or that the model favours.
fn by_instances<T: GemmInput>(product: &Description<T>, device: Device, tuned: &Choices) -> Plan {
    let (instances, _) = T::instances(device.compute_capability, product.narrow);
    let request = product.request(device);
    let measured = tuned.get(&Case::of(product)).and_then(|tuned| {
        let mut candidates = instances.candidates(&request);
        candidates.find(|(_, choice)| tuned.is(choice))
    });
    let choice = measured.map_or_else(|| instances.choose(&request), |(_, choice)| choice);
    plan_choice(product, device, &choice)
}

/// By warpgroups, where the device has them.
fn by_warpgroups<T: GemmInput<Output = f32>>(
    product: &Description<T>,
    device: Device,
    input: TensorInput,
) -> Option<Plan> {
    let product = TensorGemm::of(input, product);
    (device.compute_capability == wgmma::COMPUTE_CAPABILITY)
        .then(|| product.plan(device.multiprocessors.max(1)))
}
