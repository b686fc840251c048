//! Many small matrix-vector products.

use super::{Family, Implementation, Precondition, Rung};
use crate::problem::Operation;
use kernels_gpu::history::intervals::GEOMETRY;
use kernels_gpu::ladder::matvec::matvec_fast;
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;

const fn rung(name: &'static str, operation: Operation, summary: &'static str) -> Rung {
    Rung {
        name,
        family: Family::Matvec,
        source: "002",
        summary,
        element: ElementType::F32,
        operation,
        precondition: Precondition::Any,
        implementation: Implementation::Kernel {
            geometry: GEOMETRY,
            compute_capability: ComputeCapability::V7_0,
        },
    }
}

/// A kernel for matrices of `size` × `size`.
const fn square(name: &'static str, size: u32, summary: &'static str) -> Rung {
    let operation = Operation::MatVec {
        rows: size,
        columns: size,
        any: false,
    };
    rung(name, operation, summary)
}

/// A kernel that is told the size. It is run with one that is neither square nor a multiple of
/// four.
const fn any(name: &'static str, summary: &'static str) -> Rung {
    let operation = Operation::MatVec {
        rows: 13,
        columns: 22,
        any: true,
    };
    rung(name, operation, summary)
}

/// The staged kernel for 16 × 16.
const FAST: Rung = Rung {
    source: "-",
    implementation: Implementation::Kernel {
        geometry: matvec_fast::GEOMETRY,
        compute_capability: ComputeCapability::V7_0,
    },
    ..square(
        "matvec_fast",
        16,
        "staged through shared memory, every access coalesced, 16 x 16",
    )
};

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    square("matvec_lcs", 16, "load all, compute, store, 16 x 16"),
    square("matvec_lcs_4", 4, "load all, compute, store, 4 x 4"),
    square("matvec_lcs_8", 8, "load all, compute, store, 8 x 8"),
    square("matvec_lcs_12", 12, "load all, compute, store, 12 x 12"),
    square("matvec_lcs_20", 20, "load all, compute, store, 20 x 20"),
    square("matvec_lcs_24", 24, "load all, compute, store, 24 x 24"),
    square("matvec_lcs_28", 28, "load all, compute, store, 28 x 28"),
    square("matvec_lcs_32", 32, "load all, compute, store, 32 x 32"),
    any("matvec_lcs_any", "load all, compute, store, any size up to 32 x 32"),
    square("matvec_interleaved", 16, "load one, use it, load the next, 16 x 16"),
    square("matvec_interleaved_4", 4, "load one, use it, load the next, 4 x 4"),
    square("matvec_interleaved_8", 8, "load one, use it, load the next, 8 x 8"),
    square("matvec_interleaved_12", 12, "load one, use it, load the next, 12 x 12"),
    square("matvec_interleaved_20", 20, "load one, use it, load the next, 20 x 20"),
    square("matvec_interleaved_24", 24, "load one, use it, load the next, 24 x 24"),
    square("matvec_interleaved_28", 28, "load one, use it, load the next, 28 x 28"),
    square("matvec_interleaved_32", 32, "load one, use it, load the next, 32 x 32"),
    any("matvec_interleaved_any", "load one, use it, load the next, any size up to 32 x 32"),
    square("matvec_thread_per_element", 16, "M threads per vector, 16 x 16"),
    square("matvec_thread_per_element_4", 4, "M threads per vector, 4 x 4"),
    square("matvec_thread_per_element_8", 8, "M threads per vector, 8 x 8"),
    square("matvec_thread_per_element_12", 12, "M threads per vector, 12 x 12"),
    square("matvec_thread_per_element_20", 20, "M threads per vector, 20 x 20"),
    square("matvec_thread_per_element_24", 24, "M threads per vector, 24 x 24"),
    square("matvec_thread_per_element_28", 28, "M threads per vector, 28 x 28"),
    square("matvec_thread_per_element_32", 32, "M threads per vector, 32 x 32"),
    any("matvec_thread_per_element_any", "M threads per vector, any size up to 32 x 32"),
    FAST,
];
