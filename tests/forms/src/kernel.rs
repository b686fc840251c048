//! A kernel that runs one form on every row and stores all that it may have changed.

use std::fmt::Write;

use crate::{asynchronous, fragments, warpgroup};

/// Rows of operands; each is one thread.
pub const ROWS: usize = 2048;
/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Columns of operands of each width; the last eight of 32 bits are the contents of memory.
pub const COLUMNS: usize = 24;
/// Bytes of memory that each thread has for an instruction that accesses memory.
pub const MEMORY_BYTES: usize = 32;
/// Bytes of memory that each warp has for matrices.
pub const WARP_BYTES: usize = 4096;

/// A form's kernel.
pub struct FormKernel {
    /// The entry, without the module's header.
    pub text: String,
    /// 64-bit outputs of each row.
    pub slots: usize,
}

/// Why a form is not compared, where it is not.
pub fn left_out(opcode: &str, operands: &str) -> Option<&'static str> {
    let base = opcode.split('.').next().unwrap_or("");
    let has = |part: &str| opcode.split('.').any(|other| other == part);
    if base == "wgmma" && !has("mma_async") || has("wait_group") || has("wait_group.read") {
        return Some("there is no result to compare");
    }
    if matches!(
        base,
        "tex" | "tld4" | "txq" | "suq" | "suld" | "sust" | "sured"
    ) {
        return Some("textures and surfaces are not generated yet");
    }
    if base == "tcgen05" {
        return Some("random bits allocate no tensor memory and describe no matrix");
    }
    if base == "tensormap" {
        return Some("a tensor map is an opaque value");
    }
    if has("sp") || has("sp::ordered_metadata") {
        return Some("random bits are no metadata of a sparse matrix");
    }
    if has("nc") || base == "ldu" {
        return Some("reads memory that the launch must not write");
    }
    if matches!(base, "cvta" | "isspacep") {
        return Some("the result depends on the device's addresses");
    }
    if base == "createpolicy" || has("L2::cache_hint") {
        return Some("the policy is an opaque value");
    }
    let outputs = !split(operands)[0].contains('[') || asynchronous::is_asynchronous(opcode);
    (has("prefetch") || (!outputs && !operands.contains("%address")))
        .then_some("there is no result to compare")
}

/// Operands, split at commas that no bracket encloses.
pub fn split(operands: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in operands.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&operands[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&operands[start..]);
    parts
}

/// Registers of the list of forms in a text.
pub fn registers(text: &str) -> Vec<&str> {
    let parts = text.split('%').skip(1);
    parts
        .filter_map(|part| {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric());
            let name = &part[..end.unwrap_or(part.len())];
            let number = name.get(1..)?;
            let is_register = name.starts_with(['b', 'h', 'r', 'x', 'p', 'q']);
            (is_register && number.parse::<u32>().is_ok()).then_some(name)
        })
        .collect()
}

/// The space of a form's memory operand.
fn space(opcode: &str) -> &'static str {
    let has = |space: &str| opcode.split('.').any(|part| part == space);
    let is_shared = has("shared") || has("shared::cta") || moves_matrices(opcode);
    match (is_shared, has("local")) {
        (true, _) => "shared",
        (_, true) => "local",
        _ => "global",
    }
}

/// Whether lanes access the rows of each other, which are in shared memory.
fn moves_matrices(opcode: &str) -> bool {
    opcode.starts_with("ldmatrix") || opcode.starts_with("stmatrix")
}

/// The start of an entry with its registers: `%o0` is the address of the row's operands, `%o1` that
/// of its outputs, `%t0` the row and `%t1` the thread.
pub fn start(name: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 {name}_in, .param .u64 {name}_out, \
         .param .u64 {name}_memory) {{\n\
         .reg .b8 %b<64>; .reg .b16 %h<64>; .reg .b32 %r<64>; .reg .b64 %x<64>;\n\
         .reg .pred %p<64>; .reg .b128 %q<8>;\n\
         .reg .b64 %address; .reg .b32 %t<16>; .reg .b64 %o<16>;\n\
         mov.u32 %t0, %ctaid.x; mov.u32 %t1, %tid.x; mad.lo.u32 %t0, %t0, {BLOCK}, %t1;\n\
         ld.param.u64 %o0, [{name}_in]; mul.wide.u32 %o1, %t0, 8; add.u64 %o0, %o0, %o1;\n\
         ld.param.u64 %o2, [{name}_out]; add.u64 %o1, %o2, %o1;\n"
    )
}

/// The kernel of a form, as the entry `name`.
pub fn kernel(name: &str, opcode: &str, operands: &str) -> FormKernel {
    if opcode.starts_with("wmma.") {
        return fragments::kernel(name, opcode, operands);
    }
    if opcode.starts_with("wgmma.") {
        return warpgroup::kernel(name, opcode, operands);
    }
    if asynchronous::is_asynchronous(opcode) {
        return asynchronous::kernel(name, opcode, operands);
    }
    let mut operands = operands.to_string();
    let parts = split(&operands);
    let of_matrices = opcode.starts_with("m") || moves_matrices(opcode);
    let warp = opcode.contains(".sync") && !of_matrices || opcode.starts_with("match");
    if warp {
        // Every lane takes part.
        let last = parts[parts.len() - 1].len();
        operands.truncate(operands.len() - last);
        operands.push_str("-1");
    }
    let parts = split(&operands);
    let has_result = !parts[0].contains('[');
    let results = if has_result {
        registers(parts[0])
    } else {
        Vec::new()
    };
    let sources = &parts[usize::from(has_result)..];
    let mut text = start(name);
    _ = writeln!(
        text,
        ".shared .align 32 .b8 {name}_area[8192]; .local .align 32 .b8 {name}_own[32];"
    );
    let mut slots = 0;
    let memory = operands.contains("%address");
    let space = space(opcode);
    // The address in its space.
    let mut accessed = "%address";
    if memory {
        let base = match space {
            "shared" => format!("mov.u64 %address, {name}_area; mul.wide.u32 %o3, %t1, 32;"),
            "local" => format!("mov.u64 %address, {name}_own; mov.u64 %o3, 0;"),
            _ => format!("ld.param.u64 %address, [{name}_memory]; mul.wide.u32 %o3, %t0, 32;"),
        };
        _ = writeln!(text, "{base} add.u64 %address, %address, %o3;");
        let is_generic = moves_matrices(opcode) && !opcode.contains(".shared");
        if is_generic {
            text.push_str("mov.u64 %o5, %address; cvta.shared.u64 %address, %address;\n");
            accessed = "%o5";
        }
        for word in 0..MEMORY_BYTES / 4 {
            let offset = column(1, COLUMNS - 8 + word);
            _ = writeln!(
                text,
                "ld.global.b32 %t2, [%o0+{offset}]; st.{space}.b32 [{accessed}+{}], %t2;",
                4 * word
            );
        }
    }
    let inputs = sources.iter().flat_map(|source| registers(source));
    // One that takes two columns is followed by one of other columns.
    let mut next = 0;
    for register in inputs {
        let index = next;
        next += if register.starts_with('q') { 2 } else { 1 };
        let width = match &register[..1] {
            "b" | "h" => 0,
            "x" => 2,
            _ => 1,
        };
        let offset = column(width, index);
        _ = match &register[..1] {
            "p" => writeln!(
                text,
                "ld.global.b32 %t2, [%o0+{offset}]; and.b32 %t2, %t2, 1; \
                 setp.ne.u32 %{register}, %t2, 0;"
            ),
            "b" => writeln!(text, "ld.global.b8 %{register}, [%o0+{offset}];"),
            "q" => writeln!(
                text,
                "ld.global.b64 %o6, [%o0+{}]; ld.global.b64 %o7, [%o0+{}]; \
                 mov.b128 %{register}, {{%o6, %o7}};",
                column(2, index),
                column(2, index + 1)
            ),
            _ => writeln!(
                text,
                "ld.global.b{} %{register}, [%o0+{offset}];",
                16 << width
            ),
        };
    }
    let base = opcode.split('.').next().unwrap_or("");
    let carry = opcode.contains(".cc") || matches!(base, "addc" | "subc" | "madc");
    if carry {
        let offset = column(1, COLUMNS - 9);
        _ = writeln!(
            text,
            "ld.global.b32 %t2, [%o0+{offset}]; and.b32 %t2, %t2, 1; add.cc.u32 %t3, %t2, -1;"
        );
    }
    let synchronizes = moves_matrices(opcode);
    if synchronizes {
        text.push_str("bar.warp.sync -1;\n");
    }
    _ = writeln!(text, "{opcode} {operands};");
    if synchronizes {
        text.push_str("bar.warp.sync -1;\n");
    }
    if carry {
        _ = writeln!(text, "addc.u32 %t4, 0, 0; cvt.u64.u32 %o4, %t4;");
        store(&mut text, &mut slots);
    }
    for register in results {
        if register.starts_with('q') {
            _ = writeln!(text, "mov.b128 {{%o4, %o6}}, %{register};");
            store(&mut text, &mut slots);
            text.push_str("mov.b64 %o4, %o6;\n");
            store(&mut text, &mut slots);
            continue;
        }
        _ = match &register[..1] {
            "p" => writeln!(text, "selp.u64 %o4, 1, 0, %{register};"),
            "b" => writeln!(text, "cvt.u64.u8 %o4, %{register};"),
            "h" => writeln!(text, "cvt.u64.u16 %o4, %{register};"),
            "r" => writeln!(text, "cvt.u64.u32 %o4, %{register};"),
            _ => writeln!(text, "mov.b64 %o4, %{register};"),
        };
        store(&mut text, &mut slots);
    }
    if memory {
        for word in 0..MEMORY_BYTES / 8 {
            _ = writeln!(text, "ld.{space}.b64 %o4, [{accessed}+{}];", 8 * word);
            store(&mut text, &mut slots);
        }
    }
    text.push_str("ret;\n}\n");
    FormKernel { text, slots }
}

/// Where a column of operands begins, in bytes.
pub fn column(width: usize, index: usize) -> usize {
    (width * COLUMNS + index) * ROWS * 8
}

/// Stores `%o4` as the next output.
pub fn store(text: &mut String, slots: &mut usize) {
    _ = writeln!(text, "st.global.b64 [%o1+{}], %o4;", *slots * ROWS * 8);
    *slots += 1;
}
