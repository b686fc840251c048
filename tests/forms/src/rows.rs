//! The operands: edge values of every type and random bits, from one seed.

use crate::kernel::{COLUMNS, ROWS};

/// What the random bits begin with.
pub const SEED: u64 = 0x5eed;

/// Zeros, ones, extremes, subnormals, infinities and NaNs of f16 and bf16, and integers.
const EDGES_16: [u16; 40] = [
    0, 1, 2, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 0x7ffe, 0x7fff,
    0x8000, 0x8001, 0xfffe, 0xffff, 0x03ff, 0x0400, 0x3bff, 0x3c00, 0x3c01, 0xbc00, 0x7bff, 0x7c00,
    0xfc00, 0x7e01, 0x7d01, 0x3f80, 0xbf80, 0x7f80, 0xff80,
];

/// The same of 32 bits, with values half-way between two of f16, bf16 and tf32.
const EDGES_32: [u32; 60] = [
    0,
    1,
    2,
    5,
    8,
    15,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    32767,
    32768,
    65535,
    65536,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x3eff_ffff,
    0x3f00_0000,
    0x3f7f_ffff,
    0x3f80_0000,
    0x3f80_0001,
    0x3fc0_0000,
    0x4020_0000,
    0x3f80_1000,
    0x3f80_3000,
    0x3f80_8000,
    0x3f81_8000,
    0x477f_efff,
    0x477f_f000,
    0x3300_0000,
    0x3300_0001,
    0x4b00_0001,
    0x4eff_ffff,
    0x4f00_0000,
    0x4f80_0000,
    0x5f00_0000,
    0x5f80_0000,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7f80_0001,
    0x7fc0_1234,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xbf80_0000,
    0xbf00_0000,
    0xcf00_0000,
    0xff80_0000,
    0xffc0_0001,
    0xffff_ffff,
];

/// The same of 64 bits.
const EDGES_64: [u64; 42] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    65535,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    (1 << 53) + 1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x3fef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3ff0_0000_1000_0000,
    0x3ff0_0000_3000_0000,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x41df_ffff_ffc0_0000,
    0x41e0_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0x43f0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x7ff8_0000_0000_1234,
    0x7fff_ffff_ffff_ffff,
    1 << 63,
    0x8000_0000_0000_0001,
    0xbff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    u64::MAX,
];

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Columns of 16, 32 and 64 bits, one value in each 8 bytes. Half of the rows are edge values, a
/// quarter floats near 1, the rest random bits.
pub fn operands() -> Vec<u64> {
    let mut state = SEED;
    let mut all = Vec::with_capacity(3 * COLUMNS * ROWS);
    for width in 0..3 {
        for _ in 0..COLUMNS * ROWS {
            let (kind, bits) = (next(&mut state) % 8, next(&mut state));
            let pick = (bits >> 32) as usize;
            all.push(match (kind, width) {
                (0..4, 0) => u64::from(EDGES_16[pick % EDGES_16.len()]),
                (0..4, 1) => u64::from(EDGES_32[pick % EDGES_32.len()]),
                (0..4, _) => EDGES_64[pick % EDGES_64.len()],
                (4..6, 0) => bits & 0x87ff | 0x3800,
                (4..6, 1) => bits & 0x83ff_ffff | 0x3c00_0000,
                (4..6, _) => bits & 0x807f_ffff_ffff_ffff | 0x3f80_0000_0000_0000,
                _ => bits,
            });
        }
    }
    all
}
