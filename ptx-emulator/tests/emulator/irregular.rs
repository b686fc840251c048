//! Loads of lanes at any places.

use crate::common::{STORE, run};
use ptx_emulator::{Args, FaultKind, Kernel, LaunchConfig, LaunchError, Memory, Module};

/// Lanes load vectors from any places: a permutation that differs from one iteration to the next,
/// by all lanes of a warp and by some.
#[test]
fn vectors_are_loaded_from_any_places() {
    const WORDS: u32 = 256;
    let content = |word: u32| word.wrapping_mul(0x9e37_79b9) ^ 0x55;
    for (vector, bytes) in [("b64", 8), ("v2.b64", 16), ("v2.b32", 8), ("v4.b32", 16)] {
        let registers = match vector {
            "b64" => "%x1",
            "v2.b64" => "{%x1, %x2}",
            "v2.b32" => "{%r1, %r2}",
            _ => "{%r1, %r2, %r3, %r4}",
        };
        let words = match vector {
            "b64" => "mov.b64 {%r1, %r2}, %x1;",
            "v2.b64" => "mov.b64 {%r1, %r2}, %x1; mov.b64 {%r3, %r4}, %x2;",
            _ => "",
        };
        let elements = WORDS * 4 / bytes;
        for (threads, guard) in [(32, ""), (64, "@%p1"), (45, "")] {
            let body = format!(
                "mov.u32 %r0, 0; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;
                 mov.u32 %r4, 0; mov.u32 %r9, 0; setp.ne.u32 %p1, %thread, 5;
                 mov.u64 %x1, 0; mov.u64 %x2, 0;
                 LOOP: mad.lo.u32 %r10, %thread, 77, %r9; mul.lo.u32 %r10, %r10, 2654435761;
                 shr.u32 %r10, %r10, 7; and.b32 %r10, %r10, {last};
                 mad.wide.u32 %x10, %r10, {bytes}, %base;
                 {guard} ld.global.{vector} {registers}, [%x10];
                 {words}
                 mad.lo.u32 %r0, %r0, 31, %r1; mad.lo.u32 %r0, %r0, 31, %r2;
                 mad.lo.u32 %r0, %r0, 31, %r3; mad.lo.u32 %r0, %r0, 31, %r4;
                 add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 40; @%p2 bra LOOP;
                 bar.sync 0; {STORE}",
                last = elements - 1
            );
            let data: Vec<u32> = (0..WORDS).map(content).collect();
            let found = run(&body, threads, &data);
            for thread in 0..threads {
                let mut sum = 0u32;
                for iteration in 0..40 {
                    let at = (thread * 77 + iteration).wrapping_mul(2_654_435_761) >> 7;
                    let first = (at & (elements - 1)) * bytes / 4;
                    for word in 0..4 {
                        let loads = word < bytes / 4 && (guard.is_empty() || thread != 5);
                        let value = if loads { content(first + word) } else { 0 };
                        sum = sum.wrapping_mul(31).wrapping_add(value);
                    }
                }
                assert_eq!(found[thread as usize], sum, "{vector}, thread {thread}");
            }
        }
    }
}

/// A kernel with parameters of `words` words, of which each thread loads some by a computed place.
fn of_params(words: usize, load: &str) -> Kernel {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry test(.param .u64 out, .param .align 8 .b8 table[{bytes}])\n{{\n\
         .reg .b32 %r<9>; .reg .b64 %x<9>; .reg .pred %p<3>;\n\
         ld.param.u64 %x1, [out]; mov.u32 %r1, %tid.x; mov.u64 %x2, table;\n\
         mov.u32 %r5, 7; mov.u32 %r6, 7; mov.u64 %x5, 7; setp.ne.u32 %p1, %r1, 3;\n\
         {load}\n\
         mad.wide.u32 %x4, %r1, 8, %x1; st.global.v2.u32 [%x4], {{%r5, %r6}};\nret;\n}}\n",
        bytes = 4 * words
    );
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    module.kernel("test").expect("known")
}

fn run_params(kernel: &Kernel, words: usize, threads: u32) -> Result<Vec<[u32; 2]>, LaunchError> {
    let memory = Memory::with_capacity(1 << 20);
    let out = memory.alloc(8 * u64::from(threads)).expect("room");
    let table: Vec<u8> = (0..words as u32)
        .flat_map(|word| (0x0101_0101 * (word + 1)).to_le_bytes())
        .collect();
    let mut args = Args::new();
    args.push_u64(out).push_bytes(&table);
    let config = LaunchConfig::new([1; 3], [threads, 1, 1]);
    kernel.launch(&memory, &config, &args)?;
    let mut bytes = vec![0; 8 * threads as usize];
    memory.read(out, &mut bytes).expect("in bounds");
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    Ok((0..threads as usize)
        .map(|thread| [word(8 * thread), word(8 * thread + 4)])
        .collect())
}

#[test]
fn parameters_are_loaded_from_computed_places() {
    let of = |word: u32| 0x0101_0101 * (word + 1);
    let by_thread = "and.b32 %r2, %r1, 3; mad.wide.u32 %x3, %r2, 8, %x2;";
    let same = "add.u64 %x3, %x2, 16; mov.u32 %r2, 2;";
    for threads in [1, 32, 45] {
        for (place, index) in [
            (by_thread, (|thread| 2 * (thread & 3)) as fn(u32) -> u32),
            (same, |_| 4),
        ] {
            for guard in ["", "@%p1"] {
                for load in [
                    "ld.param.v2.u32 {%r5, %r6}, [%x3];",
                    "ld.param.u64 %x5, [%x3]; mov.b64 {%r5, %r6}, %x5;",
                    "ld.param.u8 %r5, [%x3+1]; ld.param.u16 %r6, [%x3+6];",
                    "cvta.param.u64 %x3, %x3; ld.v2.u32 {%r5, %r6}, [%x3];",
                ] {
                    let (first, rest) = load.split_at(load.find("ld").expect("a load"));
                    let kernel = of_params(8, &format!("{place} {first} {guard} {rest}"));
                    let found = run_params(&kernel, 8, threads).expect("runs");
                    for (thread, found) in (0..threads).zip(found) {
                        let at = index(thread);
                        let loads = guard.is_empty() || thread != 3;
                        // Of two loads the guard is the first one's.
                        let narrow = load.contains("u8");
                        let expected = match (narrow, loads) {
                            (false, true) => [of(at), of(at + 1)],
                            (false, false) if load.contains("mov") => [7, 0],
                            (false, false) => [7, 7],
                            (true, loads) => {
                                let low = if loads { of(at) & 0xff } else { 7 };
                                [low, of(at + 1) & 0xffff]
                            }
                        };
                        assert_eq!(found, expected, "{place} {guard} {load} {thread}");
                    }
                }
            }
        }
    }
}

#[test]
fn places_behind_the_parameters_are_faults() {
    let load = "mad.wide.u32 %x3, %r1, 8, %x2; ld.param.u64 %x5, [%x3];";
    let kernel = of_params(8, load);
    assert!(run_params(&kernel, 8, 4).is_ok());
    let Err(LaunchError::Fault(fault)) = run_params(&kernel, 8, 33) else {
        panic!("no fault");
    };
    assert!(matches!(fault.kind, FaultKind::OutOfBounds(_)), "{fault}");
    assert_eq!(fault.thread, Some([4, 0, 0]));
    let kernel = of_params(8, "mad.wide.u32 %x3, %r1, 4, %x2; ld.param.u64 %x5, [%x3];");
    let Err(LaunchError::Fault(fault)) = run_params(&kernel, 8, 32) else {
        panic!("no fault");
    };
    assert!(matches!(fault.kind, FaultKind::Misaligned(_)), "{fault}");
}
