//! An emulator under an observer that runs a mutant in place of one kernel.

use ptx_emulator::Observer;
use std::collections::BTreeMap;
use std::sync::Mutex;
use warpladder::device::ComputeCapability;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::ObservedEngine;
use warpladder::engine::{Engine, EngineKind};
use warpladder::error::EngineError;
use warpladder::launch::{DevicePtr, KernelId, Launch, MatrixMap, TENSOR_MAP_BYTES};

pub struct MutantEngine<'e, O> {
    /// An entry, and the text to load in place of its own.
    mutant: Option<(&'e str, &'e str)>,
    observed: ObservedEngine<'e, O>,
    /// The text of each entry that was asked for.
    entries: Mutex<BTreeMap<String, String>>,
}

impl<'e, O: Observer> MutantEngine<'e, O> {
    pub fn new(
        emulator: &'e EmulatorEngine,
        mutant: Option<(&'e str, &'e str)>,
        observer: O,
    ) -> Self {
        MutantEngine {
            mutant,
            observed: ObservedEngine::new(emulator, observer),
            entries: Mutex::default(),
        }
    }

    /// The observer, and the entries that were loaded, each with its PTX.
    pub fn finish(self) -> (O, BTreeMap<String, String>) {
        (
            self.observed.into_observer(),
            self.entries.into_inner().unwrap(),
        )
    }
}

impl<O: Observer + Send> Engine for MutantEngine<'_, O> {
    fn kind(&self) -> EngineKind {
        self.observed.kind()
    }

    fn device_name(&self) -> &str {
        self.observed.device_name()
    }

    fn compute_capability(&self) -> ComputeCapability {
        self.observed.compute_capability()
    }

    fn multiprocessors(&self) -> u32 {
        self.observed.multiprocessors()
    }

    fn free_memory(&self) -> Result<u64, EngineError> {
        self.observed.free_memory()
    }

    fn load(&self, ptx: &str, entry: &str) -> Result<KernelId, EngineError> {
        let mut entries = self.entries.lock().unwrap();
        entries.insert(entry.to_owned(), ptx.to_owned());
        match self.mutant {
            Some((name, mutant)) if name == entry => self.observed.load(mutant, entry),
            _ => self.observed.load(ptx, entry),
        }
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr, EngineError> {
        self.observed.alloc(bytes)
    }

    fn free(&self, ptr: DevicePtr) {
        self.observed.free(ptr);
    }

    fn upload(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), EngineError> {
        self.observed.upload(to, bytes)
    }

    fn download(&self, bytes: &mut [u8], from: DevicePtr) -> Result<(), EngineError> {
        self.observed.download(bytes, from)
    }

    fn tensor_map(&self, matrix: &MatrixMap) -> Result<[u8; TENSOR_MAP_BYTES], EngineError> {
        self.observed.tensor_map(matrix)
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        unsafe { self.observed.run(launch) }
    }

    unsafe fn time(&self, launches: &[Launch<'_>], rounds: u32) -> Result<f64, EngineError> {
        // SAFETY: the same contract.
        unsafe { self.observed.time(launches, rounds) }
    }
}
