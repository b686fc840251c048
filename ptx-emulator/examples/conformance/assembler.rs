//! What NVIDIA's assembler takes of the list of forms.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::table::{self, FORM_LINE, Form, KERNEL_LINES};

/// Kernels of one module: the assembler names the line of each that it refuses.
const BATCH: usize = 400;

/// How decoder and assembler differ.
#[derive(Debug, Default)]
pub struct Difference {
    /// Forms that the decoder alone takes.
    pub here: Vec<String>,
    /// Forms that the assembler alone takes.
    pub there: Vec<String>,
    /// Numbers of those that both take, and that neither takes.
    pub both: usize,
    pub neither: usize,
}

/// Asks the assembler for every form.
pub fn compare(ptxas: &str, forms: Vec<Form>) -> std::io::Result<Difference> {
    let mut by_target: BTreeMap<&str, Vec<Form>> = BTreeMap::new();
    for form in forms {
        by_target.entry(form.target).or_default().push(form);
    }
    // Tests of one process may ask at the same time.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let file = std::env::temp_dir().join(format!("forms-{process}-{number}.ptx"));
    let mut difference = Difference::default();
    for (target, forms) in by_target {
        // An older assembler does not know the version of PTX.
        if !takes_header(ptxas, target, &file)? {
            println!("skipped: {} forms for {target}: newer PTX", forms.len());
            continue;
        }
        for batch in forms.chunks(BATCH) {
            let refused = refused(ptxas, target, batch, &file)?;
            for (at, form) in batch.iter().enumerate() {
                match (refused.contains(&at), table::is_decoded(form)) {
                    (false, true) => difference.both += 1,
                    (true, false) => difference.neither += 1,
                    (true, true) => difference.here.push(form.text()),
                    (false, false) => difference.there.push(form.text()),
                }
            }
        }
    }
    std::fs::remove_file(&file)?;
    Ok(difference)
}

/// Whether the assembler takes a module without kernels for a target.
fn takes_header(ptxas: &str, target: &str, file: &Path) -> std::io::Result<bool> {
    std::fs::write(file, table::header(target))?;
    let mut assembler = Command::new(ptxas);
    let arch = format!("-arch={target}");
    assembler.args([&arch, "-o", "/dev/null"]).arg(file);
    Ok(assembler.output()?.status.success())
}

/// The forms of a batch that the assembler refuses. It may stop early: what it refused is left out
/// the next time, until it takes the rest.
fn refused(
    ptxas: &str,
    target: &str,
    batch: &[Form],
    file: &Path,
) -> std::io::Result<HashSet<usize>> {
    let mut refused = HashSet::new();
    loop {
        let left = |at: &usize| !refused.contains(at);
        let asked: Vec<usize> = (0..batch.len()).filter(left).collect();
        let header = table::header(target);
        let before = header.lines().count();
        let kernels = asked
            .iter()
            .map(|&at| table::kernel(&format!("form_{at}"), &batch[at]));
        std::fs::write(file, header + &kernels.collect::<String>())?;
        let mut assembler = Command::new(ptxas);
        let arch = format!("-arch={target}");
        let output = assembler
            .args([&arch, "-O0", "-o", "/dev/null"])
            .arg(file)
            .output()?;
        if output.status.success() || asked.is_empty() {
            return Ok(refused);
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines = text.lines().filter(|line| line.contains("error"));
        let line_of = |message: &str| -> Option<usize> {
            let (_, behind) = message.split_once(", line ")?;
            behind
                .split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        };
        let found: Vec<usize> = lines
            .filter_map(line_of)
            .filter_map(|line| {
                let at = line.checked_sub(1 + before)?;
                (at % KERNEL_LINES == FORM_LINE).then_some(at / KERNEL_LINES)
            })
            .filter_map(|at| asked.get(at).copied())
            .collect();
        if found.is_empty() {
            let message = text.lines().next().unwrap_or("no message").to_string();
            return Err(std::io::Error::other(format!(
                "ptxas names no form: {message}"
            )));
        }
        refused.extend(found);
    }
}
