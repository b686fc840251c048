//! Whatever way accesses are recorded in, and on however many workers, the findings are the same,
//! and so are their counts.

use std::fmt::Write;

use super::Racecheck;
use super::read_lists::ReadLists;
use crate::kernel::Module;
use crate::launch::{Args, LaunchConfig};
use crate::memory::Memory;
use crate::sanitize::{Finding, Sanitizer, Tool};

/// Words of each of the buffers of global memory, and of the shared one.
const WORDS: u32 = 512;

/// Kernels that are made.
const KERNELS: u64 = 400;

/// Random numbers, by xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % u64::from(limit)) as u32
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u32) as usize]
    }
}

/// A kernel with accesses at addresses that depend on nothing but the thread and the round.
struct Maker {
    random: Random,
    body: String,
    /// Accesses so far: none stores what another does.
    accesses: u32,
    /// Of a hundred accesses, those that write plainly, and those that are strong.
    share: [u32; 2],
    /// Buffers that nothing is written to, one bit each.
    kept: u32,
    /// Whether there are accesses to parts of words.
    has_bytes: bool,
}

impl Maker {
    fn line(&mut self, text: &str) {
        _ = writeln!(self.body, "    {text}");
    }

    /// Sets `%r10` to the byte at which a thread accesses a buffer.
    fn place(&mut self, bytes: u32) {
        let elements = 4 * WORDS / bytes;
        let stride = *[0, 1, 1, 1, 1, 2, 17][..]
            .get(self.random.below(7) as usize)
            .unwrap_or(&1);
        let (of_block, of_round) = (
            [0, 0, 64, 37][self.random.below(4) as usize],
            [0, 0, 64, 5][self.random.below(4) as usize],
        );
        let thread = self
            .random
            .one_of(&["%thread", "%thread", "%lane", "%warp"]);
        let from = self.random.below(elements);
        self.line(&format!("mad.lo.u32 %r10, {thread}, {stride}, {from};"));
        self.line(&format!("mad.lo.u32 %r10, %block, {of_block}, %r10;"));
        self.line(&format!("mad.lo.u32 %r10, %round, {of_round}, %r10;"));
        if self.random.below(8) == 0 {
            self.line("xor.b32 %r10, %r10, 5;");
        }
        self.line(&format!("and.b32 %r10, %r10, {};", elements - 1));
        self.line(&format!("mul.lo.u32 %r10, %r10, {bytes};"));
    }

    /// An access of a random kind; loads of one place may be several.
    fn access(&mut self) {
        let buffer = self.random.below(4);
        let (space, base) = match buffer {
            3 => ("shared", "%r4".to_owned()),
            buffer => ("global", format!("%x{buffer}")),
        };
        let kind = match self.kept >> buffer & 1 {
            0 => self.random.below(100),
            _ => 100,
        };
        let is_strong = (self.share[0]..self.share[0] + self.share[1]).contains(&kind);
        let sizes = if self.has_bytes { 9 } else { 6 };
        let bytes = [4, 4, 4, 4, 8, 16, 1, 1, 2][self.random.below(sizes) as usize];
        // What memory holds is compared with what is stored: blocks that run at one time must not
        // store the same.
        let may_repeat = space == "shared";
        let bytes = match kind < self.share[0] && !may_repeat {
            _ if is_strong => 4,
            true => bytes.max(4),
            false => bytes,
        };
        self.place(bytes);
        let at = self.address(space, &base);
        let guard = self.random.one_of(&["", "", "", "@%p1 ", "@%p2 ", "@%p3 "]);
        self.accesses += 1;
        let form = match bytes {
            1 => "b8",
            2 => "b16",
            4 => "b32",
            8 => "b64",
            _ => "v4.b32",
        };
        let value = match bytes {
            8 => "%x12",
            16 => "{%r12, %r12, %r12, %r12}",
            _ => "%r12",
        };
        let number = 1000 * self.accesses;
        self.line(&format!("add.u32 %r12, %unique, {number};"));
        self.line("mov.b64 %x12, {%r12, %r12};");
        match kind {
            _ if is_strong => self.strong(guard, space, &at),
            kind if kind < self.share[0] => {
                if may_repeat && bytes < 16 && self.random.below(6) == 0 {
                    self.line("mov.b32 %r12, 7;");
                    self.line("cvt.u64.u32 %x12, %r12;");
                }
                self.line(&format!("{guard}st.{space}.{form} [{at}], {value};"));
            }
            _ => self.loads(guard, (space, form), &at, &value.replace("12", "13")),
        }
    }

    /// An address in a register of its own: loads are grouped by that.
    fn address(&mut self, space: &str, base: &str) -> String {
        let number = self.accesses;
        match space {
            "shared" => {
                self.line(&format!("add.u32 %s{number}, {base}, %r10;"));
                format!("%s{number}")
            }
            _ => {
                self.line("cvt.u64.u32 %x10, %r10;");
                self.line(&format!("add.u64 %y{number}, {base}, %x10;"));
                format!("%y{number}")
            }
        }
    }

    fn strong(&mut self, guard: &str, space: &str, at: &str) {
        let text = match self.random.below(4) {
            0 => format!("ld.volatile.{space}.b32 %r13, [{at}];"),
            1 => format!("st.volatile.{space}.b32 [{at}], %r12;"),
            2 => format!("atom.{space}.cas.b32 %r13, [{at}], %r12, %r12;"),
            _ => format!("atom.{space}.add.u32 %r13, [{at}], %r12;"),
        };
        self.line(&format!("{guard}{text}"));
    }

    /// Plain loads, from one address on.
    fn loads(&mut self, guard: &str, (space, form): (&str, &str), at: &str, to: &str) {
        self.line(&format!("{guard}ld.{space}.{form} {to}, [{at}];"));
        if form == "b32" && guard.is_empty() && self.random.below(3) == 0 {
            for more in 1..=self.random.below(3) {
                // The buffers have room behind them.
                self.line(&format!("ld.{space}.b32 %r13, [{at}+{}];", 128 * more));
            }
        }
    }

    fn order(&mut self) {
        // With strong accesses, fences order blocks as these happen to run.
        let kinds = if self.share[1] == 0 { 8 } else { 6 };
        let text = match self.random.below(kinds) {
            0..=4 => "bar.sync 0;",
            5 => "bar.warp.sync -1;",
            6 => "membar.gl;",
            _ => "fence.acq_rel.cta;",
        };
        self.line(text);
    }

    /// Of a hundred steps, `ordering` order threads.
    fn kernel(mut self, ordering: u32) -> String {
        let loops = self.random.below(3) != 0;
        let steps = 2 + self.random.below(9);
        for _ in 0..steps {
            match self.random.below(100) < ordering {
                true => self.order(),
                false => self.access(),
            }
        }
        let body = std::mem::take(&mut self.body);
        // What was only read until then is written to.
        (self.share, self.kept) = ([100, 0], 0);
        for _ in 0..self.random.below(3) {
            self.access();
        }
        let again = match loops {
            true => "setp.lt.u32 %p0, %round, 5; @%p0 bra AGAIN;",
            false => "",
        };
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry test(.param .u64 a, .param .u64 b, .param .u64 c)
{{
    .reg .b32 %r<32>; .reg .b64 %x<32>; .reg .pred %p<8>;
    .reg .b32 %thread; .reg .b32 %lane; .reg .b32 %warp; .reg .b32 %block; .reg .b32 %round;
    .reg .b32 %unique; .reg .b32 %s<64>; .reg .b64 %y<64>;
    .shared .align 16 .b8 tile[{bytes}];
    ld.param.u64 %x0, [a]; ld.param.u64 %x1, [b]; ld.param.u64 %x2, [c];
    mov.u32 %thread, %tid.x; and.b32 %lane, %thread, 31; shr.u32 %warp, %thread, 5;
    mov.u32 %block, %ctaid.x; mov.u32 %round, 0; mov.u32 %r4, tile;
    mad.lo.u32 %unique, %block, 1000000, %thread;
    setp.lt.u32 %p1, %lane, 9; setp.eq.u32 %p2, %warp, 1; setp.eq.u32 %p3, %block, 2;
AGAIN:
{body}    add.u32 %round, %round, 1;
    {again}
{tail}    ret;
}}
",
            bytes = 4 * WORDS + 1024,
            tail = self.body,
        )
    }
}

/// A kernel, and its threads and blocks.
fn kernel(seed: u64) -> (String, [u32; 2]) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    // In kernels where all races with all, nothing can be missed.
    let share = [
        [2, 10, 40][random.below(3) as usize],
        [0, 3, 20][random.below(3) as usize],
    ];
    let threads = [32, 64, 96, 128][random.below(4) as usize];
    let extent = [threads, 1 + random.below(6)];
    let kept = random.below(16);
    let ordering = [0, 0, 10, 40][random.below(4) as usize];
    let has_bytes = random.below(4) == 0;
    let maker = Maker {
        random,
        body: String::new(),
        accesses: 0,
        share,
        kept,
        has_bytes,
    };
    (maker.kernel(ordering), extent)
}

/// What is found with lists of this many entries, on some workers.
fn findings(text: &str, [threads, blocks]: [u32; 2], limit: usize, workers: usize) -> Vec<Finding> {
    let memory = Memory::with_capacity(1 << 16);
    let mut args = Args::new();
    for _ in 0..3 {
        let bytes = u64::from(4 * WORDS + 1024);
        args.push_u64(memory.alloc(bytes).expect("room"));
    }
    let config = LaunchConfig {
        workers: Some(workers),
        ..LaunchConfig::new([blocks, 1, 1], [threads, 1, 1])
    };
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = module.kernel("test").expect("it is there");
    // Loads are reported in groups to a sanitizer alone.
    let mut sanitizer = Sanitizer::new(&[Tool::Racecheck]);
    sanitizer.racecheck = Some(Racecheck {
        read_lists: ReadLists::new(0, false, limit),
        ..Racecheck::new()
    });
    let found = sanitizer.launch(&kernel, &memory, &config, &args);
    found.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn lists_of_reads_and_workers_change_no_finding() {
    let (mut clean, mut with_races) = (0, 0);
    for seed in 1..=KERNELS {
        let (text, extent) = kernel(seed);
        let expected = findings(&text, extent, 0, 1);
        match expected.is_empty() {
            true => clean += 1,
            false => with_races += 1,
        }
        for (limit, workers) in [
            (1 << 20, 1),
            (30, 1),
            (12, 2),
            (0, 3),
            (1 << 20, 3),
            (0, 4),
            (30, 4),
        ] {
            let found = findings(&text, extent, limit, workers);
            assert_eq!(
                found, expected,
                "seed {seed}, {limit} entries, {workers} workers, {extent:?}\n{text}"
            );
        }
    }
    // Both kinds of kernels are among them.
    assert!(
        clean > KERNELS / 10 && with_races > KERNELS / 4,
        "{clean} and {with_races}"
    );
}
