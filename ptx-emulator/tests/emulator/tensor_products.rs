//! `tcgen05.mma` of all kinds, layouts and shapes, against sums on the host. Values are such that
//! sums are exact.

use crate::common::launch;
use crate::tensor_memory::{COMMIT, WAIT, columns_of_data, config, fill, run, text, text_of_group};
use ptx_emulator::{LaunchConfig, LaunchError};

/// Elements of A or B.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    E2m3,
    E3m2,
    E2m1,
    /// Two in a byte.
    Dense,
    U8,
    S8,
}

use Format::{Bf16, Dense, E2m1, E2m3, E3m2, E4m3, E5m2, F16, S8, Tf32, U8};

impl Format {
    /// Its kind, and its number in instruction descriptors.
    fn names(self) -> (&'static str, u32) {
        match self {
            F16 => ("f16", 0),
            Bf16 => ("f16", 1),
            Tf32 => ("tf32", 2),
            E4m3 => ("f8f6f4", 0),
            E5m2 => ("f8f6f4", 1),
            E2m3 => ("f8f6f4", 3),
            E3m2 => ("f8f6f4", 4),
            E2m1 => ("f8f6f4", 5),
            Dense => ("mxf4", 1),
            U8 => ("i8", 0),
            S8 => ("i8", 1),
        }
    }

    /// Bits of an element, where they lie in a row of memory.
    fn bits(self) -> usize {
        match self {
            F16 | Bf16 => 16,
            Tf32 => 32,
            Dense => 4,
            _ => 8,
        }
    }

    /// Elements along k of a dense MMA.
    fn depth(self) -> usize {
        256 / self.bits()
    }

    /// Bits of exponent and fraction.
    fn parts(self) -> (u32, u32) {
        match self {
            F16 => (5, 10),
            Bf16 => (8, 7),
            Tf32 => (8, 23),
            E4m3 => (4, 3),
            E5m2 => (5, 2),
            E2m3 => (2, 3),
            E3m2 => (3, 2),
            _ => (2, 1),
        }
    }

    /// An element and its value, from noise.
    fn sample(self, noise: u32) -> (u32, f64) {
        match self {
            U8 => (noise & 0xff, f64::from(noise & 0xff)),
            S8 => (noise & 0xff, f64::from(noise as u8 as i8)),
            _ => {
                let (exponent, fraction) = self.parts();
                let bias = (1 << (exponent - 1)) - 1;
                let field = (bias + noise % 2) & ((1 << exponent) - 1);
                let top = (noise >> 4 & 1) << (fraction - 1);
                let sign = noise >> 8 & 1;
                let bits = sign << (exponent + fraction) | field << fraction | top;
                let one = 1.0 + f64::from(noise >> 4 & 1) / 2.0;
                let value = one * f64::from(noise % 2).exp2();
                (bits, if sign != 0 { -value } else { value })
            }
        }
    }

    /// Where the first bit of an element of a row lies, in the bits of the row.
    fn place(self, k: usize) -> usize {
        match self {
            // Sixteen elements, and padding to 16 bytes.
            E2m3 | E3m2 => 128 * (k / 16) + 6 * (k % 16),
            E2m1 => 128 * (k / 16) + 4 * (k % 16),
            _ => self.bits() * k,
        }
    }

    fn width(self) -> usize {
        match self {
            E2m3 | E3m2 => 6,
            E2m1 => 4,
            _ => self.bits(),
        }
    }
}

fn noise() -> impl FnMut() -> u32 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as u32
    }
}

/// Lines of A or B: elements along k, and their values.
struct Lines {
    format: Format,
    depth: usize,
    elements: Vec<(u32, f64)>,
}

impl Lines {
    fn new(format: Format, lines: usize, depth: usize, noise: &mut impl FnMut() -> u32) -> Self {
        let elements = (0..lines * depth).map(|_| format.sample(noise()));
        Lines {
            format,
            depth,
            elements: elements.collect(),
        }
    }

    fn at(&self, line: usize, k: usize) -> (u32, f64) {
        self.elements[line * self.depth + k]
    }

    fn lines(&self) -> usize {
        self.elements.len() / self.depth
    }
}

/// How an operand lies in shared memory: bytes within which it is swizzled (16: it is not; 127:
/// within 128, by 32), and whether it is MN-major.
#[derive(Clone, Copy, Debug)]
struct Layout {
    span: usize,
    across: bool,
}

const PLAIN: Layout = Layout {
    span: 16,
    across: false,
};

impl Layout {
    /// Puts lines into memory from an address on, a multiple of 1024; the descriptor.
    fn store(self, lines: &Lines, image: &mut Vec<u8>) -> u64 {
        let start = image.len().next_multiple_of(1024);
        let (by_32, span) = (self.span == 127, self.span.next_power_of_two());
        let group = if by_32 { 4 } else { 8 };
        let atom = group * span;
        let (count, depth) = (lines.lines(), lines.depth);
        let row_bytes = lines.format.place(depth) / 8;
        // Distances of spans along the contiguous direction, and of groups of lines.
        let (leading, stride) = match (self.across, span) {
            (false, 16) => (16 * count, atom),
            (false, _) => (0, atom),
            (true, 16) => (atom, atom * (depth / 8)),
            (true, _) => (atom * (depth / group), atom),
        };
        let bytes = match self.across {
            false => count * span.max(row_bytes),
            true => (count * lines.format.bits() / 8).next_multiple_of(span) * depth,
        };
        image.resize(start + bytes.max(leading * 2), 0xa5);
        for line in 0..count {
            for k in 0..depth {
                let (line_at, along) = match self.across {
                    false => (line, lines.format.place(k)),
                    true => (k, line * lines.format.bits()),
                };
                let (byte, first_bit) = (along / 8, along % 8);
                let (of_lines, of_spans) = match (self.across, span) {
                    (true, 16) => (leading, stride),
                    _ => (stride, leading),
                };
                let at = start
                    + line_at / group * of_lines
                    + line_at % group * span
                    + byte / span * of_spans
                    + byte % span;
                // Elements of six bits may lie in two bytes of one chunk.
                let width = lines.format.width();
                let bits = u64::from(lines.at(line, k).0) << first_bit;
                let mask = ((1u64 << width) - 1) << first_bit;
                for index in 0..(first_bit + width).div_ceil(8) {
                    let at = at + index;
                    let swizzled = match (by_32, span) {
                        (true, _) => at ^ (at >> 7 & 3) << 5,
                        (_, span) => at ^ (at >> 7 & (span / 16 - 1)) << 4,
                    };
                    let (bits, mask) = (bits >> (8 * index), mask >> (8 * index));
                    let slot = &mut image[swizzled];
                    *slot = *slot & !(mask as u8) | (bits & mask) as u8;
                }
            }
        }
        let mode = match (by_32, span) {
            (true, _) => 1u64,
            (_, 16) => 0,
            (_, 32) => 6,
            (_, 64) => 4,
            _ => 2,
        };
        (start as u64) >> 4
            | (leading as u64 >> 4) << 16
            | (stride as u64 >> 4) << 32
            | 1 << 46
            | mode << 61
    }
}

/// What an MMA is made of.
struct MmaTest {
    formats: [Format; 2],
    kind: &'static str,
    /// Modifiers behind the kind.
    behind: &'static str,
    layouts: [Layout; 2],
    shape: [usize; 2],
    /// Type of D: 0 is f16, 1 f32 and 2 s32.
    of_d: u32,
    /// A lies in tensor memory.
    in_tensor: bool,
    sparse: bool,
    stationary: bool,
    /// Other bits of the instruction descriptor.
    bits: u32,
    /// Operands behind the instruction descriptor.
    operands: &'static str,
}

impl MmaTest {
    fn new(formats: [Format; 2], shape: [usize; 2]) -> Self {
        MmaTest {
            formats,
            kind: formats[0].names().0,
            behind: "",
            layouts: [PLAIN; 2],
            shape,
            of_d: match formats[0] {
                U8 | S8 => 2,
                _ => 1,
            },
            in_tensor: false,
            sparse: false,
            stationary: false,
            bits: 0,
            operands: "%p5",
        }
    }

    fn descriptor(&self) -> u32 {
        let [of_a, of_b] = self.formats.map(|format| format.names().1);
        let across = self.layouts.map(|layout| u32::from(layout.across));
        let of_d = if self.kind.starts_with("mx") {
            0
        } else {
            self.of_d
        };
        u32::from(self.sparse) << 2
            | of_d << 4
            | of_a << 7
            | of_b << 10
            | across[0] << 15
            | across[1] << 16
            | (self.shape[1] as u32 >> 3) << 17
            | (self.shape[0] as u32 >> 4) << 24
            | self.bits
    }

    /// The lane, and the column from D on, of an element of D.
    fn place(&self, row: usize, column: usize) -> (usize, usize) {
        let [rows, columns] = self.shape;
        match (rows, self.stationary) {
            (64, false) => (row / 16 * 32 + row % 16, column),
            (64, true) => (row + column / (columns / 2) * 64, column % (columns / 2)),
            (32, _) => (row + column / (columns / 4) * 32, column % (columns / 4)),
            _ => (row, column),
        }
    }

    /// Runs it, and compares D with what `expected` makes of the sum of products and of C. From
    /// column 64 on, tensor memory holds `others`: a word for each lane and column.
    fn check(
        &self,
        others: impl Fn(usize, usize) -> u32,
        scale: impl Fn(usize, usize, usize) -> f64,
        expected: impl Fn(f64, f64, usize) -> Option<f64>,
    ) {
        let [rows, columns] = self.shape;
        let mut noise = noise();
        let depth = self.formats[0].depth() * if self.sparse { 2 } else { 1 };
        let stored = self.formats[0].depth();
        let a = Lines::new(self.formats[0], rows, stored, &mut noise);
        let b = Lines::new(self.formats[1], columns, depth, &mut noise);
        let mut image = Vec::new();
        let of_a = match self.in_tensor {
            true => 0,
            false => self.layouts[0].store(&a, &mut image),
        };
        let of_b = self.layouts[1].store(&b, &mut image);
        image.resize(image.len().next_multiple_of(1024), 0);
        // D is in the first 64 columns, A from 64 on, the rest behind it.
        let width = 96;
        let mut words = vec![0u32; 128 * width];
        let c = |row: usize, column: usize| ((row * 7 + column * 3) % 31) as f64 - 15.0;
        for row in 0..rows {
            for column in 0..columns {
                let (lane, at) = self.place(row, column);
                let value = c(row, column);
                words[128 * at + lane] = match self.of_d {
                    0 => half::f16::from_f64(value).to_bits().into(),
                    1 => (value as f32).to_bits(),
                    _ => value as i32 as u32,
                };
            }
        }
        for lane in 0..128 {
            for at in 64..width {
                words[128 * at + lane] = others(lane, at - 64);
            }
            if self.in_tensor {
                let bits = a.format.bits();
                let find = |(row, at): &(usize, usize)| self.place(*row, *at).0 == lane;
                let row = (0..rows).flat_map(|row| (0..columns).map(move |at| (row, at)));
                let Some((row, _)) = row.into_iter().find(find) else {
                    continue;
                };
                for k in 0..stored {
                    let (at, shift) = (64 + k * bits / 32, k * bits % 32);
                    let mask = u32::MAX >> (32 - bits);
                    let shift_in_byte = if a.format == E2m1 { 2 } else { 0 };
                    let element = a.at(row, k).0 << shift_in_byte;
                    let word = &mut words[128 * at + lane];
                    *word = *word & !(mask << shift) | element << shift;
                }
            }
        }
        let mut data: Vec<u32> = image
            .chunks_exact(4)
            .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        let image_words = data.len();
        data.extend(&words);
        let name_of_a = match self.in_tensor {
            true => "[%r28+64]",
            false => "%x10",
        };
        let names = match (self.stationary, self.sparse) {
            (false, false) => "",
            (true, false) => ".ws",
            (false, true) => ".sp",
            (true, true) => ".ws.sp",
        };
        let metadata = if self.sparse { "[%r28+88]," } else { "" };
        let body = format!(
            "{fill} {load}
             mov.u32 %r1, image; cvt.u64.u32 %x9, %r1; shr.b64 %x9, %x9, 4;
             add.s64 %x10, %x9, {of_a}; add.s64 %x11, %x9, {of_b};
             mov.u32 %r10, {descriptor}; setp.eq.u32 %p5, 0, 0; setp.eq.u32 %p4, 0, 1;
             mov.u32 %r11, 0x00f0; mov.u32 %r12, 0;
             @%p7 tcgen05.mma{names}.cta_group::1.kind::{kind}{behind} [%r28], {name_of_a}, %x11,
                  {metadata} %r10, {operands};
             {COMMIT} {WAIT} {store}",
            fill = fill(image_words),
            load = columns_of_data(true, width, image_words),
            descriptor = self.descriptor(),
            kind = self.kind,
            behind = self.behind,
            operands = self.operands,
            store = columns_of_data(false, width, image_words),
        );
        let found = run(&text(image.len(), 128, &body), &data);
        let found = &found[image_words..];
        let mut wanted = words.clone();
        for row in 0..rows {
            for column in 0..columns {
                let positions: Vec<usize> = (0..stored)
                    .map(|k| match self.sparse {
                        true => position(a.format, row, k),
                        false => k,
                    })
                    .collect();
                let product = |k: usize| {
                    a.at(row, k).1 * b.at(column, positions[k]).1 * scale(row, column, positions[k])
                };
                let sum: f64 = (0..stored).map(product).sum();
                let (lane, at) = self.place(row, column);
                let Some(value) = expected(sum, c(row, column), lane) else {
                    continue;
                };
                wanted[128 * at + lane] = match self.of_d {
                    0 => half::f16::from_f64(value).to_bits().into(),
                    1 => (value as f32).to_bits(),
                    _ => value as i64 as u32,
                };
            }
        }
        for (at, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            assert_eq!(
                found,
                wanted,
                "lane {}, column {}: {:?} of {:?}, {:?}{}",
                at % 128,
                at / 128,
                self.shape,
                self.formats,
                self.layouts,
                self.behind
            );
        }
    }

    fn check_sum(&self) {
        self.check(|_, _| 0, |_, _, _| 1.0, |sum, c, _| Some(sum + c));
    }
}

/// Where the stored element `k` of a row of a sparse A stands.
fn position(format: Format, row: usize, k: usize) -> usize {
    match format {
        Tf32 => 2 * k + (row + k) % 2,
        // Two of four, always in the same way within a row.
        _ => k / 2 * 4 + [[0, 1], [0, 2], [1, 3], [2, 3]][(row + k / 2) % 4][k % 2],
    }
}

#[test]
fn operands_lie_in_all_layouts() {
    for format in [F16, Bf16, E4m3, E5m2, S8, U8, Tf32] {
        for span in [16, 32, 64, 128, 127] {
            for across in [false, true] {
                let exists = match (across, format, span) {
                    // Of 32 bits the transposed layout has a swizzle of its own.
                    (true, Tf32, span) => span == 127,
                    (_, _, span) => span != 127,
                };
                if exists {
                    let mut case = MmaTest::new([format; 2], [128, 32]);
                    case.layouts = [Layout { span, across }, Layout { span, across }];
                    case.check_sum();
                }
            }
        }
    }
    // One of each.
    let mut case = MmaTest::new([F16; 2], [64, 16]);
    let [a, b] = [
        Layout {
            span: 128,
            across: true,
        },
        Layout {
            span: 32,
            across: false,
        },
    ];
    case.layouts = [a, b];
    case.check_sum();
    case.layouts = [b, a];
    case.shape = [64, 64];
    case.check_sum();
}

#[test]
fn narrow_floats_are_packed() {
    for a in [E4m3, E5m2, E2m3, E3m2, E2m1] {
        for b in [E4m3, E2m3, E3m2, E2m1] {
            let mut case = MmaTest::new([a, b], [128, 8]);
            case.layouts[0].span = 32;
            case.check_sum();
        }
    }
}

#[test]
fn d_lies_where_the_shape_says() {
    for (rows, stationary) in [
        (64, false),
        (128, false),
        (32, true),
        (64, true),
        (128, true),
    ] {
        for format in [F16, Tf32, E4m3, S8] {
            for in_tensor in [false, true] {
                let mut case = MmaTest::new([format; 2], [rows, 64]);
                (case.stationary, case.in_tensor) = (stationary, in_tensor);
                case.check_sum();
            }
        }
    }
}

#[test]
fn d_may_be_f16_new_scaled_or_in_part() {
    for format in [F16, E4m3] {
        let mut case = MmaTest::new([format; 2], [128, 24]);
        case.of_d = 0;
        case.check_sum();
    }
    let mut case = MmaTest::new([Bf16; 2], [128, 8]);
    case.operands = "%p4";
    case.check(|_, _| 0, |_, _, _| 1.0, |sum, _, _| Some(sum));
    case.operands = "{%r12, %r11, %r12, %r12}, %p5";
    let is_kept = |lane: usize| (36..40).contains(&lane);
    let expected = |sum, c, lane| (!is_kept(lane)).then_some(sum + c);
    case.check(|_, _| 0, |_, _, _| 1.0, expected);
    case.operands = "%p5, 3";
    case.check(|_, _| 0, |_, _, _| 1.0, |sum, c, _| Some(sum + c / 8.0));
    // A or B is negated, or both are.
    case.operands = "%p5";
    for (bits, sign) in [(1 << 13, -1.0), (1 << 14, -1.0), (3 << 13, 1.0)] {
        case.bits = bits;
        case.check(|_, _| 0, |_, _, _| 1.0, |sum, c, _| Some(sign * sum + c));
    }
    // Sums of integers are clamped.
    let mut case = MmaTest::new([U8, S8], [128, 8]);
    case.bits = 1 << 3;
    case.check_sum();
}

#[test]
fn a_sparse_a_has_half_of_its_elements() {
    for format in [F16, Bf16, Tf32, E4m3, S8] {
        for rows in [64, 128] {
            for in_tensor in [false, true] {
                let mut case = MmaTest::new([format; 2], [rows, 16]);
                (case.sparse, case.in_tensor) = (true, in_tensor);
                let bits_of = |row: usize, chunk: usize| match format {
                    Tf32 => [0b0100, 0b1110][(row + chunk) % 2],
                    _ => [0b0100, 0b1000, 0b1101, 0b1110][(row + chunk) % 4],
                };
                // The row that lies in a lane.
                let row_of = |lane: usize| match rows {
                    64 => lane / 32 * 16 + lane % 16,
                    _ => lane,
                };
                let metadata = |lane: usize, at: usize| -> u32 {
                    let (half, column) = (lane / 8 % 2, at.wrapping_sub(24));
                    match (format, column) {
                        (F16 | Bf16 | Tf32, 0) => (0..8).fold(0, |word, at| {
                            // Two rows eight apart, and half of the chunks of each.
                            let row = row_of(lane / 16 * 16 + lane % 8 + at / 4 * 8);
                            word | bits_of(row, at % 4 + 4 * half) << (4 * at)
                        }),
                        (E4m3 | S8, 0 | 1) => (0..8).fold(0, |word, at| {
                            word | bits_of(row_of(lane), at + 8 * column) << (4 * at)
                        }),
                        _ => 0,
                    }
                };
                case.check(metadata, |_, _, _| 1.0, |sum, c, _| Some(sum + c));
            }
        }
    }
}

#[test]
fn blocks_are_scaled() {
    // The scales of A from column 16 behind D's on, those of B from column 20 on.
    let of_a = |row: usize, block: usize| [0, 1, -1, 2][(row + block) % 4];
    let of_b = |column: usize, block: usize| [1, 0, -2][(column + 2 * block) % 3];
    for (kind, formats, behind, blocks, with_fraction, ids) in [
        ("mxf8f6f4", [E4m3, E2m1], ".block_scale", 1, false, [2, 1]),
        (
            "mxf8f6f4",
            [E3m2, E5m2],
            ".block_scale.block32",
            1,
            false,
            [0, 3],
        ),
        (
            "mxf4",
            [Dense; 2],
            ".block_scale.scale_vec::2X",
            2,
            false,
            [2, 0],
        ),
        (
            "mxf4nvf4",
            [Dense; 2],
            ".block_scale.block16",
            4,
            true,
            [0, 0],
        ),
        (
            "mxf4nvf4",
            [Dense; 2],
            ".block_scale.scale_vec::2X",
            2,
            true,
            [0, 2],
        ),
    ] {
        let mut case = MmaTest::new(formats, [128, 40]);
        (case.kind, case.behind) = (kind, behind);
        case.operands = "[%r28+80], [%r28+84], %p5";
        case.bits = ids[0] << 29 | ids[1] << 4 | u32::from(!with_fraction) << 23;
        let byte = |exponent: i32| match with_fraction {
            true => ((exponent + 7) as u32) << 3,
            false => (exponent + 127) as u32,
        };
        let others = |lane: usize, at: usize| -> u32 {
            let word = |scale: &dyn Fn(usize) -> i32, id: u32| {
                (0..blocks).fold(0xa5a5_a5a5u32, |word, block| {
                    let shift = 8 * (id as usize + block);
                    word & !(0xff << shift) | byte(scale(block)) << shift
                })
            };
            match at {
                16..20 => word(&|block| of_a(lane % 32 + 32 * (at - 16), block), ids[0]),
                20..22 => word(&|block| of_b(lane % 32 + 32 * (at - 20), block), ids[1]),
                _ => 0,
            }
        };
        let depth = formats[0].depth();
        let scale = |row: usize, column: usize, k: usize| {
            let block = k / (depth / blocks);
            f64::from(of_a(row, block) + of_b(column, block)).exp2()
        };
        case.check(others, scale, |sum, c, _| Some(sum + c));
    }
}

#[test]
fn wrong_descriptors_are_faults() {
    let attempt = |descriptor: u32, kind: &str, desc: u64, operands: &str| -> String {
        let body = format!(
            "mov.u64 %x10, {desc}; mov.u32 %r10, {descriptor}; setp.eq.u32 %p5, 0, 0;
             @%p7 tcgen05.mma.cta_group::1.kind::{kind} [%r28], %x10, %x10, %r10, {operands};
             {COMMIT} {WAIT}"
        );
        let mut data = [0; 64];
        let text = text(4096, 64, &body);
        match launch(&text, &config(), &mut data) {
            Err(LaunchError::Fault(fault)) => fault.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let good = 1 << 4 | 4 << 17 | 8 << 24;
    let desc = 1 << 46 | 8 << 32 | 8 << 16;
    for (descriptor, kind, desc, part) in [
        (good, "f16", desc & !(1 << 46), "bits 46 to 48 are 0"),
        (good, "f16", desc | 1 << 49 | 1 << 62, "matrix base offset"),
        (good, "f16", desc | 1 << 52, "absolute leading dimension"),
        (good, "f16", desc | 3 << 61, "swizzling mode 3"),
        (good | 1 << 2, "f16", desc, "the bit of sparsity 1"),
        (good | 2 << 7, "f16", desc, "A of type 2 and B of type 0"),
        (good | 1 << 7, "f16", desc, "A and B of different types"),
        (good + (1 << 4), "f16", desc, "D of type 2"),
        (good | 1 << 24, "f16", desc, "m = 144 and n = 32"),
        (good & !(0x3f << 17), "f16", desc, "m = 128 and n = 0"),
        (
            good | 1 << 15 | 2 << 7 | 2 << 10,
            "tf32",
            desc,
            "swizzling mode does not go with",
        ),
        (
            good | 1 << 15 | 3 << 7,
            "f8f6f4",
            desc,
            "a transposed A of less than 8 bits",
        ),
        (good, "f16", desc | 0x3fff, "out of bounds"),
        (
            1 << 4 | 16 << 17 | 8 << 24,
            "f16",
            desc,
            "column 64 of tensor memory is accessed",
        ),
    ] {
        let found = attempt(descriptor, kind, desc, "%p5");
        assert!(found.contains(part), "{part}: {found}");
        assert!(found.contains("tcgen05.mma"), "{found}");
    }
}

/// Zeros for chosen columns of B, which other programs leave at none.
#[test]
fn weights_that_stay_have_no_zero_columns() {
    let body = |mask: &str| {
        let desc = 1u64 << 46 | 8 << 32 | 8 << 16;
        let descriptor = 1 << 4 | 8 << 17 | 8 << 24;
        format!(
            "mov.u64 %x10, {desc}; mov.u32 %r10, {descriptor}; setp.eq.u32 %p5, 0, 1;
             mov.u64 %x12, 1;
             @%p7 tcgen05.mma.ws.cta_group::1.kind::f16 [%r28], %x10, %x10, %r10, %p5, {mask};
             {COMMIT} {WAIT}"
        )
    };
    let attempt = |mask: &str| launch(&text(4096, 64, &body(mask)), &config(), &mut [0; 64]);
    for none in ["0", "%x11"] {
        attempt(none).unwrap_or_else(|error| panic!("{none}: {error}"));
    }
    let found = attempt("%x12").expect_err("a column").to_string();
    assert!(
        found.contains("the zero-column mask 0x0000000000000001"),
        "{found}"
    );
}

/// A pair of blocks: each has half of A's rows and half of B's columns, and of D half of the rows.
#[test]
fn a_pair_of_blocks_shares_an_mma() {
    for (rows, columns) in [(256, 32), (128, 32)] {
        let mut noise = noise();
        let depth = F16.depth();
        let half = rows / 2;
        let a: Vec<Lines> = (0..2)
            .map(|_| Lines::new(F16, half, depth, &mut noise))
            .collect();
        let b: Vec<Lines> = (0..2)
            .map(|_| Lines::new(F16, columns / 2, depth, &mut noise))
            .collect();
        let mut images = [Vec::new(), Vec::new()];
        let layout = Layout {
            span: 32,
            across: false,
        };
        let mut descriptors = [0; 2];
        for block in 0..2 {
            descriptors[0] = layout.store(&a[block], &mut images[block]);
            descriptors[1] = layout.store(&b[block], &mut images[block]);
            let length = images[block].len().next_multiple_of(1024);
            images[block].resize(length, 0);
        }
        let image_words = images[0].len() / 4;
        let mut data: Vec<u32> = images
            .iter()
            .flatten()
            .copied()
            .collect::<Vec<u8>>()
            .chunks_exact(4)
            .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        let first = data.len();
        data.resize(first + 2 * 128 * columns, 0);
        let descriptor = 1 << 4 | (columns as u32 >> 3) << 17 | (rows as u32 >> 4) << 24;
        let sync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
        let body = format!(
            "mov.u32 %r20, %cluster_ctarank; mov.b64 %x20, %base;
             mad.wide.u32 %base, %r20, {image_bytes}, %base;
             {fill} mov.b64 %base, %x20; mad.wide.u32 %base, %r20, {block_bytes}, %base;
             mov.u32 %r1, image; cvt.u64.u32 %x9, %r1; shr.b64 %x9, %x9, 4;
             add.s64 %x10, %x9, {of_a}; add.s64 %x11, %x9, {of_b};
             mov.u32 %r10, {descriptor}; setp.eq.u32 %p5, 0, 1; mov.b16 %h1, 3;
             {sync}
             setp.eq.and.u32 %p7, %r20, 0, %p7;
             @%p7 tcgen05.mma.cta_group::2.kind::f16 [%r28], %x10, %x11, %r10, %p5;
             @%p7 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster\
                  .multicast::cluster.b64 [barrier], %h1;
             {WAIT} {store} {sync}",
            image_bytes = images[0].len(),
            fill = fill(image_words),
            block_bytes = 4 * 128 * columns,
            of_a = descriptors[0],
            of_b = descriptors[1],
            store = columns_of_data(false, columns, first),
        );
        let text = text_of_group(2, images[0].len(), 32, &body);
        let config = LaunchConfig {
            cluster: Some([2, 1, 1]),
            ..LaunchConfig::new([2, 1, 1], [128, 1, 1])
        };
        launch(&text, &config, &mut data).unwrap_or_else(|error| panic!("{error}"));
        for block in 0..2 {
            let d = &data[first + block * 128 * columns..];
            for row in 0..half {
                for column in 0..columns {
                    let of_b = &b[column / (columns / 2)];
                    let product =
                        |k: usize| a[block].at(row, k).1 * of_b.at(column % (columns / 2), k).1;
                    let sum: f64 = (0..depth).map(product).sum();
                    let (lane, at) = match rows {
                        128 => (row + column / (columns / 2) * 64, column % (columns / 2)),
                        _ => (row, column),
                    };
                    let found = f32::from_bits(d[128 * at + lane]);
                    assert_eq!(found, sum as f32, "{rows}: block {block}, {row}, {column}");
                }
            }
        }
    }
}

/// The lowest bit of the rank in an address of shared memory leads to the other block of a pair.
#[test]
fn addresses_of_pairs_have_the_rank_of_their_block() {
    let sync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    let body = format!(
        ".shared .align 8 .b8 barrier[8]; .shared .align 8 .b8 words[512];
         .extern .shared .align 16 .b8 dynamic[];
         setp.eq.u32 %p7, %thread, 0; setp.ne.u32 %p6, %thread, %thread;
         mov.u32 %r20, %cluster_ctarank; mov.u32 %r1, barrier; and.b32 %r19, %r20, 1;
         @%p7 mbarrier.init.shared.b64 [%r1], 2;
         @%p6 tcgen05.commit.cta_group::2.mbarrier::arrive::one.b64 [%r1];
         {sync}
         and.b32 %r2, %r1, 0xfeffffff;
         @%p7 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
         setp.ne.u32 %p1, %r19, 0; @%p1 bra PASSED;
         {WAIT}
         PASSED:
         getctarank.shared::cluster.u32 %r5, %r2;
         xor.b32 %r3, %r1, 0x01000000; getctarank.shared::cluster.u32 %r6, %r3;
         mapa.shared::cluster.u32 %r7, %r1, %r20; setp.eq.u32 %p2, %r7, %r1;
         cvt.u64.u32 %x1, %r1; cvta.shared.u64 %x2, %x1; isspacep.shared %p3, %x2;
         mov.u32 %r8, words; mad.lo.u32 %r8, %thread, 8, %r8; cvt.u64.u32 %x3, %r8;
         add.u32 %r9, %thread, 100; st.shared.b32 [%r8], %r9; ld.shared.b32 %r10, [%x3];
         cvta.shared.u64 %x4, %x3; ld.b32 %r11, [%x4]; atom.shared.add.u32 %r12, [%r8], 5;
         mov.u32 %r13, dynamic; mad.lo.u32 %r13, %thread, 4, %r13;
         st.shared.b32 [%r13], %r9; ld.shared.b32 %r14, [%r13]; st.shared.b32 [words+4], %r9;
         and.pred %p2, %p2, %p3; selp.b32 %r15, 1, 0, %p2;
         mov.u32 %r16, %ctaid.x; mad.lo.u32 %r16, %r16, 32, %thread;
         mad.wide.u32 %x5, %r16, 32, %base;
         st.global.v4.b32 [%x5], {{%r5, %r6, %r15, %r10}};
         st.global.v4.b32 [%x5+16], {{%r11, %r12, %r14, %r20}};
         {sync}"
    );
    let text = crate::common::module(&body).replace(
        ".version 8.0\n.target sm_80",
        ".version 8.8\n.target sm_100a",
    );
    let config = LaunchConfig {
        cluster: Some([4, 1, 1]),
        dynamic_shared_bytes: 128,
        ..LaunchConfig::new([8, 1, 1], [32, 1, 1])
    };
    let mut data = vec![0; 8 * 8 * 32];
    launch(&text, &config, &mut data).unwrap_or_else(|error| panic!("{error}"));
    for (at, found) in data.chunks_exact(8).enumerate() {
        let (rank, value) = (at as u32 / 32 % 4, at as u32 % 32 + 100);
        let wanted = [rank & !1, rank ^ 1, 1, value, value, value, value, rank];
        assert_eq!(found, wanted, "{at}");
    }
}
