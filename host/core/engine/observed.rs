//! The emulator engine with an observer at every launch.

use super::emulator::EmulatorEngine;
use super::{Engine, EngineKind};
use crate::device::ComputeCapability;
use crate::error::EngineError;
use crate::launch::{DevicePtr, KernelId, Launch, MatrixMap, TENSOR_MAP_BYTES};
use crate::sync::lock;
use ptx_emulator::{Event, Interest, LaunchError, ObservedLaunch, Observer, Report};
use std::sync::{Mutex, PoisonError};

/// An emulator whose launches are seen by an observer: counters, or a sanitizer.
pub struct ObservedEngine<'e, O> {
    emulator: &'e EmulatorEngine,
    observer: Mutex<O>,
}

impl<'e, O: Observer> ObservedEngine<'e, O> {
    /// `emulator` with `observer` at every launch. Kernels and memory are those of the emulator.
    pub fn new(emulator: &'e EmulatorEngine, observer: O) -> Self {
        ObservedEngine {
            emulator,
            observer: Mutex::new(observer),
        }
    }

    /// The observer and what it has seen.
    pub fn into_observer(self) -> O {
        self.observer
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O: Observer + Send> Engine for ObservedEngine<'_, O> {
    fn kind(&self) -> EngineKind {
        self.emulator.kind()
    }

    fn device_name(&self) -> &str {
        self.emulator.device_name()
    }

    fn compute_capability(&self) -> ComputeCapability {
        self.emulator.compute_capability()
    }

    fn multiprocessors(&self) -> u32 {
        self.emulator.multiprocessors()
    }

    fn free_memory(&self) -> Result<u64, EngineError> {
        self.emulator.free_memory()
    }

    fn load(&self, ptx: &str, entry: &str) -> Result<KernelId, EngineError> {
        self.emulator.load(ptx, entry)
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr, EngineError> {
        self.emulator.alloc(bytes)
    }

    fn free(&self, ptr: DevicePtr) {
        self.emulator.free(ptr);
    }

    fn upload(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), EngineError> {
        self.emulator.upload(to, bytes)
    }

    fn download(&self, bytes: &mut [u8], from: DevicePtr) -> Result<(), EngineError> {
        self.emulator.download(bytes, from)?;
        let memory = self.emulator.memory();
        lock(&self.observer).notify(Event::HostRead {
            memory,
            address: from.0,
            bytes: bytes.len() as u64,
        });
        Ok(())
    }

    fn tensor_map(&self, matrix: &MatrixMap) -> Result<[u8; TENSOR_MAP_BYTES], EngineError> {
        self.emulator.tensor_map(matrix)
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        self.emulator
            .run_observed(launch, &mut *lock(&self.observer))
    }

    /// The time with the observer's work in it.
    unsafe fn time(&self, launches: &[Launch<'_>], rounds: u32) -> Result<f64, EngineError> {
        let start = std::time::Instant::now();
        for _ in 0..rounds {
            for launch in launches {
                // SAFETY: the same contract.
                unsafe { self.run(launch) }?;
            }
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

/// An observer for each launch: most see one kernel only.
pub struct PerLaunch<O> {
    start: O,
    /// What each launch's observer has seen.
    pub seen: Vec<O>,
}

impl<O: Observer + Clone> PerLaunch<O> {
    /// `start` is what each launch's observer begins as.
    pub fn new(start: O) -> Self {
        PerLaunch {
            start,
            seen: Vec::new(),
        }
    }
}

impl<O: Observer + Clone> Observer for PerLaunch<O> {
    // Nothing is observed: each launch is handed to an observer of its own.
    const INTEREST: Interest = Interest::NONE;

    fn fork(&self) -> Self {
        PerLaunch::new(self.start.clone())
    }

    fn join(&mut self, _: Self) {}

    fn event(&mut self, _: Event<'_>) {}

    fn launch(&mut self, launch: ObservedLaunch<'_>) -> Result<Report, LaunchError> {
        let mut observer = self.start.clone();
        let outcome = observer.launch(launch);
        self.seen.push(observer);
        outcome
    }
}
