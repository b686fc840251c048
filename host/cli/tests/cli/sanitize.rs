//! The sanitizers on the kernels of `tests/broken`, each of which is wrong in one way: the right
//! one finds it at the right line, and the others stay silent. And the command `warpladder
//! sanitize`.

use cuda_builder::{CheckedInPtx, Mode, ModuleSpec, NvvmArch};
use ptx_emulator::sanitize::{Finding, Problem, Severity, Site, Tool};
use ptx_emulator::{Args, LaunchConfig, Memory, Module, Sanitizer};
use std::path::Path;
use std::process::{Command, Output};

const PTX: &str = include_str!("../../../../tests/broken/ptx/broken_sm_70.ptx");
const MANIFEST: &str = include_str!("../../../../tests/broken/ptx/manifest.json");
const SOURCE: &str = include_str!("../../../../tests/broken/src/lib.rs");

/// What of the crate the PTX depends on.
const INPUTS: &[&str] = &[
    "tests/broken/Cargo.toml",
    "tests/broken/rust-toolchain.toml",
    "tests/broken/src",
];

#[test]
fn the_checked_in_ptx_is_that_of_the_sources() {
    let workspace = Path::new(warpladder::SOURCE_ROOT);
    if !workspace.join("Cargo.toml").is_file() {
        println!("left out: the sources are not on this machine");
        return;
    }
    let ptx = CheckedInPtx {
        workspace: workspace.to_owned(),
        kernels: "tests/broken",
        inputs: INPUTS,
        ptx_dir: "tests/broken/ptx",
        modules: &[ModuleSpec {
            name: "broken_sm_70",
            arch: NvvmArch::Compute70,
        }],
        // Where the build script of the workspace compiles: core is built already.
        target_dir: Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .map(|target| target.join("ptx-build")),
    };
    let brought = Mode::from_env().and_then(|mode| ptx.bring_up_to_date(mode));
    let outcome = brought.unwrap_or_else(|error| panic!("{error}"));
    println!("{outcome:?}");
    for (file, text) in [("broken_sm_70.ptx", PTX), ("manifest.json", MANIFEST)] {
        let now = std::fs::read_to_string(workspace.join(ptx.ptx_dir).join(file)).unwrap();
        assert!(
            now == text,
            "{}/{file} was not that of the sources and has been rebuilt: run the tests again, and \
             commit it",
            ptx.ptx_dir
        );
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
enum Arg {
    U32(u32),
    /// The address of words, all of them 1.
    Ones(u32),
    /// The address of words, all of them 0.
    Zeros(u32),
    /// The address of words that were never written.
    Fresh(u32),
    /// The address of words that have been freed.
    Freed(u32),
    Null,
}

/// What the sanitizers find in a launch, with one worker thread; with several it must be the same.
fn findings(kernel: &str, grid: [u32; 3], block: [u32; 3], args: &[Arg]) -> Vec<Finding> {
    let kernel = Module::parse(PTX).unwrap().kernel(kernel).unwrap();
    let run = |workers: usize| {
        let memory = Memory::with_capacity(1 << 24);
        let mut given = Args::new();
        for &arg in args {
            let address = match arg {
                Arg::U32(value) => {
                    given.push_u32(value);
                    continue;
                }
                Arg::Null => 0,
                Arg::Ones(words) | Arg::Zeros(words) | Arg::Fresh(words) | Arg::Freed(words) => {
                    memory.alloc(4 * u64::from(words)).unwrap()
                }
            };
            match arg {
                Arg::Ones(words) => {
                    let ones: Vec<u8> = (0..words).flat_map(|_| 1u32.to_le_bytes()).collect();
                    memory.write(address, &ones).unwrap();
                }
                Arg::Zeros(words) => memory.fill(address, 4 * u64::from(words), 0).unwrap(),
                Arg::Freed(_) => memory.free(address).unwrap(),
                _ => {}
            }
            given.push_u64(address);
        }
        let config = LaunchConfig {
            workers: Some(workers),
            instruction_budget: 1 << 22,
            ..LaunchConfig::new(grid, block)
        };
        let mut sanitizer = Sanitizer::new(&Tool::ALL);
        sanitizer.launch(&kernel, &memory, &config, &given).unwrap()
    };
    let found = run(1);
    for finding in &found {
        // Shown where the test fails.
        println!("{finding}");
    }
    assert_eq!(run(3), found, "another number of workers finds the same");
    found
}

/// The line that a comment marks.
fn line(mark: &str) -> u32 {
    let end = format!("//@ {mark}");
    let at = SOURCE.lines().position(|line| line.ends_with(&end));
    at.unwrap_or_else(|| panic!("no line is marked {mark}")) as u32 + 1
}

/// The line of a site, which must be in the kernels' file.
fn place(site: &Site) -> u32 {
    let place = site.place.as_ref().expect("a line is known");
    assert_eq!(place.file, "tests/broken/src/lib.rs");
    place.line
}

/// The one finding of a kernel.
fn only(mut found: Vec<Finding>, problem: Problem) -> Finding {
    assert_eq!(found.len(), 1, "one finding");
    let found = found.swap_remove(0);
    assert_eq!(found.problem, problem);
    found
}

const ONE: [u32; 3] = [1, 1, 1];
const WARP: [u32; 3] = [32, 1, 1];

fn product(kernel: &str) -> Vec<Finding> {
    const N: u32 = 48;
    let args = [
        Arg::Ones(N * N),
        Arg::Ones(N * N),
        Arg::Fresh(N * N),
        Arg::U32(N),
    ];
    findings(kernel, [3, 3, 1], [16, 16, 1], &args)
}

/// The lines of the races of a product: (write, read).
fn races_of_product(found: &[Finding]) -> Vec<(u32, u32)> {
    let races = found
        .iter()
        .filter(|finding| finding.tool() == Tool::Racecheck);
    let mut lines: Vec<(u32, u32)> = races
        .map(|race| {
            assert_eq!(race.problem, Problem::RaceInBlock);
            let second = race.second.as_ref().expect("two sides");
            assert_eq!((race.first.action, second.action), ("write", "read"));
            (place(&race.first), place(second))
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

fn both_tiles() -> Vec<(u32, u32)> {
    let read = line("product read");
    vec![(line("product a"), read), (line("product b"), read)]
}

#[test]
fn a_sound_product_has_no_findings() {
    assert_eq!(product("sound_product"), []);
}

#[test]
fn a_missing_first_barrier_is_a_race_of_the_stores_and_the_loads_of_the_tiles() {
    let found = product("missing_first_barrier");
    assert_eq!(races_of_product(&found), both_tiles());
    // A warp that runs ahead reads what the others have not yet written.
    let others = found
        .iter()
        .filter(|finding| finding.tool() != Tool::Racecheck);
    for other in others {
        assert_eq!(other.problem, Problem::Uninitialised);
        assert_eq!(place(&other.first), line("product read"));
    }
}

#[test]
fn a_missing_second_barrier_is_a_race_as_well() {
    let found = product("missing_second_barrier");
    assert_eq!(races_of_product(&found), both_tiles());
    assert!(
        found
            .iter()
            .all(|finding| finding.tool() == Tool::Racecheck)
    );
}

#[test]
fn an_off_by_one_guard_is_out_of_bounds() {
    let args = [Arg::Ones(60), Arg::Fresh(60), Arg::U32(60)];
    let found = findings("guard_off_by_one", [2, 1, 1], WARP, &args);
    let found = only(found, Problem::OutOfBounds);
    assert_eq!(place(&found.first), line("guard_off_by_one"));
    assert_eq!(
        (found.first.block, found.first.thread),
        ([1, 0, 0], Some([28, 0, 0]))
    );
    let region = found.region.expect("an address");
    assert_eq!(region.bytes, 4);
    assert!(
        region
            .around
            .contains("with 240 bytes, the address is at byte 240 of it")
    );
}

#[test]
fn a_store_one_element_too_far_is_out_of_bounds() {
    let found = findings("store_shifted", ONE, WARP, &[Arg::Ones(32), Arg::Fresh(32)]);
    let found = only(found, Problem::OutOfBounds);
    assert_eq!(
        (found.first.action, place(&found.first)),
        ("store", line("store_shifted"))
    );
    assert_eq!(found.first.thread, Some([31, 0, 0]));
}

#[test]
fn freed_memory_and_null_pointers_are_told_apart() {
    let found = findings("sound_copy", ONE, WARP, &[Arg::Freed(32), Arg::Fresh(32)]);
    let found = only(found, Problem::UseAfterFree);
    assert_eq!(place(&found.first), line("sound_copy"));
    assert!(
        found
            .region
            .expect("an address")
            .around
            .contains("has been freed")
    );

    let found = findings("sound_copy", ONE, WARP, &[Arg::Ones(32), Arg::Null]);
    let found = only(found, Problem::NullPointer);
    assert_eq!(
        (found.first.action, place(&found.first)),
        ("store", line("sound_copy"))
    );

    assert_eq!(
        findings("sound_copy", ONE, WARP, &[Arg::Ones(32), Arg::Fresh(32)]),
        []
    );
}

#[test]
fn a_vector_at_a_multiple_of_4_is_misaligned() {
    let found = findings(
        "misaligned_vector",
        ONE,
        WARP,
        &[Arg::Ones(129), Arg::Fresh(128)],
    );
    let found = only(found, Problem::Misaligned);
    // The load is inlined from the library.
    assert!(found.first.inlined.is_some());
    assert_eq!(found.region.expect("an address").bytes, 16);
}

#[test]
fn the_tail_of_a_tile_that_nobody_writes_is_uninitialised() {
    let args = [Arg::Ones(60), Arg::Fresh(60), Arg::U32(60)];
    let found = findings("uninitialised_tail", ONE, [64, 1, 1], &args);
    let found = only(found, Problem::Uninitialised);
    assert_eq!(place(&found.first), line("uninitialised_tail"));
    assert_eq!(found.count, 4);
    let region = found.region.expect("an address");
    assert_eq!(
        (region.space, region.address),
        (ptx_emulator::Space::Shared, 63 * 4)
    );
    let full = [Arg::Ones(64), Arg::Fresh(64), Arg::U32(64)];
    assert_eq!(findings("uninitialised_tail", ONE, [64, 1, 1], &full), []);
}

#[test]
fn an_accumulator_that_nobody_sets_to_zero_is_uninitialised() {
    let args = [Arg::Ones(128), Arg::Fresh(128)];
    let found = findings("uninitialised_accumulator", [4, 1, 1], WARP, &args);
    let found = only(found, Problem::Uninitialised);
    assert_eq!(place(&found.first), line("uninitialised_accumulator"));
    assert_eq!(found.count, 128);
    let zeros = [Arg::Ones(128), Arg::Zeros(128)];
    assert_eq!(
        findings("uninitialised_accumulator", [4, 1, 1], WARP, &zeros),
        []
    );
}

#[test]
fn a_barrier_in_divergent_code_is_found_although_the_kernel_ends() {
    let found = findings("barrier_in_divergent_code", ONE, WARP, &[Arg::Fresh(32)]);
    let found = only(found, Problem::DivergentBarrier);
    // The barrier is inlined from the library, and counts for the line before it.
    let (first, second) = (&found.first, found.second.as_ref().expect("two sides"));
    let library = first.inlined.as_ref().expect("inlined");
    assert_eq!(library.file, "cuda_std/src/thread.rs");
    let after = line("barrier_in_divergent_code");
    assert!((after - 4..after).contains(&place(first)));
    assert_eq!(place(second), after);
    assert_eq!(
        (first.thread, second.thread),
        (Some([0, 0, 0]), Some([16, 0, 0]))
    );
}

#[test]
fn threads_may_leave_before_a_barrier() {
    let args = [Arg::Fresh(70), Arg::U32(70)];
    let found = findings("sound_early_return", ONE, [128, 1, 1], &args);
    // It is no error, but only GPUs since compute capability 7.0 do not wait for them.
    let found = only(found, Problem::ExitedBeforeBarrier);
    assert_eq!(found.severity, Severity::Warning);
    let all = [Arg::Fresh(128), Arg::U32(128)];
    assert_eq!(findings("sound_early_return", ONE, [128, 1, 1], &all), []);
}

#[test]
fn threads_that_wait_for_each_other_are_a_deadlock() {
    let found = findings("deadlock", ONE, WARP, &[Arg::Fresh(32)]);
    let found = only(found, Problem::Deadlock);
    assert!(
        found.detail.contains("16 threads wait for barrier 0"),
        "{}",
        found.detail
    );
}

#[test]
fn shuffles_with_wrong_masks_are_found() {
    let found = findings("shuffle_outside_of_its_mask", ONE, WARP, &[Arg::Fresh(32)]);
    let found = only(found, Problem::NotAMember);
    assert_eq!((found.count, found.first.thread), (16, Some([16, 0, 0])));

    let found = findings("shuffle_from_inactive_lanes", ONE, WARP, &[Arg::Fresh(32)]);
    let found = only(found, Problem::InactiveSource);
    assert_eq!((found.count, found.first.thread), (16, Some([0, 0, 0])));
}

#[test]
fn lanes_of_a_warp_are_not_ordered_by_themselves() {
    let found = findings("missing_warp_barrier", ONE, WARP, &[Arg::Fresh(32)]);
    let found = only(found, Problem::RaceInBlock);
    let second = found.second.as_ref().expect("two sides");
    assert_eq!(place(&found.first), line("exchange write"));
    assert_eq!(place(second), line("exchange read"));
    assert_eq!(
        (found.first.thread, second.thread),
        (Some([1, 0, 0]), Some([0, 0, 0]))
    );
    assert_eq!(
        findings("sound_warp_exchange", ONE, WARP, &[Arg::Fresh(32)]),
        []
    );
}

#[test]
fn blocks_that_write_to_the_same_elements_race() {
    let found = findings("missing_block_offset", [5, 1, 1], WARP, &[Arg::Fresh(32)]);
    let found = only(found, Problem::RaceBetweenBlocks);
    let second = found.second.as_ref().expect("two sides");
    let at = line("missing_block_offset");
    assert_eq!((place(&found.first), place(second)), (at, at));
    assert_ne!(found.first.block, second.block);
    assert_eq!(found.count, 32, "one for each element");
    assert_eq!(
        findings("missing_block_offset", ONE, WARP, &[Arg::Fresh(32)]),
        []
    );
}

#[test]
fn plain_additions_race_and_atomic_ones_do_not() {
    let args = [Arg::Ones(128), Arg::Zeros(8)];
    let found = findings("plain_histogram", [2, 1, 1], [64, 1, 1], &args);
    let problems: Vec<Problem> = found.iter().map(|finding| finding.problem).collect();
    assert!(problems.contains(&Problem::RaceInBlock));
    assert!(problems.contains(&Problem::RaceBetweenBlocks));
    for finding in &found {
        assert_eq!(finding.tool(), Tool::Racecheck);
        assert_eq!(place(&finding.first), line("plain_histogram"));
    }
    assert_eq!(
        findings("sound_histogram", [2, 1, 1], [64, 1, 1], &args),
        []
    );
}

#[test]
fn fences_and_a_counter_order_blocks() {
    let args = [Arg::Fresh(6), Arg::Zeros(1), Arg::Fresh(1)];
    assert_eq!(findings("sound_last_block", [6, 1, 1], ONE, &args), []);
}

fn warpladder(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpladder"))
        .arg("sanitize")
        .args(args)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

#[test]
fn the_whole_catalogue_is_clean() {
    let output = warpladder(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    // It says which tools have looked, and at which sizes.
    let last = stdout(&output).lines().last().unwrap();
    assert!(
        last.contains(" kernels, no findings: memcheck, racecheck, initcheck, synccheck at "),
        "{last}"
    );
}

#[test]
fn findings_as_json_and_wrong_usage() {
    let output = warpladder(&[
        "tiled_32,naive",
        "--shape",
        "64",
        "--tool",
        "racecheck",
        "--json",
        "-",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let records = super::records(&output.stdout);
    assert_eq!(records[0]["kernel"], "tiled_32");
    assert_eq!(records[1]["m"], 64);
    assert_eq!(records[1]["findings"].as_array().unwrap().len(), 0);

    for wrong in [
        &["tiled33"][..],
        &["tiled_32", "--shape", "33"],
        &["cpu_naive"],
        &["--tool", "lint"],
        &["naive", "--json", "/no such folder/file"],
    ] {
        let output = warpladder(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(output.stdout.is_empty());
        assert!(!output.stderr.is_empty());
    }
}
