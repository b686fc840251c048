//! What holds of the table without compiling anything.

use crate::wrong::WRONG;
use std::collections::BTreeSet;
use std::path::Path;
use warpladder_learn::{ALL, Argument, Exercise, Part};

#[test]
fn every_exercise_is_complete() {
    for exercise in ALL {
        let name = exercise.name;
        let kernel = format!("pub unsafe fn {name}(");
        for text in [exercise.files.exercise, exercise.files.solution] {
            assert_eq!(text.matches(&kernel).count(), 1, "{name}");
        }
        let task = exercise.files.exercise;
        assert!(task.starts_with("//! # "), "{name}");
        assert!(task.contains("//! # What to do"), "{name}");
        assert_ne!(task, exercise.files.solution, "{name}");
        assert!(exercise.files.hints().count() >= 1, "{name}");
        assert!(!exercise.teaches.is_empty(), "{name}");
        assert!(
            warpladder_learn::reference(name).is_some(),
            "{name}: no reference"
        );
    }
}

#[test]
fn names_are_used_once() {
    let names: BTreeSet<&str> = ALL.iter().map(|exercise| exercise.name).collect();
    assert_eq!(names.len(), ALL.len());
    assert!(ALL.len() >= 20);
    let detective = |part| part == Part::Detective;
    assert!(
        ALL.iter()
            .filter(|exercise| detective(exercise.part))
            .count()
            >= 4
    );
    for (index, exercise) in ALL.iter().enumerate() {
        assert_eq!(warpladder_learn::number(exercise), index + 1);
    }
}

#[test]
fn every_case_has_one_result_of_the_right_size() {
    for exercise in ALL {
        for case in exercise.problem.cases {
            let results: Vec<usize> = case
                .arguments
                .iter()
                .filter_map(|argument| match argument {
                    Argument::Array { shape, holds, .. } if holds.is_result() => {
                        Some(shape[0] * shape[1])
                    }
                    _ => None,
                })
                .collect();
            let expected = (exercise.problem.expected)(&case.given());
            assert_eq!(results, [expected.len()], "{}", exercise.name);
            assert!(expected.iter().all(|x| x.is_finite()), "{}", exercise.name);
            // A kernel that writes nothing but zeros must not pass.
            assert!(expected.iter().any(|&x| x != 0.0), "{}", exercise.name);
        }
    }
}

#[test]
fn every_exercise_has_wrong_answers() {
    for exercise in ALL {
        let wrong = WRONG.iter().filter(|wrong| wrong.exercise == exercise.name);
        assert!(wrong.count() >= 2, "{}: fewer than two", exercise.name);
    }
    for wrong in WRONG {
        let exercise = warpladder_learn::find(wrong.exercise).expect(wrong.exercise);
        assert_ne!(
            wrong.text(exercise),
            exercise.files.solution,
            "{}",
            wrong.name
        );
    }
}

/// Chapters name their exercises, and exercises their chapter.
#[test]
fn chapters_and_exercises_name_each_other() {
    let pages = Path::new(warpladder::SOURCE_ROOT).join("book/src");
    let Ok(contents) = std::fs::read_to_string(pages.join("SUMMARY.md")) else {
        println!("left out: the book is not on this machine");
        return;
    };
    for exercise in ALL {
        let page = format!("{}.md", exercise.chapter);
        let name = exercise.name;
        assert!(contents.contains(&format!("({page})")), "{name}: {page}");
        let text = std::fs::read_to_string(pages.join(&page)).unwrap();
        let command = format!("$ warpladder learn {name}\n");
        assert!(text.contains(&command), "{page} does not name {name}");
    }
    let place = |exercise: &Exercise| contents.find(&format!("({}.md)", exercise.chapter));
    assert!(
        ALL.is_sorted_by_key(place),
        "the exercises are not in the order of their chapters"
    );
    for page in std::fs::read_dir(&pages).unwrap() {
        let path = page.unwrap().path();
        let Some(chapter) = path.file_stem().filter(|_| path.is_file()) else {
            continue;
        };
        let text = std::fs::read_to_string(&path).unwrap();
        let commands = text
            .lines()
            .filter_map(|line| line.strip_prefix("$ warpladder learn "));
        for name in commands {
            // Not those that are a subcommand, or have an option.
            if let Some(exercise) = warpladder_learn::find(name) {
                assert_eq!(exercise.chapter, chapter.to_str().unwrap(), "{name}");
            }
        }
    }
}

#[test]
fn the_toolchain_is_that_of_the_kernels() {
    assert_eq!(
        include_str!("../../exercises/rust-toolchain.toml"),
        include_str!("../../../../kernels-gpu/rust-toolchain.toml")
    );
}

#[test]
fn the_locked_versions_are_those_of_the_workspace() {
    let all = include_str!("../../../../Cargo.lock");
    for package in include_str!("../../exercises/Cargo.lock").split("\n\n") {
        let Some(checksum) = package.lines().find(|line| line.starts_with("checksum")) else {
            continue;
        };
        assert!(all.contains(checksum), "{package}");
    }
}
