//! Captures: how streams take part in one, which calls one forbids, and what becomes of it after
//! such a call (CUDA C++ Programming Guide, "Prohibited and Unhandled Operations").

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use crate::code::{Code, Result};
use crate::graph::{Nodes, Operation};
use crate::state::{Driver, Handle, lock};

/// `CUstreamCaptureMode`: which threads may make calls that are potentially unsafe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Global = 0,
    ThreadLocal = 1,
    Relaxed = 2,
}

impl Mode {
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for another number.
    pub(crate) fn new(mode: u32) -> Result<Self> {
        match mode {
            0 => Ok(Mode::Global),
            1 => Ok(Mode::ThreadLocal),
            2 => Ok(Mode::Relaxed),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Sets the mode of the calling thread, and gives the one before.
pub(crate) fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

/// Notes whether stream 0 is the thread's own, as in functions whose names end so; gives what was.
pub(crate) fn enter(name: &str) -> bool {
    PER_THREAD.replace(PER_THREAD.get() || name.ends_with("_ptsz") || name.ends_with("_ptds"))
}

pub(crate) fn leave(before: bool) {
    PER_THREAD.set(before);
}

/// Captures that have begun and not ended: where there is none, no call looks for one.
static ONGOING: AtomicUsize = AtomicUsize::new(0);

/// What the streams of a capture share.
#[derive(Debug)]
struct Sequence {
    mode: Mode,
    thread: ThreadId,
    is_invalid: AtomicBool,
    has_ended: AtomicBool,
}

impl Sequence {
    fn end(&self) {
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            ONGOING.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Sequence {
    fn drop(&mut self) {
        // Its streams were destroyed.
        self.end();
    }
}

/// What a stream, or an event of one, knows of the capture that it takes part in.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    nodes: Nodes,
    sequence: Arc<Sequence>,
    /// What the stream's next node depends on.
    last: Arc<Mutex<Vec<Handle>>>,
}

impl Captured {
    pub(crate) fn begin(nodes: Nodes, mode: Mode) -> Self {
        ONGOING.fetch_add(1, Ordering::Relaxed);
        Captured {
            nodes,
            sequence: Arc::new(Sequence {
                mode,
                thread: std::thread::current().id(),
                is_invalid: AtomicBool::new(false),
                has_ended: AtomicBool::new(false),
            }),
            last: Arc::default(),
        }
    }

    pub(crate) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The same place of the same capture, which stays there: an event, or a stream that joins.
    pub(crate) fn fork(&self) -> Self {
        Captured {
            last: Arc::new(Mutex::new(self.dependencies())),
            ..self.clone()
        }
    }

    /// Whether both take part in one capture.
    pub(crate) fn is_of(&self, other: &Captured) -> bool {
        Arc::ptr_eq(&self.sequence, &other.sequence)
    }

    pub(crate) fn is_invalid(&self) -> bool {
        self.sequence.is_invalid.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        self.sequence.end();
    }

    /// Whether the capture has ended: events of it are of no use until they are recorded again.
    pub(crate) fn has_ended(&self) -> bool {
        self.sequence.has_ended.load(Ordering::Relaxed)
    }

    /// Invalidates the capture, and gives the error of the call that did it.
    pub(crate) fn refuse<T>(&self, code: Code) -> Result<T> {
        self.sequence.is_invalid.store(true, Ordering::Relaxed);
        Err(code)
    }

    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
    pub(crate) fn check(&self) -> Result {
        match self.is_invalid() {
            true => Err(Code::STREAM_CAPTURE_INVALIDATED),
            false => Ok(()),
        }
    }

    /// What the stream's next node depends on; what the program has destroyed is not among it.
    pub(crate) fn dependencies(&self) -> Vec<Handle> {
        let mut last = lock(&self.last);
        last.retain(|node| self.nodes.has(*node));
        last.clone()
    }

    /// Adds a node behind the stream's last ones.
    ///
    /// # Errors
    /// As [`Captured::check`].
    pub(crate) fn append(&self, driver: &Driver, operation: Operation) -> Result<Handle> {
        self.check()?;
        let added = self.nodes.add(driver, &self.dependencies(), operation)?;
        *lock(&self.last) = vec![added];
        Ok(added)
    }

    /// Makes the stream's next node depend on these nodes, beside what it depends on already or in
    /// its place.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where one is of another graph, and as [`Captured::check`].
    pub(crate) fn await_nodes(&self, nodes: &[Handle], beside: bool) -> Result {
        self.check()?;
        if nodes.iter().any(|node| !self.nodes.has(*node)) {
            return Err(Code::INVALID_VALUE);
        }
        let mut last = lock(&self.last);
        if !beside {
            last.clear();
        }
        for node in nodes {
            if !last.contains(node) {
                last.push(*node);
            }
        }
        Ok(())
    }

    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD` where another thread began it, and its mode binds
    /// it to that thread.
    pub(crate) fn check_thread(&self) -> Result {
        let is_own = self.sequence.thread == std::thread::current().id();
        match is_own || self.sequence.mode == Mode::Relaxed {
            true => Ok(()),
            false => Err(Code::STREAM_CAPTURE_WRONG_THREAD),
        }
    }

    /// Whether all that another stream has captured comes before this stream's next node.
    pub(crate) fn comes_behind(&self, other: &Captured) -> bool {
        let mut before = HashSet::new();
        let mut left = self.dependencies();
        while let Some(node) = left.pop() {
            if before.insert(node) {
                left.extend(self.nodes.dependencies(node));
            }
        }
        other
            .dependencies()
            .iter()
            .all(|node| before.contains(node))
    }

    /// Whether the calling thread may not make calls that are potentially unsafe.
    fn forbids_unsafe_calls(&self) -> bool {
        let is_own = self.sequence.thread == std::thread::current().id();
        match (MODE.get(), self.sequence.mode) {
            (Mode::Relaxed, _) | (_, Mode::Relaxed) => false,
            (Mode::Global, Mode::Global) => true,
            _ => is_own,
        }
    }
}

/// Of a captured stream its context, and whether the legacy stream waits for it.
type At = (Handle, bool);

/// Refuses a call where captures of streams forbid it.
fn refuse_where(driver: &Driver, code: Code, forbids: impl Fn(At, &Captured) -> bool) -> Result {
    if ONGOING.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    let mut result = Ok(());
    for stream in driver.streams.all() {
        let at = (stream.context, stream.flags & 1 == 0);
        if let Some(captured) = stream.captured().filter(|one| forbids(at, one)) {
            result = captured.refuse(code);
        }
    }
    result
}

/// For calls that are potentially unsafe while a stream is captured, as they may wait for others.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` where a capture forbids them. It is invalid then.
pub(crate) fn check_unsafe_call(driver: &Driver) -> Result {
    let code = Code::STREAM_CAPTURE_UNSUPPORTED;
    refuse_where(driver, code, |_, captured| captured.forbids_unsafe_calls())
}

/// For calls that wait for all streams of a context.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` where one is captured. Its capture is invalid then.
pub(crate) fn check_wait_for_all(driver: &Driver, context: Handle) -> Result {
    let code = Code::STREAM_CAPTURE_UNSUPPORTED;
    refuse_where(driver, code, |(of, _), _| of == context)
}

/// For work on the legacy stream of a context, which comes behind that of all blocking streams.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` where one is captured. Its capture is invalid then.
pub(crate) fn check_legacy(driver: &Driver, context: Handle) -> Result {
    if PER_THREAD.get() {
        return Ok(());
    }
    let code = Code::STREAM_CAPTURE_IMPLICIT;
    let forbids = |(of, is_blocking): At, _: &Captured| of == context && is_blocking;
    refuse_where(driver, code, forbids)
}
