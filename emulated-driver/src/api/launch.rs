//! Launches of kernels.

use std::ffi::c_uint;
use std::sync::Arc;

use ptx_emulator::{Args, LaunchConfig};

use crate::code::{Code, Result};
use crate::context::Current;
use crate::graph::NodeKind;
use crate::launch::{self, Function};
use crate::pointer::{Host, In};
use crate::state::Handle;
use crate::stream::{self, submit};

/// Checks a launch, and copies its arguments.
///
/// # Errors
/// As the driver refuses a launch.
pub(super) fn prepare(
    current: &Current,
    function: &Function,
    config: &LaunchConfig,
    (each, extra): (In<Host>, In<Host>),
) -> Result<Args> {
    check(current, function, config)?;
    function.arguments(each, extra)
}

fn check(current: &Current, function: &Function, config: &LaunchConfig) -> Result {
    if function.context != current.handle {
        return Err(Code::INVALID_HANDLE);
    }
    function.check(current.device(), config)
}

fn run(
    handle: Handle,
    config: LaunchConfig,
    on: Handle,
    (each, extra): (In<Host>, In<Host>),
) -> Result {
    submit_launch(handle, config, on, |function| {
        function.arguments(each, extra)
    })
}

/// Checks a launch, and runs it on a stream.
///
/// # Errors
/// As the driver refuses a launch.
pub(super) fn submit_launch(
    handle: Handle,
    config: LaunchConfig,
    on: Handle,
    args: impl FnOnce(&Function) -> Result<Args>,
) -> Result {
    let (current, _) = stream::stream(on)?;
    let function = current.driver.functions.get(handle)?;
    check(&current, &function, &config)?;
    let args = args(&function)?;
    let work = move || launch::run(&current, &function, &config, &args);
    submit(on, NodeKind::Kernel, Arc::new(work))
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Launch {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) stream: Handle,
    pub(crate) attributes: In<LaunchAttribute>,
    pub(crate) count: c_uint,
}

/// `CUlaunchAttribute`: a number, and up to 64 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct LaunchAttribute {
    id: c_uint,
    padding: [u8; 4],
    value: [u32; 16],
}

impl Launch {
    /// The configuration.
    pub(super) fn config(&self) -> Result<LaunchConfig> {
        let mut config = LaunchConfig::new(self.grid, self.block);
        config.dynamic_shared_bytes = self.shared;
        for index in 0..self.count as usize {
            let LaunchAttribute { id, value, .. } = self.attributes.at(index)?;
            match id {
                2 => config.cooperative = value[0] != 0,
                4 => config.cluster = Some([value[0], value[1], value[2]]),
                // The others are hints, or orders of launches, which run one after the other.
                _ => {}
            }
        }
        config.cluster = config.cluster.filter(|cluster| *cluster != [1, 1, 1]);
        Ok(config)
    }
}

api! {
    fn cuLaunchKernel | cuLaunchKernel_ptsz (
        handle: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, on: Handle,
        each: In<Host>, extra: In<Host>,
    ) {
        let mut config = LaunchConfig::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        config.dynamic_shared_bytes = shared;
        run(handle, config, on, (each, extra))
    }

    fn cuLaunchCooperativeKernel | cuLaunchCooperativeKernel_ptsz (
        handle: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, on: Handle,
        each: In<Host>,
    ) {
        let mut config = LaunchConfig::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        config.dynamic_shared_bytes = shared;
        config.cooperative = true;
        run(handle, config, on, (each, In::NONE))
    }

    fn cuLaunchKernelEx
        | cuLaunchKernelEx_ptsz (launch: In<Launch>, handle: Handle, each: In<Host>, extra: In<Host>) {
        let launch = launch.get()?;
        run(handle, launch.config()?, launch.stream, (each, extra))
    }
}
