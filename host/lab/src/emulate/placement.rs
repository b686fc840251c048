//! Arguments in the memory of a launch.

use super::Scalar;
use super::argument::{Argument, ArgumentError, Content};
use super::npy::{self, Array};
use ptx_emulator::{Args, Memory, MemoryError};

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
    use super::super::argument::tests::parse;
    use super::*;

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
