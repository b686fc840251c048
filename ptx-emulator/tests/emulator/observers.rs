//! Several observers of one launch, and accesses that repeat.

use ptx_emulator::sanitize::Tool;
use ptx_emulator::{
    Args, Counters, Event, InstructionId, Interest, Kernel, LaunchConfig, LaunchError, Memory,
    Module, Observer, Sanitizer,
};

/// Adds up `data[tid + 32 * i]` for `i` below `2 * count`; every other load is generic.
const SUM: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry sum(.param .u64 data, .param .u32 count) {
    .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<4>; .reg .f32 %f<3>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r2, [count];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    mov.f32 %f1, 0f00000000;
loop:
    ld.f32 %f2, [%rd3];
    add.rn.f32 %f1, %f1, %f2;
    ld.global.f32 %f2, [%rd3+128];
    add.rn.f32 %f1, %f1, %f2;
    add.s64 %rd3, %rd3, 256;
    sub.u32 %r2, %r2, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra loop;
    add.s64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f1;
    ret;
}";

fn kernel() -> Kernel {
    let module = Module::parse(SUM).expect("well formed");
    module.kernel("sum").expect("known instructions")
}

fn run(observer: &mut impl Observer, rounds: u32) -> Result<(), LaunchError> {
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(2 * 32 * 4 * 8).expect("room");
    memory.fill(data, 2 * 32 * 4 * 8, 1).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(data).push_u32(rounds);
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    let outcome = kernel().launch_observed(&memory, &config, &args, observer);
    outcome.map(|_| ())
}

/// Writes down every access: the instruction, and the address of each lane.
#[derive(Default)]
struct Trace(Vec<(InstructionId, Vec<u64>)>);

impl Observer for Trace {
    const INTEREST: Interest = Interest::ACCESS;

    fn fork(&self) -> Self {
        Trace::default()
    }

    fn join(&mut self, worker: Self) {
        self.0.extend(worker.0);
    }

    fn event(&mut self, event: Event<'_>) {
        let Event::Access { accesses, .. } = event else {
            panic!("only accesses are of interest, not {event:?}");
        };
        accesses.for_each(|access| {
            self.0.push((access.instruction, access.addresses.to_vec()));
        });
    }
}

/// Counters, the sanitizers, and a trace.
type All = (Counters, (Sanitizer, Trace));

fn all(tools: &[Tool]) -> All {
    (Counters::new(), (Sanitizer::new(tools), Trace::default()))
}

#[test]
fn an_observer_without_a_faster_way_sees_repeated_accesses_in_full() {
    let mut observers = all(&[]);
    run(&mut observers, 8).expect("runs");
    let (_, (_, trace)) = observers;
    assert_eq!(trace.0.len(), 2 * 8 + 1);
    let first = trace.0[0].1[0];
    for (index, (_, addresses)) in trace.0[..16].iter().enumerate() {
        let expected = (0..32).map(|lane| first + 128 * index as u64 + 4 * lane);
        assert!(addresses.iter().copied().eq(expected), "access {index}");
    }
    assert_eq!(trace.0[16].1, trace.0[0].1);
}

#[test]
fn counters_see_beside_others_what_they_see_alone() {
    let mut counters = Counters::new();
    run(&mut counters, 8).expect("runs");
    let mut both = all(&Tool::ALL);
    run(&mut both, 8).expect("runs");
    assert_eq!(both.0.total(), counters.total());
    assert_eq!(both.0.footprint(), counters.footprint());
    let total = counters.total();
    assert_eq!(total.global_loads.requests, 16);
    assert_eq!(total.global_loads.sectors, 16 * 4);
    assert_eq!(counters.footprint().bytes_read, 16 * 128);
    assert_eq!(counters.footprint().bytes_written, 128);
}

#[test]
fn a_fault_behind_repeated_accesses_is_found() {
    let mut both = all(&[Tool::Memcheck]);
    assert!(run(&mut both, 9).is_err());
    let findings = both.1.0.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    // The round that ends in the fault is counted, with the access that caused it.
    assert_eq!(both.0.total().global_loads.requests, 17);
}

/// Each iteration loads twice from one register, whose distances between the lanes change every few
/// iterations.
const CHANGING: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry changing(.param .u64 data, .param .u32 count) {
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<5>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r2, [count];
    mov.u32 %r1, %tid.x;
    mov.f32 %f1, 0f00000000;
loop:
    shr.u32 %r3, %r2, 2;
    and.b32 %r3, %r3, 1;
    add.u32 %r3, %r3, 1;
    mul.lo.u32 %r4, %r1, %r3;
    mad.lo.u32 %r4, %r2, 3, %r4;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3];
    ld.global.f32 %f3, [%rd3+20];
    add.rn.f32 %f1, %f1, %f2;
    add.rn.f32 %f1, %f1, %f3;
    sub.u32 %r2, %r2, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra loop;
    ret;
}";

#[test]
fn loads_reported_together_are_counted_as_each_would_be() {
    let module = Module::parse(CHANGING).expect("well formed");
    let kernel = module.kernel("changing").expect("known instructions");
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(4 * 1024).expect("room");
    memory.fill(data, 4 * 1024, 1).expect("in bounds");
    let mut args = Args::new();
    args.push_u64(data).push_u32(40);
    // The second warp is not full.
    let config = LaunchConfig::new([3, 1, 1], [48, 1, 1]);
    let mut alone = Counters::new();
    let mut traced = all(&[]);
    kernel
        .launch_observed(&memory, &config, &args, &mut alone)
        .expect("runs");
    kernel
        .launch_observed(&memory, &config, &args, &mut traced)
        .expect("runs");
    assert_eq!(alone.total(), traced.0.total());
    assert_eq!(alone.footprint(), traced.0.footprint());
    assert_eq!(alone.total().global_loads.requests, 3 * 2 * 2 * 40);
    assert_eq!(alone.instructions(), traced.0.instructions());
}
