//! Kernels that decode are run under all sanitizers, under counters and without: they end, with a
//! result or an error, and touch nothing but the run's memory.
#![no_main]

#[path = "shared/mutate.rs"]
mod mutate;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Args, Counters, LaunchConfig, Memory, Module, Sanitizer};

/// Bytes of each array.
const ARRAY: u64 = 4096;

/// Most device memory of a run.
const CAPACITY: u64 = 1 << 20;

/// Warp instructions of a run.
const BUDGET: u64 = 20_000;

fuzz_target!(|text: &str| {
    let Ok(module) = Module::parse(text) else {
        return;
    };
    let names: Vec<String> = module.kernel_names().map(str::to_owned).collect();
    for name in names.iter().take(2) {
        let Ok(kernel) = module.kernel(name) else {
            continue;
        };
        let memory = Memory::with_capacity(CAPACITY);
        let mut args = Args::new();
        for (index, param) in kernel.params().iter().enumerate() {
            match param.bytes {
                // An address, or the length of the array before it.
                8 if index.is_multiple_of(2) => match memory.alloc(ARRAY) {
                    Ok(address) => args.push_u64(address),
                    Err(_) => return,
                },
                8 => args.push_u64(ARRAY / 4),
                4 => args.push_u32(17),
                bytes => args.push_bytes(&vec![1; bytes as usize]),
            };
        }
        let threads = kernel.required_threads().or(kernel.max_threads());
        let config = LaunchConfig {
            dynamic_shared_bytes: 1024,
            instruction_budget: BUDGET,
            workers: Some(1),
            ..LaunchConfig::new([2, 1, 1], threads.unwrap_or([64, 1, 1]))
        };
        let mut sanitizer = Sanitizer::new(&Tool::ALL);
        let _ = kernel.launch_observed(&memory, &config, &args, &mut sanitizer);
        for finding in sanitizer.findings() {
            let _ = finding.to_string();
        }
        let mut counters = Counters::new();
        let _ = kernel.launch_observed(&memory, &config, &args, &mut counters);
        let _ = (counters.total(), counters.footprint(), counters.lines());
        let _ = kernel.launch(&memory, &config, &args);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::lines(data, size, max_size, seed)
});
