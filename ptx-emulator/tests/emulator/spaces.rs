//! State spaces, calls and atomics.

use crate::common::{STORE, kernel, launch, module, module_with, run, run_text};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Args, LaunchConfig, Memory, Module, Sanitizer};

#[test]
fn shared_arrays_of_one_name_in_two_scopes_are_distinct() {
    let body = format!(
        "{{ .shared .align 4 .b8 cells[16]; .reg .b32 %where; mov.u32 %where, cells; mov.u32 %r1, %where; }}
         {{ .shared .align 4 .b8 cells[16]; .reg .b32 %where; mov.u32 %where, cells; mov.u32 %r2, %where; }}
         sub.u32 %r0, %r2, %r1; {STORE}"
    );
    assert_eq!(run(&body, 1, &[0]), [16]);
}

#[test]
fn dynamic_shared_memory_lies_behind_static_arrays() {
    let text = module_with(
        ".shared .align 4 .b8 fixed[20]; .extern .shared .align 16 .b8 dynamic[];",
        &format!(
            "mov.u32 %r1, fixed; mov.u32 %r2, dynamic; mov.u32 %r3, 5;
             st.shared.u32 [dynamic+60], %r3;
             ld.shared.u32 %r4, [%r2+60];
             sub.u32 %r0, %r2, %r1; mad.lo.u32 %r0, %r4, 1000, %r0;
             mov.u32 %r5, %dynamic_smem_size; mad.lo.u32 %r0, %r5, 100000, %r0; {STORE}"
        ),
    );
    let mut config = LaunchConfig::new([1, 1, 1], [1, 1, 1]);
    config.dynamic_shared_bytes = 64;
    let mut data = [0];
    launch(&text, &config, &mut data).expect("runs");
    assert_eq!(data, [6_405_032]);
}

/// ptxas ignores the qualifier of an array that is defined nowhere, and gives it its size.
#[test]
fn external_shared_arrays_of_known_size_are_static() {
    let text = module_with(
        ".extern .shared .align 8 .b8 sized[64]; .extern .shared .align 16 .b8 dynamic[];",
        &format!(
            "mov.u32 %r1, sized; mov.u32 %r2, dynamic; mov.u32 %r3, 7;
             st.shared.u32 [sized+60], %r3; ld.shared.u32 %r4, [%r1+60];
             sub.u32 %r0, %r2, %r1; mad.lo.u32 %r0, %r4, 1000, %r0; {STORE}"
        ),
    );
    let mut data = [0];
    launch(&text, &LaunchConfig::new([1, 1, 1], [1, 1, 1]), &mut data).expect("runs");
    assert_eq!(data, [7064]);
}

/// Groups of several warps of cooperative groups meet in the shared memory that the system
/// reserves. Nothing of the kernel's own lies there.
#[test]
fn reserved_shared_memory_is_apart_from_the_kernels_own() {
    let text = module_with(
        ".shared .align 4 .b8 fixed[20]; .extern .shared .align 16 .b8 dynamic[];",
        &format!(
            "mov.u32 %r1, %reserved_smem_offset_begin; mov.u32 %r2, %reserved_smem_offset_end;
             mov.u32 %r3, %reserved_smem_offset_cap; sub.u32 %r4, %r2, %r1;
             setp.ne.u32 %p1, %r3, %r4; @%p1 trap;
             mov.u32 %r5, 7; st.shared.u32 [fixed+16], %r5; st.shared.u32 [dynamic], %r5;
             mov.u32 %r6, -1;
             FILL: st.shared.u32 [%r1], %r6; add.u32 %r1, %r1, 4;
             setp.lt.u32 %p1, %r1, %r2; @%p1 bra FILL;
             mov.u32 %r8, %reserved_smem_offset_1; add.u32 %r9, %r8, 284;
             setp.gt.u32 %p1, %r9, %r2; @%p1 trap; ld.shared.u32 %r9, [%r9];
             ld.shared.u32 %r10, [fixed+16]; ld.shared.u32 %r11, [dynamic];
             mov.u32 %r12, %aggr_smem_size; mov.u32 %r13, %total_smem_size;
             sub.u32 %r12, %r12, %r13; setp.ne.u32 %p1, %r12, %r3; @%p1 trap;
             add.u32 %r0, %r9, %r10; mad.lo.u32 %r0, %r11, 100, %r0; {STORE}"
        ),
    );
    let text = text
        .replace("sm_80", "sm_90")
        .replace(".version 8.0", ".version 8.1");
    let mut config = LaunchConfig::new([1, 1, 1], [1, 1, 1]);
    config.dynamic_shared_bytes = 64;
    let mut data = [0];
    launch(&text, &config, &mut data).expect("runs");
    assert_eq!(data, [706]);
    assert_eq!(kernel(&text).static_shared_bytes(), 20);
}

/// As GPUs allocate it: a kernel reads what is behind its own, up to the end of the unit.
#[test]
fn shared_memory_ends_at_a_unit_of_the_launch() {
    let text = module_with(
        ".extern .shared .align 16 .b8 dynamic[];",
        &format!(
            "mov.u32 %r1, dynamic; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r2, 4, %r1;
             ld.shared.u32 %r3, [%r1]; mov.u32 %r4, %dynamic_smem_size;
             mov.u32 %r5, %total_smem_size; mad.lo.u32 %r5, %r5, 1000, %r4;
             add.u32 %r0, %r3, %r5; {STORE}"
        ),
    );
    let run = |text: &str, threads, unit| {
        let mut config = LaunchConfig::new([1, 1, 1], [threads, 1, 1]);
        (config.dynamic_shared_bytes, config.shared_unit) = (8, unit);
        let mut data = vec![0; threads as usize];
        launch(text, &config, &mut data).map(|_| data[0])
    };
    let of_sm_70 = text.replace("sm_80", "sm_70");
    assert_eq!(run(&text, 2, 4).expect("in bounds"), 128_008);
    assert_eq!(run(&of_sm_70, 2, 4).expect("in bounds"), 256_008);
    assert!(run(&text, 3, 4).is_err());
    assert_eq!(run(&text, 32, 128).expect("in the unit"), 128_008);
    assert!(run(&text, 33, 128).is_err());
}

/// Groups clear their bits in words there that no kernel has written before.
#[test]
fn reserved_shared_memory_counts_as_written() {
    let text = module(
        ".shared .b32 own; mov.u32 %r1, %reserved_smem_offset_1;
         red.and.release.cta.shared.b32 [%r1+4], -2; ld.shared.u32 %r2, [%r1+8];
         ld.shared.u32 %r3, [own]; st.global.u32 [%base], %r3;",
    );
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(4).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig::new([3, 1, 1], [1, 1, 1]);
    let mut sanitizer = Sanitizer::new(&[Tool::Initcheck]);
    let found = sanitizer.launch(&kernel(&text), &memory, &config, &args);
    let found = found.expect("runs");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].to_string().contains("own"), "{}", found[0]);
}

/// libcu++ makes atomics of 16 bits from those of the word.
#[test]
fn the_word_of_a_narrow_variable_may_be_accessed() {
    let text = module_with(
        ".global .align 2 .u16 global = 5; .shared .align 2 .u16 other; .shared .u16 own;",
        &format!(
            "mov.u16 %h1, 1; st.shared.u16 [other], %h1; st.shared.u16 [own], %h1;
             mov.u64 %x1, global; ld.relaxed.gpu.global.u32 %r1, [%x1];
             add.u32 %r2, %r1, 2; atom.global.cas.b32 %r3, [%x1], %r1, %r2;
             mov.u32 %r4, own; and.b32 %r4, %r4, -4;
             atom.shared.add.u32 %r5, [%r4], 0x10000;
             ld.global.u16 %r6, [%x1]; ld.shared.u16 %r7, [own]; ld.shared.u16 %r8, [other];
             mad.lo.u32 %r0, %r6, 10, %r7; mad.lo.u32 %r0, %r0, 10, %r8; {STORE}"
        ),
    );
    assert_eq!(run_text(&text, 1, &[0]), [721]);
    let memory = Memory::with_capacity(1 << 20);
    let data = memory.alloc(4).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig::new([1, 1, 1], [1, 1, 1]);
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    let found = sanitizer.launch(&kernel(&text), &memory, &config, &args);
    assert_eq!(found.expect("runs"), []);
}

/// Compilers fold a negative index into the register: lanes 0 and 1 have an address below 0, and
/// the offset brings it back.
#[test]
fn addresses_of_32_bits_wrap_around() {
    let body = format!(
        ".shared .align 8 .b8 cells[256];
         mov.u32 %r1, cells; shl.b32 %r2, %thread, 3; sub.u32 %r2, %r2, 16; add.u32 %r1, %r1, %r2;
         add.u32 %r3, %thread, 7; st.shared.u32 [%r1+16], %r3; st.shared.u32 [%r1+20], %r1;
         bar.sync 0;
         ld.shared.v2.u32 {{%r0, %r4}}, [%r1+16]; sub.u32 %r4, %r4, %r1; add.u32 %r0, %r0, %r4;
         {STORE}"
    );
    let expected: Vec<u32> = (7..39).collect();
    assert_eq!(run(&body, 32, &[0; 32]), expected);
}

#[test]
fn shared_memory_is_fresh_in_every_block() {
    let text = module(
        ".shared .b32 cell; ld.shared.u32 %r0, [cell]; mov.u32 %r1, 9; st.shared.u32 [cell], %r1;
         mov.u32 %r2, %ctaid.x; mad.wide.u32 %x1, %r2, 4, %base; st.global.u32 [%x1], %r0;",
    );
    let mut data = [1; 8];
    launch(&text, &LaunchConfig::new([8, 1, 1], [1, 1, 1]), &mut data).expect("runs");
    assert_eq!(data, [0; 8]);
}

#[test]
fn every_width_and_sign() {
    // 0xf1, 0x8002 and 0x80000003 as bytes of one array.
    let body = |load: &str| {
        format!(
            "mov.u32 %r9, %thread; {load} cvt.u32.u64 %r0, %x1; shr.u64 %x2, %x1, 32; cvt.u32.u64 %r1, %x2; st.global.v2.u32 [%base+16], {{%r0, %r1}};"
        )
    };
    let data = [0x8002_00f1, 0x8000_0003, 0x1234_5678, 0x9abc_def0, 0, 0];
    let cases: [(&str, u64); 7] = [
        ("ld.global.u8 %x1, [%base];", 0xf1),
        ("ld.global.s8 %x1, [%base];", 0xffff_ffff_ffff_fff1),
        ("ld.global.b16 %x1, [%base+2];", 0x8002),
        ("ld.global.s16 %x1, [%base+2];", 0xffff_ffff_ffff_8002),
        ("ld.global.u32 %x1, [%base+4];", 0x8000_0003),
        ("ld.global.s32 %x1, [%base+4];", 0xffff_ffff_8000_0003),
        ("ld.b64 %x1, [%base+8];", 0x9abc_def0_1234_5678),
    ];
    for threads in [1, 32] {
        for (load, expected) in cases {
            let result = run(&body(load), threads, &data);
            let got = u64::from(result[4]) | u64::from(result[5]) << 32;
            assert_eq!(got, expected, "{load}");
        }
    }
    let stores = "mov.b32 %r1, 0x11223344; mov.b64 %x1, 0x5566778899aabbcc;
        st.global.u8 [%base+1], %r1; st.global.u16 [%base+6], %r1; st.global.b8 [%base+8], %x1;
        st.global.b32 [%base+12], %x1;";
    let result = run(stores, 1, &[0; 4]);
    assert_eq!(result, [0x4400, 0x3344_0000, 0xcc, 0x99aa_bbcc]);
}

#[test]
fn vector_elements_and_discarded_ones() {
    let body = "ld.global.v4.u32 {%r1, _, %r3, %r4}, [%base];
        st.global.v2.u32 [%base+16], {%r4, %r1};
        ld.global.v2.b64 {%x1, %x2}, [%base]; st.global.v2.b64 [%base+32], {%x2, %x1};";
    let result = run(body, 1, &[1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(result[4..], [4, 1, 0, 0, 3, 4, 1, 2]);
}

#[test]
fn local_memory_belongs_to_one_thread() {
    let body = format!(
        ".local .align 8 .b8 depot[64];
         mov.u64 %x1, depot; cvta.local.u64 %x2, %x1;
         and.b32 %r1, %thread, 7; mad.wide.u32 %x3, %r1, 4, %x2;
         st.u32 [%x3], %thread;
         add.u64 %x4, %x1, 32; st.local.u8 [%x4+1], %thread;
         bar.sync 0;
         ld.local.u32 %r2, [depot+32]; mad.wide.u32 %x5, %r1, 4, %x1; ld.local.u32 %r3, [%x5];
         add.u32 %r0, %r2, %r3; {STORE}"
    );
    let expected: Vec<u32> = (0..40).map(|i| (i & 0xff) * 256 + i).collect();
    assert_eq!(run(&body, 40, &[0; 40]), expected);
}

#[test]
fn generic_addresses_reach_every_space() {
    // Each lane reads through a generic pointer into global, shared or local memory.
    let body = format!(
        ".shared .b32 cell; .local .b32 own;
         mov.u32 %r1, 100; st.shared.u32 [cell], %r1; add.u32 %r2, %thread, 200; st.local.u32 [own], %r2;
         bar.sync 0;
         mov.u64 %x1, cell; cvta.shared.u64 %x1, %x1; mov.u64 %x2, own; cvta.local.u64 %x2, %x2;
         rem.u32 %r3, %thread, 3; setp.eq.u32 %p1, %r3, 0; setp.eq.u32 %p2, %r3, 1;
         mov.u64 %x3, %base; @%p1 mov.u64 %x3, %x1; @%p2 mov.u64 %x3, %x2;
         ld.u32 %r0, [%x3];
         isspacep.shared %p3, %x3; isspacep.local %p4, %x3; isspacep.global %p5, %x3;
         @%p3 add.u32 %r0, %r0, 1000; @%p4 add.u32 %r0, %r0, 2000; @%p5 add.u32 %r0, %r0, 3000;
         bar.sync 0; {STORE}"
    );
    let mut data = vec![0; 32];
    data[0] = 7;
    let expected: Vec<u32> = (0..32)
        .map(|i| match i % 3 {
            0 => 1100,
            1 => 2200 + i,
            _ => 3007,
        })
        .collect();
    assert_eq!(run(&body, 32, &data), expected);
}

#[test]
fn module_variables_hold_their_initial_values() {
    let text = module_with(
        ".global .align 4 .b32 numbers[3] = {11, 22};
         .const .align 8 .f64 half = 0d3FE0000000000000;
         .global .align 8 .u64 pointer = generic(numbers)+4;
         .global .align 1 .b8 bytes[8] = {0xFF(numbers), 0xFF00(numbers), 1, 2, 3};
         .global .align 4 .f32 float = 0f40490FDB;",
        &format!(
            "ld.global.u64 %x1, [pointer]; ld.u32 %r1, [%x1]; ld.global.u32 %r2, [numbers+8];
             ld.const.f64 %x2, [half]; cvt.rzi.u32.f64 %r3, %x2; setp.eq.b64 %p1, %x2, 0x3FE0000000000000; selp.u32 %r4, 100, 0, %p1;
             ld.global.u8 %r5, [bytes]; mov.u64 %x3, numbers; cvt.u32.u64 %r6, %x3; and.b32 %r6, %r6, 255;
             setp.ne.u32 %p2, %r5, %r6; @%p2 trap;
             ld.global.u8 %r7, [bytes+4]; ld.global.u32 %r8, [float]; setp.ne.b32 %p3, %r8, 0f40490FDB; @%p3 trap;
             add.u32 %r0, %r1, %r2; add.u32 %r0, %r0, %r3; add.u32 %r0, %r0, %r4; mad.lo.u32 %r0, %r7, 1000, %r0; {STORE}"
        ),
    );
    assert_eq!(run_text(&text, 1, &[0]), [3122]);
}

#[test]
fn module_variables_live_as_long_as_their_memory() {
    let text = module_with(
        ".global .b32 counter = 5;",
        "atom.global.add.u32 %r1, [counter], 1; st.global.u32 [%base], %r1;",
    );
    let module = Module::parse(&text).expect("well formed");
    let kernel = module.kernel("test").expect("known");
    let memory = Memory::with_capacity(1 << 16);
    let data = memory.alloc(4).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let config = LaunchConfig::new([1, 1, 1], [3, 1, 1]);
    kernel.launch(&memory, &config, &args).expect("runs");
    kernel.launch(&memory, &config, &args).expect("runs");
    let (address, bytes) = module
        .variable(&memory, "counter")
        .expect("room")
        .expect("declared");
    let mut value = [0; 4];
    memory.read(address, &mut value).expect("in bounds");
    assert_eq!((u32::from_le_bytes(value), bytes), (11, 4));
    assert_eq!(module.variable(&memory, "nothing").expect("room"), None);
}

#[test]
fn parameters_by_value_and_through_pointers() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry test(.param .u8 small, .param .align 8 .b8 record[24], .param .u64 out)
        {
        .reg .b32 %r<8>; .reg .b64 %x<8>;
        ld.param.u64 %x1, [out]; ld.param.u8 %r1, [small]; ld.param.u32 %r2, [record+4];
        mov.u64 %x2, record; ld.param.u64 %x3, [%x2+16]; cvt.u32.u64 %r3, %x3;
        ld.param.v2.u32 {%r4, %r5}, [record+8];
        st.global.v4.u32 [%x1], {%r1, %r2, %r3, %r5};
        ret;
        }";
    let kernel = Module::parse(text)
        .expect("well formed")
        .kernel("test")
        .expect("known");
    let offsets: Vec<u32> = kernel.params().iter().map(|param| param.offset).collect();
    assert_eq!(offsets, [0, 8, 32]);
    let memory = Memory::with_capacity(1 << 16);
    let out = memory.alloc(16).expect("room");
    let record: Vec<u8> = (1..=6u32)
        .flat_map(|word| (word * 11).to_le_bytes())
        .collect();
    let mut args = Args::new();
    args.push_bytes(&[200]).push_bytes(&record).push_u64(out);
    kernel
        .launch(&memory, &LaunchConfig::new([1, 1, 1], [1, 1, 1]), &args)
        .expect("runs");
    let mut bytes = [0; 16];
    memory.read(out, &mut bytes).expect("in bounds");
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    assert_eq!(words, [200, 22, 55, 44]);
}

const FUNCTIONS: &str = "
    .func (.param .b32 result) square(.param .b32 value)
    { .reg .b32 %a; ld.param.u32 %a, [value]; mul.lo.u32 %a, %a, %a; st.param.u32 [result], %a; ret; }
    .func (.param .b32 result) factorial(.param .b32 value)
    {
        .reg .b32 %a<4>; .reg .pred %q;
        ld.param.u32 %a1, [value];
        setp.gt.u32 %q, %a1, 1; @%q bra MORE;
        mov.u32 %a2, 1; st.param.u32 [result], %a2; ret;
        MORE: sub.u32 %a2, %a1, 1;
        { .param .b32 x; .param .b32 y; st.param.b32 [x], %a2; call.uni (y), factorial, (x); ld.param.b32 %a3, [y]; }
        mul.lo.u32 %a3, %a3, %a1; st.param.u32 [result], %a3;
        ret;
    }
    .func swap_bytes(.param .align 8 .b8 record[16])
    {
        .reg .b64 %p<3>; .reg .b16 %b<3>; .local .align 8 .b8 depot[8];
        ld.param.u64 %p1, [record]; ld.param.u8 %b1, [record+8]; ld.param.s8 %b2, [record+9];
        st.local.u16 [depot], %b1; ld.local.u16 %b1, [depot];
        st.global.u8 [%p1], %b2; st.global.u8 [%p1+1], %b1;
        ret;
    }";

#[test]
fn calls_pass_values_and_recurse() {
    let body = format!(
        "and.b32 %r1, %thread, 7;
         {{ .param .b32 in; .param .b32 out; st.param.b32 [in], %r1; call (out), factorial, (in); ld.param.b32 %r2, [out]; }}
         mov.u32 %r3, 0; setp.lt.u32 %p1, %thread, 4; @!%p1 bra SKIP;
         {{ .param .b32 in; .param .b32 out; st.param.b32 [in], %thread; call.uni (out), square, (in); ld.param.b32 %r3, [out]; }}
         SKIP: add.u32 %r0, %r2, %r3; {STORE}"
    );
    let factorials = [1, 1, 2, 6, 24, 120, 720, 5040];
    let expected: Vec<u32> = (0..32)
        .map(|i: u32| factorials[i as usize % 8] + if i < 4 { i * i } else { 0 })
        .collect();
    assert_eq!(
        run_text(&module_with(FUNCTIONS, &body), 32, &[0; 32]),
        expected
    );
}

#[test]
fn calls_pass_records() {
    let body = "{ .param .align 8 .b8 in[16]; st.param.b64 [in], %base; mov.b16 %h1, 0x12; st.param.b8 [in+8], %h1;
        mov.b16 %h2, 0x34; st.param.b8 [in+9], %h2; call swap_bytes, (in); }";
    assert_eq!(run_text(&module_with(FUNCTIONS, body), 1, &[0]), [0x1234]);
}

#[test]
fn indirect_calls_go_where_each_lane_points() {
    let body = format!(
        "mov.u64 %x1, square; mov.u64 %x2, factorial; setp.lt.u32 %p1, %thread, 3; selp.b64 %x3, %x1, %x2, %p1;
         {{ .param .b32 in; .param .b32 out; st.param.b32 [in], %thread;
         shape: .callprototype (.param .b32 _) _ (.param .b32 _);
         call (out), %x3, (in), shape; ld.param.b32 %r0, [out]; }} {STORE}"
    );
    let result = run_text(&module_with(FUNCTIONS, &body), 6, &[0; 6]);
    assert_eq!(result, [0, 1, 4, 6, 24, 120]);
}

/// `counted` is reached by its address alone and names a shared variable. The address of `other` is
/// not taken: its 40,000 bytes of shared memory are no part of the kernel, nor is its instruction,
/// which does not exist.
#[test]
fn indirect_calls_bring_what_they_may_reach() {
    let functions = ".shared .b32 cell;
        .func (.param .b32 out) counted(.param .b32 n) {
            .reg .b32 %v<3>; ld.param.b32 %v1, [n];
            atom.shared.add.u32 %v2, [cell], %v1; ld.shared.u32 %v2, [cell];
            st.param.b32 [out], %v2; ret;
        }
        .shared .b8 large[40000];
        .func (.param .b32 out) other(.param .b32 n) {
            .reg .b32 %v<3>; ld.shared.u32 %v1, [large]; guess.u32 %v1, %v1;
            st.param.b32 [out], %v1; ret;
        }
        .global .u64 table[1] = {counted};";
    let body = format!(
        "ld.global.u64 %x1, [table]; mov.u32 %r1, 7;
         {{ .param .b32 in; .param .b32 out; st.param.b32 [in], %r1;
         shape: .callprototype (.param .b32 _) _ (.param .b32 _);
         call (out), %x1, (in), shape; ld.param.b32 %r0, [out]; }} {STORE}"
    );
    let text = module_with(functions, &body);
    assert_eq!(run_text(&text, 1, &[0]), [7]);
    let module = Module::parse(&text).expect("a module");
    let kernel = module.kernel("test").expect("a kernel");
    assert_eq!(kernel.static_shared_bytes(), 4);
}

#[test]
fn atomics_of_every_kind() {
    let two = |instruction: &str, first: u32, threads: u32| {
        run(
            &format!("{instruction} {STORE}"),
            threads,
            &vec![first; threads.max(2) as usize],
        )
    };
    // Returns are the values before, in lane order; word 0 is overwritten last by thread 0.
    let returned = two(
        "mov.u32 %r1, 2; atom.global.add.u32 %r0, [%base], %r1;",
        5,
        4,
    );
    assert_eq!(returned, [5, 7, 9, 11]);
    let body = |instruction: &str| format!("mov.u32 %r1, %thread; {instruction}");
    let cases: [(&str, u32, u32); 11] = [
        ("red.global.add.u32 [%base], 3;", 1, 97),
        ("atom.global.min.s32 %r2, [%base], -5;", 3, -5i32 as u32),
        ("atom.global.max.u32 %r2, [%base], %r1;", 3, 31),
        ("red.global.and.b32 [%base], 6;", 13, 4),
        ("atom.or.b32 %r2, [%base], 6;", 8, 14),
        ("red.global.xor.b32 [%base], %r1;", 5, 5),
        ("atom.global.exch.b32 %r2, [%base], %r1;", 9, 31),
        ("atom.global.cas.b32 %r2, [%base], %r1, 50;", 7, 50),
        ("atom.global.inc.u32 %r2, [%base], 9;", 0, 2),
        ("atom.global.dec.u32 %r2, [%base], 9;", 0, 8),
        (
            "red.global.add.f32 [%base], 0f3F800000;",
            0,
            32f32.to_bits(),
        ),
    ];
    for (instruction, first, expected) in cases {
        let result = run(&body(instruction), 32, &[first]);
        assert_eq!(result, [expected], "{instruction}");
    }
    let wide = run(
        "atom.global.add.u64 %x1, [%base], 0x100000001; red.global.add.f64 [%base+8], 0d3FF8000000000000;",
        32,
        &[0; 4],
    );
    assert_eq!(wide[..2], [32, 32]);
    assert_eq!(
        f64::from_bits(u64::from(wide[2]) | u64::from(wide[3]) << 32),
        48.0
    );
    let shared = run(
        &format!(
            ".shared .b32 cell; atom.shared.add.u32 %r1, [cell], 2; bar.sync 0; ld.shared.u32 %r0, [cell]; {STORE}"
        ),
        64,
        &[0; 64],
    );
    assert_eq!(shared, [128; 64]);
}

#[test]
fn atomics_of_many_blocks_lose_nothing() {
    let text = module(
        "red.global.add.u32 [%base], 1; atom.global.add.u64 %x1, [%base+8], 0x100000001;
         L: ld.relaxed.gpu.global.u32 %r1, [%base+16]; add.u32 %r2, %r1, 1;
         atom.global.cas.b32 %r3, [%base+16], %r1, %r2; setp.ne.u32 %p1, %r3, %r1; @%p1 bra L;",
    );
    let mut config = LaunchConfig::new([50, 1, 1], [64, 1, 1]);
    config.workers = Some(4);
    let mut data = [0; 5];
    launch(&text, &config, &mut data).expect("runs");
    assert_eq!(data, [3200, 0, 3200, 3200, 3200]);
}

/// The operands of a vector are those from before the first addition, and its address may be
/// generic.
#[test]
fn atomics_on_vectors_take_their_operands_first() {
    let body = "mov.b32 %r1, 0f3F800000; mov.b32 %r2, 0f40000000;
         setp.ne.u32 %p1, %thread, 0; @%p1 bra DONE;
         atom.add.v2.f32 {%r1, %r2}, [%base], {%r2, %r1};
         st.global.v2.b32 [%base+8], {%r1, %r2};
         red.add.v2.f32 [%base], {%r1, %r1};
         DONE:";
    let floats = [10.0f32, 20.0, 0.0, 0.0].map(f32::to_bits);
    let found = run(body, 32, &floats);
    let wanted = [22.0f32, 31.0, 10.0, 20.0].map(f32::to_bits);
    assert_eq!(found, wanted);
}
