//! Bit operations that have an instruction of their own.

use super::{Launch, noise, ptx};

const THREADS: usize = 256;

/// `prmt` in its default mode, whose selectors `__byte_perm` cuts to three bits.
fn byte_permute(a: u32, b: u32, selectors: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let chosen = [0, 4, 8, 12].map(|shift| bytes[(selectors >> shift & 7) as usize]);
    u32::from_le_bytes(chosen)
}

fn dot(a: u32, b: u32, widen: fn(u8) -> i64) -> u32 {
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    products.map(|(a, b)| widen(a) * widen(b)).sum::<i64>() as u32
}

/// `bfe.s32` (PTX ISA, "Integer Arithmetic Instructions: bfe").
fn signed_field(a: u32, position: u32, length: u32) -> u32 {
    if length == 0 {
        return 0;
    }
    let sign = a >> (position + length - 1).min(31) & 1;
    (0..32)
        .map(|bit| match (bit < length, position + bit <= 31) {
            (true, true) => (a >> (position + bit) & 1) << bit,
            _ => sign << bit,
        })
        .sum()
}

fn words(a: u32, b: u32, c: u32) -> [u32; 24] {
    let (sa, sb, sc) = (a as i32, b as i32, c as i32);
    let both = u64::from(b) << 32 | u64::from(a);
    let low_24 = |x: i32| i64::from(x << 8 >> 8);
    let mask = |length: u32| (1u64 << length) as u32;
    let field = mask(b & 31).wrapping_sub(1);
    let inserted = mask(a & 31).wrapping_sub(1) << (c & 31);
    [
        byte_permute(a, b, c),
        (both << (c & 31) >> 32) as u32,
        (both >> (c & 31)) as u32,
        (both << c.min(32) >> 32) as u32,
        (both >> c.min(32)) as u32,
        a.count_ones(),
        a.leading_zeros(),
        a.reverse_bits(),
        if a == 0 { 0 } else { a.trailing_zeros() + 1 },
        c.wrapping_add(dot(a, b, |byte| i64::from(byte as i8))),
        c.wrapping_add(dot(a, b, i64::from)),
        ((u64::from(a) * u64::from(b)) >> 32) as u32,
        ((i64::from(sa) * i64::from(sb)) >> 32) as u32,
        (low_24(sa) * low_24(sb)) as u32,
        (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff),
        sa.abs_diff(sb).wrapping_add(c),
        a.abs_diff(b).wrapping_add(c),
        ((i64::from(sa) + i64::from(sb)) >> 1) as u32,
        a >> (c & 31) & field,
        signed_field(a, c & 31, b & 31),
        b & !inserted | a << (c & 31) & inserted,
        a & b | a & c | b & c,
        if a == 0 { u32::MAX } else { a.ilog2() },
        if a >= b { a | !(sc as u32) } else { a & c ^ b },
    ]
}

#[test]
fn operations_on_words() {
    let mut random = noise(2);
    let inputs: Vec<[u32; 3]> = (0..THREADS)
        .map(|row| {
            let mut draw = || random.next().unwrap_or(0) as u32;
            match row % 4 {
                0 => [draw(), draw(), draw()],
                1 => [draw() >> (draw() & 31), draw(), draw() & 63],
                2 => [draw(), draw() & 31, draw() & 31],
                _ => [[0, 1, u32::MAX, 1 << 31][row / 4 % 4], draw() & 0xff, 32],
            }
        })
        .collect();
    let mut launch = Launch::new(ptx!("bits"), "words");
    launch.input(&inputs);
    let out = launch.output::<[u32; 24]>(THREADS);
    launch.run([1, 1, 1], [THREADS as u32, 1, 1]);
    for ([a, b, c], got) in inputs.into_iter().zip(launch.read(&out)) {
        assert_eq!(got, words(a, b, c), "of {a:#x}, {b:#x}, {c:#x}");
    }
}

#[test]
fn operations_on_long_words() {
    let mut random = noise(3);
    let inputs: Vec<[u64; 2]> = (0..THREADS)
        .map(|row| {
            let mut draw = || random.next().unwrap_or(0);
            match row % 3 {
                0 => [draw(), draw()],
                1 => [draw() >> (draw() & 63), draw() >> (draw() & 63)],
                _ => [[0, u64::MAX, 1 << 63][row / 3 % 3], draw() >> 40],
            }
        })
        .collect();
    let mut launch = Launch::new(ptx!("bits"), "longs");
    launch.input(&inputs);
    let out = launch.output::<[u64; 10]>(THREADS);
    launch.run([1, 1, 1], [THREADS as u32, 1, 1]);
    for ([a, b], got) in inputs.into_iter().zip(launch.read(&out)) {
        let wide = u128::from(a) * u128::from(b) + u128::from(a);
        let expected = [
            u64::from(a.count_ones()),
            u64::from(a.leading_zeros()),
            a.reverse_bits(),
            ((u128::from(a) * u128::from(b)) >> 64) as u64,
            ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64,
            a / (b | 1),
            (a as i64).wrapping_rem((b | 1) as i64) as u64,
            (wide >> 64) as u64,
            wide as u64,
            ((a << (64 - 13 - 21)) as i64 >> (64 - 21)) as u64,
        ];
        assert_eq!(got, expected, "of {a:#x}, {b:#x}");
    }
}
