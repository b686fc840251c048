//! Kernels in graphs: the parameters and the attributes of their nodes.

use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::sync::Arc;

use ptx_emulator::{Args, LaunchConfig};

use super::graph::replace;
use super::launch::{Attributes, apply, check};
use super::node::node;
use crate::arguments::{Values, args_of};
use crate::code::{Code, Result};
use crate::context::{Current, current};
use crate::graph::{NodeKind, Operation};
use crate::grids;
use crate::launch::Function;
use crate::pointer::{Host, In, Out};
use crate::state::{Handle, lock};

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

/// What the second version adds: a kernel of a library in the place of the function, and a context.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelParams2 {
    first: KernelParams,
    kernel: Handle,
    context: Handle,
}

/// The attributes of kernel nodes among those of launches (`CUkernelNodeAttrID`).
const OF_NODES: [c_uint; 12] = [1, 2, 4, 5, 8, 9, 10, 11, 13, 14, 17, 18];

/// What a node launches, with its own copy of the arguments.
struct KernelCopy {
    current: Current,
    handle: Handle,
    function: Arc<Function>,
    config: LaunchConfig,
    values: Values,
    /// The addresses of the values, for the getter.
    pointers: Vec<u64>,
    attributes: Attributes,
}

/// A kernel's launch by a graph, whose configuration has been checked.
pub(super) fn operation(
    current: Current,
    (handle, function): (Handle, Arc<Function>),
    config: LaunchConfig,
    values: Values,
    attributes: Attributes,
) -> Operation {
    let pointers = values
        .iter()
        .map(|one| one.as_ptr().expose_provenance() as u64);
    let copy = Arc::new(KernelCopy {
        pointers: pointers.collect(),
        current,
        handle,
        function,
        config,
        values,
        attributes,
    });
    let own = copy.clone();
    let args: Args = args_of(&copy.values);
    let work = move || grids::run(&own.current, &own.function, &own.config, &args);
    Operation {
        params: Some(copy),
        ..Operation::new(NodeKind::Kernel, Arc::new(work))
    }
}

/// A kernel by the parameters of the second version.
pub(super) fn kernel_2(params: In<KernelParams2>) -> Result<Operation> {
    let KernelParams2 { first, kernel, .. } = params.get()?;
    kernel_of(KernelParams {
        function: if first.function == 0 {
            kernel
        } else {
            first.function
        },
        ..first
    })
}

pub(crate) fn kernel(params: In<KernelParams>) -> Result<Operation> {
    kernel_of(params.get()?)
}

fn kernel_of(params: KernelParams) -> Result<Operation> {
    let current = current()?;
    let function = current.driver.functions.get(params.function)?;
    let mut config = LaunchConfig::new(params.grid, params.block);
    config.dynamic_shared_bytes = params.shared;
    check(&current, &function, &config)?;
    let values = function.values(params.each, params.extra)?;
    let function = (params.function, function);
    Ok(operation(
        current,
        function,
        config,
        values,
        BTreeMap::new(),
    ))
}

fn copy_of(operation: &Operation) -> Option<Arc<KernelCopy>> {
    operation.params.clone()?.downcast::<KernelCopy>().ok()
}

/// The same launch with these attributes.
///
/// # Errors
/// As the driver refuses a launch.
fn with_attributes(copy: &KernelCopy, attributes: Attributes) -> Result<Operation> {
    let mut config = copy.config.clone();
    (config.cooperative, config.cluster) = (false, None);
    apply(&attributes, &mut config);
    check(&copy.current, &copy.function, &config)?;
    Ok(operation(
        copy.current.clone(),
        (copy.handle, copy.function.clone()),
        config,
        copy.values.clone(),
        attributes,
    ))
}

/// An operation in the place of another one: the attributes of a kernel's node outlast its
/// parameters.
///
/// # Errors
/// As the driver refuses a launch.
pub(super) fn in_place_of(old: &Operation, new: Operation) -> Result<Operation> {
    match (copy_of(old), copy_of(&new)) {
        (Some(old), Some(new)) if !old.attributes.is_empty() => {
            with_attributes(&new, old.attributes.clone())
        }
        _ => Ok(new),
    }
}

/// The name of the kernel that an operation launches, where it is one.
pub(super) fn name(operation: &Operation) -> Option<String> {
    Some(copy_of(operation)?.function.kernel.name().to_string())
}

fn of_node(handle: Handle) -> Result<Arc<KernelCopy>> {
    let node = node(handle)?;
    let operation = lock(&node.operation);
    copy_of(&operation).ok_or(Code::INVALID_VALUE)
}

fn kernel_params(copy: &KernelCopy) -> KernelParams {
    // The pointers are to the node's own copies, and live until its parameters are set or it is
    // destroyed.
    let pointers = copy.pointers.as_ptr().expose_provenance() as u64;
    let each = In::at_address(if copy.values.is_empty() { 0 } else { pointers });
    KernelParams {
        function: copy.handle,
        grid: copy.config.grid,
        block: copy.config.block,
        shared: copy.config.dynamic_shared_bytes,
        each,
        extra: In::NONE,
    }
}

api! {
    fn cuGraphKernelNodeGetParams(handle: Handle, to: Out<KernelParams>) {
        to.set(kernel_params(&*of_node(handle)?))
    }

    fn cuGraphKernelNodeGetParams_v2(handle: Handle, to: Out<KernelParams2>) {
        let copy = of_node(handle)?;
        // A function and a kernel have one handle.
        to.set(KernelParams2 {
            first: kernel_params(&copy),
            kernel: copy.handle,
            context: copy.current.handle,
        })
    }

    fn cuGraphKernelNodeSetParams(handle: Handle, params: In<KernelParams>) {
        replace(handle, kernel(params)?)
    }

    fn cuGraphKernelNodeSetParams_v2(handle: Handle, params: In<KernelParams2>) {
        replace(handle, kernel_2(params)?)
    }

    fn cuGraphKernelNodeGetAttribute(handle: Handle, id: c_uint, to: Out<[u32; 16]>) {
        let copy = of_node(handle)?;
        if !OF_NODES.contains(&id) {
            return Err(Code::INVALID_VALUE);
        }
        to.set(copy.attributes.get(&id).copied().unwrap_or_default())
    }

    fn cuGraphKernelNodeSetAttribute(handle: Handle, id: c_uint, from: In<[u32; 16]>) {
        let copy = of_node(handle)?;
        if !OF_NODES.contains(&id) {
            return Err(Code::INVALID_VALUE);
        }
        let mut attributes = copy.attributes.clone();
        attributes.insert(id, from.get()?);
        let changed = with_attributes(&copy, attributes)?;
        lock(&node(handle)?.operation).clone_from(&changed);
        Ok(())
    }

    fn cuGraphKernelNodeCopyAttributes(to: Handle, from: Handle) {
        let (copy, source) = (of_node(to)?, of_node(from)?);
        let changed = with_attributes(&copy, source.attributes.clone())?;
        lock(&node(to)?.operation).clone_from(&changed);
        Ok(())
    }
}
