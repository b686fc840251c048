//! Clusters: blocks that run at the same time, access each other's shared memory and synchronise.

use crate::common::{self, kernel};
use ptx_emulator::counters::Counts;
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{
    Args, Counters, Fault, FaultKind, LaunchConfig, LaunchError, Memory, Module, Sanitizer,
    TENSOR_MAP_BYTES, TensorMap,
};

/// Words of the data.
const WORDS: usize = 1024;

/// A kernel as [`common::module`] has it, for GPUs with clusters. `%r30` is the block's rank,
/// `%r31` the rank of the next block.
fn module(body: &str) -> String {
    common::module(&format!(
        "mov.u32 %r30, %cluster_ctarank; mov.u32 %r29, %cluster_nctarank;
         add.u32 %r31, %r30, 1; setp.ge.u32 %p7, %r31, %r29; @%p7 mov.u32 %r31, 0;
         {body}"
    ))
    .replace(
        ".version 8.0\n.target sm_80",
        ".version 8.0\n.target sm_90a",
    )
}

/// Memory with data, and a launch on it.
struct ClusterLaunch {
    memory: Memory,
    data: u64,
    config: LaunchConfig,
}

impl ClusterLaunch {
    fn new(grid: [u32; 3], cluster: [u32; 3], threads: u32) -> Self {
        let memory = Memory::with_capacity(1 << 20);
        let data = memory.alloc(4 * WORDS as u64).expect("room");
        memory.fill(data, 4 * WORDS as u64, 0).expect("in bounds");
        ClusterLaunch {
            memory,
            data,
            config: LaunchConfig {
                cluster: Some(cluster),
                instruction_budget: 1 << 20,
                workers: Some(1),
                ..LaunchConfig::new(grid, [threads, 1, 1])
            },
        }
    }

    fn args(&self) -> Args {
        let mut args = Args::new();
        args.push_u64(self.data);
        args
    }

    fn launch(&self, body: &str) -> Result<(), LaunchError> {
        let kernel = kernel(&module(body));
        let done = kernel.launch(&self.memory, &self.config, &self.args());
        done.map(|_| ())
    }

    /// The data after a launch.
    fn run(&self, body: &str) -> Vec<u32> {
        let done = self.launch(body);
        done.unwrap_or_else(|error| panic!("{error}\n{body}"));
        self.read()
    }

    fn read(&self) -> Vec<u32> {
        let mut bytes = vec![0; 4 * WORDS];
        self.memory.read(self.data, &mut bytes).expect("in bounds");
        let words = bytes.chunks_exact(4);
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        words.map(word).collect()
    }

    fn fault(&self, body: &str) -> Fault {
        match self.launch(body) {
            Err(LaunchError::Fault(fault)) => *fault,
            other => panic!("{other:?}\n{body}"),
        }
    }

    /// The findings of the sanitizers.
    fn findings(&self, body: &str) -> Vec<String> {
        let kernel = kernel(&module(body));
        let mut sanitizer = Sanitizer::new(&Tool::ALL);
        let found = sanitizer.launch(&kernel, &self.memory, &self.config, &self.args());
        let found = found.unwrap_or_else(|error| panic!("{error}\n{body}"));
        found.iter().map(ToString::to_string).collect()
    }

    fn counts(&self, body: &str) -> Counts {
        let mut counters = Counters::new();
        let kernel = kernel(&module(body));
        let done = kernel.launch_observed(&self.memory, &self.config, &self.args(), &mut counters);
        done.unwrap_or_else(|error| panic!("{error}\n{body}"));
        counters.total()
    }
}

/// Two clusters of `blocks` blocks of a warp and a half.
fn row_of(blocks: u32) -> ClusterLaunch {
    ClusterLaunch::new([2 * blocks, 1, 1], [blocks, 1, 1], 48)
}

const SYNC: &str = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";

/// Stores `%r0` to the word of the thread in the grid of blocks of 48 threads.
const STORE: &str = "mov.u32 %r20, %ctaid.x; mad.lo.u32 %r20, %r20, 48, %thread; \
                     mad.wide.u32 %x20, %r20, 4, %base; st.global.b32 [%x20], %r0;";

#[test]
fn special_registers_tell_where_a_block_stands() {
    let registers = [
        "%clusterid.x",
        "%clusterid.y",
        "%clusterid.z",
        "%nclusterid.x",
        "%nclusterid.y",
        "%nclusterid.z",
        "%cluster_ctaid.x",
        "%cluster_ctaid.y",
        "%cluster_ctaid.z",
        "%cluster_nctaid.x",
        "%cluster_nctaid.y",
        "%cluster_nctaid.z",
        "%cluster_ctarank",
        "%cluster_nctarank",
    ];
    let (grid, cluster) = ([4, 2, 3], [2, 2, 1]);
    let moves: String = registers
        .iter()
        .enumerate()
        .map(|(at, name)| format!("mov.u32 %r1, {name}; st.global.b32 [%x1+{}], %r1; ", 4 * at))
        .collect();
    let body = format!(
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
         mad.lo.u32 %r3, %r3, 2, %r2; mad.lo.u32 %r3, %r3, 4, %r1; mad.wide.u32 %x1, %r3, 64, %base;
         {moves} mov.pred %p1, %is_explicit_cluster; selp.b32 %r1, 1, 0, %p1; st.global.b32 [%x1+56], %r1;"
    );
    let device = ClusterLaunch::new(grid, cluster, 1);
    let rows = device.run(&body);
    for (index, row) in rows.chunks(16).take(24).enumerate() {
        let index = index as u32;
        let at = [index % 4, index / 4 % 2, index / 8];
        let place = [at[0] % 2, at[1] % 2, 0];
        let expected = [[at[0] / 2, at[1] / 2, at[2]], [2, 1, 3], place, cluster].concat();
        assert_eq!(row[..12], expected, "block {at:?}");
        assert_eq!(row[12..15], [2 * place[1] + place[0], 4, 1]);
    }
    let alone = ClusterLaunch {
        config: LaunchConfig {
            cluster: None,
            ..device.config.clone()
        },
        ..device
    };
    let rows = alone.run(&body);
    assert_eq!(rows[16..31], [1, 0, 0, 4, 2, 3, 0, 0, 0, 1, 1, 1, 0, 1, 0]);
}

/// Every thread writes to its block's shared memory, and adds what its neighbour in the next block
/// has written.
fn neighbours(before: &str, map_and_load: &str, behind: &str) -> String {
    format!(
        ".shared .align 16 .b8 tile[256];
         mov.u32 %r1, tile; mad.lo.u32 %r1, %thread, 4, %r1;
         mov.u32 %r2, %ctaid.x; mad.lo.u32 %r2, %r2, 1000, %thread;
         st.shared.b32 [%r1], %r2;
         {before}
         {map_and_load}
         {behind}
         {STORE}"
    )
}

const LOAD_NEXT: &str =
    "mapa.shared::cluster.u32 %r3, %r1, %r31; ld.shared::cluster.b32 %r0, [%r3];";

#[test]
fn blocks_read_each_others_shared_memory() {
    let generic = "cvt.u64.u32 %x1, %r1; cvta.shared.u64 %x1, %x1; mapa.u64 %x2, %x1, %r31; ld.b32 %r0, [%x2];";
    let wide = "cvt.u64.u32 %x1, %r1; mapa.shared::cluster.u64 %x2, %x1, %r31; ld.shared::cluster.b32 %r0, [%x2];";
    for load in [LOAD_NEXT, generic, wide] {
        for blocks in [1, 2, 4, 8] {
            let device = row_of(blocks);
            let body = neighbours(SYNC, load, SYNC);
            let data = device.run(&body);
            for block in 0..2 * blocks {
                let next = block / blocks * blocks + (block + 1) % blocks;
                for thread in 0..48 {
                    let found = data[(48 * block + thread) as usize];
                    assert_eq!(found, 1000 * next + thread, "{load}, block {block}");
                }
            }
            assert_eq!(device.findings(&body), [""; 0]);
            // The same with several workers.
            let several = ClusterLaunch {
                config: LaunchConfig {
                    workers: Some(2),
                    ..device.config.clone()
                },
                ..row_of(blocks)
            };
            assert_eq!(several.run(&body), data);
        }
    }
}

#[test]
fn missing_barriers_of_the_cluster_are_races() {
    let device = row_of(2);
    let race = |body: &str, part: &str| {
        let found = device.findings(body);
        // A block that is too early may read what was not written yet.
        let races = found
            .iter()
            .filter(|finding| finding.starts_with("racecheck"));
        let [finding] = races.collect::<Vec<_>>()[..] else {
            panic!("{found:?}");
        };
        assert!(finding.contains(part), "{finding}");
    };
    // The write and the read of another block.
    race(
        &neighbours("bar.sync 0;", LOAD_NEXT, SYNC),
        "in the block of rank",
    );
    // A barrier that makes nothing visible.
    let relaxed = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;";
    race(
        &neighbours(relaxed, LOAD_NEXT, SYNC),
        "ld.shared::cluster.b32",
    );
    // Accesses between arriving and waiting are not ordered.
    let body = neighbours(
        "",
        &format!(
            "barrier.cluster.arrive.aligned; st.shared.b32 [%r1], %r2; barrier.cluster.wait.aligned; {LOAD_NEXT}"
        ),
        SYNC,
    );
    race(&body, "st.shared.b32");
    // The block's own next write, with and without a barrier after the read.
    let again = "mov.u32 %r2, 5; st.shared.b32 [%r1], %r2;";
    race(
        &neighbours(SYNC, LOAD_NEXT, &format!("{again} {SYNC}")),
        "st.shared.b32",
    );
    let ordered = neighbours(SYNC, LOAD_NEXT, &format!("{SYNC} {again} {SYNC}"));
    assert_eq!(device.findings(&ordered), [""; 0]);
    // A barrier of one block does not order the other.
    race(
        &neighbours(SYNC, LOAD_NEXT, &format!("bar.sync 0; {again} {SYNC}")),
        "st.shared.b32",
    );
    // Within a block it orders as ever.
    let turned = "mov.u32 %r4, tile; sub.u32 %r5, 47, %thread; mad.lo.u32 %r4, %r5, 4, %r4; ld.shared.b32 %r0, [%r4];";
    let own = neighbours("bar.sync 0;", turned, &format!("bar.sync 0; {again}"));
    assert_eq!(device.findings(&own), [""; 0]);
    race(&neighbours("", turned, ""), "racecheck");
}

#[test]
fn a_block_that_has_ended_has_no_shared_memory() {
    let device = row_of(2);
    // Block 1 of the cluster leaves at once.
    let body = neighbours(
        &format!("{SYNC} setp.eq.u32 %p1, %r30, 1; @%p1 exit;"),
        &format!("nanosleep.u32 1; bar.sync 0; bar.sync 0; {LOAD_NEXT}"),
        "",
    );
    let fault = device.fault(&body);
    assert!(matches!(fault.kind, FaultKind::UseAfterFree(_)), "{fault}");
    assert!(
        fault.to_string().contains("the block of rank 1 has ended"),
        "{fault}"
    );
    assert_eq!((fault.block, fault.thread), ([0; 3], Some([0; 3])));
    let found = device.findings(&body);
    assert!(found[0].starts_with("memcheck"), "{found:?}");
    // No block waits before the end.
    let found = device.findings(&neighbours(SYNC, LOAD_NEXT, ""));
    assert!(found[0].starts_with("memcheck"), "{found:?}");
    assert!(
        found[0].contains("the block of rank 0 has ended"),
        "{found:?}"
    );
}

/// Block 0 of each cluster leaves, and the first thread of block 1 does something there.
fn at_the_ended_block(action: &str) -> String {
    format!(
        ".shared .align 16 .b8 tile[256];
         mov.u32 %r1, tile; mov.u32 %r2, 48; mov.u32 %r0, 7;
         setp.eq.u32 %p1, %thread, 0; @%p1 mbarrier.init.shared.b64 [%r1], %r2;
         {SYNC}
         setp.eq.u32 %p1, %r30, 0; @%p1 exit;
         bar.sync 0; nanosleep.u32 1; bar.sync 0;
         mapa.shared::cluster.u32 %r3, %r1, %r31; cvt.u64.u32 %x1, %r1; cvta.shared.u64 %x1, %x1;
         mapa.u64 %x2, %x1, %r31;
         {action}
         {STORE}"
    )
}

#[test]
fn stores_and_arrivals_at_a_block_that_has_ended_take_no_effect() {
    let device = row_of(2);
    for action in [
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];",
        "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r3], 16;",
        "st.shared::cluster.b32 [%r3+16], %r0;",
        "st.shared::cluster.v2.b32 [%r3+16], {%r0, %r0};",
        "st.b32 [%x2+16], %r0;",
    ] {
        let body = at_the_ended_block(action);
        let data = device.run(&body);
        let thread_of = |index: usize| (index / 48 % 2, index / 96);
        for (index, word) in data.iter().enumerate().take(4 * 48) {
            let expected = if thread_of(index).0 == 1 { 7 } else { 0 };
            assert_eq!(*word, expected, "{action}, thread {index}");
        }
        let found = device.findings(&body);
        // Several threads store one word, which is a race besides.
        let mut of_memcheck = found.iter().filter(|found| found.starts_with("memcheck"));
        let (Some(finding), None) = (of_memcheck.next(), of_memcheck.next()) else {
            panic!("{action}: {found:?}");
        };
        for part in [
            "memcheck: warning: ",
            "access to the shared memory of a block that has ended",
            "the block of rank 0 has ended",
            action.split(' ').next().expect("an opcode"),
            "PTX line",
        ] {
            assert!(finding.contains(part), "{part}: {finding}");
        }
    }
}

#[test]
fn what_gives_a_value_of_a_block_that_has_ended_is_a_fault() {
    let device = row_of(2);
    for action in [
        "ld.shared::cluster.b32 %r0, [%r3+16];",
        "atom.shared::cluster.add.u32 %r0, [%r3+16], %r0;",
        // Not measured, and so refused.
        "red.shared::cluster.add.u32 [%r3+16], %r0;",
        "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r3], 16;",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r3+16], %r0, [%r3];",
    ] {
        let fault = device.fault(&at_the_ended_block(action));
        assert!(matches!(fault.kind, FaultKind::UseAfterFree(_)), "{fault}");
        let text = fault.to_string();
        assert!(text.contains("the block of rank 0 has ended"), "{text}");
    }
    // A store outside of the shared memory of such a block, or of one that there is not.
    for store in [
        "st.shared::cluster.b32 [%r3+4096], %r0;",
        "add.u32 %r3, %r3, 0x4000000; st.shared::cluster.b32 [%r3], %r0;",
    ] {
        let fault = device.fault(&at_the_ended_block(store));
        let text = fault.to_string();
        assert!(
            matches!(
                fault.kind,
                FaultKind::OutOfBounds(_) | FaultKind::UseAfterFree(_)
            ),
            "{text}"
        );
    }
}

#[test]
fn addresses_outside_of_the_clusters_shared_memory_are_faults() {
    let device = row_of(2);
    let behind = "mapa.shared::cluster.u32 %r3, %r1, %r31; ld.shared::cluster.b32 %r0, [%r3+256];";
    let fault = device.fault(&neighbours(SYNC, behind, SYNC));
    assert!(matches!(fault.kind, FaultKind::OutOfBounds(_)), "{fault}");
    assert!(
        fault.to_string().contains("each block has 256 bytes"),
        "{fault}"
    );
    let nobody = "mapa.shared::cluster.u32 %r3, %r1, 2; ld.shared::cluster.b32 %r0, [%r3];";
    let fault = device.fault(&neighbours(SYNC, nobody, SYNC));
    let message = fault.to_string();
    assert!(
        message.contains("no block of rank 2, the cluster has 2"),
        "{message}"
    );
    let odd = "mapa.shared::cluster.u32 %r3, %r1, %r31; ld.shared::cluster.b32 %r0, [%r3+2];";
    let fault = device.fault(&neighbours(SYNC, odd, SYNC));
    assert!(matches!(fault.kind, FaultKind::Misaligned(_)), "{fault}");
    // Another block's address is out of bounds of the block's own shared memory.
    let own = "mapa.shared::cluster.u32 %r3, %r1, %r31; ld.shared::cta.b32 %r0, [%r3];";
    let fault = device.fault(&neighbours(SYNC, own, SYNC));
    assert!(matches!(fault.kind, FaultKind::OutOfBounds(_)), "{fault}");
    // An address in the block's own shared memory is one of the cluster's, mapped or not.
    let mapped = "mapa.shared::cluster.u32 %r3, %r1, %r30; ld.shared::cta.b32 %r0, [%r3];";
    let plain = "ld.shared::cluster.b32 %r0, [%r1];";
    for own in [mapped, plain] {
        let data = device.run(&neighbours(SYNC, own, SYNC));
        assert_eq!(data[48 + 7], 1007);
    }
}

#[test]
fn stores_vectors_and_atomics_reach_other_blocks() {
    let device = row_of(4);
    // Each thread adds its number to a word of the first block, and stores a vector to the next
    // one.
    let body = format!(
        ".shared .align 16 .b8 sum[16]; .shared .align 16 .b8 tile[768];
         mov.u32 %r1, sum; mov.u32 %r2, tile; mov.u32 %r3, 0;
         st.shared.b32 [%r1], %r3;
         {SYNC}
         mapa.shared::cluster.u32 %r4, %r1, 0; red.shared::cluster.add.u32 [%r4], %thread;
         mapa.shared::cluster.u32 %r5, %r2, %r31; mad.lo.u32 %r5, %thread, 16, %r5; mad.lo.u32 %r2, %thread, 16, %r2;
         add.u32 %r6, %r30, %thread; add.u32 %r7, %r6, 1;
         st.shared::cluster.v4.b32 [%r5], {{%r6, %r7, %r6, %r7}};
         {SYNC}
         ld.shared::cluster.v2.b32 {{%r8, %r9}}, [%r2+8];
         ld.shared::cluster.b32 %r0, [%r4];
         mad.lo.u32 %r0, %r9, 10000, %r0;
         {SYNC}
         {STORE}"
    );
    let data = device.run(&body);
    let sum = 4 * (47 * 48 / 2);
    for block in 0..8u32 {
        let before = (block + 3) % 4;
        for thread in 0..48 {
            let found = data[(48 * block + thread) as usize];
            assert_eq!(found, 10000 * (before + thread + 1) + sum, "block {block}");
        }
    }
    // All threads of a block clear its word: that is the one race, of equal values of two warps.
    let alone = body.replace(
        "st.shared.b32 [%r1], %r3;",
        "setp.eq.u32 %p1, %thread, 0; @%p1 st.shared.b32 [%r1], %r3;",
    );
    assert_eq!(device.findings(&alone), [""; 0]);
    let counts = device.counts(&alone);
    let warps = 8 * 2;
    assert_eq!(counts.cluster_loads.requests, 2 * warps);
    assert_eq!(counts.cluster_loads.bytes, 8 * 48 * (8 + 4));
    assert_eq!(counts.cluster_stores.requests, warps);
    assert_eq!(counts.cluster_stores.bytes, 8 * 48 * 16);
    assert_eq!(counts.cluster_atomics.requests, warps);
    assert_eq!(counts.shared_stores.requests, 8);
    assert_eq!(counts.shared_loads.requests, 0);
    assert_eq!(counts.barriers, 6 * warps);
}

#[test]
fn words_that_no_block_has_written_are_found() {
    let device = row_of(2);
    let body = neighbours(SYNC, &LOAD_NEXT.replace("[%r3]", "[%r3+8]"), SYNC);
    let found = device.findings(&body.replace("tile[256]", "tile[1024]"));
    let [finding] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(finding.starts_with("initcheck"), "{finding}");
    assert!(
        finding.contains("byte 192 of `tile` in the block of rank"),
        "{finding}"
    );
}

/// Threads of all blocks arrive at an mbarrier of the first block, which waits for them, and reads
/// what each block has written to it.
fn gather(blocks: u32, store: &str, arrive: &str) -> String {
    format!(
        ".shared .align 8 .b8 full[8]; .shared .align 16 .b8 tile[64];
         mov.u32 %r1, full; mov.u32 %r2, tile; mov.u32 %r0, 0;
         setp.eq.u32 %p1, %thread, 0; setp.eq.u32 %p2, %r30, 0; and.pred %p3, %p1, %p2;
         @%p3 mbarrier.init.shared.b64 [%r1], {blocks};
         @%p3 fence.mbarrier_init.release.cluster;
         {SYNC}
         mapa.shared::cluster.u32 %r3, %r2, 0; mad.lo.u32 %r3, %r30, 4, %r3; add.u32 %r4, %r30, 100;
         mapa.shared::cluster.u32 %r5, %r1, 0;
         @%p1 {store}
         @%p1 {arrive}
         @!%p2 bra DONE;
         AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r1], 0; @!%p4 bra AGAIN;
         ld.shared.b32 %r0, [%r2+{last}];
         DONE: {SYNC}
         {STORE}",
        last = 4 * (blocks - 1),
    )
}

const REMOTE_STORE: &str = "st.shared::cluster.b32 [%r3], %r4;";
const REMOTE_ARRIVE: &str = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];";

#[test]
fn blocks_arrive_at_the_mbarriers_of_others() {
    for blocks in [2, 4] {
        let device = row_of(blocks);
        let body = gather(blocks, REMOTE_STORE, REMOTE_ARRIVE);
        let data = device.run(&body);
        assert_eq!(data[..48], [100 + blocks - 1; 48]);
        assert_eq!(data[48..96], [0; 48]);
        assert_eq!(device.findings(&body), [""; 0]);
    }
    let device = row_of(2);
    // The fence after the initialisation suffices for a barrier that releases nothing else.
    for blocks in [1, 2] {
        let relaxed = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;";
        let body = gather(blocks, REMOTE_STORE, REMOTE_ARRIVE).replacen(SYNC, relaxed, 1);
        assert_eq!(row_of(blocks).findings(&body), [""; 0]);
        let unpublished = body.replace("@%p3 fence.mbarrier_init.release.cluster;", "");
        let found = row_of(blocks).findings(&unpublished);
        assert!(
            found.iter().any(|finding| finding.starts_with("racecheck")),
            "{found:?}"
        );
    }
    // A block that arrives first and writes then is not waited for.
    let late = gather(2, REMOTE_ARRIVE, REMOTE_STORE);
    let found = device.findings(&late);
    assert!(
        found.iter().any(|finding| finding.starts_with("racecheck")),
        "{found:?}"
    );
    // An arrival that releases nothing.
    let relaxed = REMOTE_ARRIVE.replace("release", "relaxed");
    let found = device.findings(&gather(2, REMOTE_STORE, &relaxed));
    assert!(
        found.iter().any(|finding| finding.starts_with("racecheck")),
        "{found:?}"
    );
    // Too few arrive.
    let fault = device.fault(&gather(3, REMOTE_STORE, REMOTE_ARRIVE));
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)), "{fault}");
    let message = fault.to_string();
    assert!(
        message.contains("wait for the mbarrier at 0x0"),
        "{message}"
    );
    assert!(
        message.contains("48 threads wait for the barrier of the cluster"),
        "{message}"
    );
    // Too many.
    let twice = REMOTE_ARRIVE.replace("[%r5]", "[%r5], 2");
    let fault = device.fault(&gather(1, REMOTE_STORE, &twice));
    assert!(matches!(fault.kind, FaultKind::BadBarrier(_)), "{fault}");
    // Bytes that never arrive.
    let expecting = "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r5], 16;";
    let fault = device.fault(&gather(2, REMOTE_STORE, expecting));
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)), "{fault}");
}

#[test]
fn only_the_blocks_own_mbarriers_can_be_waited_for() {
    let text = module("mbarrier.try_wait.parity.shared::cluster.b64 %p1, [%r1], 0;");
    let parsed = Module::parse(&text).expect("well formed");
    let error = parsed.kernel("test").unwrap_err().to_string();
    assert!(error.contains("mbarriers of the block itself"), "{error}");
    for unknown in [
        "barrier.cluster.sync;",
        "barrier.cluster.wait.relaxed;",
        "mapa.u32 %r1, %r2, %r3;",
        "mapa.shared.u32 %r1, %r2, %r3;",
    ] {
        let text = module(unknown);
        let parsed = Module::parse(&text).expect("well formed");
        assert!(parsed.kernel("test").is_err(), "{unknown}");
    }
}

#[test]
fn threads_wait_for_all_blocks_that_have_not_ended() {
    let device = row_of(4);
    // Blocks 1 and 3 of a cluster never arrive, and end.
    let body = format!(
        "and.b32 %r1, %r30, 1; setp.eq.u32 %p1, %r1, 1; @%p1 exit; {SYNC} mov.u32 %r0, 7; {STORE}"
    );
    let data = device.run(&body);
    for block in 0..8 {
        let expected = if block % 2 == 0 { 7 } else { 0 };
        assert_eq!(data[48 * block..48 * (block + 1)], [expected; 48]);
    }
    // They arrive at a barrier of their own instead.
    let stuck = body.replace("@%p1 exit;", "@%p1 bra OTHER;") + "ret; OTHER: bar.sync 0, 96; ret;";
    let fault = device.fault(&stuck);
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)), "{fault}");
    assert!(
        fault.to_string().contains("the barrier of the cluster"),
        "{fault}"
    );
}

#[test]
fn arriving_and_waiting_take_turns() {
    let device = row_of(2);
    let arrive = "barrier.cluster.arrive.aligned;";
    let fault = device.fault(&format!("{arrive} {arrive}"));
    assert!(matches!(fault.kind, FaultKind::BadBarrier(_)), "{fault}");
    let fault = device.fault("barrier.cluster.wait.aligned;");
    assert!(matches!(fault.kind, FaultKind::BadBarrier(_)), "{fault}");
    // In one of the blocks only, in the other one twice in a loop.
    let loops = format!(
        "mov.u32 %r1, 0; AGAIN: {SYNC} add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 10; @%p1 bra AGAIN; mov.u32 %r0, %r1; {STORE}"
    );
    assert_eq!(device.run(&loops)[..96], [10; 96]);
    // Parts of a warp reach an aligned barrier one after the other.
    let parted =
        "setp.lt.u32 %p1, %thread, 16; @%p1 bra HERE; barrier.cluster.arrive.aligned; bra.uni BOTH;
                  HERE: barrier.cluster.arrive.aligned; BOTH: barrier.cluster.wait;";
    let found = device.findings(parted);
    assert!(
        found.iter().all(|finding| finding.starts_with("synccheck")),
        "{found:?}"
    );
    assert_eq!(found.len(), 1, "{found:?}");
    let unaligned = parted.replace(".arrive.aligned", ".arrive");
    assert_eq!(device.findings(&unaligned), [""; 0]);
}

#[test]
fn clusters_divide_the_grid_and_are_small() {
    let refused = |grid: [u32; 3], cluster: [u32; 3]| {
        let error = ClusterLaunch::new(grid, cluster, 32)
            .launch("")
            .unwrap_err();
        error.to_string()
    };
    let message = refused([6, 1, 1], [4, 1, 1]);
    assert_eq!(
        message,
        "clusters of [4, 1, 1] blocks do not divide the grid [6, 1, 1]: choose divisors of its extents"
    );
    assert!(refused([6, 1, 1], [2, 0, 1]).contains("do not divide"));
    assert!(refused([16, 1, 1], [16, 1, 1]).contains("16 blocks exceeds the limit of 8"));
    assert!(refused([4, 4, 4], [4, 4, 1]).contains("16 blocks exceeds the limit of 8"));
}

/// 16 blocks where the launch allows what not every device can run: each reads the last word that
/// the next one wrote.
#[test]
fn larger_clusters_are_allowed_by_the_launch() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .visible .entry next_word(.param .u64 to) {
            .reg .b32 %r<9>; .reg .b64 %rd<4>; .shared .align 4 .b8 word[4];
            ld.param.u64 %rd1, [to];
            mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; mov.u32 %r8, %ctaid.x;
            mov.u32 %r3, word; mad.lo.u32 %r4, %r8, 100, 7; st.shared.u32 [%r3], %r4;
            barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
            add.u32 %r5, %r1, 1; rem.u32 %r5, %r5, %r2;
            mapa.shared::cluster.u32 %r6, %r3, %r5; ld.shared::cluster.u32 %r7, [%r6];
            barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
            mul.wide.u32 %rd2, %r8, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r7;
            ret;
        }";
    let module = Module::parse(text).expect("PTX");
    let kernel = module.kernel("next_word").expect("it is there");
    let memory = Memory::with_capacity(1 << 20);
    let to = memory.alloc(32 * 4).expect("room");
    let mut config = LaunchConfig::new([32, 1, 1], [1, 1, 1]);
    config.cluster = Some([16, 1, 1]);
    let mut args = Args::new();
    args.push_u64(to);
    let launch = |config: &LaunchConfig| kernel.launch(&memory, config, &args).map(drop);
    assert!(launch(&config).is_err());
    config.larger_clusters = true;
    launch(&config).expect("runs");
    let mut found = [0; 32 * 4];
    memory.read(to, &mut found).expect("there");
    for (block, word) in found.chunks(4).enumerate() {
        let next = block / 16 * 16 + (block + 1) % 16;
        let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
        assert_eq!(word, next as u32 * 100 + 7, "block {block}");
    }
    config.cluster = Some([32, 1, 1]);
    let error = launch(&config).expect_err("too large").to_string();
    assert!(
        error.contains("32 blocks exceeds the limit of 16"),
        "{error}"
    );
}

/// Copies a box of 8 × 16 words, issued by thread 0 of the block of rank 0, to the blocks of
/// `mask`.
fn multicast(mask: u32, wait: &str) -> String {
    format!(
        ".shared .align 1024 .b8 tile[512]; .shared .align 8 .b8 full[8];
         mov.u32 %r1, tile; mov.u32 %r2, full; mov.u32 %r3, 0; mov.u16 %h1, {mask}; mov.u32 %r0, 0;
         setp.eq.u32 %p1, %thread, 0; setp.eq.u32 %p2, %r30, 0; and.pred %p3, %p1, %p2;
         mov.u32 %r5, 1; shl.b32 %r5, %r5, %r30; and.b32 %r5, %r5, {mask}; setp.ne.u32 %p6, %r5, 0;
         @%p1 mbarrier.init.shared.b64 [%r2], 1;
         @%p1 fence.mbarrier_init.release.cluster;
         @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
         {SYNC}
         @%p3 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%base, {{%r3, %r3}}], [%r2], %h1;
         @!%p6 bra DONE;
         {wait}
         mad.lo.u32 %r4, %thread, 4, %r1; ld.shared.b32 %r0, [%r4];
         DONE: {STORE_BEHIND}
         {SYNC}"
    )
}

const WAIT: &str =
    "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r2], 0; @!%p4 bra AGAIN;";

/// As [`STORE`], 1024 bytes further on: in front are the tensor map and the matrix.
const STORE_BEHIND: &str = "mov.u32 %r20, %ctaid.x; mad.lo.u32 %r20, %r20, 48, %thread; \
                            mad.wide.u32 %x20, %r20, 4, %base; st.global.b32 [%x20+1024], %r0;";

impl ClusterLaunch {
    /// A device with a matrix of 8 × 16 words, 1000 and so on, and its map.
    fn with_matrix(self) -> Self {
        let words: Vec<u8> = (0..128u32).flat_map(|i| (1000 + i).to_le_bytes()).collect();
        self.memory
            .write(self.data + 256, &words)
            .expect("in bounds");
        let map = TensorMap {
            address: self.data + 256,
            element_bytes: 4,
            extents: vec![16, 8],
            strides: vec![64],
            box_extents: vec![16, 8],
            ..TensorMap::default()
        };
        let bytes = map.to_bytes().expect("well formed");
        assert_eq!(bytes.len(), TENSOR_MAP_BYTES);
        self.memory.write(self.data, &bytes).expect("in bounds");
        self
    }
}

#[test]
fn a_multicast_writes_to_each_block_that_it_names() {
    let test_wait = WAIT.replace("try_wait", "test_wait");
    for (blocks, mask) in [(1, 1), (2, 3), (4, 0xf), (4, 0xb)] {
        for wait in [WAIT, &test_wait] {
            let device = row_of(blocks).with_matrix();
            let body = multicast(mask, wait);
            let data = device.run(&body);
            for block in 0..2 * blocks {
                let named = mask >> (block % blocks) & 1 != 0;
                for thread in 0..48 {
                    let found = data[(256 + 48 * block + thread) as usize];
                    let expected = if named { 1000 + thread } else { 0 };
                    assert_eq!(found, expected, "block {block} of {blocks}");
                }
            }
            assert_eq!(device.findings(&body), [""; 0]);
            // Read from memory once for each cluster.
            assert_eq!(device.counts(&body).bulk_loads.bytes, 2 * 512);
        }
    }
}

#[test]
fn what_is_wrong_with_a_multicast_is_found() {
    let device = row_of(2).with_matrix();
    // A block that does not wait.
    let found = device.findings(&multicast(3, ""));
    assert!(
        found.iter().any(|finding| finding.starts_with("racecheck")),
        "{found:?}"
    );
    // A block that the cluster has not.
    let fault = device.fault(&multicast(7, WAIT));
    assert!(matches!(fault.kind, FaultKind::BadTensor(_)), "{fault}");
    // A block that has ended.
    let ends = format!("setp.eq.u32 %p5, %r30, 1; @%p5 exit; {WAIT}");
    let fault = device.fault(&multicast(3, &ends));
    assert!(matches!(fault.kind, FaultKind::UseAfterFree(_)), "{fault}");
    // A block whose mbarrier expects less.
    let body = multicast(3, WAIT).replace("_, [%r2], 512", "_, [%r2], 256");
    let fault = device.fault(&body);
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)), "{fault}");
}
