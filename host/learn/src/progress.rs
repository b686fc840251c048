//! What a learner has passed.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How far a learner is: kept beside the exercises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Exercises that passed when they were checked last.
    pub passed: BTreeSet<String>,
    /// How many hints were shown of each exercise.
    pub hints: BTreeMap<String, usize>,
}
