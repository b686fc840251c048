//! The parameters of a PTX entry: what a launch must pass.
//!
//! The driver reads as many bytes behind each argument pointer as the parameter is long, so the lengths must
//! be known before a launch. Drivers for CUDA 12.4 and newer can be asked; the PTX text can be on any.

/// Sizes in bytes of the parameters of `entry`, in order; `None` where the text has no such entry or its
/// parameter list cannot be read. Grammar: PTX ISA, "Kernel Function Directives: .entry".
pub(super) fn parameter_sizes(ptx: &str, entry: &str) -> Option<Vec<usize>> {
    let list = ptx.match_indices(".entry").find_map(|(start, directive)| {
        let rest = ptx[start + directive.len()..].trim_start();
        let rest = rest.strip_prefix(entry)?;
        // Otherwise this is another entry, whose name starts with this one's.
        let next = rest.chars().next()?;
        (!is_name_character(next)).then(|| rest.trim_start())
    })?;
    let Some(list) = list.strip_prefix('(') else {
        return Some(Vec::new());
    };
    let (list, _) = list.split_once(')')?;
    if list.trim().is_empty() {
        return Some(Vec::new());
    }
    list.split(',').map(parameter_size).collect()
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '%')
}

/// Size of one parameter, for example `.param .align 8 .b8 name[16]`.
fn parameter_size(parameter: &str) -> Option<usize> {
    let element = parameter.split_whitespace().find_map(type_size)?;
    match parameter.split_once('[') {
        Some((_, extent)) => {
            let (extent, _) = extent.split_once(']')?;
            element.checked_mul(extent.trim().parse().ok()?)
        }
        None => Some(element),
    }
}

/// Size of a fundamental type, for example 8 for `.u64`; `None` for any other word.
fn type_size(word: &str) -> Option<usize> {
    let bits = word.strip_prefix('.')?.strip_prefix(['b', 'u', 's', 'f'])?;
    match bits {
        "8" => Some(1),
        "16" => Some(2),
        "32" => Some(4),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parameter_sizes;

    const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry none()
{ ret; }
.visible .entry bare
{ ret; }
.visible .entry scale_all(
	.param .u64 .ptr .align 1 scale_all_param_0,
	.param .u32 scale_all_param_1
)
{ ret; }
.visible .entry scale(
	.param .u64 scale_param_0,
	.param .f32 scale_param_1,
	.param .align 8 .b8 scale_param_2[16],
	.param .align 64 .b8 scale_param_3[128]
)
.maxntid 256, 1, 1
{ ret; }
";

    #[test]
    fn sizes_follow_types_and_extents() {
        assert_eq!(parameter_sizes(PTX, "scale"), Some(vec![8, 4, 16, 128]));
        assert_eq!(parameter_sizes(PTX, "scale_all"), Some(vec![8, 4]));
    }

    #[test]
    fn an_entry_may_have_no_parameters() {
        assert_eq!(parameter_sizes(PTX, "none"), Some(vec![]));
        assert_eq!(parameter_sizes(PTX, "bare"), Some(vec![]));
    }

    #[test]
    fn what_is_not_there_is_none() {
        assert_eq!(parameter_sizes(PTX, "scal"), None);
        assert_eq!(parameter_sizes(PTX, ""), None);
        assert_eq!(parameter_sizes(".entry k(.param .u64 a", "k"), None);
        assert_eq!(parameter_sizes(".entry k(.param .pred a)", "k"), None);
        assert_eq!(parameter_sizes(".entry", "k"), None);
    }
}
