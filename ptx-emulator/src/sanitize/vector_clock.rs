//! Vector clocks: which accesses of the other threads a thread has observed.

use super::shape::{LANES, lanes};

/// Up to which stamp the accesses of other threads have been observed.
///
/// Most synchronisation is of whole warps, so one stamp serves all lanes of a warp wherever it can.
#[derive(Clone, Debug, Default)]
pub(super) struct VectorClock {
    /// By warp: the stamp for all of its lanes. After the warps, by mbarrier: that of the copies
    /// whose completion was signalled to it.
    all: Vec<u32>,
    /// Warps of which single lanes were observed further, with a stamp for each lane.
    single: Vec<(usize, Box<[u32; LANES]>)>,
}

impl VectorClock {
    /// Whether the access of a lane at a stamp has been observed.
    #[inline(always)]
    pub(super) fn has(&self, warp: usize, lane: usize, stamp: u32) -> bool {
        self.all.get(warp).is_some_and(|&seen| stamp <= seen)
            || self
                .single
                .iter()
                .any(|(of, seen)| *of == warp && stamp <= seen[lane % LANES])
    }

    /// Whether the access of any lane of a warp at a stamp has been observed.
    pub(super) fn has_any(&self, warp: usize, stamp: u32) -> bool {
        (0..LANES).any(|lane| self.has(warp, lane, stamp))
    }

    /// Records that all lanes of a warp, or an mbarrier, have been observed up to a stamp.
    pub(super) fn note_all(&mut self, warp: usize, stamp: u32) {
        if self.all.len() <= warp {
            self.all.resize(warp + 1, 0);
        }
        let seen = self.all[warp].max(stamp);
        self.all[warp] = seen;
        self.single
            .retain(|(of, single)| *of != warp || single.iter().any(|&single| single > seen));
    }

    /// Records that some lanes of a warp have been observed up to a stamp.
    pub(super) fn note_lanes(&mut self, warp: usize, mask: u32, stamp: u32) {
        let index = self.single.iter().position(|(of, _)| *of == warp);
        let index = index.unwrap_or_else(|| {
            self.single.push((warp, Box::new([0; LANES])));
            self.single.len() - 1
        });
        let single = &mut self.single[index].1;
        for lane in lanes(mask) {
            single[lane] = single[lane].max(stamp);
        }
    }

    /// Adds what another clock has observed.
    pub(super) fn join(&mut self, other: &VectorClock) {
        if self.all.len() < other.all.len() {
            self.all.resize(other.all.len(), 0);
        }
        for (own, &other) in self.all.iter_mut().zip(&other.all) {
            *own = other.max(*own);
        }
        for (warp, seen) in &other.single {
            match self.single.iter_mut().find(|(of, _)| of == warp) {
                Some((_, own)) => {
                    for (own, &other) in own.iter_mut().zip(seen.iter()) {
                        *own = other.max(*own);
                    }
                }
                None => self.single.push((*warp, seen.clone())),
            }
        }
        if !self.single.is_empty() {
            let all = &self.all;
            self.single.retain(|(warp, seen)| {
                let known = all.get(*warp).copied().unwrap_or(0);
                seen.iter().any(|&seen| seen > known)
            });
        }
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.single.clear();
    }
}
