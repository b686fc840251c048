//! Cells of tables.

use super::content::Content;
use crate::numbers;
use maud::{Markup, html};

/// A kernel's name, as a link where the page has a part on it.
pub fn kernel_link(report: &Content, name: &str) -> Markup {
    let is_there = report
        .data
        .measured
        .iter()
        .any(|record| record.kernel == name);
    html! {
        @if is_there { a href={ "#kernel-" (name) } { (name) } } @else { (name) }
    }
}

/// A number in a table; nothing where there is none.
pub fn cell(value: Option<f64>) -> Markup {
    html! { td.n { @if let Some(value) = value { (numbers::short(value)) } } }
}
