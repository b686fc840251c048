//! How often a kernel is timed, and when that is enough.

use super::median_interval;
use crate::engine::{Buffer, Engine, EngineKind};
use crate::error::EngineError;
use crate::launch::Launch;
use std::time::{Duration, Instant};

/// Samples after which no more are taken, whatever the precision: single times are kept in records.
const MAX_SAMPLES: usize = 10_000;

/// Samples between two looks at the precision, which needs them sorted.
const LOOK_EVERY: usize = 10;

/// Launches on a GPU before the first sample, so that clocks and caches have settled. The emulator
/// needs none beside the run that is checked.
const GPU_WARM_UP: usize = 3;

/// What the caches of a GPU hold when a sample begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// What the sample before left there.
    #[default]
    Hot,
    /// Other data: memory of twice the size of the L2 cache is written before each sample.
    Cold,
}

/// How a kernel is timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Samples, at least; one where this is 0.
    pub reps: usize,
    /// More samples are taken until the 95 % interval of the median is within this many percent of
    /// it, up to 10,000 of them.
    pub precision_pct: Option<f64>,
    /// No sample begins after this time.
    pub time_limit: Option<Duration>,
    /// What the caches hold; nothing where the engine has none.
    pub cache: Cache,
}

impl From<usize> for Sampling {
    fn from(reps: usize) -> Self {
        Sampling {
            reps,
            precision_pct: None,
            time_limit: None,
            cache: Cache::Hot,
        }
    }
}

/// Why no more samples were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// There were as many as were asked for.
    Reps,
    /// The median was known as precisely as was asked for.
    Precision,
    /// Time was up.
    TimeLimit,
    /// There were 10,000.
    #[serde(rename = "most_samples")]
    MaxSamples,
}

impl Sampling {
    /// Times launches that run one after the other, at least once, after warm-up: each sample in
    /// milliseconds, and why there are no more.
    ///
    /// # Errors
    /// Those of the launches; [`EngineError::OutOfMemory`] where there is none to fill the caches
    /// with.
    ///
    /// # Safety
    /// As [`Engine::time`]; the launches run many times.
    pub unsafe fn time(
        &self,
        engine: &dyn Engine,
        launches: &[Launch<'_>],
    ) -> Result<(Vec<f64>, Stop), EngineError> {
        let warm_up = match engine.kind() {
            EngineKind::Gpu => GPU_WARM_UP,
            EngineKind::Cpu | EngineKind::Emulator => 0,
        };
        for _ in 0..warm_up {
            for launch in launches {
                // SAFETY: the same contract.
                unsafe { engine.run(launch) }?;
            }
        }
        let evicted = match (self.cache, engine.cache_bytes()) {
            (Cache::Cold, Some(bytes)) => Some(2 * bytes as usize),
            _ => None,
        };
        let scratch = Buffer::new(engine, evicted.unwrap_or(0))?;
        self.take(|| {
            if let Some(bytes) = evicted {
                engine.fill(scratch.ptr(), bytes, 0)?;
            }
            // SAFETY: the same contract.
            unsafe { engine.time(launches, 1) }
        })
    }

    /// Takes samples by `time`, at least one.
    pub fn take<E>(&self, mut time: impl FnMut() -> Result<f64, E>) -> Result<(Vec<f64>, Stop), E> {
        let start = Instant::now();
        let mut samples = Vec::new();
        loop {
            samples.push(time()?);
            if let Some(stop) = self.stop(&samples, start.elapsed()) {
                return Ok((samples, stop));
            }
        }
    }

    /// Whether these samples, taken in this time, are enough.
    fn stop(&self, samples: &[f64], elapsed: Duration) -> Option<Stop> {
        if self.time_limit.is_some_and(|limit| elapsed >= limit) {
            return Some(Stop::TimeLimit);
        }
        if samples.len() < self.reps {
            return None;
        }
        let Some(wanted) = self.precision_pct else {
            return Some(Stop::Reps);
        };
        if samples.len() >= MAX_SAMPLES {
            return Some(Stop::MaxSamples);
        }
        let looks = samples.len() == self.reps || samples.len().is_multiple_of(LOOK_EVERY);
        let reached = looks && precision_pct(samples).is_some_and(|reached| reached <= wanted);
        reached.then_some(Stop::Precision)
    }
}

/// How far the 95 % interval of the median reaches from it, in percent; `None` for too few samples.
fn precision_pct(samples: &[f64]) -> Option<f64> {
    let (low, high) = median_interval(samples)?;
    let middle = (low + high) / 2.0;
    Some(100.0 * (high - low) / 2.0 / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes samples that alternate between two times; each look at the clock is a millisecond
    /// later.
    fn taken(sampling: Sampling, times: [f64; 2]) -> (usize, Stop) {
        let mut samples = Vec::new();
        loop {
            samples.push(times[samples.len() % 2]);
            let elapsed = Duration::from_millis(samples.len() as u64);
            if let Some(stop) = sampling.stop(&samples, elapsed) {
                return (samples.len(), stop);
            }
        }
    }

    #[test]
    fn samples_end_when_there_are_enough_of_them() {
        let reps = Sampling::from(5);
        assert_eq!(taken(reps, [1.0, 2.0]), (5, Stop::Reps));
        assert_eq!(taken(Sampling::from(0), [1.0, 2.0]), (1, Stop::Reps));
        let limited = Sampling {
            time_limit: Some(Duration::from_millis(3)),
            ..reps
        };
        assert_eq!(taken(limited, [1.0, 2.0]), (3, Stop::TimeLimit));
    }

    #[test]
    fn a_precise_median_ends_the_samples_and_a_vague_one_does_not() {
        let precise = Sampling {
            precision_pct: Some(1.0),
            ..Sampling::from(6)
        };
        assert_eq!(taken(precise, [1.0, 1.01]), (6, Stop::Precision));
        // Half of the samples at each of two times: the interval never leaves them.
        assert_eq!(taken(precise, [1.0, 2.0]), (10_000, Stop::MaxSamples));
        let limited = Sampling {
            time_limit: Some(Duration::from_millis(50)),
            ..precise
        };
        assert_eq!(taken(limited, [1.0, 2.0]), (50, Stop::TimeLimit));
    }

    #[test]
    fn one_sample_is_taken_even_without_time() {
        let none = Sampling {
            time_limit: Some(Duration::ZERO),
            ..Sampling::from(20)
        };
        let (samples, stop) = none.take(|| Ok::<_, ()>(1.0)).unwrap();
        assert_eq!((samples.len(), stop), (1, Stop::TimeLimit));
    }
}
