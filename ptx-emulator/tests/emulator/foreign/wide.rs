//! 128-bit integers by nvcc.

use super::{Launch, noise, ptx};

const THREADS: usize = 256;

/// Values of all lengths, with long runs of ones and zeros.
fn values(seed: u64) -> Vec<u128> {
    let mut bits = noise(seed);
    let mut next = || bits.next().unwrap_or(0);
    (0..THREADS)
        .map(|_| {
            let value = u128::from(next()) << 64 | u128::from(next());
            let value = match next() % 4 {
                0 => value | value >> 7 | value >> 13,
                1 => !(value & value >> 5),
                _ => value,
            };
            (value >> (next() % 128)).max(1)
        })
        .collect()
}

fn split(values: &[u128]) -> Vec<u64> {
    let halves = values.iter();
    halves
        .flat_map(|&value| [value as u64, (value >> 64) as u64])
        .collect()
}

fn join(words: &[u64]) -> Vec<u128> {
    let pairs = words.chunks_exact(2);
    pairs
        .map(|pair| u128::from(pair[1]) << 64 | u128::from(pair[0]))
        .collect()
}

#[test]
fn division_of_128_bits() {
    for seed in 1..5 {
        let (a, b) = (values(seed), values(seed + 100));
        let mut launch = Launch::new(ptx!("wide"), "unsigned_parts");
        launch.input(&split(&a));
        launch.input(&split(&b));
        let out = launch.output::<u64>(8 * THREADS);
        launch.run([2, 1, 1], [THREADS as u32 / 2, 1, 1]);
        let out = join(&launch.read(&out));
        for ((a, b), out) in a.iter().zip(&b).zip(out.chunks_exact(4)) {
            let wanted = [a / b, a % b, a.wrapping_mul(*b), a.wrapping_sub(*b)];
            assert_eq!(out, wanted, "{a:#x}, {b:#x}");
        }

        let mut launch = Launch::new(ptx!("wide"), "signed_parts");
        launch.input(&split(&a));
        launch.input(&split(&b));
        let out = launch.output::<u64>(4 * THREADS);
        launch.run([2, 1, 1], [THREADS as u32 / 2, 1, 1]);
        let out = join(&launch.read(&out));
        for ((a, b), out) in a.iter().zip(&b).zip(out.chunks_exact(2)) {
            let (a, b) = (*a as i128, *b as i128);
            let wanted = [a.wrapping_div(b) as u128, a.wrapping_rem(b) as u128];
            assert_eq!(out, wanted, "{a:#x}, {b:#x}");
        }
    }
}
