//! A stand-in for `libcuda.so.1`, so that what lies above the driver can be tested without a GPU.
//!
//! It has one device of compute capability 9.0 whose memory is 1 MiB of the host's. Kernels are
//! known by their names:
//!
//! | entry | parameters | what a launch does |
//! |---|---|---|
//! | `echo` | pointer, `u32`, `f32` | stores both numbers at the pointer |
//! | `fault` | none | breaks the context: every later call returns `CUDA_ERROR_ILLEGAL_ADDRESS` |
//! | `refused` | none | is refused with code 912, which CUDA 11.4 does not know |
//!
//! PTX with the word `syntax_error` is refused with a log. A launch takes 1.25 ms of the device's
//! time. A stream that captures takes launches of `echo`. What `cuda_driver` needs and this library
//! lacks on purpose: tensor maps, and graphs that are built node by node.
//!
//! Environment: `FAKE_CUDA_VERSION` (default 13000) and `FAKE_CUDA_INIT`, the result of `cuInit`
//! (default 0).
//!
//! Layouts and numbers are those of `cuda.h`, written down here a second time, apart from
//! `cuda_driver`.

#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    reason = "the C interface's names, tested by its users"
)]

use std::alloc::Layout;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard};

const SUCCESS: c_uint = 0;
const INVALID_VALUE: c_uint = 1;
const OUT_OF_MEMORY: c_uint = 2;
const INVALID_DEVICE: c_uint = 101;
const INVALID_CONTEXT: c_uint = 201;
const INVALID_PTX: c_uint = 218;
const NOT_FOUND: c_uint = 500;
const ILLEGAL_ADDRESS: c_uint = 700;
const ILLEGAL_STATE: c_uint = 401;
const INVALID_CLUSTER_SIZE: c_uint = 912;

const MEMORY_BYTES: usize = 1 << 20;
const LAUNCH_MS: f32 = 1.25;

/// Kernels by handle; the handle is the index plus one.
const KERNELS: [&CStr; 3] = [c"echo", c"fault", c"refused"];

struct State {
    current: bool,
    retained: u32,
    broken: bool,
    /// Modules, streams and events that live in the context.
    objects: i32,
    allocations: HashMap<u64, usize>,
    clock_ms: f32,
    events: Vec<f32>,
    max_dynamic_shared: c_int,
    max_registers: u32,
    last_launch: [u32; 11],
    /// The launches of `echo` that are captured, while a stream captures.
    captured: Option<Vec<Echo>>,
    /// Graphs by handle; the handle is the index plus one.
    graphs: Vec<Vec<Echo>>,
}

/// The arguments of a launch of `echo`.
#[derive(Clone, Copy)]
struct Echo {
    to: u64,
    words: [u32; 2],
}

impl Echo {
    unsafe fn run(self) {
        unsafe { (self.to as *mut [u32; 2]).write(self.words) };
    }
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

struct Locked(MutexGuard<'static, Option<State>>);

impl std::ops::Deref for Locked {
    type Target = State;
    fn deref(&self) -> &State {
        self.0.as_ref().expect("made by `state`")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_mut().expect("made by `state`")
    }
}

fn state() -> Locked {
    let mut guard = STATE.lock().unwrap();
    guard.get_or_insert_with(|| State {
        current: false,
        retained: 0,
        broken: false,
        objects: 0,
        allocations: HashMap::new(),
        clock_ms: 0.0,
        events: Vec::new(),
        max_dynamic_shared: 48 * 1024,
        max_registers: 0,
        last_launch: [0; 11],
        captured: None,
        graphs: Vec::new(),
    });
    Locked(guard)
}

/// The state for a call that needs a working context.
fn context() -> Result<Locked, c_uint> {
    let state = state();
    match (state.current, state.broken) {
        (false, _) => Err(INVALID_CONTEXT),
        (true, true) => Err(ILLEGAL_ADDRESS),
        (true, false) => Ok(state),
    }
}

fn in_context(action: impl FnOnce(&mut State) -> c_uint) -> c_uint {
    match context() {
        Ok(mut state) => action(&mut state),
        Err(code) => code,
    }
}

/// An object of the context is no more.
fn destroyed() -> c_uint {
    in_context(|state| {
        state.objects -= 1;
        SUCCESS
    })
}

fn variable(name: &str, default: u32) -> u32 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

unsafe fn store<T>(to: *mut T, value: T) -> c_uint {
    unsafe { to.write(value) };
    SUCCESS
}

unsafe fn store_text(to: *mut c_char, room: c_int, text: &CStr) -> c_uint {
    let bytes = text.to_bytes_with_nul();
    if bytes.len() > room as usize {
        return INVALID_VALUE;
    }
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len()) };
    SUCCESS
}

// Driver and device.

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_uint {
    variable("FAKE_CUDA_INIT", SUCCESS)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_uint {
    unsafe { store(version, variable("FAKE_CUDA_VERSION", 13000) as c_int) }
}

fn error(code: c_uint) -> Option<(&'static CStr, &'static CStr)> {
    Some(match code {
        1 => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        2 => (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
        100 => (
            c"CUDA_ERROR_NO_DEVICE",
            c"no CUDA-capable device is detected",
        ),
        101 => (c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
        218 => (c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
        500 => (c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
        700 => (
            c"CUDA_ERROR_ILLEGAL_ADDRESS",
            c"an illegal memory access was encountered",
        ),
        912 => (c"CUDA_ERROR_INVALID_CLUSTER_SIZE", c"invalid cluster size"),
        _ => return None,
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(code: c_uint, name: *mut *const c_char) -> c_uint {
    match error(code) {
        Some((text, _)) => unsafe { store(name, text.as_ptr()) },
        None => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(code: c_uint, string: *mut *const c_char) -> c_uint {
    match error(code) {
        Some((_, text)) => unsafe { store(string, text.as_ptr()) },
        None => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_uint {
    unsafe { store(count, 1) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_uint {
    if ordinal != 0 {
        return INVALID_DEVICE;
    }
    unsafe { store(device, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, room: c_int, _device: c_int) -> c_uint {
    unsafe { store_text(name, room, c"Fake GPU") }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetPCIBusId(id: *mut c_char, room: c_int, _device: c_int) -> c_uint {
    unsafe { store_text(id, room, c"0000:3b:00.0") }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], _device: c_int) -> c_uint {
    unsafe { store(uuid, std::array::from_fn(|index| 0xa0 + index as u8)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) -> c_uint {
    unsafe { store(bytes, MEMORY_BYTES) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: c_uint,
    _device: c_int,
) -> c_uint {
    let number = match attribute {
        1..=3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65_535,
        8 => 48 * 1024,
        10 => 32,
        36 => 2_619_000,
        37 => 5120,
        75 => 9,
        76 => 0,
        97 => 227 * 1024,
        // The rest are known, up to those of CUDA 11.4.
        9..120 => 1,
        _ => return INVALID_VALUE,
    };
    unsafe { store(value, number) }
}

// Context and memory.

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, _device: c_int) -> c_uint {
    state().retained += 1;
    unsafe { store(context, 0xc0) }
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> c_uint {
    let mut state = state();
    state.retained -= 1;
    if state.retained == 0 {
        let left = (state.objects, state.allocations.len());
        if left != (0, 0) && !state.broken {
            eprintln!(
                "released the context with {} objects and {} allocations in it",
                left.0, left.1
            );
            std::process::abort();
        }
        state.current = false;
    }
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: usize) -> c_uint {
    state().current = context == 0xc0;
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> c_uint {
    in_context(|_| SUCCESS)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_uint {
    in_context(|state| {
        let used: usize = state.allocations.values().sum();
        unsafe { store(free, MEMORY_BYTES - used) };
        unsafe { store(total, MEMORY_BYTES) }
    })
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 256).unwrap()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> c_uint {
    in_context(|state| {
        // The memory is in pieces: half of it can be had at once.
        if bytes == 0 || bytes > MEMORY_BYTES / 2 {
            return if bytes == 0 {
                INVALID_VALUE
            } else {
                OUT_OF_MEMORY
            };
        }
        let memory = unsafe { std::alloc::alloc_zeroed(layout(bytes)) } as u64;
        state.allocations.insert(memory, bytes);
        unsafe { store(address, memory) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemFree_v2(address: u64) -> c_uint {
    in_context(|state| match state.allocations.remove(&address) {
        Some(bytes) => {
            unsafe { std::alloc::dealloc(address as *mut u8, layout(bytes)) };
            SUCCESS
        }
        None => INVALID_VALUE,
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const u8, bytes: usize) -> c_uint {
    in_context(|_| {
        unsafe { (to as *mut u8).copy_from_nonoverlapping(from, bytes) };
        SUCCESS
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, bytes: usize) -> c_uint {
    in_context(|_| {
        unsafe { to.copy_from_nonoverlapping(from as *const u8, bytes) };
        SUCCESS
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    to: u64,
    from: u64,
    bytes: usize,
    _stream: usize,
) -> c_uint {
    in_context(|_| {
        unsafe { (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes) };
        SUCCESS
    })
}

// Streams and events.

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreateWithPriority(
    stream: *mut usize,
    _flags: c_uint,
    _priority: c_int,
) -> c_uint {
    in_context(|state| {
        state.objects += 1;
        unsafe { store(stream, 0x57) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: usize) -> c_uint {
    in_context(|_| {
        if stream == 0x57 {
            SUCCESS
        } else {
            INVALID_VALUE
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(_stream: usize) -> c_uint {
    destroyed()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventCreate(event: *mut usize, _flags: c_uint) -> c_uint {
    in_context(|state| {
        state.objects += 1;
        state.events.push(f32::NAN);
        unsafe { store(event, state.events.len()) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: usize, _stream: usize) -> c_uint {
    in_context(|state| {
        state.events[event - 1] = state.clock_ms;
        SUCCESS
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime(
    milliseconds: *mut f32,
    start: usize,
    end: usize,
) -> c_uint {
    in_context(|state| unsafe {
        store(
            milliseconds,
            state.events[end - 1] - state.events[start - 1],
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: usize) -> c_uint {
    cuEventSynchronize(event)
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: usize) -> c_uint {
    in_context(|state| match state.events.get(event - 1) {
        Some(_) => SUCCESS,
        None => INVALID_VALUE,
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) -> c_uint {
    match cuStreamSynchronize(stream) {
        SUCCESS => cuEventSynchronize(event),
        wrong => wrong,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(_event: usize) -> c_uint {
    destroyed()
}

// Graphs.

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(_stream: usize, _mode: c_uint) -> c_uint {
    in_context(|state| match state.captured {
        Some(_) => ILLEGAL_STATE,
        None => {
            state.captured = Some(Vec::new());
            SUCCESS
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamEndCapture(_stream: usize, graph: *mut usize) -> c_uint {
    in_context(|state| match state.captured.take() {
        Some(captured) => {
            state.objects += 1;
            state.graphs.push(captured);
            unsafe { store(graph, state.graphs.len()) }
        }
        None => ILLEGAL_STATE,
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut usize,
    graph: usize,
    _flags: u64,
) -> c_uint {
    in_context(|state| {
        state.objects += 1;
        unsafe { store(executable, graph) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphUpload(_graph: usize, _stream: usize) -> c_uint {
    in_context(|_| SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(graph: usize, _stream: usize) -> c_uint {
    in_context(|state| {
        for echo in &state.graphs[graph - 1] {
            unsafe { echo.run() };
            state.clock_ms += LAUNCH_MS;
        }
        SUCCESS
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(_graph: usize) -> c_uint {
    destroyed()
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphExecDestroy(_graph: usize) -> c_uint {
    destroyed()
}

// Modules and kernels.

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut usize,
    image: *const c_char,
    count: c_uint,
    options: *const c_uint,
    values: *const usize,
) -> c_uint {
    in_context(|state| {
        let option = |wanted: c_uint| {
            let position =
                (0..count as usize).find(|&index| unsafe { *options.add(index) } == wanted)?;
            Some(unsafe { *values.add(position) })
        };
        state.max_registers = option(0).map_or(0, |registers| registers as u32);
        let ptx = unsafe { CStr::from_ptr(image) }.to_str().unwrap();
        if ptx.contains("syntax_error") {
            let (log, room) = (
                option(5).unwrap() as *mut c_char,
                option(6).unwrap() as c_int,
            );
            let text = c"ptxas application ptx input, line 7; fatal   : Parsing error near 'syntax_error'\nptxas fatal   : Ptx assembly aborted\n";
            unsafe { store_text(log, room, text) };
            return INVALID_PTX;
        }
        state.objects += 1;
        unsafe { store(module, 0x40) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(_module: usize) -> c_uint {
    destroyed()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    function: *mut usize,
    _module: usize,
    name: *const c_char,
) -> c_uint {
    let name = unsafe { CStr::from_ptr(name) };
    match KERNELS.iter().position(|known| *known == name) {
        Some(index) => unsafe { store(function, index + 1) },
        None => NOT_FOUND,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetAttribute(
    value: *mut c_int,
    attribute: c_uint,
    _function: usize,
) -> c_uint {
    let number = match attribute {
        0 => 512,
        1 => 1024,
        4 => 80,
        8 => state().max_dynamic_shared,
        _ => 0,
    };
    unsafe { store(value, number) }
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(_function: usize, attribute: c_uint, value: c_int) -> c_uint {
    in_context(|state| {
        if attribute != 8 || value > 226 * 1024 {
            return INVALID_VALUE;
        }
        state.max_dynamic_shared = value;
        SUCCESS
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    _function: usize,
    threads: c_int,
    shared: usize,
) -> c_uint {
    if threads <= 0 {
        return INVALID_VALUE;
    }
    unsafe {
        store(
            blocks,
            (2048 / threads).min((227 * 1024 / shared.max(1)) as c_int),
        )
    }
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the C interface's arguments")]
unsafe extern "C" fn cuLaunchKernel(
    function: usize,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    _stream: usize,
    arguments: *const *const c_void,
    _extra: *const c_void,
) -> c_uint {
    let geometry = [grid_x, grid_y, grid_z, block_x, block_y, block_z, shared];
    unsafe { launch(function, geometry, [0; 4], arguments) }
}

/// `config` is a `CUlaunchConfig`: seven numbers, the stream at byte 32, the attributes at 40,
/// their number at
/// 48. An attribute has 72 bytes: its identifier at 0, its value at 8.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernelEx(
    config: *const u8,
    function: usize,
    arguments: *const *const c_void,
    _extra: *const c_void,
) -> c_uint {
    let geometry = unsafe { config.cast::<[u32; 7]>().read() };
    let attributes = unsafe { config.add(40).cast::<*const u8>().read() };
    let count = unsafe { config.add(48).cast::<u32>().read() };
    let mut extended = [0; 4];
    for index in 0..count as usize {
        let attribute = unsafe { attributes.add(72 * index) };
        let value = unsafe { attribute.add(8).cast::<[u32; 3]>().read() };
        match unsafe { attribute.cast::<u32>().read() } {
            0 => {}
            4 => extended[..3].copy_from_slice(&value),
            6 => extended[3] = value[0],
            _ => return INVALID_VALUE,
        }
    }
    unsafe { launch(function, geometry, extended, arguments) }
}

unsafe fn launch(
    function: usize,
    geometry: [u32; 7],
    extended: [u32; 4],
    arguments: *const *const c_void,
) -> c_uint {
    in_context(|state| {
        if geometry[..6].contains(&0) || geometry[6] as c_int > state.max_dynamic_shared {
            return INVALID_VALUE;
        }
        state.last_launch[..7].copy_from_slice(&geometry);
        state.last_launch[7..].copy_from_slice(&extended);
        match KERNELS[function - 1].to_bytes() {
            b"echo" => {
                let word = |index| unsafe { (*arguments.add(index)).cast::<u32>().read() };
                let echo = Echo {
                    to: unsafe { (*arguments).cast::<u64>().read() },
                    words: [word(1), word(2)],
                };
                match &mut state.captured {
                    Some(captured) => {
                        captured.push(echo);
                        return SUCCESS;
                    }
                    None => unsafe { echo.run() },
                }
            }
            b"fault" => state.broken = true,
            _ => return INVALID_CLUSTER_SIZE,
        }
        state.clock_ms += LAUNCH_MS;
        SUCCESS
    })
}

// What tests ask this library itself.

/// Grid, block, dynamic shared memory, cluster and programmatic serialization of the last launch.
#[unsafe(no_mangle)]
unsafe extern "C" fn fakeLastLaunch(launch: *mut [u32; 11]) -> c_uint {
    unsafe { store(launch, state().last_launch) }
}

/// The register limit of the last module; 0 where none was given.
#[unsafe(no_mangle)]
unsafe extern "C" fn fakeMaxRegisters(registers: *mut u32) -> c_uint {
    unsafe { store(registers, state().max_registers) }
}
