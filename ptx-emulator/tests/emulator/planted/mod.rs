//! Bugs planted in CUDA C++ kernels of everyday kinds: each must be reported by the right sanitizer
//! with a line of the kernel, and the same kernels without a bug must have no finding. The sources
//! are in `tests/data/planted`; their PTX by `nvcc -O3` is beside them. That by `-G` is compiled
//! where the variable `WARPLADDER_PLANTED_NVCC` has a command for it (`nvcc -I FOLDER_OF_CCCL`).

mod cases;

use cases::{CASES, RIGHT};
use ptx_emulator::sanitize::{Finding, Severity, Site, Tool};
use ptx_emulator::{Args, LaunchConfig, Memory, Module, Sanitizer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// An argument: a value, or the address of that number of elements.
#[derive(Clone, Copy)]
pub enum Arg {
    Int(u32),
    Float(f32),
    /// Random bytes, of which some are 255.
    Bytes(u32),
    /// 1, 2, 3 and so on.
    Ints(u32),
    Floats(u32),
    Zeros(u32),
    /// Words that were never written.
    Fresh(u32),
}

#[derive(Clone, Copy)]
pub struct Launch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks of a cluster along x.
    pub cluster: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    pub args: &'static [Arg],
}

/// A planted bug.
pub struct PlantedBug {
    /// Its number: lines of the source that end in `@bug` are where it shows.
    pub bug: u32,
    pub file: &'static str,
    pub kernel: &'static str,
    /// What is to find it.
    pub tool: Tool,
    pub launch: Launch,
    /// What is wrong, in words.
    pub what: &'static str,
}

/// How the sources were compiled, and the PTX by the file's name.
struct Compiled {
    flags: &'static str,
    modules: BTreeMap<&'static str, Module>,
}

const FILES: [&str; 8] = [
    "counting", "reduce", "scan", "tiles", "warps", "async", "pipeline", "hopper",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/planted")
}

fn modules(folder: &Path, suffix: &str) -> BTreeMap<&'static str, Module> {
    let parse = |file: &'static str| {
        let path = folder.join(format!("{file}{suffix}.ptx"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        (file, module)
    };
    FILES.into_iter().map(parse).collect()
}

fn optimised() -> Compiled {
    Compiled {
        flags: "-O3",
        modules: modules(&folder(), ""),
    }
}

/// The sources by `-G`, if there is a compiler; compiled once.
fn debug() -> Option<&'static Compiled> {
    static COMPILED: OnceLock<Option<Compiled>> = OnceLock::new();
    COMPILED.get_or_init(compile_debug).as_ref()
}

fn compile_debug() -> Option<Compiled> {
    let Ok(command) = std::env::var("WARPLADDER_PLANTED_NVCC") else {
        println!("left out: -G, since WARPLADDER_PLANTED_NVCC names no nvcc");
        return None;
    };
    let out = std::env::temp_dir().join(format!("planted-{}", std::process::id()));
    std::fs::create_dir_all(&out).expect("a folder");
    let done = std::process::Command::new(folder().join("regenerate"))
        .args(command.split_whitespace())
        .env("OUT", &out)
        .status()
        .expect("bash is there");
    assert!(done.success(), "{command} compiles the sources");
    let modules = modules(&out, "_debug");
    // What is left of it does no harm.
    _ = std::fs::remove_dir_all(&out);
    Some(Compiled {
        flags: "-G",
        modules,
    })
}

fn place(memory: &Memory, args: &[Arg]) -> Args {
    let mut given = Args::new();
    for &arg in args {
        let (count, bytes): (u32, Option<Vec<u8>>) = match arg {
            Arg::Int(value) => {
                given.push_u32(value);
                continue;
            }
            Arg::Float(value) => {
                given.push_u32(value.to_bits());
                continue;
            }
            Arg::Bytes(count) => {
                let byte = |i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8;
                (count.div_ceil(4), Some((0..count).map(byte).collect()))
            }
            Arg::Ints(count) => {
                let all = (1..=count).flat_map(u32::to_le_bytes);
                (count, Some(all.collect()))
            }
            Arg::Floats(count) => {
                let all = (0..count).flat_map(|i| (i as f32 - 20.0).to_le_bytes());
                (count, Some(all.collect()))
            }
            Arg::Zeros(count) => (count, Some(vec![0; 4 * count as usize])),
            Arg::Fresh(count) => (count, None),
        };
        let address = memory.alloc(4 * u64::from(count)).expect("room");
        if let Some(bytes) = bytes {
            memory.write(address, &bytes).expect("in bounds");
        }
        given.push_u64(address);
    }
    given
}

/// What all sanitizers find in a launch; none where the emulator refuses the kernel by name.
fn findings(module: &Module, kernel: &str, launch: &Launch) -> Option<Vec<Finding>> {
    let kernel = match module.kernel(kernel) {
        Ok(kernel) => kernel,
        Err(refused) => {
            println!("left out: {refused}");
            return None;
        }
    };
    let memory = Memory::with_capacity(1 << 24);
    let args = place(&memory, launch.args);
    let mut config = LaunchConfig::new(launch.grid, launch.block);
    config.dynamic_shared_bytes = launch.shared;
    config.cluster = (launch.cluster > 1).then_some([launch.cluster, 1, 1]);
    config.instruction_budget = 1 << 22;
    // Blocks that wait for each other run at the same time.
    config.workers = Some(4);
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    let found = sanitizer.launch(&kernel, &memory, &config, &args);
    Some(found.unwrap_or_else(|error| panic!("{}: {error}", kernel.name())))
}

/// The lines of a source that a bug marks.
fn marked(file: &str, bug: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(folder().join(format!("{file}.cu"))).expect("a source");
    let mark = format!("@{bug}");
    let is_marked = |line: &str| line.split_whitespace().any(|word| word == mark);
    let lines = text.lines().zip(1..).filter(|(line, _)| is_marked(line));
    lines.map(|(_, number)| number).collect()
}

/// How far a bug was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// By the right sanitizer, at a line of the bug.
    AtLine(u32),
    /// By the right sanitizer, at another line.
    Elsewhere,
    /// By another one.
    ByAnother,
    No,
    /// The emulator does not run the kernel.
    Refused,
}

impl Found {
    fn of(case: &PlantedBug, found: &[Finding]) -> Found {
        let lines = marked(case.file, case.bug);
        let name = format!("{}.cu", case.file);
        let line = |site: &Site| {
            let place = site.place.as_ref()?;
            (place.file == name && lines.contains(&place.line)).then_some(place.line)
        };
        let right = || found.iter().filter(|finding| finding.tool() == case.tool);
        let mut places = right()
            .filter_map(|finding| line(&finding.first).or_else(|| line(finding.second.as_ref()?)));
        match places.next() {
            Some(line) => Found::AtLine(line),
            None if right().next().is_some() => Found::Elsewhere,
            None if found.iter().any(|f| f.severity == Severity::Error) => Found::ByAnother,
            None => Found::No,
        }
    }

    fn words(self) -> String {
        match self {
            Found::AtLine(line) => format!("line {line}"),
            Found::Elsewhere => "another line".to_owned(),
            Found::ByAnother => "another sanitizer".to_owned(),
            Found::No => "not found".to_owned(),
            Found::Refused => "refused".to_owned(),
        }
    }
}

/// The outcome of all bugs, in the order of [`CASES`].
fn outcomes(compiled: &Compiled) -> Vec<Found> {
    let outcome = |case: &PlantedBug| {
        let module = &compiled.modules[case.file];
        let Some(found) = findings(module, case.kernel, &case.launch) else {
            return Found::Refused;
        };
        let outcome = Found::of(case, &found);
        if !matches!(outcome, Found::AtLine(_)) {
            println!("{} {}: {}", compiled.flags, case.kernel, outcome.words());
            found.iter().for_each(|finding| println!("  {finding}"));
        }
        outcome
    };
    CASES.iter().map(outcome).collect()
}

#[test]
fn right_kernels_have_no_findings() {
    let mut wrong = 0;
    for compiled in [Some(&optimised()), debug()].into_iter().flatten() {
        for (file, kernel, launch) in RIGHT {
            let found = findings(&compiled.modules[file], kernel, launch).unwrap_or_default();
            for finding in &found {
                println!("{} {kernel}: {finding}", compiled.flags);
            }
            wrong += usize::from(!found.is_empty());
        }
    }
    assert_eq!(wrong, 0, "right kernels with findings");
}

/// The table of the outcomes, as it is in the repository.
fn table(columns: &[Vec<String>; 2]) -> String {
    let mut text = "\
# Planted bugs

What the emulator's sanitizers report of bugs planted in the CUDA C++ kernels of this folder, by
the line of the source. The test `planted` of `ptx-emulator` writes this table where
`WARPLADDER_UPDATE` is set, and holds it; `-G` where `WARPLADDER_PLANTED_NVCC` is set as well.
A kernel is refused where the emulator does not run one of its instructions.

| bug | kernel | what is wrong | sanitizer | -O3 | -G |
|---|---|---|---|---|---|
"
    .to_owned();
    for (index, case) in CASES.iter().enumerate() {
        let PlantedBug {
            bug,
            file,
            kernel,
            tool,
            what,
            ..
        } = case;
        let [optimised, debug] = columns.each_ref().map(|column| &column[index]);
        text += &format!(
            "| {bug} | `{kernel}` in `{file}.cu` | {what} | {tool} | {optimised} | {debug} |\n"
        );
    }
    text
}

/// The last column of the table in the repository.
fn known_debug(table: &str) -> Vec<String> {
    let rows = table.lines().filter(|line| line.contains(".cu`"));
    let last = |row: &str| {
        row.trim_end_matches(" |")
            .rsplit("| ")
            .next()
            .map(str::to_owned)
    };
    let mut column: Vec<String> = rows.filter_map(last).collect();
    column.resize(CASES.len(), "not tried".to_owned());
    column
}

#[test]
fn planted_bugs_are_found() {
    const WANTED: usize = 38;
    let path = folder().join("results.md");
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let words = |found: &Vec<Found>| found.iter().map(|found| found.words()).collect();
    let optimised = outcomes(&optimised());
    let debug = debug().map(outcomes);
    let debug_words = debug.as_ref().map_or_else(|| known_debug(&known), words);
    let now = table(&[words(&optimised), debug_words]);
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        std::fs::write(&path, &now).expect("the folder can be written to");
    }
    for (flags, found) in [("-O3", Some(optimised)), ("-G", debug)] {
        let Some(found) = found else { continue };
        let at_line = found
            .iter()
            .filter(|found| matches!(found, Found::AtLine(_)))
            .count();
        let refused = found
            .iter()
            .filter(|found| **found == Found::Refused)
            .count();
        println!("{flags}: {at_line} of {}, {refused} refused", CASES.len());
        // Without optimisation, atomics are functions, which are given an address from anywhere,
        // and sides of a race are named by the line in the function of the library.
        let missed = CASES.len() - at_line - refused;
        assert!(
            missed <= 2 * usize::from(flags == "-G"),
            "{flags}: {missed} missed"
        );
        assert!(at_line >= WANTED, "{flags}: {at_line}");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == now,
        "{path:?} is not what was found: set WARPLADDER_UPDATE=1\n{now}"
    );
}
