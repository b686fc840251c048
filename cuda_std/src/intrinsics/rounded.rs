//! Arithmetic and conversions with a rounding of their own: down (`_rd`), to nearest (`_rn`), up
//! (`_ru`) and toward 0 (`_rz`), each one instruction (PTX ISA, "Rounding Modifiers").

use super::functions;
use crate::float::GpuFloat;
use crate::instruction::instructions;

instructions! {
    /// libdevice's `__nv_fadd_rd`.
    fadd_rd(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "add.rm.f32";
    /// libdevice's `__nv_fadd_rn`.
    fadd_rn(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "add.rn.f32";
    /// libdevice's `__nv_fadd_ru`.
    fadd_ru(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "add.rp.f32";
    /// libdevice's `__nv_fadd_rz`.
    fadd_rz(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "add.rz.f32";
    /// libdevice's `__nv_fsub_rd`.
    fsub_rd(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "sub.rm.f32";
    /// libdevice's `__nv_fsub_rn`.
    fsub_rn(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "sub.rn.f32";
    /// libdevice's `__nv_fsub_ru`.
    fsub_ru(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "sub.rp.f32";
    /// libdevice's `__nv_fsub_rz`.
    fsub_rz(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "sub.rz.f32";
    /// libdevice's `__nv_fmul_rd`.
    fmul_rd(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "mul.rm.f32";
    /// libdevice's `__nv_fmul_rn`.
    fmul_rn(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "mul.rn.f32";
    /// libdevice's `__nv_fmul_ru`.
    fmul_ru(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "mul.rp.f32";
    /// libdevice's `__nv_fmul_rz`.
    fmul_rz(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "mul.rz.f32";
    /// libdevice's `__nv_fdiv_rd`.
    fdiv_rd(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "div.rm.f32";
    /// libdevice's `__nv_fdiv_rn`.
    fdiv_rn(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "div.rn.f32";
    /// libdevice's `__nv_fdiv_ru`.
    fdiv_ru(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "div.rp.f32";
    /// libdevice's `__nv_fdiv_rz`.
    fdiv_rz(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "div.rz.f32";
    /// libdevice's `__nv_frcp_rd`.
    frcp_rd(x: f32 = reg32) -> f32 = reg32, "rcp.rm.f32";
    /// libdevice's `__nv_frcp_rn`.
    frcp_rn(x: f32 = reg32) -> f32 = reg32, "rcp.rn.f32";
    /// libdevice's `__nv_frcp_ru`.
    frcp_ru(x: f32 = reg32) -> f32 = reg32, "rcp.rp.f32";
    /// libdevice's `__nv_frcp_rz`.
    frcp_rz(x: f32 = reg32) -> f32 = reg32, "rcp.rz.f32";
    /// libdevice's `__nv_fsqrt_rd`.
    fsqrt_rd(x: f32 = reg32) -> f32 = reg32, "sqrt.rm.f32";
    /// libdevice's `__nv_fsqrt_rn`.
    fsqrt_rn(x: f32 = reg32) -> f32 = reg32, "sqrt.rn.f32";
    /// libdevice's `__nv_fsqrt_ru`.
    fsqrt_ru(x: f32 = reg32) -> f32 = reg32, "sqrt.rp.f32";
    /// libdevice's `__nv_fsqrt_rz`.
    fsqrt_rz(x: f32 = reg32) -> f32 = reg32, "sqrt.rz.f32";
    /// libdevice's `__nv_fmaf_rd`.
    fmaf_rd(x: f32 = reg32, y: f32 = reg32, z: f32 = reg32) -> f32 = reg32, "fma.rm.f32";
    /// libdevice's `__nv_fmaf_rn`.
    fmaf_rn(x: f32 = reg32, y: f32 = reg32, z: f32 = reg32) -> f32 = reg32, "fma.rn.f32";
    /// libdevice's `__nv_fmaf_ru`.
    fmaf_ru(x: f32 = reg32, y: f32 = reg32, z: f32 = reg32) -> f32 = reg32, "fma.rp.f32";
    /// libdevice's `__nv_fmaf_rz`.
    fmaf_rz(x: f32 = reg32, y: f32 = reg32, z: f32 = reg32) -> f32 = reg32, "fma.rz.f32";
    /// libdevice's `__nv_dadd_rd`.
    dadd_rd(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "add.rm.f64";
    /// libdevice's `__nv_dadd_rn`.
    dadd_rn(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "add.rn.f64";
    /// libdevice's `__nv_dadd_ru`.
    dadd_ru(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "add.rp.f64";
    /// libdevice's `__nv_dadd_rz`.
    dadd_rz(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "add.rz.f64";
    /// libdevice's `__nv_dmul_rd`.
    dmul_rd(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "mul.rm.f64";
    /// libdevice's `__nv_dmul_rn`.
    dmul_rn(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "mul.rn.f64";
    /// libdevice's `__nv_dmul_ru`.
    dmul_ru(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "mul.rp.f64";
    /// libdevice's `__nv_dmul_rz`.
    dmul_rz(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "mul.rz.f64";
    /// libdevice's `__nv_ddiv_rd`.
    ddiv_rd(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "div.rm.f64";
    /// libdevice's `__nv_ddiv_rn`.
    ddiv_rn(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "div.rn.f64";
    /// libdevice's `__nv_ddiv_ru`.
    ddiv_ru(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "div.rp.f64";
    /// libdevice's `__nv_ddiv_rz`.
    ddiv_rz(x: f64 = reg64, y: f64 = reg64) -> f64 = reg64, "div.rz.f64";
    /// libdevice's `__nv_drcp_rd`.
    drcp_rd(x: f64 = reg64) -> f64 = reg64, "rcp.rm.f64";
    /// libdevice's `__nv_drcp_rn`.
    drcp_rn(x: f64 = reg64) -> f64 = reg64, "rcp.rn.f64";
    /// libdevice's `__nv_drcp_ru`.
    drcp_ru(x: f64 = reg64) -> f64 = reg64, "rcp.rp.f64";
    /// libdevice's `__nv_drcp_rz`.
    drcp_rz(x: f64 = reg64) -> f64 = reg64, "rcp.rz.f64";
    /// libdevice's `__nv_dsqrt_rd`.
    dsqrt_rd(x: f64 = reg64) -> f64 = reg64, "sqrt.rm.f64";
    /// libdevice's `__nv_dsqrt_rn`.
    dsqrt_rn(x: f64 = reg64) -> f64 = reg64, "sqrt.rn.f64";
    /// libdevice's `__nv_dsqrt_ru`.
    dsqrt_ru(x: f64 = reg64) -> f64 = reg64, "sqrt.rp.f64";
    /// libdevice's `__nv_dsqrt_rz`.
    dsqrt_rz(x: f64 = reg64) -> f64 = reg64, "sqrt.rz.f64";
    /// libdevice's `__nv_fma_rd`.
    fma_rd(x: f64 = reg64, y: f64 = reg64, z: f64 = reg64) -> f64 = reg64, "fma.rm.f64";
    /// libdevice's `__nv_fma_rn`.
    fma_rn(x: f64 = reg64, y: f64 = reg64, z: f64 = reg64) -> f64 = reg64, "fma.rn.f64";
    /// libdevice's `__nv_fma_ru`.
    fma_ru(x: f64 = reg64, y: f64 = reg64, z: f64 = reg64) -> f64 = reg64, "fma.rp.f64";
    /// libdevice's `__nv_fma_rz`.
    fma_rz(x: f64 = reg64, y: f64 = reg64, z: f64 = reg64) -> f64 = reg64, "fma.rz.f64";
    /// libdevice's `__nv_double2float_rd`.
    double2float_rd(d: f64 = reg64) -> f32 = reg32, "cvt.rm.f32.f64";
    /// libdevice's `__nv_double2float_rn`.
    double2float_rn(d: f64 = reg64) -> f32 = reg32, "cvt.rn.f32.f64";
    /// libdevice's `__nv_double2float_ru`.
    double2float_ru(d: f64 = reg64) -> f32 = reg32, "cvt.rp.f32.f64";
    /// libdevice's `__nv_double2float_rz`.
    double2float_rz(d: f64 = reg64) -> f32 = reg32, "cvt.rz.f32.f64";
    /// libdevice's `__nv_double2int_rd`.
    double2int_rd(x: f64 = reg64) -> i32 = reg32, "cvt.rmi.s32.f64";
    /// libdevice's `__nv_double2int_rn`.
    double2int_rn(x: f64 = reg64) -> i32 = reg32, "cvt.rni.s32.f64";
    /// libdevice's `__nv_double2int_ru`.
    double2int_ru(x: f64 = reg64) -> i32 = reg32, "cvt.rpi.s32.f64";
    /// libdevice's `__nv_double2int_rz`.
    double2int_rz(x: f64 = reg64) -> i32 = reg32, "cvt.rzi.s32.f64";
    /// libdevice's `__nv_double2uint_rd`.
    double2uint_rd(x: f64 = reg64) -> i32 = reg32, "cvt.rmi.u32.f64";
    /// libdevice's `__nv_double2uint_rn`.
    double2uint_rn(x: f64 = reg64) -> i32 = reg32, "cvt.rni.u32.f64";
    /// libdevice's `__nv_double2uint_ru`.
    double2uint_ru(x: f64 = reg64) -> i32 = reg32, "cvt.rpi.u32.f64";
    /// libdevice's `__nv_double2uint_rz`.
    double2uint_rz(x: f64 = reg64) -> i32 = reg32, "cvt.rzi.u32.f64";
    /// libdevice's `__nv_double2ll_rd`.
    double2ll_rd(x: f64 = reg64) -> i64 = reg64, "cvt.rmi.s64.f64";
    /// libdevice's `__nv_double2ll_rn`.
    double2ll_rn(x: f64 = reg64) -> i64 = reg64, "cvt.rni.s64.f64";
    /// libdevice's `__nv_double2ll_ru`.
    double2ll_ru(x: f64 = reg64) -> i64 = reg64, "cvt.rpi.s64.f64";
    /// libdevice's `__nv_double2ll_rz`.
    double2ll_rz(x: f64 = reg64) -> i64 = reg64, "cvt.rzi.s64.f64";
    /// libdevice's `__nv_double2ull_rd`.
    double2ull_rd(x: f64 = reg64) -> i64 = reg64, "cvt.rmi.u64.f64";
    /// libdevice's `__nv_double2ull_rn`.
    double2ull_rn(x: f64 = reg64) -> i64 = reg64, "cvt.rni.u64.f64";
    /// libdevice's `__nv_double2ull_ru`.
    double2ull_ru(x: f64 = reg64) -> i64 = reg64, "cvt.rpi.u64.f64";
    /// libdevice's `__nv_double2ull_rz`.
    double2ull_rz(x: f64 = reg64) -> i64 = reg64, "cvt.rzi.u64.f64";
    /// libdevice's `__nv_float2int_rd`.
    float2int_rd(x: f32 = reg32) -> i32 = reg32, "cvt.rmi.s32.f32";
    /// libdevice's `__nv_float2int_rn`.
    float2int_rn(x: f32 = reg32) -> i32 = reg32, "cvt.rni.s32.f32";
    /// libdevice's `__nv_float2int_ru`.
    float2int_ru(x: f32 = reg32) -> i32 = reg32, "cvt.rpi.s32.f32";
    /// libdevice's `__nv_float2int_rz`.
    float2int_rz(x: f32 = reg32) -> i32 = reg32, "cvt.rzi.s32.f32";
    /// libdevice's `__nv_float2uint_rd`.
    float2uint_rd(x: f32 = reg32) -> i32 = reg32, "cvt.rmi.u32.f32";
    /// libdevice's `__nv_float2uint_rn`.
    float2uint_rn(x: f32 = reg32) -> i32 = reg32, "cvt.rni.u32.f32";
    /// libdevice's `__nv_float2uint_ru`.
    float2uint_ru(x: f32 = reg32) -> i32 = reg32, "cvt.rpi.u32.f32";
    /// libdevice's `__nv_float2uint_rz`.
    float2uint_rz(x: f32 = reg32) -> i32 = reg32, "cvt.rzi.u32.f32";
    /// libdevice's `__nv_float2ll_rd`.
    float2ll_rd(x: f32 = reg32) -> i64 = reg64, "cvt.rmi.s64.f32";
    /// libdevice's `__nv_float2ll_rn`.
    float2ll_rn(x: f32 = reg32) -> i64 = reg64, "cvt.rni.s64.f32";
    /// libdevice's `__nv_float2ll_ru`.
    float2ll_ru(x: f32 = reg32) -> i64 = reg64, "cvt.rpi.s64.f32";
    /// libdevice's `__nv_float2ll_rz`.
    float2ll_rz(x: f32 = reg32) -> i64 = reg64, "cvt.rzi.s64.f32";
    /// libdevice's `__nv_float2ull_rd`.
    float2ull_rd(x: f32 = reg32) -> i64 = reg64, "cvt.rmi.u64.f32";
    /// libdevice's `__nv_float2ull_rn`.
    float2ull_rn(x: f32 = reg32) -> i64 = reg64, "cvt.rni.u64.f32";
    /// libdevice's `__nv_float2ull_ru`.
    float2ull_ru(x: f32 = reg32) -> i64 = reg64, "cvt.rpi.u64.f32";
    /// libdevice's `__nv_float2ull_rz`.
    float2ull_rz(x: f32 = reg32) -> i64 = reg64, "cvt.rzi.u64.f32";
    /// libdevice's `__nv_int2float_rd`.
    int2float_rd(x: i32 = reg32) -> f32 = reg32, "cvt.rm.f32.s32";
    /// libdevice's `__nv_int2float_rn`.
    int2float_rn(x: i32 = reg32) -> f32 = reg32, "cvt.rn.f32.s32";
    /// libdevice's `__nv_int2float_ru`.
    int2float_ru(x: i32 = reg32) -> f32 = reg32, "cvt.rp.f32.s32";
    /// libdevice's `__nv_int2float_rz`.
    int2float_rz(x: i32 = reg32) -> f32 = reg32, "cvt.rz.f32.s32";
    /// libdevice's `__nv_uint2float_rd`.
    uint2float_rd(x: i32 = reg32) -> f32 = reg32, "cvt.rm.f32.u32";
    /// libdevice's `__nv_uint2float_rn`.
    uint2float_rn(x: i32 = reg32) -> f32 = reg32, "cvt.rn.f32.u32";
    /// libdevice's `__nv_uint2float_ru`.
    uint2float_ru(x: i32 = reg32) -> f32 = reg32, "cvt.rp.f32.u32";
    /// libdevice's `__nv_uint2float_rz`.
    uint2float_rz(x: i32 = reg32) -> f32 = reg32, "cvt.rz.f32.u32";
    /// libdevice's `__nv_ll2float_rd`.
    ll2float_rd(x: i64 = reg64) -> f32 = reg32, "cvt.rm.f32.s64";
    /// libdevice's `__nv_ll2float_rn`.
    ll2float_rn(x: i64 = reg64) -> f32 = reg32, "cvt.rn.f32.s64";
    /// libdevice's `__nv_ll2float_ru`.
    ll2float_ru(x: i64 = reg64) -> f32 = reg32, "cvt.rp.f32.s64";
    /// libdevice's `__nv_ll2float_rz`.
    ll2float_rz(x: i64 = reg64) -> f32 = reg32, "cvt.rz.f32.s64";
    /// libdevice's `__nv_ull2float_rd`.
    ull2float_rd(x: i64 = reg64) -> f32 = reg32, "cvt.rm.f32.u64";
    /// libdevice's `__nv_ull2float_rn`.
    ull2float_rn(x: i64 = reg64) -> f32 = reg32, "cvt.rn.f32.u64";
    /// libdevice's `__nv_ull2float_ru`.
    ull2float_ru(x: i64 = reg64) -> f32 = reg32, "cvt.rp.f32.u64";
    /// libdevice's `__nv_ull2float_rz`.
    ull2float_rz(x: i64 = reg64) -> f32 = reg32, "cvt.rz.f32.u64";
    /// libdevice's `__nv_ll2double_rd`.
    ll2double_rd(x: i64 = reg64) -> f64 = reg64, "cvt.rm.f64.s64";
    /// libdevice's `__nv_ll2double_rn`.
    ll2double_rn(x: i64 = reg64) -> f64 = reg64, "cvt.rn.f64.s64";
    /// libdevice's `__nv_ll2double_ru`.
    ll2double_ru(x: i64 = reg64) -> f64 = reg64, "cvt.rp.f64.s64";
    /// libdevice's `__nv_ll2double_rz`.
    ll2double_rz(x: i64 = reg64) -> f64 = reg64, "cvt.rz.f64.s64";
    /// libdevice's `__nv_ull2double_rd`.
    ull2double_rd(x: i64 = reg64) -> f64 = reg64, "cvt.rm.f64.u64";
    /// libdevice's `__nv_ull2double_rn`.
    ull2double_rn(x: i64 = reg64) -> f64 = reg64, "cvt.rn.f64.u64";
    /// libdevice's `__nv_ull2double_ru`.
    ull2double_ru(x: i64 = reg64) -> f64 = reg64, "cvt.rp.f64.u64";
    /// libdevice's `__nv_ull2double_rz`.
    ull2double_rz(x: i64 = reg64) -> f64 = reg64, "cvt.rz.f64.u64";
}

functions! {
    int2double_rn(i: i32) -> f64 = f64::from(i);
    uint2double_rn(i: i32) -> f64 = f64::from(i as u32);
    frsqrt_rn(x: f32) -> f32 = (1.0 / GpuFloat::sqrt(f64::from(x))) as f32;
    half2float(h: i16) -> f32 = crate::float16::Widen::widen(crate::float16::f16(h as u16));
    float2half_rn(f: f32) -> i16 =
        <crate::float16::f16 as crate::float16::FromWide>::from_wide(f).0 as i16;
}
