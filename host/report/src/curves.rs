//! The roofline, and throughput over the size.

use super::counted::Counted;
use super::data::Data;
use super::ladders::{self, Metric};
use crate::plot::{Chart, Group, Ink, Kernel, Lines, Mark, Plot, Roofline, Series};
use std::collections::HashMap;
use warpladder::element::ElementType;
use warpladder::engine::EngineKind;
use warpladder_lab::catalogue;
use warpladder_lab::compare::PeerComparison;
use warpladder_lab::problem::Operation;
use warpladder_models::Bound;
use warpladder_models::devices::DeviceModel;
use warpladder_models::roofline::Level;

/// Every kernel with arithmetic under the roofs of the device; none where the device is not in the
/// table.
pub fn roofline(
    data: &Data,
    device: Option<&DeviceModel>,
    counted: &HashMap<String, Counted>,
) -> Option<Plot> {
    let device = device?;
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
        let Some(rung) = catalogue::find(&measured.kernel) else {
            continue;
        };
        let shape = ladders::predicted_shape(measured, rung);
        let predicted = match measured.engine {
            EngineKind::Cpu => continue,
            _ => data.prediction_of(rung.name, ladders::key(rung, shape)),
        };
        let predicted = predicted
            .map(|predicted| Metric::Gflops.rate(rung, shape, predicted.predicted_ms))
            .filter(|gflops| *gflops > 0.0);
        let gflops = measured.gflops;
        if gflops.is_none() && predicted.is_none() {
            continue;
        }
        let counted = counted.get(&measured.kernel);
        let Some(intensity) = counted.and_then(|counted| counted.intensity) else {
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
    if groups.iter().all(|group| group.kernels.is_empty()) {
        return None;
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
            "{}Intensity counts what warps ask of global \
             memory, sector by sector, as the \
             emulator counts it: a kernel above the slope of a memory is served by a cache before \
             it. Names are left out \
             where they would touch: a pointer that rests on a mark shows it, and the table below \
             has \
             all of them.{}",
            match data.is_emulated() {
                true => "Circles are predicted; nothing was measured. ",
                false => "Discs are measured, circles predicted. ",
            },
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
}
