//! How often each instruction is executed.

use ptx_emulator::{
    Counters, Event, Interest, Kernel, LaunchError, ObservedLaunch, Observer, Report,
};
use std::collections::BTreeMap;

/// Of each kernel and each of its instructions, how many threads executed it, over all launches.
#[derive(Default)]
pub struct Executions {
    kernels: BTreeMap<String, Vec<u64>>,
    /// The line of each instruction in the PTX, from 1.
    lines: BTreeMap<String, Vec<u32>>,
}

impl Executions {
    pub fn of_kernel(&self, kernel: &str) -> Option<&[u64]> {
        self.kernels.get(kernel).map(Vec::as_slice)
    }

    /// All instructions of all threads.
    pub fn total(&self) -> u64 {
        self.kernels.values().flatten().sum()
    }

    /// Whether each instruction of that line, which counts from 1, had an effect in some thread.
    /// An arrival under a predicate shares its line with what sets the predicate.
    pub fn reach(&self, kernel: &str, line: u32) -> bool {
        let (Some(counts), Some(lines)) = (self.kernels.get(kernel), self.lines.get(kernel)) else {
            return false;
        };
        let at_line = counts.iter().zip(lines).filter(|(_, at)| **at == line);
        let mut counts = at_line.map(|(count, _)| *count).peekable();
        counts.peek().is_some() && counts.all(|count| count != 0)
    }

    fn add(&mut self, counters: &Counters) {
        let Some(kernel) = counters.kernel() else {
            return;
        };
        let name = kernel.name().to_owned();
        let counts = self
            .kernels
            .entry(name.clone())
            .or_insert_with(|| vec![0; kernel.instruction_count()]);
        for (id, executed) in counters.instructions() {
            counts[id.index()] += executed.thread_instructions;
        }
        self.lines.entry(name).or_insert_with(|| lines_of(kernel));
    }
}

/// Each launch is watched by counters, for which the executor is compiled, with optimisation,
/// already.
impl Observer for Executions {
    const INTEREST: Interest = Interest::NONE;

    fn fork(&self) -> Self {
        Executions::default()
    }

    fn join(&mut self, _: Self) {}

    fn event(&mut self, _: Event<'_>) {}

    fn launch(&mut self, launch: ObservedLaunch<'_>) -> Result<Report, LaunchError> {
        let mut counters = Counters::new();
        let outcome = Observer::launch(&mut counters, launch);
        self.add(&counters);
        outcome
    }
}

/// The line of every instruction that is in a basic block.
fn lines_of(kernel: &Kernel) -> Vec<u32> {
    let mut lines = vec![0; kernel.instruction_count()];
    for id in kernel
        .basic_blocks()
        .iter()
        .flat_map(|block| block.instructions())
    {
        lines[id.index()] = kernel.instruction(id).line();
    }
    lines
}
