//! Kernels of `wmma`. PTX leaves the layout of fragments open, so that each form runs between loads
//! of matrices and the store of one, whose elements are compared. Every warp has its own matrices.

use std::fmt::Write;

use crate::kernel::{BLOCK, COLUMNS, FormKernel, WARP_BYTES, column, split, start, store};

/// Bytes of each matrix, at most.
const MATRIX_BYTES: usize = 1024;

/// A, B, C and D, in this order in memory.
const MATRICES: [&str; 4] = ["a", "b", "c", "d"];

/// A matrix of a product.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    /// Its place in [`MATRICES`].
    place: usize,
    extents: [usize; 2],
    layout: &'a str,
    ty: &'a str,
}

/// Bits of an element in memory.
fn bits(ty: &str) -> usize {
    match ty {
        "f64" => 64,
        "f32" | "s32" | "tf32" => 32,
        "f16" | "bf16" => 16,
        "s8" | "u8" => 8,
        "s4" | "u4" => 4,
        _ => 1,
    }
}

impl Matrix<'_> {
    fn bytes(&self) -> usize {
        self.extents[0] * self.extents[1] * bits(self.ty) / 8
    }

    /// Elements from one line to the next.
    fn stride(&self) -> usize {
        match self.layout {
            "row" => self.extents[1],
            _ => self.extents[0],
        }
    }

    /// Registers of a fragment, as an operand.
    fn fragment(&self) -> String {
        let in_register = if self.ty == "f64" { 64 } else { 32 };
        let count = match (self.ty, self.place) {
            // A and B of f16 are held twice.
            ("f16", 0 | 1) => 8,
            _ => 8 * self.bytes() / in_register / 32,
        };
        let file = if self.ty == "f64" { 'g' } else { 'f' };
        let name = MATRICES[self.place];
        let registers = (0..count).map(|i| format!("%{file}{name}{i}"));
        format!("{{{}}}", registers.collect::<Vec<_>>().join(", "))
    }

    /// Copies operands to the matrix: each lane a part. `next` counts columns of each width.
    fn fill(&self, text: &mut String, space: &str, next: &mut [usize; 3]) {
        let (width, bytes) = match bits(self.ty) {
            64 => (2, 8),
            16 => (0, 2),
            _ => (1, 4),
        };
        let in_lane = self.bytes() / 32;
        _ = writeln!(
            text,
            "mul.wide.u32 %o3, %t3, {in_lane}; add.u64 %o3, %address, %o3;"
        );
        let is_float = self.ty.contains('f');
        for at in (0..in_lane).step_by(bytes) {
            let from = column(width, next[width] % COLUMNS);
            next[width] += 1;
            let to = MATRIX_BYTES * self.place + at;
            let (register, mask, size) = match width {
                0 => ("%h0", "%h1", 16),
                1 => ("%t2", "%t4", 32),
                _ => ("%o4", "%o5", 64),
            };
            _ = writeln!(text, "ld.global.b{size} {register}, [%o0+{from}];");
            if is_float {
                _ = writeln!(text, "and.b{size} {register}, {register}, {mask};");
            }
            _ = writeln!(text, "st.{space}.b{size} [%o3+{to}], {register};");
        }
    }
}

/// The product that a form is part of.
struct Product<'a> {
    shape: &'a str,
    /// A, B, C and D.
    matrices: [Matrix<'a>; 4],
    opcode: String,
}

/// The form's part in [`MATRICES`] if it loads or stores: `a`, `b`, `c` or `d`.
fn moved(opcode: &str) -> Option<usize> {
    let name = opcode.split('.').nth(2)?;
    MATRICES.iter().position(|matrix| *matrix == name)
}

fn product(opcode: &str) -> Product<'_> {
    let parts: Vec<&str> = opcode.split('.').collect();
    let is_shape = |part: &&&str| part.starts_with('m') && part.contains('k');
    let shape = parts.iter().find(is_shape).copied().unwrap_or_default();
    let mut extents = shape.split(['m', 'n', 'k']).skip(1);
    let mut extent = || {
        extents
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    };
    let [m, n, k] = [extent(), extent(), extent()];
    let is_layout = |part: &&str| matches!(*part, "row" | "col");
    let layouts: Vec<&str> = parts.iter().copied().filter(is_layout).collect();
    let is_type = |part: &&str| {
        let types = [
            "f64", "f32", "s32", "tf32", "f16", "bf16", "s8", "u8", "s4", "u4", "b1",
        ];
        types.contains(part)
    };
    let types: Vec<&str> = parts.iter().copied().filter(is_type).collect();
    let moved = moved(opcode);
    // Of a load, the product with other operands of the same kind.
    let [d, a, b, c] = match (moved, types.as_slice()) {
        (None, [d, a, b, c]) => [*d, *a, *b, *c],
        (None, [d, c]) => [*d, "f16", "f16", *c],
        (Some(0 | 1), [ty]) => match *ty {
            "f16" | "bf16" | "tf32" => ["f32", ty, ty, "f32"],
            "f64" => ["f64"; 4],
            _ => ["s32", ty, ty, "s32"],
        },
        (_, types) => [types.first().copied().unwrap_or_default(); 4],
    };
    let layout = |matrix: usize| match (moved, layouts.as_slice()) {
        (None, [a, b]) => [*a, *b, "row", "row"][matrix],
        (Some(moved), [own]) if moved == matrix => own,
        // Products of elements below 8 bits have this layout alone.
        _ => ["row", "col", "row", "row"][matrix],
    };
    let matrix = |place: usize, extents: [usize; 2], ty| Matrix {
        place,
        extents,
        layout: layout(place),
        ty,
    };
    let matrices = [
        matrix(0, [m, k], a),
        matrix(1, [k, n], b),
        matrix(2, [m, n], c),
        matrix(3, [m, n], d),
    ];
    let layouts = format!("{}.{}", layout(0), layout(1));
    let opcode = match (moved, a) {
        (None, _) => opcode.to_string(),
        (_, "f16") => format!("wmma.mma.sync.aligned.{layouts}.{shape}.{d}.{c}"),
        (_, "b1") => {
            format!("wmma.mma.xor.popc.sync.aligned.{layouts}.{shape}.{d}.{a}.{b}.{c}")
        }
        _ => format!("wmma.mma.sync.aligned.{layouts}.{shape}.{d}.{a}.{b}.{c}"),
    };
    Product {
        shape,
        matrices,
        opcode,
    }
}

/// The kernel of a form of `wmma`, as the entry `name`.
pub fn kernel(name: &str, opcode: &str, operands: &str) -> FormKernel {
    let product = product(opcode);
    let moved = moved(opcode);
    let own = split(operands);
    let warps = BLOCK as usize / 32;
    let (space, of_form) = match opcode
        .split('.')
        .find(|part| matches!(*part, "global" | "shared"))
    {
        Some("global") => ("global", ".global"),
        Some(_) => ("shared", ".shared"),
        None if moved.is_some() => ("global", ""),
        None => ("shared", ".shared"),
    };
    let mut text = start(name);
    for (file, size) in [('f', 32), ('g', 64)] {
        let names = MATRICES.map(|matrix| format!("%{file}{matrix}<8>"));
        _ = writeln!(text, ".reg .b{size} {};", names.join(", "));
    }
    let bytes = WARP_BYTES * warps;
    // The elements of every second warp are below 2.
    _ = writeln!(
        text,
        "and.b32 %t3, %t1, 31; shr.u32 %t2, %t0, 5; and.b32 %t5, %t2, 1;\n\
         setp.ne.u32 %p0, %t5, 0; selp.b16 %h1, 0xbfff, -1, %p0;\n\
         selp.b32 %t4, 0xbfffffff, -1, %p0; selp.b64 %o5, 0xbfffffffffffffff, -1, %p0;"
    );
    if space == "shared" {
        _ = writeln!(
            text,
            ".shared .align 128 .b8 {name}_area[{bytes}]; shr.u32 %t2, %t1, 5; \
             mul.wide.u32 %o3, %t2, {WARP_BYTES}; mov.u64 %address, {name}_area;"
        );
    } else {
        _ = writeln!(
            text,
            "mul.wide.u32 %o3, %t2, {WARP_BYTES}; ld.param.u64 %address, [{name}_memory];"
        );
    }
    text.push_str("add.u64 %address, %address, %o3; mov.u64 %o8, %address;\n");
    let [a, b, c, d] = product.matrices;
    // C goes through a fragment to D alone.
    let copies = matches!(moved, Some(2 | 3));
    let mut next = [0; 3];
    let loaded = if copies { vec![c] } else { vec![a, b, c] };
    for matrix in &loaded {
        matrix.fill(&mut text, space, &mut next);
    }
    text.push_str("bar.warp.sync -1;\n");
    let shape = product.shape;
    // Fragments are those of the form where it has them.
    let fragment = |matrix: &Matrix<'_>| match moved {
        Some(place) if place == matrix.place || copies => match own[0].contains('[') {
            true => own[1].to_string(),
            false => own[0].to_string(),
        },
        Some(_) => matrix.fragment(),
        None => own[[1, 2, 3, 0][matrix.place]].to_string(),
    };
    let access = |text: &mut String, what: &str, matrix: &Matrix<'_>| {
        let at = MATRIX_BYTES * matrix.place;
        _ = writeln!(text, "add.u64 %address, %o8, {at};");
        if moved == Some(matrix.place) {
            let stride = own.last().unwrap_or(&"");
            let stride_value = matrix.stride();
            _ = writeln!(
                text,
                "mov.u32 {stride}, {stride_value}; {opcode} {operands};"
            );
            return;
        }
        let (layout, ty, stride) = (matrix.layout, matrix.ty, matrix.stride());
        let name = MATRICES[matrix.place];
        let registers = fragment(matrix);
        _ = match what {
            "load" => writeln!(
                text,
                "wmma.load.{name}.sync.aligned.{layout}.{shape}{of_form}.{ty} {registers}, \
                 [%address], {stride};"
            ),
            _ => writeln!(
                text,
                "wmma.store.{name}.sync.aligned.{layout}.{shape}{of_form}.{ty} [%address], \
                 {registers}, {stride};"
            ),
        };
    };
    for matrix in &loaded {
        access(&mut text, "load", matrix);
    }
    if !copies {
        let operands = [d, a, b, c].map(|matrix| fragment(&matrix));
        _ = writeln!(text, "{} {};", product.opcode, operands.join(", "));
    }
    access(&mut text, "store", &d);
    text.push_str("bar.warp.sync -1;\n");
    let mut slots = 0;
    let words = d.bytes() / 32 / 8;
    _ = writeln!(
        text,
        "mul.wide.u32 %o3, %t3, {}; add.u64 %o3, %o8, %o3;",
        8 * words
    );
    for word in 0..words {
        let at = MATRIX_BYTES * d.place + 8 * word;
        _ = writeln!(text, "ld.{space}.b64 %o4, [%o3+{at}];");
        store(&mut text, &mut slots);
    }
    text.push_str("ret;\n}\n");
    FormKernel { text, slots }
}
