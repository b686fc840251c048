//! The exercises: solutions pass, unsolved files fail, and each wrong answer of a list is caught.
//!
//! What compiles kernels needs the nightly toolchain and is left out, and says so, where there is
//! none. All versions of all exercises are compiled as one crate.

mod compiled;
mod table;
mod wrong;

use compiled::compiled;
use std::collections::BTreeMap;
use warpladder_learn::{ALL, Figures, Verdict, Version};
use wrong::WRONG;

#[test]
fn every_solution_passes() {
    let Some(compiled) = compiled() else { return };
    let failed: Vec<String> = ALL
        .iter()
        .filter_map(|exercise| {
            let verdict = compiled.check(&Version::solution(exercise));
            let name = exercise.name;
            (!verdict.passed()).then(|| format!("{name}: {}", compiled.complaint(&verdict)))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_unsolved_file_fails_in_few_words() {
    let Some(compiled) = compiled() else { return };
    let mut passed = Vec::new();
    for exercise in ALL {
        let verdict = compiled.check(&Version::unsolved(exercise));
        let complaint = compiled.complaint(&verdict);
        println!("{}: {complaint}\n", exercise.name);
        if verdict.passed() {
            passed.push(exercise.name);
        }
        let lines = complaint.lines().count();
        assert!(lines <= 8, "{}: {lines} lines:\n{complaint}", exercise.name);
    }
    assert!(passed.is_empty(), "unsolved, and passed: {passed:?}");
}

#[test]
fn every_wrong_answer_is_caught() {
    let Some(compiled) = compiled() else { return };
    let mut missed = Vec::new();
    for wrong in WRONG {
        let verdict = compiled.check(&wrong.version());
        let complaint = compiled.complaint(&verdict);
        println!("{}, {}: {complaint}\n", wrong.exercise, wrong.name);
        if !complaint.contains(wrong.caught) {
            missed.push(format!(
                "{}, {}: {:?} is not in {complaint:?}",
                wrong.exercise, wrong.name, wrong.caught
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The table of wrong answers in the book; `WARPLADDER_UPDATE=1` writes it.
#[test]
fn wrong_answers_are_in_the_book() {
    let Some(compiled) = compiled() else { return };
    let mut table =
        "| exercise | what is wrong | what the learner is told |\n|---|---|---|\n".to_owned();
    for exercise in ALL {
        for wrong in WRONG.iter().filter(|wrong| wrong.exercise == exercise.name) {
            let complaint = compiled.complaint(&compiled.check(&wrong.version()));
            let told = complaint.lines().next().unwrap_or_default();
            table += &format!("| `{}` | {} | {told} |\n", exercise.name, wrong.name);
        }
    }
    let page = compiled::workspace().join("host/learn/exercises/wrong-answers.md");
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        std::fs::write(&page, &table).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&page).unwrap_or_default(),
        table,
        "run `WARPLADDER_UPDATE=1 cargo test -p warpladder-learn`, and look at what changed"
    );
}

#[test]
fn the_reference_is_what_the_solutions_ask_for() {
    let Some(compiled) = compiled() else { return };
    let figures = |exercise| match compiled.check(&Version::solution(exercise)) {
        Verdict::Passed { figures } | Verdict::TooCostly { figures, .. } => figures,
        other => panic!("{}: {}", exercise.name, compiled.complaint(&other)),
    };
    let now: BTreeMap<&str, Figures> = ALL
        .iter()
        .map(|exercise| (exercise.name, figures(exercise)))
        .collect();
    let now = serde_json::to_string_pretty(&now).unwrap() + "\n";
    let kept = compiled::workspace().join("host/learn/exercises/reference.json");
    if std::fs::read_to_string(&kept).unwrap() != now {
        std::fs::write(&kept, now).unwrap();
        panic!(
            "{} was not that of the solutions and has been written: run the tests again, and \
             commit it",
            kept.display()
        );
    }
}
