//! What the nodes of a graph do, made from the parameters of the program.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use super::copy::{Copy3d, rows_of};
use super::stream::Callback;
use crate::code::{Code, Result};
use crate::context::current;
use crate::graph::{Node, NodeKind, Operation};
use crate::pointer::{Host, In, Out};
use crate::state::{Handle, driver, lock};

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SetParams {
    pub(super) address: u64,
    pub(super) pitch: usize,
    pub(super) value: c_uint,
    pub(super) element_bytes: c_uint,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostParams {
    pub(super) function: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(super) argument: Host,
}

pub(crate) fn copy(params: In<Copy3d>) -> Result<Operation> {
    copy_of(params.get()?)
}

pub(super) fn copy_of(params: Copy3d) -> Result<Operation> {
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
    set_of(params.get()?)
}

pub(super) fn set_of(params: SetParams) -> Result<Operation> {
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
    host_of(params.get()?)
}

pub(super) fn host_of(params: HostParams) -> Result<Operation> {
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

/// A copy of a graph as a node (`CUgraphChildGraphNodeOwnership`), or the graph itself where it is
/// moved.
pub(super) fn child(graph: Handle, ownership: c_uint) -> Result<Operation> {
    let driver = current()?.driver;
    match ownership {
        0 => driver.clone_graph(graph).map(Operation::child),
        1 => driver.graphs.get(graph).map(|_| Operation::child(graph)),
        _ => Err(Code::INVALID_VALUE),
    }
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
