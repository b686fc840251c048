//! `warpladder devices`.

use super::output;
use super::units::bytes;
use crate::outcome::Outcome;
use std::fmt::{Display, Write as _};
use std::io::Write;
use warpladder::device::{self, DeviceProperties, DeviceState, ThrottleReason};
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::error::EngineError;
use warpladder::launch::Dim3;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder devices
  warpladder devices --json")]
pub(super) struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// A heading and its lines: name and value.
struct Section(&'static str, Vec<(&'static str, String)>);

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let (devices, no_gpu) = match device::devices() {
        Ok(devices) if devices.is_empty() => (devices, Some("the driver lists none".to_owned())),
        Ok(devices) => (devices, None),
        Err(EngineError::Unavailable(reason)) => (Vec::new(), Some(reason)),
        Err(error) => return Err(error.into()),
    };
    let mut stdout = output::stdout();
    if args.json {
        stdout.write_all(&output::json("devices", true, None, &devices)?)?;
        return Ok(Outcome::Done);
    }
    if let Some(reason) = no_gpu {
        let emulator = emulator(&EmulatorEngine::new())?;
        write!(stdout, "no GPU: {reason}\n\n{emulator}")?;
    }
    let blocks: Vec<String> = devices.iter().map(gpu).collect();
    write!(stdout, "{}", blocks.join("\n"))?;
    Ok(Outcome::Done)
}

/// The block of one GPU.
fn gpu(device: &DeviceProperties) -> String {
    let title = format!("GPU {}: {}", device.ordinal, device.name);
    let sections = [
        identity(device),
        compute(device),
        memory(device),
        limits(device),
        state(device.state.as_ref()),
    ];
    block(&title, &sections)
}

/// The emulator in the same form: what runs the kernels where there is no GPU.
fn emulator(engine: &dyn Engine) -> Result<String, EngineError> {
    let threads = ptx_emulator::MAX_BLOCK_THREADS;
    let budget = ptx_emulator::DEFAULT_INSTRUCTION_BUDGET;
    let sections = [
        Section(
            "compute",
            vec![
                (
                    "compute capability",
                    engine.compute_capability().to_string(),
                ),
                ("multiprocessors", engine.multiprocessors().to_string()),
            ],
        ),
        Section(
            "memory",
            vec![("free memory", bytes(engine.free_memory()?))],
        ),
        Section(
            "limits",
            vec![
                ("threads of a block", threads.to_string()),
                (
                    "shared memory of a block",
                    bytes(ptx_emulator::MAX_SHARED_BYTES),
                ),
                (
                    "parameters of a kernel",
                    bytes(ptx_emulator::MAX_PARAMETER_BYTES),
                ),
                (
                    "instructions of a launch",
                    format!("{budget}, counted per warp"),
                ),
            ],
        ),
    ];
    let title = format!(
        "emulator: runs every kernel without a GPU, on {}",
        engine.device_name()
    );
    Ok(block(&title, &sections))
}

fn block(title: &str, sections: &[Section]) -> String {
    let names = sections.iter().flat_map(|Section(_, lines)| lines);
    let width = names.map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = format!("{title}\n");
    for Section(heading, lines) in sections {
        // Writing to a string cannot fail.
        _ = writeln!(text, "  {heading}");
        for (name, value) in lines {
            _ = writeln!(text, "    {name:width$}  {value}");
        }
    }
    text
}

fn identity(device: &DeviceProperties) -> Section {
    let state = device.state.as_ref();
    let driver = state.and_then(|state| state.driver_version.as_ref());
    Section(
        "identity",
        vec![
            ("identifier", device.uuid.clone()),
            ("PCI bus", device.pci_bus_id.clone()),
            ("driver", known(driver, "")),
            ("newest CUDA of the driver", device.cuda_version.clone()),
            ("compute capability", device.compute_capability.to_string()),
        ],
    )
}

fn compute(device: &DeviceProperties) -> Section {
    let registers = device.registers_per_multiprocessor;
    let ratio = device.single_to_double_ratio;
    let lines = vec![
        ("multiprocessors", device.multiprocessors.to_string()),
        ("highest clock", megahertz(device.clock_khz)),
        ("threads of a warp", device.warp_size.to_string()),
        (
            "threads of a multiprocessor",
            device.max_threads_per_multiprocessor.to_string(),
        ),
        (
            "blocks of a multiprocessor",
            device.max_blocks_per_multiprocessor.to_string(),
        ),
        (
            "registers of a multiprocessor",
            format!("{registers} of 32 bits"),
        ),
        ("single over double precision", format!("{ratio} to 1")),
        ("copy engines", device.copy_engines.to_string()),
        ("kernels at once", yes_no(device.concurrent_kernels)),
        ("cooperative launch", yes_no(device.cooperative_launch)),
        ("thread block clusters", yes_no(device.cluster_launch)),
        ("tensor maps", yes_no(device.tensor_maps)),
    ];
    Section("compute", lines)
}

fn memory(device: &DeviceProperties) -> Section {
    let lines = vec![
        ("device memory", bytes(device.memory_bytes)),
        ("highest memory clock", megahertz(device.memory_clock_khz)),
        ("memory bus", format!("{} bits", device.memory_bus_bits)),
        (
            "peak bandwidth",
            format!("{:.1} GB/s", device.peak_bandwidth_gbs),
        ),
        ("L2 cache", bytes(device.l2_bytes)),
        (
            "of it for persisting accesses",
            bytes(device.persisting_l2_bytes),
        ),
        ("constant memory", bytes(device.constant_bytes)),
        (
            "shared memory of a multiprocessor",
            bytes(device.shared_bytes_per_multiprocessor),
        ),
        ("error correction", yes_no(device.ecc)),
        (
            "one address space with the host",
            yes_no(device.unified_addressing),
        ),
        ("managed memory", yes_no(device.managed_memory)),
        ("memory shared with the host", yes_no(device.integrated)),
    ];
    Section("memory", lines)
}

fn limits(device: &DeviceProperties) -> Section {
    let lines = vec![
        (
            "threads of a block",
            device.max_threads_per_block.to_string(),
        ),
        (
            "registers of a block",
            format!("{} of 32 bits", device.registers_per_block),
        ),
        (
            "shared memory of a block",
            bytes(device.shared_bytes_per_block),
        ),
        (
            "the same, opted in",
            bytes(device.shared_bytes_per_block_optin),
        ),
        (
            "of it for the driver",
            bytes(device.shared_bytes_reserved_per_block),
        ),
        ("largest block", extents(device.max_block, "threads")),
        ("largest grid", extents(device.max_grid, "blocks")),
        ("run-time limit of a kernel", yes_no(device.kernel_timeout)),
    ];
    Section("limits", lines)
}

fn state(state: Option<&DeviceState>) -> Section {
    const HEADING: &str = "state now";
    let Some(state) = state else {
        let reason = "NVIDIA's management library (libnvidia-ml.so.1) does not tell".to_owned();
        return Section(HEADING, vec![("not known", reason)]);
    };
    let throttle = state.throttle_reasons.as_ref().map(|reasons| {
        let words: Vec<&str> = reasons.iter().copied().map(throttle_reason).collect();
        if words.is_empty() {
            "nothing".to_owned()
        } else {
            words.join(", ")
        }
    });
    let watts = |value: Option<f64>| known(value.map(|watts| format!("{watts:.1}")), " W");
    let lines = vec![
        ("clock", known(state.clock_mhz, " MHz")),
        ("memory clock", known(state.memory_clock_mhz, " MHz")),
        (
            "highest clock that can be set",
            known(state.max_clock_mhz, " MHz"),
        ),
        ("temperature", known(state.temperature_c, " °C")),
        ("power", watts(state.power_w)),
        ("power limit", watts(state.power_limit_w)),
        ("clocks held down by", known(throttle, "")),
    ];
    Section(HEADING, lines)
}

fn known(value: Option<impl Display>, unit: &str) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value}{unit}"))
}

fn yes_no(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

fn megahertz(kilohertz: u32) -> String {
    format!("{} MHz", f64::from(kilohertz) / 1e3)
}

fn extents(Dim3 { x, y, z }: Dim3, unit: &str) -> String {
    format!("{x} x {y} x {z} {unit}")
}

fn throttle_reason(reason: ThrottleReason) -> &'static str {
    match reason {
        ThrottleReason::Idle => "idleness",
        ThrottleReason::ApplicationClocks => "clocks that an administrator set",
        ThrottleReason::PowerCap => "the power limit",
        ThrottleReason::HardwareSlowdown => "a hardware slowdown",
        ThrottleReason::SyncBoost => "another device of the same boost group",
        ThrottleReason::SoftwareThermal => "temperature (software)",
        ThrottleReason::HardwareThermal => "temperature (hardware)",
        ThrottleReason::PowerBrake => "an external power brake",
        ThrottleReason::DisplayClocks => "clocks set for the display",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder::device::{ComputeCapability, HeldDown};

    /// A device whose numbers are all different.
    fn device() -> DeviceProperties {
        DeviceProperties {
            ordinal: 1,
            name: "NVIDIA H200".to_owned(),
            uuid: "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1".to_owned(),
            pci_bus_id: "0000:3b:00.0".to_owned(),
            cuda_version: "13.0".to_owned(),
            compute_capability: ComputeCapability::V9_0,
            multiprocessors: 132,
            clock_khz: 1_980_000,
            memory_clock_khz: 3_201_500,
            memory_bus_bits: 6144,
            peak_bandwidth_gbs: 4917.5,
            memory_bytes: 150_754_820_096,
            l2_bytes: 60 << 20,
            persisting_l2_bytes: 37 << 20,
            constant_bytes: 64 << 10,
            shared_bytes_per_multiprocessor: 228 << 10,
            shared_bytes_per_block: 48 << 10,
            shared_bytes_per_block_optin: 227 << 10,
            shared_bytes_reserved_per_block: 1 << 10,
            registers_per_multiprocessor: 65_536,
            registers_per_block: 65_535,
            max_threads_per_multiprocessor: 2048,
            max_threads_per_block: 1025,
            max_blocks_per_multiprocessor: 33,
            warp_size: 32,
            max_block: Dim3::new(1024, 1023, 64),
            max_grid: Dim3::new(2_147_483_647, 65_534, 65_533),
            single_to_double_ratio: 2,
            copy_engines: 3,
            ecc: true,
            concurrent_kernels: true,
            cooperative_launch: true,
            cluster_launch: true,
            tensor_maps: true,
            unified_addressing: true,
            managed_memory: true,
            integrated: false,
            kernel_timeout: false,
            state: Some(DeviceState {
                driver_version: Some("580.95.05".to_owned()),
                clock_mhz: Some(345),
                memory_clock_mhz: Some(3201),
                max_clock_mhz: Some(1981),
                temperature_c: Some(29),
                power_w: Some(76.25),
                power_limit_w: Some(700.0),
                throttle_reasons: Some(vec![ThrottleReason::Idle, ThrottleReason::PowerCap]),
                held_down: HeldDown::default(),
            }),
        }
    }

    #[test]
    fn every_property_has_a_line() {
        let device = device();
        let json = serde_json::to_value(&device).unwrap();
        let fields = |value: &serde_json::Value| value.as_object().unwrap().len();
        // The number and the name are the title, and the state is a section of its own.
        let properties = fields(&json) - 3 + fields(&json["state"]);
        let lines = gpu(&device)
            .lines()
            .filter(|line| line.starts_with("    "))
            .count();
        assert_eq!(lines, properties);
    }

    #[test]
    fn values_have_units() {
        let text = gpu(&device());
        for part in [
            "GPU 1: NVIDIA H200\n  identity\n    identifier ",
            "  GPU-01112131-4151-6171-8191-a1b1c1d1e1f1\n",
            "  580.95.05\n",
            "  9.0\n",
            "  1980 MHz\n",
            "  3201.5 MHz\n",
            "  6144 bits\n",
            "  4917.5 GB/s\n",
            "  140.4 GiB\n",
            "  60 MiB\n",
            "  227 KiB\n",
            "  65535 of 32 bits\n",
            "  1024 x 1023 x 64 threads\n",
            "  2147483647 x 65534 x 65533 blocks\n",
            "  29 °C\n",
            "  76.2 W\n",
            "  idleness, the power limit\n",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }

    #[test]
    fn what_a_device_does_not_tell_is_a_dash() {
        let mut device = device();
        device.state = Some(DeviceState::default());
        let text = gpu(&device);
        assert_eq!(text.matches("  -\n").count(), 8, "{text}");
        device.state = None;
        assert!(gpu(&device).contains("not known"));
    }
}
