//! Separately compiled device code (`nvcc -rdc=true`): the PTX of several translation units as one
//! module.
//!
//! Names are what links: a declaration (`.extern`) stands for the definition of its name in any of
//! the texts, and of several definitions, which are `.weak`, the last one counts. nvcc gives names
//! that are local to a file a hash of the file.

/// The directives of a text's head. Each stands on a line of its own.
const HEAD: [&str; 3] = [".version", ".target", ".address_size"];

/// The number behind `.version` or `.target sm_`, for comparison: `8.10` is more than `8.9`.
fn number(line: &str) -> Vec<u32> {
    let digits = line.split(|character: char| !character.is_ascii_digit());
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

/// One text of several, with the newest version and target among them.
pub(crate) fn link(texts: &[String]) -> String {
    let mut head: [Option<&str>; 3] = [None; 3];
    let mut bodies = String::new();
    for text in texts {
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
    let is_word = |of: char| of.is_ascii_alphanumeric() || "_$%.".contains(of);
    let mut names = Vec::new();
    let (mut braces, mut parentheses) = (0, 0);
    let (mut kind, mut is_own, mut last) = (None, true, "");
    for line in text.lines() {
        let mut rest = line.split("//").next().unwrap_or_default();
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|of| !is_word(of)).unwrap_or(rest.len());
            let (token, after) = rest.split_at(length.max(first.len_utf8()));
            rest = after;
            let outside = braces == 0 && parentheses == 0;
            match token {
                "(" | ")" | "{" | "}" | ";" | "=" | "[" | "," if outside => {
                    if let Some(kind) = kind.filter(|_| !last.is_empty()) {
                        names.push((last, is_own && kind != ".entry"));
                        last = "";
                    }
                    if token == "=" {
                        kind = None;
                    }
                }
                ".func" | ".entry" | ".global" | ".const" | ".shared" if outside => {
                    (kind, last) = (Some(token), "");
                }
                ".visible" | ".extern" | ".weak" | ".common" if outside => is_own = false,
                _ if outside && is_word(first) && first != '.' && !first.is_ascii_digit() => {
                    last = token;
                }
                _ => {}
            }
            match token {
                "(" => parentheses += 1,
                ")" => parentheses -= 1,
                "{" => braces += 1,
                "}" => braces -= 1,
                _ => {}
            }
            if matches!(token, "}" | ";") && braces == 0 && parentheses == 0 {
                (kind, is_own, last) = (None, true, "");
            }
        }
    }
    names
}

/// A name that one of the texts has for itself, and another one as well: linked by name they would
/// be mixed up.
pub(crate) fn shared_local(texts: &[String]) -> Option<&str> {
    let names: Vec<_> = texts.iter().map(|text| names(text)).collect();
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
