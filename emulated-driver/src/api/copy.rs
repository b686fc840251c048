//! Copies and sets.

use std::ffi::c_uint;
use std::sync::Arc;

use super::node::{self, SetParams};
use crate::capture::check_legacy;
use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::graph::Work;
use crate::pointer::{Host, In};
use crate::state::{Driver, Handle, driver};
use crate::stream;

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
    // A graph allocates at addresses that are reserved until then.
    let is_device =
        |address| current.driver.is_device_address(address) || current.driver.is_reserved(address);
    let is_wrong = |must: bool, address| must && !is_device(address);
    match is_wrong(sides.to, to) || is_wrong(sides.from, from) {
        true => Err(Code::INVALID_VALUE),
        false => Ok(()),
    }
}

fn copy(to: u64, from: u64, bytes: usize, sides: Sides) -> Result {
    let current = current()?;
    check_legacy(current.driver, current.handle)?;
    if bytes == 0 {
        return Ok(());
    }
    check_sides(&current, to, from, sides)?;
    current.driver.copy(to, from, bytes)
}

fn copy_async(to: u64, from: u64, bytes: usize, sides: Sides, on: Handle) -> Result {
    let (current, captured) = stream::target(on)?;
    if bytes == 0 {
        return Ok(());
    }
    check_sides(&current, to, from, sides)?;
    let Some(captured) = captured else {
        return current.driver.copy(to, from, bytes);
    };
    let side = |address| Volume::linear(Host::at_address(address), 0, 0);
    let row = Copy3d {
        from: side(from),
        to: side(to),
        width: bytes,
        height: 1,
        depth: 1,
    };
    captured
        .append(current.driver, node::copy_of(row)?)
        .map(drop)
}

/// A copy between any two addresses.
pub(super) fn copy_any(to: u64, from: u64, bytes: usize, on: Handle) -> Result {
    copy_async(to, from, bytes, ANY, on)
}

/// `count` elements of `rows` rows, on a stream or, where there is none, at once.
fn set(
    address: u64,
    value: &[u8],
    (width, rows, pitch): (usize, usize, usize),
    on: Option<Handle>,
) -> Result {
    let (current, captured) = stream::target(on.unwrap_or(0))?;
    if width == 0 || rows == 0 {
        return Ok(());
    }
    let Some(captured) = captured else {
        return current.driver.set(address, value, width, (rows, pitch));
    };
    let number = value
        .iter()
        .rev()
        .fold(0, |all, &byte| all << 8 | c_uint::from(byte));
    let params = SetParams {
        address,
        pitch,
        value: number,
        element_bytes: value.len() as c_uint,
        width,
        height: rows,
    };
    captured
        .append(current.driver, node::set_of(params)?)
        .map(drop)
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

pub(super) fn copy_3d(copy: Copy3d, on: Handle) -> Result {
    let (current, captured) = stream::target(on)?;
    match captured {
        None => rows_of(current.driver, copy)?(),
        Some(captured) => captured
            .append(current.driver, node::copy_of(copy)?)
            .map(drop),
    }
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
    copy_3d(
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

api! {
    fn cuMemcpy | cuMemcpy_ptds (to: u64, from: u64, bytes: usize) { copy(to, from, bytes, ANY) }

    fn cuMemcpyHtoD_v2
        | cuMemcpyHtoD_v2_ptds (to: u64, from: Host, bytes: usize) { copy(to, from.address(), bytes, TO) }

    fn cuMemcpyDtoH_v2
        | cuMemcpyDtoH_v2_ptds (to: Host, from: u64, bytes: usize) { copy(to.address(), from, bytes, FROM) }

    fn cuMemcpyDtoD_v2
        | cuMemcpyDtoD_v2_ptds (to: u64, from: u64, bytes: usize) { copy(to, from, bytes, BOTH) }

    fn cuMemcpyPeer
        | cuMemcpyPeer_ptds (to: u64, _target: Handle, from: u64, _source: Handle, bytes: usize) {
        copy(to, from, bytes, BOTH)
    }

    fn cuMemcpyAsync | cuMemcpyAsync_ptsz (to: u64, from: u64, bytes: usize, on: Handle) {
        copy_async(to, from, bytes, ANY, on)
    }

    fn cuMemcpyHtoDAsync_v2
        | cuMemcpyHtoDAsync_v2_ptsz (to: u64, from: Host, bytes: usize, on: Handle) {
        copy_async(to, from.address(), bytes, TO, on)
    }

    fn cuMemcpyDtoHAsync_v2
        | cuMemcpyDtoHAsync_v2_ptsz (to: Host, from: u64, bytes: usize, on: Handle) {
        copy_async(to.address(), from, bytes, FROM, on)
    }

    fn cuMemcpyDtoDAsync_v2
        | cuMemcpyDtoDAsync_v2_ptsz (to: u64, from: u64, bytes: usize, on: Handle) {
        copy_async(to, from, bytes, BOTH, on)
    }

    fn cuMemcpyPeerAsync | cuMemcpyPeerAsync_ptsz (
        to: u64, _target: Handle, from: u64, _source: Handle, bytes: usize, on: Handle,
    ) {
        copy_async(to, from, bytes, BOTH, on)
    }

    fn cuMemcpy2D_v2 | cuMemcpy2D_v2_ptds (copy: In<Copy2d>) { copy_2d(copy, 0) }

    fn cuMemcpy2DUnaligned_v2 | cuMemcpy2DUnaligned_v2_ptds (copy: In<Copy2d>) { copy_2d(copy, 0) }

    fn cuMemcpy2DAsync_v2
        | cuMemcpy2DAsync_v2_ptsz (copy: In<Copy2d>, on: Handle) { copy_2d(copy, on) }

    fn cuMemcpy3D_v2 | cuMemcpy3D_v2_ptds (copy: In<Copy3d>) { copy_3d(copy.get()?, 0) }

    fn cuMemcpy3DAsync_v2
        | cuMemcpy3DAsync_v2_ptsz (copy: In<Copy3d>, on: Handle) { copy_3d(copy.get()?, on) }

    // A side's context stands where a copy in one context has a reserved word: addresses are those
    // of all contexts.
    fn cuMemcpy3DPeer | cuMemcpy3DPeer_ptds (copy: In<Copy3d>) { copy_3d(copy.get()?, 0) }

    fn cuMemcpy3DPeerAsync
        | cuMemcpy3DPeerAsync_ptsz (copy: In<Copy3d>, on: Handle) { copy_3d(copy.get()?, on) }

    fn cuMemsetD8_v2
        | cuMemsetD8_v2_ptds (at: u64, value: u8, count: usize) { set(at, &[value], (count, 1, 0), None) }

    fn cuMemsetD16_v2 | cuMemsetD16_v2_ptds (at: u64, value: u16, count: usize) {
        set(at, &value.to_le_bytes(), (count, 1, 0), None)
    }

    fn cuMemsetD32_v2 | cuMemsetD32_v2_ptds (at: u64, value: u32, count: usize) {
        set(at, &value.to_le_bytes(), (count, 1, 0), None)
    }

    fn cuMemsetD8Async | cuMemsetD8Async_ptsz (at: u64, value: u8, count: usize, on: Handle) {
        set(at, &[value], (count, 1, 0), Some(on))
    }

    fn cuMemsetD16Async | cuMemsetD16Async_ptsz (at: u64, value: u16, count: usize, on: Handle) {
        set(at, &value.to_le_bytes(), (count, 1, 0), Some(on))
    }

    fn cuMemsetD32Async | cuMemsetD32Async_ptsz (at: u64, value: u32, count: usize, on: Handle) {
        set(at, &value.to_le_bytes(), (count, 1, 0), Some(on))
    }

    fn cuMemsetD2D8_v2
        | cuMemsetD2D8_v2_ptds (at: u64, pitch: usize, value: u8, width: usize, height: usize) {
        set(at, &[value], (width, height, pitch), None)
    }

    fn cuMemsetD2D16_v2
        | cuMemsetD2D16_v2_ptds (at: u64, pitch: usize, value: u16, width: usize, height: usize) {
        set(at, &value.to_le_bytes(), (width, height, pitch), None)
    }

    fn cuMemsetD2D32_v2
        | cuMemsetD2D32_v2_ptds (at: u64, pitch: usize, value: u32, width: usize, height: usize) {
        set(at, &value.to_le_bytes(), (width, height, pitch), None)
    }

    fn cuMemsetD2D8Async | cuMemsetD2D8Async_ptsz (
        at: u64, pitch: usize, value: u8, width: usize, height: usize, on: Handle,
    ) {
        set(at, &[value], (width, height, pitch), Some(on))
    }

    fn cuMemsetD2D16Async | cuMemsetD2D16Async_ptsz (
        at: u64, pitch: usize, value: u16, width: usize, height: usize, on: Handle,
    ) {
        set(at, &value.to_le_bytes(), (width, height, pitch), Some(on))
    }

    fn cuMemsetD2D32Async | cuMemsetD2D32Async_ptsz (
        at: u64, pitch: usize, value: u32, width: usize, height: usize, on: Handle,
    ) {
        set(at, &value.to_le_bytes(), (width, height, pitch), Some(on))
    }
}
