//! The text of source lines.

use ptx_emulator::counters::SourceLine;
use std::collections::HashMap;
use std::path::Path;

/// Source files, read once each, where the source tree is there.
#[derive(Default)]
pub struct Sources(HashMap<String, Vec<String>>);

impl Sources {
    /// The lines of a file; none where it cannot be read.
    pub fn lines(&mut self, file: &str) -> &[String] {
        self.0.entry(file.to_owned()).or_insert_with(|| {
            let here = std::fs::read_to_string(file);
            let built = || std::fs::read_to_string(Path::new(warpladder::SOURCE_ROOT).join(file));
            let text = here.or_else(|_| built()).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        })
    }

    /// The text of a line, empty where there is none.
    pub fn line(&mut self, place: &SourceLine) -> &str {
        let index = (place.line as usize).wrapping_sub(1);
        let lines = self.lines(&place.file);
        lines.get(index).map_or("", String::as_str)
    }
}

/// Whether a line only marks where an excerpt of a file begins or ends, for the book. Listings
/// leave such lines out.
pub fn is_anchor(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix("// ANCHOR");
    comment.is_some_and(|rest| rest.starts_with(':') || rest.starts_with("_END:"))
}

/// Up to three different ratios, else the range of them; a dash where there is none.
pub fn distinct(ratios: impl Iterator<Item = Option<f64>>) -> String {
    let mut ratios: Vec<f64> = ratios.flatten().collect();
    ratios.sort_by(f64::total_cmp);
    ratios.dedup();
    match ratios.as_slice() {
        [] => "-".to_owned(),
        [least, .., most] if ratios.len() > 3 => format!("{least:.2} to {most:.2}"),
        few => {
            let texts: Vec<String> = few.iter().map(|ratio| format!("{ratio:.2}")).collect();
            texts.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{distinct, is_anchor};

    #[test]
    fn anchors_are_comments_of_one_form() {
        assert!(is_anchor("    // ANCHOR: body") && is_anchor("// ANCHOR_END: body"));
        assert!(!is_anchor("// An anchor: body") && !is_anchor("let x = 1; // ANCHOR: body"));
    }

    #[test]
    fn ratios_stand_once_each() {
        let text = |ratios: &[f64]| distinct(ratios.iter().copied().map(Some));
        assert_eq!(text(&[32.0, 1.0, 32.0]), "1.00, 32.00");
        assert_eq!(text(&[4.0, 3.0, 2.0, 1.0]), "1.00 to 4.00");
        assert_eq!(distinct([None].into_iter()), "-");
    }
}
