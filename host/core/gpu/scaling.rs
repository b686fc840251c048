//! Scales of operands of 8-bit floats.

use super::product::{number, place};
use super::{DeviceArray, Error, Layout, MatrixRef};
use crate::engine::Engine;
use crate::gemm::Scales;
use crate::launch::DevicePtr;
use kernels_gpu::gemm::wgmma::float8::{BLOCK_K, BLOCK_N};
use std::sync::Arc;

/// What the elements of A and B are multiplied by. Scales lie on the device, so that kernels may
/// compute them.
#[derive(Clone, Copy, Default)]
pub enum Scaling<'a> {
    /// Nothing.
    #[default]
    None,
    /// All elements of A by one scale, and all of B by another: arrays of one element.
    Tensor {
        /// That of A.
        a: &'a DeviceArray<f32>,
        /// That of B.
        b: &'a DeviceArray<f32>,
    },
    /// Each 1 × 128 elements of A, and each 128 × 128 of B, by a scale of their own. Sums of 128
    /// products are multiplied by both in f32, and added up. C is row-major.
    Block {
        /// m × k / 128, rounded up.
        a: MatrixRef<'a, f32>,
        /// k / 128 × n / 128, both rounded up.
        b: MatrixRef<'a, f32>,
    },
}

/// The scales of a product of these m, n and k, and where they lie. With `is_transposed`, A and B
/// are those of the transposed product.
pub(super) fn scales(
    engine: &Arc<dyn Engine>,
    scaling: Scaling<'_>,
    [m, n, k]: [usize; 3],
    batch: usize,
    is_transposed: bool,
) -> Result<(Scales, [(DevicePtr, u64); 2]), Error> {
    let nowhere = (DevicePtr(0), 0);
    let is_here = |is_here: bool| match is_here {
        true => Ok(()),
        false => Err(Error::WrongDevice { what: "a scale" }),
    };
    match scaling {
        Scaling::None => Ok((Scales::None, [nowhere; 2])),
        Scaling::Tensor { a, b } => {
            for (matrix, array) in [("A", a), ("B", b)] {
                is_here(array.is_on(engine))?;
                if array.len() != 1 {
                    return Err(Error::Scales {
                        matrix,
                        asked: [1, 1],
                        given: [array.len(), 1],
                    });
                }
            }
            let both = [a, b].map(|array| (array.pointer(), 1));
            let [a, b] = both;
            Ok((Scales::Tensor, if is_transposed { [b, a] } else { both }))
        }
        Scaling::Block { .. } if is_transposed => Err(Error::ScalesOfColumns),
        Scaling::Block { a, b } => {
            is_here(a.array.is_on(engine))?;
            is_here(b.array.is_on(engine))?;
            let places = [a, b].map(|scales| place(scales.array, scales.layout));
            Ok((blocks([m, n, k], batch, [a.layout, b.layout])?, places))
        }
    }
}

/// The scales of blocks that lie so.
fn blocks([m, n, k]: [usize; 3], batch: usize, [a, b]: [Layout; 2]) -> Result<Scales, Error> {
    let [of_k, of_n] = [k.div_ceil(BLOCK_K as usize), n.div_ceil(BLOCK_N as usize)];
    for (matrix, scales, asked) in [("A", a, [m, of_k]), ("B", b, [of_k, of_n])] {
        let given = [scales.rows, scales.columns];
        let serves = scales.batch == batch || scales.batch == 1 && scales.batch_stride == 0;
        if given != asked || !serves {
            return Err(Error::Scales {
                matrix,
                asked,
                given,
            });
        }
    }
    let strides = |layout: Layout| -> Result<[u32; 2], Error> {
        Ok([
            number("the distance of scales", layout.row_stride)?,
            number("the distance of scales", layout.column_stride)?,
        ])
    };
    Ok(Scales::Block {
        a: strides(a)?,
        b: strides(b)?,
        batch: [a.batch_stride as u64, b.batch_stride as u64],
    })
}
