//! Cooperative launches: blocks that wait for each other, through the barrier of the grid of
//! cooperative groups and by other means.

use crate::common::{self, kernel, module};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::stepping::{Paused, Resume};
use ptx_emulator::{
    Args, Event, Fault, FaultKind, Interest, LaunchConfig, LaunchError, Memory, Module, Observer,
    Sanitizer,
};

/// Words of the data.
const WORDS: usize = 1024;

/// What kernels begin with: `%x20` is the address of the grid's barrier, `%r20` the block's linear
/// index, `%r21` the number of blocks, `%x21` the address of the block's word, `%x22` that of the
/// next block's.
const START: &str = "
    mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %x20, {%r2, %r1}; add.s64 %x20, %x20, 4;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
    mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %nctaid.z;
    mad.lo.u32 %r20, %r3, %r5, %r2; mad.lo.u32 %r20, %r20, %r4, %r1;
    mul.lo.u32 %r21, %r4, %r5; mul.lo.u32 %r21, %r21, %r6;
    add.u32 %r22, %r20, 1; rem.u32 %r22, %r22, %r21;
    mad.wide.u32 %x21, %r20, 4, %base; mad.wide.u32 %x22, %r22, 4, %base;
    setp.ne.u32 %p7, %thread, 0;";

/// `cooperative_groups::this_grid().sync()` as nvcc 13 compiles it for sm_80; `label` names its
/// loop.
fn sync(label: &str) -> String {
    format!(
        "barrier.sync 0; @%p7 bra {label}_OUT;
         sub.u32 %r10, 0x80000001, %r21; setp.eq.u32 %p6, %r20, 0; selp.b32 %r10, %r10, 1, %p6;
         atom.add.release.gpu.u32 %r11, [%x20], %r10;
         {label}_POLL: ld.acquire.gpu.u32 %r12, [%x20];
         xor.b32 %r13, %r12, %r11; setp.gt.s32 %p5, %r13, -1; @%p5 bra {label}_POLL;
         {label}_OUT: barrier.sync 0;"
    )
}

/// As [`sync`], of a counter in word 1000 of the data instead, for the `phase`-th time.
fn sync_by_hand(phase: u32) -> String {
    format!(
        "bar.sync 0; @%p7 bra H{phase}_OUT; membar.gl;
         atom.global.add.u32 %r11, [%base+4000], 1; mul.lo.u32 %r12, %r21, {phase};
         H{phase}_POLL: ld.volatile.global.u32 %r13, [%base+4000];
         setp.lt.u32 %p5, %r13, %r12; @%p5 bra H{phase}_POLL;
         membar.gl; H{phase}_OUT: bar.sync 0;"
    )
}

/// A cooperative launch on 1024 words, which are zero.
struct CooperativeLaunch {
    memory: Memory,
    data: u64,
    config: LaunchConfig,
}

impl CooperativeLaunch {
    fn new(grid: [u32; 3], threads: u32) -> Self {
        let memory = Memory::with_capacity(1 << 20);
        let data = memory.alloc(4 * WORDS as u64).expect("room");
        memory.fill(data, 4 * WORDS as u64, 0).expect("in bounds");
        CooperativeLaunch {
            memory,
            data,
            config: LaunchConfig {
                cooperative: true,
                instruction_budget: 1 << 26,
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
        let kernel = kernel(&text(body));
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

    fn refusal(&self, text: &str) -> String {
        let kernel = kernel(text);
        let refused = kernel.launch(&self.memory, &self.config, &self.args());
        refused.expect_err("refused").to_string()
    }

    /// The findings of the sanitizers.
    fn findings(&self, body: &str) -> Vec<String> {
        let kernel = kernel(&text(body));
        let mut sanitizer = Sanitizer::new(&Tool::ALL);
        let found = sanitizer.launch(&kernel, &self.memory, &self.config, &self.args());
        let found = found.unwrap_or_else(|error| panic!("{error}\n{body}"));
        found.iter().map(ToString::to_string).collect()
    }
}

fn text(body: &str) -> String {
    module(&format!("{START}\n{body}")).replace(
        ".version 8.0\n.target sm_80",
        ".version 8.0\n.target sm_90a",
    )
}

/// In each of some phases, every block reads the next one's word and then writes it, plus 1 and its
/// own index, to its own; `sync` orders both.
fn phases(count: u32, sync: impl Fn(u32) -> String) -> String {
    let phase = |phase: u32| {
        let (read, written) = (sync(2 * phase + 1), sync(2 * phase + 2));
        format!(
            "ld.global.u32 %r0, [%x22]; {read}
             add.u32 %r0, %r0, 1; add.u32 %r0, %r0, %r20;
             @!%p7 st.global.u32 [%x21], %r0; {written}"
        )
    };
    (0..count).map(phase).collect()
}

fn grid_phases(count: u32) -> String {
    phases(count, |number| sync(&format!("S{number}")))
}

fn expected_phases(blocks: usize, count: u32) -> Vec<u32> {
    let mut words = vec![0u32; blocks];
    for _ in 0..count {
        let of_block = |block: usize| words[(block + 1) % blocks] + 1 + block as u32;
        words = (0..blocks).map(of_block).collect();
    }
    words
}

#[test]
fn blocks_wait_at_the_barrier_of_the_grid() {
    let grids = [
        [1, 1, 1],
        [2, 1, 1],
        [31, 1, 1],
        [33, 1, 1],
        [3, 11, 1],
        [1, 3, 7],
        [257, 1, 1],
    ];
    for grid in grids {
        let blocks = grid.iter().product::<u32>() as usize;
        for threads in [1, 32, 33, 96] {
            let device = CooperativeLaunch::new(grid, threads);
            let words = device.run(&grid_phases(5));
            let expected = expected_phases(blocks, 5);
            assert_eq!(words[..blocks], expected, "{grid:?} of {threads} threads");
        }
    }
}

#[test]
fn blocks_wait_by_other_means() {
    for blocks in [1u32, 3, 33] {
        let device = CooperativeLaunch::new([blocks, 1, 1], 64);
        let words = device.run(&phases(4, sync_by_hand));
        let expected = expected_phases(blocks as usize, 4);
        assert_eq!(words[..blocks as usize], expected, "{blocks} blocks");
    }
}

/// The last block gives a value to the first one, which polls with all lanes of a warp.
#[test]
fn a_block_waits_for_a_later_one() {
    let device = CooperativeLaunch::new([5, 1, 1], 32);
    let words = device.run(
        "setp.eq.u32 %p1, %r20, 4; @%p1 bra GIVE; setp.ne.u32 %p1, %r20, 0; @%p1 bra DONE;
         POLL: ld.relaxed.gpu.global.u32 %r0, [%base+4000]; setp.eq.u32 %p2, %r0, 0;
         @%p2 bra POLL;
         st.global.u32 [%base], %r0; bra DONE;
         GIVE: mov.u32 %r0, 7; st.relaxed.gpu.global.u32 [%base+4000], %r0; DONE:",
    );
    assert_eq!(words[0], 7);
}

#[test]
fn the_workspace_is_that_of_cooperative_launches() {
    let body = "@%p7 bra DONE; mov.u32 %r0, %envreg1; mov.u32 %r1, %envreg2;
        mov.b64 %x1, {%r1, %r0}; setp.eq.u64 %p1, %x1, 0; @%p1 bra NONE;
        ld.u32 %r2, [%x1]; ld.u32 %r3, [%x1+4];
        st.global.v4.u32 [%base], {%r0, %r1, %r2, %r3}; bra DONE;
        NONE: mov.u32 %r0, 99; st.global.u32 [%base], %r0; DONE:";
    let mut device = CooperativeLaunch::new([1, 1, 1], 32);
    let used = device.memory.used();
    let words = device.run(body);
    assert_ne!((words[0], words[1]), (0, 0));
    assert_eq!(words[2..4], [8, 0], "its size, and the barrier");
    assert_eq!(device.memory.used(), used, "it is given back");
    device.config.cooperative = false;
    assert_eq!(device.run(body)[0], 99);
}

#[test]
fn a_block_that_leaves_early_is_a_deadlock() {
    let device = CooperativeLaunch::new([33, 1, 1], 64);
    let body = format!(
        "setp.eq.u32 %p1, %r20, 5; @%p1 bra DONE; {} DONE:",
        sync("S")
    );
    let fault = device.fault(&body);
    let FaultKind::Deadlock(message) = &fault.kind else {
        panic!("{fault}");
    };
    let line = text(&body)
        .lines()
        .position(|line| line.contains("S_POLL: ld"))
        .expect("there");
    let polls = format!(
        "32 threads wait for the barrier of the grid at PTX line {}",
        line + 1
    );
    assert!(message.contains(&polls), "{message}");
    assert!(
        message.contains("2016 threads wait for barrier 0"),
        "{message}"
    );
    assert!(message.contains("64 threads have exited"), "{message}");
    // All sanitizers give the same.
    let found = device.findings(&body);
    assert!(found.len() == 1 && found[0].contains(&polls), "{found:?}");
}

#[test]
fn polling_without_end_is_a_deadlock() {
    let device = CooperativeLaunch::new([3, 1, 1], 32);
    let fault = device.fault(&format!(
        "setp.eq.u32 %p1, %r20, 1; @%p1 bra DONE; {} DONE:",
        sync_by_hand(1)
    ));
    let FaultKind::Deadlock(message) = &fault.kind else {
        panic!("{fault}");
    };
    assert!(
        message.contains("2 threads poll memory that no block changes at PTX line"),
        "{message}"
    );
}

#[test]
fn sanitizers_find_nothing_in_ordered_phases() {
    for blocks in [1, 2, 33] {
        let device = CooperativeLaunch::new([blocks, 1, 1], 64);
        assert_eq!(device.findings(&grid_phases(4)), [""; 0], "{blocks} blocks");
        assert_eq!(
            device.read()[..blocks as usize],
            expected_phases(blocks as usize, 4)
        );
        let device = CooperativeLaunch::new([blocks, 1, 1], 64);
        let by_hand = phases(4, sync_by_hand);
        assert_eq!(device.findings(&by_hand), [""; 0], "{blocks} blocks");
    }
}

/// Of several barriers of the grid each one orders: without any of them there is a race between
/// blocks.
#[test]
fn a_missing_barrier_of_the_grid_is_a_race() {
    for missing in 1..=5 {
        let body = phases(3, |number| match number {
            _ if number == missing => "bar.sync 0;".to_string(),
            _ => sync(&format!("S{number}")),
        });
        let found = CooperativeLaunch::new([33, 1, 1], 64).findings(&body);
        let races = found
            .iter()
            .filter(|found| found.contains("race between blocks"));
        assert!(
            races.count() == 1 && found.len() == 1,
            "{missing}: {found:#?}"
        );
    }
}

/// A race of the threads of one block, in a late block and behind a barrier of the grid.
#[test]
fn races_within_a_block_are_found() {
    let race = "st.shared.u32 [cells], %r20;";
    let body = format!(
        ".shared .align 4 .b8 cells[64]; {} setp.eq.u32 %p1, %r20, 29; @!%p1 bra NEXT;
         add.u32 %r20, %r20, %thread; {race} NEXT: {}",
        sync("S"),
        sync("T")
    );
    let found = CooperativeLaunch::new([31, 1, 1], 64).findings(&body);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("block (29, 0, 0)"), "{found:#?}");
}

#[test]
fn shared_memory_is_that_of_each_block() {
    // Each block keeps a value over a barrier of the grid; only block 7 reads what it has not
    // written.
    let body = |skipped: u32| {
        format!(
            ".shared .align 4 .b8 cells[128]; mul.wide.u32 %x1, %thread, 4; mov.u64 %x2, cells;
             add.s64 %x1, %x1, %x2; add.u32 %r0, %r20, 5; setp.ne.u32 %p1, %r20, {skipped};
             @%p1 st.shared.u32 [%x1], %r0; {} ld.shared.u32 %r0, [%x1];
             @!%p7 st.global.u32 [%x21], %r0;",
            sync("S")
        )
    };
    let device = CooperativeLaunch::new([33, 1, 1], 32);
    assert_eq!(device.findings(&body(99)), [""; 0]);
    let expected: Vec<u32> = (5..38).collect();
    assert_eq!(device.read()[..33], expected);
    let found = device.findings(&body(7));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("never written"), "{found:#?}");
    assert!(found[0].contains("block (7, 0, 0)"), "{found:#?}");
}

/// What is read before a barrier of the grid and written behind it was not initialised.
#[test]
fn reads_before_the_first_write_are_found() {
    let mut device = CooperativeLaunch::new([3, 1, 1], 32);
    device.data = device.memory.alloc(4 * WORDS as u64).expect("room");
    let body = format!(
        "setp.eq.u32 %p1, %r20, 2; @!%p1 bra NEXT; ld.global.u32 %r0, [%base+64]; NEXT: {}
         add.u32 %r0, %r0, 1; @!%p7 st.global.u32 [%x21], %r0;
         setp.eq.u32 %p1, %r20, 0; and.pred %p1, %p1, !%p7; @%p1 st.global.u32 [%base+64], %r0;",
        sync("S")
    );
    let body = body.replace("and.pred %p1, %p1, !%p7;", "@%p7 mov.pred %p1, 0;");
    let found = device.findings(&body);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("never written"), "{found:#?}");
    assert!(found[0].contains("block (2, 0, 0)"), "{found:#?}");
}

#[test]
fn a_block_is_a_cluster_of_its_own() {
    let device = CooperativeLaunch::new([40, 1, 1], 48);
    let body = format!(
        ".shared .align 4 .b8 cells[64]; mov.u32 %r0, %cluster_nctarank;
         mov.u32 %r1, %cluster_ctarank; mad.lo.u32 %r0, %r0, 10, %r1;
         mov.u32 %r2, cells; mapa.shared::cluster.u32 %r2, %r2, 0;
         @!%p7 st.shared::cluster.u32 [%r2], %r0;
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; {}
         ld.shared.u32 %r0, [cells]; @!%p7 st.global.u32 [%x21], %r0;",
        sync("S")
    );
    assert_eq!(device.findings(&body), [""; 0]);
    assert_eq!(device.read()[..40], [10; 40]);
    let fault = device.fault(
        ".shared .align 4 .b8 cells[64]; mov.u32 %r2, cells; mapa.shared::cluster.u32 %r2, %r2, 3;
         st.shared::cluster.u32 [%r2], %r20;",
    );
    let message = fault.to_string();
    assert!(
        message.contains("there is no block of rank 3, the cluster has 1"),
        "{message}"
    );
}

/// Bulk copies and mbarriers, in blocks of which there are more than a cluster can have.
#[test]
fn blocks_copy_in_bulk() {
    let device = CooperativeLaunch::new([37, 1, 1], 32);
    let words: Vec<u8> = (0..400u32)
        .flat_map(|word| (3 * word).to_le_bytes())
        .collect();
    device.memory.write(device.data, &words).expect("in bounds");
    let body = format!(
        ".shared .align 128 .b8 tile[128]; .shared .align 8 .b8 full[8];
         @%p7 bra SYNC;
         mbarrier.init.shared.b64 [full], 1; fence.mbarrier_init.release.cluster;
         mov.b32 %r1, 16; mad.wide.u32 %x1, %r20, 16, %base;
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], %r1;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
         [tile], [%x1], %r1, [full];
         W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0; @!%p2 bra W;
         SYNC: {} @%p7 bra DONE;
         mad.wide.u32 %x2, %r22, 16, %base;
         cp.async.bulk.global.shared::cta.bulk_group [%x2], [tile], %r1;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; DONE:",
        sync("S")
    );
    assert_eq!(device.findings(&body), [""; 0]);
    let moved: Vec<u32> = (0..37)
        .flat_map(|block| (0..4).map(move |at| 3 * (4 * ((block + 36) % 37) + at)))
        .collect();
    assert_eq!(device.read()[..148], moved);
}

#[test]
fn what_cannot_be_launched_is_refused() {
    let mut device = CooperativeLaunch::new([4, 1, 1], 32);
    device.config.cluster = Some([2, 1, 1]);
    let refused = device.refusal(&text(""));
    let expected = "a cooperative launch with clusters of [2, 1, 1] blocks is not supported";
    assert!(refused.starts_with(expected), "{refused}");
    device.config.cluster = Some([1, 1, 1]);
    assert_eq!(device.run(&grid_phases(1))[..4], expected_phases(4, 1));
    // 227 KiB of shared memory, and more than a million blocks.
    device.config.cluster = None;
    device.config.grid = [1 << 20, 1, 1];
    device.config.dynamic_shared_bytes = 200 << 10;
    let refused = device.refusal(&text(&sync("S")));
    assert!(refused.contains("of 1048576 blocks needs"), "{refused}");
    assert!(refused.contains("the limit is 4294967296"), "{refused}");
    // A memory without room for the workspace.
    let full = Memory::with_capacity(0);
    let config = LaunchConfig {
        cooperative: true,
        ..LaunchConfig::new([1, 1, 1], [32, 1, 1])
    };
    let refused = kernel(&text(&sync("S"))).launch(&full, &config, &device.args());
    let refused = refused.expect_err("refused").to_string();
    assert!(
        refused.starts_with("the workspace of the grid's barrier:"),
        "{refused}"
    );
    // A kernel that does not ask for it needs none.
    let empty = kernel(&common::module(""));
    empty.launch(&full, &config, &device.args()).expect("runs");
}

/// Steps through all, and counts the steps of each block and the barriers of the grid.
#[derive(Default)]
struct Steps {
    of_block: Vec<u32>,
    barriers: u32,
}

impl Observer for Steps {
    const INTEREST: Interest = Interest::GRID_BARRIER;
    const STEPS: bool = true;

    fn fork(&self) -> Self {
        Steps::default()
    }

    fn join(&mut self, _: Self) {}

    fn event(&mut self, _: Event<'_>) {
        self.barriers += 1;
    }

    fn paused(&mut self, paused: &dyn Paused) -> Resume {
        if let Some(step) = paused.step() {
            let rank = step.rank as usize;
            assert_eq!(paused.blocks()[rank], step.block);
            self.of_block.resize(paused.blocks().len(), 0);
            self.of_block[rank] += 1;
        }
        Resume::Run
    }
}

#[test]
fn a_cooperative_launch_can_be_stepped_through() {
    let device = CooperativeLaunch::new([3, 1, 1], 40);
    let module = Module::parse(&text(&grid_phases(2))).expect("well formed");
    let kernel = module.kernel_for_stepping("test").expect("decodes");
    let mut steps = Steps::default();
    let done = kernel.launch_observed(&device.memory, &device.config, &device.args(), &mut steps);
    done.expect("runs");
    assert_eq!(device.read()[..3], expected_phases(3, 2));
    assert_eq!(steps.barriers, 4);
    assert!(
        steps.of_block.iter().all(|&count| count > 80),
        "{:?}",
        steps.of_block
    );
}
