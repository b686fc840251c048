//! Kernels of `wgmma`: each warpgroup has its own operands in shared memory.

use std::fmt::Write;

use crate::kernel::{COLUMNS, FormKernel, column, registers, split, start, store};

/// Threads of a warpgroup.
const THREADS: usize = 128;

/// Bytes of A, then of B, of a warpgroup: 64 rows, and at most 64 columns, of 32 bytes along k.
const OPERAND_BYTES: usize = 2048;

/// Bytes between core matrices (8 rows of 16 bytes) along k, and across.
const DISTANCES: [usize; 2] = [128, 256];

/// The kernel of a form, as the entry `name`.
pub fn kernel(name: &str, opcode: &str, operands: &str) -> FormKernel {
    let parts = split(operands);
    let mut text = start(name);
    let groups = crate::kernel::BLOCK as usize / THREADS;
    let bytes = 2 * OPERAND_BYTES;
    _ = writeln!(
        text,
        ".shared .align 128 .b8 {name}_area[{}];\n\
         shr.u32 %t3, %t1, 7; mul.lo.u32 %t3, %t3, {bytes};\n\
         mov.u32 %t4, {name}_area; add.u32 %t4, %t4, %t3;\n\
         and.b32 %t5, %t1, {}; mul.lo.u32 %t5, %t5, {}; add.u32 %t5, %t4, %t5;",
        groups * bytes,
        THREADS - 1,
        bytes / THREADS,
    );
    // The floats of every second warpgroup are below 2; every second pair has no addend.
    let types: Vec<&str> = opcode.split('.').collect();
    let has = |ty: &str| types.contains(&ty);
    let mask = match () {
        () if has("s8") || has("u8") || has("b1") => u32::MAX,
        () if has("e4m3") || has("e5m2") => 0xbfbf_bfbf,
        () if has("tf32") => 0xbfff_ffff,
        () => 0xbfff_bfff,
    };
    _ = writeln!(
        text,
        "shr.u32 %t6, %t0, 7; and.b32 %t7, %t6, 1; setp.ne.u32 %p0, %t7, 0;\n\
         selp.b32 %t8, {mask:#x}, -1, %p0; and.b32 %t7, %t6, 2;"
    );
    let mut next = 0;
    let mut load = |text: &mut String| {
        let from = column(1, next % COLUMNS);
        next += 1;
        _ = writeln!(
            text,
            "ld.global.b32 %t2, [%o0+{from}]; and.b32 %t2, %t2, %t8;"
        );
    };
    for at in (0..bytes / THREADS).step_by(4) {
        load(&mut text);
        _ = writeln!(text, "st.shared.b32 [%t5+{at}], %t2;");
    }
    for part in &parts {
        for register in registers(part) {
            if register.starts_with('r') {
                load(&mut text);
                _ = writeln!(text, "mov.b32 %{register}, %t2;");
            }
            if register.starts_with('p') {
                _ = writeln!(text, "setp.ne.u32 %{register}, %t7, 0;");
            }
        }
    }
    // Descriptors: the last one is that of B.
    let [along, across] = DISTANCES.map(|distance| distance as u64 >> 4);
    let fixed = along << 16 | across << 32;
    let descriptors = parts.iter().filter(|part| part.trim().starts_with("%x"));
    for (at, descriptor) in descriptors.rev().enumerate() {
        let first = if at == 0 { OPERAND_BYTES } else { 0 };
        _ = writeln!(
            text,
            "add.u32 %t2, %t4, {first}; and.b32 %t2, %t2, 0x3ffff; shr.u32 %t2, %t2, 4;\n\
             cvt.u64.u32 {descriptor}, %t2; or.b64 {descriptor}, {descriptor}, {fixed:#x};"
        );
    }
    _ = writeln!(
        text,
        "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;\n\
         {opcode} {operands};\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    );
    let mut slots = 0;
    for register in registers(parts[0]) {
        _ = writeln!(text, "cvt.u64.u32 %o4, %{register};");
        store(&mut text, &mut slots);
    }
    text.push_str("ret;\n}\n");
    FormKernel { text, slots }
}
