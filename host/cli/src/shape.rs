//! Sizes and layouts on the command line.

use super::choices::{LAYOUTS, one_of};
use std::str::FromStr;
use warpladder::gemm::layout::Layout;
use warpladder_lab::problem::Shape;

/// The size of a problem as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShapeArg(pub Shape);

/// Each of some sizes, in each of some layouts.
#[derive(clap::Args)]
pub(super) struct ProblemArgs {
    /// A size: N for all dimensions, MxN or MxNxK; may be given several times
    #[arg(long = "shape", value_name = "SHAPE", default_value = "4096")]
    shapes: Vec<ShapeArg>,
    /// How the operands of products are stored: as they are (n) or transposed (t), A first; several
    /// are parted by commas
    #[arg(
        long = "layout",
        value_parser = one_of(LAYOUTS),
        value_delimiter = ',',
        default_value = "nn",
        value_name = "LAYOUT"
    )]
    layouts: Vec<Layout>,
}

impl ProblemArgs {
    /// The problems, a size with all its layouts before the next one.
    pub(super) fn each(&self) -> impl Iterator<Item = (Shape, Layout)> {
        let shapes = self.shapes.iter();
        shapes.flat_map(|&ShapeArg(shape)| self.layouts.iter().map(move |&layout| (shape, layout)))
    }
}

impl FromStr for ShapeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let extents: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
        match extents.as_deref() {
            Ok(&[size]) => Ok(ShapeArg(Shape {
                m: size,
                n: size,
                k: size,
            })),
            Ok(&[m, n]) => Ok(ShapeArg(Shape { m, n, k: n })),
            Ok(&[m, n, k]) => Ok(ShapeArg(Shape { m, n, k })),
            _ => Err("give N, MxN or MxNxK, such as 4096 or 1000x17x333".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_one_to_three_numbers() {
        let parse = |text: &str| text.parse::<ShapeArg>().map(|ShapeArg(shape)| shape);
        let shape = |m, n, k| Ok(Shape { m, n, k });
        assert_eq!(parse("64"), shape(64, 64, 64));
        assert_eq!(parse("3x5"), shape(3, 5, 5));
        assert_eq!(parse("1000x17x333"), shape(1000, 17, 333));
        for wrong in ["", "x", "1x2x3x4", "-1", "1.5", "8 x 8"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
