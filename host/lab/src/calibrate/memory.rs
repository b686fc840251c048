//! Latencies of loads, and bandwidths of the L2 cache and of device memory.

use super::bench::{Bench, Grid};
use kernels_gpu::calibrate::streams::SECTOR_WORDS;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use warpladder::engine::Buffer;
use warpladder::error::EngineError;
use warpladder::launch::Arg;

/// Bytes from one link of a chain to the next possible one: a line of the caches.
const LINE_BYTES: usize = 128;

/// Bytes of a chain that any L1 cache holds.
const L1_BYTES: usize = 8 << 10;

/// Blocks of a multiprocessor that read or write.
const BLOCKS: u32 = 2;

/// Elements of 16 bytes that a thread has in flight in `calibrate_read`.
const UNROLL: u64 = 4;

const ONE_THREAD: Grid = Grid {
    blocks: 1,
    threads: 1,
    shared_bytes: 0,
};

pub(super) fn measure(bench: &mut Bench<'_>) -> Result<(), EngineError> {
    let extent = bench.extent;
    let steps = extent.steps;
    bench.measure("latency_shared", "cycles", |bench, _| {
        let clocks = bench.clocks("calibrate_chase_shared", ONE_THREAD, |clocks| {
            vec![clocks, Arg::U32(steps)]
        })?;
        Ok(Bench::block_cycles(&clocks) / f64::from(steps))
    })?;
    let memory = Buffer::new(bench.engine, extent.memory_bytes as usize)?;
    let zeros = vec![0u64; extent.memory_bytes as usize / size_of::<u64>()];
    memory.upload(&zeros)?;
    let flush = |bench: &Bench<'_>| read(bench, &memory, extent.memory_bytes, 1).map(drop);
    chase(bench, "latency_l1", L1_BYTES, |_| Ok(()))?;
    chase(
        bench,
        "latency_l2",
        extent.l2_bytes as usize / 2,
        |_| Ok(()),
    )?;
    chase(bench, "latency_dram", extent.memory_bytes as usize, flush)?;
    // Enough rounds for the latency of the first not to count.
    for (name, bytes, rounds) in [
        ("l2", extent.l2_bytes, 16),
        ("dram", extent.memory_bytes, 1),
    ] {
        bench.measure(&format!("{name}_read"), "GB/s", |bench, _| {
            read(bench, &memory, bytes, rounds)
        })?;
        bench.measure(&format!("{name}_write"), "GB/s", |bench, _| {
            write(bench, &memory, bytes, rounds)
        })?;
    }
    // A sector for each lane of a warp, next to each other and further and further apart.
    for sectors in [1, 2, 3, 4] {
        let stride = sectors * SECTOR_WORDS as u32;
        let name = format!("l2_write_words_stride_{stride}");
        bench.measure(&name, "10^9 words/s", |bench, _| {
            write_parts(bench, &memory, stride)
        })?;
    }
    Ok(())
}

/// The latency of loads along a chain through `bytes` bytes, each line visited once a lap in no
/// order that hardware could guess. `before` runs before each sample.
fn chase(
    bench: &mut Bench<'_>,
    name: &str,
    bytes: usize,
    before: impl Fn(&Bench<'_>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let buffer = Buffer::new(bench.engine, bytes)?;
    let mut order: Vec<usize> = (0..bytes / LINE_BYTES).collect();
    order.shuffle(&mut StdRng::seed_from_u64(1));
    let address = |line: usize| buffer.ptr().0 + (line * LINE_BYTES) as u64;
    let mut links = vec![0u64; bytes / size_of::<u64>()];
    for (index, &line) in order.iter().enumerate() {
        links[line * LINE_BYTES / size_of::<u64>()] = address(order[(index + 1) % order.len()]);
    }
    buffer.upload(&links)?;
    let steps = bench.extent.steps;
    bench.measure(name, "cycles", |bench, sample| {
        before(bench)?;
        // Another part of the chain each time, where it is long.
        let first = order[sample * steps as usize % order.len()];
        let clocks = bench.clocks("calibrate_chase_global", ONE_THREAD, |clocks| {
            vec![Arg::U64(address(first)), clocks, Arg::U32(steps)]
        })?;
        Ok(Bench::block_cycles(&clocks) / f64::from(steps))
    })?;
    Ok(())
}

/// What reading the first bytes of an array so often reaches, in GB/s.
fn read(
    bench: &Bench<'_>,
    memory: &Buffer<'_>,
    bytes: u64,
    rounds: u32,
) -> Result<f64, EngineError> {
    let grid = bench.everywhere(BLOCKS);
    // A whole number of elements for each thread.
    let portion = u64::from(grid.blocks * grid.threads) * UNROLL;
    let vectors = (bytes / 16 / portion).max(1) * portion;
    let vectors = vectors.min(bench.extent.memory_bytes / 16);
    let output = Buffer::new(bench.engine, size_of::<u32>())?;
    let args = [
        Arg::Ptr(memory.ptr()),
        Arg::Ptr(output.ptr()),
        Arg::U32(vectors as u32),
    ];
    let seconds = seconds_of_rounds(bench, "calibrate_read", &args, rounds)?;
    Ok((vectors * 16 * u64::from(rounds)) as f64 / seconds / 1e9)
}

/// The same for writing.
fn write(
    bench: &Bench<'_>,
    memory: &Buffer<'_>,
    bytes: u64,
    rounds: u32,
) -> Result<f64, EngineError> {
    let args = [Arg::Ptr(memory.ptr()), Arg::U32((bytes / 16) as u32)];
    let seconds = seconds_of_rounds(bench, "calibrate_write", &args, rounds)?;
    Ok((bytes * u64::from(rounds)) as f64 / seconds / 1e9)
}

/// Words per second, in 10⁹, where each thread writes one after the other of a sector, lanes
/// `stride` words apart.
fn write_parts(bench: &Bench<'_>, memory: &Buffer<'_>, stride: u32) -> Result<f64, EngineError> {
    let places = (bench.extent.l2_bytes / 4) as u32 / stride;
    let rounds = 4;
    let args = [Arg::Ptr(memory.ptr()), Arg::U32(places), Arg::U32(stride)];
    let seconds = seconds_of_rounds(bench, "calibrate_write_parts", &args, rounds)?;
    let words = SECTOR_WORDS as u32 * rounds;
    Ok(f64::from(places) * f64::from(words) / seconds / 1e9)
}

/// Seconds that `rounds` rounds add to a kernel whose last parameter is their number: what
/// launching costs drops out.
fn seconds_of_rounds(
    bench: &Bench<'_>,
    entry: &str,
    args: &[Arg<'_>],
    rounds: u32,
) -> Result<f64, EngineError> {
    let grid = bench.everywhere(BLOCKS);
    let seconds = |rounds| {
        let mut args = args.to_vec();
        args.push(Arg::U32(rounds));
        bench.seconds(entry, grid, &args, 1)
    };
    Ok(seconds(3 * rounds)? - seconds(2 * rounds)?)
}
