//! Separately compiled device code (`nvcc -rdc=true`): the PTX of several translation units as one
//! module.
//!
//! Names are what links: a declaration (`.extern`) stands for the definition of its name in any of
//! the texts, and of several definitions, which are `.weak`, the last one counts. nvcc gives names
//! that are local to a file a hash of the file.

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
    for text in texts {
        for line in text.as_ref().lines() {
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

/// A name that one of the texts has for itself, and another one as well: linked by name they would
/// be mixed up.
pub(crate) fn shared_local<T: AsRef<str>>(texts: &[T]) -> Option<&str> {
    let names: Vec<_> = texts.iter().map(|text| names(text.as_ref())).collect();
    names.iter().enumerate().find_map(|(unit, own)| {
        let others = || names.iter().enumerate().filter(|(other, _)| *other != unit);
        let is_elsewhere = |name: &str| others().any(|(_, of)| of.iter().any(|of| of.0 == name));
        let mut locals = own.iter().filter(|(_, is_own)| *is_own);
        locals
            .find(|(name, _)| is_elsewhere(name))
            .map(|(name, _)| *name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_two_texts_have_for_themselves_is_found() {
        let text = |body: &str| format!(".version 7.0\n.target sm_70\n{body}\n");
        let found =
            |one: &str, two: &str| shared_local(&[text(one), text(two)]).map(str::to_string);
        let helper = ".func (.param .b32 out) helper(.param .b32 in)\n{ ret; }";
        let visible = format!(".visible {helper}");
        assert_eq!(found(helper, helper), Some("helper".to_string()));
        assert_eq!(found(helper, &visible), Some("helper".to_string()));
        assert_eq!(found(&visible, &visible), None);
        assert_eq!(found(&visible, ".func helped() { call helper; }"), None);
        let variable = ".global .align 4 .b8 table[8] = {1, 2};";
        assert_eq!(
            found(variable, ".const .u32 table;"),
            Some("table".to_string())
        );
        assert_eq!(
            found(variable, ".visible .entry k(.param .u64 table) { ret; }"),
            None
        );
        let commented = format!("/* {{ */\n.file 1 \"a{{.cu\"\n{variable}");
        assert_eq!(
            found(&commented, ".const .u32 table;"),
            Some("table".to_string())
        );
        let declared = ".extern .global .u32 table;";
        assert_eq!(found(declared, ".visible .global .u32 table = 3;"), None);
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
