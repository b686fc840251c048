//! Between a kernel's PTX entry, its parameters, and the host that launches it.

use super::Block;
use core::panic::RefUnwindSafe;

pub(super) mod sealed {
    pub trait Sealed {}

    /// That all threads of the block have passed a barrier, which `Block::sync` alone says.
    #[derive(Clone, Copy)]
    pub struct Passed(pub(in crate::safe) ());
}

/// What arrays and tiles of safe kernels are made of: plain numbers, any bits of which are a value.
pub trait Element: sealed::Sealed + Copy + RefUnwindSafe + 'static {
    /// Zero.
    const ZERO: Self;
}

/// A type that a safe kernel takes as a parameter: [`Vector`](super::Vector),
/// [`VectorMut`](super::VectorMut), [`Matrix`](super::Matrix), [`MatrixMut`](super::MatrixMut), or
/// a number of 4 or 8 bytes.
///
/// The PTX entry has up to three parameters for it: the address and the extents, 32 bits each. `()`
/// is none.
pub trait Parameter: sealed::Sealed + Sized {
    /// The first parameter of the entry.
    type First;
    /// The second one.
    type Second;
    /// The third one.
    type Third;

    /// The parameter that was passed as these. For the code that `#[kernel]` writes.
    ///
    /// # Safety
    /// The values are those of a launch that `warpladder::gpu::TypedKernel` has checked: arrays
    /// have the extents that are passed with them, equal ones along one dimension, and the
    /// multiples of their types; an array that is written is given once; the grid has a block for
    /// each tile of every output.
    unsafe fn from_entry(first: Self::First, second: Self::Second, third: Self::Third) -> Self;
}

/// A kernel of the safe form, on the host: the type that `#[kernel]` makes, of the kernel's name.
///
/// # Safety
/// The package's PTX has an entry of this name, with these parameters, of blocks of this shape.
pub unsafe trait Entry {
    /// The name of the PTX entry.
    const NAME: &'static str;
    /// The package whose kernel it is.
    const PACKAGE: &'static str;
    /// The block.
    type Block: BlockShape;
    /// The parameters that a launch passes, as a tuple.
    type Parameters;
}

/// The shape of a [`Block`], for the host.
pub trait BlockShape: sealed::Sealed {
    /// Threads in x and y.
    const SHAPE: [u32; 2];
}

/// The PTX of a package's safe kernels, as [`include_ptx!`](crate::include_ptx) makes it.
#[derive(Debug)]
pub struct Ptx {
    text: &'static str,
    package: &'static str,
}

impl Ptx {
    /// The PTX `text` of the package of this name.
    ///
    /// # Safety
    /// The text was compiled from the package, as it is in this program.
    pub const unsafe fn of_package(text: &'static str, package: &'static str) -> Self {
        Ptx { text, package }
    }

    /// The text.
    pub const fn text(&self) -> &'static str {
        self.text
    }

    /// The name of the package.
    pub const fn package(&self) -> &'static str {
        self.package
    }
}

/// Makes `pub static PTX: cuda_std::safe::Ptx` of the PTX that the build script made of this
/// package: `CudaBuilder::embed` or `CheckedInPtx::embed_module`, of `cuda_builder`.
///
/// On the GPU target it is nothing.
#[macro_export]
macro_rules! include_ptx {
    () => {
        #[cfg(not(target_arch = "nvptx64"))]
        include!(concat!(env!("OUT_DIR"), "/safe_kernels.rs"));
    };
}

impl<const X: usize, const Y: usize> sealed::Sealed for Block<X, Y> {}

impl<const X: usize, const Y: usize> BlockShape for Block<X, Y> {
    const SHAPE: [u32; 2] = {
        assert!(Self::THREADS > 0);
        [X as u32, Y as u32]
    };
}

macro_rules! elements {
    ($($number:ty = $zero:expr;)*) => {
        $(
            impl sealed::Sealed for $number {}

            impl Element for $number {
                const ZERO: Self = $zero;
            }
        )*
    };
}

elements! {
    f32 = 0.0;
    f64 = 0.0;
    i8 = 0;
    i16 = 0;
    i32 = 0;
    i64 = 0;
    u8 = 0;
    u16 = 0;
    u32 = 0;
    u64 = 0;
}

macro_rules! scalars {
    ($($number:ty)*) => {
        $(
            impl Parameter for $number {
                type First = $number;
                type Second = ();
                type Third = ();

                #[inline(always)]
                unsafe fn from_entry(value: $number, (): (), (): ()) -> Self {
                    value
                }
            }
        )*
    };
}

scalars!(f32 f64 i32 i64 u32 u64);
