//! Which GPUs run a kernel: from the target of its PTX, and from its instructions.
//!
//! PTX runs on the compute capability of its `.target` and on all later ones, but for targets with
//! a suffix: those with an `a` run on their own compute capability alone, those with an `f` on
//! later ones of the same family, which is the same major number (PTX ISA, ".target";
//! CUDA programming guide, "Architecture-specific features").
//!
//! A target says what a kernel was compiled for, and not what it needs: the same source can be
//! compiled for an older GPU if that has all the units that its instructions use.
//! [`introduced`] has the first target of each such instruction, from the "Target ISA notes" of the
//! PTX ISA. An instruction that compilers replace by others on older GPUs needs none: `fma.rn.f32`
//! was `mad.f32` before 2.0, and `ld.global.nc` was `ld.global` before 3.5.

use std::fmt;

/// A target of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Target {
    /// Compute capability as `10 * major + minor`: 90 for 9.0.
    pub compute_capability: u32,
    /// Which others run it.
    pub reach: Reach,
}

/// On which GPUs besides its own PTX of a target runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// All later ones.
    Later,
    /// Later ones of the same major number.
    Family,
    /// None: architecture-specific.
    Own,
}

impl Target {
    /// A target without a suffix.
    pub const fn from(compute_capability: u32) -> Self {
        Target {
            compute_capability,
            reach: Reach::Later,
        }
    }

    /// Parses `sm_70` or `sm_90a`; `None` where it is no target.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("sm_")?;
        let (digits, reach) = match text.as_bytes().last()? {
            b'a' => (&text[..text.len() - 1], Reach::Own),
            b'f' => (&text[..text.len() - 1], Reach::Family),
            _ => (text, Reach::Later),
        };
        Some(Target {
            compute_capability: digits.parse().ok()?,
            reach,
        })
    }

    /// Whether a GPU of this compute capability, `10 * major + minor`, runs it.
    pub const fn runs_on(self, compute_capability: u32) -> bool {
        match self.reach {
            Reach::Later => compute_capability >= self.compute_capability,
            Reach::Family => {
                compute_capability >= self.compute_capability
                    && compute_capability / 10 == self.compute_capability / 10
            }
            Reach::Own => compute_capability == self.compute_capability,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.reach {
            Reach::Later => "",
            Reach::Family => "f",
            Reach::Own => "a",
        };
        write!(f, "sm_{}{suffix}", self.compute_capability)
    }
}

/// The architecture-specific target of 9.0.
const SM_90A: Target = Target {
    compute_capability: 90,
    reach: Reach::Own,
};

/// Beginnings of opcodes with the first target that has the unit behind them. Of several that an
/// opcode begins with, the longest holds.
const INTRODUCED: &[(&str, Target)] = &[
    ("vote", Target::from(12)),
    ("shfl", Target::from(30)),
    ("match.", Target::from(70)),
    ("redux.", Target::from(80)),
    ("atom.shared", Target::from(12)),
    ("wmma.", Target::from(70)),
    ("mma.", Target::from(80)),
    ("mma.sync.aligned.m8n8k4.row.col.f16", Target::from(70)),
    ("mma.sync.aligned.m8n8k4.row.col.f32.f16", Target::from(70)),
    ("mma.sync.aligned.m16n8k8.row.col.f16", Target::from(75)),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16", Target::from(75)),
    ("mma.sync.aligned.m16n8k4.row.col.f64", Target::from(90)),
    ("mma.sync.aligned.m16n8k8.row.col.f64", Target::from(90)),
    ("mma.sync.aligned.m16n8k16.row.col.f64", Target::from(90)),
    ("ldmatrix.", Target::from(75)),
    ("stmatrix.", Target::from(90)),
    ("cp.async.", Target::from(80)),
    ("cp.async.bulk", Target::from(90)),
    ("cp.reduce.async.bulk", Target::from(90)),
    ("mbarrier.", Target::from(80)),
    ("prefetch.tensormap", Target::from(90)),
    ("fence.proxy", Target::from(90)),
    ("mapa.", Target::from(90)),
    ("barrier.cluster", Target::from(90)),
    ("griddepcontrol.", Target::from(90)),
    ("elect.", Target::from(90)),
    ("wgmma.", SM_90A),
    ("setmaxnreg.", SM_90A),
];

/// The first target that has the unit behind an instruction, by its opcode with all modifiers;
/// `None` where every GPU has it, or a compiler replaces it by what it has.
pub fn introduced(opcode: &str) -> Option<Target> {
    let begins = INTRODUCED
        .iter()
        .filter(|(beginning, _)| opcode.starts_with(beginning));
    if let Some((_, target)) = begins.max_by_key(|(beginning, _)| beginning.len()) {
        return Some(*target);
    }
    // Arithmetic by its type: in f64, in 16 bits.
    let (name, _) = opcode.split_once('.')?;
    let arithmetic = ["add", "sub", "mul", "fma", "mad", "neg", "min", "max"].contains(&name);
    let types = opcode.split('.').skip(1);
    let of_type = |kind: &str| match kind {
        "f64" if name == "atom" || name == "red" => Some(Target::from(60)),
        "f64" if arithmetic => Some(Target::from(13)),
        "f16" | "f16x2" if arithmetic => Some(Target::from(53)),
        "bf16" | "bf16x2" if arithmetic => Some(Target::from(80)),
        _ => None,
    };
    types
        .filter_map(of_type)
        .max_by_key(|target| target.compute_capability)
}

/// The instruction of a kernel's PTX that needs the newest GPU, with what it needs; `None` where
/// every GPU has all of them.
///
/// The text is read line by line, as compilers write it: an instruction, behind a predicate or
/// none, to a line.
pub fn newest_instruction(ptx: &str) -> Option<(&str, Target)> {
    let needs = opcodes(ptx).filter_map(|opcode| Some((opcode, introduced(opcode)?)));
    let rank = |target: Target| (target.compute_capability, target.reach == Reach::Own);
    needs.reduce(|newest, next| match rank(next.1) > rank(newest.1) {
        true => next,
        false => newest,
    })
}

/// The opcodes of a text, with their modifiers.
fn opcodes(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches('{').trim_start();
        let line = match line.strip_prefix('@') {
            Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim_start(),
            None => line,
        };
        let opcode = line.split([' ', '\t', ';']).next()?;
        opcode
            .starts_with(|first: char| first.is_ascii_lowercase())
            .then_some(opcode)
    })
}
