//! `cp.async`, its groups, and mbarriers.

use crate::common::{STORE, fault, kernel, launch, module, run};
use ptx_emulator::sanitize::{Sanitizer, Tool};
use ptx_emulator::{Args, Counters, FaultKind, LaunchConfig, Memory};

/// Each thread copies its word of the data to shared memory, waits by `wait`, and reads it.
fn copied(wait: &str) -> Vec<u32> {
    let data: Vec<u32> = (0..32).map(|lane| 100 + lane).collect();
    run(
        &format!(
            ".shared .align 16 .b8 tile[128];
             mad.wide.u32 %x1, %thread, 4, %base; mov.u32 %r2, tile; mad.lo.u32 %r1, %thread, 4, %r2;
             cp.async.ca.shared.global [%r1], [%x1], 4;
             {wait}
             ld.shared.b32 %r0, [%r1]; {STORE}"
        ),
        32,
        &data,
    )
}

#[test]
fn a_copy_arrives_when_it_is_waited_for_and_not_before() {
    let all: Vec<u32> = (0..32).map(|lane| 100 + lane).collect();
    assert_eq!(copied("cp.async.wait_all;"), all);
    assert_eq!(copied("cp.async.commit_group; cp.async.wait_group 0;"), all);
    assert_eq!(copied("bar.sync 0;"), [0; 32]);
    assert_eq!(
        copied("cp.async.commit_group; cp.async.wait_group 1;"),
        [0; 32]
    );
    // What is not committed belongs to no group.
    assert_eq!(copied("cp.async.wait_group 0;"), [0; 32]);
}

#[test]
fn the_older_groups_arrive_first() {
    let words: Vec<u32> = (0..32).collect();
    let result = run(
        ".shared .align 16 .b8 tile[64];
         mov.u32 %r1, tile; setp.ne.u32 %p1, %thread, 0; @%p1 bra END;
         cp.async.ca.shared.global [%r1], [%base+16], 4; cp.async.commit_group;
         cp.async.ca.shared.global [%r1+16], [%base+32], 8; cp.async.commit_group;
         cp.async.cg.shared.global.L2::128B [%r1+32], [%base+64], 16; cp.async.commit_group;
         cp.async.wait_group 2;
         ld.shared.b32 %r2, [%r1]; ld.shared.b32 %r3, [%r1+20]; st.global.v2.b32 [%base], {%r2, %r3};
         cp.async.wait_group 1;
         ld.shared.b32 %r2, [%r1+20]; ld.shared.b32 %r3, [%r1+44]; st.global.v2.b32 [%base+8], {%r2, %r3};
         cp.async.wait_group 0;
         ld.shared.b32 %r3, [%r1+44]; st.global.b32 [%base+16], %r3;
         END:",
        32,
        &words,
    );
    assert_eq!(result[..5], [4, 0, 9, 0, 19]);
}

#[test]
fn the_rest_of_a_short_copy_is_zero() {
    let words: Vec<u32> = (1..33).collect();
    let result = run(
        ".shared .align 16 .b8 tile[64];
         mov.u32 %r1, tile; mov.u32 %r2, 6; setp.eq.u32 %p2, %r2, 6;
         st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2}; st.shared.v4.b32 [%r1+16], {%r2, %r2, %r2, %r2};
         st.shared.v4.b32 [%r1+32], {%r2, %r2, %r2, %r2};
         cp.async.cg.shared.global [%r1], [%base], 16, %r2;
         cp.async.cg.shared.global [%r1+16], [%base], 16, 0;
         cp.async.ca.shared.global [%r1+32], [%base], 8, %p2;
         cp.async.wait_all;
         ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1]; st.global.v4.b32 [%base], {%r3, %r4, %r5, %r6};
         ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1+16]; st.global.v4.b32 [%base+16], {%r3, %r4, %r5, %r6};
         ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1+32]; st.global.v4.b32 [%base+32], {%r3, %r4, %r5, %r6};",
        1,
        &words,
    );
    // 6 bytes: a word and the low half of the next.
    assert_eq!(result[..12], [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 6, 6]);
}

#[test]
fn bad_copies_are_faults() {
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    let body = |to: &str, from: &str| {
        module(&format!(
            ".shared .align 16 .b8 tile[64]; mov.u32 %r1, tile;
             cp.async.cg.shared.global [%r1+{to}], [%base+{from}], 16; cp.async.wait_all;"
        ))
    };
    assert!(matches!(
        fault(&body("64", "0"), &config).kind,
        FaultKind::OutOfBounds(_)
    ));
    assert!(matches!(
        fault(&body("0", "256"), &config).kind,
        FaultKind::OutOfBounds(_)
    ));
    assert!(matches!(
        fault(&body("8", "0"), &config).kind,
        FaultKind::Misaligned(_)
    ));
    assert!(matches!(
        fault(&body("0", "8"), &config).kind,
        FaultKind::Misaligned(_)
    ));
    // Nothing is read where nothing is copied.
    let mut data = [0; 4];
    let ignoring = module(
        ".shared .align 16 .b8 tile[64]; mov.u32 %r1, tile; mov.u32 %r2, 0;
         cp.async.cg.shared.global [%r1], [%base+4096], 16, %r2; cp.async.wait_all;",
    );
    launch(&ignoring, &config, &mut data).expect("reads nothing");
}

/// The PTX line of the instruction that each finding of a launch names first.
fn findings(text: &str, threads: u32) -> Vec<String> {
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(4096).expect("room");
    memory.fill(data, 4096, 1).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig {
        instruction_budget: 1 << 18,
        ..LaunchConfig::new([1, 1, 1], [threads, 1, 1])
    };
    let found = Sanitizer::new(&Tool::ALL).launch(&kernel(text), &memory, &config, &args);
    let found = found.unwrap_or_else(|error| panic!("{error}\n{text}"));
    found.iter().map(|finding| finding.to_string()).collect()
}

/// Threads copy to their own word and read their neighbour's, in `rounds` rounds.
fn neighbours(after_wait: &str, after_read: &str) -> String {
    module(&format!(
        ".shared .align 16 .b8 tile[256]; mov.u32 %r2, tile; mad.lo.u32 %r1, %thread, 4, %r2;
         mad.wide.u32 %x1, %thread, 4, %base; xor.b32 %r3, %thread, 33; mad.lo.u32 %r4, %r3, 4, %r2;
         mov.u32 %r5, 0;
         LOOP:
         cp.async.ca.shared.global [%r1], [%x1], 4; cp.async.commit_group; cp.async.wait_group 0;
         {after_wait}
         ld.shared.b32 %r0, [%r4];
         {after_read}
         add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra LOOP;
         {STORE}"
    ))
}

#[test]
fn sanitizers_see_when_a_copy_may_write() {
    assert_eq!(
        findings(&neighbours("bar.sync 0;", "bar.sync 0;"), 64),
        [""; 0]
    );
    let missing = findings(&neighbours("bar.sync 0;", ""), 64);
    assert!(
        missing.iter().any(|text| text.contains("race")),
        "{missing:?}"
    );
    let missing = findings(&neighbours("", "bar.sync 0;"), 64);
    assert!(
        missing.iter().any(|text| text.contains("race")),
        "{missing:?}"
    );
    // The copy is waited for only after the next barrier: it may overwrite what others still read.
    let early = module(
        ".shared .align 16 .b8 tile[256]; mov.u32 %r2, tile; mad.lo.u32 %r1, %thread, 4, %r2;
         mad.wide.u32 %x1, %thread, 4, %base; xor.b32 %r3, %thread, 33; mad.lo.u32 %r4, %r3, 4, %r2;
         st.shared.b32 [%r1], %r2; bar.sync 0;
         cp.async.ca.shared.global [%r1], [%x1], 4; cp.async.commit_group;
         ld.shared.b32 %r0, [%r4]; bar.sync 0; cp.async.wait_group 0;",
    );
    let found = findings(&early, 64);
    assert!(found.iter().any(|text| text.contains("race")), "{found:?}");
}

#[test]
fn counters_see_a_load_and_a_store() {
    let text = neighbours("bar.sync 0;", "bar.sync 0;");
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(4096).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig::new([1, 1, 1], [64, 1, 1]);
    let mut counters = Counters::new();
    kernel(&text)
        .launch_observed(&memory, &config, &args, &mut counters)
        .expect("runs");
    let total = counters.total();
    assert_eq!(
        (total.global_loads.requests, total.global_loads.sectors),
        (6, 24)
    );
    assert_eq!(
        (total.shared_stores.requests, total.shared_stores.wavefronts),
        (6, 6)
    );
}

/// A producer warp and a consumer warp hand words over through one buffer and two mbarriers.
fn handshake(threads: u32, before_read: &str, before_write: &str) -> String {
    module(&format!(
        ".shared .align 16 .b8 tile[128]; .shared .align 8 .b8 full[8]; .shared .align 8 .b8 empty[8];
         mov.u32 %r1, tile; mov.u32 %r2, full; mov.u32 %r3, empty; mov.u32 %r5, %laneid;
         setp.ne.u32 %p1, %thread, 0; @%p1 bra READY;
         mbarrier.init.shared.b64 [%r2], 32; mbarrier.init.shared::cta.b64 [%r3], 32;
         READY: bar.sync 0;
         mad.lo.u32 %r4, %r5, 4, %r1; mov.u32 %r6, 0; mov.u32 %r7, 0;
         setp.ge.u32 %p2, %thread, {threads}; @%p2 bra CONSUMER;
         PRODUCER:
         and.b32 %r8, %r6, 1; xor.b32 %r8, %r8, 1;
         {before_write}
         mad.lo.u32 %r9, %r6, 32, %r5; st.shared.b32 [%r4], %r9;
         mbarrier.arrive.shared.b64 %x5, [%r2];
         add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 4; @%p3 bra PRODUCER;
         bra END;
         CONSUMER:
         and.b32 %r8, %r6, 1;
         {before_read}
         xor.b32 %r10, %r4, 4; ld.shared.b32 %r9, [%r10]; add.u32 %r7, %r7, %r9;
         mbarrier.arrive.shared::cta.b64 _, [%r3];
         add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 4; @%p3 bra CONSUMER;
         mad.wide.u32 %x1, %r5, 4, %base; st.global.b32 [%x1], %r7;
         END:"
    ))
}

const WAIT_FULL: &str =
    "FULL: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r2], %r8; @!%p4 bra FULL;";
const WAIT_EMPTY: &str =
    "EMPTY: mbarrier.test_wait.parity.shared.b64 %p4, [%r3], %r8; @!%p4 bra EMPTY;";

#[test]
fn warps_hand_over_through_mbarriers() {
    let text = handshake(32, WAIT_FULL, WAIT_EMPTY);
    let mut data = [0u32; 32];
    let config = LaunchConfig {
        // Waiting costs next to nothing.
        instruction_budget: 1 << 18,
        ..LaunchConfig::new([1, 1, 1], [64, 1, 1])
    };
    launch(&text, &config, &mut data).expect("runs");
    let expected: Vec<u32> = (0..32u32)
        .map(|lane| (0..4).map(|round| 32 * round + (lane ^ 1)).sum())
        .collect();
    assert_eq!(data.to_vec(), expected);
    assert_eq!(findings(&text, 64), [""; 0]);
}

#[test]
fn a_missing_wait_on_an_mbarrier_is_a_race() {
    for text in [handshake(32, "", WAIT_EMPTY), handshake(32, WAIT_FULL, "")] {
        let found = findings(&text, 64);
        assert!(!found.is_empty(), "{text}");
    }
}

#[test]
fn an_mbarrier_waits_for_attached_copies() {
    let words: Vec<u32> = (0..64).collect();
    for arrive in [
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%r2];",
        "cp.async.mbarrier.arrive.shared::cta.b64 [%r2]; mbarrier.arrive.shared.b64 _, [%r2];",
    ] {
        let body = format!(
            ".shared .align 16 .b8 tile[256]; .shared .align 8 .b8 full[8];
             mov.u32 %r1, tile; mov.u32 %r2, full;
             setp.ne.u32 %p1, %thread, 0; @%p1 bra READY; mbarrier.init.shared.b64 [%r2], 64;
             READY: bar.sync 0;
             mad.lo.u32 %r4, %thread, 4, %r1; mad.wide.u32 %x1, %thread, 4, %base;
             cp.async.ca.shared.global [%r4], [%x1], 4;
             {arrive}
             mov.u32 %r5, 0;
             WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], %r5; @!%p2 bra WAIT;
             xor.b32 %r6, %r4, 252; ld.shared.b32 %r0, [%r6]; {STORE}"
        );
        let expected: Vec<u32> = (0..64).map(|thread| thread ^ 63).collect();
        assert_eq!(run(&body, 64, &words), expected, "{arrive}");
        assert_eq!(findings(&module(&body), 64), [""; 0]);
    }
}

#[test]
fn transactions_complete_a_phase() {
    let body = ".shared .align 8 .b8 bar[8]; mov.u32 %r1, bar;
         setp.ne.u32 %p1, %thread, 0; @%p1 bra END;
         mbarrier.init.shared.b64 [%r1], 2;
         mbarrier.arrive.expect_tx.shared.b64 %x1, [%r1], 48;
         mbarrier.pending_count.b64 %r5, %x1;
         mbarrier.arrive_drop.shared.b64 %x2, [%r1];
         mbarrier.test_wait.shared.b64 %p2, [%r1], %x1; selp.u32 %r2, 1, 0, %p2;
         mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 48;
         mbarrier.test_wait.shared.b64 %p2, [%r1], %x1; selp.u32 %r3, 1, 0, %p2;
         mbarrier.arrive.shared.b64 %x3, [%r1];
         mbarrier.test_wait.shared.b64 %p2, [%r1], %x3; selp.u32 %r4, 1, 0, %p2;
         st.global.v4.b32 [%base], {%r2, %r3, %r4, %r5};
         END:";
    // The second phase waits for one arrival, since one was dropped.
    assert_eq!(run(body, 32, &[9; 4]), [0, 1, 1, 2]);
}

/// A thread may look whether a phase is complete before it does what completes it: the wait has a
/// time limit.
#[test]
fn a_wait_for_an_mbarrier_has_a_time_limit() {
    let body = format!(
        ".shared .align 8 .b8 bar[8]; mov.u32 %r1, bar; mov.u32 %r2, 0;
         mbarrier.init.shared.b64 [%r1], 1;
         mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2; selp.u32 %r3, 2, 5, %p1;
         mbarrier.arrive.shared.b64 _, [%r1];
         mbarrier.try_wait.parity.shared.b64 %p2, [%r1], %r2; selp.u32 %r4, 10, 20, %p2;
         add.u32 %r0, %r3, %r4; {STORE}"
    );
    assert_eq!(run(&body, 1, &[0]), [15]);
    assert_eq!(findings(&module(&body), 1), [""; 0]);
}

/// NVIDIA's own tests destroy two objects that share their memory, one after the other.
#[test]
fn an_mbarrier_may_be_invalidated_twice() {
    let body = format!(
        ".shared .align 8 .b8 bar[8]; mov.u32 %r1, bar; mbarrier.init.shared.b64 [%r1], 1;
         mbarrier.inval.shared.b64 [%r1]; mbarrier.inval.shared.b64 [%r1]; mov.u32 %r0, 7; {STORE}"
    );
    assert_eq!(run(&body, 1, &[0]), [7]);
}

#[test]
fn wrong_use_of_an_mbarrier_is_a_fault() {
    let config = LaunchConfig::new([1, 1, 1], [1, 1, 1]);
    for (body, message) in [
        (
            "mbarrier.arrive.shared.b64 _, [%r1];",
            "there is no mbarrier",
        ),
        ("mbarrier.init.shared.b64 [%r1], 0;", "0 arrivals"),
        ("mbarrier.init.shared.b64 [%r1+4], 1;", "aligned"),
        ("mbarrier.init.shared.b64 [%r1+4096], 1;", "outside"),
        (
            "mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.shared.b64 _, [%r1], 2;",
            "2 arrivals",
        ),
        (
            "mbarrier.init.shared.b64 [%r1], 1; mbarrier.inval.shared.b64 [%r1];
             mbarrier.arrive.shared.b64 _, [%r1];",
            "there is no mbarrier",
        ),
        ("mbarrier.init.b64 [%base], 1;", "in global memory"),
    ] {
        let text = module(&format!(
            ".shared .align 8 .b8 bar[16]; mov.u32 %r1, bar; {body}"
        ));
        let fault = fault(&text, &config);
        assert!(fault.to_string().contains(message), "{fault}");
    }
    let waiting = module(
        ".shared .align 8 .b8 bar[16]; mov.u32 %r1, bar; mbarrier.init.shared.b64 [%r1], 1; mov.u32 %r2, 0;
         WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2; @!%p1 bra WAIT;",
    );
    let fault = fault(&waiting, &config);
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)), "{fault}");
    assert!(fault.to_string().contains("the mbarrier at 0x0"), "{fault}");
}
