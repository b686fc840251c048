//! What the text of a PTX entry says of its launches: the parameters that they must pass, and its instructions.
//!
//! The driver reads as many bytes behind each argument pointer as the parameter is long, so the lengths must
//! be known before a launch. Drivers for CUDA 12.4 and newer can be asked; the PTX text can be on any.

/// A parameter of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its size.
    pub bytes: usize,
    /// What its type says of it.
    pub kind: Kind,
}

/// What the type of a parameter says of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer, or an address.
    Integer,
    /// A floating-point number.
    Float,
    /// Nothing, as `.b32` does, which compilers write for most parameters; or an aggregate.
    Bits,
}

/// The parameters of `entry`, in order; `None` where the text has no such entry or its parameter list cannot be read.
/// Grammar: PTX ISA, "Kernel Function Directives: .entry".
pub fn parameters(ptx: &str, entry: &str) -> Option<Vec<Parameter>> {
    let list = heads(ptx).find_map(|(name, rest)| (name == entry).then(|| rest.trim_start()))?;
    let Some(list) = list.strip_prefix('(') else {
        return Some(Vec::new());
    };
    let (list, _) = list.split_once(')')?;
    if list.trim().is_empty() {
        return Some(Vec::new());
    }
    list.split(',').map(parameter).collect()
}

/// The text from the first instruction of `entry` to the next entry; `None` where the text has no such entry. Functions
/// in front of the entry, which it may call, are not in it.
pub fn body<'p>(ptx: &'p str, entry: &str) -> Option<&'p str> {
    let rest = heads(ptx).find_map(|(name, rest)| (name == entry).then_some(rest))?;
    let (_, body) = rest.split_once('{')?;
    body.split(".entry").next()
}

/// The names of the entries.
pub fn entries(ptx: &str) -> impl Iterator<Item = &str> {
    heads(ptx).map(|(name, _)| name)
}

/// The names of the entries, each with the text behind it.
fn heads(ptx: &str) -> impl Iterator<Item = (&str, &str)> {
    ptx.match_indices(".entry")
        .filter_map(|(start, directive)| {
            let rest = ptx[start + directive.len()..].trim_start();
            let end = rest.find(|character| !is_name_character(character));
            let (name, rest) = rest.split_at(end?);
            (!name.is_empty()).then_some((name, rest))
        })
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '%')
}

/// One parameter, for example `.param .align 8 .b8 name[16]`.
fn parameter(parameter: &str) -> Option<Parameter> {
    let element = parameter.split_whitespace().find_map(of_type)?;
    match parameter.split_once('[') {
        Some((_, extent)) => {
            let (extent, _) = extent.split_once(']')?;
            Some(Parameter {
                bytes: element.bytes.checked_mul(extent.trim().parse().ok()?)?,
                kind: Kind::Bits,
            })
        }
        None => Some(element),
    }
}

/// A parameter of a fundamental type, for example 8 bytes for `.u64`; `None` for any other word.
fn of_type(word: &str) -> Option<Parameter> {
    let word = word.strip_prefix('.')?;
    let kind = match word.chars().next()? {
        'u' | 's' => Kind::Integer,
        'f' => Kind::Float,
        'b' => Kind::Bits,
        _ => return None,
    };
    let bytes = match &word[1..] {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" => 8,
        "128" => 16,
        _ => return None,
    };
    Some(Parameter { bytes, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

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
	.param .b32 scale_param_3
)
.maxntid 256, 1, 1
{ ret; }
";

    fn sizes(entry: &str) -> Option<Vec<usize>> {
        let parameters = parameters(PTX, entry)?;
        Some(parameters.iter().map(|parameter| parameter.bytes).collect())
    }

    #[test]
    fn sizes_follow_types_and_extents() {
        assert_eq!(sizes("scale"), Some(vec![8, 4, 16, 4]));
        assert_eq!(sizes("scale_all"), Some(vec![8, 4]));
    }

    #[test]
    fn kinds_follow_types() {
        let scale = parameters(PTX, "scale").unwrap();
        let kinds: Vec<Kind> = scale.iter().map(|parameter| parameter.kind).collect();
        assert_eq!(kinds, [Kind::Integer, Kind::Float, Kind::Bits, Kind::Bits]);
    }

    #[test]
    fn an_entry_may_have_no_parameters() {
        assert_eq!(sizes("none"), Some(vec![]));
        assert_eq!(sizes("bare"), Some(vec![]));
    }

    #[test]
    fn a_body_ends_before_the_next_entry() {
        let two = ".entry first() { griddepcontrol.wait; ret; } .entry second() { exit; }";
        assert!(body(two, "first").unwrap().contains("griddepcontrol.wait"));
        let second = body(two, "second").unwrap();
        assert!(second.contains("exit") && !second.contains("wait"));
        assert_eq!(body(two, "third"), None);
    }

    #[test]
    fn entries_are_named_in_their_order() {
        let names: Vec<&str> = entries(PTX).collect();
        assert_eq!(names, ["none", "bare", "scale_all", "scale"]);
    }

    #[test]
    fn what_is_not_there_is_none() {
        assert_eq!(sizes("scal"), None);
        assert_eq!(sizes(""), None);
        assert_eq!(parameters(".entry k(.param .u64 a", "k"), None);
        assert_eq!(parameters(".entry k(.param .pred a)", "k"), None);
        assert_eq!(parameters(".entry", "k"), None);
    }
}
