//! Times the emulator on kernels of everyday kinds, compiled by nvcc: alone, and with all
//! sanitizers, on one worker.
//!
//! `cargo run --release -p ptx-emulator --example everyday [--runs N] [--only NAME]
//! [--peer PROGRAM] [--profile alone|sanitizers]
//! [--instructions]`
//!
//! Speeds are in 10^9 lane-instructions per second. Each is the median of the runs, by the time
//! that the thread had a processor. With `--peer`, another build of this program runs in turn with
//! this one, and the speeds of both stand side by side; a kernel whose results differ is an error.

mod cases;
mod instructions;

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use cases::{Argument, CASES, Workload};
use ptx_emulator::sanitize::{Sanitizer, Tool};
use ptx_emulator::{Args, Counters, Kernel, LaunchConfig, Memory, Module, NoObserver, Observer};

const OPTIMISED: &str = include_str!("../../benches/everyday/everyday.ptx");
const DEBUG: &str = include_str!("../../benches/everyday/everyday_debug.ptx");

/// Bytes of device memory.
const CAPACITY: u64 = 1 << 28;

/// A kernel's launch takes at least this long: short ones are repeated.
const LEAST: Duration = Duration::from_millis(25);

fn main() -> Result<(), Box<dyn Error>> {
    let (mut runs, mut only, mut peer) = (5, None, None);
    let (mut once, mut profile, mut forms) = (false, None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--runs" => runs = value()?.parse()?,
            "--only" => only = Some(value()?),
            "--peer" => peer = Some(value()?),
            // What a run of the peer does: one line for each kernel.
            "--once" => once = true,
            "--instructions" => forms = true,
            "--profile" => profile = Some(value()?),
            _ => return Err(format!("{argument} is not an option").into()),
        }
    }
    if forms {
        return instructions::time_all(only.as_deref());
    }
    let is_wanted = |case: &&Workload| only.as_deref().is_none_or(|only| case.kernel == only);
    let cases: Vec<&Workload> = CASES.iter().filter(is_wanted).collect();
    if cases.is_empty() {
        return Err("no kernel has this name".into());
    }
    if let Some(observers) = profile {
        for case in cases {
            repeat(case, observers == "sanitizers")?;
        }
        return Ok(());
    }
    if once {
        for case in cases {
            let measured = measure(case)?;
            println!("{} {}", case.kernel, measured.line());
        }
        return Ok(());
    }
    let own = std::env::current_exe()?;
    let programs: [Option<std::ffi::OsString>; 2] =
        [Some(own.into_os_string()), peer.map(Into::into)];
    let mut all = [Vec::new(), Vec::new()];
    for _ in 0..runs {
        for (program, all) in programs.iter().zip(&mut all) {
            let Some(program) = program else { continue };
            all.push(run(program, only.as_deref(), cases.len())?);
        }
    }
    report(&cases, &all)
}

/// What a run of one kernel gave.
#[derive(Clone, Copy)]
struct Measured {
    lanes: f64,
    /// Seconds of a launch: alone, and with all sanitizers.
    seconds: [f64; 2],
    /// Of all buffers after a launch.
    checksum: u64,
}

impl Measured {
    fn line(&self) -> String {
        let [alone, checked] = self.seconds;
        format!("{} {alone:e} {checked:e} {}", self.lanes, self.checksum)
    }

    fn of_line(line: &str) -> Option<Measured> {
        let mut fields = line.split(' ').skip(1);
        let mut number = || fields.next()?.parse::<f64>().ok();
        let (lanes, seconds) = (number()?, [number()?, number()?]);
        let checksum = fields.next()?.parse().ok()?;
        Some(Measured {
            lanes,
            seconds,
            checksum,
        })
    }
}

/// Runs a build of this program.
fn run(
    program: &std::ffi::OsStr,
    only: Option<&str>,
    count: usize,
) -> Result<Vec<Measured>, Box<dyn Error>> {
    let mut command = Command::new(program);
    command.arg("--once");
    if let Some(only) = only {
        command.args(["--only", only]);
    }
    let output = command.output()?;
    let text = String::from_utf8(output.stdout)?;
    let all: Option<Vec<Measured>> = text.lines().map(Measured::of_line).collect();
    match all {
        Some(all) if output.status.success() && all.len() == count => Ok(all),
        _ => Err(format!(
            "{} failed: {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}

/// Prints the table. `all` has the runs of this program and those of its peer.
fn report(cases: &[&Workload], all: &[Vec<Vec<Measured>>; 2]) -> Result<(), Box<dyn Error>> {
    let with_peer = !all[1].is_empty();
    println!("10^9 lane-instructions per second: alone; with all sanitizers");
    let mut logs = [[0.0; 2]; 2];
    for (at, case) in cases.iter().enumerate() {
        let mut line = format!("{:16}", case.kernel);
        let mut speeds = [[0.0; 2]; 2];
        for (observers, name) in ["alone", "sanitizers"].iter().enumerate() {
            for (program, runs) in all.iter().enumerate().filter(|(_, runs)| !runs.is_empty()) {
                let times = runs.iter().map(|run| run[at].seconds[observers]);
                speeds[program][observers] = runs[0][at].lanes / median(times.collect()) / 1e9;
                logs[program][observers] += speeds[program][observers].ln();
            }
            line += &format!(" {name} {:7.3}", speeds[0][observers]);
            if with_peer {
                let ratio = speeds[0][observers] / speeds[1][observers];
                line += &format!(" (peer {:7.3}, {ratio:6.2} times)", speeds[1][observers]);
            }
        }
        println!("{line}");
        let first = all[0][0][at].checksum;
        let mut checksums = all.iter().flatten().map(|run| run[at].checksum);
        if checksums.any(|checksum| checksum != first) {
            return Err(format!("the results of {} differ", case.kernel).into());
        }
    }
    let mean = |program: usize, observers: usize| {
        let mean: f64 = logs[program][observers] / cases.len() as f64;
        mean.exp()
    };
    let mut line = format!("{:16}", "geometric mean");
    for (observers, name) in ["alone", "sanitizers"].iter().enumerate() {
        line += &format!(" {name} {:7.3}", mean(0, observers));
        if with_peer {
            let ratio = mean(0, observers) / mean(1, observers);
            line += &format!(" (peer {:7.3}, {ratio:6.2} times)", mean(1, observers));
        }
    }
    println!("{line}");
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn measure(case: &Workload) -> Result<Measured, Box<dyn Error>> {
    let kernel = kernel(case)?;
    let mut counters = Counters::new();
    let (_, checksum) = launch(case, &kernel, &mut counters)?;
    let total = counters.total();
    // Sanitizers must find nothing, whatever they cost.
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    launch(case, &kernel, &mut sanitizer)?;
    if let Some(finding) = sanitizer.findings().first() {
        return Err(format!("{}: {finding}", case.kernel).into());
    }
    Ok(Measured {
        lanes: total.thread_instructions as f64,
        seconds: [
            time(case, &kernel, || NoObserver)?,
            time(case, &kernel, || Sanitizer::new(&Tool::ALL))?,
        ],
        checksum,
    })
}

/// Launches a kernel for a second, on the same buffers.
fn repeat(case: &Workload, sanitizes: bool) -> Result<(), Box<dyn Error>> {
    let (kernel, memory) = (kernel(case)?, Memory::with_capacity(CAPACITY));
    let (args, _) = arguments(case, &memory)?;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(1) {
        match sanitizes {
            true => {
                let mut observer = Sanitizer::new(&Tool::ALL);
                kernel.launch_observed(&memory, &config(case), &args, &mut observer)?;
            }
            false => _ = kernel.launch(&memory, &config(case), &args)?,
        }
    }
    Ok(())
}

fn kernel(case: &Workload) -> Result<Kernel, Box<dyn Error>> {
    let text = if case.debug { DEBUG } else { OPTIMISED };
    Ok(Module::index(text)?.kernel(case.kernel)?)
}

fn config(case: &Workload) -> LaunchConfig {
    LaunchConfig {
        workers: Some(1),
        ..LaunchConfig::new(case.grid, case.block)
    }
}

/// The address of each buffer, and its length in bytes.
type Buffers = Vec<(u64, usize)>;

/// Makes and fills the buffers of a launch.
fn arguments(case: &Workload, memory: &Memory) -> Result<(Args, Buffers), Box<dyn Error>> {
    let mut args = Args::new();
    let mut buffers = Vec::new();
    for argument in case.arguments {
        match *argument {
            Argument::Buffer(words, fill) => {
                let bytes = cases::filled(words, fill);
                let address = memory.alloc(bytes.len() as u64)?;
                memory.write(address, &bytes)?;
                buffers.push((address, bytes.len()));
                args.push_u64(address);
            }
            Argument::U32(value) => _ = args.push_u32(value),
            Argument::F64(value) => _ = args.push_f64(value),
        }
    }
    Ok((args, buffers))
}

/// Seconds of a launch.
fn time<O: Observer>(
    case: &Workload,
    kernel: &Kernel,
    observer: impl Fn() -> O,
) -> Result<f64, Box<dyn Error>> {
    let (mut took, mut launches) = (Duration::ZERO, 0u32);
    while took < LEAST {
        let mut observer = observer();
        took += launch(case, kernel, &mut observer)?.0;
        launches += 1;
    }
    Ok(took.as_secs_f64() / f64::from(launches))
}

/// The time of a launch on fresh buffers, and a checksum of the buffers behind it.
fn launch<O: Observer>(
    case: &Workload,
    kernel: &Kernel,
    observer: &mut O,
) -> Result<(Duration, u64), Box<dyn Error>> {
    let memory = Memory::with_capacity(CAPACITY);
    let (args, buffers) = arguments(case, &memory)?;
    let before = processor_time();
    let start = Instant::now();
    kernel.launch_observed(&memory, &config(case), &args, observer)?;
    let took = match (before, processor_time()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed(),
    };
    let mut checksum = 0xcbf2_9ce4_8422_2325u64;
    for (address, bytes) in buffers {
        let mut read = vec![0; bytes];
        memory.read(address, &mut read)?;
        for byte in read {
            checksum = (checksum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok((took, checksum))
}

/// How long this thread has had a processor.
#[cfg(target_os = "linux")]
fn processor_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).ok()
}

/// Unknown here.
#[cfg(not(target_os = "linux"))]
fn processor_time() -> Option<Duration> {
    None
}
