//! Lists the forms of instructions that the emulator refuses, with the reasons: `conformance`.
//!
//! `conformance --ptxas PROGRAM` compares the decoder with NVIDIA's assembler instead: it prints
//! the forms that one of the two takes and the other refuses, for the target of each. With a file
//! behind, its lines are the forms: opcode and operands, for compute capability 9.0; with
//! `--orders` behind, they are forms of the list with one modifier moved to another place, and with
//! `--omissions`, those with one left out.

mod assembler;
mod orders;
mod table;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {
            for form in table::forms() {
                if let Some(reason) = table::refusal(&form) {
                    println!("{}: {reason}", form.text());
                }
            }
        }
        [option, program, file @ ..] if option == "--ptxas" && file.len() < 2 => {
            let forms = match file {
                [option] if option == "--orders" => orders::orders(),
                [option] if option == "--omissions" => orders::omissions(),
                [file] => std::fs::read_to_string(file)?
                    .lines()
                    .filter_map(form)
                    .collect(),
                _ => table::forms(),
            };
            let difference = assembler::compare(program, forms)?;
            difference
                .here
                .iter()
                .for_each(|form| println!("refused there:  {form}"));
            difference
                .there
                .iter()
                .for_each(|form| println!("refused here:   {form}"));
            println!(
                "{} by both, {} by ptxas alone, {} here alone, {} by neither",
                difference.both,
                difference.there.len(),
                difference.here.len(),
                difference.neither
            );
        }
        _ => println!("usage: conformance [--ptxas PROGRAM [FILE | --orders | --omissions]]"),
    }
    Ok(())
}

/// A form from a line of a file.
fn form(line: &str) -> Option<table::Form> {
    let (opcode, operands) = line.split_once(' ')?;
    Some(table::Form {
        opcode: opcode.to_string(),
        operands: operands.to_string(),
        target: table::TARGET,
    })
}
