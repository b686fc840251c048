//! Launches and contexts as before CUDA 4.0: a function remembers its block and its arguments, and
//! a context counts its users.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use ptx_emulator::LaunchConfig;

use super::launch::{Attributes, submit_launch};
use crate::code::{Code, Result};
use crate::context::{self, current, current_handle};
use crate::launch::Function;
use crate::pointer::{Host, Out};
use crate::state::{Handle, driver, lock};

/// Most bytes of arguments.
const MAX_ARGUMENT_BYTES: usize = 4096;

fn function(handle: Handle) -> Result<Arc<Function>> {
    current()?.driver.functions.get(handle)
}

fn extent(number: c_int) -> Result<u32> {
    match u32::try_from(number) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Stores bytes of the arguments.
fn set_bytes(handle: Handle, offset: c_int, from: &[u8]) -> Result {
    let offset = usize::try_from(offset).map_err(|_| Code::INVALID_VALUE)?;
    let end = offset + from.len();
    if end > MAX_ARGUMENT_BYTES {
        return Err(Code::INVALID_VALUE);
    }
    let function = function(handle)?;
    let bytes = &mut lock(&function.remembered).arguments;
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(from);
    Ok(())
}

fn run(handle: Handle, [width, height]: [c_int; 2], on: Handle) -> Result {
    let (function, grid) = (function(handle)?, [extent(width)?, extent(height)?, 1]);
    let (config, values) = {
        let remembered = lock(&function.remembered);
        let mut config = LaunchConfig::new(grid, remembered.block);
        config.dynamic_shared_bytes = remembered.shared;
        // The size may be less than what was set before, and is not less than the parameters.
        let values = function.values_in(&remembered.arguments)?;
        (config, values)
    };
    submit_launch(handle, (config, Attributes::new()), on, |_| Ok(values))
}

api! {
    fn cuFuncSetBlockShape(handle: Handle, x: c_int, y: c_int, z: c_int) {
        let block = [extent(x)?, extent(y)?, extent(z)?];
        let function = function(handle)?;
        if block.iter().map(|&one| u64::from(one)).product::<u64>() > 1024 {
            return Err(Code::INVALID_VALUE);
        }
        lock(&function.remembered).block = block;
        Ok(())
    }

    fn cuFuncSetSharedSize(handle: Handle, bytes: c_uint) {
        lock(&function(handle)?.remembered).shared = bytes;
        Ok(())
    }

    fn cuParamSetSize(handle: Handle, bytes: c_uint) {
        let (function, bytes) = (function(handle)?, bytes as usize);
        if bytes > MAX_ARGUMENT_BYTES {
            return Err(Code::INVALID_VALUE);
        }
        lock(&function.remembered).arguments.resize(bytes, 0);
        Ok(())
    }

    fn cuParamSeti(handle: Handle, offset: c_int, value: c_uint) {
        set_bytes(handle, offset, &value.to_le_bytes())
    }

    fn cuParamSetf(handle: Handle, offset: c_int, value: f32) {
        set_bytes(handle, offset, &value.to_le_bytes())
    }

    fn cuParamSetv(handle: Handle, offset: c_int, from: Host, bytes: c_uint) {
        if bytes as usize > MAX_ARGUMENT_BYTES {
            return Err(Code::INVALID_VALUE);
        }
        set_bytes(handle, offset, &from.vec(bytes as usize)?)
    }

    fn cuLaunch(handle: Handle) { run(handle, [1, 1], 0) }

    fn cuLaunchGrid(handle: Handle, width: c_int, height: c_int) {
        run(handle, [width, height], 0)
    }

    fn cuLaunchGridAsync(handle: Handle, width: c_int, height: c_int, on: Handle) {
        run(handle, [width, height], on)
    }

    fn cuCtxAttach(to: Out<Handle>, flags: c_uint) {
        let current = current()?;
        if flags != 0 || to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        *lock(&current.context.users) += 1;
        to.set(current.handle)
    }

    fn cuCtxDetach(handle: Handle) {
        let driver = driver()?;
        let counted = driver.contexts.get(handle).map_err(|_| Code::INVALID_CONTEXT)?;
        let left = {
            let mut users = lock(&counted.users);
            *users = users.saturating_sub(1);
            *users
        };
        if left > 0 {
            return Ok(());
        }
        driver.destroy_context(handle)?;
        if current_handle() == handle {
            context::set_current(0);
        }
        Ok(())
    }
}
