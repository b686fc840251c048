//! Launches that are timed together: how many, and of how many copies of the data.

use warpladder::engine::Engine;

/// All copies of the data together are this multiple of the largest cache, so that a launch finds
/// nothing of an earlier one.
const TIMES_CACHE: u64 = 3;

/// Most copies of the data.
const MAX_COPIES: u64 = 64;

/// A sample takes at least this long, in milliseconds: well above the resolution of an event,
/// 0.5 µs, and what starts a graph.
pub(crate) const SAMPLE_MS: f64 = 0.25;

/// Most launches of a sample.
const MAX_LAUNCHES: u32 = 100;

/// How many copies of data of `bytes` bytes launches take in turn, each to read its own from
/// memory. Where no cache keeps data from one launch to the next, there is one.
pub(crate) fn copies_beyond_cache(engine: &dyn Engine, bytes: u64) -> u64 {
    let cache = engine.cache_bytes().unwrap_or(0);
    (TIMES_CACHE * cache)
        .div_ceil(bytes.max(1))
        .clamp(1, MAX_COPIES)
}

/// What `make` makes of the launches of a sample, and how many they are. A launch alone takes
/// `alone` milliseconds, some 10 µs more than one of several: `time` gives the milliseconds of a
/// launch of several.
pub(crate) fn sample<S, E>(
    copies: usize,
    alone: f64,
    make: impl Fn(u32) -> Result<S, E>,
    time: impl Fn(&S, u32) -> Result<f64, E>,
) -> Result<(S, u32), E> {
    let launches = launches_of_sample(alone, copies);
    let sample = make(launches)?;
    if launches == 1 {
        return Ok((sample, launches));
    }
    let settled = launches_of_sample(time(&sample, launches)?, copies);
    match settled > launches {
        true => Ok((make(settled)?, settled)),
        false => Ok((sample, launches)),
    }
}

/// Launches of a sample, where one takes this many milliseconds: as many as there are copies of the
/// data at least, or what is left in the cache from sample to sample would be read.
pub(crate) fn launches_of_sample(ms: f64, copies: usize) -> u32 {
    let launches = (SAMPLE_MS / ms).ceil().max(copies as f64);
    launches.clamp(1.0, f64::from(MAX_LAUNCHES)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn short_launches_are_timed_together() {
        let cases = [(10.0, 1, 1), (0.25, 1, 1), (0.1, 1, 3), (1e-6, 1, 100)];
        for (ms, copies, launches) in cases {
            assert_eq!(launches_of_sample(ms, copies), launches);
        }
    }

    #[test]
    fn launches_are_counted_by_what_one_of_several_takes() {
        let sampled = |alone, of_several| {
            let time = |_: &u32, _| Ok::<_, Infallible>(of_several);
            sample(1, alone, Ok, time).unwrap()
        };
        assert_eq!(sampled(0.02, 0.005), (50, 50));
        // One is timed alone; a sample is not made shorter.
        assert_eq!(sampled(0.3, 0.005), (1, 1));
        assert_eq!(sampled(0.02, 0.1), (13, 13));
    }

    #[test]
    fn a_sample_reads_all_copies() {
        assert_eq!(launches_of_sample(0.1, 64), 64);
        assert_eq!(launches_of_sample(0.005, 7), 50);
    }
}
