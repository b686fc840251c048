//! Interval latency from an instruction stream.
//!
//! One warp alone issues its instructions in order. Source 002 writes two times beside each: t_is,
//! when it issues, and t_re, when its result can be used.
//!
//! ```text
//! t_is = max( t_is of the one before + cycles that it occupies the issue, t_re of every operand )
//! t_re = t_is + latency
//! ```
//!
//! An instruction occupies the issue for 32 lanes over the lanes that its unit has per scheduler: 4
//! cycles for loads and stores on 8 units, 1 for f32 on 32, 2 on 16. Registers are as the source
//! treats them: a write does not wait for earlier reads or writes.

use std::collections::HashMap;

/// A register, a predicate or a flag: anything that an instruction writes and another one waits
/// for.
pub type Register = u32;

/// An instruction as the schedule sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Cycles from its issue to the next one's.
    pub issue_cycles: u32,
    /// L_F, L_M, …: cycles from its issue to its result.
    pub latency: u32,
    /// What it waits for.
    pub reads: Vec<Register>,
    /// What it makes.
    pub writes: Vec<Register>,
}

impl Instruction {
    /// An instruction that waits for nothing and makes nothing.
    pub fn new(issue_cycles: u32, latency: u32) -> Self {
        Instruction {
            issue_cycles,
            latency,
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// The same, waiting for these.
    pub fn reads(mut self, registers: &[Register]) -> Self {
        self.reads.extend_from_slice(registers);
        self
    }

    /// The same, making these.
    pub fn writes(mut self, registers: &[Register]) -> Self {
        self.writes.extend_from_slice(registers);
        self
    }
}

/// When each instruction of a warp alone issues and is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Schedule {
    /// t_is of each instruction, in cycles.
    pub issue: Vec<u64>,
    /// t_re of each instruction.
    pub result: Vec<u64>,
    /// L_ι: when the next execution can start to issue.
    pub latency: u64,
}

/// Issues a stream of instructions in order, from cycle 0 with all registers ready.
pub fn schedule(instructions: &[Instruction]) -> Schedule {
    let mut schedule = Schedule::default();
    let mut ready: HashMap<Register, u64> = HashMap::new();
    for instruction in instructions {
        let operands = instruction
            .reads
            .iter()
            .filter_map(|register| ready.get(register));
        let issue = operands.fold(schedule.latency, |issue, &ready| issue.max(ready));
        let result = issue + u64::from(instruction.latency);
        ready.extend(
            instruction
                .writes
                .iter()
                .map(|&register| (register, result)),
        );
        schedule.issue.push(issue);
        schedule.result.push(result);
        schedule.latency = issue + u64::from(instruction.issue_cycles);
    }
    schedule
}

/// Cycles that an instruction of a warp occupies the issue where its unit has
/// `lanes_per_scheduler` lanes; at least 1, also for 0 lanes.
pub const fn issue_cycles(lanes_per_scheduler: u32) -> u32 {
    if lanes_per_scheduler == 0 {
        1
    } else {
        32_u32.div_ceil(lanes_per_scheduler)
    }
}
