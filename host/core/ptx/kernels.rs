//! Where the kernels are in the text of a module. The build script has this file as well: what is in `ptx/` is looked through when
//! the program is built, and not each time it starts.

/// A kernel in the text of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where its first line begins, in bytes.
    pub start: usize,
    /// Where the line behind its last begins.
    pub end: usize,
    /// How many lines it has.
    pub lines: usize,
}

/// How a kernel begins. It ends with a line that is a brace alone, as blocks inside of it do not: those are indented or
/// share their line.
const ENTRY: &str = ".visible .entry ";

/// The kernels of a module, in their order.
pub fn of(text: &str) -> Vec<Kernel<'_>> {
    let (mut all, mut open, mut place) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix(ENTRY) {
            open = Some(Kernel {
                name: name.split('(').next().unwrap_or(name),
                start: place,
                end: place,
                lines: 0,
            });
        }
        place += line.len();
        if let Some(kernel) = &mut open {
            kernel.end = place;
            kernel.lines += 1;
            if line.trim_end() == "}" {
                all.extend(open.take());
            }
        }
    }
    all.extend(open);
    all
}
