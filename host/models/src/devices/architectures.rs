//! The compute capabilities of the table.

use super::architecture::{Architecture, Lanes};
use crate::bank_conflicts::Banks;
use crate::figure::Figure;
use crate::occupancy::{Allocation, Limits, RegisterScope};

const GUIDE_4: &str = "CUDA C Programming Guide 4.2, appendix F and table 5-1";
const GUIDE_8: &str = "CUDA C Programming Guide 8.0, tables 2 and 14";
const GUIDE_12: &str =
    "CUDA C++ Programming Guide 12.6, \"Arithmetic Instructions\" and \"Compute Capabilities\"";
const GUIDE_13: &str = "CUDA Programming Guide 13, \"Compute Capabilities\"";
const CALCULATOR: &str = "CUDA occupancy calculator";
const GPU_BENCHES: &str = "RRZE gpu-benches, cuda-cache, bandwidth over multiprocessors and clock";

const KIB: u32 = 1024;

const fn per_warp(
    register_unit: u32,
    partitions: u32,
    shared_unit: u32,
    reserved: u32,
) -> Figure<Allocation> {
    let allocation = Allocation {
        register_unit,
        register_scope: RegisterScope::Warp { partitions },
        shared_unit,
        shared_reserved: reserved,
    };
    Figure::datasheet(allocation, CALCULATOR)
}

/// Limits from compute capability 3.5 on, but for those given.
const fn limits(threads: u32, blocks: u32, shared_kib: u32, shared_kib_per_block: u32) -> Limits {
    Limits {
        threads_per_block: 1024,
        threads,
        blocks,
        registers: 64 * KIB,
        registers_per_block: 64 * KIB,
        registers_per_thread: 255,
        shared_bytes: shared_kib * KIB,
        shared_bytes_per_block: shared_kib_per_block * KIB,
    }
}

/// Lanes by what they do, in the order of [`Lanes`].
const fn lanes(
    fp32: u32,
    fp64: u32,
    half: Option<u32>,
    integer: u32,
    special: u32,
    conversion: u32,
    source: &'static str,
) -> Option<Figure<Lanes>> {
    let lanes = Lanes {
        fp32,
        fp64,
        half,
        integer: Some(integer),
        special: Some(special),
        conversion: Some(conversion),
    };
    Some(Figure::datasheet(lanes, source))
}

const BANKS_3: Figure<Banks> = Figure::datasheet(Banks::CC_3, GUIDE_8);

/// GT200. Its half-warps are issued over two cycles of the shader clock, a warp over four.
pub(super) const CC_1_3: Architecture = Architecture {
    compute_capability: 13,
    limits: Figure::datasheet(
        Limits {
            threads_per_block: 512,
            threads: 1024,
            blocks: 8,
            registers: 16 * KIB,
            registers_per_block: 16 * KIB,
            registers_per_thread: 124,
            shared_bytes: 16 * KIB,
            shared_bytes_per_block: 16 * KIB,
        },
        GUIDE_4,
    ),
    allocation: Figure::datasheet(
        Allocation {
            register_unit: 512,
            register_scope: RegisterScope::Block { warp_multiple: 2 },
            shared_unit: 512,
            shared_reserved: 0,
        },
        CALCULATOR,
    ),
    lanes: lanes(8, 1, None, 8, 2, 8, GUIDE_4),
    tensor_fp64: None,
    load_store: None,
    issue: Some(Figure::datasheet(0.25, GUIDE_4)),
    banks: Figure::datasheet(Banks::CC_1, GUIDE_4),
    l1_bytes_per_cycle: None,
};

/// GF100. Each of two schedulers issues a warp over two cycles of the shader clock.
pub(super) const CC_2_0: Architecture = Architecture {
    compute_capability: 20,
    limits: Figure::datasheet(
        Limits {
            registers: 32 * KIB,
            registers_per_block: 32 * KIB,
            registers_per_thread: 63,
            ..limits(1536, 8, 48, 48)
        },
        GUIDE_4,
    ),
    allocation: per_warp(64, 2, 128, 0),
    lanes: lanes(32, 16, None, 32, 4, 16, GUIDE_4),
    tensor_fp64: None,
    load_store: Some(Figure::datasheet(16, "NVIDIA Fermi whitepaper")),
    issue: Some(Figure::datasheet(1.0, GUIDE_4)),
    banks: Figure::datasheet(Banks::CC_2, GUIDE_4),
    // One memory is L1 cache and shared memory, behind these units with 4 bytes each.
    l1_bytes_per_cycle: Some(Figure::datasheet(64.0, "NVIDIA Fermi whitepaper")),
};

/// GK110. Each of four schedulers can issue two independent instructions of a warp.
pub(super) const CC_3_5: Architecture = Architecture {
    compute_capability: 35,
    limits: Figure::datasheet(limits(2048, 16, 48, 48), GUIDE_8),
    allocation: per_warp(256, 4, 256, 0),
    lanes: lanes(192, 64, None, 160, 32, 32, GUIDE_8),
    tensor_fp64: None,
    load_store: Some(Figure::datasheet(32, "NVIDIA Kepler GK110 whitepaper")),
    issue: Some(Figure::datasheet(8.0, "NVIDIA Kepler GK110 whitepaper")),
    banks: BANKS_3,
    l1_bytes_per_cycle: None,
};

/// GK210: GK110 with twice the registers and more shared memory.
pub(super) const CC_3_7: Architecture = Architecture {
    compute_capability: 37,
    limits: Figure::datasheet(
        Limits {
            registers: 128 * KIB,
            ..limits(2048, 16, 112, 48)
        },
        GUIDE_8,
    ),
    ..CC_3_5
};

/// GM20x.
pub(super) const CC_5_2: Architecture = Architecture {
    compute_capability: 52,
    limits: Figure::datasheet(limits(2048, 32, 96, 48), GUIDE_8),
    allocation: per_warp(256, 4, 256, 0),
    lanes: lanes(128, 4, None, 128, 32, 32, GUIDE_8),
    tensor_fp64: None,
    load_store: Some(Figure::datasheet(32, "NVIDIA GeForce GTX 980 whitepaper")),
    issue: Some(Figure::datasheet(4.0, GUIDE_8)),
    banks: BANKS_3,
    l1_bytes_per_cycle: None,
};

/// GP100.
pub(super) const CC_6_0: Architecture = Architecture {
    compute_capability: 60,
    limits: Figure::datasheet(limits(2048, 32, 64, 48), GUIDE_8),
    allocation: per_warp(256, 2, 256, 0),
    lanes: lanes(64, 32, Some(128), 64, 16, 16, GUIDE_8),
    tensor_fp64: None,
    load_store: Some(Figure::datasheet(16, "NVIDIA Tesla P100 whitepaper")),
    issue: Some(Figure::datasheet(2.0, GUIDE_8)),
    banks: BANKS_3,
    l1_bytes_per_cycle: None,
};

/// GP10x.
pub(super) const CC_6_1: Architecture = Architecture {
    compute_capability: 61,
    limits: Figure::datasheet(limits(2048, 32, 96, 48), GUIDE_8),
    allocation: per_warp(256, 4, 256, 0),
    lanes: lanes(128, 4, Some(2), 128, 32, 32, GUIDE_8),
    tensor_fp64: None,
    load_store: Some(Figure::datasheet(32, "NVIDIA GeForce GTX 1080 whitepaper")),
    issue: Some(Figure::datasheet(4.0, GUIDE_8)),
    banks: BANKS_3,
    l1_bytes_per_cycle: None,
};

/// GV100.
pub(super) const CC_7_0: Architecture = Architecture {
    compute_capability: 70,
    limits: Figure::datasheet(limits(2048, 32, 96, 96), GUIDE_12),
    allocation: per_warp(256, 4, 256, 0),
    lanes: lanes(64, 32, Some(128), 64, 16, 16, GUIDE_12),
    tensor_fp64: None,
    load_store: Some(Figure::datasheet(32, "NVIDIA Tesla V100 whitepaper")),
    issue: Some(Figure::datasheet(4.0, GUIDE_12)),
    banks: BANKS_3,
    l1_bytes_per_cycle: Some(Figure::measured(124.0, GPU_BENCHES)),
};

/// GA100.
pub(super) const CC_8_0: Architecture = Architecture {
    compute_capability: 80,
    limits: Figure::datasheet(limits(2048, 32, 164, 163), GUIDE_12),
    allocation: per_warp(256, 4, 128, KIB),
    lanes: lanes(64, 32, Some(256), 64, 16, 16, GUIDE_12),
    tensor_fp64: Some(Figure::datasheet(64, "NVIDIA A100 whitepaper")),
    load_store: Some(Figure::datasheet(32, "NVIDIA A100 whitepaper")),
    issue: Some(Figure::datasheet(4.0, GUIDE_12)),
    banks: BANKS_3,
    l1_bytes_per_cycle: Some(Figure::measured(126.0, GPU_BENCHES)),
};

/// AD10x.
pub(super) const CC_8_9: Architecture = Architecture {
    compute_capability: 89,
    limits: Figure::datasheet(limits(1536, 24, 100, 99), GUIDE_12),
    allocation: per_warp(256, 4, 128, KIB),
    lanes: lanes(128, 2, Some(128), 64, 16, 16, GUIDE_12),
    tensor_fp64: None,
    load_store: Some(Figure::datasheet(16, "NVIDIA Ada whitepaper")),
    issue: Some(Figure::datasheet(4.0, GUIDE_12)),
    banks: BANKS_3,
    l1_bytes_per_cycle: None,
};

/// GH100.
pub(super) const CC_9_0: Architecture = Architecture {
    compute_capability: 90,
    limits: Figure::datasheet(limits(2048, 32, 228, 227), GUIDE_12),
    allocation: per_warp(256, 4, 128, KIB),
    lanes: lanes(128, 64, Some(256), 64, 16, 16, GUIDE_12),
    tensor_fp64: Some(Figure::datasheet(128, "NVIDIA H100 whitepaper")),
    load_store: Some(Figure::datasheet(32, "NVIDIA H100 whitepaper")),
    issue: Some(Figure::datasheet(4.0, GUIDE_12)),
    banks: BANKS_3,
    l1_bytes_per_cycle: Some(Figure::measured(126.0, GPU_BENCHES)),
};

/// GB100. f32 and f64 lanes follow from the peaks that the datasheet gives at its clock: the tensor
/// cores do no more f64 multiply-adds than the f64 units.
pub(super) const CC_10_0: Architecture = Architecture {
    compute_capability: 100,
    limits: Figure::datasheet(limits(2048, 32, 228, 227), GUIDE_13),
    allocation: per_warp(256, 4, 128, KIB),
    lanes: Some(Figure::datasheet(
        Lanes {
            fp32: 128,
            fp64: 64,
            half: None,
            integer: None,
            special: None,
            conversion: None,
        },
        "NVIDIA HGX B200 datasheet",
    )),
    tensor_fp64: Some(Figure::datasheet(64, "NVIDIA HGX B200 datasheet")),
    load_store: None,
    issue: Some(Figure::datasheet(4.0, GUIDE_13)),
    banks: Figure::datasheet(Banks::CC_3, GUIDE_13),
    l1_bytes_per_cycle: None,
};

/// All of them, oldest first.
pub(super) const ALL: [Architecture; 12] = [
    CC_1_3, CC_2_0, CC_3_5, CC_3_7, CC_5_2, CC_6_0, CC_6_1, CC_7_0, CC_8_0, CC_8_9, CC_9_0, CC_10_0,
];
