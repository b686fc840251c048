//! A launch with all that comes of it: kernels may launch kernels.

use std::sync::Arc;

use ptx_emulator::{Args, LaunchConfig};

use crate::arguments::args_of;
use crate::code::{Code, Result};
use crate::context::Current;
use crate::device_launch::{self, Child};
use crate::launch::{self, Function, LoadedModule};
use crate::memory::of_memory_error;
use crate::state::{Handle, lock};

/// Runs a kernel, and the kernels that it launches.
///
/// # Errors
/// As the driver refuses a launch.
pub(crate) fn run(
    current: &Current,
    function: &Arc<Function>,
    config: &LaunchConfig,
    args: &Args,
) -> Result {
    launch::run(current, function, config, args)?;
    run_children(current, function.module)
}

/// Runs what the last grid of a module has launched, as long as nothing fails.
///
/// # Errors
/// That of the memory, and those of a launch of a kernel that cannot be run.
fn run_children(current: &Current, handle: Handle) -> Result {
    let driver = current.driver;
    let loaded = driver.modules.get(handle)?;
    if !loaded.launches {
        return Ok(());
    }
    // The next one is the last of the list.
    let mut pending = Vec::new();
    loop {
        if lock(&current.context.sticky).is_some() {
            return Ok(());
        }
        pending.extend(
            device_launch::take(&driver.memory, &loaded.module)
                .map_err(|error| of_memory_error(&error))?
                .into_iter()
                .rev(),
        );
        let Some(child) = pending.pop() else {
            return Ok(());
        };
        run_child(current, (handle, &loaded), &child)?;
    }
}

fn run_child(
    current: &Current,
    (handle, loaded): (Handle, &LoadedModule),
    child: &Child,
) -> Result {
    let driver = current.driver;
    let name = loaded.module.kernel_name_at(child.kernel);
    let name = name.ok_or(Code::INVALID_VALUE)?.to_string();
    let function = driver
        .functions
        .get(launch::function(driver, handle, &name)?)?;
    if let Err(code) = function.check(current.device(), &child.config) {
        let LaunchConfig { grid, block, .. } = child.config;
        eprintln!(
            "warpladder cuda: a kernel launches `{name}` with grid {grid:?} and block {block:?}, \
             which cannot be run"
        );
        return Err(code);
    }
    let values = function.values_in(&child.parameters)?;
    launch::run(current, &function, &child.config, &args_of(&values))
}
