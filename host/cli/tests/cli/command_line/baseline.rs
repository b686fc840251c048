//! `run --baseline`: what is said of a saved run, and the exit status.

use super::{Folder, emulate, end, parse, program};
use serde_json::Value;

/// Saves a run of one kernel on the emulator, with each of its times multiplied by `factor`.
fn saved(folder: &Folder, name: &str, factor: f64) -> String {
    let file = folder.file(name);
    let ended = emulate(&format!(
        "--kernel naive --shape 64 --reps 20 --json {file}"
    ));
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut envelope: Value = serde_json::from_str(&text).unwrap();
    let times = &mut envelope["records"][0]["emulator_times_ms"];
    let times = times.as_array_mut().unwrap();
    assert_eq!(times.len(), 20);
    for time in times {
        *time = (time.as_f64().unwrap() * factor).into();
    }
    std::fs::write(&file, serde_json::to_string(&envelope).unwrap()).unwrap();
    file
}

#[test]
fn a_slower_kernel_is_reported_and_fails_and_others_do_not() {
    let folder = Folder::new("baseline");
    for (factor, status, last) in [
        // Times of a busy machine scatter: only a large step is certain to be seen.
        (0.05, 1, "1 slower, 0 faster, 0 no change, 0 not compared"),
        (20.0, 0, "0 slower, 1 faster, 0 no change, 0 not compared"),
    ] {
        let file = saved(&folder, "saved.json", factor);
        let ended = emulate(&format!("--kernel naive --shape 64 --baseline {file}"));
        assert_eq!(ended.status, Some(status), "{ended:?}");
        assert_eq!(ended.last_line(), last, "{ended:?}");
    }
    let file = saved(&folder, "saved.json", 1.0);
    let now = folder.file("now.json");
    let ended = emulate(&format!(
        "--kernel naive --shape 64 --baseline {file} --floor 900 --json {now}"
    ));
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.last_line().contains("1 no change"), "{ended:?}");
    let records = parse(&std::fs::read_to_string(&now).unwrap());
    let baseline = &records[0]["baseline"];
    assert_eq!(baseline["change"], "no_change", "{baseline}");
    let number = |field: &str| baseline[field].as_f64().unwrap();
    assert!(number("ratio_low") <= number("ratio") && number("ratio") <= number("ratio_high"));
    assert_eq!(number("floor"), 9.0);
}

#[test]
fn what_was_not_saved_alike_is_not_compared_and_says_why() {
    let folder = Folder::new("baseline-other");
    let file = saved(&folder, "saved.json", 1.0);
    let ended = emulate(&format!(
        "--kernel naive,tiled_16 --shape 64 --reps 3 --baseline {file}"
    ));
    assert_eq!(ended.status, Some(0), "{ended:?}");
    for line in [
        "naive not compared: 20 samples then and 3 now, at least 5 of each are needed: use --reps",
        "tiled_16 not compared: the saved run has no such kernel of this size, engine and --generation",
        "0 slower, 0 faster, 0 no change, 2 not compared",
    ] {
        assert!(ended.stdout.lines().any(|other| other == line), "{ended:?}");
    }
}

#[test]
fn what_is_no_saved_run_is_refused() {
    let folder = Folder::new("baseline-refused");
    let file = folder.file("other.json");
    let run = || end(program().args(["--kernel", "naive", "--shape", "8", "--baseline", &file]));
    run().assert_refused(&["cannot read", "other.json"]);
    std::fs::write(&file, "{}").unwrap();
    run().assert_refused(&[
        "other.json",
        "give a file that `warpladder run --json` wrote",
    ]);
    let first_schema =
        r#"[{"kernel": "naive", "m": 8, "n": 8, "k": 8, "engine": "gpu", "device": "V100"}]"#;
    std::fs::write(&file, first_schema).unwrap();
    run().assert_refused(&["no single times", "save the run again"]);
}

#[test]
fn samples_go_on_until_the_median_is_precise_or_time_is_up() {
    let ended = emulate("--kernel naive --shape 16 --precision 1e-9 --time-limit 0.2 --csv -");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(",time_limit,"), "{ended:?}");
    let ended = emulate("--kernel naive --shape 16 --reps 6 --precision 1e9 --csv -");
    assert!(ended.stdout.contains(",6,precision,"), "{ended:?}");
    emulate("--kernel naive --shape 16 --cache cold").assert_refused(&["no caches"]);
}
