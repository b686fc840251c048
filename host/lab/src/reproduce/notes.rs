//! What has to be known of a whole table to read its times.

use super::bench::Bench;
use super::group::{Group, Timed, Unit};
use super::row::Row;
use warpladder::device;
use warpladder::engine::EngineKind;

const MIB: f64 = 1048576.0;

/// Sentences about the times of a table on a GPU; none on the emulator.
pub fn notes(bench: &Bench<'_>, group: &Group, rows: &[Row]) -> Vec<String> {
    if bench.engine().kind() != EngineKind::Gpu {
        return Vec::new();
    }
    let bandwidth = group.timed.iter().any(|timed| timed.unit() == Unit::Gbs);
    let cache = bandwidth.then(|| in_cache(bench, group)).flatten();
    cache.into_iter().chain(transfers(rows)).collect()
}

/// Whether launches find their data in the L2 cache.
fn in_cache(bench: &Bench<'_>, group: &Group) -> Option<String> {
    // The engine takes the first device.
    let l2_bytes = f64::from(device::devices().ok()?.first()?.l2_bytes);
    let rung = super::rung(group.entries.first()?);
    let (inputs, output) = rung.operation.elements(bench.shape(group));
    let bytes = (inputs + output) as f64 * rung.element.bytes() as f64;
    let (data, cache) = (bytes / MIB, l2_bytes / MIB);
    Some(if bytes <= l2_bytes {
        format!(
            "input and output, {data:.0} MiB, fit into the L2 cache of {cache:.0} MiB: \
             launches find much of them there, and figures may exceed the bandwidth of device \
             memory"
        )
    } else {
        format!(
            "input and output, {data:.0} MiB, exceed the L2 cache of {cache:.0} MiB: launches go \
             to device memory"
        )
    })
}

/// What the transfers take of the fastest rung's host-to-host time.
fn transfers(rows: &[Row]) -> Option<String> {
    let rate = |row: &Row, timed: Timed| {
        row.here
            .iter()
            .find(|here| here.measure == timed.name())
            .and_then(|here| here.value)
    };
    let both = rows.iter().filter_map(|row| {
        let (kernel, host) = (
            rate(row, Timed::Gflops)?,
            rate(row, Timed::HostToHostGflops)?,
        );
        Some((&row.rung, kernel, host))
    });
    let (rung, kernel, host) = both.max_by(|a, b| a.1.total_cmp(&b.1))?;
    // Times of the same work are to each other as the inverse rates.
    let share = 100.0 * (1.0 - host / kernel);
    (share > 0.0).then(|| {
        format!(
            "of the host-to-host time of {rung}, {share:.0} % are transfers; kernel times are \
            compared"
        )
    })
}
