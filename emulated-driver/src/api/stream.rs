//! Streams and events.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::node::{self, HostParams};
use crate::capture::{Captured, Mode, check_unsafe_call, exchange_mode};
use crate::code::{Code, Result};
use crate::context::current;
use crate::graph::{NodeKind, Nodes};
use crate::pointer::{Host, In, Out};
use crate::state::{Handle, driver, lock};
use crate::stream::{self, Event, Origin, Stream, submit, synchronise};

/// A function of the program, and what it is called with.
#[derive(Clone, Copy)]
pub(crate) struct Callback {
    function: unsafe extern "C" fn(*mut c_void),
    argument: Host,
}

// SAFETY: the program passes a function that the driver may call from a thread of its own, and an
// argument for it; `Host` is an address that only the program uses.
unsafe impl Send for Callback {}

// SAFETY: as for `Send`.
unsafe impl Sync for Callback {}

impl Callback {
    pub(super) fn new(function: unsafe extern "C" fn(*mut c_void), argument: Host) -> Self {
        Callback { function, argument }
    }

    pub(super) fn call(self) {
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

/// `CUstreamCaptureStatus`: none, active, invalidated.
fn capture_status(captured: &Option<Captured>) -> c_uint {
    captured
        .as_ref()
        .map_or(0, |captured| 1 + c_uint::from(captured.is_invalid()))
}

/// Status and identifier of a stream's capture.
fn capture_info(handle: Handle, status: Out<c_uint>, id: Out<u64>) -> Result<Option<Captured>> {
    let captured = stream::stream(handle)?
        .1
        .and_then(|stream| stream.captured());
    status.set(capture_status(&captured))?;
    if let Some(captured) = &captured {
        id.set_optional(captured.nodes().capture_id());
    }
    Ok(captured)
}

/// Where `cuStreamGetCaptureInfo` stores the graph and the nodes that the next one depends on.
struct CapturedInto {
    graph: Out<Handle>,
    nodes: Out<*const Handle>,
    data: Out<*const u64>,
    count: Out<usize>,
}

fn captured_into(handle: Handle, captured: Option<Captured>, to: CapturedInto) -> Result {
    let (Some(captured), Some(stream)) = (captured, stream::stream(handle)?.1) else {
        return Ok(());
    };
    to.graph.set_optional(driver()?.graph_of(captured.nodes()));
    let last = captured.dependencies();
    to.count.set_optional(last.len());
    let (nodes, data) = stream.last_nodes(last);
    to.nodes.set_optional(nodes);
    to.data.set_optional(data);
    Ok(())
}

/// The nodes are added or replace the others (`CUstreamUpdateCaptureDependencies_flags`).
fn update_dependencies(
    handle: Handle,
    (nodes, count): (In<Handle>, usize),
    flags: c_uint,
) -> Result {
    let captured = stream::captured(handle)?.ok_or(Code::ILLEGAL_STATE)?;
    if flags > 1 {
        return Err(Code::INVALID_VALUE);
    }
    let nodes: Result<Vec<Handle>> = (0..count).map(|index| nodes.at(index)).collect();
    captured.await_nodes(&nodes?, flags == 0)
}

/// How a stream waits for a value (`CUstreamWaitValue_flags`).
fn is_reached(now: u64, value: u64, bits: u32, flags: c_uint) -> Result<bool> {
    let mask = u64::MAX >> (64 - bits);
    Ok(match flags & 3 {
        0 => now.wrapping_sub(value) << (64 - bits) >> 63 == 0,
        1 => now == value,
        2 => now & value != 0,
        _ => !(now | value) & mask != 0,
    })
}

/// Seconds after which a stream waits in vain for a value: only other threads can write it.
const PATIENCE: u64 = 10;

fn wait_value(handle: Handle, address: u64, (value, bits): (u64, u32), flags: c_uint) -> Result {
    let driver = current()?.driver;
    if flags & !(3 | 1 << 30) != 0 || !address.is_multiple_of(u64::from(bits / 8)) {
        return Err(Code::INVALID_VALUE);
    }
    let work = move || {
        let begun = std::time::Instant::now();
        loop {
            let mut bytes = [0; 8];
            let read = driver.memory.read(address, &mut bytes[..bits as usize / 8]);
            read.map_err(|_| Code::INVALID_VALUE)?;
            if is_reached(u64::from_le_bytes(bytes), value, bits, flags)? {
                return Ok(());
            }
            if begun.elapsed().as_secs() >= PATIENCE {
                eprintln!(
                    "warpladder cuda: a stream has waited {PATIENCE} s for a value at \
                     {address:#x}: streams run in the thread that calls"
                );
                return Err(Code::LAUNCH_TIMEOUT);
            }
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
    };
    submit(handle, NodeKind::Values, Arc::new(work))
}

fn write_value(handle: Handle, address: u64, value: &[u8]) -> Result {
    let (driver, value) = (current()?.driver, value.to_vec());
    let work = move || driver.set(address, &value, 1, (1, 0));
    submit(handle, NodeKind::Values, Arc::new(work))
}

/// `CUstreamBatchMemOpParams`: operation, address, value, flags.
fn memory_operations(handle: Handle, count: c_uint, all: In<[u64; 6]>) -> Result {
    for index in 0..count as usize {
        let [operation, address, value, flags, ..] = all.at(index)?;
        let flags = flags as c_uint;
        match operation as u32 {
            1 => wait_value(handle, address, (value & u64::from(u32::MAX), 32), flags)?,
            2 => write_value(handle, address, &(value as u32).to_le_bytes())?,
            4 => wait_value(handle, address, (value, 64), flags)?,
            5 => write_value(handle, address, &value.to_le_bytes())?,
            // Writes are seen at once, and in order.
            3 | 6 => {}
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    Ok(())
}

/// Ids of the attributes that a stream has: its access policy window (1), its synchronisation
/// policy (3), priority (8), domain (9).
const ATTRIBUTES: [c_uint; 4] = [1, 3, 8, 9];

/// The stream whose attributes are meant: the default one has none that last.
fn attributes(handle: Handle, id: c_uint) -> Result<Option<Arc<Stream>>> {
    match ATTRIBUTES.contains(&id) {
        true => Ok(stream::stream(handle)?.1),
        false => Err(Code::INVALID_VALUE),
    }
}

/// `CU_EVENT_RECORD_EXTERNAL` and `CU_EVENT_WAIT_EXTERNAL`: a stream that is captured gets a node
/// for the event, which is recorded or awaited when the graph runs. Whether it is so.
fn capture_external(
    handle: Handle,
    (event, kind): (Handle, NodeKind),
    flags: c_uint,
) -> Result<bool> {
    const EXTERNAL: c_uint = 1;
    if flags > EXTERNAL {
        return Err(Code::INVALID_VALUE);
    }
    match stream::captured(handle)?.filter(|_| flags == EXTERNAL) {
        None => Ok(false),
        Some(captured) => {
            let operation = node::event(event, kind)?;
            captured.append(driver()?, operation).map(|_| true)
        }
    }
}

fn elapsed(to: Out<f32>, start: Handle, end: Handle) -> Result {
    let (start, end) = (stream::event(start)?, stream::event(end)?);
    to.set(end.elapsed_ms(&start)?)
}

api! {
    fn cuStreamCreate(to: Out<Handle>, flags: c_uint) { create(to, flags, 0) }

    fn cuStreamCreateWithPriority(to: Out<Handle>, flags: c_uint, priority: c_int) {
        create(to, flags, priority)
    }

    fn cuStreamDestroy_v2(handle: Handle) {
        driver()?.streams.remove(handle).map(drop)
    }

    fn cuStreamDestroy(handle: Handle) { cuStreamDestroy_v2(handle) }

    fn cuStreamSynchronize | cuStreamSynchronize_ptsz (handle: Handle) { synchronise(handle) }

    fn cuStreamQuery | cuStreamQuery_ptsz (handle: Handle) { synchronise(handle) }

    fn cuStreamWaitEvent | cuStreamWaitEvent_ptsz (handle: Handle, event: Handle, flags: c_uint) {
        match capture_external(handle, (event, NodeKind::WaitEvent), flags)? {
            true => Ok(()),
            false => stream::wait(handle, event),
        }
    }

    fn cuStreamGetFlags | cuStreamGetFlags_ptsz (handle: Handle, to: Out<c_uint>) {
        to.set(stream::stream(handle)?.1.map_or(0, |stream| stream.flags))
    }

    fn cuStreamGetPriority | cuStreamGetPriority_ptsz (handle: Handle, to: Out<c_int>) {
        to.set(stream::stream(handle)?.1.map_or(0, |stream| stream.priority))
    }

    fn cuStreamGetCtx | cuStreamGetCtx_ptsz (handle: Handle, to: Out<Handle>) {
        to.set(stream::stream(handle)?.0.handle)
    }

    fn cuStreamGetCtx_v2
        | cuStreamGetCtx_v2_ptsz (handle: Handle, to: Out<Handle>, green: Out<Handle>) {
        green.set_optional(0);
        to.set(stream::stream(handle)?.0.handle)
    }

    fn cuStreamGetDevice | cuStreamGetDevice_ptsz (handle: Handle, to: Out<c_int>) {
        to.set(stream::stream(handle)?.0.context.device as c_int)
    }

    fn cuStreamGetId | cuStreamGetId_ptsz (handle: Handle, to: Out<u64>) {
        stream::stream(handle)?;
        to.set(handle as u64)
    }

    fn cuStreamAttachMemAsync
        | cuStreamAttachMemAsync_ptsz (handle: Handle, _address: u64, _bytes: usize, _flags: c_uint) {
        stream::stream(handle).map(drop)
    }

    fn cuStreamAddCallback | cuStreamAddCallback_ptsz (
        handle: Handle, callback: Option<StreamCallback>, argument: Host, _flags: c_uint,
    ) {
        let callback = callback.ok_or(Code::INVALID_VALUE)?;
        synchronise(handle)?;
        // SAFETY: the program vouches for the function with this argument (cuStreamAddCallback).
        unsafe { callback(handle, 0, argument.raw()) };
        Ok(())
    }

    fn cuLaunchHostFunc | cuLaunchHostFunc_ptsz (
        handle: Handle, function: Option<unsafe extern "C" fn(*mut c_void)>, argument: Host,
    ) {
        let operation = node::host_of(HostParams { function, argument })?;
        match stream::target(handle)? {
            (current, Some(captured)) => captured.append(current.driver, operation).map(drop),
            (_, None) => (operation.work)(),
        }
    }

    fn cuStreamBeginCapture_v2 | cuStreamBeginCapture_v2_ptsz (handle: Handle, mode: c_uint) {
        // The legacy default stream cannot be captured.
        let stream = stream::stream(handle)?.1.ok_or(Code::STREAM_CAPTURE_UNSUPPORTED)?;
        stream.begin_capture(Nodes::default(), Mode::new(mode)?, Origin::NewGraph)
    }

    fn cuStreamBeginCapture
        | cuStreamBeginCapture_ptsz (handle: Handle) { cuStreamBeginCapture_v2(handle, 0) }

    fn cuStreamEndCapture | cuStreamEndCapture_ptsz (handle: Handle, graph: Out<Handle>) {
        match stream::end_capture(handle) {
            // A capture into a graph of the program needs no place for its handle.
            Ok(captured) => {
                graph.set_optional(captured);
                Ok(())
            }
            Err(code) => {
                graph.set_optional(0);
                Err(code)
            }
        }
    }

    fn cuStreamIsCapturing | cuStreamIsCapturing_ptsz (handle: Handle, status: Out<c_uint>) {
        let captured = stream::stream(handle)?.1.and_then(|stream| stream.captured());
        status.set(capture_status(&captured))
    }

    fn cuStreamGetCaptureInfo
        | cuStreamGetCaptureInfo_ptsz (handle: Handle, status: Out<c_uint>, id: Out<u64>) {
        capture_info(handle, status, id).map(drop)
    }

    fn cuStreamGetCaptureInfo_v2 | cuStreamGetCaptureInfo_v2_ptsz (
        handle: Handle, status: Out<c_uint>, id: Out<u64>, graph: Out<Handle>,
        nodes: Out<*const Handle>, count: Out<usize>,
    ) {
        let captured = capture_info(handle, status, id)?;
        captured_into(handle, captured, CapturedInto { graph, nodes, data: Out::NONE, count })
    }

    fn cuStreamGetCaptureInfo_v3 | cuStreamGetCaptureInfo_v3_ptsz (
        handle: Handle, status: Out<c_uint>, id: Out<u64>, graph: Out<Handle>,
        nodes: Out<*const Handle>, data: Out<*const u64>, count: Out<usize>,
    ) {
        let captured = capture_info(handle, status, id)?;
        captured_into(handle, captured, CapturedInto { graph, nodes, data, count })
    }

    fn cuStreamBeginCaptureToGraph | cuStreamBeginCaptureToGraph_ptsz (
        handle: Handle, graph: Handle, nodes: In<Handle>, _data: In<u64>, count: usize,
        mode: c_uint,
    ) {
        let stream = stream::stream(handle)?.1.ok_or(Code::STREAM_CAPTURE_UNSUPPORTED)?;
        let into = driver()?.graphs.get(graph)?.nodes.clone();
        stream.begin_capture(into, Mode::new(mode)?, Origin::OwnGraph)?;
        update_dependencies(handle, (nodes, count), 1)
    }

    fn cuStreamUpdateCaptureDependencies | cuStreamUpdateCaptureDependencies_ptsz (
        handle: Handle, nodes: In<Handle>, count: usize, flags: c_uint,
    ) {
        update_dependencies(handle, (nodes, count), flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2 | cuStreamUpdateCaptureDependencies_v2_ptsz (
        handle: Handle, nodes: In<Handle>, _data: In<u64>, count: usize, flags: c_uint,
    ) {
        update_dependencies(handle, (nodes, count), flags)
    }

    fn cuStreamGetAttribute
        | cuStreamGetAttribute_ptsz (handle: Handle, id: c_uint, to: Out<[u64; 8]>) {
        let stream = attributes(handle, id)?;
        to.set(stream.map_or([0; 8], |stream| stream.attribute(id)))
    }

    fn cuStreamSetAttribute
        | cuStreamSetAttribute_ptsz (handle: Handle, id: c_uint, from: In<[u64; 8]>) {
        let (stream, value) = (attributes(handle, id)?, from.get()?);
        stream.iter().for_each(|stream| stream.set_attribute(id, value));
        Ok(())
    }

    // The first versions of these have the same arguments.
    fn cuStreamWaitValue32
        | cuStreamWaitValue32_ptsz (handle: Handle, address: u64, value: u32, flags: c_uint) {
        cuStreamWaitValue32_v2(handle, address, value, flags)
    }

    fn cuStreamWaitValue64
        | cuStreamWaitValue64_ptsz (handle: Handle, address: u64, value: u64, flags: c_uint) {
        cuStreamWaitValue64_v2(handle, address, value, flags)
    }

    fn cuStreamWriteValue32
        | cuStreamWriteValue32_ptsz (handle: Handle, address: u64, value: u32, flags: c_uint) {
        cuStreamWriteValue32_v2(handle, address, value, flags)
    }

    fn cuStreamWriteValue64
        | cuStreamWriteValue64_ptsz (handle: Handle, address: u64, value: u64, flags: c_uint) {
        cuStreamWriteValue64_v2(handle, address, value, flags)
    }

    fn cuStreamBatchMemOp
        | cuStreamBatchMemOp_ptsz (handle: Handle, count: c_uint, all: In<[u64; 6]>, flags: c_uint) {
        cuStreamBatchMemOp_v2(handle, count, all, flags)
    }

    fn cuStreamWaitValue32_v2
        | cuStreamWaitValue32_v2_ptsz (handle: Handle, address: u64, value: u32, flags: c_uint) {
        wait_value(handle, address, (u64::from(value), 32), flags)
    }

    fn cuStreamWaitValue64_v2
        | cuStreamWaitValue64_v2_ptsz (handle: Handle, address: u64, value: u64, flags: c_uint) {
        wait_value(handle, address, (value, 64), flags)
    }

    fn cuStreamBatchMemOp_v2
        | cuStreamBatchMemOp_v2_ptsz (handle: Handle, count: c_uint, all: In<[u64; 6]>, _flags: c_uint) {
        memory_operations(handle, count, all)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<c_uint>) {
        mode.set(exchange_mode(Mode::new(mode.get()?)?) as c_uint)
    }

    fn cuEventCreate(to: Out<Handle>, flags: c_uint) {
        let current = current()?;
        if to.is_null() || flags > 7 {
            return Err(Code::INVALID_VALUE);
        }
        to.set(current.driver.events.insert(Event::new(current.handle, flags)))
    }

    fn cuEventDestroy_v2(event: Handle) { driver()?.events.remove(event).map(drop) }

    fn cuEventDestroy(event: Handle) { cuEventDestroy_v2(event) }

    fn cuEventRecord
        | cuEventRecord_ptsz (event: Handle, handle: Handle) { stream::record(event, handle) }

    fn cuEventRecordWithFlags
        | cuEventRecordWithFlags_ptsz (event: Handle, handle: Handle, flags: c_uint) {
        match capture_external(handle, (event, NodeKind::RecordEvent), flags)? {
            true => Ok(()),
            false => stream::record(event, handle),
        }
    }

    fn cuEventQuery(event: Handle) {
        stream::event(event)?.check_not_captured()?;
        check_unsafe_call(driver()?)
    }

    fn cuEventSynchronize(event: Handle) { stream::event(event)?.check_not_captured() }

    fn cuEventElapsedTime(to: Out<f32>, start: Handle, end: Handle) { elapsed(to, start, end) }

    fn cuEventElapsedTime_v2(to: Out<f32>, start: Handle, end: Handle) { elapsed(to, start, end) }

    fn cuCtxRecordEvent(_context: Handle, event: Handle) { stream::record(event, 0) }

    fn cuStreamWriteValue32_v2
        | cuStreamWriteValue32_v2_ptsz (handle: Handle, address: u64, value: u32, _flags: c_uint) {
        write_value(handle, address, &value.to_le_bytes())
    }

    fn cuStreamWriteValue64_v2
        | cuStreamWriteValue64_v2_ptsz (handle: Handle, address: u64, value: u64, _flags: c_uint) {
        write_value(handle, address, &value.to_le_bytes())
    }

    fn cuStreamCopyAttributes | cuStreamCopyAttributes_ptsz (to: Handle, from: Handle) {
        stream::stream(to)?;
        let of_source = stream::stream(from)?;
        let sticky = *lock(&of_source.0.context.sticky);
        sticky.map_or(Ok(()), Err)
    }
}
