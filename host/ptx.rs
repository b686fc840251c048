//! The PTX that ships: the modules of `ptx/`, compiled into the program.

use std::borrow::Cow;
use std::sync::OnceLock;

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

impl PtxModule {
    /// Whether a device of this compute capability, times ten, takes it: its own generation and newer ones, or only its own
    /// where its target has a suffix, as `sm_90a` (PTX ISA, ".target").
    pub fn runs_on(&self, compute_capability: u32) -> bool {
        if self.name.ends_with('a') {
            compute_capability == self.compute_capability
        } else {
            compute_capability >= self.compute_capability
        }
    }

    /// The names of its kernels.
    pub fn entries(&self) -> impl Iterator<Item = &'static str> {
        let lines = self.text.lines();
        lines.filter_map(|line| line.strip_prefix(ENTRY)?.split('(').next())
    }

    /// The module with one kernel alone, so that a driver compiles what is launched and nothing else. The other kernels
    /// leave empty lines behind: line numbers stay those of the file.
    pub fn only(&self, entry: &str) -> String {
        let (mut text, mut from) = (String::new(), 0);
        for kernel in self.kernels().iter() {
            if kernel.name != entry {
                text.push_str(&self.text[from..kernel.start]);
                text.extend(std::iter::repeat_n('\n', kernel.lines));
                from = kernel.end;
            }
        }
        text.push_str(&self.text[from..]);
        text
    }

    /// Where its kernels are: modules have megabytes, so this is found out once.
    fn kernels(&self) -> Cow<'static, [Kernel]> {
        static KERNELS: [OnceLock<Vec<Kernel>>; MODULES.len()] =
            [const { OnceLock::new() }; MODULES.len()];
        match MODULES.iter().position(|module| module.name == self.name) {
            Some(module) => Cow::from(KERNELS[module].get_or_init(|| kernels(self.text))),
            None => Cow::from(kernels(self.text)),
        }
    }
}

/// A kernel in the text of a module.
#[derive(Clone, Debug)]
struct Kernel {
    name: &'static str,
    /// Of its first line, and of the one behind its last, in bytes.
    start: usize,
    end: usize,
    lines: usize,
}

fn kernels(text: &'static str) -> Vec<Kernel> {
    let (mut all, mut from) = (Vec::new(), 0);
    while let Some(start) = find_line(text, from, ENTRY) {
        let name = &text[start + ENTRY.len()..];
        let end = find_line(text, start, "}\n").map_or(text.len(), |brace| brace + 2);
        all.push(Kernel {
            name: name.split('(').next().unwrap_or(name),
            start,
            end,
            lines: text[start..end].matches('\n').count(),
        });
        from = end;
    }
    all
}

/// The first line behind a position that begins so.
fn find_line(text: &str, from: usize, begin: &str) -> Option<usize> {
    let found = text[from..].find(&format!("\n{begin}"))?;
    Some(from + found + 1)
}

/// How a kernel begins. It ends with a line that is a brace alone, as blocks inside of it do not: those are indented or
/// share their line.
const ENTRY: &str = ".visible .entry ";

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

#[cfg(test)]
mod tests {
    use super::*;

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
