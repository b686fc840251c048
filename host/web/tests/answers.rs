//! Answers to requests of the page, without a browser.

use serde_json::{Value, json};
use warpladder_web::answer;

/// The answer's `ok`.
fn ok(request: &Value) -> Value {
    let mut answered: Value = serde_json::from_str(&answer(&request.to_string())).unwrap();
    assert_eq!(answered.get("error"), None, "{request}");
    answered["ok"].take()
}

/// The answer's error, which is one line.
fn refused(request: &Value) -> String {
    let answered: Value = serde_json::from_str(&answer(&request.to_string())).unwrap();
    let error = answered["error"].as_str();
    let error = error.unwrap_or_else(|| panic!("{request} is answered: {answered}"));
    assert!(!error.contains('\n'), "{error}");
    error.to_owned()
}

fn run(rung: &str, [m, n, k]: [u32; 3], edits: &Value) -> Value {
    let size = json!({ "m": m, "n": n, "k": k });
    json!({ "do": "run", "rung": rung, "size": size, "seed": 7, "edits": edits })
}

const ENDLESS: &str =
    ".version 8.0\n.target sm_70\n.address_size 64\n.entry endless()\n{\nL: bra L;\n}\n";

const WRITE: &str = ".version 8.0\n.target sm_70\n.address_size 64\n\
    .entry write(.param .u64 out)\n{\n.reg .b32 %r<2>;\n.reg .b64 %rd<3>;\n\
    ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n\
    add.s64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

fn emulate(ptx: &str, entry: &str, threads: u32, arguments: &[&str]) -> Value {
    json!({
        "do": "emulate", "ptx": ptx, "entry": entry, "grid": [1, 1, 1], "block": [threads, 1, 1],
        "arguments": arguments,
    })
}

#[test]
fn kernels_for_any_size_are_right_at_odd_ones() {
    let families = ok(&json!({ "do": "catalogue" }));
    let rungs = families.as_array().unwrap().iter();
    let rungs = rungs.flat_map(|family| family["rungs"].as_array().unwrap());
    let any = rungs.filter(|rung| rung["takes"] == "any size");
    let names: Vec<&str> = any.map(|rung| rung["name"].as_str().unwrap()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        for size in [[33, 31, 7], [1, 1, 1], [5, 67, 3]] {
            let ran = ok(&run(name, size, &json!([])));
            assert_eq!(
                ran["verdict"]["ok"], true,
                "{name} at {size:?}: {}",
                ran["verdict"]
            );
            assert_eq!(ran["findings"], json!([]), "{name} at {size:?}");
        }
    }
}

#[test]
fn what_is_planned_is_what_runs() {
    let size = json!({ "m": 64, "n": 64, "k": 64 });
    let planned = ok(&json!({ "do": "plan", "rung": "reduce_two_pass", "size": size }));
    let ran = ok(&run("reduce_two_pass", [64; 3], &json!([])));
    let (planned, ran) = (&planned["launches"], &ran["launches"]);
    assert_eq!(planned.as_array().unwrap().len(), 2);
    for index in 0..2 {
        for part in ["entry", "ptx", "grid", "block"] {
            assert_eq!(
                planned[index][part], ran[index][part],
                "{part} of launch {index}"
            );
        }
    }
}

#[test]
fn an_edited_launch_is_what_runs() {
    // One block of the grid computes one block of the product.
    let ran = ok(&run("naive", [64, 64, 64], &json!([{ "grid": [1, 1, 1] }])));
    assert_eq!(ran["verdict"]["ok"], false);
    assert_eq!(ran["launches"][0]["grid"], json!([1, 1, 1]));
    // A block of 1,025 threads is refused by the launch, and by name.
    let ran = ok(&run(
        "naive",
        [64, 64, 64],
        &json!([{ "block": [1025, 1, 1] }]),
    ));
    assert!(
        ran["fault"].as_str().unwrap().contains("1025"),
        "{}",
        ran["fault"]
    );
    // Sums that are rounded otherwise.
    let plain = ok(&run("naive", [33, 31, 7], &json!([])));
    let ptx = plain["launches"][0]["ptx"].as_str().unwrap();
    let rounded = ptx.replace("fma.rn.f32", "fma.rz.f32");
    let edits = json!([{ "ptx": rounded }]);
    let ran = ok(&run("naive", [33, 31, 7], &edits));
    assert_eq!(ran["launches"][0]["ptx"], edits[0]["ptx"]);
    assert_ne!(ran["output"], plain["output"]);
}

#[test]
fn findings_name_lines_of_the_ptx_and_of_the_source() {
    let size = json!({ "m": 64, "n": 64, "k": 64 });
    let planned = ok(&json!({ "do": "plan", "rung": "tiled_16", "size": size }));
    let ptx = planned["launches"][0]["ptx"].as_str().unwrap();
    let racy: String = ptx
        .lines()
        .map(|line| {
            if line.contains("bar") && line.contains("sync") {
                ""
            } else {
                line
            }
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    let ran = ok(&run("tiled_16", [64; 3], &json!([{ "ptx": racy }])));
    let finding = &ran["findings"][0];
    assert_eq!(finding["tool"], "racecheck");
    let place = finding["places"][0]["file"].as_str().unwrap();
    assert!(place.ends_with("matmul/tiled.rs"), "{place}");
    let line = finding["ptx_lines"][0].as_u64().unwrap() as usize;
    let named = racy.lines().nth(line - 1).unwrap();
    assert!(named.contains(".shared."), "{named}");
}

#[test]
fn any_ptx_shows_its_arrays_and_its_faults() {
    let ran = ok(&emulate(WRITE, "write", 33, &["u32[33]=none"]));
    assert_eq!(ran["fault"], Value::Null);
    assert_eq!(ran["arrays"][0]["count"], 33);
    assert_eq!(ran["arrays"][0]["elements"][5], "5");
    let picture = ran["counted"]["picture"].as_str().unwrap();
    assert!(picture.contains("32 lanes write 4 bytes each"), "{picture}");
    let ran = ok(&emulate(WRITE, "write", 33, &["u32[32]=none"]));
    assert!(ran["fault"].as_str().unwrap().contains("out of bounds"));
    assert_eq!(ran["findings"][0]["tool"], "memcheck");
    assert_eq!(ran["findings"][0]["ptx_lines"], json!([12]));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let nothing = json!([]);
    let sized = |m: u32| run("tiled_16", [m, 16, 16], &nothing);
    for (request, named) in [
        (json!({ "do": "fly" }), "fly"),
        (json!({ "do": "run" }), "rung"),
        (run("no_such_kernel", [1; 3], &nothing), "no_such_kernel"),
        (sized(33), "16"),
        (sized(u32::MAX - 15), "memory"),
        (
            run("naive", [64; 3], &json!([{ "ptx": "this is no PTX" }])),
            ".version",
        ),
        (run("naive", [64; 3], &json!([{ "ptx": ENDLESS }])), "naive"),
        (json!({ "do": "kernels", "ptx": "no PTX" }), ".version"),
        (emulate(ENDLESS, "other", 1, &[]), "other"),
        (emulate(ENDLESS, "endless", 1, &["u32:1"]), "0 arguments"),
        (emulate(ENDLESS, "endless", 0, &[]), "0"),
        (emulate(WRITE, "write", 1, &["u32[1"]), "u32[1"),
        (
            emulate(WRITE, "write", 1, &["u32[99999999999]=none"]),
            "memory",
        ),
        (emulate(WRITE, "write", 1, &["u32:1"]), "8"),
        (
            json!({ "do": "check", "exercise": "none", "ptx": WRITE, "entry": "write" }),
            "none",
        ),
    ] {
        let error = refused(&request);
        assert!(error.contains(named), "{named:?} is not in {error:?}");
    }
}

#[test]
fn an_exercise_is_checked_with_any_ptx() {
    let check = json!({ "do": "check", "exercise": "add_one", "ptx": ENDLESS, "entry": "endless" });
    // It takes no arguments, which the exercise's launches have.
    let error = refused(&check);
    assert!(
        error.contains("endless") || error.contains("argument"),
        "{error}"
    );
    let all = ok(&json!({ "do": "exercises" }));
    for exercise in all.as_array().unwrap() {
        for version in exercise["versions"].as_array().unwrap() {
            let declared = format!("fn {}(", version["entry"].as_str().unwrap());
            assert!(
                version["source"].as_str().unwrap().contains(&declared),
                "{declared}"
            );
        }
    }
}
