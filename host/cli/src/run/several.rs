//! `warpladder run --devices`: the same kernels on several GPUs at once, in one table, with those
//! GPUs named that are slower than the others or give wrong results.

use super::cases::{Named, Selection, split};
use crate::outcome::Outcome;
use crate::output::Destination;
use crate::shape::AskedShape;
use crate::table;
use anyhow::{Context, bail};
use std::io::Write;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::run::{Problems, Record, Sampling};
use warpladder_scale::trial::slow_ranks;

/// The most devices that are emulated: each is a thread.
const MAX_EMULATED: usize = 64;

/// Which devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Devices {
    /// All GPUs of this machine.
    All,
    /// Those with these numbers.
    Listed(Vec<u32>),
    /// This number of emulated ones.
    Emulated(usize),
}

impl std::str::FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Devices::All);
        }
        if let Some(count) = text.strip_prefix("emulated:") {
            return match count.parse() {
                Ok(count) if (1..=MAX_EMULATED).contains(&count) => Ok(Devices::Emulated(count)),
                _ => Err(format!("give emulated:1 to emulated:{MAX_EMULATED}")),
            };
        }
        let listed: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
        let mut listed = listed.map_err(|_| "give all, numbers such as 0,2, or emulated:2")?;
        listed.sort_unstable();
        listed.dedup();
        Ok(Devices::Listed(listed))
    }
}

/// A device, with its number.
struct Opened {
    number: u32,
    engine: Box<dyn Engine>,
}

impl Devices {
    fn open(&self) -> anyhow::Result<Vec<Opened>> {
        let numbers: Vec<u32> = match self {
            Devices::Emulated(count) => {
                let emulated = |number| Opened {
                    number,
                    engine: Box::new(EmulatorEngine::new()) as Box<dyn Engine>,
                };
                return Ok((0..u32::try_from(*count)?).map(emulated).collect());
            }
            Devices::Listed(numbers) => numbers.clone(),
            Devices::All => {
                let devices = warpladder::device::devices();
                let devices = devices.context("without a GPU, give --devices emulated:2")?;
                (0..u32::try_from(devices.len())?).collect()
            }
        };
        if numbers.is_empty() {
            bail!("the driver lists no GPU: give --devices emulated:2");
        }
        let open = |number| -> anyhow::Result<Opened> {
            let engine = open_gpu(number).with_context(|| format!("GPU {number}"))?;
            Ok(Opened { number, engine })
        };
        numbers.into_iter().map(open).collect()
    }
}

#[cfg(all(target_os = "linux", feature = "gpu"))]
fn open_gpu(number: u32) -> anyhow::Result<Box<dyn Engine>> {
    Ok(Box::new(warpladder::engine::gpu::GpuEngine::new(number)?))
}

#[cfg(not(all(target_os = "linux", feature = "gpu")))]
fn open_gpu(_: u32) -> anyhow::Result<Box<dyn Engine>> {
    bail!("this build has no GPU engine: give --devices emulated:2")
}

/// A kernel on a device.
#[derive(serde::Serialize)]
struct OnDevice {
    device_index: u32,
    /// Whether it takes longer there than on the others.
    slow: bool,
    #[serde(flatten)]
    record: Record,
}

/// How the kernels are run.
pub(super) struct Plan<'a> {
    pub named: Named<'a>,
    pub shapes: Vec<AskedShape>,
    pub is_given: bool,
    pub sampling: Sampling,
    pub seed: u64,
}

pub(super) fn execute(
    devices: &Devices,
    plan: &Plan<'_>,
    human: &mut dyn Write,
    json: Option<Destination>,
) -> anyhow::Result<Outcome> {
    let devices = devices.open()?;
    for Opened { number, engine } in &devices {
        writeln!(human, "{number}: {}", engine.device_name())?;
    }
    let selections: Vec<Selection> = devices
        .iter()
        .map(|device| split(&plan.named, &*device.engine, &plan.shapes, plan.is_given))
        .collect::<Result<_, _>>()?;
    // At once, as the GPUs of a machine work: they share its power and its air.
    let ran: Vec<anyhow::Result<Vec<Record>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = devices
            .iter()
            .zip(&selections)
            .map(|(device, selection)| scope.spawn(|| on_device(device, selection, plan)))
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(ran) => ran,
            Err(panicked) => std::panic::resume_unwind(panicked),
        });
        joined.collect()
    });
    let mut all = Vec::new();
    for (device, ran) in devices.iter().zip(ran) {
        let records = ran.with_context(|| format!("GPU {}", device.number))?;
        all.extend(records.into_iter().map(|record| OnDevice {
            device_index: device.number,
            slow: false,
            record,
        }));
    }
    let cases = cases(&all);
    for case in &cases {
        // What the emulator takes says nothing of a device.
        let times: Option<Vec<f64>> = case.of.iter().map(|&at| all[at].record.median_ms).collect();
        for slow in times.map_or(Vec::new(), |times| slow_ranks(&times)) {
            all[case.of[slow]].slow = true;
        }
    }
    print(human, &devices, &cases, &all)?;
    let is_right = all.iter().all(|on| on.record.ok);
    if let Some(json) = json {
        json.write_records("run", true, &all)?;
    }
    Ok(match is_right {
        true => Outcome::Done,
        false => Outcome::ChecksFailed,
    })
}

fn on_device(
    device: &Opened,
    selection: &Selection,
    plan: &Plan<'_>,
) -> anyhow::Result<Vec<Record>> {
    let mut problems = Problems::new(plan.seed);
    let run = |case: &super::cases::RunCase| {
        Ok(problems.run(&*device.engine, &case.admitted, plan.sampling)?)
    };
    selection.run.iter().map(run).collect()
}

/// A kernel at a size, with the places of its records.
struct KernelRow {
    kernel: String,
    size: String,
    of: Vec<usize>,
}

fn cases(all: &[OnDevice]) -> Vec<KernelRow> {
    let mut cases: Vec<KernelRow> = Vec::new();
    for (at, OnDevice { record, .. }) in all.iter().enumerate() {
        let depth = record.k.map_or(String::new(), |k| format!("x{k}"));
        let size = format!("{}x{}{depth}", record.m, record.n);
        let is_same = |case: &&mut KernelRow| case.kernel == record.kernel && case.size == size;
        match cases.iter_mut().find(is_same) {
            Some(case) => case.of.push(at),
            None => cases.push(KernelRow {
                kernel: record.kernel.clone(),
                size,
                of: vec![at],
            }),
        }
    }
    cases
}

fn print(
    human: &mut dyn Write,
    devices: &[Opened],
    cases: &[KernelRow],
    all: &[OnDevice],
) -> anyhow::Result<()> {
    let numbers: Vec<String> = devices
        .iter()
        .map(|device| format!("ms on {}", device.number))
        .collect();
    let mut header = vec!["kernel", "size"];
    header.extend(numbers.iter().map(String::as_str));
    header.push("");
    let mut rows = table::new(&header);
    for case in cases {
        let mut row = vec![case.kernel.clone().into(), case.size.clone().into()];
        for device in devices {
            let mut on = case.of.iter().map(|&at| &all[at]);
            let on = on.find(|on| on.device_index == device.number);
            row.push(table::number(on.and_then(|on| on.record.median_ms)));
        }
        row.push(table::verdict(case.of.iter().all(|&at| all[at].record.ok)));
        rows.add_row(row);
    }
    table::align_numbers(&mut rows, 2);
    writeln!(human, "{rows}")?;
    for on in all.iter().filter(|on| on.slow) {
        let (number, Record { kernel, .. }) = (on.device_index, &on.record);
        writeln!(human, "slow: GPU {number} in {kernel}")?;
    }
    for on in all.iter().filter(|on| !on.record.ok) {
        let (number, Record { kernel, .. }) = (on.device_index, &on.record);
        let complaint = on.record.complaint.as_deref().unwrap_or("its check failed");
        writeln!(human, "faulty: GPU {number} in {kernel}: {complaint}")?;
    }
    let wrong = all.iter().filter(|on| !on.record.ok).count();
    match wrong {
        0 => writeln!(human, "all {} checks passed", all.len())?,
        _ => writeln!(human, "{wrong} of {} checks failed", all.len())?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_numbers() {
        assert_eq!("all".parse(), Ok(Devices::All));
        assert_eq!("2,0,2".parse(), Ok(Devices::Listed(vec![0, 2])));
        assert_eq!("emulated:3".parse(), Ok(Devices::Emulated(3)));
        for wrong in [
            "",
            "x",
            "0,",
            "-1",
            "emulated:0",
            "emulated:65",
            "emulated:",
        ] {
            assert!(wrong.parse::<Devices>().is_err(), "{wrong}");
        }
    }
}
