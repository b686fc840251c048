//! Times the emulator on GEMMs of the workspace's PTX, checks the results, and prints figures.
//!
//! `cargo run --release -p warpladder-benches --example speed [FILE.ptx] [WORKERS] [SIZE] [KERNEL]`
//!
//! With `loading` instead of a file: how long it takes to parse and decode all of the workspace's
//! PTX.
//!
//! Times are the best of several runs: alone; under counters; under counters and memcheck; under
//! these and racecheck. Speeds are in 10^9 lane-instructions per second.

use std::error::Error;
use std::time::{Duration, Instant};

use ptx_emulator::sanitize::Tool;
use ptx_emulator::{
    Args, Counters, Kernel, LaunchConfig, Memory, Module, NoObserver, Observer, Sanitizer,
};

/// A kernel's name, the threads of its block, and the elements of C that a block computes.
const PRODUCTS: [(&str, [u32; 3], [u32; 2]); 5] = [
    ("naive", [32, 32, 1], [32, 32]),
    ("tiled_16", [16, 16, 1], [16, 16]),
    ("tiled_32", [32, 32, 1], [32, 32]),
    ("register_blocked", [256, 1, 1], [128, 128]),
    ("naive_uncoalesced", [32, 32, 1], [32, 32]),
];

/// Runs of each case; the fastest counts.
const RUNS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let checked_in = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx/kernels_sm_70.ptx");
    let file = arguments.next().unwrap_or_else(|| checked_in.to_string());
    if file == "loading" {
        return loading();
    }
    let workers = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let size = arguments.next().map_or(Ok(512), |text| text.parse())?;
    let only = arguments.next();

    let text = std::fs::read_to_string(&file)?;
    let module = Module::index(&text)?;
    println!("{size} x {size} x {size} f32, {workers} worker(s):");
    for (name, block, tile) in PRODUCTS {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let Ok(kernel) = module.kernel(name) else {
            println!("{name}: not in this module");
            continue;
        };
        measure(&kernel, block, tile, size, workers)?;
    }
    Ok(())
}

/// Times everything before the first launch.
fn loading() -> Result<(), Box<dyn Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx");
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            texts.push(std::fs::read_to_string(path)?);
        }
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    let [mut indexed, mut slowest, mut parsed] = [Duration::MAX; 3];
    let mut decoded = [Duration::MAX; 2];
    let mut kernels = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        let modules: Vec<Module> = texts
            .iter()
            .map(|text| Module::index(text))
            .collect::<Result<_, _>>()?;
        indexed = indexed.min(start.elapsed());
        let mut longest = Duration::ZERO;
        for module in &modules {
            for name in module.kernel_names() {
                let start = Instant::now();
                module.kernel(name)?;
                longest = longest.max(start.elapsed());
            }
        }
        slowest = slowest.min(longest);
        for (workers, decoded) in (1..).zip(&mut decoded) {
            let start = Instant::now();
            let all = modules.iter().map(|module| module.kernels(Some(workers)));
            let all: Vec<Vec<Kernel>> = all.collect::<Result<_, _>>()?;
            *decoded = start.elapsed().min(*decoded);
            kernels = all.iter().map(Vec::len).sum();
        }
        drop(modules);
        let start = Instant::now();
        for text in &texts {
            Module::parse(text)?;
        }
        parsed = parsed.min(start.elapsed());
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{:.1} MB of PTX: {:.1} ms to index; {:.1} ms more to parse and decode all {kernels} kernels, {:.1} ms with two \
         workers, {:.1} ms at most for one kernel; {:.1} ms to parse all, and decode none",
        bytes as f64 / 1e6,
        ms(indexed),
        ms(decoded[0]),
        ms(decoded[1]),
        ms(slowest),
        ms(parsed),
    );
    Ok(())
}

fn measure(
    kernel: &Kernel,
    block: [u32; 3],
    tile: [u32; 2],
    size: u32,
    workers: usize,
) -> Result<(), Box<dyn Error>> {
    let count = u64::from(size) * u64::from(size);
    let memory = Memory::with_capacity(1 << 30);
    let values: Vec<u8> = (0..count)
        .flat_map(|index| ((index * 7919 % 1013) as f32 / 1013.0).to_le_bytes())
        .collect();
    let mut args = Args::new();
    for _ in 0..2 {
        let matrix = memory.alloc(4 * count)?;
        memory.write(matrix, &values)?;
        args.push_u64(matrix).push_u64(count);
    }
    let c = memory.alloc(4 * count)?;
    memory.fill(c, 4 * count, 0xff)?;
    args.push_u64(c)
        .push_u32(size)
        .push_u32(size)
        .push_u32(size);
    let mut config = LaunchConfig::new([size / tile[0], size / tile[1], 1], block);
    config.workers = Some(workers);

    let alone = best(kernel, &memory, &config, &args, || NoObserver)?;
    let counted = best(kernel, &memory, &config, &args, Counters::new)?;
    let under = |tools: &[Tool]| {
        let observer = || (Counters::new(), Sanitizer::new(tools));
        best(kernel, &memory, &config, &args, observer)
    };
    let checked = under(&[Tool::Memcheck])?;
    let raced = under(&[Tool::Memcheck, Tool::Racecheck])?;
    let mut counts = Counters::new();
    kernel.launch_observed(&memory, &config, &args, &mut counts)?;
    let mut word = [0; 4];
    memory.read(c + 4 * (count - 1), &mut word)?;
    let lanes = counts.total().thread_instructions as f64;
    let column = |time: Duration| {
        let seconds = time.as_secs_f64();
        format!("{:7.1} ms {:5.2} G/s", seconds * 1e3, lanes / seconds / 1e9)
    };
    println!(
        "{:20}{}; counters{}; memcheck{}; racecheck{}; last element {}",
        kernel.name(),
        column(alone),
        column(counted),
        column(checked),
        column(raced),
        f32::from_le_bytes(word),
    );
    Ok(())
}

/// The shortest time of a launch.
fn best<O: Observer>(
    kernel: &Kernel,
    memory: &Memory,
    config: &LaunchConfig,
    args: &Args,
    observer: impl Fn() -> O,
) -> Result<Duration, Box<dyn Error>> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let mut observer = observer();
        let start = Instant::now();
        kernel.launch_observed(memory, config, args, &mut observer)?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}
