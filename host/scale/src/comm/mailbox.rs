//! Where threads of one process hand values to each other, each for one of them, with a time limit.

#![cfg_attr(
    not(all(target_os = "linux", feature = "gpu")),
    allow(dead_code, reason = "the GPUs of one process alone use it")
)]

use crate::error::CommError;
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a thread looks again and again before it sleeps: it is woken up some 50 µs late.
const BUSY: Duration = Duration::from_micros(200);

/// Which value: the number of the operation, the rank that hands it over, and the step.
pub(super) type Key = (u64, usize, u8);

/// Values that were handed over and not taken.
pub(super) struct Mailbox<V> {
    limit: Duration,
    state: Mutex<State<V>>,
    changed: Condvar,
}

struct State<V> {
    values: HashMap<Key, V>,
    failure: Option<CommError>,
}

impl<V> Mailbox<V> {
    pub(super) fn new(limit: Duration) -> Self {
        Mailbox {
            limit,
            state: Mutex::new(State {
                values: HashMap::new(),
                failure: None,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<V>> {
        // Every change of the state is one statement: it is valid after a panic as well.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn post(&self, key: Key, value: V) {
        self.lock().values.insert(key, value);
        self.changed.notify_all();
    }

    /// Takes a value back that no rank has taken.
    pub(super) fn withdraw(&self, key: Key) -> Option<V> {
        self.lock().values.remove(&key)
    }

    /// Keeps the first failure: every wait ends with it.
    pub(super) fn fail(&self, error: CommError) {
        self.lock().failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Waits for a value, and takes it.
    ///
    /// # Errors
    /// What [`fail`](Self::fail) was told, and [`CommError::TimedOut`] in the name of `rank`.
    pub(super) fn take(
        &self,
        key: Key,
        rank: usize,
        operation: &'static str,
    ) -> Result<V, CommError> {
        self.wait(key, rank, operation, true)
    }

    /// The same after a failure, which does not end the wait.
    pub(super) fn take_after_failure(
        &self,
        key: Key,
        rank: usize,
        operation: &'static str,
    ) -> Result<V, CommError> {
        self.wait(key, rank, operation, false)
    }

    fn wait(
        &self,
        key: Key,
        rank: usize,
        operation: &'static str,
        until_failure: bool,
    ) -> Result<V, CommError> {
        let start = Instant::now();
        loop {
            let mut state = self.lock();
            if let Some(value) = state.values.remove(&key) {
                return Ok(value);
            }
            if let Some(failure) = state.failure.as_ref().filter(|_| until_failure) {
                return Err(failure.clone());
            }
            let waited = start.elapsed();
            let Some(left) = self
                .limit
                .checked_sub(waited)
                .filter(|left| !left.is_zero())
            else {
                return Err(CommError::TimedOut {
                    rank,
                    operation: operation.to_owned(),
                    limit: self.limit,
                    missing: vec![key.1],
                });
            };
            if waited < BUSY {
                drop(state);
                std::hint::spin_loop();
            } else {
                drop(self.changed.wait_timeout(state, left));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_once_and_a_missing_one_is_named() {
        let mailbox = Mailbox::new(Duration::from_millis(30));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                mailbox.post((3, 1, 0), 77);
            });
            assert_eq!(mailbox.take((3, 1, 0), 0, "a test"), Ok(77));
        });
        mailbox.post((4, 1, 0), 78);
        assert_eq!(mailbox.withdraw((4, 1, 0)), Some(78));
        let error = mailbox.take((4, 1, 0), 0, "a test").unwrap_err();
        assert!(matches!(&error, CommError::TimedOut { missing, .. } if *missing == [1]));
        mailbox.fail(error.clone());
        let start = Instant::now();
        assert_eq!(mailbox.take((5, 1, 0), 2, "a test"), Err(error));
        assert!(start.elapsed() < Duration::from_millis(25));
        mailbox.post((6, 1, 1), 79);
        assert_eq!(mailbox.take_after_failure((6, 1, 1), 2, "a test"), Ok(79));
    }
}
