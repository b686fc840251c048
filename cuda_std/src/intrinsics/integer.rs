//! Functions of integers.

use super::functions;

/// The product of the lower 24 bits, sign-extended.
#[inline(always)]
fn low_24(x: i32) -> i32 {
    x << 8 >> 8
}

functions! {
    abs(x: i32) -> i32 = x.wrapping_abs();
    llabs(x: i64) -> i64 = x.wrapping_abs();
    brev(x: i32) -> i32 = x.reverse_bits();
    brevll(x: i64) -> i64 = x.reverse_bits();
    clz(x: i32) -> i32 = x.leading_zeros() as i32;
    clzll(x: i64) -> i32 = x.leading_zeros() as i32;
    ffs(x: i32) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    ffsll(x: i64) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    popc(x: i32) -> i32 = x.count_ones() as i32;
    popcll(x: i64) -> i32 = x.count_ones() as i32;

    max(x: i32, y: i32) -> i32 = x.max(y);
    min(x: i32, y: i32) -> i32 = x.min(y);
    llmax(x: i64, y: i64) -> i64 = x.max(y);
    llmin(x: i64, y: i64) -> i64 = x.min(y);
    umax(x: i32, y: i32) -> i32 = (x as u32).max(y as u32) as i32;
    umin(x: i32, y: i32) -> i32 = (x as u32).min(y as u32) as i32;
    ullmax(x: i64, y: i64) -> i64 = (x as u64).max(y as u64) as i64;
    ullmin(x: i64, y: i64) -> i64 = (x as u64).min(y as u64) as i64;

    mul24(x: i32, y: i32) -> i32 = low_24(x).wrapping_mul(low_24(y));
    umul24(x: i32, y: i32) -> i32 = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    umulhi(x: i32, y: i32) -> i32 = ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32;
    mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x as u64) * u128::from(y as u64)) >> 64) as i64;

    hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    uhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32)) >> 1) as i32;
    urhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32) + 1) >> 1) as i32;
    sad(x: i32, y: i32, z: i32) -> i32 = (x.abs_diff(y) as i32).wrapping_add(z);
    usad(x: i32, y: i32, z: i32) -> i32 =
        ((x as u32).abs_diff(y as u32) as i32).wrapping_add(z);

    byte_perm(x: i32, y: i32, z: i32) -> i32 = {
        // Four bytes of the eight of both, one for each half-byte of `z`.
        let bytes = u64::from(y as u32) << 32 | u64::from(x as u32);
        let byte = |i: i32| (bytes >> (8 * (z >> (4 * i) & 7)) & 0xff) << (8 * i);
        (byte(0) | byte(1) | byte(2) | byte(3)) as i32
    };
}
