//! Programs that load the library as they load NVIDIA's, each in a process of this test: the
//! functions are found by name, and called as C does.

#![cfg(target_os = "linux")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

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

mod batches;
mod captures;
mod child_graphs;
mod contexts;
mod cooperative;
mod device_launches;
mod errors;
mod graph_memory;
mod graphs;
mod images;
mod ipc;
mod legacy;
mod memory;
mod modules;
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

/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`: the tests are threads of one process, and what the others
/// do must not be forbidden.
const THREAD_LOCAL: c_uint = 1;

const NONE: Handle = std::ptr::null_mut();
