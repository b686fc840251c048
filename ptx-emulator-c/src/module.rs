//! Modules and kernels.

use std::ffi::{CString, c_char};

use ptx_emulator::{Kernel, Module};

use crate::error::{Failure, Result, c_text, guard};
use crate::memory::EmulatedMemory;
use crate::pointer::{Bytes, Object, Out, Text, make};

/// `ptxemu_module`.
pub struct LoadedModule {
    pub(crate) module: Module,
    names: Vec<CString>,
    target: CString,
}

/// `ptxemu_kernel`.
pub struct LoadedKernel {
    pub(crate) kernel: Kernel,
    parameters: Vec<CString>,
}

/// `ptxemu_parameter`.
#[repr(C)]
pub struct Parameter {
    name: *const c_char,
    bytes: u32,
    align: u32,
    offset: u32,
    reserved: u32,
}

/// The text of PTX, without the null bytes behind it.
pub(crate) fn ptx_text(mut bytes: &[u8]) -> Result<&str> {
    while let Some((0, rest)) = bytes.split_last() {
        bytes = rest;
    }
    str::from_utf8(bytes).map_err(|_| Failure::invalid("the PTX is not UTF-8: is it a cubin?"))
}

fn load(text: &[u8]) -> Result<LoadedModule> {
    let module = Module::parse(ptx_text(text)?)?;
    Ok(LoadedModule {
        names: module.kernel_names().map(c_text).collect(),
        target: c_text(module.target()),
        module,
    })
}

/// `ptxemu_module_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_module_load(
    text: Bytes,
    bytes: usize,
    to: Out<*mut LoadedModule>,
) -> u32 {
    guard(|| make(&to, load(text.read(bytes)?)?))
}

/// `ptxemu_module_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_module_free(module: Object<LoadedModule>) {
    module.free();
}

/// `ptxemu_module_kernel_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_module_kernel_count(module: Object<LoadedModule>) -> usize {
    module.get().map_or(0, |module| module.names.len())
}

/// `ptxemu_module_kernel_name`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_module_kernel_name(
    module: Object<LoadedModule>,
    index: usize,
) -> *const c_char {
    let name = module.get().ok().and_then(|module| module.names.get(index));
    name.map_or(std::ptr::null(), |name| name.as_ptr())
}

/// `ptxemu_module_target`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_module_target(module: Object<LoadedModule>) -> *const c_char {
    let target = module.get().map(|module| module.target.as_ptr());
    target.unwrap_or(std::ptr::null())
}

/// `ptxemu_module_variable`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_module_variable(
    module: Object<LoadedModule>,
    memory: Object<EmulatedMemory>,
    name: Text,
    address: Out<u64>,
    bytes: Out<u64>,
) -> u32 {
    guard(|| {
        let (name, memory) = (name.get()?, &memory.get()?.0);
        let found = module.get()?.module.variable(memory, name)?;
        let (place, size) = found.ok_or_else(|| Failure {
            status: crate::error::Status::NotFound,
            message: format!("the module has no variable `{name}` in global or constant memory"),
        })?;
        address.set_optional(place);
        bytes.set_optional(size);
        Ok(())
    })
}

/// `ptxemu_kernel_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_kernel_get(
    module: Object<LoadedModule>,
    name: Text,
    to: Out<*mut LoadedKernel>,
) -> u32 {
    guard(|| {
        let kernel = module.get()?.module.kernel(name.get()?)?;
        let parameters = kernel.params().iter().map(|one| c_text(one.name.as_str()));
        let parameters = parameters.collect();
        make(&to, LoadedKernel { kernel, parameters })
    })
}

/// `ptxemu_kernel_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_kernel_free(kernel: Object<LoadedKernel>) {
    kernel.free();
}

/// `ptxemu_kernel_parameter_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_kernel_parameter_count(kernel: Object<LoadedKernel>) -> usize {
    kernel.get().map_or(0, |kernel| kernel.parameters.len())
}

/// `ptxemu_kernel_parameter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_kernel_parameter(
    kernel: Object<LoadedKernel>,
    index: usize,
    to: Out<Parameter>,
) -> u32 {
    guard(|| {
        let kernel = kernel.get()?;
        let (parameters, count) = (kernel.kernel.params(), kernel.parameters.len());
        let Some(parameter) = parameters.get(index) else {
            let name = kernel.kernel.name();
            return Err(Failure::invalid(format!(
                "kernel `{name}` has {count} parameters: there is none of index {index}"
            )));
        };
        to.set(Parameter {
            name: kernel.parameters[index].as_ptr(),
            bytes: parameter.bytes,
            align: parameter.align,
            offset: parameter.offset,
            reserved: 0,
        })
    })
}

/// `ptxemu_kernel_shared_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_kernel_shared_bytes(kernel: Object<LoadedKernel>) -> u32 {
    kernel
        .get()
        .map_or(0, |kernel| kernel.kernel.static_shared_bytes())
}

/// `ptxemu_kernel_max_threads`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxemu_kernel_max_threads(kernel: Object<LoadedKernel>) -> u32 {
    let declared = kernel.get().map(|kernel| kernel.kernel.max_threads());
    declared.map_or(0, |declared| {
        let threads = declared.map_or(u64::MAX, |all| all.iter().map(|&n| u64::from(n)).product());
        threads.min(u64::from(ptx_emulator::MAX_BLOCK_THREADS)) as u32
    })
}
