//! Targets of PTX, and the instructions behind them.

use warpladder_models::target::{Reach, Target, introduced, newest_instruction};

#[test]
fn a_target_runs_on_what_the_isa_says() {
    let runs = |target: &str, capability| Target::parse(target).unwrap().runs_on(capability);
    assert!(runs("sm_70", 70) && runs("sm_70", 120) && !runs("sm_70", 61));
    assert!(runs("sm_90a", 90) && !runs("sm_90a", 100) && !runs("sm_90a", 80));
    assert!(runs("sm_100f", 103) && !runs("sm_100f", 120));
    assert_eq!(Target::parse("sm_"), None);
    assert_eq!(Target::parse("compute_90"), None);
    for name in ["sm_70", "sm_90a", "sm_100f"] {
        assert_eq!(Target::parse(name).unwrap().to_string(), name);
    }
}

#[test]
fn instructions_have_the_target_that_introduced_them() {
    let needs = |opcode| introduced(opcode).map(|target| target.to_string());
    for (opcode, target) in [
        ("fma.rn.f32", None),
        ("ld.global.nc.b32", None),
        ("fma.rn.f64", Some("sm_13")),
        ("atom.global.add.f64", Some("sm_60")),
        ("fma.rn.f16x2", Some("sm_53")),
        ("shfl.sync.bfly.b32", Some("sm_30")),
        (
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
            Some("sm_70"),
        ),
        (
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
            Some("sm_80"),
        ),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            Some("sm_80"),
        ),
        (
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",
            Some("sm_90"),
        ),
        ("cp.async.ca.shared.global", Some("sm_80")),
        ("cp.async.bulk.wait_group", Some("sm_90")),
        ("wgmma.fence.sync.aligned", Some("sm_90a")),
    ] {
        assert_eq!(needs(opcode).as_deref(), target, "{opcode}");
    }
}

#[test]
fn the_newest_instruction_of_a_text_is_found_behind_predicates_and_braces() {
    let text = "\
.target sm_90a\n\
.entry k(\n.param .u64 p\n)\n{\n\
$L__1:\n\
\tshfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;\n\
\t@%p2 cp.async.ca.shared.global [%r1], [%rd1], 16;\n\
\t{ wgmma.fence.sync.aligned; }\n\
\tret;\n}\n";
    let (opcode, target) = newest_instruction(text).unwrap();
    assert_eq!(opcode, "wgmma.fence.sync.aligned");
    assert_eq!(target.reach, Reach::Own);
    assert_eq!(newest_instruction("\tret;\n"), None);
}
