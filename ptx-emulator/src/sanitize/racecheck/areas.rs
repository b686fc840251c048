//! The shadows of allocations, and what becomes of them when a launch ends.

use std::sync::Arc;

use super::super::cross_block_races::CrossBlockRaces;
use super::super::last_accesses::{Blocks, Last, settle};
use super::super::shadow_memory::ShadowMemory;
use super::Racecheck;
use super::list_entries::ReadList;

/// The shadow of an allocation.
#[derive(Clone, Debug)]
pub(super) struct Area {
    pub base: u64,
    pub cells: ShadowMemory,
    pub cross_block: CrossBlockRaces,
    /// The stamp of the last strong access.
    pub strong: u32,
    /// Whether races between blocks are recorded as late as possible: unless there are strong
    /// accesses that are recorded apart.
    pub is_lazy: bool,
}

impl Area {
    /// Adds what its cells hold to what is recorded of several blocks.
    pub(super) fn settle(&mut self, blocks: &Blocks) {
        if self.is_lazy {
            let cells = &self.cells;
            settle(&mut self.cross_block, &[Last { cells, blocks }], true);
        }
    }

    /// Whether anything was written.
    fn has_writes(&self, blocks: &Blocks) -> bool {
        let cells = &self.cells;
        let races = &self.cross_block;
        races.wrote || races.has_strong() || Last { cells, blocks }.wrote()
    }

    /// Splits cells into cells of `1 << shift` bytes.
    fn refine(&mut self, shift: u32, start: u32) {
        if shift < self.cells.shift {
            self.cells.refine(shift, start);
            self.cross_block.refine(shift);
        }
    }
}

impl Racecheck {
    /// Brings together what all workers recorded.
    pub(super) fn settle(&mut self) {
        let above = self.block.clocks.now + 1;
        let start = self.block.clocks.launch_start;
        let own_blocks = Arc::new(std::mem::take(&mut self.block.blocks));
        let mut of_all: Vec<Vec<_>> = vec![Vec::new(); self.global.len()];
        for (allocation, own) in self.global.iter_mut().enumerate() {
            let own = own.take().map(|area| (area, Arc::clone(&own_blocks)));
            of_all[allocation].extend(own);
        }
        for (allocation, area, blocks) in self.of_others.drain(..) {
            of_all[allocation].push((area, blocks));
        }
        let lists = self.all_lists(&own_blocks);
        let kernel = self.geometry.kernel.clone();
        for ((own, mut all), lists) in self.global.iter_mut().zip(of_all).zip(lists) {
            // What is only read has no races.
            let writes = all.iter().any(|(area, blocks)| area.has_writes(blocks));
            let of_lists = lists
                .iter()
                .filter(|_| writes)
                .map(|(list, _)| list.shift());
            let of_areas = all.iter().map(|(area, _)| area.cells.shift);
            let shift = of_areas.chain(of_lists).min();
            for (area, _) in &mut all {
                area.refine(shift.unwrap_or(2), start);
            }
            let mut all = all.into_iter();
            let mut first = all.next();
            for (list, blocks) in lists {
                if let Some((area, _)) = first.as_mut().filter(|_| writes) {
                    list.settle(kernel.as_ref(), &mut area.cross_block, &blocks);
                }
                list.recycle();
            }
            let Some((mut area, blocks)) = first else {
                continue;
            };
            let mut others = Vec::new();
            for (other, blocks) in all {
                let Area {
                    cells,
                    cross_block,
                    is_lazy,
                    ..
                } = *other;
                area.cross_block.merge(cross_block);
                others.push((cells, blocks, is_lazy));
            }
            let of_others = others.iter();
            let of_others = of_others.filter(|(_, _, is_lazy)| *is_lazy);
            let mut last: Vec<Last<'_>> = of_others
                .map(|(cells, blocks, _)| Last { cells, blocks })
                .collect();
            if area.is_lazy {
                last.push(Last {
                    cells: &area.cells,
                    blocks: &blocks,
                });
            }
            let has_strong = area.cross_block.has_strong();
            settle(&mut area.cross_block, &last, has_strong);
            drop(last);
            for (cells, ..) in others {
                cells.recycle(above);
            }
            *own = Some(area);
        }
    }

    /// The reads that all workers have listed, by allocation.
    fn all_lists(&mut self, own: &Arc<Blocks>) -> Vec<Vec<(ReadList, Arc<Blocks>)>> {
        let of_own = self.read_lists.take_all().into_iter();
        let lists = of_own.map(|list| (list, Arc::clone(own)));
        let mut all: Vec<Vec<_>> = lists.map(|list| vec![list]).collect();
        for (allocation, list, blocks) in self.lists_of_others.drain(..) {
            all[allocation].push((list, blocks));
        }
        all
    }

    /// Leaves the shadow, which is large and not needed any more, to later launches.
    pub(super) fn recycle(&mut self) {
        let above = self.block.clocks.now + 1;
        for area in self.global.drain(..).flatten() {
            area.cells.recycle(above);
            area.cross_block.recycle();
        }
        for (_, area, _) in self.of_others.drain(..) {
            area.cells.recycle(above);
            area.cross_block.recycle();
        }
        for list in self.read_lists.take_all() {
            list.recycle();
        }
        for (_, list, _) in self.lists_of_others.drain(..) {
            list.recycle();
        }
        // Operations that are in flight have stamps of their own.
        let shared = std::mem::take(&mut self.shared);
        if !self.has_async {
            shared.recycle(above);
        }
    }
}
