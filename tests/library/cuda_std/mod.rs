//! The kernels of `cuda_std/device-tests`, which exercise every function of `cuda_std`: what they
//! compute on every engine, and which instructions they are made of.

mod atomics;
mod clusters;
mod floats;
mod misc;
mod ptx;
mod warps;

use crate::first_gpu;
use ptx::PTX;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Buffer, Engine};
use warpladder::launch::{Arg, Dim3, Launch};

/// Calls `test` with the emulator and, where there is one, with the GPU.
pub(crate) fn on_every_engine(test: impl Fn(&dyn Engine)) {
    let emulator: Box<dyn Engine> = Box::new(EmulatorEngine::new());
    for engine in [Some(emulator), first_gpu::open()].into_iter().flatten() {
        // Shown where the test fails.
        println!("on {}", engine.device_name());
        test(&*engine);
    }
}

/// A buffer that holds `values`.
pub(crate) fn buffer<'e, T: bytemuck::NoUninit>(
    engine: &'e dyn Engine,
    values: &[T],
) -> Buffer<'e> {
    let buffer = Buffer::new(engine, size_of_val(values)).unwrap();
    buffer.upload(values).unwrap();
    buffer
}

/// The first `len` elements of a buffer.
pub(crate) fn read<T: bytemuck::Pod>(buffer: &Buffer<'_>, len: usize) -> Vec<T> {
    let mut values = vec![T::zeroed(); len];
    buffer.download(&mut values).unwrap();
    values
}

/// Runs the kernel `entry`, with 64 words of dynamic shared memory.
fn run(engine: &dyn Engine, entry: &str, grid: Dim3, block: Dim3, args: &[Arg<'_>]) {
    run_of(engine, PTX, entry, grid, block, args);
}

/// Runs the kernel `entry` of a module.
pub(crate) fn run_of(
    engine: &dyn Engine,
    ptx: &'static str,
    entry: &str,
    grid: Dim3,
    block: Dim3,
    args: &[Arg<'_>],
) {
    let launch = Launch {
        kernel: engine.load(ptx, entry).unwrap(),
        grid,
        block,
        cluster: Dim3::ONE,
        shared_bytes: 256,
        args,
    };
    // SAFETY: each kernel gets buffers of the sizes that it reads and writes.
    unsafe { engine.run(&launch) }.unwrap();
}

/// Runs a kernel whose only parameter is its output, `columns` words for each thread; returns a row
/// for each thread.
fn rows(
    engine: &dyn Engine,
    entry: &str,
    grid: Dim3,
    block: Dim3,
    columns: usize,
) -> Vec<Vec<u32>> {
    let len = (grid.count() * block.count()) as usize * columns;
    let output = buffer(engine, &vec![u32::MAX; len]);
    run(engine, entry, grid, block, &[Arg::Ptr(output.ptr())]);
    let words = read::<u32>(&output, len);
    words.chunks(columns).map(<[u32]>::to_vec).collect()
}

pub(crate) const fn along_x(x: u32) -> Dim3 {
    Dim3::new(x, 1, 1)
}

#[test]
fn indices() {
    on_every_engine(|engine| {
        let (grid, block) = (Dim3::new(2, 3, 2), Dim3::new(4, 2, 3));
        let mut rows = rows(engine, "indices", grid, block, 16).into_iter();
        for b in positions(grid) {
            for t in positions(block) {
                let expected = [
                    [t.x, t.y, t.z],
                    [b.x, b.y, b.z],
                    [4, 2, 3],
                    [2, 3, 2],
                    [b.x * 4 + t.x, b.y * 2 + t.y, b.z * 3 + t.z],
                ]
                .concat();
                let first = b == Dim3::new(0, 0, 0) && t == Dim3::new(0, 0, 0);
                // The row of the thread is where `thread::index` puts it.
                let row = rows.next().unwrap();
                assert_eq!(row[..15], expected);
                assert_eq!(row[15], u32::from(first));
            }
        }
    });
}

/// Every position in a box, x fastest.
fn positions(extents: Dim3) -> impl Iterator<Item = Dim3> {
    let Dim3 { x, y, z } = extents;
    (0..x * y * z).map(move |i| Dim3::new(i % x, i / x % y, i / (x * y)))
}

#[test]
fn shared_arrays_are_apart() {
    on_every_engine(|engine| {
        let rows = rows(engine, "shared_arrays", along_x(1), along_x(64), 3);
        for (row, other) in rows.iter().zip((0..64).rev()) {
            assert_eq!(*row, [other, 100 + other, 200 + other]);
        }
    });
}

#[test]
fn barriers_reduce() {
    on_every_engine(|engine| {
        // Of the threads 0 to 95 of each block, 32 are multiples of 3, all are below 1000 and none
        // is 1000.
        for row in rows(engine, "barriers", along_x(2), along_x(96), 3) {
            assert_eq!(row, [32, 1, 0]);
        }
    });
}

#[test]
fn shuffles() {
    on_every_engine(|engine| {
        let rows = rows(engine, "shuffles", along_x(1), along_x(64), 9);
        for (row, lane) in rows.iter().zip((0..32).cycle()) {
            let in_eight = lane % 8;
            let expected = [
                lane,
                // A lane without a source keeps its own value.
                if in_eight >= 3 { lane - 3 } else { lane },
                u32::from(in_eight >= 3),
                if in_eight < 5 { lane + 3 } else { lane },
                u32::from(in_eight < 5),
                2 * (lane ^ 16) + 1,
                lane - in_eight + 5,
                31 - lane,
                lane ^ 1,
            ];
            assert_eq!(*row, expected, "lane {lane}");
        }
    });
}

#[test]
fn votes() {
    on_every_engine(|engine| {
        let rows = rows(engine, "votes", along_x(1), along_x(64), 6);
        for (row, lane) in rows.iter().zip((0..32).cycle()) {
            let (same_of_four, even) = (0x1111_1111 << (lane % 4), 0x5555);
            let lower_half = lane < 16;
            let ballot = if lower_half { even } else { 0 };
            assert_eq!(row[..5], [1, 0, 0, same_of_four, ballot], "lane {lane}");
            // Which of the lanes that branched together run together is the hardware's choice.
            let (active, own) = (row[5], 1 << lane);
            if lower_half {
                assert!(active & own != 0 && active <= 0xffff, "{active:#x}");
            } else {
                assert_eq!(active, 0);
            }
        }
    });
}

/// What the kernel `floats` makes of `x`.
macro_rules! float_functions {
    ($x:expr) => {{
        let x = $x;
        [
            x.mul_add(x, -(x * x)),
            (x * x).sqrt(),
            x.floor(),
            x.ceil(),
            x.trunc(),
            x.round_ties_even(),
            (1.0 - x) / x,
            x.abs(),
        ]
    }};
}

#[test]
fn floats_are_rounded_as_on_the_host() {
    let magnitudes = [
        0.1,
        0.5,
        1.5,
        2.5,
        3.3,
        1e-30,
        7e20,
        123.456,
        1.0 / 3.0,
        8_388_609.0,
        1e-3,
        6.999_999_5,
    ];
    let input: Vec<f32> = magnitudes.into_iter().flat_map(|x| [x, -x]).collect();
    on_every_engine(|engine| {
        let (from, threads) = (buffer(engine, &input), input.len());
        let to = buffer(engine, &vec![f32::NAN; 8 * threads]);
        let to_f64 = buffer(engine, &vec![f64::NAN; 8 * threads]);
        let args = [
            Arg::Ptr(from.ptr()),
            Arg::U64(threads as u64),
            Arg::Ptr(to.ptr()),
            Arg::Ptr(to_f64.ptr()),
        ];
        run(engine, "floats", along_x(1), along_x(threads as u32), &args);
        let singles = read::<f32>(&to, 8 * threads);
        let doubles = read::<f64>(&to_f64, 8 * threads);
        for (i, &x) in input.iter().enumerate() {
            let row = 8 * i..8 * (i + 1);
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            let expected = float_functions!(x);
            assert_eq!(bits(&singles[row.clone()]), bits(&expected), "f32 of {x}");
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            let expected = float_functions!(f64::from(x));
            assert_eq!(bits(&doubles[row]), bits(&expected), "f64 of {x}");
        }
    });
}

#[test]
fn vectors_are_moved_whole() {
    let floats: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let doubles: Vec<f64> = (0..64).map(f64::from).collect();
    let words: Vec<u32> = (0..128).collect();
    on_every_engine(|engine| {
        let (from, from_f64) = (buffer(engine, &floats), buffer(engine, &doubles));
        let (to, to_f64) = (
            buffer(engine, &[f32::NAN; 128]),
            buffer(engine, &[f64::NAN; 64]),
        );
        let args = [
            Arg::Ptr(from.ptr()),
            Arg::U64(128),
            Arg::Ptr(to.ptr()),
            Arg::Ptr(from_f64.ptr()),
            Arg::U64(64),
            Arg::Ptr(to_f64.ptr()),
        ];
        run(engine, "float_vectors", along_x(1), along_x(32), &args);
        let reversed: Vec<f32> = floats.iter().rev().copied().collect();
        assert_eq!(read::<f32>(&to, 128), reversed);
        let in_pairs: Vec<f64> = doubles
            .chunks(2)
            .flat_map(|pair| [pair[1], pair[0]])
            .collect();
        assert_eq!(read::<f64>(&to_f64, 64), in_pairs);

        let (quads, pairs) = (buffer(engine, &words), buffer(engine, &words[..64]));
        let quads_out = buffer(engine, &[u32::MAX; 128]);
        let pairs_out = buffer(engine, &[u32::MAX; 64]);
        let args = [
            Arg::Ptr(quads.ptr()),
            Arg::U64(128),
            Arg::Ptr(quads_out.ptr()),
            Arg::Ptr(pairs.ptr()),
            Arg::U64(64),
            Arg::Ptr(pairs_out.ptr()),
        ];
        run(engine, "integer_vectors", along_x(1), along_x(32), &args);
        let reversed_by = |n: usize, words: &[u32]| -> Vec<u32> {
            words
                .chunks(n)
                .flat_map(|vector| vector.iter().rev().copied())
                .collect()
        };
        assert_eq!(read::<u32>(&quads_out, 128), reversed_by(4, &words));
        assert_eq!(read::<u32>(&pairs_out, 64), reversed_by(2, &words[..64]));
    });
}

#[test]
fn atomics_lose_nothing() {
    const THREADS: u32 = 5 * 96;
    on_every_engine(|engine| {
        let (count, sum, sum_f64) = (
            buffer(engine, &[0_u32]),
            buffer(engine, &[0.0_f32]),
            buffer(engine, &[0.0_f64]),
        );
        let (least, greatest) = (buffer(engine, &[1_i32]), buffer(engine, &[0_u64]));
        let before = buffer(engine, &[u32::MAX; 3 * THREADS as usize]);
        let args = [&count, &sum, &sum_f64, &least, &greatest, &before].map(|b| Arg::Ptr(b.ptr()));
        run(engine, "atomics", along_x(5), along_x(96), &args);
        assert_eq!(read::<u32>(&count, 1), [THREADS]);
        // Sums of this many ones are exact.
        assert_eq!(read::<f32>(&sum, 1), [THREADS as f32]);
        assert_eq!(read::<f64>(&sum_f64, 1), [f64::from(THREADS)]);
        assert_eq!(read::<i32>(&least, 1), [1 - THREADS as i32]);
        assert_eq!(read::<u64>(&greatest, 1), [u64::from(THREADS - 1) << 32]);
        let before = read::<u32>(&before, 3 * THREADS as usize);
        for column in 0..3 {
            let mut seen: Vec<u32> = before.iter().skip(column).step_by(3).copied().collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..THREADS), "column {column}");
        }

        let sums = buffer(engine, &[f32::NAN; 3]);
        run(
            engine,
            "shared_atomics",
            along_x(3),
            along_x(64),
            &[Arg::Ptr(sums.ptr())],
        );
        assert_eq!(read::<f32>(&sums, 3), [(63 * 64 / 2) as f32; 3]);
    });
}

#[test]
fn parameters_of_every_kind_arrive() {
    let values: Vec<u32> = (0..100).collect();
    on_every_engine(|engine| {
        let (changed, factor) = (buffer(engine, &values), buffer(engine, &[3_u32]));
        let scalars = buffer(engine, &[f64::NAN; 4]);
        // C layout: four bytes of padding before the second field.
        let mut pair = [0_u8; 16];
        pair[..4].copy_from_slice(&7_u32.to_ne_bytes());
        pair[8..].copy_from_slice(&0.1_f64.to_ne_bytes());
        let args = [
            Arg::Ptr(changed.ptr()),
            Arg::U64(90),
            Arg::Ptr(factor.ptr()),
            Arg::U32(5),
            Arg::Bytes(&pair),
            Arg::F32(0.25),
            Arg::F64(1e300),
            Arg::Ptr(scalars.ptr()),
        ];
        run(engine, "parameters", along_x(2), along_x(64), &args);
        // The slice has 90 elements; those behind it stay.
        let expected: Vec<u32> = (0..100)
            .map(|i| if i < 90 { 3 * i + 5 } else { i })
            .collect();
        assert_eq!(read::<u32>(&changed, 100), expected);
        assert_eq!(read::<f64>(&scalars, 4), [7.0, 0.1, 0.25, 1e300]);
    });
}

#[test]
fn hints_change_no_value() {
    let input: Vec<f32> = (0..8).map(|i| i as f32 + 0.5).collect();
    on_every_engine(|engine| {
        let from = buffer(engine, &input);
        for (entry, len) in [("opaque", 1), ("rolled", 8)] {
            let to = buffer(engine, &vec![f32::NAN; len]);
            let args = [
                Arg::Ptr(from.ptr()),
                Arg::U64(len as u64),
                Arg::Ptr(to.ptr()),
            ];
            run(engine, entry, along_x(1), along_x(1), &args);
            assert_eq!(read::<f32>(&to, len), input[..len], "{entry}");
        }
    });
}

#[test]
fn floats_of_16_bits_are_widened_exactly() {
    let bits: Vec<u16> = (0..=u16::MAX).collect();
    on_every_engine(|engine| {
        let from = buffer(engine, &bits);
        let to = buffer(engine, &vec![f32::NAN; 2 * bits.len()]);
        let args = [
            Arg::Ptr(from.ptr()),
            Arg::U64(bits.len() as u64),
            Arg::Ptr(to.ptr()),
        ];
        run(engine, "widen", along_x(256), along_x(256), &args);
        let wide = read::<f32>(&to, 2 * bits.len());
        for (&bits, found) in bits.iter().zip(wide.chunks(2)) {
            let expected = [
                half::f16::from_bits(bits).to_f32(),
                half::bf16::from_bits(bits).to_f32(),
            ];
            // One NaN may become another.
            let same =
                |(a, b): (&f32, f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(
                found.iter().zip(expected).all(same),
                "{bits:#06x}: {found:?}"
            );
        }
    });
}

#[test]
fn floats_are_rounded_to_the_nearest_of_16_bits() {
    // All exponents of either sign, with fractions at, before and behind the places where rounding
    // turns: halfway to an even and to an odd number of each kind among them.
    let fractions = [
        0, 1, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000, 0x8001, 0x1_7fff,
        0x1_8000, 0x1_8001, 0x40_0000, 0x7f_8000, 0x7f_ffff,
    ];
    let numbers: Vec<f32> = (0..512u32)
        .flat_map(|exponent| fractions.map(|fraction| f32::from_bits(exponent << 23 | fraction)))
        .collect();
    on_every_engine(|engine| {
        let from = buffer(engine, &numbers);
        let blocks = numbers.len().div_ceil(256) as u32;
        let to = buffer(engine, &vec![u32::MAX; numbers.len()]);
        let args = [
            Arg::Ptr(from.ptr()),
            Arg::U64(numbers.len() as u64),
            Arg::Ptr(to.ptr()),
        ];
        run(engine, "from_wide", along_x(blocks), along_x(256), &args);
        for (&number, found) in numbers.iter().zip(read::<u32>(&to, numbers.len())) {
            let (half, bfloat) = (
                half::f16::from_bits(found as u16),
                half::bf16::from_bits((found >> 16) as u16),
            );
            let expected = (half::f16::from_f32(number), half::bf16::from_f32(number));
            let same = if number.is_nan() {
                half.is_nan() && bfloat.is_nan()
            } else {
                (half.to_bits(), bfloat.to_bits()) == (expected.0.to_bits(), expected.1.to_bits())
            };
            assert!(same, "{number:e}: {half} and {bfloat}, not {expected:?}");
        }
    });
}
