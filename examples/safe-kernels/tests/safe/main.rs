//! The safe kernels: right at any size, as long as those with `unsafe`, and refused where their
//! contract is broken.

mod counts;
mod refusals;
mod results;
