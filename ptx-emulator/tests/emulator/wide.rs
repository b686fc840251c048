//! Values of 128 bits, special registers as vectors, and local memory whose size is known when a
//! function runs.

use crate::common::{STORE, fault, module, module_with, run, run_text};
use ptx_emulator::{FaultKind, LaunchConfig};

#[test]
fn registers_of_128_bits_are_moved_loaded_and_stored() {
    let body = "{ .reg .b128 %q<3>; .reg .b128 other;
         ld.global.b128 %q0, [%base]; mov.b128 other, %q0; mov.b128 {%x1, %x2}, other;
         mov.b128 %q2, {%x2, %x1}; st.global.b128 [%base+16], %q2;
         st.relaxed.gpu.global.b128 [%base+32], other; ld.relaxed.gpu.global.b128 %q1, [%base+16];
         st.global.b128 [%base+48], %q1; }";
    let mut data = vec![1, 2, 3, 4];
    data.resize(16, 9);
    let found = run(body, 1, &data);
    assert_eq!(found, [1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4, 1, 2]);
}

#[test]
fn values_of_128_bits_are_exchanged_whole() {
    for (space, setup) in [
        ("global", "mov.u64 %x10, %base;"),
        (
            "shared",
            ".shared .align 16 .b8 s[16]; .reg .b32 %s; mov.u32 %s, s; cvt.u64.u32 %x10, %s;
             ld.global.b128 %q0, [%base]; st.shared.b128 [s], %q0;",
        ),
    ] {
        // Adds 1 to the upper half in each thread, and swaps the result with a pattern.
        let body = format!(
            "{{ .reg .b128 %q<4>; {setup}
             AGAIN: ld.relaxed.cta.{space}.b128 %q0, [%x10];
             mov.b128 {{%x1, %x2}}, %q0; add.u64 %x3, %x2, 1; mov.b128 %q1, {{%x1, %x3}};
             atom.{space}.cas.b128 %q2, [%x10], %q0, %q1;
             mov.b128 {{%x4, %x5}}, %q2; setp.ne.u64 %p1, %x5, %x2; @%p1 bra AGAIN;
             bar.warp.sync -1; setp.ne.u32 %p2, %thread, 0; @%p2 bra DONE;
             mov.b128 %q3, {{%x10, %x10}}; atom.{space}.b128.exch %q2, [%x10], %q3;
             st.global.b128 [%base+16], %q2;
             DONE: }}"
        );
        let mut data = vec![5, 6, 7, 0];
        data.resize(8, 9);
        let found = run(&body, 31, &data);
        assert_eq!(found[4..], [5, 6, 7 + 31, 0], "{space}");
    }
    let text = module("{ .reg .b128 %q; ld.relaxed.gpu.global.b128 %q, [%base+8]; }");
    let found = fault(&text, &LaunchConfig::new([1; 3], [1; 3]));
    assert!(matches!(found.kind, FaultKind::Misaligned(_)), "{found}");
}

#[test]
fn special_registers_are_vectors_of_four() {
    let body = "mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid; mov.u32 %r5, %ntid.w;
         mad.lo.u32 %r0, %r1, 10, %r4; add.u32 %r0, %r0, %r5; add.u32 %r0, %r0, %r2;";
    let found = run(&format!("{body} {STORE}"), 33, &[7; 33]);
    assert_eq!(found, (0..33).map(|thread| 10 * thread).collect::<Vec<_>>());
}

#[test]
fn local_memory_is_taken_and_given_back() {
    // The sum of 1 to n, by an array of n words, in a function that is called twice.
    let function = ".func (.reg .b32 sum) triangle(.reg .b32 n)
        { .reg .b64 %p<4>; .reg .b32 %i; .reg .b32 %v; .reg .pred %q; .reg .b64 %s;
          stacksave.u64 %s;
          cvt.u64.u32 %p0, n; shl.b64 %p0, %p0, 2; alloca.u64 %p1, %p0, 16; mov.u32 %i, 0;
          FILL: add.u32 %i, %i, 1; mad.wide.u32 %p2, %i, 4, %p1; st.local.b32 [%p2+-4], %i;
          setp.lt.u32 %q, %i, n; @%q bra FILL;
          mov.u32 sum, 0; mov.u32 %i, 0;
          SUM: mad.wide.u32 %p2, %i, 4, %p1; ld.local.b32 %v, [%p2]; add.u32 sum, sum, %v;
          add.u32 %i, %i, 1; setp.lt.u32 %q, %i, n; @%q bra SUM;
          stackrestore.u64 %s; ret; }";
    let body = "add.u32 %r1, %thread, 1; call (%r2), triangle, (%r1); call (%r3), triangle, (%r2);
         add.u32 %r0, %r2, %r3;";
    let text = module_with(function, &format!("{body} {STORE}"));
    let found = run_text(&text, 17, &[0; 17]);
    let triangle = |n: u32| n * (n + 1) / 2;
    for (thread, found) in (1..).zip(found) {
        let first = triangle(thread);
        assert_eq!(found, first + triangle(first), "{thread}");
    }
}

#[test]
fn local_memory_ends() {
    // Given back in every round, there is enough; kept, there is not.
    let round = |gives_back: &str| {
        format!(
            "mov.u32 %r1, 0; mov.u64 %x1, 4000;
             AGAIN: stacksave.u64 %x2; alloca.u64 %x3, %x1; st.local.b32 [%x3+3996], %r1;
             {gives_back} add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra AGAIN;
             mov.u32 %r0, %r1; {STORE}"
        )
    };
    assert_eq!(run(&round("stackrestore.u64 %x2;"), 3, &[0; 3]), [9; 3]);
    let found = fault(&module(&round("")), &LaunchConfig::new([1; 3], [3, 1, 1]));
    assert!(matches!(found.kind, FaultKind::StackOverflow), "{found}");
}
