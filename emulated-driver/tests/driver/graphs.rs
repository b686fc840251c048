//! Graphs that are built node by node, what is captured, and values that streams wait for.

use super::*;

/// `CUDA_KERNEL_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Kernel {
    function: Handle,
    extents: [c_uint; 6],
    shared: c_uint,
    each: *mut *const c_void,
    extra: Handle,
    kernel: Handle,
    context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Set {
    address: u64,
    pitch: usize,
    value: c_uint,
    element_bytes: c_uint,
    width: usize,
    height: usize,
}

fn set_of(address: u64, value: u32) -> Set {
    Set {
        address,
        pitch: 0,
        value,
        element_bytes: 4,
        width: 33,
        height: 1,
    }
}

/// A graph: two sets, and behind both a kernel that adds what they set.
struct Sums {
    graph: Handle,
    nodes: [Handle; 3],
    buffers: [u64; 3],
    kernel: Kernel,
    /// The kernel's arguments, and the pointers to them.
    _arguments: Box<([u64; 4], [*const c_void; 4])>,
}

fn sums() -> Sums {
    let add = function(load(ADD).1, c"add").1;
    let buffers = [alloc(33 * 4), alloc(33 * 4), alloc(33 * 4)];
    let mut graph = NONE;
    let to: *mut Handle = &mut graph;
    assert_eq!(call!(cuGraphCreate(to => *mut Handle, 0 => c_uint)), 0);
    let values = [buffers[0], buffers[1], buffers[2], 33];
    let mut arguments = Box::new((values, [std::ptr::null(); 4]));
    for index in 0..4 {
        arguments.1[index] = (&raw const arguments.0[index]).cast();
    }
    let kernel = Kernel {
        function: add,
        extents: [1, 1, 1, 64, 1, 1],
        shared: 0,
        each: arguments.1.as_mut_ptr(),
        extra: NONE,
        kernel: NONE,
        context: NONE,
    };
    let mut nodes = [NONE; 3];
    for (index, value) in [7, 5].into_iter().enumerate() {
        let set = set_of(buffers[index], value);
        let (to, params): (*mut Handle, *const Set) = (&mut nodes[index], &set);
        assert_eq!(
            call!(cuGraphAddMemsetNode(
                to => *mut Handle, graph => Handle, std::ptr::null() => *const Handle, 0 => usize,
                params => *const Set, NONE => Handle
            )),
            0
        );
    }
    let (mut node, params): (Handle, *const Kernel) = (NONE, &kernel);
    let (to, before): (*mut Handle, *const Handle) = (&mut node, nodes.as_ptr());
    let code = call!(cuGraphAddKernelNode_v2(
        to => *mut Handle, graph => Handle, before => *const Handle, 2 => usize,
        params => *const Kernel
    ));
    assert_eq!(code, 0);
    nodes[2] = node;
    Sums {
        graph,
        nodes,
        buffers,
        kernel,
        _arguments: arguments,
    }
}

fn instantiate(graph: Handle) -> (u32, Handle) {
    let mut instance = NONE;
    let to: *mut Handle = &mut instance;
    let code = call!(cuGraphInstantiateWithFlags(
        to => *mut Handle, graph => Handle, 0 => u64
    ));
    (code, instance)
}

fn results(address: u64) -> [u32; 33] {
    let mut all = [0; 33];
    assert_eq!(download(address, &mut all), 0);
    all
}

#[test]
fn nodes_run_in_the_order_of_their_dependencies() {
    context();
    // The arguments live as long as it does.
    let sums = sums();
    let (graph, nodes, buffers, kernel) = (sums.graph, sums.nodes, sums.buffers, sums.kernel);
    let (code, instance) = instantiate(graph);
    assert_eq!(code, 0);
    assert_eq!(call!(cuGraphLaunch(instance => Handle, NONE => Handle)), 0);
    assert_eq!(results(buffers[2]), [7 + 3 * 5; 33]);

    // What an instance does can be changed, by what is of the same kind.
    let (set, node) = (set_of(buffers[1], 100), nodes[1]);
    let params: *const Set = &set;
    assert_eq!(
        call!(cuGraphExecMemsetNodeSetParams(
            instance => Handle, node => Handle, params => *const Set, NONE => Handle
        )),
        0
    );
    let mut changed = kernel;
    changed.extents[3] = 32;
    let params: *const Kernel = &changed;
    let set_kernel = |node| {
        call!(cuGraphExecKernelNodeSetParams_v2(
            instance => Handle, node => Handle, params => *const Kernel
        ))
    };
    assert_eq!(set_kernel(nodes[2]), 0);
    assert_eq!(set_kernel(nodes[0]), 1);
    assert_eq!(call!(cuGraphLaunch(instance => Handle, NONE => Handle)), 0);
    let mut expected = [307; 33];
    // 32 threads leave the last element as it was.
    expected[32] = 22;
    assert_eq!(results(buffers[2]), expected);
    let code = call!(cuGraphNodeSetEnabled(
        instance => Handle, node => Handle, 0 => c_uint
    ));
    assert_eq!(code, 0);

    let mut found = Set { width: 0, ..set };
    let to: *mut Set = &mut found;
    assert_eq!(
        call!(cuGraphMemsetNodeGetParams(node => Handle, to => *mut Set)),
        0
    );
    // SAFETY: the pointer is to a local variable.
    assert_eq!(unsafe { to.read() }, set_of(buffers[1], 5));
}

#[test]
fn graphs_have_nodes_edges_and_copies() {
    context();
    let sums = sums();
    let (graph, nodes) = (sums.graph, sums.nodes);
    let (mut roots, mut count) = ([NONE; 4], 4usize);
    let (to, number): (*mut Handle, *mut usize) = (roots.as_mut_ptr(), &mut count);
    let code = call!(cuGraphGetRootNodes(
        graph => Handle, to => *mut Handle, number => *mut usize
    ));
    // SAFETY: the pointers are to local variables.
    let found = unsafe { (code, number.read(), to.read(), to.add(1).read()) };
    assert_eq!(found, (0, 2, nodes[0], nodes[1]));
    let mut kind: c_uint = 99;
    let to: *mut c_uint = &mut kind;
    let node = nodes[1];
    assert_eq!(
        call!(cuGraphNodeGetType(node => Handle, to => *mut c_uint)),
        0
    );
    // SAFETY: the pointer is to a local variable.
    assert_eq!(unsafe { to.read() }, 2);

    let mut clone = NONE;
    let to: *mut Handle = &mut clone;
    assert_eq!(call!(cuGraphClone(to => *mut Handle, graph => Handle)), 0);
    // A cycle cannot be instantiated; the copy has none.
    let edge = |from: Handle, to: Handle| {
        let (from, to): (*const Handle, *const Handle) = (&from, &to);
        call!(cuGraphAddDependencies(
            graph => Handle, from => *const Handle, to => *const Handle, 1 => usize
        ))
    };
    assert_eq!(edge(nodes[0], nodes[2]), 1);
    assert_eq!(edge(nodes[2], nodes[0]), 0);
    assert_eq!(instantiate(graph).0, 1);
    let (code, instance) = instantiate(clone);
    assert_eq!(code, 0);
    assert_eq!(call!(cuGraphLaunch(instance => Handle, NONE => Handle)), 0);
    assert_eq!(call!(cuGraphDestroy(graph => Handle)), 0);
    assert_eq!(call!(cuGraphDestroyNode(node => Handle)), 400);
    assert_eq!(call!(cuGraphDestroy(graph => Handle)), 400);
}

/// Attributes belong to the node: they outlast its parameters.
#[test]
fn kernel_nodes_have_attributes() {
    context();
    let sums = sums();
    let (node, other, kernel) = (sums.nodes[2], sums.nodes[0], sums.kernel);
    let get = |node: Handle, id: c_uint| {
        let mut value = [9u32; 16];
        let to: *mut [u32; 16] = &mut value;
        let code = call!(cuGraphKernelNodeGetAttribute(
            node => Handle, id => c_uint, to => *mut [u32; 16]
        ));
        (code, value[..3].to_vec())
    };
    let set = |id: c_uint, words: [u32; 3]| {
        let mut value = [0u32; 16];
        value[..3].copy_from_slice(&words);
        let from: *const [u32; 16] = &value;
        call!(cuGraphKernelNodeSetAttribute(
            node => Handle, id => c_uint, from => *const [u32; 16]
        ))
    };
    assert_eq!(get(node, 2), (0, vec![0; 3]));
    assert_eq!(set(2, [1, 0, 0]), 0);
    assert_eq!(set(8, [5, 0, 0]), 0);
    // A synchronisation policy is one of streams, and the other node is no kernel.
    assert_eq!(set(3, [1, 0, 0]), 1);
    assert_eq!(get(other, 2).0, 1);
    // Clusters of two blocks do not divide a grid of one, and no GPU has some of 100.
    assert_eq!(set(4, [1, 1, 1]), 0);
    let params: *const Kernel = &kernel;
    let code = call!(cuGraphKernelNodeSetParams_v2(
        node => Handle, params => *const Kernel
    ));
    assert_eq!(code, 0);
    assert_eq!(get(node, 2), (0, vec![1, 0, 0]));
    assert_eq!(get(node, 8), (0, vec![5, 0, 0]));
    let (code, instance) = instantiate(sums.graph);
    assert_eq!(code, 0);
    assert_eq!(call!(cuGraphLaunch(instance => Handle, NONE => Handle)), 0);
    assert_eq!(results(sums.buffers[2]), [7 + 3 * 5; 33]);
}

/// What a stream was captured from is there to read and to change, as of nodes made by hand.
#[test]
fn captured_nodes_have_parameters() {
    context();
    let add = function(load(ADD).1, c"add").1;
    let buffers = [alloc(33 * 4), alloc(33 * 4), alloc(33 * 4)];
    let (mut stream, mut graph) = (NONE, NONE);
    let to: *mut Handle = &mut stream;
    assert_eq!(call!(cuStreamCreate(to => *mut Handle, 1 => c_uint)), 0);
    assert_eq!(
        call!(cuStreamBeginCapture_v2(stream => Handle, THREAD_LOCAL => c_uint)),
        0
    );
    for (buffer, value) in [(buffers[0], 7u32), (buffers[1], 0x0102_0304)] {
        let code = call!(cuMemsetD32Async(
            buffer => u64, value => u32, 33 => usize, stream => Handle
        ));
        assert_eq!(code, 0);
    }
    assert_eq!(launch(add, stream, buffers, 33), 0);
    let code = call!(cuMemcpyDtoDAsync_v2(
        buffers[0] => u64, buffers[2] => u64, 33 * 4 => usize, stream => Handle
    ));
    assert_eq!(code, 0);
    let to: *mut Handle = &mut graph;
    let code = call!(cuStreamEndCapture(stream => Handle, to => *mut Handle));
    assert_eq!(code, 0);
    let (mut nodes, mut count) = ([NONE; 4], 4usize);
    let (to, number): (*mut Handle, *mut usize) = (nodes.as_mut_ptr(), &mut count);
    let code = call!(cuGraphGetNodes(
        graph => Handle, to => *mut Handle, number => *mut usize
    ));
    assert_eq!((code, count), (0, 4));

    let mut set = set_of(0, 0);
    let to: *mut Set = &mut set;
    let code = call!(cuGraphMemsetNodeGetParams(nodes[1] => Handle, to => *mut Set));
    let expected = Set {
        pitch: set.pitch,
        ..set_of(buffers[1], 0x0102_0304)
    };
    assert_eq!((code, set), (0, expected));
    let mut kernel = Kernel {
        function: NONE,
        extents: [0; 6],
        shared: 9,
        each: std::ptr::null_mut(),
        extra: NONE,
        kernel: NONE,
        context: NONE,
    };
    let to: *mut Kernel = &mut kernel;
    let code = call!(cuGraphKernelNodeGetParams_v2(nodes[2] => Handle, to => *mut Kernel));
    assert_eq!((code, kernel.function), (0, add));
    assert_eq!((kernel.extents, kernel.shared), ([1, 1, 1, 64, 1, 1], 0));
    // SAFETY: the node has a copy of each of the four arguments.
    let first = unsafe { kernel.each.read().cast::<u64>().read_unaligned() };
    assert_eq!(first, buffers[0]);
    let mut copy = [0u64; 25];
    let to: *mut [u64; 25] = &mut copy;
    let code = call!(cuGraphMemcpyNodeGetParams(nodes[3] => Handle, to => *mut [u64; 25]));
    assert_eq!((code, copy[22]), (0, 33 * 4));
    let (code, instance) = instantiate(graph);
    assert_eq!(code, 0);
    assert_eq!(call!(cuGraphLaunch(instance => Handle, NONE => Handle)), 0);
    assert_eq!(results(buffers[0]), [7 + 3 * 0x0102_0304; 33]);
}

#[test]
fn streams_wait_for_values_of_other_threads() {
    let context = context();
    let mut stream = NONE;
    let to: *mut Handle = &mut stream;
    assert_eq!(call!(cuStreamCreate(to => *mut Handle, 1 => c_uint)), 0);
    let flag = alloc(16);
    assert_eq!(upload(flag, &[0, 1]), 0);
    let wait = |address: u64, value: u32, flags: c_uint| {
        call!(cuStreamWaitValue32_v2(
            stream => Handle, address => u64, value => u32, flags => c_uint
        ))
    };
    assert_eq!(wait(flag + 4, 1, 0), 0);
    assert_eq!(wait(flag + 4, 3, 2), 0);
    assert_eq!(wait(flag + 2, 1, 0), 1);
    let context = context.expose_provenance();
    let writer = std::thread::spawn(move || {
        let context: Handle = std::ptr::with_exposed_provenance_mut(context);
        assert_eq!(call!(cuCtxSetCurrent(context => Handle)), 0);
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(upload(flag, &[5]), 0);
    });
    assert_eq!(wait(flag, 5, 1), 0);
    let code = call!(cuStreamWriteValue32_v2(
        stream => Handle, flag => u64, 8 => u32, 0 => c_uint
    ));
    assert_eq!(code, 0);
    writer.join().expect("no panic");
    let mut value = [0; 2];
    assert_eq!(download(flag, &mut value), 0);
    assert_eq!(value, [8, 1]);
}

/// A capture has one number for all its streams, and an event that is recorded with the external
/// flag is a node: it is recorded when the graph runs.
#[test]
fn captures_have_a_number_and_external_events_are_nodes() {
    context();
    let stream = || {
        let mut stream = NONE;
        let to: *mut Handle = &mut stream;
        assert_eq!(call!(cuStreamCreate(to => *mut Handle, 1 => c_uint)), 0);
        stream
    };
    let event = || {
        let mut event = NONE;
        let to: *mut Handle = &mut event;
        assert_eq!(call!(cuEventCreate(to => *mut Handle, 0 => c_uint)), 0);
        event
    };
    let number = |stream: Handle| {
        let (mut status, mut id): (c_uint, u64) = (9, 0);
        let (to, place): (*mut c_uint, *mut u64) = (&mut status, &mut id);
        let code = call!(cuStreamGetCaptureInfo(
            stream => Handle, to => *mut c_uint, place => *mut u64
        ));
        assert_eq!(code, 0);
        (status, id)
    };
    let record = |event: Handle, on: Handle, flags: c_uint| {
        call!(cuEventRecordWithFlags(
            event => Handle, on => Handle, flags => c_uint
        ))
    };
    let (first, second, fork, start, end) = (stream(), stream(), event(), event(), event());
    assert_eq!(number(first).0, 0);
    assert_eq!(
        call!(cuStreamBeginCapture_v2(first => Handle, THREAD_LOCAL => c_uint)),
        0
    );
    let (status, id) = number(first);
    assert_eq!(status, 1);
    assert_eq!(record(fork, first, 0), 0);
    let code = call!(cuStreamWaitEvent(second => Handle, fork => Handle, 0 => c_uint));
    assert_eq!((code, number(second)), (0, (1, id)));
    assert_eq!(record(start, first, 2), 1);
    assert_eq!(record(start, first, 1), 0);
    assert_eq!(record(end, first, 1), 0);
    let mut graph = NONE;
    let to: *mut Handle = &mut graph;
    let code = call!(cuStreamEndCapture(first => Handle, to => *mut Handle));
    assert_eq!(code, 0);
    // It was not recorded yet, and is none of the capture's.
    assert_eq!(call!(cuEventQuery(start => Handle)), 0);
    let (code, instance) = instantiate(graph);
    assert_eq!(code, 0);
    let elapsed = || {
        let mut time = -1.0f32;
        let to: *mut f32 = &mut time;
        let code = call!(cuEventElapsedTime(
            to => *mut f32, start => Handle, end => Handle
        ));
        (code, time)
    };
    assert_eq!(elapsed().0, 400);
    assert_eq!(call!(cuGraphLaunch(instance => Handle, NONE => Handle)), 0);
    let (code, time) = elapsed();
    assert!(code == 0 && time >= 0.0, "{code} {time}");
}
