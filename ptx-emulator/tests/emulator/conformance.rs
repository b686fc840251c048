//! The table of forms that stands beside the crate is that of the decoder.

#[path = "../../examples/conformance/table.rs"]
#[allow(dead_code)]
mod table;

#[test]
fn the_table_of_forms_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/FORMS.md");
    let known = std::fs::read_to_string(path).unwrap_or_default();
    let table = table::table();
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        std::fs::write(path, table).expect("the crate's folder can be written to");
        return;
    }
    assert!(
        known == table,
        "FORMS.md is out of date: WARPLADDER_UPDATE=1 cargo test -p ptx-emulator conformance"
    );
}
