//! Initialisation, errors, devices and contexts.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Once;

use crate::capture::check_wait_for_all;
use crate::code::{Code, Result};
use crate::context::{self, Context, any_current, current};
use crate::pointer::{Host, In, Out, Text};
use crate::state::{Handle, cuda_version, driver, initialise, lock};

const MALLOC_HEAP_SIZE: u32 = 2;

/// `CU_COMPUTEMODE_…`, stack, printf and heap sizes: the limits and their defaults.
fn default_limit(limit: u32) -> Option<usize> {
    match limit {
        0 => Some(1024),
        1 => Some(8 << 20),
        MALLOC_HEAP_SIZE => Some(ptx_emulator::DEFAULT_HEAP_BYTES as usize),
        3 => Some(2),
        4 => Some(2048),
        5 => Some(64),
        6 => Some(0),
        _ => None,
    }
}

pub(crate) fn write_text(to: Out<c_char>, length: c_int, text: &str) -> Result {
    let length = usize::try_from(length).map_err(|_| Code::INVALID_VALUE)?;
    let room = length.checked_sub(1).ok_or(Code::INVALID_VALUE)?;
    let shown = &text.as_bytes()[..text.len().min(room)];
    for (index, &byte) in shown.iter().chain(&[0]).enumerate() {
        to.at(index).set(byte as c_char)?;
    }
    Ok(())
}

/// A name that starts like that of a GPU's, and its number.
pub(crate) fn uuid(ordinal: usize) -> [u8; 16] {
    let mut uuid = *b"warpladder GPU  ";
    uuid[15] = ordinal as u8;
    uuid
}

pub(crate) fn bus_id(ordinal: usize) -> String {
    format!("0000:{:02X}:00.0", ordinal + 1)
}

/// The properties of `CUdevprop`.
fn properties(ordinal: c_int) -> Result<[c_int; 10]> {
    let (_, device) = driver()?.device(ordinal)?;
    let mut all = [0; 10];
    for (value, attribute) in all.iter_mut().zip([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
        *value = device.attribute(attribute, ordinal)?;
    }
    Ok(all)
}

fn create_context(out: Out<Handle>, flags: c_uint, ordinal: c_int) -> Result {
    let driver = driver()?;
    let (device, _) = driver.device(ordinal)?;
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let handle = driver.contexts.insert(Context::new(device, flags));
    context::push(handle);
    out.set(handle)
}

api! {
    fn cuInit(flags: c_uint) {
        match flags {
            0 => initialise(),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuDriverGetVersion(version: Out<c_int>) { version.set(cuda_version()) }

    fn cuGetErrorName(code: u32, name: Out<*const c_char>) {
        let Some((text, _)) = Code(code).texts() else {
            name.set(std::ptr::null())?;
            return Err(Code::INVALID_VALUE);
        };
        name.set(text.as_ptr().cast())
    }

    fn cuGetErrorString(code: u32, message: Out<*const c_char>) {
        let Some((_, text)) = Code(code).texts() else {
            message.set(std::ptr::null())?;
            return Err(Code::INVALID_VALUE);
        };
        message.set(text.as_ptr().cast())
    }

    fn cuDeviceGetCount(count: Out<c_int>) { count.set(driver()?.devices.len() as c_int) }

    fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) {
        driver()?.device(ordinal)?;
        device.set(ordinal)
    }

    fn cuDeviceGetName(name: Out<c_char>, length: c_int, device: c_int) {
        write_text(name, length, &driver()?.device(device)?.1.full_name())
    }

    fn cuDeviceGetUuid(to: Out<[u8; 16]>, device: c_int) {
        to.set(uuid(driver()?.device(device)?.0))
    }

    fn cuDeviceGetUuid_v2(to: Out<[u8; 16]>, device: c_int) {
        to.set(uuid(driver()?.device(device)?.0))
    }

    fn cuDeviceGetPCIBusId(to: Out<c_char>, length: c_int, device: c_int) {
        write_text(to, length, &bus_id(driver()?.device(device)?.0))
    }

    fn cuDeviceGetByPCIBusId(device: Out<c_int>, bus: Text) {
        let wanted = bus.get()?;
        let mut all = 0..driver()?.devices.len();
        let found = all.find(|&one| bus_id(one).eq_ignore_ascii_case(&wanted));
        device.set(found.ok_or(Code::INVALID_DEVICE)? as c_int)
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) {
        bytes.set(driver()?.device(device)?.1.memory_bytes() as usize)
    }

    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_uint, device: c_int) {
        value.set(driver()?.device(device)?.1.attribute(attribute, device)?)
    }

    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: c_int) {
        let capability = driver()?.device(device)?.1.capability;
        major.set(capability.0)?;
        minor.set(capability.1)
    }

    fn cuDeviceGetProperties(to: Out<[c_int; 10]>, device: c_int) { to.set(properties(device)?) }

    fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) {
        let driver = driver()?;
        let (one, other) = (driver.device(device)?.0, driver.device(peer)?.0);
        can.set(c_int::from(one != other))
    }

    fn cuDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_uint, from: c_int, to: c_int) {
        let driver = driver()?;
        if driver.device(from)?.0 == driver.device(to)?.0 {
            return Err(Code::INVALID_DEVICE);
        }
        // Performance rank, access, native atomics, arrays.
        value.set(match attribute {
            1 | 4 => 0,
            2 | 3 => 1,
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    fn cuDevicePrimaryCtxRetain(to: Out<Handle>, device: c_int) {
        let driver = driver()?;
        let (index, _) = driver.device(device)?;
        if to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        to.set(driver.retain_primary(index))
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        let driver = driver()?;
        driver.release_primary(driver.device(device)?.0, false)
    }

    fn cuDevicePrimaryCtxRelease(device: c_int) {
        let driver = driver()?;
        driver.release_primary(driver.device(device)?.0, false)
    }

    fn cuDevicePrimaryCtxReset(device: c_int) { cuDevicePrimaryCtxReset_v2(device) }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        let driver = driver()?;
        driver.release_primary(driver.device(device)?.0, true)
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) {
        let driver = driver()?;
        let primary = lock(&driver.primaries[driver.device(device)?.0]);
        let of_context = primary.handle.and_then(|handle| driver.contexts.get(handle).ok());
        flags.set_optional(of_context.map_or(primary.flags, |context| *lock(&context.flags)));
        active.set_optional(c_int::from(primary.handle.is_some()));
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags(device: c_int, flags: c_uint) {
        cuDevicePrimaryCtxSetFlags_v2(device, flags)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        let driver = driver()?;
        let mut primary = lock(&driver.primaries[driver.device(device)?.0]);
        primary.flags = flags;
        if let Some(context) = primary.handle.and_then(|handle| driver.contexts.get(handle).ok()) {
            *lock(&context.flags) = flags;
        }
        Ok(())
    }

    fn cuCtxCreate(to: Out<Handle>, flags: c_uint, device: c_int) {
        create_context(to, flags, device)
    }

    fn cuCtxCreate_v2(to: Out<Handle>, flags: c_uint, device: c_int) {
        create_context(to, flags, device)
    }

    fn cuCtxCreate_v3(
        to: Out<Handle>, _affinity: In<u64>, _count: c_int, flags: c_uint, device: c_int,
    ) {
        create_context(to, flags, device)
    }

    fn cuCtxCreate_v4(to: Out<Handle>, _params: In<u64>, flags: c_uint, device: c_int) {
        create_context(to, flags, device)
    }

    fn cuCtxDestroy_v2(context: Handle) {
        driver()?.destroy_context(context)?;
        if context::current_handle() == context {
            context::set_current(0);
        }
        Ok(())
    }

    fn cuCtxSetCurrent(context: Handle) {
        let driver = driver()?;
        if context != 0 {
            driver.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?;
        }
        context::set_current(context);
        Ok(())
    }

    fn cuCtxGetCurrent(to: Out<Handle>) {
        driver()?;
        to.set(context::current_handle())
    }

    fn cuCtxPushCurrent_v2(context: Handle) {
        driver()?.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?;
        context::push(context);
        Ok(())
    }

    fn cuCtxPopCurrent_v2(to: Out<Handle>) {
        driver()?;
        to.set_optional(context::pop()?);
        Ok(())
    }

    // The first versions of these have the same arguments.
    fn cuCtxDestroy(context: Handle) { cuCtxDestroy_v2(context) }

    fn cuCtxPushCurrent(context: Handle) { cuCtxPushCurrent_v2(context) }

    fn cuCtxPopCurrent(to: Out<Handle>) { cuCtxPopCurrent_v2(to) }

    fn cuCtxGetDevice(to: Out<c_int>) { to.set(any_current()?.context.device as c_int) }

    fn cuCtxGetDevice_v2(to: Out<c_int>, context: Handle) {
        let device = match context {
            0 => any_current()?.context.device,
            _ => driver()?.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?.device,
        };
        to.set(device as c_int)
    }

    fn cuCtxGetFlags(to: Out<c_uint>) { to.set(*lock(&any_current()?.context.flags)) }

    fn cuCtxSetFlags(flags: c_uint) {
        *lock(&any_current()?.context.flags) = flags;
        Ok(())
    }

    fn cuCtxGetId(context: Handle, to: Out<u64>) {
        let id = match context {
            0 => any_current()?.handle,
            _ => context,
        };
        driver()?.contexts.get(id).map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
        to.set(id as u64)
    }

    fn cuCtxGetApiVersion(context: Handle, to: Out<c_uint>) {
        if context != 0 {
            driver()?.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?;
        }
        to.set(3020)
    }

    fn cuCtxSynchronize() {
        let current = current()?;
        check_wait_for_all(current.driver, current.handle)
    }

    fn cuCtxSynchronize_v2(handle: Handle) {
        let context = driver()?.contexts.get(handle).map_err(|_| Code::INVALID_CONTEXT)?;
        lock(&context.sticky).map_or(Ok(()), Err)?;
        check_wait_for_all(driver()?, handle)
    }

    fn cuCtxGetLimit(to: Out<usize>, limit: c_uint) {
        let default = default_limit(limit).ok_or(Code::UNSUPPORTED_LIMIT)?;
        let current = current()?;
        let set = lock(&current.context.limits).get(&limit).copied();
        to.set(set.unwrap_or(default))
    }

    fn cuCtxSetLimit(limit: c_uint, value: usize) {
        default_limit(limit).ok_or(Code::UNSUPPORTED_LIMIT)?;
        let current = current()?;
        if limit == MALLOC_HEAP_SIZE && !current.driver.memory.set_heap_limit(value as u64) {
            return Err(Code::INVALID_VALUE);
        }
        lock(&current.context.limits).insert(limit, value);
        Ok(())
    }

    fn cuCtxGetCacheConfig(to: Out<c_uint>) { to.set(*lock(&current()?.context.cache_config)) }

    fn cuCtxSetCacheConfig(config: c_uint) {
        *lock(&current()?.context.cache_config) = config;
        Ok(())
    }

    fn cuCtxGetSharedMemConfig(to: Out<c_uint>) {
        to.set(*lock(&current()?.context.shared_config))
    }

    fn cuCtxSetSharedMemConfig(config: c_uint) {
        *lock(&current()?.context.shared_config) = config;
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        current()?;
        least.set_optional(0);
        greatest.set_optional(-5);
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache() { current().map(drop) }

    fn cuCtxEnablePeerAccess(peer: Handle, _flags: c_uint) {
        current()?.driver.contexts.get(peer).map_err(|_| Code::INVALID_CONTEXT)?;
        Ok(())
    }

    fn cuCtxDisablePeerAccess(peer: Handle) {
        current()?.driver.contexts.get(peer).map_err(|_| Code::INVALID_CONTEXT)?;
        Ok(())
    }

    fn cuProfilerStart() { current().map(drop) }

    fn cuProfilerStop() { current().map(drop) }

    fn cuGetExportTable(to: Out<*const c_void>, _id: Host) {
        static SAID: Once = Once::new();
        SAID.call_once(|| {
            eprintln!(
                "warpladder cuda: NVIDIA's runtime runs on NVIDIA's driver alone, and the program \
                 has its own copy of it: link with `nvcc --cudart shared`, so that libcudart.so.12 \
                 or .13 is found in the library path"
            );
        });
        to.set(std::ptr::null())?;
        Err(Code::NOT_FOUND)
    }
}
