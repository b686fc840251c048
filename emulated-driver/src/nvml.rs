//! The functions of NVML (`libnvidia-ml.so.1`) that programs ask for their GPUs before they start
//! the driver, as Mojo does: which there are, their names, their memory and their architecture.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::api::device::{bus_id, call as cuda, uuid, write_text};
use crate::code::{Code, Result};
use crate::device::EmulatedDevice;
use crate::pointer::{Out, Text};
use crate::state::{driver, initialise};

/// The family of NVIDIA's drivers that has CUDA 13.0.
const DRIVER_VERSION: &str = "580.0";

/// A GPU: its number and one more, so that no handle is null.
type Device = usize;

/// Codes of NVML, `nvmlReturn_t`, and their texts.
const TEXTS: [(u32, &CStr); 5] = [
    (0, c"Success"),
    (1, c"Uninitialized"),
    (2, c"Invalid Argument"),
    (3, c"Not Supported"),
    (6, c"Not Found"),
];
const UNKNOWN: (u32, &CStr) = (999, c"Unknown Error");

/// The code of NVML for one of the driver.
fn code_of(code: u32) -> u32 {
    match Code(code) {
        Code::SUCCESS => 0,
        Code::NOT_INITIALIZED => 1,
        Code::INVALID_VALUE | Code::INVALID_DEVICE => 2,
        Code::NOT_SUPPORTED => 3,
        Code::NOT_FOUND => 6,
        _ => UNKNOWN.0,
    }
}

fn ordinal(handle: Device) -> Result<c_int> {
    let number = handle.checked_sub(1).ok_or(Code::INVALID_VALUE)?;
    c_int::try_from(number).map_err(|_| Code::INVALID_VALUE)
}

fn device(handle: Device) -> Result<&'static EmulatedDevice> {
    Ok(driver()?.device(ordinal(handle)?)?.1)
}

fn write(to: Out<c_char>, length: c_uint, text: &str) -> Result {
    let length = c_int::try_from(length).map_err(|_| Code::INVALID_VALUE)?;
    write_text(to, length, text)
}

/// `nvmlPciInfo_t`: the bus's identifier in its old form, domain, bus, device, two identifiers of
/// the manufacturer, and the bus's identifier.
fn pci_info(number: usize) -> [u8; 68] {
    let mut info = [0; 68];
    let short = bus_id(number);
    let long = format!("0000{short}");
    info[..short.len()].copy_from_slice(short.as_bytes());
    info[20..24].copy_from_slice(&(number as u32 + 1).to_ne_bytes());
    info[36..36 + long.len()].copy_from_slice(long.as_bytes());
    info
}

/// Whether a text names the bus, with a domain of four digits or of eight.
fn is_bus(number: usize, text: &str) -> bool {
    let short = bus_id(number);
    text.eq_ignore_ascii_case(&short) || text.eq_ignore_ascii_case(&format!("0000{short}"))
}

fn uuid_text(number: usize) -> String {
    let digits: Vec<String> = uuid(number)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let group = |from: usize, to: usize| digits[from..to].concat();
    let groups = [
        group(0, 4),
        group(4, 6),
        group(6, 8),
        group(8, 10),
        group(10, 16),
    ];
    format!("GPU-{}", groups.join("-"))
}

/// The handle of the first GPU that passes.
fn find(to: Out<Device>, passes: impl Fn(usize) -> bool) -> Result {
    let mut all = 0..driver()?.devices.len();
    let found = all.find(|&number| passes(number));
    to.set(found.ok_or(Code::NOT_FOUND)? + 1)
}

fn by_index(index: c_uint, to: Out<Device>) -> Result {
    match (index as usize) < driver()?.devices.len() {
        true => to.set(index as usize + 1),
        false => Err(Code::INVALID_VALUE),
    }
}

fn count(to: Out<c_uint>) -> Result {
    to.set(driver()?.devices.len() as c_uint)
}

macro_rules! nvml {
    ($(fn $($name:ident)|+ ($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(nvml!(@each [$($name)*] ($($argument: $kind),*) $body);)*
    };
    (@each [$($name:ident)*] $arguments:tt $body:block) => {
        $(nvml!(@one $name $arguments $body);)*
    };
    (@one $name:ident ($($argument:ident: $kind:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        #[doc = concat!("`", stringify!($name), "` of NVML.")]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> u32 {
            code_of(crate::guard(stringify!($name), || $body))
        }
    };
}

nvml! {
    fn nvmlInit | nvmlInit_v2() { initialise() }
    fn nvmlInitWithFlags(_flags: c_uint) { initialise() }
    fn nvmlShutdown() { Ok(()) }

    fn nvmlSystemGetDriverVersion(to: Out<c_char>, length: c_uint) {
        write(to, length, DRIVER_VERSION)
    }
    fn nvmlSystemGetCudaDriverVersion | nvmlSystemGetCudaDriverVersion_v2(to: Out<c_int>) {
        cuda::cuDriverGetVersion(to)
    }

    fn nvmlDeviceGetCount | nvmlDeviceGetCount_v2(to: Out<c_uint>) { count(to) }
    fn nvmlDeviceGetHandleByIndex | nvmlDeviceGetHandleByIndex_v2(
        index: c_uint, to: Out<Device>,
    ) {
        by_index(index, to)
    }
    fn nvmlDeviceGetHandleByUUID(wanted: Text, to: Out<Device>) {
        let wanted = wanted.get()?;
        find(to, |number| uuid_text(number) == wanted)
    }
    fn nvmlDeviceGetHandleByPciBusId | nvmlDeviceGetHandleByPciBusId_v2(
        wanted: Text, to: Out<Device>,
    ) {
        let wanted = wanted.get()?;
        find(to, |number| is_bus(number, &wanted))
    }
    fn nvmlDeviceGetIndex(handle: Device, to: Out<c_uint>) {
        device(handle)?;
        to.set(handle as c_uint - 1)
    }
    fn nvmlDeviceGetName(handle: Device, to: Out<c_char>, length: c_uint) {
        write(to, length, &device(handle)?.full_name())
    }
    fn nvmlDeviceGetUUID(handle: Device, to: Out<c_char>, length: c_uint) {
        device(handle)?;
        write(to, length, &uuid_text(handle - 1))
    }
    fn nvmlDeviceGetPciInfo | nvmlDeviceGetPciInfo_v2 | nvmlDeviceGetPciInfo_v3(
        handle: Device, to: Out<[u8; 68]>,
    ) {
        device(handle)?;
        to.set(pci_info(handle - 1))
    }
    fn nvmlDeviceGetCudaComputeCapability(handle: Device, major: Out<c_int>, minor: Out<c_int>) {
        let capability = device(handle)?.capability;
        major.set(capability.0)?;
        minor.set(capability.1)
    }
    fn nvmlDeviceGetMemoryInfo(handle: Device, to: Out<[u64; 3]>) {
        let total = device(handle)?.memory_bytes();
        let used = driver()?.used_bytes(handle - 1);
        to.set([total, total - used.min(total), used])
    }
}

/// The text of a code.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(code: u32) -> *const c_char {
    let text = TEXTS.iter().find(|(known, _)| *known == code);
    text.unwrap_or(&UNKNOWN).1.as_ptr()
}
