//! What the race checker takes for ordered, and what not.

use crate::common::{STORE, kernel, module};
use ptx_emulator::sanitize::{Finding, Problem, Severity, Site, Tool};
use ptx_emulator::{Args, LaunchConfig, Memory, Sanitizer};

/// The problems in a body that one block of two warps runs on 64 words.
fn problems(body: &str) -> Vec<Problem> {
    problems_of_blocks(1, body)
}

fn problems_of_blocks(blocks: u32, body: &str) -> Vec<Problem> {
    let found = findings_of_blocks(blocks, body);
    found.into_iter().map(|finding| finding.problem).collect()
}

/// The problems with their severities.
fn graded(blocks: u32, body: &str) -> Vec<(Problem, Severity)> {
    let found = findings_of_blocks(blocks, body);
    let grade = |finding: Finding| (finding.problem, finding.severity);
    found.into_iter().map(grade).collect()
}

fn findings_of_blocks(blocks: u32, body: &str) -> Vec<Finding> {
    let memory = Memory::with_capacity(1 << 16);
    let data = memory.alloc(256).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig::new([blocks, 1, 1], [64, 1, 1]);
    let kernel = kernel(&module(body));
    let found = Sanitizer::new(&[Tool::Racecheck]).launch(&kernel, &memory, &config, &args);
    found.expect("runs")
}

/// Sets `%x1` to the address of the word that a warp has for itself, and `%r0` to the thread's
/// lane.
const WORD_OF_WARP: &str =
    "shr.u32 %r1, %thread, 5; mad.wide.u32 %x1, %r1, 4, %base; and.b32 %r0, %thread, 31;";

/// Rows of `stmatrix` at one address, as other stores of a warp: no race where they are equal.
#[test]
fn matrices_may_store_equal_rows_to_one_place() {
    for (form, registers) in [
        ("m8n8.x1.shared.b16", "{%r2}"),
        ("m8n8.x2.trans.shared.b16", "{%r2, %r2}"),
    ] {
        let body = |value: &str| {
            format!(
                ".shared .align 16 .b8 tile[512]; mov.u32 %r1, tile;
                 setp.ge.u32 %p1, %thread, 32; @%p1 ret;
                 and.b32 %r5, %thread, 3; shl.b32 %r5, %r5, 4; add.u32 %r1, %r1, %r5; {value}
                 stmatrix.sync.aligned.{form} [%r1], {registers};"
            )
        };
        let equal = graded(1, &body("mov.b32 %r2, 0x00070007;"));
        assert_eq!(equal, [], "{form}");
        let different = graded(1, &body("mov.b32 %r2, %thread;"));
        let error = (Problem::RaceInBlock, Severity::Error);
        assert!(different.contains(&error), "{form}: {different:?}");
    }
}

#[test]
fn lanes_may_write_the_same_value_together() {
    assert_eq!(problems(STORE), []);
    for value in ["7", "%r1"] {
        let body = format!("{WORD_OF_WARP} mov.b32 %r2, {value}; st.global.b32 [%x1], %r2;");
        assert_eq!(problems(&body), [], "{value}");
    }
    // Two lanes per word, and only the byte that is stored counts.
    let pairs = "shr.u32 %r1, %thread, 1; mad.wide.u32 %x1, %r1, 4, %base; \
                 and.b32 %r2, %thread, 1; shl.b32 %r2, %r2, 8; st.global.b8 [%x1], %r2;";
    assert_eq!(problems(pairs), []);
}

#[test]
fn different_values_instructions_or_warps_race() {
    let lanes = format!("{WORD_OF_WARP} st.global.b32 [%x1], %r0;");
    assert_eq!(problems(&lanes), [Problem::RaceInBlock]);
    let warps = "mov.b32 %r2, 7; st.global.b32 [%base], %r2;";
    assert_eq!(problems(warps), [Problem::RaceInBlock]);
    let halves = format!(
        "{WORD_OF_WARP} setp.lt.u32 %p1, %r0, 16; mov.b32 %r2, 7; \
         @%p1 st.global.b32 [%x1], %r2; @!%p1 st.global.b32 [%x1], %r2;"
    );
    assert_eq!(problems(&halves), [Problem::RaceInBlock]);
}

/// Warp 0 reads the words of warp 1 again and again; warp 1 then writes them.
fn read_and_write(after_reads: &str, before_write: &str) -> Vec<Problem> {
    problems(&format!(
        ".shared .align 16 .b8 tile[256];
         mov.u32 %r2, tile; mad.lo.u32 %r2, %thread, 4, %r2; setp.ge.u32 %p2, %thread, 32;
         st.shared.b32 [%r2], %thread; mov.u32 %r4, 0;
         bar.sync 0;
         @%p2 bra WRITER;
         AGAIN: ld.shared.b32 %r0, [%r2+128];
         add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 8; @%p1 bra AGAIN;
         {after_reads}
         bra.uni DONE;
         WRITER: {before_write}
         st.shared.b32 [%r2], %r4;
         DONE:"
    ))
}

#[test]
fn reads_of_a_loop_are_compared_with_later_writes() {
    let race = [Problem::RaceInBlock];
    assert_eq!(read_and_write("", ""), race);
    assert_eq!(read_and_write("bar.sync 0;", "bar.sync 0;"), []);
    // Barriers for some warps order what precedes the arrival, and nothing after it.
    let (arrive, wait) = ("bar.arrive 1, 64;", "bar.sync 1, 64;");
    assert_eq!(read_and_write(arrive, wait), []);
    let more = "MORE: ld.shared.b32 %r0, [%r2+128]; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 16; @%p1 bra MORE;";
    assert_eq!(read_and_write(&format!("{arrive} {more}"), wait), race);
    assert_eq!(read_and_write(&format!("{more} {arrive}"), wait), []);
}

/// Warp 0 writes words of shared memory and arrives at the mbarrier `full`; warp 1 waits, and reads
/// them.
fn hand_over(init: &str, arrive: &str, wait: &str) -> Vec<Problem> {
    problems(&format!(
        ".shared .align 8 .b8 full[16]; .shared .align 16 .b8 tile[128];
         mov.u32 %r1, full; mov.u32 %r2, tile; and.b32 %r0, %thread, 31; mad.lo.u32 %r2, %r0, 4, %r2;
         xor.b32 %r3, %r2, 4; mov.u32 %r4, 0; setp.eq.u32 %p1, %r0, 0; setp.ge.u32 %p2, %thread, 32;
         setp.ne.u32 %p3, %thread, 0; @%p3 bra READY;
         mbarrier.init.shared.b64 [%r1], 1; mbarrier.init.shared.b64 [%r1+8], 1;
         READY: {init}
         @%p2 bra READER;
         st.shared.b32 [%r2], %r0;
         {arrive}
         bra.uni DONE;
         READER: {wait}
         ld.shared.b32 %r0, [%r3];
         DONE:"
    ))
}

const INIT: &str = "bar.sync 0;";
const ARRIVE: &str = "bar.warp.sync -1; @%p1 mbarrier.arrive.shared.b64 %x1, [%r1];";
const WAIT: &str = "W: mbarrier.test_wait.parity.shared.b64 %p4, [%r1], %r4; @!%p4 bra W;";

#[test]
fn a_warp_that_arrives_at_a_barrier_may_wait_there_too() {
    let last = |wait: &str| {
        problems(&format!(
            ".shared .b32 cells[64]; mov.u32 %r1, cells; mad.lo.u32 %r1, %thread, 4, %r1;
             st.shared.b32 [%r1], %thread; bar.arrive 2, 96;
             setp.lt.u32 %p1, %thread, 32; @%p1 bra DONE;
             {wait} ld.shared.b32 %r0, [%r1+-128];
             DONE:"
        ))
    };
    assert_eq!(last("bar.sync 2, 96;"), []);
    assert_eq!(last(""), [Problem::RaceInBlock]);
}

#[test]
fn an_arrival_speaks_for_its_own_lane() {
    assert_eq!(hand_over(INIT, ARRIVE, WAIT), []);
    // Lanes that reach it together release what all of them did.
    let alone = "@%p1 mbarrier.arrive.shared.b64 %x1, [%r1];";
    assert_eq!(hand_over(INIT, alone, WAIT), [Problem::RaceInBlock]);
    let shuffled = format!("shfl.sync.idx.b32 %r5, %r0, 0, 31, -1; {alone}");
    assert_eq!(hand_over(INIT, &shuffled, WAIT), [Problem::RaceInBlock]);
    let relaxed = ARRIVE.replace("arrive.shared", "arrive.relaxed.cta.shared");
    assert_eq!(hand_over(INIT, &relaxed, WAIT), [Problem::RaceInBlock]);
}

#[test]
fn a_wait_is_for_one_mbarrier_and_one_lane() {
    let both = format!("{ARRIVE} @%p1 mbarrier.arrive.shared.b64 %x1, [%r1+8];");
    assert_eq!(hand_over(INIT, &both, WAIT), []);
    let other = ARRIVE.replace("[%r1]", "[%r1+8]");
    let other = format!("@%p1 mbarrier.arrive.shared.b64 %x1, [%r1]; {other}");
    assert_eq!(hand_over(INIT, &other, WAIT), [Problem::RaceInBlock]);
    assert_eq!(
        hand_over(INIT, &other, &WAIT.replace("[%r1]", "[%r1+8]")),
        []
    );
    let leader = format!("@!%p1 bra ON; {WAIT} ON: ");
    let found = hand_over(INIT, ARRIVE, &leader);
    assert_eq!(found, [Problem::RaceInBlock]);
    let together = format!("{leader} bar.warp.sync -1;");
    assert_eq!(hand_over(INIT, ARRIVE, &together), []);
}

#[test]
fn an_mbarrier_is_prepared_before_others_use_it() {
    let found = hand_over("", ARRIVE, WAIT);
    assert!(found.contains(&Problem::RaceInBlock), "{found:?}");
}

#[test]
fn a_copy_in_flight_is_ordered_before_nothing() {
    let copied = |wait: &str| {
        problems(&format!(
            ".shared .align 16 .b8 tile[256]; mov.u32 %r1, tile; mad.lo.u32 %r1, %thread, 4, %r1;
             mad.wide.u32 %x1, %thread, 4, %base; xor.b32 %r2, %r1, 128;
             cp.async.ca.shared.global [%r1], [%x1], 4;
             {wait} ld.shared.b32 %r0, [%r2]; bar.sync 0; cp.async.wait_all;"
        ))
    };
    assert_eq!(copied("cp.async.wait_all; bar.sync 0;"), []);
    assert_eq!(copied("bar.sync 0;"), [Problem::RaceInBlock]);
    assert_eq!(
        copied("bar.sync 0; cp.async.wait_all;"),
        [Problem::RaceInBlock]
    );
}

/// The last of two blocks to add to a counter reads what the other one has written.
fn last_of_blocks(before: &str, add: &str, after: &str, all: &str) -> Vec<Problem> {
    problems_of_blocks(
        2,
        &format!(
            ".shared .align 4 .b8 word[4]; mov.u32 %r1, word; mov.u32 %r2, %ctaid.x; mov.u32 %r3, 1;
             setp.ne.u32 %p1, %thread, 0; mad.wide.u32 %x1, %r2, 4, %base; xor.b32 %r4, %r2, 1;
             mad.wide.u32 %x2, %r4, 4, %base;
             @!%p1 st.global.b32 [%x1+8], %r2; {before} bar.sync 0;
             @%p1 bra ON; {add} [%base], %r3; st.shared.b32 [%r1], %r5; ON: bar.sync 0;
             ld.shared.b32 %r5, [%r1]; {after} setp.eq.u32 %p2, %r5, {all}; @%p2 bra END;
             ld.global.b32 %r6, [%x2+8]; END:"
        ),
    )
}

#[test]
fn blocks_see_what_others_have_released() {
    let fence = "fence.acq_rel.gpu;";
    let strong = "atom.acq_rel.gpu.global.add.u32 %r5,";
    let relaxed = "atom.relaxed.gpu.global.add.u32 %r5,";
    assert_eq!(last_of_blocks("", strong, fence, "0"), []);
    assert_eq!(last_of_blocks(fence, relaxed, fence, "0"), []);
    // Nothing is released without a fence.
    let found = last_of_blocks("", relaxed, fence, "0");
    assert_eq!(found, [Problem::RaceBetweenBlocks]);
    // The first block has acquired nothing, whatever it does later.
    let found = last_of_blocks(fence, strong, fence, "7");
    assert_eq!(found, [Problem::RaceBetweenBlocks]);
}

/// A histogram without a barrier between the atomics and the reads of its bins.
#[test]
fn an_atomic_races_with_a_plain_read() {
    let histogram = |barrier: &str, read: &str| {
        problems(&format!(
            ".shared .align 4 .b32 bins[64]; mov.u32 %r1, bins; and.b32 %r2, %thread, 63;
             mad.lo.u32 %r3, %r2, 4, %r1; st.shared.u32 [%r3], 0; bar.sync 0;
             red.shared.add.u32 [%r1+8], 1; {barrier} {read}"
        ))
    };
    let read = "ld.shared.u32 %r4, [%r3];";
    assert_eq!(histogram("bar.sync 0;", read), []);
    assert_eq!(histogram("", read), [Problem::RaceInBlock]);
    // Atomics and other strong accesses do not race with each other.
    assert_eq!(histogram("", "ld.volatile.shared.u32 %r4, [%r3];"), []);
    assert_eq!(histogram("", "atom.shared.add.u32 %r4, [%r1], 1;"), []);
}

/// The counter of a queue in global memory, which threads read plainly before they add to it.
#[test]
fn an_atomic_on_global_memory_races_with_a_plain_read() {
    let counter = |between: &str, read: &str| {
        problems(&format!(
            "red.global.add.u32 [%base+8], 1; {between} {read}"
        ))
    };
    let read = "ld.global.u32 %r4, [%base+8];";
    assert_eq!(counter("", read), [Problem::RaceInBlock]);
    assert_eq!(counter("bar.sync 0;", read), []);
    assert_eq!(counter("", "ld.volatile.global.u32 %r4, [%base+8];"), []);
    assert_eq!(counter("", "ld.global.u32 %r4, [%base+12];"), []);
    // Whichever comes first.
    let late = |between: &str| {
        problems(&format!(
            "{read} {between} red.global.add.u32 [%base+8], 1;"
        ))
    };
    assert_eq!(late(""), [Problem::RaceInBlock]);
    assert_eq!(late("bar.sync 0;"), []);
    // A strong store is one as well, and a generic address.
    assert_eq!(
        problems(&format!(
            "mov.u32 %r1, 3; st.volatile.u32 [%base+8], %r1; {read}"
        )),
        [Problem::RaceInBlock]
    );
}

#[test]
fn an_atomic_of_one_block_races_with_a_plain_read_of_another() {
    let blocks = |first: &str, second: &str| {
        problems_of_blocks(
            3,
            &format!(
                "mov.u32 %r1, %ctaid.x; or.b32 %r2, %r1, %thread; setp.ne.u32 %p1, %thread, 0;
                 setp.eq.u32 %p2, %r1, 1; @%p1 bra END; @%p2 bra OTHER; {first} bra.uni END;
                 OTHER: {second} END:"
            ),
        )
    };
    let race = [Problem::RaceBetweenBlocks];
    let (add, read) = (
        "red.global.add.u32 [%base+4], 1;",
        "ld.global.u32 %r4, [%base+4];",
    );
    assert_eq!(blocks(add, read), race);
    assert_eq!(blocks(read, add), race);
    assert_eq!(blocks(add, add), []);
    assert_eq!(blocks(read, read), []);
    assert_eq!(blocks(add, "ld.relaxed.gpu.global.u32 %r4, [%base+4];"), []);
    assert_eq!(blocks(add, "ld.global.u32 %r4, [%base+8];"), []);
    // A read behind an atomic of the same block is one all the same.
    assert_eq!(blocks(add, &format!("{add} bar.warp.sync 1; {read}")), race);
    assert_eq!(
        blocks(add, "mov.u32 %r4, 1; st.global.u32 [%base+4], %r4;"),
        race
    );
}

#[test]
fn writes_of_one_value_are_warnings() {
    let (block, between) = (Problem::RaceInBlock, Problem::RaceBetweenBlocks);
    let store = |value: &str| format!("mov.u32 %r1, {value}; st.global.u32 [%base+4], %r1;");
    assert_eq!(graded(1, &store("7")), [(block, Severity::Warning)]);
    assert_eq!(graded(1, &store("%thread")), [(block, Severity::Error)]);
    let found = graded(2, &store("7"));
    assert_eq!(
        found,
        [(block, Severity::Warning), (between, Severity::Warning)]
    );
    let other = format!(
        "setp.eq.u32 %p1, %thread, 5; {} @%p1 {}",
        store("7"),
        "st.global.u32 [%base+4], %thread;"
    );
    assert!(graded(1, &other).contains(&(block, Severity::Error)));
    // Values that differ from address to address, as where warps compute the same twice.
    let twice = |value: &str| {
        format!(
            "{declared} and.b32 %r1, %thread, 31; mad.lo.u32 %r2, %r1, 4, %r3;
             mad.wide.u32 %x1, %r1, 4, %base; mov.u32 %r4, {value};",
            declared = ".shared .align 4 .b8 tile[128]; mov.u32 %r3, tile;"
        )
    };
    for store in ["st.shared.u32 [%r2], %r4;", "st.global.u32 [%x1], %r4;"] {
        let same = format!("{} {store}", twice("%r1"));
        assert_eq!(graded(1, &same), [(block, Severity::Warning)], "{store}");
        let different = format!("{} {store}", twice("%thread"));
        assert_eq!(graded(1, &different), [(block, Severity::Error)], "{store}");
    }
}

/// The loop of the programming guide by which `atom.cas` makes any function an atomic.
#[test]
fn a_plain_read_before_a_compare_and_swap_is_none() {
    let with = |seed: &str| {
        graded(
            1,
            &format!(
                "{seed}
                 AGAIN: mov.u32 %r2, %r1; add.u32 %r3, %r2, 1;
                 atom.global.cas.b32 %r1, [%base], %r2, %r3;
                 setp.ne.u32 %p1, %r1, %r2; @%p1 bra AGAIN;"
            ),
        )
    };
    assert_eq!(with("ld.global.u32 %r1, [%base];"), []);
    // Not if it is another word that is replaced.
    let race = (Problem::RaceInBlock, Severity::Error);
    let other = "red.global.add.u32 [%base+4], 1; ld.global.u32 %r1, [%base+4];";
    assert_eq!(with(other), [race]);
    assert_eq!(with("ld.volatile.global.u32 %r1, [%base];"), []);
}

/// What blocks find of their own threads and of each other is counted by words and lanes, whether
/// a block on the same worker has accessed bytes, and however the executor reports loads.
#[test]
fn counts_do_not_depend_on_the_number_of_workers() {
    const BLOCKS: u64 = 8;
    // `%x1`: 256 bytes that each block has for itself; `%x2`: the word of a thread there.
    let body = "mov.u32 %r0, %ctaid.x; mad.wide.u32 %x1, %r0, 256, %base;
        mad.wide.u32 %x2, %thread, 4, %x1;
        setp.eq.u32 %p1, %r0, 5; @%p1 ld.global.u8 %r1, [%x1+1]; bar.sync 0;
        add.u32 %r2, %thread, 1; and.b32 %r2, %r2, 63; mad.wide.u32 %x3, %r2, 4, %x1;
        st.global.b32 [%x2], %thread;
        ld.global.b32 %r1, [%x3];
        mov.u32 %r4, 0; setp.eq.u32 %p2, %thread, 7;
        AGAIN: bar.sync 0;
        @%p2 st.global.b32 [%x1], %thread;
        ld.global.b32 %r1, [%x1];
        add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 4; @%p3 bra AGAIN;
        mad.wide.u32 %x4, %thread, 4, %base; mad.lo.u32 %r1, %r0, 1000, %thread;
        @%p1 ld.global.u8 %r3, [%base+2051]; bar.sync 0;
        st.global.b32 [%x4+2048], %r1;";
    let kernel = kernel(&module(body));
    for workers in 1..=4 {
        let memory = Memory::with_capacity(1 << 16);
        let mut args = Args::new();
        args.push_u64(memory.alloc(4096).expect("room"));
        let config = LaunchConfig {
            workers: Some(workers),
            ..LaunchConfig::new([BLOCKS as u32, 1, 1], [64, 1, 1])
        };
        let mut sanitizer = Sanitizer::new(&[Tool::Racecheck]);
        let found = sanitizer.launch(&kernel, &memory, &config, &args);
        let found: Vec<_> = found
            .expect("runs")
            .into_iter()
            .map(|finding| {
                let bytes = finding.region.map(|region| region.bytes);
                (finding.problem, bytes, finding.count)
            })
            .collect();
        // Each thread reads the word of another. Then 63 of 64 threads read what one has written,
        // or in every second round 31: the other warp has read before, which the write finds once.
        // All blocks write the same words, of one of which one reads a byte.
        let (inside, between) = (Problem::RaceInBlock, Problem::RaceBetweenBlocks);
        let expected = [
            (inside, Some(4), 64 * BLOCKS),
            (inside, Some(4), 2 * (63 + 31 + 1) * BLOCKS),
            (between, Some(1), 1),
            (between, Some(4), 64),
        ];
        assert_eq!(found, expected, "{workers} workers");
    }
}

/// What was found in the block that faults and in those before it stays, with races between them,
/// on any number of workers; how far later blocks come depends on chance.
#[test]
fn races_before_a_fault_are_kept() {
    // All blocks have a race; block 2 of 9 leaves its memory behind its own.
    let body = ".shared .align 4 .b8 cell[4]; mov.u32 %r1, %ctaid.x; st.shared.u32 [cell], %thread;
         setp.eq.u32 %p6, %thread, 0; @%p6 st.global.u32 [%base+128], %r1;
         setp.ne.u32 %p1, %r1, 2; mov.u64 %x2, 1; @%p1 bra DONE; st.global.u32 [%x2+4095], %r1;
         DONE: add.u32 %r1, %r1, 1; @%p6 st.global.u32 [%base+132], %r1;";
    let kernel = kernel(&module(body));
    let found = |workers| {
        let memory = Memory::with_capacity(1 << 16);
        let data = memory.alloc(256).expect("room");
        let mut args = Args::new();
        args.push_u64(data);
        let mut config = LaunchConfig::new([9, 1, 1], [64, 1, 1]);
        config.workers = Some(workers);
        let mut sanitizer = Sanitizer::new(&[Tool::Racecheck]);
        let found = sanitizer.launch(&kernel, &memory, &config, &args);
        let found = found.expect("runs").into_iter();
        found
            .map(|finding| (finding.problem, finding.count, finding.first.block))
            .collect::<Vec<_>>()
    };
    let alone = found(1);
    assert_eq!(
        alone,
        [
            (Problem::OutOfBounds, 1, [2, 0, 0]),
            (Problem::RaceInBlock, 63, [0, 0, 0]),
            (Problem::RaceBetweenBlocks, 1, [0, 0, 0]),
            (Problem::RaceBetweenBlocks, 1, [0, 0, 0]),
        ]
    );
    for workers in [2, 4, 9] {
        let of_blocks = |all: &[(Problem, u64, [u32; 3])]| {
            let races = all.iter();
            let races = races.filter(|(problem, ..)| *problem != Problem::RaceBetweenBlocks);
            races.copied().collect::<Vec<_>>()
        };
        assert_eq!(of_blocks(&found(workers)), of_blocks(&alone), "{workers}");
    }
}

/// A copy reads one space and writes the other: findings say what it does to theirs.
#[test]
fn copies_read_their_source_and_write_their_destination() {
    let copy = ".shared .align 16 .b8 tile[256]; setp.eq.u32 %p1, %thread, 0; mov.u32 %r2, tile;
        setp.eq.u32 %p2, %thread, 33; mov.u64 %x2, tile;
        @%p1 cp.async.cg.shared.global [%r2], [%base], 16;";
    let wait = "cp.async.wait_all;";
    let found = |other: &str| {
        let found = findings_of_blocks(1, &format!("{copy} {other} {wait}"));
        let [finding] = &found[..] else {
            panic!("{found:?}");
        };
        let actor = |is_copy: bool| {
            let mut sites = [Some(&finding.first), finding.second.as_ref()]
                .into_iter()
                .flatten();
            let of = |site: &&Site| {
                let text = site.instruction.as_deref().unwrap_or_default();
                text.contains("cp.async") == is_copy
            };
            sites.find(of).expect("two sides").action
        };
        (actor(true), actor(false))
    };
    assert_eq!(
        found("@%p2 st.shared.u32 [tile], %thread;"),
        ("write", "write")
    );
    assert_eq!(
        found("@%p2 st.global.u32 [%base], %thread;"),
        ("read", "write")
    );
}

/// An asynchronous operation is over when it was waited for, also where its block has acquired
/// something meanwhile: a later block writes to the same shared memory without a race.
#[test]
fn a_copy_during_which_its_block_acquires_ends() {
    let found = |between: &str| {
        let body = format!(
            ".shared .align 16 .b8 tile[256];
             mov.u32 %r1, %ctaid.x; mad.wide.u32 %x1, %r1, 16, %base;
             setp.ne.u32 %p1, %thread, 0; @%p1 ret; mov.u32 %r2, tile;
             st.shared.u32 [%r2], %thread; fence.proxy.async;
             cp.async.bulk.global.shared::cta.bulk_group [%x1], [%r2], 16;
             cp.async.bulk.commit_group; {between} cp.async.bulk.wait_group 0;"
        );
        findings_of_blocks(8, &body)
    };
    assert_eq!(found(""), []);
    assert_eq!(
        found("atom.acq_rel.gpu.global.add.u32 %r3, [%base+252], 1;"),
        []
    );
}
