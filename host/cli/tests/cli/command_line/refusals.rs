//! Bad input: one line, exit 2, nothing half-done.

use super::{Folder, emulate, is_kernel, warpladder};
use std::path::Path;
use warpladder_lab::catalogue::{self, Precondition};
use warpladder_lab::problem::Shape;

#[test]
fn an_unknown_kernel_is_refused_with_the_nearest_name() {
    emulate("--kernel tield_32").assert_refused(&["\"tield_32\"", "did you mean tiled_32?"]);
    emulate("--kernel naive,transpose_pad").assert_refused(&["did you mean transpose_padded?"]);
    emulate("--kernel qqqq").assert_refused(&["\"qqqq\"", "`warpladder list`"]);
    emulate("--kernel=").assert_refused(&["unknown kernel"]);
}

#[test]
fn a_kernel_of_another_family_is_refused() {
    emulate("--kernel copy --family matmul").assert_refused(&["transpose, not matmul"]);
}

#[test]
fn a_size_that_a_kernel_does_not_take_is_refused_with_one_that_does() {
    let shape = Shape { m: 1, n: 1, k: 1 };
    for rung in catalogue::rungs() {
        if rung.precondition.takes(rung.operation, shape) {
            continue;
        }
        let ended = emulate(&format!("--kernel {} --shape 1", rung.name));
        ended.assert_refused(&[&format!("{} takes ", rung.name), "not 1 x 1"]);
        let has_alternative = catalogue::rungs().any(|other| {
            other.operation == rung.operation
                && other.element == rung.element
                && other.precondition == Precondition::Any
                && is_kernel(other)
        });
        let Some((_, advice)) = ended.stderr.split_once(": use ") else {
            panic!("no advice: {ended:?}");
        };
        if has_alternative {
            let name = advice.split(',').next().unwrap();
            emulate(&format!("--kernel {name} --shape 1")).assert_passed(1);
        }
    }
    let ended = emulate("--kernel naive,tiled_32 --shape 33");
    ended.assert_refused(&["tiled_32 takes multiples of 32", "tiled_guarded_32"]);
}

#[test]
fn a_c_with_more_tiles_than_a_grid_takes_is_refused() {
    for kernel in ["sgemm", "dgemm", "gemm_mma_bf16"] {
        let ended = warpladder(&format!(
            "predict {kernel} --shape 4294967295x64x64 --device H200"
        ));
        ended.assert_refused(&["4294967295", "multiply parts of it"]);
    }
}

#[test]
fn more_memory_than_there_is_is_refused_before_anything_is_allocated() {
    let folder = Folder::new("memory");
    let file = folder.file("records.json");
    for size in ["4000000000", "4294967295"] {
        // Linux grants memory that is not there: allocating first would show as a long time or a
        // killed process.
        let ended = emulate(&format!("--kernel naive --shape {size} --json {file}"));
        ended.assert_refused(&["naive at ", "bytes of device memory", "use a smaller size"]);
        assert!(!Path::new(&file).exists());
    }
    emulate("--shape 4000000000").assert_refused(&["use a smaller size"]);
    emulate("--family transpose --shape 4000000000").assert_refused(&["use a smaller size"]);
}

#[test]
fn no_gpu_is_an_error_where_one_is_asked_for() {
    if warpladder::device::devices().is_ok() {
        println!("skipped: there is a GPU");
        return;
    }
    warpladder("--engine gpu --kernel naive --shape 8").assert_refused(&[]);
}

#[test]
fn auto_says_why_it_takes_the_emulator() {
    if warpladder::device::devices().is_ok() {
        println!("skipped: there is a GPU");
        return;
    }
    let ended = warpladder("--kernel naive --shape 8");
    ended.assert_passed(1);
    assert!(ended.stderr.starts_with("no GPU: "), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
}

#[test]
fn wrong_usage_is_exit_2() {
    for args in [
        "--reps 0",
        "--reps x",
        "--shape -1",
        "--shape 0",
        "--shape 8x0",
        "--size 8",
        "--shape 4294967296",
        "--shape 8 --m 8",
        "--engine tpu",
        "--family fft",
        "list --shape 8",
        "devices --csv -",
        "doctor now later",
        "frobnicate",
        "profile",
        "emulate no-such.ptx entry",
        "--json - --csv -",
        "predict",
        "predict naive --device GT9",
        "predict cpu_naive",
        "explain",
        "explain cpu_naive",
        "explain naife",
        "explain tiled_32 --shape 33",
        "explain naive --device GT9",
    ] {
        warpladder(args).assert_refused(&[]);
    }
    warpladder("--frob").assert_refused(&["'--frob'", "--help"]);
    warpladder("--familie matmul").assert_refused(&["--familie", "'--family'"]);
    warpladder("profile").assert_refused(&["<KERNEL>"]);
    for args in ["--help", "run --help", "--version"] {
        assert_eq!(warpladder(args).status, Some(0), "{args}");
    }
}

#[test]
fn random_sizes_that_cannot_be_drawn_are_refused() {
    let refused = |args: &str, part: &str| {
        let ended = warpladder(&format!("compare {args}"));
        if cfg!(all(target_os = "linux", feature = "gpu")) {
            ended.assert_refused(&[part]);
        }
    };
    refused("sgemm --random 2 --min 64 --max 32", "from 64 to 32");
    refused(
        "sgemm --random 2 --align 64 --min 65 --max 100",
        "no multiple of 64",
    );
    refused("sgemm --random 2 --max 64", "takes 0.2 to 600 GFLOP");
    refused(
        "transpose_padded --random 2 --work 1..2",
        "leave out --work",
    );
    let emulated = warpladder("run --engine emulator --kernel naive --random 2 --min 300");
    emulated.assert_refused(&["from 300 to 256"]);
}
