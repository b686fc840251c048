//! Graphs: nodes by hand, instances, launches.

use std::ffi::c_uint;
use std::sync::Arc;

use crate::code::{Code, Result};
use crate::context::current;
use crate::graph::{Graph, NodeKind, Nodes, Operation};
use crate::pointer::{In, Out};
use crate::state::{Handle, driver, lock};
use crate::stream::{self, submit};

use super::copy::Copy3d;
use super::kernel_node::{KernelParams, KernelParams2, in_place_of, kernel, kernel_2};
use super::node::{HostParams, SetParams, child, copy, event, host, node, params, set};

/// Flags that a graph can be instantiated with: free on launch, upload, launches from a device (the
/// host launches it as well), and priorities of nodes.
const FLAGS: u64 = 1 | 2 | 4 | 8;
/// Those of free on launch and of launches from a device, which exclude each other.
const EXCLUSIVE: u64 = 1 | 4;

fn instantiate(to: Out<Handle>, graph: Handle, flags: u64) -> Result {
    let driver = current()?.driver;
    if to.is_null() || flags & !FLAGS != 0 || flags & EXCLUSIVE == EXCLUSIVE {
        return Err(Code::INVALID_VALUE);
    }
    let instance = driver.graphs.get(graph)?.nodes.instantiate(driver, flags)?;
    to.set(driver.instances.insert(instance))
}

/// What cuGraphInstantiateWithParams is called with.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Params {
    flags: u64,
    upload_stream: Handle,
    error_node: Handle,
    result: c_uint,
}

/// Where a node is added, and behind which ones.
pub(super) struct Place {
    pub(super) graph: Handle,
    pub(super) dependencies: In<Handle>,
    pub(super) count: usize,
}

pub(super) fn add(to: Out<Handle>, place: Place, operation: Result<Operation>) -> Result {
    let driver = driver()?;
    let nodes = driver.graphs.get(place.graph)?.nodes.clone();
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let dependencies: Result<Vec<Handle>> = (0..place.count)
        .map(|index| place.dependencies.at(index))
        .collect();
    to.set(nodes.add(driver, &dependencies?, operation?)?)
}

/// Replaces what a node does by something of the same kind.
pub(super) fn replace(handle: Handle, operation: Operation) -> Result {
    let node = node(handle)?;
    let mut own = lock(&node.operation);
    if own.kind != operation.kind {
        return Err(Code::INVALID_VALUE);
    }
    let operation = in_place_of(&own, operation)?;
    let replaced = std::mem::replace(&mut *own, operation);
    let driver = driver()?;
    replaced
        .graphs
        .iter()
        .try_for_each(|graph| driver.destroy_graph(*graph))
}

pub(super) fn replace_in(instance: Handle, node: Handle, operation: Operation) -> Result {
    let driver = driver()?;
    let instance = driver.instances.get(instance)?;
    let mut operation = in_place_of(&instance.operation(node)?, operation)?;
    // An instance runs the graph as it is now.
    if let Some(child) = operation.child_graph() {
        operation.graphs.clear();
        operation.work = driver.graphs.get(child)?.nodes.work(driver)?;
        driver.destroy_graph(child)?;
    }
    instance.set(node, operation)
}

/// Stores up to `count` handles, and how many there are; null for those behind the last.
fn list(all: &[Handle], to: Out<Handle>, count: Out<usize>) -> Result {
    if to.is_null() {
        return count.set(all.len());
    }
    let room = count.get()?;
    for index in 0..room {
        to.at(index).set(all.get(index).copied().unwrap_or(0))?;
    }
    count.set(all.len().min(room))
}

fn edges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) -> Result {
    let all = driver()?.graphs.get(graph)?.nodes.edges();
    if from.is_null() != to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let room = if from.is_null() { 0 } else { count.get()? };
    for (index, edge) in all.iter().take(room).enumerate() {
        from.at(index).set(edge.0)?;
        to.at(index).set(edge.1)?;
    }
    count.set(if from.is_null() {
        all.len()
    } else {
        all.len().min(room)
    })
}

/// The nodes that depend on one.
fn dependents(handle: Handle) -> Result<Vec<Handle>> {
    let edges = node(handle)?.graph.edges().into_iter();
    Ok(edges
        .filter(|edge| edge.0 == handle)
        .map(|edge| edge.1)
        .collect())
}

fn change_edges(
    graph: Handle,
    (from, to): (In<Handle>, In<Handle>),
    count: usize,
    present: bool,
) -> Result {
    let driver = driver()?;
    let nodes = driver.graphs.get(graph)?.nodes.clone();
    if !present {
        nodes.check_no_memory(driver)?;
    }
    (0..count).try_for_each(|index| nodes.set_edge(from.at(index)?, to.at(index)?, present))
}

/// Updates an instance by a graph, and stores a `CUgraphExecUpdateResult`.
fn update(instance: Handle, graph: Handle, result: Out<c_uint>) -> Result {
    let driver = driver()?;
    let nodes = driver.graphs.get(graph)?.nodes.clone();
    let updated = driver.instances.get(instance)?.update(driver, &nodes);
    result.set_optional(updated.err().map_or(0, |failure| failure as c_uint));
    updated.map_err(|_| Code::GRAPH_EXEC_UPDATE_FAILURE)
}

api! {
    fn cuGraphCreate(to: Out<Handle>, flags: c_uint) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        to.set(driver()?.graphs.insert(Graph::default()))
    }

    fn cuGraphDestroy(graph: Handle) {
        driver()?.destroy_graph(graph)
    }

    fn cuGraphClone(to: Out<Handle>, graph: Handle) {
        to.set(driver()?.clone_graph(graph)?)
    }

    fn cuGraphNodeFindInClone(to: Out<Handle>, original: Handle, clone: Handle) {
        let graph = driver()?.graphs.get(clone)?;
        let mut pairs = graph.originals.iter();
        to.set(pairs.find(|pair| pair.0 == original).ok_or(Code::INVALID_VALUE)?.1)
    }

    fn cuGraphAddKernelNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize,
        params: In<KernelParams>,
    ) {
        add(to, Place { graph, dependencies, count }, kernel(params))
    }

    fn cuGraphAddKernelNode_v2(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize,
        params: In<KernelParams2>,
    ) {
        add(to, Place { graph, dependencies, count }, kernel_2(params))
    }

    fn cuGraphAddMemcpyNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize,
        params: In<Copy3d>, _context: Handle,
    ) {
        add(to, Place { graph, dependencies, count }, copy(params))
    }

    fn cuGraphAddMemsetNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize,
        params: In<SetParams>, _context: Handle,
    ) {
        add(to, Place { graph, dependencies, count }, set(params))
    }

    fn cuGraphAddHostNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize,
        params: In<HostParams>,
    ) {
        add(to, Place { graph, dependencies, count }, host(params))
    }

    fn cuGraphAddEmptyNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize,
    ) {
        add(to, Place { graph, dependencies, count }, Ok(Operation::nothing(NodeKind::Empty)))
    }

    fn cuGraphAddChildGraphNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, inner: Handle,
    ) {
        add(to, Place { graph, dependencies, count }, child(inner, 0))
    }

    fn cuGraphAddEventRecordNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, recorded: Handle,
    ) {
        let operation = event(recorded, NodeKind::RecordEvent);
        add(to, Place { graph, dependencies, count }, operation)
    }

    fn cuGraphAddEventWaitNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, awaited: Handle,
    ) {
        let operation = event(awaited, NodeKind::WaitEvent);
        add(to, Place { graph, dependencies, count }, operation)
    }

    fn cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        change_edges(graph, (from, to), count, true)
    }

    fn cuGraphAddDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _data: In<u64>, count: usize,
    ) {
        change_edges(graph, (from, to), count, true)
    }

    fn cuGraphRemoveDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        change_edges(graph, (from, to), count, false)
    }

    fn cuGraphRemoveDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _data: In<u64>, count: usize,
    ) {
        change_edges(graph, (from, to), count, false)
    }

    fn cuGraphDestroyNode(handle: Handle) {
        driver()?.destroy_node(handle)
    }

    fn cuGraphGetNodes(graph: Handle, to: Out<Handle>, count: Out<usize>) {
        list(&driver()?.graphs.get(graph)?.nodes.handles(), to, count)
    }

    fn cuGraphGetRootNodes(graph: Handle, to: Out<Handle>, count: Out<usize>) {
        let nodes: Nodes = driver()?.graphs.get(graph)?.nodes.clone();
        let mut roots = nodes.handles();
        roots.retain(|node| nodes.dependencies(*node).is_empty());
        list(&roots, to, count)
    }

    fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        edges(graph, from, to, count)
    }

    fn cuGraphGetEdges_v2(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, data: Out<u64>, count: Out<usize>,
    ) {
        no_edge_data(data, count)?;
        edges(graph, from, to, count)
    }

    fn cuGraphNodeGetType(handle: Handle, to: Out<c_uint>) {
        to.set(lock(&node(handle)?.operation).kind as c_uint)
    }

    // The numbers of handles are those of objects: no two have one.
    fn cuGraphNodeGetLocalId(handle: Handle, to: Out<c_uint>) {
        let handles = node(handle)?.graph.handles();
        let index = handles.iter().position(|one| *one == handle);
        to.set(index.ok_or(Code::INVALID_VALUE)? as c_uint)
    }

    fn cuGraphNodeGetToolsId(handle: Handle, to: Out<u64>) {
        node(handle)?;
        to.set(handle as u64)
    }

    fn cuGraphGetId(graph: Handle, to: Out<c_uint>) {
        driver()?.graphs.get(graph)?;
        to.set(graph as c_uint)
    }

    fn cuGraphExecGetId(instance: Handle, to: Out<c_uint>) {
        driver()?.instances.get(instance)?;
        to.set(instance as c_uint)
    }

    fn cuGraphNodeGetDependencies(handle: Handle, to: Out<Handle>, count: Out<usize>) {
        list(&node(handle)?.graph.dependencies(handle), to, count)
    }

    fn cuGraphNodeGetDependencies_v2(
        handle: Handle, to: Out<Handle>, data: Out<u64>, count: Out<usize>,
    ) {
        no_edge_data(data, count)?;
        list(&node(handle)?.graph.dependencies(handle), to, count)
    }

    fn cuGraphNodeGetDependentNodes(handle: Handle, to: Out<Handle>, count: Out<usize>) {
        list(&dependents(handle)?, to, count)
    }

    fn cuGraphNodeGetDependentNodes_v2(
        handle: Handle, to: Out<Handle>, data: Out<u64>, count: Out<usize>,
    ) {
        no_edge_data(data, count)?;
        list(&dependents(handle)?, to, count)
    }

    fn cuGraphMemcpyNodeGetParams(handle: Handle, to: Out<Copy3d>) { params(handle, to) }

    fn cuGraphMemsetNodeGetParams(handle: Handle, to: Out<SetParams>) { params(handle, to) }

    fn cuGraphHostNodeGetParams(handle: Handle, to: Out<HostParams>) { params(handle, to) }

    fn cuGraphChildGraphNodeGetGraph(handle: Handle, to: Out<Handle>) {
        let child = lock(&node(handle)?.operation).child_graph();
        to.set(child.ok_or(Code::INVALID_VALUE)?)
    }

    fn cuGraphMemcpyNodeSetParams(handle: Handle, params: In<Copy3d>) {
        replace(handle, copy(params)?)
    }

    fn cuGraphMemsetNodeSetParams(handle: Handle, params: In<SetParams>) {
        replace(handle, set(params)?)
    }

    fn cuGraphHostNodeSetParams(handle: Handle, params: In<HostParams>) {
        replace(handle, host(params)?)
    }

    fn cuGraphExecKernelNodeSetParams(
        instance: Handle, handle: Handle, params: In<KernelParams>,
    ) {
        replace_in(instance, handle, kernel(params)?)
    }

    fn cuGraphExecKernelNodeSetParams_v2(
        instance: Handle, handle: Handle, params: In<KernelParams2>,
    ) {
        replace_in(instance, handle, kernel_2(params)?)
    }

    fn cuGraphExecMemcpyNodeSetParams(
        instance: Handle, handle: Handle, params: In<Copy3d>, _context: Handle,
    ) {
        replace_in(instance, handle, copy(params)?)
    }

    fn cuGraphExecMemsetNodeSetParams(
        instance: Handle, handle: Handle, params: In<SetParams>, _context: Handle,
    ) {
        replace_in(instance, handle, set(params)?)
    }

    fn cuGraphExecHostNodeSetParams(instance: Handle, handle: Handle, params: In<HostParams>) {
        replace_in(instance, handle, host(params)?)
    }

    fn cuGraphExecChildGraphNodeSetParams(instance: Handle, handle: Handle, graph: Handle) {
        replace_in(instance, handle, child(graph, 0)?)
    }

    fn cuGraphExecUpdate(
        instance: Handle, graph: Handle, error_node: Out<Handle>, result: Out<c_uint>,
    ) {
        error_node.set_optional(0);
        update(instance, graph, result)
    }

    fn cuGraphExecUpdate_v2(instance: Handle, graph: Handle, info: Out<[u64; 3]>) {
        let mut result = 0;
        let updated = update(instance, graph, Out::of(&mut result));
        info.set([u64::from(result), 0, 0])?;
        updated
    }

    fn cuGraphNodeSetEnabled(instance: Handle, handle: Handle, enabled: c_uint) {
        let instance = driver()?.instances.get(instance)?;
        let mut steps = lock(&instance.steps);
        let step = steps.iter_mut().find(|step| step.node == handle);
        step.ok_or(Code::INVALID_VALUE)?.enabled = enabled != 0;
        Ok(())
    }

    fn cuGraphNodeGetEnabled(instance: Handle, handle: Handle, to: Out<c_uint>) {
        let instance = driver()?.instances.get(instance)?;
        let steps = lock(&instance.steps);
        let step = steps.iter().find(|step| step.node == handle);
        to.set(c_uint::from(step.ok_or(Code::INVALID_VALUE)?.enabled))
    }

    fn cuGraphInstantiateWithFlags(to: Out<Handle>, graph: Handle, flags: u64) {
        instantiate(to, graph, flags)
    }

    fn cuGraphInstantiate(
        to: Out<Handle>, graph: Handle, _node: Out<Handle>, _log: Out<u8>, _bytes: usize,
    ) {
        instantiate(to, graph, 0)
    }

    fn cuGraphInstantiate_v2(
        to: Out<Handle>, graph: Handle, _node: Out<Handle>, _log: Out<u8>, _bytes: usize,
    ) {
        instantiate(to, graph, 0)
    }

    fn cuGraphInstantiateWithParams
        | cuGraphInstantiateWithParams_ptsz (to: Out<Handle>, graph: Handle, params: In<Params>) {
        instantiate(to, graph, params.get()?.flags)
    }

    fn cuGraphExecGetFlags(instance: Handle, to: Out<u64>) {
        to.set(driver()?.instances.get(instance)?.flags)
    }

    fn cuGraphExecDestroy(instance: Handle) { driver()?.instances.remove(instance).map(drop) }

    fn cuGraphUpload | cuGraphUpload_ptsz (instance: Handle, on: Handle) {
        stream::stream(on)?;
        driver()?.instances.get(instance).map(drop)
    }

    fn cuGraphLaunch | cuGraphLaunch_ptsz (instance: Handle, on: Handle) {
        let driver = current()?.driver;
        let instance = driver.instances.get(instance)?;
        submit(on, NodeKind::Graph, Arc::new(move || instance.run(driver)))
    }

    fn cuGraphEventRecordNodeGetEvent(handle: Handle, to: Out<Handle>) { params(handle, to) }

    fn cuGraphEventWaitNodeGetEvent(handle: Handle, to: Out<Handle>) { params(handle, to) }

    fn cuGraphEventRecordNodeSetEvent(handle: Handle, recorded: Handle) {
        replace(handle, event(recorded, NodeKind::RecordEvent)?)
    }

    fn cuGraphEventWaitNodeSetEvent(handle: Handle, awaited: Handle) {
        replace(handle, event(awaited, NodeKind::WaitEvent)?)
    }

    fn cuGraphExecEventRecordNodeSetEvent(instance: Handle, handle: Handle, recorded: Handle) {
        replace_in(instance, handle, event(recorded, NodeKind::RecordEvent)?)
    }

    fn cuGraphExecEventWaitNodeSetEvent(instance: Handle, handle: Handle, awaited: Handle) {
        replace_in(instance, handle, event(awaited, NodeKind::WaitEvent)?)
    }
}

/// Edges have no data but zeros: kinds of edges are for launches that begin before others end.
fn no_edge_data(data: Out<u64>, count: Out<usize>) -> Result {
    if data.is_null() {
        return Ok(());
    }
    (0..count.get()?).try_for_each(|index| data.at(index).set(0))
}
