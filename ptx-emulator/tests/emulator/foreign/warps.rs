//! Votes, shuffles, matches and reductions.

use super::{Launch, noise, ptx};

const THREADS: usize = 96;
const BLOCK: [u32; 3] = [THREADS as u32, 1, 1];

fn inputs(seed: u64, range: u64) -> Vec<i32> {
    let values = noise(seed).map(|bits| ((bits % range) as i64 - (range / 2) as i64) as i32);
    values.take(THREADS).collect()
}

/// The warp and the half of it that a thread is in.
fn parts(values: &[i32], thread: usize) -> (&[i32], &[i32]) {
    let warp = &values[thread / 32 * 32..][..32];
    let half = &values[thread / 16 * 16..][..16];
    (warp, half)
}

/// The lanes for which a condition holds.
fn ballot(values: &[i32], holds: impl Fn(i32) -> bool) -> u32 {
    let bits = values
        .iter()
        .enumerate()
        .map(|(lane, &x)| u32::from(holds(x)) << lane);
    bits.sum()
}

#[test]
fn votes_and_matches() {
    // In the second warp all are alike, in the third half of them.
    let mut values = inputs(9, 8);
    values[32..64].fill(3);
    values[80..96].fill(250);
    let mut launch = Launch::new(ptx!("warps"), "votes");
    launch.input(&values);
    let out = launch.output::<[u32; 8]>(THREADS);
    launch.run([1, 1, 1], BLOCK);
    for (i, got) in launch.read(&out).into_iter().enumerate() {
        let (warp, half) = parts(&values, i);
        let (shift, x) = (i % 32 / 16 * 16, values[i]);
        let agree = half.iter().all(|other| other / 100 == x / 100);
        let expected = [
            ballot(warp, |x| x > 0),
            u32::from(warp.contains(&3)),
            u32::from(warp.iter().all(|&x| x < 100)),
            ballot(half, |x| x > 0) << shift,
            ballot(warp, |other| other == x),
            if agree { 0xffff << shift } else { 0 },
            u32::from(agree),
            if x > 0 { ballot(warp, |x| x > 0) } else { 0 },
        ];
        assert_eq!(got, expected, "thread {i}");
    }
}

#[test]
fn shuffles_of_whole_and_divided_warps() {
    let values = inputs(10, 1 << 32);
    let mut launch = Launch::new(ptx!("warps"), "shuffles");
    launch.input(&values);
    let out = launch.output::<[i32; 8]>(THREADS);
    launch.run([1, 1, 1], BLOCK);
    for (i, got) in launch.read(&out).into_iter().enumerate() {
        let (lane, x) = (i % 32, values[i]);
        let of = |lane: usize| values[i / 32 * 32 + lane];
        let expected = [
            of(5),
            of(x as usize & 31),
            if lane >= 3 { of(lane - 3) } else { x },
            if lane + 3 < 32 { of(lane + 3) } else { x },
            of(lane ^ 9),
            if lane % 8 >= 2 { of(lane - 2) } else { x },
            if lane % 8 + 2 < 8 { of(lane + 2) } else { x },
            of(lane / 4 * 4 + 1),
        ];
        assert_eq!(got, expected, "thread {i}");
    }
}

#[test]
fn reductions_of_whole_and_half_warps() {
    let values = inputs(11, 1 << 32);
    let mut launch = Launch::new(ptx!("warps"), "reductions");
    launch.input(&values);
    let out = launch.output::<[u32; 8]>(THREADS);
    launch.run([1, 1, 1], BLOCK);
    for (i, got) in launch.read(&out).into_iter().enumerate() {
        let (warp, half) = parts(&values, i);
        let fold =
            |part: &[i32], by: fn(u32, u32) -> u32| part.iter().map(|&x| x as u32).reduce(by);
        let expected = [
            fold(warp, u32::wrapping_add),
            warp.iter().min().map(|&x| x as u32),
            fold(warp, u32::min),
            half.iter().max().map(|&x| x as u32),
            fold(half, u32::max),
            fold(half, |a, b| a & b),
            fold(warp, |a, b| a | b),
            fold(warp, |a, b| a ^ b),
        ];
        assert_eq!(got.map(Some), expected, "thread {i}");
    }
}

#[test]
fn a_scan_by_shuffles_of_doubles() {
    let values: Vec<f64> = noise(12)
        .map(|bits| bits as f64 / 1e15)
        .take(THREADS)
        .collect();
    let mut launch = Launch::new(ptx!("warps"), "scan");
    launch.input(&values);
    let out = launch.output::<f64>(THREADS);
    launch.run([1, 1, 1], BLOCK);
    let mut expected = values;
    for warp in expected.chunks_mut(32) {
        for by in [1, 2, 4, 8, 16] {
            for lane in (by..32).rev() {
                warp[lane] += warp[lane - by];
            }
        }
    }
    assert_eq!(launch.read(&out), expected);
}
