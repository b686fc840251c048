//! What a sanitizer found, in words that name both sides.

use std::fmt;

use super::launch_geometry::LaunchGeometry;
use crate::counters::SourceLine;
use crate::error::{AccessFault, Fault, FaultKind};
use crate::ir::Space;

/// One of the sanitizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Tool {
    /// Accesses outside of allocations, misaligned, through null pointers, after a free.
    Memcheck,
    /// Accesses of several threads that nothing orders, one of them a write.
    Racecheck,
    /// Reads of memory that was never written.
    Initcheck,
    /// Barriers, shuffles and votes that not all of their threads reach.
    Synccheck,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 4] = [
        Tool::Memcheck,
        Tool::Racecheck,
        Tool::Initcheck,
        Tool::Synccheck,
    ];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Memcheck => "memcheck",
            Tool::Racecheck => "racecheck",
            Tool::Initcheck => "initcheck",
            Tool::Synccheck => "synccheck",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Severity {
    /// A violation of the rules whose outcome is the same in whatever order it happens.
    Warning,
    /// A violation of the rules whose outcome is not known.
    #[default]
    Error,
}

impl Severity {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Problem {
    /// An access outside of every allocation.
    OutOfBounds,
    /// An address that is not a multiple of the access size.
    Misaligned,
    /// An access near address 0.
    NullPointer,
    /// An access to memory that has been freed.
    UseAfterFree,
    /// A store or an arrival in the shared memory of a block of the cluster that has ended.
    EndedBlock,
    /// A write to constant or parameter memory.
    ReadOnly,
    /// A block of the device heap that is freed a second time, or that was never allocated.
    BadFree,
    /// A block of the device heap that is never freed.
    Leak,
    /// The kernel stopped: `trap`, a bad call or branch, the instruction budget.
    Stopped,
    /// Threads of one block access the same bytes in no order, and one of them writes.
    RaceInBlock,
    /// Threads of two blocks do.
    RaceBetweenBlocks,
    /// A read of bytes that were never written.
    Uninitialised,
    /// Threads wait for threads that never arrive.
    Deadlock,
    /// A barrier that does not exist.
    BadBarrier,
    /// Lanes of one warp reach a barrier of the block apart from each other, or go on without it.
    DivergentBarrier,
    /// Threads have exited before a barrier of their block that others wait at.
    ExitedBeforeBarrier,
    /// A lane executes a `.sync` instruction with a member mask that it is not in.
    NotAMember,
    /// Lanes of one member mask give different masks.
    DifferentMasks,
    /// A shuffle reads from an inactive lane.
    InactiveSource,
}

impl Problem {
    /// The sanitizer that looks for it.
    pub fn tool(self) -> Tool {
        match self {
            Problem::OutOfBounds
            | Problem::Misaligned
            | Problem::NullPointer
            | Problem::UseAfterFree
            | Problem::EndedBlock
            | Problem::ReadOnly
            | Problem::BadFree
            | Problem::Leak
            | Problem::Stopped => Tool::Memcheck,
            Problem::RaceInBlock | Problem::RaceBetweenBlocks => Tool::Racecheck,
            Problem::Uninitialised => Tool::Initcheck,
            Problem::Deadlock
            | Problem::BadBarrier
            | Problem::DivergentBarrier
            | Problem::ExitedBeforeBarrier
            | Problem::NotAMember
            | Problem::DifferentMasks
            | Problem::InactiveSource => Tool::Synccheck,
        }
    }

    /// The problem in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Problem::OutOfBounds => "access out of bounds",
            Problem::Misaligned => "misaligned access",
            Problem::NullPointer => "access through a null pointer",
            Problem::UseAfterFree => "use after free",
            Problem::EndedBlock => "access to the shared memory of a block that has ended",
            Problem::ReadOnly => "write to read-only memory",
            Problem::BadFree => "free of what is not allocated",
            Problem::Leak => "memory of the device heap that is not freed",
            Problem::Stopped => "the kernel stopped",
            Problem::RaceInBlock => "race between threads of a block",
            Problem::RaceBetweenBlocks => "race between blocks",
            Problem::Uninitialised => "read of memory that was never written",
            Problem::Deadlock => "threads wait for others that never arrive",
            Problem::BadBarrier => "barrier that does not exist",
            Problem::DivergentBarrier => "barrier in divergent code",
            Problem::ExitedBeforeBarrier => "barrier that threads of the block do not reach",
            Problem::NotAMember => "lane outside of its own member mask",
            Problem::DifferentMasks => "different member masks for one operation",
            Problem::InactiveSource => "shuffle from a lane that does not take part",
        }
    }
}

/// One side of a finding: an instruction, and a thread that executed it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Site {
    /// What the thread did, for example `write`.
    pub action: &'static str,
    /// The line in the kernel's own source; see [`LineCounts`](crate::counters::LineCounts).
    pub place: Option<SourceLine>,
    /// The source line of the code itself, if it was inlined into that line or is in a function
    /// that it calls.
    pub inlined: Option<SourceLine>,
    /// The PTX instruction.
    pub instruction: Option<String>,
    /// Its line in the PTX text, from 1.
    pub ptx_line: Option<u32>,
    /// Index of the block in the grid.
    pub block: [u32; 3],
    /// Index of the thread in its block; none where it is not known, and of the host.
    pub thread: Option<[u32; 3]>,
}

impl Site {
    /// What the host does after a launch.
    pub(super) fn of_host(action: &'static str) -> Self {
        Site {
            action,
            place: None,
            inlined: None,
            instruction: None,
            ptx_line: None,
            block: [0; 3],
            thread: None,
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.instruction.is_none() && self.thread.is_none() {
            return f.write_str(self.action);
        }
        write!(f, "{} at ", self.action)?;
        match &self.place {
            Some(place) => write!(f, "{}:{}", place.file, place.line)?,
            None => f.write_str("an unknown line")?,
        }
        if let Some(inlined) = &self.inlined {
            write!(f, " (inlined from {}:{})", inlined.file, inlined.line)?;
        }
        let [x, y, z] = self.block;
        write!(f, ", block ({x}, {y}, {z})")?;
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        if let (Some(instruction), Some(line)) = (&self.instruction, self.ptx_line) {
            write!(f, ": `{instruction}`, PTX line {line}")?;
        }
        Ok(())
    }
}

/// Memory that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Region {
    /// The state space.
    pub space: Space,
    /// The first address: generic for global memory, else within the space.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
    /// The allocation or the variable around it, in words.
    pub around: String,
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Region {
            space,
            address,
            bytes,
            around,
        } = self;
        write!(f, "{bytes} bytes of {space} memory at {address:#x}")?;
        if !around.is_empty() {
            write!(f, ", {around}")?;
        }
        Ok(())
    }
}

/// What a sanitizer found: one per problem and pair of source lines, with an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong.
    pub problem: Problem,
    /// How bad it is.
    pub severity: Severity,
    /// The kernel.
    pub kernel: String,
    /// The memory of the example.
    pub region: Option<Region>,
    /// More about the example, in words; empty where there is nothing to add.
    pub detail: String,
    /// The thread of the example; of a race, the one that writes.
    pub first: Site,
    /// Of a race, the other thread.
    pub second: Option<Site>,
    /// How often it was found. Of a race: the lanes' accesses that conflict with an earlier one,
    /// each once for every word over which it does; between blocks, the words of memory in
    /// conflict.
    pub count: u64,
}

impl Finding {
    /// The sanitizer that found it.
    pub fn tool(&self) -> Tool {
        self.problem.tool()
    }

    /// A launch's fault as a finding.
    pub(super) fn of_fault(geometry: &LaunchGeometry, fault: &Fault) -> Self {
        let region = |access: &AccessFault| Region {
            space: access.space,
            address: access.address,
            bytes: access.bytes,
            around: access.nearest.clone(),
        };
        let (problem, region, action, detail) = match &fault.kind {
            FaultKind::OutOfBounds(a) => {
                (Problem::OutOfBounds, Some(region(a)), a.access.name(), None)
            }
            FaultKind::Misaligned(a) => {
                (Problem::Misaligned, Some(region(a)), a.access.name(), None)
            }
            FaultKind::NullPointer(a) => {
                (Problem::NullPointer, Some(region(a)), a.access.name(), None)
            }
            FaultKind::UseAfterFree(a) => (
                Problem::UseAfterFree,
                Some(region(a)),
                a.access.name(),
                None,
            ),
            FaultKind::ReadOnly(a) => (Problem::ReadOnly, Some(region(a)), a.access.name(), None),
            kind @ (FaultKind::DoubleFree { .. } | FaultKind::BadFree { .. }) => {
                (Problem::BadFree, None, "free", Some(kind.to_string()))
            }
            FaultKind::Deadlock(origin) => {
                (Problem::Deadlock, None, "waiting", Some(origin.clone()))
            }
            FaultKind::BadBarrier(what) => {
                (Problem::BadBarrier, None, "barrier", Some(what.clone()))
            }
            other => {
                let mut text = other.to_string();
                if let Some(waiting) = &fault.waiting {
                    text += &format!(": {waiting}");
                }
                (Problem::Stopped, None, "stopped", Some(text))
            }
        };
        let mut first = match fault.id {
            Some(id) => geometry.site(action, (id, fault.calls), fault.block, None),
            None => Site {
                action,
                place: None,
                inlined: None,
                instruction: fault.instruction.clone(),
                ptx_line: fault.line,
                block: fault.block,
                thread: None,
            },
        };
        first.thread = fault.thread;
        Finding {
            problem,
            severity: Severity::Error,
            kernel: fault.kernel.clone(),
            region,
            detail: detail.unwrap_or_default(),
            first,
            second: None,
            count: 1,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = self.problem.describe();
        write!(f, "{}: ", self.tool())?;
        if self.severity != Severity::Error {
            write!(f, "{}: ", self.severity)?;
        }
        write!(f, "kernel `{}`: {problem}", self.kernel)?;
        if let Some(region) = &self.region {
            write!(f, ": {region}")?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        if self.count > 1 {
            write!(f, " ({} times)", self.count)?;
        }
        write!(f, "\n    {}", self.first)?;
        if let Some(second) = &self.second {
            write!(f, "\n    {second}")?;
        }
        Ok(())
    }
}
