//! Launches.

use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Args, Counters, Kernel, LaunchConfig, LaunchError, Memory, Sanitizer};

use crate::error::{Failure, Result, guard};
use crate::memory::EmulatedMemory;
use crate::module::LoadedKernel;
use crate::pointer::{Array, Bytes, Object, Out, make};
use crate::report::LaunchReport;

/// `ptxemu_launch_config`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    struct_bytes: usize,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    dynamic_shared_bytes: u32,
    instruction_budget: u64,
    workers: u32,
    tools: u32,
    counters: u32,
    cooperative: u32,
}

/// The tools of a mask: bit n is the tool at place n.
fn tools(mask: u32) -> Result<Vec<Tool>> {
    if mask >> Tool::ALL.len() != 0 {
        return Err(Failure::invalid(format!(
            "{mask:#x} names sanitizers that there are not: PTXEMU_ALL_TOOLS is 0xf"
        )));
    }
    let all = Tool::ALL.into_iter().enumerate();
    let chosen = all.filter(|(bit, _)| mask & (1 << bit) != 0);
    Ok(chosen.map(|(_, tool)| tool).collect())
}

impl Config {
    /// The configuration at an address; what a later version of the interface added must be 0.
    fn at(place: Bytes) -> Result<Self> {
        let size = size_of::<Config>();
        let own = place.read(size_of::<usize>())?;
        let given = own
            .iter()
            .rev()
            .fold(0, |all, &byte| all << 8 | byte as usize);
        if given < size || given > 4096 || place.read(given)?[size..].iter().any(|&byte| byte != 0)
        {
            return Err(Failure::invalid(format!(
                "struct_bytes of a launch is {given}: set it to sizeof(ptxemu_launch_config), \
                 {size} bytes in version {}",
                crate::VERSION
            )));
        }
        let bytes = place.read(size)?;
        let word = |at: usize| {
            let four = bytes[at..at + 4].iter().rev();
            four.fold(0, |all, &byte| all << 8 | u32::from(byte))
        };
        let three = |at: usize| [word(at), word(at + 4), word(at + 8)];
        let at = std::mem::offset_of!(Config, instruction_budget);
        Ok(Config {
            struct_bytes: given,
            grid: three(std::mem::offset_of!(Config, grid)),
            block: three(std::mem::offset_of!(Config, block)),
            cluster: three(std::mem::offset_of!(Config, cluster)),
            dynamic_shared_bytes: word(std::mem::offset_of!(Config, dynamic_shared_bytes)),
            instruction_budget: u64::from(word(at)) | u64::from(word(at + 4)) << 32,
            workers: word(std::mem::offset_of!(Config, workers)),
            tools: word(std::mem::offset_of!(Config, tools)),
            counters: word(std::mem::offset_of!(Config, counters)),
            cooperative: word(std::mem::offset_of!(Config, cooperative)),
        })
    }

    fn launch_config(&self) -> LaunchConfig {
        let mut config = LaunchConfig::new(self.grid, self.block);
        config.cluster = (self.cluster != [0; 3]).then_some(self.cluster);
        config.cooperative = self.cooperative != 0;
        config.dynamic_shared_bytes = self.dynamic_shared_bytes;
        if self.instruction_budget != 0 {
            config.instruction_budget = self.instruction_budget;
        }
        config.workers = (self.workers != 0).then_some(self.workers as usize);
        config
    }
}

/// Copies the arguments: one pointer to each parameter's bytes.
pub(crate) fn arguments(kernel: &Kernel, each: &Array, count: usize) -> Result<Args> {
    let params = kernel.params();
    if count != params.len() {
        let (name, expected) = (kernel.name(), params.len());
        return Err(Failure::invalid(format!(
            "kernel `{name}` takes {expected} arguments, not {count}"
        )));
    }
    let mut args = Args::new();
    for (index, param) in params.iter().enumerate() {
        args.push_bytes(each.at(index)?.read(param.bytes as usize)?);
    }
    Ok(args)
}

/// The arguments out of the kernel's parameter block.
fn packed(kernel: &Kernel, block: &[u8]) -> Result<Args> {
    let mut args = Args::new();
    for param in kernel.params() {
        let start = param.offset as usize;
        let one = block.get(start..start + param.bytes as usize);
        args.push_bytes(one.ok_or_else(|| {
            let (given, name) = (block.len(), &param.name);
            Failure::invalid(format!(
                "a parameter block of {given} bytes ends before parameter `{name}` does"
            ))
        })?);
    }
    Ok(args)
}

fn launch(
    (kernel, memory): (&Kernel, &Memory),
    config: &Config,
    args: &Args,
    to: &Out<*mut LaunchReport>,
) -> Result {
    let tools = tools(config.tools)?;
    let launch = config.launch_config();
    let (mut counters, mut sanitizer) = (Counters::new(), Sanitizer::new(&tools));
    let ended = match (tools.is_empty(), config.counters != 0) {
        (true, false) => kernel.launch(memory, &launch, args),
        (true, true) => kernel.launch_observed(memory, &launch, args, &mut counters),
        (false, false) => kernel.launch_observed(memory, &launch, args, &mut sanitizer),
        (false, true) => {
            let mut both = (counters, sanitizer);
            let ended = kernel.launch_observed(memory, &launch, args, &mut both);
            (counters, sanitizer) = both;
            ended
        }
    };
    if !to.is_null() && matches!(ended, Ok(_) | Err(LaunchError::Fault(_))) {
        let counters = (config.counters != 0).then_some(&counters);
        let findings = sanitizer.findings();
        let report = LaunchReport::new(kernel, &ended, counters, &findings, memory.take_printed());
        make(to, report)?;
    }
    Ok(ended.map(drop)?)
}

/// `ptxemu_launch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_launch(
    kernel: Object<LoadedKernel>,
    memory: Object<EmulatedMemory>,
    config: Bytes,
    each: Array,
    count: usize,
    report: Out<*mut LaunchReport>,
) -> u32 {
    guard(|| {
        report.set_optional(std::ptr::null_mut());
        let (kernel, memory) = (&kernel.get()?.kernel, &memory.get()?.0);
        let args = arguments(kernel, &each, count)?;
        launch((kernel, memory), &Config::at(config)?, &args, &report)
    })
}

/// `ptxemu_launch_packed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_launch_packed(
    kernel: Object<LoadedKernel>,
    memory: Object<EmulatedMemory>,
    config: Bytes,
    block: Bytes,
    bytes: usize,
    report: Out<*mut LaunchReport>,
) -> u32 {
    guard(|| {
        report.set_optional(std::ptr::null_mut());
        let (kernel, memory) = (&kernel.get()?.kernel, &memory.get()?.0);
        let args = packed(kernel, block.read(bytes)?)?;
        launch((kernel, memory), &Config::at(config)?, &args, &report)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_zero_is_taken_over() {
        let config = Config {
            struct_bytes: size_of::<Config>(),
            grid: [2, 3, 5],
            block: [32, 1, 1],
            cluster: [0; 3],
            dynamic_shared_bytes: 64,
            instruction_budget: 0,
            workers: 0,
            tools: 0,
            counters: 0,
            cooperative: 1,
        };
        let launch = config.launch_config();
        let expected = LaunchConfig {
            cooperative: true,
            dynamic_shared_bytes: 64,
            ..LaunchConfig::new([2, 3, 5], [32, 1, 1])
        };
        assert_eq!(launch, expected);
    }
}
