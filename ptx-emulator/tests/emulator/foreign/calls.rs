//! Functions that are not inlined, by nvcc with and without optimisation.

use super::{Launch, ptx};
use bytemuck::{Pod, Zeroable};

const BUILDS: [&str; 2] = [ptx!("calls"), ptx!("calls_debug")];
const THREADS: u32 = 70;

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Pair {
    sum: i32,
    product: f32,
    wide: i64,
}

#[test]
fn aggregates_are_passed_and_returned_by_value() {
    for text in BUILDS {
        let mut launch = Launch::new(text, "pairs");
        let out = launch.output::<Pair>(THREADS as usize);
        launch.run([1, 1, 1], [THREADS, 1, 1]);
        for (i, pair) in (0..THREADS as i32).zip(launch.read(&out)) {
            let (b, c) = ((i - 10) as i16, -i as i8);
            let expected = Pair {
                sum: i + i32::from(b) + i32::from(c),
                product: 0.5 * i as f32 * f32::from(b),
                wide: (1 << 40) - i64::from(c),
            };
            assert_eq!(pair, expected, "thread {i}");
        }
    }
}

#[test]
fn functions_call_themselves() {
    for text in BUILDS {
        let mut launch = Launch::new(text, "recursive");
        let out = launch.output::<i32>(THREADS as usize);
        launch.run([1, 1, 1], [THREADS, 1, 1]);
        let fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89];
        for (i, got) in launch.read(&out).into_iter().enumerate() {
            assert_eq!(got, fibonacci[i % 12], "thread {i}");
        }
    }
}

#[test]
fn pointers_to_local_variables_reach_the_callee() {
    for text in BUILDS {
        let mut launch = Launch::new(text, "local_pointers");
        let out = launch.output::<[i32; 2]>(THREADS as usize);
        launch.run([1, 1, 1], [THREADS, 1, 1]);
        for (i, got) in (0..THREADS as i32).zip(launch.read(&out)) {
            let expected = if i % 3 == 0 { [100, i] } else { [i, 100] };
            assert_eq!(got, expected, "thread {i}");
        }
    }
}

#[test]
fn lanes_of_a_warp_call_different_functions() {
    for text in BUILDS {
        let mut launch = Launch::new(text, "through_pointers");
        let out = launch.output::<i32>(THREADS as usize);
        launch.run([1, 1, 1], [THREADS, 1, 1]);
        for (i, got) in (0..THREADS as i32).zip(launch.read(&out)) {
            assert_eq!(got, [i + 7, i - 7, i * 7][i as usize % 3], "thread {i}");
        }
    }
}
