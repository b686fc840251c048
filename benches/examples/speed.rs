//! Times the emulator on GEMMs of the workspace's PTX, checks the results, and prints figures.
//!
//! `cargo run --release -p warpladder-benches --example speed [FILE.ptx] [WORKERS] [SIZE] [KERNEL]`
//!
//! With `loading` instead of a file: how long it takes to parse and decode all of the workspace's
//! PTX.
//!
//! With `instructions`: what one instruction of a warp takes, by kind, in nanoseconds.
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
    match file.as_str() {
        "loading" => return loading(),
        "instructions" => return instructions(),
        _ => {}
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

/// Instructions of single lanes and of warps, on registers with numbers from 0.5 to 2 in them.
const INSTRUCTIONS: [&str; 30] = [
    "fma.rn.f32 %r3, %r1, %r2, %r1;",
    "fma.rn.ftz.f32 %r3, %r1, %r2, %r1;",
    "ex2.approx.ftz.f32 %r3, %r1;",
    "lg2.approx.f32 %r3, %r1;",
    "rsqrt.approx.f32 %r3, %r1;",
    "rcp.approx.ftz.f32 %r3, %r1;",
    "sqrt.rn.f32 %r3, %r1;",
    "div.approx.f32 %r3, %r1, %r2;",
    "sin.approx.f32 %r3, %r1;",
    "cos.approx.f32 %r3, %r1;",
    "tanh.approx.f32 %r3, %r1;",
    "add.f16x2 %r3, %r1, %r2;",
    "fma.rn.f16x2 %r3, %r1, %r2, %r1;",
    "fma.rn.bf16x2 %r3, %r1, %r2, %r1;",
    "cvt.rn.f16.f32 %h3, %r1;",
    "cvt.f32.f16 %r3, %h1;",
    "cvt.rn.f32.s32 %r3, %r1;",
    "cvt.rzi.s32.f32 %r3, %r1;",
    "setp.lt.ftz.f32 %p1, %r1, %r2;",
    "div.u32 %r3, %r1, %r2;",
    "rem.s32 %r3, %r1, %r2;",
    "popc.b32 %r3, %r1;",
    "prmt.b32 %r3, %r1, %r2, 0x5410;",
    "lop3.b32 %r3, %r1, %r2, %r1, 0x96;",
    "shf.l.wrap.b32 %r3, %r1, %r2, 7;",
    "bfe.u32 %r3, %r1, 8, 8;",
    "dp4a.s32.s32 %r3, %r1, %r2, %r1;",
    "mul.lo.s16 %h3, %h1, %h2;",
    "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r4, %r5, %r6, %r7}, \
     {%r1, %r1, %r1, %r1}, {%r2, %r2}, {%r1, %r1, %r1, %r1};",
];

fn instructions() -> Result<(), Box<dyn Error>> {
    const UNROLLED: usize = 64;
    const ITERATIONS: usize = 200;
    for instruction in INSTRUCTIONS {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry test() {{
             .reg .b32 %r<8>; .reg .b16 %h<4>; .reg .pred %p<3>; .reg .b32 %i;
             mov.u32 %r1, %tid.x; mad.lo.u32 %r1, %r1, 0x40000, 0x3f000000;
             add.u32 %r2, %r1, 0x12345; mov.u32 %i, 0;
             cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2;
             AGAIN: {} add.u32 %i, %i, 1; setp.lt.u32 %p2, %i, {ITERATIONS}; @%p2 bra AGAIN; ret; }}",
            instruction.repeat(UNROLLED)
        );
        let kernel = Module::parse(&text)?.kernel("test")?;
        let memory = Memory::with_capacity(1 << 10);
        let config = LaunchConfig::new([1; 3], [32, 1, 1]);
        let mut best = Duration::MAX;
        for _ in 0..RUNS {
            let start = Instant::now();
            kernel.launch(&memory, &config, &Args::new())?;
            best = best.min(start.elapsed());
        }
        let each = best.as_secs_f64() * 1e9 / (UNROLLED * ITERATIONS) as f64;
        println!("{each:8.1}  {instruction}");
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
