//! Counters on small kernels whose counts can be derived by hand.

use ptx_emulator::counters::{Counters, Counts, PTX_FILE};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Args, InstructionClass, LaunchConfig, Memory, Module, Sanitizer, Space};

/// Bytes of the array that each kernel gets.
const BYTES: u64 = 1 << 16;

/// A kernel of one parameter, the address of an array; `%t` is the thread's index in its block,
/// `%a` the address.
fn kernel(body: &str) -> String {
    format!(
        ".version 7.2\n.target sm_70\n.address_size 64\n\
         .visible .entry k(.param .u64 data) {{\n\
         .shared .align 16 .b8 tile[32768];\n\
         .reg .b32 %t; .reg .b32 %r<9>; .reg .b64 %a; .reg .b64 %d<9>; .reg .b32 %f<9>; .reg .pred %p<4>;\n\
         ld.param.u64 %a, [data]; cvta.to.global.u64 %a, %a;\n\
         mov.u32 %t, %tid.x;\n{body}\nret;\n}}\n"
    )
}

fn count_with(text: &str, grid: u32, threads: u32, workers: usize) -> Counters {
    let module = Module::parse(text).expect("well-formed PTX");
    let kernel = module.kernel("k").expect("a known kernel");
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(BYTES).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let mut config = LaunchConfig::new([grid, 1, 1], [threads, 1, 1]);
    config.workers = Some(workers);
    let mut counters = Counters::new();
    kernel
        .launch_observed(&memory, &config, &args, &mut counters)
        .expect("runs");
    counters
}

/// Counts of one block.
fn count(body: &str, threads: u32) -> Counts {
    count_with(&kernel(body), 1, threads, 1).total()
}

#[test]
fn n_way_bank_conflicts_take_n_wavefronts() {
    for ways in [1, 2, 4, 8, 16, 32] {
        let counts = count(
            &format!(
                "mul.lo.u32 %r1, %t, {}; ld.shared.b32 %f1, [%r1]; st.shared.b32 [%r1], %f1;",
                4 * ways
            ),
            32,
        );
        for shared in [counts.shared_loads, counts.shared_stores] {
            assert_eq!((shared.requests, shared.bytes), (1, 128));
            assert_eq!(shared.wavefronts, ways);
            assert_eq!(shared.ideal_wavefronts, 1);
            assert_eq!(u64::from(shared.worst_conflict), ways);
        }
        assert_eq!(counts.shared().conflict_ratio(), Some(ways as f64));
    }
}

#[test]
fn wide_shared_accesses_are_served_in_parts() {
    for (suffix, registers, words, uniform) in [
        ("v2.b32", "{%f1, %f2}", 2, 1),
        ("v4.b32", "{%f1, %f2, %f3, %f4}", 4, 2),
        ("b64", "%d1", 2, 1),
    ] {
        let counts = count(
            &format!(
                "mul.lo.u32 %r1, %t, {}; ld.shared.{suffix} {registers}, [%r1];",
                4 * words
            ),
            32,
        );
        assert_eq!(counts.shared_loads.wavefronts, words, "{suffix}");
        assert_eq!(counts.shared_loads.ideal_wavefronts, words, "{suffix}");
        // A broadcast to all lanes.
        let counts = count(
            &format!("mov.u32 %r1, 64; ld.shared.{suffix} {registers}, [%r1];"),
            32,
        );
        assert_eq!(counts.shared_loads.wavefronts, uniform, "{suffix}");
        assert_eq!(counts.shared_loads.bytes, 32 * 4 * words, "{suffix}");
    }
}

#[test]
fn sectors_of_global_accesses() {
    // (bytes between lanes, offset, sectors)
    for (step, offset, sectors) in [
        (4, 0, 4),
        (4, 4, 5),
        (0, 0, 1),
        (32, 0, 32),
        (8, 0, 8),
        (128, 4, 32),
    ] {
        let counts = count(
            &format!(
                "mul.wide.u32 %d1, %t, {step}; add.s64 %d1, %a, %d1;\n\
                 ld.global.b32 %f1, [%d1+{offset}]; st.global.b32 [%d1+{offset}], %f1;"
            ),
            32,
        );
        for global in [counts.global_loads, counts.global_stores] {
            assert_eq!((global.requests, global.bytes), (1, 128));
            assert_eq!(global.sectors, sectors, "step {step}, offset {offset}");
            assert_eq!(global.bytes_moved(), 32 * sectors);
        }
    }
    let vectors = count(
        "mul.wide.u32 %d1, %t, 16; add.s64 %d1, %a, %d1; ld.global.v4.b32 {%f1, %f2, %f3, %f4}, [%d1];",
        32,
    );
    assert_eq!(vectors.global_loads.requests, 1);
    assert_eq!(vectors.global_loads.sectors, 16);
    assert_eq!(vectors.global_loads.bytes, 512);
}

#[test]
fn the_sectors_of_a_request_depend_on_where_it_starts() {
    // The same distances between the lanes, eight times, each 4 bytes on.
    let body = "mul.wide.u32 %d1, %t, 4; add.s64 %d1, %a, %d1; mov.u32 %r1, 0;\n\
                loop: ld.global.b32 %f1, [%d1]; add.s64 %d1, %d1, 4; add.s32 %r1, %r1, 1;\n\
                setp.lt.u32 %p1, %r1, 8; @%p1 bra loop;";
    let counters = count_with(&kernel(body), 1, 32, 1);
    let total = counters.total();
    assert_eq!(total.global_loads.requests, 8);
    assert_eq!(total.global_loads.sectors, 4 + 7 * 5);
    let footprint = counters.footprint();
    assert_eq!(
        (footprint.bytes_read, footprint.sectors_read),
        (128 + 28, 5)
    );
    assert_eq!((footprint.bytes_written, footprint.sectors_written), (0, 0));
    assert_eq!((total.branches, total.divergent_branches), (8, 0));
}

/// Copies of which a lane reads fewer bytes than it writes: an odd end of a row.
#[test]
fn copies_of_any_width_are_counted() {
    for size in [4u64, 8, 16] {
        for read in 0..=size + 1 {
            let counts = count(
                &format!(
                    "mul.wide.u32 %d1, %t, 16; add.s64 %d1, %a, %d1; mul.lo.u32 %r1, %t, 16;\n\
                     mov.u32 %r2, {read}; cp.async.ca.shared.global [%r1], [%d1], {size}, %r2;\n\
                     cp.async.wait_all;"
                ),
                32,
            );
            let read = read.min(size);
            let (global, shared) = (counts.global_loads, counts.shared_stores);
            let expected = if read == 0 {
                [0; 3]
            } else {
                [1, 16, 32 * read]
            };
            let found = [global.requests, global.sectors, global.bytes];
            assert_eq!(found, expected, "{read} bytes of {size}");
            assert_eq!(
                (shared.requests, shared.bytes),
                (1, 32 * size),
                "{read} bytes of {size}"
            );
        }
    }
}

/// Nor do sanitizers expect widths that are powers of two.
#[test]
fn copies_of_any_width_are_watched() {
    for size in [4u64, 8, 16] {
        for read in 0..=size + 1 {
            let text = kernel(&format!(
                "mul.wide.u32 %d1, %t, 16; add.s64 %d1, %a, %d1; mul.lo.u32 %r1, %t, 16;\n\
                 mov.u32 %r2, {read}; cp.async.ca.shared.global [%r1], [%d1], {size}, %r2;\n\
                 cp.async.wait_all; ld.shared.b32 %f1, [%r1]; st.global.b32 [%d1], %f1;"
            ));
            let memory = Memory::with_capacity(1 << 20);
            let data = memory.alloc(BYTES).expect("room");
            memory.write(data, &[1; BYTES as usize]).expect("inside");
            let mut args = Args::new();
            args.push_u64(data);
            let kernel = Module::parse(&text)
                .expect("PTX")
                .kernel("k")
                .expect("known");
            let config = LaunchConfig::new([1, 1, 1], [128, 1, 1]);
            let mut sanitizer = Sanitizer::new(&Tool::ALL);
            let found = sanitizer.launch(&kernel, &memory, &config, &args);
            assert_eq!(found.expect("runs"), [], "{read} bytes of {size}");
        }
    }
}

/// The same addresses with another number of bytes are another access.
#[test]
fn copies_of_one_instruction_with_different_widths_are_told_apart() {
    let body = "mul.wide.u32 %d1, %t, 32; add.s64 %d1, %a, %d1; add.s64 %d1, %d1, 16;\n\
                mul.lo.u32 %r1, %t, 16; mov.u32 %r2, 1;\n\
                loop: cp.async.ca.shared.global [%r1], [%d1], 16, %r2; add.u32 %r2, %r2, 5;\n\
                setp.lt.u32 %p1, %r2, 17; @%p1 bra loop; cp.async.wait_all;";
    let counters = count_with(&kernel(body), 1, 32, 1);
    let (loads, footprint) = (counters.total().global_loads, counters.footprint());
    assert_eq!((loads.requests, loads.bytes), (4, 32 * (1 + 6 + 11 + 16)));
    assert_eq!(loads.sectors, 4 * 32);
    assert_eq!(footprint.bytes_read, 32 * 16);
}

/// Observers see an access before it is checked: its addresses may be any.
#[test]
fn addresses_beyond_all_memory_are_an_error_under_observers_too() {
    let module = |access: &str| {
        kernel(&format!(
            "setp.lt.u32 %p1, %t, 16; mov.u64 %d1, {{first}}; mov.u64 %d2, {{second}};\n\
             selp.b64 %d3, %d1, %d2, %p1; mov.u32 %r1, 0; {access}"
        ))
    };
    let loads = module("ld.global.b32 %f1, [%d3];");
    let stores = module("st.global.v4.b32 [%d3], {%r1, %r1, %r1, %r1};");
    let copies = module("cp.async.ca.shared.global [%r1], [%d3], 16, 12; cp.async.wait_all;");
    let atomics = module("red.global.add.u32 [%d3], 1;");
    let edges = [
        0,
        1,
        4,
        1 << 20,
        1 << 63,
        u64::MAX - 15,
        u64::MAX - 3,
        u64::MAX,
    ];
    for text in [loads, stores, copies, atomics] {
        for first in edges {
            for second in edges {
                let text = text
                    .replace("{first}", &first.to_string())
                    .replace("{second}", &second.to_string());
                let module = Module::parse(&text).expect("well-formed PTX");
                let kernel = module.kernel("k").expect("a known kernel");
                let memory = Memory::with_capacity(1 << 20);
                let mut args = Args::new();
                args.push_u64(memory.alloc(BYTES).expect("room"));
                let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
                let mut counters = Counters::new();
                let launch = kernel.launch_observed(&memory, &config, &args, &mut counters);
                assert!(launch.is_err(), "{first:#x} and {second:#x}: {text}");
                counters.total();
                counters.footprint();
                let mut sanitizer = Sanitizer::new(&Tool::ALL);
                let launch = kernel.launch_observed(&memory, &config, &args, &mut sanitizer);
                assert!(launch.is_err(), "{first:#x} and {second:#x}: {text}");
            }
        }
    }
}

#[test]
fn divergence_is_counted_in_lanes() {
    // 8 of 32 lanes take the detour of two instructions; the other instructions run in all lanes.
    let body = "setp.ge.u32 %p1, %t, 8; @%p1 bra past;\n\
                add.u32 %r1, %t, 1; add.u32 %r2, %r1, 1;\n\
                past: add.u32 %r3, %t, 3;";
    let counts = count(body, 32);
    assert_eq!((counts.branches, counts.divergent_branches), (1, 1));
    let full = counts.warp_instructions - 2;
    assert_eq!(counts.active_lanes, 32 * full + 2 * 8);
    let average = counts.active_lanes as f64 / counts.warp_instructions as f64;
    assert_eq!(counts.average_active_lanes(), Some(average));
    // Two warps, the second with 8 threads, all of which jump.
    let counts = count(body, 40);
    assert_eq!((counts.branches, counts.divergent_branches), (2, 1));
    assert_eq!(counts.active_lanes, 40 * full + 2 * 8);
}

#[test]
fn branches_by_index_are_divergent_where_the_targets_differ() {
    let by = |index: &str| {
        let body = format!(
            "targets: .branchtargets A, B, B; {index} brx.idx %r1, targets;\n\
             A: add.u32 %r2, %t, 1; B: add.u32 %r3, %t, 1;"
        );
        let counts = count(&body, 32);
        (counts.branches, counts.divergent_branches)
    };
    assert_eq!(by("rem.u32 %r1, %t, 3;"), (1, 1));
    assert_eq!(by("and.b32 %r1, %t, 1; add.u32 %r1, %r1, 1;"), (1, 0));
}

#[test]
fn predicated_instructions_are_issued_without_effect() {
    let body = "setp.lt.u32 %p1, %t, 8; mov.b32 %f1, 0f3f800000;\n@%p1 fma.rn.f32 %f2, %f1, %f1, %f1;\n\
                @%p1 st.global.b32 [%a], %f1;";
    let counts = count(body, 32);
    assert_eq!(counts.active_lanes, 32 * counts.warp_instructions);
    assert_eq!(counts.thread_instructions, counts.active_lanes - 2 * 24);
    assert_eq!(counts.flops, 2 * 8);
    assert_eq!(
        (counts.global_stores.requests, counts.global_stores.bytes),
        (1, 32)
    );
    // A request in no lane is none.
    let none = count("setp.gt.u32 %p1, %t, 99; @%p1 st.global.b32 [%a], %t;", 32);
    assert_eq!(none.global_stores.requests, 0);
}

#[test]
fn flops_and_classes() {
    let body = "mov.b32 %f1, 0f3f800000; fma.rn.f32 %f2, %f1, %f1, %f1; add.rn.f32 %f2, %f2, %f1;\n\
                neg.f32 %f2, %f2; cvt.f64.f32 %d1, %f2; mul.rn.f64 %d1, %d1, %d1; bar.sync 0;\n\
                ld.shared.b32 %f3, [tile]; atom.shared.add.u32 %r1, [tile], %t;";
    let counters = count_with(&kernel(body), 2, 64, 1);
    let total = counters.total();
    let warps = 4;
    assert_eq!(total.flops, warps * 32 * (2 + 1 + 1));
    assert_eq!(total.barriers, warps);
    assert_eq!(
        (total.shared_atomics.requests, total.shared_atomics.bytes),
        (warps, warps * 128)
    );
    let class = |class, space| {
        let of = counters.by_class();
        let found = of
            .iter()
            .find(|counts| counts.class == class && counts.space == space);
        found.map(|counts| (counts.warp_instructions, counts.thread_instructions))
    };
    let once = Some((warps, 32 * warps));
    assert_eq!(class(InstructionClass::Fma32, None), once);
    assert_eq!(
        class(InstructionClass::Float32, None),
        Some((2 * warps, 64 * warps))
    );
    assert_eq!(class(InstructionClass::Float64, None), once);
    assert_eq!(class(InstructionClass::Conversion, None), once);
    assert_eq!(class(InstructionClass::Load, Some(Space::Shared)), once);
    assert_eq!(class(InstructionClass::Load, Some(Space::Param)), once);
    assert_eq!(class(InstructionClass::Atomic, Some(Space::Shared)), once);
}

#[test]
fn generic_accesses_count_for_the_space_that_they_reach() {
    let body = "mov.u64 %d2, tile; cvta.shared.u64 %d2, %d2;\n\
                ld.b32 %f1, [%d2]; cvta.global.u64 %d3, %a; ld.b32 %f2, [%d3];";
    let counts = count(body, 32);
    assert_eq!(counts.shared_loads.requests, 1);
    assert_eq!(counts.global_loads.requests, 1);
    // Lanes of one instruction in both spaces are a request to each.
    let mixed = "mov.u64 %d1, tile; cvta.shared.u64 %d1, %d1; cvta.global.u64 %d2, %a;\n\
                 setp.lt.u32 %p1, %t, 8; selp.b64 %d3, %d1, %d2, %p1; ld.b32 %f1, [%d3];";
    let counts = count(mixed, 32);
    assert_eq!(
        (counts.shared_loads.requests, counts.shared_loads.bytes),
        (1, 32)
    );
    assert_eq!(
        (counts.global_loads.requests, counts.global_loads.bytes),
        (1, 96)
    );
}

#[test]
fn constant_memory_delivers_one_address_at_a_time() {
    let text = kernel(
        "shl.b32 %r1, %t, 3; and.b32 %r1, %r1, 24; cvt.u64.u32 %d1, %r1; mov.u64 %d2, table;\n\
                       add.s64 %d2, %d2, %d1; ld.const.b32 %f1, [%d2]; ld.const.b32 %f2, [table];",
    );
    let text = text.replace(
        ".visible .entry",
        ".const .align 4 .b8 table[64];\n.visible .entry",
    );
    let constant = count_with(&text, 1, 32, 1).total().constant_loads;
    assert_eq!(
        (constant.requests, constant.addresses, constant.bytes),
        (2, 4 + 1, 256)
    );
}

/// Irregular addresses, divergence, shared memory and many blocks.
const MIXED: &str = "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 77, %t; mul.lo.u32 %r2, %r1, 1103515245;\n\
    shr.u32 %r2, %r2, 18; and.b32 %r2, %r2, 16380; cvt.u64.u32 %d1, %r2; add.s64 %d1, %a, %d1;\n\
    ld.global.b32 %f1, [%d1]; and.b32 %r3, %r2, 12; setp.eq.u32 %p1, %r3, 0; @%p1 bra past;\n\
    st.shared.b32 [%r2], %f1; ld.global.b32 %f2, [%d1+16384];\n\
    past: bar.sync 0; @!%p1 ld.shared.b32 %f2, [%r2]; red.global.add.u32 [%a], 1;";

#[test]
fn counts_do_not_depend_on_the_number_of_workers() {
    let text = kernel(MIXED);
    let one = count_with(&text, 37, 96, 1);
    assert!(one.total().divergent_branches > 37);
    for workers in [2, 3, 8, 64] {
        let several = count_with(&text, 37, 96, workers);
        assert_eq!(several.total(), one.total());
        assert_eq!(several.instructions(), one.instructions());
        assert_eq!(several.footprint(), one.footprint());
        assert_eq!(several.lines(), one.lines());
    }
}

#[test]
fn each_instruction_is_counted_once() {
    let counters = count_with(&kernel(MIXED), 3, 64, 1);
    let mut ids: Vec<_> = counters.instructions().iter().map(|(id, _)| *id).collect();
    ids.dedup();
    assert_eq!(
        ids.len(),
        counters.kernel().expect("counted").instruction_count()
    );
}

#[test]
fn launches_of_one_kernel_add_up_and_another_starts_afresh() {
    let memory = Memory::with_capacity(1 << 20);
    let mut args = Args::new();
    args.push_u64(memory.alloc(BYTES).expect("room"));
    let module = Module::parse(&kernel("ld.global.b32 %f1, [%a];")).expect("well-formed PTX");
    let load = module.kernel("k").expect("a known kernel");
    let module = Module::parse(&kernel("st.global.b32 [%a], %t;")).expect("well-formed PTX");
    let store = module.kernel("k").expect("a known kernel");
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    let mut counters = Counters::new();
    let mut launch = |kernel: &ptx_emulator::Kernel| {
        let launched = kernel.launch_observed(&memory, &config, &args, &mut counters);
        launched.expect("runs");
        let total = counters.total();
        (total.global_loads.requests, total.global_stores.requests)
    };
    assert_eq!(launch(&load), (1, 0));
    assert_eq!(launch(&load), (2, 0));
    assert_eq!(launch(&store), (0, 1));
}

/// A kernel in src/own.rs with code of src/part.rs and lib/math.rs inlined.
fn with_lines(math: &str, part: &str) -> String {
    let body = format!(
        ".loc 1 10 1\nmov.u32 %r1, %t;\n\
         .loc 1 11 5\nadd.u32 %r2, %r1, 1;\n\
         .loc 3 70 9{math}\nadd.u32 %r3, %r2, 1;\nadd.u32 %r3, %r3, 1;\n\
         .loc 2 40 9{part}\nadd.u32 %r4, %r3, 1;\n\
         .loc 1 12 5\nadd.u32 %r5, %r4, 1;\n"
    );
    kernel(&body)
        + ".file 1 \"src/own.rs\"\n.file 2 \"src/part.rs\"\n.file 3 \"lib/math.rs\"\n\
           .section .debug_str { info0: .b8 102, 0 }\n"
}

fn lines(text: &str) -> Vec<(String, u64, Vec<String>)> {
    let counters = count_with(text, 1, 32, 1);
    let at = |place: &ptx_emulator::counters::SourceLine| format!("{}:{}", place.file, place.line);
    let mut lines = counters.lines();
    lines.retain(|line| line.place.file != PTX_FILE);
    let described = lines.iter().map(|line| {
        let inlined = line.inlined.iter().map(|inlined| at(&inlined.place));
        (
            at(&line.place),
            line.counts.warp_instructions,
            inlined.collect(),
        )
    });
    described.collect()
}

#[test]
fn inlined_code_counts_for_the_line_that_calls_it() {
    let found = lines(&with_lines(
        ", function_name info0, inlined_at 1 12 5",
        ", function_name info0, inlined_at 1 11 5",
    ));
    let expected = [
        ("src/own.rs:10", 1, vec![]),
        ("src/own.rs:11", 1, vec![]),
        ("src/own.rs:12", 4, vec!["lib/math.rs:70".to_string()]),
        ("src/part.rs:40", 1, vec![]),
    ];
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.0.as_str(), found.1), (expected.0, expected.1));
        assert_eq!(found.2, expected.2, "{}", found.0);
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn inlined_code_of_an_unknown_caller_counts_for_the_line_before() {
    let found = lines(&with_lines("", ""));
    let line = found
        .iter()
        .find(|line| line.0 == "src/own.rs:11")
        .expect("counted");
    assert_eq!(
        (line.1, line.2.as_slice()),
        (3, ["lib/math.rs:70".to_string()].as_slice())
    );
    assert!(!found.iter().any(|line| line.0 == "lib/math.rs:70"));
}

#[test]
fn code_without_line_directives_counts_for_the_line_of_the_ptx() {
    let counters = count_with(&kernel("add.u32 %r1, %t, 1;"), 1, 32, 1);
    let lines = counters.lines();
    assert!(lines.iter().all(|line| line.place.file == PTX_FILE));
    let sum: u64 = lines.iter().map(|line| line.counts.warp_instructions).sum();
    assert_eq!(sum, counters.total().warp_instructions);
    assert_eq!(lines.len(), 4);
}
