//! Lanes that diverge, reconverge, wait for each other and exit.

use crate::common::{STORE, fault, kernel, launch, module, module_with, run, run_text};
use ptx_emulator::sanitize::{Problem, Tool};
use ptx_emulator::{Args, FaultKind, LaunchConfig, Memory, Sanitizer};

#[test]
fn nested_branches_reconverge() {
    // Each lane adds a different term, and all count the lanes that have reconverged at the end.
    let body = format!(
        "and.b32 %r1, %thread, 1; setp.eq.u32 %p1, %r1, 0;
         and.b32 %r2, %thread, 2; setp.eq.u32 %p2, %r2, 0;
         mov.u32 %r0, 0;
         @%p1 bra EVEN;
         add.u32 %r0, %r0, 1;
         @%p2 bra ODD_LOW;
         add.u32 %r0, %r0, 10;
         bra.uni JOIN_ODD;
         ODD_LOW: add.u32 %r0, %r0, 20;
         JOIN_ODD: add.u32 %r0, %r0, 100;
         bra.uni JOIN;
         EVEN: add.u32 %r0, %r0, 2;
         @!%p2 bra JOIN;
         add.u32 %r0, %r0, 40;
         JOIN: activemask.b32 %r3; popc.b32 %r3, %r3; mad.lo.u32 %r0, %r3, 1000, %r0;
         {STORE}"
    );
    let expected: Vec<u32> = (0..32)
        .map(|lane| {
            32000
                + match lane % 4 {
                    0 => 42,
                    1 => 121,
                    2 => 2,
                    _ => 111,
                }
        })
        .collect();
    assert_eq!(run(&body, 32, &[0; 32]), expected);
}

#[test]
fn loops_with_different_trip_counts() {
    // Lane i runs i times; a nested loop runs i % 3 times in each iteration.
    let body = format!(
        "mov.u32 %r0, 0; mov.u32 %r1, 0; rem.u32 %r5, %thread, 3;
         LOOP: setp.ge.u32 %p1, %r1, %thread; @%p1 bra DONE;
         mov.u32 %r2, 0;
         INNER: setp.ge.u32 %p2, %r2, %r5; @%p2 bra NEXT;
         add.u32 %r0, %r0, 1; add.u32 %r2, %r2, 1; bra.uni INNER;
         NEXT: add.u32 %r0, %r0, 1000; add.u32 %r1, %r1, 1; bra.uni LOOP;
         DONE: activemask.b32 %r3; setp.ne.b32 %p3, %r3, 0xffffffff; @%p3 trap;
         {STORE}"
    );
    let expected: Vec<u32> = (0..32).map(|i| i * 1000 + i * (i % 3)).collect();
    assert_eq!(run(&body, 32, &[0; 32]), expected);
}

#[test]
fn rounds_of_a_loop_that_end_in_several_places() {
    // One lane does extra work before it goes back, another one goes back from the middle: all
    // begin the next iteration together.
    let body = format!(
        "mov.u32 %r0, 0; mov.u32 %r1, 0;
         setp.eq.u32 %p1, %thread, 0; setp.eq.u32 %p2, %thread, 7;
         LOOP: activemask.b32 %r3; setp.ne.b32 %p3, %r3, 0xffffffff; @%p3 trap;
         add.u32 %r1, %r1, 1; setp.gt.u32 %p3, %r1, 5; @%p3 bra DONE;
         add.u32 %r0, %r0, 1;
         @%p2 bra LOOP;
         add.u32 %r0, %r0, 10;
         @!%p1 bra LOOP;
         add.u32 %r0, %r0, 100;
         bra.uni LOOP;
         DONE:
         {STORE}"
    );
    let expected: Vec<u32> = (0..32)
        .map(|lane| match lane {
            0 => 555,
            7 => 5,
            _ => 55,
        })
        .collect();
    assert_eq!(run(&body, 32, &[0; 32]), expected);
}

#[test]
fn a_loop_with_two_entries() {
    // Irreducible: half of the lanes jump into the middle of the loop.
    let body = format!(
        "mov.u32 %r0, 0; mov.u32 %r1, 4; and.b32 %r2, %thread, 1; setp.eq.u32 %p1, %r2, 1;
         @%p1 bra MIDDLE;
         TOP: add.u32 %r0, %r0, 1;
         MIDDLE: add.u32 %r0, %r0, 10;
         sub.u32 %r1, %r1, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra TOP;
         {STORE}"
    );
    let expected: Vec<u32> = (0..32).map(|i| if i % 2 == 1 { 43 } else { 44 }).collect();
    assert_eq!(run(&body, 32, &[0; 32]), expected);
}

#[test]
fn branch_tables() {
    let body = format!(
        "ts: .branchtargets A, B, C;
         rem.u32 %r1, %thread, 3;
         brx.idx %r1, ts;
         A: mov.u32 %r0, 5; bra.uni END;
         B: mov.u32 %r0, 6; bra.uni END;
         C: mov.u32 %r0, 7;
         END: {STORE}"
    );
    let expected: Vec<u32> = (0..32).map(|i| 5 + i % 3).collect();
    assert_eq!(run(&body, 32, &[0; 32]), expected);
}

#[test]
fn threads_that_exit_early_are_not_waited_for() {
    // Whole warps and single lanes exit before the barrier; the rest exchange through shared memory
    // after it.
    let body = format!(
        ".shared .b32 cells[96];
         setp.ge.u32 %p1, %thread, 64; @%p1 exit;
         rem.u32 %r1, %thread, 5; setp.eq.u32 %p2, %r1, 0; @%p2 ret;
         mul.lo.u32 %r2, %thread, 4; mov.u32 %r3, cells; add.u32 %r3, %r3, %r2;
         st.shared.u32 [%r3], %thread;
         bar.sync 0;
         mov.u32 %r4, cells; ld.shared.u32 %r0, [%r4+252];
         add.u32 %r0, %r0, 1;
         {STORE}"
    );
    let result = run(&body, 96, &[7; 96]);
    for (thread, value) in result.into_iter().enumerate() {
        let left = thread >= 64 || thread % 5 == 0;
        assert_eq!(value, if left { 7 } else { 64 }, "thread {thread}");
    }
}

#[test]
fn a_barrier_in_divergent_code_brings_both_sides_together() {
    // Since sm_70, threads may reach a barrier at different instructions.
    let body = format!(
        ".shared .b32 cell;
         setp.lt.u32 %p1, %thread, 16;
         @%p1 bra FIRST;
         bar.sync 0;
         ld.shared.u32 %r0, [cell];
         bra.uni END;
         FIRST: mov.u32 %r1, 77; st.shared.u32 [cell], %r1;
         bar.sync 0;
         mov.u32 %r0, 1;
         END: {STORE}"
    );
    let expected: Vec<u32> = (0..64).map(|i| if i < 16 { 1 } else { 77 }).collect();
    assert_eq!(run(&body, 64, &[0; 64]), expected);
}

#[test]
fn named_barriers_with_thread_counts() {
    // Warp 0 produces and only announces; warp 1 waits for 64 arrivals.
    let body = format!(
        ".shared .b32 cell;
         setp.lt.u32 %p1, %thread, 32;
         @!%p1 bra CONSUMER;
         mov.u32 %r1, 9; st.shared.u32 [cell], %r1;
         bar.arrive 3, 64;
         mov.u32 %r0, 1;
         bra.uni END;
         CONSUMER: bar.sync 3, 64;
         ld.shared.u32 %r0, [cell];
         END: {STORE}"
    );
    let expected: Vec<u32> = (0..64).map(|i| if i < 32 { 1 } else { 9 }).collect();
    assert_eq!(run(&body, 64, &[0; 64]), expected);
}

/// A warp may announce what it did, as all others do, and wait for them later: both count.
#[test]
fn a_warp_arrives_at_a_barrier_and_waits_there() {
    let body = format!(
        ".shared .b32 cells[96];
         mul.lo.u32 %r1, %thread, 4; mov.u32 %r2, cells; add.u32 %r2, %r2, %r1;
         st.shared.u32 [%r2], %thread;
         bar.arrive 3, 128;
         mov.u32 %r0, 1;
         setp.lt.u32 %p1, %thread, 64; @%p1 bra END;
         bar.sync 3, 128;
         ld.shared.u32 %r0, [%r2+-252]; ld.shared.u32 %r3, [%r2+-128]; add.u32 %r0, %r0, %r3;
         END: {STORE}"
    );
    let sum = |thread: u32| 2 * thread - 63 - 32;
    let expected: Vec<u32> = (0..96).map(|i| if i < 64 { 1 } else { sum(i) }).collect();
    assert_eq!(run(&body, 96, &[0; 96]), expected);
}

#[test]
fn reductions_over_a_block() {
    let body = format!(
        "setp.lt.u32 %p1, %thread, 50;
         bar.red.popc.u32 %r1, 0, %p1;
         barrier.cta.red.and.pred %p2, 0, %p1;
         barrier.red.or.pred %p3, 0, !%p1;
         selp.u32 %r2, 1000, 0, %p2; selp.u32 %r3, 2000, 0, %p3;
         add.u32 %r0, %r1, %r2; add.u32 %r0, %r0, %r3;
         {STORE}"
    );
    assert_eq!(run(&body, 96, &[0; 96]), vec![2050; 96]);
}

/// Every lane takes the same lock; the holder is never the one that spins.
const TAKE_LOCK: &str = "
    SPIN: atom.global.cas.b32 %r1, [%base], 0, 1;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra SPIN;
    ld.volatile.global.u32 %r2, [%base+4]; add.u32 %r2, %r2, 1;
    st.volatile.global.u32 [%base+4], %r2;
    atom.global.exch.b32 %r3, [%base], 0;";

#[test]
fn a_spin_lock_within_a_warp_ends() {
    assert_eq!(run(TAKE_LOCK, 4, &[0, 0]), [0, 4]);
}

/// Lanes that have not got a lock let the others run at once.
#[test]
fn a_lock_that_all_threads_take_costs_little() {
    let with_exchange = TAKE_LOCK.replace("cas.b32 %r1, [%base], 0, 1", "exch.b32 %r1, [%base], 1");
    for body in [TAKE_LOCK, &with_exchange] {
        let mut config = LaunchConfig::new([2, 1, 1], [128, 1, 1]);
        config.instruction_budget = 200_000;
        let mut data = [0, 0];
        launch(&module(body), &config, &mut data).expect("ends");
        assert_eq!(data, [0, 256]);
    }
}

#[test]
fn a_warp_waits_for_a_flag_of_another() {
    let body = format!(
        ".shared .b32 flag;
         mov.u32 %r9, 0; st.shared.u32 [flag], %r9; bar.sync 0;
         setp.ge.u32 %p1, %thread, 32; @%p1 bra SET;
         WAIT: ld.volatile.shared.u32 %r1, [flag]; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;
         mov.u32 %r0, %r1; bra.uni END;
         SET: mov.u32 %r0, 3; st.volatile.shared.u32 [flag], %r0;
         END: {STORE}"
    );
    assert_eq!(run(&body, 64, &[0; 64]), vec![3; 64]);
}

/// Warps, and blocks, that wait for a flag by strong loads or by atomics that change nothing let
/// the others run, whatever they wait with.
#[test]
fn waiting_for_a_flag_costs_little() {
    for poll in [
        "ld.acquire.gpu.global.u32 %r1, [%x1];",
        "ld.volatile.global.v2.u32 {%r1, %r5}, [%x1];",
        "ld.relaxed.sys.u32 %r1, [%x1]; ld.relaxed.sys.u32 %r5, [%x1+8];",
        "atom.global.or.b32 %r1, [%x1], 0;",
        "atom.global.add.u32 %r1, [%x1], 0; nanosleep.u32 100;",
    ] {
        // Each block waits for the one behind it, and its last warp has most to do.
        let body = format!(
            "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; mad.wide.u32 %x1, %r2, 16, %base;
             setp.ne.u32 %p1, %thread, 95; @%p1 bra WAIT; mov.u32 %r4, 0;
             WORK: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 1000; @%p2 bra WORK;
             add.u32 %r3, %r3, -1; setp.eq.u32 %p3, %r2, %r3; @%p3 bra SET;
             BEHIND: ld.acquire.gpu.global.u32 %r6, [%x1+16];
             setp.eq.u32 %p4, %r6, 0; @%p4 bra BEHIND;
             SET: add.u32 %r6, %r6, 1; st.release.gpu.global.u32 [%x1], %r6;
             WAIT: {poll} setp.eq.u32 %p5, %r1, 0; @%p5 bra WAIT;"
        );
        let body = body.replace("mov.u32 %r4, 0;", "mov.u32 %r4, 0; mov.u32 %r6, 0;");
        for workers in [1, 2] {
            let mut config = LaunchConfig::new([7, 1, 1], [96, 1, 1]);
            config.workers = Some(workers);
            config.instruction_budget = 100_000;
            let mut data = [0; 28];
            launch(&module(&body), &config, &mut data).unwrap_or_else(|error| {
                panic!("{poll} {workers}: {error}");
            });
            let counts: Vec<u32> = data.iter().copied().step_by(4).collect();
            assert_eq!(counts, [7, 6, 5, 4, 3, 2, 1], "{poll}");
        }
    }
}

#[test]
fn a_barrier_that_is_never_completed_is_a_deadlock() {
    let body =
        "setp.lt.u32 %p1, %thread, 32; @%p1 bra A; bar.sync 1; bra.uni END; A: bar.sync 2; END:";
    let fault = fault(&module(body), &LaunchConfig::new([1, 1, 1], [64, 1, 1]));
    let FaultKind::Deadlock(who) = &fault.kind else {
        panic!("{fault}");
    };
    assert!(who.contains("32 threads wait for barrier 1"), "{who}");
    assert!(who.contains("32 threads wait for barrier 2"), "{who}");
}

#[test]
fn a_shuffle_that_lanes_never_reach_is_a_deadlock() {
    let body = "setp.lt.u32 %p1, %thread, 16; @%p1 bra A;
        bar.sync 0; bra.uni END;
        A: shfl.sync.idx.b32 %r1, %r2, 0, 31, 0xffffffff; END:";
    let fault = fault(&module(body), &LaunchConfig::new([1, 1, 1], [32, 1, 1]));
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)), "{fault}");
}

#[test]
fn an_infinite_loop_uses_up_the_budget() {
    let mut config = LaunchConfig::new([4, 1, 1], [64, 1, 1]);
    config.instruction_budget = 1_000_000;
    let fault = fault(&module("L: bra L;"), &config);
    assert_eq!(fault.kind, FaultKind::Budget(1_000_000));
    let message = fault.to_string();
    assert!(
        message.contains("1000000") && message.contains("instruction_budget"),
        "{message}"
    );
}

#[test]
fn a_launch_without_an_end_says_where_its_threads_are() {
    let body = "setp.lt.u32 %p1, %thread, 32; @%p1 bra L; bar.sync 0; bra.uni END;
        L: add.u32 %r1, %r1, 1;
        bra L;
        END:";
    let mut config = LaunchConfig::new([1, 1, 1], [64, 1, 1]);
    config.instruction_budget = 1_000_000;
    let fault = fault(&module(body), &config);
    let waiting = fault.waiting.as_deref().expect("a description");
    assert!(waiting.contains("warp 0 runs at PTX line"), "{waiting}");
    assert!(
        waiting.contains("32 threads wait for barrier 0"),
        "{waiting}"
    );
    assert!(fault.to_string().contains(waiting), "{fault}");
}

#[test]
fn the_budget_suffices_to_the_instruction() {
    // Parameter load, thread index, ten instructions and `ret`, per warp.
    let text = module("add.u32 %r1, %r1, 1; ".repeat(10).as_str());
    let mut config = LaunchConfig::new([1, 1, 1], [64, 1, 1]);
    config.workers = Some(1);
    config.instruction_budget = 26;
    launch(&text, &config, &mut [0]).expect("enough");
    config.instruction_budget = 25;
    assert!(launch(&text, &config, &mut [0]).is_err());
}

/// Lanes that call one function at different times: the first waits for what the last writes, and
/// all meet in the function, at its barrier and at its exchange of values.
#[test]
fn lanes_meet_in_one_call_that_they_made_at_different_times() {
    let declarations = ".func (.param .b32 out) votes(.param .b32 in) {
             .reg .b32 %a<4>; .reg .pred %q; .local .align 4 .b8 kept[4];
             ld.param.u32 %a1, [in]; st.local.u32 [kept], %a1; bar.warp.sync -1;
             ld.local.u32 %a2, [kept]; and.b32 %a2, %a2, 1; setp.ne.u32 %q, %a2, 0;
             vote.sync.ballot.b32 %a3, %q, -1; add.u32 %a3, %a3, %a1;
             st.param.b32 [out], %a3; ret; }";
    let body = format!(
        ".shared .u32 flag; setp.ne.u32 %p1, %thread, 31; setp.ne.u32 %p2, %thread, 0;
         @%p1 bra OTHERS;
         WAIT: ld.volatile.shared.u32 %r1, [flag]; setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT;
         bra.uni CALL;
         OTHERS: @%p2 bra CALL;
         mov.u32 %r1, 1; st.volatile.shared.u32 [flag], %r1;
         CALL: {{ .param .b32 in; .param .b32 out; st.param.b32 [in], %thread;
           call (out), votes, (in); ld.param.b32 %r0, [out]; }} {STORE}"
    );
    let expected: Vec<u32> = (0..32).map(|lane| 0xaaaa_aaaa + lane).collect();
    let text = module_with(declarations, &body);
    assert_eq!(run_text(&text, 32, &[0; 32]), expected);
}

/// `bar.warp.sync` in both arms of a branch, and in calls from both: one barrier.
#[test]
fn a_warp_barrier_may_stand_at_several_places() {
    let declarations = ".func wait(.param .b32 names) { .reg .b32 %a;
             ld.param.u32 %a, [names]; bar.warp.sync %a; ret; }";
    let call = "{ .param .b32 names; st.param.b32 [names], %r3; call wait, (names); }";
    for (one, other) in [
        ("bar.warp.sync -1;", "bar.warp.sync %r3;"),
        (call, call),
        ("bar.warp.sync -1;", call),
    ] {
        let body = format!(
            ".shared .align 4 .b8 cells[128]; mov.u32 %r1, cells; mov.u32 %r3, -1;
             mad.lo.u32 %r2, %thread, 4, %r1; setp.lt.u32 %p1, %thread, 10;
             @%p1 bra LOW;
             mul.lo.u32 %r4, %thread, 3; st.shared.u32 [%r2], %r4; {one} bra.uni JOIN;
             LOW: mul.lo.u32 %r4, %thread, 3; st.shared.u32 [%r2], %r4; {other}
             JOIN: xor.b32 %r5, %thread, 31; mad.lo.u32 %r5, %r5, 4, %r1;
             ld.shared.u32 %r0, [%r5]; {STORE}"
        );
        let expected: Vec<u32> = (0..32).map(|lane| 3 * (31 - lane)).collect();
        let text = module_with(declarations, &body);
        assert_eq!(run_text(&text, 32, &[0; 32]), expected, "{one} {other}");
        assert_eq!(found(&text), [""; 0], "{one} {other}");
    }
}

/// Operations of both arms of a branch, with other registers and in other frames: one exchange,
/// whose results are those of lanes that have not diverged.
#[test]
fn lanes_exchange_values_from_several_places() {
    let declarations = ".func (.param .b32 out) sum(.param .b32 in) { .reg .b32 %a<3>;
             ld.param.u32 %a1, [in]; redux.sync.add.u32 %a2, %a1, -1;
             st.param.b32 [out], %a2; ret; }";
    let call = |to: &str, from: &str| {
        format!(
            "{{ .param .b32 out; .param .b32 in; st.param.b32 [in], {from};
                call (out), sum, (in); ld.param.b32 {to}, [out]; }}"
        )
    };
    type Expected = fn(usize) -> u32;
    let cases: [(&str, Expected); 13] = [
        ("shfl.sync.bfly.b32 $d|%p4, $a, 31, 31, %r3;", |lane| {
            3 * (31 - lane as u32)
        }),
        ("shfl.sync.idx.b32 $d, $a, %r6, 31, -1;", |lane| {
            3 * ((lane as u32 + 13) % 32)
        }),
        (
            "shfl.sync.up.b32 $d|%p4, $a, 9, 0, %r3; selp.u32 $d, $d, 7, %p4;",
            |lane| match lane {
                0..9 => 7,
                _ => 3 * (lane as u32 - 9),
            },
        ),
        ("vote.sync.ballot.b32 $d, %p5, %r3;", |_| 0x5555_5555),
        (
            "vote.sync.any.pred %p4, %p6, %r3; selp.u32 $d, 1, 2, %p4;",
            |_| 1,
        ),
        (
            "vote.sync.all.pred %p4, %p6, -1; selp.u32 $d, 1, 2, %p4;",
            |_| 2,
        ),
        (
            "vote.sync.uni.pred %p4, %p6, %r3; selp.u32 $d, 1, 2, %p4;",
            |_| 2,
        ),
        ("match.any.sync.b32 $d, %r7, %r3;", |lane| {
            if lane & 1 == 0 {
                0x5555_5555
            } else {
                0xaaaa_aaaa
            }
        }),
        ("match.any.sync.b64 $d, %x9, -1;", |lane| {
            if lane & 1 == 0 {
                0x5555_5555
            } else {
                0xaaaa_aaaa
            }
        }),
        (
            "match.all.sync.b32 $d|%p4, %r7, %r3; selp.u32 $d, 1, $d, %p4;",
            |_| 0,
        ),
        ("redux.sync.max.u32 $d, $a, %r3;", |_| 93),
        (
            "elect.sync $d|%p4, %r3; selp.u32 $d, 50, $d, %p4;",
            |lane| match lane {
                0 => 50,
                _ => 0,
            },
        ),
        ("CALL", |_| 3 * 31 * 16),
    ];
    for (operation, expected) in cases {
        let of_arm = |to: &str, from: &str| match operation {
            "CALL" => call(to, from),
            _ => operation.replace("$d", to).replace("$a", from),
        };
        let (one, other) = (of_arm("%r0", "%r4"), of_arm("%r2", "%r5"));
        let body = format!(
            "mov.u32 %r3, -1; add.u32 %r6, %thread, 13; and.b32 %r7, %thread, 1;
             setp.eq.u32 %p5, %r7, 0; setp.eq.u32 %p6, %thread, 20; cvt.u64.u32 %x9, %r7;
             shl.b64 %x9, %x9, 40; setp.lt.u32 %p1, %thread, 10; @%p1 bra LOW;
             mul.lo.u32 %r4, %thread, 3; {one} bra.uni JOIN;
             LOW: mul.lo.u32 %r5, %thread, 3; mov.u32 %r4, 1000; {other} mov.u32 %r0, %r2;
             JOIN: {STORE}"
        );
        let expected: Vec<u32> = (0..32).map(expected).collect();
        let text = module_with(declarations, &body).replace("sm_80", "sm_90");
        assert_eq!(run_text(&text, 32, &[0; 32]), expected, "{operation}");
        assert_eq!(found(&text), [""; 0], "{operation}");
    }
}

/// What all sanitizers find in a block of one warp.
fn found(text: &str) -> Vec<String> {
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(4 * 32).expect("room");
    memory.write(data, &[0; 4 * 32]).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(data);
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    _ = kernel(text).launch_observed(&memory, &config, &args, &mut sanitizer);
    sanitizer
        .findings()
        .iter()
        .map(|finding| finding.to_string())
        .collect()
}

/// Lanes of one instruction that name other masks than the rest: each mask is one exchange, also
/// while lanes that wait for its result poll memory.
#[test]
fn lanes_of_several_masks_wait_for_their_own() {
    // Lanes 0-15 meet from two places; 16-31 wait at the second one, for what lane 0 writes later.
    let body = format!(
        ".shared .u32 flag; mov.u32 %r3, 0x0000ffff; setp.lt.u32 %p1, %thread, 16;
         @%p1 bra MASKED; mov.u32 %r3, 0xffff0000; MASKED:
         setp.lt.u32 %p2, %thread, 8; setp.gt.u32 %p3, %thread, 23; @%p2 bra FIRST; @%p3 bra POLL;
         SECOND: shfl.sync.bfly.b32 %r0, %thread, 15, 31, %r3; bra.uni JOIN;
         FIRST: shfl.sync.bfly.b32 %r0, %thread, 15, 31, %r3;
         mov.u32 %r4, 1; st.volatile.shared.u32 [flag], %r4; bra.uni JOIN;
         POLL: ld.volatile.shared.u32 %r5, [flag]; setp.ne.u32 %p4, %r5, 1; @%p4 bra POLL;
         bra.uni SECOND;
         JOIN: {STORE}"
    );
    let expected: Vec<u32> = (0..32).map(|lane| lane ^ 15).collect();
    assert_eq!(run(&body, 32, &[0; 32]), expected);
}

/// Operations that differ in what they do, in a modifier or in the mask are no exchange.
#[test]
fn lanes_at_different_operations_do_not_meet() {
    for (one, other) in [
        (
            "shfl.sync.up.b32 %r0, %r1, 1, 0, -1;",
            "shfl.sync.down.b32 %r0, %r1, 1, 31, -1;",
        ),
        (
            "vote.sync.all.pred %p4, %p5, -1;",
            "vote.sync.any.pred %p4, %p5, -1;",
        ),
        (
            "match.any.sync.b32 %r0, %r1, -1;",
            "match.any.sync.b64 %r0, %x1, -1;",
        ),
        (
            "redux.sync.min.s32 %r0, %r1, -1;",
            "redux.sync.min.u32 %r0, %r1, -1;",
        ),
        (
            "bar.warp.sync -1;",
            "shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;",
        ),
        (
            "shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;",
            "shfl.sync.bfly.b32 %r0, %r1, 1, 31, 0xffff;",
        ),
    ] {
        let body = format!(
            "setp.lt.u32 %p1, %thread, 10; @%p1 bra LOW;\n{one} bra.uni JOIN;\nLOW: {other}
             JOIN: {STORE}"
        );
        let fault = fault(&module(&body), &LaunchConfig::new([1, 1, 1], [32, 1, 1]));
        let FaultKind::Deadlock(who) = &fault.kind else {
            panic!("{one} {other}: {fault}");
        };
        for threads in [10, 22] {
            let waiting = format!("{threads} threads wait for the other lanes of its mask at PTX");
            assert!(who.contains(&waiting), "{one} {other}: {who}");
        }
    }
}

/// Lanes that are in calls of different depths end their frames in any order. Frames that no lane
/// is in any more do not count as nested calls, and depths of GPUs' stacks are reached.
#[test]
fn calls_end_in_any_order() {
    // depth(n) calls itself n times, and `twice` between them: n + the sum of all below.
    let functions = "
        .func (.param .b32 result) twice(.param .b32 value) {
            .reg .b32 %v<4>; ld.param.b32 %v1, [value]; shl.b32 %v1, %v1, 1;
            st.param.b32 [result], %v1; ret;
        }
        .func (.param .b32 result) depth(.param .b32 value) {
            .reg .b32 %v<8>; .reg .pred %q<2>;
            ld.param.b32 %v1, [value]; mov.b32 %v2, 0; setp.eq.u32 %q1, %v1, 0; @%q1 bra END;
            { .param .b32 a; .param .b32 b; st.param.b32 [a], %v1; call (b), twice, (a);
              ld.param.b32 %v3, [b]; }
            sub.u32 %v4, %v1, 1;
            { .param .b32 a; .param .b32 b; st.param.b32 [a], %v4; call (b), depth, (a);
              ld.param.b32 %v2, [b]; }
            { .param .b32 a; .param .b32 b; st.param.b32 [a], %v1; call (b), twice, (a);
              ld.param.b32 %v5, [b]; }
            add.u32 %v2, %v2, %v3; add.u32 %v2, %v2, %v5;
            END: st.param.b32 [result], %v2; ret;
        }";
    let body = |scale: u32| {
        format!(
            "mul.lo.u32 %r1, %thread, {scale};
             {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), depth, (a);
               ld.param.b32 %r0, [b]; }} {STORE}"
        )
    };
    for scale in [1, 37] {
        let found = run_text(&module_with(functions, &body(scale)), 32, &[0; 32]);
        for (thread, found) in found.into_iter().enumerate() {
            let n = thread as u32 * scale;
            assert_eq!(found, 2 * n * (n + 1), "{thread} {scale}");
        }
    }
}

/// A lane that polls in a loop comes to the barrier at which the others of its warp wait: it stands
/// before it, though the loop leads from the barrier to there.
#[test]
fn a_lane_on_its_way_to_a_barrier_has_not_gone_on_without_it() {
    let body = |meet: &str, times: u32| {
        format!(
            ".shared .b32 flag; mov.u32 %r1, 0; setp.eq.u32 %p1, %thread, 0;
             @%p1 st.shared.u32 [flag], %r1; bar.sync 0;
             setp.lt.u32 %p2, %thread, 32; setp.eq.u32 %p3, %thread, 40;
             LOOP: add.u32 %r1, %r1, 1;
             @!%p2 bra SET; @!%p1 bra MEET;
             POLL: ld.volatile.shared.u32 %r2, [flag]; setp.lt.u32 %p4, %r2, %r1; @%p4 bra POLL;
             bra.uni MEET;
             SET: @%p3 st.volatile.shared.u32 [flag], %r1;
             MEET: {meet} setp.lt.u32 %p5, %r1, {times}; @%p5 bra LOOP;"
        )
    };
    let findings = |meet: &str, times: u32| {
        let memory = Memory::with_capacity(1 << 16);
        let data = memory.alloc(64).expect("room");
        let mut args = Args::new();
        args.push_u64(data);
        let config = LaunchConfig {
            instruction_budget: 1 << 20,
            ..LaunchConfig::new([1, 1, 1], [64, 1, 1])
        };
        let kernel = kernel(&module(&body(meet, times)));
        let found = Sanitizer::new(&[Tool::Synccheck]).launch(&kernel, &memory, &config, &args);
        let found = found.expect("runs").into_iter();
        found.map(|finding| finding.problem).collect::<Vec<_>>()
    };
    assert_eq!(findings("bar.sync 0;", 3), []);
    let skipped = "@%p1 bra ON; bar.sync 0; ON: st.volatile.global.u32 [%base], %r1;";
    let without = findings(skipped, 1);
    assert!(without.contains(&Problem::DivergentBarrier), "{without:?}");
}
