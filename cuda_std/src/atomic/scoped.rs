//! Atomic types of one scope each.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;
#[cfg(not(target_arch = "nvptx64"))]
use core::sync::atomic::{AtomicU32 as Word32, AtomicU64 as Word64};

/// The order of a compare-and-exchange, which is one instruction whether it succeeds or fails: the
/// weakest that is as strong as both.
#[inline(always)]
fn stronger(success: Ordering, failure: Ordering) -> Ordering {
    match (success, failure) {
        (_, Ordering::SeqCst) => Ordering::SeqCst,
        (Ordering::Relaxed, Ordering::Acquire) => Ordering::Acquire,
        (Ordering::Release, Ordering::Acquire) => Ordering::AcqRel,
        (success, _) => success,
    }
}

/// One instruction on `$address`, which holds or takes a `$class` register: for each order the
/// instruction with these semantics, and for a sequentially consistent one a fence before it (PTX
/// ISA, "Memory Consistency Model").
#[cfg(target_arch = "nvptx64")]
macro_rules! ordered {
    (atom $address:expr, $order:expr, $scope:literal, $operation:literal, $class:ident,
        $($operand:expr),+) => {{
        let before;
        match $order {
            Ordering::Relaxed => ordered!(@atom ".relaxed.", before, $address, $scope, $operation,
                $class, $($operand),+),
            Ordering::Acquire => ordered!(@atom ".acquire.", before, $address, $scope, $operation,
                $class, $($operand),+),
            Ordering::Release => ordered!(@atom ".release.", before, $address, $scope, $operation,
                $class, $($operand),+),
            Ordering::AcqRel => ordered!(@atom ".acq_rel.", before, $address, $scope, $operation,
                $class, $($operand),+),
            _ => {
                ordered!(@fence $scope);
                ordered!(@atom ".acquire.", before, $address, $scope, $operation, $class,
                    $($operand),+)
            }
        }
        before
    }};
    (@fence $scope:literal) => {
        core::arch::asm!(
            concat!("fence.sc.", $scope, ";"), options(nostack, preserves_flags)
        )
    };
    (@atom $semantics:literal, $before:ident, $address:expr, $scope:literal, $operation:literal,
        $class:ident, $a:expr) => {
        core::arch::asm!(
            concat!("atom", $semantics, $scope, ".", $operation, " {0}, [{1}], {2};"),
            out($class) $before, in(reg64) $address, in($class) $a,
            options(nostack, preserves_flags),
        )
    };
    (@atom $semantics:literal, $before:ident, $address:expr, $scope:literal, $operation:literal,
        $class:ident, $a:expr, $b:expr) => {
        core::arch::asm!(
            concat!("atom", $semantics, $scope, ".", $operation, " {0}, [{1}], {2}, {3};"),
            out($class) $before, in(reg64) $address, in($class) $a, in($class) $b,
            options(nostack, preserves_flags),
        )
    };
    (@load $semantics:literal, $value:ident, $address:expr, $scope:literal, $bits:literal,
        $class:ident) => {
        core::arch::asm!(
            concat!("ld", $semantics, $scope, ".", $bits, " {0}, [{1}];"),
            out($class) $value, in(reg64) $address,
            options(nostack, preserves_flags),
        )
    };
    (@store $semantics:literal, $value:expr, $address:expr, $scope:literal, $bits:literal,
        $class:ident) => {
        core::arch::asm!(
            concat!("st", $semantics, $scope, ".", $bits, " [{0}], {1};"),
            in(reg64) $address, in($class) $value,
            options(nostack, preserves_flags),
        )
    };
}

/// A method that reads, changes and writes the value: an `atom` instruction on a device, a loop of
/// compare-and-exchange on a host.
macro_rules! method {
    ($(#[$doc:meta])* $name:ident($value:ident): $ty:ty $(as $unsafety:ident)? = $scope:literal,
        $operation:literal, $class:ident, $operand:expr, $host:expr) => {
        $(#[$doc])*
        #[inline(always)]
        pub $($unsafety)? fn $name(&self, $value: $ty, order: Ordering) -> $ty {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the cell is aligned and lives as long as `self`; it is accessed atomically
            // only.
            return unsafe {
                ordered!(atom self.value.get(), order, $scope, $operation, $class, $operand)
            };
            #[cfg(not(target_arch = "nvptx64"))]
            self.update(order, $host)
        }
    };
}

macro_rules! common_methods {
    ($ty:ty, $bits:ident, $word:ident, $class:ident, $scope:literal, $width:literal,
        $and:literal, $or:literal, $xor:literal, $exch:literal, $cas:literal;
        $($unsafety:ident)?) => {
        /// An atomic that holds `value`.
        #[inline(always)]
        pub const fn new(value: $ty) -> Self {
            Self { value: UnsafeCell::new(value) }
        }

        /// The value: nothing else can reach it.
        #[inline(always)]
        pub fn into_inner(self) -> $ty {
            self.value.into_inner()
        }

        /// The value's address, for what this type has no method for.
        #[inline(always)]
        pub const fn as_ptr(&self) -> *mut $ty {
            self.value.get()
        }

        #[cfg(not(target_arch = "nvptx64"))]
        fn word(&self) -> &$word {
            // SAFETY: the size and the alignment are those of the atomic of `core`.
            unsafe { &*self.value.get().cast() }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        fn update(&self, order: Ordering, change: impl Fn($ty) -> $ty) -> $ty {
            let word = self.word();
            let mut old = word.load(Ordering::Relaxed);
            loop {
                let new = change($bits::from(old)).to();
                match word.compare_exchange(old, new, order, Ordering::Relaxed) {
                    Ok(old) => return $bits::from(old),
                    Err(now) => old = now,
                }
            }
        }

        method! {
            /// The bits that both have; returns what was there before.
            fetch_and(value): $ty $(as $unsafety)? = $scope, $and, $class, value,
                |old: $ty| $bits::from(old.to() & value.to())
        }
        method! {
            /// The bits that either has; returns what was there before.
            fetch_or(value): $ty $(as $unsafety)? = $scope, $or, $class, value,
                |old: $ty| $bits::from(old.to() | value.to())
        }
        method! {
            /// The bits that one has; returns what was there before.
            fetch_xor(value): $ty $(as $unsafety)? = $scope, $xor, $class, value,
                |old: $ty| $bits::from(old.to() ^ value.to())
        }
        method! {
            /// Stores `value` and returns what was there before.
            swap(value): $ty $(as $unsafety)? = $scope, $exch, $class, value, |_| value
        }

        /// Stores `new` where the bits are those of `current`: `Ok` of what was there before where
        /// they were, else `Err` of it.
        #[inline(always)]
        pub $($unsafety)? fn compare_exchange(
            &self,
            current: $ty,
            new: $ty,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$ty, $ty> {
            let order = stronger(success, failure);
            #[cfg(target_arch = "nvptx64")]
            {
                // SAFETY: the cell is aligned and lives as long as `self`; all accesses are
                // atomic.
                let before: $ty = unsafe {
                    ordered!(atom self.value.get(), order, $scope, $cas, $class, current, new)
                };
                if before.to() == current.to() { Ok(before) } else { Err(before) }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let exchanged =
                    self.word().compare_exchange(current.to(), new.to(), order, failure);
                exchanged.map($bits::from).map_err($bits::from)
            }
        }

        /// The value.
        ///
        /// # Panics
        /// For [`Ordering::Release`] and [`Ordering::AcqRel`], which loads do not have.
        #[inline(always)]
        pub $($unsafety)? fn load(&self, order: Ordering) -> $ty {
            #[cfg(target_arch = "nvptx64")]
            {
                let value;
                // SAFETY: the cell is aligned and lives as long as `self`; all accesses are
                // atomic.
                unsafe {
                    match order {
                        Ordering::Relaxed => ordered!(@load ".relaxed.", value, self.value.get(),
                            $scope, $width, $class),
                        Ordering::Acquire => ordered!(@load ".acquire.", value, self.value.get(),
                            $scope, $width, $class),
                        Ordering::SeqCst => {
                            ordered!(@fence $scope);
                            ordered!(@load ".acquire.", value, self.value.get(), $scope, $width,
                                $class)
                        }
                        _ => panic!("a load cannot release"),
                    }
                }
                value
            }
            #[cfg(not(target_arch = "nvptx64"))]
            $bits::from(self.word().load(order))
        }

        /// Stores a value.
        ///
        /// # Panics
        /// For [`Ordering::Acquire`] and [`Ordering::AcqRel`], which stores do not have.
        #[inline(always)]
        pub $($unsafety)? fn store(&self, value: $ty, order: Ordering) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the cell is aligned and lives as long as `self`; it is accessed atomically
            // only.
            unsafe {
                match order {
                    Ordering::Relaxed => ordered!(@store ".relaxed.", value, self.value.get(),
                        $scope, $width, $class),
                    Ordering::Release => ordered!(@store ".release.", value, self.value.get(),
                        $scope, $width, $class),
                    Ordering::SeqCst => {
                        ordered!(@fence $scope);
                        ordered!(@store ".relaxed.", value, self.value.get(), $scope, $width,
                            $class)
                    }
                    _ => panic!("a store cannot acquire"),
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            self.word().store(value.to(), order)
        }
    };
}

/// A number as the bits that atomics of `core` hold.
trait Bits {
    type Word;
    fn to(self) -> Self::Word;
}

macro_rules! bits {
    ($($module:ident: $ty:ty = $word:ty, $to:expr, $from:expr;)*) => {
        $(
            impl Bits for $ty {
                type Word = $word;
                #[inline(always)]
                fn to(self) -> $word {
                    $to(self)
                }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            mod $module {
                pub fn from(word: $word) -> $ty {
                    $from(word)
                }
            }
        )*
    };
}

bits! {
    bits_u32: u32 = u32, |x| x, |x| x;
    bits_i32: i32 = u32, |x| x as u32, |x| x as i32;
    bits_f32: f32 = u32, f32::to_bits, f32::from_bits;
    bits_u64: u64 = u64, |x| x, |x| x;
    bits_i64: i64 = u64, |x| x as u64, |x| x as i64;
    bits_f64: f64 = u64, f64::to_bits, f64::from_bits;
}

macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident: $ty:ident, $align:literal, $scope:literal
        $(, $unsafety:ident)?) => {
        $(#[$doc])*
        ///
        /// It lies in global or shared memory: PTX has no atomic instructions for local memory, so
        /// one on a thread's own stack ends the kernel.
        #[repr(C, align($align))]
        pub struct $name {
            value: UnsafeCell<$ty>,
        }

        // SAFETY: all accesses through a shared reference are atomic.
        unsafe impl Sync for $name {}

        // What the unsafe methods of a block's atomic ask for stands at the type.
        #[allow(clippy::missing_safety_doc)]
        impl $name {
            atomic!(@methods $ty, $scope; $($unsafety)?);

        }
    };
    (@methods u32, $scope:literal; $($u:ident)?) => {
        atomic!(@integer u32, bits_u32, Word32, reg32, $scope, "b32", "add.u32", "min.u32",
            "max.u32", "and.b32", "or.b32", "xor.b32", "exch.b32", "cas.b32"; $($u)?);
    };
    (@methods i32, $scope:literal; $($u:ident)?) => {
        atomic!(@integer i32, bits_i32, Word32, reg32, $scope, "b32", "add.s32", "min.s32",
            "max.s32", "and.b32", "or.b32", "xor.b32", "exch.b32", "cas.b32"; $($u)?);
    };
    (@methods u64, $scope:literal; $($u:ident)?) => {
        atomic!(@integer u64, bits_u64, Word64, reg64, $scope, "b64", "add.u64", "min.u64",
            "max.u64", "and.b64", "or.b64", "xor.b64", "exch.b64", "cas.b64"; $($u)?);
    };
    (@methods i64, $scope:literal; $($u:ident)?) => {
        // There is no `add.s64`; the bits are the same.
        atomic!(@integer i64, bits_i64, Word64, reg64, $scope, "b64", "add.u64", "min.s64",
            "max.s64", "and.b64", "or.b64", "xor.b64", "exch.b64", "cas.b64"; $($u)?);
    };
    (@methods f32, $scope:literal; $($u:ident)?) => {
        atomic!(@float f32, bits_f32, Word32, reg32, $scope, "b32", "add.f32", "and.b32", "or.b32",
            "xor.b32", "exch.b32", "cas.b32"; $($u)?);
    };
    (@methods f64, $scope:literal; $($u:ident)?) => {
        atomic!(@float f64, bits_f64, Word64, reg64, $scope, "b64", "add.f64", "and.b64", "or.b64",
            "xor.b64", "exch.b64", "cas.b64"; $($u)?);
    };
    (@integer $ty:ty, $bits:ident, $word:ident, $class:ident, $scope:literal, $width:literal,
        $add:literal, $min:literal, $max:literal, $and:literal, $or:literal, $xor:literal,
        $exch:literal, $cas:literal; $($u:ident)?) => {
        common_methods!($ty, $bits, $word, $class, $scope, $width, $and, $or, $xor, $exch, $cas;
            $($u)?);
        method! {
            /// Adds, wrapping around, and returns what was there before.
            fetch_add(value): $ty $(as $u)? = $scope, $add, $class, value,
                |old: $ty| old.wrapping_add(value)
        }
        method! {
            /// Subtracts, wrapping around, and returns what was there before.
            fetch_sub(value): $ty $(as $u)? = $scope, $add, $class, value.wrapping_neg(),
                |old: $ty| old.wrapping_sub(value)
        }
        method! {
            /// The smaller one of both; returns what was there before.
            fetch_min(value): $ty $(as $u)? = $scope, $min, $class, value,
                |old: $ty| old.min(value)
        }
        method! {
            /// The larger one of both; returns what was there before.
            fetch_max(value): $ty $(as $u)? = $scope, $max, $class, value,
                |old: $ty| old.max(value)
        }
    };
    (@float $ty:ty, $bits:ident, $word:ident, $class:ident, $scope:literal, $width:literal,
        $add:literal, $and:literal, $or:literal, $xor:literal, $exch:literal, $cas:literal;
        $($u:ident)?) => {
        common_methods!($ty, $bits, $word, $class, $scope, $width, $and, $or, $xor, $exch, $cas;
            $($u)?);
        method! {
            /// Adds and returns what was there before. The order of additions from different
            /// threads is not defined, so neither is the rounding of a sum.
            fetch_add(value): $ty $(as $u)? = $scope, $add, $class, value, |old: $ty| old + value
        }
        method! {
            /// Subtracts, by adding the negative, and returns what was there before.
            fetch_sub(value): $ty $(as $u)? = $scope, $add, $class, -value, |old: $ty| old - value
        }
    };
}

macro_rules! atomics {
    ($($ty:ident, $align:literal: $device:ident, $block:ident, $system:ident;)*) => {
        $(
            atomic! {
                #[doc = concat!("An `", stringify!($ty), "` for the threads of a device (`.gpu`).")]
                $device: $ty, $align, "gpu"
            }
            atomic! {
                #[doc = concat!("An `", stringify!($ty), "` for the threads of a block (`.cta`).")]
                ///
                /// Its methods are unsafe: all threads that use it at the same time have to be of
                /// one block.
                $block: $ty, $align, "cta", unsafe
            }
            atomic! {
                #[doc = concat!(
                    "An `", stringify!($ty), "` for all devices and the host (`.sys`)."
                )]
                $system: $ty, $align, "sys"
            }
        )*
    };
}

atomics! {
    u32, 4: AtomicU32, BlockAtomicU32, SystemAtomicU32;
    i32, 4: AtomicI32, BlockAtomicI32, SystemAtomicI32;
    u64, 8: AtomicU64, BlockAtomicU64, SystemAtomicU64;
    i64, 8: AtomicI64, BlockAtomicI64, SystemAtomicI64;
    f32, 4: AtomicF32, BlockAtomicF32, SystemAtomicF32;
    f64, 8: AtomicF64, BlockAtomicF64, SystemAtomicF64;
}
