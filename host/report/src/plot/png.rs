//! Plots as pictures of pixels.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Options, Tree};

/// Pixels of a picture for each of the plot's.
const SCALE: f32 = 2.0;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// There is nothing to write with.
    #[error("this machine has no fonts: install some, such as DejaVu Sans, or leave out --png")]
    NoFonts,
    /// The SVG cannot be read.
    #[error("cannot read the plot: {0}")]
    Svg(#[from] resvg::usvg::Error),
    /// It has no extent.
    #[error("the plot has no extent")]
    Extent,
    /// It cannot be encoded.
    #[error("cannot encode the picture: {0}")]
    Encode(String),
}

/// Draws an SVG with the fonts of this machine on white, two pixels for each of its own, as PNG.
///
/// # Errors
/// See [`PngError`].
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    choose_sans_serif(fonts)?;
    let tree = Tree::from_str(svg, &options)?;
    let size = tree.size().to_int_size();
    let size = size.scale_by(SCALE).ok_or(PngError::Extent)?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or(PngError::Extent)?;
    pixels.fill(Color::WHITE);
    let scale = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    let encoded = pixels.encode_png();
    encoded.map_err(|error| PngError::Encode(error.to_string()))
}

/// Makes a font that is there the one without serifs, where the usual one is not: text without a
/// font is left out.
fn choose_sans_serif(fonts: &mut Database) -> Result<(), PngError> {
    let usual = Query {
        families: &[Family::SansSerif],
        ..Query::default()
    };
    if fonts.query(&usual).is_some() {
        return Ok(());
    }
    let names = fonts.faces().filter(|face| !face.monospaced);
    let names = names.filter_map(|face| Some(face.families.first()?.0.clone()));
    let is_serif = |name: &String| !name.contains("Sans");
    let name = names.min_by_key(is_serif).ok_or(PngError::NoFonts)?;
    fonts.set_sans_serif_family(name);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_text_of_its_plot() {
        let svg = |text: &str| {
            format!(
                "<svg width=\"60\" height=\"20\" xmlns=\"http://www.w3.org/2000/svg\">\
         <text x=\"2\" y=\"15\" \
                 font-family=\"sans-serif\" font-size=\"13\">{text}</text></svg>"
            )
        };
        let picture = match png(&svg("text")) {
            Err(PngError::NoFonts) => {
                println!("skipped: this machine has no fonts");
                return;
            }
            other => other.unwrap(),
        };
        assert!(picture.starts_with(b"\x89PNG"));
        assert_ne!(picture, png(&svg("")).unwrap());
    }
}
