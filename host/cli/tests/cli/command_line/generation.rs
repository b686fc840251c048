//! `--generation`: the kernels of older GPUs on a newer one.

use super::{emulate, parse, warpladder};

#[test]
fn a_run_has_the_kernels_of_the_generation_and_its_records_say_which() {
    let ended =
        emulate("--kernel dgemm,gemm_mma_bf16 --generation sm_80 --shape 33x31x17 --json -");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let records = parse(&ended.stdout);
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!(record["generation"], 80, "{record}");
        assert_eq!(record["ok"], true, "{record}");
    }
    let ended = emulate("--kernel dgemm --shape 33x31x17 --device none --json -");
    assert!(parse(&ended.stdout)[0]["generation"].is_null());
}

#[test]
fn newer_kernels_are_left_out_or_refused_by_name() {
    let ended = emulate("--kernel *bf16 --generation sm_80 --shape 64 --reps 1 --device none");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let left_out = ended
        .stdout
        .lines()
        .find(|line| line.starts_with("left out") && line.contains("the one asked for"));
    let left_out = left_out.unwrap_or_else(|| panic!("{}", ended.stdout));
    assert!(left_out.contains("wgmma_bf16"), "{left_out}");
    emulate("--kernel wgmma_bf16 --generation sm_80 --shape 64").assert_refused(&[
        "wgmma_bf16 is for compute capability 9.0",
        "newer than the 8.0 that was asked for",
    ]);
    emulate("--kernel wgmma_* --generation sm_86 --shape 64").assert_refused(&[
        "compute capability 8.6, which was asked for",
        "ask for a newer generation",
    ]);
}

#[test]
fn a_generation_that_the_device_or_the_predicted_gpu_does_not_run_is_refused() {
    emulate("--kernel sgemm --generation sm_100 --shape 8")
        .assert_refused(&["compute capability 9.0 does not run the kernels for 10.0"]);
    emulate("--kernel sgemm --generation sm_80 --shape 8 --device V100").assert_refused(&[
        "V100",
        "compute capability 7.0 does not run the kernels for 8.0",
    ]);
    warpladder("predict sgemm --generation sm_90 --shape 64 --device B200")
        .assert_refused(&["compute capability 10.0 does not run the kernels for 9.0"]);
    for wrong in ["80", "sm_90a", "sm_35"] {
        let ended = emulate(&format!("--kernel sgemm --generation {wrong}"));
        assert_eq!(ended.status, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("such as sm_80"), "{ended:?}");
    }
}

#[test]
fn a_prediction_is_of_the_kernels_of_the_generation() {
    let entries = |generation: &str| -> Vec<String> {
        let ended = warpladder(&format!(
            "predict dgemm --device H200 --shape 256 {generation} --json -"
        ));
        assert_eq!(ended.status, Some(0), "{ended:?}");
        let record = &parse(&ended.stdout)[0];
        let launches = record["launches"].as_array().unwrap().iter();
        launches
            .map(|launch| launch["entry"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(entries("")[0].starts_with("dgemm_90_"));
    let older = entries("--generation sm_80");
    assert!(!older[0].starts_with("dgemm_90_"), "{older:?}");
    warpladder("predict wgmma_bf16 --generation sm_80 --device H200")
        .assert_refused(&["newer than the 8.0 that was asked for"]);
}
