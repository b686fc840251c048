//! Arguments as text.

use super::Scalar;
use super::npy::{self, NpyError};
use ptx_emulator::MemoryError;
use std::path::PathBuf;
use std::str::FromStr;

/// Structs that may lie in each other.
const MAX_NESTING: usize = 32;

/// An argument of a kernel: a value, or the address of an array that is made for it.
///
/// As text, a value is `TYPE:VALUE` (`u32:1024`, `f32:1.5`), or `bytes:HEX` for an aggregate passed
/// by value. An array is `TYPE[LENGTHS]=CONTENT`: `LENGTHS` are one or more numbers between commas,
/// of which a file needs none, and `CONTENT` is `zero`, `nan`, `random` or `random:SEED` (floats in
/// [-1, 1), integers of all sizes), `iota` (0, 1, 2 …), `none` (nothing is written: also without
/// `=CONTENT`), a value for all elements, or a file `NAME.npy`.
///
/// A struct passed by value is its fields in braces, `{u32:64,f32[64]=zero}`: each lies at the next
/// multiple of its size, a pointer at one of 8, and a struct at one of its largest member, as in
/// C. `@NAME` is the address of a buffer that a script made, `@NAME+BYTES` one behind it.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The bytes of a value, as they lie in memory.
    Value(Vec<u8>),
    /// A struct by value, with its fields.
    Struct(Vec<Argument>),
    /// The address of a buffer, plus a number of bytes.
    Buffer {
        /// Its name.
        name: String,
        /// Bytes behind its start.
        offset: u64,
    },
    /// An array in global memory; the kernel gets its address.
    Array {
        /// Type of the elements.
        element: Scalar,
        /// Lengths, the slowest-varying dimension first; none where a file gives them.
        shape: Option<Vec<usize>>,
        /// What it holds at first.
        content: Content,
    },
}

/// What an array holds at first.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Nothing was written to it.
    Nothing,
    /// The same value everywhere.
    Value(Vec<u8>),
    /// Random values by this seed, or by the argument's position.
    Random(Option<u64>),
    /// 0, 1, 2 and so on.
    Iota,
    /// The array of a NumPy file.
    File(PathBuf),
}

/// What is wrong with an argument.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// Neither a value nor an array.
    #[error(
        "{0:?} is no argument: write TYPE:VALUE or TYPE[LENGTH]=CONTENT, for example u32:64 or \
         f32[64]=zero"
    )]
    Form(String),
    /// Structs in each other, too many of them.
    #[error("structs are nested more than {MAX_NESTING} times: write their bytes as bytes:HEX")]
    Nesting,
    /// Not a type.
    #[error(
        "unknown type {0:?}: use u8 to u64, s8 to s64, f16, bf16, f32, f64, or bytes for an \
         aggregate"
    )]
    Type(String),
    /// A value that the type does not have.
    #[error("{value:?} is no {element}")]
    Value {
        /// The text.
        value: String,
        /// The type.
        element: Scalar,
    },
    /// Not bytes in hexadecimal.
    #[error("{0:?} is not pairs of hexadecimal digits")]
    Bytes(String),
    /// Lengths that are no numbers, or too many elements.
    #[error("[{0}] are no lengths: write numbers between commas, for example [64,32]")]
    Lengths(String),
    /// A buffer that no line before has made.
    #[error("there is no buffer {name:?}; there are: {known}")]
    NoBuffer {
        /// The name.
        name: String,
        /// The buffers that there are.
        known: String,
    },
    /// An array without lengths, and without a file that has them.
    #[error("an array needs its length, for example f32[64]")]
    NoLength,
    /// Not a content.
    #[error(
        "unknown content {0:?}: use zero, nan, random, random:SEED, iota, none, a number or \
         NAME.npy"
    )]
    Content(String),
    /// A file that cannot be read.
    #[error("{path}: {source}")]
    File {
        /// Its name.
        path: String,
        /// Why.
        source: NpyError,
    },
    /// A file that holds something else.
    #[error("{path} holds {found}, the argument is {expected}")]
    Mismatch {
        /// Its name.
        path: String,
        /// Type and lengths in the file.
        found: String,
        /// Type and lengths of the argument.
        expected: String,
    },
    /// Too little memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl FromStr for Argument {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        Argument::parse(text, MAX_NESTING)
    }
}

impl Argument {
    /// Parses an argument with structs that hold at most `nesting` others in each other.
    fn parse(text: &str, nesting: usize) -> Result<Self, ArgumentError> {
        let form = || ArgumentError::Form(text.to_owned());
        if let Some(fields) = text.strip_prefix('{') {
            let fields = fields.strip_suffix('}').ok_or_else(form)?;
            let fields = split_fields(fields).ok_or_else(form)?;
            let nesting = nesting.checked_sub(1).ok_or(ArgumentError::Nesting)?;
            let fields = fields.into_iter();
            let fields = fields.map(|field| Argument::parse(field.trim(), nesting));
            return Ok(Argument::Struct(fields.collect::<Result<_, _>>()?));
        }
        if let Some(name) = text.strip_prefix('@') {
            let (name, offset) = name.split_once('+').unwrap_or((name, "0"));
            let offset = offset.parse().map_err(|_| form())?;
            let name = name.to_owned();
            return match name.is_empty() {
                true => Err(form()),
                false => Ok(Argument::Buffer { name, offset }),
            };
        }
        if let Some(digits) = text.strip_prefix("bytes:") {
            return Ok(Argument::Value(hexadecimal(digits)?));
        }
        let at = text.find([':', '[']).ok_or_else(form)?;
        let element: Scalar = text[..at].parse()?;
        let Some(array) = text[at..].strip_prefix('[') else {
            return Ok(Argument::Value(element.parse(&text[at + 1..])?));
        };
        let (lengths, content) = array.split_once(']').ok_or_else(form)?;
        let content = match content.strip_prefix('=') {
            Some(content) => Content::parse(content, element)?,
            None if content.is_empty() => Content::Nothing,
            None => return Err(form()),
        };
        let shape = match lengths {
            "" => None,
            lengths => Some(shape(lengths)?),
        };
        if shape.is_none() && !matches!(content, Content::File(_)) {
            return Err(ArgumentError::NoLength);
        }
        Ok(Argument::Array {
            element,
            shape,
            content,
        })
    }
}

/// The fields between commas that are in no brackets or braces of their own.
fn split_fields(text: &str) -> Option<Vec<&str>> {
    let (mut fields, mut nesting, mut from) = (Vec::new(), 0i32, 0);
    for (at, character) in text.char_indices() {
        match character {
            '{' | '[' => nesting += 1,
            '}' | ']' => nesting -= 1,
            ',' if nesting == 0 => {
                fields.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        if nesting < 0 {
            return None;
        }
    }
    fields.push(&text[from..]);
    (nesting == 0 && fields.iter().all(|field| !field.trim().is_empty())).then_some(fields)
}

fn hexadecimal(digits: &str) -> Result<Vec<u8>, ArgumentError> {
    let bad = || ArgumentError::Bytes(digits.to_owned());
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err(bad());
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| bad()))
        .collect()
}

fn shape(lengths: &str) -> Result<Vec<usize>, ArgumentError> {
    let bad = || ArgumentError::Lengths(lengths.to_owned());
    let shape = lengths
        .split(',')
        .map(|length| length.trim().parse())
        .collect::<Result<Vec<usize>, _>>()
        .map_err(|_| bad())?;
    if shape.len() > npy::MAX_DIMENSIONS || npy::bytes(&shape, 8).is_none() {
        return Err(bad());
    }
    Ok(shape)
}

impl Content {
    fn parse(text: &str, element: Scalar) -> Result<Self, ArgumentError> {
        let unknown = || ArgumentError::Content(text.to_owned());
        Ok(match text {
            "none" => Content::Nothing,
            "zero" => Content::Value(vec![0; element.bytes()]),
            "random" => Content::Random(None),
            "iota" => Content::Iota,
            text if text.ends_with(".npy") => Content::File(text.into()),
            text => match text.strip_prefix("random:") {
                Some(seed) => Content::Random(Some(seed.parse().map_err(|_| unknown())?)),
                None => Content::Value(element.parse(text).map_err(|_| unknown())?),
            },
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn parse(text: &str) -> Argument {
        text.parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn values() {
        assert_eq!(parse("u32:1024"), Argument::Value(vec![0, 4, 0, 0]));
        assert_eq!(parse("s16:-2"), Argument::Value(vec![0xfe, 0xff]));
        assert_eq!(
            parse("u64:0x1_00"),
            Argument::Value(256u64.to_le_bytes().to_vec())
        );
        assert_eq!(
            parse("f32:1.5"),
            Argument::Value(1.5f32.to_le_bytes().to_vec())
        );
        assert_eq!(parse("bytes:00ff10"), Argument::Value(vec![0, 255, 16]));
    }

    #[test]
    fn arrays() {
        let Argument::Array {
            element,
            shape,
            content,
        } = parse("f32[4,8]=random:7")
        else {
            panic!("no array");
        };
        assert_eq!((element, shape), (Scalar::F32, Some(vec![4, 8])));
        assert_eq!(content, Content::Random(Some(7)));
        for (text, expected) in [
            ("u8[3]", Content::Nothing),
            ("u8[3]=none", Content::Nothing),
            ("u8[3]=7", Content::Value(vec![7])),
            ("u16[3]=zero", Content::Value(vec![0, 0])),
            (
                "f32[3]=nan",
                Content::Value(f32::NAN.to_le_bytes().to_vec()),
            ),
            ("u8[]=a.npy", Content::File("a.npy".into())),
        ] {
            let Argument::Array { content, .. } = parse(text) else {
                panic!("{text} is no array");
            };
            assert_eq!(content, expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_argument_is_refused_with_a_reason() {
        for (text, reason) in [
            ("", "is no argument"),
            ("5", "is no argument"),
            ("u33:5", "unknown type"),
            ("u8:256", "is no u8"),
            ("u32:-1", "is no u32"),
            ("f32:one", "is no f32"),
            ("bytes:0", "hexadecimal"),
            ("bytes:é0", "hexadecimal"),
            ("f32[4", "is no argument"),
            ("f32[4]zero", "is no argument"),
            ("f32[x]", "are no lengths"),
            ("f32[99999999999,99999999999]", "are no lengths"),
            ("f32[]=zero", "needs its length"),
            ("u32[4]=nan", "unknown content"),
            ("f32[4]=random:x", "unknown content"),
        ] {
            let error = text.parse::<Argument>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn structs_nest_as_often_as_the_error_says() {
        let nested = |count: usize| {
            let text = "{".repeat(count) + "u8:1" + &"}".repeat(count);
            text.parse::<Argument>()
        };
        assert!(nested(MAX_NESTING).is_ok());
        for count in [MAX_NESTING + 1, 100_000] {
            let error = nested(count).unwrap_err().to_string();
            assert!(error.contains("more than 32 times"), "{error}");
        }
    }
}
