//! Ladders: the rungs for one problem at one size, with what they are compared with.

mod bars;
mod class;

pub use class::{Class, Metric, metric};

use super::data::{Data, Predicted};
use crate::numbers;
use warpladder::element::{ElementType, TensorInput};
use warpladder::engine::EngineKind;
use warpladder::gemm::layout::Layout;
use warpladder_lab::catalogue::{self, Rung};
use warpladder_lab::compare::PeerComparison;
use warpladder_lab::problem::{Operation, Shape};
use warpladder_lab::run::{Record, describe};
use warpladder_models::devices::DeviceModel;

/// A rung of a ladder.
pub struct Step<'d> {
    pub rung: &'static Rung,
    /// What was measured on a GPU or, of a function of the host, on the CPU; in the metric's unit.
    pub value: Option<f64>,
    /// What is predicted, in the metric's unit.
    pub predicted: Option<f64>,
    /// The record of the run.
    pub record: &'d Record,
}

impl Step<'_> {
    /// What it is ranked by: the measurement, else the prediction.
    fn rank(&self) -> Option<f64> {
        self.value.or(self.predicted)
    }
}

/// The most that a GPU can do for a problem.
pub struct Peak {
    /// What bounds it.
    pub name: &'static str,
    /// In the metric's unit.
    pub value: f64,
}

/// The rungs of one problem at one size, in the order of the catalogue.
pub struct Ladder<'d> {
    class: Class,
    pub shape: Shape,
    pub steps: Vec<Step<'d>>,
    /// Libraries on the same problem, with their rates.
    peers: Vec<(&'d PeerComparison, f64)>,
    pub peak: Option<Peak>,
    /// Other sizes at which rungs of the problem ran.
    others: usize,
}

/// The size of a measurement.
pub fn shape(measured: &Record) -> Shape {
    Shape {
        m: measured.m,
        n: measured.n,
        k: measured.k.unwrap_or(measured.n),
    }
}

/// The size for which a record's kernel is predicted: its own, or a large one in the place of a
/// small one that only the emulator ran, where launches would be most of the time.
pub fn predicted_shape(record: &Record, rung: &Rung) -> Shape {
    const LARGE: u32 = 4096;
    let own = shape(record);
    let large = Shape {
        m: LARGE,
        n: LARGE,
        k: LARGE,
    };
    let is_small = own.m.max(own.n) < LARGE / 4;
    match record.engine {
        EngineKind::Emulator if is_small && rung.precondition.takes(rung.operation, large) => large,
        _ => own,
    }
}

/// The same as the sizes of predictions are written.
pub fn key(rung: &Rung, shape: Shape) -> (u32, u32, Option<u32>) {
    let k = rung.operation.uses_k().then_some(shape.k);
    (shape.m, shape.n, k)
}

/// The ladders of these results: of each problem the size with the most rungs.
pub fn ladders<'d>(data: &'d Data, model: Option<&DeviceModel>) -> Vec<Ladder<'d>> {
    let mut classes: Vec<Class> = Vec::new();
    for rung in catalogue::rungs() {
        let class = Class::of(rung);
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    // Those of the CPU are beside the point.
    classes.sort_by_key(|class| class.name == "products-cpu");
    let of_class = classes
        .into_iter()
        .filter_map(|class| ladder(data, model, class));
    of_class.collect()
}

fn ladder<'d>(data: &'d Data, model: Option<&DeviceModel>, class: Class) -> Option<Ladder<'d>> {
    let mut sizes: Vec<(Shape, Vec<Step<'d>>)> = Vec::new();
    for rung in catalogue::rungs().filter(|rung| Class::of(rung) == class) {
        for record in data
            .measured
            .iter()
            .filter(|record| record.kernel == rung.name)
        {
            let shape = predicted_shape(record, rung);
            let step = step(data, rung, record, shape, class.metric);
            let Some(step) = step else {
                continue;
            };
            let same = |size: &&mut (Shape, Vec<Step<'_>>)| key(rung, size.0) == key(rung, shape);
            match sizes.iter_mut().find(same) {
                // A kernel that ran twice is one bar.
                Some((_, steps)) if steps.iter().any(|other| other.rung.name == rung.name) => {}
                Some((_, steps)) => steps.push(step),
                None => sizes.push((shape, vec![step])),
            }
        }
    }
    let others = sizes.len().saturating_sub(1);
    let (shape, steps) = sizes
        .into_iter()
        .max_by_key(|(shape, steps)| (steps.len(), u64::from(shape.m) * u64::from(shape.n)))?;
    let on_gpu = class.name != "products-cpu";
    let rung = steps.first()?.rung;
    Some(Ladder {
        peak: model
            .filter(|_| on_gpu)
            .and_then(|model| peak(model, rung, shape, class.metric)),
        peers: if on_gpu {
            peers(data, &class, rung, shape)
        } else {
            Vec::new()
        },
        class,
        shape,
        steps,
        others,
    })
}

/// A step, where there is anything to draw.
fn step<'d>(
    data: &'d Data,
    rung: &'static Rung,
    record: &'d Record,
    shape: Shape,
    metric: Metric,
) -> Option<Step<'d>> {
    let value = match metric {
        Metric::Gflops => record.gflops,
        Metric::Gbs => record.gbs,
    };
    let predicted = match record.engine {
        EngineKind::Cpu => None,
        _ => {
            let (m, n, k) = key(rung, shape);
            data.prediction_of(rung.name, (m, n, k))
        }
    };
    let rate = |predicted: &Predicted| metric.rate(rung, shape, predicted.predicted_ms);
    let step = Step {
        rung,
        value,
        predicted: predicted.map(rate),
        record,
    };
    (record.ok && step.rank().is_some()).then_some(step)
}

/// The least of what bounds a problem: its arithmetic at the peak of the fastest units that do it,
/// or its data at the bandwidth of the memory that holds it from one launch to the next.
fn peak(device: &DeviceModel, rung: &Rung, shape: Shape, metric: Metric) -> Option<Peak> {
    if metric == Metric::Gbs {
        let bytes = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
        let is_cached = device.l2_bytes.is_some_and(|l2| bytes <= l2.value as f64);
        return match is_cached {
            true => Some(Peak {
                name: "L2 bandwidth",
                value: device.l2_gbs?.value,
            }),
            false => Some(Peak {
                name: "DRAM peak",
                value: device.dram_gbs.value,
            }),
        };
    }
    let tensor = |of: f64| Some(device.tensor_f16_tflops?.value * 1e3 / of);
    let (name, value) = match (rung.operation.tensor_input(), rung.element) {
        (Some(TensorInput::Tf32), _) => ("TF32 tensor peak", tensor(2.0)?),
        (Some(TensorInput::I8 | TensorInput::E4m3), _) => ("8-bit tensor peak", tensor(0.5)?),
        (Some(_), _) => ("16-bit tensor peak", tensor(1.0)?),
        (None, ElementType::F64) => match device.peak_tensor_fp64_gflops() {
            Some(peak) => ("FP64 tensor peak", peak),
            None => ("FP64 peak", device.peak_fp64_gflops()?),
        },
        (None, _) => ("FP32 peak", device.peak_fp32_gflops()?),
    };
    Some(Peak { name, value })
}

/// The peers that were timed on this problem, each once, with their rates.
fn peers<'d>(
    data: &'d Data,
    class: &Class,
    rung: &Rung,
    shape: Shape,
) -> Vec<(&'d PeerComparison, f64)> {
    let mut peers: Vec<(&PeerComparison, f64)> = Vec::new();
    for compared in &data.compared {
        let is_of_it = catalogue::find(&compared.kernel).is_some_and(|of| Class::of(of) == *class)
            && (compared.m, compared.n, compared.k) == key(rung, shape)
            && compared.layout == Layout::default();
        let rate = match class.metric {
            Metric::Gflops => compared.peer_gflops,
            Metric::Gbs => Some(compared.peer_gbs),
        };
        if let (true, Some(rate)) = (is_of_it, rate)
            && peers.iter().all(|(other, _)| other.peer != compared.peer)
        {
            peers.push((compared, rate));
        }
    }
    peers
}

impl Ladder<'_> {
    /// Whether its values are predictions alone.
    pub fn is_predicted(&self) -> bool {
        self.steps.iter().all(|step| step.value.is_none())
    }

    /// The rung of this ladder that another one changes.
    fn base(&self, step: &Step<'_>) -> Option<&Step<'_>> {
        let base = step.rung.improves_on()?;
        self.steps.iter().find(|other| other.rung.name == base.name)
    }

    /// Percent of the peak; `None` where there is none.
    pub fn percent(&self, step: &Step<'_>) -> Option<f64> {
        Some(100.0 * step.rank()? / self.peak.as_ref()?.value)
    }

    /// From the first rung to the fastest, beside a peer and the peak, in one line; `None` where
    /// there is nothing to say. The copy that bounds transposes is none of them.
    pub fn headline(&self) -> Option<String> {
        const NO_STEP: f64 = 1.04;
        let is_rung = |step: &&Step<'_>| step.rung.operation != Operation::Copy;
        let first = self.steps.iter().find(is_rung)?;
        let rank = |step: &Step<'_>| step.rank().unwrap_or(0.0);
        let rungs = self.steps.iter().filter(is_rung);
        let best = rungs.max_by(|a, b| rank(a).total_cmp(&rank(b)))?;
        let times = rank(best) / rank(first);
        let is_step = times > NO_STEP && times.is_finite();
        let mut parts = Vec::new();
        if is_step {
            parts.push(format!("{} times as fast", numbers::short(times)));
        }
        for (compared, rate) in &self.peers {
            // In turn in one run, where the kernel itself was compared.
            let ratio = match compared.kernel == best.rung.name {
                true => compared.ratio,
                false => best.value? / rate,
            };
            parts.push(format!("{ratio:.2} times {}", compared.peer));
        }
        if let (Some(percent), Some(peak)) = (self.percent(best), &self.peak) {
            parts.push(format!(
                "{} % of the {}",
                numbers::percent(percent),
                peak.name
            ));
        }
        if parts.is_empty() {
            return None;
        }
        let names = match is_step {
            true => format!("{} → {}", first.rung.name, best.rung.name),
            false => best.rung.name.to_owned(),
        };
        let predicted = if self.is_predicted() {
            ", predicted"
        } else {
            ""
        };
        Some(format!("{names}: {}{predicted}", parts.join(", ")))
    }

    /// The kernels that are measured to be faster than the peak allows.
    pub fn above_the_peak(&self) -> impl Iterator<Item = &'static str> {
        const NOISE: f64 = 102.0;
        let above = |step: &&Step<'_>| {
            step.value.is_some() && self.percent(step).is_some_and(|percent| percent > NOISE)
        };
        self.steps.iter().filter(above).map(|step| step.rung.name)
    }

    /// The problem, in words.
    pub fn title(&self) -> &str {
        &self.class.title
    }

    /// The size, in words.
    pub fn size(&self) -> Option<String> {
        let first = self.steps.first()?;
        Some(describe(first.rung.operation, self.shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Chart;
    use std::collections::HashSet;

    fn shipped() -> (Data, DeviceModel) {
        let data = Data::shipped().unwrap();
        let model = data.model().unwrap();
        (data, model)
    }

    #[test]
    fn rungs_of_a_ladder_solve_one_problem_at_one_size_in_the_order_of_the_catalogue() {
        let (mut data, model) = shipped();
        // Whatever the order of the file.
        data.measured.reverse();
        for ladder in ladders(&data, Some(&model)) {
            let place = |name: &str| catalogue::rungs().position(|rung| rung.name == name);
            let places: Vec<_> = ladder
                .steps
                .iter()
                .map(|step| place(step.rung.name))
                .collect();
            assert!(places.is_sorted(), "{}", ladder.class.name);
            // Each rung after the one that it changes, which stands in the same ladder.
            for (index, step) in ladder.steps.iter().enumerate() {
                let Some(base) = step.rung.improves_on() else {
                    continue;
                };
                let before = &ladder.steps[..index];
                let is_there = before.iter().any(|other| other.rung.name == base.name);
                assert!(is_there, "{} after {}", step.rung.name, base.name);
            }
            for step in &ladder.steps {
                assert_eq!(shape(step.record), ladder.shape, "{}", step.rung.name);
            }
            let problems = ladder.steps.iter().map(|step| match step.rung.operation {
                // Their only difference is what the rungs are about.
                Operation::FmaChains { .. } => Operation::FmaChains { chains: 1 },
                Operation::Copy => Operation::Transpose,
                other => other,
            });
            let problems: HashSet<_> = problems.collect();
            assert_eq!(problems.len(), 1, "{}: {problems:?}", ladder.class.name);
        }
    }

    #[test]
    fn every_measured_kernel_is_a_bar_once() {
        let (data, model) = shipped();
        let ladders = ladders(&data, Some(&model));
        let bars: usize = ladders.iter().map(|ladder| ladder.steps.len()).sum();
        assert_eq!(bars, data.at_main_size().len());
        let names: HashSet<String> = ladders.iter().map(|of| of.plot(None).name).collect();
        assert_eq!(names.len(), ladders.len());
    }

    #[test]
    fn the_headline_is_that_of_the_results() {
        let (data, model) = shipped();
        let ladders = ladders(&data, Some(&model));
        let headline = |name: &str| {
            let ladder = ladders.iter().find(|of| of.class.name == name).unwrap();
            ladder.headline().unwrap()
        };
        let sgemm = headline("products-f32");
        assert!(sgemm.starts_with("naive_uncoalesced → sgemm: "), "{sgemm}");
        assert!(
            sgemm.contains("times cuBLAS") && sgemm.contains("% of the FP32 peak"),
            "{sgemm}"
        );
        let percent = |text: &str| -> f64 {
            let before = text.split(" % of").next().unwrap();
            before.rsplit(' ').next().unwrap().parse().unwrap()
        };
        assert!((70.0..100.0).contains(&percent(&sgemm)), "{sgemm}");
        assert!(percent(&headline("transposes-f32")) > 70.0);
    }

    #[test]
    fn without_a_gpu_bars_are_predictions() {
        let (mut data, model) = shipped();
        for record in &mut data.measured {
            if record.engine == EngineKind::Gpu {
                record.engine = EngineKind::Emulator;
                // As of a version whose times are those of the emulator.
                record.schema = 2;
                *record = record.clone().up_to_date();
            }
        }
        data.compared.clear();
        for ladder in ladders(&data, Some(&model)) {
            let on_cpu = ladder.class.name == "products-cpu";
            assert_eq!(ladder.is_predicted(), !on_cpu, "{}", ladder.class.name);
            let Chart::Bars(bars) = ladder.plot(Some("H200")).chart else {
                panic!("a ladder is bars");
            };
            for bar in bars.bars {
                assert_eq!(bar.value.is_some(), on_cpu, "{}", bar.label);
            }
        }
    }
}
