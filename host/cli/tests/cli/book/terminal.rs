//! What the program prints, and excerpts of the PTX.

use super::{read, root};
use crate::readme::without_times_of_the_cpu;
use std::io::Write;
use std::process::{Command, Stdio};

/// The words of a command line; single quotes keep what is between them together.
pub fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("there is one").push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A command with what it prints, from the line that begins with `from` to before the one that
/// begins with `until`.
pub fn console(command: &str, from: &str, until: Option<&str>) -> String {
    let words = words(command);
    assert_eq!(words[0], "warpladder", "{command}");
    let output = Command::new(env!("CARGO_BIN_EXE_warpladder"))
        .args(&words[1..])
        .current_dir(root())
        .output()
        .expect("the program is there");
    // 1 is that something was found, which the book shows.
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let printed = String::from_utf8(output.stdout).expect("text");
    let lines = printed.lines().skip_while(|line| !line.starts_with(from));
    let lines = lines.take_while(|line| until.is_none_or(|until| !line.starts_with(until)));
    let lines: Vec<&str> = lines.map(str::trim_end).collect();
    let shown = lines.join("\n");
    assert!(
        !shown.is_empty(),
        "{command} prints nothing from {from:?} on"
    );
    // Findings are long lines of words; everything else is tables.
    let wrap = if command.contains("--sanitize") {
        ",wrap"
    } else {
        ""
    };
    format!("```console{wrap}\n$ {command}\n{}\n```\n", shown.trim_end())
}

/// What the debugger answers to commands: a reader's session.
pub fn debugged(command: &str, commands: &[&str]) -> String {
    let words = words(command);
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpladder"))
        .args(&words[1..])
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program is there");
    let mut input = child.stdin.take().expect("a pipe");
    let typed = commands.join("\n");
    input.write_all(typed.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{command}: {output:?}");
    let printed = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let shown = lines.join("\n").replace('\t', "  ");
    format!("```console,wrap\n$ {command}\n{shown}\n```\n")
}

/// The picture of a kernel's accesses, as SVG.
pub fn drawn(kernel: &str, size: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_warpladder"))
        .args(["draw", kernel, "--shape", size, "--svg", "-"])
        .output()
        .expect("the program is there");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "draw {kernel}: {complaint}");
    String::from_utf8(output.stdout).expect("text")
}

/// What a reader types in the first minutes, in a clone of the repository.
const FIRST_MINUTES: [&str; 4] = [
    "--engine emulator --family transpose",
    "profile transpose_coalesced --shape 64",
    "predict transpose_padded --device V100 --shape 2048",
    "sanitize transpose_padded",
];

/// A recording of the first minutes in a terminal with this number of columns, without what
/// differs from machine to machine.
pub fn first_minutes(columns: u32) -> String {
    let mut text = "```console\n".to_owned();
    for arguments in FIRST_MINUTES {
        let output = Command::new(env!("CARGO_BIN_EXE_warpladder"))
            .args(words(arguments))
            .env("COLUMNS", columns.to_string())
            .current_dir(root())
            .output()
            .expect("the program is there");
        assert!(output.status.success(), "{arguments}: {output:?}");
        let printed = String::from_utf8(output.stdout).expect("text");
        let printed = without_times_of_the_cpu(&printed);
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        for line in &lines {
            assert!(
                line.chars().count() <= columns as usize,
                "{arguments}: {line}"
            );
        }
        text += &format!(
            "$ cargo run --release -- {arguments}\n{}\n",
            lines.join("\n")
        );
    }
    text + "```\n"
}

/// Lines of a kernel's PTX, from the first that contains `from` to the next that contains `until`,
/// without the marks of source lines.
pub fn ptx(module: &str, kernel: &str, from: &str, until: &str) -> String {
    let text = read(&root().join("ptx").join(format!("{module}.ptx")));
    let entry = format!(".entry {kernel}(");
    let start = text
        .find(&entry)
        .unwrap_or_else(|| panic!("{module} has no {kernel}"));
    let body = &text[start..];
    let body = &body[..body.find("\n}").expect("an end")];
    let is_shown = |line: &&str| {
        let line = line.trim();
        let marks = [".loc", "//"];
        !(line.is_empty() || marks.iter().any(|mark| line.starts_with(mark)))
    };
    let mut lines = body
        .lines()
        .filter(is_shown)
        .skip_while(|line| !line.contains(from));
    let mut shown = vec![
        lines
            .next()
            .unwrap_or_else(|| panic!("{kernel} has no {from:?}")),
    ];
    for line in lines {
        shown.push(line);
        if line.contains(until) {
            let text = shown.join("\n").replace('\t', "    ");
            return format!("```text\n{text}\n```\n");
        }
    }
    panic!("{kernel} has no {until:?} after {from:?}");
}
