use cuda_std::prelude::*;

#[kernel]
pub unsafe fn compact(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (warp, lane) = (i / 32, i % 32);
    let element = *input.add(i);
    let keep = element > 0.0;
    let kept = warp::warp_vote_ballot(warp::FULL_MASK, keep);
    let below = (1u32 << lane) - 1;
    if keep {
        let rank = (kept & below).count_ones() as usize;
        *output.add(32 * warp + rank) = element;
    }
}
