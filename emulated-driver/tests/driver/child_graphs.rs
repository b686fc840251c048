//! Graphs that are nodes of others, and what graphs with nodes of memory and conditions allow.

use super::graph_memory::{
    add_condition, add_node, condition_of, graph, instantiate, launch_graph, params, set,
};
use super::*;

fn child(node: Handle) -> (u32, Handle) {
    let mut graph = NONE;
    let to: *mut Handle = &mut graph;
    let code = call!(cuGraphChildGraphNodeGetGraph(node => Handle, to => *mut Handle));
    (code, graph)
}

fn first(address: u64) -> u32 {
    let mut value = [0];
    assert_eq!(download(address, &mut value), 0);
    value[0]
}

fn destroy(node: Handle) -> u32 {
    call!(cuGraphDestroyNode(node => Handle))
}

#[test]
fn a_child_graph_is_the_nodes_own_copy() {
    context();
    let (outer, inner, buffer) = (graph(), graph(), alloc(64));
    let (_, original) = add_node(inner, &[], &mut params(2, &set(buffer, 1)));
    let (code, node) = add_node(outer, &[], &mut params(4, &[inner as u64]));
    assert_eq!(code, 0);
    let (code, own) = child(node);
    assert_eq!(code, 0);
    assert_ne!(own, inner);
    let mut copy = NONE;
    let to: *mut Handle = &mut copy;
    let code = call!(cuGraphNodeFindInClone(
        to => *mut Handle, original => Handle, own => Handle
    ));
    assert_eq!(code, 0);

    // What is done to the original does not count, and what is done to the copy does.
    assert_eq!((destroy(original), destroy(copy)), (0, 0));
    assert_eq!(add_node(own, &[], &mut params(2, &set(buffer, 2))).0, 0);
    assert_eq!(call!(cuGraphDestroy(inner => Handle)), 0);
    assert_eq!(launch_graph(instantiate(outer, 0)), 0);
    assert_eq!(first(buffer), 2);

    // A clone has a copy of its own.
    let mut clone = NONE;
    let to: *mut Handle = &mut clone;
    assert_eq!(call!(cuGraphClone(to => *mut Handle, outer => Handle)), 0);
    assert_eq!(add_node(own, &[], &mut params(2, &set(buffer, 3))).0, 0);
    assert_eq!(launch_graph(instantiate(clone, 0)), 0);
    assert_eq!(first(buffer), 2);
    assert_eq!(launch_graph(instantiate(outer, 0)), 0);
    assert_eq!(first(buffer), 3);
    assert_eq!((destroy(node), child(node).0), (0, 400));
}

#[test]
fn a_child_graph_that_is_moved_is_the_graph_itself() {
    context();
    let (outer, inner) = (graph(), graph());
    let moved = [inner as u64, 1];
    let (code, node) = add_node(outer, &[], &mut params(4, &moved));
    assert_eq!((code, child(node)), (0, (0, inner)));
    assert_eq!(add_node(inner, &[], &mut params(4, &moved)).0, 1);
}

/// A graph whose condition has a value, by which it sets the first or the second word.
fn choice(buffer: u64, value: c_uint) -> Handle {
    let graph = graph();
    let handle = condition_of(graph, value);
    let (code, bodies) = add_condition(graph, handle, [0, 2]);
    assert_eq!(code, 0);
    for (index, body) in bodies.into_iter().enumerate() {
        let params = &mut params(2, &set(buffer + 64 * index as u64, 5));
        assert_eq!(add_node(body, &[], params).0, 0);
    }
    // The condition of a graph is known in the graphs of its nodes, and in no other.
    assert_eq!(add_condition(bodies[0], handle, [0, 2]).0, 0);
    assert_eq!(add_condition(self::graph(), handle, [0, 2]).0, 1);
    graph
}

#[test]
fn an_update_brings_the_conditions_of_its_graph() {
    context();
    let buffer = alloc(128);
    assert_eq!(upload(buffer, &[0; 32]), 0);
    let instance = instantiate(choice(buffer, 1), 0);
    let other = choice(buffer, 0);
    assert_eq!(launch_graph(instance), 0);
    assert_eq!((first(buffer), first(buffer + 64)), (5, 0));
    let mut info = [9u64; 3];
    let to: *mut [u64; 3] = &mut info;
    let update = |graph: Handle| {
        call!(cuGraphExecUpdate_v2(
            instance => Handle, graph => Handle, to => *mut [u64; 3]
        ))
    };
    assert_eq!(update(other), 0);
    assert_eq!(upload(buffer, &[0; 32]), 0);
    assert_eq!(launch_graph(instance), 0);
    assert_eq!((first(buffer), first(buffer + 64)), (0, 5));
    // CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, and …_NODE_TYPE_CHANGED.
    let empty = graph();
    for result in [2, 3] {
        assert_eq!(update(empty), 910);
        // SAFETY: the pointer is to a local variable.
        assert_eq!(unsafe { to.read() }[0], result);
        assert_eq!(add_node(empty, &[], &mut params(5, &[])).0, 0);
    }
}

#[test]
fn graphs_that_allocate_keep_their_nodes_and_edges() {
    context();
    let graph = graph();
    let mut words = [0; 15];
    // Managed memory, whose place is the first device.
    (words[0], words[1], words[13]) = (2, 1, 64);
    let mut allocation = params(10, &words);
    let (code, node) = add_node(graph, &[], &mut allocation);
    assert_eq!(code, 0);
    let address = allocation[16];
    let (_, last) = add_node(graph, &[node], &mut params(2, &set(address, 41)));
    assert_eq!(destroy(last), 801);
    let (from, to): (*const Handle, *const Handle) = (&node, &last);
    let code = call!(cuGraphRemoveDependencies(
        graph => Handle, from => *const Handle, to => *const Handle, 1 => usize
    ));
    assert_eq!(code, 801);
    assert_eq!(add_node(graph, &[last], &mut params(11, &[0])).0, 1);
    assert_eq!(launch_graph(instantiate(graph, 0)), 0);
    let value: *const u32 = std::ptr::with_exposed_provenance(address as usize);
    // SAFETY: managed memory is the host's too, from the launch on.
    assert_eq!(unsafe { value.read() }, 41);
    // Launches from a device exclude memory that is freed by the next launch.
    let mut instance = NONE;
    let place: *mut Handle = &mut instance;
    for (flags, code) in [(4, 0), (5, 1)] {
        let found = call!(cuGraphInstantiateWithFlags(
            place => *mut Handle, graph => Handle, flags => u64
        ));
        assert_eq!(found, code);
    }
}
