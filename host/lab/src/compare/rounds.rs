//! Samples of two in turn, in one or more rounds, and what follows from them.

use warpladder::timing::{Quartiles, median};

/// Milliseconds of both in turn: sample by sample those of neighbours.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// Of the kernel, and of the peer.
    pub times: [Vec<f64>; 2],
}

/// The figures of all rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timed {
    /// Samples of each.
    pub samples: usize,
    /// Median milliseconds of the kernel, and of the peer.
    pub ms: [f64; 2],
    /// How many times as fast as the peer: the median of the rounds' medians.
    pub ratio: f64,
    /// Quartiles of the ratios of all samples.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

impl Round {
    /// The ratio of each pair of neighbours, where the peer has `peer_work` times the work.
    fn ratios(&self, peer_work: f64) -> Vec<f64> {
        let [ours, theirs] = &self.times;
        let pairs = ours.iter().zip(theirs);
        pairs
            .map(|(ours, theirs)| theirs / ours / peer_work)
            .collect()
    }

    /// The median of the ratios.
    pub(super) fn ratio(&self, peer_work: f64) -> Option<f64> {
        median(&self.ratios(peer_work))
    }
}

impl Timed {
    /// Of some rounds; `None` where there is no sample.
    pub(super) fn of(rounds: &[Round], peer_work: f64) -> Option<Self> {
        let medians = |of: &dyn Fn(&Round) -> Option<f64>| {
            let each: Option<Vec<f64>> = rounds.iter().map(of).collect();
            median(&each?)
        };
        let all: Vec<f64> = rounds
            .iter()
            .flat_map(|round| round.ratios(peer_work))
            .collect();
        let quartiles = Quartiles::of(&all)?;
        Some(Timed {
            samples: all.len(),
            ms: [
                medians(&|round| median(&round.times[0]))?,
                medians(&|round| median(&round.times[1]))?,
            ],
            ratio: medians(&|round| round.ratio(peer_work))?,
            low: quartiles.low,
            high: quartiles.high,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round<const N: usize>(ours: [f64; N], theirs: [f64; N]) -> Round {
        Round {
            times: [ours.to_vec(), theirs.to_vec()],
        }
    }

    #[test]
    fn one_round_gives_medians_and_quartiles_of_its_neighbours() {
        let round = round([1.0, 2.0, 4.0], [2.0, 2.0, 2.0]);
        let timed = Timed::of(&[round], 1.0).unwrap();
        assert_eq!((timed.samples, timed.ms), (3, [2.0, 2.0]));
        // Ratios 2, 1 and 0.5.
        assert_eq!((timed.low, timed.ratio, timed.high), (0.75, 1.0, 1.5));
    }

    #[test]
    fn the_median_of_the_rounds_counts_whatever_the_first_one_says() {
        let at = |ratio: f64| round([1.0; 5], [ratio; 5]);
        let rounds = [at(0.5), at(1.0), at(1.1), at(1.2)];
        let timed = Timed::of(&rounds, 1.0).unwrap();
        assert_eq!(timed.samples, 20);
        assert!((timed.ratio - 1.05).abs() < 1e-12, "{timed:?}");
        assert!(timed.low <= timed.ratio && timed.ratio <= timed.high);
        assert_eq!(rounds[0].ratio(1.0), Some(0.5));
    }

    #[test]
    fn a_peer_with_more_work_may_take_longer() {
        let timed = Timed::of(&[round([1.0], [3.0])], 2.0).unwrap();
        assert_eq!(timed.ratio, 1.5);
        assert_eq!(Timed::of(&[], 1.0), None);
        assert_eq!(Timed::of(&[round([], [])], 1.0), None);
    }
}
