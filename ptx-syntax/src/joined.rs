//! Opcodes whose modifiers stand apart from them: `lop3 .b32`.

use crate::ast::Span;
use crate::lexer::{Lexer, Token};
use std::borrow::Cow;

/// The text with opcodes and names of registers in one piece. What stands between `lop3` and
/// `.b32`, or between `%tid` and `.x`, comes behind them then. `ptxas` reads a modifier as a token
/// of its own, and PTX that is written by hand inside of C++ has blanks between them.
///
/// Whatever has no such gap keeps its place, to the byte. [`parse`](crate::parse) refuses gaps, so
/// that an opcode is one [`Span`] of the text.
pub fn join_opcodes(text: &str) -> Cow<'_, str> {
    // Most texts have no gap, which is seen without their tokens.
    if may_have_gap(text) {
        join(text).map_or(Cow::Borrowed(text), Cow::Owned)
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a dot stands behind a blank or a comment that follows a word without a dot in front,
/// anywhere behind the first brace: in front of it, `.target sm_80` may precede a directive.
fn may_have_gap(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(begin) = bytes.iter().position(|&byte| byte == b'{') else {
        return false;
    };
    let body = &bytes[begin..];
    let mut modifiers = (1..body.len()).filter(|&at| {
        body[at] == b'.' && (body[at - 1].is_ascii_whitespace() || body[at - 1] == b'/')
    });
    modifiers.any(|dot| {
        let before = body[..dot].trim_ascii_end();
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%.".contains(byte);
        let length = before
            .iter()
            .rev()
            .take_while(|byte| is_of_word(byte))
            .count();
        match &before[before.len() - length..] {
            // Perhaps the end of a comment.
            [] => before.ends_with(b"/"),
            [first, ..] => *first != b'.' && !first.is_ascii_digit(),
        }
    })
}

/// The text with joined opcodes; `None` where there is nothing to join, or where it cannot be split
/// into tokens, which the parser reports.
fn join(text: &str) -> Option<String> {
    let mut lexer = Lexer::new(text, 0);
    let mut joined = String::new();
    // Text up to here is in `joined`, or in `gaps`.
    let mut copied = 0;
    // What has been taken out of the opcode that is read.
    let mut gaps = String::new();
    let mut previous: Option<Span> = None;
    let mut depth = 0u32;
    let mut is_section = false;
    loop {
        let (token, span) = lexer.next().ok()?;
        let starts_with_dot = span.of(text).starts_with('.');
        match (token, previous) {
            (Token::Word, Some(before)) if starts_with_dot && before.end < span.start => {
                joined.push_str(&text[copied..before.end as usize]);
                gaps.push_str(&text[before.end as usize..span.start as usize]);
                joined.push_str(span.of(text));
                copied = span.end as usize;
                previous = Some(span);
                continue;
            }
            _ => joined.push_str(&std::mem::take(&mut gaps)),
        }
        match token {
            Token::End => break,
            Token::Punctuation(b'{') => depth += 1,
            Token::Punctuation(b'}') => {
                depth = depth.saturating_sub(1);
                is_section &= depth > 0;
            }
            // Lines of debug information end without a semicolon: `.b64 label`.
            Token::Word if depth == 0 => is_section |= span.of(text) == ".section",
            _ => {}
        }
        let is_opcode = token == Token::Word && !starts_with_dot && depth > 0 && !is_section;
        previous = is_opcode.then_some(span);
    }
    (copied > 0).then(|| joined + &text[copied..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(statements: &str) -> String {
        format!(".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{{\n{statements}\n}}\n")
    }

    #[test]
    fn modifiers_come_to_their_opcode_and_gaps_behind_them() {
        for (apart, together) in [
            ("lop3 .b32 %r1, %r2;", "lop3.b32  %r1, %r2;"),
            ("add\t.s32\t%r1, 1;", "add.s32\t\t%r1, 1;"),
            ("add .sat .s32%r1, 1;", "add.sat.s32  %r1, 1;"),
            ("add\n// why\n.s32 %r1, 1;", "add.s32\n// why\n %r1, 1;"),
            ("add/* .u32 */.s32 %r1, 1;", "add.s32/* .u32 */ %r1, 1;"),
            ("@ !%p bra .uni L;", "@ !%p bra.uni  L;"),
            ("mov.u32 %r1, %tid .x;", "mov.u32 %r1, %tid.x ;"),
            ("{ not .b32 %r1, %r2; }", "{ not.b32  %r1, %r2; }"),
            ("L: bar .sync 0;", "L: bar.sync  0;"),
        ] {
            assert_eq!(join_opcodes(&body(apart)), body(together));
            // Nothing is lost.
            assert_eq!(body(apart).len(), body(together).len());
        }
    }

    #[test]
    fn what_is_no_opcode_stays_where_it_is() {
        for statements in [
            ".reg .b32 %r<9>;\n.shared .align 8 .b8 x[8];",
            ".loc 1 2 3\n.loc 1 5 3, function_name $L__s0, inlined_at 1 6 7\nret;",
            "// add .s32\nadd.s32 %r1, %r2, 1; // behind it .loc\n.loc 1 2 3\nret;",
            "L: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;",
            "T: .branchtargets A, B;\n.pragma \"a .b\";",
            "add.s32 %r1, 1 .s32",
        ] {
            let text = body(statements);
            assert!(matches!(join_opcodes(&text), Cow::Borrowed(_)), "{text}");
        }
        let section = format!(
            "{}.section .debug_info\n{{\n.b64 label\n.b8 1\n}}\n",
            body("ret;")
        );
        assert!(matches!(join_opcodes(&section), Cow::Borrowed(_)));
    }

    #[test]
    fn any_text_is_taken() {
        for text in [
            "",
            "{",
            "{ a .b",
            "{ a /* .b",
            "{ a \u{e9} .b",
            "} a .b {",
            "{a\0.b",
        ] {
            let joined = join_opcodes(text);
            assert_eq!(joined.len(), text.len(), "{text:?}");
        }
    }
}
