//! Matrix products of elements of 8 bits, 16 bits or TF32, with an output of f32 or of 16 bits:
//! what tensor cores compute.

use super::product::Product;
use super::{Problem, Shape, random};
use half::{bf16, f16};
use rayon::prelude::*;
use warpladder::check::{self, Tolerance, Verdict};
use warpladder::element::{Element, ElementType, TensorInput};
use warpladder::gemm::E4m3;
use warpladder::launch::Param;

/// The bits of the element nearest to a value, and what it stands for.
fn round(input: TensorInput, value: f32) -> (u32, f32) {
    match input {
        TensorInput::F16 => {
            let element = f16::from_f32(value);
            (element.to_bits().into(), element.to_f32())
        }
        TensorInput::Bf16 => {
            let element = bf16::from_f32(value);
            (element.to_bits().into(), element.to_f32())
        }
        TensorInput::Tf32 => {
            // Half of the last bit that is used, and what is not used cut off: no value drawn is
            // near infinity.
            let bits = (value.to_bits() + 0x1000) & !0x1fff;
            (bits, f32::from_bits(bits))
        }
        TensorInput::I8 => {
            let element = (value * 128.0).round() as i8;
            (u32::from(element as u8), f32::from(element) / 128.0)
        }
        TensorInput::E4m3 => {
            let element = E4m3::from_f32(value);
            (element.0.into(), element.to_f32())
        }
    }
}

/// C = A · B, dense and row-major, of elements that are rounded first. Where `T` is f32 the inputs
/// are words of one, two or four elements, the first in the low bits; where it has 16 bits, C is of
/// it as well, and the inputs are the elements.
pub struct TensorProduct<T> {
    /// The product of the rounded elements.
    values: Product<f32>,
    stored: Vec<Vec<T>>,
}

impl<T: Element> TensorProduct<T> {
    /// Of this shape, with elements drawn by `seed`.
    pub fn new(shape: Shape, input: TensorInput, seed: u64) -> Self {
        let [m, n, k] = [shape.m, shape.n, shape.k].map(|extent| extent as usize);
        let rounded = [(m * k, 1), (k * n, 2)].map(|(len, stream)| {
            let mut values: Vec<f32> = random(len, seed, stream);
            (stored(&mut values, input), values)
        });
        let [(stored_a, a), (stored_b, b)] = rounded;
        let tolerance = Tolerance {
            sum: match input {
                TensorInput::E4m3 => check::float8_tolerance(k),
                _ => check::tensor_tolerance(k),
            },
            rounding: match T::TYPE {
                ElementType::F16 | ElementType::Bf16 => T::UNIT_ROUNDOFF,
                ElementType::F32 | ElementType::F64 => 0.0,
            },
        };
        TensorProduct {
            values: Product::of_inputs(shape, [a, b], tolerance),
            stored: vec![stored_a, stored_b],
        }
    }

    /// The same with A stored as k × m or B as n × k where the flag of each says so.
    pub fn stored(self, transposed: [bool; 2]) -> Self {
        TensorProduct {
            values: self.values.stored(transposed),
            ..self
        }
    }
}

/// Rounds values to elements, and returns the elements in memory of another type.
fn stored<T: Element>(values: &mut [f32], input: TensorInput) -> Vec<T> {
    const BLOCK: usize = 1 << 16;
    let of_element = input.bytes() as usize;
    let bytes = values.len() * of_element;
    let mut stored = vec![T::zeroed(); bytes.div_ceil(size_of::<T>())];
    // What is left of the last one belongs to no element.
    if let Some(last) = stored.last_mut() {
        *last = T::NAN;
    }
    let memory: &mut [u8] = bytemuck::cast_slice_mut(&mut stored);
    let blocks = memory[..bytes].par_chunks_mut(of_element * BLOCK);
    let blocks = blocks.zip(values.par_chunks_mut(BLOCK));
    blocks.for_each(|(memory, values)| {
        let elements = memory.chunks_exact_mut(of_element);
        for (element, value) in elements.zip(values) {
            let (bits, rounded) = round(input, *value);
            element.copy_from_slice(&bits.to_le_bytes()[..of_element]);
            *value = rounded;
        }
    });
    stored
}

/// `T` is the type of C: f32, which is wide enough for a word of inputs, or that of the inputs.
impl<T: Element> Problem<T> for TensorProduct<T> {
    fn shape(&self) -> Shape {
        self.values.shape()
    }

    fn transposed(&self) -> [bool; 2] {
        self.values.transposed()
    }

    fn inputs(&self) -> &[Vec<T>] {
        &self.stored
    }

    fn output_len(&self) -> usize {
        self.values.output_len()
    }

    fn params(&self) -> Vec<Param> {
        self.values.params()
    }

    fn check(&self, output: &[T]) -> Verdict {
        if T::TYPE == ElementType::F32 {
            return self.values.check(bytemuck::cast_slice(output));
        }
        // Exact: an element of 16 bits is an f32 too.
        let wide: Vec<f32> = output
            .par_iter()
            .map(|&element| element.into() as f32)
            .collect();
        self.values.check(&wide)
    }
}
