use super::*;
use crate::comm::run_ranks;
use std::sync::OnceLock;
use std::time::Instant;

const LIMIT: Duration = Duration::from_secs(20);

fn gpu() -> Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(Gpu::emulated).clone()
}

/// Every operation once, of uneven parts; the elements that the rank ends with.
fn all_operations(rank: &Emulated) -> Result<Vec<f32>, CommError> {
    let (me, size) = (rank.rank(), rank.size());
    let gpu = gpu();
    let failed = |error: gpu::Error| rank.device_failed(&error);
    let counts: Vec<usize> = (0..size).map(|rank| rank % 3 + 1).collect();
    let total = counts.iter().sum();
    let own = gpu.upload(&vec![me as f32; counts[me]]).map_err(failed)?;
    let mut all = gpu.upload(&vec![f32::NAN; total]).map_err(failed)?;
    let send = Part::new(&own, 0..counts[me]).map_err(failed)?;
    let receive = PartMut::new(&mut all, 0..total).map_err(failed)?;
    rank.all_gather(&gpu, send, receive, &counts)?;
    let mut piece = gpu.upload(&vec![f32::NAN; counts[me]]).map_err(failed)?;
    let receive = PartMut::new(&mut piece, 0..counts[me]).map_err(failed)?;
    let send = Part::new(&all, 0..total).map_err(failed)?;
    rank.reduce_scatter(&gpu, send, receive, &counts)?;
    rank.all_reduce(&gpu, PartMut::new(&mut all, 0..total).map_err(failed)?)?;
    let root = size / 2;
    rank.broadcast(&gpu, PartMut::new(&mut piece, 0..1).map_err(failed)?, root)?;
    let mut next = gpu.upload(&[f32::NAN]).map_err(failed)?;
    let receive = PartMut::new(&mut next, 0..1).map_err(failed)?;
    let (to, from) = ((me + 1) % size, (me + size - 1) % size);
    let send = Part::new(&own, 0..1).map_err(failed)?;
    rank.send_receive(&gpu, send, to, receive, from)?;
    let mut values = all.download().map_err(failed)?;
    values.extend(piece.download().map_err(failed)?);
    values.extend(next.download().map_err(failed)?);
    Ok(values)
}

#[test]
fn operations_are_right_and_count_what_they_move() {
    for size in [1, 2, 3, 5, 16] {
        let ranks = ranks(size, LIMIT, &[]);
        let counted: Vec<_> = ranks.iter().map(|rank| Arc::clone(&rank.own)).collect();
        let counts: Vec<usize> = (0..size).map(|rank| rank % 3 + 1).collect();
        let total: usize = counts.iter().sum();
        for (me, values) in run_ranks(ranks, all_operations).into_iter().enumerate() {
            let values = values.unwrap();
            let gathered = counts
                .iter()
                .enumerate()
                .flat_map(|(rank, &count)| vec![rank as f32; count]);
            let n = size as f32;
            // All hold the same before the sum.
            let expected: Vec<f32> = gathered.map(|value| value * n).collect();
            assert_eq!(values[..total], expected);
            assert_eq!(values[total], (size / 2) as f32 * n);
            assert_eq!(values.last(), Some(&(((me + size - 1) % size) as f32)));
            let bytes = 4 * match size {
                1 => 0,
                _ => {
                    let others = (total - counts[me]) as u64;
                    let even = received::all_reduce(total, size, me, 1);
                    let own = counts[me] as u64 * (size as u64 - 1);
                    others + own + even + u64::from(me != size / 2) + 1
                }
            };
            assert_eq!(counted[me].received.load(Ordering::Relaxed), bytes);
        }
    }
}

#[test]
fn a_failure_at_any_call_is_an_error_on_all_ranks() {
    let size = 3;
    for call in 0..5 {
        for rank in 0..size {
            for kind in [FaultKind::Fail, FaultKind::Vanish] {
                let start = Instant::now();
                let fault = Fault { rank, call, kind };
                let limit = Duration::from_millis(60);
                let ranks = ranks(size, limit, &[fault]);
                for outcome in run_ranks(ranks, all_operations) {
                    let error = outcome.expect_err("no rank may go on");
                    let is_named = match &error {
                        CommError::RankFailed { rank: named, .. } => *named == rank,
                        CommError::TimedOut { missing, .. } => missing == &[rank],
                        _ => false,
                    };
                    assert!(is_named, "{fault:?}: {error}");
                }
                assert!(start.elapsed() < Duration::from_secs(5), "{fault:?}");
            }
        }
    }
}

#[test]
fn a_delay_changes_nothing_and_disagreement_is_named() {
    let kind = FaultKind::Delay(Duration::from_millis(20));
    let delays: Vec<Fault> = (0..5)
        .map(|call| Fault {
            rank: call as usize % 2,
            call,
            kind,
        })
        .collect();
    for outcome in run_ranks(ranks(2, LIMIT, &delays), all_operations) {
        outcome.unwrap();
    }
    let disagree = |rank: &Emulated| {
        let gpu = gpu();
        let mut array = gpu.upload(&[1.0f32; 4]).unwrap();
        let buffer = PartMut::new(&mut array, 0..3 + rank.rank()).unwrap();
        rank.all_reduce(&gpu, buffer)
    };
    for outcome in run_ranks(ranks(2, LIMIT, &[]), disagree) {
        let error = outcome.unwrap_err().to_string();
        assert!(error.starts_with("ranks disagree"), "{error}");
    }
}

#[test]
fn a_panic_of_one_rank_is_an_error_on_all() {
    let work = |rank: &Emulated| {
        assert!(rank.rank() != 1, "rank 1 is to panic");
        all_operations(rank)
    };
    for outcome in run_ranks(ranks(3, LIMIT, &[]), work) {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("it panicked"), "{error}");
    }
}
