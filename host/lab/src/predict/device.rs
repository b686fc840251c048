//! What is known of a device: its row of the table, its cycles, and the registers of a thread.

use super::{Cycles, ForecastError};
use std::sync::OnceLock;
use warpladder::device::DeviceProperties;
use warpladder::ptx;
use warpladder_models::Figure;
use warpladder_models::devices::{DeviceModel, Queried};

/// The row of a GPU of this machine: what its driver tells, and for the rest what is known of the
/// same GPU.
pub fn device_of(properties: &DeviceProperties) -> DeviceModel {
    DeviceModel::from_query(&Queried {
        name: properties.name.clone(),
        compute_capability: properties.compute_capability.into(),
        multiprocessors: properties.multiprocessors,
        clock_khz: properties.clock_khz,
        peak_bandwidth_gbs: properties.peak_bandwidth_gbs,
        l2_bytes: properties.l2_bytes,
        shared_bytes_per_multiprocessor: properties.shared_bytes_per_multiprocessor,
        shared_bytes_per_block_optin: properties.shared_bytes_per_block_optin,
        shared_bytes_reserved_per_block: properties.shared_bytes_reserved_per_block,
        registers_per_multiprocessor: properties.registers_per_multiprocessor,
        registers_per_block: properties.registers_per_block,
        max_threads_per_multiprocessor: properties.max_threads_per_multiprocessor,
        max_threads_per_block: properties.max_threads_per_block,
        max_blocks_per_multiprocessor: properties.max_blocks_per_multiprocessor,
    })
}

/// The cycles of a device that [`Chain`](super::Chain)s of instructions depend on; where one is
/// unknown, those of the nearest kind.
pub fn cycles(device: &DeviceModel) -> Cycles {
    const FMA: f64 = 6.0;
    const ISSUES: f64 = 4.0;
    let value = |figure: Option<Figure<f64>>| figure.map(|figure| figure.value);
    let latencies = &device.latencies;
    let arithmetic = value(latencies.fma).unwrap_or(FMA);
    let shared = value(latencies.shared).unwrap_or(4.0 * arithmetic);
    let dram = value(latencies.dram).unwrap_or(100.0 * arithmetic);
    let architecture = &device.architecture;
    let issues = value(architecture.issue).unwrap_or(ISSUES).max(1.0);
    let lanes = architecture
        .load_store
        .map_or(32.0, |figure| f64::from(figure.value));
    Cycles {
        arithmetic,
        fp64: value(latencies.fp64).unwrap_or(arithmetic),
        shared,
        l1: value(latencies.l1).unwrap_or(shared),
        miss: [value(latencies.l2).unwrap_or(dram), dram],
        load_store_issue: 32.0 * issues / lanes,
        // Since compute capability 9.0 `ptxas` loads each such operand by an instruction of its own
        // (ULDC).
        constant_operand_issue: f64::from(u8::from(architecture.compute_capability >= 90)),
    }
}

/// Registers of a thread on a device: those of compute capability 9.0, as far as a thread can have
/// that number. Other generations differ by a few.
pub(super) fn registers(device: &DeviceModel, entry: &'static str) -> Result<u32, ForecastError> {
    let most = device.architecture.limits.value.registers_per_thread;
    let assigned = assigned_registers(entry).ok_or(ForecastError::NoRegisters(entry))?;
    Ok(assigned.min(most))
}

/// Registers of a thread, as `ptxas` assigns them for compute capability 9.0.
pub(super) fn assigned_registers(entry: &str) -> Option<u32> {
    static TABLE: OnceLock<Vec<(String, u32)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut reader = csv::Reader::from_reader(ptx::REGISTERS.as_bytes());
        let rows = reader.deserialize::<(String, String, u32)>();
        let rows = rows.filter_map(Result::ok);
        rows.map(|(kernel, _, registers)| (kernel, registers))
            .collect()
    });
    let found = table.iter().find(|(kernel, _)| kernel == entry);
    found.map(|&(_, registers)| registers)
}
