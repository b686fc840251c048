//! What happens inside of a multiprocessor: instructions, shared memory, the L1 cache, the constant
//! cache.

use super::bench::{Bench, Grid};
use kernels_gpu::calibrate::{chains, code, on_chip};
use warpladder::engine::Buffer;
use warpladder::error::EngineError;
use warpladder::launch::Arg;

/// Classes of instructions, by the names of their kernels.
const CLASSES: [&str; 6] = ["fp32", "fp64", "half", "integer", "special", "conversion"];

/// Distances between the lanes of a warp that reads the constant bank, and the words of the table:
/// as the rows of matrices of 4, 8, 16 and 32 columns are apart.
const CONSTANTS: [(u32, u32); 6] = [
    (0, 1024),
    (4, 16),
    (8, 64),
    (16, 256),
    (32, 1024),
    (12, 128),
];

/// Distances between the words that the lanes of a warp read through the L1 cache: in one line, in
/// the same banks of more and more lines, and in different banks of 32 lines.
const APART: [u32; 9] = [1, 8, 16, 32, 33, 65, 129, 1001, 3001];

/// A warp alone.
const ALONE: Grid = Grid {
    blocks: 1,
    threads: 32,
    shared_bytes: 0,
};

/// An even number: see the kernels.
const SEED: u32 = 2;

pub(super) fn measure(bench: &mut Bench<'_>) -> Result<(), EngineError> {
    for class in CLASSES {
        instructions(bench, class)?;
    }
    clock(bench)?;
    bandwidths(bench)?;
    for stride in APART {
        apart(bench, stride)?;
    }
    for (stride, words) in CONSTANTS {
        constant(bench, stride, words)?;
    }
    for parts in 1..=code::PARTS as u32 {
        body(bench, parts)?;
    }
    Ok(())
}

fn instructions(bench: &mut Bench<'_>, class: &str) -> Result<(), EngineError> {
    let work = f64::from(bench.extent.rounds) * chains::PER_ROUND as f64;
    let entry = format!("calibrate_latency_{class}");
    bench.measure(&format!("latency_{class}"), "cycles", |bench, _| {
        let clocks = bench.clocks(&entry, ALONE, |clocks| chain(bench, clocks))?;
        Ok(Bench::block_cycles(&clocks) / work)
    })?;
    let entry = format!("calibrate_rate_{class}");
    let unit = "warp instructions/cycle";
    bench.measure(&format!("rate_{class}"), unit, |bench, _| {
        let grid = bench.full();
        let clocks = bench.clocks(&entry, grid, |clocks| chain(bench, clocks))?;
        Ok(work * f64::from(grid.threads / 32) / Bench::block_cycles(&clocks))
    })?;
    Ok(())
}

fn chain<'a>(bench: &Bench<'_>, clocks: Arg<'a>) -> Vec<Arg<'a>> {
    vec![clocks, Arg::U32(bench.extent.rounds), Arg::U32(SEED)]
}

/// The clock while all multiprocessors work: cycles that a kernel counts over the time that it
/// takes.
fn clock(bench: &mut Bench<'_>) -> Result<(), EngineError> {
    let grid = bench.full();
    let rounds = bench.extent.rounds * 64;
    let clocks = Buffer::new(bench.engine, (grid.blocks * grid.threads / 2) as usize)?;
    bench.measure("clock", "MHz", |bench, _| {
        let args = [Arg::Ptr(clocks.ptr()), Arg::U32(rounds), Arg::U32(SEED)];
        let seconds = bench.seconds("calibrate_rate_fp32", grid, &args, 1)?;
        let mut readings = vec![0u64; (grid.threads / 16) as usize];
        clocks.download(&mut readings)?;
        let warps: Vec<_> = readings.chunks(2).map(|pair| (pair[0], pair[1])).collect();
        Ok(Bench::block_cycles(&[warps]) / seconds / 1e6)
    })?;
    Ok(())
}

fn bandwidths(bench: &mut Bench<'_>) -> Result<(), EngineError> {
    let rounds = bench.extent.rounds;
    let grid = bench.full();
    let bytes = f64::from(rounds) * on_chip::PER_ROUND as f64 * f64::from(grid.threads) * 16.0;
    bench.measure("shared_read", "bytes/cycle", |bench, _| {
        let clocks = bench.clocks("calibrate_shared", grid, |clocks| {
            vec![clocks, Arg::U32(rounds)]
        })?;
        Ok(bytes / Bench::block_cycles(&clocks))
    })?;
    let zeros = vec![0u32; on_chip::ELEMENTS * 4];
    let input = Buffer::new(bench.engine, size_of_val(&zeros[..]))?;
    input.upload(&zeros)?;
    bench.measure("l1_read", "bytes/cycle", |bench, _| {
        let clocks = bench.clocks("calibrate_l1", grid, |clocks| {
            vec![Arg::Ptr(input.ptr()), clocks, Arg::U32(rounds)]
        })?;
        Ok(bytes / Bench::block_cycles(&clocks))
    })?;
    Ok(())
}

/// Cycles of a request to the L1 cache whose lanes are `stride` words apart.
fn apart(bench: &mut Bench<'_>, stride: u32) -> Result<(), EngineError> {
    let rounds = bench.extent.rounds;
    let zeros = vec![0u32; 31 * stride as usize + on_chip::LANE_WORDS];
    let input = Buffer::new(bench.engine, size_of_val(&zeros[..]))?;
    input.upload(&zeros)?;
    let name = format!("l1_stride_{stride}");
    bench.measure(&name, "cycles/request", |bench, _| {
        let grid = bench.full();
        let clocks = bench.clocks("calibrate_l1_apart", grid, |clocks| {
            let [rounds, stride] = [rounds, stride].map(Arg::U32);
            vec![Arg::Ptr(input.ptr()), clocks, rounds, stride]
        })?;
        let requests = rounds * on_chip::PER_ROUND as u32 * (grid.threads / 32);
        Ok(Bench::block_cycles(&clocks) / f64::from(requests))
    })?;
    Ok(())
}

/// Cycles of a request to the constant bank whose lanes are `stride` words apart in `words` words.
fn constant(bench: &mut Bench<'_>, stride: u32, words: u32) -> Result<(), EngineError> {
    let rounds = bench.extent.rounds.div_ceil(8);
    let name = format!("constant_stride_{stride}_of_{words}");
    bench.measure(&name, "cycles/request", |bench, _| {
        let grid = bench.full();
        let clocks = bench.clocks("calibrate_constant", grid, |clocks| {
            let [rounds, stride, words] = [rounds, stride, words].map(Arg::U32);
            vec![Arg::Bytes(TABLE), clocks, rounds, stride, words]
        })?;
        let requests = rounds * on_chip::PER_ROUND as u32 * (grid.threads / 32);
        Ok(Bench::block_cycles(&clocks) / f64::from(requests))
    })?;
    Ok(())
}

/// Multiply-adds per cycle in a loop with a body of `parts` parts.
fn body(bench: &mut Bench<'_>, parts: u32) -> Result<(), EngineError> {
    const FACTOR: f32 = 0.5;
    let rounds = bench.extent.rounds.div_ceil(4);
    let name = format!("code_{}_kib", 4 * parts);
    bench.measure(&name, "warp instructions/cycle", |bench, _| {
        let grid = bench.full();
        let clocks = bench.clocks("calibrate_code", grid, |clocks| {
            vec![clocks, Arg::U32(rounds), Arg::U32(parts), Arg::F32(FACTOR)]
        })?;
        let count = rounds * parts * code::PART as u32 * (grid.threads / 32);
        Ok(f64::from(count) / Bench::block_cycles(&clocks))
    })?;
    Ok(())
}

/// The table of constants: zeros.
static TABLE: &[u8] = &[0; on_chip::CONSTANT_WORDS * size_of::<u32>()];
