use super::*;

const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\n";

/// An entry `name` with `body` between its braces.
fn entry(name: &str, body: &str) -> String {
    format!(".visible .entry {name}(\n\t.param .u32 {name}_param_0\n)\n{{\n{body}\tret;\n\n}}\n")
}

fn asm(text: &str) -> String {
    format!("\t// begin inline asm\n\t{text}\n\t// end inline asm\n")
}

fn bound(text: &str) -> String {
    asm(&format!("// cuda_std launch bound: {text}"))
}

#[test]
fn bounds_move_to_the_header_in_a_fixed_order() {
    let body = bound("maxnreg 64") + &bound("maxntid 256") + &bound("minnctapersm 2");
    let output = finish(&format!("{HEAD}{}{}", entry("a", &body), entry("b", ""))).unwrap();
    let a = ".visible .entry a(\n\t.param .u32 a_param_0\n)\n.maxntid 256, 1, 1\n.minnctapersm 2\n.maxnreg 64\n{\n\tret;\n\n}\n";
    assert_eq!(output.text, format!("{HEAD}{a}{}", entry("b", "")));
    let [a, b] = &output.entries[..] else {
        panic!("{:?}", output.entries)
    };
    assert_eq!(
        (a.max_threads, a.min_blocks, a.max_registers),
        (Some(256), Some(2), Some(64))
    );
    assert_eq!((b.name.as_str(), b.max_threads), ("b", None));
}

#[test]
fn other_inline_assembly_stays_without_its_comments() {
    // A brace in the first column inside the assembly does not end the body.
    let text = "{\n.reg .b32 t;\nmov.b32 t, 1;\n}";
    let with = |assembly: &str| {
        let body = format!("{assembly}\tbar.sync \t0;\n");
        format!("{HEAD}{}", entry("a", &body))
    };
    let finished = finish(&with(&asm(text))).unwrap();
    assert_eq!(finished.text, with(&format!("\t{text}\n")));
    let after = finish(&format!(
        "{HEAD}{}",
        entry("a", &(asm("{\n}") + &bound("maxnreg 32")))
    ))
    .unwrap();
    assert_eq!(after.entries[0].max_registers, Some(32));
}

#[test]
fn a_bound_that_the_compiler_copied_counts_once() {
    let body = bound("maxntid 128") + &bound("maxntid 128");
    let output = finish(&entry("a", &body)).unwrap();
    assert_eq!(output.text.matches(".maxntid").count(), 1);
    assert!(!output.text.contains("inline asm"));
}

#[test]
fn contradictory_useless_and_malformed_bounds_are_errors() {
    let error = |body: String| finish(&entry("a", &body)).unwrap_err().to_string();
    let two = error(bound("maxntid 128") + &bound("maxntid 256"));
    assert_eq!(two, "kernel a has both 128 and 256 for maxntid: keep one");
    assert!(error(bound("minnctapersm 2")).contains("add max_threads"));
    for bad in [
        "maxntid 0",
        "maxntid",
        "maxntid -1",
        "maxtid 3",
        "maxntid x",
        "",
    ] {
        let message = error(bound(bad));
        assert!(
            message.contains(&format!("`{bad}` is not valid")),
            "{message}"
        );
    }
    let stray = finish(&format!(".func f()\n{{\n{}}}\n", bound("maxntid 1"))).unwrap_err();
    assert_eq!(stray, PtxTextError::StrayBound { line: 4 });
}

#[test]
fn functions_that_nothing_links_in_are_named() {
    let source = "\
.extern .func _ZN4core9panicking5panic17h0E
(
\t.param .b64 a_param_0
)
.noreturn;
.extern .func  (.param .b32 func_retval0) helper
(
\t.param .b32 helper_param_0
)
;
.extern .shared .align 4 .b8 dynamic[];
";
    let error = finish(&format!("{source}{}", entry("a", ""))).unwrap_err();
    assert_eq!(
        error,
        PtxTextError::Unresolved(vec![
            "_ZN4core9panicking5panic17h0E".into(),
            "helper".into()
        ])
    );
}

#[test]
fn local_arrays_and_functions_are_reported() {
    let depot = "\t.local .align 8 .b8 \t__local_depot0[512];\n\t.reg .b64 \t%SP;\n";
    let function = ".func  (.param .b32 func_retval0) helper(\n\t.param .b32 helper_param_0\n)\n{\n\tret;\n}\n";
    let source = format!("{function}{}{}", entry("a", depot), entry("b", ""));
    let output = finish(&source).unwrap();
    assert_eq!(output.functions, ["helper"]);
    assert_eq!(
        (output.entries[0].local_bytes, output.entries[1].local_bytes),
        (512, 0)
    );
    assert_eq!(output.text, source);
}

#[test]
fn file_names_are_the_same_on_every_system() {
    for (raw, portable) in [
        ("./kernels/src/a.rs", "kernels/src/a.rs"),
        (".\\\\kernels\\\\src\\\\a.rs", "kernels/src/a.rs"),
        (
            "/rustc/library/core/src/../../stdarch/mod.rs",
            "/rustc/library/stdarch/mod.rs",
        ),
        ("../outside.rs", "../outside.rs"),
        ("/../a.rs", "/../a.rs"),
    ] {
        let line = |name: &str| format!("\t.file\t1 \"{name}\"\n");
        assert_eq!(finish(&line(raw)).unwrap().text, line(portable));
    }
}

#[test]
fn line_endings_and_empty_sections_are_normalised() {
    let source = "\t.section\t.debug_macinfo\t{\t}\r\n.version 7.0\r\n";
    assert_eq!(finish(source).unwrap().text, ".version 7.0\n");
}

#[test]
fn labels_that_nothing_names_go_and_blocks_are_numbered_by_function() {
    let body = "$L__func_begin3:\n\t@%p1 bra \t$L__BB3_2;\n$L__tmp17:\n\tbra.uni $L__BB3_11;\n\
                $L__BB3_2:\nbrx.idx \t%r1, {$L__BB3_2, $L__BB3_11};\n$L__BB3_11:\nown_tmp3:\n";
    let end = "$L__func_end3:\n";
    let ships = "\t@%p1 bra \t$L__BB_2;\n\tbra.uni $L__BB_11;\n\
                 $L__BB_2:\nbrx.idx \t%r1, {$L__BB_2, $L__BB_11};\n$L__BB_11:\nown_tmp3:\n";
    let source = format!("{HEAD}{}{end}", entry("a", body));
    let output = finish(&source).unwrap();
    assert_eq!(output.text, format!("{HEAD}{}", entry("a", ships)));

    // Debugging information names them.
    let described = format!("{source}.section .debug_info\n{{\n.b64 $L__tmp17\n}}\n");
    assert_eq!(finish(&described).unwrap().text, described);
}

#[test]
fn a_bound_behind_a_label_that_goes_still_finds_its_kernel() {
    let body = format!("$L__func_begin0:\n{}", bound("maxntid 96"));
    let text = finish(&entry("a", &body)).unwrap().text;
    assert!(text.contains(")\n.maxntid 96, 1, 1\n{\n\tret;"), "{text}");
}

#[test]
fn comments_and_strings_are_no_kernels() {
    let source =
        "// .visible .entry comment() {\n/* .func g()\n{ */\n.pragma \".entry quoted() {\";\n";
    let output = finish(&format!(
        "{source}{}",
        entry("a", "\t// .local .b8 x[4];\n")
    ))
    .unwrap();
    let names: Vec<&str> = output.entries.iter().map(|entry| &*entry.name).collect();
    assert_eq!((names, output.functions.len()), (vec!["a"], 0));
    assert_eq!(output.entries[0].local_bytes, 0);
}

#[test]
fn bounds_stand_in_front_of_a_brace_anywhere_in_a_line() {
    let body = bound("maxntid 32");
    let output = finish(&format!(
        ".file 1 \"./a.rs\" .entry a() {{\n{body}}} .entry b()\n\t{{}}\n"
    ));
    assert_eq!(
        output.unwrap().text,
        ".file 1 \"a.rs\" .entry a() .maxntid 32, 1, 1\n{\n} .entry b()\n\t{}\n"
    );
}

#[test]
fn text_that_ends_early_is_refused() {
    let error = finish(".entry a()\n{ ret;\n").unwrap_err().to_string();
    assert!(
        error.starts_with("it cannot be read: 3:1: expected `}`"),
        "{error}"
    );
}

#[test]
fn no_text_panics() {
    let files = ".file 1 \"./a//b\" .entry c() {\n} .entry d() {}\n";
    let a = entry("a", &bound("maxntid 256"));
    let full = format!("{HEAD}{a}{files}{}", entry("b", &bound("maxnreg 9")));
    for end in 0..full.len() {
        let _ = finish(&full[..end]);
        let _ = finish(&full[end..]);
        let _ = finish(&format!("{}{}", &full[..end], &full[end / 2..]));
    }
}

#[test]
fn atomics_on_local_memory_become_plain_or_are_refused() {
    let swap = "\tatom.relaxed.sys.local.cas.b32 \t%r1, [%rd1], 0, 1;\n";
    let output = finish(&format!("{HEAD}{}", entry("a", swap))).unwrap();
    assert!(!output.text.contains("atom."), "{}", output.text);
    assert!(
        output
            .text
            .contains("@%local_equal st.local.b32 \t[%rd1], 1;\n")
    );
    let add = "\tatom.local.add.u32 \t%r1, [%rd1], 1;\n";
    let error = finish(&entry("a", &(add.to_owned() + &bound("maxntid 1")))).unwrap_err();
    assert_eq!(
        error,
        PtxTextError::LocalAtomic {
            line: 5,
            instruction: add.trim().to_owned()
        }
    );
}

#[test]
fn functions_of_the_driver_are_resolved_when_the_module_is_loaded() {
    let source = "\
.extern .func  (.param .b32 func_retval0) vprintf
(
\t.param .b64 vprintf_param_0,
\t.param .b64 vprintf_param_1
)
;
";
    let source = format!("{source}{}", entry("a", ""));
    assert_eq!(finish(&source).unwrap().text, source);
}
