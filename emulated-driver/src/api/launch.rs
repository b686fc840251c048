//! Launches of kernels.

use std::collections::BTreeMap;
use std::ffi::c_uint;

use ptx_emulator::LaunchConfig;

use super::kernel_node;
use crate::arguments::{Values, args_of};
use crate::code::{Code, Result};
use crate::context::Current;
use crate::grids;
use crate::launch::Function;
use crate::pointer::{Host, In};
use crate::state::Handle;
use crate::stream;

/// Attributes of a launch, by `CUlaunchAttributeID`.
pub(super) type Attributes = BTreeMap<c_uint, [u32; 16]>;

/// Puts attributes of a launch into its configuration: the others are hints, or orders of launches,
/// which run one after the other.
pub(super) fn apply(attributes: &Attributes, config: &mut LaunchConfig) {
    if let Some([cooperative, ..]) = attributes.get(&2) {
        config.cooperative = *cooperative != 0;
    }
    if let Some([x, y, z, ..]) = attributes.get(&4) {
        let cluster = [*x, *y, *z];
        config.cluster = (cluster != [1; 3]).then_some(cluster);
    }
}

pub(super) fn check(current: &Current, function: &Function, config: &LaunchConfig) -> Result {
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
    let attributes = Attributes::new();
    submit_launch(handle, (config, attributes), on, |function| {
        function.values(each, extra)
    })
}

/// Checks a launch, and runs it on a stream.
///
/// # Errors
/// As the driver refuses a launch.
pub(super) fn submit_launch(
    handle: Handle,
    (config, attributes): (LaunchConfig, Attributes),
    on: Handle,
    values: impl FnOnce(&Function) -> Result<Values>,
) -> Result {
    let (current, captured) = stream::target(on)?;
    let function = current.driver.functions.get(handle)?;
    check(&current, &function, &config)?;
    let values = values(&function)?;
    match captured {
        None => grids::run(&current, &function, &config, &args_of(&values)),
        Some(captured) => {
            let driver = current.driver;
            let kernel = (handle, function);
            let node = kernel_node::operation(current, kernel, config, values, attributes);
            captured.append(driver, node).map(drop)
        }
    }
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
    /// The configuration, and the attributes that it is from.
    pub(super) fn config(&self) -> Result<(LaunchConfig, Attributes)> {
        let mut config = LaunchConfig::new(self.grid, self.block);
        config.dynamic_shared_bytes = self.shared;
        let all = (0..self.count as usize).map(|index| {
            let LaunchAttribute { id, value, .. } = self.attributes.at(index)?;
            Ok((id, value))
        });
        let attributes = all.collect::<Result<Attributes>>()?;
        apply(&attributes, &mut config);
        Ok((config, attributes))
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
        let attributes = Attributes::from([(2, [1; 16])]);
        apply(&attributes, &mut config);
        submit_launch(handle, (config, attributes), on, |function| function.values(each, In::NONE))
    }

    fn cuLaunchKernelEx
        | cuLaunchKernelEx_ptsz (launch: In<Launch>, handle: Handle, each: In<Host>, extra: In<Host>) {
        let launch = launch.get()?;
        submit_launch(handle, launch.config()?, launch.stream, |function| {
            function.values(each, extra)
        })
    }
}
