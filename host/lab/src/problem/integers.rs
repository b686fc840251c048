//! Problems of integers, in memory of elements of as many bits: scans and histograms. Their answers
//! are exact.

use super::{Problem, Shape, check_rows, random, stored_words};
use kernels_gpu::ladder::histogram::{BINS, bin};
use warpladder::check::{Method, Verdict};
use warpladder::element::Element;
use warpladder::launch::Param;

/// Integers, and what becomes of them.
pub(super) struct Integers<T> {
    shape: Shape,
    input: [Vec<T>; 1],
    expected: Vec<u32>,
}

impl<T: Element> Integers<T> {
    /// The inclusive scan of integers of all sizes; sums wrap around.
    pub(super) fn scan(shape: Shape, seed: u64) -> Self {
        let input = integers(shape, seed, |x| x);
        let mut sum = 0u32;
        let sums = input.iter().map(|&x| {
            sum = sum.wrapping_add(x);
            sum
        });
        let expected = sums.collect();
        Integers::of(shape, &input, expected)
    }

    /// The histogram of integers whose lowest bits are not spread evenly, as those of most data:
    /// bin b has about √((b + 1) / 256) - √(b / 256) of them, which is 1/16 for the first.
    pub(super) fn histogram(shape: Shape, seed: u64) -> Self {
        let input = integers(shape, seed, |x| {
            let share = f64::from(x) / (f64::from(u32::MAX) + 1.0);
            let low = (share * share * BINS as f64) as u32;
            x - x % BINS as u32 + low
        });
        let mut expected = vec![0u32; BINS];
        for &x in &input {
            expected[bin(x)] += 1;
        }
        Integers::of(shape, &input, expected)
    }

    fn of(shape: Shape, input: &[u32], expected: Vec<u32>) -> Self {
        Integers {
            shape,
            input: [stored_words(input)],
            expected,
        }
    }
}

/// As many integers as a shape has elements, of all sizes, each changed by `map`.
fn integers(shape: Shape, seed: u64, map: impl Fn(u32) -> u32) -> Vec<u32> {
    let values: Vec<f64> = random(shape.m as usize * shape.n as usize, seed, 1);
    // From [-1, 1) to [0, 2³²).
    let whole = |x: f64| ((x + 1.0) * f64::from(1u32 << 31)) as u32;
    values.into_iter().map(|x| map(whole(x))).collect()
}

impl<T: Element> Problem<T> for Integers<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn inputs(&self) -> &[Vec<T>] {
        &self.input
    }

    fn output_len(&self) -> usize {
        size_of_val(&self.expected[..]).div_ceil(size_of::<T>())
    }

    fn params(&self) -> Vec<Param> {
        vec![Param::Input(0), Param::Output]
    }

    fn check(&self, output: &[T]) -> Verdict {
        let bytes: &[u8] = bytemuck::cast_slice(output);
        let words = bytes.chunks_exact(size_of::<u32>());
        let words: Vec<u32> = words.map(bytemuck::pod_read_unaligned).collect();
        check_rows(
            (1, self.expected.len()),
            &|_, j| words[j].into(),
            &|_, j| self.expected[j].into(),
            &|_| 0.0.into(),
            Method::Exact,
        )
    }
}
