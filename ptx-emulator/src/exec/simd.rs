//! Picks the widest vector instructions of the processor at run time, and moves rows of words that
//! other threads may access at the same time.
//!
//! With `allocation`, this is the crate's only module with `unsafe` code, its submodules included.

/// A function that is compiled for the vector instructions of each level.
macro_rules! at_level {
    (
        $(#[$about:meta])*
        $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $body:expr;
    ) => {
        $(#[$about])*
        pub(in crate::exec) fn $name(level: Level, $($argument: $type),*) -> $result {
            #[inline(never)]
            fn portable($($argument: $type),*) -> $result {
                $body
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi2")]
            fn avx2($($argument: $type),*) -> $result {
                $body
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512vl,avx512bw,avx512dq")]
            fn avx512($($argument: $type),*) -> $result {
                $body
            }

            match level {
                Level::Portable => portable($($argument),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Level::detect` makes `Avx2` only if the processor has these features.
                Level::Avx2 => unsafe { avx2($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Level::detect` makes `Avx512` only if the processor has these features.
                Level::Avx512 => unsafe { avx512($($argument),*) },
            }
        }
    };
}

mod compare;
mod gather;
mod halves;
mod runs;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::sync::atomic::{AtomicU32, Ordering};

use super::gather::Part;
#[cfg(test)]
use super::rows::wide::{self, WideLanes, WideOperands};
#[cfg(test)]
use super::rows::{self, Operands};
use super::run::{RawFault, Run, Stop};
use super::tensor_sum::{self, Factors, Line, Tile};
use super::vector::{Lanes32, Registers, collect};
use super::warp_ops;
use super::{integer_matrix, rare};
#[cfg(test)]
use crate::ir::LaneFunction;
use crate::ir::{LaneOp, MatrixInputs, Shuffle};
use crate::observer::EventSink;
pub(super) use compare::{compare_wide, compare_words};
pub(super) use gather::{Places, Words, can_gather, gather, gather_row};
pub(super) use halves::halves;
pub(super) use runs::{function, micro_ops, restore, restore_wide};

/// Vector instructions that the inner loop is compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Level {
    /// Whatever the target guarantees.
    #[default]
    Portable,
    /// AVX2, FMA, BMI2 and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The AVX-512 of servers since Skylake (F, VL, BW, DQ), with all of the above.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The widest that the processor has.
    pub(crate) fn detect() -> Level {
        Self::available().last().copied().unwrap_or(Level::Portable)
    }

    /// Those that the processor has, narrowest first.
    pub(crate) fn available() -> Vec<Level> {
        #[cfg_attr(
            not(target_arch = "x86_64"),
            expect(unused_mut, reason = "nothing is added")
        )]
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
        {
            levels.push(Level::Avx2);
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
            {
                levels.push(Level::Avx512);
            }
        }
        levels
    }
}

/// Vector instructions as a type, so that the inner loop has no questions about them.
pub(super) trait Instructions {
    const LEVEL: Level;
}

pub(super) struct Portable;

impl Instructions for Portable {
    const LEVEL: Level = Level::Portable;
}

#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx2 {
    const LEVEL: Level = Level::Avx2;
}

#[cfg(target_arch = "x86_64")]
pub(super) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx512 {
    const LEVEL: Level = Level::Avx512;
}

/// What [`run_at`] compiles for the vector instructions of each level.
pub(crate) trait Vectorised {
    type Output;

    /// Has to be inlined, with all that should use these instructions.
    fn run(self) -> Self::Output;
}

/// Does some work with the vector instructions of `level`.
#[inline(always)]
pub(crate) fn run_at<W: Vectorised>(level: Level, work: W) -> W::Output {
    #[inline(never)]
    fn portable<W: Vectorised>(work: W) -> W::Output {
        work.run()
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi2")]
    fn avx2<W: Vectorised>(work: W) -> W::Output {
        work.run()
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512vl,avx512bw,avx512dq")]
    fn avx512<W: Vectorised>(work: W) -> W::Output {
        work.run()
    }

    match level {
        Level::Portable => portable(work),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx2` only if the processor has these features.
        Level::Avx2 => unsafe { avx2(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx512` only if the processor has these features.
        Level::Avx512 => unsafe { avx512(work) },
    }
}

/// [`Run::segment`] with the vector instructions of `level`; `full` becomes its type parameter.
pub(crate) fn segment<O: EventSink>(
    level: Level,
    full: bool,
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    match level {
        Level::Portable => match full {
            true => portable::<O, true>(run, block, mask, limit),
            false => portable::<O, false>(run, block, mask, limit),
        },
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => match full {
            // SAFETY: `Level::detect` makes `Avx2` only if the processor has the features of
            // `avx2`.
            true => unsafe { avx2::<O, true>(run, block, mask, limit) },
            // SAFETY: `Level::detect` makes `Avx2` only if the processor has the features of
            // `avx2`.
            false => unsafe { avx2::<O, false>(run, block, mask, limit) },
        },
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => match full {
            // SAFETY: `Level::detect` makes `Avx512` only if the processor has the features of
            // `avx512`.
            true => unsafe { avx512::<O, true>(run, block, mask, limit) },
            // SAFETY: `Level::detect` makes `Avx512` only if the processor has the features of
            // `avx512`.
            false => unsafe { avx512::<O, false>(run, block, mask, limit) },
        },
    }
}

#[inline(never)]
fn portable<O: EventSink, const FULL: bool>(
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    run.segment::<Portable, FULL>(block, mask, limit)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
fn avx2<O: EventSink, const FULL: bool>(
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    run.segment::<Avx2, FULL>(block, mask, limit)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512vl,avx512bw,avx512dq")]
fn avx512<O: EventSink, const FULL: bool>(
    run: &mut Run<'_, '_, O>,
    block: u32,
    mask: u32,
    limit: u32,
) -> Result<Stop, Box<RawFault>> {
    run.segment::<Avx512, FULL>(block, mask, limit)
}

/// Adds products of a row of A and the rows of B to eight accumulators, each by a fused
/// multiply-add, in the order of the rows.
pub(super) fn multiply_row(level: Level, sums: &mut [f64; 8], a: &[f64], b: &[[f64; 8]]) {
    match level {
        Level::Portable => multiply_rows(sums, a, b),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx2` and `Avx512` only if the processor has AVX2 and FMA.
        _ => unsafe { multiply_row_avx2(sums, a, b) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_row_avx2(sums: &mut [f64; 8], a: &[f64], b: &[[f64; 8]]) {
    multiply_rows(sums, a, b);
}

#[inline(always)]
fn multiply_rows(sums: &mut [f64; 8], a: &[f64], b: &[[f64; 8]]) {
    for (a, row) in a.iter().zip(b) {
        for (sum, b) in sums.iter_mut().zip(row) {
            *sum = a.mul_add(*b, *sum);
        }
    }
}

at_level! {
    /// Of each lane one bit: whether its address is no multiple of `bytes`, or more than `last`
    /// bytes behind the start of the memory.
    lanes_outside(addresses: &[u64; 32], range: (u64, u64), bytes: u32) -> u32 = {
        let ((start, last), part) = (range, u64::from(bytes) - 1);
        collect(|lane| {
            let address = addresses[lane];
            (address.wrapping_sub(start) > last) | (address & part != 0)
        })
    };
}

at_level! {
    /// [`tensor_sum::factors`]
    factors(inputs: MatrixInputs, words: &Lanes32, shift: u32, all: &mut Factors) -> () = {
        tensor_sum::factors(inputs, words, shift, all);
    };
}

at_level! {
    /// [`integer_matrix::add_products`]
    add_products(sums: &mut [i32; 8], a: &[i32], b: &[[i32; 8]]) -> () = {
        integer_matrix::add_products(sums, a, b);
    };
}

at_level! {
    /// [`tensor_sum::tile`]
    tile(product: &Tile<'_>, d: &mut [u32]) -> () = {
        tensor_sum::tile(product, d);
    };
}

at_level! {
    /// [`warp_ops::shuffle`]
    shuffle(r: &mut Registers<'_>, op: &Shuffle, mask: u32) -> () = {
        warp_ops::shuffle(r, op, mask);
    };
}

at_level! {
    /// [`warp_ops::shuffle_sources`]
    shuffle_sources(r: &Registers<'_>, op: &Shuffle, mask: u32) -> ([u8; 32], u32) = {
        warp_ops::shuffle_sources(r, op, mask)
    };
}

at_level! {
    /// [`super::gather::parts`]
    parts(words: &Lanes32, what: (&[u64; 32], Part), mask: u32, to: &mut Lanes32) -> () = {
        crate::exec::gather::parts(words, what, mask, to);
    };
}

at_level! {
    /// [`rare::by_row`]
    lane_op(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool = {
        rare::by_row(r, op, mask)
    };
}

at_level! {
    /// [`rare::by_wide_row`]
    wide_lane_op(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool = {
        rare::by_wide_row(r, op, mask)
    };
}

at_level! {
    /// [`rare::carry_by_row`]
    carry_op(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool = {
        rare::carry_by_row(r, op, mask)
    };
}

at_level! {
    /// [`rare::insert_field_by_row`]
    insert_field_op(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool = {
        rare::insert_field_by_row(r, op, mask)
    };
}

at_level! {
    /// [`rows::evaluate`]
    #[cfg(test)]
    lane_row(function: LaneFunction, x: Operands<'_>) -> Option<Lanes32> = {
        rows::evaluate(function, x)
    };
}

at_level! {
    /// [`rows::integer::insert_field`]
    #[cfg(test)]
    insert_field(x: [&Lanes32; 4]) -> Lanes32 = {
        rows::integer::insert_field(x)
    };
}

at_level! {
    /// [`rows::integer::add_carry`]
    #[cfg(test)]
    add_carry(a: &Lanes32, b: &Lanes32, carries: u32) -> (Lanes32, u32) = {
        rows::integer::add_carry(a, b, carries)
    };
}

at_level! {
    /// [`wide::evaluate`]
    #[cfg(test)]
    wide_lane_row(function: LaneFunction, x: WideOperands<'_>) -> Option<WideLanes> = {
        wide::evaluate(function, x)
    };
}

/// The integral part of a number of a magnitude of up to 2^30, without the questions of `as`.
#[inline(always)]
pub(super) fn truncate(value: f32) -> i32 {
    const LIMIT: f32 = (1 << 30) as f32;
    let value = if value < LIMIT { value } else { LIMIT };
    let value = if value > -LIMIT { value } else { -LIMIT };
    // SAFETY: the value is a number from -2^30 to 2^30, since a NaN is not less than the limit.
    unsafe { value.to_int_unchecked() }
}

/// [`tensor_sum::aligned_sum`]
pub(super) fn aligned_sum(
    level: Level,
    row: &Line,
    column: &Line,
    floor: i32,
    up: u32,
) -> (i32, i32) {
    match level {
        Level::Portable => tensor_sum::aligned_sum(row, column, floor, up),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` makes `Avx2` and `Avx512` only if the processor has AVX2.
        _ => unsafe { aligned_sum_avx2(row, column, floor, up) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn aligned_sum_avx2(row: &Line, column: &Line, floor: i32, up: u32) -> (i32, i32) {
    tensor_sum::aligned_sum(row, column, floor, up)
}

/// Reads 32 words, each as by a relaxed load.
///
/// Rust has no loads of several atomics at once, and the compiler makes none of its own: hence the
/// assembly.
#[inline(always)]
pub(super) fn load_row(level: Level, from: &[AtomicU32; 32], to: &mut [u32; 32]) {
    match level {
        Level::Portable => {
            for (to, word) in to.iter_mut().zip(from) {
                *to = word.load(Ordering::Relaxed);
            }
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `copy_row` needs 128 readable and 128 writable bytes: `from` and `to` are arrays
        // of 32 words, which Rust aligns to words. The processor has the instructions of `level`,
        // since `Level::detect` makes no other value. Other threads may write the words of `from`
        // at the same time: the processor does not tear the aligned words of a vector, so each is
        // read as by a relaxed atomic load.
        _ => unsafe { copy_row(level, from.as_ptr().cast(), to.as_mut_ptr()) },
    }
}

/// Writes 32 words, each as by a relaxed store.
#[inline(always)]
pub(super) fn store_row(level: Level, to: &[AtomicU32; 32], from: &[u32; 32]) {
    match level {
        Level::Portable => {
            for (to, word) in to.iter().zip(from) {
                to.store(*word, Ordering::Relaxed);
            }
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `copy_row` needs 128 readable and 128 writable bytes: `from` and `to` are arrays
        // of 32 words, which Rust aligns to words. The processor has the instructions of `level`,
        // since `Level::detect` makes no other value. `AtomicU32` may be written through a shared
        // reference; the processor does not tear the aligned words of a vector, so each is written
        // as by a relaxed atomic store.
        _ => unsafe { copy_row(level, from.as_ptr(), to.as_ptr().cast_mut().cast()) },
    }
}

/// Prefetches 32 words that are likely to be read soon; words that are out of bounds are left out.
#[inline(always)]
pub(super) fn prefetch_row(words: &[AtomicU32], at: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in [at, at.wrapping_add(16)] {
        if let Some(word) = words.get(line) {
            // SAFETY: a prefetch accesses no memory that the program can observe, and every x86-64
            // processor has the instruction.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(word.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, at);
}

/// Copies 128 bytes.
///
/// # Safety
/// `from` must be readable and `to` writable for 32 words, both of them aligned to words, and the
/// processor must have the instructions of `level`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_row(level: Level, from: *const u32, to: *mut u32) {
    match level {
        // SAFETY: `from` is readable and `to` writable for the 128 bytes that are moved, and the
        // processor has AVX-512: both are conditions of this function. The two registers that are
        // written are declared as clobbered, the stack and the flags are not touched.
        Level::Avx512 => unsafe {
            std::arch::asm!(
                "vmovdqu64 zmm30, [{from}]",
                "vmovdqu64 zmm31, [{from} + 64]",
                "vmovdqu64 [{to}], zmm30",
                "vmovdqu64 [{to} + 64], zmm31",
                from = in(reg) from,
                to = in(reg) to,
                out("zmm30") _,
                out("zmm31") _,
                options(nostack, preserves_flags),
            );
        },
        // SAFETY: `from` is readable and `to` writable for the 128 bytes that are moved, and the
        // processor has AVX: both are conditions of this function. The four registers that are
        // written are declared as clobbered, the stack and the flags are not touched.
        _ => unsafe {
            std::arch::asm!(
                "vmovdqu ymm12, [{from}]",
                "vmovdqu ymm13, [{from} + 32]",
                "vmovdqu ymm14, [{from} + 64]",
                "vmovdqu ymm15, [{from} + 96]",
                "vmovdqu [{to}], ymm12",
                "vmovdqu [{to} + 32], ymm13",
                "vmovdqu [{to} + 64], ymm14",
                "vmovdqu [{to} + 96], ymm15",
                from = in(reg) from,
                to = in(reg) to,
                out("ymm12") _,
                out("ymm13") _,
                out("ymm14") _,
                out("ymm15") _,
                options(nostack, preserves_flags),
            );
        },
    }
}
