//! Sizes and layouts on the command line: one way to give them, for all commands.

use super::choices::{LAYOUTS, one_of};
use anyhow::bail;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::str::FromStr;
use warpladder::gemm::layout::Layout;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::problem::Shape;
use warpladder_lab::run::{RunError, check_shape};

/// The size of a problem as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShapeArg(pub Shape);

/// What a command takes where no size is given.
pub(super) trait DefaultSize: Clone + Send + Sync + 'static {
    /// In words, for its help.
    const WORDS: &'static str;
}

/// Declares [`DefaultSize`]s.
macro_rules! default_sizes {
    ($($(#[$doc:meta])* $name:ident = $words:literal,)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone)]
            pub(super) struct $name;

            impl DefaultSize for $name {
                const WORDS: &'static str = $words;
            }
        )*
    };
}

default_sizes! {
    /// What runs on either engine.
    ByEngine = "4096 on a GPU, 256 on the emulator",
    /// What is predicted, or timed on a GPU.
    Large = "4096",
    /// What is counted on the emulator.
    Emulated = "256",
    /// What the sanitizers look at.
    Awkward = "small, and awkward where the kernel takes any",
    /// Those of the sources.
    OfSources = "the sources' own on a GPU, small ones on the emulator",
}

/// Largest extent of a random size, where a GPU or a model works on it.
const LARGEST: u32 = 4096;

/// Sizes of problems.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Shapes<D: DefaultSize> {
    #[arg(
        long = "shape",
        value_name = "SHAPE",
        value_delimiter = ',',
        help = format!(
            "Sizes: N for all dimensions, MxN or MxNxK, such as 1000x17x333; several are parted by \
             commas [default: {}]",
            D::WORDS
        )
    )]
    shapes: Vec<ShapeArg>,
    /// N sizes drawn at random, rounded up to what a kernel takes
    #[arg(long, value_name = "N")]
    random: Option<NonZeroU32>,
    /// Seed of random sizes, and of the inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    gone: Gone,
    #[arg(skip)]
    default: PhantomData<D>,
}

/// How sizes were given before; refused with how they are given now.
#[derive(clap::Args, Clone, Debug)]
struct Gone {
    #[arg(long, hide = true, value_parser = gone)]
    size: Option<u32>,
    #[arg(long, hide = true, value_parser = gone_extent)]
    m: Option<u32>,
    #[arg(long, hide = true, value_parser = gone_extent)]
    n: Option<u32>,
    #[arg(long, hide = true, value_parser = gone_extent)]
    k: Option<u32>,
}

fn gone(size: &str) -> Result<u32, String> {
    Err(format!("write --shape {size}"))
}

fn gone_extent(_: &str) -> Result<u32, String> {
    Err("write all extents as one, as in --shape 1000x17x333".to_owned())
}

/// A size that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AskedShape {
    shape: Shape,
    is_random: bool,
}

impl AskedShape {
    /// The size for a kernel: one that was given as it is, a random one rounded up to what the
    /// kernel takes.
    ///
    /// # Errors
    /// [`RunError::Shape`] where the kernel does not take it.
    pub(super) fn of(self, rung: &Rung) -> Result<Shape, RunError> {
        let shape = match self.is_random {
            true => rung.precondition.round_up(rung.operation, self.shape),
            false => self.shape,
        };
        check_shape(rung, shape)?;
        Ok(shape)
    }

    /// What stands above the results of the size.
    pub(super) fn heading(self) -> String {
        let Shape { m, n, k } = self.shape;
        match self.is_random {
            true => format!("at {m} x {n} x {k}, rounded up to what each kernel takes"),
            false => format!("at {m} x {n} x {k}"),
        }
    }

    /// The size, for kernels that take any.
    pub(super) const fn any(self) -> Shape {
        self.shape
    }
}

impl<D: DefaultSize> Shapes<D> {
    /// Whether any is given.
    pub(super) fn is_given(&self) -> bool {
        !self.shapes.is_empty() || self.random.is_some()
    }

    /// The sizes that are given; `default` in each dimension where there are none. Random extents
    /// are up to `default`, each power of two as likely as the others.
    pub(super) fn each(&self, default: u32) -> Vec<AskedShape> {
        let given = self.shapes.iter().map(|&ShapeArg(shape)| AskedShape {
            shape,
            is_random: false,
        });
        let mut asked: Vec<AskedShape> = given.collect();
        let mut rng = StdRng::seed_from_u64(self.seed);
        let mut extent = || {
            let exponent = rng.random_range(0.0..=f64::from(default).log2());
            exponent.exp2().round() as u32
        };
        for _ in 0..self.random.map_or(0, NonZeroU32::get) {
            let [m, n, k] = std::array::from_fn(|_| extent());
            asked.push(AskedShape {
                shape: Shape { m, n, k },
                is_random: true,
            });
        }
        if asked.is_empty() {
            asked.push(AskedShape {
                shape: square(default),
                is_random: false,
            });
        }
        asked
    }

    /// The one size of a command that takes one.
    pub(super) fn one(&self, default: u32, rung: &Rung) -> anyhow::Result<Shape> {
        match self.each(default)[..] {
            [one] => Ok(one.of(rung)?),
            ref several => bail!("{} sizes are given: this command takes one", several.len()),
        }
    }
}

const fn square(size: u32) -> Shape {
    Shape {
        m: size,
        n: size,
        k: size,
    }
}

/// Each of some sizes, in each of some layouts.
#[derive(clap::Args)]
pub(super) struct ProblemArgs {
    #[command(flatten)]
    pub shapes: Shapes<Large>,
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
    pub(super) fn each(&self) -> Vec<(AskedShape, Layout)> {
        let shapes = self.shapes.each(LARGEST).into_iter();
        let layouts = |shape| self.layouts.iter().map(move |&layout| (shape, layout));
        shapes.flat_map(layouts).collect()
    }
}

impl FromStr for ShapeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let extents: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
        let (m, n, k) = match extents.as_deref() {
            Ok(&[size]) => (size, size, size),
            Ok(&[m, n]) => (m, n, n),
            Ok(&[m, n, k]) => (m, n, k),
            _ => {
                return Err(
                    "a size is one to three whole numbers parted by x: N, MxN or MxNxK, such as \
                     4096 or 1000x17x333"
                        .to_owned(),
                );
            }
        };
        if [m, n, k].contains(&0) {
            return Err("an extent of 0 leaves nothing to compute: give 1 or more".to_owned());
        }
        Ok(ShapeArg(Shape { m, n, k }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_lab::catalogue;

    #[test]
    fn shapes_are_one_to_three_numbers_above_0() {
        let parse = |text: &str| text.parse::<ShapeArg>().map(|ShapeArg(shape)| shape);
        let shape = |m, n, k| Ok(Shape { m, n, k });
        assert_eq!(parse("64"), shape(64, 64, 64));
        assert_eq!(parse("3x5"), shape(3, 5, 5));
        assert_eq!(parse("1000x17x333"), shape(1000, 17, 333));
        for wrong in ["", "x", "1x2x3x4", "-1", "1.5", "8 x 8", "0", "3x0x5"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn random_sizes_are_drawn_by_the_seed_and_suit_each_kernel() {
        let shapes = |seed| Shapes::<Large> {
            shapes: Vec::new(),
            random: NonZeroU32::new(50),
            seed,
            gone: Gone {
                size: None,
                m: None,
                n: None,
                k: None,
            },
            default: PhantomData,
        };
        let drawn = shapes(7).each(256);
        assert_eq!(drawn.len(), 50);
        assert_eq!(drawn, shapes(7).each(256));
        assert_ne!(drawn, shapes(8).each(256));
        for asked in drawn {
            let Shape { m, n, k } = asked.any();
            assert!([m, n, k].iter().all(|extent| (1..=256).contains(extent)));
            for rung in catalogue::rungs() {
                assert!(asked.of(rung).is_ok(), "{} {asked:?}", rung.name);
            }
        }
    }
}
