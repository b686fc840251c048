//! Batches of copies, and of what says where memory should be. In CUDA 12 the copies have one
//! argument more: where the number of the first that failed goes.

use crate::api::batch::{Copy3dOperation, call};
use crate::pointer::{Host, In, Out};
use crate::state::Handle;

use super::enter;
use super::version::is_12;

runtime! {
    fn cudaMemcpyBatchAsync | cudaMemcpyBatchAsync_ptsz (
        to: In<u64>, from: In<u64>, bytes: In<usize>, count: usize, attributes: Host,
        indices: In<usize>, attribute_count: usize, failed_or_stream: u64, on: Handle,
    ) {
        enter()?;
        let (failed, on) = match is_12() {
            true => (Out::at_address(failed_or_stream), on),
            false => (Out::NONE, failed_or_stream as Handle),
        };
        call::cuMemcpyBatchAsync(
            to, from, bytes, count, attributes, indices, attribute_count, failed, on,
        )
    }

    fn cudaMemcpy3DBatchAsync | cudaMemcpy3DBatchAsync_ptsz (
        count: usize, all: In<Copy3dOperation>, failed_or_flags: u64, flags_or_stream: u64,
        on: Handle,
    ) {
        enter()?;
        let (failed, flags, on) = match is_12() {
            true => (Out::at_address(failed_or_flags), flags_or_stream, on),
            false => (Out::NONE, failed_or_flags, flags_or_stream as Handle),
        };
        call::cuMemcpy3DBatchAsync(count, all, failed, flags, on)
    }

    fn cudaMemcpyWithAttributesAsync | cudaMemcpyWithAttributesAsync_ptsz (
        to: u64, from: u64, bytes: usize, attributes: Host, on: Handle,
    ) {
        enter()?;
        call::cuMemcpyWithAttributesAsync(to, from, bytes, attributes, on)
    }

    fn cudaMemcpy3DWithAttributesAsync | cudaMemcpy3DWithAttributesAsync_ptsz (
        one: In<Copy3dOperation>, flags: u64, on: Handle,
    ) {
        enter()?;
        call::cuMemcpy3DWithAttributesAsync(one, flags, on)
    }

    fn cudaMemPrefetchBatchAsync | cudaMemPrefetchBatchAsync_ptsz (
        addresses: In<u64>, bytes: In<usize>, count: usize, places: In<u64>, indices: In<usize>,
        place_count: usize, flags: u64, on: Handle,
    ) {
        enter()?;
        call::cuMemPrefetchBatchAsync(
            addresses, bytes, count, places, indices, place_count, flags, on,
        )
    }

    fn cudaMemDiscardBatchAsync | cudaMemDiscardBatchAsync_ptsz (
        addresses: In<u64>, bytes: In<usize>, count: usize, flags: u64, on: Handle,
    ) {
        enter()?;
        call::cuMemDiscardBatchAsync(addresses, bytes, count, flags, on)
    }

    fn cudaMemDiscardAndPrefetchBatchAsync | cudaMemDiscardAndPrefetchBatchAsync_ptsz (
        addresses: In<u64>, bytes: In<usize>, count: usize, places: In<u64>, indices: In<usize>,
        place_count: usize, flags: u64, on: Handle,
    ) {
        enter()?;
        call::cuMemDiscardAndPrefetchBatchAsync(
            addresses, bytes, count, places, indices, place_count, flags, on,
        )
    }
}
