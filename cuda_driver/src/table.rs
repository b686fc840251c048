//! Every driver function that cust 0.3.2 calls, and those that this crate wraps.
//!
//! Each line of the table makes a module named after the function, with
//! - `call`, for this crate: the driver's result as it is;
//! - with the feature `cust`, a function exported under the C name, which is what cust links to.
//!
//! Both jump through one pointer. It starts at a resolver that looks the function up and stores its
//! address, so that every later call is one load and one indirect jump. While the driver is missing
//! or lacks the function, the pointer stays at the resolver, which returns the error code.
//!
//! `standalone.rs` compiles this file once more, without std.

#![cfg_attr(
    not(feature = "cust"),
    allow(dead_code, reason = "some functions are there for cust alone")
)]

use core::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ushort, c_void};

use crate::code::Code;
use crate::handles::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule, CUstream,
};
use crate::launch::RawLaunchConfig;
use crate::tensor_map::RawTensorMap;

/// A C enumeration. A plain integer, since newer drivers know values that older bindings do not.
type Enum = c_uint;

/// A handle or a structure that this crate only passes on.
type Opaque = c_void;

/// `CUhostFn`: a function of the host that a stream calls.
type HostFunction = Option<unsafe extern "C" fn(data: *mut c_void)>;

/// `CUoccupancyB2DSize`: dynamic shared memory, in bytes, for a number of threads.
type SharedBytesOfBlock = Option<unsafe extern "C" fn(threads: c_int) -> usize>;

/// What a call that cannot reach the driver returns: the code, or the answer of the function's own
/// stand-in.
macro_rules! answer {
    ($code:ident, ($($argument:ident),*)) => {
        $code
    };
    ($code:ident, ($($argument:ident),*) $stand_in:path) => {{
        let _ = $code;
        // SAFETY: the caller vouches for the arguments.
        unsafe { $stand_in($($argument),*) }
    }};
}

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(else $stand_in:path)?;)*) => {
        /// The C names of all functions of the table.
        pub(crate) const NAMES: &[&CStr] = &[$($name::NAME),*];

        /// Calls every exported function with zeros, which is sound only while there is no driver.
        #[cfg(test)]
        pub(crate) const CALLS_WITH_ZEROS: &[(&CStr, unsafe fn() -> Code)] =
            &[$(($name::NAME, $name::call_with_zeros)),*];

        $(
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the C interface's names and arguments")]
            pub(crate) mod $name {
                use core::mem::transmute;
                use core::sync::atomic::{AtomicPtr, Ordering};

                #[allow(unused_imports, reason = "most functions need only some of the types")]
                use super::*;

                type Function = unsafe extern "C" fn($($type),*) -> Code;

                pub(super) const NAME: &CStr =
                    match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a C name holds no NUL"),
                    };

                static ADDRESS: AtomicPtr<c_void> = AtomicPtr::new(resolve as *mut c_void);

                unsafe extern "C" fn resolve($($argument: $type),*) -> Code {
                    match crate::library::symbol(NAME) {
                        Ok(address) => {
                            ADDRESS.store(address, Ordering::Release);
                            // SAFETY: ADDRESS holds the driver's function; the caller vouches for
                            // the arguments.
                            unsafe { call($($argument),*) }
                        }
                        Err(code) => answer!(code, ($($argument),*) $($stand_in)?),
                    }
                }

                /// Calls the driver.
                ///
                /// # Safety
                /// As the CUDA driver API says for this function.
                #[inline]
                pub(crate) unsafe fn call($($argument: $type),*) -> Code {
                    let address = ADDRESS.load(Ordering::Acquire);
                    // SAFETY: the address is either the resolver's or that of the driver's function
                    // of this name, and both have this type.
                    let function = unsafe { transmute::<*mut c_void, Function>(address) };
                    // SAFETY: the caller vouches for the arguments.
                    unsafe { function($($argument),*) }
                }

                #[cfg(any(feature = "cust", test))]
                // SAFETY: no other crate of a program that links cust defines this name: the
                // installation that cust_raw links against is empty.
                #[unsafe(export_name = stringify!($name))]
                unsafe extern "C" fn exported($($argument: $type),*) -> Code {
                    // SAFETY: the caller vouches for the arguments.
                    unsafe { call($($argument),*) }.known_to_cust()
                }

                #[cfg(test)]
                pub(super) unsafe fn call_with_zeros() -> Code {
                    // SAFETY: all arguments are numbers, pointers and optional functions, for which
                    // zero is a value; the caller has made sure that no driver reads them.
                    unsafe { exported($(core::mem::zeroed::<$type>()),*) }
                }
            }
        )*
    };
}

/// The answer to `cuGetErrorString` without a driver: cust's `Display` for its error type fails
/// without a text, and a failing `Display` makes `to_string` panic.
unsafe extern "C" fn error_text_without_driver(_error: Enum, text: *mut *const c_char) -> Code {
    if text.is_null() {
        return Code::INVALID_VALUE;
    }
    // SAFETY: the caller of cuGetErrorString passes a pointer that it may write through.
    unsafe { *text = c"the CUDA driver (libcuda.so.1) is not available".as_ptr() };
    Code::SUCCESS
}

functions! {
    fn cuArray3DCreate_v2(p_handle: *mut *mut Opaque, p_allocate_array: *const Opaque);
    fn cuArray3DGetDescriptor_v2(
        p_array_descriptor: *mut Opaque, h_array: *mut Opaque
    );
    fn cuArrayDestroy(h_array: *mut Opaque);
    fn cuCtxCreate_v2(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice);
    fn cuCtxDestroy_v2(ctx: CUcontext);
    fn cuCtxEnablePeerAccess(peer_context: CUcontext, flags: c_uint);
    fn cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint);
    fn cuCtxGetCacheConfig(pconfig: *mut Enum);
    fn cuCtxGetCurrent(pctx: *mut CUcontext);
    fn cuCtxGetDevice(device: *mut CUdevice);
    fn cuCtxGetFlags(flags: *mut c_uint);
    fn cuCtxGetLimit(pvalue: *mut usize, limit: Enum);
    fn cuCtxGetSharedMemConfig(p_config: *mut Enum);
    fn cuCtxGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int);
    fn cuCtxPopCurrent_v2(pctx: *mut CUcontext);
    fn cuCtxPushCurrent_v2(ctx: CUcontext);
    fn cuCtxSetCacheConfig(config: Enum);
    fn cuCtxSetCurrent(ctx: CUcontext);
    fn cuCtxSetLimit(limit: Enum, value: usize);
    fn cuCtxSetSharedMemConfig(config: Enum);
    fn cuCtxSynchronize();
    fn cuDestroyExternalMemory(ext_mem: *mut Opaque);
    fn cuDeviceCanAccessPeer(can_access: *mut c_int, dev: CUdevice, peer: CUdevice);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetAttribute(pi: *mut c_int, attrib: Enum, dev: CUdevice);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice);
    fn cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: c_int, dev: CUdevice);
    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], dev: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice);
    fn cuDevicePrimaryCtxReset_v2(dev: CUdevice);
    fn cuDevicePrimaryCtxRetain(pctx: *mut CUcontext, dev: CUdevice);
    fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice);
    fn cuDriverGetVersion(driver_version: *mut c_int);
    fn cuEventCreate(ph_event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy_v2(h_event: CUevent);
    fn cuEventElapsedTime(p_milliseconds: *mut f32, h_start: CUevent, h_end: CUevent);
    fn cuEventQuery(h_event: CUevent);
    fn cuEventRecord(h_event: CUevent, h_stream: CUstream);
    fn cuEventSynchronize(h_event: CUevent);
    fn cuExternalMemoryGetMappedBuffer(
        dev_ptr: *mut CUdeviceptr, ext_mem: *mut Opaque,
        buffer_desc: *const Opaque
    );
    fn cuFuncGetAttribute(pi: *mut c_int, attrib: Enum, hfunc: CUfunction);
    fn cuFuncSetAttribute(hfunc: CUfunction, attrib: Enum, value: c_int);
    fn cuFuncSetCacheConfig(hfunc: CUfunction, config: Enum);
    fn cuFuncSetSharedMemConfig(hfunc: CUfunction, config: Enum);
    fn cuGetErrorName(error: Enum, p_str: *mut *const c_char);
    fn cuGetErrorString(error: Enum, p_str: *mut *const c_char) else error_text_without_driver;
    fn cuGraphAddKernelNode(
        ph_graph_node: *mut *mut Opaque, h_graph: *mut Opaque, dependencies: *const *mut Opaque,
        num_dependencies: usize, node_params: *const Opaque
    );
    fn cuGraphCreate(ph_graph: *mut *mut Opaque, flags: c_uint);
    fn cuGraphDebugDotPrint(h_graph: *mut Opaque, path: *const c_char, flags: c_uint);
    fn cuGraphDestroy(h_graph: CUgraph);
    fn cuGraphExecDestroy(h_graph_exec: CUgraphExec);
    fn cuGraphGetEdges(
        h_graph: *mut Opaque, from: *mut *mut Opaque, to: *mut *mut Opaque, num_edges: *mut usize
    );
    fn cuGraphGetNodes(h_graph: *mut Opaque, nodes: *mut *mut Opaque, num_nodes: *mut usize);
    fn cuGraphInstantiateWithFlags(
        ph_graph_exec: *mut CUgraphExec, h_graph: CUgraph, flags: u64
    );
    fn cuGraphKernelNodeGetParams(h_node: *mut Opaque, node_params: *mut Opaque);
    fn cuGraphLaunch(h_graph_exec: CUgraphExec, h_stream: CUstream);
    fn cuGraphNodeGetType(h_node: *mut Opaque, kind: *mut Enum);
    fn cuGraphUpload(h_graph_exec: CUgraphExec, h_stream: CUstream);
    fn cuImportExternalMemory(
        ext_mem_out: *mut *mut Opaque, mem_handle_desc: *const Opaque
    );
    fn cuInit(flags: c_uint);
    fn cuLaunchHostFunc(h_stream: CUstream, function: HostFunction, user_data: *mut c_void);
    fn cuLaunchKernel(
        f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint,
        block_dim_x: c_uint, block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint,
        h_stream: CUstream, kernel_params: *mut *mut c_void, extra: *mut *mut c_void
    );
    fn cuLaunchKernelEx(
        config: *const RawLaunchConfig, f: CUfunction, kernel_params: *mut *mut c_void,
        extra: *mut *mut c_void
    );
    fn cuLinkAddData_v2(
        state: *mut Opaque, kind: Enum, data: *mut c_void, size: usize, name: *const c_char,
        num_options: c_uint, options: *mut Enum, option_values: *mut *mut c_void
    );
    fn cuLinkComplete(state: *mut Opaque, cubin_out: *mut *mut c_void, size_out: *mut usize);
    fn cuLinkCreate_v2(
        num_options: c_uint, options: *mut Enum, option_values: *mut *mut c_void,
        state_out: *mut *mut Opaque
    );
    fn cuLinkDestroy(state: *mut Opaque);
    fn cuMemAdvise(dev_ptr: CUdeviceptr, count: usize, advice: Enum, device: CUdevice);
    fn cuMemAllocAsync(dptr: *mut CUdeviceptr, bytesize: usize, h_stream: CUstream);
    fn cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize);
    fn cuMemAllocManaged(dptr: *mut CUdeviceptr, bytesize: usize, flags: c_uint);
    fn cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize);
    fn cuMemFreeAsync(dptr: CUdeviceptr, h_stream: CUstream);
    fn cuMemFreeHost(p: *mut c_void);
    fn cuMemFree_v2(dptr: CUdeviceptr);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemPrefetchAsync(
        dev_ptr: CUdeviceptr, count: usize, dst_device: CUdevice, h_stream: CUstream
    );
    fn cuMemcpy2DAsync_v2(p_copy: *const Opaque, h_stream: CUstream);
    fn cuMemcpy2D_v2(p_copy: *const Opaque);
    fn cuMemcpyAtoH_v2(
        dst_host: *mut c_void, src_array: *mut Opaque, src_offset: usize, byte_count: usize
    );
    fn cuMemcpyDtoDAsync_v2(
        dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream
    );
    fn cuMemcpyDtoD_v2(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize);
    fn cuMemcpyDtoHAsync_v2(
        dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream
    );
    fn cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize);
    fn cuMemcpyHtoA_v2(
        dst_array: *mut Opaque, dst_offset: usize, src_host: *const c_void, byte_count: usize
    );
    fn cuMemcpyHtoDAsync_v2(
        dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, h_stream: CUstream
    );
    fn cuMemcpyHtoD_v2(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize);
    fn cuMemsetD16Async(dst_device: CUdeviceptr, us: c_ushort, n: usize, h_stream: CUstream);
    fn cuMemsetD16_v2(dst_device: CUdeviceptr, us: c_ushort, n: usize);
    fn cuMemsetD32Async(dst_device: CUdeviceptr, ui: c_uint, n: usize, h_stream: CUstream);
    fn cuMemsetD32_v2(dst_device: CUdeviceptr, ui: c_uint, n: usize);
    fn cuMemsetD8Async(dst_device: CUdeviceptr, uc: c_uchar, n: usize, h_stream: CUstream);
    fn cuMemsetD8_v2(dst_device: CUdeviceptr, uc: c_uchar, n: usize);
    fn cuModuleGetFunction(hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char);
    fn cuModuleGetGlobal_v2(
        dptr: *mut CUdeviceptr, bytes: *mut usize, hmod: CUmodule, name: *const c_char
    );
    fn cuModuleLoad(module: *mut CUmodule, fname: *const c_char);
    fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    fn cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, num_options: c_uint, options: *mut Enum,
        option_values: *mut *mut c_void
    );
    fn cuModuleUnload(hmod: CUmodule);
    fn cuOccupancyAvailableDynamicSMemPerBlock(
        dynamic_smem_size: *mut usize, func: CUfunction, num_blocks: c_int, block_size: c_int
    );
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        num_blocks: *mut c_int, func: CUfunction, block_size: c_int, dynamic_smem_size: usize
    );
    fn cuOccupancyMaxActiveClusters(
        num_clusters: *mut c_int, func: CUfunction, config: *const RawLaunchConfig
    );
    fn cuOccupancyMaxPotentialBlockSize(
        min_grid_size: *mut c_int, block_size: *mut c_int, func: CUfunction,
        block_size_to_dynamic_smem_size: SharedBytesOfBlock, dynamic_smem_size: usize,
        block_size_limit: c_int
    );
    fn cuStreamBeginCapture_v2(h_stream: CUstream, mode: Enum);
    fn cuStreamCreateWithPriority(ph_stream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamDestroy_v2(h_stream: CUstream);
    fn cuStreamEndCapture(h_stream: CUstream, ph_graph: *mut CUgraph);
    fn cuStreamGetFlags(h_stream: CUstream, flags: *mut c_uint);
    fn cuStreamGetPriority(h_stream: CUstream, priority: *mut c_int);
    fn cuStreamSynchronize(h_stream: CUstream);
    fn cuStreamWaitEvent(h_stream: CUstream, h_event: CUevent, flags: c_uint);
    fn cuSurfObjectCreate(p_surf_object: *mut u64, p_res_desc: *const Opaque);
    fn cuSurfObjectDestroy(surf_object: u64);
    fn cuSurfObjectGetResourceDesc(p_res_desc: *mut Opaque, surf_object: u64);
    fn cuTensorMapEncodeTiled(
        tensor_map: *mut RawTensorMap, data_type: Enum, rank: c_uint, global_address: *mut c_void,
        global_dim: *const u64, global_strides: *const u64, box_dim: *const u32,
        element_strides: *const u32, interleave: Enum, swizzle: Enum, l2_promotion: Enum,
        out_of_bounds_fill: Enum
    );
    fn cuTexObjectCreate(
        p_tex_object: *mut u64, p_res_desc: *const Opaque,
        p_tex_desc: *const Opaque, p_res_view_desc: *const Opaque
    );
    fn cuTexObjectDestroy(tex_object: u64);
    fn cuTexObjectGetResourceDesc(p_res_desc: *mut Opaque, tex_object: u64);
    fn cuTexObjectGetResourceViewDesc(
        p_res_view_desc: *mut Opaque, tex_object: u64
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_every_function_returns_34() {
        if crate::library::open().is_ok() {
            println!("skipped: this machine has a CUDA driver");
            return;
        }
        for (name, call) in CALLS_WITH_ZEROS {
            // SAFETY: there is no driver to read the zeros.
            let code = unsafe { call() };
            // The one function with an answer of its own refuses the null pointer.
            let expected = if *name == c"cuGetErrorString" {
                Code::INVALID_VALUE
            } else {
                Code::STUB_LIBRARY
            };
            assert_eq!(code, expected, "{name:?}");
        }
    }

    #[test]
    fn without_a_driver_an_error_still_has_a_text() {
        if crate::library::open().is_ok() {
            println!("skipped: this machine has a CUDA driver");
            return;
        }
        let error = Code::STUB_LIBRARY.check("cuInit").unwrap_err();
        let text = "cuInit failed: error 34, the CUDA driver (libcuda.so.1) is not available";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn no_name_is_listed_twice() {
        assert!(
            NAMES.is_sorted_by(|a, b| a < b),
            "the table is sorted by name"
        );
    }
}
