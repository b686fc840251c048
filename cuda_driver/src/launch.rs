//! What a launch can say beyond grid, block and shared memory.

use std::ffi::c_uint;

use crate::handles::CUstream;

/// Geometry and attributes of one launch of a [`Function`](crate::Function).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks of the grid in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Blocks of a thread block cluster in x, y and z; they must divide the grid's extents. Needs
    /// compute capability 9.0 and a driver for CUDA 11.8.
    pub cluster: Option<[u32; 3]>,
    /// Programmatic dependent launch: the grid may start before the kernel in front of it on the
    /// stream has ended, and `griddepcontrol.wait` in its code waits for that end. Needs compute
    /// capability 9.0 and a driver for CUDA 11.8.
    pub programmatic_serialization: bool,
}

impl LaunchConfig {
    /// A launch without attributes.
    pub const fn new(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Self {
        LaunchConfig {
            grid,
            block,
            shared_bytes,
            cluster: None,
            programmatic_serialization: false,
        }
    }

    /// Whether the launch needs `cuLaunchKernelEx`, which old drivers lack.
    pub(crate) fn is_extended(&self) -> bool {
        self.cluster.is_some() || self.programmatic_serialization
    }

    /// Hands the driver's form of this configuration to `call`.
    pub(crate) fn with_raw<R>(
        &self,
        stream: CUstream,
        call: impl FnOnce(&RawLaunchConfig) -> R,
    ) -> R {
        let mut attributes = [RawLaunchAttribute::IGNORE; 2];
        if let Some([x, y, z]) = self.cluster {
            attributes[0] =
                RawLaunchAttribute::new(RawLaunchAttribute::CLUSTER_DIMENSION, [x, y, z]);
        }
        if self.programmatic_serialization {
            let id = RawLaunchAttribute::PROGRAMMATIC_STREAM_SERIALIZATION;
            attributes[1] = RawLaunchAttribute::new(id, [1, 0, 0]);
        }
        call(&RawLaunchConfig {
            grid: self.grid,
            block: self.block,
            shared_bytes: self.shared_bytes,
            stream,
            attributes: attributes.as_ptr(),
            attribute_count: attributes.len() as c_uint,
        })
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct RawLaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: CUstream,
    attributes: *const RawLaunchAttribute,
    attribute_count: c_uint,
}

/// `CUlaunchAttribute`: an identifier, and a union of 64 bytes of which the attributes used here
/// take the first words.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct RawLaunchAttribute {
    id: c_uint,
    padding: c_uint,
    value: [c_uint; 16],
}

impl RawLaunchAttribute {
    const CLUSTER_DIMENSION: c_uint = 4;
    const PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;
    /// `CU_LAUNCH_ATTRIBUTE_IGNORE`: an entry that the driver skips.
    const IGNORE: Self = Self::new(0, [0; 3]);

    const fn new(id: c_uint, [x, y, z]: [c_uint; 3]) -> Self {
        let mut value = [0; 16];
        value[0] = x;
        value[1] = y;
        value[2] = z;
        RawLaunchAttribute {
            id,
            padding: 0,
            value,
        }
    }
}

const _: () = {
    assert!(size_of::<RawLaunchConfig>() == 56);
    assert!(size_of::<RawLaunchAttribute>() == 72);
};
