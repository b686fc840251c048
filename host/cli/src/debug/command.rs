//! What can be typed, in the words of cuda-gdb where it has them.

use warpladder_lab::emulate::Scalar;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Command {
    Run,
    Continue,
    Step(u64),
    Next(u64),
    Stepi(u64),
    Break(Location),
    Delete(Option<u32>),
    Watch(Elements),
    Print(Option<Format>, Printed),
    Info(Info),
    Block([u32; 3]),
    Warp(u32),
    Lane(u32),
    List(Option<u32>),
    Disassemble(Option<u64>),
    Backtrace,
    Findings,
    Help,
    Quit,
}

/// Where to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// A line, of the kernel's own file where none is named.
    Line { file: Option<String>, line: u32 },
    /// The instruction of this number in `disassemble`.
    Instruction(u64),
    /// A label, a function, or an opcode.
    Name(String),
}

/// What is printed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Printed {
    /// A register, or a special one.
    Register(String),
    Elements(Elements),
}

/// Elements of an array in memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Elements {
    pub(super) space: Space,
    pub(super) base: Base,
    pub(super) first: u64,
    pub(super) count: u64,
    /// Their type, where one is given.
    pub(super) element: Option<Scalar>,
    /// As it was typed.
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Shared,
    Global,
}

/// Where an array begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Base {
    /// At the start of shared memory.
    Start,
    /// Where this variable, or the array of this parameter, begins.
    Name(String),
    /// Where the pointer leads that is the parameter of this number, from 0.
    Param(u64),
    /// At an address.
    Address(u64),
    /// Where this register of the focused lane points.
    Register(String),
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Hexadecimal,
    Signed,
    Unsigned,
    Float,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Info {
    /// All registers, or those of these names.
    Registers(Vec<String>),
    Warps,
    Barriers,
    Breakpoints,
    Launch,
    Shared,
}

/// Most elements of one command.
const MAX_ELEMENTS: u64 = 1024;

/// A command's name, other names, what may follow, and what it does.
type Known = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static str,
);

const COMMANDS: [Known; 19] = [
    (
        "run",
        &["r"],
        "",
        "run to the next stop; later, begin again",
    ),
    ("continue", &["c"], "", "go on to the next stop"),
    (
        "step",
        &["s"],
        "[N]",
        "run the focused warp to another source line",
    ),
    (
        "next",
        &["n"],
        "[N]",
        "the same, without stopping in functions that it calls",
    ),
    (
        "stepi",
        &["si"],
        "[N]",
        "run one PTX instruction of the focused warp",
    ),
    (
        "break",
        &["b"],
        "LINE|FILE:LINE|LABEL|OPCODE|*NUMBER",
        "stop there; the file of PTX lines is ptx, *NUMBER is an instruction",
    ),
    ("watch", &[], "ELEMENTS", "stop where they change"),
    (
        "delete",
        &["d"],
        "[N]",
        "remove breakpoint or watchpoint N, or all",
    ),
    (
        "print",
        &["p"],
        "[/xduf] %REGISTER|ELEMENTS",
        "a register in all lanes, or memory; /x hexadecimal, /d and /u integers, /f floats",
    ),
    (
        "info",
        &["i"],
        "registers [%R ...]|warps|barriers|shared|launch|breakpoints",
        "what there is, and why each warp waits",
    ),
    (
        "block",
        &[],
        "X[,Y[,Z]]",
        "focus on a block; one that has not begun is run to",
    ),
    ("warp", &[], "N", "focus on a warp of the block"),
    ("lane", &[], "N", "focus on a lane of the warp"),
    (
        "list",
        &["l"],
        "[LINE]",
        "the source around the focus, or around a line",
    ),
    (
        "disassemble",
        &["x"],
        "[NUMBER]",
        "the PTX instructions around the focus; also x/i",
    ),
    (
        "backtrace",
        &["bt", "where"],
        "",
        "where the focused lane is, and the calls that led there",
    ),
    ("findings", &[], "", "what the sanitizers have found so far"),
    ("help", &["h", "?"], "", "this list"),
    ("quit", &["q", "exit"], "", "end"),
];

/// All commands, a line each.
pub(super) fn help() -> String {
    let mut text = String::new();
    for (name, aliases, usage, words) in COMMANDS {
        let usage = [name, usage].join(" ");
        let usage = usage.trim_end();
        let aliases = match aliases {
            [] => String::new(),
            aliases => format!(" ({})", aliases.join(", ")),
        };
        text += &format!("{usage}{aliases}\n    {words}\n");
    }
    text + "ELEMENTS are shared[0..32], shared NAME[4], global 2[0..8] (where parameter 2 points), \
            global\n%rd4[0..8], global 0x1000[0], each with `as TYPE` (f32, unless it is known); \
            the end of a range\nis not in it.\n"
}

/// The command of a line; none of an empty one, or of a comment behind `#`.
///
/// # Errors
/// What is wrong, in one line.
pub(super) fn parse(line: &str) -> Result<Option<Command>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line.find(|c: char| c.is_whitespace() || c == '/');
    let (word, rest) = line.split_at(end.unwrap_or(line.len()));
    let (format, rest) = match rest.strip_prefix('/') {
        Some(rest) => match rest.split_once(char::is_whitespace) {
            Some((format, rest)) => (Some(format), rest),
            None => (Some(rest), ""),
        },
        None => (None, rest),
    };
    let name = name_of(word)?;
    let is_code = name == "disassemble" && format == Some("i");
    if format.is_some() && name != "print" && !is_code {
        return Err(format!(
            "{word} takes no format: print does, as in print/x %r1"
        ));
    }
    command(name, format, rest.trim()).map(Some)
}

/// The whole name of a command: by one of its short names, or by its beginning.
fn name_of(word: &str) -> Result<&'static str, String> {
    let exact = |(name, aliases, ..): &&Known| *name == word || aliases.contains(&word);
    if let Some((name, ..)) = COMMANDS.iter().find(exact) {
        return Ok(name);
    }
    let names = COMMANDS.iter().map(|(name, ..)| *name);
    let is_begun = |name: &&str| !word.is_empty() && name.starts_with(word);
    let begun: Vec<&str> = names.filter(is_begun).collect();
    match begun[..] {
        [name] => Ok(name),
        [] => Err(format!("there is no command {word:?}: see help")),
        _ => Err(format!("{word:?} is ambiguous: {}", begun.join(", "))),
    }
}

fn command(name: &str, format: Option<&str>, rest: &str) -> Result<Command, String> {
    let none = |command: Command| match rest {
        "" => Ok(command),
        _ => Err(format!("{name} takes nothing, not {rest:?}")),
    };
    let count = || match rest {
        "" => Ok(1),
        _ => match number(rest)? {
            0 => Err(format!("{name} takes a number from 1 on")),
            count => Ok(count),
        },
    };
    let optional = |rest: &str| match rest {
        "" => Ok(None),
        rest => number(rest).map(Some),
    };
    match name {
        "run" => none(Command::Run),
        "continue" => none(Command::Continue),
        "step" => Ok(Command::Step(count()?)),
        "next" => Ok(Command::Next(count()?)),
        "stepi" => Ok(Command::Stepi(count()?)),
        "break" => Ok(Command::Break(place(rest)?)),
        "delete" => Ok(Command::Delete(match rest {
            "" => None,
            rest => Some(small(rest)?),
        })),
        "watch" => Ok(Command::Watch(elements(rest)?)),
        "print" => Ok(Command::Print(format.map(self::format).transpose()?, {
            match rest.strip_prefix('%') {
                Some(name) if is_name(name) => Printed::Register(rest.to_owned()),
                Some(_) => return Err(format!("{rest:?} is no register")),
                None => Printed::Elements(elements(rest)?),
            }
        })),
        "info" => info(rest).map(Command::Info),
        "block" => Ok(Command::Block(crate::draw::block(rest)?)),
        "warp" => Ok(Command::Warp(small(rest)?)),
        "lane" => Ok(Command::Lane(small(rest)?)),
        "list" => Ok(Command::List(match rest {
            "" => None,
            rest => Some(small(rest)?),
        })),
        "disassemble" => Ok(Command::Disassemble(optional(rest)?)),
        "backtrace" => none(Command::Backtrace),
        "findings" => none(Command::Findings),
        "help" => Ok(Command::Help),
        _ => none(Command::Quit),
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_$%.".contains(c);
    !name.is_empty() && name.chars().all(is_part)
}

/// A number, in decimal or behind 0x.
fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("{text:?} is no number from 0 to {}", u64::MAX))
}

fn small(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is no number from 0 to {}", u32::MAX))
}

fn format(text: &str) -> Result<Format, String> {
    match text {
        "x" => Ok(Format::Hexadecimal),
        "d" => Ok(Format::Signed),
        "u" => Ok(Format::Unsigned),
        "f" => Ok(Format::Float),
        _ => Err(format!("there is no format /{text}: use /x, /d, /u or /f")),
    }
}

fn place(text: &str) -> Result<Location, String> {
    if text.is_empty() {
        return Err("break where? Give a line, FILE:LINE, a label or *NUMBER".to_owned());
    }
    if let Some(instruction) = text.strip_prefix('*') {
        return Ok(Location::Instruction(number(instruction)?));
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let line = small(text)?;
        return Ok(Location::Line { file: None, line });
    }
    match text.rsplit_once(':') {
        Some((file, line)) => Ok(Location::Line {
            file: Some(file.to_owned()),
            line: small(line)?,
        }),
        None => Ok(Location::Name(text.to_owned())),
    }
}

fn info(text: &str) -> Result<Info, String> {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let names = [
        "registers",
        "warps",
        "barriers",
        "breakpoints",
        "launch",
        "shared",
    ];
    let found = names.into_iter().find(|name| name.starts_with(first));
    let rest: Vec<String> = words.map(str::to_owned).collect();
    let info = match (found, first) {
        (_, "") | (None, _) => {
            return Err(format!("info what? There are: {}", names.join(", ")));
        }
        (Some("registers"), _) => return Ok(Info::Registers(rest)),
        (Some("warps"), _) => Info::Warps,
        (Some("barriers"), _) => Info::Barriers,
        (Some("breakpoints"), _) => Info::Breakpoints,
        (Some("launch"), _) => Info::Launch,
        (Some(_), _) => Info::Shared,
    };
    match rest.is_empty() {
        true => Ok(info),
        false => Err(format!("info {first} takes nothing more")),
    }
}

fn elements(text: &str) -> Result<Elements, String> {
    let wrong = || {
        format!(
            "{text:?} is nothing to print: write %r1, shared[0..32] or global 0[0..8] (see help)"
        )
    };
    let (array, element) = match text.split_once(" as ") {
        None => (text, None),
        Some((array, name)) => {
            let element: Scalar = name.trim().parse().map_err(|error| format!("{error}"))?;
            (array, Some(element))
        }
    };
    let array = array.trim();
    let (front, index) = array
        .strip_suffix(']')
        .and_then(|array| array.split_once('['))
        .ok_or_else(wrong)?;
    let (space, base) = match front.trim().split_once(char::is_whitespace) {
        None => (front.trim(), ""),
        Some((space, base)) => (space, base.trim()),
    };
    let space = match space {
        "shared" => Space::Shared,
        "global" => Space::Global,
        _ => return Err(wrong()),
    };
    let base = match base {
        "" if space == Space::Shared => Base::Start,
        "" => return Err("global memory has no start: write global 0[0..8]".to_owned()),
        base if base.starts_with('%') => Base::Register(base.to_owned()),
        base if base.starts_with("0x") => Base::Address(number(base)?),
        base if base.starts_with(|c: char| c.is_ascii_digit()) && space == Space::Global => {
            Base::Param(number(base)?)
        }
        base if is_name(base) => Base::Name(base.to_owned()),
        _ => return Err(wrong()),
    };
    let (first, end) = match index.split_once("..") {
        Some((first, end)) => (number(first.trim())?, number(end.trim())?),
        None => {
            let first = number(index.trim())?;
            (first, first.saturating_add(1))
        }
    };
    let count = end.checked_sub(first).filter(|&count| count != 0);
    let count = count.ok_or_else(|| format!("[{index}] has no elements"))?;
    if count > MAX_ELEMENTS {
        return Err(format!(
            "{count} elements are too many: ask for {MAX_ELEMENTS} at most"
        ));
    }
    Ok(Elements {
        space,
        base,
        first,
        count,
        element,
        text: array.to_owned(),
    })
}

#[cfg(test)]
mod tests;
