//! Kernels of any PTX file on the emulator, with arguments from the command line and NumPy files.

mod argument;
pub mod compare;
pub mod npy;
mod placement;
mod scalar;
pub mod script;

pub use argument::{Argument, ArgumentError, Content};
pub use placement::{Buffers, Placed, Placement, PlacementError, content_of, place, place_buffer};
pub use scalar::Scalar;
