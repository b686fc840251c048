//! NCCL's functions, loaded at run time, and what they take (nccl.h).

use super::super::rendezvous::{ID_BYTES, UniqueId};
use crate::error::CommError;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// The names that the dynamic linker is asked for.
const LIBRARY: &str = "libnccl.so.2";

/// The oldest version that is taken: 2.18.0 (`NCCL_VERSION`).
pub(super) const OLDEST: i32 = 21_800;

/// `ncclSuccess` and `ncclInProgress` of `ncclResult_t`.
pub(super) const SUCCESS: c_int = 0;
pub(super) const IN_PROGRESS: c_int = 7;

/// `ncclSum` of `ncclRedOp_t`.
pub(super) const SUM: c_int = 0;

/// `ncclComm_t`.
pub(super) type Comm = *mut c_void;
/// What is sent, and where it is received: device addresses.
pub(super) type Sent = *const c_void;
pub(super) type To = *mut c_void;
/// `cudaStream_t`, which is the driver's `CUstream`.
pub(in crate::comm) type Stream = *mut c_void;

/// `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawId {
    pub(super) internal: [u8; ID_BYTES],
}

/// `ncclConfig_t` as NCCL 2.18 has it: newer versions read as many bytes as `size` says.
#[repr(C)]
pub(super) struct RawConfig {
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

    pub(super) fn new(max_ctas: Option<u32>) -> Self {
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
        pub(super) struct Api {
            $(pub(super) $field: unsafe extern "C" fn($($type),*) -> $result,)*
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
    pub(super) api: Api,
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

    pub(super) fn check(
        &self,
        call: &'static str,
        code: c_int,
        comm: Comm,
    ) -> Result<(), CommError> {
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
}
