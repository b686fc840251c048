//! Which kernels run.

use super::{emulate, parse, warpladder};
use warpladder_lab::catalogue::{self, Rung};
use warpladder_lab::problem::Shape;

#[test]
fn run_is_the_default_command() {
    emulate("--kernel naive --size 8").assert_passed(1);
    warpladder("run --engine emulator --kernel naive --size 8").assert_passed(1);
}

#[test]
fn the_catalogue_runs_what_takes_the_size_and_names_the_rest() {
    let shape = Shape { m: 9, n: 7, k: 5 };
    let (takes, others): (Vec<&Rung>, Vec<&Rung>) =
        catalogue::rungs().partition(|rung| rung.precondition.takes(rung.operation, shape));
    let ended = emulate("--m 9 --n 7 --k 5 --reps 1");
    ended.assert_passed(takes.len());
    for rung in takes {
        let row = format!(" {} ", rung.name);
        assert!(
            ended.stdout.lines().any(|line| line.starts_with(&row)),
            "no row {row:?}"
        );
    }
    let left_out = ended
        .stdout
        .lines()
        .find(|line| line.starts_with("left out"));
    let names: Vec<&str> = others.iter().map(|rung| rung.name).collect();
    assert!(
        left_out.unwrap().ends_with(&names.join(", ")),
        "{left_out:?}"
    );
}

#[test]
fn a_family_or_names_select_kernels() {
    let transposes = catalogue::rungs().filter(|rung| rung.family == catalogue::Family::Transpose);
    emulate("--family transpose --size 32 --reps 1").assert_passed(transposes.count());
    emulate("--kernel naive,tiled_16 --size 16 --reps 1").assert_passed(2);
    emulate("--family matmul --kernel naive --size 16 --reps 1").assert_passed(1);
}

#[test]
fn a_size_of_0_is_an_empty_product() {
    for kernel in [
        "naive",
        "tiled_guarded_32",
        "wolfe_dispatch",
        "cpu_nalgebra",
    ] {
        for size in [
            "--size 0",
            "--m 0 --n 3 --k 4",
            "--m 3 --n 0 --k 4",
            "--m 3 --n 4 --k 0",
        ] {
            let ended = emulate(&format!("--kernel {kernel} {size} --json -"));
            assert_eq!(ended.status, Some(0), "{kernel} {size}: {ended:?}");
            let record = &parse(&ended.stdout)[0];
            assert_eq!(record["ok"], true, "{kernel} {size}: {record}");
            assert_eq!(record["error"], 0.0, "{kernel} {size}: {record}");
        }
    }
    let ended = emulate("--size 0");
    ended.assert_passed(catalogue::rungs().count());
}

#[test]
fn a_seed_gives_the_same_inputs_again() {
    let error = |seed: u32| {
        let ended = emulate(&format!("--kernel naive --size 20 --seed {seed} --json -"));
        parse(&ended.stdout)[0]["error"].as_f64().unwrap()
    };
    assert_eq!(error(5), error(5));
    assert_ne!(error(5), error(6));
}
