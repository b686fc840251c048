//! NVIDIA's management library (NVML), loaded at run time where it is there.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use libloading::os::unix::Library;

use super::{DeviceState, HeldDown, ThrottleReason};

/// State of the device with this identifier; `None` where the library is missing or does not start.
pub(super) fn state(uuid: &str) -> Option<DeviceState> {
    static NVML: OnceLock<Option<Nvml>> = OnceLock::new();
    NVML.get_or_init(Nvml::start).as_ref()?.state(uuid)
}

/// `nvmlReturn_t`; 0 is success.
type Return = c_int;
/// `nvmlDevice_t`.
type Handle = *mut c_void;

/// The library, started. It is never shut down: the process ends with it.
struct Nvml(Library);

impl Nvml {
    fn start() -> Option<Self> {
        // SAFETY: the constructors that run are those of NVIDIA's library, which any thread may
        // load.
        let library = unsafe { Library::new("libnvidia-ml.so.1") }.ok()?;
        let nvml = Nvml(library);
        // SAFETY: the type is that of nvml.h.
        let init = unsafe { nvml.function::<unsafe extern "C" fn() -> Return>(c"nvmlInit_v2") }?;
        // SAFETY: may be called at any time.
        (unsafe { init() } == 0).then_some(nvml)
    }

    /// A function of the library; `None` where this version lacks it.
    ///
    /// # Safety
    /// `F` is the function's type.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Option<F> {
        // SAFETY: the caller vouches for the type.
        let symbol = unsafe { self.0.get::<F>(name.to_bytes_with_nul()) };
        symbol.ok().map(|symbol| *symbol)
    }

    fn state(&self, uuid: &str) -> Option<DeviceState> {
        let device = self.device(uuid)?;
        let watts = |milliwatts| f64::from(milliwatts) / 1e3;
        Some(DeviceState {
            driver_version: self.driver_version(),
            clock_mhz: self.number_of(c"nvmlDeviceGetClockInfo", device, CLOCK_SM),
            memory_clock_mhz: self.number_of(c"nvmlDeviceGetClockInfo", device, CLOCK_MEMORY),
            max_clock_mhz: self.number_of(c"nvmlDeviceGetMaxClockInfo", device, CLOCK_SM),
            temperature_c: self.number_of(c"nvmlDeviceGetTemperature", device, SENSOR_GPU),
            power_w: self.number(c"nvmlDeviceGetPowerUsage", device).map(watts),
            power_limit_w: self
                .number(c"nvmlDeviceGetEnforcedPowerLimit", device)
                .map(watts),
            throttle_reasons: self.throttle_mask(device).map(ThrottleReason::from_mask),
            held_down: HeldDown {
                power_ns: self.violation_ns(device, POLICY_POWER),
                thermal_ns: self.violation_ns(device, POLICY_THERMAL),
            },
        })
    }

    fn device(&self, uuid: &str) -> Option<Handle> {
        type Function = unsafe extern "C" fn(*const c_char, *mut Handle) -> Return;
        // SAFETY: the type is that of nvml.h.
        let function = unsafe { self.function::<Function>(c"nvmlDeviceGetHandleByUUID") }?;
        let uuid = CString::new(uuid).ok()?;
        let mut device = std::ptr::null_mut();
        // SAFETY: the text ends with a NUL, and the library writes one handle.
        (unsafe { function(uuid.as_ptr(), &mut device) } == 0).then_some(device)
    }

    fn driver_version(&self) -> Option<String> {
        type Function = unsafe extern "C" fn(*mut c_char, c_uint) -> Return;
        // SAFETY: the type is that of nvml.h.
        let function = unsafe { self.function::<Function>(c"nvmlSystemGetDriverVersion") }?;
        let mut buffer = [0_u8; 96];
        // SAFETY: the library writes at most the given number of characters.
        let result = unsafe { function(buffer.as_mut_ptr().cast(), buffer.len() as c_uint) };
        let text = CStr::from_bytes_until_nul(&buffer).ok()?;
        (result == 0).then(|| text.to_string_lossy().into_owned())
    }

    /// What a function of the form `(device, unsigned *value)` tells.
    fn number(&self, name: &CStr, device: Handle) -> Option<u32> {
        type Function = unsafe extern "C" fn(Handle, *mut c_uint) -> Return;
        // SAFETY: the functions that are asked for have this type in nvml.h.
        let function = unsafe { self.function::<Function>(name) }?;
        let mut value = 0;
        // SAFETY: the handle is the library's own, which writes one number.
        (unsafe { function(device, &mut value) } == 0).then_some(value)
    }

    /// What a function of the form `(device, enumeration, unsigned *value)` tells.
    fn number_of(&self, name: &CStr, device: Handle, which: c_uint) -> Option<u32> {
        type Function = unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> Return;
        // SAFETY: the functions that are asked for have this type in nvml.h.
        let function = unsafe { self.function::<Function>(name) }?;
        let mut value = 0;
        // SAFETY: the handle is the library's own, which writes one number.
        (unsafe { function(device, which, &mut value) } == 0).then_some(value)
    }

    /// How long a policy has held the clocks down.
    fn violation_ns(&self, device: Handle, policy: c_uint) -> Option<u64> {
        type Function = unsafe extern "C" fn(Handle, c_uint, *mut ViolationTime) -> Return;
        // SAFETY: the type is that of nvml.h.
        let function = unsafe { self.function::<Function>(c"nvmlDeviceGetViolationStatus") }?;
        let mut time = ViolationTime::default();
        // SAFETY: the handle is the library's own, which writes one structure.
        (unsafe { function(device, policy, &mut time) } == 0).then_some(time.violation_time)
    }

    fn throttle_mask(&self, device: Handle) -> Option<u64> {
        type Function = unsafe extern "C" fn(Handle, *mut c_ulonglong) -> Return;
        // The old name, which new versions of the library keep beside their own.
        let name = c"nvmlDeviceGetCurrentClocksThrottleReasons";
        // SAFETY: the type is that of nvml.h.
        let function = unsafe { self.function::<Function>(name) }?;
        let mut mask = 0;
        // SAFETY: the handle is the library's own, which writes one mask.
        (unsafe { function(device, &mut mask) } == 0).then_some(mask)
    }
}

/// `nvmlViolationTime_t`.
#[repr(C)]
#[derive(Default)]
struct ViolationTime {
    /// When it was read, in microseconds.
    reference_time: c_ulonglong,
    /// How long clocks were held down, in nanoseconds.
    violation_time: c_ulonglong,
}

const CLOCK_SM: c_uint = 1;
const CLOCK_MEMORY: c_uint = 2;
const SENSOR_GPU: c_uint = 0;
const POLICY_POWER: c_uint = 0;
const POLICY_THERMAL: c_uint = 1;
