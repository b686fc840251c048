//! Times a list of products beside a launch for each of them, in turn, on the first GPU.
//!
//! `cargo run --release -p warpladder-benches --example grouped [EXPERTSxROWSxNxK …]`
//!
//! Operands and C are bf16. Each expert has weights of K × N; the rows, ROWS for each expert on
//! average, are sent to experts at random. Times are milliseconds; ratios say how many times as
//! fast the list is, in the same round.

use std::error::Error;

use half::bf16;
use warpladder::gpu::{DeviceArray, Gpu, Layout};

/// Rounds, in each of which both ways have a sample, and launches of a sample.
const ROUNDS: usize = 30;
const LAUNCHES: usize = 5;

/// The products of all experts.
struct Problem<'a> {
    gpu: &'a Gpu,
    /// First row and rows of each expert.
    rows: Vec<[usize; 2]>,
    n: usize,
    k: usize,
    a: DeviceArray<bf16>,
    weights: DeviceArray<bf16>,
    c: DeviceArray<bf16>,
}

impl Problem<'_> {
    /// Starts the products, as a list or each by itself.
    fn start(&mut self, as_list: bool) -> Result<(), Box<dyn Error>> {
        let (n, k) = (self.n, self.k);
        let of = |[first, rows]: [usize; 2], columns: usize| {
            Layout::row_major(rows, columns).at(first * columns)
        };
        let of_c: Vec<Layout> = self.rows.iter().map(|&rows| of(rows, n)).collect();
        let mut products = Vec::new();
        for (expert, c) in self.c.matrices_mut(&of_c)?.into_iter().enumerate() {
            let a = self.a.matrix(of(self.rows[expert], k))?;
            let b = Layout::row_major(k, n).at(expert * k * n);
            products.push((a, self.weights.matrix(b)?, c));
        }
        if as_list {
            return Ok(self.gpu.gemm_grouped(1.0, 0.0, products)?);
        }
        for (a, b, c) in products {
            self.gpu.gemm(1.0, a, b, 0.0, c)?;
        }
        Ok(())
    }

    /// Milliseconds of all products.
    fn sample(&mut self, as_list: bool) -> Result<f64, Box<dyn Error>> {
        let [before, after] = [self.gpu.event()?, self.gpu.event()?];
        self.gpu.record(&before)?;
        for _ in 0..LAUNCHES {
            self.start(as_list)?;
        }
        self.gpu.record(&after)?;
        after.synchronize()?;
        Ok(after.elapsed_ms_since(&before)? / LAUNCHES as f64)
    }
}

/// The value at a share of sorted ones.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(share * (values.len() - 1) as f64).round() as usize]
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut sizes: Vec<String> = std::env::args().skip(1).collect();
    if sizes.is_empty() {
        sizes = ["8x512x14336x4096", "64x16x1408x2048", "32x40x512x512"]
            .map(str::to_owned)
            .to_vec();
    }
    let gpu = Gpu::new()?;
    let mut state = 1u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize
    };
    println!("ms of the list and of a launch each, and how many times as fast the list is");
    for size in sizes {
        let extents: Result<Vec<usize>, _> = size.split('x').map(str::parse).collect();
        let [experts, rows, n, k] = extents?
            .try_into()
            .map_err(|_| "sizes are EXPERTSxROWSxNxK")?;
        let mut of_expert = vec![0; experts];
        for _ in 0..experts * rows {
            of_expert[random() % experts] += 1;
        }
        let mut first = 0;
        let of_experts = of_expert.into_iter().map(|rows| {
            first += rows;
            [first - rows, rows]
        });
        let of_experts = of_experts.collect();
        let mut elements = |count: usize| -> Vec<bf16> {
            let element = |_| bf16::from_f32(random() as f32 / 8_388_608.0 - 1.0);
            (0..count).map(element).collect()
        };
        let all = experts * rows;
        let mut problem = Problem {
            gpu: &gpu,
            rows: of_experts,
            n,
            k,
            a: gpu.upload(&elements(all * k))?,
            weights: gpu.upload(&elements(experts * k * n))?,
            c: gpu.upload(&vec![bf16::NAN; all * n])?,
        };
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (as_list, times) in [true, false].into_iter().zip(&mut times) {
                times.push(problem.sample(as_list)?);
            }
        }
        let [mut list, mut each] = times;
        let mut ratios: Vec<f64> = list.iter().zip(&each).map(|(a, b)| b / a).collect();
        let [low, median, high] = [0.25, 0.5, 0.75].map(|q| quantile(&mut ratios, q));
        let [list, each] = [quantile(&mut list, 0.5), quantile(&mut each, 0.5)];
        println!("  {size:18} {list:.4} {each:.4} {median:.3} ({low:.3} to {high:.3})");
    }
    Ok(())
}
