//! What an array holds, beside what it should hold.

use super::Scalar;
use super::npy::Array;

/// Differences that are shown.
const SHOWN: usize = 5;

/// What is wrong with an array that was to be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The arrays cannot be compared.
    #[error("the file holds {expected}, the array is {found}")]
    Form {
        /// Type and lengths of the array.
        found: String,
        /// Type and lengths in the file.
        expected: String,
    },
}

/// The elements that differ.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Differences {
    /// How many.
    pub count: usize,
    /// Elements compared.
    pub of: usize,
    /// The first of them, in words.
    pub first: Vec<String>,
}

/// Compares an array with what it should hold. An element is right if it has the same bits, or is a
/// NaN where a NaN is expected, or differs by at most `tolerance` times the larger of 1 and the
/// expected magnitude.
///
/// # Errors
/// [`CompareError::Form`] where the arrays are of another type or number of elements.
pub fn compare(
    found: &Array,
    expected: &Array,
    tolerance: f64,
) -> Result<Differences, CompareError> {
    let count = |array: &Array| array.shape.iter().product::<usize>();
    if found.element.stored_as() != expected.element.stored_as() || count(found) != count(expected)
    {
        let describe = |array: &Array| format!("{}{:?}", array.element, array.shape);
        return Err(CompareError::Form {
            found: describe(found),
            expected: describe(expected),
        });
    }
    let size = found.element.bytes();
    let pairs = found
        .bytes
        .chunks_exact(size)
        .zip(expected.bytes.chunks_exact(size));
    let mut differences = Differences {
        of: count(found),
        ..Differences::default()
    };
    for (index, (found_bytes, expected_bytes)) in pairs.enumerate() {
        if is_right(found.element, found_bytes, expected_bytes, tolerance) {
            continue;
        }
        differences.count += 1;
        if differences.first.len() < SHOWN {
            let (is, should) = (
                found.element.show(found_bytes),
                found.element.show(expected_bytes),
            );
            let at = place(index, &found.shape);
            differences
                .first
                .push(format!("[{at}] is {is}, not {should}"));
        }
    }
    Ok(differences)
}

/// Whether an element is right.
fn is_right(element: Scalar, found: &[u8], expected: &[u8], tolerance: f64) -> bool {
    if found == expected {
        return true;
    }
    let (found, expected) = (element.to_f64(found), element.to_f64(expected));
    if found.is_nan() || expected.is_nan() {
        return found.is_nan() && expected.is_nan();
    }
    // Different bits: integers beyond 2^53 are not told apart by their rounded values.
    tolerance > 0.0 && (found - expected).abs() <= tolerance * expected.abs().max(1.0)
        || found == expected && element.is_float()
}

/// The indices of an element, the slowest-varying first.
fn place(index: usize, shape: &[usize]) -> String {
    let mut rest = index;
    let mut indices: Vec<String> = shape
        .iter()
        .rev()
        .map(|&length| {
            let at = rest % length.max(1);
            rest /= length.max(1);
            at.to_string()
        })
        .collect();
    indices.reverse();
    indices.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Array {
        Array {
            element: Scalar::F32,
            shape: vec![values.len()],
            bytes: values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        }
    }

    #[test]
    fn elements_are_right_within_the_tolerance() {
        let expected = floats(&[1.0, 100.0, f32::NAN, 0.0, f32::INFINITY]);
        let found = floats(&[1.005, 100.5, f32::NAN, -0.0, f32::INFINITY]);
        let exact = compare(&found, &expected, 0.0).unwrap();
        assert_eq!((exact.count, exact.of), (2, 5));
        assert_eq!(exact.first[1], "[1] is 100.5, not 100");
        assert_eq!(compare(&found, &expected, 0.01).unwrap().count, 0);
        assert_eq!(compare(&found, &expected, 0.004).unwrap().count, 2);
        let infinite = compare(&floats(&[f32::INFINITY]), &floats(&[1.0]), 1.0).unwrap();
        assert_eq!(infinite.count, 1);
    }

    #[test]
    fn places_and_forms() {
        let mut found = floats(&[0.0; 6]);
        found.shape = vec![2, 3];
        let mut expected = floats(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        let differences = compare(&found, &expected, 0.0).unwrap();
        assert_eq!(differences.first, ["[1,2] is 0, not 1"]);
        expected.element = Scalar::S32;
        let error = compare(&found, &expected, 0.0).unwrap_err().to_string();
        assert_eq!(error, "the file holds s32[6], the array is f32[2, 3]");
        let large = |value: u64| Array {
            element: Scalar::U64,
            shape: vec![1],
            bytes: value.to_le_bytes().to_vec(),
        };
        let one_off = compare(&large(u64::MAX), &large(u64::MAX - 1), 0.0).unwrap();
        assert_eq!(one_off.count, 1);
    }
}
