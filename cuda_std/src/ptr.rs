//! State spaces of pointers (PTX ISA, "State Spaces"; Rust-CUDA and LLVM call them address spaces).
//!
//! Pointers of Rust are generic addresses: global memory as it is, shared, constant and local
//! memory in windows of their own.

use crate::instruction::instructions;

/// Where an object can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Memory of the device, for all threads.
    Global,
    /// Memory of the multiprocessor, for the threads of a block.
    Shared,
    /// Memory of the device that a kernel only reads, through a cache of its own.
    Constant,
    /// Memory of one thread.
    Local,
}

mod raw {
    use super::instructions;

    macro_rules! spaces {
        ($($is:ident, $to:ident, $from:ident = $space:literal;)*) => {
            $(
                instructions! {
                    $to(address: u64 = reg64) -> u64 = reg64, concat!("cvta.to.", $space, ".u64");
                    $from(address: u64 = reg64) -> u64 = reg64, concat!("cvta.", $space, ".u64");
                }

                #[inline(always)]
                pub fn $is(address: u64) -> bool {
                    #[cfg(target_arch = "nvptx64")]
                    {
                        let inside: u32;
                        // SAFETY: computes in registers, and is defined for every operand.
                        unsafe {
                            core::arch::asm!(
                                "{{ .reg .pred inside;",
                                concat!("isspacep.", $space, " inside, {address};"),
                                "selp.u32 {inside}, 1, 0, inside; }}",
                                address = in(reg64) address,
                                inside = lateout(reg32) inside,
                                options(pure, nomem, nostack, preserves_flags),
                            );
                        }
                        inside != 0
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    {
                        let _ = address;
                        panic!("cuda_std: a host has no state spaces");
                    }
                }
            )*
        };
    }

    spaces! {
        is_global, to_global, of_global = "global";
        is_shared, to_shared, of_shared = "shared";
        is_constant, to_constant, of_constant = "const";
        is_local, to_local, of_local = "local";
    }
}

/// Whether a generic address lies in a state space (`isspacep`).
///
/// # Safety
/// `ptr` is the address of an object.
#[inline(always)]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    let address = ptr.addr() as u64;
    match address_space {
        AddressSpace::Global => raw::is_global(address),
        AddressSpace::Shared => raw::is_shared(address),
        AddressSpace::Constant => raw::is_constant(address),
        AddressSpace::Local => raw::is_local(address),
    }
}

/// The address in a state space of what a generic address points to (`cvta.to`).
///
/// # Safety
/// `ptr` points into that state space. The result is no pointer of Rust: only inline assembly may
/// use it.
#[inline(always)]
pub unsafe fn convert_generic_to_specific_address_space<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    let address = ptr.addr() as u64;
    let address = match address_space {
        AddressSpace::Global => raw::to_global(address),
        AddressSpace::Shared => raw::to_shared(address),
        AddressSpace::Constant => raw::to_constant(address),
        AddressSpace::Local => raw::to_local(address),
    };
    core::ptr::with_exposed_provenance(address as usize)
}

/// The generic address of what an address in a state space points to (`cvta`).
///
/// # Safety
/// `ptr` is the address of an object in that state space.
#[inline(always)]
pub unsafe fn convert_specific_address_space_to_generic<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    let address = ptr.addr() as u64;
    let address = match address_space {
        AddressSpace::Global => raw::of_global(address),
        AddressSpace::Shared => raw::of_shared(address),
        AddressSpace::Constant => raw::of_constant(address),
        AddressSpace::Local => raw::of_local(address),
    };
    core::ptr::with_exposed_provenance(address as usize)
}
