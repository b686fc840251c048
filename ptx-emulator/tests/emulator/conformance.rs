//! The list of forms beside NVIDIA's assembler.

#[path = "../../examples/conformance/assembler.rs"]
mod assembler;
#[path = "../../examples/conformance/orders.rs"]
#[allow(dead_code)]
mod orders;
#[path = "../../examples/conformance/table.rs"]
#[allow(dead_code)]
mod table;

fn ptxas() -> Option<String> {
    let ptxas = std::env::var("PTXAS").unwrap_or_else(|_| "ptxas".to_string());
    let found = std::process::Command::new(&ptxas).arg("--version").output();
    if found.is_err() {
        println!("skipped: there is no `{ptxas}`; set PTXAS to NVIDIA's assembler");
        return None;
    }
    Some(ptxas)
}

/// Decoder and assembler take the same orders of modifiers.
#[test]
fn the_assembler_takes_the_same_orders() {
    let Some(ptxas) = ptxas() else { return };
    let difference = assembler::compare(&ptxas, orders::orders()).expect("the assembler runs");
    assert!(difference.here.is_empty(), "{:#?}", difference.here);
    assert!(difference.there.is_empty(), "{:#?}", difference.there);
    assert!(difference.both > 6000, "{difference:#?}");
}

/// The decoder takes no form that the assembler refuses, whatever the target. It may refuse more:
/// `docs/conformance.md` lists those.
#[test]
fn the_assembler_takes_what_the_decoder_takes() {
    let Some(ptxas) = ptxas() else { return };
    let difference = assembler::compare(&ptxas, table::forms()).expect("the assembler runs");
    assert!(difference.here.is_empty(), "{:#?}", difference.here);
    assert!(difference.both > 4000, "{difference:#?}");
}
