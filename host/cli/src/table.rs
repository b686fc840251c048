//! Tables for a terminal.

use comfy_table::{
    Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, presets,
};
use console::Term;
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

/// Columns of the terminal that the tables go to: those of the variable `COLUMNS` where it is set;
/// `None` where there is no terminal, and lines are as long as they are.
pub fn terminal_width() -> Option<usize> {
    let set = std::env::var("COLUMNS").ok();
    if let Some(columns) = set.and_then(|columns| columns.parse().ok()) {
        return Some(columns).filter(|columns| *columns > 0);
    }
    let (_, columns) = Term::stdout().size_checked()?;
    std::io::stdout().is_terminal().then_some(columns.into())
}

/// Makes a table fit the terminal: the text of the column `elastic` is wrapped between its words,
/// and all other columns are as wide as what is in them.
pub fn fit(table: &mut Table, elastic: usize) {
    let Some(width) = terminal_width() else {
        return;
    };
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    for (index, column) in table.column_iter_mut().enumerate() {
        if index != elastic {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// Text of words as lines of at most the terminal's width, the second and further ones indented.
pub fn wrapped(text: &str, indent: usize) -> String {
    match terminal_width() {
        Some(width) => wrapped_at(text, indent, width),
        None => text.to_owned(),
    }
}

fn wrapped_at(text: &str, indent: usize, width: usize) -> String {
    let mut lines = String::new();
    let mut line = 0;
    // The first line keeps its own indent.
    let own = text.len() - text.trim_start().len();
    lines.push_str(&text[..own]);
    line += own;
    let mut begins = true;
    for piece in text[own..].split(' ') {
        let length = piece.chars().count();
        if !begins && line + 1 + length > width {
            lines.truncate(lines.trim_end().len());
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            line = indent;
        } else if !begins {
            lines.push(' ');
            line += 1;
        }
        begins = false;
        lines.push_str(piece);
        line += length;
    }
    lines
}

/// A column of a table whose rows are printed as they come.
#[derive(Clone, Debug)]
pub struct Column {
    title: String,
    width: usize,
    /// Whether its cells are aligned to the right.
    is_number: bool,
    /// Those with the highest are left out first where the terminal is narrow; 0 never is.
    rank: usize,
}

impl Column {
    /// A column of text, at least as wide as its title.
    pub fn text(title: &str, width: usize, rank: usize) -> Self {
        Column {
            title: title.to_owned(),
            width: width.max(title.chars().count()),
            is_number: false,
            rank,
        }
    }

    /// A column of numbers, at least as wide as its title.
    pub fn number(title: &str, width: usize, rank: usize) -> Self {
        Column {
            is_number: true,
            ..Column::text(title, width, rank)
        }
    }
}

/// A table whose rows are printed as they come, so that its columns are as wide as what will be in
/// them at most.
#[derive(Clone, Debug)]
pub struct Rows {
    columns: Vec<Column>,
    /// Which of them are shown.
    shown: Vec<bool>,
    coloured: bool,
}

impl Rows {
    /// Leaves out columns that the terminal has no room for.
    pub fn new(columns: Vec<Column>) -> Self {
        Rows::within(columns, terminal_width())
    }

    /// Shows all columns, however wide the terminal is.
    pub fn wide(columns: Vec<Column>) -> Self {
        Rows::within(columns, None)
    }

    fn within(columns: Vec<Column>, width: Option<usize>) -> Self {
        let shown = shown(&columns, width);
        Rows {
            columns,
            shown,
            coloured: coloured(),
        }
    }

    /// The titles.
    pub fn header(&self) -> String {
        let titles = self.columns.iter().map(|column| column.title.clone());
        self.line(&titles.collect::<Vec<_>>(), None)
    }

    /// A row; `verdict` is the column that is coloured by whether it is "ok".
    pub fn line(&self, cells: &[String], verdict: Option<usize>) -> String {
        let mut line = String::new();
        for (index, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            if !self.shown[index] {
                continue;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            let pad = " ".repeat(column.width.saturating_sub(cell.chars().count()));
            let colour = match cell.as_str() {
                "ok" => "32",
                _ => "31",
            };
            let cell = match self.coloured && verdict == Some(index) {
                true => format!("\x1b[{colour}m{cell}\x1b[0m"),
                false => cell.clone(),
            };
            match column.is_number {
                true => line.extend([pad, cell]),
                false => line.extend([cell, pad]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Which columns fit.
fn shown(columns: &[Column], width: Option<usize>) -> Vec<bool> {
    let mut shown = vec![true; columns.len()];
    let Some(width) = width else {
        return shown;
    };
    let needed = |shown: &[bool]| -> usize {
        let columns = columns.iter().zip(shown).filter(|(_, shown)| **shown);
        columns.map(|(column, _)| column.width + 1).sum::<usize>() - 1
    };
    while needed(&shown) > width {
        let last = (0..columns.len())
            .filter(|&index| shown[index] && columns[index].rank > 0)
            .max_by_key(|&index| columns[index].rank);
        match last {
            Some(last) => shown[last] = false,
            None => break,
        }
    }
    shown
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
    Cell::new(figure(value))
}

/// The same as text.
pub fn figure(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), significant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_and_numbers_stay_whole() {
        let text = "  loads  128 requests, 16,384 bytes requested";
        assert_eq!(
            wrapped_at(text, 9, 26),
            "  loads  128 requests,\n         16,384 bytes\n         requested"
        );
        assert_eq!(wrapped_at(text, 9, 80), text);
        assert_eq!(wrapped_at("abcdef", 2, 3), "abcdef");
    }

    #[test]
    fn a_narrow_terminal_leaves_out_what_matters_least() {
        let columns = [
            Column::text("kernel", 10, 0),
            Column::number("ms", 8, 1),
            Column::number("rate", 12, 2),
        ];
        assert_eq!(shown(&columns, None), [true; 3]);
        assert_eq!(shown(&columns, Some(32)), [true; 3]);
        assert_eq!(shown(&columns, Some(31)), [true, true, false]);
        assert_eq!(shown(&columns, Some(5)), [true, false, false]);
    }

    #[test]
    fn rows_are_aligned_without_a_colour_where_there_is_no_terminal() {
        let rows = Rows {
            columns: vec![Column::text("kernel", 6, 0), Column::number("ms", 7, 0)],
            shown: vec![true; 2],
            coloured: false,
        };
        assert_eq!(rows.header(), "kernel      ms");
        let cells = ["naive", "26.23"].map(str::to_owned);
        assert_eq!(rows.line(&cells, None), "naive    26.23");
    }
}
