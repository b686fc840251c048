//! Indexed branches, and loops that lanes leave at different times.

use super::{Launch, noise, ptx};

/// The switch of `by_case`.
fn by_case(x: i32, mut to: [i32; 4]) -> [i32; 4] {
    match x {
        0 => {
            to[0] = 17;
            to[1] = to[2].wrapping_add(1);
        }
        1 => to[1] = (x * 31) ^ 5,
        2 => {
            to[2] = (x + 100).count_ones() as i32;
            to[0] = 8;
        }
        3 => {
            to[3] = x << 7;
            to[2] = to[3].wrapping_add(to[1]);
        }
        4 => to = to.map(|value| value.wrapping_mul(x)),
        5 => {
            to[0] = to[1];
            to[1] = to[2];
        }
        6 | 7 => {
            if x == 6 {
                to[2] = x / 3 + 1000;
            }
            to[3] = to[2] % 4 - 9;
        }
        8 => {
            to[1] = x.leading_zeros() as i32;
            to[3] = -1;
        }
        9 => {
            to[0] = x * x * x;
            return to;
        }
        _ => to[2] = x.wrapping_neg(),
    }
    to[3] = to[3].wrapping_add(1);
    to
}

#[test]
fn an_indexed_branch_takes_every_case() {
    let mut random = noise(1);
    let cases: Vec<i32> = (0..96).map(|i| (i * 7) % 13 - 1).collect();
    let before: Vec<[i32; 4]> =
        std::iter::repeat_with(|| [0; 4].map(|_: i32| random.next().unwrap_or(0) as i32))
            .take(cases.len())
            .collect();
    let mut launch = Launch::new(ptx!("branches"), "by_case");
    launch.input(&cases);
    let out = launch.input(&before);
    launch.run([1, 1, 1], [96, 1, 1]);
    let got = launch.read(&out);
    for ((x, before), got) in cases.into_iter().zip(before).zip(got) {
        assert_eq!(got, by_case(x, before), "case {x}");
    }
}

#[test]
fn lanes_leave_a_loop_at_different_times() {
    let inputs: Vec<u32> = (1..=100).chain([u32::MAX, 77_031, 837_799]).collect();
    let mut launch = Launch::new(ptx!("branches"), "collatz");
    launch.input(&inputs);
    let out = launch.output::<u32>(inputs.len());
    launch.run([1, 1, 1], [inputs.len() as u32, 1, 1]);
    for (start, got) in inputs.iter().zip(launch.read(&out)) {
        let (mut value, mut steps) = (u64::from(*start), 0);
        while value != 1 && steps < 500 {
            value = if value % 2 == 0 {
                value / 2
            } else {
                3 * value + 1
            };
            steps += 1;
        }
        assert_eq!(got, steps, "from {start}");
    }
}
