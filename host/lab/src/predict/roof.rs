//! The roof over a problem: the least time that a GPU's peaks allow, whatever the kernel.

use crate::catalogue::Rung;
use crate::problem::{Operation, Shape};
use warpladder::element::ElementType;
use warpladder_models::devices::DeviceModel;

/// The least time for a problem, in seconds: its arithmetic at the peak of the fastest units that
/// do it, or every input read once and the output written once, whichever takes longer. Data that
/// the L2 cache holds from one launch to the next moves at the rate of that cache.
///
/// `None` where the figures of the device are not known.
pub fn least_seconds(device: &DeviceModel, rung: &Rung, shape: Shape) -> Option<f64> {
    let flops = rung.operation.flops(shape);
    let arithmetic = match flops > 0.0 {
        true => Some(flops / (peak_gflops(device, rung)? * 1e9)),
        false => None,
    };
    let bytes = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
    let is_cached = device.l2_bytes.is_some_and(|l2| bytes <= l2.value as f64);
    let gbs = match is_cached {
        true => device.l2_gbs.map(|figure| figure.value),
        false => Some(device.usable_dram_gbs().value),
    };
    let data = gbs.map(|gbs| bytes / (gbs * 1e9));
    match (arithmetic, data) {
        (Some(arithmetic), Some(data)) => Some(arithmetic.max(data)),
        (one, other) => one.or(other),
    }
}

/// The least time of a problem in percent of a time, in milliseconds.
pub fn roof_pct(device: &DeviceModel, rung: &Rung, shape: Shape, ms: f64) -> Option<f64> {
    Some(100.0 * least_seconds(device, rung, shape)? * 1e3 / ms)
        .filter(|percent| percent.is_finite())
}

/// The peak of the fastest units that do a rung's arithmetic as precisely, in GFLOP/s.
fn peak_gflops(device: &DeviceModel, rung: &Rung) -> Option<f64> {
    match (rung.operation, rung.element) {
        (Operation::TensorProduct(input) | Operation::TensorProduct16(input), _) => {
            let f16 = device.tensor_f16_tflops?.value * 1e3;
            Some(f16 * input.rate())
        }
        (_, ElementType::F64) => {
            let tensor = device.peak_tensor_fp64_gflops();
            tensor.or_else(|| device.peak_fp64_gflops())
        }
        _ if rung.mmas_per_product() > 1 => {
            let f16 = device.tensor_f16_tflops?.value * 1e3;
            Some(f16 / f64::from(rung.mmas_per_product()))
        }
        _ => device.peak_fp32_gflops(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use warpladder_models::devices;

    fn least_ms(kernel: &str, size: u32) -> f64 {
        let device = devices::find("H200").unwrap();
        let shape = Shape {
            m: size,
            n: size,
            k: size,
        };
        1e3 * least_seconds(device, catalogue::find(kernel).unwrap(), shape).unwrap()
    }

    #[test]
    fn the_roof_is_that_of_the_problem() {
        let device = devices::find("H200").unwrap();
        let flops = 2.0 * 4096_f64.powi(3);
        let product = flops / (device.peak_fp32_gflops().unwrap() * 1e6);
        assert!((least_ms("naive", 4096) / product - 1.0).abs() < 1e-9);
        // All kernels of one problem have one roof; tensor cores have their own.
        assert_eq!(least_ms("naive", 4096), least_ms("sgemm", 4096));
        assert!(least_ms("wgmma_bf16", 4096) < 0.1 * product);
        assert!((least_ms("wgmma_tf32", 4096) / least_ms("wgmma_bf16", 4096) - 2.0).abs() < 1e-9);
        let bytes = 2.0 * 4.0 * 4096_f64.powi(2);
        let copied = bytes / (device.usable_dram_gbs().value * 1e6);
        assert!((least_ms("transpose_naive", 4096) / copied - 1.0).abs() < 1e-9);
    }
}
