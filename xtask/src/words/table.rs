//! The table of old words, `xtask/words.toml`, and what is allowed of them.

use super::scan::Kind;
use crate::repository::Repository;
use anyhow::{Context, Result, bail};
use glob::Pattern;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

/// The file, relative to the repository's root.
pub const FILE: &str = "xtask/words.toml";

/// The table.
pub struct Table {
    /// Files that are not looked at.
    pub left_out: Vec<Pattern>,
    /// Files that are counted by themselves.
    pub counted_apart: Vec<Pattern>,
    /// The words, in the order of the file.
    pub words: Vec<Word>,
    /// What may be.
    pub allowed: Vec<Allowed>,
}

/// An old word in one sense.
pub struct Word {
    /// Its name in the table; unique.
    pub old: String,
    /// What to write.
    pub new: String,
    /// Identifiers.
    pub identifiers: Option<Regex>,
    /// Identifiers of functions.
    pub functions: Option<Regex>,
    /// Phrases.
    pub prose: Option<Regex>,
    /// The kinds of prose to look at; all where it is empty.
    pub kinds: Vec<Kind>,
    /// Names of types, of which each may be defined once.
    pub defined_once: Option<Regex>,
    /// Names of files.
    pub paths: Vec<Pattern>,
    /// Whether lines that are too long are counted.
    pub long_lines: bool,
    only: Vec<Pattern>,
    except: Vec<Pattern>,
}

impl Word {
    /// Whether the word is looked for in a file.
    pub fn applies_to(&self, file: &str) -> bool {
        (self.only.is_empty() || matches_any(&self.only, file)) && !matches_any(&self.except, file)
    }
}

/// A place where an old word may be.
pub struct Allowed {
    /// The word's name in the table.
    pub word: String,
    /// The files; all where there is none.
    pub files: Option<Pattern>,
    /// The lines; all where there is none.
    pub line: Option<Regex>,
}

impl Allowed {
    /// Whether it allows `word` in this line of this file.
    pub fn allows(&self, word: &str, file: &str, line: &str) -> bool {
        self.word == word
            && self.files.as_ref().is_none_or(|files| files.matches(file))
            && self.line.as_ref().is_none_or(|regex| regex.is_match(line))
    }
}

/// Whether one of the patterns matches a file's name.
pub fn matches_any(patterns: &[Pattern], file: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(file))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    left_out: Vec<String>,
    counted_apart: Vec<String>,
    word: Vec<WordEntry>,
    #[serde(default)]
    allow: Vec<AllowEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordEntry {
    old: String,
    new: String,
    #[serde(default)]
    identifiers: Vec<String>,
    #[serde(default)]
    functions: Vec<String>,
    #[serde(default)]
    prose: Vec<String>,
    #[serde(default)]
    kinds: Vec<Kind>,
    #[serde(default)]
    defined_once: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    long_lines: bool,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowEntry {
    word: String,
    files: Option<String>,
    line: Option<String>,
    reason: String,
}

impl Table {
    /// Reads the table.
    ///
    /// # Errors
    ///
    /// Where it is missing, has another form, or holds a pattern that is none.
    pub fn read(repository: &Repository) -> Result<Self> {
        Self::of_text(&repository.read(FILE)?).with_context(|| format!("{FILE} is not as expected"))
    }

    /// The table in a text.
    ///
    /// # Errors
    ///
    /// Where it has another form, or holds a pattern that is none.
    pub fn of_text(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)?;
        let mut words: Vec<Word> = Vec::new();
        for entry in file.word {
            let old = entry.old.clone();
            if words.iter().any(|word| word.old == old) {
                bail!("`{old}` stands twice: give each sense a name of its own");
            }
            words.push(compiled(entry).with_context(|| format!("word `{old}`"))?);
        }
        let mut allowed = Vec::new();
        for entry in file.allow {
            let word = entry.word;
            if !words.iter().any(|known| known.old == word) {
                bail!("`{word}` is allowed and is not in the table");
            }
            if entry.files.is_none() && entry.line.is_none() || entry.reason.is_empty() {
                bail!("what is allowed of `{word}` needs files or a line, and a reason");
            }
            allowed.push(Allowed {
                word,
                files: entry.files.as_deref().map(Pattern::new).transpose()?,
                line: entry.line.as_deref().map(Regex::new).transpose()?,
            });
        }
        Ok(Self {
            left_out: patterns(&file.left_out)?,
            counted_apart: patterns(&file.counted_apart)?,
            words,
            allowed,
        })
    }
}

fn compiled(entry: WordEntry) -> Result<Word> {
    Ok(Word {
        identifiers: whole(&entry.identifiers)?,
        functions: whole(&entry.functions)?,
        prose: phrases(&entry.prose)?,
        defined_once: whole(&entry.defined_once)?,
        paths: patterns(&entry.paths)?,
        only: patterns(&entry.only)?,
        except: patterns(&entry.except)?,
        old: entry.old,
        new: entry.new,
        kinds: entry.kinds,
        long_lines: entry.long_lines,
    })
}

fn patterns(globs: &[String]) -> Result<Vec<Pattern>> {
    globs
        .iter()
        .map(|glob| Pattern::new(glob).with_context(|| format!("`{glob}` is no glob")))
        .collect()
}

/// One expression for whole identifiers.
fn whole(alternatives: &[String]) -> Result<Option<Regex>> {
    if alternatives.is_empty() {
        return Ok(None);
    }
    Ok(Some(Regex::new(&format!(
        "^(?:{})$",
        alternatives.join("|")
    ))?))
}

/// One expression for phrases: whole words, in any case, over ends of lines.
fn phrases(alternatives: &[String]) -> Result<Option<Regex>> {
    if alternatives.is_empty() {
        return Ok(None);
    }
    let joined = alternatives.join("|").replace(' ', r"\s+");
    // The engine that is fast in unoptimised builds knows ends of words of ASCII alone.
    let regex = RegexBuilder::new(&format!(r"(?-u:\b)(?:{joined})(?-u:\b)"))
        .case_insensitive(true)
        .build()?;
    Ok(Some(regex))
}
