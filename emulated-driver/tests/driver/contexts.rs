//! The device, its contexts, and their streams and events.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[test]
fn the_name_says_that_the_device_is_emulated() {
    assert_eq!(call!(cuInit(0 => c_uint)), 0);
    let mut name = [0 as c_char; 64];
    let to = name.as_mut_ptr();
    assert_eq!(
        call!(cuDeviceGetName(to => *mut c_char, 64 => c_int, 0 => c_int)),
        0
    );
    // SAFETY: the function ends the text in a null byte.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    assert_eq!(name.to_str(), Ok("Emulated NVIDIA H100 (warpladder)"));
    let mut value = 0;
    let to: *mut c_int = &mut value;
    for (attribute, expected) in [
        (75, 9),
        (76, 0),
        (16, 132),
        (10, 32),
        (1, 1024),
        (97, 232_448),
        (22, 131_072),
        (26, 16_384),
        (29, 2048),
        (64, 32_768),
        (102, 1),
    ] {
        let code = call!(cuDeviceGetAttribute(
            to => *mut c_int, attribute => c_uint, 0 => c_int
        ));
        // SAFETY: the pointer is to a local variable.
        assert_eq!((code, unsafe { to.read() }), (0, expected));
    }
    assert_eq!(call!(cuDeviceGet(to => *mut c_int, 1 => c_int)), 101);
}

#[test]
fn every_function_is_found_by_name_and_version() {
    assert_eq!(call!(cuInit(0 => c_uint)), 0);
    let find = |name: &CStr, version: c_int| {
        let mut found: *const c_void = std::ptr::null();
        let mut status = -1;
        let (to, state): (*mut *const c_void, *mut c_int) = (&mut found, &mut status);
        let code = call!(cuGetProcAddress_v2(
            name.as_ptr() => *const c_char, to => *mut *const c_void, version => c_int, 0 => u64,
            state => *mut c_int
        ));
        (code, status, found)
    };
    let address = |name: &str| {
        // SAFETY: the symbol is taken as an address alone.
        let symbol = unsafe { library().get::<*const c_void>(name.as_bytes()) };
        *symbol.expect("exported")
    };
    for (name, version, exported) in [
        (c"cuMemAlloc", 12_000, "cuMemAlloc_v2"),
        (c"cuLaunchKernel", 12_000, "cuLaunchKernel"),
        (c"cuCtxCreate", 12_000, "cuCtxCreate_v3"),
        // What `cudaTypedefs.h` names PFN_cuCtxCreate_v12050 and PFN_cuGraphAddNode_v12030.
        (c"cuCtxCreate", 12_050, "cuCtxCreate_v4"),
        (c"cuGraphAddNode", 12_020, "cuGraphAddNode"),
        (c"cuGraphAddNode", 12_030, "cuGraphAddNode_v2"),
        (c"cuMemAdvise", 12_020, "cuMemAdvise_v2"),
        (c"cuCtxCreate", 13_000, "cuCtxCreate_v4"),
        (c"cuArrayCreate", 12_000, "cuArrayCreate_v2"),
    ] {
        assert_eq!(find(name, version), (0, 0, address(exported)), "{name:?}");
    }
    assert_eq!(find(c"cuNothing", 12_000), (500, 1, std::ptr::null()));
    // Mojo takes the first forms by their names.
    for first in [
        "cuStreamBeginCapture",
        "cuCtxCreate",
        "cuLinkCreate",
        "cuMemHostRegister",
    ] {
        assert_ne!(address(first), address(&format!("{first}_v2")));
    }
}

#[test]
fn events_take_the_time_and_captured_streams_become_graphs() {
    context();
    let add = function(load(ADD).1, c"add").1;
    let mut handles = [NONE; 5];
    let places: Vec<*mut Handle> = handles.iter_mut().map(|one| &raw mut *one).collect();
    assert_eq!(
        call!(cuStreamCreate(places[0] => *mut Handle, 1 => c_uint)),
        0
    );
    for place in &places[1..3] {
        assert_eq!(call!(cuEventCreate(*place => *mut Handle, 0 => c_uint)), 0);
    }
    let [stream, start, end, ..] = handles;
    let buffers = [alloc(256), alloc(256), alloc(256)];
    assert_eq!(upload(buffers[0], &[5; 64]), 0);
    assert_eq!(upload(buffers[1], &[1; 64]), 0);
    let mut milliseconds = -1.0f32;
    let to: *mut f32 = &mut milliseconds;
    let elapsed = || call!(cuEventElapsedTime(to => *mut f32, start => Handle, end => Handle));
    assert_eq!(elapsed(), 400);
    assert_eq!(call!(cuEventRecord(start => Handle, stream => Handle)), 0);
    assert_eq!(launch(add, stream, buffers, 64), 0);
    assert_eq!(call!(cuEventRecord(end => Handle, stream => Handle)), 0);
    assert_eq!(elapsed(), 0);
    // SAFETY: the pointer is to a local variable.
    assert!(unsafe { to.read() } > 0.0);

    assert_eq!(
        call!(cuStreamBeginCapture_v2(stream => Handle, THREAD_LOCAL => c_uint)),
        0
    );
    assert_eq!(
        call!(cuMemsetD32Async(
            buffers[2] => u64, 0 => c_uint, 64 => usize, stream => Handle
        )),
        0
    );
    assert_eq!(
        launch(add, stream, [buffers[2], buffers[1], buffers[2]], 64),
        0
    );
    assert_eq!(
        call!(cuStreamEndCapture(stream => Handle, places[3] => *mut Handle)),
        0
    );
    let mut result = [0; 64];
    assert_eq!(download(buffers[2], &mut result), 0);
    assert_eq!(result, [8; 64]);
    // SAFETY: the pointers are to elements of a local array.
    let graph = unsafe { places[3].read() };
    let code = call!(cuGraphInstantiateWithFlags(
        places[4] => *mut Handle, graph => Handle, 0 => u64
    ));
    assert_eq!(code, 0);
    // SAFETY: the pointer is to an element of a local array.
    let ready = unsafe { places[4].read() };
    assert_eq!(call!(cuGraphLaunch(ready => Handle, stream => Handle)), 0);
    assert_eq!(download(buffers[2], &mut result), 0);
    assert_eq!(result, [3; 64]);
}

/// A thread that has no context waits for what has one.
#[test]
fn events_and_streams_know_their_contexts() {
    context();
    let (mut stream, mut event) = (NONE, NONE);
    let places: (*mut Handle, *mut Handle) = (&mut stream, &mut event);
    assert_eq!(
        call!(cuStreamCreate(places.0 => *mut Handle, 1 => c_uint)),
        0
    );
    assert_eq!(
        call!(cuEventCreate(places.1 => *mut Handle, 0 => c_uint)),
        0
    );
    let handles = [stream, event].map(|handle| handle.expose_provenance());
    let other = std::thread::spawn(move || {
        let [stream, event] = handles.map(std::ptr::with_exposed_provenance_mut::<c_void>);
        assert_eq!(call!(cuCtxSynchronize()), 201);
        assert_eq!(call!(cuEventRecord(event => Handle, stream => Handle)), 0);
        assert_eq!(
            call!(cuStreamWaitEvent(stream => Handle, event => Handle, 0 => c_uint)),
            0
        );
        assert_eq!(call!(cuStreamSynchronize(stream => Handle)), 0);
        assert_eq!(call!(cuEventQuery(event => Handle)), 0);
        assert_eq!(call!(cuEventSynchronize(event => Handle)), 0);
        let mut time = -1.0;
        let to: *mut f32 = &mut time;
        let code = call!(cuEventElapsedTime(to => *mut f32, event => Handle, event => Handle));
        assert_eq!((code, time), (0, 0.0));
        assert_eq!(call!(cuEventDestroy_v2(event => Handle)), 0);
        assert_eq!(call!(cuEventSynchronize(event => Handle)), 400);
        assert_eq!(call!(cuStreamDestroy_v2(stream => Handle)), 0);
        // The default stream is that of the current context.
        assert_eq!(call!(cuStreamSynchronize(NONE => Handle)), 201);
    });
    other.join().expect("no panic");
}

/// As `atexit` functions do, which run when the variables of the thread have been dropped.
#[test]
fn contexts_are_known_until_a_thread_has_ended() {
    static CODES: [AtomicU32; 3] = [const { AtomicU32::new(u32::MAX) }; 3];
    struct AtEnd;
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let mut device = -1;
            let to: *mut c_int = &mut device;
            let mut popped = NONE;
            let context: *mut Handle = &mut popped;
            let codes = [
                call!(cuCtxGetDevice(to => *mut c_int)),
                call!(cuCtxPopCurrent_v2(context => *mut Handle)),
                call!(cuCtxPopCurrent_v2(context => *mut Handle)),
            ];
            for (place, code) in CODES.iter().zip(codes) {
                place.store(code, Ordering::Relaxed);
            }
        }
    }
    thread_local!(static AT_END: AtEnd = const { AtEnd });
    let thread = std::thread::spawn(|| {
        AT_END.with(|_| ());
        context();
    });
    thread.join().expect("the thread ends well");
    let codes = CODES.each_ref().map(|code| code.load(Ordering::Relaxed));
    assert_eq!(codes, [0, 0, 201]);
}
