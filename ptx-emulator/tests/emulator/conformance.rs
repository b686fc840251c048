//! The list of forms beside NVIDIA's assembler.

#[path = "../../examples/conformance/assembler.rs"]
mod assembler;
#[path = "../../examples/conformance/table.rs"]
#[allow(dead_code)]
mod table;

/// The decoder takes no form that the assembler refuses, whatever the target. It may refuse more:
/// `docs/conformance.md` lists those.
#[test]
fn the_assembler_takes_what_the_decoder_takes() {
    let ptxas = std::env::var("PTXAS").unwrap_or_else(|_| "ptxas".to_string());
    if std::process::Command::new(&ptxas).arg("--version").output().is_err() {
        println!("skipped: there is no `{ptxas}`; set PTXAS to NVIDIA's assembler");
        return;
    }
    let difference = assembler::compare(&ptxas).expect("the assembler runs");
    assert!(difference.here.is_empty(), "{:#?}", difference.here);
    assert!(difference.both > 4000, "{difference:#?}");
}
