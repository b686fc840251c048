//! The bugs: which kernel has which, how it is launched, and what is to find it.

use super::Arg::{self, Bytes, Float, Floats, Fresh, Int, Ints, Zeros};
use super::{Case, Launch};
use ptx_emulator::sanitize::Tool::{self, Initcheck, Memcheck, Racecheck, Synccheck};

const fn launch(grid: [u32; 3], block: [u32; 3], args: &'static [Arg]) -> Launch {
    Launch {
        grid,
        block,
        cluster: 1,
        shared: 0,
        args,
    }
}

const fn line(grid: u32, block: u32, args: &'static [Arg]) -> Launch {
    launch([grid, 1, 1], [block, 1, 1], args)
}

const fn case(
    bug: u32,
    file: &'static str,
    kernel: &'static str,
    tool: Tool,
    launch: Launch,
    what: &'static str,
) -> Case {
    Case {
        bug,
        file,
        kernel,
        tool,
        launch,
        what,
    }
}

const HISTOGRAM: Launch = line(2, 128, &[Bytes(1000), Int(1000), Zeros(257)]);
const COMPACT: Launch = line(
    3,
    64,
    &[Ints(192), Int(190), Fresh(192), Zeros(1), Fresh(3)],
);
const LOCKED: Launch = line(4, 32, &[Zeros(1), Zeros(1)]);
const REDUCE: Launch = line(2, 256, &[Floats(500), Fresh(2), Int(500)]);
const MOMENTS: Launch = line(1, 128, &[Floats(128), Fresh(2), Int(100)]);
const HALF_WARP: Launch = line(1, 32, &[Floats(32), Fresh(16)]);
const LAST_BLOCK: Launch = line(5, 32, &[Floats(160), Fresh(5), Zeros(1), Fresh(1)]);
const SCAN: Launch = line(1, 128, &[Ints(128), Fresh(128)]);
const BLELLOCH: Launch = Launch {
    shared: 1024,
    ..line(1, 128, &[Ints(256), Fresh(256)])
};
const CHAINED: Launch = line(4, 64, &[Ints(256), Fresh(4), Zeros(4), Fresh(256)]);
const STENCIL: Launch = line(3, 64, &[Floats(150), Fresh(150), Int(150)]);
const TRANSPOSE: Launch = launch(
    [3, 2, 1],
    [16, 16, 1],
    &[Floats(23 * 37), Fresh(23 * 37), Int(23), Int(37)],
);
const PRODUCT: Launch = launch(
    [2, 2, 1],
    [8, 8, 1],
    &[Floats(256), Floats(256), Fresh(256), Int(16)],
);
const SCALED: Launch = line(2, 32, &[Floats(201), Fresh(200), Int(200), Float(1.5)]);
const REVERSED: Launch = Launch {
    shared: 512,
    ..line(1, 64, &[Ints(64), Fresh(64)])
};
const AGGREGATED: Launch = line(3, 64, &[Ints(192), Int(190), Fresh(192), Zeros(1)]);
const WARP: Launch = line(1, 32, &[Ints(32), Fresh(32)]);
const NAMED: Launch = line(1, 128, &[Ints(128), Fresh(64)]);
const SKIPPED: Launch = line(1, 96, &[Ints(64), Fresh(64), Int(64)]);
const ONE_TILE: Launch = line(1, 64, &[Ints(64), Fresh(64)]);
const PHASES: Launch = line(2, 32, &[Fresh(64), Fresh(64)]);
const BY_HAND: Launch = line(2, 32, &[Fresh(64), Fresh(64), Zeros(1)]);
const STAGES: Launch = line(1, 64, &[Ints(320), Fresh(64), Int(5)]);
const COPIED: Launch = line(1, 128, &[Ints(128), Fresh(128)]);
const HANDED: Launch = line(3, 32, &[Fresh(1), Zeros(1), Fresh(3)]);
const SPECIALISED: Launch = line(1, 64, &[Ints(160), Fresh(32), Int(5)]);
const NEIGHBOURS: Launch = Launch {
    cluster: 2,
    ..line(4, 64, &[Ints(256), Fresh(256)])
};
const SPREAD: Launch = Launch {
    cluster: 2,
    ..line(4, 64, &[Ints(1000), Int(1000), Zeros(128)])
};

/// The kernels without a bug.
pub const RIGHT: &[(&str, &str, Launch)] = &[
    ("counting", "histogram_right", HISTOGRAM),
    ("counting", "compact_right", COMPACT),
    ("counting", "locked_right", LOCKED),
    (
        "counting",
        "maximum_right",
        line(3, 64, &[Floats(170), Int(170), Zeros(1), Zeros(1)]),
    ),
    ("reduce", "reduce_right", REDUCE),
    ("reduce", "moments_right", MOMENTS),
    ("reduce", "half_warp_right", HALF_WARP),
    ("reduce", "last_block_right", LAST_BLOCK),
    ("scan", "hillis_steele_right", SCAN),
    ("scan", "blelloch_right", BLELLOCH),
    ("scan", "chained_right", CHAINED),
    ("tiles", "stencil_right", STENCIL),
    ("tiles", "transpose_right", TRANSPOSE),
    ("tiles", "product_right", PRODUCT),
    ("tiles", "scaled_right", SCALED),
    ("tiles", "reversed", REVERSED),
    ("warps", "aggregated_right", AGGREGATED),
    ("warps", "ballots_right", WARP),
    ("warps", "named_right", NAMED),
    ("warps", "skipped_right", SKIPPED),
    ("warps", "tiles_right", ONE_TILE),
    ("warps", "by_hand_right", BY_HAND),
    ("async", "primitives_right", STAGES),
    ("async", "arrived_right", COPIED),
    ("async", "group_copy_right", COPIED),
    ("async", "handed_right", HANDED),
    ("pipeline", "pipelined_right", STAGES),
    ("pipeline", "specialised_right", SPECIALISED),
    ("hopper", "bulk_right", COPIED),
    ("hopper", "neighbours_right", NEIGHBOURS),
    ("hopper", "spread_right", SPREAD),
];

/// The planted bugs.
#[rustfmt::skip]
pub const CASES: &[Case] = &[
    case(1, "counting", "histogram_1", Racecheck, HISTOGRAM, "no barrier between the atomics and the reads of a histogram"),
    case(2, "counting", "histogram_2", Racecheck, HISTOGRAM, "no barrier between the zeros and the atomics of a histogram"),
    case(3, "counting", "histogram_3", Racecheck, HISTOGRAM, "plain increments of bins"),
    case(4, "counting", "histogram_4", Initcheck, HISTOGRAM, "bins that nothing sets to zero"),
    case(5, "counting", "histogram_5", Memcheck, HISTOGRAM, "a bin past the array, in the next shared variable"),
    case(6, "counting", "compact_6", Racecheck, COMPACT, "a plain counter instead of an atomic one"),
    case(7, "counting", "compact_7", Racecheck, COMPACT, "a plain read of a counter to which other blocks add"),
    case(44, "counting", "locked_44", Racecheck, LOCKED, "no lock around a sum"),
    case(45, "counting", "locked_45", Racecheck, LOCKED, "a lock without fences"),
    case(8, "reduce", "reduce_8", Racecheck, REDUCE, "no barrier in the loop of a tree"),
    case(9, "reduce", "reduce_9", Synccheck, REDUCE, "a barrier in the branch of the threads that add"),
    case(10, "reduce", "reduce_10", Racecheck, REDUCE, "the last warp without `__syncwarp`"),
    case(11, "reduce", "reduce_11", Memcheck, REDUCE, "no test for the end of the input"),
    case(12, "reduce", "reduce_12", Initcheck, REDUCE, "no zeros behind the end of the input"),
    case(16, "reduce", "moments_16", Racecheck, MOMENTS, "no barrier between two uses of one scratch array"),
    case(13, "reduce", "half_warp_13", Synccheck, HALF_WARP, "a shuffle from lanes that are elsewhere"),
    case(14, "reduce", "last_block_14", Racecheck, LAST_BLOCK, "no fence before the ticket of the last block"),
    case(15, "reduce", "last_block_15", Racecheck, LAST_BLOCK, "a plain ticket for the last block"),
    case(17, "scan", "hillis_steele_17", Racecheck, SCAN, "one barrier a step instead of two"),
    case(18, "scan", "blelloch_18", Racecheck, BLELLOCH, "no barrier in the way down"),
    case(20, "scan", "blelloch_20", Memcheck, BLELLOCH, "results one element too far"),
    case(19, "scan", "chained_19", Racecheck, CHAINED, "a flag without fences between blocks"),
    case(46, "scan", "chained_46", Racecheck, CHAINED, "no barrier behind the value of thread 0"),
    case(21, "tiles", "stencil_21", Initcheck, STENCIL, "a halo that nothing fills"),
    case(22, "tiles", "stencil_22", Racecheck, STENCIL, "no barrier between filling and reading a tile"),
    case(23, "tiles", "transpose_23", Memcheck, TRANSPOSE, "a wrong pitch for what is not square"),
    case(24, "tiles", "product_24", Racecheck, PRODUCT, "no barrier before the next tile"),
    case(47, "tiles", "product_47", Memcheck, PRODUCT, "a loop one step too long, from one shared array into the next"),
    case(25, "tiles", "scaled_25", Memcheck, SCALED, "vectors at a multiple of 4 bytes"),
    case(26, "tiles", "reversed", Memcheck, Launch { shared: 256, ..REVERSED }, "too little dynamic shared memory"),
    case(40, "warps", "aggregated_40", Synccheck, AGGREGATED, "the full mask in divergent code"),
    case(41, "warps", "ballots_41", Synccheck, WARP, "a mask of the other lanes"),
    case(42, "warps", "named_42", Synccheck, NAMED, "a named barrier that waits for too many threads"),
    case(48, "warps", "named_48", Synccheck, NAMED, "a named barrier for 40 threads, no multiple of a warp"),
    case(43, "warps", "skipped_43", Synccheck, SKIPPED, "a barrier that a warp of the block skips"),
    case(39, "warps", "tiles_39", Racecheck, ONE_TILE, "no `sync` of a tile of a warp"),
    case(38, "warps", "phases_38", Racecheck, PHASES, "no `grid.sync` between two phases"),
    case(49, "warps", "by_hand_49", Racecheck, BY_HAND, "a grid's barrier by hand, without fences"),
    case(27, "async", "primitives_27", Racecheck, STAGES, "no wait for `cp.async`"),
    case(28, "async", "primitives_28", Racecheck, STAGES, "a wait for one group too few"),
    case(30, "async", "primitives_30", Racecheck, STAGES, "no barrier behind the wait"),
    case(31, "async", "primitives_31", Racecheck, STAGES, "a stage filled again while others read it"),
    case(51, "async", "arrived_51", Racecheck, COPIED, "no wait at a `cuda::barrier`"),
    case(52, "async", "group_copy_52", Racecheck, COPIED, "no `wait` of a cooperative group"),
    case(53, "async", "handed_53", Racecheck, HANDED, "a relaxed store of a flag instead of a releasing one"),
    case(29, "pipeline", "pipelined_29", Racecheck, STAGES, "no `consumer_wait` of a `cuda::pipeline`"),
    case(34, "pipeline", "specialised_34", Racecheck, SPECIALISED, "a consumer that gives a stage back before it reads it"),
    case(37, "pipeline", "specialised_37", Racecheck, SPECIALISED, "no barrier behind the initialisation of `cuda::barrier`s"),
    case(32, "hopper", "bulk_32", Racecheck, COPIED, "no wait for a bulk copy"),
    case(33, "hopper", "bulk_33", Synccheck, COPIED, "an mbarrier that waits for one arrival too many"),
    case(35, "hopper", "bulk_35", Racecheck, COPIED, "no barrier before a bulk copy of what all have written"),
    case(36, "hopper", "bulk_36", Racecheck, COPIED, "no proxy fence before a bulk copy"),
    case(54, "hopper", "neighbours_54", Racecheck, NEIGHBOURS, "the block's barrier instead of the cluster's, before a read"),
    case(55, "hopper", "neighbours_55", Racecheck, NEIGHBOURS, "no barrier of the cluster behind a read"),
    case(56, "hopper", "spread_56", Racecheck, SPREAD, "the block's barrier instead of the cluster's, before atomics"),
    case(57, "hopper", "spread_57", Racecheck, SPREAD, "no barrier of the cluster behind atomics"),
];
