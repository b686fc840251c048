//! A page of Markdown as text for a terminal.

/// Lays out what [`page`](super::page()) writes in lines of at most `width` columns: headings at
/// the margin and everything else behind two spaces, tables without their pipes, code as it is.
/// Lines of code and rows of tables that are longer stay as long as they are.
pub fn terminal(markdown: &str, width: usize) -> String {
    let mut out = Out {
        text: String::new(),
        width: width.max(40),
        paragraph: Vec::new(),
    };
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            out.end_paragraph();
            for code in lines.by_ref().take_while(|line| !line.starts_with("```")) {
                out.line(code);
            }
        } else if line.starts_with('|') {
            out.end_paragraph();
            let mut rows = vec![line];
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(row);
            }
            out.table(&rows);
        } else if line.starts_with('#') {
            out.end_paragraph();
            out.text
                .push_str(&plain(line.trim_start_matches('#').trim_start()));
            out.text.push('\n');
        } else if line.trim().is_empty() {
            out.end_paragraph();
            out.text.push('\n');
        } else {
            // Items begin paragraphs of their own.
            if item(line).is_some() {
                out.end_paragraph();
            }
            out.paragraph.push(line.to_owned());
        }
    }
    out.end_paragraph();
    out.text
}

/// What stands before the text of an item of a list.
fn item(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let mark = text.split_once(' ')?.0;
    let number = mark.strip_suffix('.').unwrap_or_default();
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (mark == "-" || mark == "*" || numbered).then(|| &line[..=indent + mark.len()])
}

const INDENT: &str = "  ";

struct Out {
    text: String,
    width: usize,
    /// Lines that are filled together.
    paragraph: Vec<String>,
}

impl Out {
    fn line(&mut self, line: &str) {
        let line = format!("{INDENT}{line}");
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn end_paragraph(&mut self) {
        let lines = std::mem::take(&mut self.paragraph);
        let Some(first) = lines.first() else {
            return;
        };
        let hang = item(first).map_or(0, |mark| mark.chars().count());
        let text = plain(&lines.join(" "));
        let mut line = String::new();
        for word in text.split_whitespace() {
            let longer = line.chars().count() + 1 + word.chars().count();
            if !line.trim().is_empty() && longer + INDENT.len() > self.width {
                self.line(&line);
                line = " ".repeat(hang);
            } else if !line.trim().is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&line);
    }

    /// A table: the header, a rule, and its rows. The page has aligned the cells.
    fn table(&mut self, rows: &[&str]) {
        for row in rows {
            let row = row.trim_matches('|');
            let is_rule = row.chars().all(|c| "-:| ".contains(c));
            let text = match is_rule {
                true => row
                    .chars()
                    .map(|c| if c == '|' { ' ' } else { '─' })
                    .collect(),
                false => plain(&row.replace('|', " ")),
            };
            // The page sets a space around each cell.
            self.line(text.strip_prefix([' ', '─']).unwrap_or(&text));
        }
    }
}

/// Text without the marks of code and links.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('[') {
        plain.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        let Some((name, after)) = rest.split_once(']') else {
            plain.push('[');
            continue;
        };
        // A link has a target, or is a name of the documentation.
        if let Some((_, after)) = after.strip_prefix('(').and_then(|to| to.split_once(')')) {
            plain.push_str(name);
            rest = after;
        } else if name.starts_with('`') {
            plain.push_str(name);
            rest = after;
        } else {
            plain.push('[');
        }
    }
    plain.push_str(rest);
    let plain = plain.replace("**", "").replace('`', "");
    let words = plain.split(' ').map(without_emphasis);
    words.collect::<Vec<_>>().join(" ")
}

/// A word without the asterisks around it. Those of code, as in `*c` or `a*b`, stay.
fn without_emphasis(word: &str) -> String {
    let inside = word
        .strip_prefix('*')
        .and_then(|rest| rest.rsplit_once('*'));
    match inside {
        Some((inside, after))
            if !inside.is_empty()
                && inside.chars().all(|c| c.is_alphanumeric() || c == '-')
                && after.chars().all(|c| c.is_ascii_punctuation()) =>
        {
            format!("{inside}{after}")
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_markup_is_left() {
        let markdown = "# `naive`: one\n\nText with `code` and [`a link`](b.md), [`name`] and a[i],\n\
            which is **filled** *up*, to the width of the terminal.\n\n- one item that is long \
            enough for two lines\n  and more\n- another\n\n## Table\n\n| bound | ms |\n|-------|---:|\n\
            | f32   |  1 |\n\n```text\n a * b\n```\n";
        let expected = "\
naive: one

  Text with code and a link, name and
  a[i], which is filled up, to the width
  of the terminal.

  - one item that is long enough for two
    lines and more
  - another

Table

  bound   ms
  ────── ────
  f32      1

   a * b
";
        assert_eq!(terminal(markdown, 40), expected);
    }
}
