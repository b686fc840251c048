//! GPUs of sources 000 and 002, and the P100.

use super::architectures::{CC_3_5, CC_3_7, CC_5_2, CC_6_0, CC_6_1};
use super::{Calibration, DeviceModel, Latencies};
use crate::figure::Figure;
use std::borrow::Cow;

const TECHPOWERUP: &str = "TechPowerUp GPU database";
const ARAFA: &str = "Arafa et al., arXiv 1905.08778, GPUs of this generation";
const SOURCE_000: &str = "source 000, \"Tesla Kepler K80/K20m\"";
const SOURCE_002: &str = "source 002";

const fn arafa(fma: f64, shared: f64, l2: f64, dram: f64) -> Latencies {
    Latencies {
        fma: Some(Figure::measured(fma, ARAFA)),
        fp64: None,
        l1: None,
        shared: Some(Figure::measured(shared, ARAFA)),
        l2: Some(Figure::measured(l2, ARAFA)),
        dram: Some(Figure::measured(dram, ARAFA)),
    }
}

const K20M: DeviceModel = DeviceModel {
    name: Cow::Borrowed("K20m"),
    chip: Cow::Borrowed("GK110"),
    architecture: CC_3_5,
    multiprocessors: Figure::datasheet(13, SOURCE_000),
    clock_mhz: Figure::datasheet(705.5, SOURCE_000),
    dram_gbs: Figure::datasheet(208.0, SOURCE_000),
    dram_read_gbs: None,
    l2_bytes: Some(Figure::datasheet(1280 << 10, SOURCE_000)),
    l2_gbs: None,
    latencies: arafa(9.0, 26.0, 188.0, 331.0),
    tensor_f16_tflops: None,
    calibration: Calibration::UNKNOWN,
};

pub(super) const DEVICES: &[DeviceModel] = &[
    K20M,
    DeviceModel {
        name: Cow::Borrowed("K20c"),
        clock_mhz: Figure::datasheet(706.0, TECHPOWERUP),
        ..K20M
    },
    // One of its two GPUs, at its highest clock.
    DeviceModel {
        name: Cow::Borrowed("K80"),
        chip: Cow::Borrowed("GK210"),
        architecture: CC_3_7,
        clock_mhz: Figure::datasheet(823.5, SOURCE_000),
        dram_gbs: Figure::datasheet(240.0, SOURCE_000),
        l2_bytes: Some(Figure::datasheet(1536 << 10, SOURCE_000)),
        latencies: Latencies {
            fma: None,
            fp64: None,
            l1: None,
            shared: None,
            l2: None,
            dram: None,
        },
        ..K20M
    },
    DeviceModel {
        name: Cow::Borrowed("M2200"),
        chip: Cow::Borrowed("GM206"),
        architecture: CC_5_2,
        multiprocessors: Figure::datasheet(8, TECHPOWERUP),
        clock_mhz: Figure::datasheet(1036.0, TECHPOWERUP),
        dram_gbs: Figure::datasheet(88.1, SOURCE_002),
        dram_read_gbs: None,
        l2_bytes: Some(Figure::datasheet(1 << 20, TECHPOWERUP)),
        l2_gbs: None,
        latencies: arafa(6.0, 24.0, 225.0, 379.0),
        tensor_f16_tflops: None,
        calibration: Calibration::UNKNOWN,
    },
    DeviceModel {
        name: Cow::Borrowed("P100"),
        chip: Cow::Borrowed("GP100"),
        architecture: CC_6_0,
        multiprocessors: Figure::datasheet(56, "NVIDIA Tesla P100 whitepaper"),
        clock_mhz: Figure::datasheet(1480.0, "NVIDIA Tesla P100 whitepaper"),
        dram_gbs: Figure::datasheet(732.0, "NVIDIA Tesla P100 datasheet"),
        dram_read_gbs: None,
        l2_bytes: Some(Figure::datasheet(4 << 20, "NVIDIA Tesla P100 whitepaper")),
        l2_gbs: None,
        latencies: arafa(6.0, 25.0, 252.0, 482.0),
        tensor_f16_tflops: None,
        calibration: Calibration::UNKNOWN,
    },
    DeviceModel {
        name: Cow::Borrowed("GTX 1080"),
        chip: Cow::Borrowed("GP104"),
        architecture: CC_6_1,
        multiprocessors: Figure::datasheet(20, SOURCE_002),
        clock_mhz: Figure::datasheet(1733.0, TECHPOWERUP),
        dram_gbs: Figure::datasheet(320.3, TECHPOWERUP),
        dram_read_gbs: None,
        l2_bytes: Some(Figure::datasheet(2 << 20, TECHPOWERUP)),
        l2_gbs: Some(Figure::measured(900.0, SOURCE_002)),
        latencies: arafa(6.0, 25.0, 252.0, 482.0),
        tensor_f16_tflops: None,
        calibration: Calibration::UNKNOWN,
    },
];
