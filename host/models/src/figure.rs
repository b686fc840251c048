//! Figures that carry where they are from.

/// A figure of a GPU and where it is from. An unknown one is `None` of `Option<Figure<_>>`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Figure<T> {
    /// The figure; its unit is in the name of the field that holds it.
    pub value: T,
    /// How it is known.
    pub basis: Basis,
    /// Document, paper, data set or program that it is from.
    pub source: &'static str,
}

/// How a figure is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The vendor states it.
    Datasheet,
    /// It was measured, as its source says.
    Measured,
    /// The driver of a GPU in this machine told it.
    Queried,
    /// It holds for the nearest older generation, and nothing says otherwise.
    Assumed,
}

impl<T> Figure<T> {
    /// A figure of the vendor's.
    pub const fn datasheet(value: T, source: &'static str) -> Self {
        Figure {
            value,
            basis: Basis::Datasheet,
            source,
        }
    }

    /// A measured figure.
    pub const fn measured(value: T, source: &'static str) -> Self {
        Figure {
            value,
            basis: Basis::Measured,
            source,
        }
    }

    /// A figure that the driver told.
    pub const fn queried(value: T) -> Self {
        Figure {
            value,
            basis: Basis::Queried,
            source: "CUDA driver, cuDeviceGetAttribute",
        }
    }

    /// The same figure where it is only assumed to hold.
    pub fn assumed(self) -> Self {
        Figure {
            basis: Basis::Assumed,
            ..self
        }
    }
}
