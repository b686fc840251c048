//! Operations on tensor memory (`tcgen05`). A commit covers all that its thread has issued before:
//! what an earlier commit has told another mbarrier of as well.

use super::super::vector_clock::VectorClock;
use super::Clocks;
use crate::ir::Space;

/// What a thread has issued on tensor memory, and committed (`tcgen05.commit`).
#[derive(Clone, Debug, Default)]
pub(super) struct Commits {
    /// What it had observed and done when it issued operations: they come behind.
    seen: VectorClock,
    /// The mbarriers at which its commits have arrived, with the stamp of the last one.
    objects: Vec<(usize, u32)>,
}

impl Clocks {
    /// A thread issues an operation on tensor memory.
    pub(in super::super) fn issue_tensor(&mut self, by: (u32, u32)) {
        let stamp = self.stamp();
        let seen = self.seen_by(by.0, 1 << by.1, stamp);
        self.commits.entry(by).or_default().seen.join(&seen);
    }

    /// A commit arrives at an mbarrier, which was told of what the thread has issued since its last
    /// commit: what it issued before is complete as well.
    pub(in super::super) fn commit(&mut self, by: (u32, u32), address: u64) {
        let number = self.object(Space::Shared, address);
        let stamp = self.stamp();
        let Commits { seen, mut objects } = self.commits.remove(&by).unwrap_or_default();
        let keys: Vec<(usize, u32)> = objects
            .iter()
            .map(|&(of, stamp)| (self.key_of_object(of), stamp))
            .collect();
        let arriving = &mut self.objects[number].arriving;
        arriving.join(&seen);
        for (key, stamp) in keys {
            arriving.note_all(key, stamp);
        }
        objects.retain(|(of, _)| *of != number);
        objects.push((number, stamp));
        self.commits.insert(by, Commits { seen, objects });
    }
}
