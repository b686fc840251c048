//! Sizes drawn at random: one way for all commands.

use super::DefaultSize;
use crate::choices::Words;
use anyhow::bail;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::str::FromStr;
use warpladder::gemm::layout::Layout;
use warpladder_lab::problem::Shape;

/// What is drawn where the arguments leave it open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Distribution {
    /// Least extent.
    pub min: u32,
    /// Greatest extent.
    pub max: u32,
    /// The same of extents that are multiples of a number.
    pub max_aligned: u32,
    /// Work of a product.
    pub work: Option<Gflop>,
}

/// The least and the greatest work of a product, in 10⁹ floating-point operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gflop(pub f64, pub f64);

/// Which sizes are drawn at random.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct RandomArgs<D: DefaultSize> {
    /// N sizes drawn at random, rounded up to what a kernel takes: extents whose logarithms are
    /// evenly distributed
    #[arg(long, value_name = "N")]
    pub(super) random: Option<NonZeroU32>,
    #[arg(
        long,
        value_name = "E",
        requires = "random",
        help = format!("Least extent of a random size [default: {}]", D::MIN_WORDS)
    )]
    pub(super) min: Option<NonZeroU32>,
    #[arg(
        long,
        value_name = "E",
        requires = "random",
        help = format!("Greatest extent of a random size [default: {}]", D::MAX_WORDS)
    )]
    pub(super) max: Option<NonZeroU32>,
    /// Random extents are multiples of A [default: 1]
    #[arg(long, value_name = "A", requires = "random")]
    pub(super) align: Option<NonZeroU32>,
    #[arg(
        long,
        value_name = "LOW..HIGH",
        requires = "random",
        help = format!(
            "Least and greatest work of a random product, in GFLOP [default: {}]",
            D::WORK_WORDS
        )
    )]
    pub(super) work: Option<Gflop>,
    #[arg(skip)]
    pub(super) default: PhantomData<D>,
}

impl<D: DefaultSize> RandomArgs<D> {
    /// The sizes that are asked for, with `default` as the greatest extent of a command without a
    /// distribution of its own. Where there is no product, two extents are drawn, and k is n.
    ///
    /// # Errors
    /// Where no size, or hardly any, is one of them.
    pub(super) fn draw(
        &self,
        default: u32,
        seed: u64,
        has_product: bool,
    ) -> anyhow::Result<Vec<Shape>> {
        let Some(count) = self.random else {
            return Ok(Vec::new());
        };
        let all = D::DRAWN.unwrap_or(Distribution {
            min: 1,
            max: default,
            max_aligned: default,
            work: None,
        });
        let align = self.align.map_or(1, NonZeroU32::get);
        let max = if align > 1 { all.max_aligned } else { all.max };
        let work = match (has_product, self.work) {
            (false, Some(_)) => bail!("no kernel here is a product: leave out --work"),
            (false, None) => None,
            (true, work) => work.or(all.work),
        };
        let extents = Extents::new(
            self.min.map_or(all.min, NonZeroU32::get),
            self.max.map_or(max, NonZeroU32::get),
            align,
        )?;
        extents.shapes(count.get(), seed, has_product, work)
    }
}

/// Extents that may be drawn: multiples of a number.
#[derive(Clone, Copy, Debug)]
struct Extents {
    min: u32,
    max: u32,
    align: u32,
    /// The least and the greatest such multiple.
    first: u32,
    last: u32,
}

/// Draws before a size is given up. Of sizes with the default extents, two in five are of the
/// default work.
const ATTEMPTS: usize = 100_000;

impl Extents {
    fn new(min: u32, max: u32, align: u32) -> anyhow::Result<Self> {
        if min > max {
            bail!("no extent is from {min} to {max}: change --min or --max");
        }
        let last = max / align * align;
        match min.checked_next_multiple_of(align) {
            Some(first) if first <= last => Ok(Extents {
                min,
                max,
                align,
                first,
                last,
            }),
            _ => bail!(
                "no multiple of {align} is from {min} to {max}: change --align, --min or --max"
            ),
        }
    }

    fn draw(&self, rng: &mut StdRng) -> u32 {
        let [low, high] = [self.min, self.max].map(|extent| f64::from(extent).log2());
        let drawn = rng.random_range(low..=high).exp2();
        let align = f64::from(self.align);
        let nearest = (drawn / align).round() * align;
        (nearest as u32).clamp(self.first, self.last)
    }

    fn shapes(
        &self,
        count: u32,
        seed: u64,
        has_product: bool,
        work: Option<Gflop>,
    ) -> anyhow::Result<Vec<Shape>> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut one = || {
            let [m, n] = std::array::from_fn(|_| self.draw(&mut rng));
            let k = if has_product { self.draw(&mut rng) } else { n };
            Shape { m, n, k }
        };
        let is_wanted = |shape: &Shape| work.is_none_or(|work| work.holds(*shape));
        let mut shapes = Vec::new();
        for _ in 0..count {
            let Some(shape) = (0..ATTEMPTS).map(|_| one()).find(is_wanted) else {
                let Gflop(low, high) = work.unwrap_or(Gflop(0.0, f64::INFINITY));
                bail!(
                    "hardly any product with extents from {} to {} takes {low} to {high} GFLOP: \
                     change --min, --max or --work",
                    self.first,
                    self.last
                );
            };
            shapes.push(shape);
        }
        Ok(shapes)
    }
}

impl Gflop {
    fn holds(self, Shape { m, n, k }: Shape) -> bool {
        let gflop = 2e-9 * f64::from(m) * f64::from(n) * f64::from(k);
        (self.0..=self.1).contains(&gflop)
    }
}

impl FromStr for Gflop {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
        match text
            .split_once("..")
            .map(|(low, high)| (number(low), number(high)))
        {
            Some((Some(low), Some(high))) if low < high => Ok(Gflop(low, high)),
            _ => {
                Err("give the least and the greatest number of GFLOP, such as 0.2..600".to_owned())
            }
        }
    }
}

/// A layout, or one that is drawn for each size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskedLayout {
    /// This one.
    Of(Layout),
    /// One of the four.
    Random,
}

/// The words of layouts.
pub(super) const LAYOUTS: Words<AskedLayout> = &[
    ("nn", "Both as they are", AskedLayout::Of(Layout::Nn)),
    ("nt", "B transposed", AskedLayout::Of(Layout::Nt)),
    ("tn", "A transposed", AskedLayout::Of(Layout::Tn)),
    ("tt", "Both transposed", AskedLayout::Of(Layout::Tt)),
    (
        "random",
        "One of these, drawn for each size by the seed",
        AskedLayout::Random,
    ),
];

/// Draws layouts. They are a sequence of their own: the sizes of a seed do not depend on them.
pub(super) struct Layouts(StdRng);

impl Layouts {
    pub(super) fn new(seed: u64) -> Self {
        Layouts(StdRng::seed_from_u64(seed ^ 0x6c61_796f_7574))
    }

    pub(super) fn of(&mut self, asked: AskedLayout) -> Layout {
        const ALL: [Layout; 4] = [Layout::Nn, Layout::Nt, Layout::Tn, Layout::Tt];
        match asked {
            AskedLayout::Of(layout) => layout,
            AskedLayout::Random => ALL[self.0.random_range(0..ALL.len())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Compared, Large};
    use super::*;

    fn args<D: DefaultSize>(count: u32) -> RandomArgs<D> {
        RandomArgs {
            random: NonZeroU32::new(count),
            min: None,
            max: None,
            align: None,
            work: None,
            default: PhantomData,
        }
    }

    fn extents(shapes: &[Shape]) -> Vec<u32> {
        shapes
            .iter()
            .flat_map(|&Shape { m, n, k }| [m, n, k])
            .collect()
    }

    #[test]
    fn products_to_compare_are_of_the_stated_extents_and_work() {
        let shapes = args::<Compared>(300).draw(4096, 7, true).unwrap();
        assert_eq!(shapes.len(), 300);
        let all = extents(&shapes);
        assert!(all.iter().all(|extent| (16..=8192).contains(extent)));
        assert!(shapes.iter().all(|&shape| Gflop(0.2, 600.0).holds(shape)));
        // Small and large ones, even and odd ones.
        assert!(all.iter().any(|&extent| extent < 128) && all.iter().any(|&extent| extent > 6000));
        let odd = all.iter().filter(|&&extent| extent % 2 == 1).count();
        assert!((300..600).contains(&odd), "{odd}");
    }

    #[test]
    fn aligned_extents_are_multiples_and_go_further() {
        let aligned = RandomArgs {
            align: NonZeroU32::new(64),
            ..args::<Compared>(300)
        };
        let all = extents(&aligned.draw(4096, 7, true).unwrap());
        assert!(
            all.iter()
                .all(|extent| extent % 64 == 0 && (64..=16384).contains(extent))
        );
        assert!(all.iter().any(|&extent| extent > 8192));
        let bounded = RandomArgs {
            align: NonZeroU32::new(48),
            min: NonZeroU32::new(100),
            max: NonZeroU32::new(200),
            ..args::<Large>(50)
        };
        let all = extents(&bounded.draw(4096, 1, true).unwrap());
        assert!(
            all.iter().all(|extent| [144, 192].contains(extent)),
            "{all:?}"
        );
    }

    /// Of 16 to 8192, each of the nine factors of two takes a ninth.
    #[test]
    fn logarithms_are_evenly_distributed() {
        let free = RandomArgs {
            work: Some(Gflop(0.0, 1e9)),
            ..args::<Compared>(3000)
        };
        let all = extents(&free.draw(4096, 3, true).unwrap());
        for octave in 4..13 {
            let within = all
                .iter()
                .filter(|&&extent| extent.ilog2() == octave)
                .count();
            assert!((850..1150).contains(&within), "{octave}: {within}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_sizes_and_another_one_others() {
        let draw = |seed| args::<Compared>(20).draw(4096, seed, true).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        // As they were drawn before extents had bounds.
        let drawn = args::<Large>(2).draw(256, 7, true).unwrap();
        let mut rng = StdRng::seed_from_u64(7);
        let old: Vec<u32> = (0..6)
            .map(|_| rng.random_range(0.0..=8.0f64).exp2().round() as u32)
            .collect();
        assert_eq!(extents(&drawn), old);
    }

    #[test]
    fn transposes_have_two_extents_and_no_work() {
        let shapes = args::<Compared>(50).draw(4096, 1, false).unwrap();
        assert!(shapes.iter().all(|shape| shape.k == shape.n));
        assert!(shapes.iter().any(|&shape| !Gflop(0.2, 600.0).holds(shape)));
        let with_work = RandomArgs {
            work: Some(Gflop(1.0, 2.0)),
            ..args::<Compared>(1)
        };
        let refused = with_work.draw(4096, 1, false).unwrap_err().to_string();
        assert!(refused.contains("leave out --work"), "{refused}");
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let refused = |min, max, align| {
            let wrong = RandomArgs {
                min: NonZeroU32::new(min),
                max: NonZeroU32::new(max),
                align: NonZeroU32::new(align),
                ..args::<Compared>(1)
            };
            wrong.draw(4096, 1, true).unwrap_err().to_string()
        };
        assert!(refused(100, 50, 0).contains("from 100 to 50"));
        assert!(refused(65, 100, 64).contains("no multiple of 64 is from 65 to 100"));
        assert!(refused(u32::MAX, u32::MAX, 64).contains("no multiple of 64"));
        assert!(refused(16, 64, 0).contains("from 16 to 64 takes 0.2 to 600 GFLOP"));
    }

    #[test]
    fn work_is_two_numbers() {
        assert_eq!("0.2..600".parse(), Ok(Gflop(0.2, 600.0)));
        assert_eq!("0..1".parse(), Ok(Gflop(0.0, 1.0)));
        for wrong in [
            "", "5", "..", "1..", "2..1", "-1..2", "1..x", "1...2", "nan..1",
        ] {
            assert!(wrong.parse::<Gflop>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn random_layouts_are_all_four_and_those_of_the_seed() {
        let draw = |seed| {
            let mut layouts = Layouts::new(seed);
            let drawn = (0..100).map(|_| layouts.of(AskedLayout::Random));
            drawn.collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for layout in [Layout::Nn, Layout::Nt, Layout::Tn, Layout::Tt] {
            let of_it = draw(1).into_iter().filter(|&drawn| drawn == layout);
            assert!(of_it.count() > 10, "{layout}");
        }
        assert_eq!(Layouts::new(1).of(AskedLayout::Of(Layout::Tn)), Layout::Tn);
    }
}
