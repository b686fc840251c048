//! What stops execution: breakpoints, changed memory, findings, and the end of a step.

use super::command::{Elements, Location, Space};
use super::debugger::{Debugger, NOTHING, State};
use super::focus::Focus;
use super::value::{lanes, triple};
use ptx_emulator::InstructionId;
use ptx_emulator::counters::SourceLine;
use ptx_emulator::sanitize::{Finding, Problem, Severity};
use ptx_emulator::stepping::{LaneGroup, Paused, Step};
use std::fmt::Write as _;
use warpladder_lab::emulate::Scalar;

/// Where execution stops.
pub(super) struct Breakpoint {
    pub(super) number: u32,
    pub(super) place: Location,
    /// In the kernel that runs.
    pub(super) at: Vec<InstructionId>,
}

/// Memory whose change stops execution.
pub(super) struct Watchpoint {
    pub(super) number: u32,
    pub(super) elements: Elements,
    pub(super) element: Scalar,
    /// The block whose shared memory it is in.
    pub(super) block: [u32; 3],
    pub(super) address: u64,
    pub(super) bytes: Vec<u8>,
}

/// How far to go.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Goal {
    /// To whatever stops.
    Stop,
    /// Steps of the focused warp.
    Steps {
        unit: Unit,
        left: u64,
        /// Whether the warp has executed anything since.
        has_begun: bool,
        /// Where the last one began.
        line: Option<SourceLine>,
        depth: usize,
    },
    /// To the beginning of a block.
    Block([u32; 3]),
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Instruction,
    Line,
    /// A line, of this function or one that called it.
    OwnLine,
}

/// What identifies a finding while its count grows.
pub(super) type Known = (Problem, Option<u32>, Option<u32>);

/// Most instructions of a breakpoint that are shown.
const MAX_SHOWN: usize = 12;

/// Most changed elements that are shown.
const MAX_CHANGES: usize = 4;

impl Debugger {
    pub(super) fn begin_steps(
        &mut self,
        unit: Unit,
        count: u64,
        state: State<'_>,
    ) -> Result<(), String> {
        let paused = state.paused()?;
        if paused.fault().is_some() {
            return Err("the launch has ended in a fault: `run` begins again".to_owned());
        }
        let (_, group) = self.group(paused)?;
        self.goal = Goal::Steps {
            unit,
            left: count,
            has_begun: false,
            line: self.line_of(&group),
            depth: group.calls.len(),
        };
        Ok(())
    }

    fn line_of(&self, group: &LaneGroup) -> Option<SourceLine> {
        let code = self.code.as_ref()?;
        code.line(group.instruction?).cloned()
    }

    fn number(&mut self) -> u32 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn delete(&mut self, number: Option<u32>) -> Result<(), String> {
        let is_kept = |own: u32| number.is_some_and(|number| number != own);
        let count = self.breakpoints.len() + self.watchpoints.len();
        self.breakpoints.retain(|point| is_kept(point.number));
        self.watchpoints.retain(|point| is_kept(point.number));
        match number {
            Some(number) if count == self.breakpoints.len() + self.watchpoints.len() => Err(
                format!("there is no breakpoint {number}: see info breakpoints"),
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn set_breakpoint(&mut self, place: Location) -> Result<(), String> {
        let code = self.code.as_ref().ok_or(NOTHING)?;
        let at = code.find(&place)?;
        let first = at.first().map(|&id| code.place(id)).unwrap_or_default();
        let moved = match &place {
            Location::Line { line, .. } if at.iter().all(|&id| !code.is_at(id, *line)) => {
                format!(", since line {line} has no code of its own")
            }
            _ => String::new(),
        };
        let numbers = at.iter().take(MAX_SHOWN);
        let numbers: Vec<String> = numbers.map(|id| format!("*{}", id.index())).collect();
        let more = match at.len().saturating_sub(MAX_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (number, numbers) = (self.number(), numbers.join(", "));
        self.say(&format!(
            "breakpoint {number} at {first}{moved}: {numbers}{more}"
        ));
        self.breakpoints.push(Breakpoint { number, place, at });
        Ok(())
    }

    pub(super) fn set_watchpoint(
        &mut self,
        elements: Elements,
        state: State<'_>,
    ) -> Result<(), String> {
        let (address, element) = self.locate(&elements, state)?;
        let bytes = self.bytes(&elements, (address, element), state)?;
        let number = self.number();
        self.say(&format!("watchpoint {number}: {}", elements.text));
        self.watchpoints.push(Watchpoint {
            number,
            elements,
            element,
            block: self.focus.block,
            address,
            bytes,
        });
        Ok(())
    }

    /// Shows what has changed of what is watched.
    fn changes(&mut self, paused: &dyn Paused) -> bool {
        let mut texts = Vec::new();
        let blocks = paused.blocks();
        for point in &mut self.watchpoints {
            let mut now = vec![0; point.bytes.len()];
            match point.elements.space {
                Space::Global if paused.memory().read(point.address, &mut now).is_ok() => {}
                Space::Global => continue,
                Space::Shared => {
                    let found = (0..).zip(&blocks).find(|(_, block)| **block == point.block);
                    let Some((rank, _)) = found else { continue };
                    for (at, byte) in (point.address..).zip(&mut now) {
                        let at = u32::try_from(at).ok();
                        *byte = at.and_then(|at| paused.shared_byte(rank, at)).unwrap_or(0);
                    }
                }
            }
            if now == point.bytes {
                continue;
            }
            let size = point.element.bytes();
            let pairs = point.bytes.chunks(size).zip(now.chunks(size));
            let changed = pairs
                .zip(point.elements.first..)
                .filter(|((old, new), _)| old != new);
            let mut text = format!("watchpoint {}: {}", point.number, point.elements.text);
            for ((old, new), at) in changed.take(MAX_CHANGES) {
                let (old, new) = (point.element.show(old), point.element.show(new));
                _ = write!(text, "\n  element {at} was {old}, is {new}");
            }
            point.bytes = now;
            texts.push(text);
        }
        for text in &texts {
            self.say(text);
        }
        if let (Some(last), false) = (self.last, texts.is_empty()) {
            let who = format!("block {}, warp {}", triple(last.block), last.warp);
            let what = match &self.code {
                Some(code) => code.instruction(last.instruction),
                None => String::new(),
            };
            self.say(&format!(
                "  changed by {who}, {}: {what}",
                lanes(last.lanes)
            ));
        }
        !texts.is_empty()
    }

    /// Shows what the sanitizers have found since the last time.
    pub(super) fn new_findings(&mut self, findings: &[Finding]) -> bool {
        let key = |finding: &Finding| {
            let second = finding.second.as_ref().and_then(|site| site.ptx_line);
            (finding.problem, finding.first.ptx_line, second)
        };
        let mut found = false;
        for finding in findings {
            if finding.severity == Severity::Error && !self.known.contains(&key(finding)) {
                self.known.push(key(finding));
                self.say(&finding.to_string());
                found = true;
            }
        }
        found
    }

    /// Why execution stops before a step, if it does; what to say is said.
    pub(super) fn stops(&mut self, paused: &dyn Paused, step: &Step) -> bool {
        let mut stops = false;
        if self.sanitizer.noted() != self.noted {
            self.noted = self.sanitizer.noted();
            stops |= self.new_findings(&self.sanitizer.findings_so_far());
        }
        stops |= self.changes(paused);
        // What has happened is of the warp that ran last.
        if let (true, Some(last)) = (stops, self.last) {
            let rank = self.rank_of(paused, last.block);
            if rank.is_some_and(|rank| paused.live(rank, last.warp) != 0) {
                self.focus_on(&last);
                self.focus_live_lane(paused);
                return true;
            }
        }
        if stops {
            self.focus_on(step);
            return true;
        }
        if crate::interrupt::forget() {
            self.say("interrupted");
            self.focus_on(step);
            return true;
        }
        let key = (step.block, step.warp);
        let hit = self
            .breakpoints
            .iter()
            .find(|point| point.at.contains(&step.instruction));
        if let Some(number) = hit.map(|point| point.number)
            && self.reported.get(&key) != Some(&step.instruction)
        {
            self.reported.insert(key, step.instruction);
            self.say(&format!("breakpoint {number}"));
            self.focus_on(step);
            return true;
        }
        self.reaches_goal(paused, step)
    }

    fn rank_of(&self, paused: &dyn Paused, block: [u32; 3]) -> Option<u32> {
        let blocks = paused.blocks();
        (0..)
            .zip(&blocks)
            .find(|(_, known)| **known == block)
            .map(|(rank, _)| rank)
    }

    fn reaches_goal(&mut self, paused: &dyn Paused, step: &Step) -> bool {
        let Focus { block, warp, .. } = self.focus;
        match &mut self.goal {
            Goal::Stop => false,
            Goal::Block(wanted) if *wanted == step.block => {
                self.focus_on(step);
                true
            }
            Goal::Block(_) => false,
            Goal::Steps { .. } if (step.block, step.warp) != (block, warp) => {
                let rank = self.rank_of(paused, block);
                let is_live = rank.is_some_and(|rank| paused.live(rank, warp) != 0);
                if !is_live {
                    self.say(&format!(
                        "warp {warp} of block {} has exited",
                        triple(block)
                    ));
                    self.focus_on(step);
                }
                !is_live
            }
            Goal::Steps {
                unit,
                left,
                has_begun,
                line,
                depth,
            } => {
                let group = paused.groups(step.rank, warp).into_iter().nth(step.group);
                let now = self
                    .code
                    .as_ref()
                    .and_then(|code| code.line(step.instruction));
                let calls = group.map_or(0, |group| group.calls.len());
                let is_step = match unit {
                    Unit::Instruction => true,
                    Unit::Line => now.is_some() && now != line.as_ref(),
                    Unit::OwnLine => now.is_some() && now != line.as_ref() && calls <= *depth,
                };
                if !*has_begun || !is_step {
                    return false;
                }
                *left = left.saturating_sub(1);
                (*line, *depth) = (now.cloned(), calls);
                let is_done = *left == 0;
                if is_done {
                    self.focus_on(step);
                }
                is_done
            }
        }
    }
}
