//! No text makes the crate panic, and what its two depths of reading say of a text agrees.

use proptest::prelude::*;
use ptx_syntax::ast::{LineTable, Span};
use ptx_syntax::lexer::{Lexer, Token};
use ptx_syntax::signature::{Module, alone};
use ptx_syntax::{Bodies, parse, parse_body, position};

/// A module with most of what the grammar has.
const SAMPLE: &str = include_str!("data/sample.ptx");

/// Pieces that mean something, alone or behind each other.
const PIECES: &[&str] = &[
    ".version 7.0\n",
    ".target sm_70\n",
    ".address_size 64\n",
    ".visible ",
    ".extern ",
    ".entry ",
    ".func ",
    ".param ",
    ".align ",
    ".b8 ",
    ".u64 ",
    ".ptr ",
    ".global ",
    ".local ",
    ".shared ",
    ".reg ",
    ".loc 1 2 3",
    ", inlined_at 1 2 3",
    ", function_name $L",
    ".file 1 \"a.rs\"\n",
    ".section .debug_str ",
    ".pragma ",
    ".maxntid ",
    "k",
    "%r1",
    "call ",
    "call.uni (r), f, (a)",
    "ld.global.b32 ",
    "L: ",
    "@%p ",
    "@!",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    ":",
    "=",
    "+",
    "-",
    "<",
    ">",
    "|",
    "_",
    "0",
    "12",
    "0x",
    "0f3F800000",
    "0d",
    "1.5e-",
    "4294967296",
    "09",
    "\"",
    "//",
    "/*",
    "*/",
    "\n",
    "\r\n",
    "\t",
    " ",
    "#",
    "é",
    "\u{feff}",
    "\0",
    "::",
    ".branchtargets ",
    ".callprototype ",
    "18446744073709551615",
    "1048576",
];

/// Reads a text in all ways.
fn read(text: &str) {
    let mut lexer = Lexer::new(text, 0);
    while let Ok((token, span)) = lexer.next() {
        if token == Token::End {
            break;
        }
        assert!(!span.of(text).is_empty());
    }
    let mut lines = LineTable::default();
    let indexed = parse(text, Bodies::Skip);
    if let Ok(tree) = &indexed {
        for body in tree.functions.iter().filter_map(|function| function.body) {
            let _ = parse_body(text, body, &mut lines);
        }
    }
    let checked = parse(text, Bodies::Check);
    assert!(indexed.is_ok() || checked.is_err());
    let module = Module::read(text);
    for function in &module.functions {
        assert!(module.calls(function).count() <= text.len());
        module.local_bytes(function);
        module.uses(function, "ret");
    }
    let extents = module.extents();
    for extent in &extents {
        assert!(text.get(extent.start..extent.end).is_some());
        let cut = alone(text, &extents, extent.name);
        let line_ends = |text: &str| text.matches('\n').count();
        assert_eq!(line_ends(&cut), line_ends(text));
    }
    if let Ok(tree) = checked {
        agrees(text, &tree, &module);
    }
}

/// A text that is well formed has the same functions in both ways of reading it.
fn agrees(text: &str, tree: &ptx_syntax::ast::Tree, module: &Module<'_>) {
    assert_eq!(module.stopped, None);
    assert_eq!(module.version, Some(tree.version));
    assert_eq!(module.target, Some(tree.target.as_str()));
    assert_eq!(module.functions.len(), tree.functions.len());
    for (function, full) in module.functions.iter().zip(&tree.functions) {
        assert_eq!(function.name, full.name.of(text));
        assert_eq!((function.entry, function.body), (full.entry, full.body));
        let Some(parameters) = &function.parameters else {
            continue;
        };
        let sizes = full.params.iter().map(|one| one.bytes as usize);
        assert!(parameters.iter().map(|one| one.bytes).eq(sizes));
    }
}

/// The nearest place in front of `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    let at = at % (text.len() + 1);
    (0..=at).rfind(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[test]
fn the_sample_is_well_formed() {
    let tree = parse(SAMPLE, Bodies::Check).unwrap();
    assert!(tree.functions.len() > 3 && !tree.variables.is_empty());
    read(SAMPLE);
    read(&SAMPLE.replace('\n', "\r\n"));
}

#[test]
fn the_sample_may_end_anywhere() {
    for end in (0..SAMPLE.len()).filter(|&end| SAMPLE.is_char_boundary(end)) {
        read(&SAMPLE[..end]);
    }
}

#[test]
fn places_that_no_text_has_are_empty() {
    for (start, end) in [(0, u32::MAX), (9, 3), (u32::MAX, 0), (1, 2)] {
        let span = Span { start, end };
        assert_eq!(span.of("é"), "");
        assert!(parse_body("é", span, &mut LineTable::default()).is_err());
    }
    assert_eq!(position("é\nb", 99), (2, 2));
    assert!(
        Lexer::new("é", 1)
            .next()
            .is_ok_and(|(token, _)| token == Token::End)
    );
}

/// The modules that the workspace keeps, where they are.
#[test]
fn modules_of_the_workspace_read_alike() {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for folder in ["ptx", "cuda_std/device-tests/ptx", "tests/broken/ptx"] {
        let Ok(files) = std::fs::read_dir(format!("{workspace}/{folder}")) else {
            println!("left out: {folder} is not on this machine");
            continue;
        };
        for path in files.map(|file| file.unwrap().path()) {
            if path.extension().is_some_and(|extension| extension == "ptx") {
                let text = std::fs::read_to_string(&path).unwrap();
                let tree = parse(&text, Bodies::Check).unwrap();
                let module = Module::read(&text);
                agrees(&text, &tree, &module);
                assert!(
                    module
                        .functions
                        .iter()
                        .all(|function| function.parameters.is_some())
                );
                assert_eq!(module.undefined(), [""; 0]);
                assert_eq!(module.extents().len(), module.entries().count());
            }
        }
    }
}

proptest! {
    #[test]
    fn any_pieces(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..80)) {
        read(&pieces.concat());
        let head = ".version 7.0\n.target sm_70\n.address_size 64\n";
        read(&format!("{head}.entry k() {{ {} }}", pieces.concat()));
    }

    #[test]
    fn any_characters(text in ".{0,200}") {
        read(&text);
    }

    #[test]
    fn any_change_of_the_sample(
        changes in prop::collection::vec(
            (any::<usize>(), 0usize..40, prop::sample::select(PIECES)), 1..6),
    ) {
        let mut text = SAMPLE.to_owned();
        for (at, removed, piece) in changes {
            let start = boundary(&text, at);
            let end = boundary(&text, (start + removed).min(text.len()));
            text.replace_range(start..end.max(start), piece);
        }
        read(&text);
    }
}
