//! The PTX that ships: the modules of `ptx/`, compiled into the program.

use crate::device::ComputeCapability;
use ptx_syntax::signature::{self, Extent};
use std::borrow::Cow;

/// One PTX module, for one GPU generation and newer ones.
#[derive(Debug)]
pub struct PtxModule {
    /// File name without its ending, for example `kernels_sm_70`.
    pub name: &'static str,
    /// Lowest compute capability that takes it.
    pub compute_capability: ComputeCapability,
    /// The PTX.
    pub text: &'static str,
}

impl PtxModule {
    /// Whether a device of this compute capability takes it: its own generation and newer ones, or only its own
    /// where its target has a suffix, as `sm_90a` (PTX ISA, ".target").
    pub fn runs_on(&self, compute_capability: ComputeCapability) -> bool {
        if self.name.ends_with('a') {
            compute_capability == self.compute_capability
        } else {
            compute_capability >= self.compute_capability
        }
    }

    /// The names of its kernels.
    pub fn entries(&self) -> impl Iterator<Item = &'static str> {
        self.kernels()
            .into_owned()
            .into_iter()
            .map(|kernel| kernel.name)
    }

    /// The module with one kernel alone, so that a driver compiles what is launched and nothing else. The other kernels
    /// leave empty lines behind: line numbers stay those of the file.
    pub fn only(&self, entry: &str) -> String {
        signature::alone(self.text, &self.kernels(), entry)
    }

    /// Where its kernels are: of what ships, this was found out when the program was built.
    fn kernels(&self) -> Cow<'static, [Extent<'static>]> {
        let shipped = MODULES.iter().position(|one| {
            // Others may have the name of one, and another text.
            std::ptr::eq(one.text, self.text)
        });
        match shipped {
            Some(module) => Cow::from(KERNELS[module]),
            None => Cow::from(signature::Module::read(self.text).extents()),
        }
    }
}

/// Registers of a thread of each kernel, as `ptxas` assigns them for compute capability 9.0: a table with the columns
/// `kernel,arch,registers`.
pub const REGISTERS: &str = include_str!("../../ptx/registers.csv");

include!(concat!(env!("OUT_DIR"), "/ptx_modules.rs"));
include!(concat!(env!("OUT_DIR"), "/ptx_kernels.rs"));

/// The module for rungs that need `compute_capability`.
///
/// Every rung is in one module only: that of the oldest generation that can run it. The driver translates it
/// for newer ones.
pub fn module(compute_capability: ComputeCapability) -> &'static PtxModule {
    MODULES
        .iter()
        .find(|module| module.compute_capability == compute_capability)
        .expect("the catalogue names only generations that build.rs builds, which a test checks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_are_where_the_build_script_saw_them() {
        assert_eq!(KERNELS.len(), MODULES.len());
        for (module, kernels) in MODULES.iter().zip(KERNELS) {
            let read = signature::Module::read(module.text).extents();
            assert_eq!(**kernels, *read, "{}", module.name);
        }
    }

    #[test]
    fn one_kernel_alone_is_that_of_the_module() {
        for module in MODULES {
            let whole = ptx_emulator::Module::parse(module.text).unwrap();
            let lines: Vec<&str> = module.text.lines().collect();
            for entry in whole.kernel_names() {
                let text = module.only(entry);
                let alone = ptx_emulator::Module::parse(&text);
                let alone = alone.unwrap_or_else(|error| panic!("{entry}: {error}"));
                assert_eq!(alone.kernel_names().collect::<Vec<_>>(), [entry]);
                // What is kept is on its line.
                let kept: Vec<&str> = text.lines().collect();
                assert_eq!(kept.len(), lines.len(), "{entry}");
                for (kept, line) in kept.iter().zip(&lines) {
                    assert!(kept == line || kept.is_empty(), "{entry}: {kept}");
                }
            }
        }
    }
}
