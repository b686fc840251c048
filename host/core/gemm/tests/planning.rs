//! Plans: their work units cover C, and their kernels fit the device.

use super::Numbers;
use crate::device::ComputeCapability;
use crate::gemm::tuning::Choices;
use crate::gemm::{Description, DeviceLimits, GemmInput, PlanError, Precision, Tf32, plan};
use crate::gemm::{HOPPER, plan_choice};
use crate::launch::Param;
use crate::plan::PlannedLaunch;
use crate::ptx;
use half::{bf16, f16};
use kernels_gpu::gemm::planner::{Decomposition, KernelSet};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::Command;

/// The kernels that a product is planned with.
fn entries<T: GemmInput>(product: &Description<T>, device: DeviceLimits) -> Vec<&'static str> {
    let launches = plan(product, device, &Choices::new()).unwrap().launches;
    launches.into_iter().map(|launch| launch.entry).collect()
}

/// Operands that `wgmma` takes after copies only are taken as they lie where those take longer;
/// what needs no copy, or is more arithmetic than copies, is not.
#[test]
fn operands_are_taken_as_they_lie_where_copies_take_longer() {
    fn check<T: GemmInput>(name: &str) {
        let hopper = DeviceLimits::new(132, ComputeCapability::V9_0);
        let plan_of =
            |extents, transposed| entries(&Description::<T>::dense(extents, transposed), hopper);
        for (extents, transposed) in [
            ([4369, 19, 5215], [true; 2]),
            ([4369, 19, 5215], [true, false]),
            ([23, 4271, 3115], [false, true]),
            ([23, 4271, 3115], [false; 2]),
        ] {
            let plan = plan_of(extents, transposed);
            assert!(plan[0].starts_with(&format!("gemm_90_{name}")), "{plan:?}");
        }
        for (extents, transposed) in [
            ([4369, 4001, 5215], [true; 2]),
            ([4368, 16, 5216], [false, true]),
            ([304, 200, 104], [false, true]),
        ] {
            let plan = plan_of(extents, transposed);
            let last = plan.last().unwrap();
            assert!(
                last.starts_with(&format!("wgmma_{name}")) || last.starts_with("add_parts"),
                "{plan:?}"
            );
        }
    }
    check::<f16>("f16");
    check::<bf16>("bf16");
    check::<Tf32>("tf32");
}

/// Kernels prefetch a map of windows of C wherever their tiles end inside of an epilogue tile, also
/// where C is narrower than a window.
#[test]
fn tiles_that_end_inside_of_an_epilogue_tile_have_a_map_of_windows() {
    let device = DeviceLimits::new(132, HOPPER);
    let mut widths = HashSet::new();
    for n in [8, 144, 400] {
        let product = Description::<bf16>::dense([130, n, 64], [false, true]);
        let kernels = product.kernels(device).unwrap();
        for (_, choice) in kernels.candidates(&product.problem(device)) {
            let columns = choice.tile_columns().unwrap();
            let plan = plan_choice(&product, device, &choice);
            let maps = plan.launches[0]
                .params
                .iter()
                .find_map(|param| match param {
                    Param::TensorMaps(maps) => Some(maps.len()),
                    _ => None,
                });
            let is_whole = columns.is_multiple_of(32);
            assert_eq!(maps, Some(if is_whole { 3 } else { 4 }), "{n} {columns}");
            widths.insert((n, is_whole));
        }
    }
    assert!(widths.contains(&(8, false)) && widths.contains(&(8, true)));
}

/// Those of f32 in terms are multiplied in f32 where that takes less time than to write terms.
#[test]
fn products_in_terms_are_computed_in_f32_where_terms_take_longer() {
    let hopper = DeviceLimits::new(132, ComputeCapability::V9_0);
    let plan_of = |precision| {
        let product = Description::<f32> {
            precision,
            ..Description::dense([4369, 19, 5215], [true; 2])
        };
        entries(&product, hopper)
    };
    assert_eq!(plan_of(Precision::F32Split), plan_of(Precision::Native));
}

/// Operands without elements need no copy, whatever layout the kernels ask for.
#[test]
fn products_with_k_of_0_are_planned_in_every_layout() {
    fn check<T: GemmInput>(device: DeviceLimits) {
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            for [m, n] in [[5, 7], [33, 1], [128, 257]] {
                let product = Description::<T>::dense([m, n, 0], transposed);
                let entries = entries(&product, device);
                assert_eq!(entries.len(), 1, "{} {transposed:?} {entries:?}", T::NAME);
            }
        }
    }
    for capability in [ComputeCapability::V8_0, ComputeCapability::V9_0] {
        let device = DeviceLimits::new(108, capability);
        check::<i8>(device);
        check::<f16>(device);
        check::<Tf32>(device);
        check::<f32>(device);
    }
}

/// Of f32 in terms, products that take less time by fused multiply-adds are computed by these.
#[test]
fn f32_in_terms_is_computed_as_it_is_where_terms_take_longer() {
    let hopper = DeviceLimits::new(132, ComputeCapability::V9_0);
    for (extents, transposed, in_terms) in [
        ([8106, 21, 3132], [true, false], false),
        ([18, 3735, 4422], [false; 2], false),
        ([1505, 3787, 30], [false, true], false),
        ([2048, 2048, 2048], [false; 2], true),
        ([910, 1114, 7105], [false, true], true),
        // Too small for a difference that matters.
        ([100, 130, 70], [true; 2], true),
    ] {
        let native = Description::<f32>::dense(extents, transposed);
        let split = Description {
            precision: Precision::F32Split,
            ..native
        };
        let of_split = entries(&split, hopper);
        assert_eq!(
            of_split == entries(&native, hopper),
            !in_terms,
            "{extents:?}: {of_split:?}"
        );
    }
}

/// Plans of random problems.
fn random_plans<T: GemmInput>(device: DeviceLimits, count: usize, seed: u64) {
    let mut numbers = Numbers(seed);
    for _ in 0..count {
        let mut extent = |most: f64| (numbers.unit() * most.log2()).exp2() as u32;
        let extents @ [m, n, k] = [extent(20_000.0), extent(20_000.0), extent(100_000.0)];
        let bits = (numbers.unit() * 64.0) as u32;
        let transposed = [bits & 1 != 0, bits & 2 != 0];
        let mut product = Description::<T>::dense(extents, transposed);
        if bits & 4 != 0 {
            product.leading = product.leading.map(|leading| leading + bits % 9);
        }
        if bits & 8 != 0 {
            product.batch = 1 + bits % 5;
            let [rows_a, rows_b] = [
                if transposed[0] { k } else { m },
                if transposed[1] { n } else { k },
            ];
            let stride = |rows: u32, leading: u32| u64::from(rows) * u64::from(leading);
            product.strides = [
                stride(rows_a, product.leading[0]),
                stride(rows_b, product.leading[1]),
                stride(m, product.leading[2]),
            ];
        }
        product.aligned[0] = bits & 16 == 0;
        let kernels = product.kernels(device).unwrap();
        let problem = product.problem(device);
        let planned = plan(&product, device, &Choices::default()).unwrap();
        assert!(!planned.launches.is_empty());
        for (clocks, plan) in kernels.candidates(&problem) {
            assert!(clocks.is_finite() && clocks > 0.0, "{extents:?} {plan:?}");
            let Some(tile) = kernels.tiles.iter().find(|tile| tile.entry == plan.entry) else {
                continue;
            };
            let [bm, bn, bk] = tile.tile;
            let tiles = u64::from(m.div_ceil(bm)) * u64::from(n.div_ceil(bn));
            let batch = u64::from(product.batch);
            let blocks: u64 = plan.grid.iter().product();
            // The blocks are those of the tiles, and the splits of a tile cover k once.
            match plan.decomposition {
                Decomposition::DataParallel => assert_eq!(blocks, tiles * batch),
                Decomposition::SplitK { splits, split_k } => {
                    assert_eq!(blocks, tiles * batch * u64::from(splits));
                    assert!(u64::from(splits) * u64::from(split_k) >= u64::from(k));
                    assert!(u64::from(splits - 1) * u64::from(split_k) < u64::from(k));
                    assert!(!kernels.takes_fusion || split_k.is_multiple_of(bk));
                }
                Decomposition::StreamK(stream_k) => {
                    let [parallel, cut] = [stream_k.data_parallel_tiles, stream_k.tiles];
                    assert_eq!(u64::from(parallel) + u64::from(cut), tiles);
                    assert_eq!(
                        blocks,
                        u64::from(parallel) + u64::from(cut * stream_k.splits)
                    );
                    let last =
                        stream_k.first_split_k + (stream_k.splits - 2) * stream_k.other_split_k;
                    assert!(
                        last < k && last + stream_k.other_split_k >= k,
                        "{plan:?} {k}"
                    );
                    assert!(!kernels.takes_fusion || stream_k.first_split_k.is_multiple_of(bk));
                }
            }
        }
    }
}

#[test]
fn random_problems_are_planned_and_their_work_units_cover_c() {
    let seed = 20_261_125;
    let count = 250;
    for capability in [70, 75, 80, 86, 89, 90, 100, 120] {
        for multiprocessors in [1, 40, 132] {
            let device = DeviceLimits::new(multiprocessors, ComputeCapability::from(capability));
            let seed = seed + u64::from(capability + multiprocessors);
            random_plans::<f32>(device, count, seed);
            random_plans::<f64>(device, count, seed);
            random_plans::<f16>(device, count, seed);
            random_plans::<Tf32>(device, count, seed);
        }
    }
    println!("{} problems, seed {seed}", 4 * 8 * 3 * count);
}

#[test]
fn a_device_has_the_shared_memory_of_the_lesser_of_itself_and_the_generation() {
    let of = |device: u32, asked: u32| {
        let device = DeviceLimits::new(1, ComputeCapability::from(device));
        device.with_generation(Some(ComputeCapability::from(asked)))
    };
    for (device, asked, kib) in [
        (86, 80, 99),
        (89, 80, 99),
        (90, 80, 163),
        (90, 86, 99),
        (90, 90, 227),
        (100, 80, 163),
        (120, 75, 64),
    ] {
        let bytes = of(device, asked).unwrap().shared_bytes();
        assert_eq!(bytes, kib << 10, "{asked} on {device}");
    }
    // The kernels of 9.0 run on no other.
    let own = cfg!(feature = "sm_90a").then_some((100, 90));
    for (device, asked) in [(80, 90), (90, 100), (90, 50)].into_iter().chain(own) {
        let refused = of(device, asked).unwrap_err();
        assert!(matches!(refused, PlanError::Generation { .. }), "{refused}");
    }
    let own = DeviceLimits::new(1, ComputeCapability::V9_0);
    assert_eq!(own.with_generation(None), Ok(own));
}

#[test]
fn kernels_of_an_older_generation_fit_the_device() {
    for (device, asked) in [(86, 80), (89, 80), (120, 80), (75, 70)] {
        let device = DeviceLimits::new(68, ComputeCapability::from(device));
        let own = device.shared_bytes();
        let device = device.with_generation(Some(asked.into())).unwrap();
        for extents in [[4096; 3], [1000, 1001, 999], [64, 64, 100_000]] {
            let launches = [
                plan_of::<f32>(device, extents),
                plan_of::<f64>(device, extents),
                plan_of::<f16>(device, extents),
                plan_of::<Tf32>(device, extents),
            ];
            for launch in launches.into_iter().flatten() {
                assert!(launch.shared_bytes <= own, "{}", launch.entry);
            }
        }
    }
}

fn plan_of<T: GemmInput>(device: DeviceLimits, extents: [u32; 3]) -> Vec<PlannedLaunch> {
    let product = Description::<T>::dense(extents, [false, true]);
    let plan = plan(&product, device, &Choices::default());
    plan.unwrap().launches
}

/// `ptxas`: the one of `WARPLADDER_PTXAS`, or the first on the path.
fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("WARPLADDER_PTXAS").map(PathBuf::from);
    named.or_else(|| {
        let path = std::env::var_os("PATH")?;
        let mut programs = std::env::split_paths(&path).map(|folder| folder.join("ptxas"));
        programs.find(|program| program.is_file())
    })
}

/// The kernels that a product of `T` may be planned with on a compute capability.
fn kernel_sets<T: GemmInput>(capability: ComputeCapability) -> Vec<&'static KernelSet> {
    let mut sets: Vec<_> = [false, true]
        .into_iter()
        .flat_map(|c_16bit| {
            let fusing = T::fusing_kernels(capability, c_16bit);
            [Some(T::kernels(capability, c_16bit)), fusing]
        })
        .flatten()
        .collect();
    sets.extend(T::split_kernels(capability));
    sets
}

/// 32-bit registers of a multiprocessor (CUDA programming guide, "Compute Capabilities").
const REGISTERS: u32 = 65_536;

#[test]
fn kernels_of_every_generation_assemble_without_spills_and_fit() {
    let Some(ptxas) = ptxas() else {
        println!("skipped: no ptxas on the path, nor in WARPLADDER_PTXAS");
        return;
    };
    let folder = std::env::temp_dir().join(format!("warpladder-ptxas-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let capabilities: &[u32] = match std::env::var("WARPLADDER_TEST").as_deref() {
        Ok("full" | "sample") => &[75, 80, 86, 89, 120],
        _ => &[75, 86],
    };
    for &number in capabilities {
        let capability = ComputeCapability::from(number);
        let device = DeviceLimits::new(1, capability);
        let sets = [
            kernel_sets::<f16>(capability),
            kernel_sets::<bf16>(capability),
            kernel_sets::<Tf32>(capability),
            kernel_sets::<f32>(capability),
            kernel_sets::<f64>(capability),
        ];
        let sets: Vec<_> = sets.into_iter().flatten().collect();
        let tiles: HashMap<_, _> = sets
            .iter()
            .flat_map(|set| set.tiles.iter())
            .map(|tile| (tile.entry, tile))
            .collect();
        let mut modules: HashMap<u32, HashSet<&str>> = HashMap::new();
        for (entry, module) in sets.iter().flat_map(|set| set.entries()) {
            modules.entry(module).or_default().insert(entry);
        }
        let of_warps: HashSet<&str> = sets
            .iter()
            .filter(|set| set.takes_fusion)
            .flat_map(|set| set.tiles.iter().map(|tile| tile.entry))
            .collect();
        let mut assembled = 0;
        for (module, entries) in modules {
            let module = ptx::find(ComputeCapability::from(module)).unwrap();
            let source = folder.join(format!("{}.ptx", module.name));
            std::fs::write(&source, module.text()).unwrap();
            let output = Command::new(&ptxas)
                .arg(format!("-arch=sm_{number}"))
                .arg("-v")
                .arg(&source)
                .arg("-o")
                .arg(folder.join("assembled"))
                .output()
                .unwrap();
            let report = String::from_utf8_lossy(&output.stderr);
            if report.contains("is not defined for option 'gpu-name'") {
                println!("skipped: this ptxas does not know sm_{number}");
                continue;
            }
            assert!(output.status.success(), "sm_{number}: {report}");
            for kernel in report.split("Compiling entry function '").skip(1) {
                let (entry, rest) = kernel.split_once('\'').unwrap();
                if !entries.contains(entry) {
                    continue;
                }
                let before = |what: &str| -> u32 {
                    let at = rest
                        .find(what)
                        .unwrap_or_else(|| panic!("{what}: {report}"));
                    let digits = rest[..at].rsplit(|c: char| !c.is_ascii_digit());
                    digits.into_iter().next().unwrap().parse().unwrap()
                };
                assert_eq!(before(" bytes spill stores"), 0, "{entry} on sm_{number}");
                if let Some(tile) = tiles.get(entry) {
                    let registers = before(" registers").next_multiple_of(8);
                    assert!(
                        tile.threads * registers <= REGISTERS,
                        "{entry} on sm_{number}"
                    );
                    // The planner leaves out what does not fit; of these kernels all do.
                    let fits = tile.shared_bytes <= device.shared_bytes();
                    assert!(fits || !of_warps.contains(entry), "{entry} on sm_{number}");
                }
                assembled += 1;
            }
        }
        println!("sm_{number}: {assembled} kernels");
        assert!(assembled > 0 || number == 120);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
