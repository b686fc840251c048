//! Device query: what a GPU is, as reports and performance models need it.

#[cfg(gpu)]
mod nvml;

use crate::error::EngineError;
use crate::launch::Dim3;
use std::fmt;

/// Compute capability of a GPU: its generation, and which PTX it takes. Ordered from older to
/// newer.
///
/// In JSON it is one number, ten times the major version and the minor one: 90 for 9.0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(from = "u32", into = "u32")]
pub struct ComputeCapability {
    /// Generation: 9 for Hopper.
    pub major: u32,
    /// Variant within it.
    pub minor: u32,
}

impl ComputeCapability {
    /// Volta: the oldest that the kernels run on.
    pub const V7_0: Self = Self::new(7, 0);
    /// Ampere: asynchronous copies, MMA of bf16 and f64.
    pub const V8_0: Self = Self::new(8, 0);
    /// Hopper: clusters, bulk copies, `wgmma`.
    pub const V9_0: Self = Self::new(9, 0);

    /// `major`.`minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        ComputeCapability { major, minor }
    }
}

impl From<u32> for ComputeCapability {
    fn from(number: u32) -> Self {
        Self::new(number / 10, number % 10)
    }
}

impl From<ComputeCapability> for u32 {
    fn from(capability: ComputeCapability) -> Self {
        10 * capability.major + capability.minor
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What the CUDA driver says about a device, and what the management library adds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DeviceProperties {
    /// The device's number, from 0.
    pub ordinal: u32,
    /// Name, for example `NVIDIA H200`.
    pub name: String,
    /// Identifier, as `nvidia-smi -L` prints it.
    pub uuid: String,
    /// Place on the PCI bus: `domain:bus:device.function`.
    pub pci_bus_id: String,
    /// Newest CUDA version that the driver supports, for example `13.0`.
    pub cuda_version: String,
    /// Compute capability.
    pub compute_capability: ComputeCapability,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Highest clock of the multiprocessors, in kHz.
    pub clock_khz: u32,
    /// Highest clock of the memory, in kHz.
    pub memory_clock_khz: u32,
    /// Width of the memory bus, in bits.
    pub memory_bus_bits: u32,
    /// Peak bandwidth of device memory in 10⁹ bytes per second, derived: two transfers per clock
    /// over the whole bus.
    pub peak_bandwidth_gbs: f64,
    /// Device memory, in bytes.
    pub memory_bytes: u64,
    /// L2 cache, in bytes.
    pub l2_bytes: u32,
    /// Part of the L2 cache that can be set aside for persisting accesses, in bytes.
    pub persisting_l2_bytes: u32,
    /// Constant memory, in bytes.
    pub constant_bytes: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_bytes_per_multiprocessor: u32,
    /// Shared memory that a block can have without asking, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory that a block can have after its kernel has opted in, in bytes.
    pub shared_bytes_per_block_optin: u32,
    /// Shared memory that the driver keeps for itself in every block, in bytes.
    pub shared_bytes_reserved_per_block: u32,
    /// Registers of 32 bits of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Registers of 32 bits that a block can use.
    pub registers_per_block: u32,
    /// Most threads resident on a multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// Most threads of a block.
    pub max_threads_per_block: u32,
    /// Most blocks resident on a multiprocessor.
    pub max_blocks_per_multiprocessor: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// Largest block, in threads.
    pub max_block: Dim3,
    /// Largest grid, in blocks.
    pub max_grid: Dim3,
    /// Throughput of single precision over that of double precision.
    pub single_to_double_ratio: u32,
    /// Number of copy engines: transfers that can run beside a kernel.
    pub copy_engines: u32,
    /// Whether error correction of memory is on.
    pub ecc: bool,
    /// Whether several kernels can run at once.
    pub concurrent_kernels: bool,
    /// Whether a grid can synchronise as a whole.
    pub cooperative_launch: bool,
    /// Whether thread block clusters can be launched.
    pub cluster_launch: bool,
    /// Whether kernels can use tensor maps.
    pub tensor_maps: bool,
    /// Whether host and device share one address space.
    pub unified_addressing: bool,
    /// Whether the driver can move memory between host and device on demand.
    pub managed_memory: bool,
    /// Whether the device shares the host's memory.
    pub integrated: bool,
    /// Whether kernels have a run-time limit, as on a device that drives a display.
    pub kernel_timeout: bool,
    /// State at the time of the query; null where the management library is not there.
    pub state: Option<DeviceState>,
}

/// State of a device when it was asked, from NVIDIA's management library (NVML). A value that the
/// device does not tell is null.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DeviceState {
    /// Version of the driver, for example `580.95.05`.
    pub driver_version: Option<String>,
    /// Clock of the multiprocessors, in MHz.
    pub clock_mhz: Option<u32>,
    /// Clock of the memory, in MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Highest clock of the multiprocessors that can be set, in MHz.
    pub max_clock_mhz: Option<u32>,
    /// Temperature, in degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Power drawn, in watts.
    pub power_w: Option<f64>,
    /// Power limit in force, in watts.
    pub power_limit_w: Option<f64>,
    /// What holds the clocks down, if anything does.
    pub throttle_reasons: Option<Vec<ThrottleReason>>,
    /// How long the clocks have been held down so far.
    #[serde(skip)]
    pub held_down: HeldDown,
}

/// How long the clocks have been held down since the driver was loaded, in nanoseconds: of two
/// states, the difference counts. Source: NVML, `nvmlDeviceGetViolationStatus`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeldDown {
    /// By the power limit.
    pub power_ns: Option<u64>,
    /// By temperature.
    pub thermal_ns: Option<u64>,
}

/// What holds the clocks down. Source: NVML, `nvmlClocksEventReasons`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThrottleReason {
    /// Nothing runs.
    Idle,
    /// Clocks set by an administrator.
    ApplicationClocks,
    /// The power limit.
    PowerCap,
    /// Hardware slowdown: temperature, power brake or too much current.
    HardwareSlowdown,
    /// Another device of the same boost group.
    SyncBoost,
    /// Temperature, by software.
    SoftwareThermal,
    /// Temperature, by hardware.
    HardwareThermal,
    /// An external power brake signal.
    PowerBrake,
    /// Clocks set for the display.
    DisplayClocks,
}

impl ThrottleReason {
    /// Name, as records have it.
    pub const fn name(self) -> &'static str {
        match self {
            ThrottleReason::Idle => "idle",
            ThrottleReason::ApplicationClocks => "application_clocks",
            ThrottleReason::PowerCap => "power_cap",
            ThrottleReason::HardwareSlowdown => "hardware_slowdown",
            ThrottleReason::SyncBoost => "sync_boost",
            ThrottleReason::SoftwareThermal => "software_thermal",
            ThrottleReason::HardwareThermal => "hardware_thermal",
            ThrottleReason::PowerBrake => "power_brake",
            ThrottleReason::DisplayClocks => "display_clocks",
        }
    }

    /// Every reason that is set in NVML's bit mask.
    #[cfg(gpu)]
    fn from_mask(mask: u64) -> Vec<ThrottleReason> {
        let bits = [
            (0x001, ThrottleReason::Idle),
            (0x002, ThrottleReason::ApplicationClocks),
            (0x004, ThrottleReason::PowerCap),
            (0x008, ThrottleReason::HardwareSlowdown),
            (0x010, ThrottleReason::SyncBoost),
            (0x020, ThrottleReason::SoftwareThermal),
            (0x040, ThrottleReason::HardwareThermal),
            (0x080, ThrottleReason::PowerBrake),
            (0x100, ThrottleReason::DisplayClocks),
        ];
        let set = bits.into_iter().filter(|(bit, _)| mask & bit != 0);
        set.map(|(_, reason)| reason).collect()
    }
}

/// All devices of this machine, in the driver's order.
///
/// # Errors
/// [`EngineError::Unavailable`] where there is no driver or no device.
#[cfg(gpu)]
pub fn devices() -> Result<Vec<DeviceProperties>, EngineError> {
    let unavailable = |reason: String| EngineError::Unavailable(reason);
    let driver = cuda_driver::load().map_err(|reason| unavailable(reason.to_string()))?;
    let count = driver
        .device_count()
        .map_err(|error| unavailable(error.to_string()))?;
    (0..count)
        .map(|ordinal| DeviceProperties::query(driver, ordinal))
        .collect()
}

/// Why there is no GPU where the engine was left out.
#[cfg(not(gpu))]
pub(crate) const NO_GPU_ENGINE: &str =
    "no GPU engine in this build: build on Linux with the feature `gpu`, or use the emulator";

/// All devices of this machine.
///
/// # Errors
/// Always [`EngineError::Unavailable`]: this build is without the GPU engine.
#[cfg(not(gpu))]
pub fn devices() -> Result<Vec<DeviceProperties>, EngineError> {
    Err(EngineError::Unavailable(NO_GPU_ENGINE.to_owned()))
}

#[cfg(gpu)]
mod query {
    use cuda_driver::{Device, DeviceAttribute as Attribute, Driver, DriverError};

    use super::{ComputeCapability, DeviceProperties, DeviceState, Dim3, EngineError, nvml};

    impl DeviceProperties {
        /// The state of the device now.
        pub fn state_now(&self) -> Option<DeviceState> {
            nvml::state(&self.uuid)
        }

        /// Asks the driver about one device.
        ///
        /// # Errors
        /// [`EngineError::Driver`] where the driver fails, as it does for a number beyond its
        /// devices. [`EngineError::Unavailable`] where the device is one of the emulated driver's:
        /// figures of it would be taken for a GPU's.
        pub fn query(driver: &Driver, ordinal: u32) -> Result<Self, EngineError> {
            let failed = |error: DriverError| EngineError::Driver {
                call: error.call,
                message: error.message(),
            };
            let properties = read(driver, ordinal).map_err(failed)?;
            match properties.name.starts_with(EMULATED) {
                false => Ok(properties),
                true => Err(EngineError::Unavailable(format!(
                    "device {ordinal} is no GPU but `{}`: take the folder of the emulated \
                     libcuda.so.1 out of LD_LIBRARY_PATH",
                    properties.name
                ))),
            }
        }
    }

    /// How the names of the emulated driver's devices begin.
    const EMULATED: &str = "Emulated ";

    fn read(driver: &Driver, ordinal: u32) -> Result<DeviceProperties, DriverError> {
        let device = driver.device(ordinal)?;
        let number = |attribute| device.attribute(attribute).map(i32::unsigned_abs);
        let flag = |attribute| device.attribute(attribute).map(|value| value != 0);
        let extents = |x, y, z| Ok::<_, DriverError>(Dim3::new(number(x)?, number(y)?, number(z)?));
        let memory_clock_khz = number(Attribute::MemoryClockRate)?;
        let memory_bus_bits = number(Attribute::GlobalMemoryBusWidth)?;
        let uuid = format_uuid(device.uuid()?);
        Ok(DeviceProperties {
            ordinal,
            name: device.name()?,
            pci_bus_id: device.pci_bus_id()?,
            cuda_version: driver.version().to_string(),
            compute_capability: ComputeCapability::new(
                number(Attribute::ComputeCapabilityMajor)?,
                number(Attribute::ComputeCapabilityMinor)?,
            ),
            multiprocessors: number(Attribute::MultiprocessorCount)?,
            clock_khz: number(Attribute::ClockRate)?,
            memory_clock_khz,
            memory_bus_bits,
            peak_bandwidth_gbs: peak_bandwidth_gbs(memory_clock_khz, memory_bus_bits),
            memory_bytes: device.total_memory()?,
            l2_bytes: number(Attribute::L2CacheSize)?,
            persisting_l2_bytes: number(Attribute::MaxPersistingL2CacheSize)?,
            constant_bytes: number(Attribute::TotalConstantMemory)?,
            shared_bytes_per_multiprocessor: number(Attribute::MaxSharedMemoryPerMultiprocessor)?,
            shared_bytes_per_block: number(Attribute::MaxSharedMemoryPerBlock)?,
            shared_bytes_per_block_optin: number(Attribute::MaxSharedMemoryPerBlockOptin)?,
            shared_bytes_reserved_per_block: number(Attribute::ReservedSharedMemoryPerBlock)?,
            registers_per_multiprocessor: number(Attribute::MaxRegistersPerMultiprocessor)?,
            registers_per_block: number(Attribute::MaxRegistersPerBlock)?,
            max_threads_per_multiprocessor: number(Attribute::MaxThreadsPerMultiprocessor)?,
            max_threads_per_block: number(Attribute::MaxThreadsPerBlock)?,
            max_blocks_per_multiprocessor: number(Attribute::MaxBlocksPerMultiprocessor)?,
            warp_size: number(Attribute::WarpSize)?,
            max_block: extents(
                Attribute::MaxBlockDimX,
                Attribute::MaxBlockDimY,
                Attribute::MaxBlockDimZ,
            )?,
            max_grid: extents(
                Attribute::MaxGridDimX,
                Attribute::MaxGridDimY,
                Attribute::MaxGridDimZ,
            )?,
            single_to_double_ratio: number(Attribute::SingleToDoublePrecisionRatio)?,
            copy_engines: number(Attribute::AsyncEngineCount)?,
            ecc: flag(Attribute::EccEnabled)?,
            concurrent_kernels: flag(Attribute::ConcurrentKernels)?,
            cooperative_launch: flag(Attribute::CooperativeLaunch)?,
            cluster_launch: newer_flag(device, Attribute::ClusterLaunch),
            tensor_maps: newer_flag(device, Attribute::TensorMapAccess),
            unified_addressing: flag(Attribute::UnifiedAddressing)?,
            managed_memory: flag(Attribute::ManagedMemory)?,
            integrated: flag(Attribute::Integrated)?,
            kernel_timeout: flag(Attribute::KernelExecTimeout)?,
            state: nvml::state(&uuid),
            uuid,
        })
    }

    /// A flag that drivers for CUDA 11.4 do not know yet: an error means no.
    fn newer_flag(device: Device, attribute: Attribute) -> bool {
        device.attribute(attribute).is_ok_and(|value| value != 0)
    }

    fn peak_bandwidth_gbs(memory_clock_khz: u32, memory_bus_bits: u32) -> f64 {
        2.0 * f64::from(memory_clock_khz) * 1e3 * f64::from(memory_bus_bits) / 8.0 / 1e9
    }

    /// `GPU-` and the identifier in groups of 4, 2, 2, 2 and 6 bytes.
    fn format_uuid(bytes: [u8; 16]) -> String {
        let mut text = String::from("GPU");
        for (index, byte) in bytes.into_iter().enumerate() {
            if matches!(index, 0 | 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.push_str(&format!("{byte:02x}"));
        }
        text
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn bandwidth_counts_both_edges_of_the_clock() {
            // An H100 SXM: 2619 MHz and 5120 bits; its datasheet says 3.35 TB/s.
            let bandwidth = super::peak_bandwidth_gbs(2_619_000, 5120);
            assert!((bandwidth - 3352.32).abs() < 1e-9, "{bandwidth}");
        }

        #[test]
        fn identifiers_look_as_the_tools_print_them() {
            let bytes = std::array::from_fn(|index| 0x10 * index as u8 + 1);
            let text = super::format_uuid(bytes);
            assert_eq!(text, "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
        }
    }
}

#[cfg(all(test, gpu))]
mod tests {
    use super::*;

    #[test]
    fn a_mask_gives_its_reasons() {
        assert_eq!(ThrottleReason::from_mask(0), []);
        let reasons = ThrottleReason::from_mask(0x1 | 0x4 | 0x8000);
        assert_eq!(reasons, [ThrottleReason::Idle, ThrottleReason::PowerCap]);
    }
}
