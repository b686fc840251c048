//! A plan whose kernels are loaded, to be started with any operands.

use super::{Plan, PlannedLaunch};
use crate::device::ComputeCapability;
use crate::engine::{Buffer, Engine};
use crate::error::{EngineError, LoadCause};
use crate::launch::{Arg, DevicePtr, Dim3, KernelId, Launch, Param, Region, TensorMap};
use crate::ptx;

/// Most bytes of the parameters of a GEMM, and most arguments of a kernel.
const MAX_BYTES: usize = 128;
const MAX_ARGS: usize = 16;

/// A plan whose kernels are loaded.
pub struct Prepared {
    launches: Vec<Loaded>,
    workspace_bytes: usize,
    zeroed_bytes: usize,
    has_tensor_maps: bool,
}

/// A launch whose kernel is loaded.
struct Loaded {
    kernel: KernelId,
    launch: PlannedLaunch,
    /// Bytes from the first tensor map of the plan to its own.
    maps_at: u64,
}

/// Where the operands of a plan lie.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// The inputs, each with the number of elements from there on.
    pub inputs: &'a [(DevicePtr, u64)],
    /// The output.
    pub output: DevicePtr,
    /// The workspace: [`Prepared::workspace_bytes`], of which the first [`Prepared::zeroed_bytes`]
    /// hold zeros.
    pub workspace: DevicePtr,
    /// The tensor maps: [`Prepared::tensor_maps`] of these operands.
    pub maps: DevicePtr,
}

impl Prepared {
    /// Loads the kernels of a plan.
    ///
    /// # Errors
    /// Those of [`Engine::load`], and [`LoadCause::NotEmbedded`].
    pub fn new(engine: &dyn Engine, plan: Plan) -> Result<Self, EngineError> {
        let [workspace_bytes, zeroed_bytes] =
            [plan.workspace_bytes, plan.zeroed_bytes].map(|bytes| bytes as usize);
        // Nothing to compute is nothing to launch: a grid of no blocks is refused.
        let launches = plan
            .launches
            .into_iter()
            .filter(|launch| !launch.grid.contains(&0));
        let mut maps = 0;
        let load = |launch: PlannedLaunch| {
            let ComputeCapability { major, minor } = launch.compute_capability;
            let module = ptx::find(launch.compute_capability).ok_or_else(|| EngineError::Load {
                entry: launch.entry.to_owned(),
                cause: LoadCause::NotEmbedded { major, minor },
            })?;
            let kernel = engine.load(&module.only(launch.entry), launch.entry)?;
            let maps_at = maps;
            maps += (tensor_maps(&launch).len() * crate::launch::TENSOR_MAP_BYTES) as u64;
            Ok(Loaded {
                kernel,
                launch,
                maps_at,
            })
        };
        let launches = launches.map(load).collect::<Result<_, EngineError>>()?;
        Ok(Prepared {
            launches,
            workspace_bytes,
            zeroed_bytes,
            has_tensor_maps: maps > 0,
        })
    }

    /// Whether there is nothing to launch.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
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

    /// Whether its kernels read tensor maps, which name the addresses of operands.
    pub fn has_tensor_maps(&self) -> bool {
        self.has_tensor_maps
    }

    /// The tensor maps of all launches, as they must lie at [`Operands::maps`], which is not looked
    /// at.
    ///
    /// # Errors
    /// Those of [`Engine::tensor_map`].
    pub fn tensor_maps(
        &self,
        engine: &dyn Engine,
        operands: &Operands<'_>,
    ) -> Result<Vec<u8>, EngineError> {
        let mut bytes = Vec::new();
        let maps = self
            .launches
            .iter()
            .flat_map(|loaded| tensor_maps(&loaded.launch));
        for map in maps {
            bytes.extend(engine.tensor_map(&map.at(operands.start(map.region)))?);
        }
        Ok(bytes)
    }

    /// The same in memory of their own.
    ///
    /// # Errors
    /// Those of [`Engine::tensor_map`]; [`EngineError::OutOfMemory`] where the device has too
    /// little.
    pub fn tensor_map_buffer<'e>(
        &self,
        engine: &'e dyn Engine,
        operands: &Operands<'_>,
    ) -> Result<Buffer<'e>, EngineError> {
        let maps = self.tensor_maps(engine, operands)?;
        let buffer = Buffer::new(engine, maps.len())?;
        buffer.upload(&maps)?;
        Ok(buffer)
    }

    /// Starts the launches of a GEMM with these factors α and β. Nothing is allocated.
    ///
    /// # Errors
    /// Those of [`Engine::enqueue`].
    ///
    /// # Safety
    /// The operands are the memory that the plan was made for: inputs, output, workspace and maps
    /// of the sizes that its kernels read and write, allocated until the launches have ended.
    pub unsafe fn enqueue<T: bytemuck::Pod>(
        &self,
        engine: &dyn Engine,
        operands: &Operands<'_>,
        factors: [T; 2],
    ) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        self.start(operands, factors, |launch| unsafe {
            engine.enqueue(launch)
        })
    }

    /// Starts the launches of a GEMM with these factors α and β, each by `start`.
    /// Nothing is allocated.
    ///
    /// # Errors
    /// Those of `start`.
    pub fn start<T: bytemuck::Pod>(
        &self,
        operands: &Operands<'_>,
        factors: [T; 2],
        mut start: impl FnMut(&Launch<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let factors = bytemuck::bytes_of(&factors);
        self.launches.iter().try_for_each(|loaded| {
            let mut bytes = [0; MAX_BYTES];
            let product = loaded.launch.params.iter().find_map(|param| match param {
                Param::Product(parameters) => Some(parameters),
                _ => None,
            });
            let product = product.map(|parameters| {
                let len = parameters.len();
                bytes[..len].copy_from_slice(parameters);
                bytes[len - factors.len()..len].copy_from_slice(factors);
                &bytes[..len]
            });
            let args = loaded.args(operands, product);
            start(&loaded.with(&args))
        })
    }

    /// Calls `run` with the launches as they were planned.
    pub fn launches<R>(&self, operands: &Operands<'_>, run: impl FnOnce(&[Launch<'_>]) -> R) -> R {
        let args: Vec<Args<'_>> = self
            .launches
            .iter()
            .map(|loaded| loaded.args(operands, None))
            .collect();
        let launches: Vec<Launch<'_>> = self
            .launches
            .iter()
            .zip(&args)
            .map(|(loaded, args)| loaded.with(args))
            .collect();
        run(&launches)
    }
}

/// The tensor maps that a launch names.
fn tensor_maps(launch: &PlannedLaunch) -> &[TensorMap] {
    let maps = launch.params.iter().find_map(|param| match param {
        Param::TensorMaps(maps) => Some(&maps[..]),
        _ => None,
    });
    maps.unwrap_or_default()
}

impl Operands<'_> {
    fn start(&self, region: Region) -> DevicePtr {
        match region {
            Region::Input(index) => self.inputs[index].0,
            Region::Output => self.output,
            Region::Workspace(offset) => DevicePtr(self.workspace.0 + offset),
        }
    }
}

/// The arguments of a launch: on the stack, since to start a launch allocates nothing.
struct Args<'a> {
    args: [Arg<'a>; MAX_ARGS],
    count: usize,
}

impl<'a> Args<'a> {
    fn push(&mut self, arg: Arg<'a>) {
        self.args[self.count] = arg;
        self.count += 1;
    }
}

impl Loaded {
    /// The arguments for these operands; the parameters of a GEMM are `product`, if that
    /// is given.
    fn args<'a>(&'a self, operands: &Operands<'_>, product: Option<&'a [u8]>) -> Args<'a> {
        let mut args = Args {
            args: [Arg::U32(0); MAX_ARGS],
            count: 0,
        };
        for param in &self.launch.params {
            let arg = match param {
                Param::Input(index) => {
                    let (pointer, len) = operands.inputs[*index];
                    args.push(Arg::Ptr(pointer));
                    Arg::U64(len)
                }
                Param::InputPtr(index) => Arg::Ptr(operands.inputs[*index].0),
                Param::Output => Arg::Ptr(operands.output),
                Param::Null => Arg::Ptr(DevicePtr(0)),
                Param::Workspace => Arg::Ptr(operands.workspace),
                Param::WorkspaceAt(offset) => Arg::Ptr(operands.start(Region::Workspace(*offset))),
                Param::TensorMaps(_) => Arg::Ptr(DevicePtr(operands.maps.0 + self.maps_at)),
                Param::U32(value) => Arg::U32(*value),
                Param::U64(value) => Arg::U64(*value),
                Param::F32(value) => Arg::F32(*value),
                Param::Bytes(bytes) => Arg::Bytes(bytes),
                Param::Product(parameters) => Arg::Bytes(product.unwrap_or(parameters)),
            };
            args.push(arg);
        }
        args
    }

    fn with<'a>(&self, args: &'a Args<'a>) -> Launch<'a> {
        Launch {
            kernel: self.kernel,
            // The limits are checked where the plan is made.
            grid: Dim3::from(self.launch.grid.map(|extent| extent as u32)),
            block: self.launch.block,
            cluster: self.launch.cluster,
            shared_bytes: self.launch.shared_bytes,
            args: &args.args[..args.count],
        }
    }
}
