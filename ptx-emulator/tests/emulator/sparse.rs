//! Products with a sparse A: `mma.sp` and `wgmma.mma_async.sp` against sums on the host. Fragments
//! and metadata are laid out as the tables and figures of the PTX ISA have them.

use crate::common::{launch, module};
use ptx_emulator::{LaunchConfig, LaunchError};

/// A kind of product: the shape's k, the types, the bits of an element of A and B, and how many
/// elements of A stand for how many (`kept` of `chunk`).
struct Kind {
    opcode: &'static str,
    depth: usize,
    inputs: &'static str,
    sums: &'static str,
    bits: usize,
    kept: usize,
    chunk: usize,
    /// Blocks with a scale along k; none where there are no scales.
    blocks: usize,
}

impl Kind {
    const fn scaled(self, blocks: usize) -> Self {
        Kind { blocks, ..self }
    }
}

const fn kind(
    opcode: &'static str,
    depth: usize,
    [inputs, sums]: [&'static str; 2],
    bits: usize,
    [kept, chunk]: [usize; 2],
) -> Kind {
    Kind {
        opcode,
        depth,
        inputs,
        sums,
        bits,
        kept,
        chunk,
        blocks: 0,
    }
}

const KINDS: [Kind; 12] = [
    kind(
        "m16n8k16.row.col.f32.f16.f16.f32",
        16,
        ["f16", "f32"],
        16,
        [2, 4],
    ),
    kind(
        "m16n8k32.row.col.f32.f16.f16.f32",
        32,
        ["f16", "f32"],
        16,
        [2, 4],
    ),
    kind(
        "m16n8k16.row.col.f16.f16.f16.f16",
        16,
        ["f16", "f16"],
        16,
        [2, 4],
    ),
    kind(
        "m16n8k32.row.col.f16.f16.f16.f16",
        32,
        ["f16", "f16"],
        16,
        [2, 4],
    ),
    kind(
        "m16n8k32.row.col.f32.bf16.bf16.f32",
        32,
        ["bf16", "f32"],
        16,
        [2, 4],
    ),
    kind(
        "m16n8k8.row.col.f32.tf32.tf32.f32",
        8,
        ["tf32", "f32"],
        32,
        [1, 2],
    ),
    kind(
        "m16n8k16.row.col.f32.tf32.tf32.f32",
        16,
        ["tf32", "f32"],
        32,
        [1, 2],
    ),
    kind(
        "m16n8k32.row.col.s32.s8.s8.s32",
        32,
        ["s8", "s32"],
        8,
        [2, 4],
    ),
    kind(
        "m16n8k64.row.col.s32.s8.s8.s32",
        64,
        ["s8", "s32"],
        8,
        [2, 4],
    ),
    kind(
        "m16n8k64.row.col.s32.s4.s4.s32",
        64,
        ["s4", "s32"],
        4,
        [4, 8],
    ),
    kind(
        "m16n8k128.row.col.s32.s4.s4.s32",
        128,
        ["s4", "s32"],
        4,
        [4, 8],
    ),
    kind(
        "m16n8k64.row.col.f32.e4m3.e4m3.f32",
        64,
        ["e4m3", "f32"],
        8,
        [2, 4],
    ),
];

/// Those of `.kind`, which has ordered metadata alone.
const ORDERED: [Kind; 6] = [
    kind(
        "m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32",
        64,
        ["e2m1", "f32"],
        8,
        [2, 4],
    ),
    kind(
        "m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0",
        64,
        ["e4m3", "f32"],
        8,
        [2, 4],
    )
    .scaled(1),
    kind(
        "m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
        64,
        ["e2m1", "f32"],
        8,
        [2, 4],
    )
    .scaled(1),
    kind(
        "m16n8k128.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
        128,
        ["e2m1x2", "f32"],
        4,
        [4, 8],
    )
    .scaled(2),
    kind(
        "m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        128,
        ["e2m1x2", "f32"],
        4,
        [4, 8],
    )
    .scaled(2),
    kind(
        "m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        128,
        ["e2m1x2", "f32"],
        4,
        [4, 8],
    )
    .scaled(4),
];

/// The bits of a small integer.
fn encode(name: &str, value: i32) -> u32 {
    let of_single = (value as f32).to_bits();
    match name {
        "f32" | "tf32" => of_single,
        "bf16" => of_single >> 16,
        "f16" => u32::from(half::f16::from_f32(value as f32).to_bits()),
        "e4m3" if value == 0 => 0,
        // Sign, exponent from -120, three bits of fraction.
        "e4m3" => of_single >> 31 << 7 | ((of_single >> 20 & 0x7ff) - (120 << 3)),
        // Sign, and 0, 1, 2 or 3 in the middle of a byte.
        "e2m1" => encode("e2m1x2", value) << 2,
        "e2m1x2" => u32::from(value < 0) << 3 | [0, 2, 4, 5][value.unsigned_abs() as usize],
        "s8" => value as u32 & 0xff,
        "s4" => value as u32 & 0xf,
        _ => value as u32,
    }
}

/// Numbers from -3 to 3, and others.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % limit
    }

    fn small(&mut self) -> i32 {
        self.below(7) as i32 - 3
    }
}

/// A sparse row: its elements, the kept ones, and four bits of metadata for each chunk.
fn sparse_row(kind: &Kind, random: &mut Random) -> (Vec<i32>, Vec<i32>, Vec<u32>) {
    let (mut whole, mut kept, mut metadata) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..kind.depth / kind.chunk {
        let mut chunk = vec![0; kind.chunk];
        // Two of four places, each an element, half of one or two of them.
        let first = random.below(3);
        let second = first + 1 + random.below(3 - first);
        let named = match kind.chunk {
            2 => {
                let at = random.below(2);
                metadata.push([0b0100, 0b1110][at as usize]);
                vec![at as usize]
            }
            4 => vec![first as usize, second as usize],
            _ => [first, second]
                .iter()
                .flat_map(|&pair| [2 * pair as usize, 2 * pair as usize + 1])
                .collect(),
        };
        if kind.chunk != 2 {
            metadata.push(first | second << 2);
        }
        assert_eq!(named.len(), kind.kept);
        for at in named {
            chunk[at] = random.small();
            kept.push(chunk[at]);
        }
        whole.extend(chunk);
    }
    (whole, kept, metadata)
}

/// The words of a line, `packed` elements in each.
fn pack(line: &[i32], kind: &Kind) -> Vec<u32> {
    let words = line.chunks(32 / kind.bits);
    let word = |elements: &[i32]| {
        let elements = elements.iter().enumerate();
        elements.fold(0, |word, (at, value)| {
            word | encode(kind.inputs, *value) << (kind.bits * at)
        })
    };
    words.map(word).collect()
}

/// The word of metadata that a lane has, with a selector.
fn metadata_of(kind: &Kind, rows: &[Vec<u32>], lane: usize, selector: usize) -> u32 {
    let (group, place) = (lane / 4, lane % 4);
    let word = |chunks: &[u32]| {
        let chunks = chunks.iter().enumerate();
        chunks.fold(0, |word, (at, bits)| word | bits << (4 * at))
    };
    // A lane that is not selected has bits that would be a fault.
    let unused = 0;
    let chunks = rows[0].len();
    match (chunks, kind.bits) {
        (4, _) if place == selector => word(&rows[group]) | word(&rows[group + 8]) << 16,
        (8, 16 | 32) if place / 2 == selector => {
            let part = 4 * (place % 2)..4 * (place % 2) + 4;
            word(&rows[group][part.clone()]) | word(&rows[group + 8][part]) << 16
        }
        (8, 4 | 8) if place / 2 == selector => word(&rows[group + 8 * (place % 2)]),
        (16, _) => {
            let part = 8 * (place / 2)..8 * (place / 2) + 8;
            word(&rows[group + 8 * (place % 2)][part])
        }
        _ => unused,
    }
}

/// Runs a product and compares it.
fn check(kind: &Kind, sp: &str, selector: usize) {
    let mut random = Random(kind.depth as u32 + selector as u32);
    let rows: Vec<_> = (0..16).map(|_| sparse_row(kind, &mut random)).collect();
    let columns: Vec<Vec<i32>> = (0..8)
        .map(|_| (0..kind.depth).map(|_| random.small()).collect())
        .collect();
    let c: Vec<i32> = (0..128).map(|_| random.small()).collect();
    let metadata: Vec<Vec<u32>> = rows.iter().map(|row| row.2.clone()).collect();
    let in_a = kind.depth / 2 * 16 * kind.bits / 32 / 32;
    let in_b = kind.depth * 8 * kind.bits / 32 / 32;
    let (a, b): (Vec<_>, Vec<_>) = (
        rows.iter().map(|row| pack(&row.1, kind)).collect(),
        columns.iter().map(|column| pack(column, kind)).collect(),
    );
    let of_pair = |first: i32, second: i32| match kind.sums {
        "f16" => vec![encode("f16", first) | encode("f16", second) << 16],
        sums => vec![encode(sums, first), encode(sums, second)],
    };
    // A lane's words: A, B, metadata and C.
    let mut data = Vec::new();
    let mut wanted = Vec::new();
    let in_c = if kind.sums == "f16" { 2 } else { 4 };
    let in_scales = if kind.blocks == 0 { 0 } else { 2 };
    let stride = in_a + in_b + 1 + in_scales + in_c;
    // A word of scales has a byte for each of 4 / blocks pairs of lanes that may be asked for.
    let exponents: Vec<[u32; 2]> = (0..32).map(|_| [random.0, random.below(1 << 20)]).collect();
    let exponent = |lane: usize, of: usize, byte: usize| {
        (exponents[lane][of] >> (2 * byte + 3) & 3).min(2) as usize
    };
    let (byte_a, byte_b) = match kind.blocks {
        0 | 4 => (0, 0),
        1 => (3, 1),
        _ => (2, 0),
    };
    let scale = |row: usize, column: usize, k: usize| -> i32 {
        if kind.blocks == 0 {
            return 1;
        }
        let block = k * kind.blocks / kind.depth;
        let of_a = exponent(4 * (row % 8) + 2 + row / 8, 0, byte_a + block);
        1 << (of_a + exponent(4 * column + 3, 1, byte_b + block))
    };
    for lane in 0..32 {
        let (group, place) = (lane / 4, lane % 4);
        data.extend((0..in_a).map(|i| a[group + 8 * (i % 2)][place + 4 * (i / 2)]));
        data.extend((0..in_b).map(|i| b[group][place + 4 * i]));
        data.push(metadata_of(kind, &metadata, lane, selector));
        for of in 0..in_scales {
            let byte = |byte: usize| match kind.opcode.ends_with("ue4m3") {
                true => (7 + exponent(lane, of, byte) as u32) << 3,
                false => 127 + exponent(lane, of, byte) as u32,
            };
            data.push((0..4).fold(0, |word, at| word | byte(at) << (8 * at)));
        }
        for half in 0..2 {
            let row = group + 8 * half;
            let at = |column: usize| c[8 * row + column];
            let sum = |column: usize| {
                let products = rows[row].0.iter().zip(&columns[column]).enumerate();
                let products = products.map(|(k, (a, b))| a * b * scale(row, column, k));
                at(column) + products.sum::<i32>()
            };
            data.extend(of_pair(at(2 * place), at(2 * place + 1)));
            wanted.extend(of_pair(sum(2 * place), sum(2 * place + 1)));
        }
    }
    let list = |first: usize, count: usize| {
        let registers: Vec<String> = (first..first + count).map(|i| format!("%r{i}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    let loads: String = (0..stride)
        .map(|i| format!("ld.global.b32 %r{i}, [%x1+{}];\n", 4 * i))
        .collect();
    let at_c = in_a + in_b + 1 + in_scales;
    let scales = match kind.blocks {
        0 => String::new(),
        _ => format!(
            ", %r{}, {{{byte_a}, 1}}, %r{}, {{{byte_b}, 3}}",
            at_c - 2,
            at_c - 1
        ),
    };
    let d = list(at_c, in_c);
    let stores: String = (at_c..stride)
        .map(|i| format!("st.global.b32 [%x1+{}], %r{i};\n", 4 * i))
        .collect();
    let (of_a, of_b, opcode) = (list(0, in_a), list(in_a, in_b), kind.opcode);
    let text = module(&format!(
        "mad.wide.u32 %x1, %thread, {}, %base;\n{loads}\
         mma.{sp}.sync.aligned.{opcode} {d}, {of_a}, {of_b}, {d}, %r{}, {selector}{scales};\n{stores}",
        4 * stride,
        in_a + in_b
    ));
    let target = match kind.opcode.contains("kind::") {
        true => ".version 8.7\n.target sm_120a",
        false => ".version 8.7\n.target sm_90",
    };
    let text = text.replace(".version 8.0\n.target sm_80", target);
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    launch(&text, &config, &mut data).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let found: Vec<u32> = data
        .chunks(stride)
        .flat_map(|lane| &lane[at_c..])
        .copied()
        .collect();
    assert_eq!(found, wanted, "{opcode} {sp} {selector}");
}

#[test]
fn sparse_products_are_those_of_the_whole_matrix() {
    for kind in &KINDS {
        let chunks = kind.depth / kind.chunk;
        for selector in 0..16usize.div_ceil(chunks).min(4) {
            check(kind, "sp", selector);
            check(kind, "sp::ordered_metadata", selector);
        }
    }
}

#[test]
fn sparse_products_of_kinds_have_scales() {
    for kind in &ORDERED {
        check(kind, "sp::ordered_metadata", 0);
    }
}

/// Metadata that name an element twice, and selectors of lanes that have none.
#[test]
fn what_names_no_elements_is_refused() {
    let body = |selector: u32, a: u32| {
        module(&format!(
            "mov.b32 %r0, 0; mov.b32 %r9, 0x44444440; mov.b32 %r5, {a};\n\
             mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {{%r1, %r2, %r3, %r4}}, \
             {{%r5, %r5}}, {{%r0, %r0}}, {{%r0, %r0, %r0, %r0}}, %r9, {selector};"
        ))
    };
    let mut data = [0; 8];
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    let error = launch(&body(0, 1), &config, &mut data)
        .expect_err("a fault")
        .to_string();
    assert!(
        error.contains("metadata of row 0 of A, bits 0 to 3"),
        "{error}"
    );
    // Zeros are nowhere.
    launch(&body(0, 0), &config, &mut data).expect("no fault");
    let module = ptx_emulator::Module::parse(&body(2, 1)).expect("well formed");
    let error = module.kernel("test").expect_err("refused").to_string();
    assert!(error.contains("selector of metadata is 2"), "{error}");
}

/// `wgmma` of f16 with A in registers: four warps with 16 rows each.
#[test]
fn sparse_products_of_a_warpgroup() -> Result<(), LaunchError> {
    let kind = &KINDS[1];
    for selector in 0..2 {
        let mut random = Random(selector as u32);
        let mut rows: Vec<_> = (0..64).map(|_| sparse_row(kind, &mut random)).collect();
        // As rows that a tensor copy has filled: zeros, whose metadata names nothing.
        for (dense, stored, metadata) in rows.iter_mut().step_by(5) {
            dense.fill(0);
            stored.fill(0);
            metadata.fill(0);
        }
        let columns: Vec<Vec<i32>> = (0..8)
            .map(|_| (0..kind.depth).map(|_| random.small()).collect())
            .collect();
        // B: 8 columns of 64 bytes, in pieces of 16 bytes that lie 128 bytes apart.
        let mut data = vec![0; 128];
        for (column, line) in columns.iter().enumerate() {
            for (at, word) in pack(line, kind).into_iter().enumerate() {
                data[32 * (at / 4) + 4 * column + at % 4] = word;
            }
        }
        for thread in 0..128 {
            let (warp, lane) = (thread / 32, thread % 32);
            let of_warp = &rows[16 * warp..16 * warp + 16];
            let a: Vec<Vec<u32>> = of_warp.iter().map(|row| pack(&row.1, kind)).collect();
            let place = |i: usize| a[lane / 4 + 8 * (i % 2)][lane % 4 + 4 * (i / 2)];
            data.extend((0..4).map(place));
            let metadata: Vec<Vec<u32>> = of_warp.iter().map(|row| row.2.clone()).collect();
            data.push(metadata_of(kind, &metadata, lane, selector));
        }
        let text = module(&format!(
            ".shared .align 128 .b8 b[512];\n\
             mad.wide.u32 %x1, %thread, 4, %base; ld.global.b32 %r0, [%x1];\n\
             mov.u32 %r1, b; mad.lo.u32 %r2, %thread, 4, %r1; st.shared.b32 [%r2], %r0;\n\
             bar.sync 0;\n\
             mad.wide.u32 %x1, %thread, 20, %base;\n\
             ld.global.b32 %r4, [%x1+512]; ld.global.b32 %r5, [%x1+516];\n\
             ld.global.b32 %r6, [%x1+520]; ld.global.b32 %r7, [%x1+524];\n\
             ld.global.b32 %r8, [%x1+528];\n\
             shr.u32 %r3, %r1, 4; cvt.u64.u32 %x2, %r3; or.b64 %x2, %x2, 0x0000000800080000;\n\
             mov.b32 %r10, 0f3F800000; mov.b32 %r11, %r10; mov.b32 %r12, %r10;\n\
             mov.b32 %r13, %r10;\n\
             wgmma.fence.sync.aligned;\n\
             wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {{%r10, %r11, %r12, %r13}}, \
             {{%r4, %r5, %r6, %r7}}, %x2, %r8, {selector}, 1, 1, 1, 0;\n\
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n\
             mad.wide.u32 %x1, %thread, 16, %base;\n\
             st.global.b32 [%x1], %r10; st.global.b32 [%x1+4], %r11;\n\
             st.global.b32 [%x1+8], %r12; st.global.b32 [%x1+12], %r13;"
        ));
        let text = text.replace(
            ".version 8.0\n.target sm_80",
            ".version 8.7\n.target sm_90a",
        );
        // All threads have loaded before the first one stores: `wgmma` meets them.
        let text = text.replace("wgmma.fence", "bar.sync 0;\nwgmma.fence");
        launch(&text, &LaunchConfig::new([1, 1, 1], [128, 1, 1]), &mut data)?;
        for (thread, found) in data.chunks(4).take(128).enumerate() {
            for (i, found) in found.iter().enumerate() {
                let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2);
                let column = 2 * (thread % 4) + i % 2;
                let products = rows[row].0.iter().zip(&columns[column]);
                let sum = 1 + products.map(|(a, b)| a * b).sum::<i32>();
                assert_eq!(
                    f32::from_bits(*found),
                    sum as f32,
                    "{row} {column} {selector}"
                );
            }
        }
    }
    Ok(())
}
