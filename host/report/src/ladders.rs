//! Which measurement is drawn beside which, and in which unit.

use super::counted::Counted;
use super::data::Data;
use crate::plot::{Bar, Bars, Chart, Group, Ink, Kernel, Lines, Mark, Plot, Roofline, Series};
use std::collections::HashMap;
use warpladder::element::ElementType;
use warpladder_lab::catalogue::{self, Implementation, Rung};
use warpladder_lab::compare::PeerComparison;
use warpladder_lab::problem::Operation;
use warpladder_lab::run::{Record, describe};
use warpladder_models::Bound;
use warpladder_models::devices::{self, Device};
use warpladder_models::roofline::Level;

/// What a ladder is drawn by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// 10⁹ operations per second.
    Gflops,
    /// 10⁹ bytes per second.
    Gbs,
}

impl Metric {
    /// Its unit.
    pub const fn unit(self) -> &'static str {
        match self {
            Metric::Gflops => "GFLOP/s",
            Metric::Gbs => "GB/s",
        }
    }
}

/// Ladders in the order in which they are shown: name of the plot, heading, and what they are drawn
/// by.
const LADDERS: [(&str, &str, Metric); 8] = [
    ("products-f32", "Products, f32", Metric::Gflops),
    ("products-f64", "Products, f64", Metric::Gflops),
    (
        "products-tensor",
        "Matrix multiplication (GEMM) on tensor cores",
        Metric::Gflops,
    ),
    (
        "products-wolfe",
        "Wolfe's series and Volkov's: column-major products",
        Metric::Gflops,
    ),
    ("products-cpu", "Products on the CPU", Metric::Gflops),
    (
        "transposes",
        "Transposes, and the copy that bounds them",
        Metric::Gbs,
    ),
    ("streams", "Streams", Metric::Gbs),
    ("matvec", "Many small matrix-vector products", Metric::Gbs),
];

/// Chains of multiply-adds: they are streams by family, and arithmetic by nature.
const CHAINS: (&str, &str, Metric) = ("chains", "Chains of multiply-adds", Metric::Gflops);

/// The ladder that a rung is drawn in.
fn ladder(rung: &Rung) -> (&'static str, &'static str, Metric) {
    let index = match (rung.operation, rung.element) {
        _ if matches!(rung.implementation, Implementation::Cpu(_)) => 4,
        (Operation::Product, ElementType::F64) => 1,
        (Operation::Product, _) => 0,
        (Operation::TensorProduct(_) | Operation::TensorProduct16(_), _) => 2,
        (Operation::ColumnMajorProduct, _) => 3,
        (Operation::Copy | Operation::Transpose, _) => 5,
        (Operation::StreamCopy | Operation::AddOne, _) => 6,
        (Operation::FmaChains { .. }, _) => return CHAINS,
        (Operation::MatVec { .. }, _) => 7,
    };
    LADDERS[index]
}

/// What a rung is drawn by.
pub fn metric(rung: &Rung) -> Metric {
    ladder(rung).2
}

/// The value that is drawn, and that of a time of the same work: what a device reached, or else
/// what is predicted, but never what the emulator took.
fn values(metric: Metric, measured: &Record, ms: Option<f64>) -> Option<(f64, Option<f64>)> {
    let value = match metric {
        Metric::Gflops => measured.gflops.or(measured.predicted_gflops),
        Metric::Gbs => measured.gbs.or(measured.predicted_gbs),
    }?;
    let median = measured.ranked_ms()?;
    Some((value, ms.map(|ms| value * median / ms)))
}

/// A chart for each ladder that has measurements.
pub fn ladders(data: &Data) -> Vec<Plot> {
    let main = data.at_main_size();
    let mut plots = Vec::new();
    for (name, title, metric) in LADDERS.into_iter().chain([CHAINS]) {
        let mut size = None;
        let bars: Vec<Bar> = main
            .iter()
            .filter(|measured| measured.ok)
            .filter_map(|measured| {
                let rung = catalogue::find(&measured.kernel)?;
                if ladder(rung).0 != name {
                    return None;
                }
                let predicted = data.prediction(measured);
                let predicted = predicted.map(|predicted| predicted.predicted_ms);
                let (value, predicted) = values(metric, measured, predicted)?;
                size = Some(match (&measured.predicted_device, measured.median_ms) {
                    (Some(device), None) => {
                        let size = describe(rung.operation, predicted_shape(measured));
                        format!("{size}, predicted for {device}")
                    }
                    _ => describe(rung.operation, shape(measured)),
                });
                Some(Bar {
                    label: measured.kernel.clone(),
                    value,
                    predicted,
                })
            })
            .collect();
        let Some(size) = size else {
            continue;
        };
        plots.push(Plot {
            name: format!("ladder-{name}"),
            title: title.to_owned(),
            caption: format!(
                "{} at {size}, each rung after the one that it improves on. Longer is faster.",
                metric.unit()
            ),
            chart: Chart::Bars(Bars {
                unit: metric.unit(),
                bars,
            }),
        });
    }
    plots
}

/// The size of a measurement.
pub fn shape(measured: &Record) -> warpladder_lab::problem::Shape {
    warpladder_lab::problem::Shape {
        m: measured.m,
        n: measured.n,
        k: measured.k.unwrap_or(measured.n),
    }
}

/// The size of a prediction, which may be larger than the one that was run.
fn predicted_shape(measured: &Record) -> warpladder_lab::problem::Shape {
    let n = measured.predicted_n.unwrap_or(measured.n);
    warpladder_lab::problem::Shape {
        m: measured.predicted_m.unwrap_or(measured.m),
        n,
        k: measured.predicted_k.unwrap_or(n),
    }
}

/// The GPU of the results in the table of devices: that whose name is in its own, the longest where
/// there are several.
fn model(data: &Data) -> Option<&'static Device> {
    let name = data.device_name()?;
    let named = devices::table().filter(|device| name.contains(&*device.name));
    named.max_by_key(|device| device.name.len())
}

/// Every kernel with arithmetic under the roofs of the device; none where the device is not in the
/// table.
pub fn roofline(data: &Data, counted: &HashMap<String, Counted>) -> Option<Plot> {
    let device = model(data)?;
    let mut groups = [
        ("f32", Ink::Measured),
        ("f64", Ink::Second),
        ("tensor cores, 16-bit and TF32", Ink::Third),
    ]
    .map(|(name, ink)| Group {
        name: name.to_owned(),
        ink,
        kernels: Vec::new(),
    });
    let mut left_out = Vec::new();
    for measured in data.at_main_size() {
        let rung = catalogue::find(&measured.kernel);
        let intensity = counted
            .get(&measured.kernel)
            .and_then(|counted| counted.intensity);
        let predicted = data
            .prediction(measured)
            .map(|predicted| predicted.predicted_ms);
        let values = values(Metric::Gflops, measured, predicted);
        let (Some(rung), Some((gflops, predicted))) = (rung, values) else {
            continue;
        };
        let Some(intensity) = intensity else {
            left_out.push(measured.kernel.as_str());
            continue;
        };
        let group = match (rung.operation, rung.element) {
            (Operation::TensorProduct(_) | Operation::TensorProduct16(_), _) => 2,
            (_, ElementType::F64) => 1,
            _ => 0,
        };
        groups[group].kernels.push(Kernel {
            name: measured.kernel.clone(),
            intensity,
            gflops,
            predicted,
        });
    }
    let tensor = device.tensor_f16_tflops.as_ref();
    let peaks = [
        ("FP32", device.peak_fp32_gflops()),
        ("FP64", device.peak_fp64_gflops()),
        ("FP64 tensor", device.peak_tensor_fp64_gflops()),
        ("f16 tensor", tensor.map(|figure| figure.value * 1e3)),
    ];
    let roofline = device.roofline(Bound::Fp32)?;
    let slopes = roofline.roofs.iter().map(|roof| {
        let name = match roof.level {
            Level::Dram => "DRAM",
            Level::L2 => "L2",
            Level::Shared => "L1 and shared memory",
        };
        (name.to_owned(), roof.gbs)
    });
    Some(Plot {
        name: "roofline".to_owned(),
        title: format!("Roofline of the {}", device.name),
        caption: format!(
            "Discs are measured, circles predicted. Intensity counts what warps ask of global \
             memory, sector by sector, as the \
             emulator counts it: a kernel above the slope of a memory is served by a cache before \
             it. Names are left out \
             where they would touch; the table below has all of them.{}",
            match left_out.is_empty() {
                true => String::new(),
                false => format!(
                    " Not drawn, since their traffic is not counted: {}.",
                    left_out.join(", ")
                ),
            }
        ),
        chart: Chart::Roofline(Roofline {
            x: "FLOP per byte of global memory",
            peaks: merged(&peaks),
            slopes: slopes.collect(),
            groups: groups
                .into_iter()
                .filter(|group| !group.kernels.is_empty())
                .collect(),
        }),
    })
}

/// Peaks with their names; those within 3 % of each other are one line.
fn merged(peaks: &[(&str, Option<f64>)]) -> Vec<(String, f64)> {
    let mut merged: Vec<(String, f64)> = Vec::new();
    for &(name, gflops) in peaks {
        let Some(gflops) = gflops else {
            continue;
        };
        let same = |(_, other): &&mut (String, f64)| (gflops / *other - 1.0).abs() < 0.03;
        match merged.iter_mut().find(same) {
            Some((names, _)) => *names = format!("{names}, {name}"),
            None => merged.push((name.to_owned(), gflops)),
        }
    }
    for (name, _) in &mut merged {
        name.push_str(" peak");
    }
    merged
}

/// Throughput over the size, beside the peer's.
pub fn sizes(data: &Data) -> Vec<Plot> {
    let mut plots = Vec::new();
    for of_kernel in data.compared.chunk_by(|a, b| a.kernel == b.kernel) {
        // One number stands for a size: squares and cubes alone.
        let square = || {
            of_kernel
                .iter()
                .filter(|record| record.m == record.n && record.k.is_none_or(|k| k == record.m))
        };
        let Some(first) = square().next() else {
            continue;
        };
        let metric = match first.gflops {
            Some(_) => Metric::Gflops,
            None => Metric::Gbs,
        };
        let series = |name: &str, ink, mark, ours: bool| {
            let value = |record: &PeerComparison| match (metric, ours) {
                (Metric::Gflops, true) => record.gflops,
                (Metric::Gflops, false) => record.peer_gflops,
                (Metric::Gbs, true) => Some(record.gbs),
                (Metric::Gbs, false) => Some(record.peer_gbs),
            };
            let points = square().filter_map(|record| Some((f64::from(record.m), value(record)?)));
            let mut points: Vec<(f64, f64)> = points.collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series {
                name: name.to_owned(),
                ink,
                mark,
                points,
            }
        };
        plots.push(Plot {
            name: format!("size-{}", first.kernel),
            title: format!("{} over the size", first.kernel),
            caption: format!(
                "{} beside {}, timed in turn in one run by warpladder compare.",
                first.kernel, first.peer
            ),
            chart: Chart::Lines(Lines {
                x: "extent of the matrices",
                y: metric.unit().to_owned(),
                series: vec![
                    series(&first.kernel, Ink::Measured, Mark::Disc, true),
                    series(&first.peer, Ink::Second, Mark::Circle, false),
                ],
            }),
        });
    }
    plots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_ladder_and_every_ladder_a_kernel() {
        for rung in catalogue::rungs() {
            let (name, ..) = ladder(rung);
            let known = LADDERS
                .into_iter()
                .chain([CHAINS])
                .any(|(known, ..)| known == name);
            assert!(known, "{}", rung.name);
        }
        for (name, ..) in LADDERS.into_iter().chain([CHAINS]) {
            assert!(
                catalogue::rungs().any(|rung| ladder(rung).0 == name),
                "{name}"
            );
        }
    }

    #[test]
    fn drivers_names_are_those_of_the_table() {
        let named = |name: &str| {
            let mut data = Data::shipped().unwrap();
            data.device.as_mut().unwrap().name = name.to_owned();
            model(&data).map(|device| device.name.to_string())
        };
        assert_eq!(named("NVIDIA H200").as_deref(), Some("H200"));
        assert_eq!(named("NVIDIA A100-SXM4-80GB").as_deref(), Some("A100"));
        assert_eq!(
            named("NVIDIA GeForce RTX 4090").as_deref(),
            Some("RTX 4090")
        );
        assert_eq!(named("4 CPU cores"), None);
    }

    #[test]
    fn peaks_that_would_cover_each_other_are_one() {
        let peaks = [
            ("A", Some(100.0)),
            ("B", None),
            ("C", Some(50.0)),
            ("D", Some(101.0)),
        ];
        let expected = [("A, D peak".to_owned(), 100.0), ("C peak".to_owned(), 50.0)];
        assert_eq!(merged(&peaks), expected);
    }

    #[test]
    fn every_measured_kernel_is_a_bar_once() {
        let data = Data::shipped().unwrap();
        let bars: usize = ladders(&data)
            .iter()
            .map(|plot| match &plot.chart {
                Chart::Bars(bars) => bars.bars.len(),
                _ => 0,
            })
            .sum();
        assert_eq!(bars, data.at_main_size().len());
    }
}
