//! The few elements of SVG that pictures of memory consist of, with style by class.

use std::fmt::Write as _;

/// Colours of a light page, and of a dark one.
const STYLE: &str = "\
text{font-family:sans-serif;font-size:12px;fill:#1f2328}.title{font-size:15px;font-weight:bold}\
.head{font-family:monospace;font-size:13px}.note,.bank{fill:#59636e}.bank,.lane{font-size:10px;\
text-anchor:middle}.page{fill:#fff}.frame{fill:none;stroke:#d1d9e0}.cell{fill:#0969da}\
.high{fill:#fff}@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note,.bank{fill:#9198a1}\
.page{fill:#0d1117}.frame{stroke:#3d444d}.cell{fill:#58a6ff}.high{fill:#0d1117}}";

/// A picture that is being drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Svg {
    body: String,
}

impl Svg {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Text of this class, whose base line begins at `x` and `y`.
    pub(super) fn text(&mut self, class: &str, x: u32, y: u32, text: &str) {
        let text = escaped(text);
        _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x}" y="{y}">{text}</text>"#
        );
    }

    /// A frame that is not filled.
    pub(super) fn frame(&mut self, x: u32, y: u32, width: u32, height: u32) {
        _ = writeln!(
            self.body,
            r#"<rect class="frame" x="{x}" y="{y}" width="{width}" height="{height}"/>"#
        );
    }

    /// A cell in the shade of a lane, with its label and what a pointer on it is told.
    pub(super) fn cell(
        &mut self,
        at: [u32; 2],
        size: [u32; 2],
        lane: usize,
        label: &str,
        says: &str,
    ) {
        let ([x, y], [width, height]) = (at, size);
        // From a quarter to all of the colour, in steps that a sheet of paper shows.
        let shade = 25 + 75 * lane as u32 / 31;
        let high = if shade > 72 { " high" } else { "" };
        let (label, says) = (escaped(label), escaped(says));
        let (middle, line) = (x + width / 2, y + height - 4);
        _ = writeln!(
            self.body,
            r#"<g><title>{says}</title><rect class="cell" x="{x}" y="{y}" width="{width}" height="{height}" fill-opacity="{}.{:02}"/><text class="lane{high}" x="{middle}" y="{line}">{label}</text></g>"#,
            shade / 100,
            shade % 100
        );
    }

    /// The whole picture; `description` is its text alternative.
    pub(super) fn finish(self, width: u32, height: u32, title: &str, description: &str) -> String {
        let (title, description) = (escaped(title), escaped(description));
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<title id="title">{title}</title>
<desc id="desc">{description}</desc>
<style>{STYLE}</style>
<rect class="page" width="{width}" height="{height}"/>
{}</svg>
"#,
            self.body
        )
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut svg = Svg::new();
        svg.text("note", 1, 2, "a < b & c");
        let picture = svg.finish(10, 10, "\"t\"", "d");
        assert!(picture.contains("a &lt; b &amp; c"), "{picture}");
        assert!(picture.contains("&quot;t&quot;"), "{picture}");
    }
}
