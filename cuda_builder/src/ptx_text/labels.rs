//! Labels that the back end writes, as far as nothing but itself needs them.
//!
//! LLVM marks the start of each source line by `$L__tmp7:`, and both ends of a function by
//! `$L__func_begin0:` and `$L__func_end0:`, for sections of debugging information. It numbers
//! basic blocks by function, `$L__BB7_2`, though labels are local to a function (PTX ISA,
//! "Labels"): with one more kernel in front, all labels behind it would change.

use std::borrow::Cow;

/// What the name of a basic block begins with, before the number of its function.
const BLOCK: &str = "$L__BB";

/// Whether a section of the module holds anything. Then it may name any label.
pub(super) fn has_sections(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| line.starts_with(".section") && !super::is_empty_section(line))
}

/// Whether a line is a label for debugging information.
pub(super) fn is_mark(line: &str) -> bool {
    let name = line.trim().strip_suffix(':').unwrap_or_default();
    name.starts_with("$L__tmp") || name.starts_with("$L__func_")
}

/// `text` with labels of basic blocks that do not have the number of their function: `$L__BB_2` for
/// `$L__BB7_2`.
pub(super) fn local(text: &str) -> Cow<'_, str> {
    if !text.contains(BLOCK) {
        return Cow::from(text);
    }
    let mut local = String::with_capacity(text.len());
    let mut parts = text.split(BLOCK);
    local.push_str(parts.next().unwrap_or_default());
    for part in parts {
        local.push_str(BLOCK);
        let behind = part.trim_start_matches(|c: char| c.is_ascii_digit());
        local.push_str(if behind.starts_with('_') {
            behind
        } else {
            part
        });
    }
    Cow::from(local)
}
