//! What is known of the device, and of the conditions of the runs.

use super::content::Content;
use crate::numbers;
use maud::{Markup, html};
use warpladder::engine::EngineKind;
use warpladder_lab::run::Record;

/// What is known of the device, and of the conditions of the runs.
pub fn facts(report: &Content) -> Markup {
    let data = &report.data;
    let mut facts: Vec<(&str, String)> = Vec::new();
    let mut fact = |name, value: Option<String>| {
        if let Some(value) = value {
            facts.push((name, value));
        }
    };
    fact("device", data.device_name().map(str::to_owned));
    if data.is_emulated() {
        fact("engine", Some("the PTX emulator, on the CPU".to_owned()));
        fact("measured on a GPU", Some("nothing".to_owned()));
        fact(
            "predicted for",
            report.model.as_ref().map(|model| model.name.to_string()),
        );
    }
    let records = &data.measured;
    let recorded_driver = records.iter().find_map(|record| record.driver.clone());
    let recorded_limit = records.iter().find_map(|record| record.power_limit_w);
    let state = data
        .device
        .as_ref()
        .and_then(|device| device.state.as_ref());
    if let Some(device) = &data.device {
        fact(
            "compute capability",
            Some(device.compute_capability.to_string()),
        );
        fact("multiprocessors", Some(device.multiprocessors.to_string()));
        let clock = format!("up to {} MHz", device.clock_khz / 1000);
        fact("clock", Some(clock));
        let gib = device.memory_bytes as f64 / f64::from(1 << 30);
        let bandwidth = numbers::short(device.peak_bandwidth_gbs);
        fact("memory", Some(format!("{gib:.0} GiB, {bandwidth} GB/s")));
        let mib = device.l2_bytes as f64 / f64::from(1 << 20);
        fact("L2 cache", Some(format!("{mib:.0} MiB")));
        fact("CUDA", Some(device.cuda_version.clone()));
    }
    let driver = recorded_driver.or_else(|| state?.driver_version.clone());
    fact("driver", driver);
    let limit = recorded_limit.or_else(|| state?.power_limit_w);
    fact("power limit", limit.map(|watts| format!("{watts:.0} W")));
    let temperatures = records.iter().filter_map(|record| record.temperature_c);
    let hottest = temperatures.max();
    fact(
        "hottest",
        hottest.map(|temperature| format!("{temperature} °C")),
    );
    let before = state.and_then(|state| state.temperature_c);
    fact(
        "before the runs",
        before.map(|temperature| format!("{temperature} °C")),
    );
    fact("clocks held down", throttled(records));
    fact("checks", (!records.is_empty()).then(|| checks(records)));
    let timed = records
        .iter()
        .filter(|record| record.engine != EngineKind::Emulator);
    let samples = timed.map(|record| record.samples).max();
    let samples = samples.filter(|_| !data.is_emulated());
    fact(
        "samples",
        samples.map(|most| format!("up to {most} of each, medians shown")),
    );
    html! {
        dl.facts {
            @for (name, value) in &facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// What held clocks down in how many records; `None` where none of them tells.
fn throttled(records: &[Record]) -> Option<String> {
    let told: Vec<&str> = records
        .iter()
        .filter_map(|record| record.throttled.as_deref())
        .collect();
    let held: Vec<&str> = told
        .iter()
        .copied()
        .filter(|told| *told != "none")
        .collect();
    let mut reasons: Vec<&str> = held.iter().flat_map(|told| told.split(' ')).collect();
    reasons.sort_unstable();
    reasons.dedup();
    match (told.is_empty(), held.is_empty()) {
        (true, _) => None,
        (_, true) => Some("never".to_owned()),
        _ => Some(format!(
            "in {} of {} runs: {}",
            held.len(),
            told.len(),
            reasons.join(", ").replace('_', " ")
        )),
    }
}

fn checks(records: &[Record]) -> String {
    let right = records.iter().filter(|record| record.ok).count();
    match records.len() {
        all if all == right => format!("all {all} passed"),
        all => format!("{} of {all} failed", all - right),
    }
}
