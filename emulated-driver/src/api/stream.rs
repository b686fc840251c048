//! Streams and events.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use crate::code::{Code, Result};
use crate::context::current;
use crate::pointer::{Host, Out};
use crate::state::{Handle, lock};
use crate::stream::{self, Event, Stream, submit, synchronise};

/// A function of the program, and what it is called with.
#[derive(Clone, Copy)]
struct Callback {
    function: unsafe extern "C" fn(*mut c_void),
    argument: Host,
}

// SAFETY: the program passes a function that the driver may call from a thread of its own, and an
// argument for it; `Host` is an address that only the program uses.
unsafe impl Send for Callback {}

// SAFETY: as for `Send`.
unsafe impl Sync for Callback {}

impl Callback {
    fn call(self) {
        // SAFETY: the program vouches for the function with this argument (cuLaunchHostFunc).
        unsafe { (self.function)(self.argument.raw()) }
    }
}

type StreamCallback = unsafe extern "C" fn(Handle, u32, *mut c_void);

fn create(to: Out<Handle>, flags: c_uint, priority: c_int) -> Result {
    let current = current()?;
    if to.is_null() || flags > 1 {
        return Err(Code::INVALID_VALUE);
    }
    let stream = Stream::new(current.handle, flags, priority.clamp(-5, 0));
    to.set(current.driver.streams.insert(stream))
}

/// Status and identifier of a stream's capture: 0 for none, 1 for an active one.
fn capture_info(handle: Handle, status: Out<c_uint>, id: Out<u64>) -> Result<usize> {
    let captured = stream::stream(handle)?
        .1
        .and_then(|stream| stream.captured());
    status.set(c_uint::from(captured.is_some()))?;
    if captured.is_some() {
        id.set_optional(handle as u64);
    }
    Ok(captured.map_or(0, |captured| captured.len()))
}

fn elapsed(to: Out<f32>, start: Handle, end: Handle) -> Result {
    let current = current()?;
    let events = &current.driver.events;
    let (start, end) = (events.get(start)?, events.get(end)?);
    to.set(end.elapsed_ms(&start)?)
}

api! {
    fn cuStreamCreate(to: Out<Handle>, flags: c_uint) { create(to, flags, 0) }

    fn cuStreamCreateWithPriority(to: Out<Handle>, flags: c_uint, priority: c_int) {
        create(to, flags, priority)
    }

    fn cuStreamDestroy_v2(handle: Handle) {
        current()?.driver.streams.remove(handle).map(drop)
    }

    fn cuStreamSynchronize(handle: Handle) { synchronise(handle) }

    fn cuStreamQuery(handle: Handle) { synchronise(handle) }

    fn cuStreamWaitEvent(handle: Handle, event: Handle, _flags: c_uint) {
        stream::wait(handle, event)
    }

    fn cuStreamGetFlags(handle: Handle, to: Out<c_uint>) {
        to.set(stream::stream(handle)?.1.map_or(0, |stream| stream.flags))
    }

    fn cuStreamGetPriority(handle: Handle, to: Out<c_int>) {
        to.set(stream::stream(handle)?.1.map_or(0, |stream| stream.priority))
    }

    fn cuStreamGetCtx(handle: Handle, to: Out<Handle>) {
        to.set(stream::stream(handle)?.0.handle)
    }

    fn cuStreamGetCtx_v2(handle: Handle, to: Out<Handle>, green: Out<Handle>) {
        green.set_optional(0);
        to.set(stream::stream(handle)?.0.handle)
    }

    fn cuStreamGetDevice(handle: Handle, to: Out<c_int>) {
        to.set(stream::stream(handle)?.0.context.device as c_int)
    }

    fn cuStreamGetId(handle: Handle, to: Out<u64>) {
        stream::stream(handle)?;
        to.set(handle as u64)
    }

    fn cuStreamAttachMemAsync(handle: Handle, _address: u64, _bytes: usize, _flags: c_uint) {
        stream::stream(handle).map(drop)
    }

    fn cuStreamAddCallback(
        handle: Handle, callback: Option<StreamCallback>, argument: Host, _flags: c_uint,
    ) {
        let callback = callback.ok_or(Code::INVALID_VALUE)?;
        synchronise(handle)?;
        // SAFETY: the program vouches for the function with this argument (cuStreamAddCallback).
        unsafe { callback(handle, 0, argument.raw()) };
        Ok(())
    }

    fn cuLaunchHostFunc(
        handle: Handle, function: Option<unsafe extern "C" fn(*mut c_void)>, argument: Host,
    ) {
        let function = function.ok_or(Code::INVALID_VALUE)?;
        let callback = Callback { function, argument };
        submit(handle, Arc::new(move || {
            callback.call();
            Ok(())
        }))
    }

    fn cuStreamBeginCapture_v2(handle: Handle, _mode: c_uint) {
        // The legacy default stream cannot be captured.
        let stream = stream::stream(handle)?.1.ok_or(Code::STREAM_CAPTURE_UNSUPPORTED)?;
        stream.begin_capture()
    }

    fn cuStreamEndCapture(handle: Handle, graph: Out<Handle>) {
        match stream::end_capture(handle) {
            Ok(captured) => graph.set(captured),
            Err(code) => {
                graph.set_optional(0);
                Err(code)
            }
        }
    }

    fn cuStreamIsCapturing(handle: Handle, status: Out<c_uint>) {
        let captured = stream::stream(handle)?.1.and_then(|stream| stream.captured());
        status.set(c_uint::from(captured.is_some()))
    }

    fn cuStreamGetCaptureInfo(handle: Handle, status: Out<c_uint>, id: Out<u64>) {
        capture_info(handle, status, id).map(drop)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<c_uint>) {
        // Modes restrict calls that are safe here: the one before was the default, global.
        mode.set(0)
    }

    fn cuEventCreate(to: Out<Handle>, flags: c_uint) {
        let current = current()?;
        if to.is_null() || flags > 7 {
            return Err(Code::INVALID_VALUE);
        }
        to.set(current.driver.events.insert(Event::new(current.handle, flags)))
    }

    fn cuEventDestroy_v2(event: Handle) { current()?.driver.events.remove(event).map(drop) }

    fn cuEventRecord(event: Handle, handle: Handle) { stream::record(event, handle) }

    fn cuEventRecordWithFlags(event: Handle, handle: Handle, _flags: c_uint) {
        stream::record(event, handle)
    }

    fn cuEventQuery(event: Handle) {
        match current()?.driver.events.get(event)?.is_captured() {
            true => Err(Code::CAPTURED_EVENT),
            false => Ok(()),
        }
    }

    fn cuEventSynchronize(event: Handle) {
        match current()?.driver.events.get(event)?.is_captured() {
            true => Err(Code::CAPTURED_EVENT),
            false => Ok(()),
        }
    }

    fn cuEventElapsedTime(to: Out<f32>, start: Handle, end: Handle) { elapsed(to, start, end) }

    fn cuEventElapsedTime_v2(to: Out<f32>, start: Handle, end: Handle) { elapsed(to, start, end) }

    fn cuCtxRecordEvent(_context: Handle, event: Handle) { stream::record(event, 0) }

    fn cuStreamWriteValue32_v2(handle: Handle, address: u64, value: u32, _flags: c_uint) {
        let driver = current()?.driver;
        submit(handle, Arc::new(move || driver.set(address, &value.to_le_bytes(), 1, (1, 0))))
    }

    fn cuStreamWriteValue64_v2(handle: Handle, address: u64, value: u64, _flags: c_uint) {
        let driver = current()?.driver;
        submit(handle, Arc::new(move || driver.set(address, &value.to_le_bytes(), 1, (1, 0))))
    }

    fn cuStreamCopyAttributes(to: Handle, from: Handle) {
        stream::stream(to)?;
        let of_source = stream::stream(from)?;
        let sticky = *lock(&of_source.0.context.sticky);
        sticky.map_or(Ok(()), Err)
    }
}
