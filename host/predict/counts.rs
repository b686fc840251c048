//! A kernel's counts at any size, from runs at small ones.
//!
//! What these kernels do is a polynomial of the size that is linear in each of m, n and k: so many blocks, each with so
//! many rounds, in each of which so many instructions. Such a polynomial is known from its values at two extents in each
//! direction. So counts at 4096 are exact without running 4096³ multiply-adds: for kernels that take multiples of a tile, at
//! such multiples; elsewhere up to what the edges differ.

use super::traffic::{SECTOR_BYTES, Traffic};
use crate::catalogue::{Precondition, Rung};
use crate::element::{Element, ElementType};
use crate::engine::emulator::EmulatorEngine;
use crate::engine::observed::ObservedEngine;
use crate::problem::Shape;
use crate::run::{self, RunError};
use half::f16;
use ptx_emulator::{Counters, InstructionClass, Observer, Space};

/// The least extent of a run: tiles of every kernel fit, and a block is a small part of the whole.
const LEAST: u32 = 128;

/// Declares the counts of a launch with the line through two of them, so that no field is forgotten.
macro_rules! counts {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Counts of one launch, as real numbers: extrapolation works on them.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $field: f64,)*
        }

        impl Counts {
            /// The value on the line through `one` and `two`, so many of their distances from `one`.
            fn line(one: &Counts, two: &Counts, at: f64) -> Counts {
                Counts {
                    $($field: one.$field + (two.$field - one.$field) * at,)*
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
    /// Branches, barriers and the like.
    other,
    /// See [`Traffic::wavefronts`].
    l1_wavefronts,
    /// See [`Traffic::read_sectors`].
    read_sectors,
    /// See [`Traffic::write_sectors`].
    write_sectors,
    /// See [`Traffic::partial_sectors`].
    partial_sectors,
    /// See [`Traffic::constant_lines`].
    constant_lines,
    /// Wavefronts of shared memory.
    shared_wavefronts,
    /// Warps at barriers.
    barriers,
    /// Bytes of all distinct sectors.
    footprint,
}

/// What a rung does at a shape.
///
/// # Errors
/// Where the rung cannot run on the emulator at the small sizes.
pub fn at(
    emulator: &EmulatorEngine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Counts, RunError> {
    let rung = rung.resolve(shape);
    let [m, n, k] = least(rung);
    let uses_k = rung.operation.uses_k();
    // Where the size is small, it is run as it is.
    let exact = shape.m <= 2 * m && shape.n <= 2 * n && (!uses_k || shape.k <= 2 * k);
    if exact {
        return counts(emulator, rung, shape, seed);
    }
    let from = |extent: u32, least: u32| (f64::from(extent) - f64::from(least)) / f64::from(least);
    let mut along_m = Vec::new();
    for m in [m, 2 * m] {
        let mut along_n = Vec::new();
        for n in [n, 2 * n] {
            let one = counts(emulator, rung, Shape { m, n, k }, seed)?;
            along_n.push(if uses_k {
                let two = counts(emulator, rung, Shape { m, n, k: 2 * k }, seed)?;
                Counts::line(&one, &two, from(shape.k, k))
            } else {
                one
            });
        }
        along_m.push(Counts::line(&along_n[0], &along_n[1], from(shape.n, n)));
    }
    Ok(Counts::line(&along_m[0], &along_m[1], from(shape.m, m)))
}

/// The least extents of a run that the rung takes.
fn least(rung: &Rung) -> [u32; 3] {
    match rung.precondition {
        Precondition::Multiples { m, n, k } => {
            [m, n, k].map(|of| LEAST.next_multiple_of(of.max(1)))
        }
        Precondition::Any | Precondition::Elements(_) => [LEAST; 3],
    }
}

fn counts(
    emulator: &EmulatorEngine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Counts, RunError> {
    match rung.element {
        ElementType::F16 => counts_of::<f16>(emulator, rung, shape, seed),
        ElementType::F32 => counts_of::<f32>(emulator, rung, shape, seed),
        ElementType::F64 => counts_of::<f64>(emulator, rung, shape, seed),
    }
}

fn counts_of<T: Element>(
    emulator: &EmulatorEngine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Counts, RunError> {
    let problem = rung.operation.problem::<T>(shape, seed);
    let counters = observed(emulator, Counters::new(), |engine| {
        run::launch(engine, rung, shape, &*problem)
    })?;
    let traffic = observed(emulator, Traffic::default(), |engine| {
        run::launch(engine, rung, shape, &*problem)
    })?;
    let mut counts = Counts::default();
    for count in counters.by_class() {
        use InstructionClass::{
            Atomic, Barrier, Compare, Control, Conversion, Float32, Float64, Fma32, Fma64, Half,
            Integer, Load, Move, Other, Store, Tensor, Warp,
        };
        // A parameter at a fixed address is an operand for the GPU, and most moves are renaming.
        let issued = count.warp_instructions;
        *match count.class {
            Float32 | Fma32 => &mut counts.fp32,
            Float64 | Fma64 => &mut counts.fp64,
            Half => &mut counts.half,
            Integer | Compare => &mut counts.integer,
            Conversion => &mut counts.conversion,
            Load if count.space == Some(Space::Param) => continue,
            Load | Store | Atomic | Warp => &mut counts.load_store,
            Move => continue,
            Control | Barrier | Tensor | Other => &mut counts.other,
        } += issued as f64;
    }
    let total = counters.total();
    let footprint = counters.footprint();
    Ok(Counts {
        l1_wavefronts: traffic.wavefronts as f64,
        read_sectors: traffic.read_sectors as f64,
        write_sectors: traffic.write_sectors as f64,
        partial_sectors: traffic.partial_sectors as f64,
        constant_lines: traffic.constant_lines as f64,
        shared_wavefronts: total.shared().wavefronts as f64,
        barriers: total.barriers as f64,
        footprint: ((footprint.sectors_read + footprint.sectors_written) * SECTOR_BYTES) as f64,
        ..counts
    })
}

fn observed<O: Observer>(
    emulator: &EmulatorEngine,
    observer: O,
    run: impl FnOnce(&ObservedEngine<'_, O>) -> Result<(), RunError>,
) -> Result<O, RunError> {
    let engine = ObservedEngine::new(emulator, observer);
    run(&engine)?;
    Ok(engine.into_observer())
}
