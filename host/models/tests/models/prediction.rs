//! The combined prediction: each bound in turn, and how they combine.

use crate::assert_close;
use warpladder_models::Bound;
use warpladder_models::devices;
use warpladder_models::occupancy::Launch;
use warpladder_models::predict::{PredictError, Prediction, WarpInstructions, Work, predict};

/// Enough blocks for every multiprocessor of an H200 to have the same number.
const BLOCKS: u64 = 132 * 64;

fn launch(blocks: u64) -> Launch {
    Launch {
        blocks,
        threads_per_block: 256,
        registers_per_thread: 32,
        shared_bytes_per_block: 0,
    }
}

/// A figure of the H200's calibration, which these tests do not repeat.
fn figure(of: impl Fn(&devices::DeviceModel) -> Option<warpladder_models::Figure<f64>>) -> f64 {
    of(devices::find("H200").unwrap()).unwrap().value
}

/// Cycles to start a block of 8 warps and to free its place.
fn start_cycles() -> f64 {
    figure(|h200| h200.calibration.block_cycles) + 8.0 * figure(|h200| h200.calibration.warp_cycles)
}

fn on_h200(launch: &Launch, work: &Work) -> Prediction {
    predict(devices::find("H200").unwrap(), launch, work).unwrap()
}

/// Warps of `launch(BLOCKS)`.
const WARPS: u64 = BLOCKS * 8;

#[test]
fn a_copy_is_bound_by_device_memory() {
    // Four floats per thread in one access: 16 sectors per warp, and some arithmetic on addresses.
    let work = Work {
        instructions: WarpInstructions {
            integer: 6 * WARPS,
            load_store: 2 * WARPS,
            other: 2 * WARPS,
            ..WarpInstructions::default()
        },
        l1_wavefronts: 8 * WARPS,
        l2_read_sectors: 16 * WARPS,
        l2_write_sectors: 16 * WARPS,
        dram_bytes: 1024 * WARPS,
        ..Work::default()
    };
    let copy = on_h200(&launch(BLOCKS), &work);
    assert_eq!(copy.bound, Bound::Dram);
    let dram = 1024.0 * WARPS as f64 / (1e9 * figure(|h200| h200.dram_read_gbs));
    assert_close(copy.seconds_of(Bound::Dram), dram, 1e-12);
    // Whole sectors are written slower than they are read.
    let read = 16.0 / (1e9 * figure(|h200| h200.l2_gbs));
    let written = 16.0 / (1e9 * figure(|h200| h200.calibration.l2_write_gbs));
    let l2 = (read + written) * 32.0 * WARPS as f64;
    assert_close(copy.seconds_of(Bound::L2), l2, 1e-12);
    // Other bounds are in the way, but not much.
    let start = 1e-6 * figure(|h200| h200.calibration.launch_us);
    assert!(
        (0.7..1.0).contains(&(dram / (copy.seconds - start))),
        "{copy:?}"
    );
    // A transpose whose stores touch a part of 128 sectors per warp is bound by what moves to L2
    // instead.
    let naive = Work {
        l1_wavefronts: 132 * WARPS,
        l2_write_sectors: 0,
        l2_partial_sectors: 128 * WARPS,
        ..work
    };
    let naive = on_h200(&launch(BLOCKS), &naive);
    assert_eq!(naive.bound, Bound::L2);
    let partial = 128.0 / (1e9 * figure(|h200| h200.calibration.l2_partial_gbs));
    let l2 = (read + partial) * 32.0 * WARPS as f64;
    assert_close(naive.seconds_of(Bound::L2), l2, 1e-12);
    assert!(naive.times.is_sorted_by(|a, b| a.seconds >= b.seconds));
}

#[test]
fn multiply_adds_alone_run_at_peak() {
    let work = Work {
        instructions: WarpInstructions {
            fp32: 1000 * WARPS,
            ..WarpInstructions::default()
        },
        ..Work::default()
    };
    let prediction = on_h200(&launch(BLOCKS), &work);
    // 4 warps issue per cycle, and the units take 4: of equals, the units are named.
    assert_eq!(prediction.bound, Bound::Fp32);
    let seconds = prediction.seconds_of(Bound::Fp32);
    assert_close(prediction.seconds_of(Bound::Issue), seconds, 1e-12);
    let flops = 1000 * WARPS * 64;
    let peak = devices::find("H200").unwrap().peak_fp32_gflops().unwrap();
    assert_close(flops as f64 / seconds / 1e9, peak, 1e-12);
    // Starting blocks and the launch cost the rest.
    assert!((0.85..1.0).contains(&(prediction.gflops(flops) / peak)));
    // One block more than a multiple: one multiprocessor has 65 and the others wait for it.
    let uneven = on_h200(&launch(BLOCKS + 1), &work);
    assert_close(uneven.seconds_of(Bound::Fp32) / seconds, 65.0 / 64.0, 2e-4);
    // A single block has a 132nd of the chip.
    let one = on_h200(&launch(1), &work);
    assert_close(one.seconds_of(Bound::Fp32) / seconds, 132.0, 1e-12);
}

#[test]
fn bank_conflicts_cost_wavefronts() {
    let with = |wavefronts| Work {
        shared_wavefronts: wavefronts * WARPS,
        dram_bytes: 1024 * WARPS,
        ..Work::default()
    };
    assert_eq!(on_h200(&launch(BLOCKS), &with(8)).bound, Bound::Dram);
    let conflicts = on_h200(&launch(BLOCKS), &with(132));
    // Shared memory is a part of the L1 caches' data path.
    assert!(matches!(conflicts.bound, Bound::Shared | Bound::L1));
    assert_close(
        conflicts.seconds_of(Bound::Shared),
        132.0 * (WARPS / 132) as f64 / 1.98e9,
        1e-12,
    );
    // Compute capability 2.0 takes two cycles for each.
    let fermi = predict(devices::find("S2050").unwrap(), &launch(14), &with(132)).unwrap();
    assert_close(
        fermi.seconds_of(Bound::Shared),
        2.0 * 132.0 * WARPS as f64 / 14.0 / 1.147e9,
        1e-12,
    );
}

#[test]
fn barriers_add_the_phases_of_a_lone_block() {
    let work = Work {
        instructions: WarpInstructions {
            fp32: 1000 * WARPS,
            ..WarpInstructions::default()
        },
        dram_bytes: 100 * WARPS,
        barriers_per_block: 4,
        ..Work::default()
    };
    // 200 KiB of shared memory leave room for one block; without them there is room for eight.
    let lone = Launch {
        shared_bytes_per_block: 200 << 10,
        ..launch(BLOCKS)
    };
    let alone = on_h200(&lone, &work);
    assert_eq!((alone.bound, alone.occupancy.blocks), (Bound::Barriers, 1));
    // Two rounds with a load each, after the start of the block.
    let load = figure(|h200| h200.latencies.dram);
    let waits = 64.0 * (start_cycles() + 2.0 * load) / 1.98e9;
    let phases = alone.seconds_of(Bound::Fp32) + waits;
    assert_close(alone.seconds_of(Bound::Barriers), phases, 1e-12);
    let many = on_h200(&launch(BLOCKS), &work);
    assert_eq!((many.bound, many.occupancy.blocks), (Bound::Fp32, 8));
    assert_close(many.seconds_of(Bound::Barriers), phases / 8.0, 1e-12);
    // Without barriers a block waits once.
    let free = Work {
        barriers_per_block: 0,
        ..work
    };
    assert!(on_h200(&lone, &free).seconds < 0.9 * alone.seconds);
}

#[test]
fn latency_bounds_what_has_too_few_warps() {
    let work = Work {
        dram_bytes: 1024 * WARPS,
        warp_latency_cycles: Some(2000.0),
        ..Work::default()
    };
    // 8 blocks of 256 threads are resident: 64 blocks of a multiprocessor are 8 rounds.
    let full = on_h200(&launch(BLOCKS), &work);
    assert_eq!((full.rounds, full.bound), (8, Bound::Dram));
    let sparse = Launch {
        shared_bytes_per_block: 200 << 10,
        ..launch(BLOCKS)
    };
    let sparse = on_h200(&sparse, &work);
    assert_eq!((sparse.rounds, sparse.bound), (64, Bound::Latency));
    assert_close(
        sparse.seconds_of(Bound::Latency),
        64.0 * (2000.0 + start_cycles()) / 1.98e9,
        1e-12,
    );
    // What is busy overlaps more with each other than latency does with it.
    for prediction in [full, sparse] {
        let [dram, blocks, latency] =
            [Bound::Dram, Bound::Blocks, Bound::Latency].map(|bound| prediction.seconds_of(bound));
        let busy = (dram.powi(3) + blocks.powi(3)).cbrt();
        let start = 1e-6 * figure(|h200| h200.calibration.launch_us);
        assert_close(prediction.seconds, start + busy.hypot(latency), 1e-12);
    }
}

#[test]
fn unknown_rates_are_named() {
    let work = Work {
        instructions: WarpInstructions {
            integer: 1,
            ..WarpInstructions::default()
        },
        l2_read_sectors: 1,
        dram_bytes: 32,
        ..Work::default()
    };
    let prediction = predict(devices::find("B200").unwrap(), &launch(1), &work).unwrap();
    assert_eq!(prediction.unknown, [Bound::Integer, Bound::L2]);
    assert!(prediction.times.iter().all(|time| time.seconds.is_finite()));
}

#[test]
fn what_cannot_run_is_an_error() {
    let h200 = devices::find("H200").unwrap();
    let work = Work::default();
    let too_wide = Launch {
        threads_per_block: 2048,
        ..launch(1)
    };
    assert_eq!(
        predict(h200, &launch(0), &work),
        Err(PredictError::NoBlocks)
    );
    assert!(matches!(
        predict(h200, &too_wide, &work),
        Err(PredictError::Occupancy(_))
    ));
    // Nothing to do takes the time of a launch, and that of starting a block.
    let launch_us = figure(|h200| h200.calibration.launch_us);
    let block = figure(|h200| h200.calibration.block_cycles) / 1.98e9;
    let seconds = predict(h200, &launch(1), &work).unwrap().seconds;
    assert_close(seconds, launch_us * 1e-6 + block, 1e-12);
}

#[test]
fn without_the_rate_of_the_arithmetic_there_is_no_prediction() {
    let mut device = devices::find("A100").unwrap().clone();
    device.architecture.tensor_fp64 = None;
    device.architecture.lanes = None;
    device.tensor_f16_tflops = None;
    let refused = |work: Work| predict(&device, &launch(BLOCKS), &work).unwrap_err();
    let mut works = [Work::default(); 4];
    works[0].tensor.f64 = 1;
    works[1].tensor.f16 = 1;
    works[2].instructions.fp32 = 1;
    works[3].instructions.fp64 = 1;
    let units = [
        "tensor cores in f64",
        "tensor cores in f16",
        "f32 units",
        "f64 units",
    ];
    for (work, unit) in works.into_iter().zip(units) {
        let message = refused(work).to_string();
        assert!(
            message.contains(unit) && message.contains("A100"),
            "{message}"
        );
    }
    // What only moves data needs none of them.
    let copy = Work {
        dram_bytes: 1 << 20,
        ..Work::default()
    };
    assert!(predict(&device, &launch(BLOCKS), &copy).is_ok());
}
