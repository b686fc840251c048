//! Matrices in files, mapped to memory: NumPy's `.npy`, and raw elements.
//!
//! The format of `.npy` is that of NumPy's documentation, "numpy.lib.format", versions 1 to 3.
//! NumPy has no bf16: files of two-byte `V2` elements, as the package ml_dtypes writes them, are
//! taken for it.

use super::matrix::{HostMatrix, HostMatrixMut, Order};
use crate::error::ScaleError;
use memmap2::{Mmap, MmapMut};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use warpladder::element::{Element, ElementType};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Files begin their elements at a multiple of this.
const ALIGN: usize = 64;

/// What the head of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    element: ElementType,
    order: Order,
    extents: [usize; 2],
    /// Where the elements begin, in bytes.
    start: usize,
}

/// A matrix in a file that is read.
#[derive(Debug)]
pub struct MappedMatrix {
    path: PathBuf,
    map: Mmap,
    head: Head,
}

/// A matrix in a file that is written.
#[derive(Debug)]
pub struct MappedMatrixMut {
    path: PathBuf,
    map: MmapMut,
    head: Head,
}

fn fault(path: &Path, reason: impl ToString) -> ScaleError {
    ScaleError::File {
        path: path.display().to_string(),
        reason: reason.to_string(),
    }
}

impl MappedMatrix {
    /// A file of NumPy's format with two dimensions.
    ///
    /// # Errors
    /// [`ScaleError::File`] where it cannot be read, or is of another format or type.
    pub fn npy(path: &Path) -> Result<Self, ScaleError> {
        let map = map(path)?;
        let head = parse(&map).map_err(|reason| fault(path, reason))?;
        Self::new(path, map, head)
    }

    /// A file of elements alone, row by row, little-endian.
    ///
    /// # Errors
    /// [`ScaleError::File`] where it cannot be read, or has not as many bytes.
    pub fn raw(path: &Path, extents: [usize; 2], element: ElementType) -> Result<Self, ScaleError> {
        let head = Head {
            element,
            order: Order::RowMajor,
            extents,
            start: 0,
        };
        Self::new(path, map(path)?, head)
    }

    fn new(path: &Path, map: Mmap, head: Head) -> Result<Self, ScaleError> {
        let takes = bytes(head).ok_or_else(|| fault(path, "its shape is too large"))?;
        let has = map.len() - head.start;
        if has != takes {
            let [rows, columns] = head.extents;
            let reason = format!(
                "{has} bytes of elements are not the {takes} of {rows} x {columns} of {}",
                head.element
            );
            return Err(fault(path, reason));
        }
        Ok(MappedMatrix {
            path: path.to_owned(),
            map,
            head,
        })
    }

    /// Rows and columns.
    pub fn extents(&self) -> [usize; 2] {
        self.head.extents
    }

    /// Its element type.
    pub fn element(&self) -> ElementType {
        self.head.element
    }

    /// Its elements.
    ///
    /// # Errors
    /// [`ScaleError::File`] where they are of another type.
    pub fn view<T: Element>(&self) -> Result<HostMatrix<'_, T>, ScaleError> {
        expect::<T>(&self.path, self.head)?;
        let values = bytemuck::try_cast_slice(&self.map[self.head.start..])
            .map_err(|_| fault(&self.path, "its elements are not aligned: write it again"))?;
        let [rows, columns] = self.head.extents;
        HostMatrix::new(values, rows, columns, self.head.order)
    }
}

impl MappedMatrixMut {
    /// A new file of NumPy's format for a row-major matrix, all zeros. One that is there is
    /// replaced.
    ///
    /// # Errors
    /// [`ScaleError::File`] where it cannot be written.
    pub fn create_npy(
        path: &Path,
        [rows, columns]: [usize; 2],
        element: ElementType,
    ) -> Result<Self, ScaleError> {
        let descr = match element {
            ElementType::F16 => "<f2",
            ElementType::Bf16 => "|V2",
            ElementType::F32 => "<f4",
            ElementType::F64 => "<f8",
        };
        let mut text = format!(
            "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
        );
        let unpadded = MAGIC.len() + 4 + text.len() + 1;
        text.push_str(&" ".repeat(unpadded.next_multiple_of(ALIGN) - unpadded));
        text.push('\n');
        let mut head = MAGIC.to_vec();
        head.extend([1, 0]);
        // Two extents of 20 digits at most.
        head.extend((text.len() as u16).to_le_bytes());
        head.extend(text.as_bytes());
        Self::create(path, &head, [rows, columns], element)
    }

    /// A new file of elements alone, row by row, all zeros.
    ///
    /// # Errors
    /// [`ScaleError::File`] where it cannot be written.
    pub fn create_raw(
        path: &Path,
        extents: [usize; 2],
        element: ElementType,
    ) -> Result<Self, ScaleError> {
        Self::create(path, &[], extents, element)
    }

    fn create(
        path: &Path,
        head_bytes: &[u8],
        extents: [usize; 2],
        element: ElementType,
    ) -> Result<Self, ScaleError> {
        let head = Head {
            element,
            order: Order::RowMajor,
            extents,
            start: head_bytes.len(),
        };
        let failed = |error: std::io::Error| fault(path, error);
        let end = bytes(head).and_then(|bytes| bytes.checked_add(head.start));
        let end = end.ok_or_else(|| fault(path, "its shape is too large"))?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(true);
        let mut file = options.open(path).map_err(failed)?;
        file.write_all(head_bytes).map_err(failed)?;
        file.set_len(end as u64).map_err(failed)?;
        // SAFETY: elements are plain numbers, of which any bytes are values; no other program may
        // change the file meanwhile, which the documentation of `scale gemm` asks for.
        let map = unsafe { MmapMut::map_mut(&file) }.map_err(failed)?;
        Ok(MappedMatrixMut {
            path: path.to_owned(),
            map,
            head,
        })
    }

    /// Its elements, to be written.
    ///
    /// # Errors
    /// [`ScaleError::File`] where they are of another type.
    pub fn view_mut<T: Element>(&mut self) -> Result<HostMatrixMut<'_, T>, ScaleError> {
        expect::<T>(&self.path, self.head)?;
        let values = bytemuck::try_cast_slice_mut(&mut self.map[self.head.start..])
            .map_err(|_| fault(&self.path, "its elements are not aligned"))?;
        let [rows, columns] = self.head.extents;
        HostMatrixMut::new(values, rows, columns, self.head.order)
    }

    /// Its elements, to be read.
    ///
    /// # Errors
    /// [`ScaleError::File`] where they are of another type.
    pub fn view<T: Element>(&self) -> Result<HostMatrix<'_, T>, ScaleError> {
        expect::<T>(&self.path, self.head)?;
        let values = bytemuck::try_cast_slice(&self.map[self.head.start..])
            .map_err(|_| fault(&self.path, "its elements are not aligned"))?;
        let [rows, columns] = self.head.extents;
        HostMatrix::new(values, rows, columns, self.head.order)
    }

    /// Writes what was changed to the disk.
    ///
    /// # Errors
    /// [`ScaleError::File`] where the disk is full or fails.
    pub fn flush(&self) -> Result<(), ScaleError> {
        self.map.flush().map_err(|error| fault(&self.path, error))
    }
}

fn map(path: &Path) -> Result<Mmap, ScaleError> {
    let file = File::open(path).map_err(|error| fault(path, error))?;
    // SAFETY: elements are plain numbers, of which any bytes are values. No other program may
    // shorten or change the file meanwhile, which the documentation of `scale gemm` asks for.
    unsafe { Mmap::map(&file) }.map_err(|error| fault(path, error))
}

/// Bytes of the elements.
fn bytes(head: Head) -> Option<usize> {
    let [rows, columns] = head.extents;
    let elements = rows.checked_mul(columns)?;
    elements.checked_mul(head.element.bytes() as usize)
}

fn expect<T: Element>(path: &Path, head: Head) -> Result<(), ScaleError> {
    match T::TYPE == head.element {
        true => Ok(()),
        false => Err(fault(
            path,
            format!("it is of {}, not of {}", head.element, T::TYPE),
        )),
    }
}

/// Reads the head of a file of NumPy's format.
fn parse(file: &[u8]) -> Result<Head, String> {
    let not_npy = || "it is no .npy file: its head is not NumPy's".to_owned();
    let rest = file.strip_prefix(MAGIC).ok_or_else(not_npy)?;
    let (len, from) = match rest {
        [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), 4),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 6),
        [version, ..] => return Err(format!("version {version} of .npy is not known")),
        [] => return Err(not_npy()),
    };
    let text = rest.get(from..).and_then(|rest| rest.get(..len));
    let text = text.and_then(|text| std::str::from_utf8(text).ok());
    let text = text.ok_or_else(not_npy)?;
    let value = |key: &str| {
        let quoted = [format!("'{key}'"), format!("\"{key}\"")];
        let behind = quoted
            .iter()
            .find_map(|key| Some(text.split_once(key.as_str())?.1));
        let value = behind.and_then(|rest| rest.trim_start().strip_prefix(':'));
        value
            .map(str::trim_start)
            .ok_or_else(|| format!("its head has no {key}"))
    };
    let descr = value("descr")?;
    let quote = descr
        .chars()
        .next()
        .filter(|quote| ['\'', '"'].contains(quote));
    let descr = quote.and_then(|quote| descr[1..].split(quote).next());
    let element = match descr {
        Some("<f2") => ElementType::F16,
        Some("<f4") => ElementType::F32,
        Some("<f8") => ElementType::F64,
        Some("<V2" | "|V2") => ElementType::Bf16,
        Some(other) => {
            return Err(format!(
                "its elements are {other}: take <f2, <f4, <f8 or, for bf16, |V2"
            ));
        }
        None => return Err("its elements are a structure: take numbers".to_owned()),
    };
    let order = value("fortran_order")?;
    let order = match (order.starts_with("True"), order.starts_with("False")) {
        (true, _) => Order::ColumnMajor,
        (_, true) => Order::RowMajor,
        _ => return Err("its fortran_order is neither True nor False".to_owned()),
    };
    let shape = value("shape")?;
    let shape = shape
        .strip_prefix('(')
        .and_then(|shape| shape.split(')').next());
    let shape = shape.ok_or_else(|| "its shape is no tuple".to_owned())?;
    let extents: Result<Vec<usize>, _> = shape
        .split(',')
        .map(str::trim)
        .filter(|extent| !extent.is_empty())
        .map(str::parse)
        .collect();
    match extents.as_deref() {
        Ok(&[rows, columns]) => Ok(Head {
            element,
            order,
            extents: [rows, columns],
            start: MAGIC.len() + from + len,
        }),
        _ => Err(format!(
            "its shape is ({shape}): take one of two dimensions"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.as_bytes());
        file
    }

    #[test]
    fn heads_are_read_and_others_refused_by_name() {
        let read = |text: &str| parse(&head(text));
        let known = read("{'descr': '<f8', 'fortran_order': True, 'shape': (3, 5), }\n").unwrap();
        assert_eq!(known.extents, [3, 5]);
        assert_eq!(
            (known.element, known.order),
            (ElementType::F64, Order::ColumnMajor)
        );
        let other_order = "{\"shape\": (31,33), \"descr\": \"|V2\", \"fortran_order\": False}";
        assert_eq!(read(other_order).unwrap().element, ElementType::Bf16);
        for (text, reason) in [
            (
                "{'descr': '>f4', 'fortran_order': False, 'shape': (3, 5)}",
                ">f4",
            ),
            (
                "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 5)}",
                "<i4",
            ),
            (
                "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3, 5)}",
                "structure",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
                "(3,)",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3, x)}",
                "(3, x)",
            ),
            (
                "{'descr': '<f4', 'fortran_order': 1, 'shape': (3, 5)}",
                "fortran_order",
            ),
            ("{'descr': '<f4', 'shape': (3, 5)}", "fortran_order"),
            ("{'descr': '", "take <f2"),
            ("", "descr"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        let whole = head("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5)}");
        for len in 0..whole.len() {
            assert!(parse(&whole[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn files_are_written_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.npy");
        let mut file = MappedMatrixMut::create_npy(&path, [3, 5], ElementType::F32).unwrap();
        file.view_mut::<f32>().unwrap().values.as_slice()[7] = 1.5;
        file.flush().unwrap();
        let read = MappedMatrix::npy(&path).unwrap();
        assert_eq!((read.extents(), read.element()), ([3, 5], ElementType::F32));
        assert_eq!(read.view::<f32>().unwrap().values[7], 1.5);
        let error = read.view::<f64>().unwrap_err().to_string();
        assert!(error.contains("of f32, not of f64"), "{error}");
        let error = MappedMatrix::raw(&path, [3, 5], ElementType::F32).unwrap_err();
        assert!(error.to_string().contains("not the 60 of 3 x 5"), "{error}");
        assert!(MappedMatrix::npy(&folder.path().join("none")).is_err());
        let huge = [usize::MAX, 2];
        assert!(MappedMatrixMut::create_npy(&path, huge, ElementType::F64).is_err());
    }
}
