//! Textual mutants of a kernel's PTX, as rustc writes it: one statement on a line.

use super::source::Sources;
use std::collections::{HashMap, HashSet};

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A barrier of the block or of the warp is removed.
    Barrier,
    /// A barrier of the cluster loses its arrival, or its wait.
    Cluster,
    /// An arrival at a barrier in shared memory is removed.
    Arrival,
    /// A comparison that depends on the thread's or the block's index, and keeps some threads from
    /// accesses to memory, has the result for which they are made.
    Guard,
    /// A store to global memory goes one element further.
    Store,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Cluster => "cluster",
            Kind::Arrival => "arrival",
            Kind::Guard => "guard",
            Kind::Store => "store",
        }
    }
}

/// A changed kernel.
pub struct Mutant {
    pub kind: Kind,
    /// The line of the kernels' sources that the statement comes from, after the stem of its file.
    pub source: String,
    /// Counts the mutants of this kind and this line in the kernel, from 0: the compiler copies
    /// lines.
    pub copy: usize,
    /// The statement that was changed.
    pub statement: String,
    /// Its line, from 1.
    pub line: u32,
    /// What stands in its place.
    changed: String,
}

/// Instructions that are removed, and what each is.
const SYNCHRONIZING: &[(&str, Kind)] = &[
    ("bar.sync", Kind::Barrier),
    ("barrier.sync", Kind::Barrier),
    ("bar.warp.sync", Kind::Barrier),
    ("barrier.cluster.", Kind::Cluster),
    ("mbarrier.arrive.", Kind::Arrival),
];

/// Most guards, and most stores, of one place in the source that are changed: a loop that the
/// compiler unrolls makes many copies of a statement, and there is nothing in the third that is not
/// in the second.
const MAX_COPIES: usize = 2;

impl Mutant {
    /// The whole module, of which `text` is the original.
    pub fn applied(&self, text: &str) -> String {
        let at = self.line as usize - 1;
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty());
        let changed = lines.map(|(number, line)| if number == at { &self.changed } else { line });
        changed.collect::<Vec<&str>>().join("\n")
    }

    /// Names a mutant of its kernel. Lines that are moved, and changes elsewhere, leave the name as
    /// it is.
    pub fn name(&self) -> String {
        name(self.kind.name(), &self.source, self.copy)
    }
}

/// The name of the mutant of this kind, line and copy.
pub fn name(kind: &str, source: &str, copy: usize) -> String {
    format!("{kind} {copy} of `{source}`")
}

/// All mutants of a module with one kernel.
pub fn of_kernel(text: &str, sources: &mut Sources) -> Vec<Mutant> {
    // Those of the module's other kernels are empty.
    let (numbers, lines): (Vec<u32>, Vec<&str>) = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.is_empty())
        .unzip();
    let begin = lines
        .iter()
        .position(|line| line.starts_with(".visible .entry "));
    let begin = begin.expect("a kernel");
    let end = begin
        + lines[begin..]
            .iter()
            .position(|line| *line == "}")
            .expect("an end");
    let kernel = Kernel::new(&lines[begin..end]);
    let mut changes = Vec::new();
    for (at, line) in kernel.lines.iter().enumerate() {
        for (opcode, kind) in SYNCHRONIZING {
            if line.contains(opcode) {
                changes.push((*kind, at, String::new()));
            }
        }
        if let Some(shifted) = shifted(line) {
            changes.push((Kind::Store, at, shifted));
        }
    }
    for (at, passes) in kernel.guards() {
        let register = kernel.lines[at]
            .split([' ', '\t', ','])
            .find(|part| part.starts_with('%'));
        let comparison = if passes { "eq" } else { "ne" };
        let constant = format!(
            "setp.{comparison}.u32 {}, 0, 0;",
            register.expect("a result")
        );
        changes.push((Kind::Guard, at, constant));
    }
    sources.files_of(&lines);
    let mut counts = HashMap::new();
    let mut copies = HashMap::new();
    changes
        .into_iter()
        .filter_map(|(kind, at, changed)| {
            let source = sources.line(&kernel.lines[..at]);
            let count = counts.entry((kind.name(), source.clone())).or_insert(0);
            *count += 1;
            let copies = copies
                .entry((kind.name(), kernel.location(at)))
                .or_insert(0);
            *copies += 1;
            let is_one_of_many = matches!(kind, Kind::Guard | Kind::Store);
            if is_one_of_many && *copies > MAX_COPIES {
                return None;
            }
            Some(Mutant {
                kind,
                source,
                copy: *count - 1,
                statement: kernel.lines[at].to_owned(),
                line: numbers[begin + at],
                changed,
            })
        })
        .collect()
}

/// A store to global memory whose address is one element further.
fn shifted(line: &str) -> Option<String> {
    let rest = line.strip_prefix("st.global.")?;
    let (opcode, rest) = rest.split_once(char::is_whitespace)?;
    let bits: u32 = opcode.rsplit('.').next()?.get(1..)?.parse().ok()?;
    let (address, values) = rest.split_once(']')?;
    let (register, offset) = address.split_once('+').unwrap_or((address, "0"));
    let offset = offset.parse::<i64>().ok()? + i64::from(bits / 8);
    Some(format!("st.global.{opcode} {register}+{offset}]{values}"))
}

/// The body of a kernel.
struct Kernel<'a> {
    lines: Vec<&'a str>,
    /// The line of each label.
    labels: HashMap<&'a str, usize>,
    /// The lines that set each predicate.
    setters: HashMap<&'a str, Vec<usize>>,
    /// Registers that depend on the thread's or the block's index.
    by_thread: HashSet<&'a str>,
    /// Branches that close a loop: (from, to).
    back_edges: HashSet<(usize, usize)>,
}

/// The registers that an instruction names, the one that it sets before the others.
fn registers(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c == '%' || c == '.' || c == '_' || c.is_ascii_alphanumeric();
    line.split(move |c| !is_part(c))
        .filter(|word| word.starts_with('%'))
}

impl<'a> Kernel<'a> {
    /// Where in the source a line comes from: file, line and column by `.loc`.
    fn location(&self, at: usize) -> Option<&'a str> {
        let before = self.lines[..at].iter().rev();
        before.copied().find(|line| line.starts_with(".loc"))
    }

    fn new(lines: &[&'a str]) -> Self {
        let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        let (mut labels, mut setters) = (HashMap::new(), HashMap::<_, Vec<usize>>::new());
        for (at, line) in lines.iter().enumerate() {
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label, at);
            }
            if let Some(result) = registers(line)
                .next()
                .filter(|name| name.starts_with("%p") && !line.starts_with('@'))
            {
                setters.entry(result).or_default().push(at);
            }
        }
        let mut kernel = Kernel {
            lines,
            labels,
            setters,
            by_thread: [
                "%tid.x", "%tid.y", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%laneid",
            ]
            .into(),
            back_edges: HashSet::new(),
        };
        kernel.back_edges = kernel.find_back_edges();
        while kernel.spread_dependence() {}
        kernel
    }

    /// Notes what is computed from what depends on the thread's index; whether there was any.
    fn spread_dependence(&mut self) -> bool {
        let before = self.by_thread.len();
        for line in &self.lines {
            let mut names = registers(line);
            // What lies in memory is data, whichever instruction reads it.
            let is_data =
                line.starts_with("ld.") || line.starts_with("st.") || line.starts_with('@');
            if let Some(result) = names.next()
                && !is_data
                && names.any(|name| self.by_thread.contains(name))
            {
                self.by_thread.insert(result);
            }
        }
        self.by_thread.len() > before
    }

    /// The comparisons that guard accesses to memory, each with the result that lets all threads
    /// pass.
    fn guards(&self) -> Vec<(usize, bool)> {
        let mut guards = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            let Some((predicate, guarded)) = line
                .strip_prefix('@')
                .and_then(|line| line.split_once([' ', '\t']))
            else {
                continue;
            };
            let (name, negated) = match predicate.strip_prefix('!') {
                Some(name) => (name, true),
                None => (predicate, false),
            };
            if is_access(guarded.trim_start()) {
                self.leaves(name, !negated, &mut guards);
            }
            let Some(target) = self.target(guarded) else {
                continue;
            };
            // Whether a loop goes on: threads that go on access memory.
            match (self.comes_back(target, at), self.comes_back(at + 1, at)) {
                (true, false) => self.leaves(name, !negated, &mut guards),
                (false, true) => self.leaves(name, negated, &mut guards),
                _ => self.sides(at, target, name, negated, &mut guards),
            }
        }
        guards.sort_unstable();
        guards.dedup();
        guards
    }

    /// The comparisons of a branch that belongs to no loop's end.
    fn sides(
        &self,
        at: usize,
        target: usize,
        name: &str,
        negated: bool,
        guards: &mut Vec<(usize, bool)>,
    ) {
        // Which way the threads go that access memory.
        let (taken, not_taken) = (self.reach(target), self.reach(at + 1));
        let accesses = |side: &HashSet<usize>, other: &HashSet<usize>, is: fn(&str) -> bool| {
            side.difference(other).any(|&at| is(self.lines[at]))
        };
        let sides = |is: fn(&str) -> bool| {
            [
                (true, accesses(&taken, &not_taken, is)),
                (false, accesses(&not_taken, &taken, is)),
            ]
        };
        // Threads that are kept from global memory may fill shared memory with zeros instead.
        let sides = match sides(is_global_access) {
            [(_, false), (_, false)] => sides(is_access),
            global => global,
        };
        for (taken, _) in sides.into_iter().filter(|(_, accesses)| *accesses) {
            self.leaves(name, taken != negated, guards);
        }
    }

    /// Whether a line can be reached again from another.
    fn comes_back(&self, from: usize, to: usize) -> bool {
        let (mut reached, mut pending) = (HashSet::new(), vec![from]);
        while let Some(at) = pending.pop() {
            if at == to {
                return true;
            }
            if reached.insert(at) {
                pending.extend(self.successors(at));
            }
        }
        false
    }

    /// The comparisons that a predicate is made of, each with the result that makes the predicate
    /// `wanted`.
    fn leaves(&self, name: &str, wanted: bool, leaves: &mut Vec<(usize, bool)>) {
        for &at in self.setters.get(name).into_iter().flatten() {
            let line = self.lines[at];
            let opcode = line.split(char::is_whitespace).next().unwrap_or_default();
            match opcode {
                "and.pred" | "or.pred" => {
                    for part in registers(line).skip(1) {
                        self.leaves(part, wanted, leaves);
                    }
                }
                "not.pred" => {
                    for part in registers(line).skip(1) {
                        self.leaves(part, !wanted, leaves);
                    }
                }
                _ if opcode.starts_with("setp.")
                    && registers(line)
                        .skip(1)
                        .any(|name| self.by_thread.contains(name)) =>
                {
                    leaves.push((at, wanted));
                }
                _ => {}
            }
        }
    }

    /// The line that a branch goes to.
    fn target(&self, line: &str) -> Option<usize> {
        let label = line.rsplit([' ', '\t']).next()?.strip_suffix(';')?;
        self.labels.get(label).copied()
    }

    /// The lines that may follow a line.
    fn successors(&self, at: usize) -> impl Iterator<Item = usize> {
        let line = self.lines[at];
        let ends = ["bra", "ret", "exit", "trap"];
        let goes_on = !ends.iter().any(|opcode| line.starts_with(opcode));
        let next = (goes_on && at + 1 < self.lines.len()).then_some(at + 1);
        self.target(line).into_iter().chain(next)
    }

    /// The lines from which each line is reached by going back: the ends of its loops.
    fn find_back_edges(&self) -> HashSet<(usize, usize)> {
        let (mut entered, mut left) = (HashSet::from([0]), HashSet::new());
        let mut path = vec![(0, self.successors(0).collect::<Vec<_>>())];
        let mut back = HashSet::new();
        while let Some((at, pending)) = path.last_mut() {
            let at = *at;
            match pending.pop() {
                None => {
                    left.insert(at);
                    path.pop();
                }
                Some(next) if entered.insert(next) => {
                    path.push((next, self.successors(next).collect()))
                }
                Some(next) if !left.contains(&next) => _ = back.insert((at, next)),
                Some(_) => {}
            }
        }
        back
    }

    /// The lines that may follow a line without going back.
    fn reach(&self, from: usize) -> HashSet<usize> {
        let (mut reached, mut pending) = (HashSet::new(), vec![from]);
        while let Some(at) = pending.pop() {
            if reached.insert(at) {
                let next = self.successors(at);
                pending.extend(next.filter(|&next| !self.back_edges.contains(&(at, next))));
            }
        }
        reached
    }
}

fn is_access(line: &str) -> bool {
    is_global_access(line) || line.starts_with("ld.shared") || line.starts_with("st.shared")
}

fn is_global_access(line: &str) -> bool {
    let opcodes = ["ld.global", "st.global", "atom.", "red.", "cp.async"];
    opcodes.iter().any(|opcode| line.starts_with(opcode))
}
