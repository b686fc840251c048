//! Allocations, pools, sets, and what is known of a pointer.

use std::ffi::{c_int, c_uint};

use crate::api::memory::{self, call};
use crate::api::{copy::call as copy, pool::call as pools};
use crate::code::{Code, Result};
use crate::pointer::{Host, In, Out};
use crate::state::Handle;

use super::version::is_12;
use super::{enter, initialised, result};

/// `cudaPointerAttributes`, without what it reserves.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PointerAttributes {
    kind: c_uint,
    device: c_int,
    device_pointer: u64,
    host_pointer: u64,
}

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Extent {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) depth: usize,
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pitched {
    pub(super) pointer: Host,
    pub(super) pitch: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

fn pitched(to: Out<u64>, pitch: Out<usize>, width: usize, rows: usize) -> Result {
    enter()?;
    if to.is_null() || pitch.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    if width == 0 || rows == 0 {
        pitch.set(0)?;
        return to.set(0);
    }
    call::cuMemAllocPitch_v2(to, pitch, width, rows, 4)
}

/// No bytes have no address.
fn or_none(to: Out<u64>, bytes: usize, allocate: impl FnOnce() -> Result) -> Result {
    enter()?;
    match bytes {
        0 => to.set(0),
        _ => allocate(),
    }
}

/// Flags of `cudaHostAlloc` that the driver has under the same numbers: the one more that CUDA
/// defines has none.
const HOST_FLAGS: c_uint = 7;

fn host(to: Out<Host>, bytes: usize, flags: c_uint) -> Result {
    enter()?;
    if flags & !HOST_FLAGS != 0 {
        return Err(Code::INVALID_VALUE);
    }
    match bytes {
        0 => to.set(Host::at_address(0)),
        _ => call::cuMemHostAlloc(to, bytes, flags),
    }
}

fn attributes(address: u64) -> Result<PointerAttributes> {
    let get = |attribute| memory::pointer_attribute(attribute, address).map(|found| found.0);
    // Memory that CUDA does not know is no error from CUDA 11 on.
    let Ok(kind) = get(2) else {
        return Ok(PointerAttributes {
            kind: 0,
            device: -2,
            device_pointer: 0,
            host_pointer: 0,
        });
    };
    Ok(PointerAttributes {
        kind: if get(8)? != 0 { 3 } else { kind as c_uint },
        device: get(9)? as c_int,
        device_pointer: get(3)?,
        host_pointer: get(4).unwrap_or(0),
    })
}

/// The byte of a set: `int`, of which the lowest byte counts.
fn byte(value: c_int) -> u8 {
    value.to_le_bytes()[0]
}

fn set(at: u64, value: c_int, bytes: usize, on: Handle) -> Result {
    enter()?;
    copy::cuMemsetD8Async(at, byte(value), bytes, on)
}

fn set_rows(
    at: u64,
    pitch: usize,
    value: c_int,
    (width, rows): (usize, usize),
    on: Handle,
) -> Result {
    enter()?;
    copy::cuMemsetD2D8Async(at, pitch, byte(value), width, rows, on)
}

fn set_volume(at: Pitched, value: c_int, extent: Extent, on: Handle) -> Result {
    let Extent {
        width,
        height,
        depth,
    } = extent;
    let plane = at.pitch.checked_mul(at.height).ok_or(Code::INVALID_VALUE)?;
    for z in 0..depth {
        let start = at.pointer.add(plane.wrapping_mul(z)).address();
        set_rows(start, at.pitch, value, (width, height), on)?;
    }
    Ok(())
}

runtime! {
    fn cudaMalloc(to: Out<u64>, bytes: usize) {
        or_none(to, bytes, || call::cuMemAlloc_v2(to, bytes))
    }

    fn cudaFree(address: u64) {
        enter()?;
        call::cuMemFree_v2(address)
    }

    fn cudaMallocManaged(to: Out<u64>, bytes: usize, flags: c_uint) {
        enter()?;
        call::cuMemAllocManaged(to, bytes, flags)
    }

    fn cudaMallocPitch(to: Out<u64>, pitch: Out<usize>, width: usize, rows: usize) {
        pitched(to, pitch, width, rows)
    }

    fn cudaMalloc3D(to: Out<Pitched>, extent: Extent) {
        let Extent { width, height, depth } = extent;
        let rows = height.checked_mul(depth).ok_or(Code::INVALID_VALUE)?;
        let mut pitch = 0;
        let address = result(|to| pitched(to, Out::of(&mut pitch), width, rows))?;
        to.set(Pitched { pointer: Host::at_address(address), pitch, width, height })
    }

    fn cudaMallocHost(to: Out<Host>, bytes: usize) { host(to, bytes, 0) }

    fn cudaHostAlloc(to: Out<Host>, bytes: usize, flags: c_uint) { host(to, bytes, flags) }

    fn cudaFreeHost(address: Host) {
        enter()?;
        if address.is_null() { Ok(()) } else { call::cuMemFreeHost(address) }
    }

    fn cudaHostRegister(address: Host, bytes: usize, flags: c_uint) {
        enter()?;
        call::cuMemHostRegister_v2(address, bytes, flags)
    }

    fn cudaHostUnregister(address: Host) {
        enter()?;
        call::cuMemHostUnregister(address)
    }

    fn cudaHostGetDevicePointer(to: Out<u64>, address: Host, flags: c_uint) {
        enter()?;
        call::cuMemHostGetDevicePointer_v2(to, address, flags)
    }

    fn cudaHostGetFlags(to: Out<c_uint>, address: Host) {
        enter()?;
        call::cuMemHostGetFlags(to, address)
    }

    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) {
        enter()?;
        call::cuMemGetInfo_v2(free, total)
    }

    fn cudaPointerGetAttributes(to: Out<PointerAttributes>, address: u64) {
        enter()?;
        to.set(attributes(address)?)
    }

    fn cudaMemset | cudaMemset_ptds (at: u64, value: c_int, bytes: usize) {
        set(at, value, bytes, 0)
    }

    fn cudaMemsetAsync | cudaMemsetAsync_ptsz (at: u64, value: c_int, bytes: usize, on: Handle) {
        set(at, value, bytes, on)
    }

    fn cudaMemset2D | cudaMemset2D_ptds (
        at: u64, pitch: usize, value: c_int, width: usize, rows: usize,
    ) {
        set_rows(at, pitch, value, (width, rows), 0)
    }

    fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz (
        at: u64, pitch: usize, value: c_int, width: usize, rows: usize, on: Handle,
    ) {
        set_rows(at, pitch, value, (width, rows), on)
    }

    fn cudaMemset3D | cudaMemset3D_ptds (at: Pitched, value: c_int, extent: Extent) {
        set_volume(at, value, extent, 0)
    }

    fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz (
        at: Pitched, value: c_int, extent: Extent, on: Handle,
    ) {
        set_volume(at, value, extent, on)
    }

    // A program of CUDA 12 names a device, and one of CUDA 13 a place.
    fn cudaMemAdvise(address: u64, bytes: usize, advice: c_uint, place: u64) {
        enter()?;
        match is_12() {
            true => call::cuMemAdvise(address, bytes, advice, place as c_int),
            false => call::cuMemAdvise_v2(address, bytes, advice, place),
        }
    }

    fn cudaMemAdvise_v2(address: u64, bytes: usize, advice: c_uint, place: u64) {
        enter()?;
        call::cuMemAdvise_v2(address, bytes, advice, place)
    }

    fn cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz (
        address: u64, bytes: usize, place: u64, flags_or_stream: u64, on: Handle,
    ) {
        enter()?;
        match is_12() {
            true => {
                let on = flags_or_stream as Handle;
                call::cuMemPrefetchAsync(address, bytes, place as c_int, on)
            }
            false => {
                let flags = flags_or_stream as c_uint;
                call::cuMemPrefetchAsync_v2(address, bytes, place, flags, on)
            }
        }
    }

    fn cudaMemPrefetchAsync_v2 | cudaMemPrefetchAsync_v2_ptsz (
        address: u64, bytes: usize, place: u64, flags: c_uint, on: Handle,
    ) {
        enter()?;
        call::cuMemPrefetchAsync_v2(address, bytes, place, flags, on)
    }

    fn cudaMemRangeGetAttribute(
        to: Host, room: usize, attribute: c_uint, address: u64, bytes: usize,
    ) {
        enter()?;
        call::cuMemRangeGetAttribute(to, room, attribute, address, bytes)
    }

    fn cudaMemRangeGetAttributes(
        to: In<Host>, rooms: In<usize>, attributes: In<c_uint>, count: usize, address: u64,
        bytes: usize,
    ) {
        enter()?;
        call::cuMemRangeGetAttributes(to, rooms, attributes, count, address, bytes)
    }

    fn cudaMallocAsync | cudaMallocAsync_ptsz (to: Out<u64>, bytes: usize, on: Handle) {
        or_none(to, bytes, || pools::cuMemAllocAsync(to, bytes, on))
    }

    fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz (
        to: Out<u64>, bytes: usize, pool: Handle, on: Handle,
    ) {
        or_none(to, bytes, || pools::cuMemAllocFromPoolAsync(to, bytes, pool, on))
    }

    fn cudaFreeAsync | cudaFreeAsync_ptsz (address: u64, on: Handle) {
        enter()?;
        pools::cuMemFreeAsync(address, on)
    }

    fn cudaDeviceGetDefaultMemPool(to: Out<Handle>, ordinal: c_int) {
        initialised()?;
        pools::cuDeviceGetDefaultMemPool(to, ordinal)
    }

    fn cudaDeviceGetMemPool(to: Out<Handle>, ordinal: c_int) {
        initialised()?;
        pools::cuDeviceGetMemPool(to, ordinal)
    }

    fn cudaDeviceSetMemPool(ordinal: c_int, pool: Handle) {
        initialised()?;
        pools::cuDeviceSetMemPool(ordinal, pool)
    }

    fn cudaMemGetDefaultMemPool(to: Out<Handle>, place: In<[c_int; 2]>, kind: c_uint) {
        initialised()?;
        pools::cuMemGetDefaultMemPool(to, place, kind)
    }

    fn cudaMemGetMemPool(to: Out<Handle>, place: In<[c_int; 2]>, kind: c_uint) {
        initialised()?;
        pools::cuMemGetMemPool(to, place, kind)
    }

    fn cudaMemSetMemPool(place: In<[c_int; 2]>, kind: c_uint, pool: Handle) {
        initialised()?;
        pools::cuMemSetMemPool(place, kind, pool)
    }

    fn cudaMemPoolCreate(to: Out<Handle>, properties: In<[c_int; 4]>) {
        initialised()?;
        pools::cuMemPoolCreate(to, properties)
    }

    fn cudaMemPoolDestroy(pool: Handle) { pools::cuMemPoolDestroy(pool) }

    fn cudaMemPoolTrimTo(pool: Handle, bytes: usize) { pools::cuMemPoolTrimTo(pool, bytes) }

    fn cudaMemPoolGetAttribute(pool: Handle, attribute: c_uint, to: Host) {
        pools::cuMemPoolGetAttribute(pool, attribute, to)
    }

    fn cudaMemPoolSetAttribute(pool: Handle, attribute: c_uint, from: Host) {
        pools::cuMemPoolSetAttribute(pool, attribute, from)
    }

    fn cudaMemPoolSetAccess(pool: Handle, list: Host, count: usize) {
        pools::cuMemPoolSetAccess(pool, list, count)
    }

    fn cudaMemPoolGetAccess(to: Out<c_uint>, pool: Handle, location: In<[c_int; 2]>) {
        pools::cuMemPoolGetAccess(to, pool, location)
    }
}
