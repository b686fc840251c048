//! Which kernels run.

use super::{emulate, parse, warpladder};
use warpladder_lab::catalogue::{self, Rung};
use warpladder_lab::problem::Shape;

#[test]
fn run_is_the_default_command() {
    emulate("--kernel naive --shape 8").assert_passed(1);
    warpladder("run --engine emulator --kernel naive --shape 8").assert_passed(1);
}

#[test]
fn the_catalogue_runs_what_takes_the_size_and_names_the_rest() {
    let shape = Shape { m: 9, n: 7, k: 5 };
    let (takes, others): (Vec<&Rung>, Vec<&Rung>) =
        catalogue::rungs().partition(|rung| rung.precondition.takes(rung.operation, shape));
    let ended = emulate("--shape 9x7x5 --reps 1 --device none");
    ended.assert_passed(takes.len());
    for rung in takes {
        let row = format!("{} ", rung.name);
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
    emulate("--family transpose --shape 32 --reps 1").assert_passed(transposes.count());
    emulate("--kernel naive,tiled_16 --shape 16 --reps 1").assert_passed(2);
    emulate("--family matmul --kernel naive --shape 16 --reps 1").assert_passed(1);
}

#[test]
fn patterns_select_kernels_and_others_leave_some_out() {
    let names = |args: &str| -> Vec<String> {
        let ended = emulate(&format!(
            "{args} --shape 32 --reps 1 --device none --json -"
        ));
        assert_eq!(ended.status, Some(0), "{ended:?}");
        let name = |record: &serde_json::Value| record["kernel"].as_str().unwrap().to_owned();
        parse(&ended.stdout).iter().map(name).collect()
    };
    assert_eq!(
        names("--kernel tiled_*"),
        [
            "tiled_16",
            "tiled_32",
            "tiled_guarded_16",
            "tiled_guarded_32",
            "tiled_16_f64",
            "tiled_32_f64"
        ]
    );
    assert_eq!(
        names("--kernel tiled_* --exclude *_f64,tiled_guarded_??"),
        ["tiled_16", "tiled_32"]
    );
    // A name comes where it is named, and once.
    assert_eq!(
        names("--kernel tiled_32,tiled_??"),
        ["tiled_32", "tiled_16"]
    );
    emulate("--kernel nothing*").assert_refused(&["no kernel is named", "nothing*"]);
    emulate("--kernel naive --exclude naive").assert_refused(&["no kernel is left"]);
}

#[test]
fn a_size_of_0_is_refused() {
    for shape in ["0", "0x3x4", "3x0x4", "3x4x0"] {
        let ended = emulate(&format!("--kernel naive --shape {shape}"));
        ended.assert_refused(&["--shape", "an extent of 0 leaves nothing to compute"]);
    }
}

#[test]
fn sizes_are_given_one_way_and_the_old_one_says_so() {
    emulate("--kernel naive --size 64").assert_refused(&["write --shape 64"]);
    emulate("--kernel naive --m 3 --n 4").assert_refused(&["--shape 1000x17x333"]);
    let ended = emulate("--kernel naive,transpose_fast --shape 8,3x5x7 --reps 1 --json -");
    let size = |record: &serde_json::Value| ["m", "n", "k"].map(|extent| record[extent].as_u64());
    let sizes: Vec<_> = parse(&ended.stdout).iter().map(size).collect();
    let (eight, odd) = (Some(8), [Some(3), Some(5), Some(7)]);
    assert_eq!(
        sizes,
        [
            [eight; 3],
            [eight, eight, None],
            odd,
            [odd[0], odd[1], None]
        ]
    );
}

#[test]
fn random_sizes_are_those_of_the_seed_and_suit_the_kernels() {
    let sizes = |seed: u32| -> Vec<[Option<u64>; 3]> {
        let ended = emulate(&format!(
            "--kernel naive,tiled_16 --random 3 --seed {seed} --reps 1 --device none --json -"
        ));
        assert_eq!(ended.status, Some(0), "{ended:?}");
        let records = parse(&ended.stdout);
        let size = |record: &serde_json::Value| ["m", "n", "k"].map(|name| record[name].as_u64());
        for record in records
            .iter()
            .filter(|record| record["kernel"] == "tiled_16")
        {
            assert!(size(record).iter().all(|extent| extent.unwrap() % 16 == 0));
        }
        records.iter().map(size).collect()
    };
    assert_eq!(sizes(5), sizes(5));
    assert_eq!(sizes(5).len(), 6);
    assert_ne!(sizes(5), sizes(6));
}

#[test]
fn a_seed_gives_the_same_inputs_again() {
    let error = |seed: u32| {
        let ended = emulate(&format!("--kernel naive --shape 20 --seed {seed} --json -"));
        parse(&ended.stdout)[0]["error"].as_f64().unwrap()
    };
    assert_eq!(error(5), error(5));
    assert_ne!(error(5), error(6));
}
