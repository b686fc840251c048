//! What cannot work is refused before anything is allocated.

use super::Shape;
use crate::catalogue::{self, Implementation, PlanRequest, Precondition, Rung};
use crate::cpu::CpuProduct;
use crate::problem::{Operation, Problem};
use warpladder::device::ComputeCapability;
use warpladder::element::{Element, ElementType};
use warpladder::engine::Engine;
use warpladder::error::EngineError;
use warpladder::gemm::layout::Layout;
use warpladder::gemm::{DeviceLimits, PlanError};
use warpladder::memory;
use warpladder::plan::Plan;
use warpladder::ptx;

/// Why a rung was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It is a function of the host, where a kernel is needed.
    #[error("{0} runs on the host and not as a kernel: choose a kernel, see `warpladder list`")]
    NotAKernel(&'static str),
    /// The kernel takes operands as they are.
    #[error(
        "{rung} takes no transposed operands, and so not the layout {layout}: leave out --layout"
    )]
    Layout {
        /// Name of the rung.
        rung: &'static str,
        /// The layout.
        layout: Layout,
    },
    /// The library has no plan: no kernels of the generation that was asked for run on the device,
    /// or C has more tiles than a grid takes.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The kernel is of a newer generation than the one that was asked for.
    #[error(
        "{rung} is for compute capability {needs}, newer than the {asked} that was asked for: \
         choose an older kernel, or ask for {needs}"
    )]
    Newer {
        /// Name of the rung.
        rung: &'static str,
        /// Compute capability of its PTX.
        needs: ComputeCapability,
        /// What was asked for.
        asked: ComputeCapability,
    },
    /// The problem is not the one that was admitted.
    #[error(
        "{rung} was admitted for {element} at {shape}, the problem is {problem_element} at \
         {problem_shape}: make the problem of what was admitted"
    )]
    Problem {
        /// Name of the rung.
        rung: &'static str,
        /// Its element type.
        element: ElementType,
        /// The size that was admitted.
        shape: String,
        /// The problem's element type.
        problem_element: ElementType,
        /// The problem's size.
        problem_shape: String,
    },
    /// The rung does not take this size.
    #[error("{rung} takes {needs}, not {shape}: {advice}")]
    Shape {
        /// Name of the rung.
        rung: &'static str,
        /// What it takes.
        needs: String,
        /// The size that was asked for.
        shape: String,
        /// Which rung or which size would do.
        advice: String,
    },
    /// The problem does not fit.
    #[error(
        "{rung} at {shape} needs {needed} bytes of {whose} memory, {free} are free: use a smaller \
         size"
    )]
    Memory {
        /// Name of the rung.
        rung: &'static str,
        /// The size that was asked for.
        shape: String,
        /// Bytes needed.
        needed: u128,
        /// "device" or "host".
        whose: &'static str,
        /// Bytes free.
        free: u64,
    },
    /// The device is too old.
    #[error("{rung} needs compute capability {needs}, {device} has {has}: run it on the emulator")]
    Capability {
        /// Name of the rung.
        rung: &'static str,
        /// Compute capability needed.
        needs: ComputeCapability,
        /// The device's name.
        device: String,
        /// Compute capability there is.
        has: ComputeCapability,
    },
    /// The grid would be too large.
    #[error(
        "{rung} at {shape} needs {blocks} blocks in {axis}, a grid has at most {limit}: use a \
         smaller size"
    )]
    Grid {
        /// Name of the rung.
        rung: &'static str,
        /// The size that was asked for.
        shape: String,
        /// Blocks needed.
        blocks: u64,
        /// "x", "y" or "z".
        axis: &'static str,
        /// Most blocks in that direction.
        limit: u64,
    },
    /// The engine failed outside of the kernel.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Refuses a size that the rung does not take.
///
/// # Errors
/// [`RunError::Shape`].
pub fn check_shape(rung: &Rung, shape: Shape) -> Result<(), RunError> {
    if rung.precondition.takes(rung.operation, shape) {
        return Ok(());
    }
    let others = catalogue::rungs().rev().filter(|other| {
        other.operation == rung.operation
            && other.element == rung.element
            && other.precondition == Precondition::Any
            && other.compute_capability().is_some()
    });
    // One that is most like it, if there is any: a kernel alone.
    let is_planned = |other: &&Rung| matches!(other.implementation, Implementation::Planned { .. });
    let alternative = others.min_by_key(is_planned);
    let advice = match alternative {
        Some(other) => format!("use {}, which takes any size", other.name),
        None => {
            let larger = rung.precondition.round_up(rung.operation, shape);
            format!("use {}", describe(rung.operation, larger))
        }
    };
    Err(RunError::Shape {
        rung: rung.name,
        needs: rung.precondition.describe(rung.operation),
        shape: describe(rung.operation, shape),
        advice,
    })
}

/// A rung at a size that the preflight has admitted: what runs and, of a kernel, the planned
/// launches.
///
/// Only [`preflight`] and [`preflight_with`] make one, and everything that runs a rung takes one.
/// So nothing runs that was not checked, and nothing is planned twice:
///
/// ```
/// use warpladder::engine::emulator::EmulatorEngine;
/// use warpladder_lab::{catalogue, problem::Shape, run};
///
/// let engine = EmulatorEngine::new();
/// let naive = catalogue::find("naive").unwrap();
/// let shape = Shape { m: 4, n: 4, k: 4 };
/// let admitted = run::preflight(&engine, naive, shape)?;
/// let (c, verdict) = run::output::<f32>(&engine, &admitted, &*admitted.problem(1))?;
/// assert!(verdict.ok && c.len() == 16);
/// # Ok::<(), run::RunError>(())
/// ```
///
/// A rung alone is not launched:
///
/// ```compile_fail,E0308
/// # use warpladder::engine::emulator::EmulatorEngine;
/// # use warpladder_lab::{catalogue, problem::Shape, run};
/// # let engine = EmulatorEngine::new();
/// # let naive = catalogue::find("naive").unwrap();
/// # let shape = Shape { m: 4, n: 4, k: 4 };
/// # let problem = naive.operation.problem::<f32>(shape, 1);
/// run::output::<f32>(&engine, naive, &*problem)?;
/// # Ok::<(), run::RunError>(())
/// ```
///
/// And no program makes an admitted one by itself:
///
/// ```compile_fail,E0451
/// # use warpladder_lab::{catalogue, problem::Shape, run};
/// # let naive = catalogue::find("naive").unwrap();
/// # let shape = Shape { m: 4, n: 4, k: 4 };
/// let admitted = run::Admitted { rung: naive, shape };
/// ```
#[derive(Clone, Debug)]
pub struct Admitted {
    rung: &'static Rung,
    /// The rung that runs: another one where `rung` dispatches.
    runs: &'static Rung,
    shape: Shape,
    /// Whether A and B of a product are stored transposed.
    transposed: [bool; 2],
    /// The generation of GPUs that was asked for.
    generation: Option<ComputeCapability>,
    work: Work,
}

/// What may be asked of a rung beside its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// How the operands of a product are stored.
    pub layout: Layout,
    /// The generation of GPUs whose kernels run, by its compute capability: that of the device or
    /// an older one. Where a rung chooses among kernels, it chooses as on a device of that
    /// generation. `None` for the device's own.
    pub generation: Option<ComputeCapability>,
}

impl From<Layout> for Variant {
    fn from(layout: Layout) -> Self {
        Variant {
            layout,
            ..Variant::default()
        }
    }
}

/// What an admitted rung runs.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Launches. Parameters of a kernel of the catalogue's own are those of the problem.
    Launches {
        /// What they were planned for.
        request: PlanRequest,
        /// The launches.
        plan: Plan,
    },
    /// A function of the host.
    Host(CpuProduct),
}

impl Admitted {
    /// The rung that was asked for.
    pub fn rung(&self) -> &'static Rung {
        self.rung
    }

    /// The rung that runs: another one where the rung dispatches.
    pub fn runs(&self) -> &'static Rung {
        self.runs
    }

    /// The size.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The generation of GPUs whose kernels run, where one was asked for.
    pub fn generation(&self) -> Option<ComputeCapability> {
        self.generation
    }

    /// Whether it is a function of the host.
    pub fn is_on_host(&self) -> bool {
        matches!(self.work, Work::Host(_))
    }

    /// Its problem, with inputs drawn by `seed`.
    pub fn problem<T: Element>(&self, seed: u64) -> Box<dyn Problem<T>> {
        self.runs
            .operation
            .stored(self.shape, self.transposed, seed)
    }

    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    /// Refuses a function of the host.
    ///
    /// # Errors
    /// [`RunError::NotAKernel`].
    pub fn kernel(&self) -> Result<(), RunError> {
        self.planned().map(|_| ())
    }

    /// What the launches were planned for, and the launches.
    ///
    /// # Errors
    /// [`RunError::NotAKernel`].
    pub(crate) fn planned(&self) -> Result<(&PlanRequest, &Plan), RunError> {
        match &self.work {
            Work::Launches { request, plan } => Ok((request, plan)),
            Work::Host(_) => Err(RunError::NotAKernel(self.rung.name)),
        }
    }

    /// The launches with the parameters of a problem.
    ///
    /// # Errors
    /// [`RunError::NotAKernel`], and [`RunError::Problem`] where the problem is another one.
    pub(super) fn plan_for<T: Element>(&self, problem: &dyn Problem<T>) -> Result<Plan, RunError> {
        let (_, plan) = self.planned()?;
        let is_of_it = T::TYPE == self.runs.element
            && problem.shape() == self.shape
            && problem.transposed() == self.transposed;
        if !is_of_it {
            return Err(RunError::Problem {
                rung: self.rung.name,
                element: self.runs.element,
                shape: describe(self.runs.operation, self.shape),
                problem_element: T::TYPE,
                problem_shape: describe(self.runs.operation, problem.shape()),
            });
        }
        let mut plan = plan.clone();
        if let Implementation::Kernel { .. } = self.runs.implementation {
            for launch in &mut plan.launches {
                launch.params = problem.params();
            }
        }
        Ok(plan)
    }
}

/// Refuses a size that the rung does not take, what is too large for memory, and what is too new
/// for the device. What it admits carries its launches.
///
/// # Errors
/// See [`RunError`].
pub fn preflight(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
) -> Result<Admitted, RunError> {
    preflight_with(engine, rung, shape, Variant::default())
}

/// The same of a rung of which more is asked than a size: a layout, a generation of GPUs.
///
/// # Errors
/// See [`RunError`].
pub fn preflight_with(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    variant: impl Into<Variant>,
) -> Result<Admitted, RunError> {
    let Variant { layout, generation } = variant.into();
    check_shape(rung, shape)?;
    let runs = rung.resolve(shape);
    let device = DeviceLimits::of(engine).with_generation(generation)?;
    if layout != Layout::default() && !runs.takes_any_layout() {
        return Err(RunError::Layout {
            rung: rung.name,
            layout,
        });
    }
    let on_device = device_bytes(runs, shape);
    let work = match (runs.implementation, runs.compute_capability()) {
        (Implementation::Cpu(product), _) => Work::Host(product),
        (_, Some(needs)) if !ptx::module(needs).runs_on(device.compute_capability) => {
            return Err(RunError::Capability {
                rung: rung.name,
                needs,
                device: engine.device_name().to_owned(),
                has: device.compute_capability,
            });
        }
        _ => {
            check_generation(rung, shape, generation)?;
            let free = Some(engine.free_memory()?);
            fits(rung, shape, "device", on_device, free)?;
            let request = PlanRequest {
                operation: runs.operation,
                shape,
                device,
                transposed: layout.transposed(),
            };
            let work = planned(runs, &request)?;
            if let Work::Launches { plan, .. } = &work {
                let needed = on_device + u128::from(plan.workspace_bytes);
                fits(rung, shape, "device", needed, free)?;
            }
            work
        }
    };
    // Inputs and output, the same once more where the device is the host, and a reference in f64.
    let (inputs, output) = runs.operation.elements(shape);
    let on_host = 2 * on_device + (inputs + output) * 8;
    fits(rung, shape, "host", on_host, memory::available())?;
    Ok(Admitted {
        rung,
        runs,
        shape,
        transposed: layout.transposed(),
        generation: generation.filter(|_| !matches!(work, Work::Host(_))),
        work,
    })
}

/// Refuses a rung that is newer than the generation that is asked for.
///
/// # Errors
/// [`RunError::Newer`].
pub(crate) fn check_generation(
    rung: &'static Rung,
    shape: Shape,
    generation: Option<ComputeCapability>,
) -> Result<(), RunError> {
    match (rung.resolve(shape).compute_capability(), generation) {
        (Some(needs), Some(asked)) if needs > asked => Err(RunError::Newer {
            rung: rung.name,
            needs,
            asked,
        }),
        _ => Ok(()),
    }
}

/// Admits the launches that are planned for another device, so that the emulator counts what they
/// do. The memory of that device is not looked at.
///
/// # Errors
/// [`RunError::Shape`], [`RunError::Grid`], [`RunError::Plan`] and [`RunError::NotAKernel`].
pub(crate) fn preflight_elsewhere(
    rung: &'static Rung,
    request: &PlanRequest,
) -> Result<Admitted, RunError> {
    // A grid-stride loop leaves what is no whole vector, and is counted at sizes that hold some.
    if !matches!(rung.precondition, Precondition::Elements(_)) {
        check_shape(rung, request.shape)?;
    }
    let runs = rung.resolve(request.shape);
    let request = PlanRequest {
        operation: runs.operation,
        ..*request
    };
    Ok(Admitted {
        rung,
        runs,
        shape: request.shape,
        transposed: request.transposed,
        generation: None,
        work: planned(runs, &request)?,
    })
}

/// The launches of a rung for a request.
///
/// # Errors
/// [`RunError::Grid`] where a grid has more blocks than CUDA allows, [`RunError::Plan`], and
/// [`RunError::NotAKernel`].
fn planned(rung: &Rung, request: &PlanRequest) -> Result<Work, RunError> {
    let Some(plan) = rung.plan(request) else {
        return Err(RunError::NotAKernel(rung.name));
    };
    let plan = plan?;
    check_grids(rung, request.shape, &plan)?;
    Ok(Work::Launches {
        request: *request,
        plan,
    })
}

/// Refuses grids with more blocks than CUDA allows.
fn check_grids(rung: &Rung, shape: Shape, plan: &Plan) -> Result<(), RunError> {
    // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
    let limits = [i32::MAX as u64, u16::MAX.into(), u16::MAX.into()];
    for launch in &plan.launches {
        for ((blocks, limit), axis) in launch.grid.into_iter().zip(limits).zip(["x", "y", "z"]) {
            if blocks > limit {
                return Err(RunError::Grid {
                    rung: rung.name,
                    shape: describe(rung.operation, shape),
                    blocks,
                    axis,
                    limit,
                });
            }
        }
    }
    Ok(())
}

fn device_bytes(rung: &Rung, shape: Shape) -> u128 {
    let (inputs, output) = rung.operation.elements(shape);
    (inputs + output) * u128::from(rung.element.bytes())
}

fn fits(
    rung: &Rung,
    shape: Shape,
    whose: &'static str,
    needed: u128,
    free: Option<u64>,
) -> Result<(), RunError> {
    match free {
        Some(free) if needed > u128::from(free) => Err(RunError::Memory {
            rung: rung.name,
            shape: describe(rung.operation, shape),
            needed,
            whose,
            free,
        }),
        _ => Ok(()),
    }
}

/// A size in words: `m x n x k` or `m x n`.
pub fn describe(operation: Operation, Shape { m, n, k }: Shape) -> String {
    if operation.uses_k() {
        format!("{m} x {n} x {k}")
    } else {
        format!("{m} x {n}")
    }
}
