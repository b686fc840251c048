//! Kernels of any PTX file on the emulator, with arguments from the command line and NumPy files.

pub mod npy;
mod scalar;

pub use scalar::Scalar;

use npy::{Array, NpyError};
use ptx_emulator::{Args, Memory, MemoryError};
use std::path::PathBuf;
use std::str::FromStr;

/// An argument of a kernel: a value, or the address of an array that is made for it.
///
/// As text, a value is `TYPE:VALUE` (`u32:1024`, `f32:1.5`), or `bytes:HEX` for an aggregate passed
/// by value. An array is `TYPE[LENGTHS]=CONTENT`: `LENGTHS` are one or more numbers between commas,
/// of which a file needs none, and `CONTENT` is `zero`, `nan`, `random` or `random:SEED` (floats in
/// [-1, 1), integers of all sizes), `iota` (0, 1, 2 …), `none` (nothing is written: also without
/// `=CONTENT`), a value for all elements, or a file `NAME.npy`.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The bytes of a value, as they lie in memory.
    Value(Vec<u8>),
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
        let form = || ArgumentError::Form(text.to_owned());
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

/// An array in the memory of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Type of the elements.
    pub element: Scalar,
    /// Lengths, the slowest-varying dimension first.
    pub shape: Vec<usize>,
    /// The address.
    pub address: u64,
}

impl Placed {
    /// What the array holds now.
    pub fn read(&self, memory: &Memory) -> Result<Array, MemoryError> {
        let count: usize = self.shape.iter().product();
        let mut bytes = vec![0; count * self.element.bytes()];
        memory.read(self.address, &mut bytes)?;
        Ok(Array {
            element: self.element,
            shape: self.shape.clone(),
            bytes,
        })
    }
}

/// Arguments in the memory of a launch.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// What the kernel gets.
    pub args: Args,
    /// The arrays, in the places of their arguments.
    pub arrays: Vec<Option<Placed>>,
}

/// An argument that is wrong, and its position, from 0.
#[derive(Debug, thiserror::Error)]
#[error("argument {index}: {source}")]
pub struct PlacementError {
    /// Its position.
    pub index: usize,
    /// What is wrong.
    pub source: ArgumentError,
}

/// Puts arguments into memory.
///
/// # Errors
/// The first argument that does not fit, or whose file is not right.
pub fn place(arguments: &[Argument], memory: &Memory) -> Result<Placement, PlacementError> {
    let mut placement = Placement::default();
    for (index, argument) in arguments.iter().enumerate() {
        match argument {
            Argument::Value(bytes) => {
                placement.args.push_bytes(bytes);
                placement.arrays.push(None);
            }
            Argument::Array {
                element,
                shape,
                content,
            } => {
                let placed = place_array(index, *element, shape.as_deref(), content, memory)
                    .map_err(|source| PlacementError { index, source })?;
                placement.args.push_u64(placed.address);
                placement.arrays.push(Some(placed));
            }
        }
    }
    Ok(placement)
}

fn place_array(
    index: usize,
    element: Scalar,
    shape: Option<&[usize]>,
    content: &Content,
    memory: &Memory,
) -> Result<Placed, ArgumentError> {
    let file = match content {
        Content::File(path) => Some(read_file(path, element, shape)?),
        _ => None,
    };
    let shape = match (&file, shape) {
        (Some(array), _) => array.shape.clone(),
        (None, Some(shape)) => shape.to_vec(),
        (None, None) => return Err(ArgumentError::NoLength),
    };
    let count: usize = shape.iter().product();
    // Before the host's memory is taken for the content; an array of nothing has an address, too.
    let address = memory.alloc(((count * element.bytes()) as u64).max(1))?;
    let bytes = match content {
        Content::Nothing => None,
        Content::Value(value) => Some(value.repeat(count)),
        Content::Random(seed) => Some(element.random(count, seed.unwrap_or(index as u64 + 1))),
        Content::Iota => Some(element.iota(count)),
        Content::File(_) => file.map(|array| array.bytes),
    };
    if let Some(bytes) = bytes {
        memory.write(address, &bytes)?;
    }
    Ok(Placed {
        element,
        shape,
        address,
    })
}

fn read_file(
    path: &std::path::Path,
    element: Scalar,
    shape: Option<&[usize]>,
) -> Result<Array, ArgumentError> {
    let name = path.display().to_string();
    let array = npy::read(path).map_err(|source| ArgumentError::File {
        path: name.clone(),
        source,
    })?;
    let count = |shape: &[usize]| shape.iter().product::<usize>();
    let fits = shape.is_none_or(|shape| count(shape) == count(&array.shape));
    // NumPy has no bf16: its bits are kept as u16.
    if array.element != element.stored_as() || !fits {
        let describe = |element: Scalar, shape: &[usize]| format!("{element}{shape:?}");
        return Err(ArgumentError::Mismatch {
            path: name,
            found: describe(array.element, &array.shape),
            expected: describe(element, shape.unwrap_or(&array.shape)),
        });
    }
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Argument {
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
    fn arguments_are_placed_in_order() {
        let memory = Memory::with_capacity(1 << 16);
        let all = ["u32:7", "s32[5]=iota", "f64[2,3]=random"].map(parse);
        let arrays = place(&all, &memory).unwrap().arrays;
        assert_eq!(arrays[0], None);
        let numbers = arrays[1].as_ref().unwrap().read(&memory).unwrap();
        let expected: Vec<u8> = (0..5i32).flat_map(i32::to_le_bytes).collect();
        assert_eq!(numbers.bytes, expected);
        let random = arrays[2].as_ref().unwrap().read(&memory).unwrap();
        assert_eq!((random.shape, random.bytes.len()), (vec![2, 3], 48));
        let error = place(&["u32:7", "u8[70000]"].map(parse), &memory).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("argument 1: 70000 bytes of device memory")
        );
    }
}
