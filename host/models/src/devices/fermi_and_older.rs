//! GPUs of sources 003 and 004. Clocks are those of the shaders, in which these multiprocessors
//! count cycles.

use super::architectures::{CC_1_3, CC_2_0};
use super::{Calibration, DeviceModel, Latencies};
use crate::figure::Figure;
use std::borrow::Cow;

const TECHPOWERUP: &str = "TechPowerUp GPU database";
const WONG: &str = "Wong et al., Demystifying GPU Microarchitecture, ISPASS 2010";
const GUIDE_4: &str = "CUDA C Programming Guide 4.2, section 5.2.3";

pub(super) const DEVICES: &[DeviceModel] = &[
    DeviceModel {
        name: Cow::Borrowed("GTX 280"),
        chip: Cow::Borrowed("GT200"),
        architecture: CC_1_3,
        multiprocessors: Figure::datasheet(30, "source 004"),
        clock_mhz: Figure::datasheet(1296.0, TECHPOWERUP),
        dram_gbs: Figure::datasheet(141.7, TECHPOWERUP),
        dram_read_gbs: None,
        // Only its textures have caches.
        l2_bytes: None,
        l2_gbs: None,
        latencies: Latencies {
            fma: Some(Figure::measured(24.0, WONG)),
            fp64: None,
            l1: None,
            shared: Some(Figure::measured(38.0, WONG)),
            l2: None,
            dram: Some(Figure::measured(440.0, WONG)),
        },
        tensor_f16_tflops: None,
        calibration: Calibration::UNKNOWN,
    },
    DeviceModel {
        name: Cow::Borrowed("S2050"),
        chip: Cow::Borrowed("GF100"),
        architecture: CC_2_0,
        multiprocessors: Figure::datasheet(14, TECHPOWERUP),
        clock_mhz: Figure::datasheet(1147.0, TECHPOWERUP),
        dram_gbs: Figure::datasheet(148.4, TECHPOWERUP),
        dram_read_gbs: None,
        l2_bytes: Some(Figure::datasheet(768 << 10, TECHPOWERUP)),
        l2_gbs: None,
        latencies: Latencies {
            fma: Some(Figure::datasheet(22.0, GUIDE_4)),
            fp64: None,
            l1: None,
            shared: None,
            l2: None,
            // "400 to 800 clock cycles": the middle.
            dram: Some(Figure::datasheet(600.0, GUIDE_4)),
        },
        tensor_f16_tflops: None,
        calibration: Calibration::UNKNOWN,
    },
];
