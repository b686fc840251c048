//! The emulator's tests: one binary, a module for each subject.
//!
//! PTX texts and recorded figures are in `tests/data`.

mod async_copy;
mod bulk;
mod byte_matrices;
mod clusters;
mod common;
mod conformance;
mod cooperative;
mod counters;
mod divergence;
mod floats;
mod foreign;
mod forms;
mod initcheck;
mod integers;
mod irregular;
mod launches;
mod matrix;
mod modules;
mod observers;
mod pairs;
mod planted;
mod products;
mod racecheck;
mod samples;
mod spaces;
mod sparse;
mod stepping;
mod surfaces;
mod syntax;
mod system;
mod tensor;
mod tensor_memory;
mod tensor_products;
mod textures;
mod waiting;
mod warps;
mod wide;
