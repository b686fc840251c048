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

pub use bars::{Bar, Bars};
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
        {
            let area =
                SVGBackend::with_string(&mut svg, (size.width(), height)).into_drawing_area();
            match self {
                Chart::Bars(bars) => bars.draw(&area, size)?,
                Chart::Lines(lines) => lines.draw(&area, size)?,
                Chart::Roofline(roofline) => roofline.draw(&area, size)?,
            }
            area.present()?;
        }
        Ok(svg)
    }
}

impl Plot {
    /// The plot as a file of its own: with its title, and the colours of a dark page where the
    /// reader prefers them.
    ///
    /// # Errors
    /// Those of the drawing library.
    pub fn file(&self) -> Result<String, DrawError> {
        let svg = self.chart.svg(Size::Wide)?;
        let title = self.title.replace('&', "&amp;").replace('<', "&lt;");
        let style = style_sheet();
        let head = format!(
            "<title>{title}</title>\n<style>svg{{background:#fff}}@media \
             (prefers-color-scheme:dark){{svg{{background:#0d1117}}{style}}}</style>\n"
        );
        let start = svg.find('>').map_or(0, |end| end + 1);
        Ok(format!("{}\n{head}{}", &svg[..start], &svg[start..]))
    }
}
