//! What programs of nvcc register before `main`: fat binaries, and the host addresses that stand
//! for their kernels and variables. A module is loaded when it is first used in a context.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{LazyLock, Mutex};

use crate::api::module::{call as library, load_image};
use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::launch::{self, Loading};
use crate::pointer::{Host, In, Out, Text};
use crate::state::{Handle, lock};

use super::{INVALID_FUNCTION, INVALID_SYMBOL, enter, initialised};

/// A variable of a module, by its host address.
#[derive(Clone)]
struct Variable {
    binary: u64,
    name: String,
}

/// A managed variable: where the program keeps the pointer to it.
struct Managed {
    binary: u64,
    name: String,
    pointer: u64,
}

#[derive(Default)]
struct Registry {
    /// The images by the handle that the program has.
    binaries: HashMap<u64, u64>,
    /// Binary and name of a kernel, by its host address.
    functions: HashMap<u64, (u64, String)>,
    variables: HashMap<u64, Variable>,
    managed: Vec<Managed>,
    /// Modules by binary and context, or why they were not loaded.
    modules: HashMap<(u64, Handle), Result<Handle>>,
}

static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);

/// The module of a binary in the current context.
fn module(registry: &mut Registry, binary: u64) -> Result<Handle> {
    let current = current()?;
    let place = (binary, current.handle);
    if let Some(known) = registry.modules.get(&place) {
        return *known;
    }
    let image = *registry
        .binaries
        .get(&binary)
        .ok_or(Code::NO_BINARY_FOR_GPU)?;
    let loaded = load_image(&current, Host::at_address(image), (Loading::Lazy, None));
    let loaded = loaded.map_err(|(code, message)| {
        eprintln!("warpladder cuda: {message}");
        code
    });
    let loaded = loaded.and_then(|module| {
        let mut managed = registry.managed.iter();
        managed
            .by_ref()
            .filter(|one| one.binary == binary)
            .try_for_each(|one| one.place(&current, module))?;
        Ok(module)
    });
    registry.modules.insert(place, loaded);
    loaded
}

impl Managed {
    /// Makes a module's variable managed, and writes its address to where the program reads it.
    fn place(&self, current: &Current, module: Handle) -> Result {
        let found = launch::global(current.driver, module, &self.name)?;
        let place = (current.context.device, current.handle);
        current.driver.manage_variable(found, place)?;
        Host::at_address(self.pointer).write(&found.0.to_le_bytes())
    }
}

/// The function of a kernel: by its host address, or a handle of the driver's.
///
/// # Errors
/// `cudaErrorInvalidDeviceFunction`, and those of loading a module.
pub(super) fn function(host: Host) -> Result<Handle> {
    let driver = enter()?;
    let mut registry = lock(&REGISTRY);
    let found = registry.functions.get(&host.address()).cloned();
    let Some((binary, name)) = found else {
        let handle = host.address() as Handle;
        return match driver.functions.get(handle) {
            Ok(_) => Ok(handle),
            Err(_) => Err(INVALID_FUNCTION),
        };
    };
    let module = module(&mut registry, binary)?;
    launch::function(driver, module, &name).map_err(|code| match code {
        Code::NOT_FOUND => INVALID_FUNCTION,
        other => other,
    })
}

/// Address and bytes of a variable, by the host address that stands for it.
///
/// # Errors
/// `cudaErrorInvalidSymbol`, and those of loading a module.
pub(super) fn variable(host: Host) -> Result<(u64, u64)> {
    let driver = enter()?;
    let mut registry = lock(&REGISTRY);
    let found = registry.variables.get(&host.address()).cloned();
    let Variable { binary, name } = found.ok_or(INVALID_SYMBOL)?;
    let module = module(&mut registry, binary)?;
    launch::global(driver, module, &name).map_err(|code| match code {
        Code::NOT_FOUND => INVALID_SYMBOL,
        other => other,
    })
}

/// `__cudaRegisterFatBinary` of the CUDA runtime: gives the handle of an image.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(image: Host) -> *mut c_void {
    // The handle is an address that lives as long as the program: some programs read there.
    let handle: *mut c_void = std::ptr::from_mut(Box::leak(Box::new([0u64; 4]))).cast();
    let mut registry = lock(&REGISTRY);
    let number = handle.expose_provenance() as u64;
    registry.binaries.insert(number, image.address());
    handle
}

/// `__cudaRegisterFatBinaryEnd` of the CUDA runtime.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinaryEnd(_binary: Host) {}

/// `__cudaUnregisterFatBinary` of the CUDA runtime. Modules stay loaded: kernels may be running in
/// other threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(binary: Host) {
    let mut registry = lock(&REGISTRY);
    registry.binaries.remove(&binary.address());
    let other = |of: u64| of != binary.address();
    registry.functions.retain(|_, (of, _)| other(*of));
    registry.variables.retain(|_, one| other(one.binary));
    registry.managed.retain(|one| other(one.binary));
}

/// `__cudaRegisterFunction` of the CUDA runtime.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the function is CUDA's")]
pub unsafe extern "C" fn __cudaRegisterFunction(
    binary: Host,
    host: Host,
    _device: Host,
    name: Text,
    _threads: c_int,
    _tid: Host,
    _bid: Host,
    _block: Host,
    _grid: Host,
    _warp: Host,
) {
    if let Ok(name) = name.get() {
        let mut registry = lock(&REGISTRY);
        let found = (binary.address(), name);
        registry.functions.insert(host.address(), found);
    }
}

/// `__cudaRegisterVar` of the CUDA runtime.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the function is CUDA's")]
pub unsafe extern "C" fn __cudaRegisterVar(
    binary: Host,
    host: Host,
    _device: Host,
    name: Text,
    _external: c_int,
    _bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    if let Ok(name) = name.get() {
        let binary = binary.address();
        let one = Variable { binary, name };
        lock(&REGISTRY).variables.insert(host.address(), one);
    }
}

/// `__cudaRegisterManagedVar` of the CUDA runtime.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the function is CUDA's")]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    binary: Host,
    pointer: Host,
    device: Host,
    name: Text,
    _external: c_int,
    _bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    let Ok(name) = name.get() else { return };
    let mut registry = lock(&REGISTRY);
    let (binary, pointer) = (binary.address(), pointer.address());
    let one = Variable {
        binary,
        name: name.clone(),
    };
    registry.variables.insert(pointer, one.clone());
    registry.variables.insert(device.address(), one);
    registry.managed.push(Managed {
        binary,
        name,
        pointer,
    });
}

/// `__cudaInitModule` of the CUDA runtime: called before a managed variable is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaInitModule(binary: Host) -> c_char {
    let code = super::guard("__cudaInitModule", || {
        enter()?;
        module(&mut lock(&REGISTRY), binary.address()).map(drop)
    });
    c_char::from(code == 0)
}

runtime! {
    fn cudaGetSymbolAddress(to: Out<u64>, symbol: Host) { to.set(variable(symbol)?.0) }

    fn cudaGetSymbolSize(to: Out<usize>, symbol: Host) { to.set(variable(symbol)?.1 as usize) }

    fn cudaGetFuncBySymbol(to: Out<Handle>, symbol: Host) { to.set(function(symbol)?) }

    fn cudaGetKernel | __cudaGetKernel (to: Out<Host>, symbol: Host) {
        // It is the same in all contexts: the host address stands for it. Programs ask before
        // `main`, where no GPU need be chosen.
        initialised()?;
        let known = lock(&REGISTRY).functions.contains_key(&symbol.address());
        if known { to.set(symbol) } else { Err(INVALID_FUNCTION) }
    }

    fn cudaLibraryLoadData(
        to: Out<Handle>, image: Host, options: In<c_uint>, values: In<Host>, count: c_uint,
        library_options: In<c_uint>, library_values: In<Host>, library_count: c_uint,
    ) {
        enter()?;
        library::cuLibraryLoadData(
            to, image, options, values, count, library_options, library_values, library_count,
        )
    }

    fn cudaLibraryLoadFromFile(
        to: Out<Handle>, path: Text, options: In<c_uint>, values: In<Host>, count: c_uint,
        library_options: In<c_uint>, library_values: In<Host>, library_count: c_uint,
    ) {
        enter()?;
        library::cuLibraryLoadFromFile(
            to, path, options, values, count, library_options, library_values, library_count,
        )
    }

    fn cudaLibraryUnload(library: Handle) { library::cuLibraryUnload(library) }

    fn cudaLibraryGetKernel(to: Out<Handle>, library: Handle, name: Text) {
        library::cuLibraryGetKernel(to, library, name)
    }

    fn cudaLibraryGetKernelCount(to: Out<c_uint>, library: Handle) {
        library::cuLibraryGetKernelCount(to, library)
    }

    fn cudaLibraryEnumerateKernels(to: Out<Handle>, count: c_uint, library: Handle) {
        library::cuLibraryEnumerateKernels(to, count, library)
    }

    fn cudaKernelSetAttributeForDevice(
        kernel: Handle, attribute: c_uint, value: c_int, device: c_int,
    ) {
        library::cuKernelSetAttribute(attribute, value, kernel, device)
    }

    fn cudaLibraryGetGlobal(to: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) {
        library::cuLibraryGetGlobal(to, bytes, library, name)
    }
}
