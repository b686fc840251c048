//! What NVML says of the GPUs is what the driver says.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::library;

/// Bytes of `nvmlPciInfo_t`, and where the bus's identifier begins in it.
const PCI_INFO: usize = 68;
const BUS_ID: usize = 36;

fn text(bytes: &[u8]) -> &str {
    let text = CStr::from_bytes_until_nul(bytes).expect("ends");
    text.to_str().expect("ASCII")
}

#[test]
fn nvml_knows_the_gpus_of_the_driver() {
    assert_eq!(call!(nvmlInit_v2()), 0);
    let (mut count, mut handle) = (0, 0);
    let (of_count, to): (*mut c_uint, *mut usize) = (&mut count, &mut handle);
    assert_eq!(call!(nvmlDeviceGetCount_v2(of_count => *mut c_uint)), 0);
    assert_eq!(
        call!(nvmlDeviceGetHandleByIndex_v2(0 => c_uint, to => *mut usize)),
        0
    );
    assert_eq!(
        call!(nvmlDeviceGetHandleByIndex_v2(count => c_uint, to => *mut usize)),
        2
    );

    let mut name = [1u8; 96];
    let to: *mut u8 = name.as_mut_ptr();
    let code = call!(nvmlDeviceGetName(handle => usize, to => *mut u8, 96 => c_uint));
    assert_eq!((code, &text(&name)[..8]), (0, "Emulated"));

    let (mut found, mut expected) = ([0; 2], [0; 2]);
    let [major, minor]: [*mut c_int; 2] = found.each_mut().map(|place| place as *mut c_int);
    let code = call!(nvmlDeviceGetCudaComputeCapability(
        handle => usize, major => *mut c_int, minor => *mut c_int
    ));
    for (value, attribute) in expected.iter_mut().zip([75, 76]) {
        let to: *mut c_int = value;
        let code = call!(cuDeviceGetAttribute(
            to => *mut c_int, attribute => c_int, 0 => c_int
        ));
        assert_eq!(code, 0);
    }
    assert_eq!((code, found), (0, expected));

    let mut memory = [0u64; 3];
    let to: *mut [u64; 3] = &mut memory;
    let code = call!(nvmlDeviceGetMemoryInfo(handle => usize, to => *mut [u64; 3]));
    assert_eq!((code, memory[1] + memory[2]), (0, memory[0]));
}

#[test]
fn a_gpu_is_found_by_its_bus_and_by_its_uuid() {
    assert_eq!(call!(nvmlInit()), 0);
    let (mut info, mut uuid) = ([1u8; PCI_INFO], [1u8; 96]);
    let to: *mut [u8; PCI_INFO] = &mut info;
    let code = call!(nvmlDeviceGetPciInfo_v3(1 => usize, to => *mut [u8; PCI_INFO]));
    assert_eq!((code, text(&info[BUS_ID..])), (0, "00000000:01:00.0"));
    let to: *mut u8 = uuid.as_mut_ptr();
    assert_eq!(
        call!(nvmlDeviceGetUUID(1 => usize, to => *mut u8, 96 => c_uint)),
        0
    );

    let mut handle = 0;
    let to: *mut usize = &mut handle;
    let bus: *const u8 = info[BUS_ID..].as_ptr();
    let code = call!(nvmlDeviceGetHandleByPciBusId_v2(bus => *const u8, to => *mut usize));
    assert_eq!((code, handle), (0, 1));
    let of_uuid: *const u8 = uuid.as_ptr();
    let code = call!(nvmlDeviceGetHandleByUUID(of_uuid => *const u8, to => *mut usize));
    assert_eq!(code, 0);
    let nowhere: *const c_char = c"GPU-0".as_ptr();
    let code = call!(nvmlDeviceGetHandleByUUID(nowhere => *const c_char, to => *mut usize));
    assert_eq!(code, 6);

    // SAFETY: the function has this type.
    let described = unsafe {
        type Describe = unsafe extern "C" fn(u32) -> *const c_char;
        let describe = library()
            .get::<Describe>(b"nvmlErrorString")
            .expect("exported");
        CStr::from_ptr(describe(6))
    };
    assert_eq!(described, c"Not Found");
}

/// Programs look all functions up, and give up where one is not there.
#[test]
fn what_nvml_cannot_say_is_not_supported() {
    assert_eq!(call!(nvmlInit_v2()), 0);
    let (mut handle, mut value) = (0, 9u64);
    let (to, place): (*mut usize, *mut u64) = (&mut handle, &mut value);
    assert_eq!(
        call!(nvmlDeviceGetHandleByIndex_v2(0 => c_uint, to => *mut usize)),
        0
    );
    let code = call!(nvmlDeviceGetCurrentClocksThrottleReasons(
        handle => usize, place => *mut u64
    ));
    assert_eq!((code, value), (0, 0));
    let mut count: c_uint = 5;
    let to: *mut c_uint = &mut count;
    let code = call!(nvmlDeviceGetComputeRunningProcesses_v3(
        handle => usize, to => *mut c_uint, place => *mut u64
    ));
    assert_eq!((code, count), (0, 0));
    let code = call!(nvmlDeviceGetPowerUsage(handle => usize, to => *mut c_uint));
    assert_eq!(code, 3);
}
