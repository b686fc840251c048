//! The runtime API, as programs of nvcc call it: a fat binary is registered, and host addresses
//! stand for its kernels and variables. Each test has a context of its own, which the runtime uses.

use super::*;

const KERNELS: &str = r#"
.version 7.0
.target sm_70
.address_size 64
.visible .const .align 4 .b8 table[28];
.visible .global .attribute(.managed) .align 4 .u32 total = 5;
.visible .entry scale(.param .u64 to, .param .u32 n) {
    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 ret;
    mul.wide.u32 %rd2, %r2, 4;
    mov.u64 %rd3, table;
    add.u64 %rd3, %rd3, %rd2;
    ld.const.u32 %r3, [%rd3];
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r4, [%rd1];
    mul.lo.u32 %r4, %r4, %r3;
    st.global.u32 [%rd1], %r4;
    atom.global.add.u32 %r5, [total], %r4;
    ret;
}
"#;

/// `__fatBinC_Wrapper_t` around a fat binary with one PTX text, which live as long as the test.
pub(super) fn fat_binary(text: &str) -> *const u64 {
    let mut payload = text.as_bytes().to_vec();
    payload.resize((text.len() + 1).next_multiple_of(8), 0);
    let mut entry = vec![0u8; 64];
    entry[..2].copy_from_slice(&1u16.to_le_bytes());
    entry[4..8].copy_from_slice(&64u32.to_le_bytes());
    entry[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    entry[28..32].copy_from_slice(&70u32.to_le_bytes());
    entry.extend(payload);
    let mut image = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    image.extend((entry.len() as u64).to_le_bytes());
    image.extend(entry);
    let image = Box::leak(image.into_boxed_slice());
    let wrapper = [
        0x0001_4662_43b1,
        image.as_ptr().expose_provenance() as u64,
        0,
    ];
    Box::leak(Box::new(wrapper)).as_ptr()
}

/// What a program of nvcc has of its kernel, its variable and its managed variable.
struct Program {
    kernel: *const c_void,
    table: *const c_void,
    total: *mut *mut u32,
}

/// Registers the program, as code of nvcc does before `main`.
fn program() -> Program {
    let leak = || -> *mut *mut u32 { Box::leak(Box::new(NONE.cast())) };
    let (kernel, table, total) = (leak(), leak(), leak());
    // SAFETY: the types are those of CUDA's host_runtime.h.
    let register = unsafe {
        library().get::<unsafe extern "C" fn(*const u64) -> Handle>(b"__cudaRegisterFatBinary\0")
    };
    // SAFETY: the image lives as long as the test.
    let binary = unsafe { register.expect("exported")(fat_binary(KERNELS)) };
    let (name, none) = (c"scale".as_ptr(), NONE);
    call!(__cudaRegisterFunction(
        binary => Handle, kernel => *mut *mut u32, name => *const c_char, name => *const c_char,
        -1 => c_int, none => Handle, none => Handle, none => Handle, none => Handle, none => Handle
    ));
    let name = c"table".as_ptr();
    call!(__cudaRegisterVar(
        binary => Handle, table => *mut *mut u32, name => *const c_char, name => *const c_char,
        0 => c_int, 28 => usize, 1 => c_int, 0 => c_int
    ));
    let name = c"total".as_ptr();
    call!(__cudaRegisterManagedVar(
        binary => Handle, total => *mut *mut u32, name => *const c_char, name => *const c_char,
        0 => c_int, 4 => usize, 0 => c_int, 0 => c_int
    ));
    call!(__cudaRegisterFatBinaryEnd(binary => Handle));
    assert_eq!(call!(__cudaInitModule(binary => Handle)) & 0xff, 1);
    Program {
        kernel: kernel.cast_const().cast(),
        table: table.cast_const().cast(),
        total,
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Dim3(pub c_uint, pub c_uint, pub c_uint);

/// `kernel<<<grid, block>>>(to, n)`.
fn launch_scale(kernel: *const c_void, block: Dim3, to: u64, n: u32) -> u32 {
    let grid = Dim3(1, 1, 1);
    let pushed = call!(__cudaPushCallConfiguration(
        grid => Dim3, block => Dim3, 0 => usize, NONE => Handle
    ));
    assert_eq!(pushed, 0);
    let (mut extents, mut shared, mut stream) = ([Dim3(0, 0, 0); 2], 1usize, NONE);
    let [grid, block] = extents.each_mut().map(std::ptr::from_mut);
    let (bytes, on): (*mut usize, *mut Handle) = (&mut shared, &mut stream);
    let popped = call!(__cudaPopCallConfiguration(
        grid => *mut Dim3, block => *mut Dim3, bytes => *mut usize, on => *mut Handle
    ));
    assert_eq!((popped, shared, stream), (0, 0, NONE));
    let mut arguments: [*const c_void; 2] = [(&raw const to).cast(), (&raw const n).cast()];
    let each = arguments.as_mut_ptr();
    call!(cudaLaunchKernel(
        kernel => *const c_void, extents[0] => Dim3, extents[1] => Dim3,
        each => *mut *const c_void, 0 => usize, NONE => Handle
    ))
}

pub(super) fn malloc(bytes: usize) -> u64 {
    let mut address = 0;
    let to: *mut u64 = &mut address;
    assert_eq!(call!(cudaMalloc(to => *mut u64, bytes => usize)), 0);
    address
}

fn copy(to: u64, from: u64, bytes: usize, kind: c_uint) -> u32 {
    call!(cudaMemcpy(to => u64, from => u64, bytes => usize, kind => c_uint))
}

fn address(values: &[u32]) -> u64 {
    values.as_ptr().expose_provenance() as u64
}

#[test]
fn a_program_of_nvcc_launches_and_reads_its_variables() {
    context();
    let Program {
        kernel,
        table,
        total,
    } = program();
    let (mut values, factors) = ([1u32, 2, 3, 4, 5, 6, 7], [9u32, 8, 7, 6, 5, 4, 3]);
    let expected: Vec<u32> = values.iter().zip(factors).map(|(a, b)| a * b).collect();
    let buffer = malloc(28);
    assert_eq!(copy(buffer, address(&values), 28, 1), 0);
    let to_symbol = |bytes: usize, offset: usize| {
        call!(cudaMemcpyToSymbol(
            table => *const c_void, address(&factors) => u64, bytes => usize, offset => usize,
            1 => c_uint
        ))
    };
    assert_eq!(
        [to_symbol(28, 0), to_symbol(28, 4), to_symbol(usize::MAX, 4)],
        [0, 1, 1]
    );
    assert_eq!(launch_scale(kernel, Dim3(32, 1, 1), buffer, 7), 0);
    assert_eq!(call!(cudaDeviceSynchronize()), 0);
    let to = values.as_mut_ptr().expose_provenance() as u64;
    assert_eq!(copy(to, buffer, 28, 2), 0);
    assert_eq!(values.as_slice(), expected);
    // SAFETY: `__cudaInitModule` has stored the variable's address, and no kernel runs.
    let total = unsafe { total.read().read() };
    assert_eq!(total, 5 + expected.iter().sum::<u32>());
    assert_eq!(call!(cudaGetLastError()), 1);
    assert_eq!(call!(cudaGetLastError()), 0);
}

#[test]
fn what_is_wrong_has_the_runtimes_code() {
    context();
    let Program { kernel, .. } = program();
    let buffer = malloc(64);
    for block in [Dim3(0, 1, 1), Dim3(1025, 1, 1), Dim3(1, 1, 65)] {
        assert_eq!(launch_scale(kernel, block, buffer, 3), 9);
    }
    assert_eq!(
        launch_scale(NONE.cast_const(), Dim3(1, 1, 1), buffer, 3),
        98
    );
    assert_eq!(call!(cudaPeekAtLastError()), 98);
    assert_eq!(call!(cudaGetLastError()), 98);
    let none: *mut u64 = std::ptr::null_mut();
    assert_eq!(
        call!(cudaGetSymbolAddress(none => *mut u64, kernel => *const c_void)),
        13
    );
    assert_eq!(copy(buffer, buffer, 4, 5), 21);
    assert_eq!(copy(buffer + 60, buffer, 8, 3), 1);
    assert_eq!(call!(cudaSetDevice(1 => c_int)), 101);
    assert_eq!(
        call!(cudaEGLStreamConsumerConnect(NONE => Handle, buffer => u64)),
        801
    );
    let pitches = |to: usize, from: usize| {
        call!(cudaMemcpy2D(
            buffer => u64, to => usize, buffer => u64, from => usize, 8 => usize, 2 => usize,
            3 => c_uint
        ))
    };
    assert_eq!([pitches(8, 7), pitches(7, 8), pitches(8, 16)], [12, 12, 0]);
}

#[test]
fn a_fault_is_the_error_of_all_later_calls() {
    let context = context();
    let Program { kernel, .. } = program();
    let buffer = malloc(8);
    assert_eq!(
        launch_scale(kernel, Dim3(32, 1, 1), buffer + (1 << 30), 7),
        0
    );
    assert_eq!(call!(cudaDeviceSynchronize()), 700);
    assert_eq!(call!(cudaGetLastError()), 700);
    assert_eq!(copy(buffer, buffer, 4, 3), 700);
    assert_eq!(call!(cuCtxDestroy_v2(context => Handle)), 0);
}

#[test]
fn rows_are_copied_into_arrays_and_back() {
    context();
    let (width, height) = (13usize, 5usize);
    let values: Vec<u32> = (0..(width * height) as u32).collect();
    // Channels: 32 bits without sign.
    let (mut array, channels) = (NONE, [32u32, 0, 0, 0, 1]);
    let (to, from): (*mut Handle, *const u32) = (&mut array, channels.as_ptr());
    let code = call!(cudaMallocArray(
        to => *mut Handle, from => *const u32, width => usize, height => usize, 0 => c_uint
    ));
    assert_eq!(code, 0);
    let row = 4 * width;
    let code = call!(cudaMemcpy2DToArray(
        array => Handle, 0 => usize, 0 => usize, address(&values) => u64, row => usize,
        row => usize, height => usize, 1 => c_uint
    ));
    assert_eq!(code, 0);
    // Three rows of two elements each, from the place (3, 1) on.
    let mut part = [0u32; 6];
    let to = part.as_mut_ptr().expose_provenance() as u64;
    let code = call!(cudaMemcpy2DFromArray(
        to => u64, 8 => usize, array => Handle, 12 => usize, 1 => usize, 8 => usize, 3 => usize,
        2 => c_uint
    ));
    assert_eq!((code, part), (0, [16, 17, 29, 30, 42, 43]));
    let mixed = [32u32, 16, 0, 0, 1];
    let (to, from): (*mut Handle, *const u32) = (&mut array, mixed.as_ptr());
    let code = call!(cudaMallocArray(
        to => *mut Handle, from => *const u32, width => usize, height => usize, 0 => c_uint
    ));
    assert_eq!(code, 20);
}

#[test]
fn graphs_launch_kernels_by_their_host_address() {
    context();
    let Program { kernel, total, .. } = program();
    let buffer = malloc(28);
    let mut handles = [NONE; 3];
    let [graph, node, instance] = handles.each_mut().map(std::ptr::from_mut);
    assert_eq!(call!(cudaGraphCreate(graph => *mut Handle, 0 => c_uint)), 0);
    let (n, mut arguments) = (7u32, [NONE.cast_const(); 2]);
    arguments[0] = (&raw const buffer).cast();
    arguments[1] = (&raw const n).cast();
    let extents = |x: u64| [x | 1 << 32, 1];
    let ([grid, grid_end], [block, block_end]) = (extents(1), extents(32));
    let each = arguments.as_ptr().expose_provenance() as u64;
    // `cudaKernelNodeParams`: function, extents of three numbers each, shared memory, arguments.
    let params = [
        kernel.expose_provenance() as u64,
        grid,
        grid_end | (block & 0xffff_ffff) << 32,
        block >> 32 | block_end << 32,
        0,
        each,
        0,
    ];
    let (from, none): (*const u64, Handle) = (params.as_ptr(), NONE);
    // SAFETY: the pointers are to elements of a local array.
    let graph = unsafe { graph.read() };
    let code = call!(cudaGraphAddKernelNode(
        node => *mut Handle, graph => Handle, none => Handle, 0 => usize, from => *const u64
    ));
    assert_eq!(code, 0);
    let code = call!(cudaGraphInstantiate(
        instance => *mut Handle, graph => Handle, 0 => u64
    ));
    assert_eq!(code, 0);
    // SAFETY: the pointers are to elements of a local array.
    let instance = unsafe { instance.read() };
    assert_eq!(call!(cudaMemset(buffer => u64, 1 => c_int, 28 => usize)), 0);
    assert_eq!(
        call!(cudaGraphLaunch(instance => Handle, NONE => Handle)),
        0
    );
    let mut values = [1u32; 7];
    let to = values.as_mut_ptr().expose_provenance() as u64;
    assert_eq!(copy(to, buffer, 28, 4), 0);
    // The table of factors is zeros in a module of its own.
    assert_eq!(values, [0; 7]);
    // SAFETY: `__cudaInitModule` has stored the variable's address, and no kernel runs.
    assert_eq!(unsafe { total.read().read() }, 5);
}

#[test]
fn names_and_texts_of_errors() {
    let text = |name: &[u8], code: u32| {
        // SAFETY: the type is that of CUDA's header.
        let function = unsafe { library().get::<unsafe extern "C" fn(u32) -> *const c_char>(name) };
        // SAFETY: the function gives texts that end in a null byte.
        unsafe { CStr::from_ptr(function.expect("exported")(code)) }
    };
    assert_eq!(
        text(b"cudaGetErrorName\0", 9),
        c"cudaErrorInvalidConfiguration"
    );
    assert_eq!(
        text(b"cudaGetErrorString\0", 700),
        c"an illegal memory access was encountered"
    );
    assert_eq!(text(b"cudaGetErrorName\0", 0), c"cudaSuccess");
    assert_eq!(text(b"cudaGetErrorName\0", 999), c"cudaErrorUnknown");
    assert_eq!(
        text(b"cudaGetErrorString\0", 12345),
        c"unrecognized error code"
    );
}

#[test]
fn properties_have_the_layouts_of_cuda_12_and_13() {
    // Where a compiler of C has `major`, `multiProcessorCount`, `sharedMemPerBlockOptin` and
    // `clusterLaunch` in both headers, and the bytes of the structure.
    let offsets_12 = ([360, 388, 696, 772], 1032);
    let offsets_13 = ([360, 384, 672, 748], 1008);
    for (is_12, (offsets, bytes)) in [(true, offsets_12), (false, offsets_13)] {
        let mut all = [0xaau8; 1100];
        let to = all.as_mut_ptr();
        let code = match is_12 {
            true => call!(cudaGetDeviceProperties_v2(to => *mut u8, 0 => c_int)),
            false => call!(cudaGetDeviceProperties(to => *mut u8, 0 => c_int)),
        };
        let int = |at: usize| i32::from_le_bytes(all[at..at + 4].try_into().expect("4 bytes"));
        assert_eq!((code, offsets.map(int)), (0, [9, 132, 227 << 10, 1]));
        assert!(all.starts_with(b"Emulated NVIDIA H100"));
        assert!(all[bytes..].iter().all(|byte| *byte == 0xaa));
        assert_ne!(all[bytes - 1], 0xaa);
    }
}
