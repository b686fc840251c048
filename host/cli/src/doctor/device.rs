//! What kernels run on.

use super::Check;
use crate::units::{bytes, count};
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::error::EngineError;
use warpladder::ptx;

/// Whether the emulator takes every kernel of the catalogue.
pub(super) fn emulator() -> Check {
    const WHAT: &str = "emulator";
    let engine = EmulatorEngine::new();
    match load_all(&engine) {
        Ok((kernels, memory)) => Check::ok(
            WHAT,
            format!(
                "takes all {}; {}, {} of memory",
                count(kernels, "kernel"),
                engine.device_name(),
                bytes(memory)
            ),
        ),
        Err(error) => Check::wrong(WHAT, format!("{error}: build the program again")),
    }
}

/// Loads every kernel; returns how many there are, and the free memory in bytes.
fn load_all(engine: &dyn Engine) -> Result<(usize, u64), EngineError> {
    let mut kernels = 0;
    for module in ptx::MODULES {
        let text = module.text();
        for entry in module.entries() {
            engine.load(&text, entry)?;
            kernels += 1;
        }
    }
    Ok((kernels, engine.free_memory()?))
}

/// The vector instructions that the emulator uses.
#[cfg(target_arch = "x86_64")]
pub(super) fn processor() -> Check {
    const WHAT: &str = "processor";
    let needed = [
        ("AVX2", is_x86_feature_detected!("avx2")),
        ("FMA", is_x86_feature_detected!("fma")),
        ("BMI2", is_x86_feature_detected!("bmi2")),
    ];
    let absent: Vec<&str> = needed
        .into_iter()
        .filter(|(_, there)| !there)
        .map(|(name, _)| name)
        .collect();
    if !absent.is_empty() {
        let detail = "the emulator runs its portable code: a processor that has them is faster";
        return Check::missing(WHAT, format!("lacks {}: {detail}", absent.join(", ")));
    }
    let wide = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    let wide = if wide { "; AVX-512" } else { "; no AVX-512" };
    Check::ok(WHAT, needed.map(|(name, _)| name).join(", ") + wide)
}

/// The vector instructions that the emulator uses.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn processor() -> Check {
    let detail = format!(
        "{}: the emulator runs its portable code",
        std::env::consts::ARCH
    );
    Check::ok("processor", detail)
}

/// The driver and its GPUs.
#[cfg(not(all(target_os = "linux", feature = "gpu")))]
pub(super) fn gpus() -> Vec<Check> {
    let no_gpu = warpladder::device::devices().err();
    let missing = |error: EngineError| Check::missing("GPU", error.to_string());
    no_gpu.map(missing).into_iter().collect()
}

#[cfg(all(target_os = "linux", feature = "gpu"))]
pub(super) use linux::gpus;

#[cfg(all(target_os = "linux", feature = "gpu"))]
mod linux {
    use super::Check;
    use crate::units::{bytes, count};
    use cuda_driver::{Driver, LoadError};
    use warpladder::device::{self, DeviceProperties};
    use warpladder::engine::{self, EngineChoice};
    use warpladder::ptx;

    const DRIVER: &str = "NVIDIA driver";

    /// The driver and its GPUs.
    pub(in super::super) fn gpus() -> Vec<Check> {
        let driver = match cuda_driver::load() {
            Ok(driver) => driver,
            Err(error) => return vec![no_driver(&error)],
        };
        let devices = match device::devices() {
            Ok(devices) => devices,
            Err(error) => {
                let detail = format!("{error}: see whether nvidia-smi lists a GPU");
                return vec![Check::wrong(DRIVER, detail)];
            }
        };
        let mut checks = vec![working_driver(driver, &devices)];
        checks.extend(devices.iter().map(gpu));
        checks
    }

    fn no_driver(error: &LoadError) -> Check {
        let message = error.to_string();
        match error {
            LoadError::Unsupported | LoadError::NotFound { .. } => Check::missing(DRIVER, message),
            // A container without a GPU often has the driver's library; nothing is broken there.
            LoadError::Initialise { message: call } if call.contains("CUDA_ERROR_NO_DEVICE") => {
                Check::missing("GPU", message)
            }
            LoadError::TooOld { .. } | LoadError::Initialise { .. } => {
                Check::wrong(DRIVER, message)
            }
        }
    }

    fn working_driver(driver: &Driver, devices: &[DeviceProperties]) -> Check {
        let state = devices.iter().find_map(|device| device.state.as_ref());
        let mut detail = match state.and_then(|state| state.driver_version.as_ref()) {
            Some(version) => format!("{version}, CUDA {}", driver.version()),
            None => format!("CUDA {}", driver.version()),
        };
        let lacks = driver.missing_functions();
        if !lacks.is_empty() {
            detail += &format!("; an older one, without {}", lacks.join(", "));
        }
        Check::ok(DRIVER, detail)
    }

    fn gpu(device: &DeviceProperties) -> Check {
        let what = format!("GPU {}", device.ordinal);
        let detail = format!(
            "{}, compute capability {}, {}, {}",
            device.name,
            device.compute_capability,
            count(device.multiprocessors as usize, "multiprocessor"),
            bytes(device.memory_bytes)
        );
        let oldest = ptx::MODULES.iter().map(|module| module.compute_capability);
        if let Some(oldest) = oldest
            .min()
            .filter(|&oldest| device.compute_capability < oldest)
        {
            let needed = oldest;
            let advice = format!("kernels need {needed}: use --engine emulator");
            return Check::wrong(what, format!("{detail}; {advice}"));
        }
        // Kernels run on the first one.
        if device.ordinal == 0
            && let Err(error) = engine::open(EngineChoice::Gpu)
        {
            return Check::wrong(what, format!("{detail}; {error}: use --engine emulator"));
        }
        Check::ok(what, detail)
    }

    #[cfg(test)]
    mod tests {
        use super::super::super::State;
        use super::*;

        #[test]
        fn a_driver_that_does_not_work_is_wrong_unless_it_only_has_no_gpu() {
            let initialise = |message: &str| LoadError::Initialise {
                message: message.to_owned(),
            };
            let not_found = LoadError::NotFound {
                reason: "no such file".to_owned(),
            };
            let no_device = "cuInit failed: CUDA_ERROR_NO_DEVICE (100), no device is detected";
            let mismatch = "cuInit failed: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803), mismatch";
            for (error, state) in [
                (not_found, State::Missing),
                (initialise(no_device), State::Missing),
                (initialise(mismatch), State::Wrong),
            ] {
                assert_eq!(no_driver(&error).state, state, "{error}");
            }
        }
    }
}
