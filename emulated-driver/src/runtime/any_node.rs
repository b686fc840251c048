//! Nodes of any kind by one function, memory that graphs allocate, conditional nodes, and user
//! objects.

use std::ffi::{c_int, c_uint, c_void};

use crate::api::any_node::{AllocationParams, NodeParams, add_any, call, set_any};
use crate::api::graph::call as graphs;
use crate::api::user_object::call as objects;
use crate::api::{kernel_node, node};
use crate::code::Result;
use crate::graph::{NodeKind, Operation};
use crate::pointer::{Host, In, Out, Text};
use crate::state::Handle;

use super::graph::{copy_of, kernel};
use super::version::is_12;
use super::{enter, initialised};

/// Kernels and copies in the runtime's form.
fn of_runtime(kind: NodeKind, place: Host) -> Result<Operation> {
    match kind {
        NodeKind::Kernel => {
            let params = kernel(In::at_address(place.address()))?;
            kernel_node::kernel(In::of(&params))
        }
        // Behind flags.
        _ => node::copy(In::of(&copy_of(In::at_address(place.add(16).address()))?)),
    }
}

runtime! {
    fn cudaGraphAddNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, data_or_count: u64,
        count_or_params: u64, params: In<NodeParams>,
    ) {
        enter()?;
        // A program of CUDA 12 passes no data of edges.
        let (count, params) = match is_12() {
            true => (data_or_count, In::at_address(count_or_params)),
            false => (count_or_params, params),
        };
        add_any(to, graph, (nodes, count as usize), params, of_runtime)
    }

    fn cudaGraphAddNode_v2(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, _data: In<u64>, count: usize,
        params: In<NodeParams>,
    ) {
        enter()?;
        add_any(to, graph, (nodes, count), params, of_runtime)
    }

    fn cudaGraphNodeSetParams(handle: Handle, params: In<NodeParams>) {
        enter()?;
        set_any(None, handle, params, of_runtime)
    }

    fn cudaGraphExecNodeSetParams(instance: Handle, handle: Handle, params: In<NodeParams>) {
        enter()?;
        set_any(Some(instance), handle, params, of_runtime)
    }

    fn cudaGraphAddMemAllocNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, params: Host,
    ) {
        enter()?;
        call::cuGraphAddMemAllocNode(to, graph, nodes, count, params)
    }

    fn cudaGraphAddMemFreeNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, address: u64,
    ) {
        enter()?;
        call::cuGraphAddMemFreeNode(to, graph, nodes, count, address)
    }

    fn cudaGraphMemAllocNodeGetParams(handle: Handle, to: Out<AllocationParams>) {
        call::cuGraphMemAllocNodeGetParams(handle, to)
    }

    fn cudaGraphMemFreeNodeGetParams(handle: Handle, to: Out<u64>) {
        call::cuGraphMemFreeNodeGetParams(handle, to)
    }

    fn cudaDeviceGetGraphMemAttribute(device: c_int, attribute: c_uint, to: Host) {
        initialised()?;
        call::cuDeviceGetGraphMemAttribute(device, attribute, to)
    }

    fn cudaDeviceSetGraphMemAttribute(device: c_int, attribute: c_uint, from: Host) {
        initialised()?;
        call::cuDeviceSetGraphMemAttribute(device, attribute, from)
    }

    fn cudaDeviceGraphMemTrim(device: c_int) {
        initialised()?;
        call::cuDeviceGraphMemTrim(device)
    }

    fn cudaGraphConditionalHandleCreate(
        to: Out<u64>, graph: Handle, value: c_uint, flags: c_uint,
    ) {
        enter()?;
        call::cuGraphConditionalHandleCreate(to, graph, 0, value, flags)
    }

    fn cudaGraphDebugDotPrint(graph: Handle, path: Text, flags: c_uint) {
        enter()?;
        call::cuGraphDebugDotPrint(graph, path, flags)
    }

    fn cudaGraphEventRecordNodeGetEvent(handle: Handle, to: Out<Handle>) {
        graphs::cuGraphEventRecordNodeGetEvent(handle, to)
    }

    fn cudaGraphEventWaitNodeGetEvent(handle: Handle, to: Out<Handle>) {
        graphs::cuGraphEventWaitNodeGetEvent(handle, to)
    }

    fn cudaGraphEventRecordNodeSetEvent(handle: Handle, event: Handle) {
        enter()?;
        graphs::cuGraphEventRecordNodeSetEvent(handle, event)
    }

    fn cudaGraphEventWaitNodeSetEvent(handle: Handle, event: Handle) {
        enter()?;
        graphs::cuGraphEventWaitNodeSetEvent(handle, event)
    }

    fn cudaGraphExecEventRecordNodeSetEvent(instance: Handle, handle: Handle, event: Handle) {
        enter()?;
        graphs::cuGraphExecEventRecordNodeSetEvent(instance, handle, event)
    }

    fn cudaGraphExecEventWaitNodeSetEvent(instance: Handle, handle: Handle, event: Handle) {
        enter()?;
        graphs::cuGraphExecEventWaitNodeSetEvent(instance, handle, event)
    }

    fn cudaUserObjectCreate(
        to: Out<Handle>, argument: Host, destroy: Option<unsafe extern "C" fn(*mut c_void)>,
        count: c_uint, flags: c_uint,
    ) {
        initialised()?;
        objects::cuUserObjectCreate(to, argument, destroy, count, flags)
    }

    fn cudaUserObjectRetain(handle: Handle, count: c_uint) {
        objects::cuUserObjectRetain(handle, count)
    }

    fn cudaUserObjectRelease(handle: Handle, count: c_uint) {
        objects::cuUserObjectRelease(handle, count)
    }

    fn cudaGraphRetainUserObject(graph: Handle, handle: Handle, count: c_uint, flags: c_uint) {
        objects::cuGraphRetainUserObject(graph, handle, count, flags)
    }

    fn cudaGraphReleaseUserObject(graph: Handle, handle: Handle, count: c_uint) {
        objects::cuGraphReleaseUserObject(graph, handle, count)
    }
}
