//! What a launch, a block and a warp cost.

use super::bench::{Bench, Grid};
use warpladder::engine::Buffer;
use warpladder::error::EngineError;
use warpladder::launch::Arg;

const EMPTY: &str = "calibrate_empty";

const TOUCH: &str = "calibrate_touch";

/// Threads of a multiprocessor that are resident at most, on all generations from 7.0 but those of
/// small GPUs.
const RESIDENT_THREADS: u32 = 2048;

/// Launches in a row.
const IN_A_ROW: u32 = 100;

/// Clock to reckon with where none was measured, in MHz: cycles are then those of 1 GHz.
const NO_CLOCK: f64 = 1e3;

pub(super) fn measure(bench: &mut Bench<'_>) -> Result<(), EngineError> {
    let one = Grid {
        blocks: 1,
        threads: 32,
        shared_bytes: 0,
    };
    bench.measure("launch", "us", |bench, _| {
        Ok(bench.seconds(EMPTY, one, &[], 1)? * 1e6)
    })?;
    bench.measure("launch_in_a_row", "us", |bench, _| {
        Ok(bench.seconds(EMPTY, one, &[], IN_A_ROW)? * 1e6 / f64::from(IN_A_ROW))
    })?;
    // Blocks of several sizes that fill a multiprocessor, one set of them after the other: cycles
    // of a set.
    let hertz = bench.median_of("clock").unwrap_or(NO_CLOCK) * 1e6;
    let words = bench.extent.memory_bytes / 8;
    let [input, output] = [(); 2].map(|()| Buffer::new(bench.engine, words as usize * 4));
    let (input, output) = (input?, output?);
    let zeros = vec![0u32; words as usize];
    input.upload(&zeros)?;
    for threads in [
        bench.extent.block / 8,
        bench.extent.block / 4,
        bench.extent.block,
    ] {
        let sets = |sets: u32| Grid {
            blocks: sets * (RESIDENT_THREADS / threads) * bench.engine.multiprocessors(),
            threads,
            shared_bytes: 0,
        };
        let count = bench.extent.sets;
        let (many, few) = (sets(3 * count), sets(count));
        let warps = threads.div_ceil(32);
        bench.measure(
            &format!("set_of_blocks_of_{warps}_warps"),
            "cycles",
            |bench, _| {
                let args = [
                    Arg::Ptr(input.ptr()),
                    Arg::Ptr(output.ptr()),
                    Arg::U32(words as u32),
                ];
                // The difference, so that what the launch costs drops out.
                let many = bench.seconds(TOUCH, many, &args, 1)?;
                let few = bench.seconds(TOUCH, few, &args, 1)?;
                Ok((many - few) * hertz / f64::from(2 * count))
            },
        )?;
    }
    Ok(())
}
