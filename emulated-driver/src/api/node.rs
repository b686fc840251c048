//! What the nodes of a graph do, made from the parameters of the program.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use super::copy::{Copy3d, rows_of};
use super::launch::prepare;
use super::stream::Callback;
use crate::code::{Code, Result};
use crate::context::current;
use crate::graph::{Node, NodeKind, Operation};
use crate::launch;
use crate::pointer::{Host, In, Out};
use crate::state::{Handle, driver, lock};

/// `CUDA_KERNEL_NODE_PARAMS` without what its second version adds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelParams {
    pub(crate) function: Handle,
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) each: In<Host>,
    pub(crate) extra: In<Host>,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SetParams {
    address: u64,
    pitch: usize,
    value: c_uint,
    element_bytes: c_uint,
    width: usize,
    height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostParams {
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: Host,
}

/// A kernel's parameters with their own copy of the arguments, for the getter.
struct KernelCopy {
    params: KernelParams,
    values: Vec<Box<[u8]>>,
    pointers: Vec<u64>,
}

// SAFETY: the pointers of the program in the parameters are not used; the others are to the values
// here, which do not change.
unsafe impl Send for KernelCopy {}
// SAFETY: as for `Send`.
unsafe impl Sync for KernelCopy {}

pub(crate) fn kernel(params: In<KernelParams>) -> Result<Operation> {
    let mut params = params.get()?;
    let current = current()?;
    let function = current.driver.functions.get(params.function)?;
    let mut config = ptx_emulator::LaunchConfig::new(params.grid, params.block);
    config.dynamic_shared_bytes = params.shared;
    let args = prepare(&current, &function, &config, (params.each, params.extra))?;
    let mut values = Vec::new();
    if !params.each.is_null() {
        for (index, param) in function.kernel.params().iter().enumerate() {
            let bytes = params.each.at(index)?.vec(param.bytes as usize)?;
            values.push(bytes.into_boxed_slice());
        }
    }
    params.extra = In::NONE;
    let pointers = values
        .iter()
        .map(|one| one.as_ptr().expose_provenance() as u64);
    let copy = KernelCopy {
        params,
        pointers: pointers.collect(),
        values,
    };
    let work = move || launch::run(&current, &function, &config, &args);
    Ok(Operation {
        params: Some(Arc::new(copy)),
        ..Operation::new(NodeKind::Kernel, Arc::new(work))
    })
}

pub(crate) fn copy(params: In<Copy3d>) -> Result<Operation> {
    let params = params.get()?;
    let work = rows_of(current()?.driver, params)?;
    Ok(Operation {
        params: Some(Arc::new(Plain(params))),
        ..Operation::new(NodeKind::Copy, work)
    })
}

/// Parameters that are copied as they are.
pub(super) struct Plain<T>(pub(super) T);

// SAFETY: the pointers of the program in them are numbers here, which no one follows.
unsafe impl<T> Send for Plain<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Plain<T> {}

pub(super) fn set(params: In<SetParams>) -> Result<Operation> {
    let params = params.get()?;
    let driver = current()?.driver;
    let bytes = params.element_bytes as usize;
    if !matches!(bytes, 1 | 2 | 4) {
        return Err(Code::INVALID_VALUE);
    }
    let value = params.value.to_le_bytes()[..bytes].to_vec();
    let rows = (params.height.max(1), params.pitch);
    let work = move || driver.set(params.address, &value, params.width, rows);
    Ok(Operation {
        params: Some(Arc::new(Plain(params))),
        ..Operation::new(NodeKind::Set, Arc::new(work))
    })
}

pub(super) fn host(params: In<HostParams>) -> Result<Operation> {
    let params = params.get()?;
    let function = params.function.ok_or(Code::INVALID_VALUE)?;
    let callback = Callback::new(function, params.argument);
    let work = move || {
        callback.call();
        Ok(())
    };
    Ok(Operation {
        params: Some(Arc::new(Plain(params))),
        ..Operation::new(NodeKind::Host, Arc::new(work))
    })
}

pub(super) fn child(graph: Handle) -> Result<Operation> {
    let driver = current()?.driver;
    let instance = driver.graphs.get(graph)?.nodes.instantiate(driver, 0)?;
    let work = Arc::new(move || instance.run(driver));
    Ok(Operation {
        params: Some(Arc::new(Plain(graph))),
        ..Operation::new(NodeKind::Graph, work)
    })
}

pub(super) fn event(handle: Handle, kind: NodeKind) -> Result<Operation> {
    let event = current()?.driver.events.get(handle)?;
    // Whatever was recorded before has run.
    let work = move || {
        if kind == NodeKind::RecordEvent {
            event.record();
        }
        Ok(())
    };
    Ok(Operation {
        params: Some(Arc::new(Plain(handle))),
        ..Operation::new(kind, Arc::new(work))
    })
}

pub(super) fn node(handle: Handle) -> Result<Arc<Node>> {
    driver()?.nodes.get(handle)
}

/// The parameters that a node was made from.
pub(super) fn params<T: Copy + 'static>(handle: Handle, to: Out<T>) -> Result {
    let node = node(handle)?;
    let operation = lock(&node.operation);
    let params = operation
        .params
        .as_ref()
        .and_then(|params| params.downcast_ref::<Plain<T>>());
    to.set(params.ok_or(Code::INVALID_VALUE)?.0)
}

/// The name of the kernel that an operation launches, where it is one.
pub(super) fn kernel_of(operation: &Operation) -> Result<Option<String>> {
    let params = operation.params.as_ref();
    let copy = params.and_then(|params| params.downcast_ref::<KernelCopy>());
    let Some(copy) = copy else { return Ok(None) };
    let function = driver()?.functions.get(copy.params.function)?;
    Ok(Some(function.kernel.name().to_string()))
}

pub(super) fn kernel_params(handle: Handle, to: Out<KernelParams>) -> Result {
    let node = node(handle)?;
    let operation = lock(&node.operation);
    let copy = operation
        .params
        .as_ref()
        .and_then(|params| params.downcast_ref::<KernelCopy>());
    let copy = copy.ok_or(Code::INVALID_VALUE)?;
    // The pointers are to the node's own copies, and live until its parameters are set or it is
    // destroyed.
    let pointers = copy.pointers.as_ptr().expose_provenance() as u64;
    let each = In::at_address(if copy.values.is_empty() { 0 } else { pointers });
    to.set(KernelParams {
        each,
        ..copy.params
    })
}
