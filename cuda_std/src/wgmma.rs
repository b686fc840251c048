//! Products of matrices by a warpgroup, four warps, with both operands in shared memory (PTX ISA, "wgmma.mma_async").
//!
//! D += A · B, where A has 64 rows, B up to 256 columns, and a step along k is 32 bytes. D is spread over the 128 threads of the
//! warpgroup: with g = lane / 4 and t = lane mod 4, warp w of the warpgroup holds in register i the row 16 w + g + 8 (i / 2 mod 2) and the column
//! 8 (i / 4) + 2 t + i mod 2.
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

/// An element type of A and B.
pub trait Input {
    /// Bytes of an element.
    const BYTES: usize;

    /// `a · b`: 64 × 256 sums, 32 bytes of k. `A` and `B` are [`ALONG_K`] or [`ACROSS_K`]; 32-bit elements lie along k.
    ///
    /// # Safety
    /// The operands lie where and how the descriptors say, and stay there until the instruction is waited for; until then the
    /// sums are only added to. Before it there was a [`fence`]. The whole warpgroup is here.
    unsafe fn multiply_256<const A: i32, const B: i32>(a: Descriptor, b: Descriptor) -> [f32; 128];

    /// `sums += a · b`.
    ///
    /// # Safety
    /// As for [`multiply_256`](Self::multiply_256). The sums are those of an earlier product, and nothing else has touched them.
    unsafe fn multiply_add_256<const A: i32, const B: i32>(
        sums: &mut [f32; 128],
        a: Descriptor,
        b: Descriptor,
    );

    /// The same for 64 × 192 sums.
    ///
    /// # Safety
    /// As for [`multiply_256`](Self::multiply_256).
    unsafe fn multiply_192<const A: i32, const B: i32>(a: Descriptor, b: Descriptor) -> [f32; 96];

    /// The same for 64 × 192 sums.
    ///
    /// # Safety
    /// As for [`multiply_add_256`](Self::multiply_add_256).
    unsafe fn multiply_add_192<const A: i32, const B: i32>(
        sums: &mut [f32; 96],
        a: Descriptor,
        b: Descriptor,
    );

    /// The same for 64 × 128 sums.
    ///
    /// # Safety
    /// As for [`multiply_256`](Self::multiply_256).
    unsafe fn multiply_128<const A: i32, const B: i32>(a: Descriptor, b: Descriptor) -> [f32; 64];

    /// The same for 64 × 128 sums.
    ///
    /// # Safety
    /// As for [`multiply_add_256`](Self::multiply_add_256).
    unsafe fn multiply_add_128<const A: i32, const B: i32>(
        sums: &mut [f32; 64],
        a: Descriptor,
        b: Descriptor,
    );

    /// The same for 64 × 64 sums.
    ///
    /// # Safety
    /// As for [`multiply_256`](Self::multiply_256).
    unsafe fn multiply_64<const A: i32, const B: i32>(a: Descriptor, b: Descriptor) -> [f32; 32];

    /// The same for 64 × 64 sums.
    ///
    /// # Safety
    /// As for [`multiply_add_256`](Self::multiply_add_256).
    unsafe fn multiply_add_64<const A: i32, const B: i32>(
        sums: &mut [f32; 32],
        a: Descriptor,
        b: Descriptor,
    );
}

/// The sums of a thread for 64 × [`COLUMNS`](Self::COLUMNS) results of a warpgroup: `[f32; 32]`, `[f32; 64]`, `[f32; 96]` or `[f32; 128]`.
pub trait Sums: Copy {
    /// Columns of D.
    const COLUMNS: usize;

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

/// One product into registers that `$direction` says: `out` where they begin, `inlateout` where they are added to.
#[cfg(target_arch = "nvptx64")]
macro_rules! product {
    ($direction:ident, $keep:literal, $instruction:expr, $ways:literal, [$($way:ident)*], $sums:ident, $a:ident, $b:ident; $first:literal $($i:literal)*) => {
        core::arch::asm!(
            concat!(
                "{{ .reg .pred keep; .reg .b64 a, b; mov.b64 a, {{{a}, {upper}}}; mov.b64 b, {{{b}, {upper}}}; setp.ne.b32 keep, ", $keep,
                ", 0; wgmma.mma_async.sync.aligned.", $instruction,
                " {{{", $first, "}" $(, ", {", $i, "}")*, "}}, a, b, keep, 1, 1", $ways, "; }}",
            ),
            $direction(reg32) $sums[$first],
            $($direction(reg32) $sums[$i],)*
            a = in(reg32) $a.0,
            b = in(reg32) $b.0,
            upper = const UPPER,
            $($way = const $way,)*
            options(nostack, preserves_flags),
        )
    };
}

/// The functions of an element type, two for each width.
macro_rules! products {
    ($types:literal, $ways:literal, $way:tt: $($name:ident, $adding:ident, $registers:tt, $shape:expr;)*) => {
        $(
            #[inline(always)]
            unsafe fn $name<const A: i32, const B: i32>(a: Descriptor, b: Descriptor) -> [f32; $registers] {
                const { assert!(Self::BYTES == 2 || A == ALONG_K && B == ALONG_K) };
                #[cfg(target_arch = "nvptx64")]
                {
                    let mut sums = [0.0; $registers];
                    // SAFETY: the caller ensures it.
                    unsafe {
                        with_registers!($registers, product!(out, 0, concat!($shape, ".f32.", $types), $ways, $way, sums, a, b));
                    }
                    sums
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (a, b);
                    on_the_device_only()
                }
            }

            #[inline(always)]
            unsafe fn $adding<const A: i32, const B: i32>(sums: &mut [f32; $registers], a: Descriptor, b: Descriptor) {
                const { assert!(Self::BYTES == 2 || A == ALONG_K && B == ALONG_K) };
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller ensures it.
                unsafe {
                    with_registers!($registers, product!(inlateout, 1, concat!($shape, ".f32.", $types), $ways, $way, sums, a, b));
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (sums, a, b);
                    on_the_device_only()
                }
            }
        )*
    };
}

macro_rules! inputs {
    ($($ty:ident, $bytes:literal, $depth:literal, $types:literal, $ways:literal, $way:tt;)*) => {
        $(
            impl Input for $ty {
                const BYTES: usize = $bytes;

                products! { $types, $ways, $way:
                    multiply_256, multiply_add_256, 128, concat!("m64n256", $depth);
                    multiply_192, multiply_add_192, 96, concat!("m64n192", $depth);
                    multiply_128, multiply_add_128, 64, concat!("m64n128", $depth);
                    multiply_64, multiply_add_64, 32, concat!("m64n64", $depth);
                }
            }
        )*
    };
}

inputs! {
    F16, 2, "k16", "f16.f16", ", {A}, {B}", [A B];
    Bf16, 2, "k16", "bf16.bf16", ", {A}, {B}", [A B];
    Tf32, 4, "k8", "tf32.tf32", "", [];
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
    ($($registers:tt, $columns:literal, $multiply:ident, $multiply_add:ident;)*) => {
        $(
            impl Sums for [f32; $registers] {
                const COLUMNS: usize = $columns;

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
    128, 256, multiply_256, multiply_add_256;
    96, 192, multiply_192, multiply_add_192;
    64, 128, multiply_128, multiply_add_128;
    32, 64, multiply_64, multiply_add_64;
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
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller ensures the warpgroup.
    unsafe {
        core::arch::asm!("bar.sync {}, 128;", in(reg32) barrier, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = barrier;
        on_the_device_only()
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn on_the_device_only() -> ! {
    panic!("cuda_std: wgmma runs on a GPU or on the PTX emulator only")
}
