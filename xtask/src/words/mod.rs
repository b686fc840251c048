//! `cargo xtask words`: words that the project once had for things with a name in the field, and
//! where they still are.
//!
//! The words, the field's words for them and the exceptions are in `xtask/words.toml`. Words that
//! are right in other senses are looked for in phrases and in the files where they have the old
//! sense.

mod scan;
mod scanner;
mod table;

use crate::output;
use crate::repository::Repository;
use anyhow::{Result, bail};
use scan::{Identifier, Scan, scan};
use std::collections::HashMap;
use std::fmt::Write;
use table::{Table, Word};

/// Count the old words: table of the field's words in xtask/words.toml.
#[derive(clap::Args)]
pub struct Arguments {
    /// Fail where an old word is left that is neither allowed nor in the files counted apart.
    #[arg(long)]
    check: bool,
    /// Print file, line and text of every place; with WORD (or a part of its name) those of that
    /// word alone.
    #[arg(long, value_name = "WORD", num_args = 0..=1, default_missing_value = "")]
    list: Option<String>,
    /// With --list: also the places that are allowed and those in the files counted apart.
    #[arg(long, requires = "list")]
    all: bool,
}

/// A place with an old word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hit {
    file: String,
    line: usize,
    text: String,
    standing: Standing,
}

/// Whether an old word may stand where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is to be replaced.
    Wrong,
    /// There is a reason for it.
    Allowed,
    /// It is in a file that is counted apart.
    Apart,
}

/// All that was found.
struct Count {
    /// For each word of the table its places.
    hits: Vec<Vec<Hit>>,
    /// Entries of what is allowed that nothing needs, by index.
    unused: Vec<usize>,
}

/// Counts, lists or checks. Returns what was found wrong.
///
/// # Errors
///
/// Where the table or a file cannot be read.
pub fn run(repository: &Repository, arguments: &Arguments) -> Result<Vec<String>> {
    let table = Table::read(repository)?;
    let count = count(repository, &table)?;
    if let Some(name) = &arguments.list {
        print_places(&table, &count, name, arguments.all)?;
    } else {
        print_table(&table, &count);
    }
    Ok(if arguments.check {
        findings(&table, &count)
    } else {
        Vec::new()
    })
}

fn count(repository: &Repository, table: &Table) -> Result<Count> {
    let mut files = Vec::new();
    for name in repository.files()? {
        if table::matches_any(&table.left_out, &name) {
            continue;
        }
        let is_candidate = std::path::Path::new(&name).extension().is_none_or(|e| {
            ["rs", "md", "toml", "sh", "html", "css", "txt"]
                .iter()
                .any(|x| e == *x)
        });
        if is_candidate && let Ok(text) = repository.read(&name) {
            files.push((name, text));
        }
    }
    Ok(count_in(&files, table))
}

fn count_in(files: &[(String, String)], table: &Table) -> Count {
    let mut hits: Vec<Vec<Hit>> = table.words.iter().map(|_| Vec::new()).collect();
    let mut used = vec![false; table.allowed.len()];
    let mut known: Vec<Known> = vec![Default::default(); table.words.len()];
    for (file, text) in files {
        let Some(scan) = scan(file, text) else {
            continue;
        };
        let lines: Vec<&str> = text.split('\n').collect();
        let is_apart = table::matches_any(&table.counted_apart, file);
        for (index, word) in table.words.iter().enumerate() {
            if !word.applies_to(file) {
                continue;
            }
            for line in places(word, file, &scan, &mut known[index]) {
                let text = lines
                    .get(line.saturating_sub(1))
                    .copied()
                    .unwrap_or_default();
                let mut standing = if is_apart {
                    Standing::Apart
                } else {
                    Standing::Wrong
                };
                for (entry, used) in table.allowed.iter().zip(&mut used) {
                    if entry.allows(&word.old, file, text) {
                        *used = true;
                        if !is_apart {
                            standing = Standing::Allowed;
                        }
                    }
                }
                hits[index].push(Hit {
                    file: file.clone(),
                    line,
                    text: text.trim().to_owned(),
                    standing,
                });
            }
        }
    }
    for (word, hits) in table.words.iter().zip(&mut hits) {
        if word.defined_once.is_some() {
            *hits = repeated(std::mem::take(hits));
        }
    }
    let unused = (0..used.len()).filter(|&index| !used[index]).collect();
    Count { hits, unused }
}

/// For each pattern of a word that identifiers are compared with: whether it matches those that
/// were met before.
type Known = [HashMap<String, bool>; 3];

/// Lines of a file where a word is.
fn places(word: &Word, file: &str, scan: &Scan, known: &mut Known) -> Vec<usize> {
    let mut lines = Vec::new();
    if table::matches_any(&word.paths, file) {
        lines.push(1);
    }
    if word.long_lines {
        lines.extend(&scan.long_lines);
    }
    type Applies = fn(&Identifier) -> bool;
    let patterns: [(_, Applies); 3] = [
        (&word.identifiers, |_| true),
        (&word.functions, |identifier| identifier.is_function),
        (&word.defined_once, |identifier| identifier.defines_type),
    ];
    for ((regex, applies), known) in patterns.into_iter().zip(known) {
        let Some(regex) = regex else { continue };
        for identifier in scan.identifiers.iter().filter(|each| applies(each)) {
            let matches = known.get(&identifier.name).copied().unwrap_or_else(|| {
                let matches = regex.is_match(&identifier.name);
                known.insert(identifier.name.clone(), matches);
                matches
            });
            if matches {
                lines.push(identifier.line);
            }
        }
    }
    if let Some(regex) = &word.prose {
        for prose in &scan.prose {
            if word.kinds.is_empty() || word.kinds.contains(&prose.kind) {
                lines.extend(
                    regex.find_iter(&prose.text).map(|found| {
                        prose.line + prose.text[..found.start()].matches('\n').count()
                    }),
                );
            }
        }
    }
    lines.sort_unstable();
    lines
}

/// What is left of a type's definitions when one of them may stay.
fn repeated(mut hits: Vec<Hit>) -> Vec<Hit> {
    if let Some(first) = hits.iter().position(|hit| hit.standing == Standing::Wrong) {
        hits.remove(first);
    }
    hits
}

fn number(hits: &[Hit], standing: Standing) -> usize {
    hits.iter().filter(|hit| hit.standing == standing).count()
}

fn print_table(table: &Table, count: &Count) {
    let mut text = String::from(
        "| old word | the field's word | apart | allowed | elsewhere |\n|---|---|--:|--:|--:|\n",
    );
    let mut totals = [0; 3];
    for (word, hits) in table.words.iter().zip(&count.hits) {
        let numbers = [Standing::Apart, Standing::Allowed, Standing::Wrong]
            .map(|standing| number(hits, standing));
        let [apart, allowed, wrong] = numbers;
        let _ = writeln!(
            text,
            "| {} | {} | {apart} | {allowed} | {wrong} |",
            word.old, word.new
        );
        for (total, number) in totals.iter_mut().zip(numbers) {
            *total += number;
        }
    }
    let [apart, allowed, wrong] = totals;
    let _ = writeln!(text, "| all | | {apart} | {allowed} | {wrong} |");
    output::print(&text);
}

fn print_places(table: &Table, count: &Count, name: &str, all: bool) -> Result<()> {
    let exact = table.words.iter().any(|word| word.old == name);
    let is_meant = |word: &Word| {
        if exact {
            word.old == name
        } else {
            word.old.contains(name)
        }
    };
    if !table.words.iter().any(is_meant) {
        bail!("no word of {} has `{name}` in its name", table::FILE);
    }
    let mut text = String::new();
    for (word, hits) in table.words.iter().zip(&count.hits) {
        if !is_meant(word) {
            continue;
        }
        for hit in hits {
            if all || hit.standing == Standing::Wrong {
                let _ = writeln!(
                    text,
                    "{}:{}: [{}] {}",
                    hit.file, hit.line, word.old, hit.text
                );
            }
        }
    }
    output::print(&text);
    Ok(())
}

fn findings(table: &Table, count: &Count) -> Vec<String> {
    let mut findings = Vec::new();
    for (word, hits) in table.words.iter().zip(&count.hits) {
        let wrong = number(hits, Standing::Wrong);
        if wrong > 0 {
            findings.push(format!(
                "`{}` {wrong} times: write {} (`cargo xtask words --list '{}'` says where)",
                word.old, word.new, word.old
            ));
        }
    }
    for &index in &count.unused {
        let entry = &table.allowed[index];
        let files = entry
            .files
            .as_ref()
            .map_or("any file", |files| files.as_str());
        let line = entry.line.as_ref().map_or(".", |line| line.as_str());
        findings.push(format!(
            "{}: `{}` is allowed in {files}, lines with `{line}`, and not there: take it out",
            table::FILE,
            entry.word
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
left_out = ["ptx/*"]
counted_apart = ["apart/*"]

[[word]]
old = "ring"
new = "pipeline"
identifiers = ["ring", "RING\\w*"]
prose = ["rings?"]
paths = ["*/ring.rs"]

[[word]]
old = "box of C"
new = "epilogue tile"
prose = ["box(es)? of C"]
only = ["kernels/*"]

[[word]]
old = "who"
new = "the role"
prose = ["who"]
kinds = ["comment"]

[[word]]
old = "Case"
new = "one meaning"
defined_once = ["Case"]

[[word]]
old = "part"
new = "partition"
functions = ["part"]

[[word]]
old = "long lines"
new = "100 columns"
long_lines = true

[[allow]]
word = "ring"
line = "statistics"
reason = "a ring of states"

[[allow]]
word = "who"
files = "nowhere/*"
reason = "for the test"
"#;

    fn counted(files: &[(&str, &str)]) -> (Table, Count) {
        let table = Table::of_text(TABLE).unwrap();
        let files: Vec<(String, String)> = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        let count = count_in(&files, &table);
        (table, count)
    }

    fn wrong(table: &Table, count: &Count, word: &str) -> Vec<String> {
        let index = table.words.iter().position(|each| each.old == word);
        count.hits[index.unwrap()]
            .iter()
            .filter(|hit| hit.standing == Standing::Wrong)
            .map(|hit| format!("{}:{}", hit.file, hit.line))
            .collect()
    }

    #[test]
    fn identifiers_prose_and_names_of_files_are_counted() {
        let (table, count) = counted(&[
            ("a.rs", "// A ring.\nlet ring = RING_SIZE + string;\n"),
            ("b/ring.rs", "\"rings\""),
            ("apart/a.rs", "ring"),
            ("c.rs", "// The ring of statistics.\n"),
        ]);
        let expected = ["a.rs:1", "a.rs:2", "a.rs:2", "b/ring.rs:1", "b/ring.rs:1"];
        assert_eq!(wrong(&table, &count, "ring"), expected);
        let hits = &count.hits[0];
        assert_eq!(number(hits, Standing::Apart), 1);
        assert_eq!(number(hits, Standing::Allowed), 1);
    }

    #[test]
    fn phrases_go_over_ends_of_lines_and_keep_to_their_files() {
        let text = "// first\n// a box of\n// `C`, and boxes\n// of Cs\n";
        let (table, count) = counted(&[("kernels/a.rs", text), ("host/a.rs", text)]);
        assert_eq!(wrong(&table, &count, "box of C"), ["kernels/a.rs:2"]);
    }

    #[test]
    fn kinds_of_prose_are_told_apart() {
        let (table, count) = counted(&[("a.rs", "// who\n\"who\""), ("a.md", "who")]);
        assert_eq!(wrong(&table, &count, "who"), ["a.rs:1"]);
    }

    #[test]
    fn a_type_may_be_defined_once() {
        let files = [
            ("a.rs", "struct Case; fn f(x: Case) {}"),
            ("b.rs", "pub enum Case {}"),
        ];
        let (table, count) = counted(&files);
        assert_eq!(wrong(&table, &count, "Case"), ["b.rs:1"]);
        let (table, count) = counted(&files[..1]);
        assert!(wrong(&table, &count, "Case").is_empty());
    }

    #[test]
    fn functions_are_told_from_variables() {
        let text = "fn part() {} let part = x.part(1) + part; part::<u32>();";
        let (table, count) = counted(&[("f.rs", text)]);
        assert_eq!(wrong(&table, &count, "part").len(), 3);
    }

    #[test]
    fn exceptions_that_nothing_needs_are_findings() {
        let (table, count) = counted(&[("c.rs", "// The ring of statistics.\n")]);
        let findings = findings(&table, &count);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].contains("nowhere/*"), "{}", findings[0]);
    }

    #[test]
    fn the_table_of_the_repository_is_read() {
        let table = Table::read(&Repository::here().unwrap()).unwrap();
        assert!(!table.words.is_empty());
    }

    #[test]
    fn no_old_word_is_left() {
        let repository = Repository::here().unwrap();
        let table = Table::read(&repository).unwrap();
        let findings = findings(&table, &count(&repository, &table).unwrap());
        assert!(findings.is_empty(), "{}", findings.join("\n"));
    }
}
