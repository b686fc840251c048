//! The PTX that ships: the modules of `ptx/`, compiled into the program.

/// One PTX module, for one GPU generation and newer ones.
#[derive(Debug)]
pub struct PtxModule {
    /// File name without its ending, for example `kernels_sm_70`.
    pub name: &'static str,
    /// Lowest compute capability that takes it, times ten.
    pub compute_capability: u32,
    /// The PTX.
    pub text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/ptx_modules.rs"));

/// The module for rungs that need `compute_capability`, times ten.
///
/// Every rung is in one module only: that of the oldest generation that can run it. The driver translates it
/// for newer ones.
pub fn module(compute_capability: u32) -> &'static PtxModule {
    MODULES
        .iter()
        .find(|module| module.compute_capability == compute_capability)
        .expect("the catalogue names only generations that build.rs builds, which a test checks")
}
