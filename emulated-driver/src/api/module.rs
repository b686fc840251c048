//! Modules, libraries, the linker, functions, occupancy and launches.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::{Arc, Mutex};

use ptx_emulator::{Args, LaunchConfig, TensorElement, TensorMap, TensorSwizzle};

use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::graph::NodeKind;
use crate::image::{self, Log};
use crate::launch::{self, Function, Loading};
use crate::pointer::{Host, In, Out, Text};
use crate::state::{Handle, driver, lock};
use crate::stream::{self, submit};

/// `CUjit_option`: info log, its size, error log, its size.
const LOGS: [c_uint; 4] = [3, 4, 5, 6];

/// Loads an image, and writes what is wrong with it to the error log of the options.
fn load(
    to: Out<Handle>,
    image: Host,
    (count, options, values): (c_uint, Option<In<c_uint>>, Option<In<Host>>),
) -> Result {
    let current = current()?;
    if image.is_null() || to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let mut log = Log::default();
    let mut sizes = Vec::new();
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
                _ => {}
            }
        }
    }
    let loaded = load_image(&current, image, Loading::Eager);
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
    loading: Loading,
) -> std::result::Result<Handle, (Code, String)> {
    let (major, minor) = current.device().capability;
    let text = image::ptx(image, (10 * major + minor).cast_unsigned())?;
    launch::load(current, &text, loading)
}

fn load_file(to: Out<Handle>, path: Text) -> Result {
    let mut bytes = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
    // PTX text in a file does not end in a null byte.
    bytes.push(0);
    let address = Host::at_address(bytes.as_ptr().expose_provenance() as u64);
    load(to, address, (0, None, None))
}

fn function(handle: Handle) -> Result<Arc<Function>> {
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

/// Checks a launch, and copies its arguments.
///
/// # Errors
/// As the driver refuses a launch.
pub(super) fn prepare(
    current: &Current,
    function: &Function,
    config: &LaunchConfig,
    (each, extra): (In<Host>, In<Host>),
) -> Result<Args> {
    if function.context != current.handle {
        return Err(Code::INVALID_HANDLE);
    }
    function.check(current.device(), config)?;
    function.arguments(each, extra)
}

fn run(
    handle: Handle,
    config: LaunchConfig,
    on: Handle,
    (each, extra): (In<Host>, In<Host>),
) -> Result {
    let (current, _) = stream::stream(on)?;
    let function = current.driver.functions.get(handle)?;
    let args = prepare(&current, &function, &config, (each, extra))?;
    let work = move || launch::run(&current, &function, &config, &args);
    submit(on, NodeKind::Kernel, Arc::new(work))
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Launch {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) stream: Handle,
    pub(crate) attributes: In<LaunchAttribute>,
    pub(crate) count: c_uint,
}

/// `CUlaunchAttribute`: a number, and up to 64 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct LaunchAttribute {
    id: c_uint,
    padding: [u8; 4],
    value: [u32; 16],
}

impl Launch {
    /// The configuration.
    fn config(&self) -> Result<LaunchConfig> {
        let mut config = LaunchConfig::new(self.grid, self.block);
        config.dynamic_shared_bytes = self.shared;
        for index in 0..self.count as usize {
            let LaunchAttribute { id, value, .. } = self.attributes.at(index)?;
            match id {
                2 => config.cooperative = value[0] != 0,
                4 => config.cluster = Some([value[0], value[1], value[2]]),
                // The others are hints, or orders of launches, which run one after the other.
                _ => {}
            }
        }
        config.cluster = config.cluster.filter(|cluster| *cluster != [1, 1, 1]);
        Ok(config)
    }
}

fn occupancy(to: Out<c_int>, handle: Handle, threads: c_int, dynamic: usize) -> Result {
    let current = current()?;
    if threads <= 0 {
        return Err(Code::INVALID_VALUE);
    }
    to.set(function(handle)?.resident_blocks(current.device(), threads, dynamic))
}

fn potential_block(
    (grid, block): (Out<c_int>, Out<c_int>),
    handle: Handle,
    shared_of: Option<unsafe extern "C" fn(c_int) -> usize>,
    (dynamic, limit): (usize, c_int),
) -> Result {
    let current = current()?;
    let (function, device) = (function(handle)?, current.device());
    let most = if limit > 0 {
        limit.min(function.max_threads())
    } else {
        function.max_threads()
    };
    let mut best = (0, 0, 0);
    for threads in (1..=most / 32).rev().map(|warps| 32 * warps) {
        // SAFETY: the program passes a function of the block's size.
        let shared = shared_of.map_or(dynamic, |shared_of| unsafe { shared_of(threads) });
        let blocks = function.resident_blocks(device, threads, shared);
        if blocks * threads > best.0 {
            best = (blocks * threads, blocks, threads);
        }
    }
    grid.set(best.1 * device.multiprocessors)?;
    block.set(best.2)
}

/// What `cuTensorMapEncodeTiled` describes.
fn tensor_map(
    (kind, rank): (c_uint, c_uint),
    address: u64,
    (extents, strides, boxes): (In<u64>, In<u64>, In<u32>),
    swizzle: c_uint,
) -> Result<[u8; 128]> {
    let rank = rank as usize;
    if !(1..=5).contains(&rank) || !address.is_multiple_of(16) {
        return Err(Code::INVALID_VALUE);
    }
    let element_bytes = match kind {
        0 => 1,
        1 | 6 | 9 => 2,
        2 | 3 | 7 | 10..=12 => 4,
        4 | 5 | 8 => 8,
        _ => return Err(Code::NOT_SUPPORTED),
    };
    let element = match kind {
        0 => TensorElement::U8,
        1 => TensorElement::U16,
        2 => TensorElement::U32,
        3 => TensorElement::S32,
        4 => TensorElement::U64,
        5 => TensorElement::S64,
        6 => TensorElement::F16,
        7 => TensorElement::F32,
        8 => TensorElement::F64,
        9 => TensorElement::Bf16,
        _ => TensorElement::Bits,
    };
    let swizzle = match swizzle {
        0 => TensorSwizzle::None,
        1 => TensorSwizzle::Bytes32,
        2 => TensorSwizzle::Bytes64,
        3 => TensorSwizzle::Bytes128,
        _ => return Err(Code::NOT_SUPPORTED),
    };
    let box_extent = |index| match boxes.at(index)? {
        extent @ 1..=256 => Ok(extent as u16),
        _ => Err(Code::INVALID_VALUE),
    };
    let map = TensorMap {
        address,
        element_bytes,
        extents: (0..rank)
            .map(|index| extents.at(index))
            .collect::<Result<_>>()?,
        strides: (0..rank - 1)
            .map(|index| strides.at(index))
            .collect::<Result<_>>()?,
        box_extents: (0..rank).map(box_extent).collect::<Result<_>>()?,
        swizzle,
        element,
    };
    map.to_bytes().ok_or(Code::INVALID_VALUE)
}

api! {
    fn cuModuleLoadData(to: Out<Handle>, image: Host) { load(to, image, (0, None, None)) }

    fn cuModuleLoadDataEx(
        to: Out<Handle>, image: Host, count: c_uint, options: In<c_uint>, values: In<Host>,
    ) {
        load(to, image, (count, optional(options), optional(values)))
    }

    fn cuModuleLoadFatBinary(to: Out<Handle>, image: Host) { load(to, image, (0, None, None)) }

    fn cuModuleLoad(to: Out<Handle>, path: Text) { load_file(to, path) }

    fn cuModuleUnload(module: Handle) {
        let driver = driver()?;
        driver.modules.remove(module)?;
        driver.functions.retain(|function| function.module != module);
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
        load(to, image, (count, optional(options), optional(values)))
    }

    fn cuLibraryLoadFromFile(
        to: Out<Handle>, path: Text, _options: In<c_uint>, _values: In<Host>, _count: c_uint,
        _library_options: In<c_uint>, _library_values: In<Host>, _library_count: c_uint,
    ) {
        load_file(to, path)
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

    fn cuKernelGetName(to: Out<*const c_char>, kernel: Handle) {
        to.set(leak(function(kernel)?.kernel.name()))
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
        let function = function(kernel)?;
        let param = function.kernel.params().get(index).ok_or(Code::INVALID_VALUE)?;
        offset.set_optional(param.offset as usize);
        bytes.set_optional(param.bytes as usize);
        Ok(())
    }

    fn cuFuncGetParamInfo(
        kernel: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>,
    ) {
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
        to.set(leak(function(handle)?.kernel.name()))
    }

    fn cuFuncIsLoaded(to: Out<c_uint>, handle: Handle) {
        function(handle)?;
        to.set(1)
    }

    fn cuFuncLoad(handle: Handle) { function(handle).map(drop) }

    fn cuLaunchKernel(
        handle: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, on: Handle,
        each: In<Host>, extra: In<Host>,
    ) {
        let mut config = LaunchConfig::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        config.dynamic_shared_bytes = shared;
        run(handle, config, on, (each, extra))
    }

    fn cuLaunchCooperativeKernel(
        handle: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, on: Handle,
        each: In<Host>,
    ) {
        let mut config = LaunchConfig::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        config.dynamic_shared_bytes = shared;
        config.cooperative = true;
        run(handle, config, on, (each, In::NONE))
    }

    fn cuLaunchKernelEx(launch: In<Launch>, handle: Handle, each: In<Host>, extra: In<Host>) {
        let launch = launch.get()?;
        run(handle, launch.config()?, launch.stream, (each, extra))
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        to: Out<c_int>, handle: Handle, threads: c_int, dynamic: usize,
    ) {
        occupancy(to, handle, threads, dynamic)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: Out<c_int>, handle: Handle, threads: c_int, dynamic: usize, _flags: c_uint,
    ) {
        occupancy(to, handle, threads, dynamic)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>, block: Out<c_int>, handle: Handle,
        shared_of: Option<unsafe extern "C" fn(c_int) -> usize>, dynamic: usize, limit: c_int,
    ) {
        potential_block((grid, block), handle, shared_of, (dynamic, limit))
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>, block: Out<c_int>, handle: Handle,
        shared_of: Option<unsafe extern "C" fn(c_int) -> usize>, dynamic: usize, limit: c_int,
        _flags: c_uint,
    ) {
        potential_block((grid, block), handle, shared_of, (dynamic, limit))
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        to: Out<usize>, handle: Handle, blocks: c_int, threads: c_int,
    ) {
        let current = current()?;
        let (function, device) = (function(handle)?, current.device());
        if blocks <= 0 || threads <= 0 || function.resident_blocks(device, threads, 0) < blocks {
            return Err(Code::INVALID_VALUE);
        }
        let each = device.shared_of_multiprocessor() / blocks / 128 * 128;
        let own = device.reserved_shared() + function.kernel.static_shared_bytes() as i32;
        let most = device.shared_optin_bytes() - function.kernel.static_shared_bytes() as i32;
        to.set((each - own).clamp(0, most) as usize)
    }

    fn cuOccupancyMaxActiveClusters(to: Out<c_int>, handle: Handle, launch: In<Launch>) {
        let current = current()?;
        let (function, device) = (function(handle)?, current.device());
        let config = launch.get()?.config()?;
        let threads = config.block.iter().product::<c_uint>() as c_int;
        let shared = config.dynamic_shared_bytes as usize;
        let blocks = function.resident_blocks(device, threads, shared) * device.multiprocessors;
        let size = config.cluster.map_or(1, |extents| extents.iter().product::<c_uint>());
        to.set(blocks / (size as c_int).max(1))
    }

    fn cuOccupancyMaxPotentialClusterSize(to: Out<c_int>, handle: Handle, _launch: In<Launch>) {
        function(handle)?;
        let clusters = current()?.device().has_clusters();
        to.set(if clusters { ptx_emulator::MAX_CLUSTER_BLOCKS as c_int } else { 1 })
    }

    fn cuTensorMapEncodeTiled(
        to: Out<[u8; 128]>, kind: c_uint, rank: c_uint, address: u64, extents: In<u64>,
        strides: In<u64>, boxes: In<u32>, element_strides: In<u32>, interleave: c_uint,
        swizzle: c_uint, _promotion: c_uint, _fill: c_uint,
    ) {
        for index in 0..(rank as usize).min(5) {
            if element_strides.at(index)? != 1 {
                return Err(Code::NOT_SUPPORTED);
            }
        }
        if interleave != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        to.set(tensor_map((kind, rank), address, (extents, strides, boxes), swizzle)?)
    }

    fn cuLinkCreate_v2(
        _count: c_uint, _options: In<c_uint>, _values: In<Host>, to: Out<Handle>,
    ) {
        to.set(current()?.driver.links.insert(Mutex::default()))
    }

    fn cuLinkAddData_v2(
        link: Handle, kind: c_uint, data: Host, bytes: usize, _name: Text,
        _count: c_uint, _options: In<c_uint>, _values: In<Host>,
    ) {
        link_input(link, kind, data.vec(bytes)?)
    }

    fn cuLinkAddFile_v2(
        link: Handle, kind: c_uint, path: Text,
        _count: c_uint, _options: In<c_uint>, _values: In<Host>,
    ) {
        let bytes = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        link_input(link, kind, bytes)
    }

    fn cuLinkComplete(link: Handle, image: Out<Host>, bytes: Out<usize>) {
        let link = driver()?.links.get(link)?;
        let text = lock(&link);
        if text.is_empty() {
            return Err(Code::INVALID_VALUE);
        }
        // The text lives until the link is destroyed.
        image.set(Host::at_address(text.as_ptr().expose_provenance() as u64))?;
        bytes.set_optional(text.len());
        Ok(())
    }

    fn cuLinkDestroy(link: Handle) { driver()?.links.remove(link).map(drop) }
}

/// Adds a text, linked with those before it.
fn link_input(link: Handle, kind: c_uint, bytes: Vec<u8>) -> Result {
    const PTX: c_uint = 1;
    const FAT_BINARY: c_uint = 2;
    let capability = current()?.device().capability;
    let link = driver()?.links.get(link)?;
    let mut linked = lock(&link);
    let refuse = |(code, message): (Code, String)| {
        eprintln!("warpladder cuda: cuLinkAddData: {message}");
        code
    };
    let added = match kind {
        PTX => image::of_text(bytes),
        FAT_BINARY => {
            let place = Host::at_address(bytes.as_ptr().expose_provenance() as u64);
            image::ptx(place, 10 * capability.0 as u32 + capability.1 as u32)
        }
        _ => Err((
            Code::NOT_SUPPORTED,
            "takes PTX and fat binaries with PTX, since machine code cannot be run".to_string(),
        )),
    };
    let mut texts = vec![added.map_err(refuse)?];
    if !linked.is_empty() {
        let before = image::of_text(linked.clone()).map_err(refuse)?;
        texts.insert(0, before);
    }
    if let Some(name) = crate::link::shared_local(&texts) {
        return Err(refuse((
            Code::NOT_SUPPORTED,
            format!("two texts have `{name}` for themselves: give it two names, or .visible"),
        )));
    }
    let text = match &texts[..] {
        [one] => one.clone(),
        several => crate::link::link(several),
    };
    *linked = text.into_bytes();
    linked.push(0);
    Ok(())
}
