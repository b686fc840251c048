//! A learner's kernel, run on the emulator.

use super::exercise::{Argument, Case, Exercise};
use super::figures::{self, Figures};
use super::verdict::{Array, Site, UNWRITTEN, Verdict, Wrong};
use ptx_emulator::sanitize::{Problem, Tool};
use ptx_emulator::{
    Args, Counters, FaultKind, Kernel, KernelError, LaunchConfig, LaunchError, Memory, MemoryError,
    Module, Observer, Sanitizer,
};

/// Why a kernel could not be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The kernel is not there, or the emulator cannot run it.
    #[error("{0}: keep the kernel's name as it was given")]
    Kernel(#[from] KernelError),
    /// The kernel does not take the arguments, or not the threads.
    #[error("{0}: keep the kernel's parameters and launch bounds as they were given")]
    Launch(#[from] LaunchError),
    /// The host's memory does not suffice.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Global memory of a launch; no exercise needs a tenth of it.
const CAPACITY: u64 = 1 << 26;

/// Warp instructions of a launch that does not end; no exercise needs a tenth of them.
const BUDGET: u64 = 1 << 24;

/// Runs the kernel `entry` of a module under the sanitizers and the counters, and judges it. The
/// kernel has the name of the exercise unless the module has several for one exercise.
///
/// # Errors
/// See [`CheckError`]; a kernel that does something wrong is no error.
pub fn check(exercise: &Exercise, module: &Module, entry: &str) -> Result<Verdict, CheckError> {
    let kernel = module.kernel(entry)?;
    let mut sum = Figures::default();
    for case in exercise.problem.cases {
        if let Some(finding) = sanitize(&kernel, case)? {
            return Ok(finding);
        }
        let (figures, result) = count(&kernel, case)?;
        sum += figures;
        let expected = (exercise.problem.expected)(&case.given());
        if let Some(wrong) = Wrong::first(&expected, &result) {
            return Ok(Verdict::Wrong { case, wrong });
        }
    }
    let reference = figures::reference(exercise.name);
    let too_costly = exercise.demands.iter().find(|demand| {
        let bound = |reference: Figures| reference.get(demand.figure) as f64 * demand.at_most;
        reference.is_some_and(|reference| sum.get(demand.figure) as f64 > bound(reference))
    });
    Ok(match too_costly {
        Some(demand) => Verdict::TooCostly {
            demand,
            figures: sum,
        },
        None => Verdict::Passed { figures: sum },
    })
}

/// A launch's memory, with the arguments in it.
struct PreparedLaunch {
    memory: Memory,
    config: LaunchConfig,
    args: Args,
    arrays: Vec<Array>,
}

impl PreparedLaunch {
    /// `unwritten` is what the result holds where nothing is written before the launch; none leaves
    /// its memory untouched.
    fn new(case: &Case, unwritten: Option<f32>) -> Result<Self, MemoryError> {
        let memory = Memory::with_capacity(CAPACITY);
        let mut args = Args::new();
        let mut arrays = Vec::new();
        for (index, argument) in case.arguments.iter().enumerate() {
            match *argument {
                Argument::Size(size) => _ = args.push_u64(size as u64),
                Argument::Float(float) => _ = args.push_f32(float),
                Argument::Array { name, shape, holds } => {
                    let count = shape[0] * shape[1];
                    let address = memory.alloc(4 * count as u64)?;
                    let missing = || unwritten.map(|float| vec![float; count]);
                    if let Some(elements) = holds.elements(index, count).or_else(missing) {
                        memory.write(address, bytemuck::cast_slice(&elements))?;
                    }
                    args.push_u64(address);
                    arrays.push(Array {
                        name,
                        shape,
                        address,
                        holds,
                    });
                }
            }
        }
        let config = LaunchConfig {
            instruction_budget: BUDGET,
            ..LaunchConfig::new(case.grid, case.block)
        };
        Ok(PreparedLaunch {
            memory,
            config,
            args,
            arrays,
        })
    }

    /// The result's elements.
    fn result(&self) -> Result<Vec<f32>, MemoryError> {
        let Some(array) = self.arrays.iter().find(|array| array.holds.is_result()) else {
            return Ok(Vec::new());
        };
        let mut elements = vec![0.0f32; array.shape[0] * array.shape[1]];
        self.memory
            .read(array.address, bytemuck::cast_slice_mut(&mut elements))?;
        Ok(elements)
    }
}

/// What is wrong with a launch before its result is looked at.
fn sanitize(kernel: &Kernel, case: &'static Case) -> Result<Option<Verdict>, CheckError> {
    let launch = PreparedLaunch::new(case, None)?;
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    let ended =
        kernel.launch_observed(&launch.memory, &launch.config, &launch.args, &mut sanitizer);
    let mut findings = sanitizer.findings();
    match ended {
        Err(LaunchError::Fault(fault)) if matches!(fault.kind, FaultKind::Budget(_)) => {
            // What else was found may be why the kernel does not end.
            findings.retain(|finding| finding.problem != Problem::Stopped);
            if findings.is_empty() {
                return Ok(Some(Verdict::Endless { case }));
            }
        }
        Ok(_) | Err(LaunchError::Fault(_)) => {}
        Err(refused) => return Err(refused.into()),
    }
    let more = findings.len().saturating_sub(1);
    Ok(findings.into_iter().next().map(|finding| {
        let region = finding.region.as_ref();
        let site = region.and_then(|region| Site::find(&launch.arrays, region));
        Verdict::Found {
            case,
            finding: Box::new(finding),
            site,
            more,
        }
    }))
}

/// Runs a launch of an exercise under an observer; memory holds the case's arguments, and no result
/// yet. Gives the fault that ended it, if one did.
///
/// # Errors
/// [`CheckError::Launch`] where the launch is refused, [`CheckError::Memory`] where memory does not
/// suffice.
pub fn observe(
    kernel: &Kernel,
    case: &Case,
    observer: &mut impl Observer,
) -> Result<Option<LaunchError>, CheckError> {
    let launch = PreparedLaunch::new(case, None)?;
    match kernel.launch_observed(&launch.memory, &launch.config, &launch.args, observer) {
        Ok(_) => Ok(None),
        Err(fault @ LaunchError::Fault(_)) => Ok(Some(fault)),
        Err(refused) => Err(refused.into()),
    }
}

/// What a launch asks of the machine, and its result, which is [`UNWRITTEN`] where nothing wrote
/// it.
fn count(kernel: &Kernel, case: &Case) -> Result<(Figures, Vec<f32>), CheckError> {
    let launch = PreparedLaunch::new(case, Some(UNWRITTEN))?;
    let mut counters = Counters::new();
    kernel.launch_observed(&launch.memory, &launch.config, &launch.args, &mut counters)?;
    let figures = Figures::of_launch(kernel, &counters);
    Ok((figures, launch.result()?))
}

/// The array that holds the result of a case.
pub(super) fn result_of(case: &Case) -> Option<(&'static str, [usize; 2])> {
    case.arguments.iter().find_map(|argument| match *argument {
        Argument::Array { name, shape, holds } if holds.is_result() => Some((name, shape)),
        _ => None,
    })
}
