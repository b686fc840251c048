//! Memory: allocations, copies, sets, pools, and what is known of a pointer.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::graph::{NodeKind, Operation, Work};
use crate::memory::{Allocated, Kind, Pool};
use crate::pointer::{Host, In, Out};
use crate::state::{Driver, Handle, driver, lock};
use crate::stream::{self, submit};

fn allocate(current: &Current, bytes: usize, kind: Kind) -> Result<u64> {
    let place = (current.context.device, current.handle, 0);
    current.driver.allocate(bytes as u64, kind, place)
}

/// Frees device memory or managed memory; nothing at address 0.
fn free(current: &Current, address: u64) -> Result {
    if address == 0 {
        return Ok(());
    }
    let is_kind = |kind| matches!(kind, Kind::EmulatedDevice | Kind::Managed);
    current.driver.release(address, is_kind)
}

fn allocate_host(to: Out<Host>, bytes: usize, flags: c_uint) -> Result {
    let current = current()?;
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let address = allocate(&current, bytes, Kind::Pinned(flags))?;
    to.set(Host::at_address(address))
}

/// Which sides of a copy must be device memory.
#[derive(Clone, Copy)]
struct Sides {
    to: bool,
    from: bool,
}

const ANY: Sides = Sides {
    to: false,
    from: false,
};
const TO: Sides = Sides {
    to: true,
    from: false,
};
const FROM: Sides = Sides {
    to: false,
    from: true,
};
const BOTH: Sides = Sides {
    to: true,
    from: true,
};

fn check_sides(current: &Current, to: u64, from: u64, sides: Sides) -> Result {
    let is_wrong = |must: bool, address| must && !current.driver.is_device_address(address);
    match is_wrong(sides.to, to) || is_wrong(sides.from, from) {
        true => Err(Code::INVALID_VALUE),
        false => Ok(()),
    }
}

fn copy(to: u64, from: u64, bytes: usize, sides: Sides) -> Result {
    let current = current()?;
    if bytes == 0 {
        return Ok(());
    }
    check_sides(&current, to, from, sides)?;
    current.driver.copy(to, from, bytes)
}

fn copy_async(to: u64, from: u64, bytes: usize, sides: Sides, on: Handle) -> Result {
    let (current, _) = stream::stream(on)?;
    if bytes == 0 {
        return Ok(());
    }
    check_sides(&current, to, from, sides)?;
    let work = move || current.driver.copy(to, from, bytes);
    submit(on, NodeKind::Copy, Arc::new(work))
}

/// `count` elements of `rows` rows, on a stream or, where there is none, at once.
fn set(
    address: u64,
    value: &[u8],
    (width, rows, pitch): (usize, usize, usize),
    on: Option<Handle>,
) -> Result {
    let (current, _) = stream::stream(on.unwrap_or(0))?;
    if width == 0 || rows == 0 {
        return Ok(());
    }
    let value = value.to_vec();
    let work = move || current.driver.set(address, &value, width, (rows, pitch));
    submit(on.unwrap_or(0), NodeKind::Set, Arc::new(work))
}

/// One side of a copy of rows: `CU_MEMORYTYPE_…`, and both addresses.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plane {
    x: usize,
    y: usize,
    memory_type: c_uint,
    host: Host,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy2d {
    from: Plane,
    to: Plane,
    width: usize,
    height: usize,
}

/// One side of `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Volume {
    x: usize,
    y: usize,
    z: usize,
    lod: usize,
    memory_type: c_uint,
    host: Host,
    device: u64,
    array: Handle,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3d {
    pub(crate) from: Volume,
    pub(crate) to: Volume,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

impl Plane {
    fn volume(self, height: usize) -> Volume {
        Volume {
            x: self.x,
            y: self.y,
            z: 0,
            lod: 0,
            memory_type: self.memory_type,
            host: self.host,
            device: self.device,
            array: self.array,
            reserved: 0,
            pitch: self.pitch,
            height,
        }
    }
}

impl Volume {
    /// Memory of the host or the device, with the bytes of a row and the rows of a plane.
    pub(crate) fn linear(host: Host, pitch: usize, height: usize) -> Self {
        // CU_MEMORYTYPE_UNIFIED: the address says which memory it is.
        Volume {
            x: 0,
            y: 0,
            z: 0,
            lod: 0,
            memory_type: 4,
            host,
            device: host.address(),
            array: 0,
            reserved: 0,
            pitch,
            height,
        }
    }

    pub(crate) fn of_array(array: Handle) -> Self {
        Volume {
            memory_type: 3,
            array,
            ..Volume::linear(Host::at_address(0), 0, 0)
        }
    }

    /// From a place on: bytes, rows and planes.
    pub(crate) fn at(self, [x, y, z]: [usize; 3]) -> Self {
        Volume { x, y, z, ..self }
    }

    /// An array's side as one of device memory, with the array's own rows and planes.
    fn resolve(self) -> Result<Volume> {
        if self.memory_type != 3 {
            return Ok(self);
        }
        let image = driver()?.arrays.get(self.array)?.image;
        let rows = image.plane_bytes.checked_div(image.row_bytes).unwrap_or(1);
        Ok(Volume {
            memory_type: 2,
            device: image.address,
            pitch: image.row_bytes as usize,
            height: rows as usize,
            ..self
        })
    }

    /// The address of the first byte.
    fn start(&self) -> Result<u64> {
        let base = match self.memory_type {
            1 => self.host.address(),
            2 | 4 => self.device,
            _ => return Err(Code::INVALID_VALUE),
        };
        let rows = self
            .height
            .checked_mul(self.z)
            .and_then(|rows| rows.checked_add(self.y));
        let offset = rows.and_then(|rows| rows.checked_mul(self.pitch));
        let offset = offset.and_then(|offset| offset.checked_add(self.x));
        base.checked_add(offset.ok_or(Code::INVALID_VALUE)? as u64)
            .ok_or(Code::INVALID_VALUE)
    }
}

fn copy_rows(copy: Copy3d, on: Handle) -> Result {
    let (current, _) = stream::stream(on)?;
    submit(on, NodeKind::Copy, rows_of(current.driver, copy)?)
}

/// The work of a copy of rows.
pub(super) fn rows_of(driver: &'static Driver, copy: Copy3d) -> Result<Work> {
    let Copy3d {
        from,
        to,
        width,
        height,
        depth,
    } = copy;
    let (from, to) = (from.resolve()?, to.resolve()?);
    let several = height > 1 || depth > 1;
    if several && ((from.pitch != 0 && from.pitch < width) || (to.pitch != 0 && to.pitch < width)) {
        return Err(Code::INVALID_VALUE);
    }
    // A pitch of 0 stands for rows without gaps.
    let packed = |volume: Volume| Volume {
        pitch: if volume.pitch == 0 {
            volume.x + width
        } else {
            volume.pitch
        },
        height: if volume.height == 0 {
            height
        } else {
            volume.height
        },
        ..volume
    };
    let (from, to) = (packed(from), packed(to));
    let (source, target) = (from.start()?, to.start()?);
    let strides = [to, from].map(|side| [side.pitch, side.pitch.saturating_mul(side.height)]);
    Ok(Arc::new(move || {
        for z in 0..depth {
            for y in 0..height {
                let [to, from] = strides.map(|[row, plane]| {
                    row.saturating_mul(y)
                        .saturating_add(plane.saturating_mul(z)) as u64
                });
                let to = target.checked_add(to).ok_or(Code::INVALID_VALUE)?;
                let from = source.checked_add(from).ok_or(Code::INVALID_VALUE)?;
                driver.copy(to, from, width)?;
            }
        }
        Ok(())
    }))
}

fn copy_2d(copy: In<Copy2d>, on: Handle) -> Result {
    let Copy2d {
        from,
        to,
        width,
        height,
    } = copy.get()?;
    let (from, to) = (from.volume(height), to.volume(height));
    copy_rows(
        Copy3d {
            from,
            to,
            width,
            height,
            depth: 1,
        },
        on,
    )
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
            Kind::EmulatedDevice | Kind::Managed | Kind::Virtual => (2, 4),
            Kind::Pinned(_) | Kind::Registered(..) => (1, 4),
        },
        3 => (found.address + offset, 8),
        4 => match found.kind {
            Kind::EmulatedDevice | Kind::Virtual => return Err(Code::INVALID_VALUE),
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

fn store(to: Host, (value, bytes): (u64, usize)) -> Result {
    to.write(&value.to_le_bytes()[..bytes])
}

/// `CU_MEM_…` properties of a pool: its place is its fourth and fifth number.
fn pool_of(device: usize) -> Result<Handle> {
    driver()?
        .default_pools
        .get(device)
        .copied()
        .ok_or(Code::INVALID_DEVICE)
}

fn allocate_from(to: Out<u64>, bytes: usize, pool: Option<Handle>, on: Handle) -> Result {
    let (current, stream) = stream::stream(on)?;
    let handle = pool.map_or_else(|| pool_of(current.context.device), Ok)?;
    let pool = current.driver.pools.get(handle)?;
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let place = (pool.device, current.handle, handle);
    let driver = current.driver;
    let address = driver.allocate(bytes as u64, Kind::EmulatedDevice, place)?;
    if let Some(captured) = stream.and_then(|stream| stream.captured()) {
        // The graph's allocation has its address from now on, and keeps it.
        captured.append(driver, Operation::nothing(NodeKind::Alloc))?;
    }
    to.set(address)
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

    fn cuMemFree_v2(address: u64) { free(&current()?, address) }

    fn cuMemAllocHost_v2(to: Out<Host>, bytes: usize) { allocate_host(to, bytes, 0) }

    fn cuMemHostAlloc(to: Out<Host>, bytes: usize, flags: c_uint) {
        match flags {
            0..=7 => allocate_host(to, bytes, flags),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuMemFreeHost(address: Host) {
        let current = current()?;
        current.driver.release(address.address(), |kind| matches!(kind, Kind::Pinned(_)))
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
        let found = current()?.driver.allocation_at(address).ok_or(Code::NOT_FOUND)?;
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

    fn cuMemcpy(to: u64, from: u64, bytes: usize) { copy(to, from, bytes, ANY) }

    fn cuMemcpyHtoD_v2(to: u64, from: Host, bytes: usize) { copy(to, from.address(), bytes, TO) }

    fn cuMemcpyDtoH_v2(to: Host, from: u64, bytes: usize) { copy(to.address(), from, bytes, FROM) }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) { copy(to, from, bytes, BOTH) }

    fn cuMemcpyPeer(to: u64, _target: Handle, from: u64, _source: Handle, bytes: usize) {
        copy(to, from, bytes, BOTH)
    }

    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, on: Handle) {
        copy_async(to, from, bytes, ANY, on)
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: Host, bytes: usize, on: Handle) {
        copy_async(to, from.address(), bytes, TO, on)
    }

    fn cuMemcpyDtoHAsync_v2(to: Host, from: u64, bytes: usize, on: Handle) {
        copy_async(to.address(), from, bytes, FROM, on)
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, on: Handle) {
        copy_async(to, from, bytes, BOTH, on)
    }

    fn cuMemcpyPeerAsync(
        to: u64, _target: Handle, from: u64, _source: Handle, bytes: usize, on: Handle,
    ) {
        copy_async(to, from, bytes, BOTH, on)
    }

    fn cuMemcpy2D_v2(copy: In<Copy2d>) { copy_2d(copy, 0) }

    fn cuMemcpy2DUnaligned_v2(copy: In<Copy2d>) { copy_2d(copy, 0) }

    fn cuMemcpy2DAsync_v2(copy: In<Copy2d>, on: Handle) { copy_2d(copy, on) }

    fn cuMemcpy3D_v2(copy: In<Copy3d>) { copy_rows(copy.get()?, 0) }

    fn cuMemcpy3DAsync_v2(copy: In<Copy3d>, on: Handle) { copy_rows(copy.get()?, on) }

    fn cuMemsetD8_v2(at: u64, value: u8, count: usize) { set(at, &[value], (count, 1, 0), None) }

    fn cuMemsetD16_v2(at: u64, value: u16, count: usize) {
        set(at, &value.to_le_bytes(), (count, 1, 0), None)
    }

    fn cuMemsetD32_v2(at: u64, value: u32, count: usize) {
        set(at, &value.to_le_bytes(), (count, 1, 0), None)
    }

    fn cuMemsetD8Async(at: u64, value: u8, count: usize, on: Handle) {
        set(at, &[value], (count, 1, 0), Some(on))
    }

    fn cuMemsetD16Async(at: u64, value: u16, count: usize, on: Handle) {
        set(at, &value.to_le_bytes(), (count, 1, 0), Some(on))
    }

    fn cuMemsetD32Async(at: u64, value: u32, count: usize, on: Handle) {
        set(at, &value.to_le_bytes(), (count, 1, 0), Some(on))
    }

    fn cuMemsetD2D8_v2(at: u64, pitch: usize, value: u8, width: usize, height: usize) {
        set(at, &[value], (width, height, pitch), None)
    }

    fn cuMemsetD2D16_v2(at: u64, pitch: usize, value: u16, width: usize, height: usize) {
        set(at, &value.to_le_bytes(), (width, height, pitch), None)
    }

    fn cuMemsetD2D32_v2(at: u64, pitch: usize, value: u32, width: usize, height: usize) {
        set(at, &value.to_le_bytes(), (width, height, pitch), None)
    }

    fn cuMemsetD2D8Async(
        at: u64, pitch: usize, value: u8, width: usize, height: usize, on: Handle,
    ) {
        set(at, &[value], (width, height, pitch), Some(on))
    }

    fn cuMemsetD2D16Async(
        at: u64, pitch: usize, value: u16, width: usize, height: usize, on: Handle,
    ) {
        set(at, &value.to_le_bytes(), (width, height, pitch), Some(on))
    }

    fn cuMemsetD2D32Async(
        at: u64, pitch: usize, value: u32, width: usize, height: usize, on: Handle,
    ) {
        set(at, &value.to_le_bytes(), (width, height, pitch), Some(on))
    }

    fn cuMemPrefetchAsync(address: u64, _bytes: usize, _device: c_int, on: Handle) {
        stream::stream(on)?;
        find(address)?.map(drop).ok_or(Code::INVALID_VALUE)
    }

    fn cuMemPrefetchAsync_v2(
        address: u64, _bytes: usize, _place: u64, _flags: c_uint, on: Handle,
    ) {
        stream::stream(on)?;
        find(address)?.map(drop).ok_or(Code::INVALID_VALUE)
    }

    fn cuMemAdvise(address: u64, _bytes: usize, _advice: c_uint, _device: c_int) {
        find(address)?.map(drop).ok_or(Code::INVALID_VALUE)
    }

    fn cuMemAdvise_v2(address: u64, _bytes: usize, _advice: c_uint, _place: u64) {
        find(address)?.map(drop).ok_or(Code::INVALID_VALUE)
    }

    fn cuMemAllocAsync(to: Out<u64>, bytes: usize, on: Handle) {
        allocate_from(to, bytes, None, on)
    }

    fn cuMemAllocFromPoolAsync(to: Out<u64>, bytes: usize, pool: Handle, on: Handle) {
        allocate_from(to, bytes, Some(pool), on)
    }

    fn cuMemFreeAsync(address: u64, on: Handle) {
        let (current, stream) = stream::stream(on)?;
        match stream.and_then(|stream| stream.captured()) {
            // What a graph allocates lives until its context is destroyed: launches use it again.
            Some(captured) => {
                let operation = Operation::nothing(NodeKind::Free);
                captured.append(current.driver, operation).map(drop)
            }
            None => free(&current, address),
        }
    }

    fn cuDeviceGetDefaultMemPool(to: Out<Handle>, device: c_int) {
        to.set(pool_of(driver()?.device(device)?.0)?)
    }

    fn cuDeviceGetMemPool(to: Out<Handle>, device: c_int) {
        to.set(pool_of(driver()?.device(device)?.0)?)
    }

    fn cuMemPoolCreate(to: Out<Handle>, properties: In<[c_int; 4]>) {
        let [_, _, place, device] = properties.get()?;
        let driver = driver()?;
        // CU_MEM_LOCATION_TYPE_DEVICE.
        if place != 1 {
            return Err(Code::INVALID_VALUE);
        }
        to.set(driver.pools.insert(Pool::new(driver.device(device)?.0)))
    }

    fn cuMemPoolDestroy(pool: Handle) { driver()?.pools.remove(pool).map(drop) }

    fn cuMemPoolTrimTo(pool: Handle, _bytes: usize) { driver()?.pools.get(pool).map(drop) }

    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_uint, to: Host) {
        let driver = driver()?;
        let pool = driver.pools.get(pool)?;
        let set = lock(&pool.attributes).get(&attribute).copied();
        let value = match (attribute, set) {
            (1..=3, Some(set)) => (set, 4),
            (_, Some(set)) => (set, 8),
            (5..=8, None) => (driver.used_bytes(pool.device), 8),
            _ => return Err(Code::INVALID_VALUE),
        };
        store(to, value)
    }

    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_uint, from: Host) {
        let pool = driver()?.pools.get(pool)?;
        let mut value = [0; 8];
        match attribute {
            1..=3 => from.read(&mut value[..4])?,
            4 => from.read(&mut value)?,
            _ => return Err(Code::INVALID_VALUE),
        }
        lock(&pool.attributes).insert(attribute, u64::from_le_bytes(value));
        Ok(())
    }

    fn cuMemPoolSetAccess(pool: Handle, _list: Host, _count: usize) {
        driver()?.pools.get(pool).map(drop)
    }

    fn cuMemPoolGetAccess(to: Out<c_uint>, pool: Handle, location: In<[c_int; 2]>) {
        let driver = driver()?;
        driver.pools.get(pool)?;
        // Every device reads and writes the memory of a pool, and the host does not.
        let [place, device] = location.get()?;
        to.set(match place {
            1 => driver.device(device).map(|_| 3)?,
            _ => 0,
        })
    }
}
