//! `ldmatrix`, `stmatrix` and `mma.sync`.

use super::builder::Builder;
use super::memory::take_space;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    Constant, Matrix, MatrixInputs, MatrixMove, MatrixTile, Mma, Op, Register, RowPacking, Scales,
    Space, Sparsity, Sums,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

/// The numbers of a shape such as `m16n8k16`.
pub(super) fn parse_shape(name: &str) -> Option<[u32; 3]> {
    let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

/// Floats of A or B.
pub(super) fn float_inputs(name: &str) -> Option<MatrixInputs> {
    Some(match name {
        "f16" => MatrixInputs::F16,
        "bf16" => MatrixInputs::Bf16,
        "tf32" => MatrixInputs::Tf32,
        "f64" => MatrixInputs::F64,
        "e4m3" => MatrixInputs::E4m3,
        "e5m2" => MatrixInputs::E5m2,
        "e2m3" => MatrixInputs::E2m3,
        "e3m2" => MatrixInputs::E3m2,
        "e2m1" => MatrixInputs::E2m1 { dense: false },
        _ => return None,
    })
}

/// Integers of A or B.
pub(super) fn integer_inputs(name: &str) -> Option<MatrixInputs> {
    let (bits, signed) = match name {
        "s8" => (8, true),
        "u8" => (8, false),
        "s4" => (4, true),
        "u4" => (4, false),
        "b1" => (1, false),
        _ => return None,
    };
    Some(MatrixInputs::Integer { bits, signed })
}

/// The elements of C or D that a type names.
pub(super) fn sums(name: &str) -> Option<Sums> {
    Some(match name {
        "f16" => Sums::F16,
        "f32" => Sums::F32,
        "f64" => Sums::F64,
        "s32" => Sums::S32,
        _ => return None,
    })
}

/// The type of a fragment's registers.
pub(super) fn register_type(sums: Sums) -> Type {
    match sums {
        Sums::F64 => Type::F64,
        _ => Type::B32,
    }
}

/// Whether a layout, `row` or `col`, is by column.
pub(super) fn by_column(name: &str) -> Option<bool> {
    match name {
        "row" => Some(false),
        "col" => Some(true),
        _ => None,
    }
}

/// `.kind` and what belongs to it.
struct Scaling {
    /// The floats may be of 4 and 6 bits.
    narrow: bool,
    /// Blocks along k, and whether scales are `ue4m3`; none where there are no scales.
    blocks: Option<(u32, bool)>,
    /// Whether A and B are two 4-bit floats in a byte.
    dense: bool,
}

impl Scaling {
    fn take(mods: &mut Modifiers<'_>) -> Result<Self, Failure> {
        const KINDS: [&str; 4] = ["f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4"];
        let kind = mods.rest().iter().find_map(|name| {
            let name = name.strip_prefix("kind::")?;
            KINDS.into_iter().find(|kind| *kind == name)
        });
        mods.take_any(|name| name.starts_with("kind::"));
        let scaled = mods.take("block_scale");
        let vectors = [1, 2, 4].into_iter();
        let mut vectors = vectors.filter(|count| mods.take(&format!("scale_vec::{count}X")));
        let vectors = vectors.next();
        let of_scales = match scaled {
            true => mods.take_last(|name| match name {
                "ue8m0" => Some(false),
                "ue4m3" => Some(true),
                _ => None,
            }),
            false => None,
        };
        let (narrow, blocks, dense) = match (kind, vectors, of_scales) {
            (None, None, None) if !scaled => (false, None, false),
            (Some("f8f6f4"), None, None) if !scaled => (true, None, false),
            (Some("mxf8f6f4"), None | Some(1), Some(false)) => (true, Some((1, false)), false),
            (Some("mxf4"), None | Some(2), Some(false)) => (true, Some((2, false)), true),
            (Some("mxf4nvf4"), Some(2), Some(false)) => (true, Some((2, false)), true),
            (Some("mxf4nvf4"), Some(4), Some(fraction)) => (true, Some((4, fraction)), true),
            _ => return Err(Failure::Unknown),
        };
        Ok(Scaling {
            narrow,
            blocks,
            dense,
        })
    }

    /// Whether there is an MMA of this shape, these elements of A and B, and those of D and C.
    fn has(&self, shape: [u32; 3], inputs: [MatrixInputs; 2], [d, c]: [Sums; 2]) -> bool {
        use MatrixInputs::{Bf16, E2m1, E2m3, E3m2, E4m3, E5m2, F16, F64, Tf32};
        let is_float = matches!(d, Sums::F16 | Sums::F32);
        let same = inputs[0] == inputs[1];
        let eight = inputs.iter().all(|inputs| matches!(inputs, E4m3 | E5m2));
        let small =
            |inputs: &MatrixInputs| matches!(inputs, E4m3 | E5m2 | E2m3 | E3m2 | E2m1 { .. });
        let of_four = inputs == [E2m1 { dense: false }; 2];
        if self.dense {
            return of_four && shape == [16, 8, 64] && [d, c] == [Sums::F32; 2];
        }
        if self.narrow {
            let sums = match self.blocks {
                Some(_) => [d, c] == [Sums::F32; 2],
                None => d == c && is_float,
            };
            return inputs.iter().all(small) && shape == [16, 8, 32] && sums;
        }
        match (inputs[0], shape) {
            (F16, [8, 8, 4]) => same && is_float && (d == c || [d, c] == [Sums::F32, Sums::F16]),
            (F16, [16, 8, 8 | 16]) => same && d == c && is_float,
            (Bf16, [16, 8, 8 | 16]) | (Tf32, [16, 8, 4 | 8]) => same && [d, c] == [Sums::F32; 2],
            (F64, [8, 8, 4] | [16, 8, 4 | 8 | 16]) => same && [d, c] == [Sums::F64; 2],
            (_, [16, 8, 16 | 32]) => eight && d == c && is_float,
            _ => false,
        }
    }
}

impl Builder<'_, '_> {
    /// `ldmatrix.sync.aligned.shape.xN[.trans].shared.type {…}, [p]` and its inverse `stmatrix`.
    pub(super) fn move_matrices(
        &mut self,
        stores: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let (registers, address) = match operands {
            [address, registers] if stores => (registers, address),
            [registers, address] => (registers, address),
            _ => return Err("expected registers and an address".into()),
        };
        let count = [("x1", 1), ("x2", 2), ("x4", 4)]
            .into_iter()
            .find_map(|(name, count)| mods.take(name).then_some(count))
            .ok_or(Failure::Unknown)?;
        let space = take_space(&mut mods);
        let known = mods.take("sync")
            && mods.take("aligned")
            && matches!(space, Space::Shared | Space::Generic);
        let tile = take_tile(&mut mods, stores).ok_or(Failure::Unknown)?;
        if !known || tile.rows() * count > 32 {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let count = tile.registers() * count;
        let parts = &*self.parts(registers);
        if parts.len() != count {
            return Err(format!("expected {count} registers, found {}", parts.len()).into());
        }
        let mut registers = Vec::new();
        for part in parts {
            registers.push(match stores {
                true => self.reg32(part, Type::B32)?,
                false => self.reg32_destination(part)?,
            });
        }
        let address = self.address(address, space)?;
        self.emit_matrix(Matrix::Move(MatrixMove {
            address,
            stores,
            tile,
            registers,
        }))
    }

    /// `movmatrix.sync.aligned.m8n8.trans.b16 d, a`
    pub(super) fn transpose_matrix(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, from] = operands else {
            return Err("expected two operands".into());
        };
        let known = mods.ty()? == Type::B16
            && ["sync", "aligned", "m8n8", "trans"]
                .iter()
                .all(|name| mods.take(name));
        if !known {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let from = self.reg32(from, Type::B32)?;
        let to = self.reg32_destination(to)?;
        self.emit_matrix(Matrix::Transpose(to, from))
    }

    /// `mma[.sp].sync.aligned.shape.row.col[.kind…].d.a.b.c[.scales] d, a, b, c[, metadata,
    /// selector][, scales]`
    pub(super) fn mma(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let sparse = take_sparse(&mut mods);
        let [d, a, b, c, rest @ ..] = operands else {
            return Err("expected four operands".into());
        };
        let (sparsity, scales) = match (sparse, rest) {
            (None, scales) => (None, scales),
            (Some(is_ordered), [metadata, selector, scales @ ..]) => {
                let sparsity = self.sparsity(is_ordered, metadata, selector)?;
                (Some(sparsity), scales)
            }
            _ => return Err("expected metadata and a selector".into()),
        };
        if mods.rest().contains(&"s32") {
            return match scales {
                [] => self.mma_integer(mods, [d, a, b, c], sparsity),
                _ => Err("expected four operands".into()),
            };
        }
        let known = mods.take("sync") && mods.take("aligned");
        let shape = mods.take_first(parse_shape).ok_or(Failure::Unknown)?;
        let layout_a = mods.take_first(by_column).ok_or(Failure::Unknown)?;
        let layout_b = mods.take_first(by_column).ok_or(Failure::Unknown)?;
        let scaling = Scaling::take(&mut mods)?;
        let [of_d, of_a, of_b, of_c] = *mods.rest() else {
            return Err(Failure::Unknown);
        };
        let inputs = float_inputs(of_a).zip(float_inputs(of_b));
        let inputs = inputs.map(|(a, b)| [a, b]).ok_or(Failure::Unknown)?;
        let both = sums(of_d).zip(sums(of_c));
        let [of_d, of_c] = both.map(|(d, c)| [d, c]).ok_or(Failure::Unknown)?;
        let of_eight = shape == [8, 8, 4] && inputs[0] == MatrixInputs::F16;
        let is_eight_bit = matches!(inputs[0], MatrixInputs::E4m3 | MatrixInputs::E5m2);
        let dense = dense(shape, sparsity.is_some());
        check_selector(&sparsity, inputs[0], shape)?;
        let is_narrow = inputs[0].packed() == 4;
        let known = known
            && scaling.has(dense, inputs, [of_d, of_c])
            // Sparse MMAs are neither of f64 nor of eight lanes, and of bytes with most columns.
            && sparsity.as_ref().is_none_or(|sparsity| {
                dense[0] == 16
                    && inputs[0] != MatrixInputs::F64
                    && (!is_narrow || dense[2] >= 32)
                    // `.kind` has ordered metadata alone.
                    && (sparsity.is_ordered || !scaling.narrow)
            });
        if !known || !of_eight && [layout_a, layout_b] != [false, true] {
            return Err(Failure::Unknown);
        }
        let inputs = match scaling.dense {
            true => [MatrixInputs::E2m1 { dense: true }; 2],
            false => inputs,
        };
        let [rows, _, depth] = shape;
        let input_type = match inputs[0] {
            MatrixInputs::F64 => Type::F64,
            _ => Type::B32,
        };
        // Eight lanes have all of their matrices.
        let lanes = if of_eight { 8 } else { 32 };
        let in_a = rows * dense[2] / lanes / inputs[0].packed();
        let in_b = 8 * depth / lanes / inputs[1].packed();
        let in_sums = |sums: Sums| rows * 8 / lanes / sums.packed();
        let product = Mma {
            inputs: inputs[0],
            inputs_b: inputs[1],
            sums: [of_c, of_d],
            bits: None,
            saturates: false,
            rows,
            depth,
            by_column: of_eight.then_some([layout_a, layout_b]),
            // `.kind` needs a GPU that has such products.
            converts: is_eight_bit && !scaling.narrow,
            scales: self.scales(&scaling, scales)?,
            sparsity,
            a: self.fragment(a, in_a, input_type)?,
            b: self.fragment(b, in_b, input_type)?,
            c: self.fragment(c, in_sums(of_c), register_type(of_c))?,
            d: self.fragment_destination(d, in_sums(of_d), register_type(of_d))?,
        };
        self.emit_matrix(Matrix::Mma(product))
    }

    /// `metadata, selector` of a sparse A.
    pub(super) fn sparsity(
        &mut self,
        is_ordered: bool,
        metadata: &Operand,
        selector: &Operand,
    ) -> Result<Sparsity, Failure> {
        let Operand::Integer(selector) = *selector else {
            return Err("expected a constant that selects the lanes with metadata".into());
        };
        Ok(Sparsity {
            metadata: self.source(metadata, Type::B32)?,
            selector: u32::try_from(selector).unwrap_or(u32::MAX),
            is_ordered,
        })
    }

    /// `scale-a, {byte, thread}, scale-b, {byte, thread}`
    fn scales(
        &mut self,
        scaling: &Scaling,
        operands: &[Operand],
    ) -> Result<Option<Box<Scales>>, Failure> {
        let (blocks, with_fraction) = match (scaling.blocks, operands) {
            (None, []) => return Ok(None),
            (Some(blocks), [_, _, _, _]) => blocks,
            _ => return Err("wrong number of operands".into()),
        };
        let mut selectors = Vec::new();
        for selector in [&operands[1], &operands[3]] {
            let parts = &*self.parts(selector);
            let [byte, lane] = parts else {
                return Err("expected a selector of bytes and one of threads".into());
            };
            let byte = self.source(byte, Type::U16)?;
            selectors.push([byte, self.source(lane, Type::U16)?]);
        }
        Ok(Some(Box::new(Scales {
            words: [
                self.source(&operands[0], Type::B32)?,
                self.source(&operands[2], Type::B32)?,
            ],
            selectors: [selectors[0], selectors[1]],
            blocks,
            with_fraction,
        })))
    }

    /// `mma[.sp].sync.aligned.shape.row.col[.satfinite].s32.a.b.s32[.xor.popc] d, a, b, c[, …]`
    fn mma_integer(
        &mut self,
        mut mods: Modifiers<'_>,
        [d, a, b, c]: [&Operand; 4],
        sparsity: Option<Sparsity>,
    ) -> Outcome {
        let combine = match (mods.take("and"), mods.take("xor")) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        };
        let counts = mods.take("popc");
        let flags = ["sync", "aligned", "row", "col"];
        let known = flags.iter().all(|name| mods.take(name));
        let saturates = mods.take("satfinite");
        let shape = mods.take_first(parse_shape).ok_or(Failure::Unknown)?;
        let ["s32", of_a, of_b, "s32"] = *mods.rest() else {
            return Err(Failure::Unknown);
        };
        let inputs = integer_inputs(of_a).ok_or(Failure::Unknown)?;
        let inputs_b = integer_inputs(of_b).ok_or(Failure::Unknown)?;
        let dense = dense(shape, sparsity.is_some());
        check_selector(&sparsity, inputs, shape)?;
        let has_shape = match (inputs.packed(), dense) {
            (32, _) | (_, [8, ..]) if sparsity.is_some() => false,
            (4, [8, 8, 16] | [16, 8, 16 | 32]) => true,
            (8, [8, 8, 32] | [16, 8, 32 | 64]) => true,
            (32, [8, 8, 128] | [16, 8, 128 | 256]) => !saturates,
            _ => false,
        };
        let of_bits = inputs.packed() == 32;
        let combines = combine.is_some() == of_bits && counts == of_bits;
        if !known || !has_shape || !combines || inputs.packed() != inputs_b.packed() {
            return Err(Failure::Unknown);
        }
        let [rows, _, depth] = shape;
        let in_c = rows * 8 / 32;
        let product = Mma {
            inputs,
            inputs_b,
            sums: [Sums::S32; 2],
            bits: combine,
            saturates,
            rows,
            depth,
            by_column: None,
            converts: false,
            scales: None,
            sparsity,
            a: self.fragment(a, rows * dense[2] / 32 / inputs.packed(), Type::B32)?,
            b: self.fragment(b, 8 * depth / 32 / inputs.packed(), Type::B32)?,
            c: self.fragment(c, in_c, Type::S32)?,
            d: self.fragment_destination(d, in_c, Type::S32)?,
        };
        self.emit_matrix(Matrix::Mma(product))
    }

    pub(super) fn fragment(
        &mut self,
        operand: &Operand,
        count: u32,
        ty: Type,
    ) -> Result<Vec<Register>, Failure> {
        let parts = &*self.parts(operand);
        check_count(parts, count)?;
        parts.iter().map(|part| self.source(part, ty)).collect()
    }

    pub(super) fn fragment_destination(
        &mut self,
        operand: &Operand,
        count: u32,
        ty: Type,
    ) -> Result<Vec<Register>, Failure> {
        let parts = &*self.parts(operand);
        check_count(parts, count)?;
        parts
            .iter()
            .map(|part| self.destination(part, ty))
            .collect()
    }

    /// Adds an operation that all lanes of the warp execute at once.
    pub(super) fn emit_matrix(&mut self, matrix: Matrix) -> Outcome {
        let index = self.program.matrices.len() as u32;
        self.program.matrices.push(matrix);
        let members = self.reg32_constant(Constant::Bits(u64::from(u32::MAX)));
        self.begin_sync_op(members);
        self.emit(Op::Matrix(index));
        self.end_sync_op();
        Ok(())
    }
}

/// The matrices of `ldmatrix` or `stmatrix`; none where the PTX ISA has no such ones.
fn take_tile(mods: &mut Modifiers<'_>, stores: bool) -> Option<MatrixTile> {
    let shape = mods.take_first(|name| {
        ["m8n8", "m8n16", "m16n16", "m16n8"]
            .into_iter()
            .find(|shape| *shape == name)
    })?;
    let transposed = mods.take("trans");
    let packing = match (mods.rest(), shape) {
        (["b16"], "m8n8") | (["b8"], "m16n16" | "m16n8") => RowPacking::Bytes,
        (["b8x16", "b6x16_p32"], "m8n16" | "m16n16") => RowPacking::SixBits,
        (["b8x16", "b4x16_p64"], "m8n16" | "m16n16") => RowPacking::FourBits,
        _ => return None,
    };
    mods.drop_known(|_| true);
    match (shape, transposed, stores) {
        ("m8n8", transposed, _) => Some(MatrixTile::Eight { transposed }),
        ("m8n16", false, false) => Some(MatrixTile::Wide(packing)),
        ("m16n16", true, false) => Some(MatrixTile::Square(packing)),
        ("m16n8", true, true) => Some(MatrixTile::Tall),
        _ => None,
    }
}

/// Whether A is sparse, and then whether its metadata are ordered.
pub(super) fn take_sparse(mods: &mut Modifiers<'_>) -> Option<bool> {
    match (mods.take("sp"), mods.take("sp::ordered_metadata")) {
        (true, false) => Some(false),
        (false, true) => Some(true),
        _ => None,
    }
}

/// The shape of the dense product that multiplies as many elements.
fn dense([rows, columns, depth]: [u32; 3], is_sparse: bool) -> [u32; 3] {
    match is_sparse {
        true => [rows, columns, depth / 2],
        false => [rows, columns, depth],
    }
}

/// Refuses a selector of lanes that there are not: a group of four lanes has metadata for as
/// many products as it has parts of 32 bits for two rows.
pub(super) fn check_selector(
    sparsity: &Option<Sparsity>,
    inputs: MatrixInputs,
    [_, _, depth]: [u32; 3],
) -> Outcome {
    let Some(sparsity) = sparsity else {
        return Ok(());
    };
    let in_chunk = match inputs.packed() {
        1 => 2,
        8 => 8,
        _ => 4,
    };
    let lanes = (depth / in_chunk / 4).max(1);
    let count = 4 / lanes.min(4);
    match sparsity.selector < count {
        true => Ok(()),
        false => Err(format!(
            "the selector of metadata is {}; expected a number below {count}",
            sparsity.selector
        )
        .into()),
    }
}

fn check_count(parts: &[Operand], count: u32) -> Outcome {
    if parts.len() as u32 == count {
        return Ok(());
    }
    Err(format!(
        "expected a fragment of {count} registers, found {}",
        parts.len()
    )
    .into())
}
