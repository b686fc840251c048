//! Programs that load the library as they load NVIDIA's, each in a process of this test: the
//! functions are found by name, and called as C does.

#![cfg(target_os = "linux")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use libloading::Library;

const ADD: &str = r#"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 scale = 3;
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {
    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 ret;
    mul.wide.u32 %rd4, %r5, 4;
    add.u64 %rd1, %rd1, %rd4;
    add.u64 %rd2, %rd2, %rd4;
    add.u64 %rd3, %rd3, %rd4;
    ld.global.u32 %r6, [%rd1];
    ld.global.u32 %r7, [%rd2];
    ld.global.u32 %r8, [scale];
    mad.lo.u32 %r6, %r7, %r8, %r6;
    st.global.u32 [%rd3], %r6;
    ret;
}
"#;

/// The library, built beside this test.
fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let test = std::env::current_exe().expect("this test has a path");
        let folder = test.parent().expect("a folder");
        let names = [folder.to_path_buf(), folder.join("..")];
        let mut paths = names
            .iter()
            .map(|folder: &PathBuf| folder.join("libwarpladder_cuda.so"));
        let path = paths
            .find(|path| path.exists())
            .expect("cargo builds the library");
        // SAFETY: the library has no constructors.
        unsafe { Library::new(path) }.expect("the library loads")
    })
}

/// Calls a function of the library by name.
macro_rules! call {
    ($name:ident($($argument:expr => $kind:ty),*)) => {{
        type Function = unsafe extern "C" fn($($kind),*) -> u32;
        let name = concat!(stringify!($name), "\0");
        // SAFETY: the types are those of cuda.h.
        let function = unsafe { library().get::<Function>(name.as_bytes()) };
        let function = function.expect("the function is exported");
        // SAFETY: pointers are valid for what the function reads and writes.
        unsafe { function($($argument),*) }
    }};
}

mod cooperative;
mod graph_memory;
mod graphs;
mod images;
mod legacy;
mod nvml;
mod runtime;
mod separate;
mod virtual_memory;

type Handle = *mut c_void;

/// A context of this test alone, current in its thread.
fn context() -> Handle {
    assert_eq!(call!(cuInit(0 => c_uint)), 0);
    let mut context: Handle = std::ptr::null_mut();
    let to: *mut Handle = &mut context;
    assert_eq!(
        call!(cuCtxCreate_v2(to => *mut Handle, 0 => c_uint, 0 => c_int)),
        0
    );
    context
}

fn load(text: &str) -> (u32, Handle) {
    let text = CString::new(text).expect("no null byte");
    let mut module: Handle = std::ptr::null_mut();
    let to: *mut Handle = &mut module;
    let code = call!(cuModuleLoadData(to => *mut Handle, text.as_ptr() => *const c_char));
    (code, module)
}

fn function(module: Handle, name: &CStr) -> (u32, Handle) {
    let mut function: Handle = std::ptr::null_mut();
    let to: *mut Handle = &mut function;
    let code = call!(cuModuleGetFunction(
        to => *mut Handle, module => Handle, name.as_ptr() => *const c_char
    ));
    (code, function)
}

fn alloc(bytes: usize) -> u64 {
    let mut address = 0;
    let to: *mut u64 = &mut address;
    assert_eq!(call!(cuMemAlloc_v2(to => *mut u64, bytes => usize)), 0);
    address
}

fn upload(to: u64, values: &[u32]) -> u32 {
    let from = values.as_ptr();
    call!(cuMemcpyHtoD_v2(to => u64, from => *const u32, size_of_val(values) => usize))
}

fn download(from: u64, values: &mut [u32]) -> u32 {
    let to = values.as_mut_ptr();
    call!(cuMemcpyDtoH_v2(to => *mut u32, from => u64, size_of_val(values) => usize))
}

fn launch(function: Handle, stream: Handle, addresses: [u64; 3], n: u32) -> u32 {
    let [a, b, c] = addresses;
    let mut arguments: [*const c_void; 4] = [
        (&raw const a).cast(),
        (&raw const b).cast(),
        (&raw const c).cast(),
        (&raw const n).cast(),
    ];
    let (each, none): (*mut *const c_void, Handle) = (arguments.as_mut_ptr(), std::ptr::null_mut());
    call!(cuLaunchKernel(
        function => Handle, n.div_ceil(64) => c_uint, 1 => c_uint, 1 => c_uint, 64 => c_uint,
        1 => c_uint, 1 => c_uint, 0 => c_uint, stream => Handle, each => *mut *const c_void,
        none => Handle
    ))
}

const NONE: Handle = std::ptr::null_mut();

#[test]
fn vectors_are_added_and_a_global_scales_them() {
    context();
    let (code, module) = load(ADD);
    assert_eq!(code, 0);
    let (code, add) = function(module, c"add");
    assert_eq!(code, 0);
    let n = 1000;
    let buffers = [alloc(4 * n), alloc(4 * n), alloc(4 * n)];
    let values: Vec<u32> = (0..n as u32).collect();
    assert_eq!(upload(buffers[0], &values), 0);
    assert_eq!(upload(buffers[1], &values), 0);
    assert_eq!(launch(add, NONE, buffers, n as u32), 0);
    let mut result = vec![0; n];
    assert_eq!(download(buffers[2], &mut result), 0);
    assert!(
        result
            .iter()
            .zip(&values)
            .all(|(result, value)| *result == 4 * value)
    );

    let (mut global, mut bytes) = (0u64, 0usize);
    let (to, size): (*mut u64, *mut usize) = (&mut global, &mut bytes);
    let name = c"scale".as_ptr();
    let code = call!(cuModuleGetGlobal_v2(
        to => *mut u64, size => *mut usize, module => Handle, name => *const c_char
    ));
    assert_eq!((code, bytes), (0, 4));
    assert_eq!(upload(global, &[10]), 0);
    assert_eq!(launch(add, NONE, buffers, n as u32), 0);
    assert_eq!(download(buffers[2], &mut result), 0);
    assert!(
        result
            .iter()
            .zip(&values)
            .all(|(result, value)| *result == 11 * value)
    );
}

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
fn managed_and_pinned_memory_is_the_hosts_too() {
    context();
    let (add, n) = (function(load(ADD).1, c"add").1, 500usize);
    let mut addresses = [0u64; 3];
    for (index, address) in addresses.iter_mut().enumerate() {
        let to: *mut u64 = address;
        let code = match index {
            0 => call!(cuMemAllocHost_v2(to => *mut u64, 4 * n => usize)),
            _ => call!(cuMemAllocManaged(to => *mut u64, 4 * n => usize, 1 => c_uint)),
        };
        assert_eq!(code, 0);
    }
    let pointers: [*mut u32; 3] =
        addresses.map(|address| std::ptr::with_exposed_provenance_mut(address as usize));
    for index in 0..n {
        // SAFETY: the allocations hold `n` values, and no kernel runs.
        unsafe {
            pointers[0].add(index).write(index as u32);
            pointers[1].add(index).write(2);
        }
    }
    assert_eq!(launch(add, NONE, addresses, n as u32), 0);
    for index in 0..n {
        // SAFETY: the allocation holds `n` values, and no kernel runs.
        assert_eq!(unsafe { pointers[2].add(index).read() }, index as u32 + 6);
    }
    assert_eq!(call!(cuMemFreeHost(addresses[0] => u64)), 0);
    assert_eq!(call!(cuMemFree_v2(addresses[1] => u64)), 0);
    assert_eq!(call!(cuMemFree_v2(addresses[1] => u64)), 1);
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
        call!(cuStreamBeginCapture_v2(stream => Handle, 0 => c_uint)),
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
    assert_eq!(call!(cuStreamSynchronize(stream => Handle)), 900);
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

#[test]
fn what_is_wrong_has_the_drivers_code() {
    let context = context();
    let (_, module) = load(ADD);
    assert_eq!(function(module, c"sub").0, 500);
    assert_eq!(function(context, c"add").0, 400);
    assert_eq!(call!(cuStreamSynchronize(context => Handle)), 400);
    let none: *mut u64 = std::ptr::null_mut();
    assert_eq!(call!(cuMemAlloc_v2(none => *mut u64, 4 => usize)), 1);
    assert_eq!(upload(alloc(8), &[1, 2, 3]), 1);
    assert_eq!(call!(cuArrayDestroy(NONE => Handle)), 400);
    assert_eq!(call!(cuIpcGetMemHandle(NONE => Handle, 0 => u64)), 801);

    let text = CString::new(ADD.replace("mad.lo.u32 %r6", "mad.lo.u32 %undeclared"));
    let text = text.expect("no null byte");
    let mut log = [0 as c_char; 200];
    let options: [c_uint; 2] = [5, 6];
    let mut values = [log.as_mut_ptr() as usize, log.len()];
    let mut module = NONE;
    let (to, options, values): (*mut Handle, *const c_uint, *mut usize) =
        (&mut module, options.as_ptr(), values.as_mut_ptr());
    let code = call!(cuModuleLoadDataEx(
        to => *mut Handle, text.as_ptr() => *const c_char, 2 => c_uint, options => *const c_uint,
        values => *mut usize
    ));
    assert_eq!(code, 218);
    // SAFETY: the function ends the text in a null byte.
    let log = unsafe { CStr::from_ptr(log.as_ptr()) }
        .to_string_lossy()
        .into_owned();
    assert!(
        log.contains("%undeclared") && log.contains("line 2"),
        "{log}"
    );
    assert_eq!(load(&ADD.replace("sm_70", "sm_100")).0, 218);
    // An instruction that is refused with a reason concerns the kernel that has it alone.
    let refused = ".visible .entry refused() { tcgen05.wait::ld.sync.aligned; ret; }";
    let (code, module) = load(&format!("{ADD}\n{refused}\n"));
    assert_eq!(code, 0);
    assert_eq!(function(module, c"refused").0, 801);
    assert_eq!(function(module, c"add").0, 0);
}

/// Kernels of a long module are decoded when they are used, but its syntax is checked at once.
#[test]
fn the_syntax_of_a_long_module_is_checked_when_it_is_loaded() {
    context();
    let comment = "// long\n".repeat(1 << 20);
    assert_eq!(load(&format!("{ADD}{comment}")).0, 0);
    for (right, wrong) in [("mad.lo.u32 %r6", "mad.lo.u32 %r6 %r6"), ("ret;", "ret")] {
        assert!(ADD.contains(right));
        let text = format!("{}{comment}", ADD.replace(right, wrong));
        assert_eq!(load(&text).0, 218, "{wrong}");
    }
}

#[test]
fn an_illegal_address_breaks_the_context() {
    let context = context();
    let add = function(load(ADD).1, c"add").1;
    let good = alloc(256);
    assert_eq!(launch(add, NONE, [good, good, good + (1 << 30)], 64), 0);
    assert_eq!(call!(cuCtxSynchronize()), 700);
    assert_eq!(download(good, &mut [0; 4]), 700);
    assert_eq!(launch(add, NONE, [good; 3], 64), 700);
    assert_eq!(call!(cuCtxDestroy_v2(context => Handle)), 0);
}

/// `trap` is legal: the launch failed, and not by an illegal instruction (715).
#[test]
fn a_kernel_that_traps_is_a_failed_launch() {
    let context = context();
    let add = function(
        load(&ADD.replace("mul.wide.u32 %rd4", "trap; mul.wide.u32 %rd4")).1,
        c"add",
    );
    let good = alloc(256);
    assert_eq!(launch(add.1, NONE, [good; 3], 64), 0);
    assert_eq!(call!(cuCtxSynchronize()), 719);
    assert_eq!(call!(cuCtxDestroy_v2(context => Handle)), 0);
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
fn the_limit_of_the_device_heap_counts() {
    context();
    let (limit, mut now) = (16usize << 20, 0usize);
    let to: *mut usize = &mut now;
    assert_eq!(call!(cuCtxSetLimit(2 => c_uint, limit => usize)), 0);
    assert_eq!(call!(cuCtxGetLimit(to => *mut usize, 2 => c_uint)), 0);
    assert_eq!(now, limit);
    let (code, module) = load(
        ".version 7.0\n.target sm_70\n.address_size 64
         .extern .func (.param .b64 result) malloc (.param .b64 bytes);
         .visible .entry take(.param .u64 to) {
             .reg .pred %p; .reg .b32 %r; .reg .b64 %rd<3>;
             .param .b64 bytes; .param .b64 block;
             mov.u32 %r, %tid.x; setp.ne.u32 %p, %r, 0; @%p ret;
             ld.param.u64 %rd1, [to];
             mov.u64 %rd2, 12000000; st.param.b64 [bytes], %rd2;
             call.uni (block), malloc, (bytes);
             ld.param.b64 %rd2, [block]; st.global.u64 [%rd1], %rd2;
             ret;
         }",
    );
    assert_eq!(code, 0);
    let (code, take) = function(module, c"take");
    assert_eq!(code, 0);
    let data = alloc(8);
    assert_eq!(launch(take, std::ptr::null_mut(), [data, 0, 0], 1), 0);
    let mut block = [0; 2];
    assert_eq!(download(data, &mut block), 0);
    assert_ne!(block, [0; 2]);
    // The heap is there now.
    assert_eq!(call!(cuCtxSetLimit(2 => c_uint, 8 << 20 => usize)), 1);
}

#[test]
fn a_pool_tells_who_may_access_its_memory() {
    context();
    let mut pool: Handle = NONE;
    let to: *mut Handle = &mut pool;
    assert_eq!(
        call!(cuDeviceGetDefaultMemPool(to => *mut Handle, 0 => c_int)),
        0
    );
    let access = |location: [c_int; 2]| {
        let mut access = 9;
        let (to, at): (*mut c_uint, *const [c_int; 2]) = (&mut access, &location);
        let code = call!(cuMemPoolGetAccess(
            to => *mut c_uint, pool => Handle, at => *const [c_int; 2]
        ));
        (code, access)
    };
    assert_eq!(access([1, 0]), (0, 3));
    assert_eq!(access([2, 0]), (0, 0));
    assert_eq!(access([1, 99]), (101, 9));
}

/// Programs allocate half of a GPU's memory and divide it themselves: what they do not touch takes
/// neither memory of the host nor time.
#[test]
fn memory_that_is_not_used_takes_none_of_the_host() {
    context();
    let (mut free, mut total) = (0usize, 0usize);
    let places: (*mut usize, *mut usize) = (&mut free, &mut total);
    assert_eq!(
        call!(cuMemGetInfo_v2(places.0 => *mut usize, places.1 => *mut usize)),
        0
    );
    let bytes = (total / 2) & !7;
    let begun = std::time::Instant::now();
    let start = alloc(bytes);
    assert!(begun.elapsed().as_secs() < 2, "{bytes} bytes");
    let end = start + bytes as u64 - 8;
    assert_eq!(upload(end, &[5, 6]), 0);
    let mut found = [1; 2];
    assert_eq!((download(start, &mut found), found), (0, [0, 0]));
    assert_eq!((download(end, &mut found), found), (0, [5, 6]));
    assert_eq!(upload(end, &[5, 6, 7]), 1);
    assert_eq!(call!(cuMemFree_v2(start => u64)), 0);
}

/// Programs put pages of their own into an allocation that has just the bytes for them.
#[test]
fn large_allocations_start_at_a_page_of_a_gpu() {
    context();
    let _small = alloc(300);
    for bytes in [1 << 20, (3 << 20) + 8] {
        let start = alloc(bytes);
        assert!(start.is_multiple_of(2 << 20), "{bytes} bytes at {start:#x}");
        assert_eq!(call!(cuMemFree_v2(start => u64)), 0);
    }
}

#[test]
fn a_pool_of_the_host_has_memory_that_both_use() {
    context();
    let mut pool = NONE;
    // The kind of memory, handles, and the place: the host, or a node that it does not say.
    let (mut properties, to): ([c_int; 22], *mut Handle) = ([0; 22], &mut pool);
    for (place, code) in [(5, 1), (3, 0), (2, 0)] {
        (properties[0], properties[2]) = (1, place);
        let from = properties.as_ptr();
        assert_eq!(
            call!(cuMemPoolCreate(to => *mut Handle, from => *const c_int)),
            code
        );
    }
    let mut address = 0u64;
    let to: *mut u64 = &mut address;
    let code = call!(cuMemAllocFromPoolAsync(
        to => *mut u64, 64 => usize, pool => Handle, NONE => Handle
    ));
    assert_eq!(code, 0);
    assert_eq!(upload(address, &[5, 6]), 0);
    let pointer: *const [u32; 2] = std::ptr::with_exposed_provenance(address as usize);
    // SAFETY: the allocation has 64 bytes, and no kernel runs.
    assert_eq!(unsafe { pointer.read() }, [5, 6]);
    let mut access = 0;
    let (to, host): (*mut c_uint, *const [c_int; 2]) = (&mut access, &[2, 0]);
    let code = call!(cuMemPoolGetAccess(
        to => *mut c_uint, pool => Handle, host => *const [c_int; 2]
    ));
    assert_eq!((code, access), (0, 3));
    assert_eq!(call!(cuMemFreeAsync(address => u64, NONE => Handle)), 0);
    assert_eq!(upload(address, &[5]), 1);
}

/// What a kernel has of constants and of local memory is what its PTX says.
#[test]
fn attributes_of_a_function() {
    context();
    let text = ADD.replace(
        ".visible .global .align 4 .u32 scale = 3;",
        ".visible .global .align 4 .u32 scale = 3; .const .align 4 .b8 table[20];",
    );
    let text = text.replace(
        ".reg .pred %p<2>;",
        ".local .align 4 .b8 own[40]; .reg .pred %p<2>;",
    );
    let add = function(load(&text).1, c"add").1;
    for (attribute, wanted) in [(1, 0), (2, 20), (3, 40), (5, 70), (6, 90)] {
        let mut found = -1;
        let to: *mut c_int = &mut found;
        let code = call!(cuFuncGetAttribute(
            to => *mut c_int, attribute => c_uint, add => Handle
        ));
        assert_eq!((code, found), (0, wanted), "{attribute}");
    }
    // Programs divide by the registers of a thread.
    let mut registers = 0;
    let to: *mut c_int = &mut registers;
    assert_eq!(
        call!(cuFuncGetAttribute(to => *mut c_int, 4 => c_uint, add => Handle)),
        0
    );
    assert!((1..=64).contains(&registers), "{registers}");
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

#[test]
fn kernels_know_registered_memory_by_the_programs_address() {
    context();
    let (code, module) = load(ADD);
    assert_eq!(code, 0);
    let (code, add) = function(module, c"add");
    assert_eq!(code, 0);
    let mut words = vec![5u32; 100];
    // From the second word on, so that the address is no page's.
    let start = (&raw mut words[1]).expose_provenance() as u64;
    assert_eq!(
        call!(cuMemHostRegister_v2(start => u64, 64 * 4 => usize, 0 => c_uint)),
        0
    );
    let mut found = 0;
    let to: *mut u64 = &mut found;
    let code = call!(cuMemHostGetDevicePointer_v2(to => *mut u64, start => u64, 0 => c_uint));
    assert_eq!((code, found), (0, start));
    assert_eq!(launch(add, NONE, [start; 3], 64), 0);
    assert_eq!(call!(cuCtxSynchronize()), 0);
    assert_eq!(call!(cuMemHostUnregister(start => u64)), 0);
    assert_ne!(words[1], 5);
    assert_eq!((words[0], words[65]), (5, 5));
    // Now the address is the host's alone.
    assert_eq!(launch(add, NONE, [start; 3], 64), 0);
    assert_eq!(call!(cuCtxSynchronize()), 700);
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

#[test]
fn the_address_of_a_variable_is_one_of_a_device() {
    let context = context();
    let (code, module) = load(ADD);
    assert_eq!(code, 0);
    let (mut address, mut bytes) = (0, 0);
    let (to, length): (*mut u64, *mut usize) = (&mut address, &mut bytes);
    let name = c"scale".as_ptr();
    assert_eq!(
        call!(cuModuleGetGlobal_v2(
            to => *mut u64, length => *mut usize, module => Handle, name => *const c_char
        )),
        0
    );
    let attribute = |number: c_uint| {
        let mut value = 0u64;
        let to: *mut u64 = &mut value;
        let code = call!(cuPointerGetAttribute(
            to => *mut u64, number => c_uint, address => u64
        ));
        (code, value)
    };
    // Its context, and the type of memory: a device's.
    assert_eq!(attribute(1), (0, context.expose_provenance() as u64));
    assert_eq!(attribute(2), (0, 2));
    // Its range, by an address inside.
    let (mut base, mut range) = (0, 0);
    let (to, length): (*mut u64, *mut usize) = (&mut base, &mut range);
    assert_eq!(
        call!(cuMemGetAddressRange_v2(
            to => *mut u64, length => *mut usize, address + 2 => u64
        )),
        0
    );
    assert_eq!((base, range), (address, bytes));
}
