//! Tables of what kernels do to the machine, counted by the emulator.

use super::table;
use rayon::prelude::*;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue;
use warpladder_lab::problem::Shape;
use warpladder_lab::profile::{Measurement, profile};
use warpladder_lab::run::{describe, preflight};
use warpladder_report::numbers::grouped;

/// Seed of the inputs: these kernels' counts do not depend on it.
const SEED: u64 = 1;

/// A row of the table: a name, and the figure of a kernel, `None` where it has none.
type Figure = (&'static str, fn(&Measurement) -> Option<String>);

const FIGURES: &[Figure] = &[
    ("warp instructions", |of| {
        Some(grouped(of.total.warp_instructions))
    }),
    ("instructions per multiply-add", |of| {
        let multiply_adds = of.total.flops as f64 / 2.0;
        (multiply_adds > 0.0).then(|| ratio(of.total.thread_instructions as f64 / multiply_adds))
    }),
    ("divergent branches, of all", |of| {
        let total = &of.total;
        (total.divergent_branches > 0).then(|| {
            format!(
                "{} of {}",
                grouped(total.divergent_branches),
                grouped(total.branches)
            )
        })
    }),
    ("active lanes of 32", |of| {
        of.average_active_lanes
            .filter(|&lanes| lanes < 31.995)
            .map(ratio)
    }),
    ("global load requests", |of| {
        some(of.total.global_loads.requests)
    }),
    ("sectors per load", |of| {
        of.total.global_loads.sectors_per_request().map(ratio)
    }),
    ("global store requests", |of| {
        some(of.total.global_stores.requests)
    }),
    ("sectors per store", |of| {
        of.total.global_stores.sectors_per_request().map(ratio)
    }),
    ("sectors of bulk loads", |of| {
        some(of.total.bulk_loads.sectors)
    }),
    ("bytes of global memory moved", |of| {
        some(of.total.bytes_moved())
    }),
    ("FLOP per byte moved", |of| {
        of.flops_per_byte_moved
            .filter(|&intensity| intensity > 0.0)
            .map(ratio)
    }),
    ("shared load requests", |of| {
        some(of.total.shared_loads.requests)
    }),
    ("shared load wavefronts", |of| {
        some(of.total.shared_loads.wavefronts)
    }),
    ("times the ideal, shared loads", |of| {
        of.total.shared_loads.conflict_ratio().map(ratio)
    }),
    ("shared store requests", |of| {
        some(of.total.shared_stores.requests)
    }),
    ("shared store wavefronts", |of| {
        some(of.total.shared_stores.wavefronts)
    }),
    ("times the ideal, shared stores", |of| {
        of.total.shared_stores.conflict_ratio().map(ratio)
    }),
    ("requests of the constant bank", |of| {
        some(of.total.constant_loads.requests)
    }),
    ("addresses per constant request", |of| {
        let constant = &of.total.constant_loads;
        let addresses = constant.addresses as f64 / constant.requests as f64;
        (constant.requests > 0).then(|| ratio(addresses))
    }),
    ("barriers by warps", |of| some(of.total.barriers)),
];

/// What kernels did, each a column.
///
/// `multiprocessors` is how many of them the launches of kernels that plan by it are made for.
pub fn counters(kernels: &[&str], shape: Shape, multiprocessors: Option<u32>) -> String {
    let measured: Vec<(Measurement, Option<u64>)> = kernels
        .par_iter()
        .map(|name| {
            let emulator = EmulatorEngine::new().with_sequential_blocks();
            let emulator = match multiprocessors {
                Some(number) => emulator.with_multiprocessors(number),
                None => emulator,
            };
            let rung = catalogue::find(name).unwrap_or_else(|| panic!("no kernel {name}"));
            let profile = preflight(&emulator, rung, shape)
                .and_then(|admitted| profile(&emulator, &admitted, SEED))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(profile.verdict.ok, "{name}");
            let moved = profile.launches().map(|of| of.total().bytes_moved());
            let of_several = (!profile.following.is_empty()).then(|| moved.sum());
            (Measurement::from(profile.main()), of_several)
        })
        .collect();
    let mut rows = vec![head(kernels)];
    for (name, figure) in FIGURES {
        let cells = measured.iter().map(|(of, _)| figure(of));
        let cells: Vec<Option<String>> = cells.collect();
        if cells.iter().any(Option::is_some) {
            let mut row = vec![(*name).to_owned()];
            row.extend(cells.into_iter().map(Option::unwrap_or_default));
            rows.push(row);
        }
    }
    // Figures above are those of the kernel that does most of the work.
    if measured.iter().any(|(_, of_all)| of_all.is_some()) {
        let mut row = vec!["bytes moved by all launches".to_owned()];
        let cells = measured.iter().map(|(of, of_all)| {
            let moved = of_all.unwrap_or_else(|| of.total.bytes_moved());
            grouped(moved)
        });
        row.extend(cells);
        rows.push(row);
    }
    let operation = catalogue::find(kernels[0]).expect("is there").operation;
    format!(
        "{}\nCounted by the emulator at {}.\n",
        table(&rows),
        describe(operation, shape)
    )
}

/// The head of a table with a column for each kernel.
fn head(kernels: &[&str]) -> Vec<String> {
    let names = kernels.iter().map(|name| format!("`{name}`"));
    std::iter::once(String::new()).chain(names).collect()
}

fn some(count: u64) -> Option<String> {
    (count > 0).then(|| grouped(count))
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}
