//! The operands of the `wgmma` kernels: where TMA fetches them, and the copies that bring them
//! there.
//!
//! TMA takes matrices whose rows begin at multiples of 16 bytes, and the tensor cores take operands
//! of TF32 and of 8 bits that are K-major. Other operands are copied into the workspace first.

use super::copies::OperandCopy;
use super::{Description, GemmInput, Precision};
use crate::launch::{L2Promotion, Region, TensorMap};
use crate::plan::Plan;
use cuda_std::wgmma::COLUMN_STEP;
use kernels_gpu::gemm::epilogue::tma_store::{box_columns, box_rows};
use kernels_gpu::gemm::mma::split::TERMS;
use kernels_gpu::gemm::planner::{self, GemmProblem, KernelSet, LINE_BYTES, OperandCopies};
use kernels_gpu::gemm::scheduler::fast_divmod::FastDivmod;
use kernels_gpu::gemm::scheduler::persistent::TileGrid;
use kernels_gpu::gemm::wgmma::kernels::MAX_ROWS;
use kernels_gpu::gemm::wgmma::pack::{self, Pack};
use kernels_gpu::gemm::wgmma::{boxes::OperandBoxes, multicast, stage};

/// What rows, and the matrices of a batch, begin at multiples of, in bytes.
const ROW_BYTES: u32 = 16;

/// What operands in the workspace begin at multiples of, in bytes.
const OPERAND_ALIGN: u64 = 256;

/// An operand as the product fetches it.
pub(super) struct Operand {
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
    pub copy: Option<OperandCopy>,
}

/// A product as a `wgmma` kernel computes it: of C or of its transpose.
#[derive(Clone, Copy)]
pub(super) struct Oriented<T: GemmInput> {
    /// What the kernel knows of the product: where it is transposed, m counts the columns of C, and
    /// A is the transpose of input 1.
    pub product: Description<T>,
    /// Which inputs A and B are.
    pub inputs: [usize; 2],
    /// Whether C lies column by column, and A is stored MN-major.
    pub is_transposed: bool,
    /// Whether operands are loaded from where they lie although much of their boxes lies outside.
    pub takes_sparse_boxes: bool,
}

impl<T: GemmInput> Oriented<T> {
    /// Bytes of an element of A and B, or of a term of one.
    pub fn element_bytes(&self) -> u32 {
        match self.is_split() {
            true => size_of::<u16>() as u32,
            false => size_of::<T>() as u32,
        }
    }

    /// Elements of A and B whose multiples rows begin at.
    fn vector(&self) -> u32 {
        ROW_BYTES / self.element_bytes()
    }

    /// Whether the operands are split into terms.
    pub fn is_split(&self) -> bool {
        self.product.precision == Precision::F32Split
    }

    /// The tensor cores take 4-byte operands as TF32.
    pub fn is_tf32(&self) -> bool {
        self.element_bytes() == 4
    }

    /// The orientation in which a kernel takes a product.
    pub fn of(product: &Description<T>) -> Self {
        let as_it_is = |product: Description<T>| Oriented {
            product,
            inputs: [0, 1],
            is_transposed: false,
            takes_sparse_boxes: false,
        };
        if product.precision == Precision::F32Split {
            return as_it_is(*product);
        }
        let product = with_vectors_k_major(*product, ROW_BYTES / size_of::<T>() as u32);
        // The tensor cores take K-major TF32 only. A that does not lie so can go through registers,
        // and in Cᵀ = Bᵀ · Aᵀ it is B that does.
        if !as_it_is(product).is_tf32() || product.transposed[1] {
            return as_it_is(product);
        }
        let swapped = |[a, b, c]: [u32; 3]| [b, a, c];
        let [transposed_a, transposed_b] = product.transposed;
        let [stride_a, stride_b, stride_c] = product.strides;
        let [a, b, c] = product.aligned;
        Oriented {
            product: Description {
                extents: swapped(product.extents),
                transposed: [!transposed_b, !transposed_a],
                leading: swapped(product.leading),
                strides: [stride_b, stride_a, stride_c],
                aligned: [b, a, c],
                ..product
            },
            inputs: [1, 0],
            is_transposed: true,
            takes_sparse_boxes: false,
        }
    }

    /// The orientation for a kernel that takes A and B K-major or not: what it takes MN-major is
    /// not copied to be K-major.
    pub fn taken(product: &Description<T>, k_major: [bool; 2]) -> Self {
        let oriented = Oriented::of(product);
        let is_taken_so = |&side: &usize| oriented.has_sparse_boxes(side) && !k_major[side];
        Oriented {
            takes_sparse_boxes: [0, 1].iter().any(is_taken_so),
            ..oriented
        }
    }

    /// The orientation in which these kernels should take the least time: operands of which much
    /// of a box lies outside are copied, or loaded from where they lie.
    pub fn fastest(product: &Description<T>, kernels: &KernelSet, problem: GemmProblem) -> Self {
        let copied = Oriented::of(product);
        if ![0, 1].iter().any(|&side| copied.has_sparse_boxes(side)) {
            return copied;
        }
        let loaded = Oriented {
            takes_sparse_boxes: true,
            ..copied
        };
        let clocks = |of: &Self| {
            let plan = kernels.plan_of_copies(&of.problem(problem), of.needed_copies());
            plan.map_or(f64::INFINITY, |(clocks, _)| clocks)
        };
        match clocks(&loaded) < clocks(&copied) {
            true => loaded,
            false => copied,
        }
    }

    /// What the choice of a kernel depends on, where `problem` is that of the description: the
    /// operands lie as the kernel fetches them.
    pub fn problem(&self, problem: GemmProblem) -> GemmProblem {
        let [m, n, k] = self.product.extents;
        GemmProblem {
            extents: [m.max(1), n.max(1), k],
            transposed: [!self.is_k_major(0), self.is_k_major(1)],
            vectors: [true; 2],
            row_alignment: [0, 1].map(|side| self.row_alignment(side)),
            tma_store: self.has_tma_store(),
            ..problem
        }
    }

    /// The copies of its operands.
    pub fn needed_copies(&self) -> OperandCopies {
        let operands = [0, 1].map(|side| self.operand(side, 0));
        let copies = operands.iter().filter_map(|operand| operand.copy.as_ref());
        let bytes: u64 = copies.map(|copy| copy.bytes(self.element_bytes())).sum();
        OperandCopies {
            bytes: bytes as f64,
            launches: self.copies(&operands).len() as u32,
        }
    }

    /// The tensor maps of a kernel that computes these tiles, whose operands come to stages in
    /// `boxes`. The copies that operands need are added to `plan`, their place to its workspace.
    pub fn tensor_maps(
        &self,
        boxes: &[OperandBoxes; 2],
        tiles: &TileGrid<FastDivmod>,
        plan: &mut Plan,
    ) -> Vec<TensorMap> {
        let operands = [0, 1].map(|side| {
            let operand = self.operand(side, plan.workspace_bytes);
            if let Region::Workspace(start) = operand.region {
                let elements = operand.stride * u64::from(operand.matrices);
                plan.workspace_bytes = start + elements * u64::from(self.element_bytes());
            }
            operand
        });
        plan.launches.extend(self.copies(&operands));
        // The blocks of a row of a cluster load A for each other, those of a column B.
        let [of_b, of_a] = tiles.cluster().extents();
        let mut maps = vec![
            operands[0].map(self.element_bytes(), &boxes[0], of_a),
            operands[1].map(self.element_bytes(), &boxes[1], of_b),
        ];
        let output = self.output_map();
        let [_, columns] = tiles.tile();
        maps.extend(output);
        maps.extend(output.and_then(|output| windows(output, columns)));
        maps
    }

    /// The tensor map of C, where TMA can store it.
    pub fn output_map(&self) -> Option<TensorMap> {
        let [m, n, _] = self.product.extents;
        let element_bytes = self.product.output_bytes();
        let [rows, columns] = if self.is_transposed { [n, m] } else { [m, n] };
        let pitch = self.product.leading[2];
        self.has_tma_store().then(|| TensorMap {
            region: Region::Output,
            element_bytes,
            columns,
            rows,
            matrices: self.product.batch,
            pitch,
            stride: match self.product.batch {
                1 => u64::from(rows) * u64::from(pitch),
                _ => self.product.strides[2],
            },
            box_columns: box_columns(element_bytes as usize) as u32,
            box_rows: box_rows(self.is_transposed) as u32,
            l2_promotion: L2Promotion::Bytes256,
        })
    }

    /// The tensor map of A or B, `side` 0 or 1, as it is stored, for tiles of `of_tile` rows or
    /// columns; `None` where TMA does not take it so. No kernel has operands of 4 bytes and such
    /// maps.
    pub fn stored_map(&self, side: usize, of_tile: u32) -> Option<TensorMap> {
        if !self.product.rows_begin_at(side, self.vector()) {
            return None;
        }
        let extent = self.product.extents[side];
        let operand = Operand::stored(self, side);
        let element_bytes = self.element_bytes();
        let boxes = OperandBoxes::new(extent, of_tile, element_bytes as usize, operand.k_major, 1);
        Some(operand.map(element_bytes, &boxes, 1))
    }

    /// Whether C can be stored by TMA.
    fn has_tma_store(&self) -> bool {
        let bytes = self.product.output_bytes();
        let columns = self.product.extents[usize::from(!self.is_transposed)];
        // It writes whole words: at the end of a row of an odd number of 16-bit elements, one that
        // lies behind it as well.
        (u64::from(columns) * u64::from(bytes)).is_multiple_of(4)
            && self.product.rows_begin_at(2, ROW_BYTES / bytes)
    }

    /// Whether it is stored K-major.
    pub fn is_stored_k_major(&self, side: usize) -> bool {
        self.product.transposed[side] == (side == 1)
    }

    /// Whether the kernel finds it K-major: as it is stored, or as it is copied.
    fn is_k_major(&self, side: usize) -> bool {
        self.is_stored_k_major(side) || self.is_copied_k_major(side)
    }

    /// Whether it is stored MN-major and copied to be K-major: because the tensor cores want that;
    /// because it would [have sparse boxes](Self::has_sparse_boxes); or because it must be copied
    /// anyway, and its rows are shorter than half of what the other copy takes at a time.
    fn is_copied_k_major(&self, side: usize) -> bool {
        if self.is_stored_k_major(side) || self.is_split() {
            return false;
        }
        if self.element_bytes() == 1 {
            return true;
        }
        if self.is_tf32() {
            let from_registers = self.is_transposed && side == 0;
            return !from_registers;
        }
        let is_short = self.product.extents[side] < pack::THREADS as u32 / 2;
        (self.has_sparse_boxes(side) && !self.takes_sparse_boxes)
            || (!self.product.rows_begin_at(side, self.vector()) && is_short)
    }

    /// Whether it is 16-bit, stored MN-major, and much of its boxes would lie outside, which takes
    /// as long to come as what is inside.
    fn has_sparse_boxes(&self, side: usize) -> bool {
        if self.is_stored_k_major(side) || self.is_split() || size_of::<T>() != 2 {
            return false;
        }
        let of_box = stage::block_k(size_of::<T>()) as u32;
        let extent = self.product.extents[side];
        match side {
            0 => extent < MAX_ROWS && !extent.is_multiple_of(of_box),
            _ => extent < of_box,
        }
    }

    /// Whether it is loaded from where it lies.
    fn is_loaded_directly(&self, side: usize) -> bool {
        self.product.rows_begin_at(side, self.vector())
            && !self.is_copied_k_major(side)
            && !self.is_split()
    }

    /// Elements of which a row of a copy is padded to a multiple: rows begin at lines of the L2
    /// cache, which delivers others more slowly than MMAs take them.
    fn padding(&self) -> u32 {
        LINE_BYTES / self.element_bytes()
    }

    /// Bytes at whose multiples its rows begin where it is loaded from, 128 at most.
    fn row_alignment(&self, side: usize) -> u32 {
        let elements = match self.is_loaded_directly(side) {
            true => self.product.leading[side],
            false => self.padding(),
        };
        self.alignment_of_rows(elements)
    }

    /// The same where rows are `elements` elements apart.
    fn alignment_of_rows(&self, elements: u32) -> u32 {
        planner::row_alignment(u64::from(elements) * u64::from(self.element_bytes()))
    }

    /// A or B, `side` 0 or 1, copied to behind `workspace_bytes` of the workspace if it does not
    /// lie as it must.
    fn operand(&self, side: usize, workspace_bytes: u64) -> Operand {
        let stored = Operand::stored(self, side);
        if self.is_loaded_directly(side) {
            return stored;
        }
        let Operand {
            rows,
            columns,
            pitch,
            matrices,
            stride,
            ..
        } = stored;
        let k = self.product.extents[2];
        let k_major = self.is_k_major(side);
        let turn = self.is_copied_k_major(side);
        let start = workspace_bytes.next_multiple_of(OPERAND_ALIGN);
        let [to_rows, to_columns] = if turn {
            [columns, rows]
        } else {
            [rows, columns]
        };
        let to_pitch = to_columns.next_multiple_of(self.padding());
        let to_stride = u64::from(to_rows) * u64::from(to_pitch);
        let terms = if self.is_split() { TERMS as u32 } else { 1 };
        let pack = Pack {
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
            matrices: matrices * terms,
            stride: to_stride,
            k_major,
            copy: (k > 0).then_some(OperandCopy {
                start,
                pack,
                turn,
                matrices,
            }),
        }
    }
}

/// The same product, of which one row of A and one column of B are K-major also where they are
/// stored as a column and a row whose elements are side by side, and at a pitch as bulk copies want
/// it, a multiple of `vector`: no second one lies behind it.
fn with_vectors_k_major<T: GemmInput>(mut product: Description<T>, vector: u32) -> Description<T> {
    let [m, n, k] = product.extents;
    let Some(pitch) = k.checked_next_multiple_of(vector) else {
        return product;
    };
    for (side, extent) in [m, n].into_iter().enumerate() {
        let is_k_major = product.transposed[side] == (side == 1);
        if extent == 1 && (is_k_major || product.leading[side] == 1) {
            (product.transposed[side], product.leading[side]) = (side == 1, pitch);
        }
    }
    product
}

/// The longest k of which the L2 cache fetches 256 bytes of an operand at a time: the first loads
/// of a block then arrive sooner. Longer ones wait for what was fetched too early. On an H200, 105
/// products drawn at random, 128 bytes over 256: 1.010 times the time up to a k of 256, 0.991
/// above 1024, and 0.984 there of K-major operands whose rows are of two lines.
const LONGEST_PROMOTED_K: u32 = 1024;

/// The map [of windows](stage::WindowMaps) of an output, for tiles of `columns` columns; `None`
/// where these do not end inside of an epilogue tile. An output that is narrower than a window has
/// none: its own map stands there, as kernels prefetch one.
fn windows(output: TensorMap, columns: u32) -> Option<TensorMap> {
    let rest = columns % output.box_columns;
    let of_windows = || TensorMap {
        columns: rest,
        matrices: (output.columns - rest) / COLUMN_STEP as u32 + 1,
        stride: COLUMN_STEP as u64,
        ..output
    };
    (rest != 0).then(|| match rest <= output.columns {
        true => of_windows(),
        false => output,
    })
}

impl Operand {
    /// A or B, `side` 0 or 1, as it is stored.
    fn stored<T: GemmInput>(of: &Oriented<T>, side: usize) -> Self {
        let Description {
            extents,
            leading,
            strides,
            batch,
            ..
        } = of.product;
        let (extent, k) = (extents[side], extents[2]);
        let k_major = of.is_stored_k_major(side);
        let [rows, columns] = if k_major { [extent, k] } else { [k, extent] };
        Operand {
            region: Region::Input(of.inputs[side]),
            rows,
            columns,
            pitch: leading[side],
            matrices: if strides[side] == 0 { 1 } else { batch },
            stride: strides[side],
            k_major,
            copy: None,
        }
    }

    /// Its map, for boxes that `blocks` blocks of a cluster load together.
    fn map(&self, element_bytes: u32, boxes: &OperandBoxes, blocks: u32) -> TensorMap {
        let bk = stage::block_k(element_bytes as usize) as u32;
        let k = if self.k_major {
            self.columns
        } else {
            self.rows
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
            box_columns: bk,
            box_rows: multicast::box_rows(boxes.box_rows(), blocks),
            l2_promotion: match k {
                ..=LONGEST_PROMOTED_K => L2Promotion::Bytes256,
                _ => L2Promotion::Bytes128,
            },
        }
    }
}
