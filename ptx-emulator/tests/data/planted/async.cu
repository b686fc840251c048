// cp.async, by the pipeline primitives and by libcu++.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/atomic>
#include <cuda_pipeline.h>

#include "variants.h"
namespace cg = cooperative_groups;

// Two stages, copied by cp.async.
template <int BUG>
__device__ void primitives(const int* in, int* out, int steps) {
  __shared__ __align__(16) int stage[2][64];
  int t = threadIdx.x, sum = 0;
  __pipeline_memcpy_async(&stage[0][t], in + t, 4);  // @28
  __pipeline_commit();
  for (int k = 0; k < steps; k++) {
    if (k + 1 < steps)
      __pipeline_memcpy_async(&stage[(k + 1) % 2][t], in + 64 * (k + 1) + t, 4);  // @27 @28 @30 @31
    __pipeline_commit();
    if (BUG == 27) {
    } else if (BUG == 28) {
      __pipeline_wait_prior(2);
    } else {
      __pipeline_wait_prior(1);
    }
    if (BUG != 30) __syncthreads();
    sum += stage[k % 2][63 - t];  // @27 @28 @30 @31
    if (BUG != 31) __syncthreads();
  }
  out[t] = sum;
}
#define PRIMITIVES(NAME, BUG) \
  VARIANT(NAME, primitives<BUG>, (const int* in, int* out, int steps), (in, out, steps))
PRIMITIVES(primitives_right, 0)
PRIMITIVES(primitives_27, 27)
PRIMITIVES(primitives_28, 28)
PRIMITIVES(primitives_30, 30)
PRIMITIVES(primitives_31, 31)

// cuda::barrier and memcpy_async of a group.
template <int BUG>
__device__ void arrived(const int* in, int* out) {
  __shared__ alignas(16) int tile[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(sizeof(int) * 128), bar);  // @51
  auto token = bar.arrive();
  if (BUG != 51) bar.wait(cuda::std::move(token));
  out[threadIdx.x] = tile[threadIdx.x ^ 65];  // @51
}
VARIANT(arrived_right, arrived<0>, (const int* in, int* out), (in, out))
VARIANT(arrived_51, arrived<51>, (const int* in, int* out), (in, out))

// cooperative_groups::memcpy_async and wait.
template <int BUG>
__device__ void group_copy(const int* in, int* out) {
  __shared__ alignas(16) int tile[128];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in, sizeof(int) * 128);  // @52
  if (BUG != 52) cg::wait(block);
  out[threadIdx.x] = tile[threadIdx.x ^ 65];  // @52
}
VARIANT(group_copy_right, group_copy<0>, (const int* in, int* out), (in, out))
VARIANT(group_copy_52, group_copy<52>, (const int* in, int* out), (in, out))

// A flag with orders and scopes of cuda::atomic_ref hands a value from block to block.
template <int BUG>
__device__ void handed(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;  // @53
    ready.store(1, BUG == 53 ? cuda::memory_order_relaxed : cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) {
    }
    out[blockIdx.x] = data[0];  // @53
  }
}
VARIANT(handed_right, handed<0>, (int* data, int* flag, int* out), (data, flag, out))
VARIANT(handed_53, handed<53>, (int* data, int* flag, int* out), (data, flag, out))
