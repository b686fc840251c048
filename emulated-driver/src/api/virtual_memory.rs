//! Virtual memory management.

use std::ffi::{c_int, c_uint};

use crate::code::{Code, Result};
use crate::context::current;
use crate::pointer::{Host, In, Out};
use crate::state::{Handle, driver};
use crate::virtual_memory::{GRANULARITY, Physical};

/// `CUmemLocation`: a device's number.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Location {
    kind: c_uint,
    device: c_int,
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Access {
    location: Location,
    flags: c_uint,
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const DEVICE: c_uint = 1;

fn device_of(location: Location) -> Result<usize> {
    match location.kind {
        DEVICE => Ok(driver()?.device(location.device)?.0),
        _ => Err(Code::NOT_SUPPORTED),
    }
}

/// The device of `CUmemAllocationProp`: type, kinds of handles, place. Handles for other processes
/// are files.
fn device_of_properties(properties: [u64; 4]) -> Result<usize> {
    let [kinds, place, ..] = properties.map(u64::to_le_bytes);
    let word = |bytes: [u8; 8], at: usize| -> u32 {
        let four = bytes[at..at + 4].iter().rev();
        four.fold(0, |all, &byte| all << 8 | u32::from(byte))
    };
    // CU_MEM_ALLOCATION_TYPE_PINNED; CU_MEM_HANDLE_TYPE_NONE or a POSIX file descriptor.
    if word(kinds, 0) != 1 {
        return Err(Code::INVALID_VALUE);
    }
    if word(kinds, 4) > 1 {
        return Err(Code::NOT_SUPPORTED);
    }
    device_of(Location {
        kind: word(place, 0),
        device: word(place, 4).cast_signed(),
    })
}

api! {
    fn cuMemAddressReserve(
        to: Out<u64>, bytes: usize, alignment: usize, _hint: u64, flags: u64,
    ) {
        if flags != 0 || to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        to.set(driver()?.reserve(bytes as u64, alignment as u64)?)
    }

    fn cuMemAddressFree(address: u64, bytes: usize) { driver()?.unreserve(address, bytes as u64) }

    fn cuMemCreate(to: Out<Handle>, bytes: usize, properties: In<[u64; 4]>, flags: u64) {
        let (driver, properties) = (driver()?, properties.get()?);
        let device = device_of_properties(properties)?;
        let bytes = bytes as u64;
        if flags != 0 || to.is_null() || bytes == 0 || !bytes.is_multiple_of(GRANULARITY) {
            return Err(Code::INVALID_VALUE);
        }
        let free = driver.devices[device].memory_bytes();
        if bytes > free.saturating_sub(driver.used_bytes(device)) {
            return Err(Code::OUT_OF_MEMORY);
        }
        to.set(driver.physical.insert(Physical::new(device, bytes, properties)?))
    }

    fn cuMemRelease(handle: Handle) {
        // Mappings keep the memory.
        driver()?.physical.remove(handle).map(drop).map_err(|_| Code::INVALID_VALUE)
    }

    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: Handle, flags: u64) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        driver()?.map(address, bytes as u64, offset as u64, handle)
    }

    fn cuMemUnmap(address: u64, bytes: usize) { driver()?.unmap(address, bytes as u64) }

    fn cuMemSetAccess(address: u64, bytes: usize, list: In<Access>, count: usize) {
        let current = current()?;
        for index in 0..count {
            let Access { location, flags } = list.at(index)?;
            device_of(location)?;
            let range = (address, bytes as u64);
            current.driver.set_access(range, u64::from(flags), current.handle)?;
        }
        Ok(())
    }

    fn cuMemGetAccess(flags: Out<u64>, location: In<Location>, address: u64) {
        device_of(location.get()?)?;
        flags.set(driver()?.access(address)?)
    }

    fn cuMemGetAllocationGranularity(
        to: Out<usize>, properties: In<[u64; 4]>, option: c_uint,
    ) {
        device_of_properties(properties.get()?)?;
        if option > 1 {
            return Err(Code::INVALID_VALUE);
        }
        to.set(GRANULARITY as usize)
    }

    fn cuMemGetAllocationPropertiesFromHandle(to: Out<[u64; 4]>, handle: Handle) {
        to.set(driver()?.physical.get(handle)?.properties)
    }

    fn cuMemRetainAllocationHandle(to: Out<Handle>, address: Host) {
        to.set(driver()?.physical_at(address.address())?)
    }
}
