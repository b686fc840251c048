//! The GPU, for tests that run where there is one.

use warpladder::engine::{self, Engine, EngineChoice};

/// The GPU; where there is none, the reason is printed.
pub fn open() -> Option<Box<dyn Engine>> {
    match engine::open(EngineChoice::Gpu) {
        Ok((gpu, _)) => Some(gpu),
        Err(reason) => {
            println!("left out on a GPU: {reason}");
            None
        }
    }
}
