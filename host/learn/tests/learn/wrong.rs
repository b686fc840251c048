//! Wrong answers: what goes wrong often, as a change of the solution.

use warpladder_learn::Exercise;

/// A solution, made wrong.
pub struct Wrong {
    /// The exercise.
    pub exercise: &'static str,
    /// What is wrong with it.
    pub name: &'static str,
    /// What stands once in the solution.
    from: &'static str,
    /// What stands there in its place.
    to: &'static str,
    /// A part of the message.
    pub caught: &'static str,
}

impl Wrong {
    /// The solution with the change.
    pub fn text(&self, exercise: &Exercise) -> String {
        let Wrong { name, from, to, .. } = self;
        let solution = exercise.files.solution;
        let times = solution.matches(from).count();
        assert_eq!(times, 1, "{}, {name}: {from:?}", exercise.name);
        solution.replace(from, to)
    }
}

const fn wrong(
    exercise: &'static str,
    name: &'static str,
    from: &'static str,
    to: &'static str,
    caught: &'static str,
) -> Wrong {
    Wrong {
        exercise,
        name,
        from,
        to,
        caught,
    }
}

const SYNC: &str = "thread::sync_threads();";
const RACE: &str = "race between threads of a block";
const OUTSIDE: &str = "access out of bounds";
const SLOW: &str = "the result is right, but the kernel asks for too much";

#[rustfmt::skip]
pub const WRONG: &[Wrong] = &[
    wrong("add_one", "adds two", "+ 1.0", "+ 2.0", "output[0] is 2; it should be 1"),
    wrong("add_one", "thread in its block", "thread::index_1d()", "thread::thread_idx_x()",
        "race between blocks: output[0]"),
    wrong("saxpy", "no guard", "if i < n", "if true",
        "access out of bounds: x[1000], but x has 1000 elements"),
    wrong("saxpy", "guard off by one", "i < n", "i <= n", OUTSIDE),
    wrong("saxpy", "factor forgotten", "factor.mul_add(*x.add(i), *y.add(i))",
        "*x.add(i) + *y.add(i)", "y["),
    wrong("grid_stride", "one round", "while i < n", "if i < n", "output[192] was never written"),
    wrong("grid_stride", "stride of a block", "(thread::grid_dim_x() * thread::block_dim_x())",
        "thread::block_dim_x()", "race between blocks"),
    wrong("grid_stride", "no step", "i += threads;", "", "the kernel does not end"),
    wrong("reverse", "off by one", "n - 1 - i", "n - i",
        "access out of bounds: output[500], but output has 500 elements"),
    wrong("reverse", "copies", "n - 1 - i", "i", "output[0] is 0; it should be 499"),
    wrong("scale_rows", "rows and columns swapped in the guard", "row < rows && column < columns",
        "row < columns && column < rows", OUTSIDE),
    wrong("scale_rows", "column in place of row", "row as f32", "column as f32",
        "output[1] (row 0, column 1) is 1; it should be 0"),
    wrong("scale_rows", "one guard", "row < rows && column < columns", "row < rows", OUTSIDE),
    wrong("stencil", "right end", "i + 1 < n", "true",
        "access out of bounds: input[500], but input has 500 elements"),
    wrong("stencil", "left end", "if i > 0", "if true", "access out of bounds: input[-1]"),
    wrong("wrong_edge", "guard off by one", "row < rows", "row <= rows", OUTSIDE),
    wrong("lost_additions", "not atomic", "f32::atomic_add(total, *input.add(i))",
        "*total += *input.add(i)", "race between"),
    wrong("lost_additions", "no guard", "if i < n", "if true", "access out of bounds: input[200]"),
    wrong("coalesced", "rows per thread", "(y as usize, x as usize)", "(x as usize, y as usize)",
        SLOW),
    wrong("chunks", "neighbours in a thread", "round * threads + t", "4 * t + round", SLOW),
    wrong("chunks", "rounds overlap", "round * threads + t", "round + t", RACE),
    wrong("vector_loads", "scalars", "let elements = F32x4::load(input.add(4 * t));",
        "let elements = [0, 1, 2, 3].map(|i| *input.add(4 * t + i));", SLOW),
    wrong("vector_loads", "misaligned", "input.add(4 * t)", "input.add(t)",
        "misaligned access: input[1]"),
    wrong("transpose", "width of the input in the output", "column * rows + row",
        "column * columns + row", OUTSIDE),
    wrong("transpose", "copies", "column * rows + row", "row * columns + column",
        "output[1] (row 0, column 1) is 1; it should be 70"),
    wrong("block_reverse", "no barrier", SYNC, "", RACE),
    wrong("block_reverse", "off by one", "127 - t", "128 - t", "shared memory"),
    wrong("lonely_barrier", "barrier in the branch",
        "    }\n    thread::sync_threads();\n    if i < n {\n", "        thread::sync_threads();\n",
        "All threads of a block must reach the same barrier."),
    wrong("lonely_barrier", "no barrier", SYNC, "", RACE),
    wrong("stencil_shared", "no barrier", SYNC, "", RACE),
    wrong("stencil_shared", "no halo on the right", "while offset < 134", "while offset < 128",
        "read of memory that was never written"),
    wrong("stencil_shared", "from global memory", "*tile.add(t + distance)",
        "if i + distance >= 3 && i + distance - 3 < n { *input.add(i + distance - 3) } else { 0.0 \
        }", SLOW),
    wrong("block_sum", "no barrier in the round",
        "        thread::sync_threads();\n        half /= 2;", "        half /= 2;", RACE),
    wrong("block_sum", "no guard", "if i < n { *input.add(i) } else { 0.0 }", "*input.add(i)",
        "access out of bounds: input[1000]"),
    wrong("block_sum", "no barrier before the rounds",
        "    thread::sync_threads();\n    let mut half", "    let mut half", RACE),
    wrong("stale_tile", "nothing written",
        "*tile.add(t) = if i < n { *input.add(i) } else { 0.0 };",
        "if i < n { *tile.add(t) = *input.add(i) }", "read of memory that was never written"),
    wrong("early_bird", "one barrier",
        "        thread::sync_threads();\n        *tile.add(t) += below;",
        "        *tile.add(t) += below;", RACE),
    wrong("transpose_tile", "no barrier", SYNC, "", RACE),
    wrong("transpose_tile", "tile not turned", "tx * 32 + ty", "ty * 32 + tx",
        "output[1] (row 0, column 1) is 1; it should be 96"),
    wrong("transpose_tile", "blocks not swapped", "(left + ty) * rows + top + tx",
        "(top + ty) * rows + left + tx", "output["),
    wrong("transpose_tile", "no tile",
        "*output.add((left + ty) * rows + top + tx) = *tile.add(tx * 32 + ty)",
        "*output.add((left + tx) * rows + top + ty) = *tile.add(ty * 32 + tx)", SLOW),
    wrong("transpose_padded", "array too small", "f32; 32 * 33", "f32; 32 * 32", "shared memory"),
    wrong("transpose_padded", "padded for the write only", "tx * 33 + ty", "tx * 32 + ty",
        "was never written"),
    wrong("transpose_swizzled", "no swizzle", "(column ^ row)", "column", SLOW),
    wrong("transpose_swizzled", "no permutation", "column ^ row", "column & row", RACE),
    wrong("warp_sum", "a mask too few", "mask > 0", "mask > 1", "output[0] is"),
    wrong("warp_sum", "half of the lanes shuffle",
        "sum += warp::warp_shuffle_xor(warp::FULL_MASK, sum, mask, 32).0;",
        "if (lane as u32) < mask { sum += warp::warp_shuffle_xor(warp::FULL_MASK, sum, mask, \
        32).0; }", "shuffle from a lane that does not take part"),
    wrong("warp_sum", "a panic", "*output.add(warp) = sum;",
        "[0, 1][i] = 1; *output.add(warp) = sum;", "A panic stops a kernel"),
    wrong("warp_scan", "all lanes add", "if exists", "if true", "output[0] is"),
    wrong("warp_scan", "last distance forgotten", "distance < 32", "distance < 16", "output["),
    wrong("block_sum_fast", "no barrier", SYNC, "", RACE),
    wrong("block_sum_fast", "all lanes bring a total",
        "if lane < 8 { *totals.add(lane) } else { 0.0 }", "*totals.add(lane)", "shared memory"),
    wrong("divergence", "both kinds in a warp", "2 * (t % 32) + t / 32", "t", SLOW),
    wrong("divergence", "odd elements forgotten", "2 * (t % 32) + t / 32", "2 * (t % 32)", RACE),
    wrong("silent_lanes", "all lanes write", "if lane < 16", "if true", OUTSIDE),
    wrong("matvec", "no guard", "if row < rows", "if true", OUTSIDE),
    wrong("matvec", "interleaved", "row * columns + column", "column * rows + row", "y[0] is"),
    wrong("matvec_interleaved", "by rows", "column * rows + row", "row * columns + column",
        "y[0] is"),
    wrong("matvec_warp", "no guard for the columns", "while column < columns", "while column < 128",
        OUTSIDE),
    wrong("matvec_warp", "sum not shared", "mask > 0", "mask > 16", "y[0] is"),
    wrong("matmul", "x is the row", "(y as usize, x as usize)", "(x as usize, y as usize)",
        "was never written"),
    wrong("matmul", "width of B", "i * n + column", "i * k + column", "c[0] (row 0, column 0) is"),
    wrong("matmul", "no guard for columns", "row < m && column < n", "row < m", OUTSIDE),
    wrong("matmul_tiled", "first barrier forgotten", "        thread::sync_threads();\n        for",
        "        for", RACE),
    wrong("matmul_tiled", "second barrier forgotten",
        "        }\n        thread::sync_threads();\n", "        }\n", RACE),
    wrong("matmul_tiled", "from global memory", "(*tile_a.add(ty * 16 + i))",
        "(*a.add(row * k + start + i))", SLOW),
    wrong("matmul_guarded", "no guard in k", "start + ty < k && column < n", "column < n", OUTSIDE),
    wrong("matmul_guarded", "leaves early", "    for start in",
        "    if row >= m || column >= n {\n        return;\n    }\n    for start in",
        "read of memory that was never written"),
    wrong("matmul_guarded", "no guard at the end", "    if row < m && column < n {\n        *c",
        "    {\n        *c", OUTSIDE),
    wrong("matmul_outputs", "rows side by side", "*c.add((top + ty + 8 * r) * n + column)",
        "*c.add((top + 4 * ty + r) * n + column)", "c["),
    wrong("matmul_registers", "scalars", "F32x4::load(tile_a.add(i * 64 + 4 * ty))",
        "[0, 1, 2, 3].map(|y| (tile_a.add(i * 64 + 4 * ty + y) as *const f32).read_volatile())",
        SLOW),
    wrong("matmul_registers", "no barrier", "        thread::sync_threads();\n        for i in",
        "        for i in", RACE),
    wrong("double_buffer", "same copy", "256 * ((k_tile + 1) % 2)", "256 * (k_tile % 2)", RACE),
    wrong("double_buffer", "no barrier before the loop",
        "    thread::sync_threads();\n    for k_tile", "    for k_tile", RACE),
];
