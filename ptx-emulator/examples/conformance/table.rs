//! The forms of instructions that the PTX ISA's grammar allows, and what the decoder says of each.

use std::fmt::Write;

use ptx_emulator::Module;

#[path = "forms/mod.rs"]
mod families;

/// The target of forms that need no newer one: compute capability 9.0.
pub const TARGET: &str = "sm_90a";

/// One form of an instruction.
#[derive(Clone, Debug)]
pub struct Form {
    /// The instruction with its modifiers and types.
    pub opcode: String,
    /// Its operands: registers by their kind and number.
    pub operands: String,
    /// The first target that has it.
    pub target: &'static str,
}

impl Form {
    /// Opcode and operands, as the table of results names a form.
    pub fn text(&self) -> String {
        format!("{} {}", self.opcode, self.operands)
    }
}

/// The alternatives in brackets, one after the other; `|` in front of the first stands for none.
fn expand(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('[') else {
        return vec![pattern.to_string()];
    };
    let (inside, behind) = rest.split_once(']').unwrap_or((rest, ""));
    let mut alternatives: Vec<&str> = inside.split('|').collect();
    if alternatives.len() == 1 {
        alternatives.insert(0, "");
    }
    let tails = expand(behind);
    let with = |alternative: &&str| -> Vec<String> {
        let with_tail = |tail: &String| format!("{before}{alternative}{tail}");
        tails.iter().map(with_tail).collect()
    };
    alternatives.iter().flat_map(with).collect()
}

/// Registers in place of the letters of an operand list.
fn operands(pattern: &str) -> String {
    let mut next = 0;
    let mut number = || {
        next += 1;
        next
    };
    let group = |name: char, counts: &str| -> String {
        let counts: Vec<usize> = counts.split(',').filter_map(|n| n.parse().ok()).collect();
        let mut at = 0;
        let fragments = counts.iter().map(|&count| {
            let registers: Vec<String> = (at..at + count).map(|i| format!("%{name}{i}")).collect();
            at += count;
            format!("{{{}}}", registers.join(", "))
        });
        fragments.collect::<Vec<_>>().join(", ")
    };
    match pattern.split_once(':') {
        Some(("M", counts)) => return group('r', counts),
        Some(("D", counts)) => return group('x', counts),
        _ => {}
    }
    let mut text = String::new();
    for letter in pattern.chars() {
        match letter {
            // A selector behind a register.
            _ if text.ends_with('.') => text.push(letter),
            'b' | 'h' | 'r' | 'x' | 'p' | 'q' => _ = write!(text, "%{letter}{}", number()),
            'R' => text.push_str("%address"),
            letter => text.push(letter),
        }
    }
    text
}

/// All forms.
pub fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for families in families::FORMS {
        add_forms(&mut all, families, TARGET);
    }
    for (target, families) in families::NEWER {
        add_forms(&mut all, families, target);
    }
    all
}

fn add_forms(all: &mut Vec<Form>, families: &[families::Family], target: &'static str) {
    let mut add = |opcode: String, operands: String| {
        all.push(Form {
            opcode,
            operands,
            target,
        });
    };
    for (opcode, pattern) in families {
        for opcode in expand(opcode) {
            if let Some(of_value) = pattern.strip_prefix("A:") {
                let value = match of_value {
                    "q" => "%q1".to_string(),
                    "4" => "{%r1,%r2,%r3,%r4}".to_string(),
                    "X" if opcode.contains(".v2") => "{%x1,%x2}".to_string(),
                    "X" => "%x1".to_string(),
                    "x" if opcode.ends_with("64") => "%x1".to_string(),
                    _ => "%r1".to_string(),
                };
                let text = match opcode.starts_with("ld") {
                    true => format!("{value}, [%address]"),
                    false => format!("[%address], {value}"),
                };
                add(opcode, text);
                continue;
            }
            // Optional operands go with the modifiers that need them.
            let combines = opcode
                .split('.')
                .any(|part| matches!(part, "and" | "or" | "xor"));
            for pattern in with_options(pattern, combines) {
                add(opcode.clone(), operands(&pattern));
            }
        }
    }
}

/// `[|p]`: with and without; `[,p]`: where the opcode combines with a predicate; `<a|b>`: each of
/// them.
fn with_options(pattern: &str, combines: bool) -> Vec<String> {
    let pattern = match combines {
        true => pattern.replace("[,p]", ",p"),
        false => pattern.replace("[,p]", ""),
    };
    if let Some((before, rest)) = pattern.split_once('<')
        && let Some((inside, behind)) = rest.split_once('>')
    {
        let alternatives = inside.split('|');
        return alternatives
            .map(|part| format!("{before}{part}{behind}"))
            .collect();
    }
    match pattern.contains("[|p]") {
        true => vec![pattern.replace("[|p]", ""), pattern.replace("[|p]", "|p")],
        false => vec![pattern],
    }
}

/// The start of a module for a target.
pub fn header(target: &str) -> String {
    let version = match target {
        TARGET => "8.7",
        // Forms of families of GPUs are those of the newest version.
        family if family.ends_with('f') => "9.4",
        _ => "9.0",
    };
    format!(".version {version}\n.target {target}\n.address_size 64\n")
}

/// Lines of a kernel with one instruction, and which of them has it, from 0.
pub const KERNEL_LINES: usize = 5;
pub const FORM_LINE: usize = 3;

/// A kernel with one instruction.
pub fn kernel(name: &str, form: &Form) -> String {
    format!(
        ".visible .entry {name}() {{\n\
         .reg .b8 %b<64>; .reg .b16 %h<64>; .reg .b32 %r<64>; .reg .b64 %x<64>;\n\
         .reg .pred %p<64>; .reg .b128 %q<8>; .reg .b64 %address;\n{} {};\nret; }}\n",
        form.opcode, form.operands
    )
}

/// Why the emulator refuses a form; nothing where it takes it.
pub fn refusal(form: &Form) -> Option<String> {
    let text = header(form.target) + &kernel("form", form);
    let module = match Module::parse(&text) {
        Ok(module) => module,
        Err(error) => return Some(error.to_string()),
    };
    module.kernel("form").err().map(|error| error.to_string())
}

/// Whether the decoder takes a form.
pub fn is_decoded(form: &Form) -> bool {
    refusal(form).is_none()
}
