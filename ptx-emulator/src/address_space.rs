//! The windows of the generic address space, and addresses in the shared memory of clusters.

use crate::ir::Space;

pub(crate) const WINDOW: u64 = 1 << 40;
const CODE_BASE: u64 = 0x3a00_0000_0000;
pub(crate) const PARAM_BASE: u64 = 0x3b00_0000_0000;
pub(crate) const SHARED_BASE: u64 = 0x3c00_0000_0000;
pub(crate) const LOCAL_BASE: u64 = 0x3d00_0000_0000;
pub(crate) const CONST_BASE: u64 = 0x3e00_0000_0000;
pub(crate) const GLOBAL_BASE: u64 = 0x4000_0000_0000;
/// The end of the allocations of the host.
pub(crate) const GLOBAL_END: u64 = 0x7f00_0000_0000;
/// Where the device heap begins; all addresses behind it are global ones too.
pub(crate) const HEAP_BASE: u64 = GLOBAL_END;
const ADDRESSES_END: u64 = 0x8000_0000_0000;

/// First bit of the rank of a block in an address of the cluster's shared memory: no block has as
/// much shared memory as that.
pub(crate) const RANK_SHIFT: u32 = 24;

/// The bit of a rank that no block of the launch has, since it lies outside of the cluster.
pub(crate) const OUTSIDE: u64 = 1 << 31;

/// The reported form of an address in the shared memory of a block of the cluster.
pub(crate) fn cluster_address(rank: u32, address: u64) -> u64 {
    u64::from(rank) << RANK_SHIFT | address
}

/// The rank and the address in the block's shared memory.
pub(crate) fn of_cluster(address: u64) -> (u64, u64) {
    (address >> RANK_SHIFT, address & ((1 << RANK_SHIFT) - 1))
}

/// The reported form of an address that a program uses: an address in the block's own shared memory
/// gets its rank, and those of other blocks are one rank too high.
#[inline(always)]
pub(crate) fn resolve_cluster(address: u64, own: u32) -> u64 {
    match address >> RANK_SHIFT {
        0 => cluster_address(own, address),
        _ => address - (1 << RANK_SHIFT),
    }
}

/// In place of the own rank: addresses have the rank of every block, their own too.
///
/// On a GPU all addresses of shared memory in a cluster have the rank of their block above bit 24,
/// and kernels for pairs of blocks find the same place in the other block of the pair by that bit.
/// Programs that name pairs (`.cta_group::2`) get such addresses; with others an address of the own
/// block is an offset, which is faster. A rank is two too high, so that it differs from none.
pub(crate) const WITH_RANKS: u64 = u64::MAX;
const FIRST_RANK: u64 = 2;

/// An offset in the shared memory of the block of a rank, as programs with ranks use it.
pub(crate) fn with_rank(address: u64, rank: u64) -> u64 {
    rank.wrapping_add(FIRST_RANK) << RANK_SHIFT | address
}

/// As [`resolve_cluster`], of a program with ranks.
pub(crate) fn resolve_with_rank(address: u64, own: u32) -> u64 {
    let (rank, at) = of_cluster(address);
    match rank {
        0 => cluster_address(own, at),
        _ => rank.wrapping_sub(FIRST_RANK) << RANK_SHIFT | at,
    }
}

/// `mapa`: the address, as programs use it, of the same offset in a block. It may be a generic one.
pub(crate) fn map_to_block(address: u64, rank: u64, own: u64) -> u64 {
    // No cluster has a block of this rank.
    const NONE: u64 = 0xfe;
    let above = match rank == own {
        _ if own == WITH_RANKS => rank.min(NONE) + FIRST_RANK,
        true => 0,
        false => rank.min(NONE) + 1,
    };
    let within = address & ((1 << RANK_SHIFT) - 1);
    address & !(WINDOW - 1) | above << RANK_SHIFT | within
}

/// `getctarank`.
pub(crate) fn rank_of_address(address: u64, own: u64) -> u64 {
    let rank = (address & (WINDOW - 1)) >> RANK_SHIFT;
    match own {
        WITH_RANKS => rank.saturating_sub(FIRST_RANK),
        _ => rank.checked_sub(1).unwrap_or(own),
    }
}

/// First address of a space's window, and the address after its last one.
pub(crate) fn window(space: Space) -> Option<(u64, u64)> {
    let base = match space {
        Space::Generic => return None,
        Space::Global => return Some((GLOBAL_BASE, ADDRESSES_END)),
        Space::Shared => return Some((SHARED_BASE, SHARED_BASE + (1 << RANK_SHIFT))),
        Space::Cluster => SHARED_BASE,
        Space::Local => LOCAL_BASE,
        Space::Const => CONST_BASE,
        Space::Param => PARAM_BASE,
    };
    Some((base, base + WINDOW))
}

/// Whether all addresses from `start` to `end`, which is not among them, are global ones: not null,
/// in no window and below the end of all.
pub(crate) fn is_global(start: u64, end: u64) -> bool {
    start != 0 && start <= end && end <= ADDRESSES_END && (end <= CODE_BASE || start >= GLOBAL_BASE)
}

/// The space of a generic address; global outside of all windows.
pub(crate) fn space_of(address: u64) -> Space {
    match address & !(WINDOW - 1) {
        PARAM_BASE => Space::Param,
        SHARED_BASE => Space::Shared,
        LOCAL_BASE => Space::Local,
        CONST_BASE => Space::Const,
        _ => Space::Global,
    }
}

/// The address of a module's function.
pub(crate) fn code_address(function: u32) -> u64 {
    CODE_BASE + 16 * (u64::from(function) + 1)
}

/// The module's function at an address.
pub(crate) fn function_at(address: u64) -> Option<usize> {
    let offset = address.checked_sub(CODE_BASE)?;
    if offset == 0 || !offset.is_multiple_of(16) {
        return None;
    }
    usize::try_from(offset / 16 - 1).ok()
}
