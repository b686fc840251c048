//! `ldmatrix`, `stmatrix` and `mma.sync`.

use super::builder::Builder;
use super::memory::take_space;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{Constant, Matrix, MatrixInputs, MatrixMove, Mma, Op, Reg32, Register, Space};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

/// The numbers of a shape such as `m16n8k16`.
pub(super) fn parse_shape(name: &str) -> Option<[u32; 3]> {
    let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

/// The elements of A or B that a type names.
pub(super) fn inputs(ty: Type) -> Option<MatrixInputs> {
    Some(match ty {
        Type::F16 => MatrixInputs::F16,
        Type::Bf16 => MatrixInputs::Bf16,
        Type::Tf32 => MatrixInputs::Tf32,
        Type::F64 => MatrixInputs::F64,
        _ => return None,
    })
}

impl Builder<'_, '_> {
    /// `ldmatrix.sync.aligned.m8n8.xN[.trans].shared.b16 {…}, [p]` and its inverse `stmatrix`.
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
        let transposed = mods.take("trans");
        let space = take_space(&mut mods);
        let known = mods.ty()? == Type::B16
            && mods.take("sync")
            && mods.take("aligned")
            && mods.take("m8n8")
            && matches!(space, Space::Shared | Space::Generic);
        if !known {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
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
            transposed,
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

    /// `mma.sync.aligned.shape.row.col.d.a.b.c d, a, b, c`
    pub(super) fn mma(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [d, a, b, c] = operands else {
            return Err("expected four operands".into());
        };
        if mods.rest().contains(&"s32") {
            return self.mma_integer(mods, [d, a, b, c]);
        }
        let of_c = mods.ty()?;
        let (of_b, of_a, of_d) = (mods.ty()?, mods.ty()?, mods.ty()?);
        let inputs = inputs(of_a).ok_or(Failure::Unknown)?;
        let sums = match inputs {
            MatrixInputs::F64 => Type::F64,
            _ => Type::F32,
        };
        let known = of_b == of_a
            && of_c == sums
            && of_d == sums
            && mods.take("sync")
            && mods.take("aligned")
            && mods.take("row")
            && mods.take("col");
        let shape = mods.take_first(parse_shape).ok_or(Failure::Unknown)?;
        let has_shape = matches!(
            (inputs, shape),
            (MatrixInputs::F16 | MatrixInputs::Bf16, [16, 8, 8 | 16])
                | (MatrixInputs::Tf32, [16, 8, 4 | 8])
                | (MatrixInputs::F64, [8, 8, 4] | [16, 8, 4 | 8 | 16])
        );
        if !known || !has_shape {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let [rows, _, depth] = shape;
        let input_type = match inputs {
            MatrixInputs::F64 => Type::F64,
            _ => Type::B32,
        };
        let in_a = rows * depth / 32 / inputs.packed();
        let in_b = 8 * depth / 32 / inputs.packed();
        let in_c = rows * 8 / 32;
        let product = Mma {
            inputs,
            inputs_b: inputs,
            bits: None,
            saturates: false,
            rows,
            depth,
            a: self.fragment(a, in_a, input_type)?,
            b: self.fragment(b, in_b, input_type)?,
            c: self.fragment(c, in_c, sums)?,
            d: self.fragment_destination(d, in_c, sums)?,
        };
        self.emit_matrix(Matrix::Mma(product))
    }

    /// `mma.sync.aligned.shape.row.col[.satfinite].s32.a.b.s32[.xor.popc] d, a, b, c`
    fn mma_integer(&mut self, mut mods: Modifiers<'_>, [d, a, b, c]: [&Operand; 4]) -> Outcome {
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
        let of = |name: &str| {
            let (bits, signed) = match name {
                "s8" => (8, true),
                "u8" => (8, false),
                "s4" => (4, true),
                "u4" => (4, false),
                "b1" => (1, false),
                _ => return None,
            };
            Some(MatrixInputs::Integer { bits, signed })
        };
        let ["s32", of_a, of_b, "s32"] = *mods.rest() else {
            return Err(Failure::Unknown);
        };
        let inputs = of(of_a).ok_or(Failure::Unknown)?;
        let inputs_b = of(of_b).ok_or(Failure::Unknown)?;
        let has_shape = match (inputs.packed(), shape) {
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
            bits: combine,
            saturates,
            rows,
            depth,
            a: self.fragment(a, rows * depth / 32 / inputs.packed(), Type::B32)?,
            b: self.fragment(b, 8 * depth / 32 / inputs.packed(), Type::B32)?,
            c: self.fragment(c, in_c, Type::S32)?,
            d: self.fragment_destination(d, in_c, Type::S32)?,
        };
        self.emit_matrix(Matrix::Mma(product))
    }

    /// A fragment of 32-bit registers.
    pub(super) fn fragment32(
        &mut self,
        operand: &Operand,
        count: u32,
    ) -> Result<Vec<Reg32>, Failure> {
        let all = self.fragment(operand, count, Type::B32)?;
        words(&all)
    }

    pub(super) fn fragment32_destination(
        &mut self,
        operand: &Operand,
        count: u32,
    ) -> Result<Vec<Reg32>, Failure> {
        let all = self.fragment_destination(operand, count, Type::B32)?;
        words(&all)
    }

    fn fragment(
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

fn words(registers: &[Register]) -> Result<Vec<Reg32>, Failure> {
    let word = |register: &Register| match register {
        Register::Reg32(register) => Ok(*register),
        _ => Err(Failure::from("expected 32-bit registers")),
    };
    registers.iter().map(word).collect()
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
