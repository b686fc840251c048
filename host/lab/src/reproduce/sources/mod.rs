//! The figures of the sources: the only place where they stand.

pub mod cse260;
pub mod ece408;
pub mod intervals;
pub mod patc;
pub mod wolfe;

use super::group::{Count, Entry, Figure, Reason, Shown};

/// A rung that others are a step from.
const fn first(rung: &'static str, figures: &'static [Figure]) -> Entry {
    Entry {
        rung,
        figures,
        step: None,
    }
}

/// A rung after another.
const fn after(
    before: &'static str,
    rung: &'static str,
    reason: &'static Reason,
    figures: &'static [Figure],
) -> Entry {
    Entry {
        rung,
        figures,
        step: Some((before, reason)),
    }
}

/// Reasons that more than one table gives.
mod reasons {
    use super::{Count, Reason, Shown};

    pub const COALESCED: Reason = Reason::new(
        "the lanes of a warp load neighbours, which share sectors, instead of one element from \
         each of 32 sectors",
        Shown::In(Count::Sectors),
    )
    .weighing(
        "an L1 cache keeps the scattered sectors for the rounds that follow, so they are not \
         fetched anew in each",
        "scattered loads wait for up to 32 sectors each, while coalesced ones gain from the caches \
         as well",
    );

    pub const TILED: Reason = Reason::new(
        "a block loads each element of a tile once and uses it many times from shared memory",
        Shown::In(Count::Sectors),
    )
    .weighing(
        "L1 and L2 caches answer most of the loads that the naive kernel repeats, and two \
         shared-memory loads per \
         multiply-add are the next limit",
        "latency has fallen far less than arithmetic has grown, and the naive kernel waits for \
         loads in every round",
    );

    pub const GUARDED: Reason = Reason::new(
        "tests at the loads and at the stores, so that any size will do",
        Shown::In(Count::Instructions),
    )
    .weighing(
        "the tests stand outside of the inner loop and issue while other warps wait for memory",
        "the inner loop is short, so the tests and their index arithmetic are a larger part of it",
    );
}

#[cfg(test)]
mod tests {
    use crate::catalogue;
    use crate::problem::Operation;
    use crate::reproduce::{Entry, Source, Unit};
    use std::collections::HashSet;

    #[test]
    fn every_rung_and_every_reference_is_in_the_catalogue() {
        for source in Source::ALL {
            for group in source.groups() {
                let references = group.reference.iter().map(|reference| reference.rung);
                for name in group
                    .entries
                    .iter()
                    .map(|entry| entry.rung)
                    .chain(references)
                {
                    assert!(catalogue::find(name).is_some(), "{name}");
                }
            }
        }
    }

    #[test]
    fn every_rung_that_the_catalogue_takes_from_a_source_is_in_a_table() {
        let named: HashSet<&str> = Source::ALL
            .into_iter()
            .flat_map(Source::groups)
            .flat_map(|group| group.entries)
            .map(|entry| entry.rung)
            .collect();
        for rung in catalogue::rungs() {
            // Other sizes of a kernel: the source's figures are for 16 x 16.
            let resized = matches!(
                rung.operation,
                Operation::MatVec { rows, any, .. } if any || rows != 16
            );
            if rung.source != "-" && !resized {
                assert!(named.contains(rung.name), "{}", rung.name);
            }
        }
    }

    #[test]
    fn a_step_is_from_an_entry_before_it() {
        for group in Source::ALL.into_iter().flat_map(Source::groups) {
            let mut before = HashSet::new();
            for entry in group.entries {
                match entry.step {
                    Some((base, _)) => assert!(before.contains(base), "{base} of {}", entry.rung),
                    None => assert!(
                        entry
                            .figures
                            .iter()
                            .all(|figure| figure.unit != Unit::TimesBefore),
                        "{} is a multiple of nothing",
                        entry.rung
                    ),
                }
                assert!(before.insert(entry.rung), "{} stands twice", entry.rung);
            }
        }
    }

    #[test]
    fn a_step_that_a_source_gives_has_reasons_to_be_smaller_and_larger() {
        for group in Source::ALL.into_iter().flat_map(Source::groups) {
            for entry in group.entries {
                let (Some(figure), Some((before, reason))) = (entry.figures.first(), entry.step)
                else {
                    continue;
                };
                let before = |other: &&Entry| other.rung == before;
                let base = group.entries.iter().find(before).unwrap();
                let same_kind = base.figures.iter().any(|other| other.kind == figure.kind);
                if figure.unit == Unit::TimesBefore || same_kind {
                    assert!(reason.weight.is_some(), "{}", entry.rung);
                }
            }
        }
    }

    #[test]
    fn values_are_positive_and_words_hold_their_number() {
        for group in Source::ALL.into_iter().flat_map(Source::groups) {
            for figure in group.entries.iter().flat_map(|entry| entry.figures) {
                assert!(figure.value > 0.0);
                // "about 5 % slower" is 0.95 and "over 10x slower" is 0.1: multiples are put into
                // words freely.
                if let Some(words) = figure.words.filter(|_| figure.unit != Unit::TimesBefore) {
                    let digits: String = words.chars().filter(|c| !",".contains(*c)).collect();
                    assert!(digits.contains(&figure.value.to_string()), "{words}");
                }
            }
        }
    }
}
