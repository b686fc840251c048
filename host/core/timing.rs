//! How launches are timed, and the statistics of what was measured.

mod sampling;

pub use sampling::{Cache, Sampling, Stop};

/// Times of repeated runs, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of runs.
    pub samples: usize,
    /// Median.
    pub median: f64,
    /// Fastest.
    pub min: f64,
    /// Slowest.
    pub max: f64,
    /// Standard deviation of the samples in percent of their mean; 0 for a single one.
    pub noise_pct: f64,
}

impl Summary {
    /// Summarises times; `None` where there are none.
    pub fn of(times: &[f64]) -> Option<Summary> {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len();
        let median = middle(&sorted)?;
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let noise_pct = if count > 1 && mean > 0.0 {
            let squares: f64 = sorted.iter().map(|time| (time - mean).powi(2)).sum();
            100.0 * (squares / (count - 1) as f64).sqrt() / mean
        } else {
            0.0
        };
        Some(Summary {
            samples: count,
            median,
            min,
            max,
            noise_pct,
        })
    }
}

/// The median of samples in any order; `None` where there are none.
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    middle(&sorted)
}

/// The median of sorted samples.
fn middle(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some((sorted[last / 2] + sorted[sorted.len() / 2]) / 2.0)
}

/// The geometric mean, as ratios are averaged; `None` where there are none.
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (sum / ratios.len() as f64).exp())
}

/// The middle of samples of anything, and the middles of its halves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// A quarter of the samples is below.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// A quarter of the samples is above.
    pub high: f64,
}

impl Quartiles {
    /// Of samples in any order, interpolated between neighbours; `None` where there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |share: f64| {
            let place = share * last as f64;
            let below = place.floor() as usize;
            let above = (below + 1).min(last);
            sorted[below] + (sorted[above] - sorted[below]) * place.fract()
        };
        Some(Quartiles {
            low: at(0.25),
            median: middle(&sorted)?,
            high: at(0.75),
        })
    }
}

/// Where the median of all runs that could have been made lies with 95 % confidence, from samples
/// in any order: between two of them, whose places follow from the binomial distribution alone.
/// `None` for fewer than six, which do not tell.
///
/// Source: Conover, "Practical Nonparametric Statistics", section 3.2, with the normal
/// approximation.
pub fn median_interval(samples: &[f64]) -> Option<(f64, f64)> {
    const LEAST: usize = 6;
    /// Standard deviations of 95 %, two-sided.
    const Z: f64 = 1.96;
    let count = samples.len();
    if count < LEAST {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = (count as f64 - Z * (count as f64).sqrt()) / 2.0;
    let below = below.floor().max(0.0) as usize;
    Some((sorted[below], sorted[count - 1 - below]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_the_median_narrows_with_the_samples() {
        let up_to = |count: i32| (1..=count).map(f64::from).collect::<Vec<_>>();
        assert_eq!(median_interval(&up_to(5)), None);
        assert_eq!(median_interval(&up_to(6)), Some((1.0, 6.0)));
        // The 6th and the 15th of 20, the 41st and the 60th of 100.
        assert_eq!(median_interval(&up_to(20)), Some((6.0, 15.0)));
        assert_eq!(median_interval(&up_to(100)), Some((41.0, 60.0)));
    }

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(Summary::of(&[3.0, 1.0, 2.0]).unwrap().median, 2.0);
        assert_eq!(Summary::of(&[4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn quartiles_lie_between_neighbours() {
        let Quartiles { low, median, high } = Quartiles::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((low, median, high), (1.75, 2.5, 3.25));
        let Quartiles { low, median, high } = Quartiles::of(&[7.0]).unwrap();
        assert_eq!((low, median, high), (7.0, 7.0, 7.0));
        assert_eq!(Quartiles::of(&[]), None);
    }

    #[test]
    fn ratios_and_their_inverses_average_to_1() {
        assert!((geometric_mean(&[4.0, 0.25, 8.0, 0.125]).unwrap() - 1.0).abs() < 1e-12);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn noise_is_relative_to_the_mean() {
        let summary = Summary::of(&[9.0, 10.0, 11.0]).unwrap();
        assert_eq!((summary.min, summary.max), (9.0, 11.0));
        assert!((summary.noise_pct - 10.0).abs() < 1e-12);
        assert_eq!(Summary::of(&[5.0]).unwrap().noise_pct, 0.0);
    }
}
