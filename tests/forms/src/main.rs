//! `forms FILE`: compares every form of instructions that the emulator takes with the first GPU,
//! and writes the table of results. After a launch that fails, the driver runs no other in the
//! process: run it again, and it goes on with the forms that FILE does not have yet. The form whose
//! launch did not return when the process was killed is named in `FILE.running`, and left out.
//!
//! `forms --ptx FOLDER` writes the modules instead, to be assembled without a GPU, and `forms
//! --table` prints what is known of each form: `docs/conformance.md`.

mod asynchronous;
mod document;
mod engines;
mod fragments;
mod kernel;
mod rows;
#[cfg(test)]
mod seen;
#[path = "../../../ptx-emulator/examples/conformance/table.rs"]
#[expect(dead_code)]
mod table;
mod warpgroup;

use document::State;
use kernel::{FormKernel, ROWS};
use serde_json::{Map, Value, json};
use std::error::Error;
use std::path::PathBuf;
use table::{Form, TARGET};

/// Kernels of one module: the driver compiles them together.
const BATCH: usize = 50;

/// Most rows that are printed of a form that differs.
const PRINTED: usize = 6;

/// A form that both sides run.
struct ComparedForm {
    form: String,
    target: &'static str,
    approximate: bool,
    name: String,
    kernel: FormKernel,
}

/// The forms of a target to compare; those that are left out go into `table`, with the reason.
fn cases(target: &str, table: &mut Map<String, Value>) -> Vec<ComparedForm> {
    let mut cases = Vec::new();
    for (index, form) in table::forms().into_iter().enumerate() {
        let Form {
            opcode, operands, ..
        } = &form;
        if form.target != target {
            continue;
        }
        if !table::is_decoded(&form) {
            table.insert(form.text(), json!("refused by the emulator"));
        } else if let Some(reason) = kernel::left_out(opcode, operands) {
            table.insert(form.text(), json!(format!("not compared: {reason}")));
        } else {
            let name = format!("form_{index}");
            cases.push(ComparedForm {
                form: form.text(),
                target: form.target,
                approximate: document::is_approximate(opcode),
                kernel: kernel::kernel(&name, opcode, operands),
                name,
            });
        }
    }
    cases
}

/// A module of forms of one target.
fn module(batch: &[&ComparedForm]) -> String {
    let target = batch.first().map_or(TARGET, |case| case.target);
    let bodies = batch.iter().map(|case| case.kernel.text.as_str());
    table::header(target) + &bodies.collect::<String>()
}

/// The results that are kept of an H200 and of an H100, which has the same multiprocessors: the
/// newer ones of the H100 where there are both.
fn measured() -> Result<Map<String, Value>, Box<dyn Error>> {
    let mut all = Map::new();
    for gpu in ["h200", "h100"] {
        let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results");
        let file = format!("{results}/{gpu}/forms.json");
        let mut results: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        match results["forms"].take() {
            Value::Object(forms) => all.extend(forms),
            _ => return Err(format!("{file} has no table of forms").into()),
        }
    }
    Ok(all)
}

/// What is known of a form, from the decoder and the results.
fn state(form: &Form, measured: &Map<String, Value>) -> State {
    let of_driver = "refused by the driver: ";
    let result = measured.get(&form.text());
    let refused_there = result
        .and_then(Value::as_str)
        .is_some_and(|reason| reason.starts_with(of_driver));
    if !table::is_decoded(form) {
        return match refused_there {
            true => State::NoForm,
            false => State::Refused,
        };
    }
    if document::is_approximate(&form.opcode) {
        return State::Within;
    }
    match result {
        Some(Value::String(result)) if result == "equal" => State::Exact,
        Some(Value::Object(_)) => State::Open,
        _ => State::Unmeasured,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut table = Map::new();
    match arguments.as_slice() {
        [option, folder] if option == "--ptx" => {
            let cases = cases(TARGET, &mut table);
            let cases: Vec<&ComparedForm> = cases.iter().collect();
            for (index, batch) in cases.chunks(BATCH).enumerate() {
                std::fs::write(format!("{folder}/forms_{index}.ptx"), module(batch))?;
            }
        }
        [option] if option == "--table" => {
            let measured = measured()?;
            print!("{}", document::table(|form| state(form, &measured)));
        }
        [file] if !file.starts_with('-') => {
            let cases = cases(TARGET, &mut table);
            measure(&cases, &mut Results::resume(file, table)?)?;
        }
        _ => println!("usage: forms FILE, forms --ptx FOLDER, forms --table"),
    }
    Ok(())
}

/// The table of results, in a file from which another process can go on.
struct Results {
    file: PathBuf,
    table: Map<String, Value>,
}

impl Results {
    /// What the file has already is kept.
    fn resume(file: &str, mut table: Map<String, Value>) -> Result<Self, Box<dyn Error>> {
        let file = PathBuf::from(file);
        if file.exists() {
            let mut known: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
            if let Value::Object(forms) = known["forms"].take() {
                // A reason why a form was not compared may hold no longer.
                let was_run = |result: &Value| match result.as_str() {
                    Some(text) => {
                        text == "equal" || text.contains("GPU") || text.contains("driver")
                    }
                    None => true,
                };
                table.extend(forms.into_iter().filter(|(_, result)| was_run(result)));
            }
        }
        let mut results = Results { file, table };
        if let Ok(form) = std::fs::read_to_string(results.running()) {
            let result = json!("the launch does not return on the GPU");
            results.table.entry(form).or_insert(result);
            std::fs::remove_file(results.running())?;
        }
        Ok(results)
    }

    /// The file with the form that is running.
    fn running(&self) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(".running");
        name.into()
    }

    #[cfg(target_os = "linux")]
    fn starts(&self, form: &str) -> Result<(), Box<dyn Error>> {
        Ok(std::fs::write(self.running(), form)?)
    }

    /// Writes the table: a line for each form, so that changes can be read.
    #[cfg(target_os = "linux")]
    fn write(&self, gpu: &engines::Gpu) -> Result<(), Box<dyn Error>> {
        let all = json!({
            "device": gpu.name,
            "cuda": gpu.cuda,
            "seed": rows::SEED,
            "rows": ROWS,
            "forms": self.table,
        });
        std::fs::write(&self.file, serde_json::to_string_pretty(&all)? + "\n")?;
        // Nothing runs while the table is written.
        match std::fs::remove_file(self.running()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn measure(_: &[ComparedForm], results: &mut Results) -> Result<(), Box<dyn Error>> {
    let file = results.file.display();
    Err(format!("{file}: the CUDA driver is used on Linux alone: run it there").into())
}

#[cfg(target_os = "linux")]
fn measure(cases: &[ComparedForm], results: &mut Results) -> Result<(), Box<dyn Error>> {
    let operands = rows::operands();
    let gpu = engines::Gpu::open(&operands)?;
    let mut differ = 0;
    let known = |case: &&ComparedForm| results.table.contains_key(&case.form);
    let cases: Vec<&ComparedForm> = cases.iter().filter(|case| !known(case)).collect();
    for (index, batch) in cases.chunks(BATCH).enumerate() {
        eprintln!("forms from {} of {}", index * BATCH, cases.len());
        let whole = gpu.load(&module(batch));
        for &case in batch {
            let alone = match &whole {
                Ok(_) => None,
                // One form of the batch is refused: which one shows when each is a module.
                Err(_) => Some(gpu.load(&module(&[case]))),
            };
            let value = match alone.as_ref().unwrap_or(&whole) {
                Err(message) => json!(format!("refused by the driver: {message}")),
                Ok(loaded) => {
                    let slots = case.kernel.slots;
                    results.starts(&case.form)?;
                    let real = match gpu.run(loaded, &case.name, slots) {
                        Ok(real) => real,
                        // No later launch of this context runs.
                        Err(message) => {
                            let message = format!("the launch fails on the GPU: {message}");
                            let ended_by = format!("{}: {message}", case.form);
                            results.table.insert(case.form.clone(), json!(message));
                            results.write(&gpu)?;
                            return Err(ended_by.into());
                        }
                    };
                    let ptx = module(&[case]);
                    match engines::emulate(&ptx, &case.name, slots, &operands) {
                        Ok(emulated) => compared(case, &emulated, &real, &mut differ),
                        Err(fault) => json!(format!("the emulator fails: {fault}")),
                    }
                }
            };
            results.table.insert(case.form.clone(), value);
        }
        results.write(&gpu)?;
    }
    println!(
        "{} forms compared or tried, {differ} not exact differ",
        cases.len()
    );
    Ok(())
}

/// `"equal"`, or how many rows are; some of those that are not are printed.
fn compared(case: &ComparedForm, emulated: &[u64], real: &[u64], differ: &mut usize) -> Value {
    let outputs = |all: &[u64], row: usize| -> Vec<u64> {
        all.iter().skip(row).step_by(ROWS).copied().collect()
    };
    let unequal = |row: &usize| outputs(emulated, *row) != outputs(real, *row);
    let rows: Vec<usize> = (0..ROWS).filter(unequal).collect();
    if rows.is_empty() {
        return json!("equal");
    }
    *differ += usize::from(!case.approximate);
    println!("{}: {} of {ROWS} rows differ", case.form, rows.len());
    for row in rows.iter().step_by(rows.len().div_ceil(PRINTED)) {
        let (here, there) = (outputs(emulated, *row), outputs(real, *row));
        println!("  row {row}: {here:x?} here, {there:x?} on the GPU");
    }
    json!({"equal": ROWS - rows.len(), "rows": ROWS, "approximate": case.approximate})
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Every result is stored: no output of any form keeps the poison in all rows.
    fn runs(cases: &[ComparedForm], step: usize) {
        let operands = rows::operands();
        let poison = u64::from_le_bytes([engines::POISON; 8]);
        for case in cases.iter().step_by(step) {
            assert!(case.kernel.slots <= engines::MAX_SLOTS, "{}", case.form);
            let ptx = module(&[case]);
            let outputs = engines::emulate(&ptx, &case.name, case.kernel.slots, &operands);
            let outputs = outputs.unwrap_or_else(|error| panic!("{}: {error}", case.form));
            assert!(!outputs.is_empty(), "{} has no output", case.form);
            for slot in outputs.chunks(ROWS) {
                assert!(slot.iter().any(|value| *value != poison), "{}", case.form);
            }
        }
    }

    #[test]
    fn the_emulator_runs_every_form_that_is_compared() {
        runs(&cases(TARGET, &mut Map::new()), 7);
    }

    #[test]
    fn the_emulator_runs_forms_of_newer_targets() {
        let targets: HashSet<&str> = table::forms().iter().map(|form| form.target).collect();
        assert!(targets.len() > 2);
        for target in targets.into_iter().filter(|target| *target != TARGET) {
            runs(&cases(target, &mut Map::new()), 3);
        }
    }

    #[test]
    fn rows_seen_on_an_h100() {
        let operands = rows::operands();
        let all = cases(TARGET, &mut Map::new());
        for (name, row, wanted) in seen::SEEN {
            let is_form = |form: &str| match name.contains(' ') {
                true => form == *name,
                false => form.split(' ').next() == Some(name),
            };
            let case = all.iter().find(|case| is_form(&case.form));
            let case = case.unwrap_or_else(|| panic!("there is no form {name}"));
            let ptx = module(&[case]);
            let outputs = engines::emulate(&ptx, &case.name, case.kernel.slots, &operands);
            let outputs = outputs.unwrap_or_else(|error| panic!("{name}: {error}"));
            let found: Vec<u64> = outputs.iter().skip(*row).step_by(ROWS).copied().collect();
            assert_eq!(
                found, *wanted,
                "{name}, row {row}: {found:x?}, not {wanted:x?}"
            );
        }
    }

    /// No form that was measured differs from the H200, and what its driver refused is refused.
    #[test]
    fn the_forms_of_gpus_are_those_of_the_emulator() {
        let measured = measured().expect("the file is there");
        let mut known = HashSet::new();
        let mut compared = 0;
        for form in table::forms() {
            known.insert(form.text());
            let Some(value) = measured.get(&form.text()) else {
                continue;
            };
            let state = state(&form, &measured);
            let of_driver = value
                .as_str()
                .is_some_and(|text| text.starts_with("refused by the d"));
            match state {
                State::Exact => compared += 1,
                State::Open => panic!("{} differs from the H200", form.text()),
                State::Unmeasured if form.target == TARGET => {
                    assert!(!of_driver, "{}: {value}", form.text());
                }
                // What was taken is taken, unless its rule is not known.
                State::Refused => assert!(*value != "equal", "{}", form.text()),
                State::Within | State::NoForm | State::Unmeasured => {}
            }
        }
        assert!(compared > 6500, "{compared}");
        let missing = measured.keys().find(|form| !known.contains(*form));
        assert_eq!(missing, None, "a form is no longer in the list");
    }

    #[test]
    fn the_document_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance.md");
        let measured = measured().expect("the file is there");
        let table = document::table(|form| state(form, &measured));
        if std::env::var_os("WARPLADDER_UPDATE").is_some() {
            std::fs::write(path, table).expect("docs can be written to");
            return;
        }
        let known = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            known == table,
            "docs/conformance.md is out of date: WARPLADDER_UPDATE=1 cargo test -p warpladder-forms"
        );
    }
}
