//! A kernel's counts at any size, from runs at small ones.
//!
//! What these kernels do is a polynomial of the size that is linear in each of m, n and k: a number
//! of blocks, each with a number of k-tiles, each with a number of instructions. Such a polynomial
//! is known from its values at two extents in each direction. So counts at 4096 are exact without
//! running 4096³ multiply-adds. The runs are at extents that leave the same rest as the size's when
//! they are divided by [`MIN_EXTENT`]: the edges are the same, and so is how rows lie in sectors.
//!
//! A grid-stride loop has as many threads as the device has room for, and what they do is linear in
//! the elements of one thread. It is run with few threads, so that each has several, and scaled to
//! those of the device.
//!
//! A plan that suits itself to the size is made for a small size and a device of few
//! multiprocessors, for which it chooses the same kernels. Where tiles of the large product are cut
//! or split along k, those of the small one are not: each does the same work, and the fix-up of
//! partial sums is left out.

use super::ForecastError;
use super::chain::{Chain, Cycles};
use super::stores::Stored;
use super::traffic::{SECTOR_BYTES, Traffic};
use crate::catalogue::{Implementation, PlanFn, PlanRequest, Precondition, Rung};
use crate::dispatch_element;
use crate::problem::Shape;
use crate::run::{self, Admitted, RunError, preflight_elsewhere};
use kernels_gpu::geometry::Geometry;
use ptx_emulator::{Counters, InstructionClass, Observer, Space};
use rustc_hash::FxHashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::{ObservedEngine, PerLaunch};
use warpladder::gemm::DeviceLimits;
use warpladder::plan::Plan;

/// The least extent of a run, and how far apart extents of runs are: tiles of every kernel fit, and
/// a block is a small part of the whole.
const MIN_EXTENT: u32 = 128;

/// Arithmetic of the runs from which a product is extrapolated, at least: the sum of two extents in
/// each direction.
const SAMPLES_FLOPS: f64 = 2.0 * 384.0 * 384.0 * 384.0;

/// Where no small size has the kernels of a plan, problems up to this are run as they are: 1024 ×
/// 1024 × 1024, half a minute.
const WHOLE_FLOPS: f64 = 2.0 * 1024.0 * 1024.0 * 1024.0;

/// Declares the counts of a launch with the line through two of them, so that no field is
/// forgotten.
macro_rules! counts {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Counts of one launch, as real numbers: extrapolation works on them.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $field: f64,)*
            /// What lanes store: see [`Traffic::stored`].
            pub stored: Stored,
        }

        impl Counts {
            /// The value on the line through `one` and `two`, `at` of their distances from `one`.
            fn line(one: &Counts, two: &Counts, at: f64) -> Counts {
                Counts {
                    $($field: one.$field + (two.$field - one.$field) * at,)*
                    stored: one.stored + (two.stored - one.stored) * at,
                }
            }

            /// All of them times a factor.
            fn times(&self, factor: f64) -> Counts {
                Counts {
                    $($field: self.$field * factor,)*
                    stored: self.stored * factor,
                }
            }
        }
    };
}

counts! {
    /// Warp instructions of f32 arithmetic.
    fp32,
    /// Of f64 arithmetic.
    fp64,
    /// Of f16 and bf16 arithmetic.
    half,
    /// Of integers, comparisons and logic.
    integer,
    /// Conversions.
    conversion,
    /// Loads, stores, atomics and shuffles.
    load_store,
    /// Of these, the atomics.
    atomics,
    /// MMA on tensor cores.
    tensor,
    /// Branches, barriers and the like.
    other,
    /// See [`Traffic::wavefronts`].
    l1_wavefronts,
    /// See [`Traffic::lines`].
    l1_lines,
    /// See [`Traffic::read_sectors`].
    read_sectors,
    /// See [`Traffic::write_sectors`].
    write_sectors,
    /// See [`Traffic::half_warp_sectors`].
    half_warp_sectors,
    /// See [`Traffic::constant_addresses`].
    constant_addresses,
    /// The same ahead of loops.
    constant_addresses_ahead,
    /// Wavefronts of shared memory.
    shared_wavefronts,
    /// See [`Traffic::barriers`].
    barriers,
    /// Bytes of all distinct sectors.
    footprint,
    /// See [`Chain::fetched_operands`].
    constant_operands,
    /// See [`Chain::total`]: where loads take as long as from the L2 cache.
    chain_l2,
    /// The same where they take as long as from device memory.
    chain_dram,
}

/// What the launches of a rung that does not dispatch do at the size of a request, on a device of
/// these cycles.
///
/// # Errors
/// Where the rung cannot run on the emulator at the small sizes, or chooses other kernels there.
pub fn at(admitted: &Admitted, cycles: Cycles, seed: u64) -> Result<Vec<Counts>, ForecastError> {
    let (request, whole) = admitted.planned()?;
    let (rung, shape) = (admitted.runs(), request.shape);
    let run = |multiprocessors, shape| {
        let request = PlanRequest { shape, ..*request }.with_multiprocessors(multiprocessors);
        counts(&preflight_elsewhere(rung, &request)?, cycles, seed)
    };
    let run_whole = || counts(admitted, cycles, seed);
    match rung.implementation {
        Implementation::Kernel {
            geometry: geometry @ Geometry::GridStride { block },
            ..
        } => {
            let elements = |shape: Shape| u64::from(shape.m) * u64::from(shape.n);
            let (rows, columns) = rung.operation.extent(shape);
            let [blocks, ..] = geometry.grid(rows, columns, request.device.multiprocessors);
            let small = elements(shape) <= elements(STRIDE_RUNS[1]);
            match Strided::of(rung, cycles, seed)? {
                Some(strided) if !small => Ok(vec![strided.at(shape, blocks * u64::from(block))]),
                _ => Ok(run_whole()?),
            }
        }
        // Where the samples would be more work, it is run as it is.
        _ if (1.0..=SAMPLES_FLOPS).contains(&rung.operation.flops(shape)) => Ok(run_whole()?),
        Implementation::Planned { plan, .. } => match small_plans(plan, whole, request) {
            Some((multiprocessors, least)) => {
                let samples = least.map(|extent| Samples {
                    first: extent,
                    period: extent,
                });
                Ok(linear(rung, shape, samples, |shape| {
                    run(multiprocessors, shape)
                })?)
            }
            // It takes seconds, but is exact.
            None if rung.operation.flops(shape) <= WHOLE_FLOPS => Ok(run_whole()?),
            None => Err(ForecastError::ChosenAtNoSmallSize(rung.name)),
        },
        _ => {
            let samples = samples(rung, shape);
            // Where the size is small, it is run as it is.
            if is_within(rung, shape, samples.map(|of| of.first + of.period)) {
                return Ok(run_whole()?);
            }
            Ok(linear(rung, shape, samples, |shape| {
                run(request.device.multiprocessors, shape)
            })?)
        }
    }
}

/// Whether no extent that means anything is more than these.
fn is_within(rung: &Rung, shape: Shape, [m, n, k]: [u32; 3]) -> bool {
    shape.m <= m && shape.n <= n && (!rung.operation.uses_k() || shape.k <= k)
}

/// Multiprocessors and least extents for which a plan chooses the kernels of the request, with no
/// tile cut or shared, at all sizes that are sampled.
fn small_plans(plan: PlanFn, whole: &Plan, request: &PlanRequest) -> Option<(u32, [u32; 3])> {
    let kernels = |plan: &Plan| -> Vec<&str> {
        let launches = plan.launches.iter();
        launches.map(|launch| launch.entry).collect()
    };
    let wanted = kernels(whole);
    // Large tiles pay where k is long, and where there are many; those of 192 columns fill 384.
    let sizes = [
        [2, 2, 2],
        [2, 2, 4],
        [4, 4, 2],
        [2, 2, 8],
        [2, 3, 4],
        [2, 2, 16],
    ];
    let sizes = sizes.map(|times| times.map(|times| times * MIN_EXTENT));
    let candidates = sizes
        .into_iter()
        .flat_map(|least| [1, 2, 4, 8].map(|multiprocessors| (multiprocessors, least)));
    let mut candidates = candidates;
    candidates.find(|&(multiprocessors, least)| {
        corners(least).into_iter().all(|[m, n, k]| {
            let shape = Shape { m, n, k };
            let request = PlanRequest { shape, ..*request };
            let small = plan(&request.with_multiprocessors(multiprocessors));
            let Ok(small) = small else {
                return false;
            };
            // The fix-up of a split tile uses counts of arrivals, which are 0 between launches.
            let splits = small.zeroed_bytes > 0 && request.operation.is_product();
            !splits && kernels(&small) == wanted
        })
    })
}

/// The sizes at which a polynomial is sampled.
fn corners([m, n, k]: [u32; 3]) -> [[u32; 3]; 8] {
    std::array::from_fn(|corner| {
        let twice = |bit: usize, extent: u32| extent << (corner >> bit & 1);
        [twice(0, m), twice(1, n), twice(2, k)]
    })
}

/// Elements of the runs of a grid-stride loop: of 2048 threads, each has two of the largest vectors
/// or more.
const STRIDE_RUNS: [Shape; 2] = [
    Shape {
        m: 512,
        n: 256,
        k: 1,
    },
    Shape {
        m: 512,
        n: 512,
        k: 1,
    },
];

/// What a grid-stride loop does, for any number of elements and threads.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    /// Counts of [`STRIDE_RUNS`].
    runs: [Counts; 2],
    /// Threads of these runs.
    threads: f64,
}

impl Strided {
    /// Runs the loop with the threads of one multiprocessor.
    ///
    /// # Errors
    /// Where the rung cannot run on the emulator.
    pub fn of(rung: &'static Rung, cycles: Cycles, seed: u64) -> Result<Option<Self>, RunError> {
        let Implementation::Kernel { geometry, .. } = rung.implementation else {
            return Ok(None);
        };
        let Geometry::GridStride { block } = geometry else {
            return Ok(None);
        };
        let run = |shape| -> Result<Counts, RunError> {
            let request = PlanRequest {
                operation: rung.operation,
                shape,
                // No plan for a grid-stride kernel looks at the compute capability.
                device: DeviceLimits::new(1, ComputeCapability::V7_0),
                transposed: [false; 2],
            };
            let launches = counts(&preflight_elsewhere(rung, &request)?, cycles, seed)?;
            Ok(launches.into_iter().next().unwrap_or_default())
        };
        let [one, two] = STRIDE_RUNS;
        let (rows, columns) = rung.operation.extent(one);
        let blocks = geometry.grid(rows, columns, 1)[0];
        Ok(Some(Strided {
            runs: [run(one)?, run(two)?],
            threads: blocks as f64 * f64::from(block),
        }))
    }

    /// The counts for the elements of a shape and `threads` threads.
    pub fn at(&self, shape: Shape, threads: u64) -> Counts {
        let elements = |shape: Shape| f64::from(shape.m) * f64::from(shape.n);
        let [one, two] = STRIDE_RUNS.map(elements);
        let times = threads as f64 / self.threads;
        let at = (elements(shape) / times - one) / (two - one);
        Counts::line(&self.runs[0], &self.runs[1], at).times(times)
    }
}

/// A polynomial that is linear in each extent, from runs at the first extents and those a period
/// larger; one for each launch.
fn linear(
    rung: &Rung,
    shape: Shape,
    samples: [Samples; 3],
    run: impl Fn(Shape) -> Result<Vec<Counts>, RunError>,
) -> Result<Vec<Counts>, RunError> {
    let line = |one: &[Counts], two: &[Counts], extent: u32, of: Samples| -> Vec<Counts> {
        let at = (f64::from(extent) - f64::from(of.first)) / f64::from(of.period);
        let launches = one.iter().zip(two);
        launches
            .map(|(one, two)| Counts::line(one, two, at))
            .collect()
    };
    let [of_m, of_n, of_k] = samples;
    let mut along_m = Vec::new();
    for m in of_m.both() {
        let mut along_n = Vec::new();
        for n in of_n.both() {
            let [one, two] = of_k.both();
            let one = run(Shape { m, n, k: one })?;
            along_n.push(if rung.operation.uses_k() {
                let two = run(Shape { m, n, k: two })?;
                line(&one, &two, shape.k, of_k)
            } else {
                one
            });
        }
        along_m.push(line(&along_n[0], &along_n[1], shape.n, of_n));
    }
    Ok(line(&along_m[0], &along_m[1], shape.m, of_m))
}

/// Two extents of runs.
#[derive(Clone, Copy)]
struct Samples {
    first: u32,
    /// How much larger the second one is.
    period: u32,
}

impl Samples {
    fn both(self) -> [u32; 2] {
        [self.first, self.first + self.period]
    }
}

/// The extents of runs that tell what a rung does at a shape. They leave the same rest of the
/// period as the shape's, so that the last tiles are cut and rows lie across sectors as they do
/// there.
fn samples(rung: &Rung, shape: Shape) -> [Samples; 3] {
    let multiples = match rung.precondition {
        Precondition::Multiples { m, n, k } => [m, n, k],
        Precondition::Any
        | Precondition::Elements(_)
        | Precondition::MostRows(_)
        | Precondition::MostElements(_) => [1; 3],
    };
    let extents = [shape.m, shape.n, shape.k];
    std::array::from_fn(|index| {
        let period = MIN_EXTENT.next_multiple_of(multiples[index].max(1));
        Samples {
            first: period + extents[index] % period,
            period,
        }
    })
}

/// What decides the counts of a run: the rung, what it was planned for, and the bits of the cycles
/// and of the seed.
type Run = (&'static str, PlanRequest, [u64; 8], u64);

/// The counts of every run of this process.
static COUNTED: LazyLock<Mutex<FxHashMap<Run, Vec<Counts>>>> = LazyLock::new(Mutex::default);

/// Runs an admitted rung, and counts what each launch does. A run is done once: sizes that leave
/// the same rest, as those of a sweep, share their runs.
fn counts(admitted: &Admitted, cycles: Cycles, seed: u64) -> Result<Vec<Counts>, RunError> {
    let counted = || COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let (request, _) = admitted.planned()?;
    let run = (admitted.runs().name, *request, cycles.to_bits(), seed);
    if let Some(counts) = counted().get(&run) {
        return Ok(counts.clone());
    }
    // Not under the lock: others run meanwhile.
    let counts = dispatch_element!(admitted.runs().element, T => {
        counts_of::<T>(admitted, cycles, seed)
    })?;
    counted().insert(run, counts.clone());
    Ok(counts)
}

/// How many runs with this seed have been counted.
#[cfg(test)]
pub fn runs_with(seed: u64) -> usize {
    let counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    counted.keys().filter(|(.., of)| *of == seed).count()
}

fn counts_of<T: Element>(
    admitted: &Admitted,
    cycles: Cycles,
    seed: u64,
) -> Result<Vec<Counts>, RunError> {
    let emulator = match admitted.runs().operation.is_product() {
        true => EmulatorEngine::new(),
        // Blocks may wait for each other.
        false => EmulatorEngine::new().with_sequential_blocks(),
    };
    let problem = admitted.problem::<T>(seed);
    let others = (Traffic::default(), Chain::new(cycles));
    let launches = observed(&emulator, (Counters::new(), others), |engine| {
        run::launch(engine, admitted, &*problem)
    })?;
    Ok(launches
        .iter()
        .map(|(counters, (traffic, chain))| of_launch(counters, traffic, chain))
        .collect())
}

fn of_launch(counters: &Counters, traffic: &Traffic, chain: &Chain) -> Counts {
    let mut counts = Counts::default();
    for count in counters.by_class() {
        use InstructionClass::{
            Atomic, Barrier, Compare, Control, Conversion, Float32, Float64, Fma32, Fma64, Half,
            Integer, Load, Move, Other, Store, Tensor, Warp,
        };
        // A parameter at a fixed address is an operand for the GPU, and most moves are renaming.
        let issued = count.warp_instructions;
        if count.class == Atomic {
            counts.atomics += issued as f64;
        }
        *match count.class {
            Float32 | Fma32 => &mut counts.fp32,
            Float64 | Fma64 => &mut counts.fp64,
            Half => &mut counts.half,
            Integer | Compare => &mut counts.integer,
            Conversion => &mut counts.conversion,
            Load if count.space == Some(Space::Param) => continue,
            Load | Store | Atomic | Warp => &mut counts.load_store,
            Move => continue,
            Tensor => &mut counts.tensor,
            Control | Barrier | Other => &mut counts.other,
        } += issued as f64;
    }
    let footprint = counters.footprint();
    let [constant_addresses, constant_addresses_ahead] = traffic.constant_addresses();
    Counts {
        l1_wavefronts: traffic.wavefronts as f64,
        l1_lines: traffic.lines as f64,
        read_sectors: traffic.read_sectors as f64,
        write_sectors: traffic.write_sectors as f64,
        stored: traffic.stored(),
        half_warp_sectors: traffic.half_warp_sectors as f64,
        constant_addresses,
        constant_addresses_ahead,
        constant_operands: chain.fetched_operands(),
        other: counts.other + chain.operand_instructions(),
        chain_l2: chain.total[0],
        chain_dram: chain.total[1],
        shared_wavefronts: shared_wavefronts(counters),
        barriers: traffic.barriers as f64,
        footprint: ((footprint.sectors_read + footprint.sectors_written) * SECTOR_BYTES) as f64,
        ..counts
    }
}

/// Wavefronts of shared memory. Data of asynchronous copies arrive line by line, whichever lanes
/// asked for them.
fn shared_wavefronts(counters: &Counters) -> f64 {
    const WAVEFRONT_BYTES: f64 = 128.0;
    let Some(kernel) = counters.kernel() else {
        return 0.0;
    };
    let instructions = counters.instructions().into_iter();
    let wavefronts = instructions.map(|(id, counts)| {
        if kernel.instruction(id).opcode().starts_with("cp.async") {
            counts.shared().bytes as f64 / WAVEFRONT_BYTES
        } else {
            counts.shared().wavefronts as f64
        }
    });
    wavefronts.sum()
}

/// What an observer that starts as `observer` sees of each launch.
fn observed<O: Observer + Clone>(
    emulator: &EmulatorEngine,
    observer: O,
    run: impl FnOnce(&ObservedEngine<'_, PerLaunch<O>>) -> Result<(), RunError>,
) -> Result<Vec<O>, RunError> {
    let engine = ObservedEngine::new(emulator, PerLaunch::new(observer));
    run(&engine)?;
    Ok(engine.into_observer().seen)
}
