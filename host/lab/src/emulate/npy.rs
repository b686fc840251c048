//! NumPy's file format for arrays (NEP 1, versions 1.0 to 3.0): little-endian numbers in C order.

use super::Scalar;
use std::path::Path;

/// An array with its type and lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Type of the elements.
    pub element: Scalar,
    /// Lengths, the slowest-varying dimension first.
    pub shape: Vec<usize>,
    /// The elements, little-endian, in C order.
    pub bytes: Vec<u8>,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file itself.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// Not such a file.
    #[error("is no .npy file: {0}")]
    Format(&'static str),
    /// Elements that kernels do not have.
    #[error("holds elements of type {0}: convert it to little-endian integers or floats")]
    Element(String),
    /// The wrong order.
    #[error("is in Fortran order: save numpy.ascontiguousarray of it")]
    FortranOrder,
    /// More or fewer elements than the header says.
    #[error("has {found} bytes of elements where its header says {expected}")]
    Length {
        /// Bytes by the header.
        expected: usize,
        /// Bytes in the file.
        found: usize,
    },
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// Most dimensions of an array, as in NumPy.
pub const MAX_DIMENSIONS: usize = 64;

/// The header is padded so that the elements start at a multiple of this.
const ALIGN: usize = 64;

/// The name that each type has in a header.
const DESCRIPTIONS: [(&str, Scalar); 11] = [
    ("|u1", Scalar::U8),
    ("|i1", Scalar::S8),
    ("<u2", Scalar::U16),
    ("<i2", Scalar::S16),
    ("<u4", Scalar::U32),
    ("<i4", Scalar::S32),
    ("<u8", Scalar::U64),
    ("<i8", Scalar::S64),
    ("<f2", Scalar::F16),
    ("<f4", Scalar::F32),
    ("<f8", Scalar::F64),
];

/// Bytes of an array; none where they are more than an address can count.
pub fn bytes(shape: &[usize], element_bytes: usize) -> Option<usize> {
    let count = shape
        .iter()
        .try_fold(element_bytes, |bytes, &length| bytes.checked_mul(length))?;
    (count <= isize::MAX as usize).then_some(count)
}

/// Reads a file.
///
/// # Errors
/// See [`NpyError`].
pub fn read(path: &Path) -> Result<Array, NpyError> {
    parse(&std::fs::read(path)?)
}

/// Takes an array out of a file's content.
///
/// # Errors
/// See [`NpyError`].
pub fn parse(content: &[u8]) -> Result<Array, NpyError> {
    let rest = content
        .strip_prefix(MAGIC)
        .ok_or(NpyError::Format("it does not start as one"))?;
    let short = || NpyError::Format("it ends in its header");
    // Version 1 has a length of two bytes, later ones of four.
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [0 | 4.., ..] => return Err(NpyError::Format("its version is unknown")),
        _ => return Err(short()),
    };
    let (header, elements) = rest.split_at_checked(length).ok_or_else(short)?;
    let header =
        std::str::from_utf8(header).map_err(|_| NpyError::Format("its header is no text"))?;
    let description = value_of(header, "descr").ok_or(NpyError::Format("it names no type"))?;
    let description = description.trim_matches(['\'', '"']);
    let known = DESCRIPTIONS.iter().find(|(name, _)| *name == description);
    let &(_, element) = known.ok_or_else(|| NpyError::Element(description.to_owned()))?;
    let shape = value_of(header, "shape")
        .and_then(parse_shape)
        .filter(|shape| shape.len() <= MAX_DIMENSIONS)
        .ok_or(NpyError::Format("it has no shape"))?;
    if value_of(header, "fortran_order") == Some("True") && shape.len() > 1 {
        return Err(NpyError::FortranOrder);
    }
    let expected =
        bytes(&shape, element.bytes()).ok_or(NpyError::Format("its shape is too large"))?;
    if elements.len() != expected {
        return Err(NpyError::Length {
            expected,
            found: elements.len(),
        });
    }
    Ok(Array {
        element,
        shape,
        bytes: elements.to_vec(),
    })
}

/// The value of a key in the header, which is a Python dictionary: a string, a word or a tuple.
fn value_of<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let after = quoted.iter().find_map(|quoted| {
        let at = header.find(quoted.as_str())?;
        Some(&header[at + quoted.len()..])
    })?;
    let value = after.trim_start().strip_prefix(':')?.trim_start();
    let end = match value.chars().next()? {
        '(' => value.find(')')? + 1,
        _ => value.find([',', '}'])?,
    };
    Some(value[..end].trim())
}

fn parse_shape(tuple: &str) -> Option<Vec<usize>> {
    let lengths = tuple.strip_prefix('(')?.strip_suffix(')')?;
    let lengths = lengths.split(',').map(str::trim);
    lengths
        .filter(|length| !length.is_empty())
        .map(|length| length.parse().ok())
        .collect()
}

/// The content of an array's file, of version 1.0.
pub fn format(array: &Array) -> Vec<u8> {
    let stored = array.element.stored_as();
    let known = DESCRIPTIONS.iter().find(|(_, element)| *element == stored);
    let description = known.map_or("", |(name, _)| *name);
    let lengths: Vec<String> = array.shape.iter().map(usize::to_string).collect();
    let tuple = match lengths.as_slice() {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    };
    let mut header =
        format!("{{'descr': '{description}', 'fortran_order': False, 'shape': {tuple}, }}");
    let start = MAGIC.len() + 4;
    let end = (start + header.len() + 1).next_multiple_of(ALIGN);
    header.extend(std::iter::repeat_n(' ', end - start - header.len() - 1));
    header.push('\n');
    let mut content = MAGIC.to_vec();
    content.extend([1, 0]);
    // Two bytes are enough for the dimensions that there can be.
    content.extend((header.len() as u16).to_le_bytes());
    content.extend(header.as_bytes());
    content.extend(&array.bytes);
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        for (element, shape) in [
            (Scalar::F32, vec![3, 5]),
            (Scalar::U8, vec![7]),
            (Scalar::F64, vec![]),
            (Scalar::S16, vec![0, 4]),
            (Scalar::F16, vec![2, 1, 2]),
        ] {
            let count: usize = shape.iter().product();
            let array = Array {
                element,
                bytes: element.random(count, 1),
                shape,
            };
            let content = format(&array);
            assert_eq!((content.len() - array.bytes.len()) % ALIGN, 0);
            assert_eq!(parse(&content).unwrap(), array);
        }
    }

    #[test]
    fn files_as_numpy_writes_them() {
        let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }";
        let mut content = b"\x93NUMPY\x02\x00".to_vec();
        content.extend((header.len() as u32).to_le_bytes());
        content.extend(header.as_bytes());
        content.extend([1, 0, 0, 0, 2, 0, 0, 0]);
        let array = parse(&content).unwrap();
        assert_eq!((array.element, array.shape), (Scalar::S32, vec![2, 1]));
    }

    #[test]
    fn bad_files_are_refused_with_a_reason() {
        let file = |header: &str, elements: &[u8]| {
            let mut content = b"\x93NUMPY\x01\x00".to_vec();
            content.extend((header.len() as u16).to_le_bytes());
            content.extend(header.as_bytes());
            content.extend(elements);
            content
        };
        let wrong = [
            (b"PK".to_vec(), "no .npy file"),
            (b"\x93NUMPY\x01".to_vec(), "ends in its header"),
            (b"\x93NUMPY\x09\x00\x00".to_vec(), "version"),
            (file("{}", &[]), "names no type"),
            (file("{'descr': '<f4', }", &[]), "no shape"),
            (file("{'descr': '>f4', 'shape': (1,), }", &[0; 4]), ">f4"),
            (
                file("{'descr': '<f4', 'shape': (2,), }", &[0; 4]),
                "4 bytes",
            ),
            (
                file(
                    "{'descr': '<f4', 'shape': (99999999999, 99999999999), }",
                    &[],
                ),
                "too large",
            ),
            (
                file(
                    "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }",
                    &[0; 4],
                ),
                "Fortran",
            ),
        ];
        for (content, reason) in wrong {
            let error = parse(&content).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
