//! Nodes of any kind by one function, memory that graphs allocate, and conditional nodes.

use std::ffi::{c_int, c_uint};
use std::io::Write;
use std::sync::Arc;

use super::graph::{Place, add, replace, replace_in};
use super::kernel_node::{self, kernel_2};
use super::memory::store;
use super::node::{Plain, child, copy, event, host, node, params, set};
use super::unsupported::refuse;
use crate::code::{Code, Result};
use crate::context::current;
use crate::graph::{Condition, Graph, NodeKind, Nodes, Operation, Work};
use crate::graph_memory::GraphAllocation;
use crate::memory::Kind;
use crate::pointer::{Host, In, Out, Text};
use crate::state::{Driver, Handle, driver, lock};

/// `CUDA_MEM_ALLOC_NODE_PARAMS`: the fourth and fifth number of a pool's properties are its place.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AllocationParams {
    pool: [c_int; 4],
    _rest: [u64; 9],
    _access: [u64; 2],
    bytes: u64,
    address: u64,
}

/// `CUDA_CONDITIONAL_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ConditionParams {
    handle: u64,
    kind: c_uint,
    size: c_uint,
    graphs: *const Handle,
    _context: Handle,
}

/// `CUgraphNodeParams`: the kind, and behind it the parameters of one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeParams {
    kind: c_uint,
    _reserved: [c_uint; 3],
    words: [u64; 29],
    _more: u64,
}

/// Where the parameters of a kind stand.
const INNER: usize = 16;
/// Where the address stands that a node allocates.
const ADDRESS: usize = std::mem::offset_of!(AllocationParams, address);
/// Where the graphs of a conditional node stand.
const GRAPHS: usize = std::mem::offset_of!(ConditionParams, graphs);

const IF: c_uint = 0;
const WHILE: c_uint = 1;
const SWITCH: c_uint = 2;

/// The graphs of a conditional node, and a list of them for the program.
struct Bodies(Box<[Handle]>);

/// An allocation by a graph. The program's parameters get the address.
fn allocation(place: Host) -> Result<Operation> {
    let params = In::<AllocationParams>::at_address(place.address()).get()?;
    let current = current()?;
    let device = |number| current.driver.device(number).map(|(device, _)| device);
    // The kind of allocation ("pinned" or "managed"), its handles, and its place.
    let (kind, device) = match params.pool {
        [1, 0, 1, number] => (Kind::EmulatedDevice, device(number)?),
        [1, 0, 2..=4, _] => (Kind::Pinned(0), current.context.device),
        [2, 0, 1, number] => (Kind::Managed, device(number)?),
        [2, 0, 0 | 2..=4, _] => (Kind::Managed, current.context.device),
        _ => return Err(Code::INVALID_VALUE),
    };
    let owner = (device, current.handle);
    let made = GraphAllocation::new(current.driver, owner, params.bytes, kind)?;
    let address = made.address();
    place.add(ADDRESS).write(&address.to_le_bytes())?;
    let params = AllocationParams { address, ..params };
    Ok(Operation {
        params: Some(Arc::new(Plain(params))),
        ..Operation::allocation(made)
    })
}

/// An allocation by a captured stream, and its address.
pub(super) fn captured_allocation(owner: (usize, Handle), bytes: u64) -> Result<(Operation, u64)> {
    // As outside of captures one of 0 bytes has an address.
    let made = GraphAllocation::new(driver()?, owner, bytes.max(1), Kind::EmulatedDevice)?;
    let address = made.address();
    let params = AllocationParams {
        pool: [1, 0, 1, owner.0 as c_int],
        _rest: [0; 9],
        _access: [0; 2],
        bytes,
        address,
    };
    let operation = Operation {
        params: Some(Arc::new(Plain(params))),
        ..Operation::allocation(made)
    };
    Ok((operation, address))
}

/// What frees memory when the graph gets there.
pub(super) fn free(address: u64) -> Result<Operation> {
    let driver = current()?.driver;
    if address == 0 {
        return Err(Code::INVALID_VALUE);
    }
    let work = move || {
        driver.release(address, |kind| {
            matches!(kind, Kind::EmulatedDevice | Kind::Managed | Kind::Pinned(_))
        })
    };
    Ok(Operation {
        params: Some(Arc::new(Plain(address))),
        ..Operation::new(NodeKind::Free, Arc::new(work))
    })
}

/// The work of a conditional node: the graphs are as they are when the whole is instantiated.
fn condition_work(
    driver: &'static Driver,
    (address, kind): (u64, c_uint),
    bodies: &[Handle],
) -> Result<Work> {
    let bodies = bodies.iter().map(|&graph| {
        let nodes = driver.graphs.get(graph)?.nodes.clone();
        nodes.instantiate(driver, 0)
    });
    let bodies = bodies.collect::<Result<Vec<_>>>()?;
    let value = move || {
        let mut value = [0; 4];
        let read = driver.memory.read(address, &mut value);
        read.map_err(|_| Code::INVALID_VALUE)?;
        Ok(u32::from_le_bytes(value) as usize)
    };
    Ok(Arc::new(move || {
        let run = |index: usize| bodies.get(index).map_or(Ok(()), |body| body.run(driver));
        match kind {
            IF => run(usize::from(value()? == 0)),
            WHILE => {
                while value()? != 0 {
                    run(0)?;
                    // A kernel that failed has not changed the condition, and never will.
                    current()?;
                }
                Ok(())
            }
            _ => run(value()?),
        }
    }))
}

/// A conditional node. The program's parameters get the list of its graphs.
fn condition(graph: Handle, place: Host) -> Result<Operation> {
    let params = In::<ConditionParams>::at_address(place.address()).get()?;
    let driver = current()?.driver;
    let fits = match params.kind {
        IF => matches!(params.size, 1 | 2),
        WHILE => params.size == 1,
        SWITCH => (1..=1 << 16).contains(&params.size),
        _ => false,
    };
    if !fits || !driver.has_condition(graph, params.handle)? {
        return Err(Code::INVALID_VALUE);
    }
    let bodies = (0..params.size).map(|_| driver.graphs.insert(Graph::default()));
    let bodies = Arc::new(Bodies(bodies.collect()));
    let list = bodies.0.as_ptr();
    place
        .add(GRAPHS)
        .write(&(list.expose_provenance() as u64).to_le_bytes())?;
    let (of, all) = ((params.handle, params.kind), bodies.clone());
    Ok(Operation {
        graphs: all.0.to_vec(),
        params: Some(bodies),
        make_work: Some(Arc::new(move |driver| condition_work(driver, of, &all.0))),
        ..Operation::nothing(NodeKind::Condition)
    })
}

/// What a node does whose kind is a number of its parameters. `inner` makes the operations whose
/// parameters the driver and the runtime have in other forms: kernels and copies.
pub(crate) fn operation(
    graph: Option<Handle>,
    place: In<NodeParams>,
    inner: impl Fn(NodeKind, Host) -> Result<Operation>,
) -> Result<Operation> {
    let NodeParams { kind, words, .. } = place.get()?;
    let place = place.place(0).add(INNER);
    let handle = words[0] as Handle;
    match kind {
        0 => inner(NodeKind::Kernel, place),
        1 => inner(NodeKind::Copy, place),
        2 => set(In::at_address(place.address())),
        3 => host(In::at_address(place.address())),
        4 if graph != Some(handle) => child(handle, words[1] as c_uint),
        5 => Ok(Operation::nothing(NodeKind::Empty)),
        6 => event(handle, NodeKind::WaitEvent),
        7 => event(handle, NodeKind::RecordEvent),
        10 if graph.is_some() => allocation(place),
        11 => free(words[0]),
        13 if let Some(graph) = graph => condition(graph, place),
        8 | 9 | 12 => {
            refuse("cuGraphAddNode of semaphores and operations on memory")?;
            Err(Code::NOT_SUPPORTED)
        }
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Kernels and copies in the driver's form.
fn of_driver(kind: NodeKind, place: Host) -> Result<Operation> {
    match kind {
        NodeKind::Kernel => kernel_2(In::at_address(place.address())),
        // Behind flags and the context.
        _ => copy(In::at_address(place.add(16).address())),
    }
}

/// Adds a node of any kind.
pub(crate) fn add_any(
    to: Out<Handle>,
    graph: Handle,
    (dependencies, count): (In<Handle>, usize),
    params: In<NodeParams>,
    inner: impl Fn(NodeKind, Host) -> Result<Operation>,
) -> Result {
    let place = Place {
        graph,
        dependencies,
        count,
    };
    add(to, place, operation(Some(graph), params, inner))
}

/// Replaces what a node does, in its graph or in an instance.
pub(crate) fn set_any(
    instance: Option<Handle>,
    handle: Handle,
    params: In<NodeParams>,
    inner: impl Fn(NodeKind, Host) -> Result<Operation>,
) -> Result {
    let operation = operation(None, params, inner)?;
    match instance {
        None => replace(handle, operation),
        Some(instance) => replace_in(instance, handle, operation),
    }
}

/// The nodes and edges of a graph in the language of Graphviz.
fn dot(driver: &Driver, nodes: &Nodes) -> Result<String> {
    let mut text = "digraph graph_0 {\n".to_string();
    for handle in nodes.handles() {
        let node = driver.nodes.get(handle)?;
        let operation = lock(&node.operation);
        let name = kernel_node::name(&operation);
        let label = name.unwrap_or_else(|| format!("{:?}", operation.kind));
        text += &format!("  node_{handle} [label=\"{label}\"];\n");
    }
    for (from, to) in nodes.edges() {
        text += &format!("  node_{from} -> node_{to};\n");
    }
    Ok(text + "}\n")
}

api! {
    fn cuGraphAddNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize,
        params: In<NodeParams>,
    ) {
        add_any(to, graph, (dependencies, count), params, of_driver)
    }

    fn cuGraphAddNode_v2(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, _data: In<u64>, count: usize,
        params: In<NodeParams>,
    ) {
        add_any(to, graph, (dependencies, count), params, of_driver)
    }

    fn cuGraphNodeSetParams(handle: Handle, params: In<NodeParams>) {
        set_any(None, handle, params, of_driver)
    }

    fn cuGraphExecNodeSetParams(instance: Handle, handle: Handle, params: In<NodeParams>) {
        set_any(Some(instance), handle, params, of_driver)
    }

    fn cuGraphAddMemAllocNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, params: Host,
    ) {
        add(to, Place { graph, dependencies, count }, allocation(params))
    }

    fn cuGraphAddMemFreeNode(
        to: Out<Handle>, graph: Handle, dependencies: In<Handle>, count: usize, address: u64,
    ) {
        add(to, Place { graph, dependencies, count }, free(address))
    }

    fn cuGraphMemAllocNodeGetParams(handle: Handle, to: Out<AllocationParams>) {
        params(handle, to)
    }

    fn cuGraphMemFreeNodeGetParams(handle: Handle, to: Out<u64>) { params(handle, to) }

    fn cuDeviceGetGraphMemAttribute(device: c_int, attribute: c_uint, to: Host) {
        let driver = driver()?;
        let (device, _) = driver.device(device)?;
        store(to, (driver.graph_memory(device, attribute)?, 8))
    }

    fn cuDeviceSetGraphMemAttribute(device: c_int, attribute: c_uint, from: Host) {
        let driver = driver()?;
        let (device, _) = driver.device(device)?;
        // What had most bytes is set to 0, and to nothing else.
        if from.vec(8)? != [0; 8] {
            return Err(Code::INVALID_VALUE);
        }
        driver.reset_graph_memory(device, attribute)
    }

    fn cuDeviceGraphMemTrim(device: c_int) {
        let driver = driver()?;
        driver.trim_graph_memory(driver.device(device)?.0);
        Ok(())
    }

    fn cuGraphConditionalHandleCreate(
        to: Out<u64>, graph: Handle, _context: Handle, value: c_uint, flags: c_uint,
    ) {
        let current = current()?;
        let driver = current.driver;
        let nodes = driver.graphs.get(graph)?.nodes.clone();
        if to.is_null() || flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        let owner = (current.context.device, current.handle, 0);
        let address = driver.allocate(4, Kind::EmulatedDevice, owner)?;
        driver.set(address, &[0; 4], 1, (1, 0))?;
        // CU_GRAPH_COND_ASSIGN_DEFAULT.
        let at_launch = (flags == 1).then_some(value);
        nodes.add_condition(Condition { address, at_launch });
        to.set(address)
    }

    fn cuGraphDebugDotPrint(graph: Handle, path: Text, _flags: c_uint) {
        let driver = driver()?;
        let text = dot(driver, &driver.graphs.get(graph)?.nodes)?;
        let file = std::fs::File::create(path.get()?);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|_| Code::OPERATING_SYSTEM)
    }

    fn cuGraphNodeGetContainingGraph(handle: Handle, to: Out<Handle>) {
        let (driver, node) = (driver()?, node(handle)?);
        let found = driver.graphs.find(|graph| graph.nodes.is(&node.graph));
        to.set(found.ok_or(Code::INVALID_VALUE)?)
    }
}
