//! Modules, libraries and functions.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::Arc;

use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::image::{self, Log};
use crate::launch::{self, Function, Loading};
use crate::link::MAX_REGISTERS;
use crate::pointer::{Host, In, Out, Text};
use crate::state::{Handle, driver};

/// `CUjit_option`: info log, its size, error log, its size.
const LOGS: [c_uint; 4] = [3, 4, 5, 6];

/// Options of a load: how many, and their names and values where there are any.
type Options = (c_uint, Option<In<c_uint>>, Option<In<Host>>);

/// Loads an image, and writes what is wrong with it to the error log of the options.
fn load(
    current: &Current,
    to: Out<Handle>,
    image: Host,
    (count, options, values): Options,
) -> Result {
    if image.is_null() || to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let mut log = Log::default();
    let mut sizes = Vec::new();
    let mut max_registers = None;
    if let (Some(options), Some(values)) = (options, values) {
        for index in 0..count as usize {
            let value = values.at(index)?;
            match options.at(index)? {
                option if option == LOGS[2] => log.buffer = Some(value),
                option if option == LOGS[3] => {
                    log.bytes = value.address() as c_uint as usize;
                    sizes.push((index, true));
                }
                option if option == LOGS[1] => sizes.push((index, false)),
                MAX_REGISTERS => max_registers = Some(value.address() as u32),
                _ => {}
            }
        }
    }
    let loaded = load_image(current, image, (Loading::Eager, max_registers));
    let message = loaded
        .as_ref()
        .err()
        .map_or("", |(_, message)| message.as_str());
    let written = log.write(message)?;
    for (index, is_error) in sizes {
        // The size of a log becomes that of what is in it, in the place of the value.
        if let Some(values) = values {
            let bytes = if is_error { written as u64 } else { 0 };
            values.place(index).write(&bytes.to_le_bytes())?;
        }
    }
    match loaded {
        Ok(handle) => to.set(handle),
        Err((code, message)) => {
            eprintln!("warpladder cuda: {message}");
            Err(code)
        }
    }
}

/// # Errors
/// The driver's code, and a line for the log.
pub(crate) fn load_image(
    current: &Current,
    image: Host,
    (loading, max_registers): (Loading, Option<u32>),
) -> std::result::Result<Handle, (Code, String)> {
    let (major, minor) = current.device().capability;
    let text = image::ptx(image, (10 * major + minor).cast_unsigned())?;
    launch::load(current, &text, (loading, max_registers))
}

/// Where a library is loaded: it needs no current context, and is then in a primary one, which it
/// retains.
fn library_context() -> Result<Current> {
    match current() {
        Err(Code::INVALID_CONTEXT) => {
            let driver = driver()?;
            Current::of(driver, driver.retain_primary(0))
        }
        result => result,
    }
}

fn load_file(current: &Current, to: Out<Handle>, path: Text) -> Result {
    let mut bytes = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
    // PTX text in a file does not end in a null byte.
    bytes.push(0);
    let address = Host::at_address(bytes.as_ptr().expose_provenance() as u64);
    load(current, to, address, (0, None, None))
}

pub(super) fn function(handle: Handle) -> Result<Arc<Function>> {
    driver()?.functions.get(handle)
}

/// A null-terminated copy of a text, which lives as long as the program.
fn leak(text: &str) -> *const c_char {
    Box::leak(format!("{text}\0").into_boxed_str())
        .as_ptr()
        .cast()
}

fn optional<T: Copy>(pointer: In<T>) -> Option<In<T>> {
    (!pointer.is_null()).then_some(pointer)
}

/// The function whose name is asked for: that of a null handle is no value.
fn named(handle: Handle) -> Result<Arc<Function>> {
    match handle {
        0 => Err(Code::INVALID_VALUE),
        _ => function(handle),
    }
}

api! {
    fn cuModuleLoadData(to: Out<Handle>, image: Host) {
        load(&current()?, to, image, (0, None, None))
    }

    fn cuModuleLoadDataEx(
        to: Out<Handle>, image: Host, count: c_uint, options: In<c_uint>, values: In<Host>,
    ) {
        load(&current()?, to, image, (count, optional(options), optional(values)))
    }

    fn cuModuleLoadFatBinary(to: Out<Handle>, image: Host) {
        load(&current()?, to, image, (0, None, None))
    }

    fn cuModuleLoad(to: Out<Handle>, path: Text) { load_file(&current()?, to, path) }

    fn cuModuleUnload(module: Handle) {
        let driver = driver()?;
        driver.modules.remove(module)?;
        driver.functions.retain(|function| function.module != module);
        driver.references.retain(|reference| !reference.is_in(module));
        Ok(())
    }

    fn cuModuleGetLoadingMode(to: Out<c_uint>) { to.set(1) }

    fn cuModuleGetFunction(to: Out<Handle>, module: Handle, name: Text) {
        let name = name.get()?;
        to.set(launch::function(current()?.driver, module, &name)?)
    }

    fn cuModuleGetFunctionCount(to: Out<c_uint>, module: Handle) {
        to.set(driver()?.modules.get(module)?.module.kernel_names().count() as c_uint)
    }

    fn cuModuleEnumerateFunctions(to: Out<Handle>, count: c_uint, module: Handle) {
        let driver = driver()?;
        let loaded = driver.modules.get(module)?;
        for (index, name) in loaded.module.kernel_names().take(count as usize).enumerate() {
            to.at(index).set(launch::function(driver, module, name)?)?;
        }
        Ok(())
    }

    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) {
        let (found, size) = launch::global(current()?.driver, module, &name.get()?)?;
        address.set_optional(found);
        bytes.set_optional(size as usize);
        Ok(())
    }

    fn cuLibraryLoadData(
        to: Out<Handle>, image: Host, options: In<c_uint>, values: In<Host>, count: c_uint,
        _library_options: In<c_uint>, _library_values: In<Host>, _library_count: c_uint,
    ) {
        load(&library_context()?, to, image, (count, optional(options), optional(values)))
    }

    fn cuLibraryLoadFromFile(
        to: Out<Handle>, path: Text, _options: In<c_uint>, _values: In<Host>, _count: c_uint,
        _library_options: In<c_uint>, _library_values: In<Host>, _library_count: c_uint,
    ) {
        load_file(&library_context()?, to, path)
    }

    fn cuLibraryUnload(library: Handle) {
        let driver = driver()?;
        driver.modules.remove(library)?;
        driver.functions.retain(|function| function.module != library);
        Ok(())
    }

    fn cuLibraryGetModule(to: Out<Handle>, library: Handle) {
        driver()?.modules.get(library)?;
        to.set(library)
    }

    fn cuLibraryGetKernel(to: Out<Handle>, library: Handle, name: Text) {
        to.set(launch::function(driver()?, library, &name.get()?)?)
    }

    fn cuLibraryGetKernelCount(to: Out<c_uint>, library: Handle) {
        to.set(driver()?.modules.get(library)?.module.kernel_names().count() as c_uint)
    }

    fn cuLibraryEnumerateKernels(to: Out<Handle>, count: c_uint, library: Handle) {
        cuModuleEnumerateFunctions(to, count, library)
    }

    fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) {
        let (found, size) = launch::global(driver()?, library, &name.get()?)?;
        address.set_optional(found);
        bytes.set_optional(size as usize);
        Ok(())
    }

    fn cuKernelGetFunction(to: Out<Handle>, kernel: Handle) {
        function(kernel)?;
        to.set(kernel)
    }

    fn cuKernelGetLibrary(to: Out<Handle>, kernel: Handle) { to.set(function(kernel)?.module) }

    fn cuKernelGetParamCount(kernel: Handle, count: Out<usize>) {
        cuFuncGetParamCount(kernel, count)
    }

    fn cuKernelGetName(to: Out<*const c_char>, kernel: Handle) {
        to.set(leak(named(kernel)?.kernel.name()))
    }

    fn cuKernelGetAttribute(to: Out<c_int>, attribute: c_uint, kernel: Handle, _device: c_int) {
        to.set(function(kernel)?.attribute(driver()?, attribute)?)
    }

    fn cuKernelSetAttribute(attribute: c_uint, value: c_int, kernel: Handle, device: c_int) {
        let (_, device) = driver()?.device(device)?;
        function(kernel)?.set_attribute(device, attribute, value)
    }

    fn cuKernelSetCacheConfig(kernel: Handle, _config: c_uint, _device: c_int) {
        function(kernel).map(drop)
    }

    fn cuKernelGetParamInfo(
        kernel: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>,
    ) {
        current()?;
        let function = function(kernel)?;
        let param = function.kernel.params().get(index).ok_or(Code::INVALID_VALUE)?;
        offset.set_optional(param.offset as usize);
        bytes.set_optional(param.bytes as usize);
        Ok(())
    }

    fn cuFuncGetParamInfo(
        kernel: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>,
    ) {
        current()?;
        let function = function(kernel)?;
        let param = function.kernel.params().get(index).ok_or(Code::INVALID_VALUE)?;
        offset.set_optional(param.offset as usize);
        bytes.set_optional(param.bytes as usize);
        Ok(())
    }

    fn cuFuncGetParamCount(kernel: Handle, count: Out<usize>) {
        count.set(function(kernel)?.kernel.params().len())
    }

    fn cuFuncGetAttribute(to: Out<c_int>, attribute: c_uint, handle: Handle) {
        to.set(function(handle)?.attribute(driver()?, attribute)?)
    }

    fn cuFuncSetAttribute(handle: Handle, attribute: c_uint, value: c_int) {
        function(handle)?.set_attribute(current()?.device(), attribute, value)
    }

    fn cuFuncSetCacheConfig(handle: Handle, config: c_uint) {
        function(handle)?;
        if config > 3 { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuFuncSetSharedMemConfig(handle: Handle, config: c_uint) {
        function(handle)?;
        if config > 2 { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuFuncGetModule(to: Out<Handle>, handle: Handle) { to.set(function(handle)?.module) }

    fn cuFuncGetName(to: Out<*const c_char>, handle: Handle) {
        to.set(leak(named(handle)?.kernel.name()))
    }

    fn cuFuncIsLoaded(to: Out<c_uint>, handle: Handle) {
        function(handle)?;
        to.set(1)
    }

    fn cuFuncLoad(handle: Handle) { function(handle).map(drop) }
}
