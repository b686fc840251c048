//! Prints the table of the forms of instructions that the emulator decodes: `conformance`.
//!
//! `conformance --ptxas PROGRAM` compares the decoder with NVIDIA's assembler instead: it prints
//! the forms that one of the two takes and the other refuses, for compute capability 9.0.

mod table;

use std::io::Write;
use std::process::Command;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => print!("{}", table::table()),
        [option, program] if option == "--ptxas" => compare(program)?,
        _ => println!("usage: conformance [--ptxas PROGRAM]"),
    }
    Ok(())
}

fn compare(ptxas: &str) -> std::io::Result<()> {
    let file = std::env::temp_dir().join(format!("form-{}.ptx", std::process::id()));
    let mut counts = [[0; 2]; 2];
    for (opcode, operands) in table::forms() {
        let mut out = std::fs::File::create(&file)?;
        out.write_all(table::module(&opcode, &operands).as_bytes())?;
        let mut assembler = Command::new(ptxas);
        let assembler = assembler.args(["-arch=sm_90a", "-o", "/dev/null"]);
        let taken = assembler.arg(&file).output()?.status.success();
        let decoded = table::is_decoded(&opcode, &operands);
        counts[usize::from(taken)][usize::from(decoded)] += 1;
        match (taken, decoded) {
            (true, false) => println!("refused here:   {opcode} {operands}"),
            (false, true) => println!("refused there:  {opcode} {operands}"),
            _ => {}
        }
    }
    std::fs::remove_file(&file)?;
    let [[neither, here], [there, both]] = counts;
    println!("{both} by both, {there} by ptxas alone, {here} here alone, {neither} by neither");
    Ok(())
}
