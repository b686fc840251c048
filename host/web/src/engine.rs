//! The emulator as the page uses it: launches are noted, and those that the reader edited replace
//! the planned ones.

use crate::text::compact;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::ObservedEngine;
use warpladder::engine::{Engine, EngineKind};
use warpladder::error::EngineError;
use warpladder::launch::{Arg, DevicePtr, Dim3, KernelId, Launch, MatrixMap, TENSOR_MAP_BYTES};

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
    /// The arguments in the words of `warpladder emulate`, each array with random elements; null
    /// where one is a struct, which may hold addresses.
    pub arguments: Option<Vec<String>>,
}

/// An allocation, as arguments are described by it.
struct Allocated {
    address: u64,
    bytes: usize,
    is_input: bool,
}

#[derive(Default)]
struct Notes {
    /// Kernel, name and text of each load, which are as many as there are launches.
    loaded: Vec<(KernelId, String, String)>,
    launches: Vec<Noted>,
    allocated: Vec<Allocated>,
}

/// An emulator under an observer.
pub(crate) struct PageEngine<'e, O> {
    observed: ObservedEngine<'e, O>,
    element: ElementType,
    edits: &'e [Edit],
    /// Whether launches are noted alone.
    is_dry: bool,
    notes: Mutex<Notes>,
}

impl<'e, O: ptx_emulator::Observer + Send> PageEngine<'e, O> {
    pub(crate) fn new(
        emulator: &'e EmulatorEngine,
        observer: O,
        element: ElementType,
        edits: &'e [Edit],
    ) -> Self {
        PageEngine {
            observed: ObservedEngine::new(emulator, observer),
            element,
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

impl Notes {
    fn argument(&self, arg: &Arg<'_>, element: ElementType) -> Option<String> {
        Some(match *arg {
            Arg::Ptr(DevicePtr(address)) => {
                let holds = |one: &&Allocated| {
                    let end = one.address + one.bytes as u64;
                    (one.address..end.max(one.address + 1)).contains(&address)
                };
                let one = self.allocated.iter().find(holds)?;
                let behind = address - one.address;
                let count = (one.bytes as u64 - behind).div_ceil(element.bytes());
                let content = if one.is_input { "random" } else { "none" };
                format!("{element}[{count}]={content}")
            }
            Arg::U32(value) => format!("u32:{value}"),
            Arg::U64(value) => format!("u64:{value}"),
            Arg::F32(value) => format!("f32:{value}"),
            Arg::F64(value) => format!("f64:{value}"),
            Arg::Bytes(_) => return None,
        })
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
        let ptr = self.observed.alloc(bytes)?;
        self.notes().allocated.push(Allocated {
            address: ptr.0,
            bytes,
            is_input: false,
        });
        Ok(ptr)
    }

    fn free(&self, ptr: DevicePtr) {
        self.observed.free(ptr);
    }

    fn upload(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), EngineError> {
        self.observed.upload(to, bytes)?;
        let mut notes = self.notes();
        let written = notes.allocated.iter_mut().find(|one| one.address == to.0);
        if let Some(written) = written {
            written.is_input = true;
        }
        Ok(())
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
            let arguments = launch.args.iter();
            let arguments = arguments.map(|arg| notes.argument(arg, self.element));
            let extents = |Dim3 { x, y, z }: Dim3| [x, y, z];
            let noted = Noted {
                entry,
                ptx,
                grid: extents(launch.grid),
                block: extents(launch.block),
                cluster: extents(launch.cluster),
                shared_bytes: launch.shared_bytes,
                arguments: arguments.collect(),
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
