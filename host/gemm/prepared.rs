//! A product that is planned and loaded, to be started with any operands.

use super::GemmElement;
use crate::engine::{Arg, Buffer, DevicePtr, Dim3, Engine, EngineError, KernelId, Launch};
use crate::plan::{Plan, PlannedLaunch};
use crate::problem::Param;
use crate::ptx;

/// Most bytes of a parameter that is passed by value, and most arguments of a kernel.
const MOST_BYTES: usize = 128;
const MOST_ARGS: usize = 16;

/// A plan whose kernels are loaded.
pub struct Prepared {
    launches: Vec<(KernelId, PlannedLaunch)>,
    workspace_bytes: usize,
    zeroed_bytes: usize,
}

/// Where the matrices of a product lie.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// A and B, each with the number of elements from there on.
    pub inputs: [(DevicePtr, u64); 2],
    /// C.
    pub output: DevicePtr,
    /// The workspace: [`Prepared::workspace_bytes`], of which the first [`Prepared::zeroed_bytes`] hold zeros.
    pub workspace: DevicePtr,
}

impl Prepared {
    /// Loads the kernels of a plan.
    ///
    /// # Errors
    /// Those of [`Engine::load`].
    pub fn new(engine: &dyn Engine, plan: Plan) -> Result<Self, EngineError> {
        let [workspace_bytes, zeroed_bytes] =
            [plan.workspace_bytes, plan.zeroed_bytes].map(|bytes| bytes as usize);
        // Nothing to compute is nothing to launch: a grid of no blocks is refused.
        let launches = plan
            .launches
            .into_iter()
            .filter(|launch| !launch.grid.contains(&0));
        let load = |launch: PlannedLaunch| {
            let module = ptx::module(launch.compute_capability);
            let kernel = engine.load(&module.only(launch.entry), launch.entry)?;
            Ok((kernel, launch))
        };
        Ok(Prepared {
            launches: launches.map(load).collect::<Result<_, EngineError>>()?,
            workspace_bytes,
            zeroed_bytes,
        })
    }

    /// Bytes to allocate for a workspace.
    pub fn workspace_bytes(&self) -> usize {
        self.workspace_bytes
    }

    /// Bytes of it, from the first on, that hold zeros before the launches and again after them.
    pub fn zeroed_bytes(&self) -> usize {
        self.zeroed_bytes
    }

    /// A workspace of its own.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`] where the device has too little.
    pub fn workspace<'e>(&self, engine: &'e dyn Engine) -> Result<Buffer<'e>, EngineError> {
        let workspace = Buffer::new(engine, self.workspace_bytes)?;
        workspace.upload(&vec![0u8; self.zeroed_bytes])?;
        Ok(workspace)
    }

    /// Starts the launches, with these factors α and β. Nothing is allocated.
    ///
    /// # Errors
    /// Those of [`Engine::enqueue`].
    pub fn enqueue<T: GemmElement>(
        &self,
        engine: &dyn Engine,
        operands: &Operands,
        factors: [T; 2],
    ) -> Result<(), EngineError> {
        self.launches
            .iter()
            .try_for_each(|(kernel, launch)| enqueue(engine, *kernel, launch, operands, factors))
    }
}

/// Starts one launch of a plan, from the stack alone.
fn enqueue<T: GemmElement>(
    engine: &dyn Engine,
    kernel: KernelId,
    launch: &PlannedLaunch,
    operands: &Operands,
    factors: [T; 2],
) -> Result<(), EngineError> {
    let mut bytes = [0; MOST_BYTES];
    let bytes = launch
        .params
        .iter()
        .find_map(|param| match param {
            Param::Bytes(parameters) => Some(parameters),
            _ => None,
        })
        .map_or(&[][..], |parameters| {
            let len = parameters.len();
            bytes[..len].copy_from_slice(parameters);
            // The parameters end with α and β.
            bytes[len - size_of_val(&factors)..len].copy_from_slice(bytemuck::bytes_of(&factors));
            &bytes[..len]
        });
    let mut args = [Arg::U32(0); MOST_ARGS];
    let mut count = 0;
    let mut push = |arg| {
        args[count] = arg;
        count += 1;
    };
    for param in &launch.params {
        match param {
            Param::Input(index) => {
                let (pointer, len) = operands.inputs[*index];
                push(Arg::Ptr(pointer));
                push(Arg::U64(len));
            }
            Param::InputPtr(index) => push(Arg::Ptr(operands.inputs[*index].0)),
            Param::Output => push(Arg::Ptr(operands.output)),
            Param::Workspace => push(Arg::Ptr(operands.workspace)),
            Param::Bytes(_) => push(Arg::Bytes(bytes)),
            Param::U32(value) => push(Arg::U32(*value)),
            Param::F32(value) => push(Arg::F32(*value)),
            Param::WorkspaceAt(offset) => push(Arg::Ptr(DevicePtr(operands.workspace.0 + offset))),
            Param::TensorMaps(_) => unreachable!("products of this type have none"),
        }
    }
    engine.enqueue(&Launch {
        kernel,
        grid: Dim3::from(launch.grid.map(|extent| extent as u32)),
        block: launch.block,
        shared_bytes: launch.shared_bytes,
        args: &args[..count],
    })
}
