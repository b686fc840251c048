//! Fragments of matrices between shared memory and registers (PTX ISA, "ldmatrix", "stmatrix").
//!
//! The unit is an 8 × 8 matrix of 16-bit elements: eight rows of 16 bytes each, anywhere in shared
//! memory. One instruction moves four of them. Lane l gives the address of row l mod 8 of matrix l
//! / 8. Afterwards register i of lane l holds, of matrix i, the two elements of row l / 4 at the
//! columns 2 (l mod 4) and the one after it: what [`mma`](crate::mma) wants. A row of 16 bytes may
//! as well be four elements of 32 bits; lane l then has element l mod 4 of row l / 4.
//!
//! The eight rows of a matrix are read at once, so they should lie in different banks: rows of a
//! tile that are a multiple of 128 bytes apart need padding or a swizzle.
//!
//! All 32 lanes of a warp execute these functions together.

use crate::async_copy::SharedAddress;

macro_rules! loads {
    ($($(#[$doc:meta])* $name:ident, $suffix:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// Needs compute capability 7.5.
            ///
            /// # Safety
            /// `row` is aligned to 16 bytes, and the 16 bytes from there on are shared memory that
            /// no thread writes meanwhile. All 32 lanes of the warp execute it together.
            #[inline(always)]
            pub unsafe fn $name(row: SharedAddress) -> [u32; 4] {
                #[cfg(target_arch = "nvptx64")]
                {
                    let (a, b, c, d): (u32, u32, u32, u32);
                    // SAFETY: address and lanes are as the contract of this function says.
                    unsafe {
                        core::arch::asm!(
                            concat!("ldmatrix.sync.aligned.m8n8.x4", $suffix, ".shared.b16 {{{}, {}, {}, {}}}, [{}];"),
                            out(reg32) a,
                            out(reg32) b,
                            out(reg32) c,
                            out(reg32) d,
                            in(reg32) row.bytes(),
                            options(readonly, nostack, preserves_flags),
                        );
                    }
                    [a, b, c, d]
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = row;
                    panic!("cuda_std: matrix fragments need a GPU or the PTX emulator")
                }
            }
        )*
    };
}

loads! {
    /// Loads four matrices.
    load_4, "";
    /// Loads four matrices, transposed: a lane has two elements of one column.
    load_4_transposed, ".trans";
}

/// Stores four matrices: the inverse of [`load_4`].
///
/// Needs compute capability 9.0.
///
/// # Safety
/// `row` is aligned to 16 bytes, and the 16 bytes from there on are shared memory that no other
/// thread accesses meanwhile. All 32 lanes of the warp execute it together.
#[inline(always)]
pub unsafe fn store_4(row: SharedAddress, fragment: [u32; 4]) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: address and lanes are as the contract of this function says.
    unsafe {
        core::arch::asm!(
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [{}], {{{}, {}, {}, {}}};",
            in(reg32) row.bytes(),
            in(reg32) fragment[0],
            in(reg32) fragment[1],
            in(reg32) fragment[2],
            in(reg32) fragment[3],
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (row, fragment);
        panic!("cuda_std: matrix fragments need a GPU or the PTX emulator")
    }
}

macro_rules! load_elements {
    ($($(#[$doc:meta])* $name:ident, $ty:literal, $bytes:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            #[doc = concat!("`address` is aligned to ", $bytes, " bytes, and the ", $bytes)]
            /// bytes from there on are shared memory that no thread writes meanwhile.
            #[inline(always)]
            pub unsafe fn $name(address: SharedAddress) -> u32 {
                #[cfg(target_arch = "nvptx64")]
                {
                    let element: u32;
                    // SAFETY: the address is as the contract of this function says.
                    unsafe {
                        core::arch::asm!(
                            concat!("ld.shared.", $ty, " {}, [{}];"),
                            out(reg32) element,
                            in(reg32) address.bytes(),
                            options(readonly, nostack, preserves_flags),
                        );
                    }
                    element
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = address;
                    panic!("cuda_std: shared memory needs a GPU or the PTX emulator")
                }
            }
        )*
    };
}

load_elements! {
    /// Loads 32 bits: an element of a fragment that [`load_4`] cannot give.
    load_word, "b32", "4";
    /// Loads 16 bits, as the lower half of a word whose upper half is zero.
    load_half, "u16", "2";
    /// Loads 8 bits, as the lowest byte of a word whose others are zero.
    load_byte, "u8", "1";
}

/// Loads 128 bits: four elements of 32 bits side by side.
///
/// # Safety
/// `address` is aligned to 16 bytes, and the 16 bytes from there on are shared memory that no
/// thread writes meanwhile.
#[inline(always)]
pub unsafe fn load_vector(address: SharedAddress) -> [u32; 4] {
    #[cfg(target_arch = "nvptx64")]
    {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: address and lanes are as the contract of this function says.
        unsafe {
            core::arch::asm!(
                "ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) a,
                out(reg32) b,
                out(reg32) c,
                out(reg32) d,
                in(reg32) address.bytes(),
                options(readonly, nostack, preserves_flags),
            );
        }
        [a, b, c, d]
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = address;
        panic!("cuda_std: shared memory needs a GPU or the PTX emulator")
    }
}
