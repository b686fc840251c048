//! What goes wrong.

use super::Layout;
use crate::error::EngineError;
use crate::gemm::PlanError;

/// What went wrong. The message is one line: what, with which values, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sizes of a product do not match.
    #[error(
        "cannot multiply {} x {} by {} x {} into {} x {}: {advice}",
        .a[0], .a[1], .b[0], .b[1], .c[0], .c[1]
    )]
    Product {
        /// Rows and columns of A.
        a: [usize; 2],
        /// Rows and columns of B.
        b: [usize; 2],
        /// Rows and columns of C.
        c: [usize; 2],
        /// What must hold.
        advice: &'static str,
    },
    /// Batches of different lengths.
    #[error(
        "batches of {a}, {b} and {c} matrices: all three must have as many, or one that serves for all"
    )]
    Batch {
        /// Matrices A.
        a: usize,
        /// Matrices B.
        b: usize,
        /// Matrices C.
        c: usize,
    },
    /// A bias of another length than C's side.
    #[error("the bias has {given} elements: C has {elements} in that direction, and needs as many")]
    Bias {
        /// Rows or columns of C.
        elements: usize,
        /// Elements of the bias.
        given: usize,
    },
    /// Scales that do not match their operand.
    #[error(
        "the scales of {matrix} are {} x {}: the product needs {} x {}, of every matrix of the batch \
         or of one that serves for all", .given[0], .given[1], .asked[0], .asked[1]
    )]
    Scales {
        /// "A" or "B".
        matrix: &'static str,
        /// Rows and columns that the product needs.
        asked: [usize; 2],
        /// Rows and columns of the scales.
        given: [usize; 2],
    },
    /// Scales of blocks with a column-major C.
    #[error(
        "C is column-major, and scales of blocks are of rows of A: take a row-major C, or one scale \
         for each matrix"
    )]
    ScalesOfColumns,
    /// A residual that does not lie as C does.
    #[error(
        "the residual is {residual}, and C is {c}: it needs the same size and batch, and the same \
         neighbours"
    )]
    Residual {
        /// The residual, as the kernels would read it.
        residual: Layout,
        /// C, as they write it.
        c: Layout,
    },
    /// A layout that an array cannot have.
    #[error("{layout} cannot be laid over {len} elements: {why}")]
    Layout {
        /// The layout.
        layout: Layout,
        /// Elements of the array.
        len: usize,
        /// What does not fit.
        why: &'static str,
    },
    /// Matrices that are written and may have an element in common.
    #[error(
        "{first} and {second} may have elements in common, and both are written: take matrices \
         behind each other, or side by side with one leading dimension"
    )]
    Overlap {
        /// The one that begins first.
        first: Layout,
        /// The other one.
        second: Layout,
    },
    /// A number that kernels have 32 bits for.
    #[error(
        "{what} is {value}, the kernels count up to {}: split the product",
        u32::MAX
    )]
    TooLarge {
        /// Which number.
        what: &'static str,
        /// It.
        value: usize,
    },
    /// Matrices of which none is the other's transpose in size.
    #[error(
        "the transpose of {a} does not go into {c}: that has as many rows as the other has columns, and the same batch"
    )]
    Transpose {
        /// A.
        a: Layout,
        /// C.
        c: Layout,
    },
    /// A matrix with something between its rows or columns.
    #[error("{matrix}, {layout}, has gaps, which transposes do not take: copy it together")]
    Gaps {
        /// "A" or "C".
        matrix: &'static str,
        /// Its layout.
        layout: Layout,
    },
    /// Elements of a size that no kernel moves.
    #[error("elements of {bytes} bytes cannot be transposed: take ones of 2, 4 or 8 bytes")]
    ElementSize {
        /// Bytes of an element.
        bytes: usize,
    },
    /// A matrix where a vector is expected.
    #[error("{what} is {layout}, no column: take `Layout::vector`, or multiply matrices by `gemm`")]
    NotVector {
        /// "x" or "y".
        what: &'static str,
        /// Its layout.
        layout: Layout,
    },
    /// A matrix, an argument, a kernel or an event of another device.
    #[error("{what} is of another device: make it with the same `Gpu`")]
    WrongDevice {
        /// What it is: "A", "an argument", "the kernel".
        what: &'static str,
    },
    /// An event that is on no stream.
    #[error("the event was not recorded: call `gpu.record(&event)` before")]
    NotRecorded,
    /// Text that has no kernels.
    #[error("the PTX has no kernel: it needs a `.visible .entry`")]
    NoEntry,
    /// A kernel that the PTX does not have.
    #[error("the PTX has no kernel {name} whose parameters can be read: it has {known}")]
    NoKernel {
        /// Its name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Too few or too many arguments.
    #[error(
        "{kernel} takes {takes} arguments, not {given}: give one for each parameter of its `.entry`"
    )]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Parameters.
        takes: usize,
        /// Arguments.
        given: usize,
    },
    /// An argument of another size or kind than its parameter.
    #[error("argument {index} of {kernel} is {given}, its parameter {takes}: give that type")]
    Argument {
        /// The kernel.
        kernel: String,
        /// Its place, from 0.
        index: usize,
        /// Size and kind of the argument.
        given: String,
        /// Size and kind of the parameter.
        takes: String,
    },
    /// More arguments than are kept on the stack.
    #[error("a launch has at most 64 arguments: pass a structure with `ByValue`")]
    TooMany,
    /// An array and what it is compared with, of different lengths.
    #[error("{found} elements cannot be compared with {expected}: give as many")]
    Lengths {
        /// Elements of the array.
        found: usize,
        /// Elements that are expected.
        expected: usize,
    },
    /// A part of an array that reaches beyond it.
    #[error("{len} elements from {start} on are not in an array of {of}: take a part of it")]
    Range {
        /// The first one.
        start: usize,
        /// How many.
        len: usize,
        /// Elements of the array.
        of: usize,
    },
    /// Arguments that break the contract of a kernel of the safe form.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// No kernel computes this.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device, or the emulator, refused something or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What a typed launch refuses. Arguments are counted from 0; the block and tiles in shared memory
/// are none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// Two extents along one dimension.
    #[error(
        "argument {argument} of {kernel} has {extent} elements along {dimension}, argument {other} has {expected}: give both the same"
    )]
    Extent {
        /// The kernel.
        kernel: &'static str,
        /// The argument.
        argument: usize,
        /// The dimension.
        dimension: &'static str,
        /// The argument's extent.
        extent: usize,
        /// The argument that came first along this dimension.
        other: usize,
        /// Its extent.
        expected: usize,
    },
    /// An extent that the kernel has no guards for.
    #[error(
        "argument {argument} of {kernel} has {extent} elements along {dimension}, no multiple of {multiple}: pad it, or launch an instance with guards"
    )]
    Multiple {
        /// The kernel.
        kernel: &'static str,
        /// The argument.
        argument: usize,
        /// The dimension.
        dimension: &'static str,
        /// Its extent.
        extent: usize,
        /// What it must be a multiple of.
        multiple: usize,
    },
    /// An extent that kernels have 32 bits for.
    #[error(
        "argument {argument} of {kernel} has {extent} elements along {dimension}, the kernels count up to {}: split the launch",
        u32::MAX
    )]
    TooLong {
        /// The kernel.
        kernel: &'static str,
        /// The argument.
        argument: usize,
        /// The dimension.
        dimension: &'static str,
        /// Its extent.
        extent: usize,
    },
    /// A matrix whose rows are not one behind the other.
    #[error(
        "argument {argument} of {kernel} is {layout}, not row-major without gaps: copy it together, or use `Layout::row_major`"
    )]
    Order {
        /// The kernel.
        kernel: &'static str,
        /// The argument.
        argument: usize,
        /// Its layout.
        layout: Layout,
    },
    /// Outputs that are not of as many blocks.
    #[error(
        "argument {argument} of {kernel} takes {} x {} blocks, the output before it {} x {}: give outputs of as many tiles",
        .blocks[0], .blocks[1], .first[0], .first[1]
    )]
    Grids {
        /// The kernel.
        kernel: &'static str,
        /// The argument.
        argument: usize,
        /// Its blocks in x and y.
        blocks: [usize; 2],
        /// Those of the first output.
        first: [usize; 2],
    },
    /// PTX of another package.
    #[error(
        "{kernel} is a kernel of {package}, the PTX is of {given}: load it from its package's PTX"
    )]
    Package {
        /// The kernel.
        kernel: &'static str,
        /// Its package.
        package: &'static str,
        /// The package of the PTX.
        given: &'static str,
    },
    /// Outputs without elements, where a launch is to be timed.
    #[error("{kernel} has nothing to write: time it with outputs that have elements")]
    Empty {
        /// The kernel.
        kernel: &'static str,
    },
}
