//! Operations on all 32 lanes, written so that the compiler turns them into vector instructions.
//!
//! Everything here must be inlined into the executor's loop, which is compiled once per vector
//! instruction set. Sources are copied before the destination is written, so that the copies need
//! no memory and slots may coincide.

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// One word register.
pub(crate) type Words = [u32; LANES];

/// One double register.
pub(crate) type Doubles = [u64; LANES];

/// The registers of one frame of a warp.
pub(crate) struct Registers<'a> {
    pub words: &'a mut [Words],
    pub doubles: &'a mut [Doubles],
    pub predicates: &'a mut [u32],
}

/// Writes one lane of each: all lanes where `FULL`, else those of the mask.
macro_rules! store_lanes {
    ($name:ident, $ty:ty) => {
        #[inline(always)]
        pub(crate) fn $name<const FULL: bool>(
            to: &mut [$ty; LANES],
            mask: u32,
            value: impl Fn(usize) -> $ty,
        ) {
            for lane in 0..LANES {
                let new = value(lane);
                if FULL {
                    to[lane] = new;
                } else {
                    let keep = (0 as $ty).wrapping_sub((!mask >> lane & 1) as $ty);
                    to[lane] = new & !keep | to[lane] & keep;
                }
            }
        }
    };
}

store_lanes!(store_words, u32);
store_lanes!(store_doubles, u64);

/// One bit per lane for which `holds`.
#[inline(always)]
pub(crate) fn collect(holds: impl Fn(usize) -> bool) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(holds(lane)) << lane;
    }
    bits
}

impl Registers<'_> {
    #[inline(always)]
    pub(crate) fn map_word<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        a: u32,
        f: impl Fn(u32) -> u32,
    ) {
        let a = self.words[a as usize];
        store_words::<FULL>(&mut self.words[d as usize], mask, |lane| f(a[lane]));
    }

    #[inline(always)]
    pub(crate) fn map_words<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b): (u32, u32),
        f: impl Fn(u32, u32) -> u32,
    ) {
        let (a, b) = (self.words[a as usize], self.words[b as usize]);
        store_words::<FULL>(&mut self.words[d as usize], mask, |lane| {
            f(a[lane], b[lane])
        });
    }

    #[inline(always)]
    pub(crate) fn map_words3<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b, c): (u32, u32, u32),
        f: impl Fn(u32, u32, u32) -> u32,
    ) {
        let a = self.words[a as usize];
        let b = self.words[b as usize];
        let c = self.words[c as usize];
        store_words::<FULL>(&mut self.words[d as usize], mask, |lane| {
            f(a[lane], b[lane], c[lane])
        });
    }

    #[inline(always)]
    pub(crate) fn map_double<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        a: u32,
        f: impl Fn(u64) -> u64,
    ) {
        let a = self.doubles[a as usize];
        store_doubles::<FULL>(&mut self.doubles[d as usize], mask, |lane| f(a[lane]));
    }

    #[inline(always)]
    pub(crate) fn map_doubles<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b): (u32, u32),
        f: impl Fn(u64, u64) -> u64,
    ) {
        let (a, b) = (self.doubles[a as usize], self.doubles[b as usize]);
        store_doubles::<FULL>(&mut self.doubles[d as usize], mask, |lane| {
            f(a[lane], b[lane])
        });
    }

    #[inline(always)]
    pub(crate) fn map_doubles3<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b, c): (u32, u32, u32),
        f: impl Fn(u64, u64, u64) -> u64,
    ) {
        let a = self.doubles[a as usize];
        let b = self.doubles[b as usize];
        let c = self.doubles[c as usize];
        store_doubles::<FULL>(&mut self.doubles[d as usize], mask, |lane| {
            f(a[lane], b[lane], c[lane])
        });
    }

    /// A double from words.
    #[inline(always)]
    pub(crate) fn widen_words<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b): (u32, u32),
        f: impl Fn(u32, u32) -> u64,
    ) {
        let (a, b) = (&self.words[a as usize], &self.words[b as usize]);
        store_doubles::<FULL>(&mut self.doubles[d as usize], mask, |lane| {
            f(a[lane], b[lane])
        });
    }

    /// A word from a double.
    #[inline(always)]
    pub(crate) fn narrow_double<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        a: u32,
        f: impl Fn(u64) -> u32,
    ) {
        let a = &self.doubles[a as usize];
        store_words::<FULL>(&mut self.words[d as usize], mask, |lane| f(a[lane]));
    }

    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, mask: u32, d: u32, bits: u32) {
        let slot = &mut self.predicates[d as usize];
        *slot = *slot & !mask | bits & mask;
    }
}
