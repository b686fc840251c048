//! Plots as SVG: ladders of bars, curves, and rooflines.
//!
//! Each plot is drawn for two widths, so that its text can be read on a telephone as on a screen.
//! Colours are attributes of a light page; [`style_sheet`] turns them into those of a dark one.

mod bars;
mod canvas;
mod lines;
#[cfg(feature = "png")]
mod png;
mod roofline;

pub use bars::{Bar, Bars, Level};
pub use canvas::{DrawError, Ink, Mark, style_sheet};
pub use lines::{Lines, Series};
#[cfg(feature = "png")]
pub use png::{PngError, png};
pub use roofline::{Group, Kernel, Roofline};

use plotters::prelude::{IntoDrawingArea, SVGBackend};

/// A plot with what is said about it.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Its file name, without an ending.
    pub name: String,
    /// What it shows, as a heading.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// What is drawn.
    pub chart: Chart,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub enum Chart {
    /// Bars.
    Bars(Bars),
    /// Curves.
    Lines(Lines),
    /// A roofline.
    Roofline(Roofline),
}

/// A part of a plot that says something while a pointer rests on it.
#[derive(Clone, Debug)]
struct Hover {
    /// Its left and top, in pixels.
    at: (i32, i32),
    /// Its width and height.
    extent: (i32, i32),
    /// What is said.
    text: String,
}

impl Hover {
    /// Around a point.
    fn around((x, y): (i32, i32), text: String) -> Self {
        const REACH: i32 = 7;
        Hover {
            at: (x - REACH, y - REACH),
            extent: (2 * REACH, 2 * REACH),
            text,
        }
    }

    /// As an invisible rectangle with a title.
    fn svg(&self) -> String {
        let (x, y) = self.at;
        let (width, height) = self.extent;
        let text = escaped(&self.text);
        format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\">\
             <title>{text}</title></rect>\n"
        )
    }
}

/// Text as it stands between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// How wide a plot is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// For a screen: 760 pixels.
    Wide,
    /// For a telephone: 320 pixels.
    Narrow,
}

impl Size {
    /// Width, in pixels.
    pub const fn width(self) -> u32 {
        match self {
            Size::Wide => 760,
            Size::Narrow => 320,
        }
    }

    fn is_narrow(self) -> bool {
        self == Size::Narrow
    }
}

impl Chart {
    /// Draws it, as an `svg` element.
    ///
    /// # Errors
    /// Those of the drawing library.
    pub fn svg(&self, size: Size) -> Result<String, DrawError> {
        let height = match self {
            Chart::Bars(bars) => bars.height(size),
            Chart::Lines(lines) => lines.height(size),
            Chart::Roofline(roofline) => roofline.height(size),
        };
        let mut svg = String::new();
        let hovers = {
            let area =
                SVGBackend::with_string(&mut svg, (size.width(), height)).into_drawing_area();
            let hovers = match self {
                Chart::Bars(bars) => bars.draw(&area, size)?,
                Chart::Lines(lines) => lines.draw(&area, size)?,
                Chart::Roofline(roofline) => roofline.draw(&area, size)?,
            };
            area.present()?;
            hovers
        };
        let hovers: String = hovers.iter().map(Hover::svg).collect();
        if let Some(end) = svg.rfind("</svg>") {
            let group = format!("<g class=\"hover\" fill=\"transparent\">\n{hovers}</g>\n");
            svg.insert_str(end, &group);
        }
        Ok(svg)
    }
}

/// Room around a plot that is a file of its own, in pixels.
const MARGIN: u32 = 20;
/// Size and line height of its title.
const TITLE: (u32, u32) = (18, 24);
/// Line height of its caption.
const CAPTION: u32 = 19;

impl Plot {
    /// The plot as a file of its own: with margins, its title and its caption, and the colours of a
    /// dark page where the reader prefers them.
    ///
    /// # Errors
    /// Those of the drawing library.
    pub fn file(&self) -> Result<String, DrawError> {
        let dark = format!(
            "<style>svg text{{paint-order:stroke;stroke:#fff;stroke-width:3px}}@media \
             (prefers-color-scheme:dark){{.page{{fill:#0d1117}}svg \
             text{{stroke:#0d1117}}{}}}</style>\n",
            style_sheet()
        );
        self.framed(&dark)
    }

    /// The same in the colours of a light page alone, for what knows no style sheets.
    ///
    /// # Errors
    /// Those of the drawing library.
    pub fn light_file(&self) -> Result<String, DrawError> {
        self.framed("")
    }

    fn framed(&self, style: &str) -> Result<String, DrawError> {
        let chart = self.chart.svg(Size::Wide)?;
        let inner = Size::Wide.width();
        let height = attribute(&chart, "height").unwrap_or(0);
        let title = lines(&self.title, inner * 16 / (10 * TITLE.0));
        let caption = lines(&self.caption, (f64::from(inner) / canvas::CHARACTER) as u32);
        let top = MARGIN + title.len() as u32 * TITLE.1 + MARGIN / 2;
        let below = top + height + MARGIN / 2;
        let whole = below + caption.len() as u32 * CAPTION + MARGIN;
        let width = inner + 2 * MARGIN;
        let text = |lines: &[String], from: u32, step: u32, size: u32, more: &str| -> String {
            let rows = (from..).step_by(step as usize).zip(lines);
            rows.map(|(y, line)| {
                let line = escaped(line);
                format!(
                    "<text x=\"{MARGIN}\" y=\"{y}\" font-family=\"sans-serif\" \
                     font-size=\"{size}\" {more}>{line}</text>\n"
                )
            })
            .collect()
        };
        let bold = "font-weight=\"600\" fill=\"#1F2328\"";
        let heading = text(&title, MARGIN + TITLE.0, TITLE.1, TITLE.0, bold);
        let muted = "fill=\"#59636E\"";
        let caption = text(&caption, below + CAPTION - 5, CAPTION, canvas::TEXT, muted);
        let chart = chart.trim_start_matches("<svg");
        let name = escaped(&self.title);
        Ok(format!(
            "<svg width=\"{width}\" height=\"{whole}\" viewBox=\"0 0 {width} {whole}\" \
             role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">\n<title>{name}</title>\n{style}\
             <rect class=\"page\" width=\"{width}\" height=\"{whole}\" fill=\"#FFFFFF\"/>\n\
             {heading}<svg x=\"{MARGIN}\" y=\"{top}\"{chart}{caption}</svg>\n"
        ))
    }
}

/// A number among the attributes of the first tag.
fn attribute(svg: &str, name: &str) -> Option<u32> {
    let (_, rest) = svg.split_once(&format!(" {name}=\""))?;
    rest.split_once('"')?.0.parse().ok()
}

/// A text in lines of at most a number of characters, broken between words.
fn lines(text: &str, most: u32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < most as usize => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_margins_its_title_and_its_caption() {
        let bar = Bar {
            label: "naive".to_owned(),
            value: Some(2.0),
            predicted: Some(1.5),
            percent: Some(50.0),
            hover: "naive: 2 < 3".to_owned(),
        };
        let plot = Plot {
            name: "ladder".to_owned(),
            title: "One & two ".repeat(20),
            caption: "Longer is faster. ".repeat(20),
            chart: Chart::Bars(Bars {
                unit: "GB/s",
                bars: vec![bar],
                levels: Vec::new(),
            }),
        };
        let svg = plot.file().unwrap();
        let (width, height) = (attribute(&svg, "width"), attribute(&svg, "height"));
        assert_eq!(width, Some(760 + 2 * MARGIN));
        assert_eq!(svg.matches("<svg").count(), 2);
        assert_eq!(svg.matches("</svg>").count(), 2);
        let inner = svg.rsplit_once("<svg").unwrap().1;
        let (y, inner) = (
            attribute(inner, "y").unwrap(),
            attribute(inner, "height").unwrap(),
        );
        assert!(y > 2 * TITLE.1 && y + inner + 3 * CAPTION < height.unwrap());
        for part in [
            "<title>One &amp; two",
            "naive: 2 &lt; 3",
            "2 GB/s · 50 %",
            "prefers-color",
        ] {
            assert!(svg.contains(part), "{part}");
        }
        let longest = lines(&plot.title, 40).iter().map(String::len).max();
        assert!(longest.is_some_and(|longest| longest <= 40));
        assert!(!plot.light_file().unwrap().contains("<style"));
    }
}
