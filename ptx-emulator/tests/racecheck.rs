//! Writes of several lanes to one place.

mod common;

use common::{STORE, kernel, module};
use ptx_emulator::sanitize::{Problem, Tool};
use ptx_emulator::{Args, LaunchConfig, Memory, Sanitizer};

/// The problems in a body that one block of two warps runs on 64 words.
fn problems(body: &str) -> Vec<Problem> {
    let memory = Memory::with_capacity(1 << 16);
    let data = memory.alloc(256).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig::new([1, 1, 1], [64, 1, 1]);
    let kernel = kernel(&module(body));
    let found = Sanitizer::new(&[Tool::Racecheck]).launch(&kernel, &memory, &config, &args);
    let found = found.expect("runs");
    found.into_iter().map(|finding| finding.problem).collect()
}

/// Sets `%x1` to the address of the word that a warp has for itself, and `%r0` to the thread's lane.
const WORD_OF_WARP: &str =
    "shr.u32 %r1, %thread, 5; mad.wide.u32 %x1, %r1, 4, %base; and.b32 %r0, %thread, 31;";

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
