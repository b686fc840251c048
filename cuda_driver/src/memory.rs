//! Device memory of the current context: allocations, copies and fills.
//!
//! Addresses are numbers here: whether memory is allocated, and for how long, is the caller's to
//! know.

use crate::error::DriverError;
use crate::handles::CUdeviceptr;
use crate::stream::Stream;
use crate::table;
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
