//! The fast paths of full warps: what is known of an instruction's addresses, and the transfer of
//! regular ones.
//!
//! The distances of the lanes' addresses from lane 0's are remembered. As long as they stay the
//! same, bounds and alignment of all lanes follow from lane 0's address, and so does the way in
//! which the words lie.

use std::sync::atomic::{AtomicU32, Ordering};

use super::vector::{Doubles, LANES, Words};
use crate::ir::Program;

/// Lanes that are transferred together.
const GROUP: usize = 8;

/// How the addresses of a group of lanes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// All the same.
    Uniform,
    /// Each access behind the one before.
    Consecutive,
    Other,
}

/// How the values of an address register are spread over the lanes.
///
/// Accesses of a basic block with the same base register belong to one spread: it is compared with
/// the register once per visit of the block.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// Value of each lane minus that of lane 0.
    deltas: [u64; LANES],
    /// Counts the different deltas that there have been.
    version: u64,
    /// The visit at which the deltas were last compared with the register.
    visit: u64,
}

impl Spread {
    pub(super) fn new() -> Self {
        Spread {
            deltas: [0; LANES],
            version: 1,
            visit: 0,
        }
    }

    /// Makes the deltas those of the register, which `base` reads.
    #[inline(always)]
    pub(super) fn refresh(&mut self, visit: u64, base: impl Fn(usize) -> u64) {
        if self.visit == visit {
            return;
        }
        self.visit = visit;
        let first = base(0);
        let mut different = 0;
        for lane in 0..LANES {
            different |= base(lane).wrapping_sub(first) ^ self.deltas[lane];
        }
        if different != 0 {
            self.version += 1;
            for lane in 0..LANES {
                self.deltas[lane] = base(lane).wrapping_sub(first);
            }
        }
    }

    pub(super) fn delta(&self, lane: usize) -> u64 {
        self.deltas[lane]
    }
}

/// What is known of a memory instruction's addresses.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The version of the spread that this was made for.
    version: u64,
    /// The version with which the observer last saw an access of a full warp.
    observed: u64,
    /// Address of each lane minus the lowest one, in words.
    places: [u32; LANES],
    groups: [Shape; LANES / GROUP],
    /// The shape of all lanes together.
    whole: Shape,
    /// Address of lane 0 minus the lowest one.
    pub below: u64,
    /// Bytes from the lowest address to the end of the highest access.
    pub span: u64,
    /// Bytes that each lane accesses.
    pub bytes: u64,
    /// Whether the fast paths apply: all deltas are multiples of the access size and not too far
    /// apart.
    regular: bool,
    /// The allocation that was accessed last.
    pub allocation: usize,
}

impl Pattern {
    fn new(bytes: u32) -> Self {
        Pattern {
            version: 0,
            observed: 0,
            places: [0; LANES],
            groups: [Shape::Uniform; LANES / GROUP],
            whole: Shape::Uniform,
            below: 0,
            span: u64::from(bytes),
            bytes: u64::from(bytes),
            regular: true,
            allocation: 0,
        }
    }

    /// One pattern per load and store of a program, in the order of their sites.
    pub(super) fn of_program(program: &Program) -> Vec<Self> {
        let mut all = vec![Pattern::new(1); program.sites as usize];
        for load in &program.loads {
            all[load.site as usize] = Pattern::new(load.bytes * load.destinations.len() as u32);
        }
        for store in &program.stores {
            all[store.site as usize] = Pattern::new(store.bytes * store.sources.len() as u32);
        }
        all
    }

    /// Whether the fast paths apply to lanes that are spread like this.
    #[inline(always)]
    pub(super) fn follows(&mut self, spread: &Spread) -> bool {
        if self.version != spread.version {
            self.learn(spread);
        }
        self.regular
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, spread: &Spread) {
        self.version = spread.version;
        // Deltas are differences of addresses and may be negative.
        let signed = spread.deltas.map(|delta| delta as i64);
        let lowest = signed.iter().copied().min().unwrap_or(0);
        let highest = signed.iter().copied().max().unwrap_or(0);
        self.regular = highest.abs_diff(lowest) <= u64::from(u32::MAX / 2)
            && signed
                .iter()
                .all(|delta| delta.unsigned_abs().is_multiple_of(self.bytes));
        if !self.regular {
            return;
        }
        let above = signed.map(|delta| delta.abs_diff(lowest));
        self.places = above.map(|distance| distance as u32 / 4);
        self.below = lowest.unsigned_abs();
        self.span = highest.abs_diff(lowest) + self.bytes;
        let shape = |lanes: &[u64]| {
            let strided = |step: u64| {
                let expected = (0..).map(|lane| lanes[0] + lane * step);
                lanes
                    .iter()
                    .zip(expected)
                    .all(|(&place, expected)| place == expected)
            };
            match () {
                () if strided(0) => Shape::Uniform,
                () if strided(self.bytes) => Shape::Consecutive,
                () => Shape::Other,
            }
        };
        self.whole = shape(&above);
        self.groups = std::array::from_fn(|group| shape(&above[group * GROUP..][..GROUP]));
    }

    /// Notes that the observer sees a full warp; whether it saw the same pattern before.
    #[inline(always)]
    pub(super) fn observe(&mut self) -> bool {
        std::mem::replace(&mut self.observed, self.version) == self.version
    }

    /// Notes that the observer sees an access of another pattern.
    pub(super) fn observe_other(&mut self) {
        self.observed = 0;
    }

    pub(super) fn is_uniform(&self) -> bool {
        self.whole == Shape::Uniform
    }
}

/// Words that the fast paths read. Indices are in bounds.
pub(super) trait Source {
    fn word(&self, at: usize) -> u32;

    /// Neighbouring words.
    fn copy<const N: usize>(&self, at: usize, to: &mut [u32; N]);
}

/// Words that the fast paths write. Indices are in bounds.
pub(super) trait Target {
    fn set_word(&mut self, at: usize, value: u32);

    /// Neighbouring words.
    fn set<const N: usize>(&mut self, at: usize, from: &[u32; N]);
}

impl Source for &[u32] {
    #[inline(always)]
    fn word(&self, at: usize) -> u32 {
        self[at]
    }

    #[inline(always)]
    fn copy<const N: usize>(&self, at: usize, to: &mut [u32; N]) {
        to.copy_from_slice(&self[at..][..N]);
    }
}

impl Target for &mut [u32] {
    #[inline(always)]
    fn set_word(&mut self, at: usize, value: u32) {
        self[at] = value;
    }

    #[inline(always)]
    fn set<const N: usize>(&mut self, at: usize, from: &[u32; N]) {
        self[at..][..N].copy_from_slice(from);
    }
}

/// Words of an allocation.
pub(super) struct Global<'a>(pub &'a [AtomicU32]);

impl Source for Global<'_> {
    #[inline(always)]
    fn word(&self, at: usize) -> u32 {
        self.0[at].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn copy<const N: usize>(&self, at: usize, to: &mut [u32; N]) {
        let from = &self.0[at..][..N];
        for (to, word) in to.iter_mut().zip(from) {
            *to = word.load(Ordering::Relaxed);
        }
    }
}

impl Target for Global<'_> {
    #[inline(always)]
    fn set_word(&mut self, at: usize, value: u32) {
        self.0[at].store(value, Ordering::Relaxed);
    }

    #[inline(always)]
    fn set<const N: usize>(&mut self, at: usize, from: &[u32; N]) {
        let to = &self.0[at..][..N];
        for (to, value) in to.iter().zip(from) {
            to.store(*value, Ordering::Relaxed);
        }
    }
}

/// Two words as one value.
#[inline(always)]
pub(super) fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Reads the word number `element` of each lane's access.
#[inline(always)]
pub(super) fn read_word(source: &impl Source, pattern: &Pattern, element: usize, to: &mut Words) {
    let adjacent = pattern.bytes == 4;
    match pattern.whole {
        Shape::Uniform => *to = [source.word(element); LANES],
        Shape::Consecutive if adjacent => source.copy(0, to),
        _ => {
            let (groups, _) = to.as_chunks_mut::<GROUP>();
            let (places, _) = pattern.places.as_chunks::<GROUP>();
            for ((to, places), shape) in groups.iter_mut().zip(places).zip(pattern.groups) {
                match shape {
                    Shape::Uniform => *to = [source.word(places[0] as usize + element); GROUP],
                    Shape::Consecutive if adjacent => source.copy(places[0] as usize, to),
                    _ => {
                        for (to, place) in to.iter_mut().zip(places) {
                            *to = source.word(*place as usize + element);
                        }
                    }
                }
            }
        }
    }
}

/// Reads the words `element` and `element + 1` of each lane's access as one value.
#[inline(always)]
pub(super) fn read_double(
    source: &impl Source,
    pattern: &Pattern,
    element: usize,
    to: &mut Doubles,
) {
    let value = |at: usize| join(source.word(at), source.word(at + 1));
    match pattern.whole {
        Shape::Uniform => *to = [value(element); LANES],
        Shape::Consecutive if pattern.bytes == 8 => {
            let mut row = [0; 2 * LANES];
            source.copy(0, &mut row);
            for (to, pair) in to.iter_mut().zip(row.chunks_exact(2)) {
                *to = join(pair[0], pair[1]);
            }
        }
        _ => {
            let (groups, _) = to.as_chunks_mut::<GROUP>();
            let (places, _) = pattern.places.as_chunks::<GROUP>();
            for ((to, places), shape) in groups.iter_mut().zip(places).zip(pattern.groups) {
                if shape == Shape::Uniform {
                    *to = [value(places[0] as usize + element); GROUP];
                } else {
                    for (to, place) in to.iter_mut().zip(places) {
                        *to = value(*place as usize + element);
                    }
                }
            }
        }
    }
}

/// Writes the word number `element` of each lane's access; the highest lane wins.
#[inline(always)]
pub(super) fn write_word(
    target: &mut impl Target,
    pattern: &Pattern,
    element: usize,
    from: &Words,
) {
    if pattern.whole == Shape::Consecutive && pattern.bytes == 4 {
        target.set(0, from);
        return;
    }
    for (value, place) in from.iter().zip(pattern.places) {
        target.set_word(place as usize + element, *value);
    }
}

/// Writes the words `element` and `element + 1` of each lane's access.
#[inline(always)]
pub(super) fn write_double(
    target: &mut impl Target,
    pattern: &Pattern,
    element: usize,
    from: &Doubles,
) {
    for (value, place) in from.iter().zip(pattern.places) {
        let at = place as usize + element;
        target.set_word(at, *value as u32);
        target.set_word(at + 1, (*value >> 32) as u32);
    }
}
