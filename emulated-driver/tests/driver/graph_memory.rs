//! Graphs that allocate, loop and keep objects of the program alive.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

pub(super) fn graph() -> Handle {
    let mut graph = NONE;
    let to: *mut Handle = &mut graph;
    assert_eq!(call!(cuGraphCreate(to => *mut Handle, 0 => c_uint)), 0);
    graph
}

pub(super) fn instantiate(graph: Handle, flags: u64) -> Handle {
    let mut instance = NONE;
    let to: *mut Handle = &mut instance;
    let code = call!(cuGraphInstantiateWithFlags(
        to => *mut Handle, graph => Handle, flags => u64
    ));
    assert_eq!(code, 0);
    instance
}

pub(super) fn launch_graph(instance: Handle) -> u32 {
    call!(cuGraphLaunch(instance => Handle, NONE => Handle))
}

/// `CUgraphNodeParams` of a kind.
pub(super) fn params(kind: u64, words: &[u64]) -> [u64; 32] {
    let mut all = [0; 32];
    all[0] = kind;
    all[2..2 + words.len()].copy_from_slice(words);
    all
}

pub(super) fn add_node(graph: Handle, before: &[Handle], params: &mut [u64; 32]) -> (u32, Handle) {
    let mut node = NONE;
    let to: *mut Handle = &mut node;
    let (from, params): (*const Handle, *mut [u64; 32]) = (before.as_ptr(), params);
    let code = call!(cuGraphAddNode_v2(
        to => *mut Handle, graph => Handle, from => *const Handle, std::ptr::null() => *const u64,
        before.len() => usize, params => *mut [u64; 32]
    ));
    (code, node)
}

/// Words of a node that sets memory: address, pitch, value, bytes of an element, width, height.
pub(super) fn set(address: u64, value: u64) -> [u64; 6] {
    [address, 0, value | 4 << 32, 16, 1, 0]
}

fn used() -> u64 {
    let mut used = 0;
    let to: *mut u64 = &mut used;
    let code = call!(cuDeviceGetGraphMemAttribute(
        0 => c_int, 0 => c_uint, to => *mut u64
    ));
    assert_eq!(code, 0);
    used
}

#[test]
fn memory_of_a_graph_is_there_from_its_launch_on() {
    context();
    let graph = graph();
    // The place in a pool's properties: a device, the first; the bytes behind two words for others.
    let mut words = [0; 15];
    (words[0], words[1], words[13]) = (1, 1, 64);
    let mut allocation = params(10, &words);
    let (code, node) = add_node(graph, &[], &mut allocation);
    let address = allocation[16];
    assert_eq!(code, 0);
    assert_ne!(address, 0);
    let (code, node) = add_node(graph, &[node], &mut params(2, &set(address, 41)));
    assert_eq!(code, 0);
    let mut values = [0; 16];
    assert_eq!(download(address, &mut values), 1);

    let instance = instantiate(graph, 0);
    let before = used();
    assert_eq!(launch_graph(instance), 0);
    assert_eq!(used(), before + 64);
    assert_eq!((download(address, &mut values), values), (0, [41; 16]));
    // What nothing has freed is not allocated again, unless the launch frees it.
    assert_eq!(launch_graph(instance), 1);
    let frees_itself = instantiate(graph, 1);
    assert_eq!(launch_graph(frees_itself), 0);
    assert_eq!(call!(cuMemFree_v2(address => u64)), 0);
    assert_eq!(launch_graph(instance), 0);
    assert_eq!(call!(cuMemFree_v2(address => u64)), 0);

    assert_eq!(add_node(graph, &[node], &mut params(11, &[address])).0, 0);
    let frees = instantiate(graph, 0);
    for _ in 0..2 {
        assert_eq!(launch_graph(frees), 0);
        assert_eq!(download(address, &mut values), 1);
    }
}

/// Subtracts one, and goes on as long as something is left.
const COUNT_DOWN: &str = r#"
.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional
(
    .param .b64 cudaGraphSetConditional_param_0,
    .param .b32 cudaGraphSetConditional_param_1
)
;
.visible .entry count_down(.param .u64 handle, .param .u64 left, .param .u64 steps) {
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [handle];
    ld.param.u64 %rd2, [left];
    ld.param.u64 %rd3, [steps];
    red.global.add.u32 [%rd3], 1;
    atom.global.add.u32 %r1, [%rd2], -1;
    sub.u32 %r2, %r1, 1;
    {
        .param .b64 param0; .param .b32 param1;
        st.param.b64 [param0], %rd1;
        st.param.b32 [param1], %r2;
        call.uni cudaGraphSetConditional, (param0, param1);
    }
    ret;
}
"#;

/// A conditional node, and the first and the last of its graphs.
pub(super) fn add_condition(
    graph: Handle,
    handle: u64,
    [kind, size]: [u64; 2],
) -> (u32, [Handle; 2]) {
    let mut condition = params(13, &[handle, kind | size << 32]);
    let (code, _) = add_node(graph, &[], &mut condition);
    let list: *const Handle = std::ptr::with_exposed_provenance(condition[4] as usize);
    if code != 0 {
        return (code, [NONE; 2]);
    }
    // SAFETY: the call succeeded, and so the node has a list of its graphs here.
    (code, unsafe {
        [list.read(), list.add(size as usize - 1).read()]
    })
}

pub(super) fn condition_of(graph: Handle, value: c_uint) -> u64 {
    let mut handle = 0;
    let to: *mut u64 = &mut handle;
    let code = call!(cuGraphConditionalHandleCreate(
        to => *mut u64, graph => Handle, NONE => Handle, value => c_uint, 1 => c_uint
    ));
    assert_eq!(code, 0);
    handle
}

#[test]
fn a_kernel_says_how_often_a_conditional_graph_runs() {
    context();
    let count_down = function(load(COUNT_DOWN).1, c"count_down").1;
    let (graph, counts) = (graph(), alloc(8));
    let handle = condition_of(graph, 1);
    // A loop has one graph, and a handle belongs to one graph.
    assert_eq!(add_condition(graph, handle, [1, 2]).0, 1);
    assert_eq!(add_condition(graph, handle + 4, [1, 1]).0, 1);
    let (code, [body, _]) = add_condition(graph, handle, [1, 1]);
    assert_eq!(code, 0);
    let arguments = [handle, counts, counts + 4];
    let pointers = arguments.each_ref().map(std::ptr::from_ref);
    let each = pointers.as_ptr().expose_provenance() as u64;
    let function = count_down.expose_provenance() as u64;
    let words = [function, 1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0, each];
    assert_eq!(add_node(body, &[], &mut params(0, &words)).0, 0);
    let instance = instantiate(graph, 0);
    for (left, steps) in [(5, 5), (1, 6)] {
        assert_eq!(upload(counts, &[left]), 0);
        if steps == 5 {
            assert_eq!(upload(counts + 4, &[0]), 0);
        }
        assert_eq!(launch_graph(instance), 0);
        let mut found = [0; 2];
        assert_eq!((download(counts, &mut found), found), (0, [0, steps]));
    }
    let mut clone = NONE;
    let to: *mut Handle = &mut clone;
    assert_eq!(call!(cuGraphClone(to => *mut Handle, graph => Handle)), 801);
}

#[test]
fn one_of_several_graphs_runs() {
    context();
    let buffer = alloc(64);
    let cleared = [0; 16];
    for (value, expected) in [(0, 7), (1, 0), (9, 0)] {
        let graph = graph();
        let (code, [first, _]) = add_condition(graph, condition_of(graph, value), [2, 3]);
        assert_eq!(code, 0);
        assert_eq!(add_node(first, &[], &mut params(2, &set(buffer, 7))).0, 0);
        assert_eq!(upload(buffer, &cleared), 0);
        assert_eq!(launch_graph(instantiate(graph, 0)), 0);
        let mut found = [0; 16];
        assert_eq!((download(buffer, &mut found), found), (0, [expected; 16]));
    }
}

unsafe extern "C" fn destroy(count: *mut c_void) {
    // SAFETY: the test passes a counter that lives as long as the process.
    let count = unsafe { &*count.cast::<AtomicU32>() };
    count.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_graph_and_its_instance_keep_an_object_alive() {
    context();
    let destroyed: &AtomicU32 = Box::leak(Box::default());
    let argument: Handle = std::ptr::from_ref(destroyed).cast_mut().cast();
    let graph = graph();
    let mut object = NONE;
    let to: *mut Handle = &mut object;
    type Destroy = unsafe extern "C" fn(*mut c_void);
    let code = call!(cuUserObjectCreate(
        to => *mut Handle, argument => Handle, destroy => Destroy, 1 => c_uint, 1 => c_uint
    ));
    assert_eq!(code, 0);
    // The program's reference becomes the graph's.
    let retain = || {
        call!(cuGraphRetainUserObject(
            graph => Handle, object => Handle, 1 => c_uint, 1 => c_uint
        ))
    };
    assert_eq!([retain(), retain()], [0, 1]);
    assert_eq!(call!(cuUserObjectRelease(object => Handle, 1 => c_uint)), 1);
    let instance = instantiate(graph, 0);
    assert_eq!(call!(cuGraphDestroy(graph => Handle)), 0);
    assert_eq!(destroyed.load(Ordering::Relaxed), 0);
    assert_eq!(call!(cuGraphExecDestroy(instance => Handle)), 0);
    assert_eq!(destroyed.load(Ordering::Relaxed), 1);
}

#[test]
fn a_captured_node_waits_for_what_the_program_names() {
    context();
    let (graph, buffer) = (graph(), alloc(64));
    let (_, first) = add_node(graph, &[], &mut params(2, &set(buffer, 3)));
    add_node(graph, &[], &mut params(5, &[]));
    let mut stream = NONE;
    let to: *mut Handle = &mut stream;
    assert_eq!(call!(cuStreamCreate(to => *mut Handle, 1 => c_uint)), 0);
    let before: *const Handle = &first;
    let code = call!(cuStreamBeginCaptureToGraph(
        stream => Handle, graph => Handle, before => *const Handle,
        std::ptr::null() => *const u64, 1 => usize, THREAD_LOCAL => c_uint
    ));
    assert_eq!(code, 0);
    let code = call!(cuMemsetD32Async(
        buffer => u64, 4 => c_uint, 16 => usize, stream => Handle
    ));
    assert_eq!(code, 0);
    // A capture into a graph of the program needs no place for a handle.
    let nowhere: *mut Handle = std::ptr::null_mut();
    let code = call!(cuStreamEndCapture(stream => Handle, nowhere => *mut Handle));
    assert_eq!(code, 0);
    let mut edges = [[NONE; 4]; 2];
    let mut count = 4usize;
    let [from, to] = &mut edges;
    let places = (from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count);
    let code = call!(cuGraphGetEdges(
        graph => Handle, places.0 => *mut Handle, places.1 => *mut Handle, places.2 => *mut usize
    ));
    assert_eq!((code, count), (0, 1));
    assert_eq!(edges[0][0], first);
}
