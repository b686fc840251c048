//! What captures make of streams and events, and which calls they forbid. The tests are threads of
//! one process: all captures are those of their thread alone.

use super::*;

/// `CUDA_ERROR_STREAM_CAPTURE_…`.
const UNSUPPORTED: u32 = 900;
const INVALIDATED: u32 = 901;
const MERGE: u32 = 902;
const UNJOINED: u32 = 904;
const ISOLATION: u32 = 905;
const IMPLICIT: u32 = 906;
const CAPTURED_EVENT: u32 = 907;
const WRONG_THREAD: u32 = 908;

/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const RELAXED: c_uint = 2;

fn stream(flags: c_uint) -> Handle {
    let mut stream = NONE;
    let to: *mut Handle = &mut stream;
    assert_eq!(call!(cuStreamCreate(to => *mut Handle, flags => c_uint)), 0);
    stream
}

fn event() -> Handle {
    let mut event = NONE;
    let to: *mut Handle = &mut event;
    assert_eq!(call!(cuEventCreate(to => *mut Handle, 0 => c_uint)), 0);
    event
}

fn record(event: Handle, on: Handle) -> u32 {
    call!(cuEventRecord(event => Handle, on => Handle))
}

fn wait(on: Handle, event: Handle) -> u32 {
    call!(cuStreamWaitEvent(on => Handle, event => Handle, 0 => c_uint))
}

fn set(address: u64, value: u32, on: Handle) -> u32 {
    call!(cuMemsetD32Async(
        address => u64, value => c_uint, 16 => usize, on => Handle
    ))
}

fn begin(stream: Handle, mode: c_uint) {
    let code = call!(cuStreamBeginCapture_v2(stream => Handle, mode => c_uint));
    assert_eq!(code, 0);
}

fn end(stream: Handle) -> (u32, Handle) {
    let mut graph = NONE;
    let to: *mut Handle = &mut graph;
    let code = call!(cuStreamEndCapture(stream => Handle, to => *mut Handle));
    (code, graph)
}

fn status(stream: Handle) -> c_uint {
    let mut status = 9;
    let to: *mut c_uint = &mut status;
    let code = call!(cuStreamIsCapturing(stream => Handle, to => *mut c_uint));
    assert_eq!(code, 0);
    status
}

fn edges(graph: Handle) -> Vec<[Handle; 2]> {
    let (mut from, mut to, mut count) = ([NONE; 8], [NONE; 8], 8usize);
    let places = (from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count);
    let code = call!(cuGraphGetEdges(
        graph => Handle, places.0 => *mut Handle, places.1 => *mut Handle, places.2 => *mut usize
    ));
    assert_eq!(code, 0);
    (0..count).map(|index| [from[index], to[index]]).collect()
}

fn alloc_code() -> u32 {
    let mut address = 0u64;
    let to: *mut u64 = &mut address;
    call!(cuMemAlloc_v2(to => *mut u64, 64 => usize))
}

#[test]
fn a_forbidden_call_invalidates_the_capture() {
    context();
    let (one, buffer, recorded) = (stream(1), alloc(64), event());
    let forbidden: [(&str, u32, &dyn Fn() -> u32); 6] = [
        (
            "synchronise",
            UNSUPPORTED,
            &|| call!(cuStreamSynchronize(one => Handle)),
        ),
        (
            "query",
            UNSUPPORTED,
            &|| call!(cuStreamQuery(one => Handle)),
        ),
        ("context", UNSUPPORTED, &|| call!(cuCtxSynchronize())),
        ("allocate", UNSUPPORTED, &alloc_code),
        ("free", UNSUPPORTED, &|| call!(cuMemFree_v2(buffer => u64))),
        (
            "event",
            CAPTURED_EVENT,
            &|| call!(cuEventSynchronize(recorded => Handle)),
        ),
    ];
    for (name, code, call) in forbidden {
        begin(one, THREAD_LOCAL);
        assert_eq!((set(buffer, 1, one), record(recorded, one)), (0, 0));
        assert_eq!((call(), status(one)), (code, 2), "{name}");
        assert_eq!(set(buffer, 2, one), INVALIDATED, "{name}");
        assert_eq!(end(one), (INVALIDATED, NONE), "{name}");
        assert_eq!((status(one), alloc_code()), (0, 0), "{name}");
    }
}

#[test]
fn modes_say_which_calls_are_forbidden() {
    let context = context();
    let (one, buffer) = (stream(1), alloc(64));
    begin(one, RELAXED);
    assert_eq!((set(buffer, 1, one), alloc_code()), (0, 0));
    assert_eq!(end(one).0, 0);

    let mut mode = RELAXED;
    let place: *mut c_uint = &mut mode;
    let exchange = || call!(cuThreadExchangeStreamCaptureMode(place => *mut c_uint));
    begin(one, THREAD_LOCAL);
    assert_eq!((exchange(), alloc_code()), (0, 0));
    assert_eq!(exchange(), 0);
    // SAFETY: the pointer is to a local variable.
    assert_eq!(unsafe { place.read() }, RELAXED);
    assert_eq!(end(one).0, 0);

    begin(one, THREAD_LOCAL);
    let addresses = [one, context].map(|handle| handle.expose_provenance());
    let other = std::thread::spawn(move || {
        let [stream, context] = addresses.map(std::ptr::with_exposed_provenance_mut);
        assert_eq!(call!(cuCtxSetCurrent(context => Handle)), 0);
        end(stream).0
    });
    assert_eq!(other.join().expect("a code"), WRONG_THREAD);
    assert_eq!(end(one).0, 0);
}

#[test]
fn the_legacy_stream_comes_behind_blocking_ones() {
    context();
    let buffer = alloc(64);
    for (flags, code) in [(1, 0), (0, IMPLICIT)] {
        let one = stream(flags);
        for use_legacy in
            [&|| set(buffer, 1, NONE), &|| upload(buffer, &[1])] as [&dyn Fn() -> u32; 2]
        {
            begin(one, THREAD_LOCAL);
            assert_eq!(use_legacy(), code);
            assert_eq!(end(one).0, if code == 0 { 0 } else { INVALIDATED });
        }
        begin(one, THREAD_LOCAL);
        // The default stream of the thread waits for none.
        let code = call!(cuMemsetD32Async_ptsz(
            buffer => u64, 1 => c_uint, 16 => usize, NONE => Handle
        ));
        assert_eq!((code, end(one).0), (0, 0));
    }
}

#[test]
fn captured_nodes_depend_on_what_streams_and_events_say() {
    context();
    let (one, two, buffer) = (stream(1), stream(1), alloc(64));
    let (fork, join) = (event(), event());
    begin(one, THREAD_LOCAL);
    assert_eq!((set(buffer, 1, one), record(fork, one)), (0, 0));
    assert_eq!((wait(two, fork), set(buffer, 2, two)), (0, 0));
    assert_eq!((set(buffer + 32, 3, one), record(join, two)), (0, 0));
    assert_eq!((wait(one, join), set(buffer, 4, one)), (0, 0));

    let (mut status, mut count) = (0, 0usize);
    let (mut nodes, mut data): (*const Handle, *const u64) = (std::ptr::null(), std::ptr::null());
    let places = (
        &raw mut status,
        &raw mut nodes,
        &raw mut data,
        &raw mut count,
    );
    let none = std::ptr::null_mut();
    let code = call!(cuStreamGetCaptureInfo_v3(
        one => Handle, places.0 => *mut c_uint, none => *mut u64, NONE => Handle,
        places.1 => *mut *const Handle, places.2 => *mut *const u64, places.3 => *mut usize
    ));
    assert_eq!((code, status, count), (0, 1, 1));
    // SAFETY: there is data for each of the nodes.
    let (last, data) = unsafe { (nodes.read(), data.read()) };
    assert_eq!(data, 0);
    let (code, graph) = end(one);
    assert_eq!((code, self::status(two)), (0, 0));
    // An event of a capture that has ended brings no stream into it.
    assert_eq!((wait(two, join), self::status(two)), (CAPTURED_EVENT, 0));
    assert_eq!((record(join, two), wait(one, join)), (0, 0));
    let edges = edges(graph);
    let [first, left] = edges[0];
    let right = edges[1][1];
    assert_eq!(edges.len(), 4);
    assert_eq!(edges[1][0], first);
    assert!(edges.contains(&[left, last]) && edges.contains(&[right, last]));
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

#[test]
fn a_captured_host_function_has_its_parameters() {
    context();
    let one = stream(1);
    begin(one, THREAD_LOCAL);
    let function: unsafe extern "C" fn(*mut c_void) = nothing;
    let code = call!(cuLaunchHostFunc(
        one => Handle, function => unsafe extern "C" fn(*mut c_void), one => Handle
    ));
    assert_eq!(code, 0);
    let (mut node, mut count) = (NONE, 1usize);
    let (code, graph) = end(one);
    assert_eq!(code, 0);
    let places = (&raw mut node, &raw mut count);
    let code = call!(cuGraphGetNodes(
        graph => Handle, places.0 => *mut Handle, places.1 => *mut usize
    ));
    assert_eq!((code, count), (0, 1));
    let mut params = [NONE; 2];
    let to: *mut [Handle; 2] = &mut params;
    let code = call!(cuGraphHostNodeGetParams(node => Handle, to => *mut [Handle; 2]));
    assert_eq!((code, params), (0, [function as Handle, one]));
}

#[test]
fn what_crosses_the_boundary_of_a_capture_is_an_error() {
    context();
    let (one, two, buffer) = (stream(1), stream(1), alloc(64));
    let (fork, before) = (event(), event());
    begin(one, THREAD_LOCAL);
    assert_eq!((record(fork, one), wait(two, fork)), (0, 0));
    assert_eq!(set(buffer, 2, two), 0);
    // Nothing of the first stream comes behind the work of the second.
    assert_eq!(end(one), (UNJOINED, NONE));
    assert_eq!(status(two), 0);

    assert_eq!(record(before, two), 0);
    begin(one, THREAD_LOCAL);
    assert_eq!(wait(one, before), ISOLATION);
    assert_eq!(end(one), (INVALIDATED, NONE));

    begin(one, THREAD_LOCAL);
    begin(two, THREAD_LOCAL);
    assert_eq!((record(fork, two), wait(one, fork)), (0, MERGE));
    assert_eq!((end(one).0, end(two).0), (INVALIDATED, 0));
}
