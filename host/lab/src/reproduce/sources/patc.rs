//! Source 003: matrix transpose (Orlandini and Ferraro).

use super::{after, first};
use crate::reproduce::group::{
    COUNTS, Count, Figure, Group, Reason, Shown, Size, Timed, Unit, Useful,
};

const fn gbs(value: f64) -> Figure {
    Figure::new(value, Unit::Gbs, "effective bandwidth")
}

const STRIDED_STORES: Reason = Reason::new(
    "a warp stores 32 elements into 32 sectors instead of 4",
    Shown::In(Count::Sectors),
)
.weighing(
    "an L2 cache gathers the sectors that neighbouring warps write before they go to memory",
    "each such request takes 32 sectors through L1 and L2, while the bandwidth that copy uses has \
     grown",
);

const THROUGH_SHARED: Reason = Reason::new(
    "stores are coalesced again, at the price of a 32-way bank conflict for each read of a tile's \
     column",
    Shown::In(Count::Sectors),
)
.weighing(
    "the 32 passes through the shared memory cost about what the 32 sectors of a scattered store \
     did",
    "bank conflicts stay inside of a multiprocessor, and all multiprocessors work them off at once",
);

const PADDED: Reason = Reason::new(
    "33 words to a row of the tile put a column into 32 different banks: one pass instead of 32",
    Shown::In(Count::Wavefronts),
)
.weighing(
    "other warps use the memory while one waits for its bank conflicts, so part of their cost was \
     hidden already",
    "with the stores coalesced, the bank conflicts were what held the kernel back",
);

const SWIZZLED: Reason = Reason::new(
    "an XOR in the index instead of padding: free of conflicts as well, in 4,096 bytes instead of \
     4,224",
    Shown::In(Count::Wavefronts),
);

/// The tables.
#[rustfmt::skip]
pub const GROUPS: &[Group] = &[Group {
    title: "transposes and the copy that bounds them",
    hardware: "one GPU of an S2050",
    problem: "2048 x 2048, f32; outer or inner time not said",
    size: Size::Square { gpu: 2048, emulator: 512 },
    useful: Useful::WarpOutput,
    timed: &[Timed::OuterGbs, Timed::InnerGbs],
    counted: COUNTS,
    reference: None,
    entries: &[
        first("copy", &[gbs(60.9)]),
        after("copy", "transpose_naive", &STRIDED_STORES, &[gbs(22.4)]),
        after("transpose_naive", "transpose_coalesced", &THROUGH_SHARED, &[gbs(24.1)]),
        after("transpose_coalesced", "transpose_padded", &PADDED, &[gbs(46.6)]),
        after("transpose_padded", "transpose_swizzled", &SWIZZLED, &[]),
    ],
}];
