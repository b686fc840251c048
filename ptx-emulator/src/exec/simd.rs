//! Picks the widest vector instructions of the processor at run time, and moves rows of words that
//! other threads may access at the same time.
//!
//! With `allocation`, this is the crate's only module with `unsafe` code, its submodules included.

/// A function that is compiled for the vector instructions of each level.
macro_rules! at_level {
    (
        $(#[$about:meta])*
        $vis:vis fn $name:ident $(<$generic:ident: $bound:path>)?
            ($($argument:ident: $type:ty),*) -> $result:ty = $body:expr;
    ) => {
        $(#[$about])*
        $vis fn $name $(<$generic: $bound>)? (level: Level, $($argument: $type),*) -> $result {
            #[inline(never)]
            fn portable $(<$generic: $bound>)? ($($argument: $type),*) -> $result {
                $body
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi2")]
            fn avx2 $(<$generic: $bound>)? ($($argument: $type),*) -> $result {
                $body
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512vl,avx512bw,avx512dq")]
            fn avx512 $(<$generic: $bound>)? ($($argument: $type),*) -> $result {
                $body
            }

            match level {
                Level::Portable => portable $(::<$generic>)? ($($argument),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Level::detect` makes `Avx2` only if the processor has these features.
                Level::Avx2 => unsafe { avx2 $(::<$generic>)? ($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Level::detect` makes `Avx512` only if the processor has these features.
                Level::Avx512 => unsafe { avx512 $(::<$generic>)? ($($argument),*) },
            }
        }
    };
}

mod compare;
mod gather;
mod halves;
mod level;
mod runs;
mod segment;
mod words;

use super::gather::Part;
#[cfg(test)]
use super::rows;
use super::rows::group::Rows;
use super::tensor_sum::{self, Factors, Line, Tile};
use super::vector::{Lanes32, Registers, collect};
use super::warp_ops;
use super::{integer_matrix, rare};
use crate::ir::{LaneOp, MatrixInputs, Shuffle};
pub(super) use compare::{compare_wide, compare_words};
pub(super) use gather::{
    Places, Words, can_gather, gather, gather_longs, gather_pairs, gather_row,
};
pub(super) use halves::halves;
pub(super) use level::Instructions;
pub(crate) use level::Level;
use level::Portable;
#[cfg(target_arch = "x86_64")]
use level::{Avx2, Avx512};
pub(super) use runs::{function, micro_ops, restore, restore_wide};
pub(super) use segment::segment;
pub(super) use words::{load_row, prefetch_row, store_row};

/// What [`run_at`] compiles for the vector instructions of each level.
pub(crate) trait Vectorised {
    type Output;

    /// Has to be inlined, with all that should use these instructions.
    fn run(self) -> Self::Output;
}

at_level! {
    /// Does some work with the vector instructions of `level`.
    #[inline(always)]
    pub(crate) fn run_at<W: Vectorised>(work: W) -> W::Output = {
        work.run()
    };
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
    pub(super) fn lanes_outside(addresses: &[u64; 32], range: (u64, u64), bytes: u32) -> u32 = {
        let ((start, last), part) = (range, u64::from(bytes) - 1);
        collect(|lane| {
            let address = addresses[lane];
            (address.wrapping_sub(start) > last) | (address & part != 0)
        })
    };
}

at_level! {
    /// [`tensor_sum::factors`]
    pub(super) fn factors(
        inputs: MatrixInputs,
        words: &Lanes32,
        shift: u32,
        all: &mut Factors
    ) -> () = {
        tensor_sum::factors(inputs, words, shift, all);
    };
}

at_level! {
    /// [`integer_matrix::add_products`]
    pub(super) fn add_products(sums: &mut [i32; 8], a: &[i32], b: &[[i32; 8]]) -> () = {
        integer_matrix::add_products(sums, a, b);
    };
}

at_level! {
    /// [`tensor_sum::tile`]
    pub(super) fn tile(product: &Tile<'_>, d: &mut [u32]) -> () = {
        tensor_sum::tile(product, d);
    };
}

at_level! {
    /// [`warp_ops::shuffle`]
    pub(super) fn shuffle(r: &mut Registers<'_>, op: &Shuffle, mask: u32) -> () = {
        warp_ops::shuffle(r, op, mask);
    };
}

at_level! {
    /// [`warp_ops::shuffle_sources`]
    pub(super) fn shuffle_sources(
        r: &Registers<'_>,
        op: &Shuffle,
        mask: u32
    ) -> ([u8; 32], u32) = {
        warp_ops::shuffle_sources(r, op, mask)
    };
}

at_level! {
    /// [`super::gather::parts`]
    pub(super) fn parts(
        words: &Lanes32,
        what: (&[u64; 32], Part),
        mask: u32,
        to: &mut Lanes32
    ) -> () = {
        crate::exec::gather::parts(words, what, mask, to);
    };
}

at_level! {
    /// [`rare::by_row`]
    pub(super) fn lane_op<G: Rows>(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> Option<()> = {
        rare::by_row::<G>(r, op, mask)
    };
}

at_level! {
    /// [`rare::by_wide_row`]
    pub(super) fn wide_lane_op(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool = {
        rare::by_wide_row(r, op, mask)
    };
}

at_level! {
    /// [`rare::carry_by_row`]
    pub(super) fn carry_op(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool = {
        rare::carry_by_row(r, op, mask)
    };
}

at_level! {
    /// [`rare::insert_field_by_row`]
    pub(super) fn insert_field_op(r: &mut Registers<'_>, op: &LaneOp, mask: u32) -> bool = {
        rare::insert_field_by_row(r, op, mask)
    };
}

at_level! {
    /// [`rows::integer::insert_field`]
    #[cfg(test)]
    pub(super) fn insert_field(x: [&Lanes32; 4]) -> Lanes32 = {
        rows::integer::insert_field(x)
    };
}

at_level! {
    /// [`rows::integer::add_carry`]
    #[cfg(test)]
    pub(super) fn add_carry(a: &Lanes32, b: &Lanes32, carries: u32) -> (Lanes32, u32) = {
        rows::integer::add_carry(a, b, carries)
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
