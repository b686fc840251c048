//! The launches of a GEMM on warpgroups: operands are copied where bulk copies cannot
//! fetch them, then multiplied.

use super::{Description, GemmInput};
use crate::device::ComputeCapability;
use crate::element::TensorInput;
use crate::launch::Dim3;
use crate::launch::{Param, Region, TensorMap};
use crate::plan::{Plan, PlannedLaunch};
use kernels_gpu::gemm::GemmParams;
use kernels_gpu::gemm::epilogue::tma_store::{box_columns, box_rows};
use kernels_gpu::gemm::planner::GemmProblem;
use kernels_gpu::gemm::planner::wgmma::{self as planner, WgmmaPlan};
use kernels_gpu::gemm::reduction::stream_k;
use kernels_gpu::gemm::scheduler::persistent::TileSchedulerParams;
use kernels_gpu::gemm::tile_config::TileConfig;
use kernels_gpu::gemm::wgmma::kernels::{
    MAX_ROWS, OF_BF16, OF_BF16_TO_BF16, OF_F16, OF_F16_TO_F16, OF_TF32,
};
use kernels_gpu::gemm::wgmma::pack::{self, Pack};
use kernels_gpu::gemm::wgmma::{multicast, stage};
use kernels_gpu::ladder::transpose::transpose_fast;

/// The generation that has `wgmma`.
pub const COMPUTE_CAPABILITY: ComputeCapability = ComputeCapability::V9_0;

/// That of the module with the transposes.
const TRANSPOSE_CAPABILITY: ComputeCapability = ComputeCapability::V7_0;

/// The most dynamic shared memory of a block of that generation, in bytes (CUDA programming guide,
/// "Compute Capabilities").
const SHARED_BYTES: u32 = 227 << 10;

/// What rows, and the matrices of a batch, begin at multiples of, in bytes.
const ROW_BYTES: u32 = 16;

/// What operands in the workspace begin at multiples of, in bytes.
const OPERAND_ALIGN: u64 = 256;

/// Most blocks of a grid in y.
const MAX_BLOCKS: u64 = 65_535;

/// C ← α · op(A) · op(B) + β · C, with A and B of elements that tensor cores take and accumulators
/// of f32: A is input 0, B input 1, C the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorGemm {
    /// Elements of A and B.
    pub input: TensorInput,
    /// Sizes, layouts and factors. How k is split is not looked at.
    pub gemm: GemmParams<f32>,
    /// Matrices in the batch.
    pub batch: u32,
    /// Whether A, B and C begin at multiples of 16 bytes.
    pub aligned: [bool; 3],
    /// Whether C is of 16-bit elements as A and B are, and not of f32.
    pub c_16bit: bool,
}

/// An operand as the product fetches it.
struct Operand {
    region: Region,
    /// Rows and columns as it lies.
    rows: u32,
    columns: u32,
    pitch: u32,
    matrices: u32,
    stride: u64,
    /// Whether it is K-major.
    k_major: bool,
    /// The copy that brings it there.
    copy: Option<PlannedLaunch>,
}

impl TensorGemm {
    /// A product of elements that a tensor core takes for `input`.
    pub fn of<T: GemmInput<Output = f32>>(input: TensorInput, product: &Description<T>) -> Self {
        let [lda, ldb, ldc] = product.leading;
        let [stride_a, stride_b, stride_c] = product.strides;
        TensorGemm {
            input,
            gemm: GemmParams {
                lda,
                ldb,
                ldc,
                stride_a,
                stride_b,
                stride_c,
                alpha: product.alpha,
                beta: product.beta,
                ..GemmParams::dense(product.extents, product.transposed)
            },
            batch: product.batch,
            aligned: product.aligned,
            c_16bit: product.c_16bit,
        }
    }

    /// Bytes of an element of C.
    fn output_bytes(&self) -> u32 {
        if self.c_16bit {
            self.input.bytes()
        } else {
            size_of::<f32>() as u32
        }
    }

    /// The launches on a device with this number of multiprocessors.
    pub fn plan(&self, multiprocessors: u32) -> Plan {
        let product = self.with_vectors_k_major();
        // The tensor cores take K-major TF32 only. A that does not lie so can go through registers,
        // and in Cᵀ = Bᵀ · Aᵀ it is B that does.
        if self.input == TensorInput::Tf32 && product.gemm.transpose_b == 0 {
            Oriented::transposed(&product).plan(multiprocessors)
        } else {
            Oriented::direct(&product).plan(multiprocessors)
        }
    }

    /// Elements of A and B whose multiples rows begin at.
    fn vector(&self) -> u32 {
        ROW_BYTES / self.input.bytes()
    }

    /// The same product, of which one row of A and one column of B are K-major also where they are
    /// stored as a column and a row whose elements are side by side, and at a pitch as bulk
    /// copies want it: no second one lies behind it.
    fn with_vectors_k_major(&self) -> Self {
        let mut gemm = self.gemm;
        let Some(pitch) = gemm.k.checked_next_multiple_of(self.vector()) else {
            return *self;
        };
        if gemm.m == 1 && (gemm.transpose_a == 0 || gemm.lda == 1) {
            (gemm.transpose_a, gemm.lda) = (0, pitch);
        }
        if gemm.n == 1 && (gemm.transpose_b != 0 || gemm.ldb == 1) {
            (gemm.transpose_b, gemm.ldb) = (1, pitch);
        }
        TensorGemm { gemm, ..*self }
    }
}

/// A product as a kernel computes it: of C or of its transpose.
struct Oriented {
    /// What the kernel knows of the product: where it is transposed, m counts the columns of C, and
    /// A is the transpose of input 1.
    product: TensorGemm,
    /// Which inputs A and B are.
    inputs: [usize; 2],
    /// Whether C lies column by column, and A is stored MN-major.
    is_transposed: bool,
}

impl Oriented {
    fn direct(product: &TensorGemm) -> Self {
        Oriented {
            product: *product,
            inputs: [0, 1],
            is_transposed: false,
        }
    }

    fn transposed(product: &TensorGemm) -> Self {
        let gemm = &product.gemm;
        let [a, b, c] = product.aligned;
        Oriented {
            product: TensorGemm {
                gemm: GemmParams {
                    m: gemm.n,
                    n: gemm.m,
                    lda: gemm.ldb,
                    ldb: gemm.lda,
                    transpose_a: 1 - gemm.transpose_b,
                    transpose_b: 1 - gemm.transpose_a,
                    stride_a: gemm.stride_b,
                    stride_b: gemm.stride_a,
                    ..*gemm
                },
                aligned: [b, a, c],
                ..*product
            },
            inputs: [1, 0],
            is_transposed: true,
        }
    }

    fn plan(&self, multiprocessors: u32) -> Plan {
        let GemmParams { m, n, k, .. } = self.product.gemm;
        let mut plan = Plan {
            launches: Vec::new(),
            workspace_bytes: 0,
            zeroed_bytes: 0,
        };
        if m == 0 || n == 0 || self.product.batch == 0 {
            return plan;
        }
        let transposed = [!self.is_k_major(0), self.is_k_major(1)];
        let request = GemmProblem {
            extents: [m, n, k],
            transposed,
            vectors: [true; 2],
            batch: self.product.batch,
            multiprocessors,
            shared_bytes: SHARED_BYTES,
        };
        let choice = planner::plan(self.configs(), &request, self.bulk());
        plan.zeroed_bytes = choice.zeroed_bytes;
        plan.workspace_bytes = choice.workspace_bytes;
        let operands = [0, 1].map(|side| {
            let operand = self.operand(side, plan.workspace_bytes);
            if let Some(copy) = &operand.copy {
                plan.launches.push(copy.clone());
                let Region::Workspace(start) = operand.region else {
                    unreachable!("copies are made into the workspace");
                };
                plan.workspace_bytes = start + operand.bytes(self.product.input.bytes());
            }
            operand
        });
        plan.launches.push(self.launch(&choice, &operands));
        plan.launches.extend(self.reduction(&choice));
        plan
    }

    fn configs(&self) -> &'static [&'static [TileConfig]] {
        match (self.product.input, self.product.c_16bit) {
            (TensorInput::Bf16, false) => OF_BF16,
            (TensorInput::Bf16, true) => OF_BF16_TO_BF16,
            (TensorInput::F16, false) => OF_F16,
            (TensorInput::F16, true) => OF_F16_TO_F16,
            (TensorInput::Tf32, _) => OF_TF32,
        }
    }

    /// Whether C can be stored by bulk copies.
    fn bulk(&self) -> bool {
        let bytes = self.product.output_bytes();
        let vector = ROW_BYTES / bytes;
        let single = self.product.batch == 1;
        let columns = match self.is_transposed {
            true => self.product.gemm.m,
            false => self.product.gemm.n,
        };
        // They write whole words: at the end of a row of an odd number of 16-bit elements, one that
        // lies behind it as well.
        (u64::from(columns) * u64::from(bytes)).is_multiple_of(4)
            && self.product.aligned[2]
            && self.product.gemm.ldc.is_multiple_of(vector)
            && (single || self.product.gemm.stride_c.is_multiple_of(vector.into()))
    }

    /// Rows of A or columns of B, `side` 0 or 1, the distance of two rows as it is stored, and that
    /// of two matrices.
    fn stored(&self, side: usize) -> (u32, u32, u64) {
        let gemm = &self.product.gemm;
        match side {
            0 => (gemm.m, gemm.lda, gemm.stride_a),
            _ => (gemm.n, gemm.ldb, gemm.stride_b),
        }
    }

    /// Whether it is stored K-major.
    fn is_stored_k_major(&self, side: usize) -> bool {
        match side {
            0 => self.product.gemm.transpose_a == 0,
            _ => self.product.gemm.transpose_b != 0,
        }
    }

    /// Whether the kernel finds it K-major: as it is stored, or as it is copied.
    fn is_k_major(&self, side: usize) -> bool {
        self.is_stored_k_major(side) || self.is_copied_k_major(side)
    }

    /// Whether it lies as bulk copies can fetch it: with rows, and matrices, that begin at
    /// multiples of 16 bytes.
    fn lies(&self, side: usize) -> bool {
        let (_, pitch, stride) = self.stored(side);
        let vector = self.product.vector();
        let single = self.product.batch == 1;
        self.product.aligned[side]
            && pitch.is_multiple_of(vector)
            && (single || stride.is_multiple_of(vector.into()))
    }

    /// Whether it is stored MN-major and copied to be K-major: because the tensor cores want that;
    /// because much of a box would be outside of it, and takes as long to come as
    /// what is inside; or because it must be copied anyway, and its rows are shorter than
    /// half of what the other copy takes at a time.
    fn is_copied_k_major(&self, side: usize) -> bool {
        if self.is_stored_k_major(side) {
            return false;
        }
        if self.product.input == TensorInput::Tf32 {
            let from_registers = self.is_transposed && side == 0;
            return !from_registers;
        }
        let of_box = stage::block_k(self.product.input.bytes() as usize) as u32;
        let (extent, ..) = self.stored(side);
        let is_little_of_boxes = match side {
            0 => extent < MAX_ROWS && !extent.is_multiple_of(of_box),
            _ => extent < of_box,
        };
        is_little_of_boxes || (!self.lies(side) && extent < pack::THREADS as u32 / 2)
    }

    /// A or B, `side` 0 or 1, copied to behind `workspace_bytes` of the workspace if it does not
    /// lie as it must.
    fn operand(&self, side: usize, workspace_bytes: u64) -> Operand {
        let k = self.product.gemm.k;
        let (extent, pitch, stride) = self.stored(side);
        let [rows, columns] = match self.is_stored_k_major(side) {
            true => [extent, k],
            false => [k, extent],
        };
        let matrices = if stride == 0 { 1 } else { self.product.batch };
        let k_major = self.is_k_major(side);
        let turn = self.is_copied_k_major(side);
        if self.lies(side) && !turn {
            return Operand {
                region: Region::Input(self.inputs[side]),
                rows,
                columns,
                pitch,
                matrices,
                stride,
                k_major,
                copy: None,
            };
        }
        let start = workspace_bytes.next_multiple_of(OPERAND_ALIGN);
        let [to_rows, to_columns] = if turn {
            [columns, rows]
        } else {
            [rows, columns]
        };
        let to_pitch = to_columns.next_multiple_of(self.product.vector());
        let to_stride = u64::from(to_rows) * u64::from(to_pitch);
        let description = Pack {
            rows,
            columns,
            from_pitch: pitch,
            to_pitch,
            from_stride: stride,
            to_stride,
        };
        Operand {
            region: Region::Workspace(start),
            rows: to_rows,
            columns: to_columns,
            pitch: to_pitch,
            matrices,
            stride: to_stride,
            k_major,
            copy: (k > 0).then(|| self.copy(side, start, &description, (turn, matrices))),
        }
    }

    fn copy(
        &self,
        side: usize,
        start: u64,
        pack: &Pack,
        (turn, matrices): (bool, u32),
    ) -> PlannedLaunch {
        let dense = matrices == 1
            && self.product.aligned[side]
            && pack.from_pitch == pack.columns
            && pack.to_pitch == pack.rows;
        let index = self.inputs[side];
        if turn && dense && self.product.input == TensorInput::Tf32 {
            return transposed_dense(index, start, pack);
        }
        let (entry, [height, width]) = match (turn, self.product.input.bytes()) {
            (true, 2) => ("pack_transposed_16", [pack::TILE; 2]),
            (true, _) => ("pack_transposed_32", [pack::TILE; 2]),
            (false, 2) => ("pack_16", [pack::COPIED_ROWS, pack::THREADS]),
            (false, _) => ("pack_32", [pack::COPIED_ROWS, pack::THREADS]),
        };
        PlannedLaunch {
            entry,
            compute_capability: COMPUTE_CAPABILITY,
            grid: [
                u64::from(pack.columns).div_ceil(width as u64),
                u64::from(pack.rows).div_ceil(height as u64).min(MAX_BLOCKS),
                matrices.into(),
            ],
            block: Dim3::new(pack::THREADS as u32, 1, 1),
            cluster: Dim3::ONE,
            shared_bytes: 0,
            params: vec![
                Param::InputPtr(index),
                Param::WorkspaceAt(start),
                Param::Bytes(bytes_of_pack(pack)),
            ],
        }
    }

    fn launch(&self, choice: &WgmmaPlan, operands: &[Operand; 2]) -> PlannedLaunch {
        let [a, b] = operands;
        let input = self.product.input;
        let TileConfig {
            tile: [bm, bn, _],
            cluster_size,
            ..
        } = *choice.config;
        let GemmParams { m, n, .. } = self.product.gemm;
        let mut maps = vec![
            a.map(input, [m, bm], 1),
            b.map(input, [n, bn], cluster_size),
        ];
        if self.bulk() {
            let GemmParams { m, n, ldc, .. } = self.product.gemm;
            let element_bytes = self.product.output_bytes();
            let [rows, columns] = if self.is_transposed { [n, m] } else { [m, n] };
            maps.push(TensorMap {
                region: Region::Output,
                element_bytes,
                columns,
                rows,
                matrices: self.product.batch,
                pitch: ldc,
                stride: match self.product.batch {
                    1 => u64::from(rows) * u64::from(ldc),
                    _ => self.product.gemm.stride_c,
                },
                box_columns: box_columns(element_bytes as usize) as u32,
                box_rows: box_rows(self.is_transposed) as u32,
            });
        }
        PlannedLaunch {
            entry: choice.config.entry,
            compute_capability: COMPUTE_CAPABILITY,
            grid: [choice.blocks.into(), 1, 1],
            block: Dim3::new(choice.config.threads, 1, 1),
            cluster: Dim3::new(choice.cluster(), 1, 1),
            shared_bytes: choice.config.shared_bytes,
            params: vec![
                Param::TensorMaps(maps),
                Param::Output,
                Param::Workspace,
                Param::Product(super::bytes(&self.product.gemm)),
                Param::Bytes(bytes_of_scheduler(&choice.scheduler)),
            ],
        }
    }

    /// The launch of the split-K reduction kernel, where there is one.
    fn reduction(&self, choice: &WgmmaPlan) -> Option<PlannedLaunch> {
        let entry = match (self.product.c_16bit, self.product.input) {
            (false, _) | (_, TensorInput::Tf32) => "add_parts_f32",
            (true, TensorInput::Bf16) => "add_parts_bf16",
            (true, TensorInput::F16) => "add_parts_f16",
        };
        choice.reduction_blocks.map(|blocks| PlannedLaunch {
            entry,
            compute_capability: COMPUTE_CAPABILITY,
            grid: [blocks.into(), 1, 1],
            block: Dim3::new(stream_k::threads(choice.scheduler.splits), 1, 1),
            cluster: Dim3::ONE,
            shared_bytes: 0,
            params: vec![
                Param::Output,
                Param::Workspace,
                Param::Product(super::bytes(&self.product.gemm)),
                Param::Bytes(bytes_of_scheduler(&choice.scheduler)),
                Param::U32(choice.config.tile[0]),
                Param::U32(choice.config.tile[1]),
                Param::U32(self.is_transposed.into()),
            ],
        })
    }
}

/// The transpose of a dense matrix of 4-byte elements: by the fastest rung for that.
fn transposed_dense(index: usize, start: u64, pack: &Pack) -> PlannedLaunch {
    let geometry = transpose_fast::GEOMETRY;
    PlannedLaunch {
        entry: "transpose_fast",
        compute_capability: TRANSPOSE_CAPABILITY,
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

impl Operand {
    /// Bytes that it takes where it was copied to.
    fn bytes(&self, element_bytes: u32) -> u64 {
        self.stride * u64::from(self.matrices) * u64::from(element_bytes)
    }

    /// Its map, for `extent` rows of A or columns of B, and tiles of `of_tile` of them that
    /// `blocks` blocks of a cluster load together.
    fn map(&self, input: TensorInput, [extent, of_tile]: [u32; 2], blocks: u32) -> TensorMap {
        let element_bytes = input.bytes();
        let bk = stage::block_k(element_bytes as usize) as u32;
        let together = stage::loaded_multiple(element_bytes as usize, self.k_major, blocks);
        let [box_columns, box_rows] = match self.k_major {
            true => [bk, stage::loaded(extent, of_tile, together)],
            false => [bk, bk],
        };
        // An empty matrix cannot be mapped, and is not loaded.
        let vector = ROW_BYTES / element_bytes;
        let pitch = self.pitch.max(vector);
        TensorMap {
            region: self.region,
            element_bytes,
            columns: self.columns.max(1),
            rows: self.rows.max(1),
            matrices: self.matrices,
            pitch,
            stride: match self.matrices {
                1 => u64::from(self.rows.max(1)) * u64::from(pitch),
                _ => self.stride.max(vector.into()),
            },
            box_columns,
            box_rows: multicast::box_rows(box_rows, blocks),
        }
    }
}

/// The parameters as the kernel reads them: the fields in their order.
fn bytes_of_scheduler(scheduler: &TileSchedulerParams) -> Vec<u8> {
    const { assert!(size_of::<TileSchedulerParams>() == 8 * 4) };
    let TileSchedulerParams {
        batch,
        data_parallel_tiles,
        splits,
        head_k_tiles,
        tma_store,
        reduction,
        group_m,
        partial_sums_offset,
    } = *scheduler;
    bytemuck::bytes_of(&[
        batch,
        data_parallel_tiles,
        splits,
        head_k_tiles,
        tma_store,
        reduction as u32,
        group_m,
        partial_sums_offset,
    ])
    .to_vec()
}

/// See [`bytes_of_scheduler`].
fn bytes_of_pack(pack: &Pack) -> Vec<u8> {
    const { assert!(size_of::<Pack>() == 4 * 4 + 2 * 8) };
    let sizes = [pack.rows, pack.columns, pack.from_pitch, pack.to_pitch];
    let strides = [pack.from_stride, pack.to_stride];
    [bytemuck::bytes_of(&sizes), bytemuck::bytes_of(&strides)].concat()
}

/// All kernels that a product may be planned with.
pub fn entries() -> impl Iterator<Item = &'static str> {
    let products = [OF_BF16, OF_F16, OF_TF32, OF_BF16_TO_BF16, OF_F16_TO_F16];
    products
        .into_iter()
        .flatten()
        .copied()
        .flatten()
        .map(|config| config.entry)
        .chain(["pack_16", "pack_32"])
        .chain(["pack_transposed_16", "pack_transposed_32"])
        .chain(["add_parts_f32", "add_parts_f16", "add_parts_bf16"])
}
