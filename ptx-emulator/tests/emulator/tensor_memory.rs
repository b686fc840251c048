//! `tcgen05`: tensor memory, moves of registers, copies from shared memory and MMAs.

use crate::common::{fault, kernel, launch, module};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Args, Fault, FaultKind, LaunchConfig, Memory, Sanitizer};

/// Threads of a block: four warps, which reach all lanes of tensor memory.
const THREADS: u32 = 128;

/// A body for a GPU with tensor memory. `%r28` is the address of its columns, and `%r29` the same
/// with the first lane of the warp; `%p7` is true in the first thread, `%p6` in the first warp.
pub fn text(shared: usize, columns: u32, body: &str) -> String {
    text_of_group(1, shared, columns, body)
}

pub fn text_of_group(group: u32, shared: usize, columns: u32, body: &str) -> String {
    module(&format!(
        ".shared .align 1024 .b8 image[{shared}]; .shared .align 8 .b8 barrier[8];
         .shared .align 4 .b8 slot[4];
         setp.eq.u32 %p7, %thread, 0; setp.lt.u32 %p6, %thread, 32;
         @%p7 mbarrier.init.shared.b64 [barrier], 1;
         @!%p6 bra TAKEN;
         tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [slot], {columns};
         tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
         TAKEN: bar.sync 0;
         ld.shared.b32 %r28, [slot];
         shr.u32 %r29, %thread, 5; shl.b32 %r29, %r29, 21; add.u32 %r29, %r28, %r29;
         {body}
         bar.sync 0;
         @!%p6 bra GIVEN;
         tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %r28, {columns};
         GIVEN:"
    ))
    .replace(
        ".version 8.0\n.target sm_80",
        ".version 8.8\n.target sm_100a",
    )
}

/// Copies the first words of the data to shared memory.
pub fn fill(words: usize) -> String {
    format!(
        "mov.u32 %r1, image; mov.u32 %r2, %thread;
         FILL: setp.ge.u32 %p1, %r2, {words}; @%p1 bra FILLED;
         mad.wide.u32 %x1, %r2, 4, %base; ld.global.b32 %r3, [%x1];
         mad.lo.u32 %r4, %r2, 4, %r1; st.shared.b32 [%r4], %r3;
         add.u32 %r2, %r2, {THREADS}; bra FILL;
         FILLED: fence.proxy.async.shared::cta; bar.sync 0;"
    )
}

/// Waits for what the first thread has committed.
pub const WAIT: &str = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [barrier], 0;
                    @!%p1 bra WAIT; tcgen05.fence::after_thread_sync;";

pub const COMMIT: &str = "@%p7 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 \
                      [barrier];";

/// Loads or stores a word in each lane and some columns, from or to the data: 128 words for each.
pub fn columns_of_data(stores: bool, columns: usize, first_word: usize) -> String {
    let mut text = format!("add.u32 %r2, %thread, {first_word}; mad.wide.u32 %x1, %r2, 4, %base;");
    for column in 0..columns {
        let at = 4 * 128 * column;
        text += &match stores {
            true => format!(
                "ld.global.b32 %r3, [%x1+{at}];
                 tcgen05.st.sync.aligned.32x32b.x1.b32 [%r29+{column}], {{%r3}};"
            ),
            false => format!(
                "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r3}}, [%r29+{column}];
                 tcgen05.wait::ld.sync.aligned; st.global.b32 [%x1+{at}], %r3;"
            ),
        };
    }
    if stores {
        text += "tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0; \
                 tcgen05.fence::after_thread_sync;";
    }
    text
}

pub fn config() -> LaunchConfig {
    LaunchConfig {
        instruction_budget: 1 << 22,
        ..LaunchConfig::new([1, 1, 1], [THREADS, 1, 1])
    }
}

pub fn run(text: &str, data: &[u32]) -> Vec<u32> {
    let mut data = data.to_vec();
    launch(text, &config(), &mut data).unwrap_or_else(|error| panic!("{error}\n{text}"));
    data
}

fn fails(shared: usize, columns: u32, body: &str, part: &str) -> Fault {
    let found = fault(&text(shared, columns, body), &config());
    let message = found.to_string();
    assert!(message.contains(part), "{message}");
    assert!(found.line.is_some(), "{message}");
    found
}

/// Row and column of the word that register `at` of a lane holds, from the tables of the PTX ISA.
fn place(shape: &str, at: usize, lane: usize) -> (usize, usize) {
    match shape {
        "32x32b" => (lane, at),
        "16x64b" => (lane / 4 + 8 * (lane % 2), 2 * at + lane / 2 % 2),
        "16x128b" => (lane / 4 + 8 * (at % 2), 4 * (at / 2) + lane % 4),
        "16x256b" => (
            lane / 4 + 8 * (at / 2 % 2),
            8 * (at / 4) + 2 * (lane % 4) + at % 2,
        ),
        _ => (lane % 16, at + 32 * (lane / 16)),
    }
}

#[test]
fn registers_are_moved_by_all_shapes() {
    // Every word of 64 columns has its own value.
    let words: Vec<u32> = (0..64 * 128).map(|at| 0x1357_0000 + at).collect();
    for (shape, each, most) in [
        ("32x32b", 1, 16),
        ("16x64b", 1, 16),
        ("16x128b", 2, 8),
        ("16x256b", 4, 4),
        ("16x32bx2", 1, 16),
    ] {
        for (times, packs, upper) in [
            (1, false, false),
            (4, false, true),
            (most, false, false),
            (2, true, true),
        ] {
            if upper && shape == "32x32b" {
                continue;
            }
            let count = each * times;
            let registers: Vec<String> = (0..count).map(|at| format!("%r{at}")).collect();
            let registers = registers.join(", ");
            let half = if shape == "16x32bx2" { ", 32" } else { "" };
            let pack = if packs { ".pack::16b" } else { "" };
            let lanes = if upper { 16 << 16 } else { 0 };
            let load = format!(
                "tcgen05.ld.sync.aligned.{shape}.x{times}{pack}.b32 {{{registers}}}, \
                 [%r29+{lanes}]{half}; tcgen05.wait::ld.sync.aligned;"
            );
            // And back, one row up or down.
            let store = format!(
                "tcgen05.st.sync.aligned.{shape}.x{times}{unpack}.b32 [%r29+{lanes}]{half}, \
                 {{{registers}}}; tcgen05.wait::st.sync.aligned;",
                unpack = if packs { ".unpack::16b" } else { "" },
            );
            let mut body = columns_of_data(true, 64, 0) + &load;
            body += "mul.lo.u32 %r30, %thread, 64; mad.wide.u32 %x2, %r30, 4, %base;";
            for at in 0..count {
                body += &format!(
                    "st.global.b32 [%x2+{}], %r{at}; add.u32 %r{at}, %r{at}, 0x00010001;",
                    4 * (64 * 128 + at)
                );
            }
            body += &(store + &columns_of_data(false, 64, 2 * 64 * 128));
            let mut data = words.clone();
            data.resize(3 * 64 * 128, 0);
            let data = run(&text(64, 64, &body), &data);
            let mut after = words.clone();
            for thread in 0..THREADS as usize {
                for at in 0..count {
                    let (row, column) = place(shape, at, thread % 32);
                    let row = row + thread / 32 * 32 + if upper { 16 } else { 0 };
                    let word = |column: usize| 128 * column + row;
                    let found = data[64 * 128 + 64 * thread + at];
                    if !packs {
                        let wanted = words[word(column)];
                        assert_eq!(found, wanted, "{shape}.x{times}: thread {thread}, {at}");
                        after[word(column)] = wanted + 0x0001_0001;
                        continue;
                    }
                    // The distance of halves counts columns, and is not doubled.
                    let first = match shape {
                        "16x32bx2" => column - column / 32 * 32 + column % 32 + column / 32 * 32,
                        _ => 2 * column,
                    };
                    let pair = [words[word(first)], words[word(first + 1)]];
                    let wanted = pair[0] & 0xffff | pair[1] << 16;
                    assert_eq!(
                        found, wanted,
                        "{shape}.x{times}{pack}: thread {thread}, {at}"
                    );
                    let stored = wanted + 0x0001_0001;
                    after[word(first)] = stored & 0xffff;
                    after[word(first + 1)] = stored >> 16;
                }
            }
            assert!(data[2 * 64 * 128..] == after, "{shape}.x{times}{pack}");
        }
    }
}

#[test]
fn what_is_wrong_with_tensor_memory_is_a_fault() {
    let load =
        |address: &str| format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r3}}, [{address}];");
    fails(
        64,
        32,
        &load("%r29+32"),
        "column 32 of tensor memory is accessed and not allocated",
    );
    fails(64, 32, &load("%r29+0x10000"), "which begin a move at");
    fails(
        64,
        32,
        &load("%r28+0x200000"),
        "accesses lane 32 of tensor memory",
    );
    fails(64, 32, &load("%r29+600"), "there are 128 and 512");
    fails(
        64,
        96,
        "",
        "96 columns of tensor memory: powers of two from 32 to 512",
    );
    fails(
        64,
        32,
        "@%p6 bra ONE; bra OTHER; ONE:
         tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; OTHER:",
        "after relinquish_alloc_permit",
    );
    let free = |columns: u32| {
        format!(
            "@!%p6 bra OTHER;
             tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r28, {columns}; OTHER: bar.sync 0;"
        )
    };
    fails(
        64,
        64,
        &free(32),
        "32 columns of tensor memory at 0x0 are given back, of 64",
    );
    fails(64, 64, &free(64), "is given back and was not taken");
    let used = format!("{} {}", free(64), load("%r29"));
    fails(
        64,
        64,
        &used,
        "column 0 of tensor memory is accessed and not allocated",
    );
    let divergent = "setp.lt.u32 %p1, %thread, 16; @!%p1 bra PART;
                     tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r29]; PART:";
    let found = fails(64, 32, divergent, "only lanes 0xffff");
    assert!(matches!(found.kind, FaultKind::PartialWarp(_)), "{found}");
    fails(
        64,
        32,
        "add.u32 %r2, %r29, %thread; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r2];",
        "lanes give different operands for tensor memory",
    );
    // What is not given back.
    let leak = text(64, 32, "@%p6 exit;");
    let found = fault(&leak, &config());
    let message = found.to_string();
    assert!(
        message.contains("32 columns of tensor memory are not given back"),
        "{message}"
    );
    assert!(message.contains("tcgen05.alloc"), "{message}");
    // Operations of a pair in a block without one.
    let pair = "mov.u64 %x1, 0x400040000000; @%p7 tcgen05.cp.cta_group::2.4x256b [%r28], %x1;";
    fails(64, 32, pair, "it has no peer");
}

#[test]
fn warps_wait_for_columns() {
    // Both warps take all columns; the second one waits until the first one gives them back.
    let body = "
        .shared .align 4 .b8 slots[16]; mov.u32 %r1, slots; shr.u32 %r2, %thread, 5;
        mad.lo.u32 %r1, %r2, 4, %r1; mov.u32 %r3, 512;
        tcgen05.alloc.cta_group::1.sync.aligned.b32 [%x2], %r3;
        ld.shared.b32 %r4, [%r1];
        tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, %r3;
        mad.wide.u32 %x31, %thread, 4, %base; add.u32 %r4, %r4, 7; st.global.b32 [%x31], %r4;";
    let body = body.replace(
        "mov.u32 %r3, 512;",
        "mov.u32 %r3, 512; cvt.u64.u32 %x2, %r1; cvta.shared.u64 %x2, %x2;",
    );
    let text = module(&body).replace("sm_80", "sm_100a");
    assert_eq!(run(&text, &[0; 128]), [7; 128]);
    // No warp gives them back.
    let body = body.replace(
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, %r3;",
        "",
    );
    let text = module(&body).replace("sm_80", "sm_100a");
    let found = fault(&text, &config());
    assert!(matches!(found.kind, FaultKind::Deadlock(_)), "{found}");
    assert!(
        found
            .to_string()
            .contains("wait for columns of tensor memory"),
        "{found}"
    );
}

/// An MMA of 128 rows and 8 columns of zeros on a D of which each word is 1.
fn mma_of_zeros(behind: &str) -> String {
    let descriptor = 1 << 4 | 1 << 17 | 8 << 24;
    let (of_a, of_b) = (
        128 << 16 | 8 << 32 | 1u64 << 46,
        8 << 16 | 8 << 32 | 1u64 << 46 | 256,
    );
    let body = format!(
        "mov.u32 %r20, image; mad.lo.u32 %r20, %thread, 4, %r20; mov.u32 %r3, 0;
         mov.u32 %r21, 0; CLEAR: st.shared.b32 [%r20], %r3; add.u32 %r20, %r20, 512;
         add.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, 16; @%p1 bra CLEAR;
         fence.proxy.async.shared::cta; bar.sync 0; {}
         mov.u32 %r1, image; mad.lo.u32 %r20, %thread, 4, %r1; cvt.u64.u32 %x9, %r1;
         shr.b64 %x9, %x9, 4; add.s64 %x10, %x9, {of_a}; add.s64 %x11, %x9, {of_b};
         mov.u32 %r10, {descriptor}; setp.eq.u32 %p5, 0, 1;
         @%p7 tcgen05.mma.cta_group::1.kind::f16 [%r28], %x10, %x11, %r10, %p5;
         {COMMIT}
         {behind}",
        columns_of_data(true, 8, 0),
    );
    text(8192, 32, &body)
}

fn findings(text: &str) -> Vec<String> {
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(4 * 2 * 1024).expect("room");
    let ones: Vec<u8> = (0..1024).flat_map(|_| 1u32.to_le_bytes()).collect();
    memory.write(data, &ones).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(data);
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    let found = sanitizer.launch(&kernel(text), &memory, &config(), &args);
    let found = found.unwrap_or_else(|error| panic!("{error}"));
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn without_a_wait_d_is_what_was_there() {
    let load = columns_of_data(false, 8, 1024);
    let mut data = vec![1; 1024];
    data.resize(2048, 9);
    let d = |behind: &str| run(&mma_of_zeros(behind), &data)[1024..].to_vec();
    assert_eq!(d(&format!("{WAIT} {load}")), [0; 1024]);
    assert_eq!(d(&format!("{load} {WAIT}")), [1; 1024]);
}

#[test]
fn operands_may_be_overwritten_after_the_commit_alone() {
    let store = "st.shared.b32 [%r20], %r3;";
    assert_eq!(findings(&mma_of_zeros(&format!("{WAIT} {store}"))), [""; 0]);
    let found = findings(&mma_of_zeros(&format!("{store} {WAIT}")));
    let [finding] = &found[..] else {
        panic!("{found:?}");
    };
    for part in ["racecheck", "st.shared.b32", "tcgen05.mma", "of `image`"] {
        assert!(finding.contains(part), "{part}: {finding}");
    }
    // What the threads have stored must be published to the asynchronous proxy.
    let text = mma_of_zeros(WAIT).replace("fence.proxy.async.shared::cta;", "");
    let found = findings(&text);
    assert!(
        found.iter().any(|finding| finding.starts_with("racecheck")),
        "{found:?}"
    );
}

/// Two stages of a pipeline, each given back by a commit of its own, and one commit for all: each
/// covers what was issued before it.
#[test]
fn commits_cover_what_was_committed_before() {
    let again = |barrier: &str| {
        format!(
            "@%p7 tcgen05.mma.cta_group::1.kind::f16 [%r28], %x10, %x11, %r10, %p5;
             @%p7 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{barrier}];"
        )
    };
    let body = |waits_for: &str| {
        let wait = WAIT.replace("[barrier]", &format!("[{waits_for}]"));
        mma_of_zeros(&format!(
            "{} {wait} st.shared.b32 [%r20], %r3;",
            again("last")
        ))
    };
    let with_last = |text: String| {
        text.replace(
            ".shared .align 8 .b8 barrier[8];",
            ".shared .align 8 .b8 barrier[8]; .shared .align 8 .b8 last[8];",
        )
        .replace(
            "@%p7 mbarrier.init.shared.b64 [barrier], 1;",
            "@%p7 mbarrier.init.shared.b64 [barrier], 1; @%p7 mbarrier.init.shared.b64 [last], 1;",
        )
    };
    assert_eq!(findings(&with_last(body("last"))), [""; 0]);
    let found = findings(&with_last(body("barrier")));
    assert!(
        found.iter().any(|finding| finding.contains("tcgen05.mma")),
        "{found:?}"
    );
}

#[test]
fn words_of_an_mma_that_is_not_complete_are_a_race() {
    let load = columns_of_data(false, 8, 1024);
    assert_eq!(findings(&mma_of_zeros(&format!("{WAIT} {load}"))), [""; 0]);
    let found = findings(&mma_of_zeros(&format!("{load} {WAIT}")));
    // One for each load of a column.
    let [finding, ..] = &found[..] else {
        panic!("nothing is found");
    };
    assert_eq!(found.len(), 8, "{found:?}");
    for part in [
        "racecheck: kernel `test`: race between threads of a block",
        "words of tensor memory: the operation is not complete",
        "tcgen05.mma",
        "tcgen05.ld",
    ] {
        assert!(finding.contains(part), "{part}: {finding}");
    }
    // Columns beside D.
    let beside = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r29+8];";
    assert_eq!(
        findings(&mma_of_zeros(&format!("{beside} {WAIT}"))),
        [""; 0]
    );
}

/// CUTLASS and ThunderKittens use registers of a load without a wait: GPUs wait for them.
#[test]
fn registers_of_a_load_may_be_used_without_a_wait() {
    let fill = columns_of_data(true, 2, 0);
    let body = format!(
        "{fill} mad.wide.u32 %x1, %thread, 4, %base;
         tcgen05.ld.sync.aligned.32x32b.x2.b32 {{%r3, %r4}}, [%r29];
         add.u32 %r5, %r3, %r4; st.global.b32 [%x1], %r5;"
    );
    assert_eq!(findings(&text(128, 32, &body)), [""; 0]);
}

#[test]
fn moves_are_complete_after_a_wait() {
    let (loads, stores) = (
        "tcgen05.wait::ld.sync.aligned;",
        "tcgen05.wait::st.sync.aligned;",
    );
    let load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r29];";
    let store = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r29], {%r4};";
    let beside = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r29+1], {%r4};";
    let fill = columns_of_data(true, 2, 0);
    let of = |moves: &[&str]| {
        let moves = moves.concat();
        findings(&text(
            128,
            32,
            &format!("{fill} mov.u32 %r4, 7; {moves} {loads} {stores}"),
        ))
    };
    assert_eq!(of(&[load, loads, store, stores, load]), [""; 0]);
    assert_eq!(of(&[load, beside, load]), [""; 0]);
    for (moves, first, second) in [
        ([load, stores, store], "tcgen05.ld", "tcgen05.st"),
        ([store, loads, load], "tcgen05.st", "tcgen05.ld"),
        ([store, loads, store], "tcgen05.st", "tcgen05.st"),
    ] {
        let found = of(&moves);
        let [finding] = &found[..] else {
            panic!("{found:?}");
        };
        let detail = "words of tensor memory: the operation is not complete";
        for part in [detail, first, second] {
            assert!(finding.contains(part), "{part}: {finding}");
        }
    }
}

/// D must be whole before an MMA adds to it, and be read before one overwrites it.
#[test]
fn mmas_come_after_the_waits_of_moves() {
    let text = mma_of_zeros(WAIT);
    assert_eq!(findings(&text), [""; 0]);
    let found = findings(&text.replace("tcgen05.wait::st.sync.aligned;", ""));
    assert!(
        found
            .iter()
            .any(|finding| finding.contains("tcgen05.mma") && finding.contains("tcgen05.st")),
        "{found:?}"
    );
}

#[test]
fn loads_reduce_the_columns_of_a_lane() {
    let values: Vec<u32> = (0..4 * 128u32)
        .map(|at| at.wrapping_mul(2_654_435_761) >> 1)
        .collect();
    let mut data = values.clone();
    data.resize(8 * 128, 0);
    let of = |operation: &str| {
        let fill = columns_of_data(true, 4, 0);
        let body = format!(
            "{fill} tcgen05.ld.red.sync.aligned.32x32b.x4.{operation} {{%r3, %r4, %r5, %r6}}, %r7, \
             [%r29]; tcgen05.wait::ld.sync.aligned; mad.wide.u32 %x1, %thread, 4, %base;
             st.global.b32 [%x1+2048], %r7;"
        );
        run(&text(128, 32, &body), &data)[512..640].to_vec()
    };
    let columns = |lane: usize| (0..4).map(move |column| 128 * column + lane);
    let expected = |of: &dyn Fn(Vec<u32>) -> u32| -> Vec<u32> {
        let words = |lane| columns(lane).map(|at| values[at]).collect();
        (0..128).map(|lane| of(words(lane))).collect()
    };
    assert_eq!(
        of("max.u32"),
        expected(&|all| *all.iter().max().expect("4"))
    );
    assert_eq!(
        of("min.s32"),
        expected(&|all| { *all.iter().min_by_key(|word| **word as i32).expect("4") })
    );
    assert_eq!(
        of("max.abs.f32"),
        expected(&|all| {
            let magnitudes = all.iter().map(|word| f32::from_bits(word & !(1 << 31)));
            magnitudes.fold(0.0, f32::max).to_bits()
        })
    );
}

/// The first quarter of the lanes stands for that of the warp, as DeepGEMM has it.
#[test]
fn addresses_without_a_quarter_are_those_of_the_warp() {
    let mut data: Vec<u32> = (0..256).collect();
    data.resize(512, 0);
    let load = columns_of_data(false, 2, 256).replace("[%r29", "[%r28");
    let fill = columns_of_data(true, 2, 0);
    let found = run(&text(64, 32, &format!("{fill} {load}")), &data);
    assert_eq!(found[256..], data[..256]);
}
