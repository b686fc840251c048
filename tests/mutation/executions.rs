//! How often each instruction is executed.

use ptx_emulator::{Fault, InstructionId, Kernel, LaunchContext, Observer, WarpContext};
use std::collections::BTreeMap;

/// Of each kernel and each of its instructions, how many threads executed it, over all launches.
#[derive(Default)]
pub struct Executions {
    kernels: BTreeMap<String, Vec<u64>>,
    /// The line of each instruction in the PTX, from 1.
    lines: BTreeMap<String, Vec<u32>>,
    /// Those of the launch that runs.
    now: Vec<u64>,
}

impl Executions {
    pub fn of_kernel(&self, kernel: &str) -> Option<&[u64]> {
        self.kernels.get(kernel).map(Vec::as_slice)
    }

    /// Whether any thread executed an instruction of that line, which counts from 1.
    pub fn reach(&self, kernel: &str, line: u32) -> bool {
        let (Some(counts), Some(lines)) = (self.kernels.get(kernel), self.lines.get(kernel)) else {
            return false;
        };
        counts
            .iter()
            .zip(lines)
            .any(|(&count, &at)| count != 0 && at == line)
    }
}

impl Observer for Executions {
    const ACCESSES: bool = false;

    fn fork(&self) -> Self {
        Executions {
            now: vec![0; self.now.len()],
            ..Executions::default()
        }
    }

    fn join(&mut self, worker: Self) {
        add(&mut self.now, &worker.now);
    }

    fn launch_start(&mut self, launch: &LaunchContext<'_>) {
        self.now = vec![0; launch.kernel.instruction_count()];
    }

    fn launch_end(&mut self, launch: &LaunchContext<'_>, _: Option<&Fault>) {
        let name = launch.kernel.name().to_owned();
        let lines = self.lines.entry(name.clone()).or_default();
        if lines.is_empty() {
            *lines = lines_of(launch.kernel);
        }
        let counts = self
            .kernels
            .entry(name)
            .or_insert_with(|| vec![0; self.now.len()]);
        add(counts, &self.now);
    }

    fn instruction(&mut self, _: &WarpContext<'_>, id: InstructionId, executing: u32) {
        self.now[id.index()] += u64::from(executing.count_ones());
    }
}

fn add(to: &mut [u64], more: &[u64]) {
    for (to, more) in to.iter_mut().zip(more) {
        *to += more;
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
