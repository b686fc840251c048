//! A rung's launch, with its buffers filled.

use std::cell::RefCell;
use warpladder::catalogue::Rung;
use warpladder::check::Verdict;
use warpladder::element::Element;
use warpladder::engine::{DevicePtr, Engine, EngineError, EngineKind, KernelId, Launch};
use warpladder::problem::{Problem, Shape};
use warpladder::run::{self, RunError};

/// What is done with a launch in place of running it once.
type Measure<'a> = &'a mut dyn FnMut(&Launch<'_>) -> Result<(), EngineError>;

/// Calls `measure` with the launch of a rung, whose inputs are on the engine, and checks the output that it leaves.
///
/// # Errors
/// Where the rung cannot run: see [`RunError`].
pub fn checked<T: Element>(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    problem: &dyn Problem<T>,
    measure: Measure<'_>,
) -> Result<Verdict, RunError> {
    let measure = RefCell::new(measure);
    let measured = Measured { engine, measure };
    let (_, verdict) = run::output(&measured, rung, shape, problem)?;
    Ok(verdict)
}

/// An engine that hands launches over and leaves all else to another one.
struct Measured<'a> {
    engine: &'a dyn Engine,
    measure: RefCell<Measure<'a>>,
}

impl Engine for Measured<'_> {
    fn kind(&self) -> EngineKind {
        self.engine.kind()
    }

    fn device_name(&self) -> &str {
        self.engine.device_name()
    }

    fn compute_capability(&self) -> u32 {
        self.engine.compute_capability()
    }

    fn multiprocessors(&self) -> u32 {
        self.engine.multiprocessors()
    }

    fn free_memory(&self) -> Result<u64, EngineError> {
        self.engine.free_memory()
    }

    fn load(&self, ptx: &str, entry: &str) -> Result<KernelId, EngineError> {
        self.engine.load(ptx, entry)
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr, EngineError> {
        self.engine.alloc(bytes)
    }

    fn free(&self, ptr: DevicePtr) {
        self.engine.free(ptr);
    }

    fn upload(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), EngineError> {
        self.engine.upload(to, bytes)
    }

    fn download(&self, bytes: &mut [u8], from: DevicePtr) -> Result<(), EngineError> {
        self.engine.download(bytes, from)
    }

    fn run(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        (self.measure.borrow_mut())(launch)
    }

    fn time(&self, launch: &Launch<'_>, launches: u32) -> Result<f64, EngineError> {
        self.engine.time(launch, launches)
    }
}
