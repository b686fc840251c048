//! The engine of a command: the GPU, opened with [cust](https://docs.rs/cust), or the emulator.
//!
//! A program that depends on the library alone gets the library's own engine, which needs nothing
//! to build. cust wants a CUDA installation, or the setting of this repository's
//! `.cargo/config.toml` that names a folder in its place. What runs on its stream is the same.

use warpladder::engine::{Engine, EngineChoice};
use warpladder::error::EngineError;

/// Opens an engine, as [`warpladder::engine::open`] does.
///
/// # Errors
/// [`EngineError::Unavailable`] where a GPU is wanted and there is none.
pub fn open(choice: EngineChoice) -> Result<(Box<dyn Engine>, Option<EngineError>), EngineError> {
    #[cfg(all(target_os = "linux", feature = "gpu"))]
    return warpladder::engine::open_with(choice, || Ok(Box::new(gpu(0)?)));
    #[cfg(not(all(target_os = "linux", feature = "gpu")))]
    warpladder::engine::open(choice)
}

/// Opens a GPU by its number, from 0: context and stream are cust's.
///
/// # Errors
/// [`EngineError::Unavailable`] where there is no driver, no such device, or the device refuses a
/// context.
#[cfg(all(target_os = "linux", feature = "gpu"))]
pub fn gpu(ordinal: u32) -> Result<warpladder::engine::gpu::GpuEngine, EngineError> {
    use cust::context::Context;
    use cust::device::Device;
    use cust::error::CudaError;
    use cust::stream::{Stream, StreamFlags};

    let unavailable = EngineError::Unavailable;
    // Before anything of cust: it links the functions that cust calls.
    cuda_driver::load().map_err(|reason| unavailable(reason.to_string()))?;
    let open = || {
        let context = Context::new(Device::get_device(ordinal)?)?;
        Ok((Stream::new(StreamFlags::DEFAULT, None)?, context))
    };
    let (stream, context) = open().map_err(|error: CudaError| {
        unavailable(format!(
            "GPU {ordinal} gives no context: {error}: see `warpladder devices`"
        ))
    })?;
    let raw = stream.as_inner().cast();
    // SAFETY: cust has made the stream in the device's primary context; the engine drops both when
    // nothing of its own is left, the stream first.
    unsafe {
        warpladder::engine::gpu::GpuEngine::with_stream(ordinal, raw, Box::new((stream, context)))
    }
}
