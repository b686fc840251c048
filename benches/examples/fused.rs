//! Times products with fused operators beside the plain product, in turn, on the first GPU.
//!
//! `cargo run --release -p warpladder-benches --example fused [MxNxK …]`
//!
//! Operands and C are bf16, and lie row by row; sizes are 4096 and 8192 cubed unless others are
//! given. Times are milliseconds; ratios are those to the plain product of the same round.

use std::error::Error;

use half::bf16;
use warpladder::gemm::{Activation, BiasAxis};
use warpladder::gpu::{DeviceArray, GemmOptions, Gpu, Layout};

/// Rounds, in each of which every variant has a sample, and launches of a sample.
const ROUNDS: usize = 30;
const LAUNCHES: usize = 5;

/// A product of bf16 with what may be fused with it.
struct Problem<'a> {
    gpu: &'a Gpu,
    extents: [usize; 3],
    a: DeviceArray<bf16>,
    b: DeviceArray<bf16>,
    c: DeviceArray<bf16>,
    bias: DeviceArray<bf16>,
    residual: DeviceArray<bf16>,
}

/// A variant: its name, its activation, and whether bias and residual are added.
type Variant = (&'static str, Activation, bool, bool);

const VARIANTS: [Variant; 7] = [
    ("plain", Activation::None, false, false),
    ("bias", Activation::None, true, false),
    ("bias, ReLU", Activation::Relu, true, false),
    ("bias, GELU", Activation::Gelu, true, false),
    ("bias, GELU by tanh", Activation::GeluTanh, true, false),
    ("bias, SiLU", Activation::Silu, true, false),
    ("bias, GELU, residual", Activation::Gelu, true, true),
];

impl Problem<'_> {
    /// Starts the product with what `variant` fuses.
    fn start(&mut self, &(_, activation, biased, added): &Variant) -> Result<(), Box<dyn Error>> {
        let [m, n, k] = self.extents;
        let of_c = Layout::row_major(m, n);
        let residual = self.residual.matrix(of_c)?;
        let options = GemmOptions {
            bias: biased.then_some((BiasAxis::Column, &self.bias)),
            activation,
            residual: added.then_some(residual),
            ..GemmOptions::default()
        };
        let a = self.a.matrix(Layout::row_major(m, k))?;
        let b = self.b.matrix(Layout::row_major(k, n))?;
        let c = self.c.matrix_mut(of_c)?;
        Ok(self.gpu.gemm_with(&options, 1.0, a, b, 0.0, c)?)
    }

    /// Milliseconds of a launch.
    fn sample(&mut self, variant: &Variant) -> Result<f64, Box<dyn Error>> {
        let [before, after] = [self.gpu.event()?, self.gpu.event()?];
        self.gpu.record(&before)?;
        for _ in 0..LAUNCHES {
            self.start(variant)?;
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
        sizes = ["4096x4096x4096", "8192x8192x8192"]
            .map(str::to_owned)
            .to_vec();
    }
    let gpu = Gpu::new()?;
    let mut state = 1u32;
    let mut random = move |count: usize| -> Vec<bf16> {
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bf16::from_f32((state >> 8) as f32 / 8_388_608.0 - 1.0)
        };
        (0..count).map(next).collect()
    };
    for size in sizes {
        let extents: Result<Vec<usize>, _> = size.split('x').map(str::parse).collect();
        let [m, n, k] = extents?.try_into().map_err(|_| "sizes are MxNxK")?;
        let mut problem = Problem {
            gpu: &gpu,
            extents: [m, n, k],
            a: gpu.upload(&random(m * k))?,
            b: gpu.upload(&random(k * n))?,
            c: gpu.upload(&vec![bf16::NAN; m * n])?,
            bias: gpu.upload(&random(n))?,
            residual: gpu.upload(&random(m * n))?,
        };
        let mut times = vec![Vec::new(); VARIANTS.len()];
        for _ in 0..ROUNDS {
            for (variant, times) in VARIANTS.iter().zip(&mut times) {
                times.push(problem.sample(variant)?);
            }
        }
        println!("{size}: ms, and times the plain product, median and quartiles");
        for ((name, ..), own) in VARIANTS.iter().zip(&times) {
            let mut ratios: Vec<f64> = own.iter().zip(&times[0]).map(|(a, b)| a / b).collect();
            let ms = quantile(&mut own.clone(), 0.5);
            let [low, median, high] = [0.25, 0.5, 0.75].map(|q| quantile(&mut ratios, q));
            println!("  {name:22} {ms:.4} {median:.3} ({low:.3} to {high:.3})");
        }
    }
    Ok(())
}
