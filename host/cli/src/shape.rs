//! Sizes and layouts on the command line: one way to give them, for all commands.

mod random;

use super::choices::one_of;
use anyhow::bail;
use random::{AskedLayout, Distribution, LAYOUTS, Layouts, RandomArgs};
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
    /// What is drawn at random: `None` draws extents up to the default size.
    const DRAWN: Option<Distribution>;
    /// The least random extent in words.
    const MIN_WORDS: &'static str;
    /// The greatest one.
    const MAX_WORDS: &'static str;
    /// The work of a random product.
    const WORK_WORDS: &'static str;
}

/// Declares [`DefaultSize`]s.
macro_rules! default_sizes {
    ($($(#[$doc:meta])* $name:ident = $words:literal, up to $max:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone)]
            pub(super) struct $name;

            impl DefaultSize for $name {
                const WORDS: &'static str = $words;
                const DRAWN: Option<Distribution> = None;
                const MIN_WORDS: &'static str = "1";
                const MAX_WORDS: &'static str = $max;
                const WORK_WORDS: &'static str = "any";
            }
        )*
    };
}

default_sizes! {
    /// What runs on either engine.
    ByEngine = "4096 on a GPU, 256 on the emulator",
        up to "4096 on a GPU, 256 on the emulator";
    /// What is predicted, or timed on a GPU.
    Large = "4096", up to "4096";
    /// What is counted on the emulator.
    Emulated = "256", up to "256";
    /// What the sanitizers look at.
    Awkward = "small, and awkward where the kernel takes any", up to "128";
    /// Those of the sources.
    OfSources = "the sources' own on a GPU, small ones on the emulator", up to "256";
}

/// What is compared with a peer on a GPU: random sizes from few rows to what fills a GPU.
#[cfg(any(test, all(target_os = "linux", feature = "gpu")))]
#[derive(Clone, Debug)]
pub(super) struct Compared;

#[cfg(any(test, all(target_os = "linux", feature = "gpu")))]
impl DefaultSize for Compared {
    const WORDS: &'static str = Large::WORDS;
    const DRAWN: Option<Distribution> = Some(Distribution {
        min: 16,
        max: 8192,
        max_aligned: 16384,
        work: Some(random::Gflop(0.2, 600.0)),
    });
    const MIN_WORDS: &'static str = "16";
    const MAX_WORDS: &'static str = "8192, with --align 16384";
    const WORK_WORDS: &'static str = "0.2..600";
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
    #[command(flatten)]
    random: RandomArgs<D>,
    /// Seed of random sizes and layouts, and of the inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    gone: Gone,
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
    /// One that was given.
    #[cfg(test)]
    pub(super) const fn given(shape: Shape) -> Self {
        AskedShape {
            shape,
            is_random: false,
        }
    }

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
        !self.shapes.is_empty() || self.random.random.is_some()
    }

    /// The sizes that are given; `default` in each dimension where there are none. Random extents
    /// are up to `default`, unless the command or its arguments say otherwise.
    ///
    /// # Errors
    /// Where no size is as it was asked for.
    pub(super) fn each(&self, default: u32) -> anyhow::Result<Vec<AskedShape>> {
        self.each_of(default, true)
    }

    /// The same for kernels among which there is a product or not.
    fn each_of(&self, default: u32, has_product: bool) -> anyhow::Result<Vec<AskedShape>> {
        let given = self.shapes.iter().map(|&ShapeArg(shape)| AskedShape {
            shape,
            is_random: false,
        });
        let drawn = self.random.draw(default, self.seed, has_product)?;
        let drawn = drawn.into_iter().map(|shape| AskedShape {
            shape,
            is_random: true,
        });
        let mut asked: Vec<AskedShape> = given.chain(drawn).collect();
        if asked.is_empty() {
            asked.push(AskedShape {
                shape: square(default),
                is_random: false,
            });
        }
        Ok(asked)
    }

    /// The one size of a command that takes one.
    pub(super) fn one(&self, default: u32, rung: &Rung) -> anyhow::Result<Shape> {
        match self.each(default)?[..] {
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
pub(super) struct ProblemArgs<D: DefaultSize> {
    #[command(flatten)]
    pub shapes: Shapes<D>,
    /// How the operands of products are stored: as they are (n) or transposed (t), A first; several
    /// are parted by commas
    #[arg(
        long = "layout",
        value_parser = one_of(LAYOUTS),
        value_delimiter = ',',
        default_value = "nn",
        value_name = "LAYOUT"
    )]
    layouts: Vec<AskedLayout>,
}

impl<D: DefaultSize> ProblemArgs<D> {
    /// The problems, a size with all its layouts before the next one, for kernels among which there
    /// is a product or not.
    ///
    /// # Errors
    /// Where no size is as it was asked for.
    pub(super) fn each(&self, has_product: bool) -> anyhow::Result<Vec<(AskedShape, Layout)>> {
        let mut layouts = Layouts::new(self.shapes.seed);
        let mut problems = Vec::new();
        for shape in self.shapes.each_of(LARGEST, has_product)? {
            let each = self.layouts.iter().map(|&asked| (shape, layouts.of(asked)));
            problems.extend(each);
        }
        Ok(problems)
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
    use clap::Parser;
    use warpladder_lab::catalogue;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        shapes: Shapes<Large>,
    }

    #[derive(clap::Parser)]
    struct Comparison {
        #[command(flatten)]
        problems: ProblemArgs<Compared>,
    }

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
        let shapes = |seed: u64| {
            let words = ["", "--random", "50", "--seed", &seed.to_string()];
            Command::try_parse_from(words).unwrap().shapes
        };
        let drawn = shapes(7).each(256).unwrap();
        assert_eq!(drawn.len(), 50);
        assert_eq!(drawn, shapes(7).each(256).unwrap());
        assert_ne!(drawn, shapes(8).each(256).unwrap());
        for asked in drawn {
            let Shape { m, n, k } = asked.any();
            assert!([m, n, k].iter().all(|extent| (1..=256).contains(extent)));
            for rung in catalogue::rungs() {
                assert!(asked.of(rung).is_ok(), "{} {asked:?}", rung.name);
            }
        }
    }

    #[test]
    fn random_layouts_do_not_change_the_sizes() {
        let problems = |words: &str| {
            let words = words.split(' ');
            let parsed = Comparison::try_parse_from(std::iter::once("").chain(words));
            parsed.unwrap().problems.each(true).unwrap()
        };
        let as_they_are = problems("--random 20 --seed 3");
        let drawn = problems("--random 20 --seed 3 --layout random");
        let sizes =
            |of: &[(AskedShape, Layout)]| of.iter().map(|(size, _)| *size).collect::<Vec<_>>();
        assert_eq!(sizes(&as_they_are), sizes(&drawn));
        assert!(as_they_are.iter().all(|(_, layout)| *layout == Layout::Nn));
        assert!(drawn.iter().any(|(_, layout)| *layout != Layout::Nn));
        assert_eq!(problems("--shape 64 --layout nn,tt,random").len(), 3);
    }

    #[test]
    fn bounds_of_random_sizes_need_random_sizes() {
        for words in ["--min 16", "--max 64", "--align 8", "--work 1..2"] {
            let words = words.split(' ');
            let refused = Command::try_parse_from(std::iter::once("").chain(words));
            assert!(refused.is_err_and(|error| error.to_string().contains("--random")));
        }
    }
}
