//! Device memory.

use ptx_emulator::{HostStorage, Memory};

use crate::error::{Failure, Result, guard};
use crate::pointer::{Bytes, Object, Out, make};

/// `ptxemu_memory`.
pub struct EmulatedMemory(pub(crate) Memory);

/// Makes `bytes` bytes of the host's memory those at `address` for kernels. Host words of 4 bytes
/// are those of the device: the bytes before the first one, in its word, belong to the allocation.
pub(crate) fn map(memory: &Memory, address: u64, host: Bytes, bytes: u64) -> Result {
    let head = host.address() % 4;
    if bytes == 0 || address % 4 != head {
        return Err(Failure::invalid(format!(
            "{bytes} bytes at {:#x} of the host cannot be at {address:#x}: both addresses must be \
             the same modulo 4, and the bytes not 0",
            host.address()
        )));
    }
    let all = bytes
        .checked_add(head)
        .ok_or_else(|| Failure::invalid("more bytes than there are addresses"))?;
    // SAFETY: the caller maps memory that can be read and written until it is unmapped or the
    // emulated memory is freed, and does not use it while a kernel runs (`ptxemu.h`). A word that
    // holds some of its bytes lies in its page.
    let storage = unsafe { HostStorage::new(host.before(head)?, all, Box::new(())) };
    let storage = storage.ok_or_else(|| Failure::invalid("the memory is not aligned to words"))?;
    memory.alloc_at(address - head, all, storage)?;
    memory.mark_written(address - head, all);
    Ok(())
}

/// `ptxemu_memory_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_memory_create(capacity: u64, to: Out<*mut EmulatedMemory>) -> u32 {
    guard(|| make(&to, EmulatedMemory(Memory::with_capacity(capacity))))
}

/// `ptxemu_memory_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_memory_free(memory: Object<EmulatedMemory>) {
    memory.free();
}

/// `ptxemu_memory_used`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_memory_used(memory: Object<EmulatedMemory>) -> u64 {
    memory.get().map_or(0, |memory| memory.0.used())
}

/// `ptxemu_alloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_alloc(
    memory: Object<EmulatedMemory>,
    bytes: u64,
    to: Out<u64>,
) -> u32 {
    guard(|| {
        let memory = memory.get()?;
        match to.is_null() {
            true => Err(Failure::invalid("a pointer to a result is null")),
            false => to.set(memory.0.alloc(bytes)?),
        }
    })
}

/// `ptxemu_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_release(memory: Object<EmulatedMemory>, address: u64) -> u32 {
    guard(|| Ok(memory.get()?.0.free(address)?))
}

/// `ptxemu_map`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_map(
    memory: Object<EmulatedMemory>,
    address: u64,
    host: Bytes,
    bytes: u64,
) -> u32 {
    guard(|| {
        let address = if address == 0 {
            host.address()
        } else {
            address
        };
        map(&memory.get()?.0, address, host, bytes)
    })
}

/// `ptxemu_unmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_unmap(memory: Object<EmulatedMemory>, address: u64) -> u32 {
    guard(|| Ok(memory.get()?.0.free(address - address % 4)?))
}

/// `ptxemu_write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_write(
    memory: Object<EmulatedMemory>,
    address: u64,
    from: Bytes,
    bytes: usize,
) -> u32 {
    guard(|| Ok(memory.get()?.0.write(address, from.read(bytes)?)?))
}

/// `ptxemu_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_read(
    memory: Object<EmulatedMemory>,
    address: u64,
    to: Bytes,
    bytes: usize,
) -> u32 {
    guard(|| {
        let memory = &memory.get()?.0;
        // A part of what was asked for is checked first: the buffer is made as the bytes come.
        const CHUNK: usize = 1 << 20;
        let last = (bytes as u64).checked_sub(1);
        let last = last.and_then(|last| address.checked_add(last));
        if let (Some(last), false) = (last, bytes <= CHUNK) {
            memory.read(last, &mut [0])?;
        }
        let mut buffer = vec![0; bytes.min(CHUNK)];
        for start in (0..bytes).step_by(CHUNK) {
            let part = &mut buffer[..(bytes - start).min(CHUNK)];
            memory.read(address + start as u64, part)?;
            Bytes::at_address(to.address() + start as u64).write(part)?;
        }
        Ok(())
    })
}

/// `ptxemu_fill`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_fill(
    memory: Object<EmulatedMemory>,
    address: u64,
    value: u8,
    bytes: u64,
) -> u32 {
    guard(|| Ok(memory.get()?.0.fill(address, bytes, value)?))
}

/// `ptxemu_mark_written`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_mark_written(
    memory: Object<EmulatedMemory>,
    address: u64,
    bytes: u64,
) -> u32 {
    guard(|| {
        memory.get()?.0.mark_written(address, bytes);
        Ok(())
    })
}
