//! Separately compiled device code (`nvcc -rdc=true`): the PTX of several translation units as one
//! module.
//!
//! Names are what links: a declaration (`.extern`) stands for the definition of its name in any of
//! the texts, and of several definitions, which are `.weak`, the last one counts. A name that is
//! local to a text is given another one where a second text has it as well.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Mutex;

use ptx_syntax::lexer::{Lexer, Token};

/// A linker's state.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// What has been linked, with a null byte behind it.
    pub(crate) text: Mutex<String>,
    pub(crate) max_registers: Option<u32>,
}

/// The directives of a text's head. Each stands on a line of its own.
const HEAD: [&str; 3] = [".version", ".target", ".address_size"];

/// `CUjit_option`: the most registers of a thread.
pub(crate) const MAX_REGISTERS: u32 = 0;

/// What a linked text says of that option, in a comment at its end.
const LIMIT: &str = "\n// CU_JIT_MAX_REGISTERS ";

/// The value of the option, as the text says it from now on.
pub(crate) fn limit_registers(text: &mut String, most: u32) {
    text.push_str(&format!("{LIMIT}{most}\n"));
}

/// The most registers of a thread, where a linked text has a limit.
pub(crate) fn limit_of(text: &str) -> Option<u32> {
    let (_, most) = text.rsplit_once(LIMIT)?;
    most.trim_end_matches(['\n', '\0']).parse().ok()
}

/// The number behind `.version` or `.target sm_`, for comparison: `8.10` is more than `8.9`.
fn number(line: &str) -> Vec<u32> {
    let digits = line.split(|character: char| !character.is_ascii_digit());
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

/// One text of several, with the newest version and target among them.
pub(crate) fn link<T: AsRef<str>>(texts: &[T]) -> String {
    let mut head: [Option<&str>; 3] = [None; 3];
    let mut bodies = String::new();
    let texts = distinct_locals(texts);
    for text in &texts {
        for line in text.lines() {
            let directive = line.split_whitespace().next().unwrap_or_default();
            match HEAD.iter().position(|of| *of == directive) {
                None => {
                    bodies.push_str(line);
                    bodies.push('\n');
                }
                Some(of) if head[of].is_none_or(|known| number(known) < number(line)) => {
                    head[of] = Some(line);
                }
                Some(_) => {}
            }
        }
    }
    let head: Vec<&str> = head.into_iter().flatten().collect();
    format!("{}\n{bodies}", head.join("\n"))
}

/// Names of a text's functions and variables, and whether each is the text's own: without
/// `.visible`, `.extern`, `.weak` and `.common`.
fn names(text: &str) -> Vec<(&str, bool)> {
    let mut lexer = Lexer::new(text, 0);
    let mut names = Vec::new();
    // Braces and parentheses that are open.
    let mut nesting = 0;
    let (mut kind, mut is_own, mut last) = (None, true, "");
    while let Ok((token, span)) = lexer.next()
        && token != Token::End
    {
        let word = span.of(text);
        match (token, word) {
            (Token::Punctuation(b'(' | b'{' | b';' | b'=' | b'[' | b','), _) if nesting == 0 => {
                if let Some(kind) = kind.filter(|_| !last.is_empty()) {
                    names.push((last, is_own && kind != ".entry"));
                    last = "";
                }
                if word == "=" {
                    kind = None;
                }
            }
            (_, ".func" | ".entry" | ".global" | ".const" | ".shared") if nesting == 0 => {
                (kind, last) = (Some(word), "");
            }
            (_, ".visible" | ".extern" | ".weak" | ".common") if nesting == 0 => is_own = false,
            (Token::Word, _) if nesting == 0 && !word.starts_with('.') => last = word,
            _ => {}
        }
        match word {
            "(" | "{" => nesting += 1,
            ")" | "}" => nesting -= 1,
            _ => {}
        }
        if matches!(word, "}" | ";") && nesting == 0 {
            (kind, is_own, last) = (None, true, "");
        }
    }
    names
}

/// The texts, in which no name that one has for itself is also one of another text.
fn distinct_locals<T: AsRef<str>>(texts: &[T]) -> Vec<Cow<'_, str>> {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let names: Vec<_> = texts.iter().map(|text| names(text)).collect();
    // The first text that has a name, and whether another one has it.
    let mut known: HashMap<&str, (usize, bool)> = HashMap::new();
    for (unit, names) in names.iter().enumerate() {
        for (name, _) in names {
            let (first, is_shared) = known.entry(name).or_insert((unit, false));
            *is_shared |= *first != unit;
        }
    }
    let mut distinct = Vec::new();
    for (unit, names) in names.iter().enumerate() {
        let mut renamed = HashMap::new();
        let locals = names.iter().filter(|(_, is_own)| *is_own);
        for (name, _) in locals.filter(|(name, _)| known[name].1) {
            let is_free = |new: &String| !texts.iter().any(|text| text.contains(new));
            let mut candidates = (unit..).map(|number| format!("{name}$unit{number}"));
            renamed.insert(*name, candidates.find(is_free).expect("the texts end"));
        }
        distinct.push(match renamed.is_empty() {
            true => Cow::Borrowed(texts[unit]),
            false => Cow::Owned(rename(texts[unit], &renamed)),
        });
    }
    distinct
}

/// A text with other names, everywhere: a label or register of such a name stays one.
fn rename(text: &str, names: &HashMap<&str, String>) -> String {
    let mut lexer = Lexer::new(text, 0);
    let (mut renamed, mut done) = (String::with_capacity(text.len()), 0);
    while let Ok((token, span)) = lexer.next()
        && token != Token::End
    {
        if let Some(new) = names.get(span.of(text)).filter(|_| token == Token::Word) {
            let end = lexer.at();
            renamed.push_str(&text[done..end - span.of(text).len()]);
            renamed.push_str(new);
            done = end;
        }
    }
    renamed.push_str(&text[done..]);
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_two_texts_have_for_themselves_becomes_two() {
        let text = |body: &str| format!(".version 7.0\n.target sm_70\n{body}\n");
        let linked = |one: &str, two: &str| {
            let linked = link(&[text(one), text(two)]);
            let bodies = linked.split_once("sm_70\n").expect("a head").1;
            bodies.to_string()
        };
        let check = |one: &str, two: &str, first: &str, second: &str| {
            assert_eq!(linked(one, two), format!("{first}\n{second}\n"));
        };
        let helper = ".func (.param .b32 out) helper(.param .b32 in)\n{ ret; }";
        let (one, two) = (
            helper.replace("helper", "helper$unit0"),
            helper.replace("helper", "helper$unit1"),
        );
        check(helper, helper, &one, &two);
        let visible = format!(".visible {helper}");
        check(helper, &visible, &one, &visible);
        check(&visible, &visible, &visible, &visible);
        let user = ".func helped() { call helper; }";
        check(&visible, user, &visible, user);
        check(helper, user, helper, user);
        // A name that would be the new one is left out.
        let taken = ".func helper() { $helper$unit1: ret; }";
        check(
            helper,
            taken,
            &one,
            &taken.replace(" helper", " helper$unit2"),
        );
        let variable = ".global .align 4 .b8 table[8] = {1, 2};";
        let user = ".const .u32 table;\n.func f() { mov.u64 %rd1, table; }";
        let (one, two) = (
            variable.replace("table", "table$unit0"),
            user.replace("table", "table$unit1"),
        );
        check(variable, user, &one, &two);
        let parameter = ".visible .entry k(.param .u64 table) { ret; }";
        check(variable, parameter, variable, parameter);
        let commented = |text| format!("/* {{ */\n.file 1 \"a{{.cu\"\n{text}");
        check(&commented(variable), user, &commented(&one), &two);
        let declared = ".extern .global .u32 table;";
        let defined = ".visible .global .u32 table = 3;";
        check(declared, defined, declared, defined);
    }

    #[test]
    fn the_newest_head_stands_before_all_bodies() {
        let text = |version: &str, target: &str, body: &str| {
            format!(
                "// a comment\n.version {version}\n.target {target}\n.address_size 64\n{body}\n"
            )
        };
        let texts = [
            text("8.9", "sm_70", ".visible .func one() { ret; }"),
            text("8.10", "sm_90a", ".extern .func one();"),
            text("7.0", "sm_80", ".visible .func two() { ret; }"),
        ];
        let linked = link(&texts);
        let head = ".version 8.10\n.target sm_90a\n.address_size 64\n";
        assert!(linked.starts_with(head), "{linked}");
        assert_eq!(linked.matches(".version").count(), 1);
        let positions = ["func one() {", "extern .func one", "func two"];
        let positions = positions.map(|part| linked.find(part).expect("all bodies are there"));
        assert!(positions.is_sorted(), "{linked}");
    }
}
