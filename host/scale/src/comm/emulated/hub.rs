//! Where ranks meet: each hands over what it contributes to an operation, and waits for the others.

use super::Emulated;
use crate::comm::Call;
use crate::error::CommError;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where ranks meet.
pub(super) struct Hub {
    pub limit: Duration,
    pub state: Mutex<State>,
    pub changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    failure: Option<CommError>,
    collectives: HashMap<(u64, u64), Collective>,
    /// Communicators that were split off, by parent, operation and colour.
    pub groups: HashMap<(u64, u64, usize), u64>,
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
        while let Some(collective) = seen.get(next).and_then(|key| self.collectives.get(key)) {
            for rank in collective.absent() {
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
struct Collective {
    call: Call,
    /// The rank that came first.
    first: usize,
    /// The ranks of the whole that it takes.
    members: Vec<usize>,
    contributions: Vec<Option<Arc<Vec<u8>>>>,
    left: usize,
}

impl Collective {
    /// The ranks that have not come.
    fn absent(&self) -> impl Iterator<Item = usize> {
        let absent = self.contributions.iter().zip(&self.members);
        absent.filter_map(|(came, &rank)| came.is_none().then_some(rank))
    }
}

/// What all ranks contributed, in their order.
pub(super) type Contributions = Vec<Arc<Vec<u8>>>;

impl Hub {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is one statement: it is valid after a panic as well.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the first failure, and wakes all ranks.
    pub(super) fn fail(&self, state: &mut State, error: CommError) -> CommError {
        self.changed.notify_all();
        state.failure.get_or_insert(error).clone()
    }
}

impl Emulated {
    /// Hands a contribution over, waits for those of all ranks, and returns them.
    pub(super) fn contribute(
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
        let collective = state.collectives.entry(key).or_insert_with(|| Collective {
            call: call.clone(),
            first: self.rank,
            members: self.members.clone(),
            contributions: vec![None; size],
            left: 0,
        });
        if collective.call != call {
            let error = CommError::Disagree {
                rank: self.number(),
                called: call.to_string(),
                other: self.members[collective.first],
                expected: collective.call.to_string(),
            };
            return Err(self.hub.fail(&mut state, error));
        }
        collective.contributions[self.rank] = Some(Arc::new(sent));
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
                failure,
                collectives,
                ..
            } = &mut *state;
            let Some(collective) = collectives.get_mut(&key) else {
                // Each rank takes a collective once, and the last one removes it.
                let error = CommError::Rendezvous(format!("{operation} was taken twice"));
                return (state, Err(error));
            };
            let all: Option<Contributions> = collective.contributions.iter().cloned().collect();
            if let Some(all) = all {
                collective.left += 1;
                if collective.left == self.members.len() {
                    collectives.remove(&key);
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
}
