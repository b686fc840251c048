//! The document of forms: what is known of each, by instruction and type.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::table::{Form, forms, refusal};

/// What is known of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A GPU gave the same bits in all rows.
    Exact,
    /// Within the error that the ISA states for an approximation.
    Within,
    /// It follows the ISA, or a published measurement, and was not compared.
    Unmeasured,
    /// A GPU gave other bits in some rows where the ISA leaves them open.
    Open,
    /// The kernel is refused, with the reason.
    Refused,
    /// The assembler refuses it too.
    NoForm,
}

/// The instruction's name without modifiers.
pub fn base(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or("")
}

/// Whether the ISA states an error for a form, not a result.
pub fn is_approximate(opcode: &str) -> bool {
    let mut parts = opcode.split('.');
    parts.any(|part| matches!(part, "approx" | "full"))
}

/// The type that a form counts under: that of its operands.
fn type_of(opcode: &str) -> &str {
    let parts = opcode.split('.').skip(1);
    let is_type = |part: &&str| {
        let digits = part.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let digits = digits.strip_suffix("x2").unwrap_or(digits);
        part.starts_with(['b', 'u', 's', 'f', 't', 'e'])
            && (digits.parse::<u32>().is_ok()
                || matches!(digits, "4m3" | "5m2" | "2m3" | "3m2" | "2m1")
                || *part == "ue8m0x2")
            && !matches!(*part, "f4e" | "b4e")
            || *part == "pred"
    };
    parts.filter(is_type).last().unwrap_or("")
}

/// The error that the ISA states for an approximation, or that of the format where it states none.
pub fn bound(opcode: &str) -> &'static str {
    match (base(opcode), type_of(opcode)) {
        ("div", _) => "2 ulp",
        ("rcp", "f32") => "1 ulp",
        ("sqrt", _) => "relative error 2^-23",
        ("rsqrt", "f32") => "relative error 2^-22.9",
        ("sin" | "cos", _) => "absolute error 2^-20.5 from -2π to 2π",
        ("lg2", _) => "absolute error 2^-22 between 0.5 and 2, else relative error 2^-22",
        ("ex2", "f32") => "2 ulp",
        ("ex2", "f16" | "f16x2") => "relative error 2^-9.9",
        ("ex2", _) => "relative error 2^-7",
        ("tanh", "f32") => "relative error 2^-11",
        ("tanh", "f16" | "f16x2") => "absolute error 2^-10.987",
        ("tanh", _) => "absolute error 2^-8",
        ("rcp" | "rsqrt", _) => "gross; of `.ftz`, the upper 32 bits",
        _ => "",
    }
}

/// What the emulator makes of the forms of one instruction and one type.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    exact: usize,
    within: usize,
    unmeasured: usize,
    open: usize,
    refused: usize,
}

/// The table, as Markdown. `state` says what is known of a form.
pub fn table(state: impl Fn(&Form) -> State) -> String {
    let mut counts: BTreeMap<(String, String), (Count, &str)> = BTreeMap::new();
    let mut refused: BTreeMap<String, String> = BTreeMap::new();
    let mut all = Count::default();
    for form in forms() {
        let state = state(&form);
        if state == State::NoForm {
            continue;
        }
        let key = (
            base(&form.opcode).to_string(),
            type_of(&form.opcode).to_string(),
        );
        let (count, of_form) = counts.entry(key).or_default();
        for count in [count, &mut all] {
            match state {
                State::Exact => count.exact += 1,
                State::Within => count.within += 1,
                State::Unmeasured => count.unmeasured += 1,
                State::Open => count.open += 1,
                State::Refused | State::NoForm => count.refused += 1,
            }
        }
        if state == State::Within {
            *of_form = bound(&form.opcode);
        }
        if state == State::Refused {
            let reason = refusal(&form).unwrap_or_default();
            refused.insert(form.opcode, reason_of(&reason));
        }
    }
    let mut text = String::from(INTRODUCTION);
    let total = all.exact + all.within + all.unmeasured + all.open + all.refused;
    _ = writeln!(
        text,
        "{total} forms: {} exact, {} within the stated error, {} not measured, {} open, {} \
         refused.\n",
        all.exact, all.within, all.unmeasured, all.open, all.refused
    );
    text.push_str(
        "| instruction | type | exact | within | not measured | open | refused | error |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let show = |count: usize| match count {
        0 => String::new(),
        count => count.to_string(),
    };
    for ((base, ty), (count, bound)) in &counts {
        let Count {
            exact,
            within,
            unmeasured,
            open,
            refused,
        } = *count;
        let cells = [exact, within, unmeasured, open, refused].map(show);
        _ = writeln!(
            text,
            "| `{base}` | {ty} | {} | {bound} |",
            cells.join(" | ")
        );
    }
    text.push_str("\n## Refused\n\n");
    for (opcode, reason) in &refused {
        let line = match reason.is_empty() {
            true => format!("- `{opcode}`"),
            false => format!("- `{opcode}`: {reason}"),
        };
        text.push_str(&wrapped(&line));
    }
    text
}

/// A list item in lines of at most 100 columns.
fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut width = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        match width {
            0 => text.push_str(word),
            _ if width + 1 + length > 100 => {
                text.push_str("\n  ");
                text.push_str(word);
                width = 1;
            }
            _ => {
                text.push(' ');
                text.push_str(word);
            }
        }
        width += 1 + length;
    }
    text + "\n"
}

/// The decoder's reason without the kernel and its place; nothing where it says but that the form
/// is not known.
fn reason_of(message: &str) -> String {
    match message.split_once(" is refused: ") {
        Some((_, reason)) => reason.to_string(),
        None => String::new(),
    }
}

const INTRODUCTION: &str = "\
# Forms of instructions

Made by `cargo run -p warpladder-forms -- --table` from the decoder of the emulator and from
`results/*/forms.json`; a test holds it. A form is an opcode with its modifiers and types, and
the kinds of its operands.

- *Exact*: an H100 or H200 gave the same bits in all of 2048 rows of edge values and random bits.
- *Within*: an approximation. The emulator computes it in double precision and rounds once, which is
  within the error that the PTX ISA states, in the last column.
- *Not measured*: the result follows the text of the PTX ISA, the definition of the format, or what
  others published of tensor cores, or the machine code that NVIDIA's assembler makes of the form.
  It was not compared with a GPU: these GPUs do not have it, or there was no GPU when it was
  added or its rule was changed.
- *Open*: an H100 or H200 gave other bits in some rows, where the PTX ISA leaves them open.
- *Refused*: the kernel is refused, with the name of the form, and below with the reason where there
  is another than that it is missing.

`cargo run -p ptx-emulator --example conformance -- --ptxas PROGRAM` compares the list with what
NVIDIA's assembler takes for each target.

";
