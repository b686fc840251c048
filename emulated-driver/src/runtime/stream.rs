//! Streams, captures and events.

use std::ffi::{c_int, c_uint, c_void};

use crate::api::stream::call;
use crate::code::Code;
use crate::pointer::{Host, In, Out};
use crate::state::Handle;

use super::enter;
use super::version::is_12;

type StreamCallback = unsafe extern "C" fn(Handle, u32, *mut c_void);

runtime! {
    fn cudaStreamCreate(to: Out<Handle>) {
        enter()?;
        call::cuStreamCreate(to, 0)
    }

    fn cudaStreamCreateWithFlags(to: Out<Handle>, flags: c_uint) {
        enter()?;
        call::cuStreamCreate(to, flags)
    }

    fn cudaStreamCreateWithPriority(to: Out<Handle>, flags: c_uint, priority: c_int) {
        enter()?;
        call::cuStreamCreateWithPriority(to, flags, priority)
    }

    fn cudaStreamDestroy(stream: Handle) {
        enter()?;
        call::cuStreamDestroy_v2(stream)
    }

    fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz (stream: Handle) {
        enter()?;
        call::cuStreamSynchronize(stream)
    }

    fn cudaStreamQuery | cudaStreamQuery_ptsz (stream: Handle) {
        enter()?;
        call::cuStreamQuery(stream)
    }

    fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz (
        stream: Handle, event: Handle, flags: c_uint,
    ) {
        enter()?;
        call::cuStreamWaitEvent(stream, event, flags)
    }

    fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz (stream: Handle, to: Out<c_uint>) {
        enter()?;
        call::cuStreamGetFlags(stream, to)
    }

    fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz (stream: Handle, to: Out<c_int>) {
        enter()?;
        call::cuStreamGetPriority(stream, to)
    }

    fn cudaStreamGetId | cudaStreamGetId_ptsz (stream: Handle, to: Out<u64>) {
        enter()?;
        call::cuStreamGetId(stream, to)
    }

    fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz (stream: Handle, to: Out<c_int>) {
        enter()?;
        call::cuStreamGetDevice(stream, to)
    }

    fn cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz (
        stream: Handle, address: u64, bytes: usize, flags: c_uint,
    ) {
        enter()?;
        call::cuStreamAttachMemAsync(stream, address, bytes, flags)
    }

    fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz (
        stream: Handle, callback: Option<StreamCallback>, argument: Host, flags: c_uint,
    ) {
        enter()?;
        call::cuStreamAddCallback(stream, callback, argument, flags)
    }

    fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz (
        stream: Handle, function: Option<unsafe extern "C" fn(*mut c_void)>, argument: Host,
    ) {
        enter()?;
        call::cuLaunchHostFunc(stream, function, argument)
    }

    fn cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz (
        stream: Handle, id: c_uint, to: Out<[u64; 8]>,
    ) {
        enter()?;
        call::cuStreamGetAttribute(stream, id, to)
    }

    fn cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz (
        stream: Handle, id: c_uint, from: In<[u64; 8]>,
    ) {
        enter()?;
        call::cuStreamSetAttribute(stream, id, from)
    }

    fn cudaStreamCopyAttributes | cudaStreamCopyAttributes_ptsz (to: Handle, from: Handle) {
        enter()?;
        call::cuStreamCopyAttributes(to, from)
    }

    fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz (stream: Handle, mode: c_uint) {
        enter()?;
        call::cuStreamBeginCapture_v2(stream, mode)
    }

    fn cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz (
        stream: Handle, graph: Handle, nodes: In<Handle>, data: In<u64>, count: usize,
        mode: c_uint,
    ) {
        enter()?;
        call::cuStreamBeginCaptureToGraph(stream, graph, nodes, data, count, mode)
    }

    fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz (stream: Handle, graph: Out<Handle>) {
        enter()?;
        call::cuStreamEndCapture(stream, graph)
    }

    fn cudaStreamUpdateCaptureDependencies | cudaStreamUpdateCaptureDependencies_ptsz (
        stream: Handle, nodes: In<Handle>, data_or_count: u64, count_or_flags: usize,
        flags: c_uint,
    ) {
        enter()?;
        // A program of CUDA 12 passes no data of edges.
        let (count, flags) = match is_12() {
            true => (data_or_count as usize, count_or_flags as c_uint),
            false => (count_or_flags, flags),
        };
        call::cuStreamUpdateCaptureDependencies(stream, nodes, count, flags)
    }

    fn cudaStreamUpdateCaptureDependencies_v2 | cudaStreamUpdateCaptureDependencies_v2_ptsz (
        stream: Handle, nodes: In<Handle>, _data: In<u64>, count: usize, flags: c_uint,
    ) {
        enter()?;
        call::cuStreamUpdateCaptureDependencies(stream, nodes, count, flags)
    }

    fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz (stream: Handle, status: Out<c_uint>) {
        enter()?;
        call::cuStreamIsCapturing(stream, status)
    }

    fn cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz (
        stream: Handle, status: Out<c_uint>, id: Out<u64>, graph: Out<Handle>,
        nodes: Out<*const Handle>, count: Out<usize>,
    ) {
        enter()?;
        call::cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count)
    }

    fn cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz (
        stream: Handle, status: Out<c_uint>, id: Out<u64>, graph: Out<Handle>,
        nodes: Out<*const Handle>, data: Out<*const u64>, count: Out<usize>,
    ) {
        enter()?;
        match is_12() {
            // It has no arguments behind these.
            true => call::cuStreamGetCaptureInfo(stream, status, id),
            false => call::cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, data, count),
        }
    }

    fn cudaStreamGetCaptureInfo_v3 | cudaStreamGetCaptureInfo_v3_ptsz (
        stream: Handle, status: Out<c_uint>, id: Out<u64>, graph: Out<Handle>,
        nodes: Out<*const Handle>, data: Out<*const u64>, count: Out<usize>,
    ) {
        enter()?;
        call::cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, data, count)
    }

    fn cudaThreadExchangeStreamCaptureMode(mode: Out<c_uint>) {
        call::cuThreadExchangeStreamCaptureMode(mode)
    }

    fn cudaEventCreate(to: Out<Handle>) {
        enter()?;
        call::cuEventCreate(to, 0)
    }

    fn cudaEventCreateWithFlags(to: Out<Handle>, flags: c_uint) {
        enter()?;
        call::cuEventCreate(to, flags)
    }

    fn cudaEventDestroy(event: Handle) {
        enter()?;
        if event == 0 { Err(Code::INVALID_HANDLE) } else { call::cuEventDestroy_v2(event) }
    }

    fn cudaEventRecord | cudaEventRecord_ptsz (event: Handle, stream: Handle) {
        enter()?;
        call::cuEventRecord(event, stream)
    }

    fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz (
        event: Handle, stream: Handle, flags: c_uint,
    ) {
        enter()?;
        call::cuEventRecordWithFlags(event, stream, flags)
    }

    fn cudaEventQuery(event: Handle) {
        enter()?;
        call::cuEventQuery(event)
    }

    fn cudaEventSynchronize(event: Handle) {
        enter()?;
        call::cuEventSynchronize(event)
    }

    fn cudaEventElapsedTime | cudaEventElapsedTime_v2 (
        to: Out<f32>, start: Handle, end: Handle,
    ) {
        enter()?;
        call::cuEventElapsedTime(to, start, end)
    }
}
