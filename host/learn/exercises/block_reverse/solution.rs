use cuda_std::prelude::*;

#[kernel]
pub unsafe fn block_reverse(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    // The lowest 7 bits of t, in reversed order.
    let reversed = ((t as u32).reverse_bits() >> 25) as usize;
    *tile.add(t) = *input.add(i);
    thread::sync_threads();
    *output.add(i) = *tile.add(reversed);
}
