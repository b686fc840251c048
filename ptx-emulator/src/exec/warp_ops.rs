//! Operations in which the lanes of a warp see each other's values.

use super::float::{NAN32, max32, min32};
use super::vector::{LANES, Lanes32, Registers, collect, store_lanes32};
use crate::ir::{Predicate, ReduceMode, Reg32, Register, Shuffle, ShuffleMode, VoteMode};

/// The lanes of a mask, lowest first.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// One lane of any register, as its bits.
pub(crate) fn read(r: &Registers<'_>, register: Register, lane: usize) -> u64 {
    match register {
        Register::Reg32(reg) => u64::from(r.regs32[reg.0 as usize][lane]),
        Register::Reg64(reg) => r.regs64[reg.0 as usize][lane],
        Register::Predicate(p) => u64::from(r.predicates[p.0 as usize] >> lane & 1),
    }
}

pub(crate) fn write(r: &mut Registers<'_>, register: Register, lane: usize, value: u64) {
    match register {
        Register::Reg32(reg) => r.regs32[reg.0 as usize][lane] = value as u32,
        Register::Reg64(reg) => r.regs64[reg.0 as usize][lane] = value,
        Register::Predicate(p) => {
            let slot = &mut r.predicates[p.0 as usize];
            *slot = *slot & !(1 << lane) | ((value & 1) as u32) << lane;
        }
    }
}

/// The lane from which each lane of a shuffle reads, and the lanes for which that is in range. PTX
/// ISA, "shfl.sync": `c` holds the clamp value in bits 0-4 and the segment mask in bits 8-12.
#[inline(always)]
pub(crate) fn shuffle_sources(r: &Registers<'_>, op: &Shuffle, mask: u32) -> ([u8; LANES], u32) {
    let offsets = &r.regs32[op.lane.0 as usize];
    let clamps = &r.regs32[op.clamp.0 as usize];
    match op.mode {
        // Up compares with the clamp value as a lower bound.
        ShuffleMode::Up => sources_of(offsets, clamps, mask, |lane| {
            let source = lane.own.wrapping_sub(lane.offset);
            (source, source as i32 >= lane.most as i32)
        }),
        ShuffleMode::Down => sources_of(offsets, clamps, mask, |lane| {
            let source = lane.own + lane.offset;
            (source, source <= lane.most)
        }),
        ShuffleMode::Butterfly => sources_of(offsets, clamps, mask, |lane| {
            let source = lane.own ^ lane.offset;
            (source, source <= lane.most)
        }),
        ShuffleMode::Index => sources_of(offsets, clamps, mask, |lane| {
            let source = lane.least | lane.offset & !lane.segment;
            (source, source <= lane.most)
        }),
    }
}

/// What a lane of a shuffle computes its source from.
struct ShuffleLane {
    own: u32,
    offset: u32,
    segment: u32,
    /// Bounds of the segment and of the clamp value.
    least: u32,
    most: u32,
}

#[inline(always)]
fn sources_of(
    offsets: &Lanes32,
    clamps: &Lanes32,
    mask: u32,
    find: impl Fn(ShuffleLane) -> (u32, bool),
) -> ([u8; LANES], u32) {
    let mut in_range = 0u32;
    let mut sources = [0; LANES];
    for (lane, to) in sources.iter_mut().enumerate() {
        let own = lane as u32;
        let clamp = clamps[lane] & 0x1f;
        let segment = clamps[lane] >> 8 & 0x1f;
        let (source, valid) = find(ShuffleLane {
            own,
            offset: offsets[lane] & 0x1f,
            segment,
            least: own & segment,
            most: (own & segment) | (clamp & !segment),
        });
        let valid = valid & (mask >> lane & 1 != 0);
        *to = if valid {
            source as u8 & 0x1f
        } else {
            lane as u8
        };
        in_range |= u32::from(valid) << lane;
    }
    (sources, in_range)
}

#[inline(always)]
pub(crate) fn shuffle(r: &mut Registers<'_>, op: &Shuffle, mask: u32) {
    let value = r.regs32[op.value.0 as usize];
    let (sources, in_range) = shuffle_sources(r, op, mask);
    let to = &mut r.regs32[op.destination.0 as usize];
    store_lanes32::<false>(to, mask, |lane| value[usize::from(sources[lane]) % LANES]);
    if let Some(Predicate(p)) = op.in_range {
        r.set_predicate(mask, p, in_range);
    }
}

pub(crate) fn vote(r: &mut Registers<'_>, mode: VoteMode, to: Register, from: u32, mask: u32) {
    let bits = r.predicates[from as usize] & mask;
    match (to, mode) {
        (Register::Reg32(Reg32(to)), _) => {
            for lane in lanes(mask) {
                r.regs32[to as usize][lane] = bits;
            }
        }
        (Register::Predicate(Predicate(to)), mode) => {
            let holds = match mode {
                VoteMode::All => bits == mask,
                VoteMode::Any | VoteMode::Ballot => bits != 0,
                VoteMode::Uniform => bits == mask || bits == 0,
            };
            r.set_predicate(mask, to, if holds { u32::MAX } else { 0 });
        }
        (Register::Reg64(_), _) => {}
    }
}

pub(crate) fn match_any(r: &mut Registers<'_>, to: Reg32, from: Register, mask: u32) {
    let values: [u64; LANES] = std::array::from_fn(|lane| read(r, from, lane));
    for lane in lanes(mask) {
        let same = collect(|other| values[other] == values[lane]) & mask;
        r.regs32[to.0 as usize][lane] = same;
    }
}

pub(crate) fn match_all(
    r: &mut Registers<'_>,
    to: Reg32,
    agree: Option<Predicate>,
    from: Register,
    mask: u32,
) {
    let first = read(r, from, mask.trailing_zeros() as usize % LANES);
    let same = lanes(mask).all(|lane| read(r, from, lane) == first);
    for lane in lanes(mask) {
        r.regs32[to.0 as usize][lane] = if same { mask } else { 0 };
    }
    if let Some(Predicate(agree)) = agree {
        r.set_predicate(mask, agree, if same { u32::MAX } else { 0 });
    }
}

fn is_nan(bits: u32) -> bool {
    f32::from_bits(bits).is_nan()
}

pub(crate) fn reduce(r: &mut Registers<'_>, mode: ReduceMode, to: Reg32, from: Reg32, mask: u32) {
    let values = r.regs32[from.0 as usize];
    let result = reduced(mode, lanes(mask).map(|lane| values[lane]));
    for lane in lanes(mask) {
        r.regs32[to.0 as usize][lane] = result.unwrap_or(0);
    }
}

/// One value of several.
pub(super) fn reduced(mode: ReduceMode, values: impl Iterator<Item = u32>) -> Option<u32> {
    let combine = |a: u32, b: u32| match mode {
        ReduceMode::Add => a.wrapping_add(b),
        ReduceMode::And => a & b,
        ReduceMode::Or => a | b,
        ReduceMode::Xor => a ^ b,
        ReduceMode::MinUnsigned => a.min(b),
        ReduceMode::MinSigned => (a as i32).min(b as i32) as u32,
        ReduceMode::MaxUnsigned => a.max(b),
        ReduceMode::MaxSigned => (a as i32).max(b as i32) as u32,
        ReduceMode::Float { nan_wins: true, .. } if is_nan(a) || is_nan(b) => NAN32,
        ReduceMode::Float { greatest: true, .. } => max32(a, b),
        ReduceMode::Float { .. } => min32(a, b),
    };
    let value = |value: u32| match mode {
        ReduceMode::Float { .. } if is_nan(value) => NAN32,
        ReduceMode::Float {
            magnitudes: true, ..
        } => value & !(1 << 31),
        _ => value,
    };
    values.map(value).reduce(combine)
}

/// The lowest lane is elected.
pub(crate) fn elect(r: &mut Registers<'_>, to: Option<Reg32>, elected: Predicate, mask: u32) {
    let leader = mask.trailing_zeros();
    if let Some(to) = to {
        for lane in lanes(mask) {
            r.regs32[to.0 as usize][lane] = leader;
        }
    }
    r.set_predicate(mask, elected.0, 1u32.checked_shl(leader).unwrap_or(0));
}
