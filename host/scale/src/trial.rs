//! A divided product of known values: checked exactly, counted and timed, on one rank.
//!
//! Elements are whole numbers from −2 to 2 that their place gives, so every rank makes its blocks
//! by itself, and sums are exact in every type as long as k is below 2²². A rank checks its block of
//! C by a vector x of −1, 0 and 1: C · x against A · (B · x), which must be equal.

use crate::comm::{Communicator, Part, PartMut, Wire};
use crate::dist::{Algorithm, Block, Blocks, Options, Plan, Shape, Work};
use crate::error::ScaleError;
use rayon::prelude::*;
use std::time::Instant;
use warpladder::gemm::GemmInto;
use warpladder::gpu::{DeviceArray, Gpu};

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// How the product is divided.
    pub algorithm: Algorithm,
    /// Its shape.
    pub shape: Shape,
    /// In how many chunks blocks are exchanged.
    pub chunks: usize,
    /// How often it is timed, after one time for warm-up.
    pub repetitions: usize,
}

/// What came of it, on one rank.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Outcome {
    /// The rank.
    pub rank: usize,
    /// Bytes that it received in one product.
    pub received_bytes: u64,
    /// Bytes that the formula says.
    pub formula_bytes: u64,
    /// Median wall-clock time of a product, in seconds.
    pub seconds: f64,
    /// That of its products alone.
    pub products_seconds: f64,
    /// That of its exchanges alone.
    pub exchange_seconds: f64,
    /// Rows of its block of C that are wrong.
    pub wrong_rows: u64,
}

impl Outcome {
    /// The part of the exchanges that products hide.
    pub fn hidden(&self) -> f64 {
        let exposed = self.seconds - self.products_seconds;
        match self.exchange_seconds > 0.0 {
            true => (1.0 - exposed / self.exchange_seconds).clamp(0.0, 1.0),
            false => 1.0,
        }
    }

    /// Whether C is right, and as many bytes were received as the formula says.
    pub fn is_right(&self) -> bool {
        self.wrong_rows == 0 && self.received_bytes == self.formula_bytes
    }

    const NUMBERS: usize = 6;

    fn numbers(&self) -> [f64; Self::NUMBERS] {
        [
            self.received_bytes as f64,
            self.formula_bytes as f64,
            self.seconds,
            self.products_seconds,
            self.exchange_seconds,
            self.wrong_rows as f64,
        ]
    }

    fn of_numbers(rank: usize, numbers: &[f64]) -> Option<Self> {
        let &[
            received,
            formula,
            seconds,
            products_seconds,
            exchange_seconds,
            wrong,
        ] = numbers
        else {
            return None;
        };
        Some(Outcome {
            rank,
            received_bytes: received as u64,
            formula_bytes: formula as u64,
            seconds,
            products_seconds,
            exchange_seconds,
            wrong_rows: wrong as u64,
        })
    }
}

/// An element of A (`seed` 1) or B (2): a whole number from −2 to 2.
fn element(seed: usize, i: usize, j: usize) -> f64 {
    let mixed = (i.wrapping_mul(0x9e37_79b1) ^ j.wrapping_mul(0x85eb_ca77) ^ (seed << 7)) as u64;
    let mixed = mixed.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 33;
    (mixed % 5) as f64 - 2.0
}

/// An element of x.
fn projection(j: usize) -> f64 {
    element(3, j, 0).clamp(-1.0, 1.0)
}

/// A block of A or B on the device.
fn upload<T: Wire>(gpu: &Gpu, block: &Block, seed: usize) -> Result<DeviceArray<T>, ScaleError> {
    let (rows, columns) = (block.rows.len(), block.columns.len());
    let mut values = vec![T::zeroed(); rows * columns];
    let (within, by_rows) = match block.column_major {
        true => (rows, false),
        false => (columns, true),
    };
    let fill = |(line, values): (usize, &mut [T])| {
        for (at, value) in values.iter_mut().enumerate() {
            let (i, j) = if by_rows { (line, at) } else { (at, line) };
            let number = element(seed, block.rows.start + i, block.columns.start + j);
            *value = T::from_f64(number);
        }
    };
    values
        .par_chunks_mut(within.max(1))
        .enumerate()
        .for_each(fill);
    Ok(gpu.upload(&values)?)
}

/// How many rows of a rank's block of C are wrong.
fn wrong_rows<O: Wire>(c: &[O], blocks: &Blocks, k: usize) -> u64 {
    let (rows, columns) = (&blocks.c.rows, &blocks.c.columns);
    let x: Vec<f64> = columns.clone().map(projection).collect();
    let of_b = |l: usize| -> f64 {
        let terms = columns.clone().zip(&x).map(|(j, x)| element(2, l, j) * x);
        terms.sum()
    };
    let of_b: Vec<f64> = (0..k).into_par_iter().map(of_b).collect();
    let is_wrong = |&row: &usize| {
        let terms = of_b.iter().enumerate();
        let expected: f64 = terms.map(|(l, b)| element(1, row, l) * b).sum();
        let start = (row - rows.start) * columns.len();
        let found = c[start..start + columns.len()].iter().zip(&x);
        let found: f64 = found.map(|(&c, x)| -> f64 { c.into() * x }).sum();
        // NaN is wrong.
        found != expected
    };
    rows.clone().into_par_iter().filter(is_wrong).count() as u64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// Runs a product on a rank, and returns what came of it on all ranks. All ranks call it.
///
/// # Errors
/// Those of [`Plan::multiply`].
pub fn run<C, T, O>(comm: &C, gpu: &Gpu, trial: &Trial) -> Result<Vec<Outcome>, ScaleError>
where
    C: Communicator,
    T: GemmInto<O> + Wire,
    O: Wire,
{
    let Trial {
        algorithm, shape, ..
    } = *trial;
    if shape.k >= 1 << 22 {
        let message = format!("k is {}: sums are exact below {}", shape.k, 1 << 22);
        return Err(ScaleError::Shape(message));
    }
    let (rank, size) = (comm.rank(), comm.size());
    let blocks = algorithm.blocks(shape, rank, size)?;
    let a = upload::<T>(gpu, &blocks.a, 1)?;
    let b = upload::<T>(gpu, &blocks.b, 2)?;
    let mut c = gpu.upload(&vec![O::NAN; blocks.c.elements()])?;
    let mut plan = Plan::new(comm, gpu, algorithm)?;
    let options = |work| Options {
        chunks: trial.chunks,
        work,
    };
    let before = comm.received_bytes();
    plan.multiply(comm, shape, [&a, &b], &mut c, options(Work::All))?;
    let received_bytes = comm.received_bytes() - before;
    comm.barrier(gpu)?;
    let wrong_rows = wrong_rows(&c.download()?, &blocks, shape.k);
    let mut medians = [0.0; 3];
    for (work, median_of) in [Work::All, Work::Products, Work::Exchange]
        .into_iter()
        .zip(&mut medians)
    {
        let mut times = Vec::new();
        for repetition in 0..=trial.repetitions.max(1) {
            comm.barrier(gpu)?;
            let start = Instant::now();
            plan.multiply(comm, shape, [&a, &b], &mut c, options(work))?;
            if repetition > 0 {
                times.push(start.elapsed().as_secs_f64());
            }
        }
        *median_of = median(times);
    }
    let [seconds, products_seconds, exchange_seconds] = medians;
    let bytes = [size_of::<T>() as u64, size_of::<O>() as u64];
    let own = Outcome {
        rank,
        received_bytes,
        formula_bytes: algorithm.received_bytes(shape, rank, size, bytes)?,
        seconds,
        products_seconds,
        exchange_seconds,
        wrong_rows,
    };
    share(comm, gpu, &own)
}

/// The outcomes of all ranks, on each of them.
fn share<C: Communicator>(comm: &C, gpu: &Gpu, own: &Outcome) -> Result<Vec<Outcome>, ScaleError> {
    let (size, each) = (comm.size(), Outcome::NUMBERS);
    let sent = gpu.upload(&own.numbers())?;
    let mut all = gpu.upload(&vec![0.0f64; size * each])?;
    let send = Part::new(&sent, 0..each)?;
    let receive = PartMut::new(&mut all, 0..size * each)?;
    comm.all_gather(gpu, send, receive, &vec![each; size])?;
    comm.synchronize(gpu)?;
    let all = all.download()?;
    let outcomes = all.chunks(each).enumerate();
    Ok(outcomes
        .filter_map(|(rank, numbers)| Outcome::of_numbers(rank, numbers))
        .collect())
}

/// Ranks whose time is that of none of the others: more than 3.5 deviations above the median, by the
/// median absolute deviation (Iglewicz and Hoaglin 1993, "How to detect and handle outliers"), and
/// more than 3 % above it.
pub fn slow_ranks(seconds: &[f64]) -> Vec<usize> {
    let middle = median(seconds.to_vec());
    let deviations = seconds.iter().map(|time| (time - middle).abs()).collect();
    // The factor makes it a standard deviation where times are distributed normally.
    let deviation = 1.4826 * median(deviations);
    let is_slow = |&(_, time): &(usize, &f64)| {
        !(*time <= middle + 3.5 * deviation) && !(*time <= 1.03 * middle)
    };
    let slow = seconds.iter().enumerate().filter(is_slow);
    slow.map(|(rank, _)| rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_ranks_are_named_and_noise_is_not() {
        assert!(slow_ranks(&[]).is_empty());
        assert!(slow_ranks(&[1.0]).is_empty());
        assert_eq!(
            slow_ranks(&[1.0, 1.01, 0.99, 1.02, 1.0, 1.0, 0.98, 1.3]),
            [7]
        );
        assert!(slow_ranks(&[1.0, 1.0, 1.0, 1.02]).is_empty());
        assert_eq!(slow_ranks(&[1.0, 1.0, 1.0, f64::NAN]), [3]);
        assert!(slow_ranks(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5]).is_empty());
    }

    #[test]
    fn wrong_rows_are_counted() {
        let shape = Shape { m: 7, n: 5, k: 3 };
        let blocks = Algorithm::AllGather.blocks(shape, 0, 1).unwrap();
        let of = |i: usize, j: usize| -> f64 {
            (0..3).map(|l| element(1, i, l) * element(2, l, j)).sum()
        };
        let mut c: Vec<f64> = (0..35).map(|at| of(at / 5, at % 5)).collect();
        assert_eq!(wrong_rows(&c, &blocks, 3), 0);
        // A column that x takes.
        let column = (0..5).find(|&j| projection(j) != 0.0).unwrap();
        c[column] += 1.0;
        c[15 + column] = f64::NAN;
        assert_eq!(wrong_rows(&c, &blocks, 3), 2);
    }
}
