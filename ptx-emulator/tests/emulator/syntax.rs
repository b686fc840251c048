//! What the grammar of PTX allows and few compilers write.

use crate::common::{STORE, evaluate, kernel, module, module_with, run, run_text};
use ptx_emulator::{Args, LaunchConfig, LaunchError, Memory, Module};

#[test]
fn directives_need_no_blanks_between_them() {
    let function = ".func (.param.b32 out) next(.param.b32 in)
        { .reg.b32 %v; ld.param.b32 %v, [in]; add.u32 %v, %v, 1; st.param.b32 [out], %v; ret; }";
    let body =
        "{ .reg.b32 a; .reg.v2.b32 pair; .param.b32 in; .param.b32 out; .shared.align 4 .b32 s[2];
         st.param.b32 [in], 41; call (out), next, (in); ld.param.b32 a, [out];
         mov.b32 pair.x, a; mov.b32 %r0, pair.x; }";
    let text = module_with(function, &format!("{body} {STORE}"));
    assert_eq!(run_text(&text, 1, &[0]), [42]);
}

#[test]
fn opcodes_may_have_blanks_and_comments_between_their_parts() {
    let body = "{ .reg.b32 %a; .reg.pred %q; mov .u32 %a, %tid .x; lop3 .b32 %a, %a, 7, 7, 60;
         setp .lt /* unsigned */ .u32 %q, %a, 6;
         @ ! %q add
         // Behind a comment of a .line
         .s32 %a, %a, 10; add.s32%r0,%a,1; }";
    // The thread's number with three bits inverted, 10 more from 6 on, and 1.
    let expected = [18, 17, 6, 5, 4, 3, 2, 1];
    assert_eq!(
        run_text(&module(&format!("{body} {STORE}")), 8, &[0; 8]),
        expected
    );
}

#[test]
fn functions_take_and_return_registers() {
    let function = "
        .func (.reg .b64 sum, .reg .pred odd) parts(.reg .b32 a, .reg .b64 b, .reg .v2 .u16 c)
        { .reg .b64 %w; .reg .b32 %v;
          cvt.u64.u32 %w, a; add.u64 sum, %w, b; cvt.u64.u16 %w, c.x; add.u64 sum, sum, %w;
          cvt.u64.u16 %w, c.y; add.u64 sum, sum, %w;
          cvt.u32.u64 %v, sum; and.b32 %v, %v, 1; setp.ne.u32 odd, %v, 0; @odd ret; ret; }";
    let body = "{ .reg .v2 .u16 c; mov.v2.u16 c, {300, 4}; mov.u64 %x1, 0x100000000;
         call (%x2, %p1), parts, (%thread, %x1, c);
         mov.b64 {%r1, %r2}, %x2; selp.u32 %r3, 1000000, 0, %p1;
         add.u32 %r0, %r1, %r3; add.u32 %r0, %r0, %r2; }";
    let text = module_with(function, &format!("{body} {STORE}"));
    let results = run_text(&text, 8, &[0; 8]);
    for (thread, result) in results.iter().enumerate() {
        let sum = thread as u32 + 304;
        assert_eq!(*result, sum + 1 + (sum & 1) * 1_000_000);
    }
}

#[test]
fn constants_are_passed_in_registers() {
    let function = ".func (.reg .b64 out) twice(.reg .u64 a) { add.u64 out, a, a; }";
    let body = "call (%x1), twice, (0x180000001); mov.b64 {%r1, %r2}, %x1; add.u32 %r0, %r1, %r2;";
    let text = module_with(function, &format!("{body} {STORE}"));
    assert_eq!(run_text(&text, 1, &[0]), [5]);
}

#[test]
fn registers_of_several_elements() {
    let body = "{ .reg .v4 .u32 %v; .reg .v2 .b32 %w<3>; .reg .b64 %q;
         ld.global.v4.u32 %v, [%base]; mov.b32 %w2.y, %v.w; mov.b32 %w2.x, %v.z;
         mov.v2.b32 %w1, %w2; mov.b64 %q, %w1; mov.b64 {%r1, %r2}, %q;
         mov.v2.b32 {%r1, %r2}, {%r2, %r1};
         mov.b32 %v.x, %r1; mov.b32 %v.y, %r2; st.global.v4.u32 [%base], %v; }";
    assert_eq!(run(body, 1, &[10, 20, 30, 40]), [40, 30, 30, 40]);
}

#[test]
fn constants_and_variables_stand_for_themselves() {
    let body = "{ .shared .u32 s[32]; .local .u32 l; .reg .u32 t;
         mov.u32 t, WARP_SZ; st.u32 [s], t + 1; st.u32 [l], 7; bar.sync 0;
         ld.u32 %r1, [s]; ld.u32 %r2, [l]; add.u32 %r0, %r1, %r2; }";
    assert_eq!(run(&format!("{body} {STORE}"), 32, &[0; 32]), [40; 32]);
}

#[test]
fn variables_of_functions_keep_their_values() {
    let function = ".func (.param .b32 out) count() { .global .u32 calls = 5; .reg .b32 %v;
        ld.global.u32 %v, [calls]; add.u32 %v, %v, 1; st.global.u32 [calls], %v;
        st.param.b32 [out], %v; ret; }";
    let body =
        "{ .param .b32 out; call (out), count; call (out), count; ld.param.b32 %r0, [out]; }";
    let kernel = kernel(&module_with(function, &format!("{body} {STORE}")));
    let memory = Memory::with_capacity(1 << 16);
    let data = memory.alloc(4).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    for wanted in [7u32, 9] {
        let config = LaunchConfig::new([1; 3], [1; 3]);
        kernel.launch(&memory, &config, &args).expect("runs");
        let mut bytes = [0; 4];
        memory.read(data, &mut bytes).expect("in bounds");
        assert_eq!(u32::from_le_bytes(bytes), wanted);
    }
}

#[test]
fn a_function_has_aliases_and_calls_name_their_targets() {
    let functions = ".func (.param .b32 out) one() { st.param.b32 [out], 1; ret; }
        .func (.param .b32 out) also();
        .alias also, one;";
    let body = "{ .param .b32 out; call (out), also; ld.param.b32 %r1, [out];
         mov.u64 %x1, one; .param .b32 more; all: .calltargets one;
         call (more), %x1, (), all; ld.param.b32 %r2, [more]; add.u32 %r0, %r1, %r2; }";
    let text = module_with(functions, &format!("{body} {STORE}"));
    assert_eq!(run_text(&text, 1, &[0]), [2]);
}

#[test]
fn votes_without_a_mask_are_of_the_lanes_that_are_there() {
    let body = "setp.lt.u32 %p1, %thread, 20; setp.lt.u32 %p2, %thread, 7;
         @%p1 bra SOME; mov.u32 %r0, 0; bra END;
         SOME: vote.ballot.b32 %r0, %p2; END:";
    let results = run(&format!("{body} {STORE}"), 32, &[0; 32]);
    assert!(results[..20].iter().all(|&ballot| ballot == 0x7f));
    assert!(results[20..].iter().all(|&ballot| ballot == 0));
}

#[test]
fn a_body_that_cannot_be_decoded_refuses_its_kernel_alone() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n
        .visible .entry good() { ret; }
        .visible .entry strange() { frobnicate.u32 %r1, %r2; ret; }
        .visible .entry broken() { .reg .b32 %r<2>; add.u32 %r1 %r2; ret; }";
    let module = Module::index(text).expect("kernels are found");
    assert!(module.kernel("good").is_ok());
    for (kernel, word) in [("strange", "frobnicate"), ("broken", "expected")] {
        let error = module.kernel(kernel).expect_err("not PTX");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_kernel_names_its_cluster() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n
        .visible .entry test(.param .u64 data) .explicitcluster .reqnctapercluster 2, 1, 1
        { .reg .b64 %x<3>; .reg .b32 %r<3>; ld.param.u64 %x1, [data];
          mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_nctaid.x;
          mad.wide.u32 %x2, %r1, 4, %x1; st.global.u32 [%x2], %r2; ret; }";
    let kernel = kernel(text);
    assert_eq!(kernel.required_cluster(), Some([2, 1, 1]));
    let memory = Memory::with_capacity(1 << 16);
    let data = memory.alloc(16).expect("room");
    let mut args = Args::new();
    args.push_u64(data);
    let mut config = LaunchConfig::new([4, 1, 1], [1; 3]);
    kernel.launch(&memory, &config, &args).expect("runs");
    let mut bytes = [0; 16];
    memory.read(data, &mut bytes).expect("in bounds");
    assert_eq!(bytes, [2, 0, 0, 0].repeat(4)[..]);
    config.cluster = Some([4, 1, 1]);
    let refused = kernel.launch(&memory, &config, &args);
    assert!(
        matches!(refused, Err(LaunchError::OtherCluster { .. })),
        "{refused:?}"
    );
    config.cluster = None;
    config.grid = [3, 1, 1];
    let refused = kernel.launch(&memory, &config, &args);
    assert!(
        matches!(refused, Err(LaunchError::WrongCluster { .. })),
        "{refused:?}"
    );
}

#[test]
fn constants_are_expressions() {
    let cases: [(&str, i64); 12] = [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-4 / 2", -2),
        ("-1 >> 1", -1),
        ("(.u64) -1 >> 60", 15),
        ("1 << 4 | 3", 19),
        ("~0x0f & 0xff", 0xf0),
        ("5 > 3 && 2 != 2", 0),
        ("7 % 4 == 3 ? 10 : 20", 10),
        ("-(3 - 5)", 2),
        ("!0 + !7", 1),
        ("WARP_SZ * 2", 64),
    ];
    for (text, wanted) in cases {
        // An operand, an element of an array, its length, and an offset.
        let declarations = format!(
            ".global .s64 table[2 * (1 + 1)] = {{ 0, {text} }};
             .global .s64 skipped = 1 + 1;"
        );
        let body = format!(
            "mov.b64 %x1, {text}; ld.global.b64 %x2, [table + 4 * 2];
             mov.u64 %x4, table; ld.global.b64 %x3, [%x4 + 16 - 4 * 2];
             st.global.b64 [%base], %x1; st.global.b64 [%base + 8], %x2;
             st.global.b64 [%base+4+12], %x3;"
        );
        let found = run_text(&module_with(&declarations, &body), 1, &[9; 6]);
        let [low, high] = [wanted as u32, (wanted >> 32) as u32];
        assert_eq!(found, [low, high, low, high, low, high], "{text}");
    }
    let zero = module_with("", "mov.b32 %r1, 1 / (2 - 2);");
    let error = Module::parse(&zero).expect_err("no value").to_string();
    assert!(error.ends_with("division by zero in a constant"), "{error}");
    let deep = module_with("", &format!("mov.b32 %r1, {}1;", "-(".repeat(100_000)));
    assert!(Module::parse(&deep).is_err());
}

#[test]
fn directives_of_new_and_old_versions() {
    let declarations = "
        @@DWARF .section .debug_info, \"\", @progbits
        .global .samplerref sampler = { addr_mode_0 = clamp_to_edge, filter_mode = linear,
                                        force_unnormalized_coords = 1 };
        .global .attribute(.unified(19, 95)) .b32 unified = 5;
        .global .attribute(.managed) .b32 managed;
        .visible .func .attribute(.unified(1, 2)) (.param .b32 out) five() .abi_preserve 8
        { st.param.b32 [out], 5; ret; }
        .alias other, five;";
    let body = "{ .param .b32 out; .reg .b64 f; call (out), other; ld.param.b32 %r1, [out];
         mov.u64 f, five; p: .callprototype (.param .b32 _) _ () .abi_preserve 8;
         call (out), f, (), p; ld.param.b32 %r2, [out];
         ld.global.b32 %r3, [unified]; add.u32 %r0, %r1, %r2; add.u32 %r0, %r0, %r3; }";
    let text = module_with(declarations, &format!("{body} {STORE}"));
    assert_eq!(run_text(&text, 1, &[0]), [15]);
}

#[test]
fn clusters_are_as_the_kernel_states() {
    let launch = |directives: &str, cluster| {
        let text = module_with("", "").replace("data)", &format!("data) {directives}"));
        let memory = Memory::with_capacity(1 << 16);
        let mut args = Args::new();
        args.push_u64(0);
        let config = LaunchConfig {
            cluster,
            ..LaunchConfig::new([8, 1, 1], [32, 1, 1])
        };
        let kernel = kernel(&text.replace("ld.param.u64 %base, [data];", ""));
        kernel.launch(&memory, &config, &args).map(|_| ())
    };
    assert_eq!(launch(".maxclusterrank 4", Some([4, 1, 1])), Ok(()));
    let error = launch(".maxclusterrank 4", Some([8, 1, 1]));
    let wanted = LaunchError::ClusterTooLarge {
        blocks: 8,
        limit: 4,
    };
    assert_eq!(error, Err(wanted));
    assert_eq!(
        launch(".explicitcluster", None),
        Err(LaunchError::NoCluster)
    );
    assert_eq!(launch(".explicitcluster", Some([1, 1, 1])), Ok(()));
    assert_eq!(
        launch(".explicitcluster .reqnctapercluster 2", None),
        Ok(())
    );
    let text = module_with("", "").replace("data)", "data) .blocksareclusters");
    let module = Module::parse(&text).expect("well formed");
    let error = module
        .kernel("test")
        .expect_err("not supported")
        .to_string();
    assert!(error.contains(".blocksareclusters"), "{error}");
}

#[test]
fn elements_of_arrays_are_addresses() {
    let declarations = ".global .u32 table[4] = {5, 6, 7, 8}; .shared .align 8 .b8 bytes[64];";
    let body = "{ .shared .v2 .u32 pairs[3]; .local .u16 halves[5]; .reg .u64 %g; .reg .u16 %h;
         mov.u32 %r1, pairs[2]; mov.u32 %r2, pairs; sub.u32 %r1, %r1, %r2;
         mov.u32 %r2, bytes[7]; mov.u32 %r3, bytes; sub.u32 %r2, %r2, %r3;
         mad.lo.u32 %r1, %r1, 100, %r2;
         ld.global.u32 %r2, table[3]; mad.lo.u32 %r1, %r1, 10, %r2;
         st.u16 halves[4], 9; ld.u16 %h, [halves+8]; cvt.u32.u16 %r2, %h;
         mad.lo.u32 %r0, %r1, 10, %r2; }";
    let text = module_with(declarations, &format!("{body} {STORE}"));
    assert_eq!(run_text(&text, 1, &[0]), [16_07 * 100 + 89]);
    // The same elements by registers, and by constant expressions.
    let by_registers = body
        .replace("pairs[2];", "pairs[%i]; mov.u32 %i, 7;")
        .replace("bytes[7]", "bytes[%i]")
        .replace("table[3]", "table[%w+2]")
        .replace("halves[4]", "halves[%w+1+2]")
        .replace(
            "{ .shared",
            "{ .reg .b32 %i; .reg .b64 %w; mov.u32 %i, 2; mov.u64 %w, 1; .shared",
        );
    let by_registers = module_with(declarations, &format!("{by_registers} {STORE}"));
    assert_eq!(run_text(&by_registers, 1, &[0]), [16_07 * 100 + 89]);
    let by_expression = text.replace("table[3]", "table[2 * 2 - 1]");
    assert_eq!(run_text(&by_expression, 1, &[0]), [16_07 * 100 + 89]);
    let missing = text.replace("table[3]", "nothing[3]");
    assert!(
        Module::parse(&missing)
            .expect("well formed")
            .kernel("test")
            .is_err()
    );
}

/// `name<3>` declares `name0` to `name2`, in any state space (PTX ISA, "Parameterized Variable
/// Names").
#[test]
fn variables_have_numbers() {
    let declarations = ".global .align 8 .u32 g<3>; .const .u32 c<2>; .shared .u32 s<12>, t;
         .global .u64 all[2] = {g0, g2};
         .func (.param .u32 result) sum(.param .u32 a, .param .u32 b)
         { .reg .u32 %r<3>; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b];
           mad.lo.u32 %r1, %r1, 10, %r2; st.param.u32 [result], %r1; ret; }";
    let body = "{ .local .align 4 .b8 l<3>; .param .u32 p<4>; .reg .u64 %a<5>; .reg .u32 %b<5>;
         st.global.u32 [g0], 1; st.global.u32 [g1], 2; st.global.u32 [g2], 3;
         ld.global.u64 %a1, [all]; ld.global.u64 %a2, [all+8]; sub.u64 %a3, %a2, %a1;
         cvt.u32.u64 %r0, %a3; ld.global.u32 %b1, [%a2]; mad.lo.u32 %r0, %r0, 10, %b1;
         mov.u32 %b1, s11; mov.u32 %b2, s1; sub.u32 %b1, %b1, %b2;
         st.shared.u32 [s11], %b1; st.shared.u32 [s1], 7; st.shared.u32 [t], 8;
         ld.shared.u32 %b1, [s11]; mad.lo.u32 %r0, %r0, 100, %b1;
         st.local.u8 [l1], 5; st.local.u8 [l2], 6; ld.local.u8 %b1, [l1];
         mad.lo.u32 %r0, %r0, 10, %b1;
         st.param.u32 [p2], 4; st.param.u32 [p3], 9; call (p0), sum, (p2, p3);
         ld.param.u32 %b1, [p0]; mad.lo.u32 %r0, %r0, 100, %b1; }";
    let text = module_with(declarations, &format!("{body} {STORE}"));
    assert_eq!(
        run_text(&text, 1, &[0]),
        [((16 * 10 + 3) * 100 + 40) * 1000 + 549]
    );
    let memory = Memory::with_capacity(1 << 16);
    let module = Module::parse(&text).expect("well formed");
    let place = |name| module.variable(&memory, name).expect("room");
    let (first, bytes) = place("g0").expect("there");
    assert_eq!(bytes, 8);
    assert_eq!(place("g2"), Some((first + 16, 8)));
    assert_eq!((place("g3"), place("g"), place("s1")), (None, None, None));
    for (wrong, message) in [
        ("s1]", "`s12` is not declared"),
        (
            ".global .u32 h<2>[3];",
            "expected `;` behind numbered variables",
        ),
        (
            ".global .u32 h<2> = 1;",
            "expected `;` behind numbered variables",
        ),
        (
            ".extern .shared .u32 h<2>;",
            "numbered variables cannot be `.extern`",
        ),
        (
            ".func f(.param .u32 h<2>);",
            "parameters of a function are named one by one",
        ),
    ] {
        let text = match wrong.strip_suffix(']') {
            Some(name) => text.replace(&format!("[{name}]"), "[s12]"),
            None => module_with(wrong, ""),
        };
        let error = match Module::parse(&text) {
            Ok(module) => module.kernel("test").expect_err(wrong).to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(message), "{wrong}: {error}");
    }
}

/// Types go with operands, and so does their order; other modifiers may stand anywhere behind the
/// name of the instruction, as ptxas takes them.
#[test]
fn modifiers_stand_in_any_order() {
    for (instruction, same) in [
        (
            "add.f32.rz.ftz %r0, %r1, %r2;",
            "add.rz.ftz.f32 %r0, %r1, %r2;",
        ),
        (
            "cvt.f32.sat.rn.s32 %r0, %r1;",
            "cvt.rn.sat.f32.s32 %r0, %r1;",
        ),
        (
            "setp.f32.and.lt.ftz %p0, %r1, %r2, %p0;",
            "setp.lt.and.ftz.f32 %p0, %r1, %r2, %p0;",
        ),
        (
            "vadd.sat.u32.s32.add.u32 %r0, %r1, %r2, %r1;",
            "vadd.u32.s32.u32.sat.add %r0, %r1, %r2, %r1;",
        ),
        (
            "prmt.f4e.b32 %r0, %r1, %r2, %r3;",
            "prmt.b32.f4e %r0, %r1, %r2, %r3;",
        ),
        (
            "mad.lo.u32.cc %r0, %r1, %r2, %r3;",
            "mad.lo.cc.u32 %r0, %r1, %r2, %r3;",
        ),
    ] {
        let rows = [[0xffff_fff9, 3, 0x7f7f_ffff], [0x3f80_0000, 0x4040_0000, 5]];
        assert_eq!(
            evaluate(instruction, &rows),
            evaluate(same, &rows),
            "{instruction}"
        );
    }
    for wrong in [
        "mul.u32.lo %r0, %r1, %r2;",
        "cvta.global.u64.to %x0, %x1;",
        "mad.cc.lo.u32 %r0, %r1, %r2, %r3;",
    ] {
        let module = Module::parse(&module(wrong)).expect("well formed");
        let error = module.kernel("test").expect_err(wrong).to_string();
        assert!(error.contains("unknown instruction"), "{error}");
    }
}

/// `.address_size` came with PTX ISA 2.3; without it, registers of 64 bits hold addresses as well.
#[test]
fn modules_without_an_address_size() {
    let text = module(&format!("mov.u32 %r0, 7; {STORE}")).replace(".address_size 64\n", "");
    assert!(!text.contains("address_size"));
    assert_eq!(run_text(&text, 1, &[0]), [7]);
}

/// The address of a parameter of a function, which then lies in local memory (PTX ISA, "mov"): it
/// holds what the call passed, and what is written there is read by `ld.param` too.
#[test]
fn parameters_of_functions_have_addresses() {
    let function = ".func (.param .b32 result) third(.param .align 8 .b8 p[12], .param .b32 at)
{
    .reg .b32 %r<6>; .reg .b64 %a<4>;
    mov.b64 %a1, p;
    ld.param.u32 %r1, [at];
    mul.wide.u32 %a2, %r1, 4;
    add.u64 %a2, %a1, %a2;
    ld.local.u32 %r2, [%a2];
    cvta.local.u64 %a3, %a2;
    ld.u32 %r3, [%a3];
    add.u32 %r3, %r3, 1000;
    st.local.u32 [p], %r3;
    ld.param.u32 %r4, [%a1];
    ld.param.u32 %r5, [p+4];
    mad.lo.u32 %r2, %r2, 100000, %r4;
    add.u32 %r2, %r2, %r5;
    st.param.b32 [result], %r2;
    ret;
}";
    let body = "{ .param .align 8 .b8 q[12]; .param .b32 i; .param .b32 o;
         st.param.b64 [q+4], 0x700000005; st.param.b32 [q], 3; st.param.b32 [i], %thread;
         call (o), third, (q, i); ld.param.b32 %r0, [o]; }";
    let text = module_with(function, &format!("{body} {STORE}"));
    let wanted = [3, 5, 7].map(|value| value * 100_000 + value + 1000 + 5);
    assert_eq!(run_text(&text, 3, &[0; 3]), wanted);
}

/// What ptxas refuses, since a modifier is missing that PTX requires or a register has half of the
/// type's width, beside what it takes.
#[test]
fn modifiers_that_are_required_and_widths_of_registers() {
    let refusal = |line: &str| {
        let text =
            module(line).replace(".version 8.0\n.target sm_80", ".version 8.6\n.target sm_90");
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        module.kernel("test").err()
    };
    for (taken, refused) in [
        ("ld.relaxed.gpu.global.b32 %r1, [%base];", "relaxed."),
        ("ld.relaxed.gpu.global.b32 %r1, [%base];", "gpu."),
        ("st.release.sys.global.b32 [%base], %r1;", "sys."),
        ("ld.global.nc.b32 %r1, [%base];", "global."),
        ("atom.global.add.noftz.f16x2 %r1, [%base], %r2;", "noftz."),
        ("red.global.add.noftz.bf16 [%base], %h1;", "noftz."),
        ("prefetch.global.L2 [%base];", ".L2"),
        (
            "createpolicy.fractional.L2::evict_last.b64 %x1, 0.5;",
            "fractional.",
        ),
        (
            "createpolicy.fractional.L2::evict_last.b64 %x1, 0.5;",
            "L2::evict_last.",
        ),
    ] {
        assert_eq!(
            refusal(taken).map(|error| error.to_string()),
            None,
            "{taken}"
        );
        let without = taken.replace(refused, "");
        assert!(refusal(&without).is_some(), "{without}");
    }
    for wrong in [
        "add.f32 %r1, %h1, %r2;",
        "add.f16 %h1, %h2, %r1;",
        "mov.b16 %r1, %h1;",
    ] {
        assert!(refusal(wrong).is_some(), "{wrong}");
    }
}
