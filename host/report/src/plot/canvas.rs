//! Text, lines and marks in the few colours of the plots.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A colour of a plot by its purpose. As attributes of an SVG they are those of a light page; a
/// style sheet that knows them gives them others on a dark one: see [`style_sheet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Text.
    Text,
    /// Text that stands back, and axes.
    Muted,
    /// Lines of a grid.
    Grid,
    /// What was measured.
    Measured,
    /// What was predicted.
    Predicted,
    /// A peer, or a second series.
    Second,
    /// A third series.
    Third,
    /// A fourth series.
    Fourth,
}

impl Ink {
    const ALL: [Ink; 8] = [
        Ink::Text,
        Ink::Muted,
        Ink::Grid,
        Ink::Measured,
        Ink::Predicted,
        Ink::Second,
        Ink::Third,
        Ink::Fourth,
    ];

    /// Red, green and blue on a light page and on a dark one; each has a contrast of at least 4.5
    /// with the page, but for the grid.
    const fn colours(self) -> [u32; 2] {
        match self {
            Ink::Text => [0x1f2328, 0xe6edf3],
            Ink::Muted => [0x59636e, 0x9198a1],
            Ink::Grid => [0xd1d9e0, 0x3d444d],
            Ink::Measured => [0x0969da, 0x58a6ff],
            Ink::Predicted => [0xbc4c00, 0xf0883e],
            Ink::Second => [0x1a7f37, 0x3fb950],
            Ink::Third => [0x8250df, 0xbc8cff],
            Ink::Fourth => [0xbf3989, 0xf778ba],
        }
    }

    pub(super) const fn colour(self) -> RGBColor {
        let [_, red, green, blue] = self.colours()[0].to_be_bytes();
        RGBColor(red, green, blue)
    }
}

/// Rules that give the plots of a page the colours of a dark one: selectors are the attributes that
/// plots have.
pub fn style_sheet() -> String {
    let rule = |ink: &Ink| {
        let [light, dark] = ink.colours();
        format!(
            "svg [fill=\"#{light:06X}\"]{{fill:#{dark:06x}}}svg \
             [stroke=\"#{light:06X}\"]{{stroke:#{dark:06x}}}"
        )
    };
    Ink::ALL.iter().map(rule).collect()
}

/// What drawing into a string can come to.
pub(super) type Drawn<T = ()> = Result<T, DrawError>;
/// An error of the drawing library.
pub type DrawError = DrawingAreaErrorKind<std::io::Error>;

/// A part of a plot, in pixels.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Size of text, in pixels.
pub(super) const TEXT: u32 = 13;
/// Width of a character of a wide font, in pixels: plots are laid out without the reader's.
pub(super) const CHARACTER: f64 = 7.9;

/// Width of a text, in pixels, and a little more: a name of many wide letters, such as
/// `wgmma_f16`, is a tenth wider than its count of characters says.
pub(super) fn width_of(text: &str) -> i32 {
    let width = |c: char| match c {
        'm' | 'M' | 'W' | '%' | '@' => 13.0,
        'w' => 10.8,
        c if c.is_uppercase() => 10.0,
        c if c.is_ascii_digit() => 8.3,
        _ => CHARACTER,
    };
    text.chars().map(width).sum::<f64>().ceil() as i32
}

/// The style of text in this colour.
pub(super) fn text_style(ink: Ink, anchor: HPos) -> TextStyle<'static> {
    // The library draws at 1 / 1.24 of the size that it is given.
    let size = f64::from(TEXT) * 1.24;
    ("sans-serif", size)
        .into_font()
        .color(&ink.colour())
        .pos(Pos::new(anchor, VPos::Center))
}

pub(super) fn text(area: &Area<'_>, ink: Ink, anchor: HPos, at: (i32, i32), text: &str) -> Drawn {
    area.draw(&Text::new(text.to_owned(), at, text_style(ink, anchor)))
}

pub(super) fn rectangle(area: &Area<'_>, ink: Ink, from: (i32, i32), to: (i32, i32)) -> Drawn {
    area.draw(&Rectangle::new([from, to], ink.colour().filled()))
}

/// A rectangle that is not filled.
pub(super) fn outline(area: &Area<'_>, ink: Ink, from: (i32, i32), to: (i32, i32)) -> Drawn {
    let style = ink.colour().stroke_width(2);
    area.draw(&Rectangle::new([from, to], style))
}

pub(super) fn line(
    area: &Area<'_>,
    ink: Ink,
    width: u32,
    from: (i32, i32),
    to: (i32, i32),
) -> Drawn {
    area.draw(&PathElement::new(
        vec![from, to],
        ink.colour().stroke_width(width),
    ))
}

/// How a point is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A disc.
    Disc,
    /// A circle.
    Circle,
    /// A short line that stands.
    Line,
}

pub(super) fn mark(area: &Area<'_>, ink: Ink, mark: Mark, at: (i32, i32)) -> Drawn {
    let style = ink.colour();
    match mark {
        Mark::Disc => area.draw(&Circle::new(at, 4, style.filled())),
        Mark::Circle => area.draw(&Circle::new(at, 4, style.stroke_width(2))),
        Mark::Line => line(area, ink, 3, (at.0, at.1 - 7), (at.0, at.1 + 7)),
    }
}

/// An entry of a legend.
pub(super) struct Entry<'a> {
    pub ink: Ink,
    pub mark: Mark,
    pub name: &'a str,
}

const ENTRY_HEIGHT: i32 = 20;

/// Where the entries of a legend stand, in as many lines as the width asks for, and its height.
fn layout(width: i32, entries: &[Entry<'_>]) -> (Vec<(i32, i32)>, i32) {
    let (mut x, mut y) = (0, 0);
    let place = |entry: &Entry<'_>| {
        let needed = 16 + width_of(entry.name) + 12;
        if x > 0 && x + needed > width {
            x = 0;
            y += ENTRY_HEIGHT;
        }
        let at = (x, y + ENTRY_HEIGHT / 2);
        x += needed;
        at
    };
    let places = entries.iter().map(place).collect();
    (places, y + ENTRY_HEIGHT)
}

/// Draws a legend at the top; returns its height.
pub(super) fn legend(area: &Area<'_>, entries: &[Entry<'_>]) -> Result<i32, DrawError> {
    let (places, height) = layout(area.dim_in_pixel().0 as i32, entries);
    for (entry, (x, y)) in entries.iter().zip(places) {
        mark(area, entry.ink, entry.mark, (x + 6, y))?;
        text(area, Ink::Text, HPos::Left, (x + 16, y), entry.name)?;
    }
    Ok(height)
}

/// Height of a legend in a plot of this width.
pub(super) fn legend_height(width: u32, entries: &[Entry<'_>]) -> i32 {
    layout(width as i32, entries).1
}

/// Height of the numbers and the name along x.
pub(super) const X_LABELS: i32 = 44;
/// Width of the numbers along y.
pub(super) const Y_LABELS: u32 = 58;
/// Height of the unit of y, and of the room around it.
const UNIT_HEIGHT: i32 = TEXT as i32 + 4;

/// Height of a plot with axes: its head, so much for the curves, and the numbers along x.
pub(super) fn height_with_axes(width: u32, entries: &[Entry<'_>], curves: i32) -> u32 {
    (legend_height(width, entries) + UNIT_HEIGHT + 8 + curves + X_LABELS) as u32
}

/// Draws the head of a plot with axes, which is its legend and the unit of y; returns the area
/// below.
pub(super) fn head<'a>(
    area: &Area<'a>,
    entries: &[Entry<'_>],
    unit: &str,
) -> Result<Area<'a>, DrawError> {
    let legend = legend(area, entries)?;
    text(area, Ink::Muted, HPos::Left, (0, legend + 8), unit)?;
    Ok(area.split_vertically(legend + UNIT_HEIGHT).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_its_rule_and_no_other() {
        let sheet = style_sheet();
        for ink in Ink::ALL {
            let RGBColor(red, green, blue) = ink.colour();
            let selector = format!("[fill=\"#{red:02X}{green:02X}{blue:02X}\"]");
            assert_eq!(sheet.matches(&selector).count(), 1, "{ink:?}");
        }
    }
}
