//! Copies: of bytes, rows, volumes, arrays and symbols.

use std::ffi::{c_int, c_uint};

use crate::api::array::call as array;
use crate::api::copy::{Copy3d, Volume, call};
use crate::code::{Code, Result};
use crate::pointer::{Host, In};
use crate::state::{Handle, driver};

use super::memory::{Extent, Pitched};
use super::registry::variable;
use super::{INVALID_DIRECTION, INVALID_PITCH, enter};

/// Copies bytes, in a direction of `cudaMemcpyKind`.
fn bytes(to: u64, from: u64, count: usize, kind: c_uint, on: Option<Handle>) -> Result {
    enter()?;
    match (kind, on) {
        (0 | 4, None) => call::cuMemcpy(to, from, count),
        (0 | 4, Some(on)) => call::cuMemcpyAsync(to, from, count, on),
        (1, None) => call::cuMemcpyHtoD_v2(to, Host::at_address(from), count),
        (1, Some(on)) => call::cuMemcpyHtoDAsync_v2(to, Host::at_address(from), count, on),
        (2, None) => call::cuMemcpyDtoH_v2(Host::at_address(to), from, count),
        (2, Some(on)) => call::cuMemcpyDtoHAsync_v2(Host::at_address(to), from, count, on),
        (3, None) => call::cuMemcpyDtoD_v2(to, from, count),
        (3, Some(on)) => call::cuMemcpyDtoDAsync_v2(to, from, count, on),
        _ => Err(INVALID_DIRECTION),
    }
}

/// The address in a variable that a copy begins at.
fn in_variable(symbol: Host, offset: usize, count: usize) -> Result<u64> {
    let (address, bytes) = variable(symbol)?;
    match offset.checked_add(count) {
        Some(end) if end as u64 <= bytes => Ok(address + offset as u64),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// To a symbol: from the host or the device.
fn to_symbol(
    symbol: Host,
    from: u64,
    (count, offset): (usize, usize),
    kind: c_uint,
    on: Option<Handle>,
) -> Result {
    match kind {
        1 | 3 | 4 => bytes(in_variable(symbol, offset, count)?, from, count, kind, on),
        _ => Err(INVALID_DIRECTION),
    }
}

fn from_symbol(
    to: u64,
    symbol: Host,
    (count, offset): (usize, usize),
    kind: c_uint,
    on: Option<Handle>,
) -> Result {
    match kind {
        2..=4 => bytes(to, in_variable(symbol, offset, count)?, count, kind, on),
        _ => Err(INVALID_DIRECTION),
    }
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Params {
    from_array: Handle,
    from_position: [usize; 3],
    from: Pitched,
    to_array: Handle,
    to_position: [usize; 3],
    to: Pitched,
    extent: Extent,
    kind: c_uint,
}

/// Bytes of an array's element; 1 for none.
fn element_bytes(array: Handle) -> Result<usize> {
    match array {
        0 => Ok(1),
        _ => Ok(driver()?.arrays.get(array)?.image.texel_bytes() as usize),
    }
}

fn side(array: Handle, position: [usize; 3], pitched: Pitched) -> Result<Volume> {
    let [x, y, z] = position;
    let mut volume = Volume::linear(pitched.pointer, pitched.pitch, pitched.height);
    if array != 0 {
        volume = Volume::of_array(array);
    }
    let x = x.checked_mul(element_bytes(array)?);
    Ok(volume.at([x.ok_or(Code::INVALID_VALUE)?, y, z]))
}

/// `cudaMemcpy3DPeerParms`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PeerParams {
    from_array: Handle,
    from_position: [usize; 3],
    from: Pitched,
    _from_device: c_int,
    to_array: Handle,
    to_position: [usize; 3],
    to: Pitched,
    _to_device: c_int,
    extent: Extent,
}

impl PeerParams {
    /// Addresses are those of all devices: the same copy without them.
    fn copy(self) -> Result<Copy3d> {
        let any_direction = 4;
        let params = Params {
            from_array: self.from_array,
            from_position: self.from_position,
            from: self.from,
            to_array: self.to_array,
            to_position: self.to_position,
            to: self.to,
            extent: self.extent,
            kind: any_direction,
        };
        params.copy()
    }
}

impl Params {
    /// As the driver has it: widths in bytes.
    ///
    /// # Errors
    /// `cudaErrorInvalidMemcpyDirection`, `cudaErrorInvalidResourceHandle`, or
    /// `cudaErrorInvalidValue` where an array has elements of another size.
    pub(super) fn copy(self) -> Result<Copy3d> {
        enter()?;
        if self.kind > 4 {
            return Err(INVALID_DIRECTION);
        }
        // With an array, the width is in elements of it.
        let bytes = match (self.from_array, self.to_array) {
            (0, to) => element_bytes(to)?,
            (from, 0) => element_bytes(from)?,
            (from, to) if element_bytes(from)? == element_bytes(to)? => element_bytes(from)?,
            _ => return Err(Code::INVALID_VALUE),
        };
        let Extent {
            width,
            height,
            depth,
        } = self.extent;
        let width = width.checked_mul(bytes).ok_or(Code::INVALID_VALUE)?;
        let from = side(self.from_array, self.from_position, self.from)?;
        let to = side(self.to_array, self.to_position, self.to)?;
        Ok(Copy3d {
            from,
            to,
            width,
            height,
            depth,
        })
    }

    /// A copy of bytes in one row.
    pub(super) fn of_bytes(to: u64, from: u64, width: usize, kind: c_uint) -> Self {
        let pitched = |address| Pitched {
            pointer: Host::at_address(address),
            pitch: width,
            width,
            height: 1,
        };
        Params {
            from_array: 0,
            from_position: [0; 3],
            from: pitched(from),
            to_array: 0,
            to_position: [0; 3],
            to: pitched(to),
            extent: Extent {
                width,
                height: 1,
                depth: 1,
            },
            kind,
        }
    }
}

/// The copy of a node to or from a variable.
pub(super) fn symbol_params(
    (host, symbol): (u64, Host),
    (count, offset): (usize, usize),
    kind: c_uint,
    is_to: bool,
) -> Result<Params> {
    let address = in_variable(symbol, offset, count)?;
    Ok(match is_to {
        true => Params::of_bytes(address, host, count, kind),
        false => Params::of_bytes(host, address, count, kind),
    })
}

/// Rows, on both sides at a place of their own.
fn rows(
    to: Volume,
    from: Volume,
    (width, height): (usize, usize),
    kind: c_uint,
    on: Handle,
) -> Result {
    enter()?;
    if kind > 4 {
        return Err(INVALID_DIRECTION);
    }
    let depth = 1;
    let copy = Copy3d {
        from,
        to,
        width,
        height,
        depth,
    };
    call::cuMemcpy3DAsync_v2(In::of(&copy), on)
}

/// Rows of linear memory, whose pitch holds them.
fn linear(address: u64, pitch: usize, width: usize) -> Result<Volume> {
    if pitch < width {
        return Err(INVALID_PITCH);
    }
    Ok(Volume::linear(Host::at_address(address), pitch, 0))
}

/// The place in an array at which bytes that are counted over its rows begin.
fn to_array(array: Handle, x: usize, y: usize) -> Volume {
    Volume::of_array(array).at([x, y, 0])
}

/// The byte of an array at which a copy over the ends of its rows begins.
fn array_offset(array: Handle, x: usize, y: usize) -> Result<usize> {
    let row = enter()?.arrays.get(array)?.image.row_bytes as usize;
    let offset = y.checked_mul(row).and_then(|rows| rows.checked_add(x));
    offset.ok_or(Code::INVALID_VALUE)
}

/// To an array: rows of it lie one after the other.
fn bytes_to_array(
    to: Handle,
    (x, y): (usize, usize),
    from: u64,
    (count, kind): (usize, c_uint),
    on: Handle,
) -> Result {
    let offset = array_offset(to, x, y)?;
    match kind {
        1 | 3 | 4 => array::cuMemcpyHtoAAsync_v2(to, offset, Host::at_address(from), count, on),
        _ => Err(INVALID_DIRECTION),
    }
}

fn bytes_from_array(
    to: u64,
    from: Handle,
    (x, y): (usize, usize),
    (count, kind): (usize, c_uint),
    on: Handle,
) -> Result {
    let offset = array_offset(from, x, y)?;
    match kind {
        2..=4 => array::cuMemcpyAtoHAsync_v2(Host::at_address(to), from, offset, count, on),
        _ => Err(INVALID_DIRECTION),
    }
}

runtime! {
    fn cudaMemcpyToArray | cudaMemcpyToArray_ptds (
        to: Handle, x: usize, y: usize, from: u64, count: usize, kind: c_uint,
    ) {
        bytes_to_array(to, (x, y), from, (count, kind), 0)
    }

    fn cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz (
        to: Handle, x: usize, y: usize, from: u64, count: usize, kind: c_uint, on: Handle,
    ) {
        bytes_to_array(to, (x, y), from, (count, kind), on)
    }

    fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds (
        to: u64, from: Handle, x: usize, y: usize, count: usize, kind: c_uint,
    ) {
        bytes_from_array(to, from, (x, y), (count, kind), 0)
    }

    fn cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz (
        to: u64, from: Handle, x: usize, y: usize, count: usize, kind: c_uint, on: Handle,
    ) {
        bytes_from_array(to, from, (x, y), (count, kind), on)
    }

    fn cudaMemcpyArrayToArray | cudaMemcpyArrayToArray_ptds (
        to: Handle, to_x: usize, to_y: usize, from: Handle, x: usize, y: usize, count: usize,
        _kind: c_uint,
    ) {
        let (to_offset, offset) = (array_offset(to, to_x, to_y)?, array_offset(from, x, y)?);
        array::cuMemcpyAtoA_v2(to, to_offset, from, offset, count)
    }

    fn cudaMemcpy | cudaMemcpy_ptds (to: u64, from: u64, count: usize, kind: c_uint) {
        bytes(to, from, count, kind, None)
    }

    fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz (
        to: u64, from: u64, count: usize, kind: c_uint, on: Handle,
    ) {
        bytes(to, from, count, kind, Some(on))
    }

    fn cudaMemcpyPeer(to: u64, _target: c_int, from: u64, _source: c_int, count: usize) {
        bytes(to, from, count, 3, None)
    }

    fn cudaMemcpyPeerAsync(
        to: u64, _target: c_int, from: u64, _source: c_int, count: usize, on: Handle,
    ) {
        bytes(to, from, count, 3, Some(on))
    }

    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds (
        symbol: Host, from: u64, count: usize, offset: usize, kind: c_uint,
    ) {
        to_symbol(symbol, from, (count, offset), kind, None)
    }

    fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz (
        symbol: Host, from: u64, count: usize, offset: usize, kind: c_uint, on: Handle,
    ) {
        to_symbol(symbol, from, (count, offset), kind, Some(on))
    }

    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds (
        to: u64, symbol: Host, count: usize, offset: usize, kind: c_uint,
    ) {
        from_symbol(to, symbol, (count, offset), kind, None)
    }

    fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz (
        to: u64, symbol: Host, count: usize, offset: usize, kind: c_uint, on: Handle,
    ) {
        from_symbol(to, symbol, (count, offset), kind, Some(on))
    }

    fn cudaMemcpy2D | cudaMemcpy2D_ptds (
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize,
        kind: c_uint,
    ) {
        let (to, from) = (linear(to, to_pitch, width)?, linear(from, from_pitch, width)?);
        rows(to, from, (width, height), kind, 0)
    }

    fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz (
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize,
        kind: c_uint, on: Handle,
    ) {
        let (to, from) = (linear(to, to_pitch, width)?, linear(from, from_pitch, width)?);
        rows(to, from, (width, height), kind, on)
    }

    fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds (
        to: Handle, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize,
        kind: c_uint,
    ) {
        rows(to_array(to, x, y), linear(from, pitch, width)?, (width, height), kind, 0)
    }

    fn cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz (
        to: Handle, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize,
        kind: c_uint, on: Handle,
    ) {
        rows(to_array(to, x, y), linear(from, pitch, width)?, (width, height), kind, on)
    }

    fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds (
        to: u64, pitch: usize, from: Handle, x: usize, y: usize, width: usize, height: usize,
        kind: c_uint,
    ) {
        rows(linear(to, pitch, width)?, to_array(from, x, y), (width, height), kind, 0)
    }

    fn cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz (
        to: u64, pitch: usize, from: Handle, x: usize, y: usize, width: usize, height: usize,
        kind: c_uint, on: Handle,
    ) {
        rows(linear(to, pitch, width)?, to_array(from, x, y), (width, height), kind, on)
    }

    fn cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds (
        to: Handle, to_x: usize, to_y: usize, from: Handle, x: usize, y: usize, width: usize,
        height: usize, kind: c_uint,
    ) {
        rows(to_array(to, to_x, to_y), to_array(from, x, y), (width, height), kind, 0)
    }

    fn cudaMemcpy3D | cudaMemcpy3D_ptds (params: In<Params>) {
        call::cuMemcpy3D_v2(In::of(&params.get()?.copy()?))
    }

    fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds (params: In<PeerParams>) {
        call::cuMemcpy3D_v2(In::of(&params.get()?.copy()?))
    }

    fn cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz (params: In<PeerParams>, on: Handle) {
        call::cuMemcpy3DAsync_v2(In::of(&params.get()?.copy()?), on)
    }

    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz (params: In<Params>, on: Handle) {
        call::cuMemcpy3DAsync_v2(In::of(&params.get()?.copy()?), on)
    }
}
