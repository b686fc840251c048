//! Lists the forms of instructions that the emulator refuses, with the reasons: `conformance`.
//!
//! `conformance --ptxas PROGRAM` compares the decoder with NVIDIA's assembler instead: it prints
//! the forms that one of the two takes and the other refuses, for the target of each.

mod assembler;
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
        [option, program] if option == "--ptxas" => {
            let difference = assembler::compare(program)?;
            difference.here.iter().for_each(|form| println!("refused there:  {form}"));
            difference.there.iter().for_each(|form| println!("refused here:   {form}"));
            println!(
                "{} by both, {} by ptxas alone, {} here alone, {} by neither",
                difference.both,
                difference.there.len(),
                difference.here.len(),
                difference.neither
            );
        }
        _ => println!("usage: conformance [--ptxas PROGRAM]"),
    }
    Ok(())
}
