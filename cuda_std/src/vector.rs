//! 64- and 128-bit accesses: one instruction moves two or four elements.
//!
//! A thread that reads `[f32; 4]` through an array type issues four 32-bit loads. Through the types
//! here it issues one `ld.v4.b32` (PTX ISA, "ld", `.vec`), because LLVM sees a vector. The address
//! must be a multiple of the vector's size in bytes.

/// A vector that loads and stores as one instruction.
///
/// # Safety
/// The type has the size of `Array`, an alignment equal to that size, and no invalid bit pattern.
pub unsafe trait Vector: Copy {
    /// Element type.
    type Element: Copy;
    /// The elements as an array.
    type Array: Copy;

    /// The vector of these elements.
    fn from_array(elements: Self::Array) -> Self;

    /// The elements.
    fn to_array(self) -> Self::Array;

    /// Loads consecutive elements.
    ///
    /// # Safety
    /// `from` is aligned to the size of the vector, and all its elements may be read.
    #[inline(always)]
    unsafe fn load(from: *const Self::Element) -> Self::Array {
        // SAFETY: the contract says that the pointer is aligned and valid.
        unsafe { from.cast::<Self>().read() }.to_array()
    }

    /// Stores consecutive elements.
    ///
    /// # Safety
    /// `to` is aligned to the size of the vector, and all its elements may be written.
    #[inline(always)]
    unsafe fn store(to: *mut Self::Element, elements: Self::Array) {
        // SAFETY: the contract says that the pointer is aligned and valid.
        unsafe { to.cast::<Self>().write(Self::from_array(elements)) }
    }
}

macro_rules! vectors {
    ($($(#[$doc:meta])* $name:ident = $element:ty, $count:literal, $align:literal;)*) => {
        $(
            $(#[$doc])*
            #[cfg_attr(target_arch = "nvptx64", repr(simd))]
            #[cfg_attr(not(target_arch = "nvptx64"), repr(C, align($align)))]
            #[derive(Clone, Copy)]
            pub struct $name([$element; $count]);

            const _: () = assert!(size_of::<$name>() == $align && align_of::<$name>() == $align);

            // SAFETY: the assertion above; every bit pattern of a number is valid.
            unsafe impl Vector for $name {
                type Element = $element;
                type Array = [$element; $count];

                #[inline(always)]
                fn from_array(elements: Self::Array) -> Self {
                    $name(elements)
                }

                #[inline(always)]
                fn to_array(self) -> Self::Array {
                    // SAFETY: same size, and every bit pattern is valid. A SIMD type has no fields
                    // to read.
                    unsafe { core::mem::transmute(self) }
                }
            }
        )*
    };
}

impl U32x4 {
    /// Loads four words from global memory where `predicate`, and otherwise gives zeros without
    /// reading. It is one predicated instruction, not a branch, behind which the next load would
    /// wait for what this one is used for.
    ///
    /// # Safety
    /// As for [`load`](Vector::load), of global memory, where `predicate`.
    #[inline(always)]
    pub unsafe fn load_global_if(from: *const u32, predicate: bool) -> [u32; 4] {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the contract says that the source can be read where the predicate holds. Where it
        // does not, the registers are set by the moves.
        unsafe {
            let [mut a, mut b, mut c, mut d] = [0_u32; 4];
            core::arch::asm!(
                "{{ .reg .pred really; setp.ne.b32 really, {really}, 0;",
                "@really ld.global.v4.b32 {{{a}, {b}, {c}, {d}}}, [{from}]; }}",
                a = inout(reg32) a,
                b = inout(reg32) b,
                c = inout(reg32) c,
                d = inout(reg32) d,
                from = in(reg64) from,
                really = in(reg32) predicate as u32,
                options(readonly, nostack, preserves_flags),
            );
            [a, b, c, d]
        }
        #[cfg(not(target_arch = "nvptx64"))]
        match predicate {
            // SAFETY: the contract is that of `load`.
            true => unsafe { Self::load(from) },
            false => [0; 4],
        }
    }
}

vectors! {
    /// Two `f32`, 64 bits.
    F32x2 = f32, 2, 8;
    /// Four `f32`, 128 bits.
    F32x4 = f32, 4, 16;
    /// Two `f64`, 128 bits.
    F64x2 = f64, 2, 16;
    /// Two `u32`, 64 bits.
    U32x2 = u32, 2, 8;
    /// Four `u32`, 128 bits.
    U32x4 = u32, 4, 16;
}
