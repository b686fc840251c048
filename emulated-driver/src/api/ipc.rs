//! Sharing between processes: memory, events, pools and physical memory.

use std::ffi::{c_int, c_uint};
use std::os::unix::fs::FileExt;

use crate::code::{Code, Result};
use crate::context::current;
use crate::ipc::{Ticket, file_of_program, nameless_file, number_for_program};
use crate::memory::Pool;
use crate::pointer::{Host, In, Out};
use crate::state::{Handle, driver};
use crate::stream::{self, Event};
use crate::virtual_memory::Physical;

/// What an event's handle for another process begins with.
const EVENT: u64 = u64::from_le_bytes(*b"wl event");

/// What the file of a pool begins with.
const POOL: [u8; 7] = *b"wl pool";

/// `CU_EVENT_DISABLE_TIMING` and `CU_EVENT_INTERPROCESS`: an event for other processes has both.
const OF_PROCESSES: c_uint = 2 | 4;

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
const FILE: c_uint = 1;

fn is_file(kind: c_uint, flags: u64) -> Result {
    match (kind, flags) {
        (FILE, 0) => Ok(()),
        (FILE, _) => Err(Code::INVALID_VALUE),
        // Those of other operating systems, and of networks of GPUs.
        _ => Err(Code::NOT_SUPPORTED),
    }
}

api! {
    fn cuIpcGetMemHandle(to: Out<Ticket>, address: u64) {
        to.set(current()?.driver.export(address)?)
    }

    fn cuIpcOpenMemHandle_v2(to: Out<u64>, ticket: Ticket8, flags: c_uint) {
        // The one flag, which must be set, lets the access of peers begin.
        let current = current()?;
        if flags != 1 || to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        to.set(current.driver.import(ticket.0, (current.handle, 0))?)
    }

    fn cuIpcCloseMemHandle(address: u64) { current()?.driver.close_import(address) }

    fn cuIpcGetEventHandle(to: Out<Ticket>, event: Handle) {
        let found = stream::event(event)?;
        if found.flags & OF_PROCESSES != OF_PROCESSES {
            // Programs look at the handle, and not at the code.
            to.set([0; 8])?;
            return Err(Code::INVALID_VALUE);
        }
        to.set([EVENT, u64::from(std::process::id()), event as u64, 0, 0, 0, 0, 0])
    }

    fn cuIpcOpenEventHandle(to: Out<Handle>, ticket: Ticket8) {
        let current = current()?;
        if ticket.0[0] != EVENT || to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // Work is done when it is put on a stream, and so whatever the other process has recorded
        // is: the event has nothing to wait for.
        to.set(current.driver.events.insert(Event::new(current.handle, OF_PROCESSES)))
    }

    fn cuMemPoolExportToShareableHandle(to: Out<c_int>, pool: Handle, kind: c_uint, flags: u64) {
        is_file(kind, flags)?;
        let pool = driver()?.pools.get(pool)?;
        if !pool.is_shareable || to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let file = nameless_file(0)?;
        let device = u8::try_from(pool.device).map_err(|_| Code::INVALID_VALUE)?;
        let written = file.write_all_at(&[&POOL[..], &[device]].concat(), 0);
        written.map_err(|_| Code::OPERATING_SYSTEM)?;
        to.set(number_for_program(&file)?)
    }

    fn cuMemPoolImportFromShareableHandle(
        to: Out<Handle>, file: Host, kind: c_uint, flags: u64,
    ) {
        is_file(kind, flags)?;
        let driver = driver()?;
        let mut found = [0; 8];
        let read = file_of_program(file.address() as c_int)?.read_exact_at(&mut found, 0);
        read.map_err(|_| Code::INVALID_VALUE)?;
        if found[..7] != POOL || to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let (device, _) = driver.device(c_int::from(found[7]))?;
        to.set(driver.pools.insert(Pool::imported(device)))
    }

    fn cuMemPoolExportPointer(to: Out<Ticket>, address: u64) {
        let driver = driver()?;
        let found = driver.allocation_at(address).ok_or(Code::INVALID_VALUE)?;
        if !driver.pools.get(found.pool).is_ok_and(|pool| pool.is_shareable) {
            return Err(Code::INVALID_VALUE);
        }
        to.set(driver.export(address)?)
    }

    fn cuMemPoolImportPointer(to: Out<u64>, pool: Handle, ticket: In<Ticket>) {
        let current = current()?;
        if !current.driver.pools.get(pool)?.is_imported || to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        to.set(current.driver.import(ticket.get()?, (current.handle, pool))?)
    }

    fn cuMemExportToShareableHandle(to: Out<c_int>, handle: Handle, kind: c_uint, flags: u64) {
        is_file(kind, flags)?;
        let physical = driver()?.physical.get(handle)?;
        let file = physical.file.as_ref().ok_or(Code::INVALID_VALUE)?;
        to.set(number_for_program(file)?)
    }

    fn cuMemImportFromShareableHandle(to: Out<Handle>, file: Host, kind: c_uint) {
        is_file(kind, 0)?;
        let driver = driver()?;
        let physical = Physical::of_file(file_of_program(file.address() as c_int)?)?;
        to.set(driver.physical.insert(physical))
    }
}

/// A ticket that is passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Ticket8(pub(crate) Ticket);

/// Whether a pool may be exported: the second number of its properties is the kind of its handles.
pub(super) fn is_shareable(kind: c_int) -> Result<bool> {
    match kind {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Code::NOT_SUPPORTED),
    }
}
