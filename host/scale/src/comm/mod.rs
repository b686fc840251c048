//! Ranks and what they do together: the operations of NCCL that products need.
//!
//! [`Communicator`] has three implementations: [`nccl`], which loads `libnccl.so.2` at run time,
//! [`peer`], whose ranks are GPUs of one process that copy from each other, and [`emulated`], whose
//! ranks are threads of one process with devices of their own. Every algorithm of
//! [`dist`](crate::dist) is written once for all.
//!
//! All ranks call the same operations in the same order. An operation is put on the stream of a
//! [`Gpu`], after what is there; the emulated one has run when the call returns.
//! [`Communicator::synchronize`] waits with a time limit, so that a rank that is gone is an error
//! on all others and no hang.

pub mod emulated;
pub mod launch;
mod mailbox;
#[cfg(all(target_os = "linux", feature = "gpu"))]
pub mod nccl;
#[cfg(all(target_os = "linux", feature = "gpu"))]
pub mod peer;
pub mod rendezvous;

use crate::error::CommError;
use std::ops::Range;
use warpladder::element::{Element, ElementType};
use warpladder::gpu::{self, DeviceArray, Gpu};

/// An element type that ranks exchange and add.
pub trait Wire: Element {
    /// The sum, as a reduction of NCCL adds two values: rounded once.
    fn plus(self, other: Self) -> Self {
        Self::from_f64(self.into() + other.into())
    }
}

impl Wire for half::f16 {}
impl Wire for half::bf16 {}
impl Wire for f32 {}
impl Wire for f64 {}

/// Elements of a device array, to be read.
#[derive(Clone)]
pub struct Part<'a, T> {
    array: &'a DeviceArray<T>,
    range: Range<usize>,
}

impl<'a, T: Wire> Part<'a, T> {
    /// The elements of `range`.
    ///
    /// # Errors
    /// [`gpu::Error::Range`] where there are fewer.
    pub fn new(array: &'a DeviceArray<T>, range: Range<usize>) -> Result<Self, gpu::Error> {
        array.part(range.start, range.len())?;
        Ok(Part { array, range })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    fn read(&self) -> Result<Vec<T>, gpu::Error> {
        let mut values = vec![T::zeroed(); self.len()];
        self.array.read(self.range.start, &mut values)?;
        Ok(values)
    }
}

/// Elements of a device array, to be written.
pub struct PartMut<'a, T> {
    array: &'a mut DeviceArray<T>,
    range: Range<usize>,
}

impl<'a, T: Wire> PartMut<'a, T> {
    /// The elements of `range`.
    ///
    /// # Errors
    /// [`gpu::Error::Range`] where there are fewer.
    pub fn new(array: &'a mut DeviceArray<T>, range: Range<usize>) -> Result<Self, gpu::Error> {
        array.part(range.start, range.len())?;
        Ok(PartMut { array, range })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    fn shared(&self) -> Part<'_, T> {
        Part {
            array: self.array,
            range: self.range.clone(),
        }
    }

    fn write(&mut self, values: &[T]) -> Result<(), gpu::Error> {
        self.array.write(self.range.start, values)
    }
}

/// One of several ranks that work together, with the names of NCCL (NCCL user guide, "Collective
/// Communication Functions" and "Point To Point Communication Functions").
pub trait Communicator: Send + Sync + Sized {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Every rank's `send` behind each other in every rank's `receive`; `counts` has the elements
    /// of each rank, which may differ.
    ///
    /// # Errors
    /// [`CommError`].
    fn all_gather<T: Wire>(
        &self,
        on: &Gpu,
        send: Part<'_, T>,
        receive: PartMut<'_, T>,
        counts: &[usize],
    ) -> Result<(), CommError>;

    /// The sum of all ranks' `send`, of which rank r receives the r-th piece; `counts` has the
    /// elements of each piece.
    ///
    /// # Errors
    /// [`CommError`].
    fn reduce_scatter<T: Wire>(
        &self,
        on: &Gpu,
        send: Part<'_, T>,
        receive: PartMut<'_, T>,
        counts: &[usize],
    ) -> Result<(), CommError>;

    /// The sum of all ranks' `buffer`, in each of them.
    ///
    /// # Errors
    /// [`CommError`].
    fn all_reduce<T: Wire>(&self, on: &Gpu, buffer: PartMut<'_, T>) -> Result<(), CommError>;

    /// The `buffer` of rank `root`, in all of them.
    ///
    /// # Errors
    /// [`CommError`].
    fn broadcast<T: Wire>(
        &self,
        on: &Gpu,
        buffer: PartMut<'_, T>,
        root: usize,
    ) -> Result<(), CommError>;

    /// Sends to a rank and receives from one at the same time, as `ncclSend` and `ncclRecv` in one
    /// group do. Either may be empty.
    ///
    /// # Errors
    /// [`CommError`].
    fn send_receive<T: Wire>(
        &self,
        on: &Gpu,
        send: Part<'_, T>,
        to: usize,
        receive: PartMut<'_, T>,
        from: usize,
    ) -> Result<(), CommError>;

    /// The ranks of the same `colour`, in the order of `key`, as a communicator of their own.
    ///
    /// # Errors
    /// [`CommError`].
    fn split(&self, colour: usize, key: usize) -> Result<Self, CommError>;

    /// Waits for everything on the stream, and gives up at the time limit or where a rank failed.
    ///
    /// # Errors
    /// [`CommError`].
    fn synchronize(&self, on: &Gpu) -> Result<(), CommError>;

    /// Waits until all ranks have come here: whether none has failed before.
    ///
    /// # Errors
    /// [`CommError`].
    fn barrier(&self, on: &Gpu) -> Result<(), CommError> {
        let failed = |error: gpu::Error| CommError::Device {
            rank: self.rank(),
            reason: error.to_string(),
        };
        let mut one = on.zeros::<f32>(1, 1).map_err(failed)?.into_array();
        self.all_reduce(on, PartMut::new(&mut one, 0..1).map_err(failed)?)?;
        self.synchronize(on)
    }

    /// Makes all ranks' operations fail that are not done.
    fn abort(&self, reason: &str);

    /// Bytes that this rank has received from others: with ring algorithms, as many as it has sent.
    fn received_bytes(&self) -> u64;
}

/// Bytes that a rank receives in each operation of a ring algorithm: what the algorithms' formulas
/// and both implementations count with. Source: nccl-tests, "Performance reported by NCCL tests".
pub mod received {
    /// All-gather: what the others send.
    pub fn all_gather(counts: &[usize], rank: usize, element_bytes: u64) -> u64 {
        (counts.iter().sum::<usize>() - counts[rank]) as u64 * element_bytes
    }

    /// Reduce-scatter: the own piece, once from each of the others.
    pub fn reduce_scatter(counts: &[usize], rank: usize, element_bytes: u64) -> u64 {
        (counts.len() as u64 - 1) * counts[rank] as u64 * element_bytes
    }

    /// Broadcast: everything, but on the root.
    pub fn broadcast(count: usize, is_root: bool, element_bytes: u64) -> u64 {
        if is_root {
            0
        } else {
            count as u64 * element_bytes
        }
    }

    /// All-reduce: a reduce-scatter and an all-gather of even pieces.
    pub fn all_reduce(count: usize, size: usize, rank: usize, element_bytes: u64) -> u64 {
        let counts: Vec<usize> = crate::partition::even(count, size)
            .into_iter()
            .map(|piece| piece.len())
            .collect();
        reduce_scatter(&counts, rank, element_bytes) + all_gather(&counts, rank, element_bytes)
    }
}

/// Refuses parts whose lengths are not those of the operation.
fn check_length(
    operation: &'static str,
    what: &'static str,
    takes: usize,
    given: usize,
) -> Result<(), CommError> {
    match takes == given {
        true => Ok(()),
        false => Err(CommError::Length {
            operation,
            what,
            takes,
            given,
        }),
    }
}

/// Refuses a rank that is not there.
fn check_rank(rank: usize, size: usize) -> Result<(), CommError> {
    match rank < size {
        true => Ok(()),
        false => Err(CommError::NoRank { rank, size }),
    }
}

/// Checks the lengths of an all-gather (`own` is sent, `all` received) or a reduce-scatter (the
/// other way).
fn check_counts(
    operation: &'static str,
    (rank, size): (usize, usize),
    counts: &[usize],
    own: usize,
    all: usize,
) -> Result<(), CommError> {
    check_length(operation, "counts", size, counts.len())?;
    check_length(operation, "the rank's own part", counts[rank], own)?;
    check_length(operation, "all parts", counts.iter().sum(), all)
}

/// What a rank calls, to be compared between ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    operation: &'static str,
    element: Option<ElementType>,
    counts: Vec<usize>,
    root: usize,
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {:?}", self.operation, self.counts)?;
        match self.element {
            Some(element) => write!(f, " elements of {element} with root {}", self.root),
            None => Ok(()),
        }
    }
}

/// Does `work` on a thread for each communicator, and returns what each rank's returned, in their
/// order. A rank that returns an error or panics aborts the others.
pub fn run_ranks<C, R, E>(
    communicators: Vec<C>,
    work: impl Fn(&C) -> Result<R, E> + Sync,
) -> Vec<Result<R, E>>
where
    C: Communicator,
    R: Send,
    E: Send + std::fmt::Display + From<CommError>,
{
    /// Aborts the others where a rank unwinds.
    struct OnPanic<'a, C: Communicator>(&'a C);
    impl<C: Communicator> Drop for OnPanic<'_, C> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.abort("it panicked");
            }
        }
    }
    let work = &work;
    std::thread::scope(|scope| {
        let ranks: Vec<_> = communicators
            .into_iter()
            .map(|communicator| {
                scope.spawn(move || {
                    let _on_panic = OnPanic(&communicator);
                    let done = work(&communicator);
                    if let Err(error) = &done {
                        communicator.abort(&error.to_string());
                    }
                    done
                })
            })
            .collect();
        let joined = ranks.into_iter().enumerate().map(|(rank, thread)| {
            thread.join().unwrap_or_else(|_| {
                Err(E::from(CommError::RankFailed {
                    rank,
                    operation: "its own work".to_owned(),
                    reason: "it panicked".to_owned(),
                }))
            })
        });
        joined.collect()
    })
}
