//! Rungs that are functions of the host.

use super::{Admitted, Record, Sampling, Times};
use crate::cpu::CpuProduct;
use crate::problem::Problem;
use std::convert::Infallible;
use std::time::Instant;
use warpladder::engine::EngineKind;

/// Most timed runs: these are orders of magnitude slower than kernels.
const MAX_REPS: usize = 3;

pub(super) fn run(
    product: CpuProduct,
    admitted: &Admitted,
    problem: &dyn Problem<f32>,
    sampling: &Sampling,
) -> Record {
    let (rung, shape) = (admitted.rung(), admitted.shape());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut record = Record::new(rung, shape, EngineKind::Cpu, &format!("{cores} CPU cores"));
    let inputs = problem.inputs();
    let size = [shape.m, shape.n, shape.k].map(|extent| extent as usize);
    let mut output = vec![f32::NAN; problem.output_len()];
    // A precision that was asked for is one of kernels.
    let sampling = Sampling {
        reps: sampling.reps.min(MAX_REPS),
        precision_pct: None,
        ..*sampling
    };
    let Ok((kernel, stop)) = sampling.take(|| {
        let start = Instant::now();
        product(&inputs[0], &inputs[1], &mut output, size);
        Ok::<_, Infallible>(start.elapsed().as_secs_f64() * 1e3)
    });
    record.checked(problem.check(&output));
    if !output.is_empty() {
        let times = Times {
            kernel,
            stop,
            cache: None,
            host_to_host_ms: None,
            outer_ms: None,
            inner_ms: None,
            repeated: None,
        };
        record.timed(rung, shape, times);
    }
    record
}
