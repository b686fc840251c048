//! Modules and kernels that are loaded: found again by their text, and checked against launches.

use super::GpuEngine;
use super::geometry::Limits;
use crate::device::ComputeCapability;
use crate::error::{EngineError, LaunchCause, LoadCause};
use crate::launch::{Launch, MAX_CLUSTER_BLOCKS};
use crate::sync::{lock, read};
use cuda_driver::{DriverError, Function, FunctionAttribute, JitOptions, Module};
use ptx_syntax::signature;
use std::sync::{Arc, Mutex};

pub(super) struct LoadedModule {
    ptx: String,
    module: Module,
}

pub(super) struct Kernel {
    /// Index into [`GpuEngine::modules`].
    pub module: usize,
    pub entry: String,
    pub function: Function,
    /// Size of each parameter, in bytes.
    pub parameters: Vec<usize>,
    pub limits: Limits,
    /// Dynamic shared memory that launches may ask for so far, in bytes.
    allowed_shared_bytes: Mutex<u32>,
    /// Whether it may begin before the kernel in front has ended: it waits for that itself, by
    /// `griddepcontrol.wait`.
    pub waits_for_previous: bool,
}

impl GpuEngine {
    /// Compiles and loads a module, or finds it among those loaded; returns its index.
    pub(super) fn module(&self, ptx: &str, entry: &str) -> Result<usize, EngineError> {
        let mut modules = lock(&self.modules);
        if let Some(index) = modules.iter().position(|loaded| loaded.ptx == ptx) {
            return Ok(index);
        }
        let options = JitOptions {
            line_info: true,
            ..JitOptions::default()
        };
        // SAFETY: the engine's context is current (`enter`). Modules and functions stay inside the
        // engine, whose fields are declared so that they are dropped before the context.
        let (module, _) = unsafe { Module::load_ptx(ptx, &options) }
            .map_err(|error| load_error(entry, LoadCause::Driver(error.to_string())))?;
        modules.push(LoadedModule {
            ptx: ptx.to_owned(),
            module,
        });
        Ok(modules.len() - 1)
    }

    /// Finds a kernel in a loaded module, with what its launches are checked against.
    pub(super) fn kernel(
        &self,
        module: usize,
        ptx: &str,
        entry: &str,
    ) -> Result<Kernel, EngineError> {
        let module_text = signature::Module::read(ptx);
        let function = module_text.entry(entry);
        let Some((function, parameters)) =
            function.and_then(|function| Some((function, function.parameters.as_ref()?)))
        else {
            return Err(load_error(entry, LoadCause::NoEntry));
        };
        let waits_for_previous = module_text.uses(function, "griddepcontrol.wait");
        let parameters = parameters.iter().map(|parameter| parameter.bytes).collect();
        let open = || {
            let function = lock(&self.modules)[module].module.function(entry)?;
            let query = |attribute| function.attribute(attribute).map(i32::unsigned_abs);
            let limits = Limits {
                grid: self.properties.max_grid,
                block: self.properties.max_block,
                block_threads: query(FunctionAttribute::MaxThreadsPerBlock)?,
                registers: query(FunctionAttribute::Registers)?,
                shared_bytes: self.properties.shared_bytes_per_block_optin,
                static_shared_bytes: query(FunctionAttribute::SharedBytes)?,
                cluster_blocks: if self.properties.compute_capability >= ComputeCapability::V9_0 {
                    MAX_CLUSTER_BLOCKS
                } else {
                    1
                },
            };
            let allowed_shared_bytes = Mutex::new(query(FunctionAttribute::MaxDynamicSharedBytes)?);
            let entry = entry.to_owned();
            Ok(Kernel {
                module,
                entry,
                function,
                parameters,
                limits,
                allowed_shared_bytes,
                waits_for_previous,
            })
        };
        open().map_err(|error: DriverError| load_error(entry, LoadCause::Driver(error.to_string())))
    }

    /// Calls `action` with the kernel of a launch, in the engine's context.
    pub(super) fn with_kernel<R>(
        &self,
        launch: &Launch<'_>,
        action: impl FnOnce(&Kernel) -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        self.enter()?;
        let kernel = read(&self.kernels).get(launch.kernel.0).map(Arc::clone);
        match kernel {
            Some(kernel) => action(&kernel),
            None => Err(EngineError::Launch {
                entry: format!("kernel number {}", launch.kernel.0),
                cause: LaunchCause::NotLoaded,
            }),
        }
    }
}

impl Kernel {
    /// Allows launches with this much dynamic shared memory; above 48 KiB a kernel must be told
    /// beforehand.
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), DriverError> {
        // Held while the driver is told: another thread never lowers what this one has raised.
        let mut allowed = lock(&self.allowed_shared_bytes);
        if bytes > *allowed {
            // `geometry::check` has seen that it fits the device.
            let value = i32::try_from(bytes).unwrap_or(i32::MAX);
            self.function
                .set_attribute(FunctionAttribute::MaxDynamicSharedBytes, value)?;
            *allowed = bytes;
        }
        Ok(())
    }
}

fn load_error(entry: &str, cause: LoadCause) -> EngineError {
    EngineError::Load {
        entry: entry.to_owned(),
        cause,
    }
}
