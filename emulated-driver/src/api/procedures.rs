//! `cuGetProcAddress`: how programs for CUDA 11.3 and newer find every function.

use std::ffi::{c_int, c_void};

use super::{
    Symbol, any_node, array, batch, copy, device, graph, ipc, kernel_node, launch, legacy, link,
    memory, module, occupancy, pool, stream, tensor_map, texture_reference, unsupported,
    user_object, virtual_memory,
};
use crate::code::{Code, Result};
use crate::pointer::{Out, Text};

/// Functions whose newer forms have a suffix, and the version of CUDA from which on a program gets
/// which one, as in `cudaTypedefs.h`; where none is said, it is that with `_v2`, of CUDA 4.0 and
/// older.
#[rustfmt::skip]
const VERSIONS: &[(&str, c_int, &str)] = &[
    ("cuCtxCreate", 12_050, "cuCtxCreate_v4"), ("cuCtxCreate", 11_040, "cuCtxCreate_v3"),
    ("cuCtxGetDevice", 13_000, "cuCtxGetDevice_v2"), ("cuCtxGetDevice", 0, "cuCtxGetDevice"),
    ("cuCtxSynchronize", 13_000, "cuCtxSynchronize_v2"),
    ("cuCtxSynchronize", 0, "cuCtxSynchronize"),
    ("cuDeviceGetUuid", 11_040, "cuDeviceGetUuid_v2"),
    ("cuEventElapsedTime", 12_080, "cuEventElapsedTime_v2"),
    ("cuEventElapsedTime", 0, "cuEventElapsedTime"),
    ("cuGetProcAddress", 12_000, "cuGetProcAddress_v2"),
    ("cuGetProcAddress", 0, "cuGetProcAddress"),
    ("cuGraphAddDependencies", 12_030, "cuGraphAddDependencies_v2"),
    ("cuGraphAddDependencies", 0, "cuGraphAddDependencies"),
    ("cuGraphAddKernelNode", 12_000, "cuGraphAddKernelNode_v2"),
    ("cuGraphAddKernelNode", 0, "cuGraphAddKernelNode"),
    ("cuGraphKernelNodeGetParams", 12_000, "cuGraphKernelNodeGetParams_v2"),
    ("cuGraphKernelNodeGetParams", 0, "cuGraphKernelNodeGetParams"),
    ("cuGraphKernelNodeSetParams", 12_000, "cuGraphKernelNodeSetParams_v2"),
    ("cuGraphKernelNodeSetParams", 0, "cuGraphKernelNodeSetParams"),
    ("cuGraphExecKernelNodeSetParams", 12_000, "cuGraphExecKernelNodeSetParams_v2"),
    ("cuGraphExecKernelNodeSetParams", 0, "cuGraphExecKernelNodeSetParams"),
    ("cuGraphAddNode", 12_030, "cuGraphAddNode_v2"), ("cuGraphAddNode", 0, "cuGraphAddNode"),
    ("cuGraphExecUpdate", 0, "cuGraphExecUpdate_v2"),
    ("cuGraphNodeGetDependencies", 12_030, "cuGraphNodeGetDependencies_v2"),
    ("cuGraphNodeGetDependencies", 0, "cuGraphNodeGetDependencies"),
    ("cuGraphNodeGetDependentNodes", 12_030, "cuGraphNodeGetDependentNodes_v2"),
    ("cuGraphNodeGetDependentNodes", 0, "cuGraphNodeGetDependentNodes"),
    ("cuGraphNodeSetParams", 0, "cuGraphNodeSetParams"),
    ("cuGraphRemoveDependencies", 12_030, "cuGraphRemoveDependencies_v2"),
    ("cuGraphRemoveDependencies", 0, "cuGraphRemoveDependencies"),
    ("cuGraphGetEdges", 12_030, "cuGraphGetEdges_v2"), ("cuGraphGetEdges", 0, "cuGraphGetEdges"),
    ("cuGraphInstantiate", 12_000, "cuGraphInstantiateWithFlags"),
    ("cuLaunchHostFunc", 0, "cuLaunchHostFunc"),
    ("cuMemAdvise", 12_020, "cuMemAdvise_v2"), ("cuMemAdvise", 0, "cuMemAdvise"),
    ("cuMemPrefetchAsync", 12_020, "cuMemPrefetchAsync_v2"),
    ("cuMemPrefetchAsync", 0, "cuMemPrefetchAsync"),
    ("cuMemcpy3DBatchAsync", 13_000, "cuMemcpy3DBatchAsync_v2"),
    ("cuMemcpy3DBatchAsync", 0, "cuMemcpy3DBatchAsync"),
    ("cuMemcpyBatchAsync", 13_000, "cuMemcpyBatchAsync_v2"),
    ("cuMemcpyBatchAsync", 0, "cuMemcpyBatchAsync"),
    ("cuStreamGetCaptureInfo", 12_030, "cuStreamGetCaptureInfo_v3"),
    ("cuStreamGetCaptureInfo", 11_030, "cuStreamGetCaptureInfo_v2"),
    ("cuStreamGetCaptureInfo", 0, "cuStreamGetCaptureInfo"),
    ("cuStreamGetCtx", 12_050, "cuStreamGetCtx_v2"), ("cuStreamGetCtx", 0, "cuStreamGetCtx"),
    ("cuStreamUpdateCaptureDependencies", 12_030, "cuStreamUpdateCaptureDependencies_v2"),
    ("cuStreamUpdateCaptureDependencies", 0, "cuStreamUpdateCaptureDependencies"),
    ("cuTexRefSetAddress2D", 0, "cuTexRefSetAddress2D_v3"),
];

/// An exported function of exactly this name.
fn exported(name: &str) -> Option<Symbol> {
    let tables = [
        any_node::TABLE,
        array::TABLE,
        batch::TABLE,
        virtual_memory::TABLE,
        copy::TABLE,
        device::TABLE,
        graph::TABLE,
        ipc::TABLE,
        kernel_node::TABLE,
        launch::TABLE,
        legacy::TABLE,
        link::TABLE,
        memory::TABLE,
        module::TABLE,
        occupancy::TABLE,
        pool::TABLE,
        stream::TABLE,
        tensor_map::TABLE,
        texture_reference::TABLE,
        unsupported::TABLE,
        user_object::TABLE,
        TABLE,
    ];
    let mut all = tables.into_iter().flatten();
    all.find(|(known, _)| *known == name)
        .map(|(_, symbol)| *symbol)
}

/// The function that a program for a version of CUDA gets under a name.
fn find(name: &str, version: c_int) -> Option<Symbol> {
    let mut versions = VERSIONS.iter();
    let by_version = versions.find(|(known, since, _)| *known == name && version >= *since);
    if let Some((_, _, form)) = by_version {
        return exported(form);
    }
    exported(&format!("{name}_v2")).or_else(|| exported(name))
}

/// Stores the function's address, and how the search went: 0 found, 1 not there.
pub(crate) fn look_up(
    name: Text,
    to: Out<*const c_void>,
    version: c_int,
    status: Out<c_int>,
) -> Result {
    let found = find(&name.get()?, version);
    status.set_optional(c_int::from(found.is_none()));
    match found {
        Some(Symbol(address)) => to.set(address.cast()),
        None => {
            to.set(std::ptr::null())?;
            Err(Code::NOT_FOUND)
        }
    }
}

api! {
    fn cuGetProcAddress(name: Text, to: Out<*const c_void>, version: c_int, _flags: u64) {
        look_up(name, to, version, Out::NONE)
    }

    fn cuGetProcAddress_v2 | cuGetProcAddress_v2_ptsz (
        name: Text, to: Out<*const c_void>, version: c_int, _flags: u64, status: Out<c_int>,
    ) {
        look_up(name, to, version, status)
    }
}
