//! Ranks that are threads of one process: the same operations without NCCL and without GPUs.
//!
//! What one rank sends is copied through the host's memory, so a rank's device may be the emulator
//! or a GPU. Failures and delays can be injected at every call ([`Fault`]): tests show with them
//! that no rank hangs.

mod hub;

use super::{Call, Communicator, Part, PartMut, Wire, check_counts, check_rank, received};
use crate::error::CommError;
use bytemuck::cast_slice;
use hub::{Contributions, Hub};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use warpladder::gpu::{self, Gpu};

/// What goes wrong at a call, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The call fails, and the rank says so.
    Fail,
    /// The rank is gone without a word, as a process that was killed.
    Vanish,
    /// The rank comes this much later.
    Delay(Duration),
    /// A bit of what the rank sends is another one.
    Corrupt,
}

/// A fault that is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rank.
    pub rank: usize,
    /// The number of its call, from 0, over all of its communicators.
    pub call: u64,
    /// What happens.
    pub kind: FaultKind,
}

/// A rank that is a thread.
pub struct Emulated {
    hub: Arc<Hub>,
    /// Which communicator of the hub this is.
    group: u64,
    /// The ranks of the whole, by the number here.
    members: Vec<usize>,
    rank: usize,
    /// Operations of this communicator so far.
    sequence: AtomicU64,
    own: Arc<Own>,
}

/// What all communicators of a rank share.
struct Own {
    faults: Vec<Fault>,
    calls: AtomicU64,
    received: AtomicU64,
    vanished: AtomicBool,
}

/// The communicators of `size` ranks, each for a thread. An operation that takes longer than
/// `limit` fails on all ranks.
pub fn ranks(size: usize, limit: Duration, faults: &[Fault]) -> Vec<Emulated> {
    let hub = Arc::new(Hub {
        limit,
        state: Mutex::default(),
        changed: Condvar::new(),
    });
    let of_rank = |rank| Emulated {
        hub: Arc::clone(&hub),
        group: 0,
        members: (0..size).collect(),
        rank,
        sequence: AtomicU64::new(0),
        own: Arc::new(Own {
            faults: faults
                .iter()
                .copied()
                .filter(|fault| fault.rank == rank)
                .collect(),
            calls: AtomicU64::new(0),
            received: AtomicU64::new(0),
            vanished: AtomicBool::new(false),
        }),
    };
    (0..size).map(of_rank).collect()
}

impl Emulated {
    /// Calls of this rank so far, over all of its communicators: where faults can be injected.
    pub fn calls(&self) -> u64 {
        self.own.calls.load(Ordering::Relaxed)
    }

    /// This rank in the whole.
    fn number(&self) -> usize {
        self.members[self.rank]
    }

    fn device_failed(&self, error: &gpu::Error) -> CommError {
        CommError::Device {
            rank: self.number(),
            reason: error.to_string(),
        }
    }

    /// Counts a call, and does what is injected there; whether to corrupt what is sent.
    fn begin(&self, operation: &'static str) -> Result<bool, CommError> {
        let call = self.own.calls.fetch_add(1, Ordering::Relaxed);
        let failed = |reason: &str| CommError::RankFailed {
            rank: self.number(),
            operation: operation.to_owned(),
            reason: reason.to_owned(),
        };
        if self.own.vanished.load(Ordering::Relaxed) {
            return Err(failed("it is gone"));
        }
        let fault = self.own.faults.iter().find(|fault| fault.call == call);
        match fault.map(|fault| fault.kind) {
            None => Ok(false),
            Some(FaultKind::Corrupt) => Ok(true),
            Some(FaultKind::Delay(time)) => {
                std::thread::sleep(time);
                Ok(false)
            }
            Some(FaultKind::Vanish) => {
                self.own.vanished.store(true, Ordering::Relaxed);
                Err(failed("it is gone"))
            }
            Some(FaultKind::Fail) => {
                let error = failed("a fault was injected");
                Err(self.hub.fail(&mut self.hub.lock(), error))
            }
        }
    }

    fn count(&self, bytes: u64) {
        self.own.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The sum over all contributions of the elements of `range`, in the order of the ranks.
    fn sum<T: Wire>(all: &Contributions, range: std::ops::Range<usize>) -> Vec<T> {
        let elements = |bytes: &Vec<u8>| -> Vec<T> {
            let bytes = &bytes[range.start * size_of::<T>()..range.end * size_of::<T>()];
            values(bytes)
        };
        let mut all = all.iter().map(|bytes| elements(bytes));
        let mut sum = all.next().unwrap_or_default();
        for one in all {
            for (sum, value) in sum.iter_mut().zip(one) {
                *sum = sum.plus(value);
            }
        }
        sum
    }
}

impl Communicator for Emulated {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.members.len()
    }

    fn all_gather<T: Wire>(
        &self,
        _: &Gpu,
        send: Part<'_, T>,
        mut receive: PartMut<'_, T>,
        counts: &[usize],
    ) -> Result<(), CommError> {
        const NAME: &str = "all-gather";
        let place = (self.rank, self.size());
        check_counts(NAME, place, counts, send.len(), receive.len())?;
        let corrupt = self.begin(NAME)?;
        let sent = send.read().map_err(|error| self.device_failed(&error))?;
        let all = self.contribute(
            call::<T>(NAME, counts, 0),
            cast_slice(&sent).to_vec(),
            corrupt,
        )?;
        let gathered: Vec<u8> = all.iter().flat_map(|piece| piece.iter().copied()).collect();
        let written = receive.write(&values::<T>(&gathered));
        self.count(received::all_gather(
            counts,
            self.rank,
            size_of::<T>() as u64,
        ));
        written.map_err(|error| self.device_failed(&error))
    }

    fn reduce_scatter<T: Wire>(
        &self,
        _: &Gpu,
        send: Part<'_, T>,
        mut receive: PartMut<'_, T>,
        counts: &[usize],
    ) -> Result<(), CommError> {
        const NAME: &str = "reduce-scatter";
        let place = (self.rank, self.size());
        check_counts(NAME, place, counts, receive.len(), send.len())?;
        let corrupt = self.begin(NAME)?;
        let sent = send.read().map_err(|error| self.device_failed(&error))?;
        let all = self.contribute(
            call::<T>(NAME, counts, 0),
            cast_slice(&sent).to_vec(),
            corrupt,
        )?;
        let start: usize = counts[..self.rank].iter().sum();
        let sum = Self::sum::<T>(&all, start..start + counts[self.rank]);
        self.count(received::reduce_scatter(
            counts,
            self.rank,
            size_of::<T>() as u64,
        ));
        let written = receive.write(&sum);
        written.map_err(|error| self.device_failed(&error))
    }

    fn all_reduce<T: Wire>(&self, _: &Gpu, mut buffer: PartMut<'_, T>) -> Result<(), CommError> {
        const NAME: &str = "all-reduce";
        let corrupt = self.begin(NAME)?;
        let sent = buffer.shared().read();
        let sent = sent.map_err(|error| self.device_failed(&error))?;
        let count = sent.len();
        let all = self.contribute(
            call::<T>(NAME, &[count], 0),
            cast_slice(&sent).to_vec(),
            corrupt,
        )?;
        let bytes = size_of::<T>() as u64;
        self.count(received::all_reduce(count, self.size(), self.rank, bytes));
        let written = buffer.write(&Self::sum::<T>(&all, 0..count));
        written.map_err(|error| self.device_failed(&error))
    }

    fn broadcast<T: Wire>(
        &self,
        _: &Gpu,
        mut buffer: PartMut<'_, T>,
        root: usize,
    ) -> Result<(), CommError> {
        const NAME: &str = "broadcast";
        check_rank(root, self.size())?;
        let corrupt = self.begin(NAME)?;
        let is_root = root == self.rank;
        let sent = match is_root {
            true => buffer.shared().read(),
            false => Ok(Vec::new()),
        };
        let sent = sent.map_err(|error| self.device_failed(&error))?;
        let count = buffer.len();
        let sent = cast_slice(&sent).to_vec();
        let all = self.contribute(call::<T>(NAME, &[count], root), sent, corrupt)?;
        self.count(received::broadcast(count, is_root, size_of::<T>() as u64));
        if is_root {
            return Ok(());
        }
        let written = buffer.write(&values::<T>(&all[root]));
        written.map_err(|error| self.device_failed(&error))
    }

    fn send_receive<T: Wire>(
        &self,
        _: &Gpu,
        send: Part<'_, T>,
        to: usize,
        mut receive: PartMut<'_, T>,
        from: usize,
    ) -> Result<(), CommError> {
        const NAME: &str = "send and receive";
        check_rank(to, self.size())?;
        check_rank(from, self.size())?;
        let corrupt = self.begin(NAME)?;
        let sent = send.read().map_err(|error| self.device_failed(&error))?;
        // The rank that it is sent to stands in front.
        let mut bytes = (to as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(cast_slice(&sent));
        let all = self.contribute(call::<T>(NAME, &[], 0), bytes, corrupt)?;
        let (head, sent) = all[from].split_at(size_of::<u64>());
        let given = match head == (self.rank as u64).to_le_bytes() {
            true => sent.len() / size_of::<T>(),
            false => 0,
        };
        super::check_length(NAME, "what the other rank sends", receive.len(), given)?;
        if from != self.rank {
            self.count((given * size_of::<T>()) as u64);
        }
        if given == 0 {
            return Ok(());
        }
        let written = receive.write(&values::<T>(sent));
        written.map_err(|error| self.device_failed(&error))
    }

    fn split(&self, colour: usize, key: usize) -> Result<Self, CommError> {
        const NAME: &str = "split";
        self.begin(NAME)?;
        let call = Call {
            operation: NAME,
            element: None,
            counts: Vec::new(),
            root: 0,
        };
        let sequence = self.sequence.load(Ordering::Relaxed);
        let sent = cast_slice(&[colour as u64, key as u64]).to_vec();
        let all = self.contribute(call, sent, false)?;
        let asked = all.iter().map(|bytes| values::<u64>(bytes));
        let mut same: Vec<(u64, usize)> = asked
            .enumerate()
            .filter(|(_, asked)| asked[0] == colour as u64)
            .map(|(rank, asked)| (asked[1], rank))
            .collect();
        same.sort_unstable();
        let rank = same.iter().position(|&(_, rank)| rank == self.rank);
        let mut state = self.hub.lock();
        let next = state.groups.len() as u64 + 1;
        let group = *state
            .groups
            .entry((self.group, sequence, colour))
            .or_insert(next);
        Ok(Emulated {
            hub: Arc::clone(&self.hub),
            group,
            members: same.iter().map(|&(_, rank)| self.members[rank]).collect(),
            // It has asked for this colour itself.
            rank: rank.unwrap_or_default(),
            sequence: AtomicU64::new(0),
            own: Arc::clone(&self.own),
        })
    }

    fn synchronize(&self, on: &Gpu) -> Result<(), CommError> {
        on.synchronize().map_err(|error| self.device_failed(&error))
    }

    fn abort(&self, reason: &str) {
        if self.own.vanished.load(Ordering::Relaxed) {
            return;
        }
        let error = CommError::RankFailed {
            rank: self.number(),
            operation: "its own work".to_owned(),
            reason: reason.to_owned(),
        };
        self.hub.fail(&mut self.hub.lock(), error);
    }

    fn received_bytes(&self) -> u64 {
        self.own.received.load(Ordering::Relaxed)
    }
}

fn call<T: Wire>(operation: &'static str, counts: &[usize], root: usize) -> Call {
    Call {
        operation,
        element: Some(T::TYPE),
        counts: counts.to_vec(),
        root,
    }
}

/// The values that were sent as these bytes.
fn values<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    let mut values = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    let len = values.len() * size_of::<T>();
    bytemuck::cast_slice_mut(&mut values).copy_from_slice(&bytes[..len]);
    values
}

#[cfg(test)]
mod tests;
