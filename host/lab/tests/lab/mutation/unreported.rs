//! Mutants that the sanitizers have nothing to say of, and why.

use super::mutants;

/// Mutants of one line in several kernels, for one reason.
struct Unreported {
    /// Groups of them.
    kernels: &'static [&'static [&'static str]],
    /// The kind of mutant.
    kind: &'static str,
    /// The line of the kernels' sources, as `source` names it.
    source: &'static str,
    /// Which of the line's mutants of this kind, as `mutants` counts them.
    copies: &'static [usize],
    #[expect(dead_code, reason = "for the reader")]
    reason: &'static str,
}

/// GEMM by warpgroups: SS, the same with a 16-bit output, both with tiles of 64 rows, and RS.
const SS: &[&str] = &["wgmma_bf16_nn_128", "wgmma_f16_nn_128"];
const TO_16_BIT: &[&str] = &["wgmma_bf16_nn_128_to_bf16", "wgmma_f16_nn_128_to_f16"];
const OF_64_ROWS: &[&str] = &[
    "wgmma_bf16_nn_64x64",
    "wgmma_bf16_nt_64x64",
    "wgmma_f16_nn_64x64",
    "wgmma_f16_nt_64x64",
];
const OF_64_ROWS_TO_16_BIT: &[&str] = &[
    "wgmma_bf16_nn_64x64_to_bf16",
    "wgmma_bf16_nt_64x64_to_bf16",
    "wgmma_f16_nn_64x64_to_f16",
    "wgmma_f16_nt_64x64_to_f16",
];
const OF_64_ROWS_AND_8_BITS: &[&str] = &["wgmma_i8_nt_64x64", "wgmma_fp8_nt_64x64"];
/// The split-K reduction kernel.
const REDUCTION: &[&str] = &["add_parts_f32", "add_parts_f16", "add_parts_bf16"];
const RS: &[&str] = &["wgmma_tf32_nn_64"];

/// GEMM by `mma.sync` that takes operands as they lie.
const TF32_AS_IT_LIES: &[&str] = &[
    "gemm_tf32_64x64_any",
    "gemm_tf32_32x128_any",
    "gemm_tf32_128x32_any",
    "gemm_90_tf32_64x64_any",
    "gemm_90_tf32_32x128_any",
    "gemm_90_tf32_128x32_any",
];
const I8_AS_IT_LIES: &[&str] = &["gemm_i8_64x64_any"];
const OF_16_BITS_AS_IT_LIES: &[&str] = &[
    "gemm_bf16_64x64_any",
    "gemm_f16_64x64_any",
    "gemm_90_bf16_64x64_any",
    "gemm_90_f16_64x64_any",
];
const SPLIT_AS_IT_LIES: &[&str] = &["gemm_f32_split_64x64_any"];

/// Reduction kernels of split-K.
const SPLIT_K: &[&str] = &[
    "sgemm_reduce",
    "gemm_reduce_to_f16",
    "gemm_reduce_to_bf16",
    "sgemm_90_reduce",
    "dgemm_90_reduce",
    "gemm_90_reduce_to_f16",
    "gemm_90_reduce_to_bf16",
];

/// GEMM of 8-bit elements by warpgroups.
const I8: &[&str] = &["wgmma_i8_nt_64"];
const FP8: &[&str] = &["wgmma_fp8_nt_64"];

/// GEMM of f32.
const F32: &[&str] = &["sgemm_90_32x64_nn"];

/// Copies of operands.
const COPIES: &[&str] = &["pack_8", "pack_16", "pack_32"];
const COPIES_OF_BOTH: &[&str] = &["pack_both_8", "pack_both_16", "pack_both_32"];
const COPIES_BY_WARPS: &[&str] = &["pack_rows_16", "pack_rows_32"];

/// Mutants that are right all the same.
const EQUIVALENT: &[Unreported] = &[
    Unreported {
        kernels: &[F32],
        kind: "barrier",
        source: "direct: unsafe { *to = result };",
        copies: &[6],
        reason: "The barrier behind the last staged rows: nothing is staged after it.",
    },
    Unreported {
        kernels: &[SPLIT_K],
        kind: "guard",
        source: "direct: (self.start.addr() | row_bytes).is_multiple_of(align)",
        copies: &[0],
        reason: "Whether rows of C are aligned: to store element by element is right for all.",
    },
    Unreported {
        kernels: &[&["wgmma_bf16_single"]],
        kind: "barrier",
        source: "wgmma_single: full(k_tile).try_wait_loop(k_tile / STAGES as u32 % 2);",
        copies: &[0],
        reason: "Between the wait for MMAs and the copy to their stage: the wait is for those of \
                all warps of the warpgroup.",
    },
    Unreported {
        kernels: &[OF_64_ROWS, OF_64_ROWS_TO_16_BIT],
        kind: "barrier",
        source: "warp_specialized: if is_clustered {",
        copies: &[0],
        reason: "Between the wait for MMAs and the partial sums in their stages: with one consumer \
                warpgroup, the wait is for those of all warps.",
    },
    Unreported {
        kernels: &[OF_64_ROWS, OF_64_ROWS_TO_16_BIT],
        kind: "barrier",
        source: "dsmem: let own = first..(first + each).min(count);",
        copies: &[0],
        reason: "The same, where a block reduces several epilogue tiles.",
    },
    Unreported {
        kernels: &[RS],
        kind: "barrier",
        source: "tma: Barrier::new(self.barriers().at(self.index * Barrier::BYTES))",
        copies: &[0],
        reason: "In front of the arrival that releases a stage: the lanes' loads of A precede MMAs \
                that have been waited for. PTX asks for the barrier all the same.",
    },
    Unreported {
        kernels: &[RS, OF_64_ROWS_AND_8_BITS],
        kind: "guard",
        source: "warp_specialized: \
                let [rows, columns] = least.map(|least| least as usize * ROW_BYTES);",
        copies: &[0],
        reason: "Whether rows of A are to be cleared: of none that are left out, none is.",
    },
    Unreported {
        kernels: &[&["gemm_tf32_64x64_nn", "gemm_f32_split_64x64_nn"]],
        kind: "barrier",
        source: "multistage: for _ in 0..k_tiles {",
        copies: &[0],
        reason: "The second of two barriers behind the last k-tile: between them nothing accesses \
            shared memory.",
    },
    Unreported {
        kernels: &[TF32_AS_IT_LIES],
        kind: "barrier",
        source: "multistage: for _ in 0..k_tiles {",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[SPLIT_AS_IT_LIES],
        kind: "barrier",
        source: "split: accumulators[i][2 * pair + j][q] += small[i][j][q] + large[j][q];",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[&[
            "gemm_f16_64x64_nn",
            "gemm_bf16_64x64_nn",
            "gemm_i8_64x64_nt",
        ]],
        kind: "barrier",
        source: "multistage: for k_tile in 0..k_tiles {",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[OF_16_BITS_AS_IT_LIES],
        kind: "guard",
        source: "multistage: for _ in 0..k_tiles {",
        copies: &[1],
        reason: "Whether A is read element by element: that is right where words would do as well.",
    },
    Unreported {
        kernels: &[
            &["wgmma_bf16_nt_64x64", "wgmma_f16_nt_64x64"],
            &["wgmma_bf16_nt_64x64_to_bf16", "wgmma_f16_nt_64x64_to_f16"],
            RS,
            I8,
            FP8,
        ],
        kind: "guard",
        source: "lines: while first < self.lines {",
        copies: &[0],
        reason: "Whether a warp has lines of C at all: each store asks again.",
    },
];

/// Mutants that are bugs at other sizes than those that are tried.
const ELSEWHERE: &[Unreported] = &[
    Unreported {
        kernels: &[&["wgmma_bf16_stream_k"]],
        kind: "barrier",
        source: "partial_sums: for vector in 0..A::COUNT / VECTOR {",
        copies: &[0],
        reason: "Between the stores of partial sums and the count of their block: of another block \
                it is known that it was acquired, not which stores preceded.",
    },
    Unreported {
        kernels: &[TF32_AS_IT_LIES],
        kind: "barrier",
        source: "multistage: \
                fragments.b = readers[1].load_b::<E, BN, MMAS_N>(b, warp.column, k_block);",
        copies: &[0],
        reason: "The barrier between two k-tiles: those here lie in the stages that the barrier in \
                front of the first one waits for.",
    },
    Unreported {
        kernels: &[SPLIT_AS_IT_LIES],
        kind: "barrier",
        source: "split: b[j] = split(four, &mut least);",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[I8_AS_IT_LIES, OF_16_BITS_AS_IT_LIES],
        kind: "barrier",
        source: "unaligned: let tile = match is_last_step && is_in_next >> e & 1 != 0 {",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[OF_16_BITS_AS_IT_LIES],
        kind: "barrier",
        source: "unaligned: register |= neighbours[e] << (8 * E::ELEMENT_BYTES * e);",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[&["gemm_i8_64x64_nt"]],
        kind: "guard",
        source: "staged: let row = top + first + i * rows;",
        copies: &[0],
        reason: "Whether vectors of rows 4 to 7 of a warp's 16 are in C: at the sizes at which \
                this kernel runs here, all are.",
    },
    Unreported {
        kernels: &[COPIES, COPIES_OF_BOTH, COPIES_BY_WARPS],
        kind: "guard",
        source: "pack_rows: let is_readable = \
                aligned.addr() >= begin && aligned.addr() + bytes <= end;",
        copies: &[0, 1],
        reason: "Whether the aligned vectors lie in the matrix: what they have of others is \
                shifted out, and no operand here ends within one that these copies load.",
    },
    Unreported {
        kernels: &[COPIES, COPIES_OF_BOTH, COPIES_BY_WARPS],
        kind: "guard",
        source: "pack_rows: U32x4::load_global_if(second, is_loaded && of_two),",
        copies: &[0, 1],
        reason: "Whether there is anything to load, and of two vectors: the second one lies in the \
                matrix too, and is shifted out.",
    },
    Unreported {
        kernels: &[&["pack_both_8", "pack_both_16", "pack_transposed_8"]],
        kind: "guard",
        source: "pack: *to.wrapping_add(column * pack.to_pitch as usize + row) = element;",
        copies: &[0],
        reason: "Whether a row is one of the source: one behind it goes to the copy's padding.",
    },
    Unreported {
        kernels: &[&["pack_both_8", "pack_both_16", "pack_transposed_8"]],
        kind: "guard",
        source: "pack: unsafe { *tile.wrapping_add(offset) = elements[i] };",
        copies: &[0],
        reason: "The same, in shared memory.",
    },
    Unreported {
        kernels: &[F32],
        kind: "barrier",
        source: "main_loop: core::arch::asm!(",
        copies: &[0],
        reason: "The barrier of the warp before one lane releases a stage: work units fill each \
            stage once here.",
    },
    Unreported {
        kernels: &[F32],
        kind: "arrival",
        source: "cp_async: if warp::lane_id() == 0 {",
        copies: &[0],
        reason: "The arrival that releases a stage: the same.",
    },
    Unreported {
        kernels: &[OF_64_ROWS],
        kind: "barrier",
        source: "tma_store: if is_by_tma && leader {",
        copies: &[0],
        reason: "The barrier before an epilogue tile is written again: blocks have one tile here, and use each epilogue tile once.",
    },
    Unreported {
        kernels: &[OF_64_ROWS, OF_64_ROWS_TO_16_BIT],
        kind: "barrier",
        source: "tma_store: } else if columns < Self::BOX_COLUMNS as u32",
        copies: &[0],
        reason: "The same: a tile is one box.",
    },
    Unreported {
        kernels: &[RS, I8, FP8, OF_64_ROWS_AND_8_BITS],
        kind: "barrier",
        source: "tma_store: if is_by_tma && leader {",
        copies: &[0, 1, 2, 3],
        reason: "The same.",
    },
    Unreported {
        kernels: &[
            OF_64_ROWS,
            OF_64_ROWS_TO_16_BIT,
            OF_64_ROWS_AND_8_BITS,
            RS,
            I8,
            FP8,
        ],
        kind: "guard",
        source: "persistent: (tile < self.stream_k_tiles).then_some(Split {",
        copies: &[0],
        reason: "Whether a block has a stream-K tile: where there are none here, the one that it \
                takes lies behind C, and nothing of it is stored.",
    },
    Unreported {
        kernels: &[&["pack_transposed_8", "pack_transposed_16"]],
        kind: "barrier",
        source: "pack: while top < rows {",
        copies: &[0],
        reason: "The barrier before the tile in shared memory is written again: blocks have one \
                tile here.",
    },
    Unreported {
        kernels: &[&["k_major_8"]],
        kind: "barrier",
        source: "k_major: while top < rows {",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[&["pack_both_8"]],
        kind: "barrier",
        source: "pack: let left = block_x as usize * TILE;",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[&["pack_both_16"]],
        kind: "barrier",
        source: "pack: let from = from.wrapping_add(matrix * pack.from_stride as usize);",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[&["pack_transposed_8", "pack_transposed_16"]],
        kind: "guard",
        source: "pack: while top < rows {",
        copies: &[1],
        reason: "Whether a column is read: the element behind a row is one of the next row, \
                unless that is the last, and is not written.",
    },
    Unreported {
        kernels: &[&["k_major_8"]],
        kind: "guard",
        source: "k_major: while top < rows {",
        copies: &[1],
        reason: "The same.",
    },
    Unreported {
        kernels: &[&["pack_both_8"]],
        kind: "guard",
        source: "pack: let left = block_x as usize * TILE;",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[&["pack_both_16"]],
        kind: "guard",
        source: "pack: let from = from.wrapping_add(matrix * pack.from_stride as usize);",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[REDUCTION],
        kind: "guard",
        source: "stream_k: if as_vec2s",
        copies: &[1],
        reason: "Whether the second of a vec2 is in C: rows that are stored by vec2s have an even \
                number of elements here.",
    },
    Unreported {
        kernels: &[SS, TO_16_BIT, OF_64_ROWS, OF_64_ROWS_TO_16_BIT],
        kind: "arrival",
        source: "source: while left > 0 {",
        copies: &[0],
        reason: "The arrival that releases the last stage of a work unit: blocks have one here, \
                and load no more.",
    },
    Unreported {
        kernels: &[OF_64_ROWS, OF_64_ROWS_TO_16_BIT],
        kind: "arrival",
        source: "tma: self.base.at(self.index * S::BYTES as u32)",
        copies: &[0],
        reason: "The arrival that releases a stage: blocks fill each stage once here.",
    },
    Unreported {
        kernels: &[RS],
        kind: "arrival",
        source: "rs: for _ in 1..tiles.count {",
        copies: &[0],
        reason: "That of the last stage of a tile.",
    },
    Unreported {
        kernels: &[RS],
        kind: "barrier",
        source: "rs: for _ in 1..tiles.count {",
        copies: &[0],
        reason: "The barrier in front of it.",
    },
    Unreported {
        kernels: &[I8],
        kind: "arrival",
        source: "source: for _ in 1..k_tiles {",
        copies: &[0],
        reason: "That of the last stage of a tile.",
    },
    Unreported {
        kernels: &[I8],
        kind: "arrival",
        source: "tma: Barrier::new(self.barriers().at(self.index * Barrier::BYTES))",
        copies: &[0],
        reason: "The arrival that releases a stage: k-tiles have 128 elements, and blocks fill \
                each stage once here.",
    },
    Unreported {
        kernels: &[FP8],
        kind: "arrival",
        source: "tma: if self.index == S::COUNT as u32 {",
        copies: &[28, 30],
        reason: "That of the last stage of a tile, for each choice of types and of accumulation.",
    },
    Unreported {
        kernels: &[FP8],
        kind: "arrival",
        source: "promotion: factors = rows.map(|row| row * columns);",
        copies: &[6],
        reason: "The same.",
    },
    Unreported {
        kernels: &[FP8],
        kind: "arrival",
        source: "promotion: if left == 0 {",
        copies: &[14],
        reason: "The same.",
    },
    Unreported {
        kernels: &[
            OF_64_ROWS,
            OF_64_ROWS_TO_16_BIT,
            OF_64_ROWS_AND_8_BITS,
            FP8,
            I8,
            RS,
        ],
        kind: "guard",
        source: "warp_specialized: } else if unit.tile >= self.scheduler.stream_k.data_parallel_tiles",
        copies: &[0],
        reason: "Whether a work unit is of a stream-K tile: blocks with data-parallel tiles have \
                none here.",
    },
    Unreported {
        kernels: &[RS],
        kind: "barrier",
        source: "tma_store: if !boxes.contains(&(index as u32)) {",
        copies: &[0, 1],
        reason: "The barrier before an epilogue tile is written again: blocks have one tile here.",
    },
    Unreported {
        kernels: &[&["gemm_i8_64x64_any", "gemm_i8_64x64_nt"]],
        kind: "guard",
        source: "partial_sums: while index < self.split.count {",
        copies: &[0],
        reason: "Whether a split is left: partial sums behind the last lie in the workspace here, \
                and sanitizers judge accesses, not values.",
    },
    Unreported {
        kernels: &[&["gemm_i8_64x64_any", "gemm_i8_64x64_nt"]],
        kind: "store",
        source: "fix_up: *counter = 0;",
        copies: &[0],
        reason: "The counter is set back for a next launch: there is none here.",
    },
    Unreported {
        kernels: &[&["gemm_i8_64x64_any", "gemm_i8_64x64_nt"]],
        kind: "barrier",
        source: "partial_sums: for vector in 0..A::COUNT / VECTOR {",
        copies: &[0],
        reason: "The barrier between the stores of partial sums and the count. Why racecheck has \
                nothing to say of it here, as it has for other elements, is not understood.",
    },
    Unreported {
        kernels: &[&[
            "wgmma_bf16_persistent",
            "wgmma_bf16_tma_store",
            "wgmma_bf16_stream_k",
        ]],
        kind: "arrival",
        source: "tma: } else if lane == 0 {",
        copies: &[1],
        reason: "The same of a tile.",
    },
    Unreported {
        kernels: &[&[
            "wgmma_bf16_tma_store",
            "wgmma_bf16_multicast",
            "wgmma_bf16_stream_k",
        ]],
        kind: "barrier",
        source: "tma_store: if is_by_tma && leader {",
        copies: &[0, 1],
        reason: "The barrier before an epilogue tile is written again: blocks have one tile here.",
    },
    Unreported {
        kernels: &[&["wgmma_bf16_stream_k"]],
        kind: "guard",
        source: "wgmma_stream_k: if unit.tile >= self.stream_k.data_parallel_tiles",
        copies: &[0],
        reason: "Whether a work unit is of a stream-K tile: blocks with such a one have no data-parallel tiles here.",
    },
    Unreported {
        kernels: &[&["wgmma_bf16_stream_k"]],
        kind: "guard",
        source: "stage: while i < boxes.count {",
        copies: &[0],
        reason: "Whether a work unit has an odd number of k-tiles: blocks have one here, and \
                no warp waits for a stage too many.",
    },
];

/// Mutants of the families beside the products that are right all the same.
const EQUIVALENT_OF_FAMILIES: &[Unreported] = &[
    Unreported {
        kernels: &[
            &["reduce_shuffle", "reduce_vec4", "reduce_blocks"],
            &["reduce_partial_sums", "reduce_one_pass"],
            &["softmax_three_pass", "softmax_registers"],
            &["layernorm_three_pass"],
        ],
        kind: "guard",
        source: "block: if lane == 0 {",
        copies: &[0],
        reason: "Which lane stores what the warp has: all of them have the same.",
    },
    Unreported {
        kernels: &[&[
            "reduce_one_pass",
            "softmax_three_pass",
            "softmax_registers",
            "layernorm_three_pass",
        ]],
        kind: "guard",
        source: "block: if lane == 0 {",
        copies: &[1],
        reason: "The same of the second reduction.",
    },
    Unreported {
        kernels: &[&["reduce_clear"]],
        kind: "guard",
        source: "reduce_clear: if thread::index_1d() == 0 {",
        copies: &[0],
        reason: "Which lane stores 0: all of them would store the same.",
    },
    Unreported {
        kernels: &[&["spmv_warp", "spmv_lanes"]],
        kind: "guard",
        source: "spmv_warp: sum += other;",
        copies: &[0],
        reason: "Which lane stores a row's sum: all of its lanes have the same.",
    },
    Unreported {
        kernels: &[&["reduce_one_pass"]],
        kind: "barrier",
        source: "reduce_one_pass: *partial_sums.add(thread::block_idx_x() as usize) = sum;",
        copies: &[0],
        reason: "The barrier between a block's stores and its count: here the thread that counts \
            is the one that stored.",
    },
    Unreported {
        kernels: &[&["scan_blelloch_tiles"]],
        kind: "barrier",
        source: "scan_blelloch: *tree.add(TILE - 1) = 0;",
        copies: &[0],
        reason: "The barrier before the level of the root, which the thread has that cleared it.",
    },
    Unreported {
        kernels: &[&["scan_look_back"]],
        kind: "guard",
        source: "scan_look_back: if warp_index() == 0 {",
        copies: &[0],
        reason: "Whether a warp looks back: the others would do it for nothing.",
    },
    Unreported {
        kernels: &[&["scan_large_tiles"]],
        kind: "guard",
        source: "scan_large_tiles: if warp_index() == 0 {",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[&["scan_large_tiles"]],
        kind: "guard",
        // The comparison of the lane, whose own line is in `cuda_std`.
        source: "scan_large_tiles: elements[i / VECTOR][i % VECTOR] = unsafe { *from.add(of) };",
        copies: &[0],
        reason: "Which lane stores the warp's sum: all of them have the same.",
    },
    Unreported {
        kernels: &[&["softmax_registers"]],
        kind: "guard",
        source: "softmax_registers: if j >= self.begin && j + VECTOR as u32 <= self.end {",
        copies: &[4],
        reason: "Whether a vector ends in the row: its elements would be accessed one by one.",
    },
];

/// Mutants that access what they may, and compute something else or do not end: the check of the
/// output finds them, and no sanitizer has anything to say.
const WRONG_OF_FAMILIES: &[Unreported] = &[
    Unreported {
        kernels: &[&["histogram_shared", "histogram_warp"]],
        kind: "guard",
        source: "histogram_shared: from + e < input.len(),",
        copies: &[0, 1],
        reason: "Whether an element is there: others would be counted as 0.",
    },
    Unreported {
        kernels: &[&["histogram_warp"]],
        kind: "guard",
        source: "histogram_warp: let matched = if is_there { bin } else { BINS } as u32;",
        copies: &[0, 1],
        reason: "The same: lanes without an element would match those of bin 0.",
    },
    Unreported {
        kernels: &[&["reduce_shuffle"]],
        kind: "guard",
        source: "reduce_shuffle: if thread::thread_idx_x() == 0 {",
        copies: &[0],
        reason: "Which threads add the block's sum to the output: it would be added 256 times.",
    },
    Unreported {
        kernels: &[&["reduce_vec4"]],
        kind: "guard",
        source: "reduce_vec4: if thread::thread_idx_x() == 0 {",
        copies: &[0],
        reason: "The same.",
    },
    Unreported {
        kernels: &[&["reduce_one_pass"]],
        kind: "store",
        source: "fix_up: *counter = 0;",
        copies: &[0],
        reason: "The counter for the next launch: no block of the next one would be the last.",
    },
    Unreported {
        kernels: &[&["softmax_registers"]],
        kind: "guard",
        source: "softmax_registers: if (self.begin..self.end).contains(&(j + e as u32)) {",
        copies: &[0],
        reason: "Whether an element is not of the row before: it would count in both.",
    },
    Unreported {
        kernels: &[&["scan_look_back", "scan_large_tiles"]],
        kind: "guard",
        source: "scan_look_back: if tile > 0 {",
        copies: &[0],
        reason: "Whether there is a tile before: the first would wait for itself.",
    },
];

/// Kernel and mutant.
pub fn all() -> impl Iterator<Item = (&'static str, String)> {
    let of_products = EQUIVALENT.iter().chain(ELSEWHERE);
    let of_families = EQUIVALENT_OF_FAMILIES.iter().chain(WRONG_OF_FAMILIES);
    of_products.chain(of_families).flat_map(|entry| {
        let name = |&copy| mutants::name(entry.kind, entry.source, copy);
        let names: Vec<String> = entry.copies.iter().map(name).collect();
        let of_kernel = move |kernel| names.clone().into_iter().map(move |name| (kernel, name));
        entry.kernels.concat().into_iter().flat_map(of_kernel)
    })
}
