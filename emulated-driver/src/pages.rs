//! Pages of the process at addresses of the emulator's choice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::code::{Code, Result};
use crate::pointer::Host;

pub(crate) const PAGE: u64 = 4096;

/// Pages at the address that device memory has them at; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<libc::c_void>,
    bytes: usize,
}

// SAFETY: the pages belong to this value alone until it is dropped, and unmapping them is possible
// on any thread.
unsafe impl Send for Pages {}

// SAFETY: as for `Send`: nothing is done through a shared reference.
unsafe impl Sync for Pages {}

/// What this module has mapped.
struct Mapped {
    /// Bytes of each range of pages, by its start.
    ranges: BTreeMap<u64, u64>,
    /// Pages that stay mapped until the process ends: variables lie in them, beside other memory.
    kept: BTreeSet<u64>,
}

static MAPPED: Mutex<Mapped> = Mutex::new(Mapped {
    ranges: BTreeMap::new(),
    kept: BTreeSet::new(),
});

/// What is mapped; it is valid at every step, also where a thread panicked.
fn mapped() -> MutexGuard<'static, Mapped> {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The parts of a range of pages, as start and bytes, between pages that are kept.
fn parts(kept: &BTreeSet<u64>, start: u64, bytes: u64) -> Vec<(u64, u64)> {
    let (mut at, end, mut all) = (start, start + bytes, Vec::new());
    for &page in kept.range(start..end).chain([&end]) {
        if page > at {
            all.push((at, page - at));
        }
        at = page + PAGE;
    }
    all
}

/// Maps pages at an address, or where it is 0 anywhere.
fn map_pages(address: u64, bytes: u64) -> Option<NonNull<libc::c_void>> {
    let wanted: *mut libc::c_void = std::ptr::with_exposed_provenance_mut(address as usize);
    let fixed = if address > 0 {
        libc::MAP_FIXED_NOREPLACE
    } else {
        0
    };
    // Without MAP_NORESERVE the system refuses what exceeds its memory, used or not.
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let bytes = usize::try_from(bytes).ok()?;
    // SAFETY: MAP_FIXED_NOREPLACE maps no page that is in use.
    let start = unsafe { libc::mmap(wanted, bytes, access, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    if address > 0 && start != wanted {
        // Kernels before Linux 4.17 do not know the flag, and choose an address of their own.
        // SAFETY: the pages have just been mapped, and nothing uses them.
        unsafe { libc::munmap(start, bytes) };
        return None;
    }
    NonNull::new(start)
}

fn unmap_pages(parts: &[(u64, u64)]) {
    for &(start, bytes) in parts {
        let start: *mut libc::c_void = std::ptr::with_exposed_provenance_mut(start as usize);
        // SAFETY: the pages were mapped by this module, and the program has freed them.
        unsafe { libc::munmap(start, bytes as usize) };
    }
}

/// Keeps the pages of a variable, and maps those that are not mapped.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY` where something of the program, and not of CUDA, lies there.
pub(crate) fn keep_pages(address: u64, bytes: u64) -> Result {
    let Mapped { ranges, kept } = &mut *mapped();
    let (first, last) = (address / PAGE, (address + bytes.max(1) - 1) / PAGE);
    for page in (first..=last).map(|page| page * PAGE) {
        let before = ranges.range(..=page).next_back();
        let is_mapped = before.is_some_and(|(start, bytes)| page - start < *bytes);
        if !kept.contains(&page) && !is_mapped {
            map_pages(page, PAGE).ok_or(Code::OUT_OF_MEMORY)?;
        }
        kept.insert(page);
    }
    Ok(())
}

impl Pages {
    /// Pages at an address, or anywhere.
    pub(crate) fn map(address: Option<u64>, bytes: u64) -> Option<Pages> {
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE)?;
        let Some(address) = address else {
            let (start, bytes) = (map_pages(0, bytes)?, usize::try_from(bytes).ok()?);
            return Some(Pages { start, bytes });
        };
        let mut mapped = mapped();
        let parts = parts(&mapped.kept, address, bytes);
        for (index, &(start, length)) in parts.iter().enumerate() {
            if map_pages(start, length).is_none() {
                unmap_pages(&parts[..index]);
                return None;
            }
        }
        mapped.ranges.insert(address, bytes);
        Some(Pages {
            start: NonNull::new(Host::at_address(address).raw())?,
            bytes: usize::try_from(bytes).ok()?,
        })
    }

    /// Pages of a file, anywhere, which every process that maps the file has.
    pub(crate) fn of_file(file: &File, bytes: u64) -> Option<Pages> {
        let bytes = usize::try_from(bytes.max(1).checked_next_multiple_of(PAGE)?).ok()?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (anywhere, file) = (std::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: nothing is mapped over, and the file is open.
        let start = unsafe { libc::mmap(anywhere, bytes, access, libc::MAP_SHARED, file, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start = NonNull::new(start)?;
        Some(Pages { start, bytes })
    }

    /// The first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start.cast()
    }

    /// A byte of them.
    pub(crate) fn at(&self, offset: u64) -> Option<NonNull<u8>> {
        let inside = usize::try_from(offset)
            .ok()
            .filter(|offset| *offset < self.bytes)?;
        NonNull::new(self.start.as_ptr().cast::<u8>().wrapping_add(inside))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let start = self.start.as_ptr().expose_provenance() as u64;
        let mut mapped = mapped();
        mapped.ranges.remove(&start);
        unmap_pages(&parts(&mapped.kept, start, self.bytes as u64));
    }
}
