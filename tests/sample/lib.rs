//! Which cases of a long test run: all of them, or a sample that a seed draws.
//!
//! `WARPLADDER_TEST=full` runs all cases, `WARPLADDER_TEST=sample` a sample of them, and without
//! the variable, or with `WARPLADDER_TEST=quick`, a quarter of that runs. The seed is the text of
//! `WARPLADDER_SAMPLE_SEED`: the same text draws the same sample, on every machine. `.ci/run` asks
//! for the sample and sets the seed to the hash of the commit, so that those of successive commits
//! differ.
//!
//! Every test prints how many of its cases it ran, and the seed.

use std::fmt;
use std::io::Write;

/// The variable that says how much runs: `full`, `sample` or `quick`, which is the default.
const EXTENT: &str = "WARPLADDER_TEST";

/// The variable with the seed: any text.
const SEED: &str = "WARPLADDER_SAMPLE_SEED";

/// All cases, or those that a seed draws.
#[derive(Clone, Debug)]
pub enum Sample {
    /// All cases.
    Full,
    /// The cases that this seed draws.
    Drawn {
        /// Any text.
        seed: String,
        /// Of the largest sample, one case in this many.
        one_in: u64,
    },
}

impl Sample {
    /// What the environment asks for.
    ///
    /// # Panics
    ///
    /// `WARPLADDER_TEST` is another word: a mistyped `full` must not run less.
    pub fn from_env() -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let seed = variable(SEED);
        match variable(EXTENT).as_str() {
            "full" => Sample::Full,
            "sample" => Sample::Drawn { seed, one_in: 3 },
            "" | "quick" => Sample::Drawn { seed, one_in: 12 },
            other => panic!("{EXTENT}={other} is unknown: use `full`, `sample` or `quick`"),
        }
    }

    /// Whether all cases run.
    pub fn is_full(&self) -> bool {
        matches!(self, Sample::Full)
    }

    /// Whether the case `key` runs in a sample of one in `of` cases. The answer depends on nothing
    /// but the seed and `key`, so that another case more or less moves none.
    pub fn takes(&self, key: &str, of: u64) -> bool {
        match self {
            Sample::Full => true,
            Sample::Drawn { seed, one_in } => hash(seed, key).is_multiple_of(of * one_in),
        }
    }

    /// `most` of `cases` in a sample, in their order, or all of them.
    pub fn draw<T>(&self, cases: Vec<T>, most: usize, key: impl Fn(&T) -> String) -> Vec<T> {
        let Sample::Drawn { seed, one_in } = self else {
            return cases;
        };
        let most = most.div_ceil(*one_in as usize);
        let mut hashes: Vec<u64> = cases.iter().map(|case| hash(seed, &key(case))).collect();
        let own = hashes.clone();
        hashes.sort_unstable();
        let Some(&limit) = hashes.get(most) else {
            return cases;
        };
        let drawn = cases.into_iter().zip(own);
        drawn
            .filter(|(_, hash)| *hash < limit)
            .map(|(case, _)| case)
            .collect()
    }

    /// The sample of the parts of what [`draw`](Self::draw) has left: a quick run takes fewer of
    /// the wholes, and no fewer parts of each.
    pub fn of_drawn(&self) -> Sample {
        match self {
            Sample::Full => Sample::Full,
            Sample::Drawn { seed, .. } => Sample::Drawn {
                seed: seed.clone(),
                one_in: 1,
            },
        }
    }

    /// Says on standard error, which the test harness does not capture, how much of a test ran.
    pub fn report(&self, ran: usize, of: usize, cases: &str) {
        // A closed standard error is no reason to fail.
        _ = writeln!(std::io::stderr(), "ran {ran} of {of} {cases} ({self})");
    }
}

/// How to run the same again.
impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::Full => write!(f, "{EXTENT}=full"),
            Sample::Drawn { seed, .. } => write!(f, "{SEED}={seed:?}; {EXTENT}=full runs all"),
        }
    }
}

/// FNV-1a over the seed, a byte that ends it, and the key. The last step of MurmurHash3 spreads
/// the high bits over the low ones, which decide.
fn hash(seed: &str, key: &str) -> u64 {
    let bytes = seed.bytes().chain([0xff]).chain(key.bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: &str) -> Sample {
        let seed = seed.to_owned();
        Sample::Drawn { seed, one_in: 1 }
    }

    #[test]
    fn a_seed_draws_its_share_and_another_seed_other_cases() {
        let keys: Vec<String> = (0..8000).map(|key| format!("case {key}")).collect();
        let of = |seed| -> Vec<&String> {
            let sample = drawn(seed);
            keys.iter().filter(|key| sample.takes(key, 8)).collect()
        };
        let (one, other) = (of("one"), of("other"));
        assert_eq!(one, of("one"));
        assert!((900..1100).contains(&one.len()), "{}", one.len());
        let common = one.iter().filter(|key| other.contains(key)).count();
        assert!((75..175).contains(&common), "{common}");
        assert!(keys.iter().all(|key| Sample::Full.takes(key, 8)));
    }

    #[test]
    fn a_number_of_cases_is_drawn_in_their_order() {
        let draw = |sample: Sample, most| sample.draw((0..50).collect(), most, i32::to_string);
        let some = draw(drawn("seed"), 7);
        assert_eq!(some.len(), 7);
        assert!(some.is_sorted());
        assert_eq!(draw(drawn("seed"), 50).len(), 50);
        let seed = "seed".to_owned();
        let quick = draw(Sample::Drawn { seed, one_in: 4 }, 7);
        assert_eq!(quick.len(), 2);
        assert!(quick.iter().all(|case| some.contains(case)));
        assert_eq!(draw(Sample::Full, 7).len(), 50);
    }
}
