//! Atomics on global and on shared memory.

use super::{Launch, noise, ptx};

const GRID: [u32; 3] = [4, 1, 1];
const BLOCK: [u32; 3] = [64, 1, 1];
const THREADS: u32 = 256;

/// The result of all threads, in any order.
fn folded<T>(start: T, step: impl Fn(T, u32) -> T) -> T {
    (0..THREADS).fold(start, step)
}

#[test]
fn words() {
    let start = [10, 20, 5000, 0, u32::MAX, 0, 0, 0, 0, 1, 5];
    let signed_start = [0, i32::MAX, i32::MIN];
    let mut launch = Launch::new(ptx!("atomics"), "words");
    let (all, signed) = (launch.input(&start), launch.input(&signed_start));
    launch.run(GRID, BLOCK);
    let s = |i: u32| i.wrapping_mul(2_654_435_761) as i32 >> 8;
    let expected = [
        folded(10, |sum: u32, i| sum.wrapping_add(i)),
        folded(20, |sum: u32, i| sum.wrapping_sub(2 * i)),
        folded(5000, |least: u32, i| least.min(i ^ 0x155)),
        folded(0, |most: u32, i| most.max(i ^ 0x155)),
        folded(u32::MAX, |all, i| all & !(1 << (i % 9))),
        folded(0, |all, i| all | 1 << (i % 13)),
        folded(0, |all, i| all ^ i),
        // Counts from 0 to 99 and from 99 to 0.
        THREADS % 100,
        (100 - THREADS % 100) % 100,
        7,
        6,
    ];
    assert_eq!(launch.read(&all), expected);
    let expected = [
        folded(0, |sum: i32, i| sum.wrapping_add(s(i))),
        folded(i32::MAX, |least, i| least.min(s(i))),
        folded(i32::MIN, |most, i| most.max(s(i))),
    ];
    assert_eq!(launch.read(&signed), expected);
}

#[test]
fn longs() {
    let start = [1, u64::MAX, 0, u64::MAX, 0, 0, 0, 5];
    let signed_start = [i64::MAX, i64::MIN];
    let mut launch = Launch::new(ptx!("atomics"), "longs");
    let (all, signed) = (launch.input(&start), launch.input(&signed_start));
    launch.run(GRID, BLOCK);
    let x = |i: u32| u64::from(i) << 33 | u64::from(i);
    let expected = [
        folded(1, |sum: u64, i| sum.wrapping_add(x(i))),
        5,
        x(THREADS - 1),
        folded(u64::MAX, |all, i| all & !(1 << (32 + i % 9))),
        folded(0, |all, i| all | 1 << (30 + i % 13)),
        folded(0, |all, i| all ^ x(i)),
        7 << 40,
        6,
    ];
    assert_eq!(launch.read(&all), expected);
    assert_eq!(launch.read(&signed), [100 - x(THREADS - 1) as i64, 100]);
}

#[test]
fn reductions_without_a_result() {
    let mut launch = Launch::new(ptx!("atomics"), "reductions");
    let (all, float) = (launch.input(&[3u32, 0, 0, 0]), launch.input(&[0.5f32]));
    launch.run(GRID, BLOCK);
    let expected = [
        folded(3, |sum, i| sum + i),
        THREADS - 1,
        0x1fff,
        THREADS % 10,
    ];
    assert_eq!(launch.read(&all), expected);
    assert_eq!(launch.read(&float), [0.5 + (THREADS / 8 * 28) as f32]);
}

#[test]
fn sums_of_floats() {
    let mut launch = Launch::new(ptx!("atomics"), "floats");
    let (single, double) = (launch.input(&[1.0f32; 4]), launch.input(&[0.25f64; 4]));
    launch.run(GRID, BLOCK);
    let sums = [0, 1, 2, 3].map(|class: u32| -> u32 {
        (0..THREADS)
            .filter(|i| i % 4 == class)
            .map(|i| i % 32)
            .sum()
    });
    assert_eq!(launch.read(&single), sums.map(|sum| 1.0 + sum as f32));
    assert_eq!(
        launch.read(&double),
        sums.map(|sum| 0.25 + 0.5 * f64::from(sum))
    );
}

#[test]
fn every_ticket_is_drawn_once() {
    let mut launch = Launch::new(ptx!("atomics"), "tickets");
    let next = launch.input(&[0u32]);
    let taken = launch.output::<u32>(THREADS as usize);
    launch.run(GRID, BLOCK);
    assert_eq!(launch.read(&next), [THREADS]);
    let mut tickets = launch.read(&taken);
    tickets.sort_unstable();
    let expected: Vec<u32> = (0..4)
        .flat_map(|block| (0..64).map(move |own| block << 16 | own))
        .collect();
    assert_eq!(tickets, expected);
}

#[test]
fn compare_and_swap_in_a_loop() {
    let inputs: Vec<f32> = noise(7)
        .map(|bits| (bits % 100_000) as f32 * 0.01)
        .take(THREADS as usize)
        .collect();
    let mut launch = Launch::new(ptx!("atomics"), "largest");
    launch.input(&inputs);
    let out = launch.input(&[0.0f32]);
    launch.run(GRID, BLOCK);
    let expected = inputs.into_iter().fold(0.0, f32::max);
    assert_eq!(launch.read(&out), [expected]);
}

#[test]
fn histogram_in_shared_memory() {
    let inputs: Vec<u8> = noise(8)
        .map(|bits| bits as u8)
        .take(THREADS as usize)
        .collect();
    let mut launch = Launch::new(ptx!("atomics"), "histogram");
    launch.input(&inputs);
    let out = launch.input(&[100u32; 16]);
    launch.run(GRID, BLOCK);
    let mut expected = [100; 16];
    for input in inputs {
        expected[usize::from(input % 16)] += 1;
    }
    assert_eq!(launch.read(&out), expected);
}
