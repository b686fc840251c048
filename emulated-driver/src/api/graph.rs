//! Graphs that were captured from streams.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::code::{Code, Result};
use crate::context::current;
use crate::pointer::Out;
use crate::state::{Handle, driver};
use crate::stream::{Captured, Graph, submit};

/// Flags that a graph can be instantiated with: free on launch, upload, and priorities of nodes.
/// That for launches from a device is not among them.
const FLAGS: u64 = 1 | 2 | 8;

fn instantiate(to: Out<Handle>, graph: Handle, flags: u64) -> Result {
    let driver = current()?.driver;
    if to.is_null() || flags & !FLAGS != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let captured = driver.graphs.get(graph)?.captured.clone();
    to.set(driver.graphs.insert(Graph { captured }))
}

/// What cuGraphInstantiateWithParams is called with.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Params {
    flags: u64,
    upload_stream: Handle,
    error_node: Handle,
    result: c_uint,
}

api! {
    fn cuGraphCreate(to: Out<Handle>, _flags: c_uint) {
        let captured = Captured::default();
        to.set(driver()?.graphs.insert(Graph { captured }))
    }

    fn cuGraphDestroy(graph: Handle) { driver()?.graphs.remove(graph).map(drop) }

    fn cuGraphInstantiateWithFlags(to: Out<Handle>, graph: Handle, flags: u64) {
        instantiate(to, graph, flags)
    }

    fn cuGraphInstantiate_v2(
        to: Out<Handle>, graph: Handle, _node: Out<Handle>, _log: Out<u8>, _bytes: usize,
    ) {
        instantiate(to, graph, 0)
    }

    fn cuGraphInstantiateWithParams(
        to: Out<Handle>, graph: Handle, params: crate::pointer::In<Params>,
    ) {
        instantiate(to, graph, params.get()?.flags)
    }

    fn cuGraphExecDestroy(graph: Handle) { driver()?.graphs.remove(graph).map(drop) }

    fn cuGraphUpload(graph: Handle, _stream: Handle) {
        current()?.driver.graphs.get(graph).map(drop)
    }

    fn cuGraphLaunch(graph: Handle, stream: Handle) {
        let graph = current()?.driver.graphs.get(graph)?;
        submit(stream, Arc::new(move || graph.captured.run()))
    }

    fn cuDeviceGraphMemTrim(device: c_int) { driver()?.device(device).map(drop) }
}
