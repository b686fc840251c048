//! What A and B may be made of, and which kernels multiply that.

use super::tuning::{Case, Choices};
use super::wgmma::{self, TensorGemm};
use super::{COMPUTE_CAPABILITY, Description, Device, GemmElement, PlanError, plan_choice};
use crate::plan::Plan;
use crate::problem::TensorInput;
use half::{bf16, f16};

/// An element type of A and B: `f32` and `f64`, which C has as well, and [`f16`] and [`bf16`], which are multiplied exactly
/// and summed in `f32`.
pub trait GemmInput: bytemuck::Pod {
    /// Element type of C, α and β.
    type Output: GemmElement;

    /// The launches of a product whose operands the kernels can address.
    ///
    /// # Errors
    /// [`PlanError::Capability`].
    fn plan(
        product: &Description<Self>,
        device: Device,
        tuned: &Choices,
    ) -> Result<Plan, PlanError>;
}

impl<T: GemmElement> GemmInput for T {
    type Output = T;

    fn plan(
        product: &Description<Self>,
        device: Device,
        tuned: &Choices,
    ) -> Result<Plan, PlanError> {
        if device.compute_capability < COMPUTE_CAPABILITY {
            return Err(PlanError::Capability {
                inputs: std::any::type_name::<T>(),
                needs: "8.0 or newer",
                has: device.compute_capability,
            });
        }
        let (instances, _) = T::instances(device.compute_capability);
        let request = product.request(device);
        let measured = tuned.get(&Case::of(product)).and_then(|tuned| {
            let mut candidates = instances.candidates(&request);
            candidates.find(|(_, choice)| tuned.is(choice))
        });
        let choice = measured.map_or_else(|| instances.choose(&request), |(_, choice)| choice);
        Ok(plan_choice(product, device, &choice))
    }
}

impl GemmInput for f16 {
    type Output = f32;

    fn plan(product: &Description<Self>, device: Device, _: &Choices) -> Result<Plan, PlanError> {
        on_tensor_cores(product, device, TensorInput::F16, "f16")
    }
}

impl GemmInput for bf16 {
    type Output = f32;

    fn plan(product: &Description<Self>, device: Device, _: &Choices) -> Result<Plan, PlanError> {
        on_tensor_cores(product, device, TensorInput::Bf16, "bf16")
    }
}

/// A product of narrow elements by warpgroups.
fn on_tensor_cores<T: GemmInput<Output = f32>>(
    product: &Description<T>,
    device: Device,
    input: TensorInput,
    inputs: &'static str,
) -> Result<Plan, PlanError> {
    if device.compute_capability != wgmma::COMPUTE_CAPABILITY {
        return Err(PlanError::Capability {
            inputs,
            needs: "9.0",
            has: device.compute_capability,
        });
    }
    Ok(TensorGemm::of(input, product).plan(device.multiprocessors.max(1)))
}
