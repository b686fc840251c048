//! Products of matrices by a warpgroup, four warps, with both operands in shared memory, or B alone (PTX ISA, "wgmma.mma_async").
//!
//! D += A · B, where A has 64 rows, B up to 256 columns, and a step along k is 32 bytes. D is spread over the 128 threads of the
//! warpgroup: with g = lane / 4 and t = lane mod 4, warp w of the warpgroup holds in register i the row 16 w + g + 8 (i / 2 mod 2) and the column
//! 8 (i / 4) + 2 t + i mod 2. A in registers is spread likewise: a word of 32 bits, one element or two of neighbouring k, of register i
//! holds the row 16 w + g + 8 (i mod 2) and the word t + 4 (i / 2) of the step.
//!
//! Instructions run beside the program until somebody [waits](Sums::wait_all) for them. Before the first one, and whenever the
//! sums were touched by other instructions, comes a [`fence`].
//!
//! Needs compute capability 9.0a. All 128 threads of a warpgroup execute these functions together.

use crate::async_copy::SharedAddress;
use crate::mma::{Bf16, F16, Tf32};

/// How an operand is stored: rows of 128 bytes along k.
pub const ALONG_K: i32 = 0;

/// How an operand of 16-bit elements is stored: rows of 64 elements of one k.
pub const ACROSS_K: i32 = 1;

/// Where an operand lies, swizzled by 128 bytes: the lower half of its descriptor (PTX ISA, "Matrix Descriptor Format"). The upper half
/// is the same for all, and a place further on is a 32-bit addition.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor(u32);

/// Bits 30 and 31 of the upper half: swizzled by 128 bytes.
const SWIZZLED_BY_128: u32 = 1 << 30;

/// Bytes of eight rows of 128, as the upper half begins with it: the distance of two groups of eight rows.
const GROUP_BYTES: u32 = 1024;

/// The upper half.
#[cfg_attr(not(target_arch = "nvptx64"), allow(dead_code))]
const UPPER: u32 = SWIZZLED_BY_128 | GROUP_BYTES >> 4;

impl Descriptor {
    /// An operand whose rows along k are 128 bytes, one behind the other, from a place aligned to 1024 bytes.
    #[inline(always)]
    pub fn along_k(place: SharedAddress) -> Self {
        Descriptor::new(place, 16)
    }

    /// A 16-bit operand stored the other way round: rows of 64 elements of one k, one behind the other; the next 64
    /// elements of each k lie `distance` bytes further.
    #[inline(always)]
    pub fn across_k(place: SharedAddress, distance: u32) -> Self {
        Descriptor::new(place, distance)
    }

    /// Place and distance are in units of 16 bytes.
    #[inline(always)]
    fn new(place: SharedAddress, leading: u32) -> Self {
        // In a cluster, addresses have the block's rank above bit 24, which would reach into the next field.
        let start = (place.bytes() & 0x3_ffff) >> 4;
        Descriptor((leading >> 4) << 16 | start)
    }

    /// The operand `bytes` further.
    #[inline(always)]
    pub fn at(self, bytes: u32) -> Self {
        Descriptor(self.0 + (bytes >> 4))
    }
}

/// A's share of a thread, where A lies in registers.
pub type Rows = [u32; 4];

macro_rules! input {
    ($($columns:literal, $registers:literal: $multiply:ident, $multiply_add:ident, $multiply_rows:ident, $multiply_rows_add:ident;)*) => {
        /// An element type of A and B.
        pub trait Input {
            /// Bytes of an element.
            const BYTES: usize;

            $(
                #[doc = concat!("`a · b`: 64 × ", $columns, " sums, 32 bytes of k. `A` and `B` are [`ALONG_K`] or [`ACROSS_K`]; 32-bit elements lie along k.")]
                ///
                /// # Safety
                /// The operands lie where and how the descriptors say, and stay there until the instruction is waited for; until then the
                /// sums are only added to. Before it there was a [`fence`]. The whole warpgroup is here.
                unsafe fn $multiply<const A: i32, const B: i32>(a: Descriptor, b: Descriptor) -> [f32; $registers];

                /// `sums += a · b`.
                ///
                /// # Safety
                #[doc = concat!("As for [`", stringify!($multiply), "`](Self::", stringify!($multiply), "). The sums are those of an earlier product, and nothing else has touched them.")]
                unsafe fn $multiply_add<const A: i32, const B: i32>(sums: &mut [f32; $registers], a: Descriptor, b: Descriptor);

                /// `a · b` with A in registers.
                ///
                /// # Safety
                #[doc = concat!("As for [`", stringify!($multiply), "`](Self::", stringify!($multiply), "). The registers of A are loaded before the [`fence`], and not again before the instruction is waited for.")]
                unsafe fn $multiply_rows<const B: i32>(a: Rows, b: Descriptor) -> [f32; $registers];

                /// `sums += a · b` with A in registers.
                ///
                /// # Safety
                #[doc = concat!("As for [`", stringify!($multiply_rows), "`](Self::", stringify!($multiply_rows), ") and [`", stringify!($multiply_add), "`](Self::", stringify!($multiply_add), ").")]
                unsafe fn $multiply_rows_add<const B: i32>(sums: &mut [f32; $registers], a: Rows, b: Descriptor);
            )*
        }
    };
}

input! {
    256, 128: multiply_256, multiply_add_256, multiply_rows_256, multiply_rows_add_256;
    192, 96: multiply_192, multiply_add_192, multiply_rows_192, multiply_rows_add_192;
    128, 64: multiply_128, multiply_add_128, multiply_rows_128, multiply_rows_add_128;
    96, 48: multiply_96, multiply_add_96, multiply_rows_96, multiply_rows_add_96;
    64, 32: multiply_64, multiply_add_64, multiply_rows_64, multiply_rows_add_64;
}

/// The sums of a thread for 64 × [`COLUMNS`](Self::COLUMNS) results of a warpgroup: `[f32; 32]`, `[f32; 48]`, `[f32; 64]`, `[f32; 96]` or
/// `[f32; 128]`.
pub trait Sums: Copy {
    /// Columns of D.
    const COLUMNS: usize;
    /// All sums 0.
    const ZERO: Self;

    /// `a · b`.
    ///
    /// # Safety
    /// As for [`Input::multiply_256`].
    unsafe fn multiply<E: Input, const A: i32, const B: i32>(a: Descriptor, b: Descriptor) -> Self;

    /// `self += a · b`.
    ///
    /// # Safety
    /// As for [`Input::multiply_add_256`].
    unsafe fn multiply_add<E: Input, const A: i32, const B: i32>(
        &mut self,
        a: Descriptor,
        b: Descriptor,
    );

    /// `a · b` with A in registers.
    ///
    /// # Safety
    /// As for [`Input::multiply_rows_256`].
    unsafe fn multiply_rows<E: Input, const B: i32>(a: Rows, b: Descriptor) -> Self;

    /// `self += a · b` with A in registers.
    ///
    /// # Safety
    /// As for [`Input::multiply_rows_add_256`].
    unsafe fn multiply_rows_add<E: Input, const B: i32>(&mut self, a: Rows, b: Descriptor);

    /// Waits for all products; the sums may be used after it (PTX ISA, "wgmma.wait_group"). That it takes them keeps the
    /// compiler from using them before.
    ///
    /// # Safety
    /// The whole warpgroup is here.
    unsafe fn wait_all(&mut self);

    /// The sum in a register.
    fn get(&self, register: usize) -> f32;

    /// Replaces the sum in a register.
    fn set(&mut self, register: usize, sum: f32);
}

/// Hands a macro the numbers of the registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! with_registers {
    (32, $macro:ident!($($arguments:tt)*)) => {
        $macro!($($arguments)*;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    (48, $macro:ident!($($arguments:tt)*)) => {
        $macro!($($arguments)*;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47)
    };
    (64, $macro:ident!($($arguments:tt)*)) => {
        $macro!($($arguments)*;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
            48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
    };
    (96, $macro:ident!($($arguments:tt)*)) => {
        $macro!($($arguments)*;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
            48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
            64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79
            80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95)
    };
    (128, $macro:ident!($($arguments:tt)*)) => {
        $macro!($($arguments)*;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
            48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
            64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79
            80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
            96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111
            112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127)
    };
}

/// One product into registers that `$direction` says: `out` where they begin, `inlateout` where they are added to. `$a` is the text
/// of A, after what `$prepare` does for it.
#[cfg(target_arch = "nvptx64")]
macro_rules! product {
    ($direction:ident, $keep:literal, $instruction:expr, [$($way:ident)*], $sums:ident, $prepare:literal, $a:literal, $b:ident, [$($operand:ident = $value:expr),*]; $first:literal $($i:literal)*) => {
        core::arch::asm!(
            concat!(
                "{{ .reg .pred keep; .reg .b64 a, b; ", $prepare, "mov.b64 b, {{{b}, {upper}}}; setp.ne.b32 keep, ", $keep,
                ", 0; wgmma.mma_async.sync.aligned.", $instruction,
                " {{{", $first, "}" $(, ", {", $i, "}")*, "}}, ", $a, ", b, keep, 1, 1" $(, ", {", stringify!($way), "}")*, "; }}",
            ),
            $direction(reg32) $sums[$first],
            $($direction(reg32) $sums[$i],)*
            $($operand = in(reg32) $value,)*
            b = in(reg32) $b.0,
            upper = const UPPER,
            $($way = const $way,)*
            options(nostack, preserves_flags),
        )
    };
}

/// A product whose A lies in shared memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! product_of_shared {
    ($direction:ident, $keep:literal, $instruction:expr, $ways:tt, $sums:ident, $a:ident, $b:ident; $($i:literal)*) => {
        product!($direction, $keep, $instruction, $ways, $sums, "mov.b64 a, {{{a}, {upper}}}; ", "a", $b, [a = $a.0]; $($i)*)
    };
}

/// A product whose A lies in registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! product_of_rows {
    ($direction:ident, $keep:literal, $instruction:expr, $ways:tt, $sums:ident, $a:ident, $b:ident; $($i:literal)*) => {
        product!(
            $direction, $keep, $instruction, $ways, $sums, "", "{{{a0}, {a1}, {a2}, {a3}}}", $b,
            [a0 = $a[0], a1 = $a[1], a2 = $a[2], a3 = $a[3]]; $($i)*
        )
    };
}

/// One function of an element type: `$macro` is the way of its product.
macro_rules! product_function {
    (begins $name:ident, [$($side:ident)*], $a:ty, $registers:tt, $instruction:expr, $macro:ident, $ways:tt, $check:expr) => {
        #[inline(always)]
        unsafe fn $name<$(const $side: i32),*>(a: $a, b: Descriptor) -> [f32; $registers] {
            const { assert!($check) };
            #[cfg(target_arch = "nvptx64")]
            {
                let mut sums = [0.0; $registers];
                // SAFETY: the caller ensures it.
                unsafe {
                    with_registers!($registers, $macro!(out, 0, $instruction, $ways, sums, a, b));
                }
                sums
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = (a, b);
                on_the_device_only()
            }
        }
    };
    (adds $name:ident, [$($side:ident)*], $a:ty, $registers:tt, $instruction:expr, $macro:ident, $ways:tt, $check:expr) => {
        #[inline(always)]
        unsafe fn $name<$(const $side: i32),*>(sums: &mut [f32; $registers], a: $a, b: Descriptor) {
            const { assert!($check) };
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller ensures it.
            unsafe {
                with_registers!($registers, $macro!(inlateout, 1, $instruction, $ways, sums, a, b));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = (sums, a, b);
                on_the_device_only()
            }
        }
    };
}

/// The functions of an element type, four for each width.
macro_rules! products {
    ($types:literal, $ways:tt, $way_of_b:tt: $($name:ident, $adding:ident, $rows:ident, $rows_adding:ident, $registers:tt, $shape:expr;)*) => {
        $(
            product_function! {
                begins $name, [A B], Descriptor, $registers, concat!($shape, ".f32.", $types), product_of_shared, $ways,
                Self::BYTES == 2 || A == ALONG_K && B == ALONG_K
            }
            product_function! {
                adds $adding, [A B], Descriptor, $registers, concat!($shape, ".f32.", $types), product_of_shared, $ways,
                Self::BYTES == 2 || A == ALONG_K && B == ALONG_K
            }
            product_function! {
                begins $rows, [B], Rows, $registers, concat!($shape, ".f32.", $types), product_of_rows, $way_of_b,
                Self::BYTES == 2 || B == ALONG_K
            }
            product_function! {
                adds $rows_adding, [B], Rows, $registers, concat!($shape, ".f32.", $types), product_of_rows, $way_of_b,
                Self::BYTES == 2 || B == ALONG_K
            }
        )*
    };
}

macro_rules! inputs {
    ($($ty:ident, $bytes:literal, $depth:literal, $types:literal, $ways:tt, $way_of_b:tt;)*) => {
        $(
            impl Input for $ty {
                const BYTES: usize = $bytes;

                products! { $types, $ways, $way_of_b:
                    multiply_256, multiply_add_256, multiply_rows_256, multiply_rows_add_256, 128, concat!("m64n256", $depth);
                    multiply_192, multiply_add_192, multiply_rows_192, multiply_rows_add_192, 96, concat!("m64n192", $depth);
                    multiply_128, multiply_add_128, multiply_rows_128, multiply_rows_add_128, 64, concat!("m64n128", $depth);
                    multiply_96, multiply_add_96, multiply_rows_96, multiply_rows_add_96, 48, concat!("m64n96", $depth);
                    multiply_64, multiply_add_64, multiply_rows_64, multiply_rows_add_64, 32, concat!("m64n64", $depth);
                }
            }
        )*
    };
}

inputs! {
    F16, 2, "k16", "f16.f16", [A B], [B];
    Bf16, 2, "k16", "bf16.bf16", [A B], [B];
    Tf32, 4, "k8", "tf32.tf32", [], [];
}

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident, $text:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The whole warpgroup is here.
            #[inline(always)]
            pub unsafe fn $name() {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: only orders; the caller ensures the warpgroup.
                unsafe {
                    core::arch::asm!($text, options(nostack, preserves_flags));
                }
                #[cfg(not(target_arch = "nvptx64"))]
                on_the_device_only()
            }
        )*
    };
}

statements! {
    /// Orders what touched the sums before the products that follow (PTX ISA, "wgmma.fence").
    fence, "wgmma.fence.sync.aligned;";
    /// Makes a group of the products since the last one (PTX ISA, "wgmma.commit_group").
    commit_group, "wgmma.commit_group.sync.aligned;";
    /// Waits until one group at most is on its way (PTX ISA, "wgmma.wait_group"). The sums must not be touched yet.
    wait_all_but_one, "wgmma.wait_group.sync.aligned 1;";
    /// Waits until two groups at most are on their way. The sums must not be touched yet.
    wait_all_but_two, "wgmma.wait_group.sync.aligned 2;";
}

#[cfg(target_arch = "nvptx64")]
macro_rules! wait_all_of {
    ($sums:ident; $($i:literal)*) => {
        core::arch::asm!(
            concat!("wgmma.wait_group.sync.aligned 0; //" $(, " {", $i, "}")*),
            $(inlateout(reg32) $sums[$i],)*
            options(nostack, preserves_flags),
        )
    };
}

macro_rules! sums {
    ($($registers:tt, $columns:literal, $multiply:ident, $multiply_add:ident, $multiply_rows:ident, $multiply_rows_add:ident;)*) => {
        $(
            impl Sums for [f32; $registers] {
                const COLUMNS: usize = $columns;
                const ZERO: Self = [0.0; $registers];

                #[inline(always)]
                unsafe fn multiply<E: Input, const A: i32, const B: i32>(a: Descriptor, b: Descriptor) -> Self {
                    // SAFETY: the caller ensures it.
                    unsafe { E::$multiply::<A, B>(a, b) }
                }

                #[inline(always)]
                unsafe fn multiply_add<E: Input, const A: i32, const B: i32>(&mut self, a: Descriptor, b: Descriptor) {
                    // SAFETY: the caller ensures it.
                    unsafe { E::$multiply_add::<A, B>(self, a, b) }
                }

                #[inline(always)]
                unsafe fn multiply_rows<E: Input, const B: i32>(a: Rows, b: Descriptor) -> Self {
                    // SAFETY: the caller ensures it.
                    unsafe { E::$multiply_rows::<B>(a, b) }
                }

                #[inline(always)]
                unsafe fn multiply_rows_add<E: Input, const B: i32>(&mut self, a: Rows, b: Descriptor) {
                    // SAFETY: the caller ensures it.
                    unsafe { E::$multiply_rows_add::<B>(self, a, b) }
                }

                #[inline(always)]
                unsafe fn wait_all(&mut self) {
                    #[cfg(target_arch = "nvptx64")]
                    // SAFETY: only waits; the caller ensures the warpgroup.
                    unsafe {
                        with_registers!($registers, wait_all_of!(self));
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    on_the_device_only()
                }

                #[inline(always)]
                fn get(&self, register: usize) -> f32 {
                    self[register]
                }

                #[inline(always)]
                fn set(&mut self, register: usize, sum: f32) {
                    self[register] = sum;
                }
            }
        )*
    };
}

sums! {
    128, 256, multiply_256, multiply_add_256, multiply_rows_256, multiply_rows_add_256;
    96, 192, multiply_192, multiply_add_192, multiply_rows_192, multiply_rows_add_192;
    64, 128, multiply_128, multiply_add_128, multiply_rows_128, multiply_rows_add_128;
    48, 96, multiply_96, multiply_add_96, multiply_rows_96, multiply_rows_add_96;
    32, 64, multiply_64, multiply_add_64, multiply_rows_64, multiply_rows_add_64;
}

macro_rules! register_limits {
    ($($(#[$doc:meta])* $name:ident, $direction:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The kernel has launch bounds, `REGISTERS` is a multiple of 8 from 24 to 256, and all warps of the block together stay
            /// within the registers that the launch gave them. The whole warpgroup is here.
            #[inline(always)]
            pub unsafe fn $name<const REGISTERS: u32>() {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller ensures it.
                unsafe {
                    core::arch::asm!(
                        concat!("setmaxnreg.", $direction, ".sync.aligned.u32 {};"),
                        const REGISTERS,
                        options(nomem, nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                on_the_device_only()
            }
        )*
    };
}

register_limits! {
    /// Gives registers back, down to `REGISTERS` for each thread (PTX ISA, "setmaxnreg").
    release_registers, "dec";
    /// Takes registers, up to `REGISTERS` for each thread, once others have given theirs back (PTX ISA, "setmaxnreg").
    take_registers, "inc";
}

/// Waits for the 128 threads of this warpgroup, at one of the block's barriers 1 to 15, which no other warpgroup uses (PTX
/// ISA, "bar"). What they did in shared memory before is seen after it.
///
/// # Safety
/// The whole warpgroup is here, with the same `barrier`.
#[inline(always)]
pub unsafe fn sync(barrier: u32) {
    // SAFETY: passed on to the caller.
    unsafe { sync_several(barrier, 128) }
}

/// [`sync`] for several warpgroups of so many `threads` together.
///
/// # Safety
/// All of the warpgroups are here, with the same `barrier`.
#[inline(always)]
pub unsafe fn sync_several(barrier: u32, threads: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller ensures the warpgroups.
    unsafe {
        core::arch::asm!(
            "bar.sync {}, {};",
            in(reg32) barrier,
            in(reg32) threads,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (barrier, threads);
        on_the_device_only()
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn on_the_device_only() -> ! {
    panic!("cuda_std: wgmma runs on a GPU or on the PTX emulator only")
}
