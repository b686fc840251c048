//! `warpladder new`: the crate that it makes builds, runs and passes its test as it is.

use cuda_builder::Toolchain;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that goes away again.
struct Folder(PathBuf);

impl Folder {
    /// Not in the target folder: cargo would find the workspace's configuration above it.
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("warpladder-{name}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn new(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_warpladder"))
        .arg("new")
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn what_cannot_be_made_is_refused_in_one_line() {
    let folder = Folder::new("new-refused");
    std::fs::create_dir_all(folder.0.join("there")).unwrap();
    std::fs::write(folder.0.join("there/file"), "").unwrap();
    let cases: [(&[&str], &str); 4] = [
        (&["there"], "there is there and not empty"),
        (&["2d"], "2d is no name of a crate"),
        (&["std"], "std cannot be the name"),
        (
            &["mine", "--warpladder", "nowhere"],
            "nowhere holds no clone of warpladder",
        ),
    ];
    for (args, part) in cases {
        let (status, text) = new(&folder.0, args);
        assert_eq!(status, Some(2), "{text}");
        assert!(text.contains(part), "{text:?} lacks {part:?}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert!(!folder.0.join("mine").exists());
}

#[test]
fn the_crate_builds_runs_and_passes_its_test() {
    let sources = Path::new(warpladder::SOURCE_ROOT);
    if let Err(missing) = Toolchain::find(&sources.join("kernels-gpu")) {
        println!("left out: {missing}");
        return;
    }
    let folder = Folder::new("new");
    let (status, text) = new(&folder.0, &["my-kernels"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("cd my-kernels"), "{text}");

    let crate_folder = folder.0.join("my-kernels");
    // The versions that are on this machine already.
    let lock = |path: &str| std::fs::read_to_string(sources.join(path)).unwrap();
    let of_kernels = lock("host/learn/exercises/Cargo.lock").replace(
        "name = \"warpladder-exercises\"\nversion = \"0.0.0\"",
        "name = \"kernels\"\nversion = \"0.1.0\"",
    );
    std::fs::write(crate_folder.join("Cargo.lock"), lock("Cargo.lock")).unwrap();
    std::fs::write(crate_folder.join("kernels/Cargo.lock"), of_kernels).unwrap();
    let cargo = |command: &str| {
        let mut cargo = crate::outside::cargo(command, &crate_folder);
        cargo
            .args(["--config", "profile.dev.package.\"*\".opt-level=0"])
            .args(["--config", "profile.dev.debug=false"]);
        let output = cargo.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "cargo {command}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let tested = cargo("test");
    assert!(tested.contains("1 passed"), "{tested}");
    let ran = cargo("run");
    assert!(ran.contains("[2.0, 3.0, 4.0]"), "{ran}");
}
