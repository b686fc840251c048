//! The device table, and rows for live GPUs.

use crate::assert_close;
use std::collections::HashSet;
use warpladder_models::devices::{self, DeviceModel, Queried};
use warpladder_models::occupancy::{Launch, occupancy};
use warpladder_models::{Basis, Bound};

#[test]
fn names_are_unique_and_found_however_they_are_written() {
    let names: HashSet<_> = devices::table().map(|device| device.name.clone()).collect();
    assert_eq!(names.len(), devices::table().count());
    for device in devices::table() {
        assert_eq!(devices::find(&device.name).unwrap(), device);
    }
    assert_eq!(devices::find("gtx-1080").unwrap().name, "GTX 1080");
    let message = devices::find("GTX 9999").unwrap_err().to_string();
    assert!(
        message.contains("`GTX 9999`") && message.contains("H200"),
        "{message}"
    );
}

#[test]
fn peaks_are_those_of_the_datasheets() {
    // TFLOP/s in f32 and f64. S2050 and GTX 280: multiply-adds only.
    for (name, fp32, fp64) in [
        ("GTX 280", 0.622, 0.078),
        ("S2050", 1.03, 0.515),
        ("K20m", 3.52, 1.17),
        ("K80", 4.11, 1.37),
        ("M2200", 2.12, 0.066),
        ("GTX 1080", 8.87, 0.277),
        ("P100", 10.6, 5.3),
        ("V100", 15.7, 7.8),
        ("A100", 19.5, 9.7),
        ("RTX 4090", 82.6, 1.29),
        ("H100", 66.9, 33.5),
        ("H200", 66.9, 33.5),
        ("B200", 74.4, 37.2),
    ] {
        let device = devices::find(name).unwrap();
        assert_close(device.peak_fp32_gflops().unwrap() / 1e3, fp32, 6e-3);
        assert_close(device.peak_fp64_gflops().unwrap() / 1e3, fp64, 8e-3);
    }
}

#[test]
fn figures_are_plausible_and_sourced() {
    for device in devices::table() {
        let name = &device.name;
        let dram = device.dram_gbs.value;
        assert!(
            device
                .dram_read_gbs
                .is_none_or(|figure| figure.value < dram),
            "{name}"
        );
        assert!(
            device.l2_gbs.is_none_or(|figure| figure.value > dram),
            "{name}"
        );
        assert!(device.shared_gbs() > dram, "{name}");
        let latencies = device.latencies;
        let known = [
            latencies.fma,
            latencies.shared,
            latencies.l2,
            latencies.dram,
        ];
        let values: Vec<f64> = known
            .into_iter()
            .flatten()
            .map(|figure| figure.value)
            .collect();
        assert!(values.is_sorted(), "{name}: {values:?}");
        let json = serde_json::to_string(device).unwrap();
        assert!(!json.contains("\"source\":\"\""), "{name}");
    }
}

#[test]
fn a_roofline_has_the_roofs_that_are_known() {
    let h200 = devices::find("H200").unwrap();
    assert_eq!(h200.roofline(Bound::Fp32).unwrap().roofs.len(), 3);
    let b200 = devices::find("B200").unwrap();
    assert_eq!(b200.roofline(Bound::Fp64).unwrap().roofs.len(), 2);
    assert_eq!(h200.roofline(Bound::Dram), None);
}

/// What a driver tells of an H200.
fn h200() -> Queried {
    Queried {
        name: "NVIDIA H200".to_owned(),
        compute_capability: 90,
        multiprocessors: 132,
        clock_khz: 1_980_000,
        peak_bandwidth_gbs: 4916.7,
        l2_bytes: 60 << 20,
        shared_bytes_per_multiprocessor: 233_472,
        shared_bytes_per_block_optin: 232_448,
        shared_bytes_reserved_per_block: 1024,
        registers_per_multiprocessor: 65536,
        registers_per_block: 65536,
        max_threads_per_multiprocessor: 2048,
        max_threads_per_block: 1024,
        max_blocks_per_multiprocessor: 32,
    }
}

#[test]
fn a_live_gpu_takes_the_rest_from_its_row() {
    let row = devices::find("H200").unwrap();
    let live = DeviceModel::from_query(&h200());
    assert_eq!(live.name, "NVIDIA H200");
    assert_eq!(
        (live.dram_gbs.value, live.dram_gbs.basis),
        (4916.7, Basis::Queried)
    );
    assert_eq!(live.l2_bytes.unwrap().value, 60 << 20);
    assert_eq!(
        live.architecture.limits.value,
        row.architecture.limits.value
    );
    assert_eq!(live.architecture.allocation, row.architecture.allocation);
    assert_eq!(live.architecture.lanes, row.architecture.lanes);
    assert_eq!(live.latencies, row.latencies);
    assert_eq!(live.l2_gbs, row.l2_gbs);
}

#[test]
fn a_live_gpu_of_a_known_generation_assumes_its_latencies() {
    let pcie = Queried {
        name: "NVIDIA H100 PCIe".to_owned(),
        multiprocessors: 114,
        ..h200()
    };
    let live = DeviceModel::from_query(&pcie);
    assert_eq!(live.latencies.dram.unwrap().basis, Basis::Assumed);
    assert_eq!((live.l2_gbs, live.dram_read_gbs), (None, None));
    assert_eq!(live.chip, "GH100");
}

#[test]
fn a_live_gpu_of_an_unknown_generation_has_limits_but_no_rates() {
    let newer = Queried {
        name: "NVIDIA GeForce RTX 5090".to_owned(),
        compute_capability: 120,
        multiprocessors: 170,
        max_threads_per_multiprocessor: 1536,
        max_blocks_per_multiprocessor: 24,
        ..h200()
    };
    let live = DeviceModel::from_query(&newer);
    assert_eq!(
        (live.peak_fp32_gflops(), live.architecture.issue),
        (None, None)
    );
    assert_eq!(live.architecture.allocation.basis, Basis::Assumed);
    assert_eq!(live.latencies.dram, None);
    let launch = Launch {
        blocks: 170,
        threads_per_block: 512,
        registers_per_thread: 32,
        shared_bytes_per_block: 0,
    };
    let architecture = live.architecture;
    let found = occupancy(
        &architecture.limits.value,
        &architecture.allocation.value,
        &launch,
    )
    .unwrap();
    assert_eq!(found.blocks, 3);
}

/// TFLOP/s of the tensor cores in f64.
#[test]
fn tensor_peaks_in_f64_are_those_of_the_datasheets() {
    for (name, peak) in [
        ("A100", 19.5),
        ("H100", 67.0),
        ("H200", 67.0),
        ("B200", 37.0),
    ] {
        let device = devices::find(name).unwrap();
        assert_close(device.peak_tensor_fp64_gflops().unwrap() / 1e3, peak, 8e-3);
    }
    for name in ["K80", "V100", "RTX 4090"] {
        let device = devices::find(name).unwrap();
        assert_eq!(device.peak_tensor_fp64_gflops(), None, "{name}");
    }
}

#[test]
fn a_drivers_name_finds_the_row_of_that_model_alone() {
    let named = |name| devices::named(name).map(|device| &*device.name);
    assert_eq!(named("NVIDIA H200"), Some("H200"));
    assert_eq!(named("Tesla P100-SXM2-16GB"), Some("P100"));
    assert_eq!(named("NVIDIA A100-SXM4-80GB"), Some("A100"));
    assert_eq!(named("NVIDIA GeForce RTX 4090"), Some("RTX 4090"));
    for other in [
        "NVIDIA GeForce GTX 1080 Ti",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA H100 PCIe",
        "NVIDIA RTX A1000",
        "4 CPU cores",
        "",
    ] {
        assert_eq!(named(other), None, "{other}");
    }
}
