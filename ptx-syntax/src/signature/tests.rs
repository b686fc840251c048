use super::*;

const PTX: &str = "
.version 7.0
.target sm_70, debug
.address_size 64
.visible .entry none()
{ ret; }
.visible .entry bare
{ ret; }
.visible .entry scale_all(
	.param .u64 .ptr .align 1 scale_all_param_0,
	.param .u32 scale_all_param_1
)
{ ret; }
.visible .entry scale(
	.param .u64 scale_param_0,
	.param .f32 scale_param_1,
	.param .align 8 .b8 scale_param_2[16],
	.param .b32 scale_param_3
)
.maxntid 256, 1, 1
{ ret; }
";

fn sizes(text: &str, entry: &str) -> Option<Vec<usize>> {
    let parameters = parameters(text, entry)?;
    Some(parameters.iter().map(|parameter| parameter.bytes).collect())
}

fn names(text: &str) -> Vec<&str> {
    entries(text).collect()
}

#[test]
fn sizes_follow_types_and_extents() {
    assert_eq!(sizes(PTX, "scale"), Some(vec![8, 4, 16, 4]));
    assert_eq!(sizes(PTX, "scale_all"), Some(vec![8, 4]));
}

#[test]
fn kinds_follow_types() {
    let kinds = |text: &str, entry: &str| -> Vec<Kind> {
        let parameters = parameters(text, entry).unwrap();
        parameters.iter().map(|parameter| parameter.kind).collect()
    };
    assert_eq!(
        kinds(PTX, "scale"),
        [Kind::Integer, Kind::Float, Kind::Bits, Kind::Bits]
    );
    let others = ".entry k(.param .s8 a, .param .f16 b, .param .f64 c[1],
        .param .f32 d[2], .param .b128 e) {}";
    assert_eq!(
        kinds(others, "k"),
        [
            Kind::Integer,
            Kind::Float,
            Kind::Float,
            Kind::Bits,
            Kind::Bits
        ]
    );
    assert_eq!(sizes(others, "k"), Some(vec![1, 2, 8, 8, 16]));
}

#[test]
fn an_entry_may_have_no_parameters() {
    assert_eq!(sizes(PTX, "none"), Some(vec![]));
    assert_eq!(sizes(PTX, "bare"), Some(vec![]));
}

#[test]
fn pointers_and_arrays_have_their_own_size_and_alignment() {
    let text = ".entry k(.param .u64 .ptr .global .align 4 p, .param .b8 name[12],
        .param .align 64 .b8 map[128], .param .b32 grid[3][2], .param .u32 last) { ret; }";
    let shapes: Vec<(usize, usize)> = parameters(text, "k")
        .unwrap()
        .iter()
        .map(|parameter| (parameter.bytes, parameter.align))
        .collect();
    assert_eq!(shapes, [(8, 8), (12, 1), (128, 64), (24, 4), (4, 4)]);
}

#[test]
fn a_parameter_may_have_the_name_of_an_entry_or_a_directive() {
    let text = ".entry k(.param .u32 entry, .param .u64 k, .param .u8 u64) {} .entry entry() {}";
    assert_eq!(sizes(text, "k"), Some(vec![4, 8, 1]));
    assert_eq!(names(text), ["k", "entry"]);
}

#[test]
fn entries_are_named_in_their_order() {
    assert_eq!(names(PTX), ["none", "bare", "scale_all", "scale"]);
}

#[test]
fn comments_and_strings_declare_nothing() {
    let text = "// .visible .entry line()\n/* .entry block() {\n } */
.visible /* .entry */ .entry // .entry between\n real(/* .param .u8 a, */ .param .u32 b // ) {\n )
{ // } .entry inside\n /* } */ .pragma \"} .entry quoted\"; ret; }
.file 1 \".entry file\"
#line .entry marker
.section .debug_str { info: .b8 46,101 // .entry section\n }
.global .align 4 .b8 table[2] = {1, 2};
.entry second() .pragma \"nounroll\"; { ret; }";
    let module = Module::read(text);
    assert_eq!(module.stopped, None);
    assert_eq!(names(text), ["real", "second"]);
    assert_eq!(sizes(text, "real"), Some(vec![4]));
    assert!(module.entries().all(|entry| entry.body.is_some()));
}

#[test]
fn line_ends_and_characters_of_comments_may_be_any() {
    let text = PTX
        .replace(".maxntid", "// größer als π ≥ 3 \n.maxntid")
        .replace('\n', "\r\n");
    assert_eq!(names(&text), names(PTX));
    for name in names(PTX) {
        assert_eq!(parameters(&text, name), parameters(PTX, name), "{name}");
    }
    let module = Module::read(&text);
    assert_eq!(
        (module.version, module.target),
        (Some((7, 0)), Some("sm_70"))
    );
}

#[test]
fn what_is_not_there_is_none() {
    assert_eq!(sizes(PTX, "scal"), None);
    assert_eq!(sizes("", "k"), None);
    assert_eq!(parameters(".entry k(.param .u64 a", "k"), None);
    assert_eq!(parameters(".entry k(.param .pred a)", "k"), None);
    assert_eq!(parameters(".entry k(.param .b8 a[])", "k"), None);
    assert_eq!(parameters(".entry k(.param .u7 a) {}", "k"), None);
    assert_eq!(parameters(".entry", "k"), None);
}

#[test]
fn a_module_that_ends_early_says_where() {
    let stopped = |text: &str| {
        let stopped = Module::read(text).stopped.map(|error| error.to_string());
        stopped.unwrap_or_default()
    };
    assert_eq!(stopped(PTX), "");
    for (text, place) in [
        (".entry k(.param .u64 a", "1:23: expected `)`"),
        (".entry k()\n{ ret;", "2:7: expected `}`"),
        (".entry k()\n", "2:1: expected `{` or `;`"),
        ("/* .entry k() {}", "1:1: this comment has no end"),
        (".entry k() { \"x }", "1:14: this string has no end"),
        (".entry k() {} é", "1:15: unexpected character"),
    ] {
        let stopped = stopped(text);
        assert!(stopped.starts_with(place), "{text}: {stopped}");
    }
    // What stands in front of that place is known.
    assert_eq!(names(".entry k() {} é .entry l() {}"), ["k"]);
}

#[test]
fn directives_and_instructions_need_not_be_known() {
    let text =
        ".version 99.1\n.target sm_999z\n.address_size 32\n.alias a, b;\n.new {.entry no() {}}
.weak .entry k(.param .u32 a) .newdirective 3, 4 \"x\" { frobnicate.all <<a>>; }";
    assert_eq!((names(text), sizes(text, "k")), (vec!["k"], Some(vec![4])));
    assert_eq!(Module::read(text).version, Some((99, 1)));
}

const CALLS: &str = "
.extern .func  (.param .b32 r) absent (.param .b32 a) ;
.extern .func (.param .b32 r) absent(.param .b32 a);
.func  (.param .b32 r) helper (.param .b32 a) ;
.func waits() .noreturn { griddepcontrol.wait; ret; }
.func  (.param .b32 r) helper(.param .b32 a)
{ .local .align 8 .b8 depot[24]; call waits, (); ret; }
.visible .entry direct() {
    .local .align 16 .b8 \tdepot0[512];
    { .local .b32 x[4], y; }
    .loc 1 2 3, function_name $L+4, inlined_at 1 5 6
    @!%p1 call.uni (r0), helper, (p0);
    again: griddepcontrol.launch_dependents;
    call (r0), %rd1, (p0), proto;
    @%p call absent;
    ret; }
.visible .entry without() { // griddepcontrol.wait
    .loc 1 2 3
    ret; }
";

#[test]
fn calls_are_followed() {
    let module = Module::read(CALLS);
    let direct = module.entry("direct").unwrap();
    assert_eq!(
        module.calls(direct).collect::<Vec<_>>(),
        ["helper", "absent"]
    );
    assert_eq!(module.undefined(), ["absent"]);
    let uses = |entry, opcode| module.uses(module.entry(entry).unwrap(), opcode);
    assert!(uses("direct", "griddepcontrol.wait"));
    assert!(uses("direct", "griddepcontrol"));
    assert!(!uses("direct", "griddep"));
    assert!(!uses("without", "griddepcontrol.wait"));
    assert!(uses("without", "ret"));
}

#[test]
fn local_memory_is_added_up() {
    let module = Module::read(CALLS);
    let bytes: Vec<u64> = module
        .functions
        .iter()
        .map(|one| module.local_bytes(one))
        .collect();
    assert_eq!(bytes, [0, 0, 0, 0, 24, 532, 0]);
}

#[test]
fn an_entry_alone_keeps_its_lines() {
    let text = "// head\n  .visible .entry a() {\n\tret; }\n.func f()\n{ ret;\n}\n\
        .entry b(\n)\n{ ret; } // b\n.entry c() { ret; }\n";
    let module = Module::read(text);
    let extents = module.extents();
    let lines: Vec<_> = extents
        .iter()
        .map(|one| (one.name, one.first_line, one.last_line))
        .collect();
    assert_eq!(lines, [("a", 2, 3), ("b", 7, 9), ("c", 10, 10)]);
    assert_eq!(
        alone(text, &extents, "b"),
        "// head\n  \n\n.func f()\n{ ret;\n}\n.entry b(\n)\n{ ret; } // b\n\n"
    );
    for extent in &extents {
        let cut = alone(text, &extents, extent.name);
        assert_eq!(names(&cut), [extent.name]);
        assert_eq!(cut.lines().count(), text.lines().count());
        assert!(text[extent.start..extent.end].ends_with('}'));
    }
    // The extents of another text cut this one as they can.
    assert_eq!(alone("é", &extents, "b"), "\n");
}

#[test]
fn an_extent_prints_as_an_expression() {
    let module = Module::read(".entry k() {}");
    assert_eq!(
        format!("{:?}", module.extents()[0]),
        "Extent { name: \"k\", start: 0, end: 13, first_line: 1, last_line: 1 }"
    );
}
