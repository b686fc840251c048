//! Launches that are refused, faults that name their position, and launches on several workers.

use crate::common::{fault, kernel, launch, module, module_with};
use ptx_emulator::{
    AccessKind, Args, Counters, FaultKind, InstructionClass, KernelError, LaunchConfig,
    LaunchError, Memory, Module, Space,
};

fn config(grid: u32, block: u32) -> LaunchConfig {
    LaunchConfig::new([grid, 1, 1], [block, 1, 1])
}

#[test]
fn bad_launches_are_refused_in_one_line() {
    let refuse = |text: &str, config: LaunchConfig, expected: &str| {
        let error = launch(text, &config, &mut [0; 4]).expect_err(expected);
        let message = error.to_string();
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains('\n'), "{message}");
    };
    let empty = module("");
    refuse(&empty, config(0, 1), "zero extent");
    refuse(&empty, config(1, 1025), "1025 threads exceeds the 1024");
    refuse(
        &empty,
        LaunchConfig::new([1, 65536, 1], [1, 1, 1]),
        "exceeds the limit",
    );
    refuse(
        &empty,
        LaunchConfig::new([1, 1, 1], [u32::MAX; 3]),
        "exceeds the 1024",
    );
    let bounded = empty.replace("(.param .u64 data)", "(.param .u64 data) .maxntid 8, 8");
    refuse(
        &bounded,
        config(1, 65),
        "65 threads exceeds the 64 that the kernel states",
    );
    let fixed = empty.replace("(.param .u64 data)", "(.param .u64 data) .reqntid 32");
    refuse(&fixed, config(1, 16), "needs blocks of [32, 1, 1]");
    let mut large = config(1, 1);
    large.dynamic_shared_bytes = 227 * 1024;
    let shared = module(".shared .b8 cells[4];");
    refuse(&shared, large, "(4 static) exceed the 232448");
}

#[test]
fn arguments_are_checked() {
    let kernel = kernel(&module(""));
    assert_eq!(kernel.params()[0].bytes, 8);
    let memory = Memory::with_capacity(0);
    let launch = |args: &Args| {
        let error = kernel
            .launch(&memory, &config(1, 1), args)
            .expect_err("wrong");
        error.to_string()
    };
    assert_eq!(
        launch(&Args::new()),
        "kernel `test` takes 1 arguments, not 0"
    );
    assert_eq!(
        launch(Args::new().push_f32(1.0)),
        "argument 0 of kernel `test` must have 8 bytes, not 4"
    );
}

#[test]
fn unknown_instructions_are_found_when_the_kernel_is_taken() {
    let text = format!(
        "{}\n.visible .entry other() {{ ret; }}",
        module("\nfrobnicate.rn.f32 %r0, %r1;")
    );
    let parsed = Module::parse(&text).expect("well formed");
    let error = parsed.kernel("test").expect_err("unknown instruction");
    let line = text
        .lines()
        .position(|line| line.contains("frobnicate"))
        .expect("there")
        + 1;
    assert_eq!(
        error.to_string(),
        format!("kernel `test`, line {line}:1: unknown instruction `frobnicate.rn.f32`")
    );
    assert!(parsed.kernel("other").is_ok());
    let error = parsed.kernel("third").expect_err("no such kernel");
    assert_eq!(
        error.to_string(),
        "the module has no kernel `third`; it has: test, other"
    );
}

#[test]
fn wrong_operands_are_named() {
    let message = |body: &str| match Module::parse(&module(body)).expect("parses").kernel("test") {
        Err(KernelError::Instruction { message, .. }) => message,
        Err(KernelError::Unsupported { opcode, .. }) => format!("unknown instruction `{opcode}`"),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        message("add.u32 %r0, %x1, %r2;"),
        "`%x1` is not as wide as the instruction's type (32 bits)"
    );
    assert_eq!(
        message("mov.u32 %r0, %nobody;"),
        "`%nobody` is not declared"
    );
    assert_eq!(
        message("ld.param.u32 %r0, [data+8];"),
        "this offset lies outside the parameter"
    );
    assert_eq!(message("bra NOWHERE;"), "`NOWHERE` is not declared");
    assert_eq!(message("add.u32 %r0, %r1;"), "expected three operands");
    assert_eq!(message("add.u32 %r0, %r1, %r99;"), "`%r99` is not declared");
    assert_eq!(
        message("add.rn.bogus.f32 %r0, %r1, %r2;"),
        "unknown instruction `add.rn.bogus.f32`"
    );
    assert_eq!(
        message("ld.global.u64 %r0, [%base];"),
        "the destination is narrower than the loaded value"
    );
    assert_eq!(
        message("mma.sync.aligned.m8n8k4.row.col.f64 %x0, %x1, %x2, %x3;"),
        "unknown instruction `mma.sync.aligned.m8n8k4.row.col.f64`"
    );
}

#[test]
fn accesses_out_of_bounds_name_everything() {
    let text = module(
        "\n.loc 1 12 5\nmad.wide.u32 %x1, %thread, 4, %base;\nst.global.u32 [%x1+196], %thread;",
    ) + "\n.file 1 \"kernels/edge.rs\"\n";
    let fault = fault(&text, &LaunchConfig::new([2, 1, 1], [16, 2, 1]));
    let FaultKind::OutOfBounds(access) = &fault.kind else {
        panic!("{fault}");
    };
    // The data are 256 bytes; thread 15 stores at byte 256.
    assert_eq!(
        (access.access, access.space, access.bytes),
        (AccessKind::Store, Space::Global, 4)
    );
    assert!(access.nearest.contains("256 bytes"), "{}", access.nearest);
    assert!(
        access.nearest.contains("at byte 256 of it"),
        "{}",
        access.nearest
    );
    assert_eq!(fault.thread, Some([15, 0, 0]));
    assert_eq!(fault.block, [0, 0, 0]);
    assert_eq!(
        fault.instruction.as_deref(),
        Some("st.global.u32 [%x1+196], %thread")
    );
    let location = fault.location.as_ref().expect("a line");
    assert_eq!(location.to_string(), "kernels/edge.rs:12:5");
    let line = text
        .lines()
        .position(|line| line.starts_with("st.global"))
        .expect("there")
        + 1;
    assert_eq!(fault.line, Some(line as u32));
    assert!(!fault.to_string().contains('\n'));
}

#[test]
fn every_space_is_checked() {
    let kinds = |body: &str| fault(&module(body), &config(1, 1)).kind;
    let access = |kind: FaultKind| match kind {
        FaultKind::OutOfBounds(access) => (access.space, access.access),
        FaultKind::NullPointer(access) => (access.space, access.access),
        other => panic!("{other}"),
    };
    assert_eq!(
        access(kinds("ld.global.u32 %r0, [0];")),
        (Space::Global, AccessKind::Load)
    );
    assert_eq!(
        access(kinds("ld.u32 %r0, [%base+256];")),
        (Space::Global, AccessKind::Load)
    );
    assert_eq!(
        access(kinds("ld.global.u32 %r0, [%base+-4];")),
        (Space::Global, AccessKind::Load)
    );
    assert_eq!(
        access(kinds(
            ".shared .b32 cells[4]; st.shared.u32 [cells+16], %r0;"
        )),
        (Space::Shared, AccessKind::Store)
    );
    assert_eq!(
        access(kinds(".local .b32 cells[4]; ld.local.u32 %r0, [cells+16];")),
        (Space::Local, AccessKind::Load)
    );
    assert_eq!(
        access(kinds("atom.shared.add.u32 %r0, [64], 1;")),
        (Space::Shared, AccessKind::Atomic)
    );
    assert_eq!(
        access(kinds("mov.u64 %x1, data; ld.param.u32 %r0, [%x1+8];")),
        (Space::Param, AccessKind::Load)
    );
    for body in [
        "ld.global.u32 %r0, [%base+2];",
        "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%base+8];",
        ".shared .align 16 .b8 cells[16]; st.shared.u64 [cells+4], %x0;",
    ] {
        assert!(matches!(kinds(body), FaultKind::Misaligned(_)), "{body}");
    }
    let text = module_with(
        ".const .b32 fixed = 1;",
        "mov.u64 %x1, fixed; cvta.const.u64 %x1, %x1; st.u32 [%x1], %r0;",
    );
    assert!(matches!(
        fault(&text, &config(1, 1)).kind,
        FaultKind::ReadOnly(_)
    ));
}

#[test]
fn memory_that_was_freed_is_not_accessed() {
    let kernel = kernel(&module("ld.global.u32 %r0, [%base];"));
    let memory = Memory::with_capacity(1 << 12);
    let data = memory.alloc(4).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    kernel.launch(&memory, &config(1, 1), &args).expect("runs");
    memory.free(data).expect("allocated");
    let error = kernel
        .launch(&memory, &config(1, 1), &args)
        .expect_err("freed");
    assert!(error.to_string().contains("use after free"), "{error}");
}

#[test]
fn other_faults() {
    let kind = |text: &str| fault(text, &config(1, 32)).kind;
    assert_eq!(kind(&module("trap;")), FaultKind::Trap);
    assert_eq!(
        kind(&module_with(".extern .func helper();", "call helper;")),
        FaultKind::ExternalCall("helper".to_string())
    );
    let recursion = ".func forever() { call forever; ret; }";
    assert_eq!(
        kind(&module_with(recursion, "call forever;")),
        FaultKind::StackOverflow
    );
    assert_eq!(
        kind(&module(
            "mov.u64 %x1, 64; p: .callprototype () _ (); call %x1, p;"
        )),
        FaultKind::BadCall(64)
    );
    assert_eq!(
        kind(&module(
            "t: .branchtargets A; mov.u32 %r1, 5; brx.idx %r1, t; A:"
        )),
        FaultKind::BadBranchIndex(5)
    );
    for body in ["bar.sync 16;", "bar.sync 0, 33;"] {
        assert!(
            matches!(kind(&module(body)), FaultKind::BadBarrier(_)),
            "{body}"
        );
    }
}

#[test]
fn the_first_faulting_block_is_reported_on_any_number_of_workers() {
    let text = module("mov.u32 %r1, %ctaid.x; setp.ge.u32 %p1, %r1, 37; @%p1 trap;");
    for workers in [1, 2, 4] {
        let mut config = config(200, 32);
        config.workers = Some(workers);
        assert_eq!(fault(&text, &config).block, [37, 0, 0]);
    }
}

#[test]
fn several_workers_give_the_same_bits_and_counts() {
    let text = module(
        "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 64, %thread; mul.wide.u32 %x1, %r2, 4; add.u64 %x1, %x1, %base;
         ld.global.f32 %r3, [%x1]; mov.u32 %r4, 0; and.b32 %r5, %r2, 15;
         L: fma.rn.f32 %r3, %r3, %r3, 0f3F000000; rcp.approx.f32 %r3, %r3; add.u32 %r4, %r4, 1;
         setp.le.u32 %p1, %r4, %r5; @%p1 bra L; st.global.f32 [%x1], %r3;",
    );
    let kernel = kernel(&text);
    let mut results = Vec::new();
    for workers in [1, 2, 3, 7] {
        let memory = Memory::with_capacity(1 << 20);
        let bytes: Vec<u8> = (0..64 * 40u32)
            .flat_map(|index| (index as f32 * 0.37).to_le_bytes())
            .collect();
        let data = memory.alloc(bytes.len() as u64).expect("room");
        memory.write(data, &bytes).expect("in bounds");
        let mut args = Args::new();
        args.push_u64(data);
        let mut config = config(40, 64);
        config.workers = Some(workers);
        let mut counts = Counters::new();
        let report = kernel
            .launch_observed(&memory, &config, &args, &mut counts)
            .expect("runs");
        assert_eq!(report.workers, workers);
        assert_eq!(report.warp_instructions, counts.total().warp_instructions);
        let mut back = vec![0; bytes.len()];
        memory.read(data, &mut back).expect("in bounds");
        assert_ne!(back, bytes);
        results.push((back, counts.by_class(), report.warp_instructions));
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn counts_of_instructions_and_bytes() {
    // Half of the lanes run the predicated addition; the branch parts 8 from 24 lanes.
    let text = module(
        "setp.lt.u32 %p1, %thread, 16; setp.lt.u32 %p2, %thread, 8;
         @%p1 add.u32 %r1, %r1, 1;
         @%p2 bra SHORT;
         ld.global.v2.f32 {%r2, %r3}, [%base];
         SHORT: fma.rn.f32 %r4, %r2, %r3, %r3;",
    );
    let kernel = kernel(&text);
    let memory = Memory::with_capacity(1 << 12);
    let data = memory.alloc(8).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let mut counts = Counters::new();
    kernel
        .launch_observed(&memory, &config(1, 32), &args, &mut counts)
        .expect("runs");
    let class = |wanted| {
        let of_class = counts.by_class().into_iter();
        of_class
            .filter(|entry| entry.class == wanted)
            .fold((0, 0), |(warps, threads), entry| {
                (
                    warps + entry.warp_instructions,
                    threads + entry.thread_instructions,
                )
            })
    };
    assert_eq!(class(InstructionClass::Integer), (1, 16));
    assert_eq!(class(InstructionClass::Compare), (2, 64));
    // The kernel's parameter and the vector.
    assert_eq!(class(InstructionClass::Load), (2, 32 + 24));
    assert_eq!(class(InstructionClass::Fma32), (1, 32));
    assert_eq!(class(InstructionClass::Control), (2, 64));
    assert_eq!(counts.total().global_loads.bytes, 24 * 8);
    assert_eq!(counts.total().shared_loads.bytes, 0);
}

#[test]
fn kernels_are_shared_between_threads() {
    let kernel = kernel(&module("atom.global.add.u32 %r0, [%base], 1;"));
    let memory = Memory::with_capacity(1 << 12);
    let data = memory.alloc(4).expect("room");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut args = Args::new();
                args.push_u64(data);
                kernel.launch(&memory, &config(2, 32), &args).expect("runs");
            });
        }
    });
    let mut sum = [0; 4];
    memory.read(data, &mut sum).expect("in bounds");
    assert_eq!(u32::from_le_bytes(sum), 3 * 64);
    assert!(matches!(
        kernel.launch(&memory, &config(1, 1), &Args::new()),
        Err(LaunchError::ArgumentCount { .. })
    ));
}

/// Blocks that wait for each other in an ordinary launch: on one worker none may run to its end
/// before the others begin. Programs that make a barrier of the grid themselves do so.
#[test]
fn blocks_may_wait_for_later_blocks() {
    let barrier = "atom.global.add.u32 %r2, [%base], 1;
         WAIT: ld.volatile.global.u32 %r2, [%base]; setp.lt.u32 %p1, %r2, %r1; @%p1 bra WAIT;";
    // Each block waits for the word that the next one writes.
    let chain = "mov.u32 %r3, %ctaid.x; mad.wide.u32 %x1, %r3, 4, %base; add.u32 %r3, %r3, 1;
         setp.eq.u32 %p1, %r3, %r1; @%p1 bra LAST;
         WAIT: atom.global.add.u32 %r2, [%x1+4], 0; setp.eq.u32 %p1, %r2, 0; @%p1 bra WAIT;
         LAST: atom.global.exch.b32 %r2, [%x1], %r3;";
    for (body, expected) in [(barrier, [9, 0, 0]), (chain, [1, 2, 3])] {
        for workers in [1, 2] {
            let text = module(&format!("mov.u32 %r1, %nctaid.x; {body}"));
            let mut config = config(9, 1);
            config.workers = Some(workers);
            config.instruction_budget = 1 << 28;
            let mut data = [0; 10];
            launch(&text, &config, &mut data).expect("runs");
            assert_eq!(data[..3], expected, "{workers} workers");
        }
    }
}

/// A block that was put aside keeps its registers, shared memory, barriers and what it printed.
#[test]
fn a_block_that_waits_keeps_its_state() {
    let declarations = ".extern .func (.param .b32 result) vprintf (
             .param .b64 format, .param .b64 arguments);
         .global .align 1 .b8 text[4] = {37, 117, 32, 0};";
    let body = ".shared .align 4 .b8 own[256]; .local .align 8 .b8 list[8];
         mov.u32 %r1, %ctaid.x; mov.u32 %r2, own; mad.lo.u32 %r3, %thread, 4, %r2;
         mad.lo.u32 %r4, %r1, 100, %thread; st.shared.u32 [%r3], %r4;
         setp.ne.u32 %p1, %thread, 0; @%p1 bra JOIN;
         atom.global.add.u32 %r5, [%base], 1;
         WAIT: ld.volatile.global.u32 %r5, [%base]; setp.lt.u32 %p2, %r5, 5; @%p2 bra WAIT;
         st.local.u32 [list], %r1;
         { .reg .b64 %a; .param .b64 format; .param .b64 values; .param .b32 count;
           mov.u64 %a, text; cvta.global.u64 %a, %a; st.param.b64 [format], %a;
           mov.u64 %a, list; cvta.local.u64 %a, %a; st.param.b64 [values], %a;
           call.uni (count), vprintf, (format, values); }
         JOIN: bar.sync 0; xor.b32 %r6, %thread, 33; mad.lo.u32 %r6, %r6, 4, %r2;
         ld.shared.u32 %r7, [%r6]; xor.b32 %r8, %thread, 33; mad.lo.u32 %r8, %r1, 100, %r8;
         setp.ne.u32 %p1, %r7, %r8; @%p1 trap;";
    let kernel = kernel(&module_with(declarations, body));
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(4).expect("room");
    memory.fill(data, 4, 0).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(data);
    let mut config = config(5, 64);
    config.workers = Some(1);
    kernel.launch(&memory, &config, &args).expect("runs");
    assert_eq!(memory.take_printed(), b"0 1 2 3 4 ");
}

/// Blocks tell each other a state and a value by one strong vector: CUB's scans and reductions by
/// key do. PTX does not promise that it is whole, but GPUs perform it so.
#[test]
fn strong_vectors_are_whole_for_other_blocks() {
    for (vector, elements) in [("v2.u64", "{%x2, %x3}"), ("v4.u32", "{%r2, %r3, %r4, %r5}")] {
        let text = module(&format!(
            "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r6, 0; @%p1 bra READ;
             WRITE: add.u32 %r6, %r6, 1; cvt.u64.u32 %x2, %r6; mov.u64 %x3, %x2;
             mov.u32 %r2, %r6; mov.u32 %r3, %r6; mov.u32 %r4, %r6; mov.u32 %r5, %r6;
             st.relaxed.gpu.global.{vector} [%base], {elements};
             setp.lt.u32 %p2, %r6, 200000; @%p2 bra WRITE;
             bra.uni END;
             READ: mov.u64 %x2, 0; mov.u64 %x3, 0; mov.u32 %r2, 0; mov.u32 %r5, 0;
             ld.relaxed.gpu.global.{vector} {elements}, [%base];
             setp.ne.u64 %p3, %x2, %x3; @%p3 trap; setp.ne.u32 %p3, %r2, %r5; @%p3 trap;
             cvt.u32.u64 %r7, %x2; max.u32 %r7, %r7, %r2; setp.lt.u32 %p3, %r7, 200000;
             @%p3 bra READ;
             END:"
        ));
        let mut config = config(2, 1);
        config.workers = Some(2);
        launch(&text, &config, &mut [0; 4]).expect("runs");
    }
}

/// Dr.Jit's scans do so with a word of 64 bits, which they store by `.cg`, not as a strong one.
#[test]
fn words_of_64_bits_past_the_l1_cache_are_whole_for_other_blocks() {
    for load in [
        "ld.volatile.global.u64",
        "ld.global.cg.u64",
        "ld.global.cv.u64",
    ] {
        let text = module(&format!(
            "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r6, 0; @%p1 bra READ;
             WRITE: add.u32 %r6, %r6, 1; mov.b64 %x2, {{%r6, %r6}};
             st.global.cg.u64 [%base], %x2;
             setp.lt.u32 %p2, %r6, 200000; @%p2 bra WRITE;
             bra.uni END;
             READ: {load} %x2, [%base]; mov.b64 {{%r2, %r3}}, %x2;
             setp.ne.u32 %p3, %r2, %r3; @%p3 trap;
             setp.lt.u32 %p3, %r2, 200000; @%p3 bra READ;
             END:"
        ));
        let mut config = config(2, 1);
        config.workers = Some(2);
        launch(&text, &config, &mut [0; 2]).expect("runs");
    }
}

/// Plain words of 64 bits too, on every path: of one thread, and of a warp whose words are a row,
/// one word, or apart.
#[test]
fn plain_words_of_64_bits_are_whole_for_other_blocks() {
    for (threads, distance) in [(1, 8), (31, 8), (32, 8), (32, 0), (32, 16)] {
        let text = module(&format!(
            "mad.wide.u32 %x1, %thread, {distance}, %base; mov.u32 %r6, 0;
             mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra READ;
             WRITE: add.u32 %r6, %r6, 1; mov.b64 %x2, {{%r6, %r6}};
             st.global.u64 [%x1], %x2;
             setp.lt.u32 %p2, %r6, 100000; @%p2 bra WRITE;
             bra.uni END;
             READ: add.u32 %r6, %r6, 1; ld.global.u64 %x2, [%x1]; mov.b64 {{%r2, %r3}}, %x2;
             setp.ne.u32 %p3, %r2, %r3; @%p3 trap;
             setp.lt.u32 %p3, %r6, 100000; @%p3 bra READ;
             END:"
        ));
        let mut config = config(2, threads);
        config.workers = Some(2);
        launch(&text, &config, &mut [0; 128]).unwrap_or_else(|fault| {
            panic!("{threads} threads at distances of {distance}: {fault}");
        });
    }
}
