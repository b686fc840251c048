//! Arguments that take one of a few words, for types of the libraries, which know nothing of a
//! command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use warpladder::device::ComputeCapability;
use warpladder::engine::EngineChoice;
use warpladder::timing::Cache;
use warpladder_lab::catalogue::Family;
#[cfg(all(target_os = "linux", feature = "gpu"))]
use warpladder_lab::compare::Peer;
use warpladder_lab::reproduce::Source;
use warpladder_lab::sweep::Over;
use warpladder_models::target::{Reach, Target};

/// The words of an argument: each with its help and what it stands for.
pub(super) type Words<T> = &'static [(&'static str, &'static str, T)];

pub(super) const ENGINES: Words<EngineChoice> = &[
    (
        "auto",
        "The GPU where there is one, else the emulator",
        EngineChoice::Auto,
    ),
    ("gpu", "The GPU", EngineChoice::Gpu),
    ("emulator", "The emulator", EngineChoice::Emulator),
];

pub(super) const CACHES: Words<Cache> = &[
    ("hot", "What the sample before left there", Cache::Hot),
    (
        "cold",
        "Other data: memory of twice the size of the L2 cache is written before each sample",
        Cache::Cold,
    ),
];

pub(super) const FAMILIES: Words<Family> = &[
    ("matmul", "Matrix products", Family::Matmul),
    (
        "transpose",
        "Transposes, and copies beside them",
        Family::Transpose,
    ),
    (
        "stream",
        "Copies and chains of arithmetic: latency hiding",
        Family::Stream,
    ),
    (
        "matvec",
        "Many small matrix-vector products",
        Family::Matvec,
    ),
    ("reduce", "Sums of all elements", Family::Reduce),
    ("scan", "Sums of all elements before each", Family::Scan),
    (
        "histogram",
        "Counts of elements by value",
        Family::Histogram,
    ),
    ("softmax", "The softmax of rows", Family::Softmax),
    (
        "layernorm",
        "Layer normalisation of rows",
        Family::Layernorm,
    ),
    ("stencil", "Weighted sums of neighbours", Family::Stencil),
    (
        "spmv",
        "Products of a sparse matrix and a vector",
        Family::Spmv,
    ),
    ("attention", "Attention of heads", Family::Attention),
];

pub(super) const SWEPT: Words<Over> = &[
    ("warps", "Resident warps of a multiprocessor", Over::Warps),
    (
        "size",
        "The extent of the problem in every dimension",
        Over::Size,
    ),
    (
        "block",
        "Threads of a block, with as many blocks as are resident",
        Over::Block,
    ),
];

#[cfg(all(target_os = "linux", feature = "gpu"))]
pub(super) const PEERS: Words<Peer> = &[
    ("cublas", "cuBLAS, for products", Peer::Cublas),
    (
        "cublaslt",
        "The fastest algorithm of cuBLASLt's heuristics at each size, for products",
        Peer::CublasLt,
    ),
    (
        "best",
        "The faster of these two at each size, for products",
        Peer::Best,
    ),
    (
        "copy",
        "The rung `copy`, for transposes: over as many bytes, up to a multiple of its tile",
        Peer::Copy,
    ),
    (
        "memcpy",
        "A copy inside of device memory by the driver, for transposes",
        Peer::Memcpy,
    ),
];

pub(super) const SOURCES: Words<Source> = &[
    (
        "000",
        "CSE 260, lecture 9: performance modelling and better matrix products",
        Source::Cse260,
    ),
    (
        "001",
        "ECE 408, lecture 5: tiled matrix products",
        Source::Ece408,
    ),
    (
        "002",
        "GPU microarchitecture, note set 5: interval analysis",
        Source::Intervals,
    ),
    ("003", "PATC course: matrix transpose", Source::Patc),
    ("004", "Wolfe: optimizing GPU kernels", Source::Wolfe),
];

/// Parses one of these words.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    words: Words<T>,
) -> impl TypedValueParser<Value = T> {
    let values = words
        .iter()
        .map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(values).try_map(move |word| {
        let found = words.iter().find(|(known, ..)| *known == word);
        found.map(|(.., value)| *value).ok_or("no such value")
    })
}

/// The generation of GPUs of a target such as `sm_80`.
pub(super) fn generation(text: &str) -> Result<ComputeCapability, String> {
    let known = Target::parse(text).filter(|target| target.reach == Reach::Later);
    let capability = known.map(|target| ComputeCapability::from(target.compute_capability));
    capability
        .filter(|known| *known >= ComputeCapability::V7_0)
        .ok_or_else(|| {
            "give the target of a generation of GPUs from sm_70 on, such as sm_80".to_owned()
        })
}

/// A number above 0.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("give a number above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_a_target_without_a_suffix() {
        assert_eq!(generation("sm_80"), Ok(ComputeCapability::V8_0));
        assert_eq!(generation("sm_120"), Ok(ComputeCapability::new(12, 0)));
        for wrong in [
            "80",
            "8.0",
            "sm_",
            "sm_90a",
            "sm_-8",
            "sm_35",
            "SM_80",
            "sm_99999999999",
        ] {
            let refused = generation(wrong).unwrap_err();
            assert!(
                !refused.contains('\n') && refused.contains("sm_80"),
                "{wrong}"
            );
        }
    }
}
