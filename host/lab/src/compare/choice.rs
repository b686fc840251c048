//! The fastest of several ways to do the same, found with few launches.

use crate::sample::launches_of_sample;
use std::ops::ControlFlow;
use warpladder::timing::median;

/// What is this much slower than the fastest in its first sample is not timed again.
const FAR: f64 = 1.15;

/// Most of those that are timed again, beside the first.
const MAX_AGAIN: usize = 8;

/// How often they are, in turn.
const ROUNDS_AGAIN: usize = 4;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// The fastest.
    pub best: usize,
    /// Its median milliseconds of a launch.
    pub best_ms: f64,
    /// The same of all, of those that were timed to the end.
    pub ms: Vec<Option<f64>>,
    /// How many could be launched.
    pub tried: usize,
}

/// Times `count` candidates on `copies` copies of the data and chooses the one with the least
/// median. `sample` gives the milliseconds of a launch of a candidate, from that many launches, or
/// breaks where the candidate cannot be launched. All are timed once; those near to the fastest,
/// and the first, several times in turn. `None` where none can be launched.
pub(super) fn fastest<E>(
    count: usize,
    copies: usize,
    mut sample: impl FnMut(usize, u32) -> Result<ControlFlow<(), f64>, E>,
) -> Result<Option<Choice>, E> {
    let mut candidates = Vec::new();
    for index in 0..count {
        // The first launch may load the kernel.
        if sample(index, 1)?.is_break() {
            continue;
        }
        let ControlFlow::Continue(once) = sample(index, 1)? else {
            continue;
        };
        let launches = launches_of_sample(once, copies);
        let first = match launches {
            1 => ControlFlow::Continue(once),
            _ => sample(index, launches)?,
        };
        if let ControlFlow::Continue(ms) = first {
            candidates.push((index, launches, vec![ms]));
        }
    }
    let tried = candidates.len();
    candidates.sort_by(|(.., one), (.., other)| one[0].total_cmp(&other[0]));
    let Some((.., least)) = candidates.first() else {
        return Ok(None);
    };
    let far = least[0] * FAR;
    let mut again = 0;
    candidates.retain(|(index, _, samples)| {
        let is_near = samples[0] <= far && again < MAX_AGAIN;
        again += usize::from(is_near);
        is_near || *index == 0
    });
    for _ in 0..ROUNDS_AGAIN {
        for (index, launches, samples) in &mut candidates {
            if let ControlFlow::Continue(ms) = sample(*index, *launches)? {
                samples.push(ms);
            }
        }
    }
    let mut ms = vec![None; count];
    for (index, _, samples) in &candidates {
        ms[*index] = median(samples);
    }
    let timed = ms.iter().enumerate();
    let timed = timed.filter_map(|(index, ms)| ms.map(|ms| (index, ms)));
    let best = timed.min_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(best.map(|(best, best_ms)| Choice {
        best,
        best_ms,
        ms: ms.clone(),
        tried,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Chooses among candidates of these times; those of 0 cannot be launched. With how often each
    /// was sampled.
    fn choose(times: &[f64]) -> (Option<Choice>, Vec<usize>) {
        let mut samples = vec![0; times.len()];
        let choice = fastest(times.len(), 1, |index, _| {
            samples[index] += 1;
            Ok::<_, Infallible>(match times[index] {
                0.0 => ControlFlow::Break(()),
                ms => ControlFlow::Continue(ms),
            })
        });
        (choice.unwrap(), samples)
    }

    #[test]
    fn the_fastest_is_found_and_what_cannot_be_launched_is_left_out() {
        let (choice, samples) = choose(&[2.0, 0.0, 1.05, 1.0, 3.0]);
        let choice = choice.unwrap();
        assert_eq!((choice.best, choice.best_ms, choice.tried), (3, 1.0, 4));
        // The first is timed to the end although it is slow; what is far from the fastest is not.
        assert_eq!(choice.ms, [Some(2.0), None, Some(1.05), Some(1.0), None]);
        assert_eq!(samples, [6, 1, 6, 6, 2]);
        assert_eq!(choose(&[0.0, 0.0]).0, None);
        assert_eq!(choose(&[]).0, None);
    }

    #[test]
    fn few_are_timed_again_however_many_there_are() {
        let (choice, samples) = choose(&[1.0; 32]);
        assert_eq!(choice.unwrap().tried, 32);
        assert_eq!(samples.iter().filter(|&&samples| samples == 6).count(), 8);
    }

    #[test]
    fn one_fast_sample_does_not_win() {
        let mut calls = [0; 2];
        let choice = fastest(2, 1, |index, _| {
            calls[index] += 1;
            let is_lucky = index == 1 && calls[1] == 2;
            let ms = [1.0, if is_lucky { 0.9 } else { 1.1 }][index];
            Ok::<_, Infallible>(ControlFlow::Continue(ms))
        });
        assert_eq!(choice.unwrap().unwrap().best, 0);
    }
}
