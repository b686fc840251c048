//! Ctrl-C, and work that can be given up: what is done by then is kept.
//!
//! A kernel cannot be stopped while it runs. So the work of a command that keeps what is done is on
//! a thread of its own, and hands each result to the main thread, which shows it. At Ctrl-C the
//! main thread goes on without the other one: it writes what it has, and the program ends.

use super::output;
use std::ops::ControlFlow;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Exit status of a program that was interrupted: 128 and the number of the signal.
pub(super) const EXIT_STATUS: u8 = 130;

/// Whether Ctrl-C was pressed.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the command keeps what is done.
static KEEPS: AtomicBool = AtomicBool::new(false);

/// Whether the thread of a command was left at its work.
static LEFT: AtomicBool = AtomicBool::new(false);

/// How long the thread may take to come to the end of what it does when it is asked to.
const GRACE: Duration = Duration::from_millis(200);

/// How often the main thread looks at the clock.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Stack of the thread: that of the main thread on Linux.
const STACK_BYTES: usize = 8 << 20;

/// Takes over Ctrl-C, and a request to end. A second one ends the program at once, as does the
/// first one in a command that keeps nothing.
pub(super) fn install() {
    let handler = || {
        let again = ASKED.swap(true, Ordering::SeqCst);
        if again || !KEEPS.load(Ordering::SeqCst) {
            output::remove_temporary_files();
            end_at_once(EXIT_STATUS);
        }
    };
    // Where signals cannot be taken over, Ctrl-C ends the program as it always does.
    _ = ctrlc::set_handler(handler);
}

/// From now on the first Ctrl-C is for the command, which asks by [`forget`].
pub(super) fn keep() {
    KEEPS.store(true, Ordering::SeqCst);
}

/// Whether Ctrl-C was pressed since the last call.
pub(super) fn forget() -> bool {
    ASKED.load(Ordering::Relaxed) && ASKED.swap(false, Ordering::SeqCst)
}

/// Ends the program with `status` where a thread was left at its work; else returns.
pub(super) fn end_without_thread(status: u8) {
    if LEFT.load(Ordering::SeqCst) {
        end_at_once(status);
    }
}

/// Ends the program without what libraries do at an exit: a thread may be inside of one, such as
/// the GPU's driver, which would take away what that thread uses.
fn end_at_once(status: u8) -> ! {
    #[cfg(unix)]
    // SAFETY: `_exit` takes any number, ends the process, and reads none of its memory.
    unsafe {
        libc::_exit(status.into())
    }
    #[cfg(not(unix))]
    std::process::exit(status.into())
}

/// How work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With everything done.
    Complete,
    /// By Ctrl-C.
    Interrupted,
    /// At the deadline.
    TimeUp,
}

/// Where the thread hands its results.
pub(super) struct Results<T>(Sender<T>);

impl<T> Results<T> {
    /// Hands over a result; `Break` where no more are wanted.
    pub(super) fn hand(&self, result: T) -> ControlFlow<()> {
        match self.0.send(result).is_ok() && !ASKED.load(Ordering::SeqCst) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// Does `work` on a thread of its own, and calls `each` with every result as it comes. Goes on
/// without the thread at Ctrl-C and at the deadline.
///
/// # Errors
/// Those of `work` and of `each`.
pub(super) fn attend<T: Send + 'static>(
    deadline: Option<Instant>,
    work: impl FnOnce(&Results<T>) -> anyhow::Result<()> + Send + 'static,
    mut each: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<Ending> {
    KEEPS.store(true, Ordering::SeqCst);
    let (sender, receiver) = mpsc::channel();
    let worker = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || work(&Results(sender)))?;
    let mut ending = Ending::Complete;
    // Until when results are waited for after that.
    let mut last: Option<Instant> = None;
    loop {
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(result) => each(result)?,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Instant::now();
        if last.is_some_and(|last| now >= last) {
            LEFT.store(true, Ordering::SeqCst);
            return Ok(ending);
        }
        if last.is_none() && ASKED.load(Ordering::SeqCst) {
            (ending, last) = (Ending::Interrupted, Some(now + GRACE));
        } else if last.is_none() && deadline.is_some_and(|deadline| now >= deadline) {
            (ending, last) = (Ending::TimeUp, Some(now + GRACE));
        }
    }
    // The thread ends by itself where it sees the request first.
    if ending == Ending::Complete && ASKED.load(Ordering::SeqCst) {
        ending = Ending::Interrupted;
    }
    match worker.join() {
        Ok(outcome) => outcome.map(|()| ending),
        Err(panicked) => panic::resume_unwind(panicked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_errors_come_out() {
        let mut seen = Vec::new();
        let work = |results: &Results<u32>| {
            _ = results.hand(1);
            _ = results.hand(2);
            Ok(())
        };
        let ending = attend(None, work, |result| {
            seen.push(result);
            Ok(())
        });
        assert_eq!((ending.unwrap(), seen), (Ending::Complete, vec![1, 2]));
        let fails = |_: &Results<u32>| Err(anyhow::anyhow!("broken"));
        let error = attend(None, fails, |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "broken");
    }

    #[test]
    fn work_that_takes_longer_than_the_deadline_is_given_up() {
        let start = Instant::now();
        let slow = |results: &Results<u32>| {
            _ = results.hand(1);
            // Nothing unparks it.
            thread::park_timeout(Duration::from_secs(60));
            Ok(())
        };
        let mut seen = 0;
        let deadline = start + Duration::from_millis(100);
        let ending = attend(Some(deadline), slow, |result| {
            seen += result;
            Ok(())
        });
        assert_eq!((ending.unwrap(), seen), (Ending::TimeUp, 1));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
