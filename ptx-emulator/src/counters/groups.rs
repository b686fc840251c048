//! Loads that are reported by one event, and counted once for all of them.

use super::site::WORDS;
use crate::kernel::Kernel;
use crate::observer::RepeatedLoads;

/// How often the loads of each group were reported by one event.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// By group, and by the offset of the base's word in its sector.
    times: Vec<[u64; WORDS]>,
    /// By instruction.
    members: Vec<Member>,
}

/// What an instruction has to do with its group.
#[derive(Clone, Debug, Default)]
struct Member {
    /// Group 0, which is never reported, for instructions of none.
    group: usize,
    /// Words from the base to the instruction's access, modulo a sector.
    shift: usize,
    /// The group's times that are among the instruction's counts already.
    taken: [u64; WORDS],
}

impl Groups {
    pub(super) fn of(kernel: &Kernel) -> Self {
        let groups = &kernel.0.program.groups;
        let mut members = vec![Member::default(); kernel.instruction_count()];
        for (group, loads) in groups.iter().enumerate() {
            for load in loads {
                members[load.instruction.index()] = Member {
                    group,
                    shift: (load.offset / 4).rem_euclid(WORDS as i64) as usize,
                    taken: [0; WORDS],
                };
            }
        }
        Groups {
            times: vec![[0; WORDS]; groups.len().max(1)],
            members,
        }
    }

    #[inline(always)]
    pub(super) fn count(&mut self, loads: &RepeatedLoads<'_>) {
        self.times[loads.group][loads.base as usize / 4 % WORDS] += 1;
    }

    /// Accesses of an instruction that are not among its counts, by the offset of the first lane's
    /// word in its sector.
    pub(super) fn pending(&self, index: usize) -> [u64; WORDS] {
        let member = &self.members[index];
        let times = &self.times[member.group];
        std::array::from_fn(|place| {
            let of_base = (place + WORDS - member.shift) % WORDS;
            times[of_base] - member.taken[of_base]
        })
    }

    /// As [`Self::pending`]; they are among the instruction's counts from now on.
    pub(super) fn take(&mut self, index: usize) -> [u64; WORDS] {
        let pending = self.pending(index);
        let member = &mut self.members[index];
        member.taken = self.times[member.group];
        pending
    }
}
