//! Several launches in a row, from a small file: buffers and variables stay from one to the next.
//!
//! A line is one step; `#` begins a comment. Words are separated by blanks, and a word in quotes
//! may hold some:
//!
//! ```text
//! buffer x f32[4096]=iota           # an array, as an argument of `emulate`
//! const coefficients f32[4]=1       # a .const or .global variable of the module
//! launch axpy grid=16 block=256 @x f32[4096]=zero f32:2 u32:4096
//! launch sum block=256 shared=1024 cluster=1 @x
//! launch phases grid=8 block=256 cooperative=1 @x
//! show x
//! expect x wanted.npy 1e-6          # within a tolerance; exact without one
//! out x x.npy
//! ```

use super::Argument;
use std::path::PathBuf;

/// A step of a script.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Makes a buffer.
    Buffer {
        /// Its name.
        name: String,
        /// An array.
        argument: Argument,
    },
    /// Sets a variable of the module.
    Variable {
        /// Its name in the PTX text.
        name: String,
        /// What it holds from now on.
        argument: Argument,
    },
    /// Launches a kernel.
    Launch(Launch),
    /// Shows the first elements of a buffer.
    Show {
        /// Its name.
        name: String,
    },
    /// Compares a buffer with a file.
    Expect(Expect),
    /// Writes a buffer to a file.
    Out {
        /// Its name.
        name: String,
        /// A NumPy file.
        file: String,
    },
}

/// A launch of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel.
    pub entry: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Whether it is a cooperative launch.
    pub cooperative: bool,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The arguments.
    pub arguments: Vec<Argument>,
}

/// What an array must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// The array: a buffer, or the position of an argument.
    pub name: String,
    /// A NumPy file.
    pub file: PathBuf,
    /// See [`compare`](super::compare::compare).
    pub tolerance: f64,
}

/// A step, and its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// From 1.
    pub number: usize,
    /// What it does.
    pub step: Step,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptError {
    /// From 1.
    pub line: usize,
    /// What is wrong, with which value.
    pub message: String,
}

/// The steps of a script.
///
/// # Errors
/// [`ScriptError`] with the first line that is not right.
pub fn parse(text: &str) -> Result<Vec<Line>, ScriptError> {
    let mut lines = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let wrong = |message| ScriptError {
            line: number,
            message,
        };
        let words = words(line).map_err(wrong)?;
        if let Some((first, rest)) = words.split_first() {
            let step = step(first, rest).map_err(wrong)?;
            lines.push(Line { number, step });
        }
    }
    Ok(lines)
}

/// The words of a line without its comment.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for character in line.chars() {
        match character {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '#' if !quoted && word.is_none() => break,
            character if character.is_whitespace() && !quoted => words.extend(word.take()),
            character => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match quoted {
        true => Err("a quote is not closed".to_owned()),
        false => Ok(words),
    }
}

fn step(first: &str, rest: &[String]) -> Result<Step, String> {
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    let argument = |text: &str| text.parse::<Argument>().map_err(|error| error.to_string());
    let named = |name: &str| name.to_owned();
    match (first, &words[..]) {
        ("buffer", [name, text]) => match argument(text)? {
            argument @ Argument::Array { .. } => Ok(Step::Buffer {
                name: named(name),
                argument,
            }),
            _ => Err(format!("{text:?} is no array: write TYPE[LENGTHS]=CONTENT")),
        },
        ("const", [name, text]) => Ok(Step::Variable {
            name: named(name),
            argument: argument(text)?,
        }),
        ("launch", [entry, words @ ..]) => launch(entry, words).map(Step::Launch),
        ("show", [name]) => Ok(Step::Show { name: named(name) }),
        ("out", [name, file]) => Ok(Step::Out {
            name: named(name),
            file: named(file),
        }),
        ("expect", [name, file]) => expect(name, file, None).map(Step::Expect),
        ("expect", [name, file, tolerance]) => {
            expect(name, file, Some(tolerance)).map(Step::Expect)
        }
        _ => Err(format!(
            "{:?} is no step: write buffer NAME ARRAY, const NAME VALUE, launch ENTRY \
             [grid=X,Y,Z] [block=X,Y,Z] [cluster=X,Y,Z] [cooperative=1] [shared=BYTES] \
             ARGUMENT..., show NAME, \
             expect NAME FILE.npy [TOLERANCE], or out NAME FILE.npy",
            [&[first], &words[..]].concat().join(" ")
        )),
    }
}

fn launch(entry: &str, words: &[&str]) -> Result<Launch, String> {
    let mut launch = Launch {
        entry: entry.to_owned(),
        grid: [1; 3],
        block: [1; 3],
        cluster: None,
        cooperative: false,
        shared: 0,
        arguments: Vec::new(),
    };
    for word in words {
        let setting = word
            .split_once('=')
            .filter(|(key, _)| !key.contains(['[', '{', '@', ':']));
        match setting {
            Some(("grid", value)) => launch.grid = extents(value)?,
            Some(("block", value)) => launch.block = extents(value)?,
            Some(("cluster", value)) => launch.cluster = Some(extents(value)?),
            Some(("cooperative", value)) => {
                launch.cooperative = match value {
                    "0" => false,
                    "1" => true,
                    _ => return Err(format!("cooperative={value}: write 0 or 1")),
                };
            }
            Some(("shared", value)) => {
                let bytes = value.parse();
                launch.shared = bytes.map_err(|_| format!("shared={value}: write bytes"))?;
            }
            Some((key, _)) => {
                return Err(format!(
                    "{key:?} is none of grid, block, cluster, cooperative, shared"
                ));
            }
            None => {
                let index = launch.arguments.len();
                let argument = word.parse::<Argument>();
                let argument = argument.map_err(|error| format!("argument {index}: {error}"))?;
                launch.arguments.push(argument);
            }
        }
    }
    Ok(launch)
}

/// Extents as text: `X`, `X,Y` or `X,Y,Z`.
///
/// # Errors
/// What is wrong, in words.
pub fn extents(text: &str) -> Result<[u32; 3], String> {
    let mut extents = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err(format!("{text:?}: write X, X,Y or X,Y,Z"));
    }
    for (extent, part) in extents.iter_mut().zip(parts) {
        *extent = part.parse().map_err(|_| format!("{part:?} is no number"))?;
    }
    Ok(extents)
}

/// An expectation from its parts.
///
/// # Errors
/// What is wrong, in words.
pub fn expect(name: &str, file: &str, tolerance: Option<&str>) -> Result<Expect, String> {
    let tolerance = match tolerance {
        None => 0.0,
        Some(text) => match text.parse::<f64>() {
            Ok(tolerance) if tolerance >= 0.0 => tolerance,
            _ => return Err(format!("{text:?} is no tolerance: write a number from 0")),
        },
    };
    Ok(Expect {
        name: name.to_owned(),
        file: file.into(),
        tolerance,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_with_their_lines() {
        let text = "\
# two launches
buffer x f32[8]=iota   # stays

launch scale grid=2,1 block=4 shared=16 @x {f32:2,u32:8}
expect x \"a b.npy\" 1e-3
out x x.npy";
        let lines = parse(text).unwrap();
        assert_eq!(
            lines.iter().map(|line| line.number).collect::<Vec<_>>(),
            [2, 4, 5, 6]
        );
        let Step::Launch(launch) = &lines[1].step else {
            panic!("a launch");
        };
        assert_eq!(
            (launch.grid, launch.block, launch.shared),
            ([2, 1, 1], [4, 1, 1], 16)
        );
        assert_eq!(launch.arguments.len(), 2);
        let Step::Expect(expect) = &lines[2].step else {
            panic!("an expectation");
        };
        assert_eq!(
            (expect.file.to_str(), expect.tolerance),
            (Some("a b.npy"), 1e-3)
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, reason) in [
            ("\nstart x", "line 2: \"start x\" is no step"),
            ("buffer x u32:5", "line 1: \"u32:5\" is no array"),
            ("buffer x u33[5]", "line 1: unknown type \"u33\""),
            ("launch k grid=2,x", "line 1: \"x\" is no number"),
            ("launch k grid=1,2,3,4", "write X, X,Y or X,Y,Z"),
            ("launch k threads=2", "\"threads\" is none of grid"),
            ("launch k shared=many", "shared=many: write bytes"),
            ("launch k u32:x", "argument 0: \"x\" is no u32"),
            ("expect x y.npy -1", "\"-1\" is no tolerance"),
            ("expect x y.npy nan", "\"nan\" is no tolerance"),
            ("out x \"y", "line 1: a quote is not closed"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
            assert!(!error.contains('\n'));
        }
    }
}
