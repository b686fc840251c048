//! Modules, functions and launches.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use ptx_emulator::sanitize::{Problem, Tool};
use ptx_emulator::{
    Args, Counters, FaultKind, Kernel, KernelError, LaunchConfig, LaunchError, Module, Sanitizer,
};

use crate::code::{Code, Result};
use crate::context::Current;
use crate::device::{EmulatedDevice, target_number};
use crate::device_launch;
use crate::device_runtime::with_device_runtime;
use crate::link::limit_of;
use crate::memory::of_memory_error;
use crate::state::{Driver, Handle, lock};

/// PTX longer than this is not decoded when it is loaded, but kernel by kernel.
const DECODED_AT_ONCE: usize = 4 << 20;

/// Registers of a block, and of a thread.
const REGISTERS: i32 = 64 << 10;
const MAX_REGISTERS: i32 = 255;

/// Shared memory of a block without opting in.
const DEFAULT_SHARED: u32 = 48 << 10;

/// A module in a context.
#[derive(Debug)]
pub(crate) struct LoadedModule {
    pub(crate) context: Handle,
    pub(crate) module: Module,
    /// Whether its kernels launch others.
    pub(crate) launches: bool,
    /// `CU_JIT_MAX_REGISTERS`: the emulator has as many as it needs, and reports at most these.
    max_registers: Option<u32>,
    functions: Mutex<HashMap<String, Handle>>,
}

/// A kernel of a module.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) context: Handle,
    pub(crate) module: Handle,
    pub(crate) kernel: Kernel,
    /// `CUfunction_attribute`s that were set.
    pub(crate) attributes: Mutex<HashMap<u32, i32>>,
    /// What programs of before CUDA 4.0 have set for the next launch.
    pub(crate) remembered: Mutex<Remembered>,
}

/// A launch's block, its shared memory and the bytes of its arguments.
#[derive(Debug)]
pub(crate) struct Remembered {
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) arguments: Vec<u8>,
}

impl Default for Remembered {
    fn default() -> Self {
        Remembered {
            block: [1; 3],
            shared: 0,
            arguments: Vec::new(),
        }
    }
}

pub(crate) const MAX_DYNAMIC_SHARED: u32 = 8;

/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
const LARGER_CLUSTERS: u32 = 14;

/// When the kernels of a module are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loading {
    /// With the module: what is wrong with one of them is an error of the load. Of a long module,
    /// the syntax is checked, and kernels are decoded when they are first used.
    Eager,
    /// Each when it is first used.
    Lazy,
}

/// Loads PTX.
///
/// # Errors
/// The driver's code, and a line for the log.
pub(crate) fn load(
    current: &Current,
    text: &str,
    (loading, max_registers): (Loading, Option<u32>),
) -> std::result::Result<Handle, (Code, String)> {
    let invalid = |message: String| (Code::INVALID_PTX, message);
    let at_once = loading == Loading::Eager && text.len() <= DECODED_AT_ONCE;
    let text = with_device_runtime(text);
    let module = match loading {
        Loading::Eager => Module::parse(&text),
        Loading::Lazy => Module::index(&text),
    };
    let module = module.map_err(|error| invalid(error.to_string()))?;
    current
        .device()
        .check_target(module.target())
        .map_err(invalid)?;
    if at_once {
        for name in module.kernel_names() {
            // What the emulator does not support is an error of the kernel that needs it.
            if let Err(error @ KernelError::Instruction { .. }) = module.kernel(name) {
                return Err(invalid(error.to_string()));
            }
        }
    }
    Ok(current.driver.modules.insert(LoadedModule {
        context: current.handle,
        launches: text.contains(device_launch::QUEUE),
        module,
        max_registers: max_registers.or_else(|| limit_of(&text)),
        functions: Mutex::default(),
    }))
}

/// The function of a module.
///
/// # Errors
/// `CUDA_ERROR_NOT_FOUND`, or `CUDA_ERROR_NOT_SUPPORTED` after a line with the instruction that the
/// emulator does not have.
pub(crate) fn function(driver: &Driver, handle: Handle, name: &str) -> Result<Handle> {
    let loaded = driver.modules.get(handle)?;
    let mut functions = lock(&loaded.functions);
    if let Some(&known) = functions.get(name) {
        return Ok(known);
    }
    let kernel = loaded.module.kernel(name).map_err(|error| match error {
        KernelError::Unknown { .. } => Code::NOT_FOUND,
        error => {
            eprintln!("warpladder cuda: {error}");
            match error {
                KernelError::Unsupported { .. } | KernelError::Refused { .. } => {
                    Code::NOT_SUPPORTED
                }
                _ => Code::INVALID_PTX,
            }
        }
    })?;
    let function = driver.functions.insert(Function {
        context: loaded.context,
        module: handle,
        kernel,
        attributes: Mutex::default(),
        remembered: Mutex::default(),
    });
    functions.insert(name.to_string(), function);
    Ok(function)
}

/// Address and bytes of a module's variable.
///
/// # Errors
/// `CUDA_ERROR_NOT_FOUND`, or that of the memory.
pub(crate) fn global(driver: &Driver, handle: Handle, name: &str) -> Result<(u64, u64)> {
    let loaded = driver.modules.get(handle)?;
    match loaded.module.variable(&driver.memory, name) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(Code::NOT_FOUND),
        Err(LaunchError::Variables(error)) => Err(of_memory_error(&error)),
        Err(_) => Err(Code::UNKNOWN),
    }
}

impl Function {
    /// Whether the program allows clusters that not every device with clusters can run.
    pub(crate) fn has_larger_clusters(&self) -> bool {
        let set = lock(&self.attributes).get(&LARGER_CLUSTERS).copied();
        set.is_some_and(|set| set != 0)
    }

    /// Most threads of a block.
    pub(crate) fn max_threads(&self) -> i32 {
        let declared = self.kernel.max_threads();
        let threads = declared.map_or(1024, |extents| extents.iter().product::<u32>());
        threads.min(1024) as i32
    }

    /// A `CUfunction_attribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for one that is not known.
    pub(crate) fn attribute(&self, driver: &Driver, attribute: u32) -> Result<i32> {
        if let Some(&set) = lock(&self.attributes).get(&attribute) {
            return Ok(set);
        }
        let context = driver.contexts.get(self.context)?;
        let (major, minor) = driver.devices[context.device].capability;
        let loaded = driver.modules.get(self.module)?;
        let cluster = self.kernel.required_cluster();
        Ok(match attribute {
            0 => self.max_threads(),
            1 => self.kernel.static_shared_bytes() as i32,
            2 => i32::try_from(loaded.module.constant_bytes()).unwrap_or(i32::MAX),
            3 => self.kernel.local_bytes() as i32,
            4 => self.registers(loaded.max_registers),
            7 => 0,
            // The virtual architecture, and not the version of PTX.
            5 => target_number(loaded.module.target()).0,
            6 => 10 * major + minor,
            MAX_DYNAMIC_SHARED => self.default_dynamic_shared() as i32,
            9 => -1,
            10 => i32::from(cluster.is_some()),
            11..=13 => cluster.map_or(0, |extents| extents[attribute as usize - 11] as i32),
            14 | 15 => 0,
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    /// Those that the emulator has for a thread, as there is no machine code, and at most what lets
    /// the largest block run. Programs divide the registers of a multiprocessor by them.
    fn registers(&self, limit: Option<u32>) -> i32 {
        let most = (REGISTERS / self.max_threads().max(1)).clamp(1, MAX_REGISTERS);
        let limit = limit.and_then(|limit| i32::try_from(limit).ok());
        let most = limit.map_or(most, |limit| limit.clamp(1, most));
        i32::try_from(self.kernel.registers()).map_or(most, |found| found.clamp(1, most))
    }

    fn default_dynamic_shared(&self) -> u32 {
        DEFAULT_SHARED.saturating_sub(self.kernel.static_shared_bytes())
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for one that cannot be set, and a value that the device has not.
    pub(crate) fn set_attribute(
        &self,
        device: &EmulatedDevice,
        attribute: u32,
        value: i32,
    ) -> Result {
        let most = device.shared_optin_bytes() - self.kernel.static_shared_bytes() as i32;
        let fits = match attribute {
            MAX_DYNAMIC_SHARED => (0..=most).contains(&value),
            9 => (-1..=100).contains(&value),
            10..=15 => value >= 0,
            _ => false,
        };
        if !fits {
            return Err(Code::INVALID_VALUE);
        }
        lock(&self.attributes).insert(attribute, value);
        Ok(())
    }

    /// Blocks that fit on a multiprocessor, by threads, blocks and shared memory; registers, which
    /// are not known, are no limit.
    pub(crate) fn resident_blocks(
        &self,
        device: &EmulatedDevice,
        threads: i32,
        dynamic: usize,
    ) -> i32 {
        let (warps, blocks) = device.warps_and_blocks();
        if threads <= 0 || threads > self.max_threads() {
            return 0;
        }
        let fixed = self.kernel.static_shared_bytes() as usize;
        let shared = fixed + dynamic + device.reserved_shared() as usize;
        if fixed + dynamic > device.shared_optin_bytes() as usize {
            return 0;
        }
        let by_threads = warps / (threads + 31).div_euclid(32);
        let by_shared = match shared {
            0 => blocks,
            _ => {
                let shared = shared.next_multiple_of(device.shared_unit() as usize);
                device.shared_of_multiprocessor() / shared as i32
            }
        };
        by_threads.min(by_shared).min(blocks)
    }

    /// # Errors
    /// As the driver refuses a launch: `CUDA_ERROR_INVALID_VALUE` and others.
    pub(crate) fn check(&self, device: &EmulatedDevice, config: &LaunchConfig) -> Result {
        let dynamic = config.dynamic_shared_bytes;
        let set = lock(&self.attributes).get(&MAX_DYNAMIC_SHARED).copied();
        let allowed = set.map_or(self.default_dynamic_shared(), |set| set as u32);
        let extents = [config.grid, config.block].concat();
        if dynamic > allowed || extents.contains(&0) {
            return Err(Code::INVALID_VALUE);
        }
        let threads: u64 = config
            .block
            .iter()
            .map(|&extent| u64::from(extent))
            .product();
        // Most threads of a block are 1024, and what the kernel declares.
        let is_too_large = threads > self.max_threads() as u64;
        if is_too_large || config.block[2] > 64 || config.grid[1].max(config.grid[2]) > 65535 {
            return Err(Code::INVALID_VALUE);
        }
        if config.cluster.is_some() && !device.has_clusters() {
            return Err(Code::NOT_SUPPORTED);
        }
        if config.cooperative {
            let resident = self.resident_blocks(device, threads as i32, dynamic as usize);
            let most = i64::from(resident) * i64::from(device.multiprocessors);
            let blocks = config
                .grid
                .iter()
                .map(|&extent| i64::from(extent))
                .product::<i64>();
            if blocks > most {
                return Err(Code::COOPERATIVE_LAUNCH_TOO_LARGE);
            }
        }
        Ok(())
    }
}

/// Runs one grid, as the options say. What it does wrong is the context's error from now on, and
/// the launch itself succeeds, as on a GPU; standard error gets a line.
///
/// # Errors
/// As the driver refuses a launch.
pub(crate) fn run(
    current: &Current,
    function: &Arc<Function>,
    config: &LaunchConfig,
    args: &Args,
) -> Result {
    let driver = current.driver;
    let (kernel, memory) = (&function.kernel, &driver.memory);
    driver.bind_references(function.module)?;
    let mut counters = Counters::new();
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    let mut config = config.clone();
    config.larger_clusters = function.has_larger_clusters();
    if !driver.options.sanitize {
        config.shared_unit = current.device().shared_unit();
    }
    let config = &config;
    let ended = match (driver.options.sanitize, driver.options.profile) {
        (false, false) => kernel.launch(memory, config, args),
        (false, true) => kernel.launch_observed(memory, config, args, &mut counters),
        (true, profile) => {
            driver.mark_shared_written();
            match profile {
                false => kernel.launch_observed(memory, config, args, &mut sanitizer),
                true => {
                    let mut both = (counters, sanitizer);
                    let ended = kernel.launch_observed(memory, config, args, &mut both);
                    (counters, sanitizer) = both;
                    ended
                }
            }
        }
    };
    print(&memory.take_printed());
    let mut findings = sanitizer.findings();
    // A later launch may free what this one took of the device heap.
    findings.retain(|finding| finding.problem != Problem::Leak);
    for finding in &findings {
        report(driver, &finding.to_string());
    }
    if driver.options.profile {
        profile(kernel, config, &counters);
    }
    match ended {
        Ok(_) => Ok(()),
        Err(LaunchError::Fault(fault)) => {
            if findings.is_empty() {
                eprintln!("warpladder cuda: {fault}{}", hint(&fault.kind));
            }
            *lock(&current.context.sticky) = Some(of_fault(&fault.kind));
            Ok(())
        }
        Err(refused) => {
            eprintln!("warpladder cuda: {refused}");
            Err(of_refusal(&refused))
        }
    }
}

/// What to add to the line of a fault: CUDA's device runtime is a library of machine code.
fn hint(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::ExternalCall(name) if name.trim_start_matches('_').starts_with("cuda") => {
            "; it is of CUDA's device runtime, which is machine code"
        }
        _ => "",
    }
}

/// What kernels have printed. A closed standard output is no failure of a launch.
fn print(text: &[u8]) {
    if !text.is_empty() {
        let mut out = std::io::stdout().lock();
        _ = out.write_all(text).and_then(|()| out.flush());
    }
}

/// A line on standard error, and one in the file for the program that started this one.
fn report(driver: &Driver, finding: &str) {
    eprintln!("warpladder cuda: {finding}");
    let Some(path) = &driver.options.findings else {
        return;
    };
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    let written = file.and_then(|mut file| writeln!(file, "{}", finding.replace('\n', " ")));
    if let Err(error) = written {
        eprintln!("warpladder cuda: cannot write {path}: {error}");
    }
}

fn profile(kernel: &Kernel, config: &LaunchConfig, counters: &Counters) {
    let total = counters.total();
    let ratio = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.2}"));
    eprintln!(
        "warpladder cuda: {} grid {:?} block {:?}: {} warp instructions, {} FLOPs, {} and {} \
         sectors per global load and store, {} divergent branches",
        kernel.name(),
        config.grid,
        config.block,
        total.warp_instructions,
        total.flops,
        ratio(total.global_loads.sectors_per_request()),
        ratio(total.global_stores.sectors_per_request()),
        total.divergent_branches,
    );
}

fn of_fault(kind: &FaultKind) -> Code {
    match kind {
        FaultKind::OutOfBounds(_)
        | FaultKind::NullPointer(_)
        | FaultKind::UseAfterFree(_)
        | FaultKind::ReadOnly(_) => Code::ILLEGAL_ADDRESS,
        FaultKind::Misaligned(_) => Code::MISALIGNED_ADDRESS,
        FaultKind::Assertion { .. } => Code::ASSERT,
        FaultKind::BadBarrier(_) => Code::ILLEGAL_INSTRUCTION,
        FaultKind::StackOverflow => Code::HARDWARE_STACK_ERROR,
        FaultKind::BadCall(_) | FaultKind::ExternalCall(_) => Code::INVALID_PC,
        FaultKind::Budget(_) | FaultKind::Deadlock(_) => Code::LAUNCH_TIMEOUT,
        FaultKind::NotShared(_) => Code::INVALID_ADDRESS_SPACE,
        // Among them `trap`: the kernel stopped itself, by an instruction that is legal.
        _ => Code::LAUNCH_FAILED,
    }
}

fn of_refusal(error: &LaunchError) -> Code {
    match error {
        LaunchError::WrongCluster { .. }
        | LaunchError::OtherCluster { .. }
        | LaunchError::ClusterTooLarge { .. } => Code::INVALID_CLUSTER_SIZE,
        LaunchError::CooperativeTooLarge { .. } => Code::COOPERATIVE_LAUNCH_TOO_LARGE,
        LaunchError::CooperativeCluster { .. } => Code::NOT_SUPPORTED,
        LaunchError::Variables(error) | LaunchError::Workspace(error) => of_memory_error(error),
        LaunchError::Worker(_) => Code::OPERATING_SYSTEM,
        _ => Code::INVALID_VALUE,
    }
}
