//! Launches under an observer that steps: what it sees is exact, and it changes no result.

use crate::common::{module, module_with};
use ptx_emulator::stepping::{LaneState, Paused, RegisterValue, Resume};
use ptx_emulator::{
    Args, Event, FaultKind, Interest, Kernel, LaunchConfig, LaunchError, Memory, Module, Observer,
    Sanitizer,
};

/// Calls a closure at each pause.
struct Steps<F>(F);

impl<F: FnMut(&dyn Paused) -> Resume + Send> Observer for Steps<F> {
    const INTEREST: Interest = Interest::NONE;
    const STEPS: bool = true;

    fn fork(&self) -> Self {
        unreachable!("one worker")
    }

    fn join(&mut self, _: Self) {}

    fn event(&mut self, _: Event<'_>) {}

    fn paused(&mut self, paused: &dyn Paused) -> Resume {
        (self.0)(paused)
    }
}

fn decoded(text: &str) -> Kernel {
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    module.kernel_for_stepping("test").expect("decodes")
}

/// Runs one block of a kernel on 64 words, the numbers from 0 on, and gives them back.
fn run<O: Observer>(
    kernel: &Kernel,
    threads: u32,
    observer: &mut O,
) -> (Vec<u32>, Result<u64, LaunchError>) {
    let memory = Memory::with_capacity(1 << 20);
    let address = memory.alloc(256).expect("room");
    let bytes: Vec<u8> = (0..64u32).flat_map(u32::to_le_bytes).collect();
    memory.write(address, &bytes).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(address);
    let config = LaunchConfig {
        workers: Some(1),
        instruction_budget: 1_000_000,
        ..LaunchConfig::new([1, 1, 1], [threads, 1, 1])
    };
    let ended = kernel.launch_observed(&memory, &config, &args, observer);
    let mut bytes = vec![0; 256];
    memory.read(address, &mut bytes).expect("in bounds");
    let words = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    (
        words.collect(),
        ended.map(|report| report.warp_instructions),
    )
}

/// The lanes that are about to run `opcode`, and a register of theirs.
fn register_before(paused: &dyn Paused, opcode: &str, name: &str) -> Option<RegisterValue> {
    let step = paused.step()?;
    let instruction = paused.kernel().instruction(step.instruction);
    let group = &paused.groups(step.rank, step.warp)[step.group];
    assert_eq!(group.lanes, step.lanes);
    (instruction.opcode() == opcode)
        .then(|| paused.register(step.rank, step.warp, group, name))
        .flatten()
}

#[test]
fn registers_keep_their_values_when_they_are_used_no_more() {
    let text = module(
        "mul.lo.u32 %r1, %thread, 3;
         add.u32 %r2, %r1, 5;
         xor.b32 %r3, %r2, 255;
         mul.wide.u32 %x1, %r3, %r3;
         setp.gt.u32 %p1, %r2, 20;
         cvt.u16.u32 %h1, %r2;
         add.u32 %r4, %r3, 1;
         mad.wide.u32 %x2, %thread, 4, %base;
         st.global.b32 [%x2], %r4;",
    );
    let mut seen = 0;
    let mut all = Vec::new();
    let mut steps = Steps(|paused: &dyn Paused| {
        let value = |name| register_before(paused, "ret", name);
        let Some(r1) = value("%r1") else {
            return Resume::Run;
        };
        seen += 1;
        let others = [
            "%r2", "%r3", "%x1", "%p1", "%h1", "%r4", "%tid.x", "%laneid",
        ];
        let others = others.map(|name| value(name).unwrap_or_else(|| panic!("no {name}")));
        for lane in 0..31u32 {
            let wide = |value: u32| Some(u64::from(value));
            let (one, two) = (3 * lane, 3 * lane + 5);
            let three = two ^ 255;
            assert_eq!(r1.lane(lane), wide(one));
            let found = others.each_ref().map(|value| value.lane(lane));
            let square = Some(u64::from(three) * u64::from(three));
            let expected = [
                wide(two),
                wide(three),
                square,
                wide(u32::from(two > 20)),
                wide(two),
                wide(three + 1),
                wide(lane),
                wide(lane),
            ];
            assert_eq!(found, expected, "lane {lane}");
        }
        assert_eq!(r1.lane(31), None, "no such thread");
        assert_eq!(r1.lane(u32::MAX), None);
        assert_eq!(value("%r31"), None, "declared, and not used");
        assert_eq!(
            (others[3].bits, others[4].bits, others[2].bits),
            (1, 16, 64)
        );
        let step = paused.step().expect("a step");
        let group = &paused.groups(0, 0)[step.group];
        all = paused.registers(0, 0, group);
        assert_eq!(paused.register(0, 1, group, "%r1"), None, "no such warp");
        assert_eq!(paused.register(7, 0, group, "%r1"), None, "no such block");
        Resume::Run
    });
    let (words, ended) = run(&decoded(&text), 31, &mut steps);
    ended.expect("runs");
    assert_eq!(words[3], ((3 * 3 + 5) ^ 255) + 1);
    assert_eq!(seen, 1);
    let names: Vec<&str> = all.iter().map(|value| value.name.as_str()).collect();
    let expected = [
        "%base", "%h1", "%p1", "%r1", "%r2", "%r3", "%r4", "%thread", "%x1", "%x2",
    ];
    assert_eq!(names, expected);
}

#[test]
fn lanes_that_wait_for_others_have_written_nothing() {
    let text = module(
        "setp.lt.u32 %p1, %thread, 16;
         @%p1 bra low;
         shfl.sync.idx.b32 %r2, %thread, 3, 31, -1;
         bra done;
         low: shfl.sync.down.b32 %r2, %thread, 4, 31, -1;
         done: add.u32 %r3, %r2, 1;",
    );
    let mut seen = Vec::new();
    let mut steps = Steps(|paused: &dyn Paused| {
        if paused.fault().is_some() {
            for group in paused.groups(0, 0) {
                let value = paused.register(0, 0, &group, "%r2").expect("declared");
                seen.push((group.lanes, group.state, value.written));
            }
            seen.sort_by_key(|group| group.0);
        }
        Resume::Run
    });
    let (_, ended) = run(&decoded(&text), 32, &mut steps);
    assert!(matches!(ended, Err(LaunchError::Fault(_))), "{ended:?}");
    let waits = |lanes| (lanes, LaneState::Members, 0);
    assert_eq!(seen, [waits(0xffff), waits(0xffff_0000)]);
}

#[test]
fn what_no_lane_has_written_is_told_from_zero() {
    let text = module(
        "setp.lt.u32 %p1, %thread, 7;
         @%p1 mov.u32 %r1, 0;
         @!%p1 mov.u32 %r2, 9;
         add.u32 %r3, %r1, %r2;",
    );
    let mut seen = 0;
    let mut steps = Steps(|paused: &dyn Paused| {
        if let Some(value) = register_before(paused, "add.u32", "%r1") {
            seen += 1;
            assert_eq!(value.written, 127);
            assert_eq!((value.lane(6), value.lane(7)), (Some(0), None));
            let other = register_before(paused, "add.u32", "%r2").expect("declared");
            assert_eq!(other.written, !127);
            let later = register_before(paused, "add.u32", "%r3").expect("declared");
            assert_eq!((later.written, later.lane(0)), (0, None));
        }
        Resume::Run
    });
    run(&decoded(&text), 32, &mut steps).1.expect("runs");
    assert_eq!(seen, 1);
}

/// Bodies with all that changes which lanes run when.
const BODIES: [&str; 5] = [
    // A loop with a different number of turns in each lane.
    "mov.u32 %r1, 0; mov.u32 %r2, 0;
     again: setp.ge.u32 %p1, %r1, %thread; @%p1 bra done;
     add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1; bra again;
     done: mad.wide.u32 %x1, %thread, 4, %base; st.global.b32 [%x1], %r2;",
    // A warp's sum by shuffles, and a barrier.
    "mov.u32 %r1, %thread;
     shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; add.u32 %r1, %r1, %r2;
     shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1; add.u32 %r1, %r1, %r2;
     bar.sync 0;
     mad.wide.u32 %x1, %thread, 4, %base; st.global.b32 [%x1], %r1;",
    // Atomics, in the order of the warps.
    "atom.global.add.u32 %r1, [%base], 1;
     bar.sync 0;
     mad.wide.u32 %x1, %thread, 4, %base; st.global.b32 [%x1+4], %r1;",
    // More instructions than a worker takes from the budget at a time.
    "mov.u32 %r1, 0; mov.u32 %r2, 0;
     again: add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1;
     setp.lt.u32 %p1, %r1, 20000; @%p1 bra again;
     mad.wide.u32 %x1, %thread, 4, %base; st.global.b32 [%x1], %r2;",
    // Half of a warp returns early, the rest votes.
    "and.b32 %r1, %thread, 1; setp.eq.u32 %p1, %r1, 0; @%p1 ret;
     activemask.b32 %r2; vote.sync.ballot.b32 %r3, %p1, %r2;
     mad.wide.u32 %x1, %thread, 4, %base; st.global.b32 [%x1], %r2;",
];

#[test]
fn stepping_changes_no_result() {
    for body in BODIES {
        // The last body's store goes one word beyond.
        let text = module(body);
        for threads in [1, 31, 33, 63] {
            let plain = Module::parse(&text).expect("well formed").kernel("test");
            let mut nothing = ptx_emulator::NoObserver;
            let expected = run(&plain.expect("decodes"), threads, &mut nothing);
            let (mut steps, mut lanes) = (0, 0);
            let mut counting = Steps(|paused: &dyn Paused| {
                if let Some(step) = paused.step() {
                    steps += 1;
                    lanes += step.lanes.count_ones();
                }
                Resume::Run
            });
            let found = run(&decoded(&text), threads, &mut counting);
            assert_eq!(found.0, expected.0, "{threads} threads: {body}");
            let issued = found.1.expect("runs");
            assert_eq!(
                issued,
                expected.1.expect("runs"),
                "{threads} threads: {body}"
            );
            assert_eq!(steps, issued, "a pause for each instruction: {body}");
            assert!(lanes >= threads);
        }
    }
}

#[test]
fn another_warp_may_go_first() {
    let text = module("atom.global.add.u32 %r1, [%base], 1; st.global.b32 [%base+4], %thread;");
    // The warps from last to first, each to its end.
    let mut steps = Steps(|paused: &dyn Paused| {
        let live = (0..paused.warps())
            .rev()
            .find(|&warp| paused.live(0, warp) != 0);
        Resume::Warp(live.unwrap_or(0))
    });
    let (words, ended) = run(&decoded(&text), 96, &mut steps);
    ended.expect("runs");
    assert_eq!(words[0], 96);
    assert_eq!(words[1], 31, "warp 0 stores last, and its last lane wins");
    // A warp that there is not counts as the last one.
    let mut steps = Steps(|paused: &dyn Paused| match paused.live(0, 2) {
        0 => Resume::Run,
        _ => Resume::Warp(u32::MAX),
    });
    let (words, ended) = run(&decoded(&text), 96, &mut steps);
    ended.expect("runs");
    assert_eq!(words[1], 63);
}

#[test]
fn an_observer_ends_a_launch() {
    let text = module("st.global.b32 [%base], %thread; st.global.b32 [%base+4], 99;");
    let mut steps = Steps(|paused: &dyn Paused| {
        let step = paused.step().expect("no fault");
        match paused.kernel().instruction(step.instruction).text() {
            text if text.contains("99") => Resume::Stop,
            _ => Resume::Run,
        }
    });
    let (words, ended) = run(&decoded(&text), 32, &mut steps);
    assert!(matches!(ended, Err(LaunchError::Stopped)), "{ended:?}");
    assert_eq!(words[..2], [31, 1], "what was stored stays");
}

#[test]
fn a_deadlock_shows_where_each_lane_waits() {
    let text = module(
        "setp.lt.u32 %p1, %thread, 40;
         @%p1 bra first;
         bar.sync 1;
         ret;
         first: bar.sync 0;",
    );
    let mut seen = Vec::new();
    let mut barriers = Vec::new();
    let mut steps = Steps(|paused: &dyn Paused| {
        if let Some(fault) = paused.fault() {
            assert!(matches!(fault.kind, FaultKind::Deadlock(_)), "{fault}");
            assert_eq!(paused.step(), None);
            for warp in 0..paused.warps() {
                for group in paused.groups(0, warp) {
                    let at = group.instruction.expect("waits in one");
                    let text = paused.kernel().instruction(at).text();
                    seen.push((warp, group.lanes, group.state, text.to_owned()));
                }
            }
            seen.sort_by_key(|place| (place.0, place.1));
            barriers = paused.barriers(0);
        }
        Resume::Run
    });
    let (_, ended) = run(&decoded(&text), 64, &mut steps);
    assert!(matches!(ended, Err(LaunchError::Fault(_))), "{ended:?}");
    let place = |warp, lanes, barrier| {
        let text = format!("bar.sync {barrier}");
        (warp, lanes, LaneState::Barrier(barrier), text)
    };
    let expected = [place(0, u32::MAX, 0), place(1, 255, 0), place(1, !255, 1)];
    assert_eq!(seen, expected);
    let shown: Vec<_> = barriers
        .iter()
        .map(|barrier| (barrier.barrier, barrier.arrived_threads(), barrier.expected))
        .collect();
    assert_eq!(shown, [(0, 40, 64), (1, 24, 64)]);
}

#[test]
fn calls_are_followed() {
    let text = module_with(
        ".func (.reg .b32 %out) twice(.reg .b32 %in) { .reg .b32 %r<4>;
         add.u32 %r3, %in, %in; mov.u32 %out, %r3; ret; }",
        "mov.u32 %r3, 1000; call (%r1), twice, (%thread); add.u32 %r2, %r1, 1;",
    );
    let kernel = decoded(&text);
    let functions: Vec<_> = kernel
        .functions()
        .map(|(name, _)| name.to_owned())
        .collect();
    assert_eq!(functions, ["test", "twice"]);
    let mut seen = 0;
    let mut steps = Steps(|paused: &dyn Paused| {
        let Some(inner) = register_before(paused, "mov.u32", "%r3").filter(|r3| r3.written != 0)
        else {
            return Resume::Run;
        };
        seen += 1;
        assert_eq!(inner.lane(5), Some(10), "the function's own %r3");
        let step = paused.step().expect("a step");
        let group = &paused.groups(0, 0)[step.group];
        let calls = group
            .calls
            .iter()
            .map(|&call| paused.kernel().instruction(call).opcode());
        assert_eq!(calls.collect::<Vec<_>>(), ["call"]);
        Resume::Run
    });
    run(&kernel, 32, &mut steps).1.expect("runs");
    assert_eq!(seen, 1);
}

#[test]
fn names_of_the_text_are_kept() {
    let text = module_with(
        ".shared .align 4 .b8 tile[128];",
        "bra $over; $over: mov.u32 %r1, tile; st.shared.b32 [%r1], 7;",
    );
    let kernel = decoded(&text);
    let labels: Vec<_> = kernel
        .labels()
        .map(|(name, id)| (name.to_owned(), kernel.instruction(id).text().to_owned()))
        .collect();
    assert_eq!(
        labels,
        [("$over".to_owned(), "mov.u32 %r1, tile".to_owned())]
    );
    let shared: Vec<_> = kernel.shared_variables().collect();
    assert_eq!(shared, [("tile", 0, 128)]);
    let first = kernel.instruction_id(0).expect("there is one");
    assert_eq!(first.index(), 0);
    assert!(kernel.instruction_id(usize::MAX).is_none());
    let mut last = None;
    let mut steps = Steps(|paused: &dyn Paused| {
        assert_eq!(paused.shared_bytes(), 128);
        last = paused.shared_byte(0, 0);
        assert_eq!(paused.shared_byte(0, 128), None);
        assert_eq!(paused.shared_byte(1, 0), None);
        assert_eq!(paused.mbarrier(0, u32::MAX), None);
        assert_eq!(paused.params().len(), 8);
        Resume::Run
    });
    run(&kernel, 32, &mut steps).1.expect("runs");
    assert_eq!(last, Some(7));
}

/// The sanitizers beside an observer that steps.
struct Checked {
    sanitizer: Sanitizer,
    found: Vec<(usize, String)>,
    steps: usize,
}

impl Observer for Checked {
    const INTEREST: Interest = Sanitizer::INTEREST;
    const UNORDERED_LOADS: bool = Sanitizer::UNORDERED_LOADS;
    const MARKS_WRITTEN: bool = Sanitizer::MARKS_WRITTEN;
    const STRONG_IN_ORDER: bool = Sanitizer::STRONG_IN_ORDER;
    const STEPS: bool = true;

    fn fork(&self) -> Self {
        unreachable!("one worker")
    }

    fn join(&mut self, _: Self) {}

    fn event(&mut self, event: Event<'_>) {
        self.sanitizer.notify(event);
    }

    fn paused(&mut self, _: &dyn Paused) -> Resume {
        self.steps += 1;
        if self.sanitizer.noted() > self.found.len() {
            for finding in self.sanitizer.findings_so_far() {
                self.found
                    .push((self.steps, finding.problem.describe().to_owned()));
            }
        }
        Resume::Run
    }
}

#[test]
fn findings_come_while_the_kernel_runs() {
    let text = module_with(
        ".shared .align 4 .b8 tile[256];",
        "mov.u32 %r1, tile; mad.lo.u32 %r2, %thread, 4, %r1;
         st.shared.b32 [%r2], %thread;
         ld.shared.b32 %r3, [%r1];
         add.u32 %r4, %r3, 1;
         mad.wide.u32 %x1, %thread, 4, %base; st.global.b32 [%x1], %r4;",
    );
    let mut checked = Checked {
        sanitizer: Sanitizer::new(&ptx_emulator::sanitize::Tool::ALL),
        found: Vec::new(),
        steps: 0,
    };
    run(&decoded(&text), 64, &mut checked).1.expect("runs");
    // 9 instructions of warp 0 without a finding but for the read of another lane's word.
    assert_eq!(checked.found.len(), 1, "{:?}", checked.found);
    let (step, problem) = &checked.found[0];
    assert_eq!(problem, "race between threads of a block");
    assert!((7..=16).contains(step), "step {step} of {}", checked.steps);
    assert_eq!(checked.sanitizer.findings().len(), 1);
}
