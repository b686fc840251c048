//! `forms FILE`: compares every form of instructions that the emulator takes with the first GPU,
//! and writes the table of results.
//!
//! `forms --ptx FOLDER` writes the modules instead, to be assembled without a GPU.

mod engines;
mod kernel;
mod rows;
#[path = "../../../ptx-emulator/examples/conformance/table.rs"]
#[allow(dead_code)]
mod table;

use kernel::{FormKernel, HEADER, ROWS};
use serde_json::{Map, Value, json};

/// Kernels of one module: the driver compiles them together.
const BATCH: usize = 50;

/// Most rows that are printed of a form that differs.
const PRINTED: usize = 6;

/// A form that both sides run.
struct ComparedForm {
    form: String,
    approximate: bool,
    name: String,
    kernel: FormKernel,
}

/// The forms to compare; those that are left out go into `table`, with the reason.
fn cases(table: &mut Map<String, Value>) -> Vec<ComparedForm> {
    let mut cases = Vec::new();
    for (index, (opcode, operands)) in table::forms().into_iter().enumerate() {
        let form = format!("{opcode} {operands}");
        if !table::is_decoded(&opcode, &operands) {
            table.insert(form, json!("refused by the emulator"));
        } else if let Some(reason) = kernel::left_out(&opcode, &operands) {
            table.insert(form, json!(format!("not compared: {reason}")));
        } else {
            let name = format!("form_{index}");
            let kernel = kernel::kernel(&name, &opcode, &operands);
            let approximate = table::is_approximate(&opcode);
            cases.push(ComparedForm {
                form,
                approximate,
                name,
                kernel,
            });
        }
    }
    cases
}

fn module(batch: &[ComparedForm]) -> String {
    let bodies = batch.iter().map(|case| case.kernel.text.as_str());
    std::iter::once(HEADER).chain(bodies).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut table = Map::new();
    match arguments.as_slice() {
        [option, folder] if option == "--ptx" => {
            for (index, batch) in cases(&mut table).chunks(BATCH).enumerate() {
                std::fs::write(format!("{folder}/forms_{index}.ptx"), module(batch))?;
            }
        }
        [file] if !file.starts_with('-') => {
            let cases = cases(&mut table);
            let result = measure(&cases, table)?;
            // A line for each form, so that changes can be read.
            std::fs::write(file, serde_json::to_string_pretty(&result)? + "\n")?;
        }
        _ => println!("usage: forms FILE, forms --ptx FOLDER"),
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn measure(_: &[ComparedForm], _: Map<String, Value>) -> Result<Value, String> {
    Err("the CUDA driver is used on Linux alone: run it there".to_string())
}

#[cfg(target_os = "linux")]
fn measure(cases: &[ComparedForm], mut table: Map<String, Value>) -> Result<Value, String> {
    let operands = rows::operands();
    let gpu = engines::Gpu::open(&operands)?;
    let mut differ = 0;
    let mut ended_by = None;
    'batches: for (index, batch) in cases.chunks(BATCH).enumerate() {
        eprintln!("forms from {} of {}", index * BATCH, cases.len());
        let whole = gpu.load(&module(batch));
        for case in batch {
            let alone = match &whole {
                Ok(_) => None,
                // One form of the batch is refused: which one shows when each is a module.
                Err(_) => Some(gpu.load(&module(std::slice::from_ref(case)))),
            };
            let value = match alone.as_ref().unwrap_or(&whole) {
                Err(message) => json!(format!("refused by the driver: {message}")),
                Ok(loaded) => {
                    let slots = case.kernel.slots;
                    let real = match gpu.run(loaded, &case.name, slots) {
                        Ok(real) => real,
                        // No later launch of this context runs.
                        Err(message) => {
                            println!("{}: {message}", case.form);
                            ended_by = Some(format!("{}: {message}", case.form));
                            break 'batches;
                        }
                    };
                    let ptx = module(std::slice::from_ref(case));
                    match engines::emulate(&ptx, &case.name, slots, &operands) {
                        Ok(emulated) => compared(case, &emulated, &real, &mut differ),
                        Err(fault) => json!(format!("the emulator fails: {fault}")),
                    }
                }
            };
            table.insert(case.form.clone(), value);
        }
    }
    println!(
        "{} forms compared or tried, {differ} not exact differ",
        cases.len()
    );
    let (device, cuda) = (&gpu.name, &gpu.cuda);
    Ok(json!({
        "device": device,
        "cuda": cuda,
        "seed": rows::SEED,
        "rows": ROWS,
        "ended_by": ended_by,
        "forms": table,
    }))
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
    #[test]
    fn the_emulator_runs_every_form_that_is_compared() {
        let operands = rows::operands();
        let poison = u64::from_le_bytes([engines::POISON; 8]);
        for case in cases(&mut Map::new()).iter().step_by(7) {
            assert!(case.kernel.slots <= engines::MAX_SLOTS, "{}", case.form);
            let ptx = module(std::slice::from_ref(case));
            let outputs = engines::emulate(&ptx, &case.name, case.kernel.slots, &operands);
            let outputs = outputs.unwrap_or_else(|error| panic!("{}: {error}", case.form));
            assert!(!outputs.is_empty(), "{} has no output", case.form);
            for slot in outputs.chunks(ROWS) {
                assert!(slot.iter().any(|value| *value != poison), "{}", case.form);
            }
        }
    }

    /// Forms on which the emulator and the H200 differ, and why that stays.
    const EXCUSED: [(&str, &str, &str); 2] = [
        (
            "mma.sync.aligned.",
            ".f64.f64.f64.f64",
            "which of several NaNs a sum keeps is not known",
        ),
        (
            "vshl.",
            ".u32.sat.",
            "the ISA saturates; what the H200 does instead is not known",
        ),
    ];

    /// The file in `results/h200` has the forms of today, and none of them differs unless it is
    /// excused.
    #[test]
    fn the_forms_of_the_h200_are_those_of_the_emulator() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/h200/forms.json");
        let text = std::fs::read_to_string(file).expect("the file is there");
        let measured: Value = serde_json::from_str(&text).expect("the file is JSON");
        assert_eq!(measured["ended_by"], Value::Null);
        assert_eq!(measured["seed"], json!(rows::SEED));
        assert_eq!(measured["rows"], json!(ROWS));
        let measured = measured["forms"].as_object().expect("a table of forms");
        let mut today = Map::new();
        let compared = cases(&mut today);
        let forms: HashSet<&str> = compared.iter().map(|case| case.form.as_str()).collect();
        assert_eq!(measured.len(), today.len() + forms.len());
        for (form, reason) in &today {
            assert_eq!(measured.get(form), Some(reason), "{form}");
        }
        for case in &compared {
            let value = measured.get(&case.form).expect(&case.form);
            let is_excused = EXCUSED
                .iter()
                .any(|(start, part, _)| case.form.starts_with(start) && case.form.contains(part));
            let is_refused = value
                .as_str()
                .is_some_and(|reason| reason.starts_with("refused by the driver: "));
            assert!(
                *value == "equal" || is_refused || case.approximate || is_excused,
                "{}: {value}",
                case.form
            );
        }
    }
}
