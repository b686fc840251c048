//! Loads of constants at addresses that lanes compute: what the constant cache is asked for.
//!
//! The cache serves the addresses of a request one after the other, and a word that is not near the
//! units once more when it has come. Constants do not change, so the assembler makes fewer requests
//! than there are loads in PTX:
//!
//! - What a loop loads in every round from the same addresses is loaded ahead of it, if a basic
//!   block has at most [`MAX_AHEAD`] such loads. Those of larger blocks are not moved. Warps have
//!   no other work before their loops, so these requests are counted apart.
//! - Two neighbouring words are one request, if the first one's address is a multiple of 8 and both
//!   addresses are sums of the same registers and of numbers. Where a number is set by `or` instead
//!   of added, the assembler does not see it.
//!
//! Both rules are what `ptxas` 13.0 does to loops of `matvec_thread_per_element` that are cut to
//! fewer columns. Loads at addresses that are known beforehand are operands of instructions, and
//! none of these.

use ptx_emulator::{Instruction, InstructionId, Kernel, MemoryAccess};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::HashMap;
use std::sync::Arc;

use super::chain::reads_and_writes;

/// Bytes of constants that are near the units (Jia et al., arXiv 1804.06826, table 3.1: "L1
/// constant cache").
pub(super) const NEAR_BYTES: f64 = 2048.0;

/// Most loads of a basic block that the assembler moves ahead of a loop.
const MAX_AHEAD: usize = 9;

const WORD_BYTES: u64 = 4;

/// Counts requests for constants.
#[derive(Clone, Debug, Default)]
pub(super) struct Constants {
    /// Addresses of requests, but for those ahead of loops.
    addresses: u64,
    /// Addresses of requests ahead of loops: each warp's first with a load that moves there.
    ahead: u64,
    /// Words that they ask for.
    words: u64,
    /// The distinct ones of these.
    touched: FxHashSet<u64>,
    program: Arc<FxHashMap<InstructionId, Indexed>>,
    /// What the lanes of each warp of the block at hand have asked for last with each load.
    last: FxHashMap<(u32, InstructionId), [u64; 32]>,
}

/// What is known beforehand of a load.
#[derive(Clone, Copy, Debug)]
struct Indexed {
    /// Whether its basic block has so few that they move ahead of a loop.
    few: bool,
    /// Whether another load of its basic block is seen to have the word before.
    follows: bool,
}

impl Constants {
    /// Addresses that the cache serves while a loop runs: those of words from afar twice.
    pub fn served(&self) -> f64 {
        let bytes = (self.touched.len() as u64 * WORD_BYTES) as f64;
        self.addresses as f64 + self.words as f64 * far_share(bytes)
    }

    /// Addresses that it serves ahead of loops.
    pub fn served_ahead(&self) -> f64 {
        self.ahead as f64
    }

    /// For another thread's blocks of the same launch.
    pub fn fork(&self) -> Self {
        Constants {
            program: self.program.clone(),
            ..Self::default()
        }
    }

    pub fn join(&mut self, worker: Self) {
        self.addresses += worker.addresses;
        self.ahead += worker.ahead;
        self.words += worker.words;
        self.touched.extend(worker.touched);
    }

    pub fn launch_start(&mut self, kernel: &Kernel) {
        self.program = Arc::new(indexed(kernel));
    }

    pub fn block_start(&mut self) {
        self.last.clear();
    }

    pub fn load(&mut self, warp: u32, access: &MemoryAccess<'_>) {
        let Some(&Indexed { few, follows }) = self.program.get(&access.instruction) else {
            return;
        };
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        let asked = *access.addresses;
        let before = self.last.insert((warp, access.instruction), asked);
        if few && before.is_some_and(|before| lanes.clone().all(|lane| before[lane] == asked[lane]))
        {
            return;
        }
        let addresses: FxHashSet<u64> = lanes.map(|lane| asked[lane]).collect();
        if few && before.is_none() {
            self.ahead += addresses.len() as u64;
            return;
        }
        let words = u64::from(access.bytes).div_ceil(WORD_BYTES);
        let is_second = |address: &u64| address % (2 * WORD_BYTES) == WORD_BYTES;
        if !(follows && words == 1 && addresses.iter().all(is_second)) {
            self.addresses += addresses.len() as u64;
        }
        self.words += addresses.len() as u64 * words;
        for address in addresses {
            let words = (0..words).map(|word| address + word * WORD_BYTES);
            self.touched.extend(words);
        }
    }
}

/// The share of `bytes` bytes of constants that is not near the units.
pub(super) fn far_share(bytes: f64) -> f64 {
    (1.0 - NEAR_BYTES / bytes.max(1.0)).max(0.0)
}

/// The loads of a kernel from constant memory and from parameters at addresses that lanes compute.
fn indexed(kernel: &Kernel) -> FxHashMap<InstructionId, Indexed> {
    let mut sums = Sums::default();
    let mut found = FxHashMap::default();
    for block in kernel.basic_blocks() {
        let mut loads: Vec<(InstructionId, Sum)> = Vec::new();
        for id in block.instructions() {
            let instruction = kernel.instruction(id);
            let opcode = instruction.opcode();
            if opcode.starts_with("ld.param") || opcode.starts_with("ld.const") {
                let address = sums.address(instruction.text());
                loads.extend(address.filter(Sum::is_computed).map(|sum| (id, sum)));
            }
            sums.execute(id, instruction);
        }
        let few = loads.len() <= MAX_AHEAD;
        found.extend(loads.iter().map(|(id, sum)| {
            let mut others = loads.iter();
            let follows = others.any(|(_, other)| sum.is_word_after(other));
            (*id, Indexed { few, follows })
        }));
    }
    found
}

/// A sum of names and a number.
#[derive(Clone, Debug, Default)]
struct Sum {
    /// In order: registers, each with the instruction that wrote it, and variables.
    terms: Vec<(String, Option<InstructionId>)>,
    number: i64,
}

impl Sum {
    /// Whether registers are in it, beside variables.
    fn is_computed(&self) -> bool {
        self.terms.iter().any(|(_, written)| written.is_some())
    }

    fn is_word_after(&self, other: &Sum) -> bool {
        self.terms == other.terms && self.number == other.number + WORD_BYTES as i64
    }

    fn plus(mut self, other: Sum) -> Sum {
        self.terms.extend(other.terms);
        self.terms.sort();
        self.number = self.number.wrapping_add(other.number);
        self
    }
}

/// The registers that hold accumulators, as the instructions before have left them.
#[derive(Clone, Debug, Default)]
struct Sums(HashMap<String, Sum>);

impl Sums {
    fn value(&self, operand: &str) -> Sum {
        if let Ok(number) = operand.parse() {
            return Sum {
                terms: Vec::new(),
                number,
            };
        }
        let known = self.0.get(operand).cloned();
        known.unwrap_or_else(|| Sum {
            terms: vec![(operand.to_owned(), None)],
            number: 0,
        })
    }

    /// The address in an instruction's brackets.
    fn address(&self, text: &str) -> Option<Sum> {
        let (_, address) = text.split_once('[')?;
        let (address, _) = address.split_once(']')?;
        let terms = address.split('+').map(|term| self.value(term.trim()));
        terms.reduce(Sum::plus)
    }

    fn execute(&mut self, id: InstructionId, instruction: Instruction<'_>) {
        let text = instruction.text();
        let (opcode, operands) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
        let sum = match (opcode, &operands[..]) {
            ("mov.b64" | "mov.u64", &[to, from]) => Some((to, self.value(from))),
            ("add.s64" | "add.u64", &[to, one, other]) => {
                Some((to, self.value(one).plus(self.value(other))))
            }
            _ => None,
        };
        if let Some((to, sum)) = sum {
            self.0.insert(to.to_owned(), sum);
            return;
        }
        let [_, writes] = reads_and_writes(instruction);
        for written in writes {
            let sum = Sum {
                terms: vec![(written.to_owned(), Some(id))],
                number: 0,
            };
            self.0.insert(written.to_owned(), sum);
        }
    }
}
