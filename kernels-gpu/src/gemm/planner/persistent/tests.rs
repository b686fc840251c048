extern crate std;

use super::super::H200;
use super::super::kernel_set::{OF_BF16_90, OF_TF32_90};
use super::*;
use crate::gemm::scheduler::persistent::SplitOrder;
use std::vec::Vec;

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
    of(OF_BF16_90.plan(&problem).unwrap())
}

fn of(launch: GemmPlan) -> Planned {
    let TileScheduler::Persistent { config, params, .. } = launch.scheduler else {
        panic!("{launch:?}");
    };
    Planned {
        config,
        scheduler: params,
        launch,
    }
}

/// All plans.
fn all(extents: [u32; 3]) -> Vec<Planned> {
    let problem = GemmProblem { extents, ..H200 };
    let candidates = OF_BF16_90.candidates(&problem);
    candidates.map(|(_, launch)| of(launch)).collect()
}

#[test]
fn tiles_are_as_narrow_as_it_takes_to_fill_the_gpu() {
    let columns = |extents| planned(extents).scheduler.tiles.tile()[1];
    assert_eq!(columns([8, 8, 1024]), 64);
    assert!(columns([8192, 8192, 8192]) > 128);
    assert_eq!(columns([4096, 768, 3072]), 192);
    // Of 40 x 3 tiles, all of which run at once, these are the narrowest.
    assert_eq!(columns([5120, 480, 4096]), 160);
}

/// The tiles of a launch that are computed, in columns.
fn computed_columns(plan: &Planned, n: u32) -> u32 {
    let [_, columns] = plan.scheduler.tiles.tile();
    n.div_ceil(columns) * columns
}

#[test]
fn a_width_is_tried_where_no_narrower_one_has_as_few_tiles() {
    for n in [480, 1000, 2048] {
        let plans = all([512, n, 1024]);
        for plan in plans
            .iter()
            .filter(|plan| !plan.scheduler.tiles.cluster().is_multicast())
        {
            let [_, columns] = plan.scheduler.tiles.tile();
            let narrower = plan.config.widths().find(|&narrower| narrower < columns);
            let narrower = narrower.map(|narrower| n.div_ceil(narrower));
            assert_ne!(narrower, Some(n.div_ceil(columns)), "{plan:?}");
            assert!(computed_columns(plan, n) < n + columns);
        }
        let widths: std::collections::BTreeSet<_> = plans
            .iter()
            .map(|plan| plan.scheduler.tiles.tile()[1])
            .collect();
        assert!(widths.len() > 6, "{n} {widths:?}");
    }
}

#[test]
fn slices_and_batches_take_the_widths_that_they_can() {
    let problem = |transposed, batch| GemmProblem {
        extents: [512, 2000, 1024],
        transposed: [false, transposed],
        batch,
        ..H200
    };
    for (transposed, batch) in [(false, 1), (true, 1), (false, 3), (true, 3)] {
        let problem = problem(transposed, batch);
        let plans = OF_BF16_90.candidates(&problem);
        for plan in plans.map(|(_, launch)| of(launch)) {
            let [_, columns] = plan.scheduler.tiles.tile();
            let [share_b, _] = plan.scheduler.tiles.cluster().extents();
            assert!(
                !transposed || columns.is_multiple_of(8 * share_b),
                "{plan:?}"
            );
            assert!(batch == 1 || columns.is_multiple_of(64), "{plan:?}");
        }
    }
}

#[test]
fn few_tiles_of_many_k_tiles_are_stream_k_tiles() {
    let plan = planned([333, 777, 12345]);
    assert!(plan.scheduler.stream_k.splits > 1, "{plan:?}");
    assert_eq!(plan.scheduler.stream_k.data_parallel_tiles, 0);
    let plan = planned([1024, 1024, 1024]);
    assert_eq!(plan.scheduler.stream_k.stream_k_tiles, 0);
    assert_eq!(plan.launch.workspace_bytes, 0);
}

#[test]
fn partial_sums_are_added_up_as_the_reduction_mode_says() {
    for extents in [[768, 768, 16384], [333, 777, 12345], [256, 256, 8192]] {
        for plan in all(extents) {
            let scheduler::StreamK {
                stream_k_tiles,
                splits,
                ..
            } = plan.scheduler.stream_k;
            let has_last_block = plan.scheduler.reduction == ReductionMode::LastBlock;
            assert_eq!(
                plan.launch.zeroed_bytes > 0,
                stream_k_tiles > 0 && has_last_block
            );
            let has_workspace =
                stream_k_tiles > 0 && plan.scheduler.reduction != ReductionMode::Cluster;
            assert_eq!(plan.launch.workspace_bytes > 0, has_workspace, "{plan:?}");
            match plan.scheduler.reduction {
                ReductionMode::Kernel => {
                    let [bm, bn] = plan.scheduler.tiles.tile();
                    let grids = [plan.launch.grid[0], plan.launch.reduction.unwrap().grid[0]];
                    let blocks = stream_k::blocks(stream_k_tiles, [bm, bn]);
                    assert_eq!(grids, [stream_k_tiles * splits, blocks].map(u64::from));
                }
                ReductionMode::Cluster => {
                    assert_eq!(plan.launch.cluster_size, splits);
                    assert!(stream_k_tiles <= H200.active_clusters.of(splits));
                    assert_eq!(plan.launch.cluster_shape(), ClusterShape::ALONE);
                }
                ReductionMode::LastBlock => assert_eq!(plan.launch.reduction, None),
            }
        }
    }
}

#[test]
fn few_tiles_of_few_splits_are_reduced_by_clusters() {
    for extents in [[768, 1024, 8192], [512, 512, 4096]] {
        let plan = planned(extents);
        assert_eq!(plan.scheduler.reduction, ReductionMode::Cluster, "{plan:?}");
    }
}

#[test]
fn idle_sms_take_tail_splits() {
    let plans = all([768, 3072, 16384]).into_iter();
    let of_192 = plans.filter(|plan| plan.scheduler.tiles.tile()[1] == 192);
    let mut with_tails = of_192.filter(|plan| plan.scheduler.stream_k.head_k_tiles > 0);
    let plan = with_tails.next().expect("96 tiles leave 36 SMs");
    assert_eq!(
        (plan.launch.grid[0], plan.scheduler.stream_k.splits),
        (192, 2)
    );
    assert_eq!(plan.scheduler.stream_k.order, SplitOrder::SplitBySplit);
    // Of 256 k-tiles.
    assert!(
        (192..=208).contains(&plan.scheduler.stream_k.head_k_tiles),
        "{plan:?}"
    );
}

#[test]
fn multicast_clusters_compute_what_the_l2_cache_bounds() {
    for extents in [[4096; 3], [8192; 3], [768, 3072, 16384]] {
        let plan = planned(extents);
        let cluster = plan.scheduler.tiles.cluster();
        assert!(cluster.is_multicast(), "{plan:?}");
        assert_eq!(plan.launch.cluster_size, cluster.blocks());
        // The blocks of a cluster compute the same k-tiles.
        assert_eq!(plan.scheduler.stream_k.order, SplitOrder::SplitBySplit);
    }
    // Rows that lie in two lines of the cache.
    let straddling = GemmProblem {
        extents: [512, 768, 3072],
        row_alignment: [16; 2],
        ..H200
    };
    let cluster = |launch: GemmPlan| launch.cluster_shape();
    assert!(cluster(OF_BF16_90.plan(&straddling).unwrap()).is_multicast());
    assert!(!cluster(planned([8, 8, 64]).launch).is_multicast());
}

/// A cluster that waits for another one takes a second wave, as long as the first.
#[test]
fn a_wave_has_as_many_clusters_as_run_at_the_same_time() {
    for (shape, blocks) in [([1, 1], 132), ([1, 2], 132), ([2, 2], 120), ([4, 2], 120)] {
        let grids = grids(ClusterShape::new(shape), 4000, 8, H200.active_clusters);
        assert!(
            grids.into_iter().all(|grid| grid.blocks == blocks),
            "{shape:?}"
        );
    }
    let surely = ActiveClusters::estimate(132);
    assert_eq!(
        [1, 2, 4, 8, 9].map(|blocks| surely.of(blocks)),
        [132, 66, 24, 12, 0]
    );
    let of_one = |shape| grids(ClusterShape::new(shape), 16, 8, ActiveClusters::estimate(1));
    assert!(of_one([4, 2]).all(|grid| grid.blocks == 8));
}

#[test]
fn memory_bound_gemms_are_not_split() {
    for extents in [[8, 4096, 4096], [4096, 64, 4096], [128, 4096, 4096]] {
        let plan = planned(extents);
        assert_eq!(
            (plan.config.tile[0], plan.scheduler.stream_k.splits),
            (64, 1)
        );
    }
    // Blocks of the reduction kernel find idle SMs.
    let plan = planned([128, 128, 65536]);
    assert_eq!(plan.scheduler.reduction, ReductionMode::Kernel);
    assert!(
        plan.launch.grid[0] < (H200.multiprocessors * 4 / 5).into(),
        "{plan:?}"
    );
}

#[test]
fn tiles_of_one_wave_are_in_lower_groups() {
    for extents in [[1024, 768, 3072], [4096; 3], [768, 3072, 16384]] {
        for plan in all(extents) {
            let tiles = plan.scheduler.tiles;
            let is_one_wave = plan.scheduler.stream_k.stream_k_tiles == 0
                && plan.launch.grid[0] == tiles.count().into();
            let expected = match is_one_wave {
                true => GROUP_M_ONE_WAVE.max(plan.launch.cluster_shape().extents()[0]),
                false => GROUP_M,
            };
            assert_eq!(tiles.group_m(), expected);
        }
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
                    let scheduler::StreamK {
                        data_parallel_tiles,
                        stream_k_tiles,
                        ..
                    } = plan.scheduler.stream_k;
                    let tiles = plan.scheduler.tiles.count();
                    assert_eq!(data_parallel_tiles + stream_k_tiles, tiles);
                    // Tails come behind as many heads, of which there are fewer than SMs.
                    let waves = 1 + u64::from(plan.scheduler.stream_k.head_k_tiles > 0);
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
