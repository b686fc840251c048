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
