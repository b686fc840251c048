//! Sources 000, 001 and 004, and the allocation rules of each generation.

use warpladder_models::devices;
use warpladder_models::occupancy::{Launch, Limiter, Limits, Occupancy, OccupancyError, occupancy};

fn launch(threads: u32, registers: u32, shared: u32) -> Launch {
    Launch {
        blocks: 1 << 20,
        threads_per_block: threads,
        registers_per_thread: registers,
        shared_bytes_per_block: shared,
    }
}

fn on(device: &str, launch: Launch) -> Result<Occupancy, OccupancyError> {
    let architecture = &devices::find(device).unwrap().architecture;
    occupancy(
        &architecture.limits.value,
        &architecture.allocation.value,
        &launch,
    )
}

#[test]
fn both_tiles_of_001_have_4096_loads_pending() {
    // "64kB per SM in Maxwell" is compute capability 5.0; the table's Maxwell is a 5.2 with 96 kB.
    let maxwell = &devices::find("M2200").unwrap().architecture;
    let limits = Limits {
        shared_bytes: 64 << 10,
        ..maxwell.limits.value
    };
    for (tile, shared, by_shared, blocks) in [(16, 2048, 32, 8), (32, 8192, 8, 2)] {
        let threads = tile * tile;
        assert_eq!(2 * threads * 4, shared, "two tiles of floats");
        let found = occupancy(
            &limits,
            &maxwell.allocation.value,
            &launch(threads, 0, shared),
        )
        .unwrap();
        assert_eq!(found.allowed.shared_memory, Some(by_shared));
        assert_eq!((found.blocks, found.limiter), (blocks, Limiter::Threads));
        // Two loads per thread. The notes write 8 · 512 and 2 · 2,048.
        assert_eq!(2 * found.threads, 4096);
    }
}

#[test]
fn blocks_of_004_on_a_gtx_280() {
    // K1: one warp per block leaves 8 of 32 warps; 64 threads give 16, 128 and 256 the limit of 32.
    for (threads, blocks, warps, limiter) in [
        (32, 8, 8, Limiter::Blocks),
        (64, 8, 16, Limiter::Blocks),
        (128, 8, 32, Limiter::Threads),
        (256, 4, 32, Limiter::Threads),
    ] {
        let found = on("GTX 280", launch(threads, 10, 0)).unwrap();
        assert_eq!(
            (found.blocks, found.warps, found.limiter),
            (blocks, warps, limiter)
        );
    }
    // K4: "128 threads and 2KB local memory per thread block, allowing up to 8 thread blocks".
    assert_eq!(on("GTX 280", launch(128, 16, 2048)).unwrap().blocks, 8);
    // K5: "256 threads, so we hit the 1024 threads/multiprocessor limit with only four thread
    // groups".
    let k5 = on("GTX 280", launch(256, 14, 2 * 16 * 16 * 4)).unwrap();
    assert_eq!((k5.blocks, k5.limiter), (4, Limiter::Threads));
    // "a thread block can support up to 16 warps".
    assert!(on("GTX 280", launch(512, 10, 0)).is_ok());
    assert!(on("GTX 280", launch(513, 10, 0)).is_err());
}

#[test]
fn the_tiled_product_of_000_has_two_blocks_on_a_k80() {
    // "2 blocks/SMX", 30 registers per thread, 32×32 tiles of doubles: "There are many registers to
    // spare!"
    let found = on("K80", launch(1024, 30, 2 * 32 * 32 * 8)).unwrap();
    assert_eq!((found.blocks, found.limiter), (2, Limiter::Threads));
    assert_eq!(found.allowed.registers, Some(4));
}

#[test]
fn registers_are_handed_out_in_units() {
    // 33 registers take the 40 of the next unit of 8 per thread: 1,280 a warp, 12 of them in each
    // quarter of the file.
    let found = on("H200", launch(64, 33, 0)).unwrap();
    assert_eq!((found.warps, found.limiter), (48, Limiter::Registers));
    assert_eq!(on("H200", launch(64, 40, 0)).unwrap().warps, 48);
    assert_eq!(on("H200", launch(64, 32, 0)).unwrap().warps, 64);
    // 168 registers: 5,376 a warp, 3 in a quarter of 16,384, 12 in all; without partitions there
    // would be as many.
    assert_eq!(on("H200", launch(128, 168, 0)).unwrap().blocks, 3);
    // 80 registers: 2,560 a warp, 6 in each quarter; the file as a whole would hold 25 and a fifth
    // block of 5 warps.
    let found = on("H200", launch(160, 80, 0)).unwrap();
    assert_eq!((found.blocks, found.warps), (4, 20));
    // Fermi hands out 64 at a time: 20 registers are 640 a warp, 25 in each half.
    let found = on("S2050", launch(192, 20, 0)).unwrap();
    assert_eq!((found.blocks, found.allowed.registers), (8, Some(8)));
    // Compute capability 1.x rounds a block's registers to 512, and its warps to an even number.
    let found = on("GTX 280", launch(96, 33, 0)).unwrap();
    assert_eq!(found.allowed.registers, Some(16384 / (9 * 512)));
}

#[test]
fn shared_memory_is_handed_out_in_units() {
    // 228 KiB hold two blocks of 113 KiB and the 1 KiB that the driver keeps of each, not two of
    // 114.
    assert_eq!(on("H200", launch(256, 32, 113 << 10)).unwrap().blocks, 2);
    let found = on("H200", launch(256, 32, 114 << 10)).unwrap();
    assert_eq!((found.blocks, found.limiter), (1, Limiter::SharedMemory));
    // 96 KiB hold 24 blocks of 4 KiB on a GTX 1080, one byte more takes 256.
    assert_eq!(on("GTX 1080", launch(32, 16, 4096)).unwrap().blocks, 24);
    assert_eq!(on("GTX 1080", launch(32, 16, 4097)).unwrap().blocks, 22);
}

#[test]
fn what_no_block_can_have_is_an_error() {
    assert_eq!(on("H200", launch(0, 32, 0)), Err(OccupancyError::NoThreads));
    for (asked, what) in [
        (
            launch(1025, 32, 0),
            "threads per block: 1025, but the device allows 1024",
        ),
        (
            launch(128, 256, 0),
            "registers per thread: 256, but the device allows 255",
        ),
        (
            launch(128, 32, 228 << 10),
            "shared memory per block: 233472, but the device allows 232448",
        ),
        (
            launch(1024, 80, 0),
            "registers per block: 81920, but the device allows 65536",
        ),
        (launch(u32::MAX, u32::MAX, u32::MAX), "threads per block"),
    ] {
        let message = on("H200", asked).unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    }
}
