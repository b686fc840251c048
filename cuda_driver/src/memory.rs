//! Device memory of the current context: allocations, copies and fills.
//!
//! Addresses are numbers here: whether memory is allocated, and for how long, is the caller's to
//! know.

use crate::error::DriverError;
use crate::handles::CUdeviceptr;
use crate::stream::Stream;
use crate::table;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Free memory and all memory of the current context's device, in bytes (`cuMemGetInfo`).
///
/// # Errors
/// Where no context is current.
pub fn info() -> Result<(usize, usize), DriverError> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the driver writes two sizes.
    unsafe { table::cuMemGetInfo_v2::call(&mut free, &mut total) }.check("cuMemGetInfo")?;
    Ok((free, total))
}

/// Allocates `bytes` bytes, aligned to 256 at least and not initialised (`cuMemAlloc`).
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY` (2), `CUDA_ERROR_INVALID_VALUE` (1) for 0 bytes.
pub fn allocate(bytes: usize) -> Result<CUdeviceptr, DriverError> {
    let mut address = 0;
    // SAFETY: the driver writes one address.
    unsafe { table::cuMemAlloc_v2::call(&mut address, bytes) }.check("cuMemAlloc")?;
    Ok(address)
}

/// Frees what [`allocate`] gave (`cuMemFree`), after everything on the device has run.
///
/// # Errors
/// Those of what ran before.
///
/// # Safety
/// The address is one of [`allocate`] and is not used again.
pub unsafe fn free(address: CUdeviceptr) -> Result<(), DriverError> {
    // SAFETY: the same contract.
    unsafe { table::cuMemFree_v2::call(address) }.check("cuMemFree")
}

/// Copies to the device (`cuMemcpyHtoD`); returns when the host's bytes have been read, which may
/// be before they have arrived.
///
/// # Errors
/// Those of the driver, and of what ran before.
///
/// # Safety
/// `to` is the start of as many bytes of device memory, which nothing else uses meanwhile.
pub unsafe fn upload(to: CUdeviceptr, bytes: &[u8]) -> Result<(), DriverError> {
    if bytes.is_empty() {
        return Ok(());
    }
    // SAFETY: the caller vouches for the device's side.
    unsafe { table::cuMemcpyHtoD_v2::call(to, bytes.as_ptr().cast(), bytes.len()) }
        .check("cuMemcpyHtoD")
}

/// Copies to the host (`cuMemcpyDtoH`), and waits for it.
///
/// # Errors
/// Those of the driver, and of what ran before.
///
/// # Safety
/// `from` is the start of as many bytes of device memory, which nothing else writes meanwhile.
pub unsafe fn download(bytes: &mut [u8], from: CUdeviceptr) -> Result<(), DriverError> {
    if bytes.is_empty() {
        return Ok(());
    }
    // SAFETY: the caller vouches for the device's side.
    unsafe { table::cuMemcpyDtoH_v2::call(bytes.as_mut_ptr().cast(), from, bytes.len()) }
        .check("cuMemcpyDtoH")
}

/// Puts a copy inside of device memory on a stream (`cuMemcpyDtoDAsync`).
///
/// # Errors
/// Those of the driver.
///
/// # Safety
/// Both ranges are device memory until the copy has run.
pub unsafe fn copy_on(
    stream: &Stream,
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
) -> Result<(), DriverError> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the stream is valid; the caller vouches for the memory.
    unsafe { table::cuMemcpyDtoDAsync_v2::call(to, from, bytes, stream.as_raw()) }
        .check("cuMemcpyDtoDAsync")
}

/// Puts a fill of `bytes` bytes with one value on a stream (`cuMemsetD8Async`).
///
/// # Errors
/// Those of the driver.
///
/// # Safety
/// The range is device memory until the fill has run.
pub unsafe fn fill_on(
    stream: &Stream,
    to: CUdeviceptr,
    value: u8,
    bytes: usize,
) -> Result<(), DriverError> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the stream is valid; the caller vouches for the memory.
    unsafe { table::cuMemsetD8Async::call(to, value, bytes, stream.as_raw()) }
        .check("cuMemsetD8Async")
}

/// Allocates page-locked memory of the host, not initialised (`cuMemAllocHost`).
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY` (2), `CUDA_ERROR_INVALID_VALUE` (1) for 0 bytes.
pub fn allocate_host(bytes: usize) -> Result<NonNull<u8>, DriverError> {
    const CALL: &str = "cuMemAllocHost";
    const OUT_OF_MEMORY: u32 = 2;
    let mut memory = std::ptr::null_mut();
    // SAFETY: the driver writes one address.
    unsafe { table::cuMemAllocHost_v2::call(&mut memory, bytes) }.check(CALL)?;
    NonNull::new(memory.cast()).ok_or(DriverError {
        call: CALL,
        code: OUT_OF_MEMORY,
    })
}

/// Frees what [`allocate_host`] gave (`cuMemFreeHost`).
///
/// # Errors
/// Those of what ran before.
///
/// # Safety
/// The memory is from [`allocate_host`], and is not used again, by copies in flight either.
pub unsafe fn free_host(memory: NonNull<u8>) -> Result<(), DriverError> {
    // SAFETY: the same contract.
    unsafe { table::cuMemFreeHost::call(memory.as_ptr().cast()) }.check("cuMemFreeHost")
}

/// Puts a copy to the device on a stream (`cuMemcpyHtoDAsync`).
///
/// # Errors
/// Those of the driver.
///
/// # Safety
/// Until the copy has run, `to` is the start of `bytes` bytes of device memory, and `from` of as
/// many of the host, which stay as they are.
pub unsafe fn upload_on(
    stream: &Stream,
    to: CUdeviceptr,
    from: *const u8,
    bytes: usize,
) -> Result<(), DriverError> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the stream is valid; the caller vouches for the memory.
    unsafe { table::cuMemcpyHtoDAsync_v2::call(to, from.cast(), bytes, stream.as_raw()) }
        .check("cuMemcpyHtoDAsync")
}

/// Puts a copy to the host on a stream (`cuMemcpyDtoHAsync`).
///
/// # Errors
/// Those of the driver.
///
/// # Safety
/// Until the copy has run, `from` is the start of `bytes` bytes of device memory, and `to` of as
/// many of the host, which nothing else uses.
pub unsafe fn download_on(
    stream: &Stream,
    to: *mut u8,
    from: CUdeviceptr,
    bytes: usize,
) -> Result<(), DriverError> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the stream is valid; the caller vouches for the memory.
    unsafe { table::cuMemcpyDtoHAsync_v2::call(to.cast(), from, bytes, stream.as_raw()) }
        .check("cuMemcpyDtoHAsync")
}

/// Lines of a copy between host and device, of the same length. In the device's memory they lie
/// behind each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Bytes of a line.
    pub bytes: usize,
    /// How many.
    pub count: usize,
    /// Bytes from the start of a line to that of the next one, in the host's memory: at most 2 GiB
    /// less 1.
    pub pitch: usize,
}

/// One side of `CUDA_MEMCPY2D`.
#[repr(C)]
struct RawPlane {
    x: usize,
    y: usize,
    memory_type: u32,
    host: *mut c_void,
    device: CUdeviceptr,
    array: *mut c_void,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
struct RawCopy2d {
    from: RawPlane,
    to: RawPlane,
    width: usize,
    height: usize,
}

/// `CU_MEMORYTYPE_HOST` and `CU_MEMORYTYPE_DEVICE`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;

impl RawPlane {
    fn host(memory: *mut u8, lines: Lines) -> Self {
        RawPlane {
            memory_type: HOST,
            host: memory.cast(),
            pitch: lines.pitch,
            ..Self::device(0, lines)
        }
    }

    fn device(address: CUdeviceptr, lines: Lines) -> Self {
        RawPlane {
            x: 0,
            y: 0,
            memory_type: DEVICE,
            host: std::ptr::null_mut(),
            device: address,
            array: std::ptr::null_mut(),
            pitch: lines.bytes,
        }
    }
}

/// Puts a copy of lines on a stream.
///
/// # Safety
/// Both sides have the lines until the copy has run.
unsafe fn copy_lines_on(
    stream: &Stream,
    [from, to]: [RawPlane; 2],
    lines: Lines,
) -> Result<(), DriverError> {
    if lines.bytes == 0 || lines.count == 0 {
        return Ok(());
    }
    let copy = RawCopy2d {
        from,
        to,
        width: lines.bytes,
        height: lines.count,
    };
    // SAFETY: the stream is valid, and the driver reads the description before it returns; the
    // caller vouches for the memory.
    unsafe { table::cuMemcpy2DAsync_v2::call((&raw const copy).cast(), stream.as_raw()) }
        .check("cuMemcpy2DAsync")
}

/// Puts a copy of lines to the device on a stream (`cuMemcpy2DAsync`).
///
/// # Errors
/// Those of the driver.
///
/// # Safety
/// Until the copy has run, `to` is the start of as many bytes of device memory, and `from` of the
/// first line of the host's, which stay as they are.
pub unsafe fn upload_lines_on(
    stream: &Stream,
    to: CUdeviceptr,
    from: *const u8,
    lines: Lines,
) -> Result<(), DriverError> {
    let (to, from) = (
        RawPlane::device(to, lines),
        RawPlane::host(from.cast_mut(), lines),
    );
    // SAFETY: the same contract; the driver reads the host's side.
    unsafe { copy_lines_on(stream, [from, to], lines) }
}

/// Puts a copy of lines to the host on a stream (`cuMemcpy2DAsync`).
///
/// # Errors
/// Those of the driver.
///
/// # Safety
/// Until the copy has run, `from` is the start of as many bytes of device memory, and `to` of the
/// first line of the host's, which nothing else uses.
pub unsafe fn download_lines_on(
    stream: &Stream,
    to: *mut u8,
    from: CUdeviceptr,
    lines: Lines,
) -> Result<(), DriverError> {
    let (to, from) = (RawPlane::host(to, lines), RawPlane::device(from, lines));
    // SAFETY: the same contract.
    unsafe { copy_lines_on(stream, [from, to], lines) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_in_two_dimensions_is_laid_out_as_the_driver_reads_it() {
        // sizeof and offsets of CUDA_MEMCPY2D on a 64-bit system.
        assert_eq!(size_of::<RawCopy2d>(), 128);
        assert_eq!(std::mem::offset_of!(RawCopy2d, to), 56);
        assert_eq!(std::mem::offset_of!(RawPlane, device), 32);
        assert_eq!(std::mem::offset_of!(RawCopy2d, width), 112);
    }
}
