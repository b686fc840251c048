//! Reductions, matches and shuffles of every width.

use super::ptx::PTX_90;
use super::{along_x, buffer, on_every_engine, read, rows, run_of};
use warpladder::device::ComputeCapability;
use warpladder::launch::Arg;

/// What every lane's row holds, and what only those of every third lane hold besides.
fn expected() -> (Vec<u32>, [u32; 2]) {
    let values: Vec<i32> = (0..32).map(|lane| lane * lane - 100).collect();
    let words: Vec<u32> = values.iter().map(|&value| value as u32).collect();
    let bits = [
        words.iter().fold(u32::MAX, |a, b| a & b),
        words.iter().fold(0, |a, b| a | b),
        words.iter().fold(0, |a, b| a ^ b),
    ];
    let sum = values.iter().sum::<i32>() as u32;
    let extremes = |values: [u32; 2]| values;
    let signed = extremes([
        *values.iter().min().unwrap() as u32,
        *values.iter().max().unwrap() as u32,
    ]);
    let unsigned = extremes([*words.iter().min().unwrap(), *words.iter().max().unwrap()]);
    let all = [&[sum], &signed[..], &bits, &[sum], &unsigned, &bits].concat();
    let thirds = values.iter().step_by(3).sum::<i32>() as u32;
    let largest = *words.iter().step_by(3).max().unwrap();
    (all, [thirds, largest])
}

fn assert_reduced(rows: &[Vec<u32>]) {
    let (all, thirds) = expected();
    for (row, lane) in rows.iter().zip((0..32).cycle()) {
        let of_mask = if lane % 3 == 0 { thirds } else { [0, 0] };
        assert_eq!(row[..12], all, "lane {lane}");
        assert_eq!(row[12..], of_mask, "lane {lane}");
    }
}

#[test]
fn reductions_by_shuffles() {
    on_every_engine(|engine| {
        assert_reduced(&rows(
            engine,
            "reductions_by_shuffles",
            along_x(1),
            along_x(64),
            14,
        ));
    });
}

#[test]
fn reductions_by_their_instruction() {
    on_every_engine(|engine| {
        if engine.compute_capability() < ComputeCapability::V9_0 {
            println!("left out: the module needs compute capability 9.0");
            return;
        }
        let output = buffer(engine, &[u32::MAX; 14 * 64]);
        run_of(
            engine,
            PTX_90,
            "reductions",
            along_x(1),
            along_x(64),
            &[Arg::Ptr(output.ptr())],
        );
        let words = read::<u32>(&output, 14 * 64);
        let rows: Vec<Vec<u32>> = words.chunks(14).map(<[u32]>::to_vec).collect();
        assert_reduced(&rows);
    });
}

#[test]
fn matches_of_32_and_64_bits() {
    on_every_engine(|engine| {
        let rows = rows(engine, "matches", along_x(1), along_x(64), 6);
        for (row, lane) in rows.iter().zip((0..32).cycle()) {
            let expected = [
                0xff << (lane / 8 * 8),
                0x5555_5555 << (lane % 2),
                u32::MAX,
                7,
                u32::MAX,
                7,
            ];
            assert_eq!(*row, expected, "lane {lane}");
        }
    });
}

#[test]
fn shuffles_of_8_16_and_128_bits() {
    on_every_engine(|engine| {
        let rows = rows(engine, "shuffles_of_widths", along_x(1), along_x(64), 6);
        for (row, lane) in rows.iter().zip((0..32_i32).cycle()) {
            let from = 31 - lane;
            // The last lane has none above it, and keeps its own value.
            let (above, in_range) = if lane < 31 { (lane + 1, 1) } else { (lane, 0) };
            let expected = [
                from as u32 + 200,
                -from as u32,
                from as u32 * 1000,
                -from as u32,
                (from as u32) << 2 | 3,
                -above as u32 ^ in_range << 31,
            ];
            assert_eq!(*row, expected, "lane {lane}");
        }
    });
}
