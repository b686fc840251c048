//! A run beside a saved one: which kernels got faster or slower, and how sure that is.
//!
//! # The rule
//!
//! Every sample of now is divided by every sample of then. The median of these ratios is how much
//! longer the kernel takes (Hodges and Lehmann's estimate), and the Mann-Whitney test, turned
//! round, says between which of them the true ratio lies with 99 % confidence, whatever the
//! samples' distribution. Two runs of the same program differ by more than their samples scatter:
//! clocks, temperature and the place of the data in memory are other ones. So a change counts only
//! beyond a *floor*, 2 % on a GPU and 10 % where times are those of a CPU, plus the resolution of a
//! time: 0.5 µs of a CUDA event.
//!
//! - **slower**: the whole interval is above 1 + floor;
//! - **faster**: the whole interval is below 1 / (1 + floor);
//! - **no change**: neither. The interval says what could have been seen.
//!
//! Sources: Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963; Conover,
//! "Practical Nonparametric Statistics", section 5.4.

use crate::results::ResultFile;
use crate::run::{Cache, Record, read_records};
use std::path::{Path, PathBuf};
use warpladder::engine::EngineKind;
use warpladder::timing::median;

/// Fewest samples of each run: with five, the extremes of the ratios are a 99 % interval.
pub const MIN_SAMPLES: usize = 5;

/// Most samples of each run that are looked at: every one is set beside every one.
const MAX_SAMPLES: usize = 400;

/// Probability that the true ratio is on one side of the interval.
const TAIL: f64 = 0.005;

/// Standard deviations beyond which a normal distribution has this tail.
const TAIL_DEVIATIONS: f64 = 2.5758;

/// Changes of GPU times that count, without the resolution.
const GPU_FLOOR: f64 = 0.02;

/// The same of times of a CPU, which has other things to do as well.
const CPU_FLOOR: f64 = 0.10;

/// Resolution of a CUDA event, in milliseconds.
const EVENT_RESOLUTION_MS: f64 = 0.5e-3;

/// Why a saved run cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// No file.
    #[error("cannot read {}: {error}", .path.display())]
    File {
        /// Its name.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Another format.
    #[error("{}: {error}: give a file that `warpladder run --json` wrote", .path.display())]
    Content {
        /// Its name.
        path: PathBuf,
        /// Why.
        error: serde_json::Error,
    },
    /// No single times.
    #[error(
        "{}: its records have no single times, which came with schema 2: save the run again with \
         `warpladder run --json`", .0.display()
    )]
    NoTimes(PathBuf),
}

/// A saved run.
#[derive(Clone, Debug)]
pub struct Baseline(Vec<Record>);

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// It takes the same time, as far as can be told.
    NoChange,
}

/// A kernel now and then. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Median of the saved samples.
    pub median_ms: f64,
    /// How many times as long it takes now.
    pub ratio: f64,
    /// Lower end of the 99 % interval of the ratio.
    pub ratio_low: f64,
    /// Upper end of it.
    pub ratio_high: f64,
    /// Change that counts: 0.02 is 2 %.
    pub floor: f64,
    /// The verdict.
    pub change: Change,
}

impl Baseline {
    /// Reads a file that `run --json` wrote.
    ///
    /// # Errors
    /// See [`BaselineError`].
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let text = std::fs::read_to_string(path).map_err(|error| BaselineError::File {
            path: path.to_owned(),
            error,
        })?;
        let content = |error| BaselineError::Content {
            path: path.to_owned(),
            error,
        };
        let file = ResultFile::parse(&text).map_err(content)?;
        let has_version = |record: &serde_json::Value| record.get("schema").is_some();
        let is_of_run = |record: &serde_json::Value| record.get("engine").is_some();
        let records = file.values();
        if records.iter().any(is_of_run) && !records.iter().any(has_version) {
            return Err(BaselineError::NoTimes(path.to_owned()));
        }
        Ok(Baseline(read_records(&text).map_err(content)?))
    }

    /// Compares a record with that of the same kernel, size, generation, engine, device and caches.
    /// `floor` takes the place of the 2 or 10 %.
    ///
    /// # Errors
    /// One line on why they do not compare.
    pub fn compare(&self, record: &Record, floor: Option<f64>) -> Result<Comparison, String> {
        let Record { m, n, k, .. } = *record;
        let same_kernel = |saved: &&Record| {
            saved.kernel == record.kernel
                && (saved.m, saved.n, saved.k) == (m, n, k)
                && saved.engine == record.engine
                && saved.generation == record.generation
        };
        let of_kernel: Vec<&Record> = self.0.iter().filter(same_kernel).collect();
        let Some(first) = of_kernel.first() else {
            return Err(
                "the saved run has no such kernel of this size, engine and --generation".to_owned(),
            );
        };
        let same_conditions =
            |saved: &&&Record| (&saved.device, saved.cache) == (&record.device, record.cache);
        let Some(saved) = of_kernel.iter().find(same_conditions) else {
            let caches = match first.cache {
                Some(Cache::Hot) => "hot",
                Some(Cache::Cold) => "cold",
                None => "no",
            };
            return Err(format!(
                "the saved run is of {} with {caches} caches",
                first.device
            ));
        };
        let resolution = match record.engine {
            EngineKind::Gpu => EVENT_RESOLUTION_MS,
            EngineKind::Cpu | EngineKind::Emulator => 0.0,
        };
        let floor = floor.unwrap_or(match record.engine {
            EngineKind::Gpu => GPU_FLOOR,
            EngineKind::Cpu | EngineKind::Emulator => CPU_FLOOR,
        });
        compare(saved.samples_ms(), record.samples_ms(), floor, resolution)
    }
}

/// Compares samples of then and now, in milliseconds. Changes up to `floor` (0.02 is 2 %) do not
/// count, nor those up to the resolution of a time.
///
/// # Errors
/// One line where there are too few of them.
pub fn compare(
    then: &[f64],
    now: &[f64],
    floor: f64,
    resolution_ms: f64,
) -> Result<Comparison, String> {
    let too_few = || {
        format!(
            "{} samples then and {} now, at least {MIN_SAMPLES} of each are needed: use --reps",
            then.len(),
            now.len()
        )
    };
    if then.len().min(now.len()) < MIN_SAMPLES {
        return Err(too_few());
    }
    let median_ms = median(then).ok_or_else(too_few)?;
    let (some_then, some_now) = (thinned(then), thinned(now));
    let ratios = some_now
        .iter()
        .flat_map(|now| some_then.iter().map(move |then| now / then));
    let ratios = sorted(ratios);
    let ratio = median(&ratios).ok_or_else(too_few)?;
    let below = ratios_outside(some_then.len(), some_now.len());
    let (ratio_low, ratio_high) = (ratios[below], ratios[ratios.len() - 1 - below]);
    let floor = floor + resolution_ms / median_ms;
    let change = if ratio_low > 1.0 + floor {
        Change::Slower
    } else if ratio_high < 1.0 / (1.0 + floor) {
        Change::Faster
    } else {
        Change::NoChange
    };
    Ok(Comparison {
        median_ms,
        ratio,
        ratio_low,
        ratio_high,
        floor,
        change,
    })
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// At most [`MAX_SAMPLES`] of the samples, evenly spread over their order.
fn thinned(samples: &[f64]) -> Vec<f64> {
    let step = samples.len().div_ceil(MAX_SAMPLES);
    samples.iter().copied().step_by(step).collect()
}

/// How many of the sorted ratios lie below the interval, and as many above it: the critical value
/// of Mann and Whitney's U, up to which U comes with a probability of at most [`TAIL`].
fn ratios_outside(then: usize, now: usize) -> usize {
    /// Up to this number of samples together, the orders of all of them are counted in whole
    /// numbers below 2^53.
    const MAX_COUNTED: usize = 50;
    let (n, m) = (then as f64, now as f64);
    if then + now > MAX_COUNTED {
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        return (n * m / 2.0 - TAIL_DEVIATIONS * deviation).floor().max(0.0) as usize;
    }
    let orders = orders(then, now);
    let all: f64 = orders.iter().sum();
    let mut at_most = 0.0;
    let within = orders.iter().take_while(|&&count| {
        at_most += count;
        at_most / all <= TAIL
    });
    // The tail holds U from 0 on.
    within.count().saturating_sub(1)
}

/// In how many orders of samples `u` pairs of them are inverted, for each `u`: the coefficients of
/// Gauss's binomial, the product of (1 - x^(m+i)) / (1 - x^i) for i from 1 to n.
fn orders(n: usize, m: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        for power in (m + i..counts.len()).rev() {
            counts[power] -= counts[power - m - i];
        }
        for power in i..counts.len() {
            counts[power] += counts[power - i];
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    /// Samples around `median` whose standard deviation is `noise` times it, with a long tail
    /// upwards, as times have.
    fn samples(rng: &mut StdRng, median: f64, noise: f64) -> Vec<f64> {
        (0..20)
            .map(|_| {
                let mut sum = 0.0;
                for _ in 0..12 {
                    sum += rng.random_range(-0.5..0.5);
                }
                let late = if rng.random_range(0..10) == 0 {
                    3.0 * noise
                } else {
                    0.0
                };
                median * (1.0 + noise * sum + late)
            })
            .collect()
    }

    /// How many of 200 comparisons say this of a kernel that now takes `ratio` times as long.
    fn said(change: Change, ratio: f64, noise: f64, resolution_ms: f64) -> usize {
        let mut rng = StdRng::seed_from_u64(7);
        let changes = (0..200).map(|_| {
            let then = samples(&mut rng, 1.0, noise);
            let now = samples(&mut rng, ratio, noise);
            compare(&then, &now, GPU_FLOOR, resolution_ms)
                .unwrap()
                .change
        });
        changes.filter(|&said| said == change).count()
    }

    #[test]
    fn five_percent_are_seen_and_noise_is_not() {
        for noise in [0.0, 0.001, 0.01] {
            assert_eq!(said(Change::Slower, 1.05, noise, 0.0), 200, "{noise}");
            assert_eq!(said(Change::Faster, 1.0 / 1.05, noise, 0.0), 200, "{noise}");
        }
        for noise in [0.0, 0.001, 0.01, 0.05, 0.2] {
            // 1 % means the clocks of another day; of intervals of 99 %, two in 200 may be wrong.
            for ratio in [1.0, 1.01] {
                assert!(said(Change::NoChange, ratio, noise, 0.0) >= 198, "{noise}");
            }
        }
    }

    #[test]
    fn what_is_below_the_resolution_is_no_change() {
        assert_eq!(said(Change::NoChange, 1.05, 0.0, 0.04), 200);
        assert_eq!(said(Change::Slower, 1.10, 0.0, 0.04), 200);
    }

    #[test]
    fn ratios_and_their_interval_are_those_of_the_pairs() {
        let then = [1.0, 2.0, 4.0, 8.0, 16.0];
        let now = then.map(|time| 3.0 * time);
        let comparison = compare(&then, &now, 0.02, 0.0).unwrap();
        assert_eq!((comparison.median_ms, comparison.ratio), (4.0, 3.0));
        // Five of each: the interval is the whole range, from 3 / 16 to 48.
        assert_eq!(
            (comparison.ratio_low, comparison.ratio_high),
            (0.1875, 48.0)
        );
        assert_eq!(comparison.change, Change::NoChange);
        let few = compare(&then[..4], &now, 0.02, 0.0).unwrap_err();
        assert!(few.starts_with("4 samples then and 5 now"), "{few}");
    }

    #[test]
    fn orders_are_counted() {
        // Two and two: 0011, 0101, 0110 and 1001, 1010, 1100.
        assert_eq!(orders(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        // Tables of Mann and Whitney's U, two-sided 1 %: 0 for 5 and 5, 16 for 10 and 10, 105 for
        // 20 and 20.
        for (count, critical) in [(5, 0), (10, 16), (20, 105)] {
            assert_eq!(ratios_outside(count, count), critical, "{count}");
        }
        let (counted, approximated) =
            (ratios_outside(25, 25) as f64, ratios_outside(25, 26) as f64);
        assert!(counted < approximated && approximated < 1.1 * counted);
    }

    #[test]
    fn many_samples_are_thinned() {
        let many: Vec<f64> = (0..10_000).map(f64::from).collect();
        let thin = thinned(&many);
        assert_eq!((thin.len(), thin[1]), (400, 25.0));
        assert_eq!(thinned(&many[..400]), many[..400]);
    }
}
