//! The sizes that a rung takes.

use crate::problem::{Operation, Shape};
use std::fmt;

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
    pub fn describe(self, operation: Operation) -> impl fmt::Display {
        match self {
            Precondition::Any => "any size".to_owned(),
            Precondition::Multiples { m, n, k } if operation.uses_k() => {
                if m == n && n == k {
                    format!("multiples of {m}")
                } else {
                    format!("multiples of {m} (m), {n} (n) and {k} (k)")
                }
            }
            Precondition::Multiples { m, n, .. } if m == n => format!("multiples of {m}"),
            Precondition::Multiples { m, n, .. } => format!("multiples of {m} (m) and {n} (n)"),
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
