//! Source 002: the stream example, dispatch, and several intervals with barriers.

use crate::assert_close;
use warpladder_models::Bound;
use warpladder_models::devices;
use warpladder_models::interval::barriers::BlockIntervals;
use warpladder_models::interval::{Demand, Instruction, Interval, issue_cycles, schedule};

/// L_M of the source's examples.
const L_M: u32 = 400;
/// L_F of its compute capability 6.1.
const L_F: u32 = 6;

#[test]
fn issue_takes_32_lanes_over_the_units_of_a_scheduler() {
    assert_eq!(issue_cycles(8), 4);
    assert_eq!(issue_cycles(16), 2);
    assert_eq!(issue_cycles(32), 1);
    assert_eq!(issue_cycles(64), 1);
    assert_eq!(issue_cycles(0), 1);
}

#[test]
fn the_simplified_loop_takes_410_cycles() {
    let (load, float) = (issue_cycles(8), issue_cycles(32));
    let stream = [
        Instruction::new(load, L_M).reads(&[2]).writes(&[2]),
        Instruction::new(float, L_F).reads(&[2]).writes(&[7]),
        Instruction::new(load, 0).reads(&[4, 7]),
        Instruction::new(float, 0),
    ];
    let schedule = schedule(&stream);
    assert_eq!(schedule.issue, [0, 400, 406, 410]);
    assert_eq!(schedule.result[..2], [400, 406]);
    // The source takes the branch's own issue, 410, for L_ι; in its longer example below it adds
    // the branch's cycle, as the schedule does.
    assert_eq!(schedule.latency, 411);
}

#[test]
fn the_machine_code_of_the_loop_takes_417_cycles() {
    const P0: u32 = 100;
    const CC: u32 = 101;
    let alu = |reads: &[u32], writes: &[u32]| Instruction::new(1, L_F).reads(reads).writes(writes);
    let stream = [
        alu(&[6], &[2]),
        alu(&[8], &[4]),
        Instruction::new(4, L_M).reads(&[2]).writes(&[2]),
        alu(&[8], &[8, CC]),
        alu(&[9], &[5]),
        alu(&[0], &[0]),
        alu(&[0, 11], &[P0]),
        alu(&[9, CC], &[9]),
        alu(&[6], &[6, CC]),
        alu(&[3, CC], &[3]),
        alu(&[2], &[7]),
        Instruction::new(4, 0).reads(&[4, 7]),
        Instruction::new(1, 0).reads(&[P0]),
    ];
    let schedule = schedule(&stream);
    assert_eq!(
        schedule.issue,
        [0, 1, 6, 10, 11, 12, 18, 19, 20, 26, 406, 412, 416]
    );
    assert_eq!(
        schedule.result[..11],
        [6, 7, 406, 16, 17, 18, 24, 25, 26, 32, 412]
    );
    assert_eq!(schedule.latency, 417);
}

/// The loop on the M2200 of the source: 88.1 GB/s, 1.04 GHz, 8 bytes per thread.
fn stream(latency: f64) -> Interval {
    Interval {
        latency,
        demands: vec![Demand::data(Bound::Dram, 8.0, 88.1, 1.04)],
    }
}

#[test]
fn threads_that_saturate_an_m2200() {
    for (latency, threads) in [(410.0, 4341.0), (417.0, 4416.0)] {
        let knee = stream(latency).knee().unwrap();
        assert_close(knee.threads, threads, 2e-4);
        assert_eq!(knee.bound, Bound::Dram);
    }
    // The same from the table's row, whose clock is 1,036 MHz.
    let device = devices::find("M2200").unwrap();
    let demand = Demand::data(Bound::Dram, 8.0, device.dram_gbs.value, device.clock_ghz());
    let interval = Interval {
        latency: 410.0,
        demands: vec![demand],
    };
    assert_close(interval.knee().unwrap().threads, 4341.0, 5e-3);
}

#[test]
fn time_is_latency_below_the_knee_and_the_resource_above() {
    let interval = stream(410.0);
    let elements = 1e9;
    let few = interval.time(elements, 1000.0);
    assert_eq!(
        (few.cycles, few.bound),
        (elements / 1000.0 * 410.0, Bound::Latency)
    );
    let many = interval.time(elements, 10_000.0);
    assert_eq!(many.bound, Bound::Dram);
    assert_close(many.cycles / 1.04e9, elements * 8.0 / 88.1e9, 1e-12);
    // More threads than P gain nothing, and throughput has no step at P.
    let knee = interval.knee().unwrap().threads;
    assert_eq!(many, interval.time(elements, 20_000.0));
    assert_close(
        interval.throughput(knee, 1.04),
        interval.throughput(2.0 * knee, 1.04),
        1e-12,
    );
    assert_close(
        interval.throughput(knee / 2.0, 1.04),
        interval.throughput(knee, 1.04) / 2.0,
        1e-12,
    );
}

#[test]
fn work_and_resources_of_a_gp104() {
    // "Θ_IM = 56 · 16 = 896 insn/cyc per chip" of a GP100; 640 and 2,560 of a GP104.
    let rates = |name: &str| {
        let device = devices::find(name).unwrap();
        let count = device.multiprocessors.value;
        let architecture = &device.architecture;
        let load_store = architecture.load_store.unwrap().value;
        (
            count * load_store,
            count * architecture.lanes.unwrap().value.fp32,
        )
    };
    assert_eq!(rates("P100").0, 896);
    assert_eq!(rates("GTX 1080"), (640, 2560));
    // "P (2/640 + 1/2560) cyc".
    let dispatch = Demand::dispatch(&[(2.0, 640.0), (1.0, 2560.0)]);
    assert_close(
        1000.0 * dispatch.cycles(),
        1000.0 * (2.0 / 640.0 + 1.0 / 2560.0),
        1e-12,
    );
    // "2 · 4P B / Θ_M" with 320 GB/s and "2 · 32P B / Θ_2" with 900, at any clock.
    for (bytes, gbs) in [(8.0, 320.0), (64.0, 900.0)] {
        let seconds = Demand::data(Bound::L2, bytes, gbs, 1.5).cycles() / 1.5e9;
        assert_close(seconds, bytes / (gbs * 1e9), 1e-12);
    }
    let device = devices::find("GTX 1080").unwrap();
    assert_eq!(device.l2_gbs.unwrap().value, 900.0);
    assert_close(device.dram_gbs.value, 320.0, 2e-3);
}

/// Load a tile, then compute with it: 500 cycles of latency and 256 bytes each, then 100 cycles and
/// 1 multiply-add.
fn tile_step() -> BlockIntervals {
    let interval = |latency, bound, work, bandwidth| Interval {
        latency,
        demands: vec![Demand {
            bound,
            work,
            bandwidth,
        }],
    };
    BlockIntervals {
        intervals: vec![
            interval(500.0, Bound::Dram, 8.0, 8.0),
            interval(100.0, Bound::Fp32, 128.0, 64.0),
        ],
        threads_per_block: 256,
    }
}

#[test]
fn barriers_keep_the_intervals_of_a_block_apart() {
    let blocks = tile_step();
    // The load lasts its latency, 500, longer than the 256 cycles of its data; the arithmetic 512,
    // longer than 100.
    assert_eq!(blocks.block_cycles(), 500.0 + 512.0);
    let one = blocks.time(8, 1);
    assert_eq!((one.cycles, one.bound), (8.0 * 1012.0, Bound::Barriers));
    // Two resident blocks overlap, and the arithmetic of all of them bounds: 8 · 512 of at least 4
    // · 1,012.
    let two = blocks.time(8, 2);
    assert_eq!((two.cycles, two.bound), (8.0 * 512.0, Bound::Fp32));
    assert_eq!(blocks.time(8, 4), two);
    assert_close(blocks.blocks_to_saturate().unwrap(), 1012.0 / 512.0, 1e-12);
}

#[test]
fn one_interval_without_barriers_is_the_plain_model() {
    let interval = stream(410.0);
    let alone = BlockIntervals {
        intervals: vec![interval.clone()],
        threads_per_block: 640,
    };
    let plain = interval.time(640.0 * 12.0, 640.0 * 3.0);
    assert_close(alone.time(12, 3).cycles, plain.cycles, 1e-12);
}
