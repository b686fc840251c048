//! Memory: allocations, and what is known of a pointer.

use std::ffi::{c_int, c_uint};

use crate::advice::{Advice, DEVICE, HOST, Location};
use crate::capture::check_unsafe_call;
use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::memory::{Allocated, Kind};
use crate::pages::PAGE;
use crate::pointer::{Host, In, Out};
use crate::state::{Handle, driver, lock};
use crate::stream;

fn allocate(current: &Current, bytes: usize, kind: Kind) -> Result<u64> {
    check_unsafe_call(current.driver)?;
    let place = (current.context.device, current.handle, 0);
    current.driver.allocate(bytes as u64, kind, place)
}

/// Frees device memory or managed memory; nothing at address 0.
pub(super) fn free(current: &Current, address: u64) -> Result {
    if address == 0 {
        return Ok(());
    }
    let driver = current.driver;
    // Memory of the host is freed here where it is from a pool.
    let is_of_pool = driver
        .allocation_at(address)
        .is_some_and(|one| one.pool != 0);
    let is_kind = |kind| match kind {
        Kind::EmulatedDevice | Kind::Managed => true,
        Kind::Pinned(_) => is_of_pool,
        _ => false,
    };
    let found = driver.allocation_at(address);
    // Imported memory is freed like other memory where it is from a pool.
    if is_of_pool && found.is_some_and(|one| one.kind == Kind::Imported) {
        return driver.close_import(address);
    }
    driver.release(address, is_kind)
}

fn allocate_host(to: Out<Host>, bytes: usize, flags: c_uint) -> Result {
    let current = current()?;
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let address = allocate(&current, bytes, Kind::Pinned(flags))?;
    to.set(Host::at_address(address))
}

/// The allocation that a pointer of the program points to.
fn find(address: u64) -> Result<Option<Allocated>> {
    let driver = driver()?;
    Ok(driver
        .allocation_at(address)
        .or_else(|| driver.registered_at(address))
        .or_else(|| driver.variable_at(address)))
}

/// A `CUpointer_attribute`: up to 8 bytes of it.
pub(crate) fn pointer_attribute(attribute: c_uint, address: u64) -> Result<(u64, usize)> {
    let found = find(address)?.ok_or(Code::INVALID_VALUE)?;
    let offset = match found.kind {
        Kind::Registered(host, _) if address.wrapping_sub(host) < found.bytes => address - host,
        _ => address - found.address,
    };
    Ok(match attribute {
        1 => (found.context as u64, 8),
        2 => match found.kind {
            Kind::EmulatedDevice | Kind::Managed | Kind::Virtual | Kind::Imported => (2, 4),
            Kind::Pinned(_) | Kind::Registered(..) => (1, 4),
        },
        3 => (found.address + offset, 8),
        4 => match found.kind {
            Kind::EmulatedDevice | Kind::Virtual | Kind::Imported => {
                return Err(Code::INVALID_VALUE);
            }
            Kind::Registered(host, _) => (host + offset, 8),
            _ => (address, 8),
        },
        6 => (0, 4),
        7 => (found.id, 8),
        8 => (u64::from(found.kind == Kind::Managed), 4),
        9 => (found.device as u64, 4),
        10 | 14 | 15 => (0, 4),
        11 => (found.address, 8),
        12 => (found.bytes, 8),
        13 => (1, 4),
        16 => (3, 4),
        17 => (found.pool as u64, 8),
        _ => return Err(Code::INVALID_VALUE),
    })
}

/// Whether there is memory at an address that a prefetch or an advice may name.
pub(super) fn check_address(address: u64) -> Result {
    find(address)?.map(drop).ok_or(Code::INVALID_VALUE)
}

/// `CU_DEVICE_CPU`, or a device, as a place.
fn of_device(device: c_int) -> Location {
    if device == -1 {
        [HOST, 0]
    } else {
        [DEVICE, device]
    }
}

/// A `CUmemLocation` that is passed as a word.
fn unpack(place: u64) -> Location {
    [place as c_int, (place >> 32) as c_int]
}

fn location(place: Location) -> Result<Location> {
    match place[0] {
        DEVICE => driver()?.device(place[1]).map(|_| place),
        // The host, and its nodes of memory.
        2..=4 => Ok(place),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// A prefetch of a range to a `CUmemLocation`.
pub(super) fn prefetch(range: (u64, usize), place: u64) -> Result {
    let place = location(unpack(place))?;
    advise(range, |one| {
        one.prefetch(place);
        Ok(())
    })
}

/// Keeps what is said of managed memory; other memory is where it is.
fn advise((address, bytes): (u64, usize), change: impl Fn(&mut Advice) -> Result) -> Result {
    let found = find(address)?.ok_or(Code::INVALID_VALUE)?;
    let end = address.checked_add(bytes as u64);
    // Advice is for pages.
    let last = (found.address + found.bytes).next_multiple_of(PAGE);
    let end = end.filter(|end| *end > address && *end <= last);
    let end = end.ok_or(Code::INVALID_VALUE)?;
    match found.kind {
        Kind::Managed => lock(&driver()?.advices).change((address, end), change),
        _ => Ok(()),
    }
}

fn follow(range: (u64, usize), advice: c_uint, place: Location) -> Result {
    // The other advice has no place.
    let place = if matches!(advice, 3 | 5 | 6) {
        location(place)?
    } else {
        place
    };
    advise(range, |one| one.follow(advice, place))
}

/// A `CUmem_range_attribute` of managed memory.
fn range_attribute(
    (to, room): (Host, usize),
    attribute: c_uint,
    (address, bytes): (u64, usize),
) -> Result {
    let found = find(address)?.filter(|found| found.kind == Kind::Managed);
    let found = found.ok_or(Code::INVALID_VALUE)?;
    let end = address.checked_add(bytes as u64);
    let last = (found.address + found.bytes).next_multiple_of(PAGE);
    let end = end.filter(|end| *end > address && *end <= last);
    let end = end.ok_or(Code::INVALID_VALUE)?;
    if !room.is_multiple_of(4) {
        return Err(Code::INVALID_VALUE);
    }
    let advices = lock(&driver()?.advices);
    let numbers = advices.attribute((address, end), attribute, room / 4)?;
    let bytes: Vec<u8> = numbers.iter().flat_map(|one| one.to_le_bytes()).collect();
    to.write(&bytes)
}

pub(super) fn store(to: Host, (value, bytes): (u64, usize)) -> Result {
    to.write(&value.to_le_bytes()[..bytes])
}

api! {
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let current = current()?;
        let bytes = current.device().memory_bytes();
        let used = current.driver.used_bytes(current.context.device);
        free.set_optional(bytes.saturating_sub(used) as usize);
        total.set_optional(bytes as usize);
        Ok(())
    }

    fn cuMemAlloc_v2(to: Out<u64>, bytes: usize) {
        let current = current()?;
        if to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        to.set(allocate(&current, bytes, Kind::EmulatedDevice)?)
    }

    fn cuMemAllocPitch_v2(
        to: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: c_uint,
    ) {
        let current = current()?;
        if !matches!(element, 4 | 8 | 16) || to.is_null() || pitch.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(512).ok_or(Code::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(Code::INVALID_VALUE)?;
        pitch.set(row)?;
        to.set(allocate(&current, bytes, Kind::EmulatedDevice)?)
    }

    fn cuMemAllocManaged(to: Out<u64>, bytes: usize, flags: c_uint) {
        let current = current()?;
        if to.is_null() || !matches!(flags, 1 | 2) {
            return Err(Code::INVALID_VALUE);
        }
        to.set(allocate(&current, bytes, Kind::Managed)?)
    }

    fn cuMemFree_v2(address: u64) {
        let current = current()?;
        check_unsafe_call(current.driver)?;
        free(&current, address)
    }

    fn cuMemAllocHost_v2(to: Out<Host>, bytes: usize) { allocate_host(to, bytes, 0) }

    fn cuMemHostAlloc(to: Out<Host>, bytes: usize, flags: c_uint) {
        match flags {
            0..=7 => allocate_host(to, bytes, flags),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuMemFreeHost(address: Host) {
        let current = current()?;
        check_unsafe_call(current.driver)?;
        current.driver.release(address.address(), |kind| matches!(kind, Kind::Pinned(_)))
    }

    fn cuMemHostRegister(address: Host, bytes: usize, flags: c_uint) {
        cuMemHostRegister_v2(address, bytes, flags)
    }

    fn cuMemHostRegister_v2(address: Host, bytes: usize, flags: c_uint) {
        let current = current()?;
        if address.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        if find(address.address())?.is_some() {
            return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let kind = Kind::Registered(address.address(), flags);
        allocate(&current, bytes, kind).map(drop)
    }

    fn cuMemHostUnregister(address: Host) {
        let current = current()?;
        let wanted = address.address();
        let found = current.driver.registered_at(wanted);
        let found = found.ok_or(Code::HOST_MEMORY_NOT_REGISTERED)?;
        let is_start = |kind| matches!(kind, Kind::Registered(start, _) if start == wanted);
        current.driver.release(found.address, is_start)
    }

    fn cuMemHostGetDevicePointer_v2(to: Out<u64>, address: Host, _flags: c_uint) {
        current()?;
        to.set(pointer_attribute(3, address.address())?.0)
    }

    fn cuMemHostGetFlags(to: Out<c_uint>, address: Host) {
        current()?;
        match find(address.address())?.map(|found| found.kind) {
            Some(Kind::Pinned(flags) | Kind::Registered(_, flags)) => to.set(flags),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, address: u64) {
        let driver = current()?.driver;
        let found = driver.allocation_at(address).or_else(|| driver.variable_at(address));
        let found = found.ok_or(Code::NOT_FOUND)?;
        base.set_optional(found.address);
        bytes.set_optional(found.bytes as usize);
        Ok(())
    }

    fn cuPointerGetAttribute(to: Host, attribute: c_uint, address: u64) {
        store(to, pointer_attribute(attribute, address)?)
    }

    fn cuPointerGetAttributes(
        count: c_uint, attributes: In<c_uint>, to: In<Host>, address: u64,
    ) {
        driver()?;
        for index in 0..count as usize {
            let attribute = attributes.at(index)?;
            // Of a pointer that is not CUDA's all attributes are 0, but the device's number, -2.
            let value = pointer_attribute(attribute, address).unwrap_or(match attribute {
                9 => (u64::from((-2i32).cast_unsigned()), 4),
                1 | 3 | 4 | 7 | 11 | 12 | 17 => (0, 8),
                _ => (0, 4),
            });
            store(to.at(index)?, value)?;
        }
        Ok(())
    }

    fn cuPointerSetAttribute(_value: Host, attribute: c_uint, address: u64) {
        find(address)?.ok_or(Code::INVALID_VALUE)?;
        // Synchronous operations, which all are.
        if attribute == 6 { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    fn cuMemPrefetchAsync
        | cuMemPrefetchAsync_ptsz (address: u64, bytes: usize, device: c_int, on: Handle) {
        stream::stream(on)?;
        let place = location(of_device(device))?;
        advise((address, bytes), |one| {
            one.prefetch(place);
            Ok(())
        })
    }

    fn cuMemPrefetchAsync_v2 | cuMemPrefetchAsync_v2_ptsz (
        address: u64, bytes: usize, place: u64, flags: c_uint, on: Handle,
    ) {
        stream::stream(on)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        prefetch((address, bytes), place)
    }

    fn cuMemAdvise(address: u64, bytes: usize, advice: c_uint, device: c_int) {
        follow((address, bytes), advice, of_device(device))
    }

    fn cuMemAdvise_v2(address: u64, bytes: usize, advice: c_uint, place: u64) {
        follow((address, bytes), advice, unpack(place))
    }

    fn cuMemRangeGetAttribute(
        to: Host, room: usize, attribute: c_uint, address: u64, bytes: usize,
    ) {
        range_attribute((to, room), attribute, (address, bytes))
    }

    fn cuMemRangeGetAttributes(
        to: In<Host>, rooms: In<usize>, attributes: In<c_uint>, count: usize, address: u64,
        bytes: usize,
    ) {
        (0..count).try_for_each(|index| {
            let place = (to.at(index)?, rooms.at(index)?);
            range_attribute(place, attributes.at(index)?, (address, bytes))
        })
    }
}
