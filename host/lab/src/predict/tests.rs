use super::device::assigned_registers;
use super::*;
use crate::catalogue::{self, Implementation};
use warpladder::gemm::DeviceLimits;
use warpladder_models::devices;

#[test]
fn the_registers_of_every_kernel_are_known() {
    for module in ptx::MODULES {
        for entry in module.entries() {
            assert!(
                assigned_registers(entry).is_some(),
                "{entry}: see ForecastError::NoRegisters"
            );
        }
    }
}

/// Warps of a block.
fn rung_warps(rung: &Rung) -> f64 {
    let Implementation::Kernel { geometry, .. } = rung.implementation else {
        unreachable!("{} is a kernel", rung.name);
    };
    let [x, y, z] = geometry.block();
    f64::from((x * y * z).div_ceil(32))
}

#[test]
fn counts_at_a_large_size_are_those_of_a_run() {
    let emulator = EmulatorEngine::new();
    let shape = Shape {
        m: 384,
        n: 512,
        k: 640,
    };
    for name in ["tiled_32", "naive", "wolfe_k4_w32_j2", "add_one"] {
        let rung = catalogue::find(name).unwrap();
        let request = PlanRequest {
            operation: rung.operation,
            shape,
            device: DeviceLimits::new(8, ComputeCapability::V9_0),
            transposed: [false; 2],
        };
        let h200 = devices::find("H200").unwrap();
        let admitted = preflight_elsewhere(rung, &request).unwrap();
        let extrapolated = counts::at(&admitted, cycles(h200), 1).unwrap()[0];
        let admitted = crate::run::preflight(&emulator, rung, shape).unwrap();
        let run = crate::profile::profile(&emulator, &admitted, 1).unwrap();
        let total = run.counters.total();
        let wavefronts = total.shared().wavefronts as f64;
        assert_eq!(extrapolated.shared_wavefronts, wavefronts, "{name}");
        let warps = rung_warps(rung);
        assert_eq!(
            extrapolated.barriers * warps,
            total.barriers as f64,
            "{name}"
        );
        let loads = total.global_loads.sectors as f64;
        assert!(extrapolated.read_sectors <= loads, "{name}");
    }
}

#[test]
fn sizes_that_leave_the_same_rest_share_their_runs() {
    // A seed that no other test counts with.
    const SEED: u64 = 0x5eed;
    let (h200, rung) = (
        devices::find("H200").unwrap(),
        catalogue::find("transpose_padded").unwrap(),
    );
    let runs_after = |size| {
        let shape = Shape {
            m: size,
            n: size,
            k: 1,
        };
        forecast(&EmulatorEngine::new(), h200, rung, shape, SEED).unwrap();
        counts::runs_with(SEED)
    };
    assert_eq!([4096, 8192, 8224].map(runs_after), [4, 4, 8]);
}

/// Kernels are chosen by the size: at these no smaller one has the same.
#[test]
fn general_products_are_predicted_at_every_small_size() {
    let emulator = EmulatorEngine::new();
    let shape = Shape {
        m: 300,
        n: 300,
        k: 40,
    };
    for (name, device) in [("sgemm", "H200"), ("dgemm", "A100"), ("wgmma_bf16", "H200")] {
        let (rung, device) = (
            catalogue::find(name).unwrap(),
            devices::find(device).unwrap(),
        );
        let forecast = forecast(&emulator, device, rung, shape, 1).unwrap();
        let peak = roof_pct(device, rung, shape, forecast.seconds() * 1e3);
        assert!(peak.is_some_and(|share| share < 100.0), "{name}: {peak:?}");
    }
}

#[test]
fn tiles_are_faster_than_none_and_blocking_in_registers_is_faster_still() {
    let emulator = EmulatorEngine::new();
    let h200 = devices::find("H200").unwrap();
    let shape = Shape {
        m: 2048,
        n: 2048,
        k: 2048,
    };
    let seconds = |name| {
        let rung = catalogue::find(name).unwrap();
        forecast(&emulator, h200, rung, shape, 1).unwrap().seconds()
    };
    let outputs = seconds("outputs_4");
    assert!(seconds("naive") > 1.5 * outputs);
    assert!(outputs > 1.5 * seconds("register_blocked"));
}

/// Addresses that the constant cache serves for a vector: requests of a round, times addresses
/// of each, times warps.
#[test]
fn constants_are_asked_for_as_the_assembler_has_it() {
    let shape = Shape {
        m: 4096,
        n: 4096,
        k: 1,
    };
    let h200 = devices::find("H200").unwrap();
    for (name, elements, expected) in [
        // Loaded ahead of the loop.
        ("matvec_thread_per_element_8", 8, 0.0),
        // Four words of a row one by one, eight in pairs.
        ("matvec_thread_per_element_12", 12, 8.0 * 12.0 * 12.0 / 32.0),
        ("matvec_thread_per_element", 16, 16.0 * 16.0 / 2.0),
        // Half of the words come from afar.
        ("matvec_thread_per_element_32", 32, 1.5 * 32.0 * 32.0),
    ] {
        let rung = catalogue::find(name).unwrap();
        let strided = Strided::of(rung, cycles(h200), 1).unwrap().unwrap();
        let counts = strided.at(shape, 132 * 2048);
        let vectors = f64::from(shape.m * shape.n / elements);
        let each = counts.constant_addresses / vectors;
        assert!(
            (each - expected).abs() <= 0.02 * expected + 1.0,
            "{name}: {each}"
        );
    }
}
