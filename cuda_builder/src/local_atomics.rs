//! Atomic instructions on local memory.
//!
//! Local memory is a thread's own, so PTX has no atomic instructions for it (PTX ISA, "Parallel
//! Synchronization and Communication Instructions: atom"). LLVM replaces those on variables of the
//! stack by plain ones, except compare-and-swap, which it writes as `atom.….local.cas`. `ptxas`
//! refuses that.

/// A line with an atomic instruction on local memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Local {
    /// The plain instructions that do the same, each with its line end.
    Plain(String),
    /// There are none for it.
    Unsupported,
}

/// What the line has on local memory; none where it is another line.
pub(crate) fn rewrite(line: &str) -> Option<Local> {
    let statement = line.trim();
    let instruction = match statement.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim_start(),
        None => statement,
    };
    let (opcode, operands) = instruction.split_once(char::is_whitespace)?;
    let mut modifiers = opcode.split('.');
    let is_atomic = matches!(modifiers.next(), Some("atom" | "red"));
    let modifiers: Vec<&str> = modifiers.collect();
    if !is_atomic || !modifiers.contains(&"local") {
        return None;
    }
    let is_guarded = instruction.len() < statement.len();
    let plain = (!is_guarded).then(|| compare_and_swap(&modifiers, operands));
    Some(plain.flatten().map_or(Local::Unsupported, Local::Plain))
}

/// `atom.cas d, [a], b, c` without another thread: the value at `a` goes to `d`, and `c` to `a`
/// where that value is `b`.
fn compare_and_swap(modifiers: &[&str], operands: &str) -> Option<String> {
    let bits = match modifiers {
        [.., "cas", bits @ ("b16" | "b32" | "b64")] => *bits,
        _ => return None,
    };
    let operands = operands.trim_end().strip_suffix(';')?;
    let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
    let [old, address, expected, new] = operands[..] else {
        return None;
    };
    // Registers of its own, as `old` may be one of the others.
    Some(format!(
        "\t{{\n\
         \t.reg .{bits} %local_old;\n\
         \t.reg .pred %local_equal;\n\
         \tld.local.{bits} \t%local_old, {address};\n\
         \tsetp.eq.{bits} \t%local_equal, %local_old, {expected};\n\
         \t@%local_equal st.local.{bits} \t{address}, {new};\n\
         \tmov.{bits} \t{old}, %local_old;\n\
         \t}}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compare_and_swap_becomes_plain_instructions() {
        let line = "\tatom.relaxed.sys.local.cas.b64 \t%rd2, [%rd1+8], 0, %rd4;";
        let Some(Local::Plain(plain)) = rewrite(line) else {
            panic!("{line}")
        };
        let instructions: Vec<&str> = plain.lines().map(str::trim).collect();
        assert_eq!(
            instructions,
            [
                "{",
                ".reg .b64 %local_old;",
                ".reg .pred %local_equal;",
                "ld.local.b64 \t%local_old, [%rd1+8];",
                "setp.eq.b64 \t%local_equal, %local_old, 0;",
                "@%local_equal st.local.b64 \t[%rd1+8], %rd4;",
                "mov.b64 \t%rd2, %local_old;",
                "}",
            ]
        );
    }

    #[test]
    fn what_has_no_plain_form_is_named() {
        for line in [
            "\tatom.local.add.u32 \t%r1, [%rd1], 1;",
            "\tred.local.add.u32 \t[%rd1], 1;",
            "\tatom.local.cas.b128 \t%rq1, [%rd1], %rq2, %rq3;",
            "\t@%p1 atom.local.cas.b32 \t%r1, [%rd1], 0, 1;",
            "\tatom.local.cas.b32 \t%r1, [%rd1];",
        ] {
            assert_eq!(rewrite(line), Some(Local::Unsupported), "{line}");
        }
    }

    #[test]
    fn other_lines_are_left_alone() {
        for line in [
            "",
            "\tret;",
            "\tatom.global.add.u64 \t%rd7, [%rd1], 1;",
            "\tatom.shared.cas.b32 \t%r1, [%rd1], 0, 1;",
            "\tld.local.b64 \t%rd2, [%rd1];",
            "\t// atom.local.cas.b64",
            "@",
        ] {
            assert_eq!(rewrite(line), None, "{line}");
        }
    }
}
