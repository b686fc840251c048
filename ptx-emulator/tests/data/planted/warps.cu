// Votes, matches, named barriers and cooperative groups.
#include <cooperative_groups.h>

#include "variants.h"
namespace cg = cooperative_groups;

// One atomic for all lanes that go here together.
template <int BUG>
__device__ void aggregated(const int* in, int n, int* out, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) {
    if (BUG == 40) {
      unsigned mask = 0xffffffffu;
      int lane = threadIdx.x % 32, at = 0;
      if (lane == 0) at = atomicAdd(count, 11);
      at = __shfl_sync(mask, at, 1);  // @40
      out[at + lane / 3] = in[i];
    } else {
      cg::coalesced_group group = cg::coalesced_threads();
      int at = 0;
      if (group.thread_rank() == 0) at = atomicAdd(count, group.size());
      at = group.shfl(at, 0);
      out[at + group.thread_rank()] = in[i];
    }
  }
}
#define AGGREGATED(NAME, BUG)                                                       \
  VARIANT(NAME, aggregated<BUG>, (const int* in, int n, int* out, int* count),      \
          (in, n, out, count))
AGGREGATED(aggregated_right, 0)
AGGREGATED(aggregated_40, 40)

template <int BUG>
__device__ void ballots(const int* in, int* out) {
  int lane = threadIdx.x % 32;
  unsigned odd = __ballot_sync(0xffffffffu, lane % 2);
  unsigned votes = 0;
  if (lane % 2) votes = __ballot_sync(BUG == 41 ? ~odd : odd, in[lane] > 0);  // @41
  out[lane] = votes;
}
VARIANT(ballots_right, ballots<0>, (const int* in, int* out), (in, out))
VARIANT(ballots_41, ballots<41>, (const int* in, int* out), (in, out))

// Half of the warps work on a tile of their own, with a barrier of their own.
template <int BUG>
__device__ void named(const int* in, int* out) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  if (t < 64) {
    tile[t] = in[t];
    if (BUG == 42) {
      asm volatile("bar.sync 1, 96;" ::: "memory");  // @42
    } else if (BUG == 48) {
      asm volatile("bar.sync 1, 40;" ::: "memory");  // @48
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    out[t] = tile[t ^ 32];  // @48
  }
}
VARIANT(named_right, named<0>, (const int* in, int* out), (in, out))
VARIANT(named_42, named<42>, (const int* in, int* out), (in, out))
VARIANT(named_48, named<48>, (const int* in, int* out), (in, out))

// A barrier that some warps skip, although they go on to work on what it protects.
template <int BUG>
__device__ void skipped(const int* in, int* out, int n) {
  __shared__ int tile[96];
  int t = threadIdx.x;
  if (BUG == 43) {
    if (t < n) {
      tile[t] = in[t];
      __syncthreads();  // @43
      out[t] = tile[n - 1 - t];
    }
  } else {
    if (t < n) tile[t] = in[t];
    __syncthreads();
    if (t < n) out[t] = tile[n - 1 - t];
  }
}
VARIANT(skipped_right, skipped<0>, (const int* in, int* out, int n), (in, out, n))
VARIANT(skipped_43, skipped<43>, (const int* in, int* out, int n), (in, out, n))

template <int BUG>
__device__ void tiles(const int* in, int* out) {
  __shared__ int exchange[64];
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int* mine = exchange + 16 * tile.meta_group_rank();
  int r = tile.thread_rank();
  mine[r] = in[threadIdx.x];  // @39
  if (BUG != 39) tile.sync();
  int other = mine[15 - r];  // @39
  out[threadIdx.x] = other + tile.shfl_xor(other, 1);
}
VARIANT(tiles_right, tiles<0>, (const int* in, int* out), (in, out))
VARIANT(tiles_39, tiles<39>, (const int* in, int* out), (in, out))

// Two phases of a grid: every block needs what all have written.
template <int BUG>
__device__ void phases(int* data, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  data[i] = 3 * i;  // @38
  if (BUG != 38) cg::this_grid().sync();
  out[i] = data[n - 1 - i];  // @38
}
VARIANT(phases_38, phases<38>, (int* data, int* out), (data, out))

// The grid's barrier by hand, for launches that are not cooperative.
template <int BUG>
__device__ void barrier_by_hand(int* data, int* out, unsigned* arrived) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  data[i] = 3 * i;  // @49
  __syncthreads();
  if (threadIdx.x == 0) {
    if (BUG != 49) __threadfence();
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < gridDim.x) {
    }
    if (BUG != 49) __threadfence();
  }
  __syncthreads();
  out[i] = data[n - 1 - i];  // @49
}
#define BY_HAND(NAME, BUG)                                                             \
  VARIANT(NAME, barrier_by_hand<BUG>, (int* data, int* out, unsigned* arrived),        \
          (data, out, arrived))
BY_HAND(by_hand_right, 0)
BY_HAND(by_hand_49, 49)
