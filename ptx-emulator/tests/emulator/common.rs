//! Small kernels for tests.

use ptx_emulator::{Args, Fault, Kernel, LaunchConfig, LaunchError, Memory, Module};

/// A module with one kernel `test(.param .u64 data)`. The body finds the address of the data in
/// `%base`, the thread's index in the block in `%thread`, and registers `%r<32>` (32 bits),
/// `%x<32>` (64 bits), `%h<8>` (16 bits) and `%p<8>`.
pub fn module(body: &str) -> String {
    module_with("", body)
}

/// As [`module`], with declarations in front of the kernel.
pub fn module_with(declarations: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{declarations}\n\
         .visible .entry test(.param .u64 data)\n{{\n\
         .reg .b32 %r<32>; .reg .b64 %x<32>; .reg .b16 %h<8>; .reg .pred %p<8>;\n\
         .reg .b64 %base; .reg .b32 %thread;\n\
         ld.param.u64 %base, [data];\n\
         mov.u32 %thread, %tid.x;\n\
         {body}\nret;\n}}\n"
    )
}

pub fn kernel(text: &str) -> Kernel {
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    module
        .kernel("test")
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs a kernel on 32-bit data, which it may change.
pub fn launch(text: &str, config: &LaunchConfig, data: &mut [u32]) -> Result<(), LaunchError> {
    let memory = Memory::with_capacity(1 << 24);
    let address = memory.alloc(4 * data.len() as u64).expect("room");
    let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(address, &bytes).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(address);
    kernel(text).launch(&memory, config, &args)?;
    let mut bytes = vec![0; 4 * data.len()];
    memory.read(address, &mut bytes).expect("in bounds");
    for (word, bytes) in data.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    Ok(())
}

/// Runs a body in one block and gives the data back.
pub fn run(body: &str, threads: u32, data: &[u32]) -> Vec<u32> {
    run_text(&module(body), threads, data)
}

pub fn run_text(text: &str, threads: u32, data: &[u32]) -> Vec<u32> {
    let mut data = data.to_vec();
    let config = LaunchConfig::new([1, 1, 1], [threads, 1, 1]);
    launch(text, &config, &mut data).unwrap_or_else(|error| panic!("{error}\n{text}"));
    data
}

/// Runs a body that must fail.
pub fn fault(text: &str, config: &LaunchConfig) -> Fault {
    let mut data = [0; 64];
    match launch(text, config, &mut data) {
        Ok(()) => panic!("no fault in\n{text}"),
        Err(LaunchError::Fault(fault)) => *fault,
        Err(other) => panic!("{other}"),
    }
}

/// Stores `%r0` to the thread's word of the data.
pub const STORE: &str = "mad.wide.u32 %x31, %thread, 4, %base; st.global.b32 [%x31], %r0;";

/// Evaluates one instruction on rows of operands. It reads `%x1 %x2 %x3`, or their low halves
/// `%r1 …`, or their low quarters `%h1 …`, and writes `%x0`, `%r0`, `%h0` or `%p0`.
pub fn evaluate(instruction: &str, rows: &[[u64; 3]]) -> Vec<u64> {
    let result = if instruction.contains("%p0") {
        "selp.b64 %x0, 1, 0, %p0;"
    } else if instruction.contains("%h0") {
        "cvt.u64.u16 %x0, %h0;"
    } else if instruction.contains("%r0") {
        "cvt.u64.u32 %x0, %r0;"
    } else {
        ""
    };
    let text = module(&format!(
        "mov.u32 %r4, %ctaid.x; mad.lo.u32 %thread, %r4, 32, %thread;
         mad.wide.u32 %x30, %thread, 32, %base;
         ld.global.v2.b64 {{%x1, %x2}}, [%x30]; ld.global.b64 %x3, [%x30+16];
         cvt.u32.u64 %r1, %x1; cvt.u32.u64 %r2, %x2; cvt.u32.u64 %r3, %x3;
         cvt.u16.u64 %h1, %x1; cvt.u16.u64 %h2, %x2; cvt.u16.u64 %h3, %x3;
         {instruction}
         {result}
         st.global.b64 [%x30+24], %x0;"
    ));
    let blocks = rows.len().div_ceil(32);
    let mut data = vec![0u32; blocks * 32 * 8];
    for (row, words) in rows.iter().zip(data.chunks_exact_mut(8)) {
        for (value, pair) in row.iter().zip(words.chunks_exact_mut(2)) {
            pair[0] = *value as u32;
            pair[1] = (*value >> 32) as u32;
        }
    }
    let config = LaunchConfig::new([blocks as u32, 1, 1], [32, 1, 1]);
    launch(&text, &config, &mut data).unwrap_or_else(|error| panic!("{instruction}: {error}"));
    let results = data.chunks_exact(8).take(rows.len());
    results
        .map(|words| u64::from(words[6]) | u64::from(words[7]) << 32)
        .collect()
}

/// Operands with many corner cases, and noise.
pub fn operands() -> Vec<[u64; 3]> {
    let corners = [
        0u64,
        1,
        2,
        31,
        32,
        33,
        63,
        64,
        65,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0000,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        u64::MAX,
        // f32: 1, -1.5, smallest subnormal, largest finite, infinities, NaN.
        0x3f80_0000,
        0xbfc0_0000,
        0x0000_0001,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0x4b00_0001,
        // f64: 1, -2.5, subnormal, largest finite, infinity, NaN.
        0x3ff0_0000_0000_0000,
        0xc004_0000_0000_0000,
        0x000f_ffff_ffff_ffff,
        0x7fef_ffff_ffff_ffff,
        0x7ff0_0000_0000_0000,
        0x7ff8_0000_0000_0001,
    ];
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut noise = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut rows = Vec::new();
    for &a in &corners {
        for &b in &corners {
            let c = corners[(noise() % corners.len() as u64) as usize];
            rows.push([a, b, c]);
        }
    }
    for _ in 0..512 {
        rows.push([noise(), noise(), noise()]);
    }
    // Floats of similar size, whose sums and quotients are ordinary.
    for _ in 0..512 {
        let float = |bits: u64| {
            u64::from((0x3f00_0000 + (bits as u32 & 0x01ff_ffff)) ^ (bits as u32 & 0x8000_0000))
        };
        let double = |bits: u64| 0x3fe0_0000_0000_0000 + (bits & 0x003f_ffff_ffff_ffff);
        rows.push([float(noise()), float(noise()), float(noise())]);
        rows.push([double(noise()), double(noise()), double(noise())]);
    }
    rows
}

/// Checks one instruction against a function of the host on all operands.
pub fn check(instruction: &str, expected: impl Fn(u64, u64, u64) -> u64) {
    let rows = operands();
    let results = evaluate(instruction, &rows);
    for ([a, b, c], result) in rows.into_iter().zip(results) {
        let wanted = expected(a, b, c);
        assert_eq!(
            result, wanted,
            "{instruction} on {a:#x}, {b:#x}, {c:#x}: {result:#x}, not {wanted:#x}"
        );
    }
}
