//! Current GPUs.

use super::architectures::{CC_7_0, CC_8_0, CC_8_9, CC_9_0, CC_10_0};
use super::{Calibration, DeviceModel, Latencies};
use crate::figure::Figure;
use std::borrow::Cow;

const TECHPOWERUP: &str = "TechPowerUp GPU database";
const JIA: &str = "Jia et al., arXiv 1804.06826";
const LATENCY: &str = "RRZE gpu-benches, gpu-latency";
const L2_CACHE: &str = "RRZE gpu-benches, gpu-l2-cache";
const V100: &str = "NVIDIA V100 datasheet";
const A100: &str = "NVIDIA A100 datasheet, 40 GB SXM";
const ADA: &str = "NVIDIA Ada whitepaper";
const H100: &str = "NVIDIA H100 datasheet, SXM";
const H200: &str = "NVIDIA H200 datasheet, SXM";
const B200: &str = "NVIDIA HGX B200 datasheet";

const fn chase(l2: f64, dram: f64) -> Latencies {
    Latencies {
        fma: None,
        fp64: None,
        l1: None,
        shared: None,
        l2: Some(Figure::measured(l2, LATENCY)),
        dram: Some(Figure::measured(dram, LATENCY)),
    }
}

const H100_SXM: DeviceModel = DeviceModel {
    name: Cow::Borrowed("H100"),
    chip: Cow::Borrowed("GH100"),
    architecture: CC_9_0,
    multiprocessors: Figure::datasheet(132, H100),
    clock_mhz: Figure::datasheet(1980.0, TECHPOWERUP),
    dram_gbs: Figure::datasheet(3350.0, H100),
    dram_read_gbs: None,
    l2_bytes: Some(Figure::datasheet(50 << 20, "NVIDIA H100 whitepaper")),
    l2_gbs: None,
    latencies: chase(281.0, 690.0),
    tensor_f16_tflops: Some(Figure::datasheet(989.4, H100)),
    calibration: Calibration::UNKNOWN,
};

pub(super) const DEVICES: &[DeviceModel] = &[
    DeviceModel {
        name: Cow::Borrowed("V100"),
        chip: Cow::Borrowed("GV100"),
        architecture: CC_7_0,
        multiprocessors: Figure::datasheet(80, "NVIDIA Tesla V100 whitepaper"),
        clock_mhz: Figure::datasheet(1530.0, "NVIDIA Tesla V100 whitepaper"),
        dram_gbs: Figure::datasheet(900.0, V100),
        dram_read_gbs: Some(Figure::measured(879.0, "RRZE gpu-benches, cuda-stream")),
        l2_bytes: Some(Figure::datasheet(6 << 20, "NVIDIA Tesla V100 whitepaper")),
        // Measured at 1380 MHz.
        l2_gbs: Some(Figure::measured(2544.0, "RRZE gpu-benches, cuda-cache")),
        latencies: Latencies {
            fma: Some(Figure::measured(4.0, JIA)),
            fp64: None,
            l1: None,
            shared: Some(Figure::measured(19.0, JIA)),
            ..chase(215.0, 437.0)
        },
        tensor_f16_tflops: Some(Figure::datasheet(125.0, V100)),
        calibration: Calibration::UNKNOWN,
    },
    DeviceModel {
        name: Cow::Borrowed("A100"),
        chip: Cow::Borrowed("GA100"),
        architecture: CC_8_0,
        multiprocessors: Figure::datasheet(108, "NVIDIA A100 whitepaper"),
        clock_mhz: Figure::datasheet(1410.0, "NVIDIA A100 whitepaper"),
        dram_gbs: Figure::datasheet(1555.0, A100),
        dram_read_gbs: Some(Figure::measured(1490.0, "RRZE gpu-benches, gpu-stream")),
        l2_bytes: Some(Figure::datasheet(40 << 20, "NVIDIA A100 whitepaper")),
        // Measured on the 80 GB model, with data of up to 25 MB.
        l2_gbs: Some(Figure::measured(5400.0, L2_CACHE)),
        latencies: chase(213.0, 574.0),
        tensor_f16_tflops: Some(Figure::datasheet(312.0, A100)),
        calibration: Calibration::UNKNOWN,
    },
    DeviceModel {
        name: Cow::Borrowed("RTX 4090"),
        chip: Cow::Borrowed("AD102"),
        architecture: CC_8_9,
        multiprocessors: Figure::datasheet(128, ADA),
        clock_mhz: Figure::datasheet(2520.0, ADA),
        dram_gbs: Figure::datasheet(1008.0, ADA),
        dram_read_gbs: None,
        l2_bytes: Some(Figure::datasheet(72 << 20, ADA)),
        l2_gbs: None,
        latencies: chase(296.0, 636.0),
        tensor_f16_tflops: Some(Figure::datasheet(165.2, ADA)),
        calibration: Calibration::UNKNOWN,
    },
    H100_SXM,
    DeviceModel {
        name: Cow::Borrowed("H200"),
        dram_gbs: Figure::datasheet(4800.0, H200),
        // The rest is calibrated: see `table`.
        calibration: Calibration {
            tensor_f16_tflops: Some(Figure::measured(
                780.0,
                "cuBLAS 13.1, bf16, 8192: results/h200/compare-wgmma.json",
            )),
            // Their times over half of their operands: the caches hold the other half.
            constant_operand_cycles: Some(Figure::measured(
                20.0,
                "mean of matvec_lcs_32 and matvec_interleaved_32 at 4096",
            )),
            active_clusters: Some(Figure::measured(
                [132, 66, 39, 30, 22, 17, 15, 15],
                "cuOccupancyMaxActiveClusters, driver 580.159.04",
            )),
            ..Calibration::UNKNOWN
        },
        ..H100_SXM
    },
    DeviceModel {
        name: Cow::Borrowed("B200"),
        chip: Cow::Borrowed("GB100"),
        architecture: CC_10_0,
        multiprocessors: Figure::datasheet(148, TECHPOWERUP),
        clock_mhz: Figure::datasheet(1965.0, TECHPOWERUP),
        dram_gbs: Figure::datasheet(8000.0, B200),
        dram_read_gbs: None,
        l2_bytes: Some(Figure::datasheet(126 << 20, TECHPOWERUP)),
        l2_gbs: None,
        latencies: chase(295.0, 860.0),
        tensor_f16_tflops: Some(Figure::datasheet(2250.0, B200)),
        calibration: Calibration::UNKNOWN,
    },
];
