//! Memory that processes share. What is exported lies in a file without a name from then on, which
//! another process opens through the exporting one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ptx_emulator::HostStorage;

use crate::code::{Code, Result};
use crate::memory::{Allocated, Kind, of_memory_error};
use crate::pages::{PAGE, Pages};
use crate::state::{Driver, Handle, lock};
use crate::virtual_memory::GRANULARITY;

/// What a handle for another process says (`CUipcMemHandle`, `CUmemPoolPtrExportData`): a mark, the
/// process, its file, the bytes, and how far behind the start the pointer is.
pub(crate) type Ticket = [u64; 8];

const MARK: u64 = u64::from_le_bytes(*b"wlmemory");

/// What this process has exported and imported.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    /// The file of each exported allocation, by its address.
    exported: BTreeMap<u64, File>,
    /// Address and uses of what was imported, by process and file.
    imported: BTreeMap<[u64; 2], (u64, u64)>,
}

/// A file that has no name.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) fn nameless_file(bytes: u64) -> Result<File> {
    // SAFETY: the name is a text that ends in a null byte.
    let file = unsafe { libc::memfd_create(c"warpladder".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(Code::OUT_OF_MEMORY);
    }
    // SAFETY: the number is that of a file which has just been opened, and nothing else has it.
    let file = unsafe { File::from_raw_fd(file) };
    let sized = file.set_len(bytes.next_multiple_of(PAGE));
    sized.map_err(|_| Code::OUT_OF_MEMORY)?;
    Ok(file)
}

/// The storage of an allocation that lies in a file.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` where the file is shorter.
pub(crate) fn pages_of(file: &File, bytes: u64) -> Result<Pages> {
    let length = file.metadata().map_err(|_| Code::INVALID_VALUE)?.len();
    if length < bytes {
        return Err(Code::INVALID_VALUE);
    }
    Pages::of_file(file, bytes).ok_or(Code::OUT_OF_MEMORY)
}

fn storage(pages: Pages, bytes: u64) -> Option<HostStorage> {
    let start = pages.start();
    // SAFETY: the pages are mapped until the owner is dropped. Another process that has them too
    // uses them by kernels and copies of its own, whose order the programs see to.
    unsafe { HostStorage::new(start, bytes, Box::new(pages)) }
}

impl Driver {
    /// What another process needs to have the allocation around an address.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where that is no device memory of this process.
    pub(crate) fn export(&self, address: u64) -> Result<Ticket> {
        let found = self.allocation_at(address);
        let found = found.filter(|one| one.kind == Kind::EmulatedDevice);
        let found = found.ok_or(Code::INVALID_VALUE)?;
        let mut sharing = lock(&self.sharing);
        let file = match sharing.exported.entry(found.address) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(self.move_to_file(&found)?),
        };
        let file = file.as_raw_fd();
        Ok([
            MARK,
            u64::from(std::process::id()),
            file as u64,
            found.bytes,
            address - found.address,
            found.device as u64,
            0,
            0,
        ])
    }

    /// Gives an allocation pages of a file, with what is in it.
    fn move_to_file(&self, found: &Allocated) -> Result<File> {
        const CHUNK: u64 = 1 << 20;
        let invalid = |error| of_memory_error(&error);
        let file = nameless_file(found.bytes)?;
        let mut at = 0;
        while at < found.bytes {
            let mut part = vec![0; CHUNK.min(found.bytes - at) as usize];
            self.memory
                .read(found.address + at, &mut part)
                .map_err(invalid)?;
            file.write_all_at(&part, at)
                .map_err(|_| Code::OUT_OF_MEMORY)?;
            at += part.len() as u64;
        }
        let pages = pages_of(&file, found.bytes)?;
        let storage = storage(pages, found.bytes).ok_or(Code::OUT_OF_MEMORY)?;
        self.memory.free(found.address).map_err(invalid)?;
        let placed = self.memory.alloc_at(found.address, found.bytes, storage);
        placed.map_err(invalid)?;
        // What other processes write is not known: nothing of it is reported.
        self.memory.mark_written(found.address, found.bytes);
        Ok(file)
    }

    /// Forgets what was exported at an address that is freed: processes that imported it keep it.
    pub(crate) fn forget_export(&self, address: u64) {
        lock(&self.sharing).exported.remove(&address);
    }

    /// Memory of another process, at an address of this one: the same for every import.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where that is no such memory, or its process has ended,
    /// `CUDA_ERROR_INVALID_CONTEXT` for memory of this process.
    pub(crate) fn import(&self, ticket: Ticket, (context, pool): (Handle, Handle)) -> Result<u64> {
        let [mark, process, number, bytes, offset, device, ..] = ticket;
        let device = usize::try_from(device).map_err(|_| Code::INVALID_VALUE)?;
        if mark != MARK || bytes == 0 || offset >= bytes || device >= self.devices.len() {
            return Err(Code::INVALID_VALUE);
        }
        if process == u64::from(std::process::id()) {
            return Err(Code::INVALID_CONTEXT);
        }
        let mut sharing = lock(&self.sharing);
        if let Some((address, uses)) = sharing.imported.get_mut(&[process, number]) {
            *uses += 1;
            return Ok(*address + offset);
        }
        let path = format!("/proc/{process}/fd/{number}");
        let file = File::options().read(true).write(true).open(path);
        let pages = pages_of(&file.map_err(|_| Code::INVALID_VALUE)?, bytes)?;
        let made = self
            .memory
            .alloc_over(bytes, GRANULARITY, |_| storage(pages, bytes));
        let address = made.map_err(|error| of_memory_error(&error))?;
        self.memory.mark_written(address, bytes);
        lock(&self.allocations).insert(Allocated {
            address,
            bytes,
            kind: Kind::Imported,
            device,
            context,
            pool,
            id: 0,
        });
        sharing.imported.insert([process, number], (address, 1));
        Ok(address + offset)
    }

    /// Ends one use of imported memory.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where none starts at the address.
    pub(crate) fn close_import(&self, address: u64) -> Result {
        let mut sharing = lock(&self.sharing);
        let mut all = sharing.imported.iter_mut();
        let found = all.find(|(_, (known, _))| *known == address);
        let (&key, (_, uses)) = found.ok_or(Code::INVALID_VALUE)?;
        *uses -= 1;
        if *uses > 0 {
            return Ok(());
        }
        sharing.imported.remove(&key);
        drop(sharing);
        self.release(address, |kind| kind == Kind::Imported)
    }
}

/// A file that the program has a number of its own for.
///
/// # Errors
/// `CUDA_ERROR_OPERATING_SYSTEM`.
pub(crate) fn number_for_program(file: &File) -> Result<i32> {
    // SAFETY: the file is open.
    let number = unsafe { libc::dup(file.as_raw_fd()) };
    if number < 0 {
        return Err(Code::OPERATING_SYSTEM);
    }
    Ok(number)
}

/// The file behind a number of the program, which stays the program's.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` where no file has it.
pub(crate) fn file_of_program(number: i32) -> Result<Arc<File>> {
    // SAFETY: any number may be duplicated; one without a file is refused.
    let own = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    if own < 0 {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the number is that of a file which has just been opened, and nothing else has it.
    Ok(Arc::new(unsafe { File::from_raw_fd(own) }))
}
