//! How often each problem was found, with an example.

use std::cmp::Ordering;
use std::collections::{HashMap, hash_map};

use super::finding::{Finding, Problem, Severity, Site};
use super::launch_geometry::LaunchGeometry;
use crate::error::Fault;
use crate::ir::{Calls, InstructionId, Space};
use crate::observer::WarpContext;

/// A thread of the grid and an instruction that it executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Actor {
    pub instruction: InstructionId,
    pub block: [u32; 3],
    /// Linear index in the block.
    pub thread: u32,
    /// The calls that lead to the instruction, where they are known.
    pub calls: Calls,
}

impl Actor {
    /// The first lane of `mask` in a warp.
    pub(super) fn first_lane(
        warp: &WarpContext<'_>,
        instruction: InstructionId,
        mask: u32,
    ) -> Actor {
        Actor {
            instruction,
            block: warp.block,
            thread: 32 * warp.warp + mask.trailing_zeros() % 32,
            calls: warp.calls,
        }
    }
}

/// The first example of a problem, before it is put into words.
#[derive(Clone, Debug)]
pub(super) struct Example {
    /// Order of the grid's blocks: the lowest one gives the example.
    pub block: u64,
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
    pub detail: String,
    pub first: Actor,
    pub second: Option<Actor>,
}

type Key = (
    Problem,
    InstructionId,
    Option<InstructionId>,
    Option<InstructionId>,
);

/// How often a problem was found, and the first example.
#[derive(Clone, Debug)]
struct Tallied {
    count: u64,
    /// Whether each time the outcome was the same in either order.
    is_harmless: bool,
    example: Example,
}

impl Tallied {
    fn add(&mut self, new: Tallied) {
        let count = self.count + new.count;
        // An example that is an error comes before those that are not, and then the one of the
        // lowest block.
        let rank = |tallied: &Tallied| (tallied.is_harmless, tallied.example.block);
        if rank(&new) < rank(self) {
            *self = new;
        }
        self.count = count;
    }
}

/// A problem in all blocks, and in the lowest of those that have it.
#[derive(Clone, Debug)]
struct Entry {
    all: Tallied,
    lowest: Tallied,
}

impl Entry {
    fn add(&mut self, new: Entry) {
        match new.lowest.example.block.cmp(&self.lowest.example.block) {
            Ordering::Less => self.lowest = new.lowest,
            Ordering::Equal => self.lowest.add(new.lowest),
            Ordering::Greater => {}
        }
        self.all.add(new.all);
    }
}

/// Races over cells of one word that are not counted yet.
#[derive(Clone, Debug)]
struct Part {
    problem: Problem,
    /// The lanes whose accesses race.
    lanes: u32,
    is_harmless: bool,
    example: Example,
}

impl Part {
    /// Whether another one is of the same word and instructions.
    fn is_like(&self, other: &Part) -> bool {
        let of = |part: &Part| {
            let Example {
                space,
                address,
                first,
                second,
                ..
            } = &part.example;
            let second = second.map(|actor| actor.instruction);
            (*space, address / 4, first.instruction, second)
        };
        self.problem == other.problem
            && of(self) == of(other)
            && self.example.detail == other.example.detail
    }

    /// Adds a part like this one.
    fn add(&mut self, other: &Part) {
        self.lanes |= other.lanes;
        self.is_harmless &= other.is_harmless;
        let (known, new) = (&mut self.example, &other.example);
        let goes_on = known.address + u64::from(known.bytes) == new.address;
        if goes_on && (known.first, known.second) == (new.first, new.second) {
            known.bytes += new.bytes;
        }
    }
}

/// Problems by kind and instructions: a count and an example of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    known: HashMap<Key, Entry>,
    /// Of the access at hand.
    parts: Vec<Part>,
}

impl Tally {
    /// Adds a race of some lanes over a cell. A word may be one cell or several, which depends on
    /// what other blocks of the same worker have accessed. So a race over several of them counts
    /// once a lane, when [`Self::end_access`] tells that there are no more.
    #[cold]
    pub(super) fn add_race(
        &mut self,
        problem: Problem,
        lanes: u32,
        is_harmless: bool,
        example: Example,
    ) {
        let new = Part {
            problem,
            lanes,
            is_harmless,
            example,
        };
        match self.parts.iter_mut().find(|known| known.is_like(&new)) {
            Some(known) => known.add(&new),
            None => self.parts.push(new),
        }
    }

    /// Counts the races over the cells of an access.
    #[inline(always)]
    pub(super) fn end_access(&mut self) {
        if !self.parts.is_empty() {
            self.count_parts();
        }
    }

    #[cold]
    #[inline(never)]
    fn count_parts(&mut self) {
        let mut parts = std::mem::take(&mut self.parts);
        for part in parts.drain(..) {
            let new = Tallied {
                count: part.lanes.count_ones().into(),
                is_harmless: part.is_harmless,
                example: part.example,
            };
            self.note(part.problem, new);
        }
        self.parts = parts;
    }

    #[cold]
    pub(super) fn add(&mut self, problem: Problem, count: u64, example: Example) {
        self.add_graded(problem, count, false, example);
    }

    /// As [`Self::add`], of what may be harmless.
    #[cold]
    pub(super) fn add_graded(
        &mut self,
        problem: Problem,
        count: u64,
        is_harmless: bool,
        example: Example,
    ) {
        self.note(
            problem,
            Tallied {
                count,
                is_harmless,
                example,
            },
        );
    }

    fn note(&mut self, problem: Problem, new: Tallied) {
        let second = new.example.second.map(|actor| actor.instruction);
        let caller = new.example.first.calls.each().next();
        let key = (problem, new.example.first.instruction, second, caller);
        match self.known.get_mut(&key) {
            Some(known) if known.lowest.example.block < new.example.block => known.all.add(new),
            _ => self.note_entry(
                key,
                Entry {
                    all: new.clone(),
                    lowest: new,
                },
            ),
        }
    }

    fn note_entry(&mut self, key: Key, new: Entry) {
        match self.known.entry(key) {
            hash_map::Entry::Vacant(known) => _ = known.insert(new),
            hash_map::Entry::Occupied(mut known) => known.get_mut().add(new),
        }
    }

    pub(super) fn merge(&mut self, other: Tally) {
        for (key, entry) in other.known {
            self.note_entry(key, entry);
        }
    }

    /// A launch has ended in a fault of a block. All blocks before it have ended, and how far those
    /// behind it have come depends on chance. So a problem stays if the lowest block that has it is
    /// none of these, and counts as often as that block has it. The blocks of a cooperative launch
    /// run in a fixed order.
    pub(super) fn keep_before_fault(&mut self, geometry: &LaunchGeometry, fault: &Fault) {
        if geometry.is_cooperative {
            return;
        }
        let last = geometry.group_index(fault.block);
        let group_of = |block| geometry.group_index(geometry.block_at(block));
        self.parts.clear();
        self.known
            .retain(|_, entry| group_of(entry.lowest.example.block) <= last);
        for entry in self.known.values_mut() {
            entry.all = entry.lowest.clone();
        }
    }

    /// Drops what two instructions do that `is_sound` knows.
    pub(super) fn drop_pairs(&mut self, is_sound: impl Fn(InstructionId, InstructionId) -> bool) {
        self.known.retain(|(_, first, second, _), _| {
            !second.is_some_and(|second| is_sound(*first, second))
        });
    }

    /// Drops a problem of instructions that have another, which says more, as well.
    pub(super) fn drop_beside(&mut self, dropped: Problem, other: Problem) {
        let others = self
            .known
            .keys()
            .filter(|key| key.0 == other)
            .map(|key| key.1);
        let others: Vec<InstructionId> = others.collect();
        self.known
            .retain(|key, _| key.0 != dropped || !others.contains(&key.1));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Different problems and instructions so far.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// One finding per problem and pair of source lines, in the order of the PTX text.
    pub(super) fn findings(&self, geometry: &LaunchGeometry) -> Vec<Finding> {
        self.graded_findings(geometry, |_, _, _| None)
    }

    /// As [`Self::findings`]; `excuse` says why two instructions are but a warning.
    pub(super) fn graded_findings(
        &self,
        geometry: &LaunchGeometry,
        excuse: impl Fn(Problem, InstructionId, Option<InstructionId>) -> Option<&'static str>,
    ) -> Vec<Finding> {
        let mut all: Vec<_> = self.known.iter().collect();
        all.sort_by_key(|(key, _)| **key);
        let mut findings: Vec<(u64, Finding)> = Vec::new();
        for (key, entry) in all {
            let Tallied {
                count,
                is_harmless,
                example,
            } = &entry.all;
            let site = |actor: Actor| {
                let thread = Some(actor.thread);
                let action = geometry.action_on(actor.instruction, example.space);
                let at = (actor.instruction, actor.calls);
                geometry.site(action, at, actor.block, thread)
            };
            let same = is_harmless.then_some(match key.0 {
                Problem::Uninitialised => "other bytes of its word are written: it may be padding",
                _ => "both store the same value",
            });
            let excuse = excuse(key.0, key.1, key.2).or(same);
            let details = [example.detail.as_str(), excuse.unwrap_or_default()];
            let details: Vec<&str> = details
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect();
            let found = Finding {
                problem: key.0,
                severity: match excuse {
                    Some(_) => Severity::Warning,
                    None => Severity::Error,
                },
                kernel: geometry.kernel_name(),
                region: (example.bytes != 0)
                    .then(|| geometry.region(example.space, example.address, example.bytes)),
                detail: details.join("; "),
                first: site(example.first),
                second: example.second.map(site),
                count: *count,
            };
            let lines = |finding: &Finding| {
                let line = |site: &Site| (site.place.clone(), site.inlined.clone());
                let second = finding.second.as_ref().map(line);
                (finding.problem, line(&finding.first), second)
            };
            match findings
                .iter_mut()
                .find(|(_, known)| lines(known) == lines(&found))
            {
                None => findings.push((example.block, found)),
                Some((block, known)) => {
                    let count = known.count + found.count;
                    let is_worse = found.severity > known.severity;
                    if is_worse || found.severity == known.severity && example.block < *block {
                        (*block, *known) = (example.block, found);
                    }
                    known.count = count;
                }
            }
        }
        findings.into_iter().map(|(_, finding)| finding).collect()
    }
}
