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

#[cfg(test)]
mod tests {
    use super::*;

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
