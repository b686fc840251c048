//! Sharing between processes.

use std::ffi::{c_int, c_uint};

use crate::api::ipc::{Ticket8, call};
use crate::ipc::Ticket;
use crate::pointer::{Host, In, Out};
use crate::state::Handle;

use super::{enter, initialised};

runtime! {
    fn cudaIpcGetMemHandle(to: Out<Ticket>, address: u64) {
        enter()?;
        call::cuIpcGetMemHandle(to, address)
    }

    fn cudaIpcOpenMemHandle(to: Out<u64>, ticket: Ticket8, flags: c_uint) {
        enter()?;
        call::cuIpcOpenMemHandle_v2(to, ticket, flags)
    }

    fn cudaIpcCloseMemHandle(address: u64) {
        enter()?;
        call::cuIpcCloseMemHandle(address)
    }

    fn cudaIpcGetEventHandle(to: Out<Ticket>, event: Handle) {
        enter()?;
        call::cuIpcGetEventHandle(to, event)
    }

    fn cudaIpcOpenEventHandle(to: Out<Handle>, ticket: Ticket8) {
        enter()?;
        call::cuIpcOpenEventHandle(to, ticket)
    }

    fn cudaMemPoolExportToShareableHandle(
        to: Out<c_int>, pool: Handle, kind: c_uint, flags: c_uint,
    ) {
        initialised()?;
        call::cuMemPoolExportToShareableHandle(to, pool, kind, u64::from(flags))
    }

    fn cudaMemPoolImportFromShareableHandle(
        to: Out<Handle>, file: Host, kind: c_uint, flags: c_uint,
    ) {
        initialised()?;
        call::cuMemPoolImportFromShareableHandle(to, file, kind, u64::from(flags))
    }

    fn cudaMemPoolExportPointer(to: Out<Ticket>, address: u64) {
        enter()?;
        call::cuMemPoolExportPointer(to, address)
    }

    fn cudaMemPoolImportPointer(to: Out<u64>, pool: Handle, ticket: In<Ticket>) {
        enter()?;
        call::cuMemPoolImportPointer(to, pool, ticket)
    }
}
