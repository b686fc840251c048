//! The device query and the doctor.

use super::{Ended, end, parse, program, warpladder};

#[test]
fn devices_are_an_array_and_text() {
    let json = warpladder("devices --json");
    assert_eq!((json.status, json.stderr.as_str()), (Some(0), ""));
    let devices = parse(&json.stdout);
    let text = warpladder("devices");
    assert_eq!((text.status, text.stderr.as_str()), (Some(0), ""));
    if devices.is_empty() {
        assert!(text.stdout.starts_with("no GPU: "), "{text:?}");
        assert!(text.stdout.contains("\n\nemulator: "), "{text:?}");
    }
    for device in devices {
        let title = format!(
            "GPU {}: {}",
            device["ordinal"],
            device["name"].as_str().unwrap()
        );
        assert!(text.stdout.lines().any(|line| line == title), "{text:?}");
    }
}

/// The lines of `doctor`: what and state.
fn states(ended: &Ended) -> Vec<(&str, &str)> {
    let lines = ended.stdout.lines().skip(1);
    let split = |line| -> Option<(&str, &str)> {
        let (what, rest) = str::trim_start(line).split_once("  ")?;
        Some((what, rest.split_whitespace().next()?))
    };
    lines.map_while(split).collect()
}

fn state<'a>(ended: &'a Ended, what: &str) -> &'a str {
    let states = states(ended);
    let found = states.iter().find(|(name, _)| *name == what);
    found
        .unwrap_or_else(|| panic!("no line {what:?}: {ended:?}"))
        .1
}

#[test]
fn doctor_fails_where_something_is_wrong_and_only_there() {
    let ended = warpladder("doctor");
    for what in [
        "emulator",
        "processor",
        "PTX in the program",
        "PTX sources",
        "rustup",
        "nightly toolchain",
        "ptxas",
    ] {
        assert!(
            ["ok", "missing", "wrong"].contains(&state(&ended, what)),
            "{what}: {ended:?}"
        );
    }
    assert_eq!(state(&ended, "emulator"), "ok");
    let wrong = states(&ended).iter().any(|(_, state)| *state == "wrong");
    assert_eq!(ended.status, Some(if wrong { 2 } else { 0 }), "{ended:?}");
}

#[test]
fn doctor_takes_missing_programs_for_missing() {
    let ended = end(program()
        .arg("doctor")
        .env("PATH", "")
        .env_remove("WARPLADDER_NIGHTLY"));
    for what in ["rustup", "nightly toolchain", "ptxas"] {
        assert_eq!(state(&ended, what), "missing", "{ended:?}");
    }
    let lines = ended
        .stdout
        .lines()
        .filter(|line| line.contains("https://rustup.rs"));
    assert_eq!(lines.count(), 2, "{ended:?}");
}

#[test]
fn doctor_takes_a_toolchain_that_is_none_for_wrong() {
    let ended = end(program()
        .arg("doctor")
        .env("WARPLADDER_NIGHTLY", "/no such/folder"));
    assert_eq!(ended.status, Some(2), "{ended:?}");
    assert_eq!(state(&ended, "nightly toolchain"), "wrong", "{ended:?}");
    assert!(
        ended.stderr.starts_with("error: ") && ended.stderr.contains("nightly toolchain"),
        "{ended:?}"
    );
}

#[cfg(all(target_os = "linux", feature = "gpu"))]
mod with_a_gpu {
    use super::{parse, state, warpladder};
    use crate::fake_driver::with_fake_driver;

    #[test]
    fn devices_tell_what_the_driver_tells() {
        with_fake_driver(
            "command_line::devices::with_a_gpu::devices_tell_what_the_driver_tells",
            &[],
            || {
                let json = warpladder("devices --json");
                assert_eq!(json.status, Some(0), "{json:?}");
                let devices = parse(&json.stdout);
                assert_eq!(devices.len(), 1);
                assert_eq!(devices[0]["name"], "Fake GPU");
                assert_eq!(devices[0]["shared_bytes_per_block_optin"], 232_448);
                let text = warpladder("devices");
                assert!(
                    text.stdout.starts_with("GPU 0: Fake GPU\n  identity\n"),
                    "{text:?}"
                );
                assert!(text.stdout.contains("  3352.3 GB/s\n"), "{text:?}");
            },
        );
    }

    #[test]
    fn doctor_finds_the_driver_and_its_gpu() {
        with_fake_driver(
            "command_line::devices::with_a_gpu::doctor_finds_the_driver_and_its_gpu",
            &[],
            || {
                let ended = warpladder("doctor");
                assert_eq!(ended.status, Some(0), "{ended:?}");
                for what in ["NVIDIA driver", "GPU 0", "libcuda.so"] {
                    assert_eq!(state(&ended, what), "ok", "{ended:?}");
                }
                let library = ended
                    .stdout
                    .lines()
                    .find(|line| line.contains(" libcuda.so "));
                assert!(library.unwrap().ends_with("/libcuda.so.1"), "{library:?}");
            },
        );
    }

    #[test]
    fn a_driver_without_a_gpu_is_not_wrong() {
        let variables = [("FAKE_CUDA_INIT", "100")];
        with_fake_driver(
            "command_line::devices::with_a_gpu::a_driver_without_a_gpu_is_not_wrong",
            &variables,
            || {
                let ended = warpladder("doctor");
                assert_eq!(
                    (ended.status, state(&ended, "GPU")),
                    (Some(0), "missing"),
                    "{ended:?}"
                );
                let devices = warpladder("devices --json");
                assert_eq!(
                    (devices.status, parse(&devices.stdout)),
                    (Some(0), Vec::new())
                );
            },
        );
    }

    #[test]
    fn a_driver_that_is_too_old_is_wrong() {
        let variables = [("FAKE_CUDA_VERSION", "10020")];
        with_fake_driver(
            "command_line::devices::with_a_gpu::a_driver_that_is_too_old_is_wrong",
            &variables,
            || {
                let ended = warpladder("doctor");
                assert_eq!(
                    (ended.status, state(&ended, "NVIDIA driver")),
                    (Some(2), "wrong"),
                    "{ended:?}"
                );
                assert!(ended.stderr.contains("NVIDIA driver"), "{ended:?}");
            },
        );
    }

    #[test]
    fn more_memory_than_the_gpu_has_is_refused() {
        with_fake_driver(
            "command_line::devices::with_a_gpu::more_memory_than_the_gpu_has_is_refused",
            &[],
            || {
                let ended = warpladder("--engine gpu --kernel naive --shape 1024");
                ended.assert_refused(&["bytes of device memory, 1048576 are free"]);
            },
        );
    }
}
