//! Tables for a terminal.

use comfy_table::{Cell, CellAlignment, Color, Table, presets};
use std::io::IsTerminal;
use warpladder_lab::baseline::Change;
use warpladder_report::numbers::significant;

/// A table without vertical lines, coloured where standard output is a terminal and NO_COLOR is not
/// set.
pub fn new(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(header);
    if !coloured() {
        table.force_no_tty();
    }
    table
}

/// Whether colours are wanted (<https://no-color.org>).
fn coloured() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Aligns the columns from `first` on to the right.
pub fn align_numbers(table: &mut Table, first: usize) {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// "ok" or "FAIL".
pub fn verdict(ok: bool) -> Cell {
    if ok {
        Cell::new("ok").fg(Color::Green)
    } else {
        Cell::new("FAIL").fg(Color::Red)
    }
}

/// "slower", "faster" or "no change".
pub fn change(change: Change) -> Cell {
    match change {
        Change::Slower => Cell::new("slower").fg(Color::Red),
        Change::Faster => Cell::new("faster").fg(Color::Green),
        Change::NoChange => Cell::new("no change"),
    }
}

/// A number with four significant digits; a dash where there is none.
pub fn number(value: Option<f64>) -> Cell {
    Cell::new(value.map_or("-".to_owned(), significant))
}
