//! NCCL, loaded at run time as the driver and cuBLAS are: a program links and starts without it.
//!
//! The bindings are the project's own, since they are 20 functions, and a binding that is linked
//! or that generates its table for one version of NCCL would ask every user for that version. NCCL
//! 2.18 or newer is taken, whose `ncclConfig_t` and `ncclCommSplit` are used.
//!
//! Communicators are non-blocking (`ncclConfig_t::blocking` is 0): no call waits for other ranks,
//! and [`Communicator::synchronize`] watches the stream and `ncclCommGetAsyncError` until the time
//! limit, then aborts (NCCL user guide, "Fault Tolerance").

mod bindings;

pub use bindings::Library;

use super::rendezvous::UniqueId;
use super::{Communicator, Part, PartMut, Wire, check_counts, check_rank, received};
use crate::error::CommError;
use bindings::{Comm, IN_PROGRESS, RawConfig, RawId, SUCCESS, SUM, Stream};
use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use warpladder::element::ElementType;
use warpladder::gpu::{self, Gpu};

/// How long a state is asked for again and again before this pauses: exchanges of small blocks
/// take less, and a pause of the system takes 50 µs and more.
const BUSY: Duration = Duration::from_millis(5);

/// How often it is asked for after that.
const POLL: Duration = Duration::from_micros(50);

/// Pauses, where the wait since `start` is long.
fn pause(start: Instant) {
    if start.elapsed() < BUSY {
        std::hint::spin_loop();
    } else {
        std::thread::sleep(POLL);
    }
}

/// How a communicator works.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long an operation may take.
    pub limit: Duration,
    /// The most blocks of an operation (`ncclConfig_t::maxCTAs`): the fewer, the more
    /// multiprocessors are left to products beside it. `None` is NCCL's choice.
    pub max_ctas: Option<u32>,
}

/// A rank of NCCL: a GPU, in a thread or a process of its own.
pub struct Nccl {
    library: &'static Library,
    comm: Comm,
    rank: usize,
    size: usize,
    options: Options,
    aborted: AtomicBool,
    received: Arc<AtomicU64>,
}

// SAFETY: the handle is only passed to NCCL. A communicator is used by one thread at a time: see
// `Sync`.
unsafe impl Send for Nccl {}

// SAFETY: NCCL asks that calls with one communicator come in the same order on all ranks, and
// `ncclCommAbort` may come from any thread. Order is the caller's contract of `Communicator`; a
// call beside another one is an error of NCCL's, as its group lock is per thread.
unsafe impl Sync for Nccl {}

impl Nccl {
    /// Joins the run of this identifier on the device of `gpu`. All ranks call it.
    ///
    /// # Errors
    /// [`CommError::NoNccl`], [`CommError::Nccl`], [`CommError::TimedOut`] where ranks are missing,
    /// and [`CommError::Device`] for an emulated device.
    pub fn join(
        gpu: &Gpu,
        id: UniqueId,
        rank: usize,
        size: usize,
        options: Options,
    ) -> Result<Self, CommError> {
        check_rank(rank, size)?;
        let library = Library::load()?;
        // The context of the device becomes current, which NCCL takes.
        stream(gpu, rank)?;
        let number = |number: usize| c_int::try_from(number).unwrap_or(c_int::MAX);
        let mut config = RawConfig::new(options.max_ctas);
        let mut comm = null_mut();
        let id = RawId { internal: id };
        // SAFETY: NCCL writes one handle, and reads the configuration during the call.
        let code =
            unsafe { (library.api.init)(&mut comm, number(size), id, number(rank), &mut config) };
        library.check("ncclCommInitRankConfig", code, null_mut())?;
        let joined = Nccl {
            library,
            comm,
            rank,
            size,
            options,
            aborted: AtomicBool::new(false),
            received: Arc::default(),
        };
        joined.settle("ncclCommInitRankConfig")?;
        Ok(joined)
    }

    /// Waits until NCCL has taken the last call.
    fn settle(&self, call: &'static str) -> Result<(), CommError> {
        let start = Instant::now();
        while !self.is_settled(call)? {
            if start.elapsed() >= self.options.limit {
                return Err(self.give_up(call));
            }
            pause(start);
        }
        Ok(())
    }

    /// Whether NCCL has taken the last call; the error that it has seen since.
    fn is_settled(&self, call: &'static str) -> Result<bool, CommError> {
        self.check_alive(call)?;
        let mut state = SUCCESS;
        // SAFETY: the communicator is not destroyed, and NCCL writes one number.
        let code = unsafe { (self.library.api.async_error)(self.comm, &mut state) };
        self.check(call, code)?;
        self.check(call, state)?;
        Ok(state != IN_PROGRESS)
    }

    pub(super) fn check_alive(&self, call: &'static str) -> Result<(), CommError> {
        match self.aborted.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(CommError::RankFailed {
                rank: self.rank,
                operation: call.to_owned(),
                reason: "its communicator was aborted: start the run again".to_owned(),
            }),
        }
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), CommError> {
        let checked = self.library.check(call, code, self.comm);
        if checked.is_err() {
            self.abort("NCCL failed");
        }
        checked
    }

    /// Aborts at the time limit.
    fn give_up(&self, call: &'static str) -> CommError {
        self.abort("the time limit");
        CommError::TimedOut {
            rank: self.rank,
            operation: call.to_owned(),
            limit: self.options.limit,
            missing: Vec::new(),
        }
    }

    pub(super) fn count(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Does what `calls` calls as one group of NCCL.
    fn group(
        &self,
        call: &'static str,
        calls: impl FnOnce() -> Result<(), CommError>,
    ) -> Result<(), CommError> {
        // SAFETY: a group may be begun at any time, and is ended below in the same thread.
        self.check(call, unsafe { (self.library.api.group_start)() })?;
        let called = calls();
        // SAFETY: the group was begun above.
        let ended = unsafe { (self.library.api.group_end)() };
        called?;
        self.check(call, ended)?;
        self.settle(call)
    }

    fn device_failed(&self, error: &gpu::Error) -> CommError {
        CommError::Device {
            rank: self.rank,
            reason: error.to_string(),
        }
    }
}

/// The stream of a GPU, whose context this makes current.
pub(super) fn stream(gpu: &Gpu, rank: usize) -> Result<Stream, CommError> {
    let failed = |reason: String| CommError::Device { rank, reason };
    let stream = gpu
        .raw_stream()
        .map_err(|error| failed(error.to_string()))?;
    let emulated = || failed("it is emulated, and NCCL needs a GPU: use emulated ranks".to_owned());
    stream.map(NonNull::as_ptr).ok_or_else(emulated)
}

/// `ncclDataType_t`.
fn data_type<T: Wire>() -> c_int {
    match T::TYPE {
        ElementType::F16 => 6,
        ElementType::F32 => 7,
        ElementType::F64 => 8,
        ElementType::Bf16 => 9,
    }
}

/// The address of an element of a part, as NCCL takes it.
pub(super) fn address<T: Wire>(part: &Part<'_, T>, element: usize) -> *mut c_void {
    let bytes = (part.range.start + element) * size_of::<T>();
    (part.array.pointer().0 + bytes as u64) as *mut c_void
}

/// The start of each rank's elements.
pub(super) fn starts(counts: &[usize]) -> impl Iterator<Item = usize> {
    counts.iter().scan(0, |start, count| {
        let this = *start;
        *start += count;
        Some(this)
    })
}

// SAFETY of the calls below: the communicator is alive, and the stream is of its device. `Part` and
// `PartMut` have checked that their elements are device memory; the lengths are checked in each
// function. Memory is freed by functions that wait for the device, after what was started has run.
impl Communicator for Nccl {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_gather<T: Wire>(
        &self,
        on: &Gpu,
        send: Part<'_, T>,
        receive: PartMut<'_, T>,
        counts: &[usize],
    ) -> Result<(), CommError> {
        const CALL: &str = "ncclAllGather";
        let place = (self.rank, self.size);
        check_counts("all-gather", place, counts, send.len(), receive.len())?;
        let stream = stream(on, self.rank)?;
        self.check_alive(CALL)?;
        self.count(received::all_gather(
            counts,
            self.rank,
            size_of::<T>() as u64,
        ));
        let (api, kind) = (&self.library.api, data_type::<T>());
        let (from, to) = (address(&send, 0), receive.shared());
        if counts.iter().all(|&count| count == counts[0]) {
            let to = address(&to, 0);
            // SAFETY: see above.
            let code = unsafe { (api.all_gather)(from, to, counts[0], kind, self.comm, stream) };
            self.check(CALL, code)?;
            return self.settle(CALL);
        }
        // NCCL's own takes even parts alone. A broadcast by each rank, in one group, moves as much.
        self.group(CALL, || {
            for (root, start) in starts(counts).enumerate().filter(|&(r, _)| counts[r] > 0) {
                let to = address(&to, start);
                let from = if root == self.rank { from } else { to };
                let (count, root) = (counts[root], root as c_int);
                // SAFETY: see above.
                let code =
                    unsafe { (api.broadcast)(from, to, count, kind, root, self.comm, stream) };
                self.check(CALL, code)?;
            }
            Ok(())
        })
    }

    fn reduce_scatter<T: Wire>(
        &self,
        on: &Gpu,
        send: Part<'_, T>,
        receive: PartMut<'_, T>,
        counts: &[usize],
    ) -> Result<(), CommError> {
        const CALL: &str = "ncclReduceScatter";
        let place = (self.rank, self.size);
        check_counts("reduce-scatter", place, counts, receive.len(), send.len())?;
        let stream = stream(on, self.rank)?;
        self.check_alive(CALL)?;
        let bytes = size_of::<T>() as u64;
        self.count(received::reduce_scatter(counts, self.rank, bytes));
        let (api, kind) = (&self.library.api, data_type::<T>());
        let to = address(&receive.shared(), 0);
        if counts.iter().all(|&count| count == counts[0]) {
            let from = address(&send, 0);
            // SAFETY: see above.
            let code =
                unsafe { (api.reduce_scatter)(from, to, counts[0], kind, SUM, self.comm, stream) };
            self.check(CALL, code)?;
            return self.settle(CALL);
        }
        self.group(CALL, || {
            for (root, start) in starts(counts).enumerate().filter(|&(r, _)| counts[r] > 0) {
                let from = address(&send, start);
                let (count, root) = (counts[root], root as c_int);
                // SAFETY: see above; `to` is written on the root alone.
                let code =
                    unsafe { (api.reduce)(from, to, count, kind, SUM, root, self.comm, stream) };
                self.check(CALL, code)?;
            }
            Ok(())
        })
    }

    fn all_reduce<T: Wire>(&self, on: &Gpu, buffer: PartMut<'_, T>) -> Result<(), CommError> {
        const CALL: &str = "ncclAllReduce";
        let stream = stream(on, self.rank)?;
        self.check_alive(CALL)?;
        let count = buffer.len();
        let bytes = size_of::<T>() as u64;
        self.count(received::all_reduce(count, self.size, self.rank, bytes));
        let (api, kind) = (&self.library.api, data_type::<T>());
        let both = address(&buffer.shared(), 0);
        // SAFETY: see above.
        let code = unsafe { (api.all_reduce)(both, both, count, kind, SUM, self.comm, stream) };
        self.check(CALL, code)?;
        self.settle(CALL)
    }

    fn broadcast<T: Wire>(
        &self,
        on: &Gpu,
        buffer: PartMut<'_, T>,
        root: usize,
    ) -> Result<(), CommError> {
        const CALL: &str = "ncclBroadcast";
        check_rank(root, self.size)?;
        let stream = stream(on, self.rank)?;
        self.check_alive(CALL)?;
        let count = buffer.len();
        let is_root = root == self.rank;
        self.count(received::broadcast(count, is_root, size_of::<T>() as u64));
        let (api, kind) = (&self.library.api, data_type::<T>());
        let both = address(&buffer.shared(), 0);
        let root = root as c_int;
        // SAFETY: see above.
        let code = unsafe { (api.broadcast)(both, both, count, kind, root, self.comm, stream) };
        self.check(CALL, code)?;
        self.settle(CALL)
    }

    fn send_receive<T: Wire>(
        &self,
        on: &Gpu,
        send: Part<'_, T>,
        to: usize,
        receive: PartMut<'_, T>,
        from: usize,
    ) -> Result<(), CommError> {
        const CALL: &str = "ncclSend and ncclRecv";
        check_rank(to, self.size)?;
        check_rank(from, self.size)?;
        let stream = stream(on, self.rank)?;
        self.check_alive(CALL)?;
        let (api, kind) = (&self.library.api, data_type::<T>());
        if from != self.rank {
            self.count((receive.len() * size_of::<T>()) as u64);
        }
        self.group(CALL, || {
            if !send.is_empty() {
                let (from, count) = (address(&send, 0), send.len());
                // SAFETY: see above.
                let code = unsafe { (api.send)(from, count, kind, to as c_int, self.comm, stream) };
                self.check(CALL, code)?;
            }
            if !receive.is_empty() {
                let (to, count) = (address(&receive.shared(), 0), receive.len());
                // SAFETY: see above.
                let code =
                    unsafe { (api.receive)(to, count, kind, from as c_int, self.comm, stream) };
                self.check(CALL, code)?;
            }
            Ok(())
        })
    }

    fn split(&self, colour: usize, key: usize) -> Result<Self, CommError> {
        const CALL: &str = "ncclCommSplit";
        self.check_alive(CALL)?;
        let mut config = RawConfig::new(self.options.max_ctas);
        let mut comm = null_mut();
        let (colour, key) = (colour as c_int, key as c_int);
        // SAFETY: the communicator is alive; NCCL writes one handle.
        let code =
            unsafe { (self.library.api.split)(self.comm, colour, key, &mut comm, &mut config) };
        self.check(CALL, code)?;
        self.settle(CALL)?;
        let mut part = Nccl {
            library: self.library,
            comm,
            rank: 0,
            size: 0,
            options: self.options,
            aborted: AtomicBool::new(false),
            received: Arc::clone(&self.received),
        };
        part.settle(CALL)?;
        [part.rank, part.size] = part.place()?;
        Ok(part)
    }

    fn synchronize(&self, on: &Gpu) -> Result<(), CommError> {
        const CALL: &str = "waiting for the stream";
        let failed = |error: &gpu::Error| self.device_failed(error);
        let reached = on.event().map_err(|error| failed(&error))?;
        on.record(&reached).map_err(|error| failed(&error))?;
        let start = Instant::now();
        while !reached.is_reached().map_err(|error| failed(&error))? {
            self.is_settled(CALL)?;
            if start.elapsed() >= self.options.limit {
                return Err(self.give_up(CALL));
            }
            pause(start);
        }
        // What was taken may have failed as well.
        self.is_settled(CALL).map(|_| ())
    }

    fn abort(&self, _: &str) {
        if !self.aborted.swap(true, Ordering::AcqRel) {
            // SAFETY: the communicator was not destroyed, and no call uses it again: all look at
            // `aborted` first. Its operations on the device end, so that memory can be freed.
            _ = unsafe { (self.library.api.abort)(self.comm) };
        }
    }

    fn received_bytes(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

impl Nccl {
    /// Rank and size, as NCCL knows them.
    fn place(&self) -> Result<[usize; 2], CommError> {
        let [mut rank, mut size] = [0, 0];
        // SAFETY: the communicator is alive, and NCCL writes one number in each call.
        let codes = unsafe {
            [
                (self.library.api.user_rank)(self.comm, &mut rank),
                (self.library.api.count)(self.comm, &mut size),
            ]
        };
        for code in codes {
            self.check("ncclCommUserRank", code)?;
        }
        Ok([rank, size].map(|number| number.unsigned_abs() as usize))
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        if !*self.aborted.get_mut() {
            // SAFETY: the communicator is alive, and is not used again.
            _ = unsafe { (self.library.api.destroy)(self.comm) };
        }
    }
}
#[cfg(test)]
mod tests {
    use super::bindings::OLDEST;
    use super::*;
    use crate::comm::rendezvous::ID_BYTES;

    #[test]
    fn nccl_is_loaded_where_it_is() {
        match Library::load() {
            Err(reason) => println!("skipped: {reason}"),
            Ok(library) => {
                assert!(library.version() >= OLDEST);
                let error = Nccl::join(
                    &Gpu::emulated(),
                    [0; ID_BYTES],
                    0,
                    1,
                    Options {
                        limit: Duration::from_secs(1),
                        max_ctas: None,
                    },
                );
                let error = error.err().unwrap().to_string();
                assert!(error.contains("use emulated ranks"), "{error}");
            }
        }
    }
}
