//! `wmma` (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").
//!
//! Which lane holds which element of a fragment is not specified, so that a kernel can but load
//! fragments, multiply and store them. Here element number `e` of a matrix, row by row, is in lane
//! `e / n`, where each lane has `n` elements; further registers of a fragment repeat the first
//! ones.

use super::builder::Builder;
use super::memory::take_space;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{Matrix, MatrixInputs, Space, Wmma, WmmaMove};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

/// Rows and columns of a shape that exists: `m16n16k16` and its likes.
fn shape(name: &str) -> Option<[u32; 3]> {
    let shape = super::matrix::parse_shape(name)?;
    matches!(shape, [16, 16, 16] | [8, 32, 16] | [32, 8, 16]).then_some(shape)
}

/// The elements of A or B: their type, bytes, and how many a register holds.
fn elements(name: &str) -> Option<(MatrixInputs, u32)> {
    Some(match name {
        "f16" => (MatrixInputs::F16, 2),
        "bf16" => (MatrixInputs::Bf16, 2),
        "s8" => (
            MatrixInputs::Integer {
                bits: 8,
                signed: true,
            },
            1,
        ),
        "u8" => (
            MatrixInputs::Integer {
                bits: 8,
                signed: false,
            },
            1,
        ),
        _ => return None,
    })
}

/// Registers of a fragment of A or B with this many elements.
fn registers(inputs: MatrixInputs, elements: u32) -> u32 {
    match inputs {
        MatrixInputs::F16 => 8,
        inputs => elements / 32 / inputs.packed(),
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
        let by_column = mods.take("col");
        let shape_of = mods.rest().iter().find_map(|name| shape(name));
        let [m, n, k] = shape_of.ok_or(Failure::Unknown)?;
        if !known || !by_column && !mods.take("row") {
            return Err(Failure::Unknown);
        }
        let space = take_space(&mut mods);
        if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return Err(Failure::Unknown);
        }
        let ((rows, columns), (bytes, packed, count)) = match matrix {
            'c' => {
                let ty = mods.ty()?;
                if !matches!(ty, Type::F32 | Type::S32) {
                    return Err(Failure::Unknown);
                }
                ((m, n), (4, 1, m * n / 32))
            }
            name => {
                let (inputs, bytes) = mods.take_last(elements).ok_or(Failure::Unknown)?;
                let extents = if name == 'a' { (m, k) } else { (k, n) };
                let count = registers(inputs, extents.0 * extents.1);
                (extents, (bytes, inputs.packed(), count))
            }
        };
        mods.take_first(shape);
        mods.finish()?;
        let parts = &*self.parts(registers_operand);
        if parts.len() as u32 != count {
            return Err(format!("expected {count} registers, found {}", parts.len()).into());
        }
        let mut registers = Vec::new();
        for part in parts {
            registers.push(match stores {
                true => self.reg32(part, Type::B32)?,
                false => self.reg32_destination(part)?,
            });
        }
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
            by_column,
            rows,
            columns,
            bytes,
            packed,
            registers,
        }))
    }

    /// `wmma.mma.sync.aligned.alayout.blayout.shape.dtype[.atype.btype].ctype d, a, b, c`
    fn wmma_product(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [d, a, b, c] = operands else {
            return Err("expected four operands".into());
        };
        let known = mods.take("sync") && mods.take("aligned");
        let saturates = mods.take("satfinite");
        for _ in 0..2 {
            mods.take_first(|name| matches!(name, "row" | "col").then_some(()))
                .ok_or(Failure::Unknown)?;
        }
        let shape = mods.take_first(shape).ok_or(Failure::Unknown)?;
        let inputs = match *mods.rest() {
            ["f32", "f32"] => MatrixInputs::F16,
            [of_d, of_a, of_b, of_c] if of_a == of_b && of_c == of_d => {
                let (inputs, _) = elements(of_a).ok_or(Failure::Unknown)?;
                let sums = match inputs {
                    MatrixInputs::Integer { .. } => "s32",
                    _ => "f32",
                };
                if of_d != sums || inputs == MatrixInputs::F16 {
                    return Err(Failure::Unknown);
                }
                inputs
            }
            // The rounding of sums in f16 is not known.
            _ => return Err(Failure::Unknown),
        };
        let is_integer = matches!(inputs, MatrixInputs::Integer { .. });
        if !known || saturates && !is_integer {
            return Err(Failure::Unknown);
        }
        let [m, n, k] = shape;
        let product = Wmma {
            inputs,
            shape,
            saturates,
            a: self.fragment32(a, registers(inputs, m * k))?,
            b: self.fragment32(b, registers(inputs, k * n))?,
            c: self.fragment32(c, m * n / 32)?,
            d: self.fragment32_destination(d, m * n / 32)?,
        };
        self.emit_matrix(Matrix::Wmma(product))
    }
}
