//! System calls: `vprintf`, `malloc`, `free` and `__assertfail`.

use crate::common::{kernel, module_with};
use ptx_emulator::sanitize::Problem;
use ptx_emulator::{Args, FaultKind, LaunchConfig, LaunchError, Memory, Sanitizer};

const DECLARATIONS: &str = "
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 result) malloc (.param .b64 bytes);
.extern .func free (.param .b64 block);
.extern .func __assertfail (.param .b64 message, .param .b64 file, .param .b32 line,
    .param .b64 function, .param .b64 character);
";

/// Calls `malloc(%x1)`; the block is in `%x2`.
const MALLOC: &str = "{ .param .b64 bytes; st.param.b64 [bytes], %x1; .param .b64 block;
    call.uni (block), malloc, (bytes); ld.param.b64 %x2, [block]; }";

/// Calls `free(%x2)`.
const FREE: &str = "{ .param .b64 block; st.param.b64 [block], %x2; call.uni free, (block); }";

/// Calls `vprintf` with the string `text` and the local variable `arguments`; the result is in
/// `%r0`.
const PRINT: &str = "{ .reg .b64 %a; .param .b64 format; .param .b64 list; .param .b32 count;
    mov.u64 %a, text; cvta.global.u64 %a, %a; st.param.b64 [format], %a;
    mov.u64 %a, arguments; cvta.local.u64 %a, %a; st.param.b64 [list], %a;
    call.uni (count), vprintf, (format, list); ld.param.b32 %r0, [count]; }";

/// A `.global` variable that holds a string.
fn string(name: &str, text: &str) -> String {
    let bytes: Vec<String> = text.bytes().chain([0]).map(|b| b.to_string()).collect();
    let (length, bytes) = (bytes.len(), bytes.join(", "));
    format!(".global .align 1 .b8 {name}[{length}] = {{{bytes}}};\n")
}

/// Runs a body and gives what it printed, the first word of the data, and how it ended.
fn run(
    declarations: &str,
    body: &str,
    config: &LaunchConfig,
) -> (String, u32, Result<(), LaunchError>) {
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(64).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let declarations = format!("{DECLARATIONS}{declarations}");
    let text = module_with(&declarations, body);
    let ended = kernel(&text).launch(&memory, config, &args);
    let printed = String::from_utf8(memory.take_printed()).expect("text");
    let mut word = [0; 4];
    memory.read(data, &mut word).expect("in bounds");
    (printed, u32::from_le_bytes(word), ended.map(|_| ()))
}

fn one(threads: u32) -> LaunchConfig {
    LaunchConfig::new([1, 1, 1], [threads, 1, 1])
}

/// Prints one argument, of 8 bytes where `wide`, and gives the text.
fn print(format: &str, argument: u64, wide: bool) -> String {
    let store = match wide {
        true => format!("mov.u64 %x1, {argument:#x}; st.local.u64 [arguments], %x1;"),
        false => format!("mov.u32 %r1, {argument:#x}; st.local.u32 [arguments], %r1;"),
    };
    let body = format!(".local .align 8 .b8 arguments[64]; {store} {PRINT}");
    let (printed, _, ended) = run(&string("text", format), &body, &one(1));
    ended.expect("runs");
    printed
}

/// Compilers that do not use the number of arguments declare `vprintf` without a result.
#[test]
fn a_result_may_be_left() {
    let body = PRINT.replace("(count), ", "");
    let body = body.replace(" ld.param.b32 %r0, [count];", "");
    let body = format!(".local .align 8 .b8 arguments[64]; {body}");
    let declaration = ".extern .func vprintf (.param .b64 format, .param .b64 arguments);";
    let text = string("text", "said");
    let memory = Memory::with_capacity(1 << 20);
    let mut args = Args::new();
    args.push_u64(memory.alloc(64).expect("room"));
    let launched = kernel(&module_with(&format!("{declaration}{text}"), &body));
    launched.launch(&memory, &one(1), &args).expect("runs");
    assert_eq!(memory.take_printed(), b"said");
}

#[test]
fn integers_are_formatted_as_c_does() {
    let minus = |value: i32| u64::from(value as u32);
    for (format, argument, expected) in [
        ("%d", minus(-7), "-7"),
        ("%i|", 42, "42|"),
        ("%5d|", minus(-42), "  -42|"),
        ("%-6d|", 42, "42    |"),
        ("%06d", minus(-42), "-00042"),
        ("%+d", 3, "+3"),
        ("% d", 3, " 3"),
        ("%.4d", minus(-3), "-0003"),
        ("%8.4d|", minus(-3), "   -0003|"),
        ("%08.4d|", 3, "    0003|"),
        ("%.0d|", 0, "|"),
        ("%u", minus(-1), "4294967295"),
        ("%x", 0xbeef, "beef"),
        ("%#X", 0xbeef, "0XBEEF"),
        ("%#010x", 0xbeef, "0x0000beef"),
        ("%#x", 0, "0"),
        ("%o", 8, "10"),
        ("%#o", 8, "010"),
        ("%#.0o", 0, "0"),
        ("%hd", 0x1_8000, "-32768"),
        ("%hhu", 0x1ff, "255"),
        ("%c%%", 65, "A%"),
        ("%3c|", 65, "  A|"),
        ("100%", 0, "100%"),
        ("%y %d", 5, "%y 5"),
    ] {
        assert_eq!(print(format, argument, false), expected, "{format}");
    }
    for (format, argument, expected) in [
        ("%lld", u64::MAX, "-1"),
        ("%ld", 1 << 40, "1099511627776"),
        ("%lu", u64::MAX, "18446744073709551615"),
        ("%llx", u64::MAX, "ffffffffffffffff"),
        ("%zu", 7, "7"),
        ("%p", 0x7f00_0000_0010, "0x7f0000000010"),
        ("%p", 0, "(nil)"),
        ("%20p|", 0xab, "                0xab|"),
        ("%s|", 0, "(null)|"),
    ] {
        assert_eq!(print(format, argument, true), expected, "{format}");
    }
}

#[test]
fn floats_are_formatted_as_c_does() {
    for (format, value, expected) in [
        ("%f", 1.5, "1.500000"),
        ("%F", f64::INFINITY, "INF"),
        ("%.0f", 2.5, "2"),
        ("%#.0f", 3.5, "4."),
        ("%10.3f|", -3.14163, "    -3.142|"),
        ("%-10.3f|", -3.14163, "-3.142    |"),
        ("%010.3f", -3.14163, "-00003.142"),
        ("%08f", f64::INFINITY, "     inf"),
        ("%+f", 0.0, "+0.000000"),
        ("%f", -0.0, "-0.000000"),
        ("%e", 12345.678, "1.234568e+04"),
        ("%.2E", 1.5e-7, "1.50E-07"),
        ("%.0e", 15.0, "2e+01"),
        ("%#.0e", 15.0, "2.e+01"),
        ("%e", 1e300, "1.000000e+300"),
        ("%g", 0.0001, "0.0001"),
        ("%g", 0.00001, "1e-05"),
        ("%g", 123456.0, "123456"),
        ("%g", 1234567.0, "1.23457e+06"),
        ("%g", 0.0, "0"),
        ("%#g", 1.0, "1.00000"),
        ("%.3g", 999.9, "1e+03"),
        ("%G", 1e-10, "1E-10"),
        ("%a", 1.0, "0x1p+0"),
        ("%a", -0.15625, "-0x1.4p-3"),
        ("%.2a", 1.999, "0x2.00p+0"),
        ("%A", 255.5, "0X1.FFP+7"),
        ("%a", 0.0, "0x0p+0"),
        ("%a", f64::from_bits(1), "0x0.0000000000001p-1022"),
        ("%.1f", 0.25, "0.2"),
        ("%.20f", 0.1, "0.10000000000000000555"),
    ] {
        assert_eq!(print(format, value.to_bits(), true), expected, "{format}");
    }
    assert!(print("%f", f64::NAN.to_bits(), true).ends_with("nan"));
}

#[test]
fn arguments_are_aligned_and_widths_may_be_arguments() {
    let body = format!(
        ".local .align 8 .b8 arguments[64];
         st.local.u32 [arguments], 6; st.local.f64 [arguments+8], 0d3ff8000000000000;
         st.local.u32 [arguments+16], 2; mov.u64 %x1, name; cvta.global.u64 %x1, %x1;
         st.local.u64 [arguments+24], %x1; st.local.u32 [arguments+32], 7;
         {PRINT} st.global.u32 [%base], %r0;"
    );
    let texts = string("text", "%*f|%.*s|%d\n") + &string("name", "warp");
    let (printed, count, ended) = run(&texts, &body, &one(1));
    ended.expect("runs");
    assert_eq!(printed, "1.500000|wa|7\n");
    assert_eq!(count, 5);
}

#[test]
fn blocks_print_in_their_order_whatever_the_number_of_workers() {
    let body = format!(
        ".local .align 8 .b8 arguments[64]; mov.u32 %r1, %ctaid.x;
         st.local.u32 [arguments], %r1; st.local.u32 [arguments+4], %thread; {PRINT}"
    );
    let mut config = LaunchConfig::new([6, 1, 1], [2, 1, 1]);
    let expected: String = (0..12)
        .map(|at| format!("{}.{} ", at / 2, at % 2))
        .collect();
    for workers in [1, 4] {
        config.workers = Some(workers);
        let (printed, _, ended) = run(&string("text", "%d.%d "), &body, &config);
        ended.expect("runs");
        assert_eq!(printed, expected);
    }
    // What was printed before a fault is kept.
    let faulty = format!("{body} setp.eq.u32 %p1, %r1, 1; @%p1 trap;");
    config.workers = Some(4);
    let (printed, _, ended) = run(&string("text", "%d.%d "), &faulty, &config);
    assert!(ended.is_err());
    assert_eq!(printed, "0.0 0.1 1.0 1.1 ");
}

#[test]
fn a_bad_format_is_a_fault_and_none_is_an_error_code() {
    let call = |format: &str| {
        format!(
            "{{ .param .b64 format; .param .b64 list; .param .b32 count;
             st.param.b64 [format], {format}; st.param.b64 [list], 0;
             call.uni (count), vprintf, (format, list); ld.param.b32 %r0, [count]; }}
             st.global.u32 [%base], %r0;"
        )
    };
    let (printed, count, ended) = run("", &call("0"), &one(1));
    ended.expect("runs");
    assert_eq!((printed.as_str(), count as i32), ("", -1));
    let (_, _, ended) = run("", &call("64"), &one(1));
    let Err(LaunchError::Fault(fault)) = ended else {
        panic!("{ended:?}");
    };
    assert!(matches!(fault.kind, FaultKind::NullPointer(_)), "{fault}");
}

fn sanitize(body: &str, threads: u32, heap: u64) -> Vec<ptx_emulator::sanitize::Finding> {
    let memory = Memory::with_capacity(1 << 20).with_heap_limit(heap);
    let data = memory.alloc(4096).expect("room");
    memory.fill(data, 4096, 0).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(data);
    let text = module_with(DECLARATIONS, body);
    let mut sanitizer = Sanitizer::new(&ptx_emulator::sanitize::Tool::ALL);
    let found = sanitizer.launch(&kernel(&text), &memory, &one(threads), &args);
    found.expect("not refused")
}

#[test]
fn the_heap_holds_what_threads_allocate() {
    let body = format!(
        "mov.u64 %x1, 40; {MALLOC} add.u32 %r1, %thread, 100;
         st.u32 [%x2+36], %r1; st.global.u64 [%base+8], %x2; bar.sync 0;
         ld.u32 %r2, [%x2+36]; mad.wide.u32 %x3, %thread, 4, %base; st.global.u32 [%x3+64], %r2;
         {FREE}"
    );
    assert_eq!(
        sanitize(
            &body.replace("st.global.u64 [%base+8], %x2;", ""),
            64,
            1 << 20
        ),
        []
    );
}

#[test]
fn an_exhausted_heap_gives_null_and_freed_blocks_make_room() {
    let body = format!(
        "mov.u32 %r5, 0; mov.u32 %r6, 0;
         AGAIN: mov.u64 %x1, 1000; {MALLOC} setp.ne.u64 %p1, %x2, 0;
         @%p1 add.u32 %r6, %r6, 1; {FREE}
         add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 100; @%p2 bra AGAIN;
         mov.u64 %x1, 4000; {MALLOC} setp.ne.u64 %p1, %x2, 0; @%p1 trap;
         mov.u64 %x1, 0; {MALLOC} setp.ne.u64 %p1, %x2, 0; @%p1 trap;
         st.global.u32 [%base], %r6;"
    );
    let memory = Memory::with_capacity(1 << 20).with_heap_limit(4000);
    let data = memory.alloc(64).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let kernel = kernel(&module_with(DECLARATIONS, &body));
    kernel.launch(&memory, &one(1), &args).expect("runs");
    let mut word = [0; 4];
    memory.read(data, &mut word).expect("in bounds");
    assert_eq!(u32::from_le_bytes(word), 100);
}

#[test]
fn the_limit_of_the_heap_may_change_until_a_kernel_has_it() {
    let body = format!("mov.u64 %x1, 16000000; {MALLOC} st.global.u64 [%base], %x2;");
    let kernel = kernel(&module_with(DECLARATIONS, &body));
    for (limit, has_room) in [(16 << 20, true), (8 << 20, false)] {
        let memory = Memory::with_capacity(1 << 20);
        assert!(memory.set_heap_limit(limit));
        let data = memory.alloc(8).expect("room");
        let mut args = Args::new();
        args.push_u64(data);
        kernel.launch(&memory, &one(1), &args).expect("runs");
        assert!(!memory.set_heap_limit(32 << 20));
        let mut address = [0; 8];
        memory.read(data, &mut address).expect("in bounds");
        assert_eq!(address != [0; 8], has_room);
    }
}

#[test]
fn wrong_use_of_the_heap_is_found() {
    let problem = |body: &str| {
        let findings = sanitize(body, 1, 1 << 16);
        let problems: Vec<Problem> = findings.iter().map(|finding| finding.problem).collect();
        assert_eq!(problems.len(), 1, "{findings:?}");
        (problems[0], findings[0].to_string())
    };
    let malloc = format!("mov.u64 %x1, 40; {MALLOC}");
    let (leak, text) = problem(&malloc);
    assert_eq!(leak, Problem::Leak);
    assert!(
        text.contains("40 bytes") && text.contains("malloc"),
        "{text}"
    );
    let cases = [
        (format!("{malloc} {FREE} {FREE}"), Problem::BadFree),
        (
            format!("{malloc} add.u64 %x2, %x2, 8; {FREE}"),
            Problem::BadFree,
        ),
        (format!("mov.u64 %x2, %base; {FREE}"), Problem::BadFree),
        (
            format!("{malloc} {FREE} ld.u32 %r1, [%x2];"),
            Problem::UseAfterFree,
        ),
        (
            format!("{malloc} st.u32 [%x2+40], 1; {FREE}"),
            Problem::OutOfBounds,
        ),
        (
            format!("{malloc} ld.u32 %r1, [%x2]; st.global.u32 [%base], %r1; {FREE}"),
            Problem::Uninitialised,
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(problem(&body).0, expected, "{body}");
    }
}

#[test]
fn a_later_launch_may_free_and_the_host_may_not() {
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(64).expect("room");
    memory.fill(data, 64, 0).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(data);
    let first = format!("mov.u64 %x1, 40; {MALLOC} st.u32 [%x2], 5; st.global.u64 [%base], %x2;");
    let second = format!(
        "ld.global.u64 %x2, [%base]; ld.u32 %r1, [%x2]; st.global.u32 [%base+8], %r1; {FREE}"
    );
    let mut sanitizer = Sanitizer::new(&ptx_emulator::sanitize::Tool::ALL);
    let mut launch = |body: &str| {
        let kernel = kernel(&module_with(DECLARATIONS, body));
        sanitizer
            .launch(&kernel, &memory, &one(1), &args)
            .expect("not refused")
    };
    assert_eq!(launch(&first)[0].problem, Problem::Leak);
    let mut block = [0; 8];
    memory.read(data, &mut block).expect("in bounds");
    let block = u64::from_le_bytes(block);
    assert!(memory.free(block).is_err());
    assert!(memory.read(block, &mut [0]).is_err());
    assert_eq!(launch(&second), []);
    assert_eq!(sanitizer.all_findings(), []);
}

#[test]
fn a_failed_assertion_names_its_place() {
    let body = "
        setp.lt.u32 %p1, %thread, 5; @%p1 bra GOOD;
        { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
          mov.u64 %x1, message; cvta.global.u64 %x1, %x1; st.param.b64 [a], %x1;
          mov.u64 %x1, file; cvta.global.u64 %x1, %x1; st.param.b64 [b], %x1;
          st.param.b32 [c], 12; st.param.b64 [d], 0; st.param.b64 [e], 1;
          call.uni __assertfail, (a, b, c, d, e); }
        GOOD:";
    let texts = string("message", "x < 5") + &string("file", "kernel.rs");
    let (_, _, ended) = run(&texts, body, &one(32));
    let Err(LaunchError::Fault(fault)) = ended else {
        panic!("{ended:?}");
    };
    let expected = FaultKind::Assertion {
        message: "x < 5".to_string(),
        file: "kernel.rs".to_string(),
        line: 12,
        function: String::new(),
    };
    assert_eq!(fault.kind, expected);
    assert_eq!(fault.thread, Some([5, 0, 0]));
    assert!(fault.to_string().contains("kernel.rs:12"), "{fault}");
}

#[test]
fn a_module_may_have_functions_of_these_names_itself() {
    let own = ".func (.param .b32 r) malloc (.param .b32 a)
        { .reg .b32 %v; ld.param.b32 %v, [a]; add.u32 %v, %v, 1; st.param.b32 [r], %v; ret; }";
    let body = "{ .param .b32 a; .param .b32 r; st.param.b32 [a], 41; call (r), malloc, (a);
        ld.param.b32 %r0, [r]; } st.global.u32 [%base], %r0;";
    let data = crate::common::run_text(&module_with(own, body), 1, &[0]);
    assert_eq!(data, [42]);
    let wrong = module_with(DECLARATIONS, "{ .param .b32 a; call free, (a); }");
    let module = ptx_emulator::Module::parse(&wrong).expect("well formed");
    let error = module
        .kernel("test")
        .expect_err("arguments of the wrong size");
    assert!(error.to_string().contains("do not match"), "{error}");
}
