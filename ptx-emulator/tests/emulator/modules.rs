//! Whole modules: everything that the workspace ships decodes, and damaged text gives errors.

use crate::common::{STORE, module, module_with, run_text};
use ptx_emulator::{Memory, Module};
use std::fmt::Write as _;

const LINES: &str = include_str!("../data/lines.ptx");
const CALLS: &str = include_str!("../data/with_calls.ptx");

/// The PTX of the workspace, if the crate is in its workspace.
fn shipped() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx");
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("skipped: no folder {folder}");
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("readable");
            (path.display().to_string(), text)
        })
        .collect()
}

#[test]
fn every_shipped_kernel_for_sm_70_decodes() {
    for (path, text) in shipped() {
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        for name in module.kernel_names() {
            let stepped = module.kernel_for_stepping(name);
            match (module.kernel(name), stepped) {
                (Ok(kernel), Ok(stepped)) => {
                    assert_eq!(kernel.instruction_count(), stepped.instruction_count());
                }
                (Err(error), Err(_)) => {
                    assert_ne!(module.target(), "sm_70", "{path}: {error}");
                }
                (kernel, stepped) => panic!("{path}: {name}: {kernel:?} and {stepped:?}"),
            }
        }
    }
}

#[test]
fn headers_and_names() {
    let module = Module::parse(CALLS).expect("well formed");
    assert_eq!(module.version(), (7, 0));
    assert_eq!(module.target(), "sm_70");
    let names: Vec<&str> = module.kernel_names().collect();
    assert_eq!(names, ["naive", "tiled", "vec4"]);
}

#[test]
fn lines_and_their_inlining() {
    let text = "
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k() {
            .reg .b32 %r<2>;
            .loc 1 10 3
            mov.u32 %r1, 1;
            .loc 1 20 7, function_name $inner, inlined_at 1 10 3
            mov.u32 %r1, 2;
            .loc 2 5 1, function_name $outer+4, inlined_at 1 20 7
            mov.u32 %r1, 3;
            ret;
        }
        .file 1 \"a.rs\"
        .file 2 \"b.rs\", 1234, 99
        .section .debug_str { $inner: .b8 105,110,110,101,114,0 $outer: .b8 111,117,116,0 }";
    let kernel = Module::parse(text)
        .expect("well formed")
        .kernel("k")
        .expect("known");
    let places: Vec<String> = kernel.basic_blocks()[0]
        .instructions()
        .filter_map(|id| kernel.instruction(id).location())
        .map(|location| {
            let function = location.function.clone().unwrap_or_default();
            format!("{function} {location}")
        })
        .collect();
    assert_eq!(
        places[..3],
        [
            " a.rs:10:3",
            "inner a.rs:20:7 (inlined at a.rs:10:3)",
            "out b.rs:5:1 (inlined at a.rs:20:7 (inlined at a.rs:10:3))"
        ]
    );
    let id = kernel.basic_blocks()[0]
        .instructions()
        .next()
        .expect("there");
    let instruction = kernel.instruction(id);
    assert_eq!((instruction.line(), instruction.column()), (8, 13));
    assert_eq!(instruction.opcode(), "mov.u32");
}

#[test]
fn the_bodies_of_an_indexed_module_are_parsed_when_a_kernel_is_taken() {
    let text = "
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry bad() {
            .reg .b32 %r<2>;
            mov.u32 %r1 0;
        }
        .visible .entry good() {
            .pragma \"}\"; // }
            /* { */
            { ret; }
        }
        # 1 \"}\"
        .visible .entry last() { ret; }";
    let error = Module::parse(text).expect_err("a comma is missing");
    assert_eq!(error.to_string(), "7:25: expected `,` or `;`, found `0`");
    let module = Module::index(text).expect("the bodies are not looked at");
    let names: Vec<&str> = module.kernel_names().collect();
    assert_eq!(names, ["bad", "good", "last"]);
    let error = module.kernel("bad").expect_err("a comma is missing");
    assert_eq!(
        error.to_string(),
        "kernel `bad`, line 7:25: expected `,` or `;`, found `0`"
    );
    for name in ["good", "last"] {
        assert_eq!(module.kernel(name).expect("known").instruction_count(), 1);
    }
    // Without an end the next kernels cannot be found.
    let error = Module::index(&text[..text.len() - 1]).expect_err("the last brace is missing");
    assert_eq!(
        error.to_string(),
        "15:39: expected `}`, found the end of the text"
    );
}

#[test]
fn syntax_errors_name_line_and_column() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let cases = [
        (
            "",
            "1:1: expected `.version` at the start of the module, found the end of the text",
        ),
        (
            ".version 8.0\n.target sm_80\n.address_size 32",
            "3:15: only `.address_size 64` is supported",
        ),
        (
            "{head}.entry k() { add.u32 %r1 %r2; }",
            "4:26: expected `,` or `;`, found `%r2`",
        ),
        (
            "{head}.entry k() {\n  ret;",
            "5:7: expected `}`, found the end of the text",
        ),
        (
            "{head}.entry k() { mov.u32 %r1, 0f12; }",
            "4:27: `0f12` is not a number",
        ),
        (
            "{head}.entry k(.param .q32 x) { ret; }",
            "4:17: expected a type such as `.b32`, found `.q32`",
        ),
        (
            "{head}.global .align 3 .b8 x[4];",
            "4:9: alignment 3 is not a power of two up to 2^20",
        ),
        (
            "{head}.global .b8 x[2] = {1, 2, 3};",
            "4:13: more initial values than the variable holds",
        ),
        (
            "{head}hello",
            "4:1: expected `.entry`, `.func`, `.global`, `.const` or `.shared`, found `hello`",
        ),
        ("{head}/* open", "4:1: this comment has no end `*/`"),
        (
            "{head}.entry k() { ld.global.u32 %r1, [%r2; }",
            "4:37: expected `]`, found `;`",
        ),
        ("{head}\u{e9}", "4:1: unexpected character 'é'"),
    ];
    for (text, expected) in cases {
        let text = text.replace("{head}", head);
        let error = Module::parse(&text).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

/// Damaged text must give an error or a module, never a panic. Kernels of what still parses are
/// decoded too.
#[test]
fn damaged_text_never_panics() {
    let try_all = |text: &str| {
        if let Ok(module) = Module::parse(text) {
            for name in module.kernel_names() {
                let _ = module.kernel(name);
            }
        }
    };
    let mut state = 7u64;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    for text in [LINES, CALLS] {
        for cut in (0..text.len()).step_by(97) {
            try_all(&text[..cut]);
        }
        let tokens: Vec<&str> = text.split_inclusive([' ', '\t', '\n', ',']).collect();
        for _ in 0..300 {
            let mut damaged = tokens.clone();
            for _ in 0..3 {
                let (from, to) = (random(tokens.len()), random(tokens.len()));
                match random(3) {
                    0 => damaged[to] = "",
                    1 => damaged[to] = tokens[from],
                    _ => damaged.swap(from, to),
                }
            }
            try_all(&damaged.concat());
        }
    }
    let nested = format!(
        "{}{}",
        LINES.split('{').next().unwrap_or(""),
        "{".repeat(100_000)
    );
    try_all(&nested);
}

#[test]
fn all_kernels_come_in_the_order_of_the_text() {
    let body = |name: &str, code: &str| format!(".visible .entry {name}() {{ {code} ret; }}\n");
    let names: Vec<String> = (0..20).map(|index| format!("kernel_{index}")).collect();
    let header = ".version 7.0\n.target sm_70\n.address_size 64\n";
    let kernels = names.iter().map(|name| body(name, ""));
    let text = header.to_string() + &kernels.collect::<String>();
    let module = Module::parse(&text).expect("well formed");
    for workers in [None, Some(0), Some(1), Some(3)] {
        let all = module.kernels(workers).expect("known instructions");
        let found: Vec<&str> = all.iter().map(|kernel| kernel.name()).collect();
        assert_eq!(found, names, "{workers:?}");
    }
    let text = text + &body("first", "one;") + &body("second", "two;");
    let module = Module::parse(&text).expect("well formed");
    let error = module.kernels(Some(2)).expect_err("unknown instructions");
    assert!(error.to_string().contains("`one`"), "{error}");
}

/// A module of `count` kernels, each with a shared and a global variable and a function of its own.
fn many_kernels(count: usize) -> String {
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    for at in 0..count {
        text += &format!(
            ".shared .b32 s{at}; .global .u32 g{at}; .func f{at}() {{ ret; }}
             .visible .entry k{at}() {{ .reg .b32 %r; call f{at}; ld.shared.u32 %r, [s{at}];
             st.global.u32 [g{at}], %r; ret; }}\n"
        );
    }
    text
}

/// A chain of functions, each of which calls the one before it.
fn call_chain(count: usize) -> String {
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    text += ".func f0() { ret; }\n";
    for at in 1..count {
        text += &format!(".func f{at}() {{ call f{}; ret; }}\n", at - 1);
    }
    text += &format!(".visible .entry k() {{ call f{}; ret; }}\n", count - 1);
    text
}

#[test]
fn decoding_takes_time_in_proportion_to_the_module() {
    // An idle machine takes less than a second for each. In quadratic time the kernels took 80 s,
    // and the chain 30 s.
    for (text, most) in [(many_kernels(20_000), 20), (call_chain(40_000), 10)] {
        let start = std::time::Instant::now();
        let module = Module::index(&text).expect("well formed");
        for name in module.kernel_names() {
            module.kernel(name).expect("decodes");
        }
        let seconds = start.elapsed().as_secs();
        assert!(seconds < most, "{seconds} s");
    }
}

/// More blocks of code times registers than liveness is computed for: each register then has a slot
/// of its own, and constants and parameters are there all the same.
#[test]
fn a_function_too_large_for_liveness_runs() {
    const COUNT: u32 = 33_000;
    let mut body = format!(".reg .b32 %v<{COUNT}>; setp.gt.u32 %p1, %thread, 3; mov.u32 %r0, 0;\n");
    for i in 0..COUNT {
        _ = writeln!(body, "add.u32 %v{i}, %thread, {i};");
    }
    for i in 0..COUNT {
        // Both ways are taken.
        _ = writeln!(body, "@%p1 bra L{i}; add.u32 %r0, %r0, 70001; L{i}:");
    }
    for i in 0..COUNT {
        _ = writeln!(body, "add.u32 %r0, %r0, %v{i};");
    }
    let text = module(&(body + STORE));
    let found = run_text(&text, 8, &[0; 8]);
    let expected = (0..8_u32).map(|thread| {
        let added = if thread > 3 { 0 } else { 70_001 };
        (0..COUNT).fold(0_u32, |sum, i| sum.wrapping_add(added + thread + i))
    });
    assert_eq!(found, expected.collect::<Vec<u32>>());
}

/// A declaration of a variable stands for its definition, which may come before or behind it.
#[test]
fn a_declared_variable_is_the_one_that_is_defined() {
    let (declared, defined) = (
        ".extern .global .align 4 .u32 addend;",
        ".visible .global .align 4 .u32 addend = 42;",
    );
    for declarations in [
        format!("{declared}\n{defined}"),
        format!("{defined}\n{declared}"),
    ] {
        let text = module_with(
            &declarations,
            &format!("ld.global.u32 %r0, [addend]; {STORE}"),
        );
        assert_eq!(run_text(&text, 1, &[0]), [42]);
        let memory = Memory::with_capacity(1 << 20);
        let module = Module::parse(&text).expect("well formed");
        let found = module.variable(&memory, "addend").expect("room");
        let (address, bytes) = found.expect("there");
        let mut value = [0; 4];
        memory.read(address, &mut value).expect("in bounds");
        assert_eq!((bytes, value), (4, 42u32.to_le_bytes()));
    }
}
