//! `warpladder learn`, as a learner uses it.

use cuda_builder::Toolchain;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;
use warpladder_learn::{ALL, Folder, find};

/// How a run of the program ended.
#[derive(Debug)]
struct Ended {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

fn learn(args: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpladder"));
    command.arg("learn").args(args).arg("--dir").arg(dir);
    command.stdin(Stdio::null());
    command
}

fn end(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder for a test's learner. Its build products stay from one run to the next.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The toolchain that compiles exercises; none, and a line that says why, where it is missing.
fn toolchain() -> Option<Toolchain> {
    let exercises = Path::new(warpladder::SOURCE_ROOT).join("host/learn/exercises");
    Toolchain::find(&exercises)
        .inspect_err(|missing| println!("left out: {missing}"))
        .ok()
}

/// An empty folder.
fn empty(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn exercises_are_put_into_a_folder_and_stay_as_the_learner_left_them() {
    let dir = empty("learn-start");
    let before = end(&mut learn(&["list"], &dir));
    assert_eq!(before.status, Some(0), "{before:?}");
    assert!(
        before.stdout.contains("warpladder learn start"),
        "{before:?}"
    );

    let started = end(&mut learn(&["start"], &dir));
    assert_eq!(started.status, Some(0), "{started:?}");
    let first = Folder::new(&dir).file(&ALL[0]);
    std::fs::write(&first, "changed").unwrap();
    let again = end(&mut learn(&["start"], &dir));
    assert!(
        again.stdout.starts_with("0 exercises put into"),
        "{again:?}"
    );
    assert_eq!(std::fs::read_to_string(first).unwrap(), "changed");

    let list = end(&mut learn(&["list"], &dir));
    for exercise in ALL {
        assert!(list.stdout.contains(exercise.name), "{}", exercise.name);
    }
    let none = format!("0 of {} passed", ALL.len());
    assert!(list.stdout.contains(&none), "{list:?}");
    assert_eq!(list.stdout.matches("passed").count(), 1, "{list:?}");
}

#[test]
fn start_names_the_next_step_and_what_is_missing() {
    let dir = empty("learn-next");
    let nightly = "WARPLADDER_NIGHTLY";
    let started = end(learn(&["start"], &dir).env(nightly, "/nowhere/at/all"));
    assert_eq!(started.status, Some(0), "{started:?}");
    let none = format!("0 of {} passed; next: edit", ALL.len());
    for part in [
        "before the first check: exercises are compiled by a nightly Rust",
        nightly,
        &none,
        "then `warpladder learn add_one`",
    ] {
        assert!(started.stdout.contains(part), "{part}: {started:?}");
    }
}

#[test]
fn without_a_name_the_first_open_exercise_is_next() {
    let dir = empty("learn-goes-on");
    end(&mut learn(&["start"], &dir));
    let mut progress = Folder::new(&dir).progress().unwrap();
    progress.passed.insert(ALL[0].name.to_owned());
    Folder::new(&dir).save(&progress).unwrap();
    // Without a compiler it ends there, after it has said where the learner is.
    let ended = end(learn(&[], &dir).env("WARPLADDER_NIGHTLY", "/nowhere/at/all"));
    let heading = format!("exercise 2 of {}: {}", ALL.len(), ALL[1].teaches);
    let chapter = format!("book/src/{}.md", ALL[1].chapter);
    for part in [&heading, &chapter] {
        assert!(ended.stdout.contains(part), "{part}: {ended:?}");
    }
    assert!(ended.stderr.contains("nightly"), "{ended:?}");
}

#[test]
fn what_was_passed_is_exported() {
    let (dir, other) = (empty("learn-export"), empty("learn-export-other"));
    for dir in [&dir, &other] {
        end(&mut learn(&["start"], dir));
    }
    let mut progress = Folder::new(&dir).progress().unwrap();
    progress.passed.insert("saxpy".to_owned());
    progress.hints.insert("saxpy".to_owned(), 2);
    Folder::new(&dir).save(&progress).unwrap();
    let export = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpladder"));
        end(command.args(["learn", "export"]).args(args))
    };
    let (dir, other) = (dir.to_str().unwrap(), other.to_str().unwrap());
    let ended = export(&[dir, other]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let written: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let mut schema = Command::new(env!("CARGO_BIN_EXE_warpladder"));
    let schema = serde_json::from_str(&end(schema.arg("schema")).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(&written)
        .map(|e| e.to_string())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let records = written["records"].as_array().unwrap();
    assert_eq!(records.len(), 2 * ALL.len());
    let passed: Vec<_> = records
        .iter()
        .filter(|record| record["passed"] == true)
        .collect();
    assert_eq!(passed.len(), 1, "{passed:?}");
    assert_eq!(
        (
            &passed[0]["folder"],
            &passed[0]["exercise"],
            &passed[0]["hints"]
        ),
        (&dir.into(), &"saxpy".into(), &2.into())
    );

    let refused = export(&[dir, "/no/such/folder"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("/no/such/folder holds no exercises"),
        "{refused:?}"
    );
}

#[test]
fn an_exercise_is_put_back_and_the_learners_file_kept() {
    let dir = empty("learn-reset");
    end(&mut learn(&["start"], &dir));
    let (folder, exercise) = (Folder::new(&dir), find("reverse").unwrap());
    let file = folder.file(exercise);
    std::fs::write(&file, "mine").unwrap();
    let reset = end(&mut learn(&["reset", "reverse"], &dir));
    assert_eq!(reset.status, Some(0), "{reset:?}");
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(text(&file), exercise.files.exercise);
    assert_eq!(text(&file.with_extension("rs.bak")), "mine");
}

#[test]
fn a_clone_that_was_moved_is_named() {
    let dir = empty("learn-moved");
    end(&mut learn(&["start"], &dir));
    let manifest = dir.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let moved = text.replace(warpladder::SOURCE_ROOT, "/no/such/clone");
    assert_ne!(moved, text);
    std::fs::write(&manifest, moved).unwrap();
    let ended = end(&mut learn(&["add_one"], &dir));
    assert_eq!(ended.status, Some(2), "{ended:?}");
    for part in ["/no/such/clone/cuda_std", "warpladder learn start"] {
        assert!(ended.stderr.contains(part), "{ended:?}");
    }
    // It is said what mends it, and that does.
    end(&mut learn(&["start"], &dir));
    assert_eq!(std::fs::read_to_string(manifest).unwrap(), text);
}

#[test]
fn hints_come_one_by_one() {
    let dir = empty("learn-hints");
    end(&mut learn(&["start"], &dir));
    let hints: Vec<&str> = find("block_sum").unwrap().files.hints().collect();
    for shown in 1..=hints.len() {
        let ended = end(&mut learn(&["block_sum", "--hint"], &dir));
        assert_eq!(ended.status, Some(0), "{ended:?}");
        for (index, hint) in hints.iter().enumerate() {
            assert_eq!(ended.stdout.contains(hint), index < shown, "{ended:?}");
        }
    }
    let ended = end(&mut learn(&["block_sum", "--hint", "1"], &dir));
    assert!(ended.stdout.contains(hints[0]) && !ended.stdout.contains(hints[1]));
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let dir = empty("learn-refused");
    let nightly = "WARPLADDER_NIGHTLY";
    for (start, args, parts) in [
        (
            false,
            &["add_one"][..],
            &["holds no exercises", "learn start"][..],
        ),
        (true, &["add_two"], &["no exercise \"add_two\"", "add_one"]),
        (
            true,
            &["strat"],
            &["no exercise \"strat\"", "did you mean start?"],
        ),
        (
            true,
            &["nosuch"],
            &["no exercise \"nosuch\": `warpladder learn list`"],
        ),
        (true, &["add_one", "--hint", "0"], &["--hint 0"]),
        (true, &["--solution"], &["<NAME>"]),
        (true, &["add_one"], &["nightly Rust", nightly]),
    ] {
        if start {
            end(&mut learn(&["start"], &dir));
        }
        let ended = end(learn(args, &dir).env(nightly, "/nowhere/at/all"));
        assert_eq!(ended.status, Some(2), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        for part in parts {
            assert!(ended.stderr.contains(part), "{part} is not in {ended:?}");
        }
    }
}

/// The learner's folder of the tests, in which core is compiled already, as a new learner has it.
fn fresh() -> Option<Folder> {
    toolchain()?;
    let dir = folder("learn");
    let folder = Folder::new(&dir);
    _ = std::fs::remove_file(dir.join("progress.json"));
    for exercise in ALL {
        _ = std::fs::remove_file(folder.file(exercise));
    }
    folder.start().unwrap();
    Some(folder)
}

#[test]
fn an_exercise_is_solved() {
    let Some(folder) = fresh() else { return };
    let dir = folder.path();
    let exercise = find("saxpy").unwrap();

    let unsolved = end(&mut learn(&["saxpy"], dir));
    assert_eq!(unsolved.status, Some(1), "{unsolved:?}");
    assert!(
        unsolved.stdout.starts_with("saxpy: y[0] is"),
        "{unsolved:?}"
    );

    std::fs::write(folder.file(exercise), "pub fn broken(").unwrap();
    let broken = end(&mut learn(&["saxpy"], dir));
    assert_eq!(broken.status, Some(1), "{broken:?}");
    assert!(broken.stdout.contains("does not compile"), "{broken:?}");
    assert!(broken.stderr.contains("02_saxpy.rs:1"), "{broken:?}");

    let unguarded = exercise.files.solution.replace("if i < n", "if true");
    std::fs::write(folder.file(exercise), unguarded).unwrap();
    let found = end(&mut learn(&["saxpy"], dir));
    assert_eq!(found.status, Some(1), "{found:?}");
    for part in ["x[1000], but x has 1000 elements", "02_saxpy.rs:7"] {
        assert!(found.stdout.contains(part), "{found:?}");
    }

    let solution = end(&mut learn(&["saxpy", "--solution"], dir)).stdout;
    assert_eq!(solution, exercise.files.solution);
    std::fs::write(folder.file(exercise), solution).unwrap();
    let passed = end(&mut learn(&["saxpy"], dir));
    assert_eq!(passed.status, Some(0), "{passed:?}");
    for part in [
        "saxpy: passed\n",
        "as good as the reference",
        "01_add_one.rs",
    ] {
        assert!(passed.stdout.contains(part), "{passed:?}");
    }
    let list = end(&mut learn(&["list"], dir)).stdout;
    assert!(
        list.contains(&format!("1 of {} passed", ALL.len())),
        "{list}"
    );
    assert_eq!(list.matches("passed").count(), 2, "{list}");

    watch_goes_on(&folder);
}

/// The longest that a line of `learn --watch` may take: an exercise is compiled in the meantime.
const LINE_LIMIT: Duration = Duration::from_secs(120);

/// `learn --watch`, whose lines are read as they come. It ends with this value.
struct Watch {
    child: Child,
    keys: ChildStdin,
    lines: Receiver<String>,
}

impl Watch {
    fn start(dir: &Path) -> Watch {
        let mut child = learn(&["--watch"], dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut read = stdout.lines().map_while(Result::ok);
            read.all(|line| sender.send(line).is_ok())
        });
        let keys = child.stdin.take().unwrap();
        Watch { child, keys, lines }
    }

    /// Reads on to the lines that start like these, in this order.
    fn reaches(&self, starts: &[&str]) {
        for start in starts {
            let mut passed_over = Vec::new();
            loop {
                match self.lines.recv_timeout(LINE_LIMIT) {
                    Ok(line) if line.starts_with(start) => break,
                    Ok(line) => passed_over.push(line),
                    Err(error) => panic!("no line {start:?} ({error}) behind {passed_over:#?}"),
                }
            }
        }
    }

    fn press(&mut self, key: &str) {
        writeln!(self.keys, "{key}").unwrap();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It has ended already where the test passes.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// What is saved is checked, and the next open exercise comes.
fn watch_goes_on(folder: &Folder) {
    let [first, solved, next, behind] = ALL.first_chunk().unwrap();
    assert_eq!([first.name, solved.name], ["add_one", "saxpy"]);
    let mut watch = Watch::start(folder.path());
    watch.reaches(&["add_one: output[0] was never written", "waiting for"]);
    watch.press("h");
    watch.reaches(&["1 of ", "waiting for"]);
    watch.press("x");
    watch.reaches(&["\"x\" is none of", "waiting for"]);
    std::fs::write(folder.file(first), first.files.solution).unwrap();
    let unsolved = format!("{}: output[0]", next.name);
    watch.reaches(&["add_one: passed", "2 of ", &unsolved, "waiting for"]);
    watch.press("n");
    watch.reaches(&[&format!("{}: ", behind.name), "waiting for"]);
    watch.press("q");
    assert!(watch.child.wait().unwrap().success());
}
