//! The four ways in which the operands of a product are stored.

use std::fmt;

/// How the operands of a product are stored: as they are (N) or transposed (T), A first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Both as they are
    #[default]
    Nn,
    /// B transposed
    Nt,
    /// A transposed
    Tn,
    /// Both transposed
    Tt,
}

impl Layout {
    /// Whether A and B are stored transposed.
    pub fn transposed(self) -> [bool; 2] {
        match self {
            Layout::Nn => [false, false],
            Layout::Nt => [false, true],
            Layout::Tn => [true, false],
            Layout::Tt => [true, true],
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |transposed| if transposed { 't' } else { 'n' };
        let [a, b] = self.transposed().map(letter);
        write!(f, "{a}{b}")
    }
}
