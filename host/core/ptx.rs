//! The PTX that ships: the modules of `ptx/`, embedded in the program, compressed, and inflated
//! kernel by kernel.
//!
//! The cargo features `sm_80` and `sm_90a` say which modules are embedded beside the oldest one.

use crate::device::ComputeCapability;
use std::fmt;

/// One PTX module, for one GPU generation and newer ones.
#[non_exhaustive]
pub struct PtxModule {
    /// File name without its ending, for example `kernels_sm_70`.
    pub name: &'static str,
    /// Lowest compute capability that takes it.
    pub compute_capability: ComputeCapability,
    /// DEFLATE streams, which the build script wrote.
    deflated: &'static [u8],
    /// The text without its kernels.
    rest: Deflated,
    /// In the order of the text.
    kernels: &'static [Kernel],
}

/// A text in [`PtxModule::deflated`].
struct Deflated {
    /// The first byte of its stream.
    start: usize,
    /// The byte behind its stream.
    end: usize,
    /// Its own length.
    bytes: usize,
}

/// A kernel of a module.
struct Kernel {
    name: &'static str,
    text: Deflated,
    /// The byte of the rest in front of which it stands.
    at: usize,
    /// The line ends in it.
    line_ends: usize,
}

impl PtxModule {
    /// Whether a device of this compute capability takes it: its own generation and newer ones, or
    /// only its own where its target has a suffix, as `sm_90a` (PTX ISA, ".target").
    pub fn runs_on(&self, compute_capability: ComputeCapability) -> bool {
        if self.name.ends_with('a') {
            compute_capability == self.compute_capability
        } else {
            compute_capability >= self.compute_capability
        }
    }

    /// The names of its kernels.
    pub fn entries(&self) -> impl Iterator<Item = &'static str> {
        self.kernels.iter().map(|kernel| kernel.name)
    }

    /// The module with one kernel alone, so that a driver compiles what is launched and nothing
    /// else. The other kernels leave empty lines behind: line numbers stay those of the file.
    pub fn only(&self, entry: &str) -> String {
        self.with_kernels(|kernel| kernel.name == entry)
    }

    /// The whole module, as its file in `ptx/`. To inflate the largest one takes about 0.1 s; one
    /// kernel alone takes 0.3 ms at most.
    pub fn text(&self) -> String {
        self.with_kernels(|_| true)
    }

    fn with_kernels(&self, is_kept: impl Fn(&Kernel) -> bool) -> String {
        let mut rest = Vec::new();
        self.inflate(&self.rest, &mut rest);
        let (mut text, mut from) = (Vec::new(), 0);
        for kernel in self.kernels {
            text.extend_from_slice(&rest[from..kernel.at]);
            from = kernel.at;
            if is_kept(kernel) {
                self.inflate(&kernel.text, &mut text);
            } else {
                text.resize(text.len() + kernel.line_ends, b'\n');
            }
        }
        text.extend_from_slice(&rest[from..]);
        String::from_utf8(text).expect("the build script compressed texts")
    }

    /// Adds a text to `to`.
    fn inflate(&self, text: &Deflated, to: &mut Vec<u8>) {
        let start = to.len();
        to.resize(start + text.bytes, 0);
        let stream = &self.deflated[text.start..text.end];
        let inflated = miniz_oxide::inflate::decompress_slice_iter_to_slice(
            &mut to[start..],
            std::iter::once(stream),
            false,
            true,
        );
        assert_eq!(
            inflated,
            Ok(text.bytes),
            "the build script compressed texts"
        );
    }
}

impl fmt::Debug for PtxModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PtxModule")
            .field("name", &self.name)
            .field("compute_capability", &self.compute_capability)
            .finish_non_exhaustive()
    }
}

/// Registers of a thread of each kernel, as `ptxas` assigns them for compute capability 9.0: a
/// table with the columns `kernel,arch,registers`.
pub const REGISTERS: &str = include_str!("../../ptx/registers.csv");

include!(concat!(env!("OUT_DIR"), "/ptx_modules.rs"));

/// A hash of all embedded PTX, by FNV-1a: the same in every build with the same features, and on
/// every system.
pub fn hash() -> u64 {
    HASH
}

/// The module for rungs that need `compute_capability`, where it is embedded.
///
/// Every rung is in one module only: that of the oldest generation that can run it. The driver
/// translates it for newer ones.
pub fn find(compute_capability: ComputeCapability) -> Option<&'static PtxModule> {
    MODULES
        .iter()
        .find(|module| module.compute_capability == compute_capability)
}

/// The module for rungs that need `compute_capability`, in programs that embed all modules. Others
/// ask [`find`].
///
/// # Panics
/// Where it is not embedded: the compute capability is none of 7.0, 8.0 and 9.0, or its cargo
/// feature is off.
pub fn module(compute_capability: ComputeCapability) -> &'static PtxModule {
    find(compute_capability).expect("the catalogue names only modules whose features are on")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_syntax::signature::{self, Module};

    fn file(module: &PtxModule) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx");
        std::fs::read_to_string(format!("{folder}/{}.ptx", module.name)).unwrap()
    }

    #[test]
    fn features_say_which_modules_are_embedded() {
        let modules = [
            (ComputeCapability::V7_0, true),
            (ComputeCapability::V8_0, cfg!(feature = "sm_80")),
            (ComputeCapability::V9_0, cfg!(feature = "sm_90a")),
        ];
        for (compute_capability, embedded) in modules {
            let found = find(compute_capability).is_some();
            assert_eq!(found, embedded, "{compute_capability}");
        }
        let embedded = modules.iter().filter(|(_, embedded)| *embedded);
        assert_eq!(MODULES.len(), embedded.count());
    }

    #[test]
    fn a_module_is_its_file() {
        let mut hash = 0xcbf2_9ce4_8422_2325;
        for module in MODULES {
            let file = file(module);
            assert!(module.text() == file, "{}", module.name);
            let names = signature::entries(&file);
            assert!(module.entries().eq(names), "{}", module.name);
            for byte in file.bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        assert_eq!(super::hash(), hash);
    }

    #[test]
    #[cfg(all(feature = "sm_80", feature = "sm_90a"))]
    fn the_readme_says_what_the_features_take() {
        let newer = MODULES.iter().skip(1).map(|module| module.deflated.len());
        let megabytes = (newer.sum::<usize>() as f64 / 1e6).round();
        let readme = include_str!("../../README.md").replace('\n', " ");
        let sentence = format!("together they are {megabytes} MB of a program");
        assert!(readme.contains(&sentence), "README.md lacks: {sentence}");
    }

    #[test]
    fn one_kernel_alone_is_that_of_the_module() {
        for module in MODULES {
            let file = file(module);
            let extents = Module::read(&file).extents();
            let lines: Vec<&str> = file.lines().collect();
            for entry in module.entries() {
                let text = module.only(entry);
                assert!(text == signature::alone(&file, &extents, entry), "{entry}");
                let alone = ptx_emulator::Module::parse(&text);
                let alone = alone.unwrap_or_else(|error| panic!("{entry}: {error}"));
                assert_eq!(alone.kernel_names().collect::<Vec<_>>(), [entry]);
                // What is kept is on its line. Nearly all of them are empty: these are skipped at
                // once, and not made a list of.
                let (mut number, mut at) = (0, 0);
                loop {
                    let empty = text[at..].bytes().take_while(|&byte| byte == b'\n').count();
                    (number, at) = (number + empty, at + empty);
                    let Some(kept) = text[at..].lines().next() else {
                        break;
                    };
                    assert!(kept == lines[number], "{entry}: {kept}");
                    at += kept.len();
                }
                assert_eq!(number, lines.len(), "{entry}");
            }
        }
    }

    #[test]
    fn a_name_of_no_kernel_leaves_none() {
        let text = module(ComputeCapability::V7_0).only("none");
        assert_eq!(signature::entries(&text).count(), 0);
        assert!(text.contains(".version"));
    }
}
