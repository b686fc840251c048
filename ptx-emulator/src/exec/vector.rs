//! Operations on all 32 lanes, written so that the compiler turns them into vector instructions.
//!
//! Everything here must be inlined into the executor's loop, which is compiled once per vector
//! instruction set. Sources are copied before the destination is written, so that the copies need
//! no memory and slots may coincide.

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// One 32-bit register: a value for each lane.
pub(crate) type Lanes32 = [u32; LANES];

/// One 64-bit register: a value for each lane.
pub(crate) type Lanes64 = [u64; LANES];

/// The registers of one frame of a warp.
pub(crate) struct Registers<'a> {
    pub regs32: &'a mut [Lanes32],
    pub regs64: &'a mut [Lanes64],
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

store_lanes!(store_lanes32, u32);
store_lanes!(store_lanes64, u64);

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
    pub(crate) fn map_32<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        a: u32,
        f: impl Fn(u32) -> u32,
    ) {
        let a = self.regs32[a as usize];
        store_lanes32::<FULL>(&mut self.regs32[d as usize], mask, |lane| f(a[lane]));
    }

    #[inline(always)]
    pub(crate) fn map2_32<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b): (u32, u32),
        f: impl Fn(u32, u32) -> u32,
    ) {
        let (a, b) = (self.regs32[a as usize], self.regs32[b as usize]);
        store_lanes32::<FULL>(&mut self.regs32[d as usize], mask, |lane| {
            f(a[lane], b[lane])
        });
    }

    #[inline(always)]
    pub(crate) fn map3_32<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b, c): (u32, u32, u32),
        f: impl Fn(u32, u32, u32) -> u32,
    ) {
        let a = self.regs32[a as usize];
        let b = self.regs32[b as usize];
        let c = self.regs32[c as usize];
        store_lanes32::<FULL>(&mut self.regs32[d as usize], mask, |lane| {
            f(a[lane], b[lane], c[lane])
        });
    }

    #[inline(always)]
    pub(crate) fn map_64<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        a: u32,
        f: impl Fn(u64) -> u64,
    ) {
        let a = self.regs64[a as usize];
        store_lanes64::<FULL>(&mut self.regs64[d as usize], mask, |lane| f(a[lane]));
    }

    #[inline(always)]
    pub(crate) fn map2_64<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b): (u32, u32),
        f: impl Fn(u64, u64) -> u64,
    ) {
        let (a, b) = (self.regs64[a as usize], self.regs64[b as usize]);
        store_lanes64::<FULL>(&mut self.regs64[d as usize], mask, |lane| {
            f(a[lane], b[lane])
        });
    }

    #[inline(always)]
    pub(crate) fn map3_64<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b, c): (u32, u32, u32),
        f: impl Fn(u64, u64, u64) -> u64,
    ) {
        let a = self.regs64[a as usize];
        let b = self.regs64[b as usize];
        let c = self.regs64[c as usize];
        store_lanes64::<FULL>(&mut self.regs64[d as usize], mask, |lane| {
            f(a[lane], b[lane], c[lane])
        });
    }

    /// A 64-bit register from 32-bit ones.
    #[inline(always)]
    pub(crate) fn map2_32_to_64<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        (a, b): (u32, u32),
        f: impl Fn(u32, u32) -> u64,
    ) {
        let (a, b) = (&self.regs32[a as usize], &self.regs32[b as usize]);
        store_lanes64::<FULL>(&mut self.regs64[d as usize], mask, |lane| {
            f(a[lane], b[lane])
        });
    }

    /// A 32-bit register from a 64-bit one.
    #[inline(always)]
    pub(crate) fn map_64_to_32<const FULL: bool>(
        &mut self,
        mask: u32,
        d: u32,
        a: u32,
        f: impl Fn(u64) -> u32,
    ) {
        let a = &self.regs64[a as usize];
        store_lanes32::<FULL>(&mut self.regs32[d as usize], mask, |lane| f(a[lane]));
    }

    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, mask: u32, d: u32, bits: u32) {
        let slot = &mut self.predicates[d as usize];
        *slot = *slot & !mask | bits & mask;
    }
}
