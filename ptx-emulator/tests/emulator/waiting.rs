//! Blocks of an ordinary launch that wait for each other, under observers: on one worker none may
//! run to its end before the others begin.

use crate::common::{kernel, module};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{
    Args, Counters, Event, Interest, LaunchConfig, LaunchError, Memory, Observer, Sanitizer,
};

const BLOCKS: u32 = 5;

/// A barrier of the grid by a counter in the data's first word, for the `phase`-th time; `fence`
/// orders what the block does before it and behind it.
fn sync(phase: u32, fence: &str) -> String {
    format!(
        "bar.sync 0; setp.ne.u32 %p7, %thread, 0; @%p7 bra OUT{phase}; {fence}
         atom.global.add.u32 %r11, [%base], 1;
         POLL{phase}: ld.volatile.global.u32 %r13, [%base];
         setp.lt.u32 %p5, %r13, {}; @%p5 bra POLL{phase};
         {fence} OUT{phase}: bar.sync 0;",
        phase * BLOCKS
    )
}

/// Each block writes its word, and reads that of the next one behind a barrier.
fn exchange(fence: &str) -> String {
    format!(
        "mov.u32 %r1, %ctaid.x; mad.wide.u32 %x1, %r1, 4, %base; add.u32 %r2, %r1, 1;
         rem.u32 %r2, %r2, {BLOCKS}; mad.wide.u32 %x2, %r2, 4, %base; add.u32 %r3, %r1, 70;
         setp.eq.u32 %p6, %thread, 0; @%p6 st.global.u32 [%x1+64], %r3; {}
         ld.global.u32 %r4, [%x2+64]; {}
         @%p6 st.global.u32 [%x1+64], %r4;",
        sync(1, fence),
        sync(2, fence),
    )
}

fn observed<O: Observer>(body: &str, workers: usize, observer: &mut O) -> Result<u32, LaunchError> {
    let kernel = kernel(&module(body));
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(256).expect("room");
    memory.write(data, &[0; 256]).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig {
        workers: Some(workers),
        instruction_budget: 1 << 28,
        ..LaunchConfig::new([BLOCKS, 1, 1], [64, 1, 1])
    };
    kernel.launch_observed(&memory, &config, &args, observer)?;
    let mut first = [0; 4];
    memory.read(data + 64, &mut first).expect("in bounds");
    Ok(u32::from_le_bytes(first))
}

/// What all sanitizers find, without how often.
fn findings(body: &str, workers: usize) -> Vec<String> {
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    observed(body, workers, &mut sanitizer).unwrap_or_else(|error| panic!("{error}"));
    let found = sanitizer.findings();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn sanitizers_find_nothing_where_a_barrier_orders() {
    for workers in [1, 2] {
        let body = exchange("fence.acq_rel.gpu;");
        let found = findings(&body, workers);
        assert_eq!(found, [""; 0], "{workers} workers");
    }
}

/// The findings are those of blocks that run at once, each on a worker of its own.
#[test]
fn findings_are_those_of_blocks_that_run_at_once() {
    let fence = "fence.acq_rel.gpu;";
    let race = "setp.eq.u32 %p4, %thread, 40; @%p4 ld.shared.u32 %r4, [cell];
        @%p4 ld.shared.u32 %r4, [never]; setp.eq.u32 %p3, %r4, 77; @%p3 trap;";
    let cells = ".shared .align 4 .b8 cell[4]; .shared .align 4 .b8 never[4];";
    let within = |first: &str, second: &str| {
        format!(
            "{cells} setp.eq.u32 %p6, %thread, 0; @%p6 st.shared.u32 [cell], %thread; {first}
             @%p6 atom.global.add.u32 %r11, [%base], 1;
             POLL: ld.volatile.global.u32 %r13, [%base]; setp.lt.u32 %p5, %r13, {BLOCKS};
             @%p5 bra POLL; {second}"
        )
    };
    let behind = |what: &str| exchange(fence) + cells + what;
    for (body, expected) in [
        // Between blocks, since nothing orders.
        (exchange(""), 1),
        // Within a block: before and after it waits, and wholly after it.
        (within("", race), 2),
        (within(race, ""), 2),
        (
            behind(&format!("@%p6 st.shared.u32 [cell], %thread; {race}")),
            2,
        ),
        (within("bar.sync 0;", "@%p6 st.shared.u32 [cell], %r13;"), 0),
    ] {
        let all = findings(&body, BLOCKS as usize);
        assert_eq!(all.len(), expected, "{all:#?}\n{body}");
        for workers in [1, 2] {
            assert_eq!(findings(&body, workers), all, "{workers} workers\n{body}");
        }
    }
}

/// Counts what an observer of every kind sees that has no executor of its own.
#[derive(Default)]
struct Blocks {
    begun: u32,
    ended: u32,
    stores: u32,
    running: bool,
    joined: u32,
}

impl Observer for Blocks {
    const INTEREST: Interest = Interest::ALL;

    fn fork(&self) -> Self {
        Blocks::default()
    }

    fn join(&mut self, worker: Self) {
        self.begun += worker.begun;
        self.ended += worker.ended;
        self.stores += worker.stores;
        self.joined += 1;
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::BlockStart { .. } => {
                assert!(!std::mem::replace(&mut self.running, true), "one at a time");
                self.begun += 1;
            }
            Event::BlockEnd { .. } => {
                assert!(std::mem::take(&mut self.running));
                self.ended += 1;
            }
            Event::Access { accesses, .. } => {
                accesses.for_each(|access| {
                    self.stores += u32::from(access.kind == ptx_emulator::AccessKind::Store);
                });
            }
            _ => {}
        }
    }
}

#[test]
fn every_block_has_an_observer_of_its_own() {
    let body = exchange("membar.gl;");
    for workers in [1, 2] {
        let mut blocks = Blocks::default();
        let first = observed(&body, workers, &mut blocks).expect("runs");
        assert_eq!(first, 71);
        assert_eq!((blocks.begun, blocks.ended), (BLOCKS, BLOCKS));
        assert_eq!(blocks.stores, 2 * BLOCKS, "by one warp each");
        assert!(blocks.joined >= 4 - workers as u32, "{}", blocks.joined);
        let mut both = (Counters::new(), Sanitizer::new(&[Tool::Racecheck]));
        assert_eq!(observed(&body, workers, &mut both).expect("runs"), 71);
        let total = both.0.total();
        assert_eq!(total.global_stores.requests, 2 * u64::from(BLOCKS));
    }
}

/// A block that polls in a loop that writes something waits as well.
#[test]
fn a_loop_that_polls_may_write() {
    let body = format!(
        "atom.global.add.u32 %r11, [%base], 1;
         POLL: atom.global.inc.u32 %r12, [%base+128], 7; ld.volatile.global.u32 %r13, [%base];
         setp.lt.u32 %p5, %r13, {}; @%p5 bra POLL;",
        64 * BLOCKS
    );
    observed(&body, 1, &mut Counters::new()).expect("runs");
}
