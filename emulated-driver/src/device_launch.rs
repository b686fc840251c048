//! Kernels that launch kernels (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism").
//!
//! What a kernel launches is noted in a variable of its module. When its grid has ended, these
//! grids run one after the other in the order of their launches, each with all that it launches
//! itself; those of the stream for tail launches come last. A kernel cannot wait for a grid that it
//! launches, so that it cannot tell. Streams and events of a kernel order nothing more.

use ptx_emulator::{LaunchConfig, Memory, MemoryError, Module};

/// The variable: how many launches were begun, how many were made, the last error; then the
/// launches.
pub(crate) const QUEUE: &str = "__warpladder_launches";
const HEAD_BYTES: u64 = 64;

/// A launch: the kernel's address (8 bytes), grid, block and bytes of shared memory (4 each), the
/// number of the launch from 1 on and 0 before, the stream (8); and the parameters.
const FIELD_BYTES: u64 = 64;
const PARAMETER_BYTES: u64 = 4096;
const LAUNCH_BYTES: u64 = FIELD_BYTES + PARAMETER_BYTES;
/// Launches that one grid may make; memory that nothing touches is none.
const MAX_LAUNCHES: u64 = 1 << 15;

/// `cudaStreamTailLaunch`
const TAIL: u64 = 3;

/// `cudaErrorLaunchPendingCountExceeded`
const TOO_MANY: u32 = 69;

/// The declaration of the queue.
pub(crate) fn queue() -> String {
    let bytes = HEAD_BYTES + MAX_LAUNCHES * LAUNCH_BYTES;
    format!("\n.visible .global .align 64 .b8 {QUEUE}[{bytes}];\n")
}

/// Names and definitions of the functions.
pub(crate) fn functions() -> impl Iterator<Item = (String, String)> {
    let plain = [
        ("GetParameterBufferV2", GET_BUFFER),
        ("GetLastError", GET_LAST_ERROR),
        ("PeekAtLastError", PEEK_AT_LAST_ERROR),
        ("Malloc", ALLOCATE),
        ("Free", FREE),
        ("StreamCreateWithFlags", CREATE),
        ("EventCreateWithFlags", CREATE),
        (
            "StreamDestroy",
            "(.param .b64 p0) { st.param.b32 [r], 0; ret; }",
        ),
        (
            "EventDestroy",
            "(.param .b64 p0) { st.param.b32 [r], 0; ret; }",
        ),
    ];
    let of_streams = [
        ("LaunchDeviceV2", LAUNCH),
        (
            "EventRecord",
            "(.param .b64 p0, .param .b64 p1) { st.param.b32 [r], 0; ret; }",
        ),
        (
            "StreamWaitEvent",
            "(.param .b64 p0, .param .b64 p1, .param .b32 p2) { st.param.b32 [r], 0; ret; }",
        ),
    ];
    let of_streams = ["", "_ptsz"].into_iter().flat_map(move |end| {
        of_streams.map(|(name, body)| (format!("__cudaCDP2{name}{end}"), body))
    });
    let plain = plain.map(|(name, body)| (format!("__cudaCDP2{name}"), body));
    plain.into_iter().chain(of_streams).map(|(name, body)| {
        let result = if body == GET_BUFFER { ".b64" } else { ".b32" };
        let body = body
            .replace("QUEUE", QUEUE)
            .replace("MAX_LAUNCHES", &MAX_LAUNCHES.to_string())
            .replace("LAUNCH_BYTES", &LAUNCH_BYTES.to_string())
            .replace("TOO_MANY", &TOO_MANY.to_string());
        let definition = format!("\n.visible .func (.param {result} r) {name}{body}\n");
        (name, definition)
    })
}

/// Takes the next launch and stores the kernel, its extents and its shared memory; null where there
/// are too many.
const GET_BUFFER: &str = "(
    .param .b64 kernel, .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12],
    .param .b32 shared
)
{
    .reg .pred %full;
    .reg .b32 %at, %x, %y, %z;
    .reg .b64 %queue, %offset, %kernel;
    mov.u64 %queue, QUEUE;
    atom.global.add.u32 %at, [%queue], 1;
    setp.ge.u32 %full, %at, MAX_LAUNCHES;
    @%full bra FULL;
    mad.wide.u32 %queue, %at, LAUNCH_BYTES, %queue;
    ld.param.u64 %kernel, [kernel];
    st.global.u64 [%queue+64], %kernel;
    ld.param.u32 %x, [grid];
    ld.param.u32 %y, [grid+4];
    ld.param.u32 %z, [grid+8];
    st.global.u32 [%queue+72], %x;
    st.global.u32 [%queue+76], %y;
    st.global.u32 [%queue+80], %z;
    ld.param.u32 %x, [block];
    ld.param.u32 %y, [block+4];
    ld.param.u32 %z, [block+8];
    st.global.u32 [%queue+84], %x;
    st.global.u32 [%queue+88], %y;
    st.global.u32 [%queue+92], %z;
    ld.param.u32 %x, [shared];
    st.global.u32 [%queue+96], %x;
    st.global.u32 [%queue+100], 0;
    add.u64 %queue, %queue, 128;
    cvta.global.u64 %queue, %queue;
    st.param.b64 [r], %queue;
    ret;
FULL:
    atom.global.exch.b32 %at, [%queue+8], TOO_MANY;
    st.param.b64 [r], 0;
    ret;
}";

/// Gives the launch of a buffer its number.
const LAUNCH: &str = "(.param .b64 buffer, .param .b64 stream)
{
    .reg .pred %none;
    .reg .b32 %number;
    .reg .b64 %queue, %buffer, %stream;
    ld.param.u64 %buffer, [buffer];
    setp.eq.u64 %none, %buffer, 0;
    @%none bra NONE;
    cvta.to.global.u64 %buffer, %buffer;
    ld.param.u64 %stream, [stream];
    st.global.u64 [%buffer+-24], %stream;
    mov.u64 %queue, QUEUE;
    atom.global.add.u32 %number, [%queue+4], 1;
    add.u32 %number, %number, 1;
    st.global.u32 [%buffer+-28], %number;
    st.param.b32 [r], 0;
    ret;
NONE:
    st.param.b32 [r], TOO_MANY;
    ret;
}";

const GET_LAST_ERROR: &str = "()
{
    .reg .b32 %error;
    .reg .b64 %queue;
    mov.u64 %queue, QUEUE;
    atom.global.exch.b32 %error, [%queue+8], 0;
    st.param.b32 [r], %error;
    ret;
}";

const PEEK_AT_LAST_ERROR: &str = "()
{
    .reg .b32 %error;
    .reg .b64 %queue;
    mov.u64 %queue, QUEUE;
    ld.relaxed.gpu.global.u32 %error, [%queue+8];
    st.param.b32 [r], %error;
    ret;
}";

/// From the device heap; `cudaErrorMemoryAllocation` where it is full.
const ALLOCATE: &str = "(.param .b64 to, .param .b64 bytes)
{
    .reg .pred %none;
    .reg .b32 %error;
    .reg .b64 %to, %bytes, %address;
    ld.param.u64 %bytes, [bytes];
    {
        .param .b64 address;
        .param .b64 size;
        st.param.b64 [size], %bytes;
        call.uni (address), malloc, (size);
        ld.param.b64 %address, [address];
    }
    ld.param.u64 %to, [to];
    st.u64 [%to], %address;
    setp.eq.u64 %none, %address, 0;
    selp.b32 %error, 2, 0, %none;
    st.param.b32 [r], %error;
    ret;
}";

const FREE: &str = "(.param .b64 at)
{
    .reg .b64 %at;
    ld.param.u64 %at, [at];
    {
        .param .b64 address;
        st.param.b64 [address], %at;
        call.uni free, (address);
    }
    st.param.b32 [r], 0;
    ret;
}";

/// The functions of the heap that these call.
pub(crate) const HEAP: [(&str, &str); 2] = [
    (
        "malloc",
        ".extern .func (.param .b64 r) malloc (.param .b64 bytes);\n",
    ),
    ("free", ".extern .func free (.param .b64 address);\n"),
];

/// A stream or an event, which is a number.
const CREATE: &str = "(.param .b64 to, .param .b32 flags)
{
    .reg .b32 %number;
    .reg .b64 %queue, %to, %handle;
    mov.u64 %queue, QUEUE;
    atom.global.add.u32 %number, [%queue+12], 1;
    cvt.u64.u32 %handle, %number;
    add.u64 %handle, %handle, 256;
    ld.param.u64 %to, [to];
    st.u64 [%to], %handle;
    st.param.b32 [r], 0;
    ret;
}";

/// A launch that a kernel has made.
pub(crate) struct Child {
    pub(crate) kernel: u64,
    pub(crate) config: LaunchConfig,
    stream: u64,
    number: u32,
    pub(crate) parameters: Vec<u8>,
}

/// The launches that were made, in the order in which they run.
///
/// # Errors
/// That of the memory, which is none where the variable is there.
pub(crate) fn take(memory: &Memory, module: &Module) -> Result<Vec<Child>, MemoryError> {
    let found = module.variable(memory, QUEUE);
    let Ok(Some((queue, _))) = found else {
        return Ok(Vec::new());
    };
    let mut head = [0; 8];
    memory.read(queue, &mut head)?;
    let begun = u64::from(word(&head, 0)).min(MAX_LAUNCHES);
    if begun == 0 {
        return Ok(Vec::new());
    }
    memory.write(queue, &[0; 8])?;
    let mut children = Vec::new();
    let mut bytes = vec![0; LAUNCH_BYTES as usize];
    for at in 0..begun {
        let from = queue + HEAD_BYTES + at * LAUNCH_BYTES;
        memory.read(from, &mut bytes)?;
        children.extend(child_of(&bytes));
    }
    children.sort_by_key(|child| (child.stream == TAIL, child.number));
    Ok(children)
}

/// None where the launch was begun and not made.
fn child_of(bytes: &[u8]) -> Option<Child> {
    let [grid, block, rest] = [8, 20, 32];
    let extents = |at: usize| [0, 4, 8].map(|offset| word(bytes, at + offset));
    let mut config = LaunchConfig::new(extents(grid), extents(block));
    config.dynamic_shared_bytes = word(bytes, rest);
    let double = |at: usize| u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32;
    let number = word(bytes, rest + 4);
    (number != 0).then(|| Child {
        kernel: double(0),
        config,
        stream: double(rest + 8),
        number,
        parameters: bytes[FIELD_BYTES as usize..].to_vec(),
    })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|bytes| bytes.first_chunk());
    word.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
