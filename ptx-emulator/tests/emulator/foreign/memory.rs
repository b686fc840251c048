//! Local arrays, static and dynamic shared memory, constants, caching operators, generic addresses.

use super::{Launch, noise, ptx};
use ptx_emulator::sanitize::Tool;

const LINE: [u32; 3] = [1, 1, 1];

#[test]
fn counters_in_a_local_array() {
    let inputs: Vec<u32> = noise(4).map(|bits| bits as u32).take(96).collect();
    let mut launch = Launch::new(ptx!("local_arrays"), "digits");
    launch.input(&inputs);
    let out = launch.output::<u32>(inputs.len());
    launch.run(LINE, [96, 1, 1]);
    for (input, got) in inputs.iter().zip(launch.read(&out)) {
        let text = input.to_string();
        let count = |digit: u32| {
            text.chars()
                .filter(|c| c.to_digit(10) == Some(digit))
                .count()
        };
        let expected = (0..10).rev().max_by_key(|&digit| count(digit));
        assert_eq!(Some(got), expected, "of {input}");
    }
}

#[test]
fn a_local_array_is_sorted_in_place() {
    let values: Vec<f64> = noise(5)
        .map(|bits| (bits % 1000) as f64 - 500.0)
        .take(64 * 8)
        .collect();
    let mut launch = Launch::new(ptx!("local_arrays"), "sorted");
    launch.input(&values);
    let out = launch.output::<f64>(values.len());
    launch.run(LINE, [64, 1, 1]);
    for (row, got) in values.chunks(8).zip(launch.read(&out).chunks(8)) {
        let mut expected = row.to_vec();
        expected.sort_by(f64::total_cmp);
        assert_eq!(got, expected);
    }
}

#[test]
fn bytes_of_a_local_array() {
    let places: Vec<u8> = (0..16).map(|i| i * 7 % 16 + 16 * (i % 3)).collect();
    let mut launch = Launch::new(ptx!("local_arrays"), "bytes");
    launch.input(&places);
    let out = launch.output::<[u8; 16]>(40);
    launch.run(LINE, [40, 1, 1]);
    for (thread, got) in launch.read(&out).into_iter().enumerate() {
        let mut expected = [0; 16];
        for (i, place) in places.iter().enumerate() {
            expected[usize::from(place % 16)] = (i + thread) as u8;
        }
        assert_eq!(got, expected, "thread {thread}");
    }
}

#[test]
fn a_tree_of_sums_in_shared_memory() {
    let values: Vec<f32> = noise(6)
        .map(|bits| bits as u32 as f32 * 1e-9 - 2.0)
        .take(3 * 256)
        .collect();
    let mut launch = Launch::new(ptx!("shared"), "reduce");
    launch.input(&values);
    let out = launch.output::<f32>(3);
    launch.run([3, 1, 1], [256, 1, 1]);
    for (block, got) in values.chunks(256).zip(launch.read(&out)) {
        let mut partial = block.to_vec();
        for half in [128, 64, 32, 16, 8, 4, 2, 1] {
            for i in 0..half {
                partial[i] += partial[i + half];
            }
        }
        assert_eq!(got, partial[0]);
    }
}

#[test]
fn arrays_of_four_types_share_a_block() {
    let mut launch = Launch::new(ptx!("shared"), "mixed");
    let out = launch.output::<i32>(64);
    launch.shared(64 * 8);
    launch.run(LINE, [64, 1, 1]);
    for (i, got) in (0..64).zip(launch.read(&out)) {
        let j = 63 - i;
        assert_eq!(got, 1000 * j - j + j + j * j, "thread {i}");
    }
}

#[test]
fn one_function_reads_three_spaces() {
    let input = [5, -7, 11, 40];
    let mut launch = Launch::new(ptx!("shared"), "generic");
    launch.input(&input);
    let out = launch.output::<i32>(64);
    launch.run(LINE, [64, 1, 1]);
    let sum: i32 = input.iter().sum();
    for (i, got) in (0..64).zip(launch.read(&out)) {
        assert_eq!(
            got,
            [1 + 2 + 3, sum, sum + 4 * i][i as usize % 3],
            "thread {i}"
        );
    }
}

#[test]
fn barriers_count_and_vote() {
    for threads in [4, 64, 90] {
        let mut launch = Launch::new(ptx!("shared"), "counted");
        let out = launch.output::<i32>(threads as usize);
        launch.run(LINE, [threads, 1, 1]);
        let expected = threads / 2 * 100 + u32::from(threads <= 64) * 10 + u32::from(threads > 5);
        assert_eq!(launch.read(&out), vec![expected as i32; threads as usize]);
    }
}

#[test]
fn constants_have_their_values() {
    let inputs: Vec<i32> = (-20..44).collect();
    let mut launch = Launch::new(ptx!("spaces"), "polynomial");
    launch.input(&inputs);
    let out = launch.output::<f32>(inputs.len());
    launch.run(LINE, [64, 1, 1]);
    let coefficients = [3, -1, 4, -1, 5];
    for ((i, x), got) in inputs.into_iter().enumerate().zip(launch.read(&out)) {
        let value = coefficients.iter().rev().fold(0i32, |sum, c| sum * x + c);
        // A quarter of a sum below 2^24: nothing is rounded.
        assert_eq!(
            got,
            0.25 * value as f32 + coefficients[i % 5] as f32,
            "x = {x}"
        );
    }
}

#[test]
fn volatile_and_cached_accesses_of_vectors() {
    let inputs: Vec<[f32; 4]> = (0..48)
        .map(|i| [0.0, 0.5, 1.0, 1.5].map(|x| x + i as f32))
        .collect();
    let flags: Vec<i32> = (0..48).map(|i| 100 * i).collect();
    let mut launch = Launch::new(ptx!("spaces"), "accesses");
    launch.input(&inputs);
    let out = launch.output::<[f32; 4]>(48);
    let flags_after = launch.input(&flags);
    launch.run(LINE, [48, 1, 1]);
    let after = launch.read(&flags_after);
    assert!(
        after
            .iter()
            .zip(&flags)
            .all(|(after, before)| *after == before + 1)
    );
    for ((input, flag), got) in inputs.into_iter().zip(after).zip(launch.read(&out)) {
        let [x, y, z, w] = input;
        assert_eq!(got, [x + x + flag as f32, y + y, z + x, w + y]);
    }
}

#[test]
fn variables_of_the_module_and_pointers_to_them() {
    let mut launch = Launch::new(ptx!("spaces"), "globals");
    let out = launch.output::<i32>(40);
    launch.run(LINE, [40, 1, 1]);
    let coefficients = [3, -1, 4, -1, 5];
    for (i, got) in launch.read(&out).into_iter().enumerate() {
        assert_eq!(
            got,
            42 + coefficients.get(i).copied().unwrap_or(0),
            "thread {i}"
        );
    }
    // The variable keeps its value; the sanitizers know that it was written.
    launch.run(LINE, [40, 1, 1]);
    assert_eq!(launch.read(&out)[39], 44);
    let races = launch.findings([2, 1, 1], [40, 1, 1]);
    assert!(
        races
            .iter()
            .all(|finding| finding.tool() == Tool::Racecheck)
    );
    assert!(!races.is_empty(), "two blocks increment the variable");
}

#[test]
fn special_registers() {
    let (grid, block) = ([3, 2, 2], [5, 3, 4]);
    let mut launch = Launch::new(ptx!("spaces"), "specials");
    let out = launch.output::<[u32; 8]>(12 * 60);
    launch.run(grid, block);
    for (i, got) in (0..12 * 60).zip(launch.read(&out)) {
        let (block, thread) = (i / 60, i % 60);
        let lane = thread % 32;
        assert_eq!(
            got[..5],
            [block, thread, lane, thread / 32, (1 << lane) - 1]
        );
        assert_eq!(
            (got[5], got[7]),
            (1, 1),
            "clocks run, %smid is below %nsmid"
        );
    }
}
