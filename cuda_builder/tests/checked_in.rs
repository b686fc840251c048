//! Runs the workspace's build script on copies of the workspace: with a toolchain, without one,
//! with PTX that is fresh, stale or damaged.
//!
//! The copies start from a `ptx/` that is fresh, as it is after the workspace was built. Two tests
//! compile kernels and need a nightly toolchain with `rust-src`; without one they say so and pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_builder::{Mode, Toolchain};
use test_sample::Sample;

// The build script itself, so that its list of inputs and modules is the one that is tested.
#[path = "../../build.rs"]
mod build_script;

#[path = "foreign/mod.rs"]
mod foreign;

const MODULE: &str = "ptx/kernels_sm_70.ptx";
const KERNEL: &str = "kernels-gpu/src/lib.rs";
const NO_TOOLCHAIN: (&str, &str) = ("WARPLADDER_NIGHTLY", "nightly-1999-01-01");

/// Set in the process that [`Workspace::build`] starts.
const RUN: &str = "CHECKED_IN_TEST_RUNS_BUILD_SCRIPT";

/// Set there as well where it is to bring one module up to date, by its name, in place of all.
const ONE_MODULE: &str = "CHECKED_IN_TEST_BUILDS_MODULE";

/// Not a test: the build script's `main`, which the tests below run in a process of its own.
#[test]
fn build_script_main() {
    if std::env::var_os(RUN).is_none() {
        return;
    }
    if let Ok(name) = std::env::var(ONE_MODULE) {
        let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap();
        let mut ptx = build_script::checked_in_ptx(root.into());
        let module = ptx.modules.iter().position(|module| module.name == name);
        let module = module.expect("a module of the build script");
        ptx.modules = &ptx.modules[module..=module];
        ptx.bring_up_to_date(Mode::Auto).unwrap();
        return;
    }
    let code = build_script::main();
    std::process::exit(i32::from(code != ExitCode::SUCCESS));
}

/// A copy of the workspace's files, without build products.
struct Workspace {
    root: PathBuf,
    out_dir: PathBuf,
}

impl Workspace {
    /// The copy for the test `name`. Its build products outlive the test, so that core is compiled
    /// once.
    fn copy(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("checked in")
            .join(name);
        let root = folder.join("workspace");
        let out_dir = folder.join("target/debug/build/warpladder/out");
        let _ = fs::remove_dir_all(&root);
        copy_folder(&original(), &root);
        fs::create_dir_all(&out_dir).unwrap();
        fs::write(folder.join("target/CACHEDIR.TAG"), "").unwrap();
        let workspace = Self { root, out_dir };
        workspace.forget_generated();
        workspace
    }

    fn forget_generated(&self) {
        let _ = fs::remove_file(self.out_dir.join("ptx_modules.rs"));
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn append(&self, path: &str, text: &str) {
        fs::write(self.root.join(path), self.read(path) + text).unwrap();
    }

    fn generated(&self) -> Option<String> {
        fs::read_to_string(self.out_dir.join("ptx_modules.rs")).ok()
    }

    /// Runs the build script as cargo would.
    fn build(&self, variables: &[(&str, &str)]) -> Output {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "build_script_main", "--nocapture"])
            .env_remove("WARPLADDER_NIGHTLY")
            .env_remove("WARPLADDER_PTX")
            .env("CARGO_MANIFEST_DIR", &self.root)
            .env("OUT_DIR", &self.out_dir)
            .env(RUN, "1")
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    #[track_caller]
    fn build_succeeds(&self, variables: &[(&str, &str)]) {
        let output = self.build(variables);
        let log = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{log}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(self.generated().is_some());
    }

    /// The error that cargo would show, after checking that nothing was embedded.
    #[track_caller]
    fn build_fails(&self, variables: &[(&str, &str)]) -> String {
        let output = self.build(variables);
        let log = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!output.status.success(), "{log}");
        assert_eq!(self.generated(), None);
        let error = log
            .lines()
            .find_map(|line| line.strip_prefix("cargo::error="));
        error
            .unwrap_or_else(|| panic!("no error in {log}"))
            .to_owned()
    }
}

fn original() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if text == "target" || text.starts_with('.') {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to.join(name));
        } else {
            fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

/// A copy of the workspace and a toolchain, both in another place than the originals, for the two
/// tests that compile. They take turns, and share the compiled core.
struct Elsewhere {
    workspace: Workspace,
    toolchain: String,
    _turn: MutexGuard<'static, ()>,
}

impl Elsewhere {
    /// `None`, after saying why, where no toolchain can compile kernels.
    fn new(test: &str) -> Option<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let toolchain = Toolchain::find(&original().join("kernels-gpu"))
            .inspect_err(|error| println!("{test} skipped: {error}"))
            .ok()?;
        let workspace = Workspace::copy("elsewhere");
        let moved = workspace
            .root
            .with_file_name(format!("toolchain {}", toolchain.commit));
        if !moved.exists() {
            for folder in ["bin", "lib"] {
                link_folder(&toolchain.sysroot.join(folder), &moved.join(folder));
            }
        }
        Some(Self {
            workspace,
            toolchain: moved.to_str().unwrap().to_owned(),
            _turn: turn,
        })
    }

    fn build_succeeds(&self) {
        self.workspace
            .build_succeeds(&[("WARPLADDER_NIGHTLY", &self.toolchain)]);
    }
}

/// A copy of a folder that shares its files where the file system can.
fn link_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            link_folder(&path, &target);
        } else if fs::hard_link(&path, &target).is_err() {
            fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn fresh_ptx_needs_no_toolchain() {
    let workspace = Workspace::copy("fresh");
    let before = (workspace.read(MODULE), workspace.read("ptx/manifest.json"));
    workspace.build_succeeds(&[NO_TOOLCHAIN, ("PATH", "")]);
    let generated = workspace.generated().unwrap();
    assert!(
        generated.contains(
            "name: \"kernels_sm_70\",\n        compute_capability: ComputeCapability::new(7, 0),"
        ),
        "{generated}"
    );
    // Only what features ask for is embedded.
    assert!(!generated.contains("kernels_sm_80"), "{generated}");
    workspace.build_succeeds(&[("CARGO_FEATURE_SM_80", "1")]);
    let generated = workspace.generated().unwrap();
    assert!(generated.contains("kernels_sm_80"), "{generated}");
    assert!(!generated.contains("kernels_sm_90a"), "{generated}");
    let after = (workspace.read(MODULE), workspace.read("ptx/manifest.json"));
    assert_eq!(before, after);
}

#[test]
fn line_endings_do_not_make_ptx_stale() {
    let workspace = Workspace::copy("line endings");
    for path in [
        KERNEL,
        MODULE,
        "kernels-gpu/Cargo.toml",
        "cuda_std/src/lib.rs",
    ] {
        let text = workspace.read(path).replace('\n', "\r\n");
        fs::write(workspace.root.join(path), text).unwrap();
    }
    workspace.build_succeeds(&[NO_TOOLCHAIN]);
}

#[test]
fn a_changed_kernel_without_toolchain_stops_the_build() {
    let workspace = Workspace::copy("changed");
    let before = workspace.read(MODULE);
    workspace.append(KERNEL, "// changed\n");
    let error = workspace.build_fails(&[NO_TOOLCHAIN]);
    for part in [
        "kernels-gpu/src/lib.rs changed",
        "`rustup toolchain install nightly-1999-01-01 --profile minimal`",
        "`rustup component add rust-src --toolchain nightly-1999-01-01`",
    ] {
        assert!(error.contains(part), "{part} is not in {error}");
    }
    assert_eq!(workspace.read(MODULE), before);

    fs::write(workspace.root.join("cuda_std/src/added.rs"), "").unwrap();
    fs::remove_file(workspace.root.join("kernels-gpu/rust-toolchain.toml")).unwrap();
    let error = workspace.build_fails(&[("PATH", "")]);
    for part in [
        "cuda_std/src/added.rs is new",
        "kernels-gpu/rust-toolchain.toml is gone",
        "rustup is not on the PATH",
    ] {
        assert!(error.contains(part), "{part} is not in {error}");
    }
}

#[test]
fn rebuilding_can_be_forbidden() {
    let workspace = Workspace::copy("frozen");
    workspace.build_succeeds(&[("WARPLADDER_PTX", "checked-in")]);
    workspace.forget_generated();
    workspace.append(KERNEL, "// changed\n");
    let error = workspace.build_fails(&[("WARPLADDER_PTX", "checked-in")]);
    assert!(error.contains("kernels-gpu/src/lib.rs changed"), "{error}");
    let error = workspace.build_fails(&[("WARPLADDER_PTX", "sometimes")]);
    assert!(
        error.contains("WARPLADDER_PTX=sometimes is unknown"),
        "{error}"
    );
}

#[test]
fn damaged_ptx_is_never_used() {
    let workspace = Workspace::copy("damaged");
    workspace.append(MODULE, "// damaged\n");
    let error = workspace.build_fails(&[NO_TOOLCHAIN]);
    assert!(
        error.contains("kernels_sm_70.ptx is not the one in manifest.json"),
        "{error}"
    );
    fs::write(workspace.root.join("ptx/manifest.json"), "<<<<<<< HEAD\n").unwrap();
    let error = workspace.build_fails(&[NO_TOOLCHAIN]);
    assert!(error.contains("manifest.json: "), "{error}");
}

#[test]
fn a_package_without_kernel_sources_uses_its_ptx() {
    let workspace = Workspace::copy("package");
    for folder in ["kernels-gpu", "cuda_std"] {
        fs::remove_dir_all(workspace.root.join(folder)).unwrap();
    }
    workspace.build_succeeds(&[NO_TOOLCHAIN]);
    workspace.forget_generated();
    workspace.append(MODULE, "// damaged\n");
    let error = workspace.build_fails(&[]);
    assert!(error.contains("ptx/ is damaged"), "{error}");
}

/// Built in a folder with a space in its name and by a toolchain in another place, the PTX is the
/// one that is checked in, byte for byte. A sample is the PTX of the oldest GPU generation, the
/// shortest.
#[test]
fn ptx_does_not_depend_on_where_it_is_built() {
    let Some(elsewhere) = Elsewhere::new("ptx_does_not_depend_on_where_it_is_built") else {
        return;
    };
    let workspace = &elsewhere.workspace;
    let modules = build_script::checked_in_ptx(original()).modules;
    let names: Vec<&str> = modules.iter().map(|module| module.name).collect();
    let sample = Sample::from_env();
    let drawn = match sample.is_full() {
        true => names,
        false => vec![names[0]],
    };
    let manifest = || -> serde_json::Value {
        serde_json::from_str(&workspace.read("ptx/manifest.json")).unwrap()
    };
    let read = || -> Vec<String> {
        let texts = drawn.iter();
        texts
            .map(|name| workspace.read(&format!("ptx/{name}.ptx")))
            .collect()
    };
    let (before, checked_in) = (manifest(), read());
    let text = workspace.read("ptx/manifest.json");
    for name in &drawn {
        fs::remove_file(workspace.root.join(format!("ptx/{name}.ptx"))).unwrap();
    }
    fs::remove_file(workspace.root.join("ptx/manifest.json")).unwrap();
    let toolchain = ("WARPLADDER_NIGHTLY", elsewhere.toolchain.as_str());
    if drawn.len() == modules.len() {
        workspace.build_succeeds(&[toolchain]);
    } else {
        let output = workspace.build(&[toolchain, (ONE_MODULE, drawn[0])]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
    }
    sample.report(drawn.len(), modules.len(), "PTX modules built elsewhere");
    let (mut after, built) = (manifest(), read());
    if after["compiler"] != before["compiler"] {
        println!(
            "comparison skipped: ptx/ was built by {}, the toolchain here is {}",
            before["compiler"], after["compiler"]
        );
        return;
    }
    assert!(
        built == checked_in,
        "the PTX differs from the checked-in one"
    );
    let is_full = drawn.len() == modules.len();
    assert!(!is_full || workspace.read("ptx/manifest.json") == text);
    // The manifest of a sample names its module alone.
    let built = after["modules"].as_object_mut().unwrap();
    for (name, module) in before["modules"].as_object().unwrap() {
        if !drawn.contains(&name.as_str()) {
            built.insert(name.clone(), module.clone());
        }
    }
    assert!(
        after == before,
        "the manifest differs from the checked-in one"
    );
}

/// Kernels to change. To compile those of the workspace takes a minute, and would show no more.
const ONE_KERNEL: &str = r#"//! One kernel.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

/// As it was.
#[cuda_std::kernel]
pub unsafe fn unchanged(out: *mut f32) {
    unsafe { *out = 0.5 };
}
"#;

#[test]
fn a_changed_kernel_is_rebuilt_where_a_toolchain_is() {
    let Some(elsewhere) = Elsewhere::new("a_changed_kernel_is_rebuilt_where_a_toolchain_is") else {
        return;
    };
    let workspace = &elsewhere.workspace;
    fs::write(workspace.root.join(KERNEL), ONE_KERNEL).unwrap();
    workspace.append(
        KERNEL,
        r#"
/// Added by a test.
#[cuda_std::kernel(max_threads = 96)]
pub unsafe fn added_by_a_test(out: *mut f32) {
    unsafe { *out = 1.5 };
}
"#,
    );
    elsewhere.build_succeeds();
    let text = workspace.read(MODULE);
    let header = text
        .split_once(".visible .entry added_by_a_test(")
        .and_then(|(_, rest)| rest.split_once('{'));
    assert!(header.is_some_and(|(header, _)| header.ends_with(".maxntid 96, 1, 1\n")));
    // What it wrote is fresh, and old enough not to make cargo run the build script again.
    workspace.build_succeeds(&[NO_TOOLCHAIN]);
    let modified = |path: &str| {
        let metadata = fs::metadata(workspace.root.join(path)).unwrap();
        metadata.modified().unwrap()
    };
    assert!(modified(MODULE) <= modified(KERNEL));

    // A call that nothing links in must not ship.
    workspace.forget_generated();
    workspace.append(
        KERNEL,
        r#"
unsafe extern "C" {
    fn nowhere();
}
/// Added by a test.
#[cuda_std::kernel]
pub unsafe fn calls_nowhere() {
    unsafe { nowhere() };
}
"#,
    );
    let error = workspace.build_fails(&[("WARPLADDER_NIGHTLY", &elsewhere.toolchain)]);
    assert!(
        error.contains("calls functions that are not in it: nowhere;"),
        "{error}"
    );
    assert_eq!(workspace.read(MODULE), text);
}
