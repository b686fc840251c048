//! The calibration's kernels on the emulator: all of them run, and what they report has the shape
//! of a calibration.

use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::calibrate::{Extent, calibrate};
use warpladder_models::devices::Measured;

#[test]
fn every_figure_is_measured() {
    let measured = calibrate(&EmulatorEngine::new(), &Extent::of_emulator()).unwrap();
    assert!(measured.device.ends_with("CPU cores"));
    for figure in &measured.figures {
        // The emulator's clock counts instructions, and differences of its times may be anything.
        assert!(figure.median.is_finite(), "{figure:?}");
        assert!(figure.low <= figure.median && figure.median <= figure.high);
        let difference = matches!(figure.unit.as_str(), "GB/s" | "10^9 words/s")
            || figure.name.starts_with("set_of_blocks");
        assert!(difference || figure.median > 0.0, "{figure:?}");
    }
    // One warp with one chain: an instruction takes a step of the emulator, and the loop around
    // them adds a few.
    for class in ["fp32", "fp64", "half", "special"] {
        let steps = measured.median(&format!("latency_{class}")).unwrap();
        assert!(steps >= 1.0, "{class}: {steps}");
    }
    let text = serde_json::to_string(&measured).unwrap();
    let read: Measured = serde_json::from_str(&text).unwrap();
    for (read, figure) in read.figures.iter().zip(&measured.figures) {
        assert_eq!((&read.name, &read.unit), (&figure.name, &figure.unit));
        assert!((read.median - figure.median).abs() <= 1e-12 * figure.median.abs());
    }
}
