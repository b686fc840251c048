use super::super::kernel_set::{OF_BF16_90, OF_TF32_90};
use super::*;

const H200: GemmProblem = GemmProblem {
    extents: [4096; 3],
    transposed: [false; 2],
    vectors: [true; 2],
    aligned_rows: [true; 2],
    row_alignment: [128; 2],
    fused: false,
    c_vectors: true,
    tma_store: true,
    batch: 1,
    multiprocessors: 132,
    shared_bytes: 227 << 10,
};

#[derive(Debug)]
struct Planned {
    config: &'static TileConfig,
    scheduler: TileSchedulerParams,
    launch: GemmPlan,
}

fn planned(extents: [u32; 3]) -> Planned {
    planned_of(extents, [false; 2])
}

fn planned_of(extents: [u32; 3], transposed: [bool; 2]) -> Planned {
    let problem = GemmProblem {
        extents,
        transposed,
        ..H200
    };
    let launch = OF_BF16_90.plan(&problem).unwrap();
    let TileScheduler::Persistent { config, params } = launch.scheduler else {
        panic!("{launch:?}");
    };
    Planned {
        config,
        scheduler: params,
        launch,
    }
}

#[test]
fn tiles_are_as_narrow_as_it_takes_to_fill_the_gpu() {
    let columns = |extents| planned(extents).config.tile[1];
    assert_eq!(columns([8, 8, 1024]), 64);
    assert!(columns([8192, 8192, 8192]) > 128);
    assert_eq!(columns([4096, 768, 3072]), 192);
}

#[test]
fn few_tiles_of_many_k_tiles_are_stream_k_tiles() {
    let plan = planned([333, 777, 12345]);
    assert_eq!(plan.scheduler.reduction, ReductionMode::LastBlock);
    assert!(plan.launch.zeroed_bytes > 0, "{plan:?}");
    assert_eq!(planned([1024, 1024, 1024]).launch.workspace_bytes, 0);
}

#[test]
fn many_partial_sums_are_added_up_by_a_reduction_kernel() {
    let plan = planned([768, 768, 16384]);
    let [bm, bn, _] = plan.config.tile;
    let tiles = 768_u32.div_ceil(bm) * 768_u32.div_ceil(bn);
    assert!(plan.scheduler.splits > 3, "{plan:?}");
    assert_eq!(
        [plan.launch.grid[0], plan.launch.reduction.unwrap().grid[0]],
        [
            tiles * plan.scheduler.splits,
            stream_k::blocks(tiles, [bm, bn])
        ]
        .map(u64::from)
    );
    assert_eq!(plan.launch.zeroed_bytes, 0);
    assert!(plan.launch.workspace_bytes > 0);
    assert_eq!(planned([333, 777, 12345]).launch.reduction, None);
}

#[test]
fn few_tiles_of_few_splits_are_reduced_by_clusters() {
    for (extents, splits) in [([768, 1024, 8192], 2), ([256, 256, 8192], 5)] {
        let plan = planned(extents);
        assert_eq!(plan.scheduler.reduction, ReductionMode::Cluster);
        assert_eq!(
            [plan.launch.cluster_size, plan.scheduler.splits],
            [splits; 2]
        );
        assert_eq!(plan.launch.workspace_bytes, 0);
        assert_eq!(plan.scheduler.multicast, 1);
    }
    assert_eq!(planned([768, 768, 16384]).launch.cluster_size, 1);
}

#[test]
fn idle_sms_take_tail_splits() {
    let plan = planned([768, 3072, 16384]);
    assert_eq!((plan.launch.grid[0], plan.scheduler.splits), (192, 2));
    // Of 256 k-tiles.
    assert!(
        (192..=208).contains(&plan.scheduler.head_k_tiles),
        "{plan:?}"
    );
}

#[test]
fn multicast_clusters_compute_what_the_l2_cache_bounds() {
    for extents in [[4096; 3], [2048, 768, 3072], [1024, 768, 4096]] {
        let plan = planned(extents);
        assert!(plan.scheduler.multicast > 1, "{plan:?}");
        assert_eq!(plan.launch.cluster_size, plan.scheduler.multicast);
        assert_eq!(plan.scheduler.splits, 1);
    }
    // Rows that lie in two lines of the cache.
    let straddling = GemmProblem {
        extents: [512, 768, 3072],
        row_alignment: [16; 2],
        ..H200
    };
    assert!(OF_BF16_90.plan(&straddling).unwrap().multicast() > 1);
    assert_eq!(planned([8, 8, 64]).scheduler.multicast, 1);
}

/// On an H200, 32 clusters of 4 do not run at the same time: a second wave takes as long again.
#[test]
fn clusters_of_four_leave_multiprocessors_idle() {
    for multiprocessors in [4, 7, 108, 132] {
        let blocks = co_resident(4, multiprocessors);
        assert!(blocks.is_multiple_of(4) && blocks >= 4);
        assert!(blocks == 4 || blocks <= multiprocessors / 4 * 3);
    }
    assert_eq!([1, 2].map(|blocks| co_resident(blocks, 132)), [132; 2]);
    assert_eq!(co_resident(2, 1), 2);
}

#[test]
fn memory_bound_gemms_are_not_split() {
    for extents in [[8, 4096, 4096], [4096, 64, 4096], [128, 4096, 4096]] {
        let plan = planned(extents);
        assert_eq!((plan.config.tile[0], plan.scheduler.splits), (64, 1));
    }
    // Blocks of the reduction kernel find idle SMs.
    let plan = planned([128, 128, 65536]);
    assert_eq!(plan.scheduler.reduction, ReductionMode::Kernel);
    assert!(
        plan.launch.grid[0] < (H200.multiprocessors * 3 / 4).into(),
        "{plan:?}"
    );
}

#[test]
fn tiles_of_one_wave_are_in_lower_groups() {
    for extents in [[1024, 768, 3072], [512, 768, 3072], [8, 8, 64]] {
        let plan = planned(extents);
        let lower = GROUP_M_ONE_WAVE.max(plan.scheduler.multicast);
        assert_eq!(plan.scheduler.group_m, lower);
    }
    for extents in [[4096; 3], [768, 1024, 8192], [768, 3072, 16384]] {
        assert_eq!(planned(extents).scheduler.group_m, GROUP_M);
    }
}

#[test]
fn every_layout_and_size_has_a_plan() {
    let sizes = [1, 63, 64, 1000, 50304];
    for m in sizes {
        for n in sizes {
            for k in [0, 1, 64, 16384] {
                for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                    let plan = planned_of([m, n, k], transposed);
                    let [bm, bn, _] = plan.config.tile;
                    let tiles =
                        TileGrid::new([m, n], [bm, bn], 1).for_cluster(plan.scheduler.multicast);
                    assert!(plan.scheduler.data_parallel_tiles <= tiles.count());
                    // Tails come behind as many heads, of which there are fewer than SMs.
                    let waves = 1 + u64::from(plan.scheduler.head_k_tiles > 0);
                    assert!((1..=132 * waves).contains(&plan.launch.grid[0]));
                    assert!(plan.launch.grid[0].is_multiple_of(plan.launch.cluster_size.into()));
                }
            }
        }
    }
    let k_major = GemmProblem {
        transposed: [false, true],
        ..H200
    };
    assert_eq!(OF_TF32_90.plan(&k_major).unwrap().entry, "wgmma_tf32_nt");
}
