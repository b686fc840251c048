use super::super::H200;
use super::super::kernel_set::{DGEMM, OF_BF16, SGEMM, SGEMM_PORTABLE};
use super::*;

fn planned(extents: [u32; 3]) -> GemmPlan {
    SGEMM.plan(&GemmProblem { extents, ..H200 }).unwrap()
}

/// The split-K factor, and the k of a split.
fn split_k(plan: &GemmPlan, k: u32) -> (u32, u32) {
    match plan.decomposition {
        Decomposition::SplitK { splits, split_k } => (splits, split_k),
        _ => (1, k),
    }
}

#[test]
fn large_gemms_take_large_tiles_and_few_tiles_split_k() {
    let large = planned([4096; 3]);
    assert_eq!(
        (large.entry, large.decomposition.splits()),
        ("sgemm_128x256_nn", 1)
    );
    let splits_that_fit = planned([128, 128, 16384]);
    assert!(
        splits_that_fit.decomposition.splits() > 16,
        "{splits_that_fit:?}"
    );
    // 512 tiles on 132 SMs: 116 are left for the last wave, in which 16 SMs would idle.
    let stream_k = large.decomposition.stream_k().unwrap();
    assert_eq!((stream_k.data_parallel_tiles, stream_k.splits), (396, 2));
    assert!(
        8 * stream_k.other_split_k <= stream_k.first_split_k,
        "{stream_k:?}"
    );
}

#[test]
fn rows_without_vectors_and_small_shared_memory_take_other_tiles() {
    let odd = SGEMM
        .plan(&GemmProblem {
            extents: [4095; 3],
            vectors: [false; 2],
            ..H200
        })
        .unwrap();
    assert_eq!(odd.entry, "sgemm_128x128_nn");
    let small = SGEMM
        .plan(&GemmProblem {
            shared_bytes: 64 << 10,
            ..H200
        })
        .unwrap();
    assert_eq!(small.entry, "sgemm_128x128_nn");
}

#[test]
fn accumulators_are_promoted_where_the_promoted_ones_fit() {
    let large = planned([4096; 3]);
    assert_eq!(
        (large.promotion_interval, large.shared_bytes),
        (1024, 231_488)
    );
    // 3 splits, each of nearly two promotion intervals.
    let splits = planned([5000, 200, 3000]);
    assert_eq!(
        (split_k(&splits, 3000).1, splits.promotion_interval),
        (1008, 512)
    );
    // Splits of less than two of the shortest intervals are not promoted.
    let short = planned([1024; 3]);
    assert_eq!(
        (split_k(&short, 1024).1, short.promotion_interval),
        (256, promotion::NEVER)
    );
    // Two blocks with promoted accumulators do not fit on an SM of this device.
    let small = SGEMM
        .plan(&GemmProblem {
            shared_bytes: 163 << 10,
            vectors: [false; 2],
            ..H200
        })
        .unwrap();
    assert_eq!(small.entry, "sgemm_128x128_nn");
    assert_eq!(small.promotion_interval, promotion::NEVER);
}

#[test]
fn a_short_side_takes_gemv() {
    assert_eq!(planned([1, 4096, 4096]).entry, "sgemv_n_1");
    assert_eq!(planned([4096, 1, 4096]).entry, "sgemv_t_1");
    let transposed = GemmProblem {
        extents: [1, 4096, 4096],
        transposed: [false, true],
        ..H200
    };
    assert_eq!(DGEMM.plan(&transposed).unwrap().entry, "dgemv_t_1");
}

#[test]
fn splits_cover_k_and_every_size_has_a_plan() {
    let sizes = [1, 2, 7, 8, 9, 31, 33, 64, 127, 500, 1009, 4096, 100_000];
    for m in sizes {
        for n in sizes {
            for k in [0, 1, 7, 16, 17, 333, 4096, 100_000] {
                for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                    let problem = GemmProblem {
                        extents: [m, n, k],
                        transposed,
                        vectors: [false; 2],
                        ..H200
                    };
                    for kernels in [SGEMM, DGEMM, SGEMM_PORTABLE, OF_BF16] {
                        let plan = kernels.plan(&problem).unwrap();
                        let (splits, k_per_split) = split_k(&plan, k);
                        if let Some(stream_k) = plan.decomposition.stream_k() {
                            assert_eq!(
                                stream_k.first_split_k
                                    + (stream_k.splits - 1) * stream_k.other_split_k,
                                k
                            );
                            assert!(stream_k.other_split_k > 0 && splits == 1);
                        }
                        assert!(u64::from(splits) * u64::from(k_per_split) >= u64::from(k));
                        assert!((splits - 1) * k_per_split < k.max(1));
                        assert!(plan.grid.iter().all(|&extent| extent > 0));
                    }
                }
            }
        }
    }
}
