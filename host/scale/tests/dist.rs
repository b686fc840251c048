//! Products that are divided among emulated ranks: right, with as many bytes as the formula says,
//! and an error on all ranks where one fails.

use half::bf16;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use warpladder::element::Element;
use warpladder::gemm::{GemmInput, GemmInto};
use warpladder::gpu::{DeviceArray, Gpu};
use warpladder_scale::comm::emulated::{self, Emulated, Fault, FaultKind};
use warpladder_scale::comm::{Communicator, Wire, run_ranks};
use warpladder_scale::dist::{Algorithm, Block, Options, Plan, Shape};
use warpladder_scale::trial::{self, Outcome, Trial};
use warpladder_scale::{CommError, ScaleError, partition};

const LIMIT: Duration = Duration::from_secs(60);

/// Emulated devices, one for each rank, that tests use again: each has compiled its kernels then.
fn devices(count: usize) -> Vec<Gpu> {
    static DEVICES: Mutex<Vec<Gpu>> = Mutex::new(Vec::new());
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    while devices.len() < count {
        devices.push(Gpu::emulated());
    }
    devices[..count].to_vec()
}

/// Whole numbers, of which products are exact in all types.
fn element(seed: usize, i: usize, j: usize) -> i64 {
    ((i * 7 + j * 13 + seed * 5) % 5) as i64 - 2
}

fn upload<T: Wire>(gpu: &Gpu, block: &Block, seed: usize) -> Result<DeviceArray<T>, ScaleError> {
    let mut values = vec![T::NAN; block.elements()];
    let layout = block.layout();
    for (i, row) in block.rows.clone().enumerate() {
        for (j, column) in block.columns.clone().enumerate() {
            values[i * layout.row_stride + j * layout.column_stride] =
                T::from_f64(element(seed, row, column) as f64);
        }
    }
    Ok(gpu.upload(&values)?)
}

/// This rank's part of a product, compared with the right answer; the bytes that were received.
fn part<T>(
    rank: &Emulated,
    gpu: &Gpu,
    algorithm: Algorithm,
    shape: Shape,
    chunks: usize,
) -> Result<u64, ScaleError>
where
    T: GemmInto<<T as GemmInput>::Output> + Wire,
    T::Output: Wire,
{
    let blocks = algorithm.blocks(shape, rank.rank(), rank.size())?;
    let a = upload::<T>(gpu, &blocks.a, 1)?;
    let b = upload::<T>(gpu, &blocks.b, 2)?;
    let mut c = gpu.upload(&vec![T::Output::NAN; blocks.c.elements()])?;
    let options = Options {
        chunks,
        ..Options::default()
    };
    let mut plan = Plan::new(rank, gpu, algorithm)?;
    plan.multiply(rank, shape, [&a, &b], &mut c, options)?;
    let received = rank.received_bytes();
    rank.barrier(gpu)?;
    let c = c.download()?;
    let layout = blocks.c.layout();
    for (i, row) in blocks.c.rows.clone().enumerate() {
        for (j, column) in blocks.c.columns.clone().enumerate() {
            let terms = (0..shape.k).map(|l| element(1, row, l) * element(2, l, column));
            let (expected, found) = (terms.sum::<i64>() as f64, c[i * layout.row_stride + j]);
            let found: f64 = found.into();
            if found != expected {
                return Err(ScaleError::Shape(format!(
                    "({row}, {column}) is {found}, not {expected}"
                )));
            }
        }
    }
    Ok(received)
}

fn run<T>(
    size: usize,
    algorithm: Algorithm,
    shape: Shape,
    chunks: usize,
    (limit, faults): (Duration, &[Fault]),
) -> (Vec<Result<u64, ScaleError>>, u64)
where
    T: GemmInto<<T as GemmInput>::Output> + Wire,
    T::Output: Wire,
{
    let devices = devices(size);
    let calls = Mutex::new(0);
    let outcomes = run_ranks(emulated::ranks(size, limit, faults), |rank| {
        let done = part::<T>(rank, &devices[rank.rank()], algorithm, shape, chunks);
        if rank.rank() == 0 {
            *calls.lock().unwrap_or_else(PoisonError::into_inner) = rank.calls();
        }
        done
    });
    (
        outcomes,
        calls.into_inner().unwrap_or_else(PoisonError::into_inner),
    )
}

fn algorithms(size: usize, shape: Shape) -> Vec<Algorithm> {
    let mut algorithms = vec![Algorithm::AllGather, Algorithm::ReduceScatter];
    let grids = (1..=size).filter(|p| size.is_multiple_of(*p));
    algorithms.extend(grids.map(|p| Algorithm::Summa([p, size / p])));
    let chosen = partition::grid(size, shape.m, shape.n);
    assert!(algorithms.contains(&Algorithm::Summa(chosen)));
    algorithms
}

fn check<T>(size: usize, shape: Shape, chunks: usize) -> usize
where
    T: GemmInto<<T as GemmInput>::Output> + Wire,
    T::Output: Wire,
{
    let algorithms = algorithms(size, shape);
    let bytes = [size_of::<T>() as u64, size_of::<T::Output>() as u64];
    for &algorithm in &algorithms {
        let (outcomes, _) = run::<T>(size, algorithm, shape, chunks, (LIMIT, &[]));
        for (rank, outcome) in outcomes.into_iter().enumerate() {
            let case = format!("{algorithm}, rank {rank} of {size}, {shape:?}, {chunks} chunks");
            let received = outcome.unwrap_or_else(|error| panic!("{case}: {error}"));
            let formula = algorithm.received_bytes(shape, rank, size, bytes).unwrap();
            assert_eq!(received, formula, "{case}");
        }
    }
    algorithms.len()
}

#[test]
fn every_algorithm_is_right_on_1_to_16_ranks() {
    let mut runs = 0;
    for size in 1..=16 {
        let shape = Shape {
            m: 33,
            n: 31,
            k: 37,
        };
        runs += check::<f32>(size, shape, 1 + size % 3);
    }
    println!("{runs} products on 1 to 16 ranks");
}

#[test]
fn shapes_may_be_smaller_than_the_grid() {
    let mut runs = 0;
    for [m, n, k] in [
        [1, 1, 1],
        [1, 31, 2],
        [97, 1, 3],
        [2, 3, 0],
        [5, 0, 7],
        [17, 64, 1],
    ] {
        for size in [1, 3, 4, 7] {
            runs += check::<f32>(size, Shape { m, n, k }, 2);
        }
    }
    println!("{runs} products of shapes smaller than the grid");
}

#[test]
fn other_element_types_are_right() {
    let shape = Shape {
        m: 67,
        n: 53,
        k: 129,
    };
    for size in [2, 6] {
        check::<bf16>(size, shape, 3);
        check::<f64>(size, shape, 2);
        check::<half::f16>(size, shape, 1);
    }
}

#[test]
fn a_trial_is_checked_and_counted_on_all_ranks() {
    let shape = Shape {
        m: 45,
        n: 39,
        k: 67,
    };
    let devices = devices(4);
    for algorithm in algorithms(4, shape) {
        let trial = Trial {
            algorithm,
            shape,
            chunks: 2,
            repetitions: 1,
        };
        let ranks = emulated::ranks(4, LIMIT, &[]);
        let outcomes = run_ranks(ranks, |rank| {
            trial::run::<_, bf16, f32>(rank, &devices[rank.rank()], &trial)
        });
        for outcomes in outcomes {
            let outcomes = outcomes.unwrap();
            assert_eq!(outcomes.len(), 4);
            assert!(outcomes.iter().all(Outcome::is_right), "{outcomes:?}");
            assert!(
                outcomes
                    .iter()
                    .all(|of| of.seconds > 0.0 && of.exchange_seconds > 0.0)
            );
        }
        // A wrong bit that arrives is seen by the check.
        let wrong = (0..4).any(|call| {
            let kind = FaultKind::Corrupt;
            let faults = [Fault {
                rank: 1,
                call,
                kind,
            }];
            let ranks = emulated::ranks(4, LIMIT, &faults);
            let outcomes = run_ranks(ranks, |rank| {
                trial::run::<_, bf16, f32>(rank, &devices[rank.rank()], &trial)
            });
            let is_seen = |of: &Result<Vec<Outcome>, ScaleError>| {
                of.as_ref()
                    .map_or(true, |all| !all.iter().all(Outcome::is_right))
            };
            outcomes.iter().any(is_seen)
        });
        assert!(wrong, "{algorithm}");
    }
}

#[test]
fn a_16_bit_c_is_rounded_once() {
    let shape = Shape {
        m: 33,
        n: 40,
        k: 16,
    };
    let devices = devices(3);
    let outcomes = run_ranks(emulated::ranks(3, LIMIT, &[]), |rank| {
        let gpu = &devices[rank.rank()];
        let blocks = Algorithm::AllGather.blocks(shape, rank.rank(), 3)?;
        let (a, b) = (upload(gpu, &blocks.a, 1)?, upload(gpu, &blocks.b, 2)?);
        let mut c = gpu.upload(&vec![bf16::NAN; blocks.c.elements()])?;
        let options = Options::default();
        let mut plan = Plan::<_, bf16, bf16>::new(rank, gpu, Algorithm::AllGather)?;
        plan.multiply(rank, shape, [&a, &b], &mut c, options)?;
        let c = c.download()?;
        for (index, found) in c.into_iter().enumerate() {
            let (row, column) = (blocks.c.rows.start + index / shape.n, index % shape.n);
            let terms = (0..shape.k).map(|l| element(1, row, l) * element(2, l, column));
            assert_eq!(found, bf16::from_f64(terms.sum::<i64>() as f64));
        }
        Ok::<_, ScaleError>(())
    });
    for outcome in outcomes {
        outcome.unwrap();
    }
}

#[test]
fn a_failure_at_any_call_is_an_error_on_all_ranks_within_the_limit() {
    let shape = Shape {
        m: 13,
        n: 11,
        k: 17,
    };
    let size = 4;
    let (mut injected, mut longest) = (0, Duration::ZERO);
    let limit = Duration::from_millis(400);
    for algorithm in [
        Algorithm::AllGather,
        Algorithm::ReduceScatter,
        Algorithm::Summa([2, 2]),
    ] {
        let (outcomes, calls) = run::<f32>(size, algorithm, shape, 2, (LIMIT, &[]));
        assert!(outcomes.iter().all(Result::is_ok) && calls > 1);
        for call in 0..calls {
            let rank = call as usize % size;
            for kind in [FaultKind::Fail, FaultKind::Vanish] {
                let fault = Fault { rank, call, kind };
                let start = Instant::now();
                let (outcomes, _) = run::<f32>(size, algorithm, shape, 2, (limit, &[fault]));
                for outcome in outcomes {
                    let error = outcome.expect_err("no rank ends as if nothing were");
                    let ScaleError::Comm(error) = error else {
                        panic!("{algorithm}, {fault:?}: {error}");
                    };
                    let is_named = match &error {
                        CommError::RankFailed { rank: named, .. } => *named == rank,
                        CommError::TimedOut { missing, .. } => missing == &[rank],
                        _ => false,
                    };
                    assert!(is_named, "{algorithm}, {fault:?}: {error}");
                }
                longest = longest.max(start.elapsed());
                injected += 1;
            }
        }
    }
    assert!(longest < limit + Duration::from_secs(10), "{longest:?}");
    println!("{injected} failures, each an error on all {size} ranks, at most {longest:?} later");
}

#[test]
fn delays_change_nothing_and_what_is_corrupted_is_seen() {
    let shape = Shape {
        m: 13,
        n: 11,
        k: 17,
    };
    for algorithm in [
        Algorithm::AllGather,
        Algorithm::ReduceScatter,
        Algorithm::Summa([1, 3]),
    ] {
        let time = Duration::from_millis(30);
        let delays: Vec<Fault> = (0..6)
            .map(|call| Fault {
                rank: call as usize % 3,
                call,
                kind: FaultKind::Delay(time),
            })
            .collect();
        let (outcomes, calls) = run::<f32>(3, algorithm, shape, 1, (LIMIT, &delays));
        assert!(outcomes.iter().all(Result::is_ok));
        // What a rank sends in vain is not seen: one of all calls and ranks has to be.
        let corrupted = (0..calls).flat_map(|call| (0..3).map(move |rank| (call, rank)));
        let seen = corrupted.filter(|&(call, rank)| {
            let kind = FaultKind::Corrupt;
            let faults = [Fault { rank, call, kind }];
            let (outcomes, _) = run::<f32>(3, algorithm, shape, 1, (LIMIT, &faults));
            outcomes.iter().any(Result::is_err)
        });
        assert!(seen.count() > 0, "{algorithm}");
    }
}

#[test]
fn wrong_sizes_are_refused_by_name() {
    let shape = Shape { m: 4, n: 4, k: 4 };
    let error = Algorithm::Summa([2, 3]).blocks(shape, 0, 4).unwrap_err();
    assert!(error.to_string().contains("2 x 3"), "{error}");
    assert!(Algorithm::AllGather.blocks(shape, 4, 4).is_err());
    let gpu = devices(1).remove(0);
    let rank = emulated::ranks(1, LIMIT, &[]).remove(0);
    let small = gpu.upload(&[0.0f32; 15]).unwrap();
    let whole = gpu.upload(&[0.0f32; 16]).unwrap();
    let mut c = gpu.upload(&[0.0f32; 16]).unwrap();
    for algorithm in [Algorithm::AllGather, Algorithm::Summa([1, 1])] {
        let options = Options::default();
        let mut plan = Plan::new(&rank, &gpu, algorithm).unwrap();
        let error = plan.multiply(&rank, shape, [&whole, &small], &mut c, options);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("B of this rank has 15 elements"), "{error}");
    }
    let narrow = gpu.upload(&[bf16::ONE; 16]).unwrap();
    let mut rounded = gpu.upload(&[bf16::ONE; 16]).unwrap();
    let mut plan = Plan::<_, bf16, bf16>::new(&rank, &gpu, Algorithm::ReduceScatter).unwrap();
    let options = Options::default();
    let error = plan.multiply(&rank, shape, [&narrow, &narrow], &mut rounded, options);
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("C of bf16 would be rounded each time"),
        "{error}"
    );
    for text in ["summa:0x2", "summa:2", "cannon", ""] {
        assert!(text.parse::<Algorithm>().is_err());
    }
    for algorithm in algorithms(6, shape) {
        assert_eq!(algorithm.to_string().parse::<Algorithm>(), Ok(algorithm));
    }
}
