//! Kernels on the emulator, in wall-clock time; what observers cost; reading PTX.

use criterion::{Criterion, Throughput};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{
    Args, Counters, Kernel, LaunchConfig, Memory, Module, Observer, ParseError, Sanitizer,
};
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;

/// A product's name, the threads of its block, and the elements of C that a block computes.
const PRODUCTS: [(&str, [u32; 3], [u32; 2]); 3] = [
    ("naive", [32, 32, 1], [32, 32]),
    ("tiled_32", [32, 32, 1], [32, 32]),
    ("register_blocked", [256, 1, 1], [128, 128]),
];

fn main() {
    let engine = EmulatorEngine::new();
    println!("on {}", engine.device_name());
    // The smallest cube that every rung takes which needs multiples.
    let extent = if benches::once() { 128 } else { 256 };
    let mut criterion = Criterion::default().configure_from_args();
    benches::kernels(&mut criterion, &engine, benches::cube(extent));
    let texts = ptx();
    observers(&mut criterion, &texts);
    reading(&mut criterion, &texts);
    criterion.final_summary();
}

/// The workspace's PTX files.
fn ptx() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx");
    let entries = std::fs::read_dir(folder).expect("the workspace has PTX");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    paths.sort();
    let read = |path| std::fs::read_to_string(path).expect("readable");
    paths.into_iter().map(read).collect()
}

/// Products of f32 under counters and sanitizers; the throughput is in lane-instructions per
/// second.
fn observers(criterion: &mut Criterion, texts: &[String]) {
    let size = if benches::once() { 128 } else { 512 };
    let module = Module::parse(&texts[0]).expect("well formed");
    let mut group = criterion.benchmark_group("emulator/observers");
    benches::configure(&mut group);
    for (name, block, tile) in PRODUCTS {
        let kernel = module.kernel(name).expect("in the first module");
        let problem = Product::new(kernel, block, tile, size);
        let mut counters = Counters::new();
        problem.run(1, &mut counters);
        let lanes = counters.total().thread_instructions;
        group.throughput(Throughput::Elements(lanes));
        for (what, workers, tools) in [
            ("counters+memcheck", 1, &[Tool::Memcheck][..]),
            ("counters+memcheck", 2, &[Tool::Memcheck]),
            (
                "counters+memcheck+racecheck",
                1,
                &[Tool::Memcheck, Tool::Racecheck],
            ),
        ] {
            group.bench_function(format!("{name}/{what}/{workers}"), |bencher| {
                let observers = || (Counters::new(), Sanitizer::new(tools));
                bencher.iter(|| problem.run(workers, &mut observers()));
            });
        }
    }
    group.finish();
}

/// Finds the kernels of all of the workspace's PTX, parses and decodes every one; the throughput is
/// in bytes per second.
fn reading(criterion: &mut Criterion, texts: &[String]) {
    let mut group = criterion.benchmark_group("emulator/reading");
    benches::configure(&mut group);
    let bytes: usize = texts.iter().map(String::len).sum();
    group.throughput(Throughput::Bytes(bytes as u64));
    let read = |read: fn(&str) -> Result<Module, ParseError>| -> Vec<Module> {
        let modules = texts.iter().map(|text| read(text));
        modules.collect::<Result<_, _>>().expect("well formed")
    };
    group.bench_function("index", |bencher| bencher.iter(|| read(Module::index)));
    group.bench_function("parse", |bencher| bencher.iter(|| read(Module::parse)));
    group.bench_function("index+decode", |bencher| {
        bencher.iter(|| {
            for module in read(Module::index) {
                for name in module.kernel_names() {
                    module.kernel(name).expect("known instructions");
                }
            }
        });
    });
    group.finish();
}

/// A product C = A · B of square matrices, ready to launch.
struct Product {
    kernel: Kernel,
    memory: Memory,
    args: Args,
    config: LaunchConfig,
}

impl Product {
    fn new(kernel: Kernel, block: [u32; 3], tile: [u32; 2], size: u32) -> Self {
        let elements = u64::from(size) * u64::from(size);
        let memory = Memory::with_capacity(1 << 30);
        let mut args = Args::new();
        for _ in 0..2 {
            let matrix = memory.alloc(4 * elements).expect("room");
            memory.fill(matrix, 4 * elements, 1).expect("in bounds");
            args.push_u64(matrix).push_u64(elements);
        }
        args.push_u64(memory.alloc(4 * elements).expect("room"));
        args.push_u32(size).push_u32(size).push_u32(size);
        Product {
            kernel,
            memory,
            args,
            config: LaunchConfig::new([size / tile[0], size / tile[1], 1], block),
        }
    }

    fn run(&self, workers: usize, observer: &mut impl Observer) {
        let config = LaunchConfig {
            workers: Some(workers),
            ..self.config.clone()
        };
        self.kernel
            .launch_observed(&self.memory, &config, &self.args, observer)
            .expect("runs");
    }
}
