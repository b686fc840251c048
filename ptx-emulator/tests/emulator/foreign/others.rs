//! Kernels of clang and of Triton.

use super::{Launch, noise, ptx};
use bytemuck::{Pod, Zeroable};
use half::f16;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Options {
    scale: i32,
    offsets: [i16; 3],
    padding: [u8; 6],
    weight: f64,
    tags: [i8; 5],
    padding_after: [u8; 3],
}

#[test]
fn clang_passes_aggregates_by_value() {
    let options = Options {
        scale: -3,
        offsets: [100, -200, 32_767],
        weight: 0.125,
        tags: [1, -2, 3, -128, 127],
        ..Options::zeroed()
    };
    let mut launch = Launch::new(ptx!("clang"), "aggregates");
    launch.value(bytemuck::bytes_of(&options));
    let out = launch.output::<f64>(40);
    launch.run([1, 1, 1], [40, 1, 1]);
    for (i, got) in launch.read(&out).into_iter().enumerate() {
        let offset = options.offsets[i % 3].wrapping_add(i as i16);
        let product = options.scale * i32::from(offset);
        let expected = f64::from(product) + 2.0 * options.weight + f64::from(options.tags[i % 5]);
        assert_eq!(got, expected, "thread {i}");
    }
}

#[test]
fn clang_copies_memory() {
    let input: Vec<i8> = noise(21).map(|bits| bits as i8).take(24 * 40).collect();
    let mut launch = Launch::new(ptx!("clang"), "copies");
    launch.input(&input);
    let out = launch.output::<i8>(input.len());
    launch.run([1, 1, 1], [40, 1, 1]);
    let mut expected = input;
    for (i, local) in expected.chunks_mut(24).enumerate() {
        for at in 0..24 {
            local[at] = local[at].wrapping_add(local[(at * 7 + i) % 24]);
        }
    }
    assert_eq!(launch.read(&out), expected);
}

#[test]
fn clang_converts_halves() {
    let input: Vec<f16> = noise(22)
        .map(|bits| f16::from_bits(bits as u16 & 0xbbff))
        .take(64)
        .collect();
    let mut launch = Launch::new(ptx!("clang"), "halves");
    launch.input(&input);
    let out = launch.output::<f16>(64);
    launch.run([1, 1, 1], [64, 1, 1]);
    for (x, got) in input.into_iter().zip(launch.read(&out)) {
        // Both products are exact in f32, and so is their sum.
        let expected = f16::from_f32(x.to_f32() * 1.5 + x.to_f32().abs());
        assert_eq!(got.to_bits(), expected.to_bits(), "of {x}");
    }
}

#[test]
fn clang_shares_memory() {
    let input: Vec<i64> = noise(23).map(|bits| bits as i64).take(100).collect();
    let mut launch = Launch::new(ptx!("clang"), "reversed");
    launch.input(&input);
    let out = launch.output::<i64>(100);
    launch.run([1, 1, 1], [100, 1, 1]);
    assert_eq!(
        launch.read(&out),
        input.into_iter().rev().collect::<Vec<_>>()
    );
}

#[test]
fn clang_counts() {
    let mut launch = Launch::new(ptx!("clang"), "counted");
    let out = launch.input(&[1i32, 2, 3, 4, 5, 0]);
    launch.run([1, 1, 1], [64, 1, 1]);
    let sums =
        [0, 1, 2, 3].map(|class| class + 1 + (0..64).filter(|i| i % 4 == class).sum::<i32>());
    let [a, b, c, d] = sums;
    assert_eq!(launch.read(&out), [a, b, c, d, 63, 64f32.to_bits() as i32]);
}

/// A softmax by rows: `ex2.approx` of rounded differences, and sums by shuffles.
#[test]
fn triton_computes_a_softmax() {
    const COLUMNS: usize = 301;
    const ROWS: usize = 3;
    let input: Vec<f32> = noise(24)
        .map(|bits| bits as u32 as f32 * 2e-9 - 4.0)
        .take(ROWS * COLUMNS)
        .collect();
    let mut launch = Launch::new(ptx!("softmax"), "softmax");
    let out = launch.output::<f32>(ROWS * COLUMNS);
    launch.input(&input);
    launch.value(&(COLUMNS as i32).to_le_bytes());
    // Scratch memory of the compiler's own, which this kernel does not use.
    launch.value(&0u64.to_le_bytes());
    launch.value(&0u64.to_le_bytes());
    launch.shared(16);
    launch.run([ROWS as u32, 1, 1], [128, 1, 1]);
    let got = launch.read(&out);
    for (row, got) in input.chunks(COLUMNS).zip(got.chunks(COLUMNS)) {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = row.iter().map(|&x| f64::from(x - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        for (power, &got) in powers.into_iter().zip(got) {
            let exact = power / sum;
            assert!(
                (f64::from(got) - exact).abs() <= 3e-6 * exact,
                "{got}, not {exact}"
            );
        }
    }
}
