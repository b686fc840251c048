//! NCCL, loaded at run time as the driver and cuBLAS are: a program links and starts without it.
//!
//! The bindings are this module's own, since they are 20 functions, and a binding that is linked or
//! that generates its table for one version of NCCL would ask every user for that version. NCCL
//! 2.18 or newer is taken, whose `ncclConfig_t` and `ncclCommSplit` are used.
//!
//! Communicators are non-blocking (`ncclConfig_t::blocking` is 0): no call waits for other ranks,
//! and [`Communicator::synchronize`] watches the stream and `ncclCommGetAsyncError` until the time
//! limit, then aborts (NCCL user guide, "Fault Tolerance").

use super::rendezvous::{ID_BYTES, UniqueId};
use super::{Communicator, Part, PartMut, Wire, check_counts, check_rank, received};
use crate::error::CommError;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use warpladder::element::ElementType;
use warpladder::gpu::{self, Gpu};

/// The names that the dynamic linker is asked for.
const LIBRARY: &str = "libnccl.so.2";

/// The oldest version that is taken: 2.18.0 (`NCCL_VERSION`).
const OLDEST: i32 = 21_800;

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

/// `ncclSuccess` and `ncclInProgress` of `ncclResult_t`.
const SUCCESS: c_int = 0;
const IN_PROGRESS: c_int = 7;

/// `ncclSum` of `ncclRedOp_t`.
const SUM: c_int = 0;

/// `ncclComm_t`.
type Comm = *mut c_void;
/// What is sent, and where it is received: device addresses.
type Sent = *const c_void;
type To = *mut c_void;
/// `cudaStream_t`, which is the driver's `CUstream`.
type Stream = *mut c_void;

/// `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
struct RawId {
    internal: [u8; ID_BYTES],
}

/// `ncclConfig_t` as NCCL 2.18 has it: newer versions read as many bytes as `size` says.
#[repr(C)]
struct RawConfig {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
}

impl RawConfig {
    /// `NCCL_CONFIG_UNDEF_INT`: NCCL's own choice.
    const UNDEFINED: c_int = c_int::MIN;

    fn new(max_ctas: Option<u32>) -> Self {
        let undefined = Self::UNDEFINED;
        RawConfig {
            size: size_of::<RawConfig>(),
            magic: 0xcafe_beef,
            version: OLDEST.unsigned_abs(),
            blocking: 0,
            cga_cluster_size: undefined,
            min_ctas: undefined,
            max_ctas: max_ctas.map_or(undefined, |ctas| c_int::try_from(ctas).unwrap_or(undefined)),
            net_name: std::ptr::null(),
            split_share: undefined,
        }
    }
}

/// Makes the table of functions, each looked up by its name.
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($type:ty),*) -> $result:ty;)*) => {
        /// NCCL's functions.
        struct Api {
            $($field: unsafe extern "C" fn($($type),*) -> $result,)*
            /// Keeps the functions loaded.
            _library: libloading::os::unix::Library,
        }

        impl Api {
            fn of(library: libloading::os::unix::Library) -> Result<Self, String> {
                $(
                    // SAFETY: the type is that of the function of this name in nccl.h, which NCCL
                    // keeps for all versions 2.
                    let $field = *unsafe {
                        library.get::<unsafe extern "C" fn($($type),*) -> $result>(
                            concat!($name, "\0").as_bytes(),
                        )
                    }
                    .map_err(|_| {
                        concat!(
                            "the library has no function ", $name, ": install NCCL 2.18 or newer"
                        )
                        .to_owned()
                    })?;
                )*
                Ok(Api { $($field,)* _library: library })
            }
        }
    };
}

functions! {
    get_version = "ncclGetVersion": fn(*mut c_int) -> c_int;
    user_rank = "ncclCommUserRank": fn(Comm, *mut c_int) -> c_int;
    count = "ncclCommCount": fn(Comm, *mut c_int) -> c_int;
    get_unique_id = "ncclGetUniqueId": fn(*mut RawId) -> c_int;
    init = "ncclCommInitRankConfig": fn(*mut Comm, c_int, RawId, c_int, *mut RawConfig) -> c_int;
    split = "ncclCommSplit": fn(Comm, c_int, c_int, *mut Comm, *mut RawConfig) -> c_int;
    destroy = "ncclCommDestroy": fn(Comm) -> c_int;
    abort = "ncclCommAbort": fn(Comm) -> c_int;
    async_error = "ncclCommGetAsyncError": fn(Comm, *mut c_int) -> c_int;
    error_string = "ncclGetErrorString": fn(c_int) -> *const c_char;
    last_error = "ncclGetLastError": fn(Comm) -> *const c_char;
    all_gather = "ncclAllGather": fn(Sent, To, usize, c_int, Comm, Stream) -> c_int;
    reduce_scatter = "ncclReduceScatter": fn(Sent, To, usize, c_int, c_int, Comm, Stream) -> c_int;
    all_reduce = "ncclAllReduce": fn(Sent, To, usize, c_int, c_int, Comm, Stream) -> c_int;
    reduce = "ncclReduce": fn(Sent, To, usize, c_int, c_int, c_int, Comm, Stream) -> c_int;
    broadcast = "ncclBroadcast": fn(Sent, To, usize, c_int, c_int, Comm, Stream) -> c_int;
    send = "ncclSend": fn(Sent, usize, c_int, c_int, Comm, Stream) -> c_int;
    receive = "ncclRecv": fn(To, usize, c_int, c_int, Comm, Stream) -> c_int;
    group_start = "ncclGroupStart": fn() -> c_int;
    group_end = "ncclGroupEnd": fn() -> c_int;
}

/// NCCL, loaded and new enough.
pub struct Library {
    api: Api,
    version: i32,
}

impl Library {
    /// Loads `libnccl.so.2`. Later calls return the result of the first.
    ///
    /// # Errors
    /// [`CommError::NoNccl`] where there is none or it is too old; the message says what to do.
    pub fn load() -> Result<&'static Self, CommError> {
        static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
        let loaded = LOADED.get_or_init(|| Self::open(LIBRARY));
        loaded
            .as_ref()
            .map_err(|reason| CommError::NoNccl(reason.clone()))
    }

    fn open(name: &str) -> Result<Self, String> {
        // SAFETY: the constructors that run are those of NVIDIA's library, which any thread may
        // load; the table keeps it loaded.
        let library = unsafe { libloading::os::unix::Library::new(name) }.map_err(|error| {
            let cause = std::error::Error::source(&error);
            let reason = cause.map_or_else(|| error.to_string(), ToString::to_string);
            format!("{reason}: install NCCL, or add its folder to LD_LIBRARY_PATH")
        })?;
        let api = Api::of(library)?;
        let mut version = 0;
        // SAFETY: NCCL writes one number.
        let code = unsafe { (api.get_version)(&mut version) };
        if code != SUCCESS {
            return Err(format!(
                "ncclGetVersion failed with {code}: install NCCL again"
            ));
        }
        if version < OLDEST {
            return Err(format!(
                "the library is of version {version}, {OLDEST} is the oldest that will do: install \
                 a newer NCCL"
            ));
        }
        Ok(Library { api, version })
    }

    /// The version, as `ncclGetVersion` counts: 22803 for 2.28.3.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// The identifier of a new run, made by rank 0 (`ncclGetUniqueId`).
    ///
    /// # Errors
    /// [`CommError::Nccl`], such as where no network interface is up.
    pub fn unique_id(&self) -> Result<UniqueId, CommError> {
        let mut id = RawId {
            internal: [0; ID_BYTES],
        };
        // SAFETY: NCCL writes one identifier.
        let code = unsafe { (self.api.get_unique_id)(&mut id) };
        self.check("ncclGetUniqueId", code, null_mut())?;
        Ok(id.internal)
    }

    fn check(&self, call: &'static str, code: c_int, comm: Comm) -> Result<(), CommError> {
        if code == SUCCESS || code == IN_PROGRESS {
            return Ok(());
        }
        let text = |text: *const c_char| {
            // SAFETY: both functions return null or a string that NCCL keeps.
            let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
            text.map_or(String::new(), |text| {
                text.to_string_lossy().trim().to_owned()
            })
        };
        // SAFETY: any number and any communicator, also null, may be asked for.
        let texts = unsafe {
            [
                text((self.api.error_string)(code)),
                text((self.api.last_error)(comm)),
            ]
        };
        let message = texts.into_iter().filter(|text| !text.is_empty());
        Err(CommError::Nccl {
            call,
            code,
            message: message.collect::<Vec<_>>().join(", "),
        })
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
    use super::*;

    #[test]
    fn the_configuration_is_that_of_nccl_2_18() {
        // sizeof of ncclConfig_v21700 with splitShare, on a 64-bit system.
        assert_eq!(size_of::<RawConfig>(), 48);
        assert_eq!(std::mem::offset_of!(RawConfig, net_name), 32);
        assert_eq!(size_of::<RawId>(), ID_BYTES);
    }

    #[test]
    fn other_libraries_are_refused_by_name() {
        let error = Library::open("libnccl.so.0").err().unwrap();
        assert!(error.contains("LD_LIBRARY_PATH"), "{error}");
        let error = Library::open("libc.so.6").err().unwrap();
        assert!(error.contains("no function ncclGetVersion"), "{error}");
    }

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
