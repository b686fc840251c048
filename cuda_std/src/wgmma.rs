//! Asynchronous MMA by a warpgroup, four warps (PTX ISA, "wgmma.mma_async"). Both operands lie in
//! shared memory (SS), or A lies in registers (RS).
//!
//! D += A · B, where A has 64 rows, B up to 256 columns, and a k-block is 32 bytes. D is spread
//! over the 128 threads of the warpgroup. With g = lane / 4 and t = lane mod 4, register i of a
//! lane of warp w holds row 16 w + g + 8 (i / 2 mod 2) and column 8 (i / 4) + 2 t + i mod 2. A in
//! registers is spread likewise: register i holds row 16 w + g + 8 (i mod 2) and the 32-bit word t
//! + 4 (i / 2) of the k-block, which is one element, or two or four of neighbouring k.
//!
//! Accumulators of integers are i32, exact modulo 2³². They are handed on as the f32 of the same
//! bits, like all accumulators. Of those of 8-bit floats, the tensor cores of Hopper keep about 14
//! bits: see [`E4m3`].
//!
//! An instruction is in flight until the warpgroup [waits](Accumulator::wait_all) for it. A
//! [`fence`] comes before the first one, and after other instructions have touched the
//! accumulators.
//!
//! Needs compute capability 9.0a. All 128 threads of a warpgroup execute these functions together.

use crate::async_copy::SharedAddress;
use crate::mma::{Bf16, F16, S8, Tf32};

/// K-major: the operand is stored in rows of 128 bytes along k.
pub const K_MAJOR: i32 = 0;

/// MN-major: the operand, of 16-bit elements, is stored in rows of 64 elements of one k.
pub const MN_MAJOR: i32 = 1;

/// Address and layout of an operand, swizzled by 128 bytes: the lower half of its descriptor (PTX
/// ISA, "Matrix Descriptor Format"). The upper half is the same for all, so an offset is a 32-bit
/// addition.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor(u32);

/// Bits 30 and 31 of the upper half: swizzled by 128 bytes.
const SWIZZLED_BY_128: u32 = 1 << 30;

/// Bytes of eight rows of 128, as the upper half begins with it: the distance of two groups of
/// eight rows.
const GROUP_BYTES: u32 = 1024;

/// The upper half.
#[cfg_attr(not(target_arch = "nvptx64"), allow(dead_code))]
const UPPER: u32 = SWIZZLED_BY_128 | GROUP_BYTES >> 4;

impl Descriptor {
    /// A K-major operand: rows of 128 bytes along k, one behind the other, from an address aligned
    /// to 1024 bytes.
    #[inline(always)]
    pub fn k_major(address: SharedAddress) -> Self {
        Descriptor::new(address, 16)
    }

    /// An MN-major operand of 16-bit elements: rows of 64 elements of one k, one behind the other.
    /// The next 64 elements of each k lie `distance` bytes further.
    #[inline(always)]
    pub fn mn_major(address: SharedAddress, distance: u32) -> Self {
        Descriptor::new(address, distance)
    }

    /// The descriptor has address and distance in units of 16 bytes.
    #[inline(always)]
    fn new(address: SharedAddress, leading: u32) -> Self {
        // In a cluster, addresses have the block's rank above bit 24, which would reach into the
        // next field.
        let start = (address.bytes() & 0x3_ffff) >> 4;
        Descriptor((leading >> 4) << 16 | start)
    }

    /// The operand `bytes` further.
    #[inline(always)]
    pub fn at(self, bytes: u32) -> Self {
        Descriptor(self.0 + (bytes >> 4))
    }
}

/// The fragment of A that a thread holds, where A lies in registers (RS).
pub type FragmentA = [u32; 4];

macro_rules! input {
    ($(
        $columns:literal, $registers:literal:
        $mma:ident, $mma_add:ident, $mma_rs:ident, $mma_rs_add:ident;
    )*) => {
        /// An element type of A and B.
        pub trait Input {
            /// Bytes of an element.
            const BYTES: usize;

            $(
                #[doc = concat!("D = A · B, 64 × ", $columns, ", one k-block of 32 bytes.")]
                ///
                /// `A` and `B` are [`K_MAJOR`] or [`MN_MAJOR`]; elements of 8 and of 32 bits are
                /// K-major.
                ///
                /// # Safety
                /// The operands lie where and how the descriptors say, and stay unchanged until the
                /// instruction is waited for. Until then only further instructions of this kind
                /// touch the accumulators. A [`fence`] came before it. All 128 threads of the
                /// warpgroup execute it together.
                unsafe fn $mma<const A: i32, const B: i32>(
                    a: Descriptor,
                    b: Descriptor,
                ) -> [f32; $registers];

                /// D += A · B.
                ///
                /// # Safety
                #[doc = concat!("As for [`", stringify!($mma), "`](Self::", stringify!($mma), "). The accumulators are those of an earlier MMA, and no other instruction has touched them.")]
                unsafe fn $mma_add<const A: i32, const B: i32>(
                    acc: &mut [f32; $registers],
                    a: Descriptor,
                    b: Descriptor,
                );

                /// D = A · B with A in registers.
                ///
                /// # Safety
                #[doc = concat!("As for [`", stringify!($mma), "`](Self::", stringify!($mma), "). The registers of A are loaded before the [`fence`], and not again before the instruction is waited for.")]
                unsafe fn $mma_rs<const B: i32>(a: FragmentA, b: Descriptor) -> [f32; $registers];

                /// D += A · B with A in registers.
                ///
                /// # Safety
                #[doc = concat!(
                    "As for [`", stringify!($mma_rs), "`](Self::", stringify!($mma_rs), ") and [`",
                    stringify!($mma_add), "`](Self::", stringify!($mma_add), ")."
                )]
                unsafe fn $mma_rs_add<const B: i32>(
                    acc: &mut [f32; $registers],
                    a: FragmentA,
                    b: Descriptor,
                );
            )*
        }
    };
}

input! {
    256, 128: mma_256, mma_add_256, mma_rs_256, mma_rs_add_256;
    240, 120: mma_240, mma_add_240, mma_rs_240, mma_rs_add_240;
    224, 112: mma_224, mma_add_224, mma_rs_224, mma_rs_add_224;
    208, 104: mma_208, mma_add_208, mma_rs_208, mma_rs_add_208;
    192, 96: mma_192, mma_add_192, mma_rs_192, mma_rs_add_192;
    176, 88: mma_176, mma_add_176, mma_rs_176, mma_rs_add_176;
    160, 80: mma_160, mma_add_160, mma_rs_160, mma_rs_add_160;
    144, 72: mma_144, mma_add_144, mma_rs_144, mma_rs_add_144;
    128, 64: mma_128, mma_add_128, mma_rs_128, mma_rs_add_128;
    112, 56: mma_112, mma_add_112, mma_rs_112, mma_rs_add_112;
    96, 48: mma_96, mma_add_96, mma_rs_96, mma_rs_add_96;
    80, 40: mma_80, mma_add_80, mma_rs_80, mma_rs_add_80;
    64, 32: mma_64, mma_add_64, mma_rs_64, mma_rs_add_64;
}

/// Columns by which the next narrower D is narrower.
pub const COLUMN_STEP: usize = 16;

/// The accumulators of a thread for D of 64 × [`COLUMNS`](Self::COLUMNS) elements: from `[f32; 32]`
/// of 64 columns in steps of [`COLUMN_STEP`] up to `[f32; 128]` of 256.
pub trait Accumulator: Copy {
    /// The accumulators of a D of [`COLUMN_STEP`] columns fewer. Those of 64 columns are their own.
    type Fewer: Accumulator;

    /// Columns of D.
    const COLUMNS: usize;
    /// All accumulators 0.
    const ZERO: Self;

    /// D = A · B.
    ///
    /// # Safety
    /// As for [`Input::mma_256`].
    unsafe fn mma<E: Input, const A: i32, const B: i32>(a: Descriptor, b: Descriptor) -> Self;

    /// D += A · B.
    ///
    /// # Safety
    /// As for [`Input::mma_add_256`].
    unsafe fn mma_add<E: Input, const A: i32, const B: i32>(
        &mut self,
        a: Descriptor,
        b: Descriptor,
    );

    /// D = A · B with A in registers.
    ///
    /// # Safety
    /// As for [`Input::mma_rs_256`].
    unsafe fn mma_rs<E: Input, const B: i32>(a: FragmentA, b: Descriptor) -> Self;

    /// D += A · B with A in registers.
    ///
    /// # Safety
    /// As for [`Input::mma_rs_add_256`].
    unsafe fn mma_rs_add<E: Input, const B: i32>(&mut self, a: FragmentA, b: Descriptor);

    /// Waits for all groups in flight (PTX ISA, "wgmma.wait_group"); the accumulators may be used
    /// after it. It takes them, which keeps the compiler from using them before.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it together.
    unsafe fn wait_all(&mut self);

    /// Waits until at most the `PENDING` newest groups are in flight, as [`wait_group`]; these
    /// accumulators, of a group before, may be used after it.
    ///
    /// # Safety
    /// As for [`wait_all`](Self::wait_all). None of the groups in flight adds to the accumulators.
    unsafe fn wait_but<const PENDING: u32>(&mut self);

    /// Keeps the compiler from merging the code behind it with code for accumulators of another
    /// width. It would else move what two main loops begin with in front of both, [`fence`] among
    /// it, and `ptxas` asks for the fence next to the MMAs.
    fn keep_apart();

    /// The accumulator in a register.
    fn get(&self, register: usize) -> f32;

    /// Replaces the accumulator in a register.
    fn set(&mut self, register: usize, value: f32);
}

/// Hands a macro the numbers of the registers: those that the next narrower width has, and eight
/// more.
#[cfg(target_arch = "nvptx64")]
macro_rules! with_registers {
    (32, $macro:ident!($($arguments:tt)*) $($more:literal)*) => {
        $macro!($($arguments)*;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 $($more)*)
    };
    (40, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(32, $macro!$arguments 32 33 34 35 36 37 38 39 $($more)*)
    };
    (48, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(40, $macro!$arguments 40 41 42 43 44 45 46 47 $($more)*)
    };
    (56, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(48, $macro!$arguments 48 49 50 51 52 53 54 55 $($more)*)
    };
    (64, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(56, $macro!$arguments 56 57 58 59 60 61 62 63 $($more)*)
    };
    (72, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(64, $macro!$arguments 64 65 66 67 68 69 70 71 $($more)*)
    };
    (80, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(72, $macro!$arguments 72 73 74 75 76 77 78 79 $($more)*)
    };
    (88, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(80, $macro!$arguments 80 81 82 83 84 85 86 87 $($more)*)
    };
    (96, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(88, $macro!$arguments 88 89 90 91 92 93 94 95 $($more)*)
    };
    (104, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(96, $macro!$arguments 96 97 98 99 100 101 102 103 $($more)*)
    };
    (112, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(104, $macro!$arguments 104 105 106 107 108 109 110 111 $($more)*)
    };
    (120, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(112, $macro!$arguments 112 113 114 115 116 117 118 119 $($more)*)
    };
    (128, $macro:ident!$arguments:tt $($more:literal)*) => {
        with_registers!(120, $macro!$arguments 120 121 122 123 124 125 126 127 $($more)*)
    };
}

/// One instruction. `$factors` are those of A and B, 1 or -1, which floats have. `$direction` is
/// `out` where it sets the accumulators, `inlateout` where it adds to them. `$a` is the text of
/// operand A, after what `$prepare` does for it.
#[cfg(target_arch = "nvptx64")]
macro_rules! mma {
    (
        $direction:ident, $keep:literal, $instruction:expr,
        [$factors:literal $($layout:ident)*], $acc:ident,
        $prepare:literal, $a:literal, $b:ident, [$($operand:ident = $value:expr),*];
        $first:literal $($i:literal)*
    ) => {
        core::arch::asm!(
            concat!(
                "{{ .reg .pred keep; .reg .b64 a, b; ", $prepare,
                "mov.b64 b, {{{b}, {upper}}}; setp.ne.b32 keep, ", $keep,
                ", 0; wgmma.mma_async.sync.aligned.", $instruction,
                " {{{", $first, "}" $(, ", {", $i, "}")*, "}}, ", $a, ", b, keep", $factors
                $(, ", {", stringify!($layout), "}")*, "; }}",
            ),
            $direction(reg32) $acc[$first],
            $($direction(reg32) $acc[$i],)*
            $($operand = in(reg32) $value,)*
            b = in(reg32) $b.0,
            upper = const UPPER,
            $($layout = const $layout,)*
            options(nostack, preserves_flags),
        )
    };
}

/// An MMA with A in shared memory (SS).
#[cfg(target_arch = "nvptx64")]
macro_rules! mma_ss {
    (
        $direction:ident, $keep:literal, $instruction:expr, $layouts:tt, $acc:ident, $a:ident,
        $b:ident; $($i:literal)*
    ) => {
        mma!(
            $direction, $keep, $instruction, $layouts, $acc,
            "mov.b64 a, {{{a}, {upper}}}; ", "a", $b, [a = $a.0]; $($i)*
        )
    };
}

/// An MMA with A in registers (RS).
#[cfg(target_arch = "nvptx64")]
macro_rules! mma_rs {
    (
        $direction:ident, $keep:literal, $instruction:expr, $layouts:tt, $acc:ident, $a:ident,
        $b:ident; $($i:literal)*
    ) => {
        mma!(
            $direction, $keep, $instruction, $layouts, $acc, "", "{{{a0}, {a1}, {a2}, {a3}}}", $b,
            [a0 = $a[0], a1 = $a[1], a2 = $a[2], a3 = $a[3]]; $($i)*
        )
    };
}

/// One function of an element type: `$macro` is `mma_ss` or `mma_rs`.
macro_rules! mma_function {
    (
        begins $name:ident, [$($side:ident)*], $a:ty, $registers:tt, $instruction:expr,
        $macro:ident, $layouts:tt, $check:expr
    ) => {
        #[inline(always)]
        unsafe fn $name<$(const $side: i32),*>(a: $a, b: Descriptor) -> [f32; $registers] {
            const { assert!($check) };
            #[cfg(target_arch = "nvptx64")]
            {
                let mut acc = [0.0; $registers];
                // SAFETY: operands, fence and warpgroup are as the contract of this function says.
                unsafe {
                    with_registers!($registers, $macro!(out, 0, $instruction, $layouts, acc, a, b));
                }
                acc
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = (a, b);
                on_the_device_only()
            }
        }
    };
    (
        adds $name:ident, [$($side:ident)*], $a:ty, $registers:tt, $instruction:expr,
        $macro:ident, $layouts:tt, $check:expr
    ) => {
        #[inline(always)]
        unsafe fn $name<$(const $side: i32),*>(acc: &mut [f32; $registers], a: $a, b: Descriptor) {
            const { assert!($check) };
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: operands, fence and warpgroup are as the contract of this function says.
            unsafe {
                with_registers!(
                    $registers, $macro!(inlateout, 1, $instruction, $layouts, acc, a, b)
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = (acc, a, b);
                on_the_device_only()
            }
        }
    };
}

/// The functions of an element type, four for each width.
macro_rules! mma_functions {
    ($types:literal, $layouts:tt, $layout_of_b:tt: $(
        $name:ident, $adding:ident, $rows:ident, $rows_adding:ident, $registers:tt, $shape:expr;
    )*) => {
        $(
            mma_function! {
                begins $name, [A B], Descriptor, $registers,
                concat!($shape, ".", $types), mma_ss, $layouts,
                Self::BYTES == 2 || A == K_MAJOR && B == K_MAJOR
            }
            mma_function! {
                adds $adding, [A B], Descriptor, $registers,
                concat!($shape, ".", $types), mma_ss, $layouts,
                Self::BYTES == 2 || A == K_MAJOR && B == K_MAJOR
            }
            mma_function! {
                begins $rows, [B], FragmentA, $registers,
                concat!($shape, ".", $types), mma_rs, $layout_of_b,
                Self::BYTES == 2 || B == K_MAJOR
            }
            mma_function! {
                adds $rows_adding, [B], FragmentA, $registers,
                concat!($shape, ".", $types), mma_rs, $layout_of_b,
                Self::BYTES == 2 || B == K_MAJOR
            }
        )*
    };
}

macro_rules! inputs {
    ($(
        $ty:ident, $bytes:literal, $k:literal, $types:literal, $layouts:tt, $layout_of_b:tt;
    )*) => {
        $(
            impl Input for $ty {
                const BYTES: usize = $bytes;

                mma_functions! { $types, $layouts, $layout_of_b:
                    mma_256, mma_add_256, mma_rs_256, mma_rs_add_256, 128,
                        concat!("m64n256", $k);
                    mma_240, mma_add_240, mma_rs_240, mma_rs_add_240, 120,
                        concat!("m64n240", $k);
                    mma_224, mma_add_224, mma_rs_224, mma_rs_add_224, 112,
                        concat!("m64n224", $k);
                    mma_208, mma_add_208, mma_rs_208, mma_rs_add_208, 104,
                        concat!("m64n208", $k);
                    mma_192, mma_add_192, mma_rs_192, mma_rs_add_192, 96,
                        concat!("m64n192", $k);
                    mma_176, mma_add_176, mma_rs_176, mma_rs_add_176, 88,
                        concat!("m64n176", $k);
                    mma_160, mma_add_160, mma_rs_160, mma_rs_add_160, 80,
                        concat!("m64n160", $k);
                    mma_144, mma_add_144, mma_rs_144, mma_rs_add_144, 72,
                        concat!("m64n144", $k);
                    mma_128, mma_add_128, mma_rs_128, mma_rs_add_128, 64,
                        concat!("m64n128", $k);
                    mma_112, mma_add_112, mma_rs_112, mma_rs_add_112, 56,
                        concat!("m64n112", $k);
                    mma_96, mma_add_96, mma_rs_96, mma_rs_add_96, 48,
                        concat!("m64n96", $k);
                    mma_80, mma_add_80, mma_rs_80, mma_rs_add_80, 40,
                        concat!("m64n80", $k);
                    mma_64, mma_add_64, mma_rs_64, mma_rs_add_64, 32,
                        concat!("m64n64", $k);
                }
            }
        )*
    };
}

/// 8-bit floats with 4 bits of exponent and 3 of fraction, without infinities (OCP 8-bit Floating
/// Point Specification, "E4M3"). Hopper truncates accumulators of 8-bit floats to about 14 bits
/// (DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.3.2), so that a long k needs
/// promotion to other registers.
#[derive(Clone, Copy, Debug)]
pub struct E4m3;

/// 8-bit floats with 5 bits of exponent and 2 of fraction ("E5M2").
#[derive(Clone, Copy, Debug)]
pub struct E5m2;

/// A is [`E4m3`], B [`E5m2`].
#[derive(Clone, Copy, Debug)]
pub struct E4m3E5m2;

/// A is [`E5m2`], B [`E4m3`].
#[derive(Clone, Copy, Debug)]
pub struct E5m2E4m3;

inputs! {
    F16, 2, "k16", "f32.f16.f16", [", 1, 1" A B], [", 1, 1" B];
    Bf16, 2, "k16", "f32.bf16.bf16", [", 1, 1" A B], [", 1, 1" B];
    Tf32, 4, "k8", "f32.tf32.tf32", [", 1, 1"], [", 1, 1"];
    S8, 1, "k32", "s32.s8.s8", [""], [""];
    E4m3, 1, "k32", "f32.e4m3.e4m3", [", 1, 1"], [", 1, 1"];
    E5m2, 1, "k32", "f32.e5m2.e5m2", [", 1, 1"], [", 1, 1"];
    E4m3E5m2, 1, "k32", "f32.e4m3.e5m2", [", 1, 1"], [", 1, 1"];
    E5m2E4m3, 1, "k32", "f32.e5m2.e4m3", [", 1, 1"], [", 1, 1"];
}

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident, $text:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// All 128 threads of the warpgroup execute it together.
            #[inline(always)]
            pub unsafe fn $name() {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: it only orders; the contract says that the whole warpgroup executes it.
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
    /// Orders earlier accesses to accumulators and fragments before the MMAs that follow (PTX ISA,
    /// "wgmma.fence").
    fence, "wgmma.fence.sync.aligned;";
    /// Commits the MMAs since the last call as a group (PTX ISA, "wgmma.commit_group").
    commit_group, "wgmma.commit_group.sync.aligned;";
}

/// Waits until at most the `PENDING` newest groups are in flight (PTX ISA, "wgmma.wait_group"). The
/// accumulators must not be touched yet, but after [`Accumulator::wait_all`].
///
/// # Safety
/// All 128 threads of the warpgroup execute it together.
#[inline(always)]
pub unsafe fn wait_group<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits; the contract says that the whole warpgroup executes it.
    unsafe {
        core::arch::asm!(
            "wgmma.wait_group.sync.aligned {};",
            const PENDING,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    on_the_device_only()
}

#[cfg(target_arch = "nvptx64")]
macro_rules! wait_of {
    ($acc:ident, $pending:expr; $($i:literal)*) => {
        core::arch::asm!(
            concat!("wgmma.wait_group.sync.aligned {pending}; //" $(, " {", $i, "}")*),
            $(inlateout(reg32) $acc[$i],)*
            pending = const $pending,
            options(nostack, preserves_flags),
        )
    };
}

macro_rules! accumulators {
    ($(
        $registers:tt, $columns:literal, $fewer:literal,
        $mma:ident, $mma_add:ident, $mma_rs:ident, $mma_rs_add:ident;
    )*) => {
        $(
            impl Accumulator for [f32; $registers] {
                type Fewer = [f32; $fewer];

                const COLUMNS: usize = $columns;
                const ZERO: Self = [0.0; $registers];

                #[inline(always)]
                unsafe fn mma<E: Input, const A: i32, const B: i32>(
                    a: Descriptor,
                    b: Descriptor,
                ) -> Self {
                    // SAFETY: operands, fence and warpgroup are as the contract of this function
                    // says.
                    unsafe { E::$mma::<A, B>(a, b) }
                }

                #[inline(always)]
                unsafe fn mma_add<E: Input, const A: i32, const B: i32>(
                    &mut self,
                    a: Descriptor,
                    b: Descriptor,
                ) {
                    // SAFETY: operands, fence and warpgroup are as the contract of this function
                    // says.
                    unsafe { E::$mma_add::<A, B>(self, a, b) }
                }

                #[inline(always)]
                unsafe fn mma_rs<E: Input, const B: i32>(a: FragmentA, b: Descriptor) -> Self {
                    // SAFETY: operands, fence and warpgroup are as the contract of this function
                    // says.
                    unsafe { E::$mma_rs::<B>(a, b) }
                }

                #[inline(always)]
                unsafe fn mma_rs_add<E: Input, const B: i32>(
                    &mut self,
                    a: FragmentA,
                    b: Descriptor,
                ) {
                    // SAFETY: operands, fence and warpgroup are as the contract of this function
                    // says.
                    unsafe { E::$mma_rs_add::<B>(self, a, b) }
                }

                #[inline(always)]
                unsafe fn wait_all(&mut self) {
                    // SAFETY: the contract is the same, with no group in flight.
                    unsafe { self.wait_but::<0>() }
                }

                #[inline(always)]
                unsafe fn wait_but<const PENDING: u32>(&mut self) {
                    #[cfg(target_arch = "nvptx64")]
                    // SAFETY: it only waits; the contract says that the whole warpgroup executes
                    // it.
                    unsafe {
                        with_registers!($registers, wait_of!(self, PENDING));
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    on_the_device_only()
                }

                #[inline(always)]
                fn keep_apart() {
                    #[cfg(target_arch = "nvptx64")]
                    // SAFETY: an empty statement.
                    unsafe {
                        core::arch::asm!(
                            concat!("// columns ", $columns),
                            options(nostack, preserves_flags),
                        );
                    }
                }

                #[inline(always)]
                fn get(&self, register: usize) -> f32 {
                    self[register]
                }

                #[inline(always)]
                fn set(&mut self, register: usize, value: f32) {
                    self[register] = value;
                }
            }
        )*
    };
}

accumulators! {
    128, 256, 120, mma_256, mma_add_256, mma_rs_256, mma_rs_add_256;
    120, 240, 112, mma_240, mma_add_240, mma_rs_240, mma_rs_add_240;
    112, 224, 104, mma_224, mma_add_224, mma_rs_224, mma_rs_add_224;
    104, 208, 96, mma_208, mma_add_208, mma_rs_208, mma_rs_add_208;
    96, 192, 88, mma_192, mma_add_192, mma_rs_192, mma_rs_add_192;
    88, 176, 80, mma_176, mma_add_176, mma_rs_176, mma_rs_add_176;
    80, 160, 72, mma_160, mma_add_160, mma_rs_160, mma_rs_add_160;
    72, 144, 64, mma_144, mma_add_144, mma_rs_144, mma_rs_add_144;
    64, 128, 56, mma_128, mma_add_128, mma_rs_128, mma_rs_add_128;
    56, 112, 48, mma_112, mma_add_112, mma_rs_112, mma_rs_add_112;
    48, 96, 40, mma_96, mma_add_96, mma_rs_96, mma_rs_add_96;
    40, 80, 32, mma_80, mma_add_80, mma_rs_80, mma_rs_add_80;
    32, 64, 32, mma_64, mma_add_64, mma_rs_64, mma_rs_add_64;
}

macro_rules! register_limits {
    ($($(#[$doc:meta])* $name:ident, $direction:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The kernel has launch bounds, `REGISTERS` is a multiple of 8 from 24 to 256, and all
            /// warps of the block together stay within the registers that the launch gave them. All
            /// 128 threads of the warpgroup execute it together.
            #[inline(always)]
            pub unsafe fn $name<const REGISTERS: u32>() {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: launch bounds and the number of registers are as the contract says.
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
    /// Releases registers, down to `REGISTERS` for each thread (PTX ISA, "setmaxnreg.dec").
    setmaxnreg_dec, "dec";
    /// Requests registers, up to `REGISTERS` for each thread, and waits until enough are free (PTX
    /// ISA, "setmaxnreg.inc").
    setmaxnreg_inc, "inc";
}

/// Waits for the 128 threads of this warpgroup at one of the block's named barriers 1 to 15, which
/// no other warpgroup uses (PTX ISA, "bar"). Their earlier accesses to shared memory are visible
/// after it.
///
/// # Safety
/// All 128 threads of the warpgroup execute it together, with the same `barrier`.
#[inline(always)]
pub unsafe fn sync(barrier: u32) {
    // SAFETY: the contract says that these 128 threads execute it with one barrier.
    unsafe { sync_several(barrier, 128) }
}

/// [`sync`] for several warpgroups, of `threads` threads together.
///
/// # Safety
/// All threads of these warpgroups execute it, with the same `barrier`.
#[inline(always)]
pub unsafe fn sync_several(barrier: u32, threads: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the contract says that all `threads` threads execute it with one barrier.
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
