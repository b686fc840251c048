//! Clusters: blocks that reach each other's shared memory.

use super::ptx::PTX_90;
use super::{along_x, buffer, on_every_engine, read};
use ptx_emulator::Sanitizer;
use ptx_emulator::sanitize::Tool;
use warpladder::device::ComputeCapability;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::ObservedEngine;
use warpladder::launch::{Arg, Dim3, L2Promotion, Launch, MatrixMap};

/// The least compute capability with clusters.
const CLUSTERS: ComputeCapability = ComputeCapability::V9_0;

/// Calls `test` with every engine that has clusters, and with the emulator under sanitizers, which
/// must find nothing.
fn on_every_engine_with_clusters(test: impl Fn(&dyn Engine)) {
    on_every_engine(|engine| match engine.compute_capability() {
        new if new >= CLUSTERS => test(engine),
        older => println!("left out: compute capability {older} has no clusters"),
    });
    let emulator = EmulatorEngine::new();
    let watched = ObservedEngine::new(&emulator, Sanitizer::new(&Tool::ALL));
    test(&watched);
    assert_eq!(watched.into_observer().all_findings(), []);
}

/// Runs `entry` in two clusters of `blocks` blocks.
fn run(engine: &dyn Engine, entry: &str, blocks: u32, threads: u32, args: &[Arg<'_>]) {
    let launch = Launch {
        kernel: engine.load(PTX_90, entry).unwrap(),
        grid: along_x(2 * blocks),
        block: along_x(threads),
        cluster: along_x(blocks),
        shared_bytes: 0,
        args,
    };
    // SAFETY: each kernel gets buffers of the sizes that it reads and writes.
    unsafe { engine.run(&launch) }.unwrap();
}

#[test]
fn blocks_know_their_rank() {
    on_every_engine_with_clusters(|engine| {
        for blocks in [1, 2, 4, 8] {
            let len = (2 * blocks * 32 * 2) as usize;
            let output = buffer(engine, &vec![u32::MAX; len]);
            run(
                engine,
                "cluster_ranks",
                blocks,
                32,
                &[Arg::Ptr(output.ptr())],
            );
            let words = read::<u32>(&output, len);
            for (thread, row) in words.chunks(2).enumerate() {
                assert_eq!(row, [thread as u32 / 32 % blocks, blocks]);
            }
        }
        // Ranks count x first.
        let output = buffer(engine, &[u32::MAX; 2 * 16]);
        let launch = Launch {
            kernel: engine.load(PTX_90, "cluster_ranks").unwrap(),
            grid: Dim3::new(4, 4, 1),
            block: Dim3::ONE,
            cluster: Dim3::new(2, 4, 1),
            shared_bytes: 0,
            args: &[Arg::Ptr(output.ptr())],
        };
        // SAFETY: each kernel gets buffers of the sizes that it reads and writes.
        unsafe { engine.run(&launch) }.unwrap();
        for (block, row) in read::<u32>(&output, 2 * 16).chunks(2).enumerate() {
            let (x, y) = (block as u32 % 4, block as u32 / 4);
            assert_eq!(row, [2 * y + x % 2, 8]);
        }
    });
}

#[test]
fn blocks_read_each_others_shared_memory() {
    on_every_engine_with_clusters(|engine| {
        for blocks in [1, 2, 4, 8] {
            let len = (2 * blocks * 64 * 5) as usize;
            let output = buffer(engine, &vec![f32::NAN; len]);
            let args = [Arg::Ptr(output.ptr())];
            run(engine, "cluster_neighbours", blocks, 64, &args);
            let floats = read::<f32>(&output, len);
            for (thread, row) in floats.chunks(5).enumerate() {
                let (block, i) = (thread as u32 / 64, thread as u32 % 64);
                let first = block / blocks * blocks;
                let next = first + (block + 1) % blocks;
                let before = first + (block + blocks - 1) % blocks;
                let of_before = 4 * (64 * before + i);
                let vector = [0, 1, 2, 3].map(|at| (of_before + at) as f32);
                assert_eq!(
                    row[0],
                    (64 * next + i) as f32,
                    "thread {i} of block {block}"
                );
                assert_eq!(row[1..], vector, "thread {i} of block {block}");
            }
        }
    });
}

#[test]
fn sums_are_added_up_through_shared_memory() {
    on_every_engine_with_clusters(|engine| {
        for blocks in [1, 2, 4, 8] {
            let input: Vec<f32> = (0..2 * blocks * 128).map(|i| (i % 1009) as f32).collect();
            let from = buffer(engine, &input);
            let to = buffer(engine, &[f32::NAN; 2 * 128]);
            let args = [
                Arg::Ptr(from.ptr()),
                Arg::U64(input.len() as u64),
                Arg::Ptr(to.ptr()),
            ];
            run(engine, "cluster_sums", blocks, 32, &args);
            let sums = read::<f32>(&to, 2 * 128);
            for (at, sum) in sums.into_iter().enumerate() {
                let rows = input.chunks(128).skip(at / 128 * blocks as usize);
                // Sums of so small integers are exact.
                let expected: f32 = rows.take(blocks as usize).map(|row| row[at % 128]).sum();
                assert_eq!(sum, expected, "{blocks} blocks, column {at}");
            }
        }
    });
}

#[test]
fn threads_of_other_blocks_arrive_at_an_mbarrier() {
    on_every_engine_with_clusters(|engine| {
        for blocks in [1, 2, 4, 8] {
            let len = (2 * blocks * 64) as usize;
            let output = buffer(engine, &vec![u32::MAX; len]);
            let args = [Arg::Ptr(output.ptr())];
            run(engine, "cluster_arrivals", blocks, 64, &args);
            for (thread, sum) in read::<u32>(&output, len).into_iter().enumerate() {
                let block = thread as u32 / 64;
                let expected = match block % blocks {
                    0 => (block..block + blocks).map(|block| block + 100).sum(),
                    _ => 0,
                };
                assert_eq!(sum, expected, "block {block} of {blocks}");
            }
        }
    });
}

#[test]
fn a_tile_is_copied_to_all_blocks_at_once() {
    const TILE: usize = 8 * 32;
    on_every_engine_with_clusters(|engine| {
        for blocks in [1, 2, 4] {
            let words: Vec<u32> = (0..(blocks as usize * TILE) as u32)
                .map(|i| 7 * i)
                .collect();
            let matrices = buffer(engine, &words);
            let map = engine.tensor_map(&MatrixMap {
                address: matrices.ptr(),
                element_bytes: 4,
                columns: 32,
                rows: 8,
                matrices: blocks,
                row_bytes: 128,
                matrix_bytes: 4 * TILE as u64,
                box_columns: 32,
                box_rows: 8,
                l2_promotion: L2Promotion::Bytes256,
            });
            let map = buffer(engine, &map.unwrap());
            let len = 2 * blocks as usize * words.len();
            let output = buffer(engine, &vec![u32::MAX; len]);
            let args = [Arg::Ptr(map.ptr()), Arg::Ptr(output.ptr())];
            run(engine, "cluster_multicast", blocks, 64, &args);
            for (block, found) in read::<u32>(&output, len).chunks(words.len()).enumerate() {
                assert!(found == words, "block {block} of {blocks}");
            }
        }
    });
}
