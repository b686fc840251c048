//! Problems: the rungs for one of them compare.

use warpladder::element::{ElementType, TensorInput};
use warpladder_lab::catalogue::{Implementation, Rung};
use warpladder_lab::problem::{Operation, Shape};

/// What a ladder is drawn by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// 10⁹ operations per second.
    Gflops,
    /// 10⁹ bytes per second.
    Gbs,
}

impl Metric {
    /// Its unit.
    pub const fn unit(self) -> &'static str {
        match self {
            Metric::Gflops => "GFLOP/s",
            Metric::Gbs => "GB/s",
        }
    }

    /// A thousand of it.
    pub(super) const fn large_unit(self) -> &'static str {
        match self {
            Metric::Gflops => "TFLOP/s",
            Metric::Gbs => "TB/s",
        }
    }

    /// The rate of a rung that takes so long, in its unit.
    pub fn rate(self, rung: &Rung, shape: Shape, ms: f64) -> f64 {
        let work = match self {
            Metric::Gflops => rung.operation.flops(shape),
            Metric::Gbs => rung.operation.elements_moved(shape) * rung.element.bytes() as f64,
        };
        work / ms / 1e6
    }
}

/// The problem that a rung solves, whatever the size: rungs of one problem compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// A name for files and links.
    pub(super) name: String,
    /// In words.
    pub(super) title: String,
    /// What its ladders are drawn by.
    pub(super) metric: Metric,
}

impl Class {
    /// The class of a rung.
    pub fn of(rung: &Rung) -> Self {
        const GEMM: &str = "Matrix multiplication (GEMM)";
        let input = |input: TensorInput| match input {
            TensorInput::F16 => "f16",
            TensorInput::Bf16 => "bf16",
            TensorInput::Tf32 => "TF32",
            TensorInput::I8 => "i8",
            TensorInput::E4m3 => "fp8",
        };
        let element = rung.element;
        let (name, title, metric) = match rung.operation {
            _ if matches!(rung.implementation, Implementation::Cpu(_)) => (
                "products-cpu".to_owned(),
                format!("{GEMM} on the CPU"),
                Metric::Gflops,
            ),
            Operation::Product => (
                format!("products-{element}"),
                format!("{GEMM}, {element}"),
                Metric::Gflops,
            ),
            Operation::TensorProduct(of) => (
                format!("products-tensor-{}", input(of).to_lowercase()),
                format!("{GEMM} on tensor cores, {} in, f32 out", input(of)),
                Metric::Gflops,
            ),
            Operation::TensorProduct16(of) => (
                format!("products-tensor-{}-out", input(of)),
                format!("{GEMM} on tensor cores, {} in and out", input(of)),
                Metric::Gflops,
            ),
            Operation::ColumnMajorProduct => (
                "products-wolfe".to_owned(),
                format!("{GEMM}, column-major: Wolfe's series and Volkov's"),
                Metric::Gflops,
            ),
            Operation::Copy | Operation::Transpose => (
                format!("transposes-{element}"),
                match element {
                    ElementType::F32 => "Transposes, f32, and the copy that bounds them".to_owned(),
                    _ => format!("Transposes, {element}"),
                },
                Metric::Gbs,
            ),
            Operation::StreamCopy => (
                "streams".to_owned(),
                "Copies of an array".to_owned(),
                Metric::Gbs,
            ),
            Operation::AddOne => (
                "add-one".to_owned(),
                "Adding 1 to an array".to_owned(),
                Metric::Gbs,
            ),
            Operation::FmaChains { .. } => (
                "chains".to_owned(),
                "Chains of multiply-adds".to_owned(),
                Metric::Gflops,
            ),
            Operation::MatVec { rows, columns, .. } => (
                format!("matvec-{rows}x{columns}"),
                format!("Many products of a {rows} x {columns} matrix and a vector"),
                Metric::Gbs,
            ),
            Operation::Sum => (
                "sums".to_owned(),
                "Sums of an array".to_owned(),
                Metric::Gbs,
            ),
            Operation::Scan => (
                "scans".to_owned(),
                "Scans of an array".to_owned(),
                Metric::Gbs,
            ),
            Operation::Histogram => (
                "histograms".to_owned(),
                "Histograms of 256 bins".to_owned(),
                Metric::Gbs,
            ),
            Operation::Softmax => (
                "softmax".to_owned(),
                "Softmax of rows".to_owned(),
                Metric::Gbs,
            ),
            Operation::LayerNorm => (
                "layernorm".to_owned(),
                "Layer normalisation of rows".to_owned(),
                Metric::Gbs,
            ),
            Operation::Stencil { dimensions } => (
                format!("stencils-{dimensions}d"),
                format!("Stencils in {dimensions} dimensions"),
                Metric::Gbs,
            ),
            Operation::SpMv => (
                "spmv".to_owned(),
                "Products of a sparse matrix and a vector".to_owned(),
                Metric::Gbs,
            ),
            Operation::Attention { head, causal } => {
                let (suffix, mask) = match causal {
                    true => ("-causal", ", causal mask"),
                    false => ("", ""),
                };
                (
                    format!("attention-{head}-{element}{suffix}"),
                    format!("Attention, heads of {head}, {element}{mask}"),
                    Metric::Gflops,
                )
            }
        };
        Class {
            name,
            title,
            metric,
        }
    }
}

/// What a rung is drawn by.
pub fn metric(rung: &Rung) -> Metric {
    Class::of(rung).metric
}
