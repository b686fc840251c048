//! Ranks that are threads of one process: the same operations without NCCL and without GPUs.
//!
//! What one rank sends is copied through the host's memory, so a rank's device may be the emulator
//! or a GPU. Failures and delays can be injected at every call ([`Fault`]): tests show with them
//! that no rank hangs.

use super::{Call, Communicator, Part, PartMut, Wire, check_counts, check_rank, received};
use crate::error::CommError;
use bytemuck::cast_slice;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
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

/// Where ranks meet.
struct Hub {
    limit: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    failure: Option<CommError>,
    meetings: HashMap<(u64, u64), Meeting>,
    /// Communicators that were split off, by parent, operation and colour.
    groups: HashMap<(u64, u64, usize), u64>,
    /// Where each rank waits that does.
    waiting: HashMap<usize, (u64, u64)>,
}

impl State {
    /// The ranks for which an operation waits in the end: a rank that is missing there, but waits
    /// for others in an operation of another communicator, stands for those.
    fn missing(&self, key: (u64, u64)) -> Vec<usize> {
        let mut seen = vec![key];
        let mut missing = BTreeSet::new();
        let mut next = 0;
        while let Some(meeting) = seen.get(next).and_then(|key| self.meetings.get(key)) {
            for rank in meeting.absent() {
                match self.waiting.get(&rank) {
                    Some(elsewhere) if !seen.contains(elsewhere) => seen.push(*elsewhere),
                    Some(_) => {}
                    None => _ = missing.insert(rank),
                }
            }
            next += 1;
        }
        missing.into_iter().collect()
    }
}

/// One operation of one communicator.
struct Meeting {
    call: Call,
    /// The rank that came first.
    first: usize,
    /// The ranks of the whole that it takes.
    members: Vec<usize>,
    contributions: Vec<Option<Arc<Vec<u8>>>>,
    left: usize,
}

impl Meeting {
    /// The ranks that have not come.
    fn absent(&self) -> impl Iterator<Item = usize> {
        let absent = self.contributions.iter().zip(&self.members);
        absent.filter_map(|(came, &rank)| came.is_none().then_some(rank))
    }
}

/// What all ranks contributed, in their order.
type Contributions = Vec<Arc<Vec<u8>>>;

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

impl Hub {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is one statement: it is valid after a panic as well.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the first failure, and wakes all ranks.
    fn fail(&self, state: &mut State, error: CommError) -> CommError {
        self.changed.notify_all();
        state.failure.get_or_insert(error).clone()
    }
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

    /// Hands a contribution over, waits for those of all ranks, and returns them.
    fn meet(
        &self,
        call: Call,
        mut sent: Vec<u8>,
        corrupt: bool,
    ) -> Result<Contributions, CommError> {
        if corrupt && let Some(byte) = sent.last_mut() {
            // The exponent of the last element.
            *byte ^= 0x40;
        }
        let key = (self.group, self.sequence.fetch_add(1, Ordering::Relaxed));
        let size = self.members.len();
        let operation = call.operation;
        let mut state = self.hub.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let meeting = state.meetings.entry(key).or_insert_with(|| Meeting {
            call: call.clone(),
            first: self.rank,
            members: self.members.clone(),
            contributions: vec![None; size],
            left: 0,
        });
        if meeting.call != call {
            let error = CommError::Disagree {
                rank: self.number(),
                called: call.to_string(),
                other: self.members[meeting.first],
                expected: meeting.call.to_string(),
            };
            return Err(self.hub.fail(&mut state, error));
        }
        meeting.contributions[self.rank] = Some(Arc::new(sent));
        self.hub.changed.notify_all();
        state.waiting.insert(self.number(), key);
        let (mut state, met) = self.wait(state, key, operation);
        state.waiting.remove(&self.number());
        met
    }

    /// Waits until all ranks have come to an operation.
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        key: (u64, u64),
        operation: &'static str,
    ) -> (MutexGuard<'a, State>, Result<Contributions, CommError>) {
        let deadline = Instant::now() + self.hub.limit;
        loop {
            let State {
                failure, meetings, ..
            } = &mut *state;
            let Some(meeting) = meetings.get_mut(&key) else {
                // Each rank takes a meeting once, and the last one removes it.
                let error = CommError::Rendezvous(format!("{operation} was taken twice"));
                return (state, Err(error));
            };
            let all: Option<Contributions> = meeting.contributions.iter().cloned().collect();
            if let Some(all) = all {
                meeting.left += 1;
                if meeting.left == self.members.len() {
                    meetings.remove(&key);
                }
                return (state, Ok(all));
            }
            if let Some(failure) = failure {
                let failure = failure.clone();
                return (state, Err(failure));
            }
            let now = Instant::now();
            if now >= deadline {
                let error = CommError::TimedOut {
                    rank: self.number(),
                    operation: operation.to_owned(),
                    limit: self.hub.limit,
                    missing: state.missing(key),
                };
                let error = self.hub.fail(&mut state, error);
                return (state, Err(error));
            }
            let waited = self.hub.changed.wait_timeout(state, deadline - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
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
        let all = self.meet(
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
        let all = self.meet(
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
        let all = self.meet(
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
        let all = self.meet(call::<T>(NAME, &[count], root), sent, corrupt)?;
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
        // To whom it is sent stands in front.
        let mut bytes = (to as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(cast_slice(&sent));
        let all = self.meet(call::<T>(NAME, &[], 0), bytes, corrupt)?;
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
        let all = self.meet(call, sent, false)?;
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
mod tests {
    use super::*;
    use crate::comm::run_ranks;
    use std::sync::OnceLock;

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
}
