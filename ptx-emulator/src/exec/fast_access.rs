//! The fast paths of loads and stores of full warps.

use super::access::{extend, stored_values};
use super::access_pattern::{AccessPattern, Shape};
use super::lane_offsets::{LaneOffsets, Report};
use super::run::Run;
use super::transfer::{
    Global, Shared, Source, Target, Transfer, read_row, read_vectors, read32, read64, write_row,
    write_vectors, write32, write64,
};
use super::vector::{LANES, Lanes32, Registers};
use super::{Launch, simd};
use crate::ir::{AccessKind, InstructionId, Load, Register, Space, Store};
use crate::observer::{
    Accesses, Event, EventSink, MemoryAccess, RepeatedAccess, RepeatedLoads, WarpContext,
};

impl<O: EventSink> Run<'_, '_, O> {
    /// All lanes at once; false, with nothing done, where the access is out of bounds, misaligned,
    /// or left to the slow path.
    #[inline(always)]
    pub(super) fn load_fast(&mut self, index: usize) -> bool {
        let pattern = &mut self.patterns[index];
        let local = (self.local_base, self.local_top);
        let visit = *self.visit;
        let Some(location) = pattern.find(self.launch, &self.r, self.lane_offsets, visit, local)
        else {
            return false;
        };
        let at = location.offset / 4;
        match location.space {
            Space::Shared => {
                let (words, level) = (&*self.shared, self.launch.level);
                if !read_row(&Shared { words, level }, at, pattern, self.r.regs32) {
                    let load = &self.program.loads[index];
                    let words = &words[at..];
                    load_all(&Shared { words, level }, load, pattern, &mut self.r);
                }
            }
            Space::Local => load_local(self.local, &self.program.loads[index], at, &mut self.r),
            _ => {
                let allocation = &self.launch.allocations[location.allocation as usize];
                let (words, level) = (allocation.words(), self.launch.level);
                if pattern.transfer == Transfer::Row {
                    simd::prefetch_row(words, pattern.ahead(at));
                }
                if !read_row(&Global { words, level }, at, pattern, self.r.regs32) {
                    let load = &self.program.loads[index];
                    let words = &words[at..];
                    load_all(&Global { words, level }, load, pattern, &mut self.r);
                }
            }
        }
        let offsets = &mut self.lane_offsets[pattern.offsets as usize];
        if O::UNORDERED_LOADS && offsets.report == Report::Now {
            offsets.report = Report::Done;
            let loads = RepeatedLoads {
                group: pattern.offsets as usize,
                loads: &self.program.groups[pattern.offsets as usize],
                space: offsets.space,
                base: offsets.reported,
                distances: &offsets.deltas,
                version: offsets.version,
            };
            self.observer.notify(Event::Access {
                warp: &self.context,
                accesses: Accesses::loads(&loads),
            });
        }
        if O::ACCESSES && !(O::UNORDERED_LOADS && offsets.report == Report::Done) {
            let (bytes, distances) = (pattern.bytes, &offsets.deltas);
            let access = || RepeatedAccess {
                instruction: InstructionId(self.info),
                space: location.space,
                kind: AccessKind::Load,
                bytes,
                first_address: location.first,
                distances,
                values: None,
            };
            observe_regular(
                self.observer,
                &self.context,
                pattern,
                location.space,
                access,
            );
        }
        true
    }

    /// As [`Self::load_fast`].
    #[inline(always)]
    pub(super) fn store_fast(&mut self, index: usize) -> bool {
        let store = &self.program.stores[index];
        let site = self.program.loads.len() + index;
        let pattern = &mut self.patterns[site];
        let local = (self.local_base, self.local_top);
        let visit = *self.visit;
        let Some(location) = pattern.find(self.launch, &self.r, self.lane_offsets, visit, local)
        else {
            return false;
        };
        let is_slow = matches!(
            location.space,
            Space::Const | Space::Param | Space::Generic | Space::Cluster
        );
        if is_slow {
            return false;
        }
        // Before the store: observers compare what it writes with what is there.
        if O::ACCESSES {
            let offsets = &self.lane_offsets[pattern.offsets as usize];
            let (bytes, distances) = (pattern.bytes, &offsets.deltas);
            let access = || RepeatedAccess {
                instruction: InstructionId(self.info),
                space: location.space,
                kind: AccessKind::Store,
                bytes,
                first_address: location.first,
                distances,
                values: Some(stored_values(&self.r, store, self.shared)),
            };
            observe_regular(
                self.observer,
                &self.context,
                pattern,
                location.space,
                access,
            );
        }
        let at = location.offset / 4;
        match location.space {
            Space::Shared => {
                if !write_row(&mut &mut *self.shared, at, pattern, self.r.regs32) {
                    store_all(&mut &mut self.shared[at..], store, pattern, &self.r);
                }
            }
            Space::Local => store_local(self.local, store, at, &self.r),
            Space::Global => {
                let allocation = &self.launch.allocations[location.allocation as usize];
                let (words, level) = (allocation.words(), self.launch.level);
                if !write_row(&mut Global { words, level }, at, pattern, self.r.regs32) {
                    let words = &words[at..];
                    store_all(&mut Global { words, level }, store, pattern, &self.r);
                }
            }
            // Left to the slow path above.
            Space::Const | Space::Param | Space::Generic | Space::Cluster => {}
        }
        true
    }
}

/// What loads of full warps read from.
pub(super) struct Sources<'r, 'l> {
    pub launch: &'r Launch<'l>,
    pub shared: &'r [u32],
    pub lane_offsets: &'r [LaneOffsets],
    pub visit: u64,
}

impl Sources<'_, '_> {
    /// A load of a row or of one address; false, with nothing done, unless its addresses are known
    /// to be in bounds and observers of type `O` have been notified of it.
    #[inline(always)]
    pub(super) fn read_again<O: EventSink>(
        &self,
        pattern: &mut AccessPattern,
        registers: &mut [Lanes32],
    ) -> bool {
        let offsets = &self.lane_offsets[pattern.offsets as usize];
        let is_known = !O::ACCESSES || O::UNORDERED_LOADS && offsets.report == Report::Done;
        let Some(location) = pattern
            .known_location(offsets, self.visit)
            .filter(|_| is_known)
        else {
            return false;
        };
        let at = location.offset / 4;
        match location.space {
            Space::Shared => {
                let (words, level) = (self.shared, self.launch.level);
                read_row(&Shared { words, level }, at, pattern, registers)
            }
            _ => {
                let allocation = &self.launch.allocations[location.allocation as usize];
                let (words, level) = (allocation.words(), self.launch.level);
                if pattern.transfer == Transfer::Row {
                    simd::prefetch_row(words, pattern.ahead(at));
                }
                read_row(&Global { words, level }, at, pattern, registers)
            }
        }
    }
}

/// Reports an access of a full warp.
#[inline(always)]
fn observe_regular<'a, O: EventSink>(
    observer: &mut O,
    context: &WarpContext<'_>,
    pattern: &mut AccessPattern,
    space: Space,
    access: impl Fn() -> RepeatedAccess<'a>,
) {
    // The access is made in each of the branches: the frequent one needs only a part of it.
    if pattern.observe(space) {
        observer.notify(Event::Access {
            warp: context,
            accesses: Accesses::repeated(access()),
        });
    } else {
        access().in_full(false, |access| observe_first(observer, context, access));
    }
}

/// Local memory is interleaved by lane: the same offset in all lanes is one row.
#[inline(never)]
fn load_local(local: &[Lanes32], load: &Load, row: usize, r: &mut Registers<'_>) {
    for (index, destination) in load.destinations.iter().enumerate() {
        let at = row + index * load.bytes as usize / 4;
        let low = local[at];
        match destination {
            Some(Register::Reg32(reg)) => r.regs32[reg.0 as usize] = low,
            Some(Register::Reg64(reg)) => {
                let high = if load.bytes == 8 {
                    local[at + 1]
                } else {
                    [0; LANES]
                };
                let to = &mut r.regs64[reg.0 as usize];
                for lane in 0..LANES {
                    let value = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                    to[lane] = extend(value, load);
                }
            }
            Some(Register::Predicate(_)) | None => {}
        }
    }
}

#[inline(never)]
fn store_local(local: &mut [Lanes32], store: &Store, row: usize, r: &Registers<'_>) {
    for (index, source) in store.sources.iter().enumerate() {
        let at = row + index * store.bytes as usize / 4;
        match source {
            Register::Reg32(reg) => local[at] = r.regs32[reg.0 as usize],
            Register::Reg64(reg) => {
                let from = &r.regs64[reg.0 as usize];
                local[at] = from.map(|value| value as u32);
                if store.bytes == 8 {
                    local[at + 1] = from.map(|value| (value >> 32) as u32);
                }
            }
            Register::Predicate(_) => {}
        }
    }
}

/// Reports the first access of a pattern.
#[cold]
#[inline(never)]
fn observe_first<O: EventSink>(
    observer: &mut O,
    context: &WarpContext<'_>,
    access: &MemoryAccess<'_>,
) {
    observer.notify(Event::Access {
        warp: context,
        accesses: Accesses::full(access),
    });
}

/// Loads every element of a full warp's access, of 4 or 8 bytes each.
#[inline(always)]
fn load_all(source: &impl Source, load: &Load, pattern: &AccessPattern, r: &mut Registers<'_>) {
    if pattern.whole == Shape::Consecutive {
        match (pattern.count, pattern.registers) {
            (2, [a, b, ..]) => {
                return read_vectors::<2, { 2 * LANES }>(source, [a, b], r.regs32);
            }
            (4, registers) => {
                return read_vectors::<4, { 4 * LANES }>(source, registers, r.regs32);
            }
            _ => {}
        }
    }
    match (load.single, load.bytes) {
        (Some(Register::Reg32(reg)), _) => {
            read32(source, pattern, 0, &mut r.regs32[reg.0 as usize]);
        }
        (Some(Register::Reg64(reg)), 8) => {
            read64(source, pattern, 0, &mut r.regs64[reg.0 as usize]);
        }
        _ => {
            let step = load.bytes as usize / 4;
            for (index, destination) in load.destinations.iter().enumerate() {
                let element = index * step;
                match *destination {
                    Some(Register::Reg32(reg)) => {
                        read32(source, pattern, element, &mut r.regs32[reg.0 as usize]);
                    }
                    Some(Register::Reg64(reg)) if step == 2 => {
                        read64(source, pattern, element, &mut r.regs64[reg.0 as usize]);
                    }
                    Some(Register::Reg64(reg)) => {
                        let mut words = [0; LANES];
                        read32(source, pattern, element, &mut words);
                        r.regs64[reg.0 as usize] = words.map(|word| extend(u64::from(word), load));
                    }
                    Some(Register::Predicate(_)) | None => {}
                }
            }
        }
    }
}

/// Stores every element of a full warp's access, of 4 or 8 bytes each.
#[inline(always)]
fn store_all(target: &mut impl Target, store: &Store, pattern: &AccessPattern, r: &Registers<'_>) {
    if pattern.whole == Shape::Consecutive && store.bytes == 4 {
        use Register::Reg32;
        match *store.sources.as_slice() {
            [Reg32(a), Reg32(b)] => {
                return write_vectors::<2, { 2 * LANES }>(target, [a.0, b.0], r.regs32);
            }
            [Reg32(a), Reg32(b), Reg32(c), Reg32(d)] => {
                let registers = [a.0, b.0, c.0, d.0];
                return write_vectors::<4, { 4 * LANES }>(target, registers, r.regs32);
            }
            _ => {}
        }
    }
    let step = store.bytes as usize / 4;
    for (index, source) in store.sources.iter().enumerate() {
        let element = index * step;
        match *source {
            Register::Reg32(reg) => {
                write32(target, pattern, element, &r.regs32[reg.0 as usize]);
            }
            Register::Reg64(reg) if step == 2 => {
                write64(target, pattern, element, &r.regs64[reg.0 as usize]);
            }
            Register::Reg64(reg) => {
                let words = r.regs64[reg.0 as usize].map(|value| value as u32);
                write32(target, pattern, element, &words);
            }
            Register::Predicate(_) => {}
        }
    }
}
