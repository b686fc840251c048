//! Graphs. Functions that take edges have one argument more in CUDA 13 than in CUDA 12, where those
//! with it end in `_v2`: under the name without it, the program decides.

use std::ffi::c_uint;

use crate::api::copy::Copy3d;
use crate::api::graph::{Params, call};
use crate::api::kernel_node::{KernelParams, call as kernels};
use crate::api::node::{HostParams, SetParams};
use crate::code::Result;
use crate::pointer::{Host, In, Out};
use crate::state::Handle;

use super::copy::{self, symbol_params};
use super::enter;
use super::registry::function;
use super::version::is_12;

/// The parameters with the driver's function.
pub(super) fn kernel(params: In<KernelParams>) -> Result<KernelParams> {
    enter()?;
    let params = params.get()?;
    let host = Host::at_address(params.function as u64);
    Ok(KernelParams {
        function: function(host)?,
        ..params
    })
}

pub(super) fn copy_of(params: In<copy::Params>) -> Result<Copy3d> {
    params.get()?.copy()
}

/// A copy of one row of bytes.
fn row(to: u64, from: u64, bytes: usize, kind: c_uint) -> Result<Copy3d> {
    copy::Params::of_bytes(to, from, bytes, kind).copy()
}

fn add_copy(
    (to, graph): (Out<Handle>, Handle),
    (nodes, count): (In<Handle>, usize),
    copy: Result<Copy3d>,
) -> Result {
    call::cuGraphAddMemcpyNode(to, graph, nodes, count, In::of(&copy?), 0)
}

/// Where data of edges and their number go. A program of CUDA 12 passes the place of the number
/// alone.
fn data_and_count(data: u64, count: u64) -> (Out<u64>, Out<usize>) {
    match is_12() {
        true => (Out::NONE, Out::at_address(data)),
        false => (Out::at_address(data), Out::at_address(count)),
    }
}

runtime! {
    fn cudaGraphCreate(to: Out<Handle>, flags: c_uint) {
        enter()?;
        call::cuGraphCreate(to, flags)
    }

    fn cudaGraphDestroy(graph: Handle) {
        enter()?;
        call::cuGraphDestroy(graph)
    }

    fn cudaGraphClone(to: Out<Handle>, graph: Handle) { call::cuGraphClone(to, graph) }

    fn cudaGraphNodeFindInClone(to: Out<Handle>, original: Handle, clone: Handle) {
        call::cuGraphNodeFindInClone(to, original, clone)
    }

    fn cudaGraphAddKernelNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, params: In<KernelParams>,
    ) {
        call::cuGraphAddKernelNode(to, graph, nodes, count, In::of(&kernel(params)?))
    }

    fn cudaGraphAddMemcpyNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, params: In<copy::Params>,
    ) {
        add_copy((to, graph), (nodes, count), copy_of(params))
    }

    fn cudaGraphAddMemcpyNode1D(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, target: u64, from: u64,
        bytes: usize, kind: c_uint,
    ) {
        add_copy((to, graph), (nodes, count), row(target, from, bytes, kind))
    }

    fn cudaGraphAddMemcpyNodeToSymbol(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, symbol: Host, from: u64,
        bytes: usize, offset: usize, kind: c_uint,
    ) {
        let params = symbol_params((from, symbol), (bytes, offset), kind, true)?;
        add_copy((to, graph), (nodes, count), params.copy())
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, target: u64, symbol: Host,
        bytes: usize, offset: usize, kind: c_uint,
    ) {
        let params = symbol_params((target, symbol), (bytes, offset), kind, false)?;
        add_copy((to, graph), (nodes, count), params.copy())
    }

    fn cudaGraphAddMemsetNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, params: In<SetParams>,
    ) {
        enter()?;
        call::cuGraphAddMemsetNode(to, graph, nodes, count, params, 0)
    }

    fn cudaGraphAddHostNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, params: In<HostParams>,
    ) {
        enter()?;
        call::cuGraphAddHostNode(to, graph, nodes, count, params)
    }

    fn cudaGraphAddEmptyNode(to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize) {
        enter()?;
        call::cuGraphAddEmptyNode(to, graph, nodes, count)
    }

    fn cudaGraphAddChildGraphNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, child: Handle,
    ) {
        enter()?;
        call::cuGraphAddChildGraphNode(to, graph, nodes, count, child)
    }

    fn cudaGraphAddEventRecordNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, event: Handle,
    ) {
        enter()?;
        call::cuGraphAddEventRecordNode(to, graph, nodes, count, event)
    }

    fn cudaGraphAddEventWaitNode(
        to: Out<Handle>, graph: Handle, nodes: In<Handle>, count: usize, event: Handle,
    ) {
        enter()?;
        call::cuGraphAddEventWaitNode(to, graph, nodes, count, event)
    }

    fn cudaGraphAddDependencies(
        graph: Handle, from: In<Handle>, to: In<Handle>, data: u64, count: usize,
    ) {
        let count = if is_12() { data as usize } else { count };
        call::cuGraphAddDependencies(graph, from, to, count)
    }

    fn cudaGraphAddDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _data: In<u64>, count: usize,
    ) {
        call::cuGraphAddDependencies(graph, from, to, count)
    }

    fn cudaGraphRemoveDependencies(
        graph: Handle, from: In<Handle>, to: In<Handle>, data: u64, count: usize,
    ) {
        let count = if is_12() { data as usize } else { count };
        call::cuGraphRemoveDependencies(graph, from, to, count)
    }

    fn cudaGraphRemoveDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _data: In<u64>, count: usize,
    ) {
        call::cuGraphRemoveDependencies(graph, from, to, count)
    }

    fn cudaGraphGetEdges(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, data: u64, count: u64,
    ) {
        let (data, count) = data_and_count(data, count);
        call::cuGraphGetEdges_v2(graph, from, to, data, count)
    }

    fn cudaGraphGetEdges_v2(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, data: Out<u64>, count: Out<usize>,
    ) {
        call::cuGraphGetEdges_v2(graph, from, to, data, count)
    }

    fn cudaGraphNodeGetDependencies(node: Handle, to: Out<Handle>, data: u64, count: u64) {
        let (data, count) = data_and_count(data, count);
        call::cuGraphNodeGetDependencies_v2(node, to, data, count)
    }

    fn cudaGraphNodeGetDependencies_v2(
        node: Handle, to: Out<Handle>, data: Out<u64>, count: Out<usize>,
    ) {
        call::cuGraphNodeGetDependencies_v2(node, to, data, count)
    }

    fn cudaGraphNodeGetDependentNodes(node: Handle, to: Out<Handle>, data: u64, count: u64) {
        let (data, count) = data_and_count(data, count);
        call::cuGraphNodeGetDependentNodes_v2(node, to, data, count)
    }

    fn cudaGraphNodeGetDependentNodes_v2(
        node: Handle, to: Out<Handle>, data: Out<u64>, count: Out<usize>,
    ) {
        call::cuGraphNodeGetDependentNodes_v2(node, to, data, count)
    }

    fn cudaGraphDestroyNode(node: Handle) { call::cuGraphDestroyNode(node) }

    fn cudaGraphGetNodes(graph: Handle, to: Out<Handle>, count: Out<usize>) {
        call::cuGraphGetNodes(graph, to, count)
    }

    fn cudaGraphGetRootNodes(graph: Handle, to: Out<Handle>, count: Out<usize>) {
        call::cuGraphGetRootNodes(graph, to, count)
    }

    fn cudaGraphNodeGetType(node: Handle, to: Out<c_uint>) { call::cuGraphNodeGetType(node, to) }

    fn cudaGraphKernelNodeGetParams(node: Handle, to: Out<KernelParams>) {
        // The function is the driver's, which launches and setters take as well.
        kernels::cuGraphKernelNodeGetParams(node, to)
    }

    fn cudaGraphKernelNodeSetParams(node: Handle, params: In<KernelParams>) {
        kernels::cuGraphKernelNodeSetParams(node, In::of(&kernel(params)?))
    }

    fn cudaGraphKernelNodeGetAttribute(node: Handle, id: c_uint, to: Out<[u32; 16]>) {
        kernels::cuGraphKernelNodeGetAttribute(node, id, to)
    }

    fn cudaGraphKernelNodeSetAttribute(node: Handle, id: c_uint, from: In<[u32; 16]>) {
        kernels::cuGraphKernelNodeSetAttribute(node, id, from)
    }

    fn cudaGraphKernelNodeCopyAttributes(to: Handle, from: Handle) {
        kernels::cuGraphKernelNodeCopyAttributes(to, from)
    }

    fn cudaGraphMemcpyNodeSetParams(node: Handle, params: In<copy::Params>) {
        call::cuGraphMemcpyNodeSetParams(node, In::of(&copy_of(params)?))
    }

    fn cudaGraphMemcpyNodeSetParams1D(
        node: Handle, to: u64, from: u64, bytes: usize, kind: c_uint,
    ) {
        call::cuGraphMemcpyNodeSetParams(node, In::of(&row(to, from, bytes, kind)?))
    }

    fn cudaGraphMemsetNodeGetParams(node: Handle, to: Out<SetParams>) {
        call::cuGraphMemsetNodeGetParams(node, to)
    }

    fn cudaGraphMemsetNodeSetParams(node: Handle, params: In<SetParams>) {
        call::cuGraphMemsetNodeSetParams(node, params)
    }

    fn cudaGraphHostNodeGetParams(node: Handle, to: Out<HostParams>) {
        call::cuGraphHostNodeGetParams(node, to)
    }

    fn cudaGraphHostNodeSetParams(node: Handle, params: In<HostParams>) {
        call::cuGraphHostNodeSetParams(node, params)
    }

    fn cudaGraphChildGraphNodeGetGraph(node: Handle, to: Out<Handle>) {
        call::cuGraphChildGraphNodeGetGraph(node, to)
    }

    fn cudaGraphInstantiate | cudaGraphInstantiateWithFlags (
        to: Out<Handle>, graph: Handle, flags: u64,
    ) {
        enter()?;
        call::cuGraphInstantiateWithFlags(to, graph, flags)
    }

    fn cudaGraphInstantiateWithParams | cudaGraphInstantiateWithParams_ptsz (
        to: Out<Handle>, graph: Handle, params: In<Params>,
    ) {
        enter()?;
        call::cuGraphInstantiateWithParams(to, graph, params)
    }

    fn cudaGraphExecGetFlags(instance: Handle, to: Out<u64>) {
        call::cuGraphExecGetFlags(instance, to)
    }

    fn cudaGraphExecDestroy(instance: Handle) {
        enter()?;
        call::cuGraphExecDestroy(instance)
    }

    fn cudaGraphUpload | cudaGraphUpload_ptsz (instance: Handle, on: Handle) {
        enter()?;
        call::cuGraphUpload(instance, on)
    }

    fn cudaGraphLaunch | cudaGraphLaunch_ptsz (instance: Handle, on: Handle) {
        enter()?;
        call::cuGraphLaunch(instance, on)
    }

    fn cudaGraphExecUpdate(instance: Handle, graph: Handle, info: Out<[u64; 3]>) {
        enter()?;
        call::cuGraphExecUpdate_v2(instance, graph, info)
    }

    fn cudaGraphExecKernelNodeSetParams(
        instance: Handle, node: Handle, params: In<KernelParams>,
    ) {
        call::cuGraphExecKernelNodeSetParams(instance, node, In::of(&kernel(params)?))
    }

    fn cudaGraphExecMemcpyNodeSetParams(
        instance: Handle, node: Handle, params: In<copy::Params>,
    ) {
        call::cuGraphExecMemcpyNodeSetParams(instance, node, In::of(&copy_of(params)?), 0)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(
        instance: Handle, node: Handle, to: u64, from: u64, bytes: usize, kind: c_uint,
    ) {
        let copy = row(to, from, bytes, kind)?;
        call::cuGraphExecMemcpyNodeSetParams(instance, node, In::of(&copy), 0)
    }

    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        instance: Handle, node: Handle, symbol: Host, from: u64, bytes: usize, offset: usize,
        kind: c_uint,
    ) {
        let copy = symbol_params((from, symbol), (bytes, offset), kind, true)?.copy()?;
        call::cuGraphExecMemcpyNodeSetParams(instance, node, In::of(&copy), 0)
    }

    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        instance: Handle, node: Handle, to: u64, symbol: Host, bytes: usize, offset: usize,
        kind: c_uint,
    ) {
        let copy = symbol_params((to, symbol), (bytes, offset), kind, false)?.copy()?;
        call::cuGraphExecMemcpyNodeSetParams(instance, node, In::of(&copy), 0)
    }

    fn cudaGraphExecMemsetNodeSetParams(instance: Handle, node: Handle, params: In<SetParams>) {
        call::cuGraphExecMemsetNodeSetParams(instance, node, params, 0)
    }

    fn cudaGraphExecHostNodeSetParams(instance: Handle, node: Handle, params: In<HostParams>) {
        call::cuGraphExecHostNodeSetParams(instance, node, params)
    }

    fn cudaGraphExecChildGraphNodeSetParams(instance: Handle, node: Handle, child: Handle) {
        call::cuGraphExecChildGraphNodeSetParams(instance, node, child)
    }

    fn cudaGraphNodeSetEnabled(instance: Handle, node: Handle, enabled: c_uint) {
        call::cuGraphNodeSetEnabled(instance, node, enabled)
    }

    fn cudaGraphNodeGetEnabled(instance: Handle, node: Handle, to: Out<c_uint>) {
        call::cuGraphNodeGetEnabled(instance, node, to)
    }
}
