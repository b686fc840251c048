//! What the kernels execute, beside those with `unsafe`: counted on the emulator.

use ptx_emulator::counters::Counts;
use ptx_emulator::{Args, Counters, LaunchConfig, Memory, Module};
use safe_kernels::PTX;
use warpladder::device::ComputeCapability;

/// An argument of a launch.
enum Arg {
    /// An array of this many `f32`.
    Array(usize),
    U32(usize),
    U64(usize),
}

use Arg::{Array, U32, U64};

/// Counts of a launch on zeros.
fn count(ptx: &str, entry: &str, grid: [u32; 3], block: [u32; 3], args: &[Arg]) -> Counts {
    let kernel = Module::parse(ptx).unwrap().kernel(entry).unwrap();
    let memory = Memory::with_capacity(1 << 26);
    let mut list = Args::new();
    for arg in args {
        match *arg {
            Array(len) => {
                let address = memory.alloc(len as u64 * 4).unwrap();
                memory.fill(address, len as u64 * 4, 0).unwrap();
                list.push_u64(address)
            }
            U32(value) => list.push_u32(value as u32),
            U64(value) => list.push_u64(value as u64),
        };
    }
    let mut counters = Counters::new();
    kernel
        .launch_observed(
            &memory,
            &LaunchConfig::new(grid, block),
            &list,
            &mut counters,
        )
        .unwrap();
    counters.total()
}

/// Fails where the safe form executes or requests over 2 % more than the other one.
fn assert_no_more(name: &str, safe: &Counts, other: &Counts) {
    let counts = |counts: &Counts| {
        [
            ("warp instructions", counts.warp_instructions),
            ("thread instructions", counts.thread_instructions),
            ("global requests", counts.global().requests),
            ("global sectors", counts.global().sectors),
            ("shared requests", counts.shared().requests),
            ("shared wavefronts", counts.shared().wavefronts),
            (
                "local requests",
                counts.local_loads.requests + counts.local_stores.requests,
            ),
            ("barriers", counts.barriers),
        ]
    };
    for ((what, safe), (_, other)) in counts(safe).into_iter().zip(counts(other)) {
        println!("{name}: {safe} {what}, {other} with unsafe");
        assert!(
            safe * 100 <= other * 102,
            "{name}: {safe} {what}, {other} with unsafe"
        );
    }
    assert!(safe.global().requests > 0, "{name} was launched");
}

/// The PTX of a kernel of warpladder's ladder.
fn ladder(entry: &str) -> String {
    warpladder::ptx::module(ComputeCapability::V7_0).only(entry)
}

#[test]
fn vecadd_executes_no_more() {
    for len in [4096usize, 1009] {
        let (grid, block) = ([(len as u32).div_ceil(256), 1, 1], [256, 1, 1]);
        let arg = || [Array(len), U32(len)];
        let args: Vec<Arg> = [arg(), arg(), arg()].into_iter().flatten().collect();
        let safe = count(PTX.text(), "vecadd", grid, block, &args);
        let args = [Array(len), U64(len), Array(len), U64(len), Array(len)];
        let other = count(PTX.text(), "vecadd_with_unsafe", grid, block, &args);
        assert_no_more("vecadd", &safe, &other);
    }
}

#[test]
fn transpose_padded_executes_no_more() {
    let [height, width] = [96usize, 160];
    let (len, grid, block) = (height * width, [5, 3, 1], [32, 32, 1]);
    let entry = "transpose_padded";
    let args = [
        Array(len),
        U32(height),
        U32(width),
        Array(len),
        U32(width),
        U32(height),
    ];
    let safe = count(PTX.text(), entry, grid, block, &args);
    let args = [Array(len), U64(len), Array(len), U32(width), U32(height)];
    let other = count(&ladder(entry), entry, grid, block, &args);
    assert_no_more(entry, &safe, &other);
}

/// Counts both products by tiles of `tile`, of m, n and k.
fn count_product(tile: usize, [m, n, k]: [usize; 3]) -> [Counts; 2] {
    let entry = format!("tiled_{tile}");
    let grid = [(n / tile) as u32, (m / tile) as u32, 1];
    let block = [tile as u32, tile as u32, 1];
    let args = [
        [Array(m * k), U32(m), U32(k)],
        [Array(k * n), U32(k), U32(n)],
        [Array(m * n), U32(m), U32(n)],
    ];
    let args: Vec<Arg> = args.into_iter().flatten().collect();
    let safe = count(PTX.text(), &entry, grid, block, &args);
    let args = [
        Array(m * k),
        U64(m * k),
        Array(k * n),
        U64(k * n),
        Array(m * n),
        U32(m),
        U32(n),
        U32(k),
    ];
    [safe, count(&ladder(&entry), &entry, grid, block, &args)]
}

#[test]
fn tiled_products_execute_no_more() {
    for tile in [16, 32] {
        let [safe, other] = count_product(tile, [64, 96, 256]);
        assert_no_more(&format!("tiled_{tile}"), &safe, &other);
    }
}
