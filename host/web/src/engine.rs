//! The emulator as the page uses it: launches are noted, and those that the reader edited replace
//! the planned ones.

use crate::text::compact;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use warpladder::device::ComputeCapability;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::ObservedEngine;
use warpladder::engine::{Engine, EngineKind};
use warpladder::error::EngineError;
use warpladder::launch::{DevicePtr, Dim3, KernelId, Launch, MatrixMap, TENSOR_MAP_BYTES};

/// What the reader changed of a launch; none of it is there where nothing was.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Edit {
    pub ptx: Option<String>,
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
}

/// A launch as it was made.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Noted {
    pub entry: String,
    /// Its module, with the other kernels left out.
    pub ptx: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub shared_bytes: u32,
}

#[derive(Default)]
struct Notes {
    /// Kernel, name and text of each load, which are as many as there are launches.
    loaded: Vec<(KernelId, String, String)>,
    launches: Vec<Noted>,
}

/// An emulator under an observer.
pub(crate) struct PageEngine<'e, O> {
    observed: ObservedEngine<'e, O>,
    edits: &'e [Edit],
    /// Whether launches are noted alone.
    is_dry: bool,
    notes: Mutex<Notes>,
}

impl<'e, O: ptx_emulator::Observer + Send> PageEngine<'e, O> {
    pub(crate) fn new(emulator: &'e EmulatorEngine, observer: O, edits: &'e [Edit]) -> Self {
        PageEngine {
            observed: ObservedEngine::new(emulator, observer),
            edits,
            is_dry: false,
            notes: Mutex::default(),
        }
    }

    /// The same engine, on which nothing runs.
    pub(crate) fn dry(self) -> Self {
        PageEngine {
            is_dry: true,
            ..self
        }
    }

    /// The observer, and the launches that were made.
    pub(crate) fn into_parts(self) -> (O, Vec<Noted>) {
        let notes = self.notes.into_inner();
        let notes = notes.unwrap_or_else(PoisonError::into_inner);
        (self.observed.into_observer(), notes.launches)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O: ptx_emulator::Observer + Send> Engine for PageEngine<'_, O> {
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
        let index = self.notes().loaded.len();
        let edited = self.edits.get(index).and_then(|edit| edit.ptx.clone());
        let text = edited.unwrap_or_else(|| compact(ptx));
        let kernel = self.observed.load(&text, entry)?;
        self.notes().loaded.push((kernel, entry.to_owned(), text));
        Ok(kernel)
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
        let mut launch = *launch;
        {
            let mut notes = self.notes();
            let index = notes.launches.len();
            let edit = self.edits.get(index).cloned().unwrap_or_default();
            let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
            launch.grid = edit.grid.map_or(launch.grid, dim);
            launch.block = edit.block.map_or(launch.block, dim);
            let of = notes.loaded.get(index).cloned();
            let (kernel, entry, ptx) = of.unwrap_or((launch.kernel, String::new(), String::new()));
            launch.kernel = kernel;
            let extents = |Dim3 { x, y, z }: Dim3| [x, y, z];
            let noted = Noted {
                entry,
                ptx,
                grid: extents(launch.grid),
                block: extents(launch.block),
                cluster: extents(launch.cluster),
                shared_bytes: launch.shared_bytes,
            };
            notes.launches.push(noted);
        }
        if self.is_dry {
            return Ok(());
        }
        // SAFETY: the emulator refuses accesses outside of allocations, so that nothing can be
        // wrong with a launch that the reader edited either.
        unsafe { self.observed.run(&launch) }
    }

    unsafe fn time(&self, _: &[Launch<'_>], _: u32) -> Result<f64, EngineError> {
        let reason = "the emulator in a browser takes no times: run warpladder on a GPU";
        Err(EngineError::Unavailable(reason.to_owned()))
    }
}
