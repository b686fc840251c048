//! Devices and their properties.

use std::ffi::{CStr, c_char, c_int};

use crate::error::DriverError;
use crate::handles::CUdevice;
use crate::load::Driver;
use crate::table;

/// A property of a device (`CUdevice_attribute`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DeviceAttribute {
    /// Most threads of a block.
    MaxThreadsPerBlock = 1,
    /// Largest block in x.
    MaxBlockDimX = 2,
    /// Largest block in y.
    MaxBlockDimY = 3,
    /// Largest block in z.
    MaxBlockDimZ = 4,
    /// Largest grid in x.
    MaxGridDimX = 5,
    /// Largest grid in y.
    MaxGridDimY = 6,
    /// Largest grid in z.
    MaxGridDimZ = 7,
    /// Shared memory of a block without opting in, in bytes.
    MaxSharedMemoryPerBlock = 8,
    /// Constant memory, in bytes.
    TotalConstantMemory = 9,
    /// Threads of a warp.
    WarpSize = 10,
    /// Registers of 32 bits that a block can use.
    MaxRegistersPerBlock = 12,
    /// Highest clock of the multiprocessors, in kHz.
    ClockRate = 13,
    /// Number of multiprocessors.
    MultiprocessorCount = 16,
    /// Whether kernels have a run-time limit.
    KernelExecTimeout = 17,
    /// Whether the device shares the host's memory.
    Integrated = 18,
    /// Compute mode: 0 default, 2 prohibited, 3 exclusive to one process.
    ComputeMode = 20,
    /// Whether several kernels can run at once.
    ConcurrentKernels = 31,
    /// Whether error correction is on.
    EccEnabled = 32,
    /// Highest clock of the memory, in kHz.
    MemoryClockRate = 36,
    /// Width of the memory bus, in bits.
    GlobalMemoryBusWidth = 37,
    /// Size of the L2 cache, in bytes.
    L2CacheSize = 38,
    /// Most threads resident on a multiprocessor.
    MaxThreadsPerMultiprocessor = 39,
    /// Number of copy engines.
    AsyncEngineCount = 40,
    /// Whether host and devices share one address space.
    UnifiedAddressing = 41,
    /// Compute capability, major version.
    ComputeCapabilityMajor = 75,
    /// Compute capability, minor version.
    ComputeCapabilityMinor = 76,
    /// Shared memory of a multiprocessor, in bytes.
    MaxSharedMemoryPerMultiprocessor = 81,
    /// Registers of 32 bits of a multiprocessor.
    MaxRegistersPerMultiprocessor = 82,
    /// Whether memory can be managed by the driver.
    ManagedMemory = 83,
    /// Throughput of single precision over that of double precision.
    SingleToDoublePrecisionRatio = 87,
    /// Whether a grid can synchronise as a whole.
    CooperativeLaunch = 95,
    /// Most shared memory that a block can opt in to, in bytes.
    MaxSharedMemoryPerBlockOptin = 97,
    /// Most blocks resident on a multiprocessor.
    MaxBlocksPerMultiprocessor = 106,
    /// Most of the L2 cache that can be set aside for persisting accesses, in bytes.
    MaxPersistingL2CacheSize = 108,
    /// Shared memory that the driver keeps for itself in every block, in bytes.
    ReservedSharedMemoryPerBlock = 111,
    /// Whether thread block clusters can be launched.
    ClusterLaunch = 120,
    /// Whether kernels can use tensor maps.
    TensorMapAccess = 127,
}

/// A device of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(CUdevice);

impl Driver {
    /// Number of devices that CUDA can use (`cuDeviceGetCount`).
    pub fn device_count(&self) -> Result<u32, DriverError> {
        let mut count: c_int = 0;
        // SAFETY: the driver writes one int.
        unsafe { table::cuDeviceGetCount::call(&mut count) }.check("cuDeviceGetCount")?;
        Ok(count.unsigned_abs())
    }

    /// The device with this number, from 0 (`cuDeviceGet`).
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_DEVICE` (101) where there are fewer devices.
    pub fn device(&self, ordinal: u32) -> Result<Device, DriverError> {
        let mut device = 0;
        let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        // SAFETY: the driver writes one handle.
        unsafe { table::cuDeviceGet::call(&mut device, ordinal) }.check("cuDeviceGet")?;
        Ok(Device(device))
    }
}

impl Device {
    /// The driver's handle; `cust::device::Device::get_device` takes an ordinal instead.
    pub fn as_raw(self) -> CUdevice {
        self.0
    }

    /// Reads an attribute (`cuDeviceGetAttribute`).
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` (1) where the driver is older than the attribute.
    pub fn attribute(self, attribute: DeviceAttribute) -> Result<i32, DriverError> {
        let mut value = 0;
        // SAFETY: the driver writes one int.
        unsafe { table::cuDeviceGetAttribute::call(&mut value, attribute as u32, self.0) }
            .check("cuDeviceGetAttribute")?;
        Ok(value)
    }

    /// Whether kernels and copies of this device can access the memory of another one by the links
    /// between them (`cuDeviceCanAccessPeer`).
    pub fn can_access_peer(self, peer: Device) -> Result<bool, DriverError> {
        let mut can = 0;
        // SAFETY: the driver writes one int.
        unsafe { table::cuDeviceCanAccessPeer::call(&mut can, self.0, peer.0) }
            .check("cuDeviceCanAccessPeer")?;
        Ok(can != 0)
    }

    /// The device's name, for example `NVIDIA H200` (`cuDeviceGetName`).
    pub fn name(self) -> Result<String, DriverError> {
        let mut buffer = [0; 256];
        // SAFETY: the driver writes at most the given number of characters.
        unsafe { table::cuDeviceGetName::call(buffer.as_mut_ptr(), buffer.len() as c_int, self.0) }
            .check("cuDeviceGetName")?;
        Ok(text(&buffer))
    }

    /// Device memory, in bytes (`cuDeviceTotalMem_v2`).
    pub fn total_memory(self) -> Result<u64, DriverError> {
        let mut bytes = 0;
        // SAFETY: the driver writes one size.
        unsafe { table::cuDeviceTotalMem_v2::call(&mut bytes, self.0) }
            .check("cuDeviceTotalMem_v2")?;
        Ok(bytes as u64)
    }

    /// The device's identifier, as `nvidia-smi -L` prints it without its prefix
    /// (`cuDeviceGetUuid_v2`).
    pub fn uuid(self) -> Result<[u8; 16], DriverError> {
        let mut uuid = [0; 16];
        // SAFETY: the driver writes 16 bytes.
        unsafe { table::cuDeviceGetUuid_v2::call(&mut uuid, self.0) }
            .check("cuDeviceGetUuid_v2")?;
        Ok(uuid)
    }

    /// The device's place on the PCI bus, as `domain:bus:device.function` (`cuDeviceGetPCIBusId`).
    pub fn pci_bus_id(self) -> Result<String, DriverError> {
        let mut buffer = [0; 32];
        // SAFETY: the driver writes at most the given number of characters.
        unsafe {
            table::cuDeviceGetPCIBusId::call(buffer.as_mut_ptr(), buffer.len() as c_int, self.0)
        }
        .check("cuDeviceGetPCIBusId")?;
        Ok(text(&buffer))
    }
}

/// The text of a buffer that the driver filled.
fn text(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|&character| character as u8).collect();
    CStr::from_bytes_until_nul(&bytes)
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
