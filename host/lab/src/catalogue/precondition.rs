//! The sizes that a rung takes.

use crate::problem::{Operation, Shape};

/// The sizes that a rung takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precondition {
    /// Any size.
    Any,
    /// Each dimension a multiple of a number.
    Multiples {
        /// Of m.
        m: u32,
        /// Of n.
        n: u32,
        /// Of k, where the operation has it.
        k: u32,
    },
    /// The number of elements, m · n, a multiple of this.
    Elements(u32),
    /// No more rows, m, than this, so that what a kernel counts by rows fits into its words.
    #[serde(rename = "most_rows")]
    MostRows(u32),
    /// No more elements, m · n, than this, so that a kernel's counts of them fit.
    #[serde(rename = "most_elements")]
    MostElements(u64),
}

impl Precondition {
    /// Every dimension a multiple of the same number.
    pub const fn multiples_of(multiple: u32) -> Self {
        Precondition::Multiples {
            m: multiple,
            n: multiple,
            k: multiple,
        }
    }

    /// Whether this size is taken.
    pub fn takes(self, operation: Operation, shape: Shape) -> bool {
        match self {
            Precondition::Any => true,
            Precondition::Multiples { m, n, k } => {
                shape.m.is_multiple_of(m)
                    && shape.n.is_multiple_of(n)
                    && (!operation.uses_k() || shape.k.is_multiple_of(k))
            }
            Precondition::Elements(multiple) => {
                (u64::from(shape.m) * u64::from(shape.n)).is_multiple_of(u64::from(multiple))
            }
            Precondition::MostRows(most) => shape.m <= most,
            Precondition::MostElements(most) => u64::from(shape.m) * u64::from(shape.n) <= most,
        }
    }

    /// The least size from this one on that is taken, with the extents that must be larger rounded
    /// up. One that would be too large for its type stays as it is, and one of which there may be
    /// no more becomes the most.
    pub fn round_up(self, operation: Operation, shape: Shape) -> Shape {
        let up = |extent: u32, multiple: u32| {
            let rounded = extent.max(1).checked_next_multiple_of(multiple.max(1));
            rounded.unwrap_or(extent)
        };
        match self {
            Precondition::Any => shape,
            Precondition::Multiples { m, n, k } => Shape {
                m: up(shape.m, m),
                n: up(shape.n, n),
                k: match operation.uses_k() {
                    true => up(shape.k, k),
                    false => shape.k,
                },
            },
            Precondition::Elements(multiple) => Shape {
                n: up(shape.n, multiple / common_divisor(shape.m, multiple)),
                ..shape
            },
            Precondition::MostRows(most) => Shape {
                m: shape.m.min(most),
                ..shape
            },
            Precondition::MostElements(most) => {
                let most = most / u64::from(shape.m.max(1));
                Shape {
                    n: u32::try_from(most).map_or(shape.n, |most| shape.n.min(most)),
                    ..shape
                }
            }
        }
    }

    /// In words, for this operation.
    pub fn describe(self, operation: Operation) -> String {
        match self {
            Precondition::Any => "any size".to_owned(),
            Precondition::Multiples { m, n, k } => {
                let mut dimensions = vec![("m", m), ("n", n)];
                if operation.uses_k() {
                    dimensions.push(("k", k));
                }
                if dimensions.iter().all(|(_, multiple)| *multiple == m) {
                    return format!("multiples of {m}");
                }
                let named: Vec<String> = dimensions
                    .into_iter()
                    .filter(|(_, multiple)| *multiple > 1)
                    .map(|(name, multiple)| format!("{multiple} ({name})"))
                    .collect();
                format!("multiples of {}", named.join(", "))
            }
            Precondition::Elements(multiple) => {
                format!("a multiple of {multiple} elements (m x n)")
            }
            Precondition::MostRows(most) => format!("at most {most} rows (m)"),
            Precondition::MostElements(most) => format!("at most {most} elements (m x n)"),
        }
    }
}

/// The greatest common divisor, by Euclid; that of 0 and another number is the other.
fn common_divisor(one: u32, other: u32) -> u32 {
    match other {
        0 => one.max(1),
        _ => common_divisor(other, one % other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_counts_only_where_there_is_one() {
        let shape = Shape { m: 32, n: 64, k: 5 };
        let exact = Precondition::multiples_of(32);
        assert!(!exact.takes(Operation::Product, shape));
        assert!(exact.takes(Operation::Transpose, shape));
    }

    #[test]
    fn a_size_is_rounded_up_to_one_that_is_taken() {
        let shape = Shape { m: 33, n: 7, k: 5 };
        for (precondition, operation, rounded) in [
            (Precondition::Any, Operation::Product, [33, 7, 5]),
            (
                Precondition::multiples_of(32),
                Operation::Product,
                [64, 32, 32],
            ),
            (
                Precondition::multiples_of(32),
                Operation::Transpose,
                [64, 32, 5],
            ),
            (
                Precondition::Elements(12),
                Operation::StreamCopy,
                [33, 8, 5],
            ),
            (
                Precondition::MostElements(200),
                Operation::Histogram,
                [33, 6, 5],
            ),
            (Precondition::MostRows(32), Operation::SpMv, [32, 7, 5]),
            (
                Precondition::MostElements(1 << 40),
                Operation::Histogram,
                [33, 7, 5],
            ),
        ] {
            let up = precondition.round_up(operation, shape);
            assert_eq!([up.m, up.n, up.k], rounded);
            assert!(precondition.takes(operation, up));
        }
        let most = Shape {
            m: u32::MAX,
            n: u32::MAX,
            k: u32::MAX,
        };
        let up = Precondition::multiples_of(32).round_up(Operation::Product, most);
        assert_eq!(up, most);
    }

    #[test]
    fn words_name_only_what_is_asked_for() {
        let describe = |m, n, k| Precondition::Multiples { m, n, k }.describe(Operation::Product);
        assert_eq!(describe(16, 16, 16), "multiples of 16");
        assert_eq!(
            describe(128, 4, 128),
            "multiples of 128 (m), 4 (n), 128 (k)"
        );
        assert_eq!(describe(1, 32, 1), "multiples of 32 (n)");
        let most = Precondition::MostElements(7).describe(Operation::Histogram);
        assert_eq!(most, "at most 7 elements (m x n)");
        let most = Precondition::MostRows(7).describe(Operation::SpMv);
        assert_eq!(most, "at most 7 rows (m)");
    }

    #[test]
    fn elements_are_counted_without_overflow() {
        let shape = Shape {
            m: u32::MAX,
            n: 1 << 16,
            k: 1,
        };
        assert!(Precondition::Elements(1 << 16).takes(Operation::StreamCopy, shape));
        assert!(!Precondition::Elements(1 << 17).takes(Operation::StreamCopy, shape));
    }
}
