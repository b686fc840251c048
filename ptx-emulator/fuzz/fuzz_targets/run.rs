//! Kernels that decode are run under all sanitizers: they end, with a result or an error, and touch
//! nothing but the run's memory.
//!
//! Random bytes are hardly ever PTX. So texts are mutated line by line: lines are dropped, doubled
//! and exchanged, and words are replaced by others of the same text.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Args, LaunchConfig, Memory, Module, Sanitizer};

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
        let _ = kernel.launch(&memory, &config, &args);
    }
});

/// A small generator: its quality does not matter, and a seed gives the same text again.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % limit.max(1)
    }
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random(seed | 1);
    let Ok(text) = str::from_utf8(&data[..size]) else {
        return fuzzer_mutate(data, size, max_size);
    };
    if random.below(8) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let (here, there) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(6) {
            0 if lines.len() > 1 => drop(lines.remove(here)),
            1 => lines.insert(here, lines[there].clone()),
            2 => lines.swap(here, there),
            _ => {
                let (from, to) = (words(&lines[there]), words(&lines[here]));
                if let (Some(&new), Some(&old)) =
                    (from.get(random.below(from.len())), to.get(random.below(to.len())))
                {
                    lines[here] = lines[here].replacen(old, &new.to_owned(), 1);
                }
            }
        }
    }
    let mutated = lines.join("\n");
    let length = mutated.len().min(max_size);
    data[..length].copy_from_slice(&mutated.as_bytes()[..length]);
    length
});

/// What a line consists of: opcodes with their suffixes, registers, numbers.
fn words(line: &str) -> Vec<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || "%._$-".contains(c);
    let words = line.split(|c| !word(c));
    words.filter(|word| !word.is_empty()).collect()
}
