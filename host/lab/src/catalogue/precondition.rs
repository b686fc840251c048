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
        }
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
    fn words_name_only_what_is_asked_for() {
        let describe = |m, n, k| Precondition::Multiples { m, n, k }.describe(Operation::Product);
        assert_eq!(describe(16, 16, 16), "multiples of 16");
        assert_eq!(
            describe(128, 4, 128),
            "multiples of 128 (m), 4 (n), 128 (k)"
        );
        assert_eq!(describe(1, 32, 1), "multiples of 32 (n)");
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
