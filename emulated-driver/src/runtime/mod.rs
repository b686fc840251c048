//! The CUDA runtime API (`cudaMalloc`, `<<<…>>>`): its functions do what those of the driver API
//! do, in the primary context of the thread's device, and remember the last error of each thread.

/// Exported functions of the runtime API. A name behind `|` is a second one of the same function:
/// that for the default stream of the thread, or an older one.
macro_rules! runtime {
    ($(fn $name:ident $(| $other:ident)* ($($arguments:tt)*) $body:block)*) => {
        $(runtime!(@one $name [$name $($other)*] ($($arguments)*) $body);)*
    };
    (@one $name:ident [$($exported:ident)*] $arguments:tt $body:block) => {
        runtime!(@do $name $arguments $body);
        $(runtime!(@export $exported $name $arguments);)*
    };
    (@do $name:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        #[allow(clippy::too_many_arguments, reason = "the functions are CUDA's")]
        mod $name {
            use super::*;
            pub(super) fn call($($argument: $kind),*) -> $crate::code::Result $body
        }
    };
    (@export $name:ident $of:ident ($($argument:ident: $kind:ty),* $(,)?)) => {
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the functions are CUDA's")]
        #[doc = concat!("`", stringify!($name), "` of the CUDA runtime API.")]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> u32 {
            $crate::runtime::guard(stringify!($name), || $of::call($($argument),*))
        }
    };
}

mod any_node;
mod array;
mod batch;
mod copy;
mod device;
pub(crate) mod error;
mod graph;
mod ipc;
mod launch;
mod memory;
mod registry;
mod stream;
mod unsupported;
mod version;

use std::cell::Cell;
use std::sync::Mutex;

use crate::code::{Code, Result};
use crate::context;
use crate::pointer::Out;
use crate::state::{Driver, driver, initialise, lock};

thread_local! {
    /// The last error of a call in this thread.
    static LAST: Cell<u32> = const { Cell::new(0) };
    /// The device that the thread chose.
    static DEVICE: Cell<i32> = const { Cell::new(0) };
}

/// Runs the body of an exported function, and remembers its error.
fn guard(name: &str, body: impl FnOnce() -> Result) -> u32 {
    let code = crate::guard(name, body);
    if code != Code::SUCCESS.0 && code != Code::NOT_READY.0 {
        LAST.set(code);
    }
    code
}

/// The driver, initialised by the first call.
///
/// # Errors
/// `cudaErrorNoDevice` where the environment names a GPU that is not described.
fn initialised() -> Result<&'static Driver> {
    initialise()?;
    driver()
}

/// Makes sure that the thread has a context: its own, as a program of the driver API sets one, or
/// the primary one of its device.
///
/// # Errors
/// As [`initialised`].
fn enter() -> Result<&'static Driver> {
    let driver = initialised()?;
    let current = context::current_handle();
    if current == 0 || driver.contexts.get(current).is_err() {
        let (device, _) = driver.device(DEVICE.get())?;
        context::set_current(primary(driver, device));
    }
    Ok(driver)
}

/// The primary context of a device, which the runtime is one user of.
fn primary(driver: &Driver, device: usize) -> crate::state::Handle {
    static RETAINED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let mut retained = lock(&RETAINED);
    if retained.len() < driver.devices.len() {
        retained.resize(driver.devices.len(), 0);
    }
    let known = lock(&driver.primaries[device]).handle;
    match known {
        Some(handle) if retained[device] == handle => handle,
        // The first use, or the first one after a reset.
        _ => {
            retained[device] = driver.retain_primary(device);
            retained[device]
        }
    }
}

/// Errors that only the runtime has.
const INVALID_CONFIGURATION: Code = Code(9);
const INVALID_PITCH: Code = Code(12);
const INVALID_SYMBOL: Code = Code(13);
const INVALID_DIRECTION: Code = Code(21);
const MISSING_CONFIGURATION: Code = Code(52);
const INVALID_FUNCTION: Code = Code(98);

/// What a call stores in its place for a result.
fn result<T: Default>(call: impl FnOnce(Out<T>) -> Result) -> Result<T> {
    let mut value = T::default();
    call(Out::of(&mut value))?;
    Ok(value)
}
