//! The threads of a launch: the one that launches, and others to help it.
//!
//! To start a thread and to wait for its end takes longer than many a launch, so others are started
//! once a launch has run for a while, or at once where the kernel's last launch did so.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Launch;
use super::block::Worker;
use crate::error::{Fault, LaunchError};
use crate::observer::{EventSink, Observer};
use crate::parallelism::available_workers;

/// What a launch takes before other threads are started: some times what starting one takes.
const ALONE: Duration = Duration::from_micros(60);

/// A worker's part of a launch under an observer of type `O`.
pub(super) type Work<O> =
    for<'s> fn(&'s Launch<'_>, &'s mut O, &Mutex<Option<(u64, Fault)>>, Option<Others<'s>>) -> u64;

/// What starts the other workers of a launch, and when it began.
pub(super) struct Others<'s> {
    start: &'s mut dyn FnMut(),
    begun: Instant,
}

impl Others<'_> {
    pub(super) fn reborrow(&mut self) -> Others<'_> {
        Others {
            start: self.start,
            begun: self.begun,
        }
    }
}

/// Runs a launch on `workers` threads, or, where their number is `None`, on as many as the machine
/// runs at once if it takes some time. Returns the instructions issued, and the number of threads.
///
/// # Errors
/// [`LaunchError::Worker`] if a thread has ended by a panic.
pub(super) fn run_workers<O: Observer>(
    launch: &Launch<'_>,
    workers: Option<usize>,
    observer: &mut O,
    fault: &Mutex<Option<(u64, Fault)>>,
    work: Work<O>,
) -> Result<(u64, usize), LaunchError> {
    let groups = usize::try_from(launch.groups()).unwrap_or(usize::MAX);
    let count = workers.unwrap_or_else(available_workers).clamp(1, groups);
    if count == 1 {
        return Ok((work(launch, observer, fault, None), 1));
    }
    let is_long = &launch.kernel.0.is_long;
    std::thread::scope(|scope| {
        let mut own = observer.fork();
        let mut threads = Vec::new();
        let mut start = || {
            for _ in 1..count {
                let mut other = observer.fork();
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || {
                    let issued = work(launch, &mut other, fault, None);
                    (issued, other)
                });
                // With fewer threads the launch takes longer, and does the same.
                threads.extend(thread);
            }
        };
        let mut issued = if workers.is_some() {
            start();
            work(launch, &mut own, fault, None)
        } else {
            let begun = Instant::now();
            let issued = if is_long.load(Ordering::Relaxed) {
                start();
                work(launch, &mut own, fault, None)
            } else {
                let start = &mut start;
                work(launch, &mut own, fault, Some(Others { start, begun }))
            };
            is_long.store(begun.elapsed() > ALONE, Ordering::Relaxed);
            issued
        };
        let started = 1 + threads.len();
        observer.join(own);
        for thread in threads {
            match thread.join() {
                Ok((count, other)) => {
                    issued += count;
                    observer.join(other);
                }
                Err(_) => return Err(LaunchError::Worker("it panicked".to_string())),
            }
        }
        Ok((issued, started))
    })
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// Starts the other workers if the launch has run for a while and there is work for them.
    #[cold]
    #[inline(never)]
    pub(super) fn start_others(&mut self) {
        let is_due = |others: &mut Others<'_>| others.begun.elapsed() > ALONE;
        if let Some(others) = self.others.take_if(is_due)
            && self.launch.has_groups_left()
        {
            (others.start)();
        }
    }
}
