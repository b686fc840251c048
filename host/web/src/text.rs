//! The text of a module with one of its kernels alone.

use ptx_syntax::signature;

/// A text with one empty line in place of several, and without the compiler's comments on names: a
/// module that was cut down to one kernel has an empty line for each line of the others, and their
/// names.
pub(crate) fn compact(text: &str) -> String {
    let mut kept = String::new();
    let mut was_empty = true;
    let is_name = |line: &&str| line.trim_start().starts_with("// .globl");
    for line in text.lines().filter(|line| !is_name(line)) {
        let is_empty = line.trim().is_empty();
        if !(is_empty && was_empty) {
            kept.push_str(line);
            kept.push('\n');
        }
        was_empty = is_empty;
    }
    kept
}

/// A module with one of its kernels alone.
pub(crate) fn alone(text: &str, entry: &str) -> String {
    let extents = signature::Module::read(text).extents();
    compact(&signature::alone(text, &extents, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_with_one_kernel_has_no_empty_lines_for_the_others() {
        let text = ".version 8.0\n.target sm_70\n.address_size 64\n\n\
                    .entry a()\n{\n\n\n ret;\n}\n\n\t// .globl\tb\n.entry b()\n{\n ret;\n}\n";
        let expected = ".version 8.0\n.target sm_70\n.address_size 64\n\n.entry b()\n{\n ret;\n}\n";
        assert_eq!(alone(text, "b"), expected);
        // What is not there leaves no kernel, which `kernel` then says.
        assert!(!alone(text, "c").contains(".entry"));
    }
}
