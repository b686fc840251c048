//! Whether a device can run a rung: its PTX against the device's compute capability.
//!
//! A device that is not older than the oldest PTX that ships needs PTX whose target it runs. An
//! older one runs none of it as it is, but the kernels of the oldest module can be compiled for it
//! where it has the units of all their instructions, and they are predicted as if they were.

use super::ForecastError;
use crate::catalogue::{self, Implementation, Rung};
use crate::problem::{Operation, Shape};
use crate::run::check_shape;
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::ptx::{self, PtxModule};
use warpladder_models::devices::DeviceModel;
use warpladder_models::target::{Reach, Target, newest_instruction};

/// Refuses a rung that the device cannot run.
///
/// # Errors
/// [`ForecastError::CannotRun`] with the reason and the nearest rung that can.
pub(super) fn check(
    device: &DeviceModel,
    rung: &'static Rung,
    shape: Shape,
) -> Result<(), ForecastError> {
    let Some(reason) = obstacle(device, rung.resolve(shape)) else {
        return Ok(());
    };
    let has = ComputeCapability::from(device.architecture.compute_capability);
    Err(ForecastError::CannotRun {
        rung: rung.name,
        device: device.name.to_string(),
        has,
        reason,
        instead: nearest(device, rung, shape).map(|other| other.name),
    })
}

/// Why a device cannot run a rung; `None` where it can, and for functions of the host.
fn obstacle(device: &DeviceModel, rung: &Rung) -> Option<String> {
    let module = ptx::module(rung.compute_capability()?);
    let has = device.architecture.compute_capability;
    let target = target(module)?;
    if target.runs_on(has) {
        return None;
    }
    if has >= OLDEST || target != Target::from(OLDEST) {
        let needs = ComputeCapability::from(target.compute_capability);
        let takes = match target.reach {
            Reach::Later => format!("{needs} or later"),
            Reach::Family => format!("{needs} or later ones of its family"),
            Reach::Own => format!("{needs} and no other"),
        };
        let uses = instruction(module, rung)
            .map_or(String::new(), |opcode| format!(" (it uses {opcode})"));
        return Some(format!(
            "its PTX is for {target}{uses}, which takes compute capability {takes}"
        ));
    }
    let text = module.only(rung.name);
    let (opcode, needs) = newest_instruction(&text)?;
    (!needs.runs_on(has)).then(|| format!("its {} needs {needs}", shortened(opcode)))
}

/// The lowest compute capability of the PTX that ships, as `10 * major + minor`.
const OLDEST: u32 = 70;

/// The target of a module: its name ends in it.
fn target(module: &PtxModule) -> Option<Target> {
    let (_, name) = module.name.split_once('_')?;
    Target::parse(name)
}

/// The instruction of a rung's own kernel that asks for its target, where it has one.
fn instruction(module: &PtxModule, rung: &Rung) -> Option<String> {
    let entry = module.entries().find(|entry| *entry == rung.name)?;
    let text = module.only(entry);
    let (opcode, needs) = newest_instruction(&text)?;
    (Some(needs) == target(module)).then(|| shortened(opcode).to_owned())
}

/// An opcode without its types and shapes.
fn shortened(opcode: &str) -> &str {
    let periods = opcode.match_indices('.').map(|(at, _)| at);
    periods.take(2).nth(1).map_or(opcode, |at| &opcode[..at])
}

/// The rung nearest in the catalogue that the device can run at this size: of those that compute
/// the same, else of GEMM kernels with the same inputs, else of those of f32.
fn nearest(device: &DeviceModel, rung: &'static Rung, shape: Shape) -> Option<&'static Rung> {
    let place = |rung: &Rung| catalogue::rungs().position(|other| other.name == rung.name);
    let here = place(rung)?;
    let runs = |other: &&Rung| {
        !matches!(
            other.implementation,
            Implementation::Cpu(_) | Implementation::Dispatch(_)
        ) && check_shape(other, shape).is_ok()
            && obstacle(device, other).is_none()
    };
    let input = |rung: &Rung| match rung.operation {
        Operation::TensorProduct(input) | Operation::TensorProduct16(input) => Some(input),
        _ => None,
    };
    let same = |other: &Rung| other.operation == rung.operation && other.element == rung.element;
    let same_input = |other: &Rung| input(other).is_some() && input(other) == input(rung);
    let product = |other: &Rung| {
        rung.operation.is_product()
            && other.operation == Operation::Product
            && [rung.element, ElementType::F32].contains(&other.element)
    };
    let kinds: [&dyn Fn(&Rung) -> bool; 3] = [&same, &same_input, &product];
    kinds.into_iter().find_map(|is_of_it| {
        let candidates = catalogue::rungs()
            .filter(|other| is_of_it(other))
            .filter(runs);
        candidates.min_by_key(|other| place(other).map_or(usize::MAX, |at| at.abs_diff(here)))
    })
}

/// Whether a device is older than all PTX that ships, so that what is predicted for it is the same
/// kernel, compiled for it.
pub fn is_older_than_the_ptx(device: &DeviceModel) -> bool {
    device.architecture.compute_capability < OLDEST
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_models::devices;

    #[test]
    fn the_oldest_module_is_the_oldest() {
        let targets = ptx::MODULES.iter().map(|module| target(module).unwrap());
        let oldest = targets.min_by_key(|target| target.compute_capability);
        assert_eq!(oldest, Some(Target::from(OLDEST)));
    }

    /// Kernel, GPU, the rung to take instead, and a part of the reason.
    const REFUSED: [(&str, &str, Option<&str>, &str); 9] = [
        ("mma_f16", "GTX 1080", Some("double_buffered"), "sm_80"),
        ("dgemm", "K80", Some("tiled_32_f64"), "sm_80"),
        ("mma_bf16", "K80", Some("double_buffered"), "sm_80"),
        ("cp_async", "V100", Some("double_buffered"), "cp.async"),
        ("sgemm", "V100", Some("double_buffered"), "sm_80"),
        ("wgmma_bf16_single", "A100", Some("gemm_mma_bf16"), "wgmma"),
        (
            "wgmma_bf16",
            "B200",
            Some("gemm_mma_bf16"),
            "9.0 and no other",
        ),
        (
            "wgmma_f16_narrow",
            "RTX 4090",
            Some("gemm_mma_f16_narrow"),
            "sm_90a",
        ),
        ("wgmma_tf32", "V100", Some("double_buffered"), "sm_90a"),
    ];

    #[test]
    fn what_a_gpu_cannot_run_is_refused_with_the_nearest_that_it_can() {
        let shape = Shape {
            m: 1024,
            n: 1024,
            k: 1024,
        };
        for (kernel, device, instead, reason) in REFUSED {
            let device = devices::find(device).unwrap();
            let rung = catalogue::find(kernel).unwrap();
            let refused = check(device, rung, shape).unwrap_err();
            let message = refused.to_string();
            assert!(message.contains(reason), "{message}");
            assert!(!message.contains('\n') && message.contains(&*device.name));
            let ForecastError::CannotRun { instead: found, .. } = refused else {
                panic!("{message}");
            };
            assert_eq!(found, instead, "{message}");
        }
    }

    #[test]
    fn a_device_runs_every_rung_whose_target_it_takes_and_an_older_one_what_it_has_units_for() {
        for device in devices::table() {
            let has = device.architecture.compute_capability;
            for rung in catalogue::rungs() {
                let Some(needs) = rung.compute_capability() else {
                    continue;
                };
                let obstacle = obstacle(device, rung);
                let runs = obstacle.is_none();
                let module = ptx::module(needs);
                match has >= OLDEST {
                    true => assert_eq!(runs, module.runs_on(has.into()), "{}", rung.name),
                    // Neither tensor cores nor asynchronous copies.
                    false if needs > OLDEST.into() => assert!(!runs, "{}", rung.name),
                    // Shuffles are of 3.0, f64 is of 1.3, and `match` is of 7.0.
                    false => assert!(
                        has < 30 || obstacle.is_none_or(|reason| reason.contains("its match.")),
                        "{} on {}",
                        rung.name,
                        device.name
                    ),
                }
            }
        }
    }
}
