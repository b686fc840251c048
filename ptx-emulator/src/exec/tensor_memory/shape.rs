//! Instruction descriptors of `tcgen05.mma` (PTX ISA, "Instruction descriptor"), and where D lies
//! in tensor memory ("Data Path Layout Organization").

use crate::ir::{MatrixInputs, Sums, TensorKind, TensorMma};

/// What an instruction descriptor says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub inputs: [MatrixInputs; 2],
    pub sums: Sums,
    /// Rows of D and of A.
    pub rows: u32,
    /// Columns of D and of B.
    pub columns: u32,
    /// Elements along k of B; a sparse A stores half of them.
    pub depth: u32,
    pub negate: bool,
    /// Whether A and B are MN-major.
    pub across: [bool; 2],
    pub saturates: bool,
    pub selector: u32,
    /// Which bytes of the words of scales of A and of B.
    pub scale_ids: [u32; 2],
    /// Whether scales are `ue4m3`, else `ue8m0`.
    pub scales_have_fraction: bool,
}

impl Shape {
    pub(super) fn of(bits: u32, product: &TensorMma, pair: bool) -> Result<Self, String> {
        let field = |first: u32, count: u32| bits >> first & ((1 << count) - 1);
        let kind = product.kind;
        let name = kind.name();
        let wrong = |what: String| {
            Err(format!(
                "an instruction descriptor {bits:#010x} with {what} for .kind::{name}"
            ))
        };
        let is_sparse = product.metadata.is_some();
        if (field(2, 1) != 0) != is_sparse {
            return wrong(format!("the bit of sparsity {}", field(2, 1)));
        }
        let [Some(of_a), Some(of_b)] =
            [field(7, 3), field(10, 3)].map(|number| kind.inputs(number))
        else {
            return wrong(format!(
                "A of type {} and B of type {}",
                field(7, 3),
                field(10, 3)
            ));
        };
        let sums = match (kind, field(4, 2)) {
            (kind, _) if kind.is_scaled() => Sums::F32,
            (TensorKind::F16 | TensorKind::F8f6f4, 0) if of_a != MatrixInputs::Bf16 => Sums::F16,
            (TensorKind::F16 | TensorKind::Tf32 | TensorKind::F8f6f4, 1) => Sums::F32,
            (TensorKind::I8, 2) => Sums::S32,
            (_, number) => return wrong(format!("D of type {number}")),
        };
        if kind == TensorKind::F16 && of_a != of_b {
            return wrong("A and B of different types".to_string());
        }
        let depth = match kind {
            TensorKind::F16 => 16,
            TensorKind::Tf32 => 8,
            TensorKind::F8f6f4 | TensorKind::I8 | TensorKind::Mxf8f6f4 => 32,
            TensorKind::Mxf4 | TensorKind::Mxf4nvf4 => 64,
        };
        if kind.is_scaled() && field(31, 1) != 0 {
            return wrong("k = 96, which is not supported,".to_string());
        }
        let shape = Shape {
            inputs: [of_a, of_b],
            sums,
            rows: field(24, 5) << 4,
            columns: field(17, 6) << 3,
            depth: if is_sparse { 2 * depth } else { depth },
            negate: field(13, 1) != field(14, 1) && kind != TensorKind::I8,
            across: [field(15, 1) != 0, field(16, 1) != 0],
            saturates: kind == TensorKind::I8 && field(3, 1) != 0,
            selector: field(0, 2),
            scale_ids: [field(29, 2), field(4, 2)],
            scales_have_fraction: kind.is_scaled() && field(23, 1) == 0,
        };
        let (rows, columns) = (shape.rows, shape.columns);
        let are_rows = match (pair, product.stationary, kind.is_scaled()) {
            (true, ..) => matches!(rows, 128 | 256),
            (false, true, _) => matches!(rows, 32 | 64 | 128),
            (false, false, true) => rows == 128,
            (false, false, false) => matches!(rows, 64 | 128),
        };
        let are_columns = match (pair, product.stationary) {
            (_, true) => matches!(columns, 64 | 128 | 256),
            (true, false) => columns.is_multiple_of(16),
            (false, false) => true,
        };
        if !are_rows || !are_columns || !(8..=256).contains(&columns) {
            return wrong(format!("m = {rows} and n = {columns}, which there are not"));
        }
        shape.check_layout(kind).or_else(wrong)
    }

    fn check_layout(self, kind: TensorKind) -> Result<Self, String> {
        for (name, across, inputs) in [
            ("A", self.across[0], self.inputs[0]),
            ("B", self.across[1], self.inputs[1]),
        ] {
            let is_narrow = matches!(
                inputs,
                MatrixInputs::E2m1 { .. } | MatrixInputs::E2m3 | MatrixInputs::E3m2
            );
            if across && is_narrow {
                return Err(format!("a transposed {name} of less than 8 bits"));
            }
        }
        let most = match kind {
            TensorKind::Mxf4 => 2,
            _ => 3,
        };
        if kind.is_scaled() && self.scale_ids.iter().any(|&id| id > most) {
            return Err(format!("the scale IDs {:?}", self.scale_ids));
        }
        if kind == TensorKind::Mxf4 && self.scales_have_fraction {
            return Err("scales of type ue4m3".to_string());
        }
        Ok(self)
    }
}

/// Rows of D in the tensor memory of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Band {
    pub lane: u32,
    /// The first row, of those whose A lies in this block.
    pub row: u32,
    pub rows: u32,
    /// The first column of D and of B, and their number: those of a band lie from the address of D
    /// on.
    pub column: u32,
    pub columns: u32,
}

/// The bands of each block that has a part of D. `lane` is that of the address of D.
pub(super) fn bands(
    shape: &Shape,
    (pair, stationary, sparse): (bool, bool, bool),
    lane: u32,
) -> Result<Vec<Band>, String> {
    let rows = match pair {
        true => shape.rows / 2,
        false => shape.rows,
    };
    // Bands of as many rows, side by side; else rows of 16 lanes in each quarter.
    let (side_by_side, in_halves) = match (rows, pair, stationary) {
        (128, ..) => (1, false),
        (64, true, _) => (if sparse { 1 } else { 2 }, sparse),
        (64, false, true) => (2, false),
        (32, ..) => (4, false),
        _ => (1, true),
    };
    let allowed: &[u32] = if in_halves { &[0, 16] } else { &[0] };
    if !allowed.contains(&lane) {
        return Err(format!(
            "D of {} rows begins at lane {lane} of tensor memory: {allowed:?} are valid",
            shape.rows
        ));
    }
    if in_halves {
        let band = |quarter: u32| Band {
            lane: lane + 32 * quarter,
            row: 16 * quarter,
            rows: 16,
            column: 0,
            columns: shape.columns,
        };
        return Ok((0..4u32).map(band).collect());
    }
    let columns = shape.columns / side_by_side;
    let band = |part: u32| Band {
        lane: part * rows,
        row: 0,
        rows,
        column: part * columns,
        columns,
    };
    Ok((0..side_by_side).map(band).collect())
}
