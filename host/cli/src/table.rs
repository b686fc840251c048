//! Tables for people.

use comfy_table::{Cell, CellAlignment, Color, Table, presets};
use std::io::IsTerminal;
use warpladder_lab::baseline::Change;

/// A table without vertical lines, coloured where standard output is a terminal and NO_COLOR is not set.
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

fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&magnitude) {
        format!("{value:.2e}")
    } else {
        let digits_before = magnitude.log10().floor() as i32 + 1;
        let decimals = (4 - digits_before).max(0) as usize;
        format!("{value:.decimals$}")
    }
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn numbers_keep_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.012345, "0.01235"),
            (1.5, "1.500"),
            (12345.6, "12346"),
            (1.25e-7, "1.25e-7"),
            (2.5e9, "2.50e9"),
        ] {
            assert_eq!(significant(value), text);
        }
    }
}
