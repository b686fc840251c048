//! The driver of the process: its devices, its memory, and its objects by handle.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ptx_emulator::Memory;

use crate::advice::Advices;
use crate::array::{Array, Mipmapped, Textures};
use crate::code::{Code, Result};
use crate::context::{Context, Primary};
use crate::device::EmulatedDevice;
use crate::graph::{Graph, Instance, Node};
use crate::graph_memory::GraphMemory;
use crate::ipc::Sharing;
use crate::launch::{Function, LoadedModule};
use crate::link::Link;
use crate::memory::{Allocations, Pool, PoolKind};
use crate::stream::{Event, Stream};
use crate::texture_reference::Reference;
use crate::user_object::References;
use crate::virtual_memory::{Physical, Reservations};

/// A handle as C programs hold it. It is a number and no address.
pub(crate) type Handle = usize;

/// Objects of one kind.
#[derive(Debug)]
pub(crate) struct Objects<T>(Mutex<HashMap<Handle, Arc<T>>>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Objects(Mutex::default())
    }
}

/// Handles are the same for no two objects of any kind, so that one of the wrong kind is noticed.
static NEXT: AtomicUsize = AtomicUsize::new(0x1000);

pub(crate) fn new_handle() -> Handle {
    NEXT.fetch_add(0x10, Ordering::Relaxed)
}

impl<T> Objects<T> {
    pub(crate) fn insert(&self, object: T) -> Handle {
        let handle = new_handle();
        lock(&self.0).insert(handle, Arc::new(object));
        handle
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` for a handle of another kind, or of what was destroyed.
    pub(crate) fn get(&self, handle: Handle) -> Result<Arc<T>> {
        let found = lock(&self.0).get(&handle).cloned();
        found.ok_or(Code::INVALID_HANDLE)
    }

    /// # Errors
    /// As for [`Objects::get`].
    pub(crate) fn remove(&self, handle: Handle) -> Result<Arc<T>> {
        lock(&self.0).remove(&handle).ok_or(Code::INVALID_HANDLE)
    }

    /// The handle of an object for which a condition holds.
    pub(crate) fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<Handle> {
        let all = lock(&self.0);
        let found = all.iter().find(|(_, object)| is_it(object));
        found.map(|(handle, _)| *handle)
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        lock(&self.0).values().cloned().collect()
    }

    pub(crate) fn retain(&self, keep: impl Fn(&T) -> bool) {
        lock(&self.0).retain(|_, object| keep(object));
    }
}

/// What the environment asks for.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) sanitize: bool,
    pub(crate) profile: bool,
    /// A file that gets a line for each finding, for the program that started this one.
    pub(crate) findings: Option<String>,
}

/// The driver of the process.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) devices: Vec<EmulatedDevice>,
    /// One address space for all devices, as with unified addressing.
    pub(crate) memory: Memory,
    pub(crate) options: Options,
    pub(crate) allocations: Mutex<Allocations>,
    pub(crate) advices: Mutex<Advices>,
    pub(crate) sharing: Mutex<Sharing>,
    pub(crate) primaries: Vec<Mutex<Primary>>,
    /// The handle of each device's default memory pool, and behind them that of the host's.
    pub(crate) default_pools: Vec<Handle>,
    /// Those that allocations are from which name none.
    pub(crate) current_pools: Mutex<Vec<Handle>>,
    pub(crate) contexts: Objects<Context>,
    pub(crate) modules: Objects<LoadedModule>,
    pub(crate) functions: Objects<Function>,
    pub(crate) streams: Objects<Stream>,
    pub(crate) events: Objects<Event>,
    pub(crate) graphs: Objects<Graph>,
    pub(crate) nodes: Objects<Node>,
    pub(crate) instances: Objects<Instance>,
    pub(crate) arrays: Objects<Array>,
    pub(crate) mipmapped: Objects<Mipmapped>,
    pub(crate) textures: Textures,
    pub(crate) references: Objects<Reference>,
    pub(crate) physical: Objects<Physical>,
    pub(crate) reservations: Mutex<Reservations>,
    pub(crate) pools: Objects<Pool>,
    /// What graphs of each device have allocated.
    pub(crate) graph_memory: Mutex<Vec<GraphMemory>>,
    /// The program's own references to user objects.
    pub(crate) user_objects: Mutex<References>,
    /// Texts, each with a null byte behind it.
    pub(crate) links: Objects<Link>,
}

/// The newest CUDA whose programs find their functions here, as a number like 13000.
const VERSION: i32 = 13_000;

/// The version of CUDA that the driver says to have: programs compare it with that of the toolkit
/// that they were built with, and some then make machine code. The environment may name a newer
/// one of the same family, whose functions are these.
pub(crate) fn cuda_version() -> i32 {
    static NAMED: OnceLock<i32> = OnceLock::new();
    *NAMED.get_or_init(|| {
        let Ok(text) = std::env::var("WARPLADDER_CUDA_VERSION") else {
            return VERSION;
        };
        parse_version(&text).unwrap_or_else(|| {
            eprintln!(
                "warpladder cuda: WARPLADDER_CUDA_VERSION is `{text}`: name one from 13.0 to \
                 13.99; it counts as 13.0"
            );
            VERSION
        })
    })
}

fn parse_version(text: &str) -> Option<i32> {
    let minor: i32 = text.strip_prefix("13.")?.parse().ok()?;
    (0..100).contains(&minor).then_some(VERSION + 10 * minor)
}

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// `cuInit`.
///
/// # Errors
/// `CUDA_ERROR_NO_DEVICE` where the environment names a GPU that is not described.
pub(crate) fn initialise() -> Result {
    instance()?;
    INITIALISED.store(true, Ordering::Release);
    Ok(())
}

/// The driver.
///
/// # Errors
/// `CUDA_ERROR_NOT_INITIALIZED` before `cuInit`.
pub(crate) fn driver() -> Result<&'static Driver> {
    match INITIALISED.load(Ordering::Acquire) {
        true => instance(),
        false => Err(Code::NOT_INITIALIZED),
    }
}

fn instance() -> Result<&'static Driver> {
    static DRIVER: OnceLock<std::result::Result<Driver, String>> = OnceLock::new();
    let made = DRIVER.get_or_init(|| {
        let made = Driver::from_environment();
        if let Err(message) = &made {
            eprintln!("warpladder cuda: {message}");
        }
        made
    });
    made.as_ref().map_err(|_| Code::NO_DEVICE)
}

impl Driver {
    fn from_environment() -> std::result::Result<Self, String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let is_set = |name: &str| variable(name).is_some_and(|text| text != "0");
        let chosen = variable("WARPLADDER_CUDA_DEVICE");
        let devices = EmulatedDevice::parse(chosen.as_deref().unwrap_or("H100"))?;
        let capacity = devices.iter().map(EmulatedDevice::memory_bytes).sum();
        let graph_memory = vec![GraphMemory::default(); devices.len()];
        let pools = Objects::default();
        let of_devices = (0..devices.len()).map(|device| Pool::new(device, PoolKind::Device));
        let others = [PoolKind::Host, PoolKind::Managed].map(|kind| Pool::new(0, kind));
        let all = of_devices.chain(others);
        let default_pools: Vec<_> = all.map(|pool| pools.insert(pool)).collect();
        Ok(Driver {
            current_pools: Mutex::new(default_pools.clone()),
            default_pools,
            primaries: devices.iter().map(|_| Mutex::default()).collect(),
            devices,
            memory: Memory::with_capacity(capacity),
            options: Options {
                sanitize: is_set("WARPLADDER_CUDA_SANITIZE"),
                profile: is_set("WARPLADDER_CUDA_PROFILE"),
                findings: variable("WARPLADDER_CUDA_FINDINGS"),
            },
            allocations: Mutex::default(),
            advices: Mutex::default(),
            sharing: Mutex::default(),
            contexts: Objects::default(),
            modules: Objects::default(),
            functions: Objects::default(),
            streams: Objects::default(),
            events: Objects::default(),
            graphs: Objects::default(),
            nodes: Objects::default(),
            instances: Objects::default(),
            arrays: Objects::default(),
            mipmapped: Objects::default(),
            textures: Textures::default(),
            references: Objects::default(),
            physical: Objects::default(),
            reservations: Mutex::default(),
            pools,
            graph_memory: Mutex::new(graph_memory),
            user_objects: Mutex::default(),
            links: Objects::default(),
        })
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_DEVICE` where there are fewer devices.
    pub(crate) fn device(&self, ordinal: i32) -> Result<(usize, &EmulatedDevice)> {
        let index = usize::try_from(ordinal).map_err(|_| Code::INVALID_DEVICE)?;
        let device = self.devices.get(index).ok_or(Code::INVALID_DEVICE)?;
        Ok((index, device))
    }
}

/// The lock. What it guards is valid at every step, also where a thread panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    #[test]
    fn versions_are_of_one_family() {
        let all = ["13.0", "13.5", "13.100", "12.9", "13", "13.x", "13.-1"];
        let found = all.map(parse_version);
        assert_eq!(
            found,
            [Some(13_000), Some(13_050), None, None, None, None, None]
        );
    }
}
