//! The launches that copy the operands of a `wgmma` kernel to where TMA takes them.

use super::operand::{Operand, Oriented};
use super::{GemmInput, HOPPER, PORTABLE};
use crate::launch::{Dim3, Param};
use crate::plan::PlannedLaunch;
use kernels_gpu::gemm::wgmma::pack::{self, Pack, PackBoth};
use kernels_gpu::gemm::wgmma::split;
use kernels_gpu::ladder::transpose::transpose_fast;

/// The most bytes that one launch copies of both operands. Its threads have the registers of a
/// transpose, so it has fewer loads in flight than the launch of a copy.
const BOTH_BYTES: u64 = 32 << 20;

/// Most blocks of a grid in y.
const MAX_BLOCKS: u64 = 65_535;

/// The kernels that copy operands.
pub(super) const PACK_KERNELS: [&str; 10] = [
    "split_f32",
    "pack_8",
    "pack_16",
    "pack_32",
    "pack_transposed_8",
    "pack_transposed_16",
    "pack_transposed_32",
    "pack_both_8",
    "pack_both_16",
    "pack_both_32",
];

/// A copy of an operand.
pub(super) struct OperandCopy {
    /// Where it goes, in the workspace.
    pub start: u64,
    /// The matrices.
    pub pack: Pack,
    /// Whether it is transposed.
    pub turn: bool,
    /// Matrices of a batch.
    pub matrices: u32,
}

impl OperandCopy {
    /// Bytes of the copies of all matrices, of elements of `element_bytes`.
    pub fn bytes(&self, element_bytes: u32) -> u64 {
        let elements = self.pack.to_stride.saturating_mul(self.matrices.into());
        elements.saturating_mul(element_bytes.into())
    }
}

impl<T: GemmInput> Oriented<T> {
    /// The launches that copy the operands: one, where both are copied by such kernels.
    pub(super) fn copies(&self, operands: &[Operand; 2]) -> Vec<PlannedLaunch> {
        if let [Some(a), Some(b)] = operands.each_ref().map(|operand| operand.copy.as_ref())
            && let Some(both) = self.copy_both([a, b])
        {
            return vec![both];
        }
        let copies = operands.iter().enumerate();
        let copies = copies.filter_map(|(side, operand)| Some((side, operand.copy.as_ref()?)));
        copies
            .map(|(side, copy)| self.copy(side, copy.start, &copy.pack, (copy.turn, copy.matrices)))
            .collect()
    }

    /// The launch that copies both operands; `None` where another kernel copies one of them, or
    /// they are large.
    fn copy_both(&self, copies: [&OperandCopy; 2]) -> Option<PlannedLaunch> {
        let is_other = |side: usize| {
            let OperandCopy {
                pack,
                turn,
                matrices,
                ..
            } = copies[side];
            *turn && self.is_tf32() && self.is_dense(side, pack, *matrices)
        };
        let bytes = copies.map(|copy| copy.bytes(self.element_bytes()));
        if self.is_split()
            || is_other(0)
            || is_other(1)
            || bytes[0].saturating_add(bytes[1]) > BOTH_BYTES
        {
            return None;
        }
        let blocks = copies.map(|copy| match copy.turn {
            true => pack::transpose_blocks(copy.pack.rows, copy.pack.columns),
            false => pack::copy_blocks(copy.pack.rows, copy.pack.to_pitch, self.element_bytes()),
        });
        let [first, second] = blocks.map(|blocks| u32::try_from(blocks).ok());
        let both = PackBoth {
            packs: copies.map(|copy| copy.pack),
            transposed: copies.map(|copy| copy.turn.into()),
            matrices: copies.map(|copy| copy.matrices),
            blocks: [first?, second?],
        };
        let [a, b] = [0, 1].map(|side| {
            [
                Param::InputPtr(self.inputs[side]),
                Param::WorkspaceAt(copies[side].start),
            ]
        });
        let both_bytes = Param::Bytes(super::parameters::bytes(&both));
        Some(PlannedLaunch {
            entry: match self.element_bytes() {
                1 => "pack_both_8",
                2 => "pack_both_16",
                _ => "pack_both_32",
            },
            compute_capability: HOPPER,
            grid: [
                blocks[0] + blocks[1],
                1,
                copies[0].matrices.max(copies[1].matrices).into(),
            ],
            block: Dim3::new(pack::THREADS as u32, 1, 1),
            cluster: Dim3::ONE,
            shared_bytes: 0,
            params: [&a[..], &b, &[both_bytes]].concat(),
        })
    }

    /// Whether an operand and its copy have no gaps, and the operand begins at a multiple of 16
    /// bytes.
    fn is_dense(&self, side: usize, pack: &Pack, matrices: u32) -> bool {
        matrices == 1
            && self.product.aligned[side]
            && pack.from_pitch == pack.columns
            && pack.to_pitch == pack.rows
    }

    /// The launch that writes the terms of an operand. The range lies at the start of the
    /// workspace.
    fn split(&self, side: usize, start: u64, pack: &Pack, matrices: u32) -> PlannedLaunch {
        PlannedLaunch {
            entry: "split_f32",
            compute_capability: HOPPER,
            grid: [split::blocks(pack.rows, pack.to_pitch), 1, matrices.into()],
            block: Dim3::new(split::THREADS as u32, 1, 1),
            cluster: Dim3::ONE,
            shared_bytes: 0,
            params: vec![
                Param::InputPtr(self.inputs[side]),
                Param::WorkspaceAt(start),
                Param::Workspace,
                Param::U32(side as u32),
                Param::Bytes(super::parameters::bytes(pack)),
            ],
        }
    }

    fn copy(
        &self,
        side: usize,
        start: u64,
        pack: &Pack,
        (turn, matrices): (bool, u32),
    ) -> PlannedLaunch {
        if self.is_split() {
            return self.split(side, start, pack, matrices);
        }
        let index = self.inputs[side];
        if turn && self.is_tf32() && self.is_dense(side, pack, matrices) {
            return transposed_dense(index, start, pack);
        }
        let entry = match (turn, size_of::<T>()) {
            (true, 1) => "pack_transposed_8",
            (true, 2) => "pack_transposed_16",
            (true, _) => "pack_transposed_32",
            (false, 1) => "pack_8",
            (false, 2) => "pack_16",
            (false, _) => "pack_32",
        };
        let tiles = |extent: u32| u64::from(extent).div_ceil(pack::TILE as u64);
        let [x, y] = if turn {
            [tiles(pack.columns), tiles(pack.rows).min(MAX_BLOCKS)]
        } else {
            [
                pack::copy_blocks(pack.rows, pack.to_pitch, self.element_bytes()),
                1,
            ]
        };
        PlannedLaunch {
            entry,
            compute_capability: HOPPER,
            grid: [x, y, matrices.into()],
            block: Dim3::new(pack::THREADS as u32, 1, 1),
            cluster: Dim3::ONE,
            shared_bytes: 0,
            params: vec![
                Param::InputPtr(index),
                Param::WorkspaceAt(start),
                Param::Bytes(super::parameters::bytes(pack)),
            ],
        }
    }
}

/// The transpose of a dense matrix of 4-byte elements: by the fastest rung for that.
fn transposed_dense(index: usize, start: u64, pack: &Pack) -> PlannedLaunch {
    let geometry = transpose_fast::GEOMETRY;
    PlannedLaunch {
        entry: "transpose_fast",
        compute_capability: PORTABLE,
        grid: geometry.grid(pack.rows.into(), pack.columns.into(), 1),
        block: geometry.block().into(),
        cluster: Dim3::ONE,
        shared_bytes: 0,
        params: vec![
            Param::Input(index),
            Param::WorkspaceAt(start),
            Param::U32(pack.columns),
            Param::U32(pack.rows),
        ],
    }
}
