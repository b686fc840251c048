//! `mma.sync`, `ldmatrix` and `stmatrix` against GEMMs on the host and the tables of the PTX ISA.

use crate::common::{fault, kernel, launch, module, run};
use ptx_emulator::{Args, Counters, FaultKind, LaunchConfig, Memory};

/// The (row, column) of an element of a lane's fragment, from group, index in the group and index
/// in the fragment.
type Layout = fn(usize, usize, usize) -> (usize, usize);

struct Shape {
    name: &'static str,
    types: &'static str,
    rows: usize,
    depth: usize,
    /// Elements of a lane's fragment of A, B and C.
    counts: [usize; 3],
    a: Layout,
    b: Layout,
}

/// Columns of B and C.
const COLUMNS: usize = 8;

/// PTX ISA, "Matrix Fragments for mma.m16n8k8" and similar tables: fragments of C.
fn c_place(group: usize, place: usize, i: usize) -> (usize, usize) {
    let row = if i < 2 { group } else { group + 8 };
    (row, place * 2 + (i & 1))
}

const SHAPES: [Shape; 10] = [
    Shape {
        name: "m16n8k8",
        types: "f32.f16.f16.f32",
        rows: 16,
        depth: 8,
        counts: [4, 2, 4],
        a: |group, place, i| (if i < 2 { group } else { group + 8 }, place * 2 + (i & 1)),
        b: |group, place, i| (place * 2 + i, group),
    },
    Shape {
        name: "m16n8k8",
        types: "f32.bf16.bf16.f32",
        rows: 16,
        depth: 8,
        counts: [4, 2, 4],
        a: |group, place, i| (if i < 2 { group } else { group + 8 }, place * 2 + (i & 1)),
        b: |group, place, i| (place * 2 + i, group),
    },
    Shape {
        name: "m16n8k16",
        types: "f32.f16.f16.f32",
        rows: 16,
        depth: 16,
        counts: [8, 4, 4],
        a: k16_of_a,
        b: k16_of_b,
    },
    Shape {
        name: "m16n8k16",
        types: "f32.bf16.bf16.f32",
        rows: 16,
        depth: 16,
        counts: [8, 4, 4],
        a: k16_of_a,
        b: k16_of_b,
    },
    Shape {
        name: "m16n8k4",
        types: "f32.tf32.tf32.f32",
        rows: 16,
        depth: 4,
        counts: [2, 1, 4],
        a: |group, place, i| (if i == 0 { group } else { group + 8 }, place),
        b: |group, place, _| (place, group),
    },
    Shape {
        name: "m16n8k8",
        types: "f32.tf32.tf32.f32",
        rows: 16,
        depth: 8,
        counts: [4, 2, 4],
        a: k8_of_a,
        b: |group, place, i| (place + 4 * i, group),
    },
    Shape {
        name: "m8n8k4",
        types: "f64.f64.f64.f64",
        rows: 8,
        depth: 4,
        counts: [1, 1, 2],
        a: |group, place, _| (group, place),
        b: |group, place, _| (place, group),
    },
    Shape {
        name: "m16n8k4",
        types: "f64.f64.f64.f64",
        rows: 16,
        depth: 4,
        counts: [2, 1, 4],
        a: |group, place, i| (if i == 0 { group } else { group + 8 }, place),
        b: |group, place, _| (place, group),
    },
    Shape {
        name: "m16n8k8",
        types: "f64.f64.f64.f64",
        rows: 16,
        depth: 8,
        counts: [4, 2, 4],
        a: k8_of_a,
        b: |group, place, i| (place + 4 * i, group),
    },
    Shape {
        name: "m16n8k16",
        types: "f64.f64.f64.f64",
        rows: 16,
        depth: 16,
        counts: [8, 4, 4],
        a: |group, place, i| {
            (
                if i % 2 == 0 { group } else { group + 8 },
                i / 2 * 4 + place,
            )
        },
        b: |group, place, i| (i * 4 + place, group),
    },
];

fn k16_of_a(group: usize, place: usize, i: usize) -> (usize, usize) {
    let row = if matches!(i, 0 | 1 | 4 | 5) {
        group
    } else {
        group + 8
    };
    let column = place * 2 + (i & 1) + if i >= 4 { 8 } else { 0 };
    (row, column)
}

fn k16_of_b(group: usize, place: usize, i: usize) -> (usize, usize) {
    (place * 2 + (i & 1) + if i >= 2 { 8 } else { 0 }, group)
}

fn k8_of_a(group: usize, place: usize, i: usize) -> (usize, usize) {
    let row = if i.is_multiple_of(2) {
        group
    } else {
        group + 8
    };
    (row, if i < 2 { place } else { place + 4 })
}

impl Shape {
    fn input(&self) -> &str {
        self.types.split('.').nth(1).unwrap_or("")
    }

    /// The nearest value of the inputs' type, and its bits.
    fn round(&self, value: f64) -> (f64, u64) {
        match self.input() {
            "f16" => {
                let half = half::f16::from_f64(value);
                (half.to_f64(), u64::from(half.to_bits()))
            }
            "bf16" => {
                let half = half::bf16::from_f64(value);
                (half.to_f64(), u64::from(half.to_bits()))
            }
            "tf32" => {
                // Noise in the bits that are not looked at.
                let bits = (value as f32).to_bits() & !0x1fff;
                (f64::from(f32::from_bits(bits)), u64::from(bits | 0x0abc))
            }
            _ => (value, value.to_bits()),
        }
    }

    /// Registers of a fragment.
    fn registers(&self, elements: usize) -> usize {
        match self.input() {
            "f16" | "bf16" => elements / 2,
            _ => elements,
        }
    }

    /// Words of a register of A or B, and of one of C.
    fn words(&self) -> usize {
        if self.input() == "f64" { 2 } else { 1 }
    }

    /// A kernel that loads the fragments, executes an MMA, and stores D over C.
    fn text(&self) -> String {
        let [a, b, c] = [
            self.registers(self.counts[0]),
            self.registers(self.counts[1]),
            self.counts[2],
        ];
        let total = (a + b + c) * self.words();
        let (register, ty) = match self.words() {
            2 => ("%x", "b64"),
            _ => ("%r", "b32"),
        };
        let names = |from: usize, count: usize| {
            let names: Vec<String> = (from..from + count)
                .map(|index| format!("{register}{}", index + 4))
                .collect();
            names.join(", ")
        };
        let loads: String = (0..a + b + c)
            .map(|index| {
                let offset = 4 * self.words() * index;
                format!("ld.global.{ty} {register}{}, [%x1+{offset}];", index + 4)
            })
            .collect();
        let stores: String = (0..c)
            .map(|index| {
                let offset = 4 * self.words() * (a + b + index);
                format!("st.global.{ty} [%x1+{offset}], {register}{};", index + 24)
            })
            .collect();
        module(&format!(
            "mad.wide.u32 %x1, %thread, {}, %base; {loads}
             mma.sync.aligned.{}.row.col.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};
             {stores}",
            4 * total,
            self.name,
            self.types,
            names(20, c),
            names(0, a),
            names(a, b),
            names(a + b, c),
        ))
    }

    fn check(&self, mut value: impl FnMut() -> f64, tolerance: f64) {
        let matrix =
            |rows: usize, columns: usize, value: &mut dyn FnMut() -> f64| -> Vec<Vec<f64>> {
                (0..rows)
                    .map(|_| (0..columns).map(|_| value()).collect())
                    .collect()
            };
        let a = matrix(self.rows, self.depth, &mut value);
        let b = matrix(self.depth, COLUMNS, &mut value);
        let c = matrix(self.rows, COLUMNS, &mut value);
        let mut data = Vec::new();
        let mut push = |bits: u64, words: usize| {
            data.push(bits as u32);
            if words == 2 {
                data.push((bits >> 32) as u32);
            }
        };
        let is_f64 = self.input() == "f64";
        for lane in 0..32 {
            let (group, place) = (lane / 4, lane % 4);
            for (matrix, layout, count) in
                [(&a, self.a, self.counts[0]), (&b, self.b, self.counts[1])]
            {
                let bits = |i: usize| {
                    let (row, column) = layout(group, place, i);
                    self.round(matrix[row][column]).1
                };
                for i in 0..self.registers(count) {
                    match self.registers(2) {
                        1 => push(bits(2 * i) | bits(2 * i + 1) << 16, 1),
                        _ => push(bits(i), self.words()),
                    }
                }
            }
            for i in 0..self.counts[2] {
                let (row, column) = c_place(group, place, i);
                match is_f64 {
                    true => push(c[row][column].to_bits(), 2),
                    false => push(u64::from((c[row][column] as f32).to_bits()), 1),
                }
            }
        }
        let per_lane = data.len() / 32;
        let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
        launch(&self.text(), &config, &mut data).unwrap_or_else(|error| panic!("{error}"));
        for lane in 0..32 {
            let words = &data[lane * per_lane..][..per_lane];
            let sums = &words[per_lane - self.counts[2] * self.words()..];
            for i in 0..self.counts[2] {
                let (row, column) = c_place(lane / 4, lane % 4, i);
                let found = match is_f64 {
                    true => {
                        f64::from_bits(u64::from(sums[2 * i]) | u64::from(sums[2 * i + 1]) << 32)
                    }
                    false => f64::from(f32::from_bits(sums[i])),
                };
                let addend = match is_f64 {
                    true => c[row][column],
                    false => f64::from(c[row][column] as f32),
                };
                let expected = (0..self.depth).fold(addend, |sum, k| {
                    sum + self.round(a[row][k]).0 * self.round(b[k][column]).0
                });
                assert!(
                    (found - expected).abs() <= tolerance,
                    "{} {}: row {row}, column {column}: {found} is not {expected}",
                    self.name,
                    self.types
                );
            }
        }
    }
}

/// A fixed sequence of numbers from 0 to 1.
fn noise() -> impl FnMut() -> f64 {
    let mut state = 1u64;
    move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    }
}

#[test]
fn products_of_small_integers_are_exact() {
    for shape in &SHAPES {
        let mut noise = noise();
        shape.check(|| (noise() * 17.0).floor() - 8.0, 0.0);
    }
}

#[test]
fn products_of_fractions_are_as_good_as_their_sums() {
    for shape in &SHAPES {
        let mut noise = noise();
        // Numbers below 1: products below 1 each, sums below 17. Truncated at 2^-25 of 16, 17
        // times.
        let tolerance = match shape.input() {
            "f64" => 17.0 * 16.0 * f64::EPSILON,
            _ => 18.0 * 2f64.powi(5 - 25) + 2f64.powi(5 - 23),
        };
        shape.check(|| 2.0 * noise() - 1.0, tolerance);
    }
}

#[test]
fn counters_know_the_operations_of_a_product() {
    let text = SHAPES[2].text();
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(1 << 14).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    let mut counters = Counters::new();
    kernel(&text)
        .launch_observed(&memory, &config, &args, &mut counters)
        .expect("runs");
    assert_eq!(counters.total().flops, 2 * 16 * 8 * 16);
}

/// Moves `count` matrices of the numbers 0, 1, 2 … from shared memory into fragments and stores
/// those.
fn fragments(count: usize, transposed: &str) -> Vec<u32> {
    let registers: Vec<String> = (4..4 + count).map(|index| format!("%r{index}")).collect();
    let stores: String = (0..count)
        .map(|index| format!("st.global.b32 [%x2+{}], %r{};", 4 * index, 4 + index))
        .collect();
    run(
        &format!(
            ".shared .align 16 .b8 tile[512]; mov.u32 %r1, tile; mad.lo.u32 %r2, %thread, 16, %r1;
             mul.lo.u32 %r3, %thread, 8; add.u32 %r4, %r3, 1; add.u32 %r5, %r3, 2; add.u32 %r6, %r3, 3;
             add.u32 %r7, %r3, 4; add.u32 %r8, %r3, 5; add.u32 %r9, %r3, 6; add.u32 %r10, %r3, 7;
             prmt.b32 %r3, %r3, %r4, 0x5410; prmt.b32 %r5, %r5, %r6, 0x5410;
             prmt.b32 %r7, %r7, %r8, 0x5410; prmt.b32 %r9, %r9, %r10, 0x5410;
             st.shared.v4.b32 [%r2], {{%r3, %r5, %r7, %r9}}; bar.sync 0;
             ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 {{{}}}, [%r2];
             mad.wide.u32 %x2, %thread, {}, %base; {stores}",
            registers.join(", "),
            4 * count
        ),
        32,
        &vec![0; 32 * count],
    )
}

#[test]
fn fragments_come_from_the_rows_at_the_lanes_addresses() {
    for count in [1, 2, 4] {
        for (transposed, name) in [(false, ""), (true, ".trans")] {
            let found = fragments(count, name);
            for lane in 0..32 {
                let (group, place) = (lane / 4, lane % 4);
                for matrix in 0..count {
                    let element = |part: usize| {
                        let (row, column) = match transposed {
                            false => (group, 2 * place + part),
                            true => (2 * place + part, group),
                        };
                        (64 * matrix + 8 * row + column) as u32
                    };
                    let expected = element(0) | element(1) << 16;
                    assert_eq!(
                        found[lane * count + matrix],
                        expected,
                        "lane {lane} of x{count}{name}"
                    );
                }
            }
        }
    }
}

#[test]
fn storing_a_fragment_undoes_loading_it() {
    for transposed in ["", ".trans"] {
        let body = format!(
            ".shared .align 16 .b8 tile[512]; .shared .align 16 .b8 copy[512];
             mov.u32 %r1, tile; mov.u32 %r2, copy; mad.lo.u32 %r1, %thread, 16, %r1;
             mad.lo.u32 %r2, %thread, 16, %r2; mad.wide.u32 %x1, %thread, 16, %base;
             ld.global.v4.b32 {{%r3, %r4, %r5, %r6}}, [%x1];
             st.shared.v4.b32 [%r1], {{%r3, %r4, %r5, %r6}}; bar.warp.sync -1;
             ldmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 {{%r3, %r4, %r5, %r6}}, [%r1];
             stmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 [%r2], {{%r3, %r4, %r5, %r6}};
             bar.warp.sync -1;
             ld.shared.v4.b32 {{%r3, %r4, %r5, %r6}}, [%r2];
             st.global.v4.b32 [%x1], {{%r6, %r5, %r4, %r3}};"
        );
        let data: Vec<u32> = (0..128u32)
            .map(|word| word.wrapping_mul(0x9e37_79b9))
            .collect();
        let mut expected = data.clone();
        expected.chunks_exact_mut(4).for_each(|row| row.reverse());
        assert_eq!(run(&body, 32, &data), expected);
    }
}

#[test]
fn counters_see_conflicts_of_ldmatrix() {
    let requests = |stride: u32| {
        let body = format!(
            ".shared .align 16 .b8 tile[4096]; mov.u32 %r1, tile; mad.lo.u32 %r1, %thread, {stride}, %r1;
             ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r3, %r4, %r5, %r6}}, [%r1];"
        );
        let memory = Memory::with_capacity(1 << 20);
        let mut args = Args::new();
        args.push_u64(memory.alloc(4).expect("room"));
        let mut counters = Counters::new();
        let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
        kernel(&module(&body))
            .launch_observed(&memory, &config, &args, &mut counters)
            .expect("runs");
        let total = counters.total();
        (total.shared_loads.requests, total.shared_loads.wavefronts)
    };
    assert_eq!(requests(16), (1, 4));
    assert_eq!(requests(128), (1, 32));
}

#[test]
fn wrong_use_is_a_fault() {
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    let load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r1];";
    let tile = ".shared .align 16 .b8 tile[128]; mov.u32 %r1, tile;";
    let partial = format!("{tile} setp.lt.u32 %p1, %thread, 16; @!%p1 bra END; {load} END:");
    // The other lanes have exited or wait elsewhere: none will arrive.
    let found = fault(&module(&partial), &config);
    assert!(
        matches!(
            found.kind,
            FaultKind::Deadlock(_) | FaultKind::PartialWarp(0xffff)
        ),
        "{found}"
    );
    let few = LaunchConfig::new([1, 1, 1], [16, 1, 1]);
    let found = fault(&module(&format!("{tile} {load}")), &few);
    assert!(
        matches!(found.kind, FaultKind::PartialWarp(0xffff)),
        "{found}"
    );
    let beyond = format!("{tile} mad.lo.u32 %r1, %thread, 32, %r1; {load}");
    assert!(matches!(
        fault(&module(&beyond), &config).kind,
        FaultKind::OutOfBounds(_)
    ));
    let skewed = format!("{tile} add.u32 %r1, %r1, 8; {load}");
    assert!(matches!(
        fault(&module(&skewed), &config).kind,
        FaultKind::Misaligned(_)
    ));
    let generic = "ldmatrix.sync.aligned.m8n8.x1.b16 {%r4}, [%base];";
    assert!(matches!(
        fault(&module(generic), &config).kind,
        FaultKind::NotShared(_)
    ));
}

/// PTX leaves the rounding of the accumulation open; these are recorded results.
#[test]
fn sums_are_those_of_an_h200() {
    let recorded = include_str!("../data/tensor_sums.txt");
    let lines: Vec<&str> = recorded
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    for warp in lines.chunks(33) {
        let (name, types) = warp[0].split_once(' ').expect("a shape and types");
        let shape = SHAPES
            .iter()
            .find(|shape| shape.name == name && shape.types == types);
        let shape = shape.unwrap_or_else(|| panic!("{}", warp[0]));
        let lanes: Vec<Vec<u32>> = warp[1..]
            .iter()
            .map(|line| {
                let words = line.split(' ').map(|word| u32::from_str_radix(word, 16));
                words.collect::<Result<_, _>>().expect("hexadecimal")
            })
            .collect();
        let inputs = lanes[0].len() - shape.counts[2];
        let mut data: Vec<u32> = lanes
            .iter()
            .flat_map(|lane| &lane[..inputs])
            .copied()
            .collect();
        let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
        launch(&shape.text(), &config, &mut data).unwrap_or_else(|error| panic!("{error}"));
        for (lane, words) in lanes.iter().enumerate() {
            let sums = &data[(lane + 1) * inputs - shape.counts[2]..][..shape.counts[2]];
            assert_eq!(sums, &words[inputs..], "{} lane {lane}", warp[0]);
        }
    }
}

/// `mma` of integers: a fragment's element is at row `group + 8 (i mod r)` and column
/// `e place + part + 4 e (i / r)`, where A has `8 r` rows and a register holds `e` elements.
#[test]
fn products_of_integers_are_exact() {
    for (name, bits, rows, depth) in [
        ("m8n8k16", 8, 8, 16),
        ("m16n8k16", 8, 16, 16),
        ("m16n8k32", 8, 16, 32),
        ("m8n8k32", 4, 8, 32),
        ("m16n8k64", 4, 16, 64),
        ("m8n8k128", 1, 8, 128),
        ("m16n8k256", 1, 16, 256),
    ] {
        let types: &[[&str; 2]] = match bits {
            8 => &[["s8", "s8"], ["u8", "s8"], ["s8", "u8"]],
            4 => &[["s4", "s4"], ["u4", "u4"]],
            _ => &[["b1", "b1"]],
        };
        for &[of_a, of_b] in types {
            let packed = 32 / bits;
            let in_a = rows * depth / 32 / packed;
            let in_b = 8 * depth / 32 / packed;
            let in_c = rows * 8 / 32;
            let mut bits_of = noise();
            let words = in_a + in_b + in_c;
            let mut data: Vec<u32> = (0..32 * words)
                .map(|_| (bits_of() * 4_294_967_296.0) as u32)
                .collect();
            let before = data.clone();
            let names = |from: usize, count: usize| {
                let names = (from..from + count).map(|index| format!("%r{}", index + 4));
                names.collect::<Vec<_>>().join(", ")
            };
            let loads: String = (0..words)
                .map(|at| format!("ld.global.b32 %r{}, [%x1+{}];", at + 4, 4 * at))
                .collect();
            let stores: String = (0..in_c)
                .map(|at| {
                    let to = 4 * (in_a + in_b + at);
                    format!("st.global.b32 [%x1+{to}], %r{};", in_a + in_b + at + 4)
                })
                .collect();
            let end = if bits == 1 { ".xor.popc" } else { ".satfinite" };
            let (sat, popc) = if bits == 1 { ("", end) } else { (end, "") };
            let (c, a, b) = (names(in_a + in_b, in_c), names(0, in_a), names(in_a, in_b));
            let text = module(&format!(
                "mad.wide.u32 %x1, %thread, {}, %base; {loads}
                 mma.sync.aligned.{name}.row.col{sat}.s32.{of_a}.{of_b}.s32{popc}
                 {{{c}}}, {{{a}}}, {{{b}}}, {{{c}}}; {stores}",
                4 * words
            ));
            let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
            launch(&text, &config, &mut data).unwrap_or_else(|error| panic!("{error}"));
            let halves = rows / 8;
            let element = |row_or_column: usize, k: usize, is_a: bool, ty: &str| -> i64 {
                let (word, part) = (k / packed, k % packed);
                let lane = 4 * (row_or_column % 8) + word % 4;
                let at = match is_a {
                    true => row_or_column / 8 + halves * (word / 4),
                    false => in_a + word / 4,
                };
                let value = before[lane * words + at] >> (bits * part) & (u32::MAX >> (32 - bits));
                match ty.starts_with('s') && value >> (bits - 1) != 0 {
                    true => i64::from(value) - (1 << bits),
                    false => i64::from(value),
                }
            };
            for lane in 0..32 {
                for i in 0..in_c {
                    let (row, column) = c_place(lane / 4, lane % 4, i);
                    let at = lane * words + in_a + in_b + i;
                    let sum: i64 = (0..depth)
                        .map(|k| {
                            let a = element(row, k, true, of_a);
                            let b = element(column, k, false, of_b);
                            if bits == 1 { a ^ b } else { a * b }
                        })
                        .sum();
                    let sum = i64::from(before[at] as i32) + sum;
                    let wanted = match bits {
                        1 => sum as u32,
                        _ => sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
                    };
                    assert_eq!(data[at], wanted, "{name} {of_a} {of_b}: {row}, {column}");
                }
            }
        }
    }
}

#[test]
fn a_matrix_is_transposed_between_lanes() {
    let data: Vec<u32> = (0..32)
        .map(|lane| (2 * lane) | ((2 * lane + 1) << 16))
        .collect();
    let body = "mad.wide.u32 %x1, %thread, 4, %base; ld.global.b32 %r1, [%x1];
        movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1; st.global.b32 [%x1], %r2;";
    let mut found = data;
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    launch(&module(body), &config, &mut found).unwrap_or_else(|error| panic!("{error}"));
    for (lane, word) in found.iter().enumerate() {
        let (row, column) = (lane as u32 / 4, 2 * (lane as u32 % 4));
        let number = |row: u32, column: u32| 8 * column + row;
        assert_eq!(*word, number(row, column) | number(row, column + 1) << 16);
    }
}
