//! `predict`, `explain` and `sweep`: what a GPU cannot run is refused; advice names what it can.

use std::process::{Command, Output, Stdio};

fn warpladder(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpladder"));
    command
        .args(args.split(' '))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_kernel_is_refused_on_a_gpu_that_cannot_run_it() {
    for (args, parts) in [
        (
            "predict mma_f16 --device gtx1080",
            ["GTX 1080", "sm_80", "take double_buffered"],
        ),
        (
            "predict dgemm --device k80",
            ["K80", "sm_80", "take tiled_32_f64"],
        ),
        (
            "explain wgmma_bf16 --device a100",
            ["A100", "sm_90a", "take gemm_mma_bf16"],
        ),
        (
            "predict wgmma_bf16_single --device b200",
            ["B200", "9.0 and no other", "take gemm_mma_bf16"],
        ),
        (
            "sweep cp_async --over size --device v100",
            ["V100", "cp.async", "take double_buffered"],
        ),
    ] {
        let ended = warpladder(args);
        let error = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(
            (ended.status.code(), ended.stdout.len()),
            (Some(2), 0),
            "{args}: {error}"
        );
        assert!(
            error.starts_with("error: ") && error.lines().count() == 1,
            "{error}"
        );
        for part in parts {
            assert!(error.contains(part), "{part} is not in {error}");
        }
    }
}

#[test]
fn what_a_gpu_could_run_if_it_were_compiled_for_it_is_predicted_as_that() {
    let ended = warpladder("predict transpose_padded --device k80 --shape 1024");
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(
        text.ends_with("this is of the same kernel, compiled for 3.7\n"),
        "{text}"
    );
    let ended = warpladder("predict transpose_padded --device v100 --shape 1024");
    assert!(
        !String::from_utf8(ended.stdout)
            .unwrap()
            .contains("compiled for")
    );
}

/// As the data sheet has it: about 40 TFLOP/s, which the tensor cores of a B200 share with its f64
/// units.
#[test]
fn no_rate_is_invented() {
    let ended = warpladder("predict naive_f64 --device b200 --shape 1024 --json -");
    let json: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    let gflops = json
        .pointer("/0/gflops")
        .or_else(|| json.pointer("/records/0/gflops"));
    assert!(gflops.unwrap().as_f64().unwrap() < 40e3, "{json}");
}

#[test]
fn an_explanation_is_text_that_names_chapter_and_exercise() {
    let args = "explain transpose_coalesced --device a100 --shape 1024";
    let text = String::from_utf8(warpladder(args).stdout).unwrap();
    for part in [
        "\nWhat would help most\n",
        "The fastest kernel for 1024 x 1024 on A100 is transpose_",
        "is in the chapter \"",
        "(book/src/transpose-",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    for mark in ["```", "\n#", "|--", "`transpose"] {
        assert!(!text.contains(mark), "{mark:?} is in\n{text}");
    }
    let markdown = warpladder(&format!("{args} --markdown"));
    let markdown = String::from_utf8(markdown.stdout).unwrap();
    assert!(markdown.starts_with("# transpose_coalesced: ") && markdown.contains("\n```text\n"));
}
