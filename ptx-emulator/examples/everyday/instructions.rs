//! What one instruction of a warp takes, form by form.

use std::error::Error;
use std::time::{Duration, Instant};

use ptx_emulator::{Args, LaunchConfig, Memory, Module};

/// Runs of each instruction; the fastest counts.
const RUNS: usize = 10;

/// Instructions on registers with numbers from 0.5 to 2 in them; `%q` are pairs of f16, `%rd5` is a
/// row of words in global memory, one for each lane.
const INSTRUCTIONS: &[&str] = &[
    "fma.rn.f32 %r3, %r1, %r2, %r1;",
    "fma.rn.ftz.f32 %r3, %r1, %r2, %r1;",
    "fma.rm.f32 %r3, %r1, %r2, %r1;",
    "fma.rn.sat.f32 %r3, %r1, %r2, %r1;",
    "add.rz.f32 %r3, %r1, %r2;",
    "ex2.approx.ftz.f32 %r3, %r1;",
    "lg2.approx.f32 %r3, %r1;",
    "rsqrt.approx.f32 %r3, %r1;",
    "rcp.approx.ftz.f32 %r3, %r1;",
    "rcp.rn.f32 %r3, %r1;",
    "sqrt.rn.f32 %r3, %r1;",
    "div.rn.f32 %r3, %r1, %r2;",
    "div.approx.f32 %r3, %r1, %r2;",
    "div.full.f32 %r3, %r1, %r2;",
    "sin.approx.f32 %r3, %r1;",
    "cos.approx.f32 %r3, %r1;",
    "tanh.approx.f32 %r3, %r1;",
    "min.f32 %r3, %r1, %r2;",
    "max.NaN.f32 %r3, %r1, %r2;",
    "abs.f32 %r3, %r1;",
    "neg.f32 %r3, %r1;",
    "copysign.f32 %r3, %r1, %r2;",
    "testp.finite.f32 %p1, %r1;",
    "fma.rn.f64 %rd3, %rd1, %rd2, %rd1;",
    "add.f64 %rd3, %rd1, %rd2;",
    "add.rz.f64 %rd3, %rd1, %rd2;",
    "div.rn.f64 %rd3, %rd1, %rd2;",
    "sqrt.rn.f64 %rd3, %rd1;",
    "rcp.rn.f64 %rd3, %rd1;",
    "rcp.approx.ftz.f64 %rd3, %rd1;",
    "abs.f64 %rd3, %rd1;",
    "setp.lt.f64 %p1, %rd1, %rd2;",
    "add.f16 %h3, %h1, %h2;",
    "add.f16x2 %r3, %q1, %q2;",
    "mul.f16x2 %r3, %q1, %q2;",
    "fma.rn.f16x2 %r3, %q1, %q2, %q1;",
    "fma.rn.relu.f16x2 %r3, %q1, %q2, %q1;",
    "fma.rn.bf16x2 %r3, %r1, %r2, %r1;",
    "add.rn.bf16x2 %r3, %r1, %r2;",
    "min.f16x2 %r3, %q1, %q2;",
    "max.NaN.bf16x2 %r3, %q1, %q2;",
    "neg.f16x2 %r3, %q1;",
    "abs.bf16x2 %r3, %q1;",
    "ex2.approx.f16x2 %r3, %q1;",
    "tanh.approx.bf16x2 %r3, %q1;",
    "setp.lt.f16 %p1, %h1, %h2;",
    "setp.gt.f16x2 %p1|%p2, %q1, %q2;",
    "set.lt.f16x2.f16x2 %r3, %q1, %q2;",
    "cvt.rn.f16.f32 %h3, %r1;",
    "cvt.rn.f16x2.f32 %r3, %r1, %r2;",
    "cvt.rn.bf16x2.f32 %r3, %r1, %r2;",
    "cvt.rn.satfinite.e4m3x2.f32 %h3, %r1, %r2;",
    "cvt.rna.tf32.f32 %r3, %r1;",
    "cvt.f32.f16 %r3, %h1;",
    "cvt.f32.bf16 %r3, %h1;",
    "cvt.rn.bf16.f32 %h3, %r1;",
    "cvt.rn.f16.s32 %h3, %r1;",
    "cvt.rzi.s32.f16 %r3, %h1;",
    "cvt.rn.f32.s32 %r3, %r1;",
    "cvt.rn.f32.u8 %r3, %h1;",
    "cvt.rn.f32.s16 %r3, %h1;",
    "cvt.rzi.s32.f32 %r3, %r1;",
    "cvt.rni.s32.f32 %r3, %r1;",
    "cvt.rni.f32.f32 %r3, %r1;",
    "cvt.rzi.f32.f32 %r3, %r1;",
    "cvt.rmi.f32.f32 %r3, %r1;",
    "cvt.rpi.f32.f32 %r3, %r1;",
    "cvt.rzi.u8.f32 %h3, %r1;",
    "cvt.sat.f32.f32 %r3, %r1;",
    "cvt.sat.u8.s32 %h3, %r1;",
    "cvt.rn.f64.s32 %rd3, %r1;",
    "cvt.f64.f32 %rd3, %r1;",
    "cvt.rn.f32.f64 %r3, %rd1;",
    "cvt.rzi.s32.f64 %r3, %rd1;",
    "cvt.rni.f64.f64 %rd3, %rd1;",
    "cvt.rzi.s64.f32 %rd3, %r1;",
    "cvt.rn.f32.u64 %r3, %rd1;",
    "cvt.s64.s32 %rd3, %r1;",
    "cvt.u32.u16 %r3, %h1;",
    "cvt.s32.s8 %r3, %r1;",
    "cvt.s16.s8 %h3, %h1;",
    "cvt.u64.u8 %rd3, %h1;",
    "setp.lt.ftz.f32 %p1, %r1, %r2;",
    "setp.eq.u16 %p1, %h1, %h2;",
    "setp.ne.and.s32 %p1, %r1, %r2, %p2;",
    "setp.geu.f32 %p1, %r1, %r2;",
    "selp.b32 %r3, %r1, %r2, %p2;",
    "selp.b16 %h3, %h1, %h2, %p2;",
    "slct.f32.s32 %r3, %r1, %r2, %r1;",
    "set.lt.u32.f32 %r3, %r1, %r2;",
    "div.u32 %r3, %r1, %r2;",
    "div.s32 %r3, %r1, %r2;",
    "rem.u32 %r3, %r1, %r2;",
    "rem.s32 %r3, %r1, %r2;",
    "div.u64 %rd3, %rd1, %rd2;",
    "rem.s64 %rd3, %rd1, %rd2;",
    "div.u16 %h3, %h1, %h2;",
    "mul.hi.u64 %rd3, %rd1, %rd2;",
    "mad.lo.s32 %r3, %r1, %r2, %r1;",
    "mad.hi.u32 %r3, %r1, %r2, %r1;",
    "mul24.lo.u32 %r3, %r1, %r2;",
    "sad.u32 %r3, %r1, %r2, %r1;",
    "abs.s32 %r3, %r1;",
    "add.sat.s32 %r3, %r1, %r2;",
    "add.cc.u32 %r3, %r1, %r2;",
    "addc.cc.u32 %r3, %r1, %r2;",
    "sub.cc.s32 %r3, %r1, %r2;",
    "madc.hi.cc.u32 %r3, %r1, %r2, %r1;",
    "add.u16x2 %r3, %r1, %r2;",
    "max.s16x2 %r3, %r1, %r2;",
    "popc.b32 %r3, %r1;",
    "popc.b64 %r3, %rd1;",
    "clz.b32 %r3, %r1;",
    "clz.b64 %r3, %rd1;",
    "brev.b32 %r3, %r1;",
    "bfind.u32 %r3, %r1;",
    "bfind.shiftamt.s32 %r3, %r1;",
    "prmt.b32 %r3, %r1, %r2, 0x5410;",
    "prmt.b32 %r3, %r1, %r2, %r1;",
    "lop3.b32 %r3, %r1, %r2, %r1, 0x96;",
    "shf.l.wrap.b32 %r3, %r1, %r2, 7;",
    "shl.b32 %r3, %r1, 3;",
    "shl.b16 %h3, %h1, 3;",
    "bfe.u32 %r3, %r1, 8, 8;",
    "bfe.s32 %r3, %r1, 8, 8;",
    "bfe.u64 %rd3, %rd1, 8, 8;",
    "bfi.b32 %r3, %r1, %r2, 8, 8;",
    "bfi.b64 %rd3, %rd1, %rd2, 8, 8;",
    "bmsk.clamp.b32 %r3, 3, 5;",
    "dp4a.s32.s32 %r3, %r1, %r2, %r1;",
    "dp2a.lo.s32.s32 %r3, %r1, %r2, %r1;",
    "vabsdiff4.u32.u32.u32.add %r3, %r1, %r2, %r1;",
    "vabsdiff.u32.u32.u32 %r3, %r1, %r2;",
    "mul.lo.s16 %h3, %h1, %h2;",
    "min.s16 %h3, %h1, %h2;",
    "mul.wide.u16 %r3, %h1, %h2;",
    "mov.b32 %r3, {%h1, %h2};",
    "mov.b32 {%h3, %h1}, %r1;",
    "mov.b64 %rd3, {%r1, %r2};",
    "mov.b64 {%r3, %r4}, %rd1;",
    "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;",
    "shfl.sync.idx.b32 %r3|%p1, %r1, 0, 31, -1;",
    "vote.sync.ballot.b32 %r3, %p2, -1;",
    "vote.sync.any.pred %p1, %p2, -1;",
    "match.any.sync.b32 %r3, %r1, -1;",
    "redux.sync.add.s32 %r3, %r1, -1;",
    "bar.warp.sync -1;",
    "activemask.b32 %r3;",
    "@%p2 add.s32 %r3, %r1, %r2;",
    "@%p2 fma.rn.f32 %r3, %r1, %r2, %r1;",
    "ld.global.b32 %r3, [%rd5];",
    "@%p2 ld.global.b32 %r3, [%rd5];",
    "ld.global.u8 %r3, [%rd6];",
    "ld.global.b16 %h3, [%rd7];",
    "ld.global.b64 %rd3, [%rd8];",
    "ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd9];",
    "ld.global.b32 %r3, [%rd4];",
    "ld.global.b32 %r3, [%rd10];",
    "st.global.b32 [%rd5], %r1;",
    "@%p2 st.global.b32 [%rd5], %r1;",
    "st.global.u8 [%rd6], %r1;",
    "st.global.b16 [%rd7], %h1;",
    "st.global.b64 [%rd8], %rd1;",
    "st.global.v4.b32 [%rd9], {%r1, %r1, %r1, %r1};",
    "ld.volatile.shared.b32 %r3, [%r7];",
    "ld.shared.b32 %r3, [%r7];",
    "@%p2 ld.shared.b32 %r3, [%r7];",
    "st.shared.b32 [%r7], %r1;",
    "atom.shared.add.u32 %r3, [%r7], %r1;",
    "red.shared.add.u32 [%r8], %r1;",
    "red.global.add.u32 [%rd5], %r1;",
    "red.global.add.u32 [%rd4], %r1;",
    "red.global.add.f32 [%rd5], %r1;",
    "atom.global.cas.b32 %r3, [%rd5], %r1, %r2;",
    "atom.shared.max.s32 %r3, [%r7], %r1;",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r3, %r4, %r5, %r6}, \
     {%q1, %q1, %q1, %q1}, {%q2, %q2}, {%r1, %r1, %r1, %r1};",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r3, %r4, %r5, %r6}, \
     {%r1, %r1, %r1, %r1}, {%r2, %r2}, {%r1, %r1, %r1, %r1};",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r3, %r4, %r5, %r6}, \
     {%r1, %r1, %r1, %r1}, {%r2, %r2}, {%r1, %r1, %r1, %r1};",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd3, %rd11}, {%rd1}, {%rd2}, \
     {%rd1, %rd2};",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r9];",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r3, %r4, %r5, %r6}, [%r9];",
];

/// Prints the nanoseconds of each.
pub fn time_all(only: Option<&str>) -> Result<(), Box<dyn Error>> {
    let wanted = |text: &&&str| only.is_none_or(|only| text.starts_with(only));
    for instruction in INSTRUCTIONS.iter().filter(wanted) {
        match nanoseconds(instruction) {
            Ok(each) => println!("{each:8.1}  {instruction}"),
            Err(error) => println!("       -  {instruction} ({error})"),
        }
    }
    Ok(())
}

fn nanoseconds(instruction: &str) -> Result<f64, Box<dyn Error>> {
    const UNROLLED: usize = 64;
    const ITERATIONS: usize = 100;
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry test(.param .b64 p) {{
         .reg .b32 %r<12>; .reg .b32 %q<4>; .reg .b16 %h<4>; .reg .pred %p<4>; .reg .b32 %i;
         .reg .b64 %rd<16>; .shared .align 16 .b8 buffer[2048];
         mov.u32 %i, %tid.x; mad.lo.u32 %r1, %i, 0x40000, 0x3f000000; add.u32 %r2, %r1, 0x12345;
         mad.lo.u32 %q1, %i, 0x200020, 0x38003800; add.u32 %q2, %q1, 0x30001;
         cvt.u16.u32 %h1, %q1; cvt.u16.u32 %h2, %q2; setp.lt.u32 %p2, %i, 13;
         cvt.f64.f32 %rd1, %r1; cvt.f64.f32 %rd2, %r2;
         ld.param.b64 %rd4, [p]; cvt.u64.u32 %rd6, %i; shl.b64 %rd7, %rd6, 1;
         shl.b64 %rd5, %rd6, 2; shl.b64 %rd8, %rd6, 3; shl.b64 %rd9, %rd6, 4;
         mul.lo.u64 %rd10, %rd6, 124; add.u64 %rd10, %rd4, %rd10; add.u64 %rd5, %rd4, %rd5;
         add.u64 %rd6, %rd4, %rd6; add.u64 %rd7, %rd4, %rd7; add.u64 %rd8, %rd4, %rd8;
         add.u64 %rd9, %rd4, %rd9; mov.u32 %r7, buffer; shl.b32 %r8, %i, 2; shl.b32 %r9, %i, 4;
         add.u32 %r9, %r7, %r9; mov.u32 %r10, %r7; add.u32 %r7, %r7, %r8; mov.u32 %r8, %r10;
         mov.u32 %i, 0;
         AGAIN: {} add.u32 %i, %i, 1; setp.lt.u32 %p3, %i, {ITERATIONS}; @%p3 bra AGAIN; ret; }}",
        instruction.repeat(UNROLLED)
    );
    let kernel = Module::parse(&text)?.kernel("test")?;
    let memory = Memory::with_capacity(1 << 20);
    let mut args = Args::new();
    args.push_u64(memory.alloc(1 << 16)?);
    let config = LaunchConfig {
        workers: Some(1),
        ..LaunchConfig::new([1; 3], [32, 1, 1])
    };
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        kernel.launch(&memory, &config, &args)?;
        best = best.min(start.elapsed());
    }
    Ok(best.as_secs_f64() * 1e9 / (UNROLLED * ITERATIONS) as f64)
}
