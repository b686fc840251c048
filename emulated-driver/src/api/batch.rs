//! Batches of copies, and of what says where memory should be. Their copies run one after the
//! other, in the order of the stream.

use std::ffi::c_uint;

use super::copy::{Copy3d, Volume, copy_3d, copy_any};
use super::memory::{check_address, prefetch};
use crate::code::{Code, Result};
use crate::pointer::{Host, In, Out};
use crate::state::{Handle, driver};
use crate::stream;

/// Copies of bytes. `failed` gets the number of the first that the driver refuses.
fn copy_bytes(
    (to, from, bytes): (In<u64>, In<u64>, In<usize>),
    count: usize,
    failed: Out<usize>,
    on: Handle,
) -> Result {
    failed.set_optional(usize::MAX);
    if count == 0 {
        return Err(Code::INVALID_VALUE);
    }
    for index in 0..count {
        let copied = copy_any(to.at(index)?, from.at(index)?, bytes.at(index)?, on);
        if copied.is_err() {
            failed.set_optional(index);
            return copied;
        }
    }
    Ok(())
}

/// `CUmemcpy3DOperand`: its kind, and an address with the elements of a row and the rows of a
/// layer, or an array with a place in it.
type Operand = [u64; 5];

/// `CUDA_MEMCPY3D_BATCH_OP`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3dOperation {
    from: Operand,
    to: Operand,
    extent: [usize; 3],
    _order: c_uint,
    _flags: c_uint,
}

const POINTER: u32 = 1;
const ARRAY: u32 = 2;

/// The kind of an operand: the upper half of its word is padding.
fn kind(operand: &Operand) -> u32 {
    operand[0] as u32
}

/// Bytes of an element of an operand that is an array.
fn element_bytes(operand: &Operand) -> Result<Option<usize>> {
    match kind(operand) {
        POINTER => Ok(None),
        ARRAY => {
            let array = driver()?.arrays.get(operand[1] as Handle)?;
            Ok(Some(array.image.texel_bytes() as usize))
        }
        _ => Err(Code::INVALID_VALUE),
    }
}

fn side(operand: &Operand, element: usize) -> Result<Volume> {
    let [_, start, x, y, z] = *operand;
    let x = (x as usize).checked_mul(element);
    let x = x.ok_or(Code::INVALID_VALUE)?;
    Ok(match kind(operand) {
        ARRAY => Volume::of_array(start as Handle).at([x, y as usize, z as usize]),
        _ => Volume::linear(Host::at_address(start), x, y as usize),
    })
}

impl Copy3dOperation {
    /// As other copies are: widths in bytes.
    fn copy(&self) -> Result<Copy3d> {
        let (from, to) = (element_bytes(&self.from)?, element_bytes(&self.to)?);
        if from.is_some() && to.is_some() && from != to || self.extent.contains(&0) {
            return Err(Code::INVALID_VALUE);
        }
        let element = from.or(to).unwrap_or(1);
        let [width, height, depth] = self.extent;
        Ok(Copy3d {
            from: side(&self.from, element)?,
            to: side(&self.to, element)?,
            width: width.checked_mul(element).ok_or(Code::INVALID_VALUE)?,
            height,
            depth,
        })
    }
}

fn copy_volumes(
    count: usize,
    all: In<Copy3dOperation>,
    (failed, flags): (Out<usize>, u64),
    on: Handle,
) -> Result {
    failed.set_optional(usize::MAX);
    if flags != 0 || count == 0 {
        return Err(Code::INVALID_VALUE);
    }
    for index in 0..count {
        let copied = all.at(index)?.copy().and_then(|copy| copy_3d(copy, on));
        if copied.is_err() {
            failed.set_optional(index);
            return copied;
        }
    }
    Ok(())
}

/// All memory is where every kernel reads it: the addresses are checked.
fn check_addresses(addresses: In<u64>, count: usize, flags: u64, on: Handle) -> Result {
    stream::stream(on)?;
    if flags != 0 || count == 0 {
        return Err(Code::INVALID_VALUE);
    }
    (0..count).try_for_each(|index| check_address(addresses.at(index)?))
}

/// Ranges of memory.
type Ranges = (In<u64>, In<usize>, usize);

/// Prefetches ranges. Each place has the index of the first range that is for it.
fn prefetch_all(
    (addresses, bytes, count): Ranges,
    (places, indices, place_count): (In<u64>, In<usize>, usize),
    flags: u64,
    on: Handle,
) -> Result {
    check_addresses(addresses, count, flags, on)?;
    if place_count == 0 || place_count > count || indices.get()? != 0 {
        return Err(Code::INVALID_VALUE);
    }
    for place in 0..place_count {
        let end = match place + 1 {
            next if next < place_count => indices.at(next)?,
            _ => count,
        };
        let first = indices.at(place)?;
        if first >= end || end > count {
            return Err(Code::INVALID_VALUE);
        }
        for index in first..end {
            prefetch((addresses.at(index)?, bytes.at(index)?), places.at(place)?)?;
        }
    }
    Ok(())
}

api! {
    fn cuMemcpyBatchAsync | cuMemcpyBatchAsync_ptsz (
        to: In<u64>, from: In<u64>, bytes: In<usize>, count: usize, _attributes: Host,
        _indices: In<usize>, _attribute_count: usize, failed: Out<usize>, on: Handle,
    ) {
        copy_bytes((to, from, bytes), count, failed, on)
    }

    fn cuMemcpyBatchAsync_v2 | cuMemcpyBatchAsync_v2_ptsz (
        to: In<u64>, from: In<u64>, bytes: In<usize>, count: usize, _attributes: Host,
        _indices: In<usize>, _attribute_count: usize, on: Handle,
    ) {
        copy_bytes((to, from, bytes), count, Out::NONE, on)
    }

    fn cuMemcpy3DBatchAsync | cuMemcpy3DBatchAsync_ptsz (
        count: usize, all: In<Copy3dOperation>, failed: Out<usize>, flags: u64, on: Handle,
    ) {
        copy_volumes(count, all, (failed, flags), on)
    }

    fn cuMemcpy3DBatchAsync_v2 | cuMemcpy3DBatchAsync_v2_ptsz (
        count: usize, all: In<Copy3dOperation>, flags: u64, on: Handle,
    ) {
        copy_volumes(count, all, (Out::NONE, flags), on)
    }

    fn cuMemcpyWithAttributesAsync | cuMemcpyWithAttributesAsync_ptsz (
        to: u64, from: u64, bytes: usize, _attributes: Host, on: Handle,
    ) {
        copy_any(to, from, bytes, on)
    }

    fn cuMemcpy3DWithAttributesAsync | cuMemcpy3DWithAttributesAsync_ptsz (
        one: In<Copy3dOperation>, flags: u64, on: Handle,
    ) {
        copy_volumes(1, one, (Out::NONE, flags), on)
    }

    fn cuMemPrefetchBatchAsync | cuMemPrefetchBatchAsync_ptsz (
        addresses: In<u64>, bytes: In<usize>, count: usize, places: In<u64>,
        indices: In<usize>, place_count: usize, flags: u64, on: Handle,
    ) {
        let places = (places, indices, place_count);
        prefetch_all((addresses, bytes, count), places, flags, on)
    }

    // Memory that is discarded has any values: those that it had are some.
    fn cuMemDiscardBatchAsync | cuMemDiscardBatchAsync_ptsz (
        addresses: In<u64>, _bytes: In<usize>, count: usize, flags: u64, on: Handle,
    ) {
        check_addresses(addresses, count, flags, on)
    }

    fn cuMemDiscardAndPrefetchBatchAsync | cuMemDiscardAndPrefetchBatchAsync_ptsz (
        addresses: In<u64>, bytes: In<usize>, count: usize, places: In<u64>,
        indices: In<usize>, place_count: usize, flags: u64, on: Handle,
    ) {
        let places = (places, indices, place_count);
        prefetch_all((addresses, bytes, count), places, flags, on)
    }
}
