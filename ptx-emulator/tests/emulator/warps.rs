//! Shuffles, votes, matches and reductions among lanes, and special registers.

use crate::common::{STORE, run};

/// PTX's own description of `shfl.sync`.
fn shuffled(mode: &str, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (clamp, segment) = (c & 31, c >> 8 & 31);
    let most = (lane & segment) | (clamp & !segment);
    let (source, valid) = match mode {
        "up" => (lane.wrapping_sub(b), lane as i32 - b as i32 >= most as i32),
        "down" => (lane + b, lane + b <= most),
        "bfly" => (lane ^ b, lane ^ b <= most),
        _ => {
            let source = (lane & segment) | (b & !segment & 31);
            (source, source <= most)
        }
    };
    (if valid { source } else { lane }, valid)
}

#[test]
fn shuffles() {
    for (mode, b, c) in [
        ("up", 1, 0),
        ("up", 5, 0x1800),
        ("down", 1, 31),
        ("down", 3, 0x1c1f),
        ("bfly", 16, 31),
        ("bfly", 1, 0x1e1f),
        ("idx", 7, 31),
        ("idx", 3, 0x181f),
        ("idx", 31, 15),
    ] {
        let body = format!(
            "mul.lo.u32 %r1, %thread, 3;
             shfl.sync.{mode}.b32 %r2|%p1, %r1, {b}, {c}, 0xffffffff;
             selp.u32 %r3, 1000, 0, %p1; add.u32 %r0, %r2, %r3; {STORE}"
        );
        let expected: Vec<u32> = (0..32)
            .map(|lane| {
                let (source, valid) = shuffled(mode, lane, b, c);
                3 * source + if valid { 1000 } else { 0 }
            })
            .collect();
        assert_eq!(run(&body, 32, &[0; 32]), expected, "{mode} {b} {c:#x}");
    }
}

#[test]
fn a_tree_reduction_by_shuffles() {
    let body = format!(
        "mov.u32 %r0, %thread; mov.u32 %r1, 16;
         L: shfl.sync.bfly.b32 %r2, %r0, %r1, 31, -1; add.u32 %r0, %r0, %r2;
         shr.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L; {STORE}"
    );
    assert_eq!(run(&body, 32, &[0; 32]), vec![496; 32]);
}

#[test]
fn votes() {
    let body = format!(
        "setp.lt.u32 %p1, %thread, 5; setp.lt.u32 %p2, %thread, 40; setp.gt.u32 %p3, %thread, 40;
         vote.sync.ballot.b32 %r0, %p1, 0xffffffff;
         vote.sync.all.pred %p4, %p2, 0xffffffff; selp.u32 %r1, 256, 0, %p4; add.u32 %r0, %r0, %r1;
         vote.sync.any.pred %p5, %p3, 0xffffffff; selp.u32 %r1, 512, 0, %p5; add.u32 %r0, %r0, %r1;
         vote.sync.uni.pred %p6, %p3, 0xffffffff; selp.u32 %r1, 1024, 0, %p6; add.u32 %r0, %r0, %r1;
         vote.sync.any.pred %p7, !%p1, 0xffffffff; selp.u32 %r1, 2048, 0, %p7; add.u32 %r0, %r0, %r1;
         {STORE}"
    );
    assert_eq!(run(&body, 32, &[0; 32]), vec![31 + 256 + 1024 + 2048; 32]);
}

#[test]
fn operations_of_some_lanes() {
    // Lanes 0-7 vote among themselves while the others are elsewhere.
    let body = format!(
        "mov.u32 %r0, 9; setp.ge.u32 %p1, %thread, 8; @%p1 bra END;
         setp.gt.u32 %p2, %thread, 4; vote.sync.ballot.b32 %r0, %p2, 0xff;
         END: {STORE}"
    );
    let mut expected = vec![9; 32];
    expected[..8].fill(0b1110_0000);
    assert_eq!(run(&body, 32, &[0; 32]), expected);
}

#[test]
fn lanes_that_come_separately_meet_at_a_synchronising_operation() {
    // Even lanes take a detour with a barrier of their own.
    let body = format!(
        "and.b32 %r1, %thread, 1; setp.eq.u32 %p1, %r1, 0; @!%p1 bra MEET;
         bar.warp.sync 0x55555555;
         add.u32 %r2, %r2, 1;
         MEET: redux.sync.add.u32 %r0, %thread, 0xffffffff; {STORE}"
    );
    assert_eq!(run(&body, 32, &[0; 32]), vec![496; 32]);
}

#[test]
fn matches_and_reductions() {
    let body = format!(
        "and.b32 %r1, %thread, 3; match.any.sync.b32 %r0, %r1, 0xffffffff;
         mov.u32 %r2, 6; match.all.sync.b32 %r3|%p1, %r2, 0xffffffff;
         match.all.sync.b32 %r4|%p2, %r1, 0xffffffff;
         @%p2 trap; @!%p1 trap; setp.ne.u32 %p3, %r3, 0xffffffff; @%p3 trap; setp.ne.u32 %p3, %r4, 0; @%p3 trap;
         sub.s32 %r5, %thread, 10; redux.sync.min.s32 %r6, %r5, 0xffffffff;
         setp.ne.s32 %p3, %r6, -10; @%p3 trap;
         redux.sync.max.u32 %r6, %r5, 0xffffffff; setp.ne.s32 %p3, %r6, -1; @%p3 trap;
         redux.sync.xor.b32 %r6, %thread, 0xffffffff; setp.ne.s32 %p3, %r6, 0; @%p3 trap;
         elect.sync %r7|%p4, 0xffffffff; setp.ne.u32 %p3, %r7, 0; @%p3 trap;
         setp.eq.u32 %p5, %thread, 0; xor.pred %p6, %p4, %p5; @%p6 trap;
         {STORE}"
    );
    let expected: Vec<u32> = (0..32).map(|lane| 0x1111_1111 << (lane % 4)).collect();
    assert_eq!(run(&body, 32, &[0; 32]), expected);
}

#[test]
fn special_registers() {
    let check = |expression: &str, expected: &dyn Fn(u32) -> u32| {
        let body = format!("{expression} {STORE}");
        let expected: Vec<u32> = (0..70).map(expected).collect();
        assert_eq!(run(&body, 70, &[0; 70]), expected, "{expression}");
    };
    check("mov.u32 %r0, %laneid;", &|thread| thread % 32);
    check("mov.u32 %r0, %warpid;", &|thread| thread / 32);
    check("mov.u32 %r0, %nwarpid;", &|_| 3);
    check("mov.u32 %r0, %ntid.x;", &|_| 70);
    check("mov.u32 %r0, %nctaid.y;", &|_| 1);
    check("mov.u32 %r0, %lanemask_eq;", &|thread| 1 << (thread % 32));
    check("mov.u32 %r0, %lanemask_lt;", &|thread| {
        (1 << (thread % 32)) - 1
    });
    check("mov.u32 %r0, %lanemask_le;", &|thread| {
        u32::MAX >> (31 - thread % 32)
    });
    check("mov.u32 %r0, %lanemask_gt;", &|thread| {
        !(u32::MAX >> (31 - thread % 32))
    });
    check("mov.u32 %r0, %lanemask_ge;", &|thread| {
        u32::MAX << (thread % 32)
    });
    check(
        "mov.u64 %x1, %clock64; mov.u64 %x2, %globaltimer; mov.u64 %x3, %clock64;
         setp.lt.u64 %p1, %x3, %x1; selp.u32 %r0, 1, 0, %p1;",
        &|_| 0,
    );
}
