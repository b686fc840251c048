//! Kernels of texts that parse are decoded, or refused in one line, within bounds of time and
//! memory that grow with the text alone.
//!
//! Bounds are asserted here, since the fuzzer's own limits are the same for a line and for a
//! module.
#![no_main]

#[path = "shared/allocator.rs"]
mod allocator;
#[path = "shared/mutate.rs"]
mod mutate;

use std::time::Duration;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use ptx_emulator::Module;
use rustix::time::{ClockId, clock_gettime};

/// Memory that decoding may hold at a time, for any text and for each byte of it.
const BYTES: usize = 16 << 20;
const BYTES_PER_BYTE: usize = 4 << 10;

/// Time of the thread's processor that decoding may take, with the fuzzer's instrumentation.
const TIME: Duration = Duration::from_secs(2);
const TIME_PER_BYTE: Duration = Duration::from_micros(200);

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fuzz_target!(|text: &str| {
    let Ok(module) = Module::parse(text) else {
        return;
    };
    let (held, begin) = (allocator::restart(), processor_time());
    for name in module.kernel_names() {
        let kernel = module.kernel(name);
        let stepping = module.kernel_for_stepping(name);
        match (kernel, stepping) {
            (Ok(kernel), Ok(stepping)) => {
                assert_eq!(kernel.instruction_count(), stepping.instruction_count());
            }
            (Err(error), Err(_)) => assert!(!error.to_string().contains('\n'), "{error}"),
            (kernel, stepping) => panic!(
                "{name} decodes in one way only: {:?}, {:?}",
                kernel.err(),
                stepping.err(),
            ),
        }
    }
    let (taken, bytes) = (processor_time() - begin, allocator::peak() - held);
    let length = text.len();
    assert!(
        bytes <= BYTES + length * BYTES_PER_BYTE,
        "{bytes} bytes were held for a text of {length}"
    );
    assert!(
        taken <= TIME + TIME_PER_BYTE * length as u32,
        "{taken:?} were taken for a text of {length} bytes"
    );
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::lines(data, size, max_size, seed)
});
