//! GEMMs on tensor cores by warpgroups: `wgmma`.

pub mod boxes;
pub mod float8;
pub mod grouped;
pub mod integer;
pub mod kernels;
pub mod multicast;
pub mod pack;
mod promotion;
pub mod rs;
pub mod source;
pub mod split;
pub mod stage;
mod warp_specialized;
