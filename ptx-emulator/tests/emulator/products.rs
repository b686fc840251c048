//! Matrix products of all element types: `mma` with fragments from the tables of the PTX ISA,
//! `wmma` through memory, and `wgmma` from shared memory, against exact sums on the host.

use crate::common::{launch, module};
use ptx_emulator::LaunchConfig;

/// A format: bits of an element, of its exponent and of its fraction; integers have no exponent.
#[derive(Clone, Copy)]
struct Format {
    name: &'static str,
    bits: u32,
    exponent: u32,
    fraction: u32,
    /// Where the element lies in its place.
    shift: u32,
    place: u32,
}

const fn float(name: &'static str, exponent: u32, fraction: u32) -> Format {
    let bits = 1 + exponent + fraction;
    Format {
        name,
        bits,
        exponent,
        fraction,
        shift: 0,
        place: bits,
    }
}

/// A float of fewer than eight bits in a byte.
const fn in_byte(format: Format, shift: u32) -> Format {
    Format {
        shift,
        place: 8,
        ..format
    }
}

const fn integer(name: &'static str, bits: u32) -> Format {
    Format {
        name,
        bits,
        exponent: 0,
        fraction: 0,
        shift: 0,
        place: bits,
    }
}

const F16: Format = float("f16", 5, 10);
const BF16: Format = float("bf16", 8, 7);
const F32: Format = float("f32", 8, 23);
const TF32: Format = Format {
    name: "tf32",
    ..F32
};
const F64: Format = float("f64", 11, 52);
const E4M3: Format = float("e4m3", 4, 3);
const E5M2: Format = float("e5m2", 5, 2);
const E2M3: Format = in_byte(float("e2m3", 2, 3), 0);
const E3M2: Format = in_byte(float("e3m2", 3, 2), 0);
const E2M1: Format = in_byte(float("e2m1", 2, 1), 2);
const DENSE: Format = float("e2m1", 2, 1);
const S32: Format = integer("s32", 32);

impl Format {
    /// The value of an element, as its format's definition has it.
    fn value(self, place: u64) -> f64 {
        // The low bits of tf32 are not looked at.
        let place = if self.name == "tf32" {
            place & !0x1fff
        } else {
            place
        };
        let bits = place >> self.shift & (u64::MAX >> (64 - self.bits));
        if self.exponent == 0 {
            let negative = self.name.starts_with('s') && bits >> (self.bits - 1) != 0;
            let beyond = if negative { 1i64 << self.bits } else { 0 };
            return (bits as i64 - beyond) as f64;
        }
        let field = bits >> self.fraction & ((1 << self.exponent) - 1);
        let fraction = (bits & ((1 << self.fraction) - 1)) as f64 / (self.fraction as f64).exp2();
        let bias = (1 << (self.exponent - 1)) - 1;
        let magnitude = match field {
            0 => fraction * f64::from(1 - bias).exp2(),
            _ => (1.0 + fraction) * f64::from(field as i32 - bias).exp2(),
        };
        if bits >> (self.bits - 1) != 0 {
            -magnitude
        } else {
            magnitude
        }
    }

    /// An element near 1, whose sums of products are exact, with noise where it is not looked at.
    fn sample(self, noise: u64) -> u64 {
        let all = u64::MAX >> (64 - self.place);
        if self.exponent == 0 {
            return match self.bits {
                32 => noise & 0xffff,
                _ => noise & all,
            };
        }
        let kept = self.fraction.min(4);
        let bias = (1u64 << (self.exponent - 1)) - 1;
        let field = bias - 1 + noise % 3;
        let fraction = (noise >> 8 & ((1 << kept) - 1)) << (self.fraction - kept);
        let bits = (noise >> 20 & 1) << (self.bits - 1) | field << self.fraction | fraction;
        let around = (noise >> 30) & all & !((u64::MAX >> (64 - self.bits)) << self.shift);
        let beside = if self.name == "tf32" {
            noise >> 40 & 0x1fff
        } else {
            0
        };
        bits << self.shift | around | beside
    }

    /// Elements in a register of 32 bits; those of 64 bits have one of their own.
    fn packed(self) -> usize {
        (32 / self.place).max(1) as usize
    }

    /// The nearest element, of a sum that is exact in 32 bits.
    fn of_sum(self, sum: f64) -> u64 {
        match self.name {
            "f16" => half::f16::from_f64(sum).to_bits().into(),
            "f32" => (sum as f32).to_bits().into(),
            "s32" => u64::from(sum as i64 as u32),
            _ => sum.to_bits(),
        }
    }
}

fn noise() -> impl FnMut() -> u64 {
    let mut state = 7u64;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Elements of a matrix, row by row.
struct Matrix {
    format: Format,
    columns: usize,
    elements: Vec<u64>,
}

impl Matrix {
    fn new(format: Format, rows: usize, columns: usize, noise: &mut dyn FnMut() -> u64) -> Self {
        let elements = (0..rows * columns).map(|_| format.sample(noise()));
        Matrix {
            format,
            columns,
            elements: elements.collect(),
        }
    }

    fn at(&self, row: usize, column: usize) -> u64 {
        self.elements[row * self.columns + column]
    }

    fn value(&self, row: usize, column: usize) -> f64 {
        self.format.value(self.at(row, column))
    }
}

fn product(a: &Matrix, b: &Matrix, c: &Matrix, (row, column): (usize, usize)) -> f64 {
    let products = (0..a.columns).map(|k| a.value(row, k) * b.value(k, column));
    c.value(row, column) + products.sum::<f64>()
}

/// Where an element of a lane's fragment lies, from lane, register and part of the register.
type Place = Box<dyn Fn(usize, usize, usize) -> (usize, usize)>;

/// Names of registers from a number on.
fn names(from: usize, count: usize) -> String {
    let names: Vec<String> = (from..from + count).map(|at| format!("%r{at}")).collect();
    names.join(", ")
}

struct Mma {
    opcode: String,
    /// A, B, C and D.
    formats: [Format; 4],
    rows: usize,
    depth: usize,
    counts: [usize; 4],
    places: [Place; 4],
    /// Matrices of a warp.
    products: usize,
    /// Operands behind the four.
    behind: &'static str,
}

impl Mma {
    /// An `mma` of a whole warp. Register i of A has row g + 8 (i mod r) and columns e t + p +
    /// 4 e (i / r); of B, rows e t + p + 4 e i and column g; of C, row g + 8 (i / 2) and column
    /// 2 t + i mod 2, or both columns of row g + 8 i where there are two elements in a register.
    fn of_warp(shape: &str, kind: &str, formats: [Format; 4], [rows, depth]: [usize; 2]) -> Self {
        let [a, b, c, d] = formats;
        let (in_a, in_b) = (a.packed(), b.packed());
        let halves = rows / 8;
        let of_sums = |format: Format| -> Place {
            match format.packed() {
                2 => Box::new(|lane, i, p| (lane / 4 + 8 * i, 2 * (lane % 4) + p)),
                _ => Box::new(|lane, i, _| (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)),
            }
        };
        Mma {
            opcode: format!(
                "mma.sync.aligned.{shape}.row.col{kind}.{}.{}.{}.{}",
                d.name, a.name, b.name, c.name
            ),
            formats,
            rows,
            depth,
            counts: [
                rows * depth / 32 / in_a,
                8 * depth / 32 / in_b,
                rows * 8 / 32 / c.packed(),
                rows * 8 / 32 / d.packed(),
            ],
            places: [
                Box::new(move |lane, i, p| {
                    let k = in_a * (lane % 4) + p + 4 * in_a * (i / halves);
                    (lane / 4 + 8 * (i % halves), k)
                }),
                Box::new(move |lane, i, p| (in_b * (lane % 4) + p + 4 * in_b * i, lane / 4)),
                of_sums(c),
                of_sums(d),
            ],
            products: 1,
            behind: "",
        }
    }

    /// `m8n8k4` of f16: four products, of the lanes 4 q to 4 q + 3 and of those 16 behind them.
    fn of_eight([of_a, of_b]: [&str; 2], c: Format, d: Format) -> Self {
        let upper = |lane: usize| 4 * usize::from(lane >= 16);
        let line = move |lane: usize, i: usize, p: usize| (lane % 4 + upper(lane), 2 * i + p);
        let index = move |lane: usize, i: usize, p: usize| (2 * i + p + upper(lane), lane % 4);
        let swap = |(line, k): (usize, usize)| (k, line);
        let of_sums = |format: Format| -> Place {
            match format.packed() {
                2 => Box::new(move |lane, i, p| (lane % 4 + upper(lane), 2 * i + p)),
                _ => Box::new(move |lane, i, _| {
                    let row = (lane & 1) + (i & 2) + upper(lane);
                    (row, (i & 4) + (lane & 2) + (i & 1))
                }),
            }
        };
        Mma {
            opcode: format!(
                "mma.sync.aligned.m8n8k4.{of_a}.{of_b}.{}.f16.f16.{}",
                d.name, c.name
            ),
            formats: [F16, F16, c, d],
            rows: 8,
            depth: 4,
            counts: [2, 2, 8 / c.packed(), 8 / d.packed()],
            places: [
                match of_a {
                    "row" => Box::new(line),
                    _ => Box::new(index),
                },
                match of_b {
                    "col" => Box::new(move |lane, i, p| swap(line(lane, i, p))),
                    _ => Box::new(move |lane, i, p| swap(index(lane, i, p))),
                },
                of_sums(c),
                of_sums(d),
            ],
            products: 4,
            behind: "",
        }
    }

    /// Which product a lane belongs to.
    fn product(&self, lane: usize) -> usize {
        if self.products == 1 { 0 } else { lane / 4 % 4 }
    }

    fn check(&self, scale: impl Fn(usize) -> f64) {
        let mut noise = noise();
        let [of_a, of_b, of_c, of_d] = self.formats;
        let matrices: Vec<[Matrix; 3]> = (0..self.products)
            .map(|_| {
                [
                    Matrix::new(of_a, self.rows, self.depth, &mut noise),
                    Matrix::new(of_b, self.depth, 8, &mut noise),
                    Matrix::new(of_c, self.rows, 8, &mut noise),
                ]
            })
            .collect();
        let [a, b, c, d] = self.counts;
        let words = a + b + c;
        let mut data = Vec::new();
        for lane in 0..32 {
            let own = &matrices[self.product(lane)];
            for (at, matrix) in own.iter().enumerate() {
                let packed = matrix.format.packed();
                for i in 0..self.counts[at] {
                    let word = (0..packed).fold(0, |word, part| {
                        let (row, column) = (self.places[at])(lane, i, part);
                        word | matrix.at(row, column) << (32 / packed * part)
                    });
                    data.push(word as u32);
                }
            }
            data.extend(vec![0; d]);
        }
        let loads: String = (0..words)
            .map(|at| format!("ld.global.b32 %r{}, [%x1+{}];", at + 4, 4 * at))
            .collect();
        let stores: String = (0..d)
            .map(|at| format!("st.global.b32 [%x1+{}], %r{};", 4 * (words + at), at + 4))
            .collect();
        let text = module(&format!(
            "mad.wide.u32 %x1, %thread, {}, %base; {loads}
             {} {{{}}}, {{{}}}, {{{}}}, {{{}}}{};
             {stores}",
            4 * (words + d),
            self.opcode,
            names(4, d),
            names(4, a),
            names(4 + a, b),
            names(4 + a + b, c),
            self.behind,
        ));
        let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
        launch(&text, &config, &mut data).unwrap_or_else(|error| panic!("{error}"));
        let packed = of_d.packed();
        for lane in 0..32 {
            let sums = &data[lane * (words + d) + words..][..d];
            let [a, b, c] = &matrices[self.product(lane)];
            for (i, word) in sums.iter().enumerate() {
                for part in 0..packed {
                    let (row, column) = (self.places[3])(lane, i, part);
                    let found =
                        u64::from(*word) >> (32 / packed * part) & (u64::MAX >> (64 - of_d.bits));
                    let product = |k| a.value(row, k) * b.value(k, column) * scale(k);
                    let c = c.value(row, column);
                    let sum = match a.format.bits == 8 && !self.opcode.contains(".kind") {
                        // Two MMAs of f16, of the halves of registers; C comes last.
                        true => {
                            let half = |at: usize| {
                                let of_half = (0..self.depth).filter(|k| k % 4 / 2 == at);
                                of_half.map(product).sum::<f64>()
                            };
                            let rounded = |sum: f64| of_d.value(of_d.of_sum(sum));
                            c + rounded(rounded(half(0)) + half(1))
                        }
                        false => c + (0..self.depth).map(product).sum::<f64>(),
                    };
                    let wanted = of_d.of_sum(sum);
                    assert_eq!(found, wanted, "{}: {row}, {column}", self.opcode);
                }
            }
        }
    }
}

#[test]
fn sums_in_f16() {
    Mma::of_warp("m16n8k8", "", [F16; 4], [16, 8]).check(|_| 1.0);
    Mma::of_warp("m16n8k16", "", [F16; 4], [16, 16]).check(|_| 1.0);
}

#[test]
fn products_of_eight_lanes() {
    for layouts in [
        ["row", "col"],
        ["row", "row"],
        ["col", "col"],
        ["col", "row"],
    ] {
        for (c, d) in [(F16, F16), (F16, F32), (F32, F32)] {
            Mma::of_eight(layouts, c, d).check(|_| 1.0);
        }
    }
}

#[test]
fn products_of_8_bit_floats() {
    for a in [E4M3, E5M2] {
        for b in [E4M3, E5M2] {
            for sums in [F16, F32] {
                let formats = [a, b, sums, sums];
                Mma::of_warp("m16n8k16", "", formats, [16, 16]).check(|_| 1.0);
                Mma::of_warp("m16n8k32", "", formats, [16, 32]).check(|_| 1.0);
            }
        }
    }
}

#[test]
fn products_of_narrow_floats() {
    for a in [E4M3, E5M2, E2M3, E3M2, E2M1] {
        for b in [E4M3, E5M2, E2M3, E3M2, E2M1] {
            let kind = ".kind::f8f6f4";
            for sums in [F16, F32] {
                Mma::of_warp("m16n8k32", kind, [a, b, sums, sums], [16, 32]).check(|_| 1.0);
            }
        }
    }
}

/// The scales are constants: those of A 2 and 1/2 (or 1.5 and 1), those of B 4 and 1.
#[test]
fn products_with_scales() {
    let mut mma = Mma::of_warp("m16n8k64", "", [DENSE, DENSE, F32, F32], [16, 64]);
    let types = "f32.e2m1.e2m1.f32";
    let opcode = |kind: &str, scale: &str| {
        format!(
            "mma.sync.aligned.m16n8k64.row.col.kind::{kind}.block_scale{kind_of}.{types}.{scale}",
            kind_of = if kind == "mxf4" {
                ""
            } else if scale == "ue8m0" {
                ".scale_vec::2X"
            } else {
                ".scale_vec::4X"
            }
        )
    };
    for kind in ["mxf4", "mxf4nvf4"] {
        mma.opcode = opcode(kind, "ue8m0");
        // Bytes 2 and 3 of A, 0 and 1 of B.
        mma.behind = ", 0x7e80ffff, {2, 1}, 0xffff7f81, {0, 3}";
        mma.check(|k| if k < 32 { 2.0 * 4.0 } else { 0.5 });
    }
    mma.opcode = opcode("mxf4nvf4", "ue4m3");
    // 1, 1.5, 2 and 0.5 of A; 1, 1, 0.5 and 4 of B.
    mma.behind = ", 0x30403c38, {0, 0}, 0x48303838, {0, 2}";
    mma.check(|k| [1.0, 1.5, 1.0, 2.0][k / 16]);
    let mut mma = Mma::of_warp("m16n8k32", "", [E3M2, E2M1, F32, F32], [16, 32]);
    mma.opcode = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.\
                  e3m2.e2m1.f32.ue8m0"
        .to_string();
    mma.behind = ", 0xff80ffff, {2, 0}, 0x7effffff, {3, 1}";
    mma.check(|_| 1.0);
}

/// A `wmma` through memory: matrices in rows or columns, D in rows.
fn check_wmma(shape: &str, [m, n, k]: [usize; 3], formats: [Format; 4], counts: [usize; 4]) {
    let [of_a, of_b, of_c, of_d] = formats;
    let narrow = of_a.place < 8;
    let layouts: &[[&str; 2]] = match narrow {
        true => &[["row", "col"]],
        false => &[
            ["row", "col"],
            ["row", "row"],
            ["col", "col"],
            ["col", "row"],
        ],
    };
    for &[layout_a, layout_b] in layouts {
        let mut noise = noise();
        let a = Matrix::new(of_a, m, k, &mut noise);
        let b = Matrix::new(of_b, k, n, &mut noise);
        let c = Matrix::new(of_c, m, n, &mut noise);
        // Memory of a matrix, in words.
        let stored = |matrix: &Matrix, layout: &str| -> Vec<u32> {
            let rows = matrix.elements.len() / matrix.columns;
            let order: Vec<u64> = match layout {
                "row" => matrix.elements.clone(),
                _ => (0..matrix.columns)
                    .flat_map(|column| (0..rows).map(move |row| (row, column)))
                    .map(|(row, column)| matrix.at(row, column))
                    .collect(),
            };
            let place = matrix.format.place;
            if place == 64 {
                return order
                    .iter()
                    .flat_map(|bits| [*bits as u32, (bits >> 32) as u32])
                    .collect();
            }
            let words = order.chunks(matrix.format.packed());
            words
                .map(|parts| {
                    let parts = parts.iter().enumerate();
                    parts.fold(0, |word, (at, bits)| {
                        word | (*bits as u32) << (place * at as u32)
                    })
                })
                .collect()
        };
        let (words_a, words_b) = (stored(&a, layout_a), stored(&b, layout_b));
        let words_c = stored(&c, "row");
        let in_d = m * n * of_d.place as usize / 32;
        let at = [
            0,
            words_a.len(),
            words_a.len() + words_b.len(),
            words_a.len() + words_b.len() + words_c.len(),
        ];
        let mut data = [words_a, words_b, words_c, vec![0; in_d]].concat();
        let register = if of_a.place == 64 { "%x" } else { "%r" };
        let list = |from: usize, count: usize| names(from, count).replace("%r", register);
        let [in_a, in_b, in_c, registers_d] = counts;
        let types = match of_a.name {
            "f16" => format!("{}.{}", of_d.name, of_c.name),
            name => format!("{}.{name}.{}.{}", of_d.name, of_b.name, of_c.name),
        };
        let op = if of_a.name == "b1" { ".and.popc" } else { "" };
        let stride = |layout: &str, rows: usize, columns: usize| match layout {
            "row" => columns,
            _ => rows,
        };
        let text = module(&format!(
            "add.u64 %x1, %base, {}; add.u64 %x2, %base, {}; add.u64 %x3, %base, {};
             wmma.load.a.sync.aligned.{layout_a}.{shape}.global.{} {{{}}}, [%base], {};
             wmma.load.b.sync.aligned.{layout_b}.{shape}.{} {{{}}}, [%x1];
             wmma.load.c.sync.aligned.row.{shape}.{} {{{}}}, [%x2], {n};
             wmma.mma{op}.sync.aligned.{layout_a}.{layout_b}.{shape}.{types}
                 {{{}}}, {{{}}}, {{{}}}, {{{}}};
             wmma.store.d.sync.aligned.row.{shape}.{} [%x3], {{{}}}, {n};",
            4 * at[1],
            4 * at[2],
            4 * at[3],
            of_a.name,
            list(4, in_a),
            stride(layout_a, m, k),
            of_b.name,
            list(4 + in_a, in_b),
            of_c.name,
            list(4 + in_a + in_b, in_c),
            list(4, registers_d),
            list(4, in_a),
            list(4 + in_a, in_b),
            list(4 + in_a + in_b, in_c),
            of_d.name,
            list(4, registers_d),
        ));
        let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
        launch(&text, &config, &mut data).unwrap_or_else(|error| panic!("{error}"));
        let d = &data[at[3]..];
        for row in 0..m {
            for column in 0..n {
                let number = row * n + column;
                let found = match of_d.place {
                    64 => u64::from(d[2 * number]) | u64::from(d[2 * number + 1]) << 32,
                    place => {
                        let (word, part) = (number / of_d.packed(), number % of_d.packed());
                        u64::from(d[word]) >> (place as usize * part) & (u64::MAX >> (64 - place))
                    }
                };
                let wanted = of_d.of_sum(product(&a, &b, &c, (row, column)));
                let name = of_a.name;
                assert_eq!(
                    found, wanted,
                    "{shape} {name} {layout_a} {layout_b}: {row}, {column}"
                );
            }
        }
    }
}

#[test]
fn wmma_of_every_type() {
    let shapes = [
        ("m16n16k16", [16, 16, 16]),
        ("m8n32k16", [8, 32, 16]),
        ("m32n8k16", [32, 8, 16]),
    ];
    for (name, shape) in shapes {
        let [m, n, k] = shape;
        for (c, d) in [(F16, F16), (F16, F32), (F32, F16), (F32, F32)] {
            let counts = [8, 8, 8 / c.packed(), 8 / d.packed()];
            check_wmma(name, shape, [F16, F16, c, d], counts);
        }
        check_wmma(
            name,
            shape,
            [BF16, BF16, F32, F32],
            [m * k / 64, k * n / 64, 8, 8],
        );
        for format in [integer("s8", 8), integer("u8", 8)] {
            let counts = [m * k / 128, k * n / 128, 8, 8];
            check_wmma(name, shape, [format, format, S32, S32], counts);
        }
    }
    check_wmma(
        "m16n16k8",
        [16, 16, 8],
        [TF32, TF32, F32, F32],
        [4, 4, 8, 8],
    );
    check_wmma("m8n8k4", [8, 8, 4], [F64; 4], [1, 1, 2, 2]);
    for format in [integer("s4", 4), integer("u4", 4)] {
        check_wmma(
            "m8n8k32",
            [8, 8, 32],
            [format, format, S32, S32],
            [1, 1, 2, 2],
        );
    }
    let bits = integer("b1", 1);
    check_wmma(
        "m8n8k128",
        [8, 8, 128],
        [bits, bits, S32, S32],
        [1, 1, 2, 2],
    );
}

/// `wgmma` of four warps: A and B K-major in shared memory without a swizzle, 32 bytes a row.
fn check_wgmma(columns: usize, formats: [Format; 2], sums: Format, in_registers: bool) {
    const ROWS: usize = 64;
    let [of_a, of_b] = formats;
    let depth = 256 / of_a.place as usize;
    let mut noise = noise();
    let a = Matrix::new(of_a, ROWS, depth, &mut noise);
    let b = Matrix::new(of_b, depth, columns, &mut noise);
    let c = Matrix::new(sums, ROWS, columns, &mut noise);
    let packed = of_a.packed();
    // The word of a line's elements from an index along k on.
    let word = |element: &dyn Fn(usize) -> u64, k: usize| -> u32 {
        (0..packed).fold(0, |word, part| {
            word | (element(k + part) as u32) << (of_a.place as usize * part)
        })
    };
    // Core matrices of eight rows of 16 bytes; two of them side by side.
    let mut shared = vec![0u32; (ROWS + columns) * 8];
    for line in 0..ROWS + columns {
        for at in 0..8 {
            let element = |k: usize| match line < ROWS {
                true => a.at(line, k),
                false => b.at(k, line - ROWS),
            };
            let place = line / 8 * 64 + at / 4 * 32 + line % 8 * 4 + at % 4;
            shared[place] = word(&element, packed * at);
        }
    }
    let registers = columns / 2 / sums.packed();
    let element = |lane: usize, at: usize, part: usize| {
        let i = sums.packed() * at + part;
        (
            lane / 32 * 16 + lane % 32 / 4 + 8 * (i / 2 % 2),
            8 * (i / 4) + 2 * (lane % 4) + i % 2,
        )
    };
    let mut data = shared;
    let in_shared = data.len();
    for lane in 0..128 {
        for at in 0..registers {
            let word = (0..sums.packed()).fold(0, |word, part| {
                let (row, column) = element(lane, at, part);
                word | (c.at(row, column) as u32) << (sums.place as usize * part)
            });
            data.push(word);
        }
        for i in 0..4 {
            let row = lane / 32 * 16 + lane % 32 / 4 + 8 * (i % 2);
            let k = packed * (lane % 4) + 4 * packed * (i / 2);
            data.push(word(&|k| a.at(row, k), k));
        }
    }
    let is_float = of_a.exponent > 0;
    let transposes = matches!(of_a.name, "f16" | "bf16");
    let behind = match (is_float, transposes, in_registers) {
        (false, ..) => "",
        (true, false, _) => ", 1, 1",
        (true, true, true) => ", 1, 1, 0",
        (true, true, false) => ", 1, 1, 0, 0",
    };
    let op = if of_a.name == "b1" { ".and.popc" } else { "" };
    let first = if in_registers {
        "{%r24, %r25, %r26, %r27}"
    } else {
        "%x3"
    };
    let loads = |from: usize, count: usize, offset: usize| -> String {
        (0..count)
            .map(|at| {
                format!(
                    "ld.global.b32 %r{}, [%x1+{}];",
                    from + at,
                    4 * (offset + at)
                )
            })
            .collect()
    };
    let stores: String = (0..registers)
        .map(|at| format!("st.global.b32 [%x1+{}], %r{};", 4 * at, 4 + at))
        .collect();
    let text = module(&format!(
        ".shared .align 128 .b8 tile[{bytes}];
         mov.u32 %r1, tile; mov.u32 %r2, %thread;
         COPY: setp.ge.u32 %p1, %r2, {in_shared}; @%p1 bra COPIED;
         mad.wide.u32 %x1, %r2, 4, %base; ld.global.b32 %r3, [%x1];
         mad.lo.u32 %r4, %r2, 4, %r1; st.shared.b32 [%r4], %r3; add.u32 %r2, %r2, 128;
         bra COPY; COPIED: bar.sync 0;
         mad.wide.u32 %x1, %thread, {stride}, %base; add.u64 %x1, %x1, {bytes};
         {} {}
         shr.u32 %r1, %r1, 4; cvt.u64.u32 %x3, %r1; or.b64 %x3, %x3, {descriptor};
         add.u64 %x4, %x3, {behind_a}; setp.eq.u32 %p2, %r1, %r1;
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{}.{}.{}{op}
             {{{}}}, {first}, %x4, %p2{behind};
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
         {stores}",
        loads(4, registers, 0),
        loads(24, 4, registers),
        sums.name,
        of_a.name,
        of_b.name,
        names(4, registers),
        bytes = 4 * in_shared,
        stride = 4 * (registers + 4),
        // Distances of 128 bytes along k and 256 bytes between groups of eight rows.
        descriptor = (128u64 / 16) << 16 | (256u64 / 16) << 32,
        behind_a = ROWS * 32 / 16,
    ));
    let config = LaunchConfig::new([1, 1, 1], [128, 1, 1]);
    launch(&text, &config, &mut data).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for lane in 0..128 {
        let words = &data[in_shared + lane * (registers + 4)..][..registers];
        for (at, word) in words.iter().enumerate() {
            for part in 0..sums.packed() {
                let (row, column) = element(lane, at, part);
                let bits = u64::from(*word) >> (sums.place as usize * part);
                let found = bits & (u64::MAX >> (64 - sums.bits));
                let exact = product(&a, &b, &c, (row, column));
                let name = of_a.name;
                if sums.name == "f32" && of_a.bits == 8 {
                    // 13 bits behind the point of the largest exponent, of each of 33 terms.
                    let error = f64::from(f32::from_bits(found as u32)) - exact;
                    assert!(
                        error.abs() <= 34.0 * 2f64.powi(4 - 13),
                        "{name}: {row}, {column}"
                    );
                    continue;
                }
                if sums.name == "f16" && of_a.bits == 8 {
                    let error = half::f16::from_bits(found as u16).to_f64() - exact;
                    assert!(error.abs() <= 34.0 * 2f64.powi(4 - 13) + 0.0625, "{name}");
                    continue;
                }
                assert_eq!(found, sums.of_sum(exact), "{name}: {row}, {column}");
            }
        }
    }
}

#[test]
fn wgmma_of_every_type() {
    for in_registers in [false, true] {
        check_wgmma(24, [F16; 2], F16, in_registers);
        check_wgmma(8, [F16; 2], F32, in_registers);
        check_wgmma(16, [BF16; 2], F32, in_registers);
        check_wgmma(8, [TF32; 2], F32, in_registers);
        for formats in [[E4M3; 2], [E5M2, E4M3], [E4M3, E5M2], [E5M2; 2]] {
            check_wgmma(16, formats, F32, in_registers);
            check_wgmma(16, formats, F16, in_registers);
        }
        let (s8, u8) = (integer("s8", 8), integer("u8", 8));
        for formats in [[s8, s8], [s8, u8], [u8, s8], [u8, u8]] {
            check_wgmma(24, formats, S32, in_registers);
        }
        check_wgmma(16, [integer("b1", 1); 2], S32, in_registers);
    }
}

/// A pattern that begins elsewhere than at a multiple of its size is not emulated.
#[test]
fn base_offsets_of_wgmma_are_refused() {
    let of = |descriptor: u64| {
        let text = module(&format!(
            ".shared .align 1024 .b8 tile[4096];
             mov.b64 %x3, {descriptor}; mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0;
             mov.b32 %r7, 0; setp.eq.u32 %p1, 0, 1; wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
                 {{%r4, %r5, %r6, %r7}}, %x3, %x3, %p1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ));
        let text = text.replace(".target sm_80", ".target sm_90a");
        let config = LaunchConfig::new([1, 1, 1], [128, 1, 1]);
        launch(&text, &config, &mut [0; 4]).map_err(|error| error.to_string())
    };
    let swizzled = 1 << 62 | 8 << 32;
    assert_eq!(of(swizzled), Ok(()));
    // Without a swizzle there is no pattern.
    assert_eq!(of(1 << 49 | 8 << 32), Ok(()));
    let found = of(swizzled | 1 << 49).expect_err("an offset");
    assert!(
        found.contains("with matrix base offset is not supported"),
        "{found}"
    );
}
