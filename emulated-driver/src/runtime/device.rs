//! Devices: which there are, what they are, which one a thread uses; limits, peers, versions.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::api::{device::call, procedures};
use crate::code::{Code, Result};
use crate::context;
use crate::device::EmulatedDevice;
use crate::pointer::{Host, Out, Text};

use super::{DEVICE, LAST, enter, initialised, primary, result};

/// The newest CUDA whose programs find their functions here.
const VERSION: c_int = 13_000;

/// A field of `cudaDeviceProp` behind those with a layout of their own: an attribute's number, as
/// an `int` or a `size_t`, or of CUDA 12 alone.
#[derive(Clone, Copy)]
enum Field {
    Int(u32),
    Size(u32),
    Old(u32),
}

/// The fields from `sharedMemPerBlock` on, in their order.
#[rustfmt::skip]
const FIELDS: &[Field] = {
    use Field::{Int, Old, Size};
    &[
        Size(8), Int(12), Int(10), Size(11), Int(1), Int(2), Int(3), Int(4), Int(5), Int(6), Int(7),
        Old(13), Size(9), Int(75), Int(76), Size(14), Size(51), Old(15), Int(16), Old(17), Int(18),
        Int(19), Old(20),
        // Textures and surfaces.
        Int(21), Int(77), Old(69), Int(22), Int(23), Int(73), Int(74), Int(70), Int(71), Int(72),
        Int(45), Int(46), Int(24), Int(25), Int(26), Int(47), Int(48), Int(49), Int(52), Int(42),
        Int(43), Int(27), Int(28), Int(29), Int(53), Int(54), Int(55), Int(56), Int(57), Int(58),
        Int(59), Int(60), Int(61), Int(62), Int(63), Int(64), Int(65), Int(66), Int(67), Int(68),
        Size(30),
        // What several kernels and hosts do at once; memory.
        Int(31), Int(32), Int(33), Int(34), Int(50), Int(35), Int(40), Int(41), Old(36), Int(37),
        Int(38), Int(108), Int(39), Int(78), Int(79), Int(80), Size(81), Int(82), Int(83), Int(84),
        Int(85), Int(86), Old(87), Int(88), Int(89), Int(90), Int(91), Int(95), Old(96), Size(97),
        Int(100), Int(101), Int(106), Int(109), Size(111), Int(99), Int(112), Int(113), Int(114),
        Int(115), Int(116), Int(117), Int(118), Int(119), Int(121), Int(125), Int(120), Int(129),
    ]
};

/// Bytes of the structure, with what it reserves.
const BYTES_12: usize = 1032;
const BYTES_13: usize = 1008;

/// `cudaDeviceProp` as CUDA 12 (`old`) or 13 has it.
fn properties(device: &EmulatedDevice, ordinal: c_int, old: bool) -> Result<Vec<u8>> {
    let mut all = device.full_name().into_bytes();
    all.resize(256, 0);
    let uuid: [u8; 16] = result(|to| call::cuDeviceGetUuid(to, ordinal))?;
    all.extend(uuid);
    // No LUID outside of Windows, and its mask.
    all.extend([0; 16]);
    all.extend(device.memory_bytes().to_le_bytes());
    for field in FIELDS {
        let of = |attribute| device.attribute(attribute, ordinal);
        match *field {
            Field::Size(attribute) => {
                all.resize(all.len().next_multiple_of(8), 0);
                all.extend(u64::from(of(attribute)?.cast_unsigned()).to_le_bytes());
            }
            Field::Int(attribute) => all.extend(of(attribute)?.to_le_bytes()),
            Field::Old(attribute) if old => all.extend(of(attribute)?.to_le_bytes()),
            Field::Old(_) => {}
        }
    }
    // What follows is of systems with NUMA or several processes, and reserved.
    all.resize(if old { BYTES_12 } else { BYTES_13 }, 0);
    Ok(all)
}

fn get_properties(to: Host, ordinal: c_int, old: bool) -> Result {
    let (_, device) = initialised()?.device(ordinal)?;
    to.write(&properties(device, ordinal, old)?)
}

/// The number of the device that the thread uses.
fn own_device() -> Result<c_int> {
    let driver = initialised()?;
    let current = driver.contexts.get(context::current_handle());
    Ok(current.map_or(DEVICE.get(), |context| context.device as c_int))
}

/// The function of the driver API by its name, for programs of a version of CUDA.
fn entry_point(name: Text, to: Out<*const c_void>, version: c_int, status: Out<c_int>) -> Result {
    initialised()?;
    // A name that is not known is in the status: the call itself succeeds.
    match procedures::look_up(name, to, version, status) {
        Err(Code::NOT_FOUND) if !status.is_null() => Ok(()),
        found => found,
    }
}

runtime! {
    fn cudaGetDeviceCount(to: Out<c_int>) { to.set(initialised()?.devices.len() as c_int) }

    fn cudaGetDevice(to: Out<c_int>) { to.set(own_device()?) }

    fn cudaSetDevice(ordinal: c_int) {
        let driver = initialised()?;
        let (device, _) = driver.device(ordinal)?;
        DEVICE.set(ordinal);
        context::set_current(primary(driver, device));
        Ok(())
    }

    fn cudaInitDevice(ordinal: c_int, _flags: c_uint, _how: c_uint) {
        let driver = initialised()?;
        primary(driver, driver.device(ordinal)?.0);
        Ok(())
    }

    fn cudaSetValidDevices(_list: Host, _count: c_int) { initialised().map(drop) }

    fn cudaChooseDevice(to: Out<c_int>, _wanted: Host) {
        initialised()?;
        to.set(0)
    }

    fn cudaGetDeviceProperties(to: Host, ordinal: c_int) { get_properties(to, ordinal, false) }

    fn cudaGetDeviceProperties_v2(to: Host, ordinal: c_int) { get_properties(to, ordinal, true) }

    fn cudaDeviceGetAttribute(to: Out<c_int>, attribute: c_uint, ordinal: c_int) {
        initialised()?;
        call::cuDeviceGetAttribute(to, attribute, ordinal)
    }

    fn cudaDeviceGetPCIBusId(to: Out<c_char>, length: c_int, ordinal: c_int) {
        initialised()?;
        call::cuDeviceGetPCIBusId(to, length, ordinal)
    }

    fn cudaDeviceGetByPCIBusId(to: Out<c_int>, bus: Text) {
        initialised()?;
        call::cuDeviceGetByPCIBusId(to, bus)
    }

    fn cudaDeviceGetP2PAttribute(to: Out<c_int>, attribute: c_uint, from: c_int, peer: c_int) {
        initialised()?;
        call::cuDeviceGetP2PAttribute(to, attribute, from, peer)
    }

    fn cudaDeviceCanAccessPeer(to: Out<c_int>, ordinal: c_int, peer: c_int) {
        initialised()?;
        call::cuDeviceCanAccessPeer(to, ordinal, peer)
    }

    fn cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        let driver = enter()?;
        if flags != 0 || peer == own_device()? {
            return Err(Code::INVALID_VALUE);
        }
        let peer = primary(driver, driver.device(peer)?.0);
        call::cuCtxEnablePeerAccess(peer, flags)
    }

    fn cudaDeviceDisablePeerAccess(peer: c_int) {
        let driver = enter()?;
        call::cuCtxDisablePeerAccess(primary(driver, driver.device(peer)?.0))
    }

    fn cudaDeviceSynchronize | cudaThreadSynchronize () {
        enter()?;
        call::cuCtxSynchronize()
    }

    fn cudaDeviceReset | cudaThreadExit () {
        let driver = initialised()?;
        let (device, _) = driver.device(own_device()?)?;
        // Other threads find out by the handle, which is not used again.
        driver.release_primary(device, true)?;
        context::set_current(0);
        LAST.set(0);
        Ok(())
    }

    fn cudaDeviceGetLimit | cudaThreadGetLimit (to: Out<usize>, limit: c_uint) {
        enter()?;
        call::cuCtxGetLimit(to, limit)
    }

    fn cudaDeviceSetLimit | cudaThreadSetLimit (limit: c_uint, value: usize) {
        enter()?;
        call::cuCtxSetLimit(limit, value)
    }

    fn cudaDeviceGetCacheConfig | cudaThreadGetCacheConfig (to: Out<c_uint>) {
        enter()?;
        call::cuCtxGetCacheConfig(to)
    }

    fn cudaDeviceSetCacheConfig | cudaThreadSetCacheConfig (config: c_uint) {
        enter()?;
        call::cuCtxSetCacheConfig(config)
    }

    fn cudaDeviceGetSharedMemConfig(to: Out<c_uint>) {
        enter()?;
        call::cuCtxGetSharedMemConfig(to)
    }

    fn cudaDeviceSetSharedMemConfig(config: c_uint) {
        enter()?;
        call::cuCtxSetSharedMemConfig(config)
    }

    fn cudaDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        enter()?;
        call::cuCtxGetStreamPriorityRange(least, greatest)
    }

    fn cudaCtxResetPersistingL2Cache() {
        enter()?;
        call::cuCtxResetPersistingL2Cache()
    }

    fn cudaGetDeviceFlags(to: Out<c_uint>) {
        enter()?;
        call::cuCtxGetFlags(to)
    }

    fn cudaSetDeviceFlags(flags: c_uint) {
        initialised()?;
        call::cuDevicePrimaryCtxSetFlags_v2(own_device()?, flags)
    }

    fn cudaDriverGetVersion(to: Out<c_int>) { call::cuDriverGetVersion(to) }

    fn cudaRuntimeGetVersion(to: Out<c_int>) { to.set(VERSION) }

    fn cudaProfilerStart() {
        enter()?;
        call::cuProfilerStart()
    }

    fn cudaProfilerStop() {
        enter()?;
        call::cuProfilerStop()
    }

    fn cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz (
        name: Text, to: Out<*const c_void>, _flags: u64, status: Out<c_int>,
    ) {
        entry_point(name, to, VERSION, status)
    }

    fn cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz (
        name: Text, to: Out<*const c_void>, version: c_int, _flags: u64, status: Out<c_int>,
    ) {
        entry_point(name, to, version, status)
    }

    fn cudaGetExportTable(to: Out<*const c_void>, id: Host) { call::cuGetExportTable(to, id) }
}
