//! `warpladder emulate` on several launches, structs and variables, what it compares, and how it
//! reports findings.

use super::emulate::{Folder, text, write_npy};
use std::process::{Command, Output};

/// Kernels that are right, and kernels that are not.
const KERNELS: &str = "
.version 8.0
.target sm_90
.address_size 64
.const .align 4 .f32 scale;
.visible .entry scaled(.param .align 8 .b8 s[16]) {
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u32 %r1, [s];
    ld.param.u64 %rd1, [s+8];
    mov.u32 %r3, %tid.x;
    setp.ge.u32 %p, %r3, %r1;
    @%p ret;
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd1, %rd1, %rd3;
    ld.global.f32 %r6, [%rd1];
    ld.const.f32 %r2, [scale];
    mul.f32 %r6, %r2, %r6;
    st.global.f32 [%rd1], %r6;
    ret;
}
.visible .entry ranked(.param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %cluster_ctarank;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry racy(.param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry flagged(.param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    std::fs::write(folder.0.join("more.ptx"), KERNELS).unwrap();
    folder
}

fn emulate(folder: &Folder, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpladder"))
        .args(["emulate", "more.ptx"])
        .args(args)
        .current_dir(&folder.0)
        .output()
        .unwrap()
}

/// Writes floats as a NumPy file.
fn floats(folder: &Folder, name: &str, values: &[f32]) {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let shape = format!("({},)", values.len());
    write_npy(&folder.0.join(name), "<f4", &shape, &bytes);
}

const SCALED: [&str; 7] = [
    "scaled",
    "--block",
    "8",
    "--const",
    "scale=f32:0.5",
    "--arg",
    "{u32:5,f32[6]=iota}",
];

#[test]
fn structs_variables_and_clusters() {
    let folder = folder("structs");
    let output = emulate(&folder, &SCALED);
    let expected = "argument 0.1: f32[6] = 0 0.5 1 1.5 2 5\n";
    assert_eq!(text(&output), (Some(0), expected, ""));
    let ranked = |cluster: &[&str]| {
        let args = [&["ranked", "--grid", "6", "--arg", "u32[6]"], cluster].concat();
        let output = emulate(&folder, &args);
        let (code, out, err) = text(&output);
        (code, format!("{out}{err}"))
    };
    let alone = "argument 0: u32[6] = 0 0 0 0 0 0\n".to_owned();
    assert_eq!(ranked(&[]), (Some(0), alone));
    let threes = "argument 0: u32[6] = 0 1 2 0 1 2\n".to_owned();
    assert_eq!(ranked(&["--cluster", "3"]), (Some(0), threes));
    let (code, error) = ranked(&["--cluster", "4"]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("clusters of [4, 1, 1] blocks do not divide"),
        "{error}"
    );
}

#[test]
fn results_are_compared_with_files() {
    let folder = folder("expect");
    floats(&folder, "right.npy", &[0.0, 0.5, 1.0, 1.5, 2.0, 5.0]);
    floats(&folder, "near.npy", &[0.0, 0.5, 1.0, 1.5, 2.001, 5.0]);
    let with = |expect: &str| emulate(&folder, &[&SCALED[..], &["--expect", expect]].concat());
    let right = with("0.1=right.npy");
    let (code, out, _) = text(&right);
    assert_eq!(code, Some(0));
    assert!(
        out.ends_with("argument 0.1: 6 elements as in right.npy\n"),
        "{out}"
    );
    let near = with("0.1=near.npy");
    let (code, out, _) = text(&near);
    assert_eq!(code, Some(1));
    let lines = "argument 0.1: 1 of 6 elements differ from near.npy:\n  [4] is 2, not 2.001\n";
    assert!(out.ends_with(lines), "{out}");
    assert_eq!(text(&with("0.1=near.npy,1e-3")).0, Some(0));
    assert_eq!(text(&with("0.1=near.npy,1e-5")).0, Some(1));
    for (expect, reason) in [
        ("0.1", "write INDEX=FILE.npy[,TOLERANCE]"),
        ("0=right.npy", "argument 0 is no array"),
        ("0.5=right.npy", "there are 2 arguments"),
        ("0.1=right.npy,x", "\"x\" is no tolerance"),
        ("0.1=gone.npy", "gone.npy"),
    ] {
        let output = with(expect);
        let (code, _, err) = text(&output);
        assert_eq!((code, err.lines().count()), (Some(2), 1), "{expect}: {err}");
        assert!(err.contains(reason), "{expect}: {err}");
    }
}

#[test]
fn a_script_runs_launches_in_a_row() {
    let folder = folder("script");
    floats(&folder, "quarter.npy", &[0.0, 0.25, 0.5]);
    let script = |text: &str| {
        std::fs::write(folder.0.join("steps.txt"), text).unwrap();
        emulate(&folder, &["--script", "steps.txt", "--sanitize"])
    };
    let output = script(
        "buffer x f32[3]=iota  # stays\n\
         const scale f32:0.5\n\
         launch scaled block=3 {u32:3,@x}\n\
         show x\n\
         launch scaled block=3 {u32:3,@x}\n\
         show x\n\
         expect x quarter.npy\n\
         out x x.npy\n",
    );
    let expected = "no findings\nx: f32[3] = 0 0.5 1\nx: f32[3] = 0 0.25 0.5\n\
                    x: 3 elements as in quarter.npy\n";
    assert_eq!(text(&output), (Some(0), expected, ""));
    assert!(folder.0.join("x.npy").is_file());
    for (text_of, reason) in [
        (
            "buffer x f32[3]\nlaunch scaled @y",
            "steps.txt, line 2: argument 0: there is no buffer \"y\"",
        ),
        (
            "lunch scaled",
            "steps.txt, line 1: \"lunch scaled\" is no step",
        ),
        (
            "launch nothing",
            "steps.txt, line 1: more.ptx: the module has no kernel `nothing`",
        ),
        (
            "const size u32:1",
            "line 1: the module has no .const or .global variable `size`",
        ),
        (
            "const scale f64:1",
            "line 1: variable `scale` has 4 bytes, its content 8",
        ),
        (
            "buffer x u8[1]\nbuffer x u8[1]",
            "line 2: there is a buffer \"x\" already",
        ),
        (
            "launch ranked grid=2 u64:0 u64:0",
            "line 1: kernel `ranked` takes 1 arguments, not 2",
        ),
        ("show x", "line 1: there is no buffer \"x\""),
    ] {
        let output = script(text_of);
        let (code, _, err) = text(&output);
        assert_eq!(
            (code, err.lines().count()),
            (Some(2), 1),
            "{text_of}: {err}"
        );
        assert!(err.contains(reason), "{text_of}: {err}");
    }
}

fn sanitized(folder: &Folder, kernel: &str, args: &[&str]) -> Output {
    let launch = [
        kernel,
        "--block",
        "64",
        "--arg",
        "u32[1]=zero",
        "--sanitize",
    ];
    emulate(folder, &[&launch[..], args].concat())
}

#[test]
fn the_exit_status_tells_errors_from_warnings() {
    let folder = folder("status");
    assert_eq!(sanitized(&folder, "racy", &[]).status.code(), Some(1));
    let status = sanitized(&folder, "racy", &["--error-exitcode", "9"]);
    assert_eq!(status.status.code(), Some(9));
    let warned = sanitized(&folder, "flagged", &["--error-exitcode", "9"]);
    let (code, out, _) = text(&warned);
    assert_eq!(code, Some(0));
    let first = "racecheck: warning: kernel `flagged`: race between threads of a block: ";
    assert!(out.starts_with(first), "{out}");
}

#[test]
fn findings_can_be_suppressed() {
    let folder = folder("suppress");
    let out = |rule: &str| {
        let output = sanitized(&folder, "racy", &["--suppress", rule]);
        let (code, out, err) = text(&output);
        (
            code,
            out.lines().next().unwrap_or_default().to_owned(),
            err.to_owned(),
        )
    };
    let suppressed = (Some(0), "1 finding suppressed".to_owned(), String::new());
    for rule in [
        "kind=race_in_block",
        "tool=racecheck kernel=r*",
        "file=<ptx>",
    ] {
        assert_eq!(out(rule), suppressed, "{rule}");
    }
    let (code, _, err) = out("kernel=other");
    assert_eq!(
        (code, err.as_str()),
        (Some(1), "note: no finding fits `kernel=other`\n")
    );
    let rules = "# known\nkernel=other\nkind=race_in_block # here\n";
    std::fs::write(folder.0.join("known.txt"), rules).unwrap();
    assert_eq!(out("known.txt").0, Some(0));
    std::fs::write(folder.0.join("known.txt"), "\nkid=race").unwrap();
    let (code, _, err) = out("known.txt");
    assert_eq!(code, Some(2));
    assert!(
        err.contains("known.txt, line 2: \"kid=race\" is no rule"),
        "{err}"
    );
}

#[test]
fn findings_are_records_and_a_sarif_log() {
    let folder = folder("formats");
    let output = sanitized(&folder, "racy", &["--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let records = super::records(&output.stdout);
    assert_eq!(records[0]["kernel"], "racy");
    assert_eq!(records[0]["findings"][0]["problem"], "race_in_block");
    assert_eq!(records[0]["findings"][0]["severity"], "error");

    let output = sanitized(&folder, "racy", &["--format", "sarif"]);
    assert_eq!(output.status.code(), Some(1));
    let log: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    check_sarif(&log);
    let run = &log["runs"][0];
    let result = &run["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["level"]),
        (&"race_in_block".into(), &"error".into())
    );
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "race_in_block");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "more.ptx");
    let line = KERNELS
        .lines()
        .position(|line| line.contains("[%rd1], %r1;"))
        .unwrap()
        + 1;
    assert_eq!(place["region"]["startLine"], line);
    assert!(result["relatedLocations"][0]["message"]["text"].is_string());

    let suppress = ["--format", "sarif", "--suppress", "kernel=racy"];
    let output = sanitized(&folder, "racy", &suppress);
    assert_eq!(output.status.code(), Some(0));
    let log: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    check_sarif(&log);
    assert_eq!(
        log["runs"][0]["results"][0]["suppressions"][0]["kind"],
        "external"
    );
    let without = emulate(&folder, &["racy", "--arg", "u32[1]", "--format", "sarif"]);
    assert_eq!(without.status.code(), Some(2));
}

/// What SARIF 2.1.0 asks of every log, and all of its schema where `WARPLADDER_SARIF_SCHEMA` names
/// the file.
fn check_sarif(log: &serde_json::Value) {
    assert_eq!(log["version"], "2.1.0");
    for run in log["runs"].as_array().unwrap() {
        assert_eq!(run["tool"]["driver"]["name"], "warpladder");
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        for result in run["results"].as_array().unwrap() {
            let rule = result["ruleIndex"].as_u64().unwrap() as usize;
            assert_eq!(rules[rule]["id"], result["ruleId"]);
            assert!(["error", "warning"].contains(&result["level"].as_str().unwrap()));
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        }
    }
    let Ok(path) = std::env::var("WARPLADDER_SARIF_SCHEMA") else {
        println!("left out: WARPLADDER_SARIF_SCHEMA names no schema");
        return;
    };
    let schema = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(log)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}
