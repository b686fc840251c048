//! Kernels of bulk copies, bulk reductions, `st.async` and `red.async`: each thread has a source, a
//! destination and an mbarrier of its own. From shared memory to that of a cluster, the destination
//! and the mbarrier are those of the same thread in the other block of a 2-CTA cluster: an H100
//! takes a copy inside of a block's own shared memory for an illegal instruction.

use std::fmt::Write;

use crate::kernel::{
    BLOCK, COLUMNS, FormKernel, MEMORY_BYTES, column, registers, split, start, store,
};

/// Times that a thread asks an mbarrier, so that a launch ends.
const TRIES: usize = 100_000;

/// Whether a form is one of those.
pub fn is_asynchronous(opcode: &str) -> bool {
    opcode.contains("async") && !opcode.starts_with("wgmma")
}

/// Moves a shared address to a register: as the peer of the cluster has it where `to_peer`.
fn address(to: &str, from: &str, to_peer: bool) -> String {
    match to_peer {
        true => format!(
            "mov.u32 %t2, %cluster_ctarank; xor.b32 %t2, %t2, 1; \
             mapa.shared::cluster.u32 {to}, {from}, %t2;"
        ),
        false => format!("mov.u32 {to}, {from};"),
    }
}

/// The kernel of a form, as the entry `name`.
pub fn kernel(name: &str, opcode: &str, operands: &str) -> FormKernel {
    let parts = split(operands);
    let area = MEMORY_BYTES * BLOCK as usize;
    let by_barrier = opcode.contains("mbarrier");
    let to_global = parts[0].contains("%address");
    let from_global = parts[1].contains("%address");
    let to_peer = by_barrier && !from_global;
    let mut text = start(name);
    if to_peer {
        text = text.replacen(") {", ") .reqnctapercluster 2, 1, 1 {", 1);
    }
    // Destinations, sources and mbarriers.
    _ = writeln!(
        text,
        ".shared .align 128 .b8 {name}_area[{}];\n\
         mul.lo.u32 %t3, %t1, {MEMORY_BYTES}; mov.u32 %t4, {name}_area; add.u32 %t4, %t4, %t3;\n\
         add.u32 %t5, %t4, {area}; mov.u32 %t6, {name}_area; add.u32 %t6, %t6, {};\n\
         mul.lo.u32 %t7, %t1, 8; add.u32 %t6, %t6, %t7;\n\
         ld.param.u64 %address, [{name}_memory]; mul.wide.u32 %o3, %t0, {MEMORY_BYTES};\n\
         add.u64 %address, %address, %o3;",
        2 * area + 8 * BLOCK as usize,
        2 * area,
    );
    // What the operation reads, and writes over.
    for word in 0..MEMORY_BYTES / 4 {
        let at = 4 * word;
        let (from, to) = (column(1, word), column(1, COLUMNS - 8 + word));
        let [source, destination] = match (from_global, to_global) {
            (true, _) => ["global.b32 [%address", "shared.b32 [%t4"],
            (_, true) => ["shared.b32 [%t5", "global.b32 [%address"],
            _ => ["shared.b32 [%t5", "shared.b32 [%t4"],
        };
        _ = writeln!(
            text,
            "ld.global.b32 %t2, [%o0+{from}]; st.{source}+{at}], %t2;\n\
             ld.global.b32 %t2, [%o0+{to}]; st.{destination}+{at}], %t2;"
        );
    }
    let copies = opcode.starts_with("cp");
    let register = |part: &str| format!("%{}", registers(part).first().unwrap_or(&""));
    let mut bytes = MEMORY_BYTES;
    if !to_global {
        _ = writeln!(text, "{}", address(&register(parts[0]), "%t4", to_peer));
    }
    if copies {
        if !from_global {
            _ = writeln!(text, "mov.u32 {}, %t5;", register(parts[1]));
        }
        _ = writeln!(text, "mov.u32 {}, {bytes};", register(parts[2]));
    } else {
        bytes = 0;
        for (at, value) in registers(parts[1]).into_iter().enumerate() {
            let width = if value.starts_with('x') { 2 } else { 1 };
            let from = column(width, at);
            let size = 16 << width;
            _ = writeln!(text, "ld.global.b{size} %{value}, [%o0+{from}];");
            bytes += 2 << width;
        }
    }
    if by_barrier {
        let barrier = if copies { 3 } else { 2 };
        _ = writeln!(
            text,
            "{} mbarrier.init.shared.b64 [%t6], 1;",
            address(&register(parts[barrier]), "%t6", to_peer)
        );
        if let Some(mask) = parts.get(barrier + 1) {
            _ = writeln!(text, "mov.u16 {mask}, 1;");
        }
    }
    text.push_str("fence.proxy.async;\n");
    // The peer's mbarrier and destination are ready, and no block ends before its peer has written.
    let together = match to_peer {
        true => "barrier.cluster.arrive; barrier.cluster.wait;\n",
        false => "",
    };
    if by_barrier {
        _ = writeln!(
            text,
            "mbarrier.arrive.expect_tx.shared.b64 _, [%t6], {bytes};\n\
             {together}{opcode} {operands};\n\
             mov.u32 %t7, 0;\n\
             AGAIN: mbarrier.try_wait.parity.shared.b64 %p0, [%t6], 0;\n\
             @%p0 bra DONE;\n\
             add.u32 %t7, %t7, 1; setp.lt.u32 %p1, %t7, {TRIES};\n\
             @%p1 bra AGAIN;\n\
             DONE: {together}"
        );
    } else {
        _ = writeln!(
            text,
            "{opcode} {operands};\n\
             cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async;"
        );
    }
    let from = if to_global {
        "global.b64 %o4, [%address"
    } else {
        "shared.b64 %o4, [%t4"
    };
    let mut slots = 0;
    for word in 0..MEMORY_BYTES / 8 {
        _ = writeln!(text, "ld.{from}+{}];", 8 * word);
        store(&mut text, &mut slots);
    }
    text.push_str("ret;\n}\n");
    FormKernel { text, slots }
}
