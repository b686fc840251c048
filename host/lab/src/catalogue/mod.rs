//! The catalogue: the only list of kernels there is.
//!
//! `list`, `run`, checks, benchmarks and reports are driven by [`rungs`]. A new kernel is one file
//! in kernels-gpu and one entry here. Launch geometry comes from the kernel's own file, so no
//! constant stands twice.

mod attention;
mod gemm;
mod histogram;
mod layernorm;
mod matmul;
mod matvec;
mod precondition;
mod reduce;
mod request;
mod scan;
mod softmax;
mod spmv;
mod stencil;
mod steps;
mod stream;
mod transpose;
mod wgmma;

pub use precondition::Precondition;
pub use request::{PlanFn, PlanRequest};

use crate::cpu::CpuProduct;
use crate::problem::{Operation, Shape};
use kernels_gpu::geometry::Geometry;
use std::fmt;
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::gemm::PlanError;
use warpladder::plan::Plan;

/// A ladder of kernels for one problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Matrix products.
    Matmul,
    /// Transposes, and the copy that bounds them.
    Transpose,
    /// Copies and chains of arithmetic: latency hiding.
    Stream,
    /// Many small matrix-vector products.
    Matvec,
    /// Sums of all elements.
    Reduce,
    /// Sums of all elements before each.
    Scan,
    /// Counts of elements by value.
    Histogram,
    /// The softmax of rows.
    Softmax,
    /// Layer normalisation of rows.
    Layernorm,
    /// Weighted sums of neighbours.
    Stencil,
    /// Products of a sparse matrix and a vector.
    Spmv,
    /// Attention of heads.
    Attention,
}

impl Family {
    /// All of them, in the order of the catalogue.
    pub const ALL: [Family; 12] = [
        Family::Matmul,
        Family::Transpose,
        Family::Stream,
        Family::Matvec,
        Family::Reduce,
        Family::Scan,
        Family::Histogram,
        Family::Softmax,
        Family::Layernorm,
        Family::Stencil,
        Family::Spmv,
        Family::Attention,
    ];
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Matmul => "matmul",
            Family::Transpose => "transpose",
            Family::Stream => "stream",
            Family::Matvec => "matvec",
            Family::Reduce => "reduce",
            Family::Scan => "scan",
            Family::Histogram => "histogram",
            Family::Softmax => "softmax",
            Family::Layernorm => "layernorm",
            Family::Stencil => "stencil",
            Family::Spmv => "spmv",
            Family::Attention => "attention",
        })
    }
}

/// One entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// Name: the PTX entry, and the word on the command line and in every report.
    pub name: &'static str,
    /// The ladder it belongs to.
    pub family: Family,
    /// The source documents that it is from, by number.
    pub source: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// Element type.
    pub element: ElementType,
    /// What it computes, and with which parameters.
    pub operation: Operation,
    /// Sizes that it takes.
    pub precondition: Precondition,
    /// What runs.
    pub implementation: Implementation,
}

/// What runs when a rung runs.
#[derive(Clone, Copy, Debug)]
pub enum Implementation {
    /// The PTX entry of the rung's name.
    Kernel {
        /// Blocks and their outputs.
        geometry: Geometry,
        /// Lowest compute capability that runs it: which PTX module it is in.
        compute_capability: ComputeCapability,
    },
    /// Launches that depend on the problem and the device.
    Planned {
        /// Makes them.
        plan: PlanFn,
        /// Lowest compute capability that runs the rung.
        compute_capability: ComputeCapability,
        /// Whether the operands of a product may be stored transposed.
        any_layout: bool,
    },
    /// The first of these rungs that takes the size.
    Dispatch(&'static [&'static str]),
    /// A function of the host.
    Cpu(CpuProduct),
}

impl Rung {
    /// The rung that runs for this shape: itself unless it dispatches.
    pub fn resolve(&'static self, shape: Shape) -> &'static Rung {
        match self.implementation {
            Implementation::Dispatch(candidates) => candidates
                .iter()
                .filter_map(|name| find(name))
                .find(|rung| rung.precondition.takes(rung.operation, shape))
                .unwrap_or(self),
            _ => self,
        }
    }

    /// Lowest compute capability that runs it on a GPU; `None` where it is not one
    /// kernel of its own.
    pub fn compute_capability(&self) -> Option<ComputeCapability> {
        match self.implementation {
            Implementation::Kernel {
                compute_capability, ..
            }
            | Implementation::Planned {
                compute_capability, ..
            } => Some(compute_capability),
            Implementation::Dispatch(_) | Implementation::Cpu(_) => None,
        }
    }

    /// Whether both compute the same from and to the same element types, as kernels: their times
    /// at one size compare.
    pub fn is_comparable(&self, other: &Rung) -> bool {
        let chains = |rung: &Rung| matches!(rung.operation, Operation::FmaChains { .. });
        let is_kernel = |rung: &Rung| rung.compute_capability().is_some();
        is_kernel(self)
            && is_kernel(other)
            && self.family == other.family
            && self.element == other.element
            && (self.operation == other.operation || chains(self) && chains(other))
    }

    /// Whether it takes operands that are stored transposed.
    pub fn takes_any_layout(&self) -> bool {
        matches!(
            self.implementation,
            Implementation::Planned {
                any_layout: true,
                ..
            }
        )
    }

    /// The rung whose kernel does the work of this one several times in one launch, which gives
    /// source 003's "inner time". It takes one parameter more: how often. It is in no table.
    pub fn repeated(&self) -> Option<Rung> {
        let entries = transpose::REPEATED.iter();
        let (_, entry) = entries.copied().find(|(name, _)| *name == self.name)?;
        Some(Rung {
            name: entry,
            ..*self
        })
    }

    /// MMAs of 16-bit elements that it computes for one product: six where f32 is multiplied as
    /// terms of bfloat16.
    pub fn mmas_per_product(&self) -> u32 {
        match self.name {
            "gemm_f32_split" => 6,
            _ => 1,
        }
    }

    /// The launches of a rung that runs on a GPU by itself. That of a kernel of the catalogue's own
    /// has no parameters yet: they are those of the problem.
    pub(crate) fn plan(&self, request: &PlanRequest) -> Option<Result<Plan, PlanError>> {
        match self.implementation {
            Implementation::Kernel {
                geometry,
                compute_capability,
            } => Some(Ok(request::of_kernel(
                self.name,
                geometry,
                compute_capability,
                request,
            ))),
            Implementation::Planned { plan, .. } => Some(plan(request)),
            Implementation::Dispatch(_) | Implementation::Cpu(_) => None,
        }
    }
}

/// The tables, family by family, each rung after the one that it improves on
/// ([`Rung::improves_on`]).
const TABLES: [&[Rung]; 12] = [
    matmul::RUNGS,
    transpose::RUNGS,
    stream::RUNGS,
    matvec::RUNGS,
    reduce::RUNGS,
    scan::RUNGS,
    histogram::RUNGS,
    softmax::RUNGS,
    layernorm::RUNGS,
    stencil::RUNGS,
    spmv::RUNGS,
    attention::RUNGS,
];

/// Every kernel.
pub fn rungs() -> impl DoubleEndedIterator<Item = &'static Rung> + Clone {
    TABLES.into_iter().flatten()
}

/// The rung of this name.
pub fn find(name: &str) -> Option<&'static Rung> {
    rungs().find(|rung| rung.name == name)
}

/// The name in the catalogue that is most like `name`, where any is much alike.
pub fn nearest(name: &str) -> Option<&'static str> {
    rungs()
        .map(|rung| (strsim::jaro_winkler(rung.name, name), rung.name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use warpladder::gemm::DeviceLimits;

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = rungs().map(|rung| rung.name).collect();
        assert_eq!(names.len(), rungs().count());
    }

    /// The kernels that a plan chooses from, for one size or another.
    fn entries_of(operation: Operation, plan: PlanFn) -> Vec<(&'static str, ComputeCapability)> {
        let sizes = [16, 256, 8192];
        let shapes = sizes.into_iter().flat_map(|m| {
            sizes
                .into_iter()
                .flat_map(move |n| sizes.map(|k| Shape { m, n, k }))
        });
        shapes
            .flat_map(|shape| {
                let request = PlanRequest {
                    operation,
                    shape,
                    device: DeviceLimits::new(132, ComputeCapability::V9_0),
                    transposed: [false; 2],
                };
                let launches = plan(&request).unwrap().launches.into_iter();
                launches.map(|launch| (launch.entry, launch.compute_capability))
            })
            .collect()
    }

    #[test]
    fn every_kernel_is_an_entry_of_its_module_and_every_entry_is_a_kernel() {
        let mut in_modules = HashSet::new();
        for module in warpladder::ptx::MODULES {
            let entries = module.entries();
            in_modules.extend(entries.map(|entry| (entry, module.compute_capability)));
        }
        let in_catalogue = rungs()
            .flat_map(|rung| match rung.implementation {
                Implementation::Kernel {
                    compute_capability, ..
                } => std::iter::once(rung.name)
                    .chain(rung.repeated().map(|repeated| repeated.name))
                    .map(|entry| (entry, compute_capability))
                    .collect(),
                Implementation::Planned { plan, .. } => entries_of(rung.operation, plan),
                _ => Vec::new(),
            })
            .chain(gemm::entries())
            .collect();
        // Kernels that measure a device are no rungs.
        in_modules.retain(|(entry, _)| !entry.starts_with("calibrate_"));
        assert_eq!(in_modules, in_catalogue);
    }

    #[test]
    fn a_dispatching_rung_names_rungs_of_its_operation_and_ends_with_one_for_any_size() {
        for rung in rungs() {
            let Implementation::Dispatch(candidates) = rung.implementation else {
                continue;
            };
            let candidates: Vec<_> = candidates.iter().map(|name| find(name).unwrap()).collect();
            assert!(candidates.iter().all(|c| c.operation == rung.operation));
            assert_eq!(candidates.last().unwrap().precondition, Precondition::Any);
        }
    }

    #[test]
    fn a_typing_error_finds_its_rung() {
        assert_eq!(nearest("tiled32"), Some("tiled_32"));
        assert_eq!(nearest("transpose_pad"), Some("transpose_padded"));
        assert_eq!(nearest("qqqq"), None);
    }
}
