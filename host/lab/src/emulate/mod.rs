//! Kernels of any PTX file on the emulator, with arguments from the command line and NumPy files.

pub mod compare;
pub mod npy;
mod scalar;
pub mod script;

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
    /// The address of a buffer, plus so many bytes.
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
        let form = || ArgumentError::Form(text.to_owned());
        if let Some(fields) = text.strip_prefix('{') {
            let fields = fields.strip_suffix('}').ok_or_else(form)?;
            let fields = split_fields(fields).ok_or_else(form)?;
            let fields = fields.into_iter().map(|field| field.trim().parse());
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
    let (mut fields, mut depth, mut from) = (Vec::new(), 0i32, 0);
    for (at, character) in text.char_indices() {
        match character {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                fields.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    fields.push(&text[from..]);
    (depth == 0 && fields.iter().all(|field| !field.trim().is_empty())).then_some(fields)
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
    /// The arrays by the position of their argument: `1`, or `1.0` for the first field of a struct.
    pub arrays: Vec<(String, Placed)>,
}

/// Buffers by name, in the order in which they were made.
pub type Buffers = Vec<(String, Placed)>;

/// An argument that is wrong, and its position, from 0.
#[derive(Debug, thiserror::Error)]
#[error("argument {index}: {source}")]
pub struct PlacementError {
    /// Its position.
    pub index: usize,
    /// What is wrong.
    pub source: ArgumentError,
}

/// Puts arguments into memory; `buffers` are those that they may name.
///
/// # Errors
/// The first argument that does not fit, or whose file is not right.
pub fn place(
    arguments: &[Argument],
    buffers: &Buffers,
    memory: &Memory,
) -> Result<Placement, PlacementError> {
    let mut placement = Placement::default();
    for (index, argument) in arguments.iter().enumerate() {
        let mut placing = Placing {
            buffers,
            memory,
            index,
            arrays: &mut placement.arrays,
        };
        let placed = placing.bytes_of(argument, &index.to_string());
        let (bytes, _) = placed.map_err(|source| PlacementError { index, source })?;
        placement.args.push_bytes(&bytes);
    }
    Ok(placement)
}

/// An argument that is put into memory.
struct Placing<'a> {
    buffers: &'a Buffers,
    memory: &'a Memory,
    index: usize,
    arrays: &'a mut Vec<(String, Placed)>,
}

impl Placing<'_> {
    /// What the kernel gets of an argument or a field, and its alignment in a struct.
    fn bytes_of(
        &mut self,
        argument: &Argument,
        path: &str,
    ) -> Result<(Vec<u8>, usize), ArgumentError> {
        match argument {
            Argument::Value(bytes) => {
                // The alignment of a scalar is its size; bytes have none.
                let align = match bytes.len() {
                    size @ (1 | 2 | 4 | 8) => size,
                    _ => 1,
                };
                Ok((bytes.clone(), align))
            }
            Argument::Array {
                element,
                shape,
                content,
            } => {
                let shape = shape.as_deref();
                let placed = place_array(self.index, *element, shape, content, self.memory)?;
                let address = placed.address.to_le_bytes().to_vec();
                self.arrays.push((path.to_owned(), placed));
                Ok((address, 8))
            }
            Argument::Buffer { name, offset } => {
                let known = self.buffers.iter().find(|(known, _)| known == name);
                let Some((_, buffer)) = known else {
                    let names = self.buffers.iter().map(|(name, _)| name.as_str());
                    return Err(ArgumentError::NoBuffer {
                        name: name.clone(),
                        known: names.collect::<Vec<_>>().join(", "),
                    });
                };
                let address = buffer.address.wrapping_add(*offset);
                Ok((address.to_le_bytes().to_vec(), 8))
            }
            Argument::Struct(fields) => {
                let (mut all, mut largest) = (Vec::<u8>::new(), 1);
                for (index, field) in fields.iter().enumerate() {
                    let (bytes, align) = self.bytes_of(field, &format!("{path}.{index}"))?;
                    all.resize(all.len().next_multiple_of(align), 0);
                    all.extend(bytes);
                    largest = largest.max(align);
                }
                all.resize(all.len().next_multiple_of(largest), 0);
                Ok((all, largest))
            }
        }
    }
}

/// Makes a buffer that stays for several launches.
///
/// # Errors
/// Where it is no array, or does not fit.
pub fn place_buffer(
    argument: &Argument,
    seed: usize,
    memory: &Memory,
) -> Result<Placed, ArgumentError> {
    match argument {
        Argument::Array {
            element,
            shape,
            content,
        } => place_array(seed, *element, shape.as_deref(), content, memory),
        _ => Err(ArgumentError::NoLength),
    }
}

/// The bytes of an argument's content, for a variable of a module: a value, a struct of values, or
/// the elements of an array.
///
/// # Errors
/// Where it is not right, or holds an address.
pub fn content_of(argument: &Argument, buffers: &Buffers) -> Result<Vec<u8>, ArgumentError> {
    match argument {
        Argument::Array {
            element,
            shape,
            content,
        } => {
            // Memory of its own, from which the content is read back.
            let memory = Memory::with_capacity(1 << 30);
            let placed = place_array(0, *element, shape.as_deref(), content, &memory)?;
            Ok(placed.read(&memory)?.bytes)
        }
        argument => {
            let memory = Memory::with_capacity(0);
            let mut arrays = Vec::new();
            let mut placing = Placing {
                buffers,
                memory: &memory,
                index: 0,
                arrays: &mut arrays,
            };
            Ok(placing.bytes_of(argument, "")?.0)
        }
    }
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
        let none = Buffers::new();
        let all = ["u32:7", "s32[5]=iota", "f64[2,3]=random"].map(parse);
        let arrays = place(&all, &none, &memory).unwrap().arrays;
        assert_eq!(arrays[0].0, "1");
        let numbers = arrays[0].1.read(&memory).unwrap();
        let expected: Vec<u8> = (0..5i32).flat_map(i32::to_le_bytes).collect();
        assert_eq!(numbers.bytes, expected);
        let random = arrays[1].1.read(&memory).unwrap();
        assert_eq!((random.shape, random.bytes.len()), (vec![2, 3], 48));
        let error = place(&["u32:7", "u8[70000]"].map(parse), &none, &memory).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("argument 1: 70000 bytes of device memory")
        );
    }

    #[test]
    fn structs_are_laid_out_as_in_c() {
        let memory = Memory::with_capacity(1 << 16);
        let mut buffers = Buffers::new();
        let buffer = place_buffer(&parse("u8[40]=zero"), 0, &memory).unwrap();
        buffers.push(("x".to_owned(), buffer.clone()));
        let text = "{u8:1, u16:2,u8:3,{u8:4,@x+8},f32[3]=zero,u8:5}";
        let mut arrays = Vec::new();
        let mut placing = Placing {
            buffers: &buffers,
            memory: &memory,
            index: 0,
            arrays: &mut arrays,
        };
        let (bytes, align) = placing.bytes_of(&parse(text), "0").unwrap();
        assert_eq!(arrays[0].0, "0.4");
        let mut expected = vec![1, 0, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0];
        expected.extend((buffer.address + 8).to_le_bytes());
        expected.extend(arrays[0].1.address.to_le_bytes());
        expected.extend([5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((bytes, align), (expected, 8));
        for (text, reason) in [
            ("{u32:1", "is no argument"),
            ("{u32:1,}", "is no argument"),
            ("{u32:1}}", "is no argument"),
            ("@", "is no argument"),
            ("@x+y", "is no argument"),
            ("{f33:1}", "unknown type"),
        ] {
            let error = text.parse::<Argument>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        let error = place(&[parse("@y")], &buffers, &memory).unwrap_err();
        let expected = "argument 0: there is no buffer \"y\"; there are: x";
        assert_eq!(error.to_string(), expected);
    }
}
