//! Tests of the parser.

use super::*;

#[test]
fn commands_have_short_names() {
    for (line, command) in [
        ("r", Command::Run),
        ("  c ", Command::Continue),
        ("cont", Command::Continue),
        ("s 3", Command::Step(3)),
        ("stepi", Command::Stepi(1)),
        ("n", Command::Next(1)),
        (
            "b 12",
            Command::Break(Location::Line {
                file: None,
                line: 12,
            }),
        ),
        ("b *0x10", Command::Break(Location::Instruction(16))),
        (
            "break $L__BB0_2",
            Command::Break(Location::Name("$L__BB0_2".to_owned())),
        ),
        ("i w", Command::Info(Info::Warps)),
        ("info reg %r1 %r2", {
            Command::Info(Info::Registers(vec!["%r1".to_owned(), "%r2".to_owned()]))
        }),
        ("block 1,2", Command::Block([1, 2, 0])),
        ("x/i", Command::Disassemble(None)),
        ("bt", Command::Backtrace),
        ("q", Command::Quit),
    ] {
        assert_eq!(parse(line), Ok(Some(command)), "{line}");
    }
    assert_eq!(parse(""), Ok(None));
    assert_eq!(parse("# a comment"), Ok(None));
}

#[test]
fn arrays_have_a_space_a_start_and_a_range() {
    let Ok(Some(Command::Print(format, Printed::Elements(found)))) =
        parse("p/x global %rd4[2..6] as u16")
    else {
        panic!("no elements");
    };
    assert_eq!(format, Some(Format::Hexadecimal));
    assert_eq!((found.first, found.count), (2, 4));
    assert_eq!(
        (found.space, found.element),
        (Space::Global, Some(Scalar::U16))
    );
    assert_eq!(found.base, Base::Register("%rd4".to_owned()));
    for (text, base) in [
        ("shared[3]", Base::Start),
        ("shared tile[0..2]", Base::Name("tile".to_owned())),
        ("shared 0x20[0]", Base::Address(32)),
        ("global 2[0]", Base::Param(2)),
    ] {
        assert_eq!(elements(text).expect(text).base, base);
    }
}

#[test]
fn what_is_no_command_is_refused_in_a_line() {
    for (line, reason) in [
        ("frobnicate", "there is no command"),
        ("/x", "there is no command"),
        ("b", "break where?"),
        ("l x", "is no number"),
        ("run now", "takes nothing"),
        ("step 0", "from 1 on"),
        ("step 99999999999999999999999", "is no number"),
        ("stepi -1", "is no number"),
        ("warp 4294967296", "is no number"),
        ("block 1,2,3,4", "is no block"),
        ("block", "is no block"),
        ("print", "is nothing to print"),
        ("print %", "is no register"),
        ("print x", "is nothing to print"),
        ("print/z %r1", "there is no format"),
        ("run/x", "takes no format"),
        ("print shared[5..5]", "has no elements"),
        ("print shared[9..3]", "has no elements"),
        ("print shared[0..99999]", "are too many"),
        ("print shared[18446744073709551616]", "is no number"),
        ("print global[0]", "has no start"),
        ("print shared[0] as f33", "unknown type"),
        ("print shared[", "is nothing to print"),
        ("print é[0]", "is nothing to print"),
        ("info", "info what?"),
        ("info nothing", "info what?"),
        ("info warps 3", "takes nothing more"),
        ("break *x", "is no number"),
        ("break a:b", "is no number"),
        ("d x", "is no number"),
    ] {
        let error = parse(line).expect_err(line);
        assert!(error.contains(reason), "{line}: {error}");
        assert!(!error.contains('\n'), "{line}");
    }
}

#[test]
fn ambiguous_beginnings_are_named() {
    let error = parse("st").expect_err("two");
    assert_eq!(error, "\"st\" is ambiguous: step, stepi");
}

#[test]
fn every_command_is_in_the_help() {
    let help = help();
    for (name, ..) in COMMANDS {
        assert!(help.contains(name));
    }
    assert!(help.lines().all(|line| line.len() <= 100));
}
