//! Checked-in PTX as data of a program: compressed, and each kernel by itself.

use std::fmt::Write as _;
use std::path::Path;

use miniz_oxide::deflate::compress_to_vec;
use ptx_syntax::signature::{Extent, Module};

use crate::checked_in::{CheckedInPtx, ModuleSpec};
use crate::error::{self, CudaBuilderError};

/// The level of compression. Cargo runs build scripts without optimisation, where level 4 takes
/// 1 second for 27 MB and level 10 takes 6; the latter's output is 3 % smaller.
const LEVEL: u8 = 4;

/// A module as a program carries it.
struct Embedded<'a> {
    spec: &'a ModuleSpec,
    /// The file of compressed texts, and where they lie in it.
    deflated: Vec<u8>,
    rest: Deflated,
    kernels: Vec<Kernel<'a>>,
}

/// Where a compressed text lies, and how long it is when inflated.
struct Deflated {
    start: usize,
    end: usize,
    bytes: usize,
}

struct Kernel<'a> {
    name: &'a str,
    text: Deflated,
    /// The byte of the rest in front of which the kernel stands.
    at: usize,
    /// The line ends in it.
    line_ends: usize,
}

impl CheckedInPtx {
    /// Writes what embeds the modules that `wanted` names into `folder`, which is cargo's
    /// `OUT_DIR`: a file `<name>.deflate` for each, and `ptx_modules.rs`, which includes them.
    ///
    /// A file holds raw DEFLATE streams (RFC 1951): one of the text without its kernels, then one
    /// for each kernel, so that a program inflates what it loads. `ptx_modules.rs` has
    /// - `MODULES: &[PtxModule]`, oldest generation first,
    /// - `MANIFEST: &str`, the manifest's text,
    /// - `HASH: u64`, the 64-bit FNV-1a hash of the modules' texts, one behind the other.
    ///
    /// It is included where these types are in scope, with `usize` where nothing else is said:
    /// - `PtxModule { name: &'static str, compute_capability: ComputeCapability,
    ///   deflated: &'static [u8], rest: Deflated, kernels: &'static [Kernel] }`,
    /// - `Deflated { start, end, bytes }`: a range of the file, and the length of its text,
    /// - `Kernel { name: &'static str, text: Deflated, at, line_ends }`: the kernel stands in front
    ///   of the byte `at` of the rest, and has `line_ends` line ends.
    ///
    /// # Errors
    ///
    /// Those of reading and writing files.
    pub fn embed(
        &self,
        folder: &Path,
        wanted: impl Fn(&ModuleSpec) -> bool,
    ) -> Result<(), CudaBuilderError> {
        let mut source = format!(
            "/// The checked-in manifest of the PTX.\npub static MANIFEST: &str = include_str!({:?});\n\n\
             /// The PTX in the program, one module per GPU generation, oldest first.\n\
             pub static MODULES: &[PtxModule] = &[\n",
            self.manifest_path()
        );
        let mut hash = FNV_OFFSET;
        for spec in self.modules.iter().filter(|spec| wanted(spec)) {
            let text = error::read(&self.module_path(spec))?;
            hash = fnv_1a(hash, text.as_bytes());
            let module = Embedded::new(spec, &text);
            let path = folder.join(format!("{}.deflate", spec.name));
            std::fs::write(&path, &module.deflated).map_err(error::io(&path))?;
            module.write(&path, &mut source);
        }
        let _ = writeln!(
            source,
            "];\n\n/// FNV-1a of all PTX in the program.\nconst HASH: u64 = {hash:#018x};"
        );
        error::write(&folder.join("ptx_modules.rs"), &source)
    }
}

impl<'a> Embedded<'a> {
    fn new(spec: &'a ModuleSpec, text: &'a str) -> Self {
        let extents = Module::read(text).extents();
        let (mut rest, mut places, mut from) = (String::new(), Vec::new(), 0);
        for extent in &extents {
            rest.push_str(&text[from..extent.start]);
            places.push(rest.len());
            from = extent.end;
        }
        rest.push_str(&text[from..]);

        let mut deflated = Vec::new();
        let rest = deflate(&rest, &mut deflated);
        let kernel = |(extent, at): (&Extent<'a>, usize)| Kernel {
            name: extent.name,
            text: deflate(&text[extent.start..extent.end], &mut deflated),
            at,
            line_ends: extent.last_line - extent.first_line,
        };
        let kernels = extents.iter().zip(places).map(kernel).collect();
        Embedded {
            spec,
            deflated,
            rest,
            kernels,
        }
    }

    /// Adds the expression of this module to `source`.
    fn write(&self, path: &Path, source: &mut String) {
        let ModuleSpec { name, arch } = self.spec;
        let (major, minor) = (arch.capability() / 10, arch.capability() % 10);
        let _ = writeln!(
            source,
            "    PtxModule {{\n        name: {name:?},\n        \
             compute_capability: ComputeCapability::new({major}, {minor}),\n        \
             deflated: include_bytes!({path:?}),\n        rest: {},\n        kernels: &[",
            self.rest.source()
        );
        for kernel in &self.kernels {
            let _ = writeln!(
                source,
                "            Kernel {{ name: {:?}, text: {}, at: {}, line_ends: {} }},",
                kernel.name,
                kernel.text.source(),
                kernel.at,
                kernel.line_ends
            );
        }
        source.push_str("        ],\n    },\n");
    }
}

impl Deflated {
    fn source(&self) -> String {
        let Deflated { start, end, bytes } = self;
        format!("Deflated {{ start: {start}, end: {end}, bytes: {bytes} }}")
    }
}

/// Adds `text` to the file, compressed.
fn deflate(text: &str, file: &mut Vec<u8>) -> Deflated {
    let start = file.len();
    file.extend(compress_to_vec(text.as_bytes(), LEVEL));
    Deflated {
        start,
        end: file.len(),
        bytes: text.len(),
    }
}

/// The hash of nothing: <http://www.isthe.com/chongo/tech/comp/fnv/>.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// Goes on with a 64-bit FNV-1a hash.
fn fnv_1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NvvmArch;
    use miniz_oxide::inflate::decompress_to_vec;

    const TEXT: &str =
        ".version 8.0\n.visible .entry a()\n{\n}\n// between\n.entry b()\n{ ret;\n}\n";

    #[test]
    fn a_module_is_its_rest_and_its_kernels() {
        let spec = ModuleSpec {
            name: "test",
            arch: NvvmArch::Compute70,
        };
        let module = Embedded::new(&spec, TEXT);
        let inflate = |text: &Deflated| {
            let bytes = decompress_to_vec(&module.deflated[text.start..text.end]).unwrap();
            assert_eq!(bytes.len(), text.bytes);
            String::from_utf8(bytes).unwrap()
        };
        let mut text = inflate(&module.rest);
        assert_eq!(text, ".version 8.0\n\n// between\n\n");
        for kernel in module.kernels.iter().rev() {
            let alone = inflate(&kernel.text);
            assert_eq!(alone.matches('\n').count(), kernel.line_ends);
            text.insert_str(kernel.at, &alone);
        }
        assert_eq!(text, TEXT);
        let names: Vec<&str> = module.kernels.iter().map(|kernel| kernel.name).collect();
        assert_eq!(names, ["a", "b"]);
    }

    /// Values of its authors' test suite.
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv_1a(FNV_OFFSET, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(FNV_OFFSET, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(FNV_OFFSET, b"foobar"), 0x8594_4171_f739_67e8);
    }
}
