//! `wmma` (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").
//!
//! Which lane holds which element of a fragment is not specified, so that a kernel can but load
//! fragments, multiply and store them. Here element number `e` of a matrix, row by row, is in lane
//! `e / n`, where each lane has `n` elements; further registers of a fragment repeat the first
//! ones.

use super::builder::Builder;
use super::matrix::{by_column, float_inputs, integer_inputs, parse_shape, register_type, sums};
use super::memory::take_space;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{Matrix, MatrixInputs, Rounding, Space, Sums, Wmma, WmmaMove};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

/// The elements of A or B that a type names.
fn elements(name: &str) -> Option<MatrixInputs> {
    float_inputs(name).or_else(|| integer_inputs(name))
}

/// Whether there are matrices A and B of these elements in a shape.
fn has_shape(inputs: MatrixInputs, shape: [u32; 3]) -> bool {
    use MatrixInputs::{Bf16, F16, F64, Integer, Tf32};
    match (inputs, shape) {
        (F16 | Bf16 | Integer { bits: 8, .. }, [16, 16, 16] | [8, 32, 16] | [32, 8, 16]) => true,
        (Tf32, [16, 16, 8]) | (F64, [8, 8, 4]) => true,
        (Integer { bits: 4, .. }, [8, 8, 32]) | (Integer { bits: 1, .. }, [8, 8, 128]) => true,
        _ => false,
    }
}

/// Whether there are matrices C and D of these elements in a shape.
fn has_sums(sums: Sums, shape: [u32; 3]) -> bool {
    match shape {
        [16, 16, 16] | [8, 32, 16] | [32, 8, 16] => sums != Sums::F64,
        [16, 16, 8] => sums == Sums::F32,
        [8, 8, 4] => sums == Sums::F64,
        [8, 8, 32 | 128] => sums == Sums::S32,
        _ => false,
    }
}

/// The type of the registers of A and B.
fn input_type(inputs: MatrixInputs) -> Type {
    match inputs {
        MatrixInputs::F64 => Type::F64,
        _ => Type::B32,
    }
}

/// Registers of a fragment of A or B with this many elements.
fn registers(inputs: MatrixInputs, elements: u32) -> u32 {
    match inputs {
        MatrixInputs::F16 => 8,
        inputs => elements / 32 / inputs.packed(),
    }
}

/// How a fragment is moved: what memory and registers hold.
struct Units {
    /// Elements of a unit, which is an element, or a word of those that are narrower than a byte.
    unit: u32,
    bytes: u32,
    /// Units in a register.
    packed: u32,
    /// Registers, and their type.
    count: u32,
    ty: Type,
}

impl Units {
    fn of_inputs(inputs: MatrixInputs, elements: u32) -> Self {
        let (unit, bytes, packed) = match inputs {
            MatrixInputs::F64 => (1, 8, 1),
            inputs if inputs.packed() > 4 => (inputs.packed(), 4, 1),
            inputs => (1, 4 / inputs.packed(), inputs.packed()),
        };
        Units {
            unit,
            bytes,
            packed,
            count: registers(inputs, elements),
            ty: input_type(inputs),
        }
    }

    fn of_sums(sums: Sums, elements: u32) -> Self {
        let ty = register_type(sums);
        Units {
            unit: 1,
            bytes: ty.bytes() / sums.packed(),
            packed: sums.packed(),
            count: elements / 32 / sums.packed(),
            ty,
        }
    }
}

impl Builder<'_, '_> {
    /// `wmma.load`, `wmma.store` and `wmma.mma`.
    pub(super) fn wmma(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let action = mods.take_first(|name| {
            Some(match name {
                "load" => 0,
                "store" => 1,
                "mma" => 2,
                _ => return None,
            })
        });
        match action.ok_or(Failure::Unknown)? {
            2 => self.wmma_product(mods, operands),
            action => self.wmma_move(action == 1, mods, operands),
        }
    }

    /// `wmma.load.a.sync.aligned.layout.shape[.space].type r, [p][, stride]`, and
    /// `wmma.store.d` with its first two operands exchanged.
    fn wmma_move(
        &mut self,
        stores: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let (registers_operand, address, stride) = match operands {
            [address, registers, rest @ ..] if stores => (registers, address, rest),
            [registers, address, rest @ ..] => (registers, address, rest),
            _ => return Err("expected registers and an address".into()),
        };
        let matrix = mods.take_first(|name| {
            Some(match name {
                "a" => 'a',
                "b" => 'b',
                "c" | "d" => 'c',
                _ => return None,
            })
        });
        let matrix = matrix.ok_or(Failure::Unknown)?;
        let known = mods.take("sync") && mods.take("aligned");
        let columns_first = mods.take_first(by_column).ok_or(Failure::Unknown)?;
        let shape = mods.take_first(parse_shape).ok_or(Failure::Unknown)?;
        let space = take_space(&mut mods);
        if !known || !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return Err(Failure::Unknown);
        }
        let [m, n, k] = shape;
        let (rows, columns) = match matrix {
            'c' => (m, n),
            'a' => (m, k),
            _ => (k, n),
        };
        let units = match matrix {
            'c' => {
                let sums = mods.take_last(sums).ok_or(Failure::Unknown)?;
                let units = Units::of_sums(sums, rows * columns);
                has_sums(sums, shape).then_some(units)
            }
            _ => {
                let inputs = mods.take_last(elements).ok_or(Failure::Unknown)?;
                let units = Units::of_inputs(inputs, rows * columns);
                // Words of narrow elements lie along k.
                let lies = units.unit == 1 || columns_first == (matrix == 'b');
                (lies && has_shape(inputs, shape)).then_some(units)
            }
        };
        let units = units.ok_or(Failure::Unknown)?;
        mods.finish()?;
        let (rows, columns) = match matrix {
            'a' => (rows, columns / units.unit),
            'b' => (rows / units.unit, columns),
            _ => (rows, columns),
        };
        let registers = match stores {
            true => self.fragment(registers_operand, units.count, units.ty)?,
            false => self.fragment_destination(registers_operand, units.count, units.ty)?,
        };
        let stride = match stride {
            [] => None,
            [stride] => Some(self.reg32(stride, Type::U32)?),
            _ => return Err("wrong number of operands".into()),
        };
        let address = self.address(address, space)?;
        self.emit_matrix(Matrix::WmmaMove(WmmaMove {
            address,
            stores,
            stride,
            by_column: columns_first,
            rows,
            columns,
            bytes: units.bytes,
            unit: units.unit,
            packed: units.packed,
            registers,
        }))
    }

    /// `wmma.mma[.op.popc].sync.aligned.alayout.blayout.shape[.rnd].dtype[.atype.btype].ctype
    /// [.satfinite] d, a, b, c`
    fn wmma_product(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [d, a, b, c] = operands else {
            return Err("expected four operands".into());
        };
        let combine = mods.take_first(|name| match name {
            "and" => Some(true),
            "xor" => Some(false),
            _ => None,
        });
        let counts = mods.take("popc");
        let known = mods.take("sync") && mods.take("aligned") && counts == combine.is_some();
        let saturates = mods.take("satfinite");
        let mut layout = || mods.take_first(by_column).ok_or(Failure::Unknown);
        let layouts = [layout()?, layout()?];
        let shape = mods.take_first(parse_shape).ok_or(Failure::Unknown)?;
        let rounding = mods.explicit_rounding();
        let (of_d, inputs, of_c) = match *mods.rest() {
            [of_d, of_c] => (of_d, Some(MatrixInputs::F16), of_c),
            [of_d, of_a, of_b, of_c] if of_a == of_b && of_a != "f16" => {
                (of_d, elements(of_a), of_c)
            }
            _ => return Err(Failure::Unknown),
        };
        let inputs = inputs.ok_or(Failure::Unknown)?;
        let (of_d, of_c) = sums(of_d).zip(sums(of_c)).ok_or(Failure::Unknown)?;
        use MatrixInputs::{Bf16, F16, F64, Integer, Tf32};
        let narrow = inputs.packed() > 4;
        let exists = match inputs {
            F16 => [of_d, of_c].iter().all(|sums| matches!(sums, Sums::F16 | Sums::F32)),
            Bf16 | Tf32 => [of_d, of_c] == [Sums::F32; 2] && !saturates,
            F64 => [of_d, of_c] == [Sums::F64; 2] && !saturates,
            Integer { bits, .. } => {
                let single = bits == 1;
                [of_d, of_c] == [Sums::S32; 2]
                    && combine.is_some() == single
                    && !(single && saturates)
                    && (!narrow || layouts == [false, true])
            }
            _ => false,
        };
        let is_whole = matches!(inputs, Integer { .. });
        let rounds = rounding.is_some() && inputs != F64;
        if !known || !exists || rounds || combine.is_some() && !is_whole {
            return Err(Failure::Unknown);
        }
        if !has_shape(inputs, shape) || rounding == Some(Rounding::NearestAway) {
            return Err(Failure::Unknown);
        }
        let [m, n, k] = shape;
        let in_sums = |sums: Sums| m * n / 32 / sums.packed();
        let product = Wmma {
            inputs,
            sums: [of_c, of_d],
            bits: combine,
            shape,
            saturates,
            rounding: rounding.unwrap_or(Rounding::NearestEven),
            a: self.fragment(a, registers(inputs, m * k), input_type(inputs))?,
            b: self.fragment(b, registers(inputs, k * n), input_type(inputs))?,
            c: self.fragment(c, in_sums(of_c), register_type(of_c))?,
            d: self.fragment_destination(d, in_sums(of_d), register_type(of_d))?,
        };
        self.emit_matrix(Matrix::Wmma(product))
    }
}
