//! The cost of observers: times a GEMM of the workspace's PTX under each of them.
//!
//! `cargo run --release -p ptx-emulator --example observers [SIZE] [WORKERS]`

use std::error::Error;
use std::time::{Duration, Instant};

use ptx_emulator::sanitize::{Sanitizer, Tool};
use ptx_emulator::{Args, Counters, Kernel, LaunchConfig, Memory, Module, NoObserver, Observer};

/// A kernel's name, the threads of its block, and the elements of C that a block computes.
const PRODUCTS: [(&str, [u32; 3], [u32; 2]); 3] = [
    ("naive", [32, 32, 1], [32, 32]),
    ("tiled_32", [32, 32, 1], [32, 32]),
    ("register_blocked", [256, 1, 1], [128, 128]),
];

/// Runs of each case; the fastest counts.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let size = arguments.next().map_or(Ok(128), |text| text.parse())?;
    let workers = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx/kernels_sm_70.ptx");
    let module = Module::parse(&std::fs::read_to_string(file)?)?;
    println!("{size} x {size} x {size} f32, {workers} worker(s), ms and times the plain run:");
    for (name, block, tile) in PRODUCTS {
        let kernel = module.kernel(name)?;
        let config = LaunchConfig {
            workers: Some(workers),
            ..LaunchConfig::new([size / tile[0], size / tile[1], 1], block)
        };
        let plain = time(&kernel, &config, size, || NoObserver)?;
        println!("{name}: {:.2}", plain.as_secs_f64() * 1e3);
        let show = |what: &str, took: Duration| {
            let (ms, times) = (took.as_secs_f64() * 1e3, took.div_duration_f64(plain));
            println!("  {what:18} {ms:8.2} {times:6.1}");
        };
        show("counters", time(&kernel, &config, size, Counters::new)?);
        for (what, tools) in [
            ("memcheck", &[Tool::Memcheck][..]),
            ("racecheck", &[Tool::Racecheck]),
            ("initcheck", &[Tool::Initcheck]),
            ("synccheck", &[Tool::Synccheck]),
            ("all four", &Tool::ALL),
        ] {
            show(
                what,
                time(&kernel, &config, size, || Sanitizer::new(tools))?,
            );
        }
        for (what, tools) in [
            ("counters, memcheck", &[Tool::Memcheck][..]),
            ("counters, all four", &Tool::ALL),
        ] {
            let both = || (Counters::new(), Sanitizer::new(tools));
            show(what, time(&kernel, &config, size, both)?);
        }
    }
    Ok(())
}

/// The fastest of several runs of C = A · B for square matrices.
fn time<O: Observer>(
    kernel: &Kernel,
    config: &LaunchConfig,
    size: u32,
    observer: impl Fn() -> O,
) -> Result<Duration, Box<dyn Error>> {
    let elements = u64::from(size) * u64::from(size);
    let memory = Memory::with_capacity(1 << 32);
    let mut args = Args::new();
    for _ in 0..2 {
        let matrix = memory.alloc(4 * elements)?;
        memory.fill(matrix, 4 * elements, 1)?;
        args.push_u64(matrix).push_u64(elements);
    }
    args.push_u64(memory.alloc(4 * elements)?);
    args.push_u32(size).push_u32(size).push_u32(size);
    let mut fastest = Duration::MAX;
    for _ in 0..RUNS {
        let mut observer = observer();
        let start = Instant::now();
        kernel.launch_observed(&memory, config, &args, &mut observer)?;
        fastest = fastest.min(start.elapsed());
    }
    Ok(fastest)
}
