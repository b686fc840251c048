//! Cooperative launches, by the driver and by the runtime.

use super::runtime::{Dim3, fat_binary};
use super::*;

/// In two phases each block adds what the next block has to its own word. Between them it waits as
/// `cooperative_groups::this_grid().sync()` does.
const PHASES: &str = r#"
.version 7.0
.target sm_70
.address_size 64
.visible .entry phases(.param .u64 to) {
    .reg .pred %p<5>; .reg .b32 %r<12>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %envreg1;
    mov.u32 %r2, %envreg2;
    mov.b64 %rd2, {%r2, %r1};
    setp.eq.u64 %p1, %rd2, 0;
    @%p1 trap;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %nctaid.x;
    mov.u32 %r5, %tid.x;
    add.u32 %r6, %r3, 1;
    rem.u32 %r6, %r6, %r4;
    mad.wide.u32 %rd3, %r3, 4, %rd1;
    mad.wide.u32 %rd4, %r6, 4, %rd1;
    setp.ne.u32 %p2, %r5, 0;
    ld.global.u32 %r7, [%rd4];
    barrier.sync 0;
    @%p2 bra OUT;
    sub.u32 %r8, 0x80000001, %r4;
    setp.eq.u32 %p3, %r3, 0;
    selp.b32 %r8, %r8, 1, %p3;
    atom.add.release.gpu.u32 %r9, [%rd2+4], %r8;
POLL:
    ld.acquire.gpu.u32 %r10, [%rd2+4];
    xor.b32 %r11, %r10, %r9;
    setp.gt.s32 %p4, %r11, -1;
    @%p4 bra POLL;
OUT:
    barrier.sync 0;
    @%p2 ret;
    ld.global.u32 %r8, [%rd3];
    add.u32 %r8, %r8, %r7;
    st.global.u32 [%rd3], %r8;
    ret;
}
"#;

const BLOCKS: u32 = 33;

/// A buffer with the numbers from 0 on.
fn buffer() -> u64 {
    let to = alloc(4 * BLOCKS as usize);
    let values: Vec<u32> = (0..BLOCKS).collect();
    assert_eq!(upload(to, &values), 0);
    to
}

fn check(to: u64) {
    let mut values = vec![0; BLOCKS as usize];
    assert_eq!(download(to, &mut values), 0);
    let expected: Vec<u32> = (0..BLOCKS).map(|at| at + (at + 1) % BLOCKS).collect();
    assert_eq!(values, expected);
}

fn loaded() -> Handle {
    let (code, module) = load(PHASES);
    assert_eq!(code, 0);
    let (code, phases) = function(module, c"phases");
    assert_eq!(code, 0);
    phases
}

fn launch_cooperatively(function: Handle, grid: u32, to: u64) -> u32 {
    let mut arguments: [*const c_void; 1] = [(&raw const to).cast()];
    let each = arguments.as_mut_ptr();
    call!(cuLaunchCooperativeKernel(
        function => Handle, grid => c_uint, 1 => c_uint, 1 => c_uint, 64 => c_uint, 1 => c_uint,
        1 => c_uint, 0 => c_uint, NONE => Handle, each => *mut *const c_void
    ))
}

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other() {
    context();
    let (phases, to) = (loaded(), buffer());
    assert_eq!(launch_cooperatively(phases, BLOCKS, to), 0);
    check(to);
    // More blocks than an H100 holds at once: 720, and nothing runs.
    assert_eq!(launch_cooperatively(phases, 132 * 32 + 1, to), 720);
    check(to);
}

/// `CUlaunchAttribute` of a cooperative launch.
#[repr(C, align(8))]
struct Attribute {
    id: c_uint,
    padding: [u8; 4],
    value: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: Handle,
    attributes: *const Attribute,
    count: c_uint,
}

#[test]
fn an_attribute_makes_a_launch_cooperative() {
    context();
    let (phases, to) = (loaded(), buffer());
    let mut attribute = Attribute {
        id: 2,
        padding: [0; 4],
        value: [0; 16],
    };
    attribute.value[0] = 1;
    let config = Config {
        grid: [BLOCKS, 1, 1],
        block: [64, 1, 1],
        shared: 0,
        stream: NONE,
        attributes: &raw const attribute,
        count: 1,
    };
    let mut arguments: [*const c_void; 1] = [(&raw const to).cast()];
    let each = arguments.as_mut_ptr();
    let with: *const Config = &raw const config;
    let code = call!(cuLaunchKernelEx(
        with => *const Config, phases => Handle, each => *mut *const c_void, NONE => Handle
    ));
    assert_eq!(code, 0);
    check(to);
}

/// As compilers other than nvcc have it: the barrier is a function of CUDA's device runtime.
#[test]
fn the_device_runtime_has_the_barrier_of_a_grid() {
    context();
    let wait = PHASES
        .find("    barrier.sync 0;")
        .expect("the barrier begins");
    let end = PHASES.find("    @%p2 ret;").expect("and ends");
    let call = "
    { .param .b32 scope; .param .b64 handle; st.param.b32 [scope], 1;
      call.uni (handle), cudaCGGetIntrinsicHandle, (scope); ld.param.b64 %rd2, [handle]; }
    { .param .b64 handle; .param .b32 flags; .param .b32 error;
      st.param.b64 [handle], %rd2; st.param.b32 [flags], 0;
      call.uni (error), cudaCGSynchronize, (handle, flags); ld.param.b32 %r9, [error]; }
    setp.ne.u32 %p4, %r9, 0;
    @%p4 trap;
";
    let text = format!("{}{call}{}", &PHASES[..wait], &PHASES[end..]);
    let text = text.replace(
        ".visible .entry",
        ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle (.param .b32 s);
.extern .func (.param .b32 r) cudaCGSynchronize (.param .b64 h, .param .b32 f);
.visible .entry",
    );
    let (code, module) = load(&text);
    assert_eq!(code, 0);
    let (phases, to) = (function(module, c"phases").1, buffer());
    assert_eq!(launch_cooperatively(phases, BLOCKS, to), 0);
    assert_eq!(call!(cuCtxSynchronize()), 0);
    check(to);
}

/// As on a GPU the address of the workspace is null then, and the kernel traps.
#[test]
fn other_launches_have_no_workspace() {
    context();
    let (phases, to) = (loaded(), buffer());
    let mut arguments: [*const c_void; 1] = [(&raw const to).cast()];
    let each = arguments.as_mut_ptr();
    let code = call!(cuLaunchKernel(
        phases => Handle, 1 => c_uint, 1 => c_uint, 1 => c_uint, 64 => c_uint, 1 => c_uint,
        1 => c_uint, 0 => c_uint, NONE => Handle, each => *mut *const c_void, NONE => Handle
    ));
    assert_eq!(code, 0);
    assert_eq!(call!(cuCtxSynchronize()), 719);
}

#[test]
fn the_runtime_launches_cooperatively() {
    context();
    // SAFETY: the types are those of CUDA's host_runtime.h.
    let register = unsafe {
        library().get::<unsafe extern "C" fn(*const u64) -> Handle>(b"__cudaRegisterFatBinary\0")
    };
    // SAFETY: the image lives as long as the test.
    let binary = unsafe { register.expect("exported")(fat_binary(PHASES)) };
    let kernel: *mut Handle = Box::leak(Box::new(NONE));
    let (name, none) = (c"phases".as_ptr(), NONE);
    call!(__cudaRegisterFunction(
        binary => Handle, kernel => *mut Handle, name => *const c_char, name => *const c_char,
        -1 => c_int, none => Handle, none => Handle, none => Handle, none => Handle, none => Handle
    ));
    call!(__cudaRegisterFatBinaryEnd(binary => Handle));
    let to = buffer();
    let mut arguments: [*const c_void; 1] = [(&raw const to).cast()];
    let each = arguments.as_mut_ptr();
    let launched = call!(cudaLaunchCooperativeKernel(
        kernel => *mut Handle, Dim3(BLOCKS, 1, 1) => Dim3, Dim3(64, 1, 1) => Dim3,
        each => *mut *const c_void, 0 => usize, NONE => Handle
    ));
    assert_eq!(launched, 0);
    check(to);
}
